//! Large values of a batch's variables: what they hold is charged to the account, and when memory
//! is short those that the next statement does not name wait in tempdb's run files.
//!
//! ```text
//!  statement names the variable      in memory, charged
//!  other statements, memory short ─► run file ──► in memory again for the statement that names it
//! ```
//! Guarantees: no statement sees a variable that is away, because each statement's own text says
//! which ones it can read or set; one that cannot be brought back fails the statement that wants it
//! (701, 823, 824), and stays where it is; OUTPUT parameters are back when the batch has ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::batch::run::Failure;
use exec::parked::ParkedValue;
use expr::large::LARGE;
use memory::{Clerk, Reservation};
use session::state::SessionCore;
use syntax::ast::StmtKind;
use syntax::lexer::{Tok, tokenize};
use types::{SqlError, Value};

use super::{AfterFailure, BatchEnd, Run};
use programs::compiled::CompiledBatch;
use programs::program::Op;

/// Values below this stay in memory: the file would cost more than it saves.
const PARKED_LEAST: usize = 1 << 20;

/// A value that comes back waits this long for room, and looks this often. What is in its way is in
/// use by statements that run; so two sessions that wait for each other's memory end with 701.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Slots of variables, in order.
type Slots = Box<[usize]>;

/// What a run knows of its large variables, from when it has one.
#[derive(Debug, Default)]
pub(super) struct LargeVariables {
    /// Charged for those in memory.
    charged: Option<Reservation>,
    /// Those that are away, by slot. Meanwhile the variable itself is NULL.
    parked: Vec<(usize, ParkedValue)>,
    /// Variables that any operation names, once one was to be put away; others stay: what uses them
    /// cannot be told from the text.
    named: Option<Slots>,
    /// Variables that an operation names.
    named_by: BTreeMap<usize, Slots>,
    /// No file could be written: the values stay in memory.
    refused: bool,
}

