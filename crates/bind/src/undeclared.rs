//! Parameters of a batch that nobody has declared, while their types are deduced
//! (`sp_describe_undeclared_parameters`). They are the variables of a [`super::env::VarScope`] from
//! a slot on. A type comes from where the parameter stands: see [`super::deduce`].

use catalog::TableTypeDef;
use compact_str::CompactString;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use types::{DataType, SqlError, msg};

/// What was found out of a parameter.
#[derive(Clone, Debug)]
pub struct DeducedParameter {
    pub ty: DataType,
    /// Its value is read.
    pub input: bool,
    /// It takes a value.
    pub output: bool,
    /// The parameter of a procedure whose argument it is.
    pub formal: Option<CompactString>,
    /// The type of a table; `ty` means nothing then.
    pub table: Option<Arc<TableTypeDef>>,
}

#[derive(Clone, Debug)]
enum ParameterState {
    Open,
    /// Is there a query with this type?
    Tried(DataType),
    Known(DeducedParameter),
}

/// The parameters whose types are looked for.
#[derive(Debug)]
pub struct Undeclared {
    first: usize,
    names: Vec<CompactString>,
    states: Mutex<Vec<ParameterState>>,
}

impl Undeclared {
    /// The variables from a slot on, with their `@`.
    pub fn new(first: usize, names: Vec<CompactString>) -> Undeclared {
        let states = Mutex::new(vec![ParameterState::Open; names.len()]);
        Undeclared { first, names, states }
    }

    /// Their slots.
    pub fn slots(&self) -> Range<usize> {
        self.first..self.first + self.names.len()
    }

    /// The name of one.
    pub fn name(&self, slot: usize) -> &str {
        slot.checked_sub(self.first)
            .and_then(|at| self.names.get(at))
            .map_or("", |name| name.as_str())
    }

    fn with<T>(&self, slot: usize, f: impl FnOnce(&mut ParameterState) -> T) -> Option<T> {
        let at = slot.checked_sub(self.first)?;
        self.states.lock().get_mut(at).map(f)
    }

    /// Whether nothing is known of a variable yet.
    pub fn is_open(&self, slot: usize) -> bool {
        self.with(slot, |state| matches!(state, ParameterState::Open)).unwrap_or(false)
    }

    /// The type of one, found or tried; `None` for a variable that is declared. Error: 11502.
    pub(super) fn type_of(&self, slot: usize) -> Result<Option<DataType>, SqlError> {
        match self.with(slot, |state| state.clone()) {
            None => Ok(None),
            Some(ParameterState::Tried(ty)) => Ok(Some(ty)),
            Some(ParameterState::Known(known)) => Ok(Some(known.ty)),
            Some(ParameterState::Open) => Err(no_context(self.name(slot))),
        }
    }

    pub(super) fn try_type(&self, slot: usize, ty: Option<DataType>) {
        self.with(slot, |state| *state = ty.map_or(ParameterState::Open, ParameterState::Tried));
    }

    /// A parameter whose value is read has this type.
    pub fn found(&self, slot: usize, ty: DataType) {
        self.set(
            slot,
            DeducedParameter { ty, input: true, output: false, formal: None, table: None },
        );
    }

    /// All that is to be known of a parameter.
    pub fn set(&self, slot: usize, deduced: DeducedParameter) {
        self.with(slot, |state| *state = ParameterState::Known(deduced));
    }

    /// What was found out, in the order of the parameters. Error: 11502 for one that stands where
    /// nothing is known.
    pub fn deduced(&self) -> Result<Vec<(CompactString, DeducedParameter)>, SqlError> {
        let states = self.states.lock();
        let all = self.names.iter().zip(states.iter());
        all.map(|(name, state)| match state {
            ParameterState::Known(known) => Ok((name.clone(), known.clone())),
            ParameterState::Open | ParameterState::Tried(_) => Err(no_context(name)),
        })
        .collect()
    }
}

fn no_context(name: &str) -> SqlError {
    SqlError::of(msg::PARAMETER_NOT_DEDUCED, [&name])
}