impl Run<'_> {
    /// Has the variables of an operation in memory, and others away if memory is short.
    ///
    /// # Errors
    /// 701 a value finds no room; 823, 824 of its file; a cancel.
    pub(super) fn place_variables(&mut self, at: usize, op: Op) -> Result<(), SqlError> {
        if self.large.as_ref().is_some_and(|large| !large.parked.is_empty()) {
            self.bring_back(at)?;
        }
        self.charge_variables();
        let Some(large) = &self.large else { return Ok(()) };
        let held = large.charged.as_ref().map_or(0, Reservation::used);
        let worth = held >= PARKED_LEAST && !large.refused;
        if worth && self.may_take_long(op) && self.core.host().memory().is_short() {
            self.put_away(at)?;
            self.charge_variables();
        }
        Ok(())
    }

    /// The batch has ended: what its caller reads is back.
    ///
    /// # Errors
    /// As those of a statement after the last one: none when `outer_try` is not set.
    #[cold]
    pub(super) fn settle_variables(&mut self, end: BatchEnd) -> Result<BatchEnd, Failure> {
        let parameters = self.batch.parameters;
        let is_parameter = |(slot, _): &(usize, ParkedValue)| *slot < parameters;
        let away = self.large.as_ref().is_some_and(|large| large.parked.iter().any(is_parameter));
        if !matches!(end, BatchEnd::Finished(_)) || !away {
            return Ok(end);
        }
        let Err(error) = self.load(|slot| slot < parameters) else { return Ok(end) };
        // Behind the last operation there is no CATCH of this scope, and no statement that owes its
        // columns.
        self.header_owed = false;
        match self.failed(self.batch.program.ops.len(), error.into())? {
            AfterFailure::End(end) => Ok(end),
            AfterFailure::Resume(_) => Ok(BatchEnd::ScopeAborted),
        }
    }

    /// Charges what the variables have come to: whoever made a large value has asked for its memory
    /// already.
    fn charge_variables(&mut self) {
        let bytes =
            self.vars.iter().map(Value::heap_bytes).filter(|bytes| *bytes >= LARGE).sum::<usize>();
        let large = self.large.as_ref();
        let charged = large.and_then(|large| large.charged.as_ref()).map_or(0, Reservation::used);
        if bytes == charged {
            return;
        }
        let memory = self.core.host().memory();
        let new = || Reservation::new(memory, Clerk::QueryExecution);
        let variables = self.large.get_or_insert_default().charged.get_or_insert_with(new);
        if bytes > charged {
            variables.force(bytes - charged);
        } else {
            variables.give(charged - bytes);
        }
    }

    /// Whether an operation may wait or work for long: not one that only computes.
    fn may_take_long(&self, op: Op) -> bool {
        let Op::Stmt(index) = op else { return false };
        let quick = |kind: &StmtKind| {
            matches!(kind, StmtKind::SetVariable(_) | StmtKind::SetOption(_) | StmtKind::Print(_))
        };
        self.batch.program.stmts.get(index as usize).is_some_and(|stmt| !quick(&stmt.kind))
    }

    /// Writes the large variables that an operation does not name to run files. What cannot be
    /// written stays.
    #[cold]
    fn put_away(&mut self, at: usize) -> Result<(), SqlError> {
        let large = &mut **self.large.get_or_insert_default();
        let (batch, core) = (self.batch, &*self.core);
        let named = large.named.get_or_insert_with(|| named_by_any(batch));
        let wanted = large.named_by.entry(at).or_insert_with(|| named_by(batch, at));
        let look = || core.check_cancel();
        for (slot, value) in self.vars.iter_mut().enumerate() {
            if value.heap_bytes() < PARKED_LEAST || wanted.contains(&slot) || !named.contains(&slot)
            {
                continue;
            }
            match ParkedValue::park(core.host().run_files(), value, &look) {
                Ok(Some(parked)) => {
                    large.parked.push((slot, parked));
                    *value = Value::Null;
                }
                Ok(None) => {}
                Err(_) => {
                    // Where that was a cancel, it is one still.
                    look()?;
                    large.refused = true;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads those that an operation names.
    #[cold]
    fn bring_back(&mut self, at: usize) -> Result<(), SqlError> {
        let batch = self.batch;
        let large = self.large.get_or_insert_default();
        let wanted = large.named_by.entry(at).or_insert_with(|| named_by(batch, at)).clone();
        self.load(|slot| wanted.contains(&slot))
    }

    fn load(&mut self, wanted: impl Fn(usize) -> bool) -> Result<(), SqlError> {
        let core = &*self.core;
        let new = || Reservation::new(core.host().memory(), Clerk::QueryExecution);
        let LargeVariables { charged, parked, .. } = &mut **self.large.get_or_insert_default();
        let charged = charged.get_or_insert_with(new);
        while let Some(at) = parked.iter().position(|(slot, _)| wanted(*slot)) {
            let (slot, value) = &parked[at];
            take_in_turn(charged, value.bytes(), core)?;
            match value.load(&|| core.check_cancel()) {
                Ok(value) => self.vars[*slot] = value,
                Err(error) => {
                    charged.give(value.bytes());
                    return Err(error);
                }
            }
            parked.swap_remove(at);
        }
        Ok(())
    }
}

/// Charges a value that comes back. Where many come back at once (sessions that have waited for one
/// lock), those that find no room wait until others are done with theirs.
///
/// # Errors
/// 701 there is no room for long; a cancel.
fn take_in_turn(
    charged: &mut Reservation,
    bytes: usize,
    core: &SessionCore,
) -> Result<(), SqlError> {
    let begun = Instant::now();
    while charged.take(bytes).is_err() {
        if begun.elapsed() >= PATIENCE {
            return Err(catalog::errors::out_of_memory());
        }
        core.check_cancel()?;
        core.shared.pause_until(Instant::now() + PAUSE);
    }
    Ok(())
}

/// Variables that an operation can read or set: those that its text names, and the one that it is
/// there to set.
fn named_by(batch: &CompiledBatch, at: usize) -> Slots {
    let program = &batch.program;
    let text_of =
        |expr: u32| program.exprs.get(expr as usize).map(|expr| expr.span.text(&batch.text));
    let (text, sets) = match program.ops.get(at) {
        Some(Op::Stmt(index)) => {
            (program.stmts.get(*index as usize).map(|stmt| stmt.span.text(&batch.text)), None)
        }
        Some(Op::Branch { condition, .. }) => (text_of(*condition), None),
        Some(Op::Init { slot, expr }) => (text_of(*expr), Some(*slot as usize)),
        Some(Op::Return(Some(expr))) => (text_of(*expr), program.result),
        _ => (None, None),
    };
    let text = text.unwrap_or_default();
    let tokens = tokenize(text).list;
    let variables = tokens.iter().filter(|token| token.kind == Tok::Variable);
    let slots = variables.filter_map(|token| program.vars.find(token.span.text(text)).ok());
    sorted(slots.map(|(slot, _)| slot).chain(sets))
}

/// Variables that any operation names. The one for a function's value is not among them.
fn named_by_any(batch: &CompiledBatch) -> Slots {
    let program = &batch.program;
    let all = (0..program.ops.len()).flat_map(|at| named_by(batch, at));
    sorted(all.filter(|slot| Some(*slot) != program.result))
}

fn sorted(slots: impl Iterator<Item = usize>) -> Slots {
    let mut slots: Vec<usize> = slots.collect();
    slots.sort_unstable();
    slots.dedup();
    slots.into()
}
