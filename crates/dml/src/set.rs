//! SET: which columns get which values, and which variables. Guarantees: no column twice (264),
//! none that numbers itself (8102, 272); values are of the columns' types; a row that is changed
//! gets a new rowversion.

mod joined;
mod write;

use super::new_row::not_modifiable;
use super::values::{default_of, full_name, into_column, masked_column};
use bind::Binder;
use bind::deduce::ValueUse;
use bind::period::{self, TRANSACTION_TIME};
use bind::row_version;
use bind::scope::Clause;
use bind::select_list::compound;
use catalog::TableDef;
use catalog::statistics::column_bit;
use expr::{ColId, ErrorRules, Expr, Label, Typed, bind_ops};
use logical::slots::slots;
use logical::tree::Get;
use storage::TableStore;
use syntax::ast::{Assignment, ExprKind};
use types::convert::Mode;
use types::{DataType, SqlError, msg};

/// How a name in SET finds its column of the table.
type ColumnPosition<'p> = &'p dyn Fn(&str) -> Result<usize, SqlError>;

/// The SET clause of a statement.
#[derive(Debug, Default)]
pub struct SetClause {
    pub sets: Vec<SetColumn>,
    /// `@v = x` and `@v = column = x`: slot, value over the row's slots, or the new value of a set
    /// column.
    pub vars: Vec<(usize, VarValue)>,
    /// Columns that are set, and those that are computed from them.
    pub changed: Vec<usize>,
    /// Computed columns that the rows have and that change with the set ones, with their values
    /// over the new row.
    pub computed: Vec<(usize, Expr)>,
    /// The same as bits of `column_bit`.
    pub bits: u64,
}

#[derive(Debug)]
pub enum VarValue {
    Expr(Expr),
    /// The new value of `sets[i]`, converted.
    Set(usize, Expr),
}

/// `column = x`.
#[derive(Debug)]
pub struct SetColumn {
    pub column: usize,
    pub expr: Expr,
    /// How to write the value into a row without encoding the others.
    pub patch: Option<Patch>,
}

/// Where the bytes of a fixed-length column lie.
#[derive(Clone, Copy, Debug)]
pub struct Patch {
    pub offset: usize,
    pub width: usize,
}

fn patch_of(table: &TableDef, column: usize) -> Option<Patch> {
    let (offset, width) = table.layout.fixed_place(column)?;
    Some(Patch { offset, width })
}

impl SetClause {
    /// The changed columns; none where the rows may move, so that every index changes.
    pub fn unless_moved(&self, store: &TableStore) -> Option<&[usize]> {
        let moves = store.table.storage.key.iter().any(|(column, _)| self.changed.contains(column));
        (!moves).then_some(&self.changed[..])
    }

    /// Binds the assignments over the block on top of the binder's stack.
    ///
    /// # Errors
    /// 264, 272, 8102, 207; those of the values.
    pub fn bind(
        binder: &mut Binder<'_>,
        get: &Get,
        assignments: &[Assignment],
        position: ColumnPosition<'_>,
    ) -> Result<SetClause, SqlError> {
        let mut clause = SetClause::default();
        for assignment in assignments {
            let made = clause.assignment(binder, get, assignment, position);
            made.or_else(|error| binder.note_unresolved(error))?;
        }
        if let Some(at) = get.table.row_version().filter(|_| !clause.sets.is_empty()) {
            let expr = row_version::new_value(binder, get.db.id())?;
            clause.sets.push(SetColumn { column: at, expr, patch: patch_of(&get.table, at) });
        }
        if let Some((start, _)) = get.table.period().filter(|_| !clause.sets.is_empty()) {
            let function = binder.env.names.function(TRANSACTION_TIME);
            let expr = period::transaction_time(function, get.table.columns[start].ty)?;
            clause.sets.push(SetColumn { column: start, expr, patch: patch_of(&get.table, start) });
        }
        clause.changed = clause.sets.iter().map(|s| s.column).collect();
        clause.computed = binder.stored_computed(&get.db, &get.table, Some(&clause.changed))?;
        clause.changed.extend(clause.computed.iter().map(|(column, _)| *column));
        let bit = |column: &usize| column_bit(get.table.columns[*column].column_id);
        clause.bits = clause.changed.iter().map(bit).fold(0, |all, bit| all | bit);
        Ok(clause)
    }

    /// Adds the columns that the values are made of.
    pub fn needed(&self, needed: &mut Vec<ColId>) {
        self.sets.iter().for_each(|s| s.expr.columns(needed));
        for (_, value) in &self.vars {
            if let VarValue::Expr(e) = value {
                e.columns(needed);
            }
        }
    }

    /// Columns become slots of a row.
    ///
    /// # Errors
    /// Internal: a column is not in the row.
    pub fn plan(&mut self, cols: &[ColId]) -> Result<(), SqlError> {
        for set in &mut self.sets {
            slots(&mut set.expr, cols)?;
        }
        for (_, value) in &mut self.vars {
            if let VarValue::Expr(e) = value {
                slots(e, cols)?;
            }
        }
        Ok(())
    }

    /// 264: a column that is set already.
    fn check_once(&self, table: &TableDef, at: usize) -> Result<(), SqlError> {
        if !self.sets.iter().any(|s| s.column == at) {
            return Ok(());
        }
        Err(SqlError::of(msg::COLUMN_SET_TWICE, [&table.columns[at].name]))
    }

    fn assignment(
        &mut self,
        binder: &mut Binder<'_>,
        get: &Get,
        assignment: &Assignment,
        position: ColumnPosition<'_>,
    ) -> Result<(), SqlError> {
        match assignment {
            Assignment::Variable { variable, op, value } => {
                binder.scope()?.clause = Clause::Select;
                let (slot, e) = binder.assignment(variable, *op, value)?;
                let (ty, collation) = (binder.env.vars.find(variable)?.1, binder.collation());
                let e = binder.masked(e, ty, collation);
                self.vars.push((slot, VarValue::Expr(e)));
            }
            Assignment::Column { variable, column, op, value } => {
                let at = position(&column.name.value)?;
                let def = &get.table.columns[at];
                if def.computed.is_some() {
                    return Err(not_modifiable(&def.name));
                }
                if def.identity.is_some() {
                    return Err(SqlError::of(msg::IDENTITY_UPDATED, [&def.name]));
                }
                if def.ty == DataType::RowVersion {
                    return Err(SqlError::of(msg::TIMESTAMP_UPDATED, []));
                }
                if def.generated.is_some() {
                    let name = full_name(&get.db, &get.table);
                    return Err(SqlError::of(msg::GENERATED_UPDATED, [&name]));
                }
                self.check_once(&get.table, at)?;
                let expr = match &value.kind {
                    ExprKind::Default => default_of(binder, &get.table, at)?,
                    _ => {
                        binder.scope()?.clause = Clause::Where;
                        match compound(*op) {
                            None => binder.deduce(value, ValueUse::Becomes(def.ty))?,
                            Some(_) => binder.deduce(value, ValueUse::Ordered(def.ty))?,
                        }
                        binder.assigning = true;
                        let typed = binder.expr(value);
                        binder.assigning = false;
                        let mut typed = typed?;
                        if let Some(op) = compound(*op) {
                            typed = binder.binary(op, own(get, at), typed)?;
                        }
                        let value = into_column(typed, (&get.db, &get.table), at)?;
                        masked_column(binder, value, &get.table, at)
                    }
                };
                self.sets.push(SetColumn { column: at, expr, patch: patch_of(&get.table, at) });
                if let Some(variable) = variable {
                    let (slot, ty) = binder.env.vars.find(variable)?;
                    let new = Typed::new(Expr::Col(0), def.ty, true).of_collation(def.collation);
                    let e = bind_ops::assigned(new, ty, Mode::Implicit, binder.collation())?;
                    self.vars.push((slot, VarValue::Set(self.sets.len() - 1, e)));
                }
            }
            Assignment::Write { column, args } => {
                let at = position(&column.name.value)?;
                self.check_once(&get.table, at)?;
                binder.scope()?.clause = Clause::Where;
                let typed = write::bind(binder, own(get, at), args)?;
                let expr = into_column(typed, (&get.db, &get.table), at)?;
                let expr = masked_column(binder, expr, &get.table, at);
                self.sets.push(SetColumn { column: at, expr, patch: None });
            }
        }
        Ok(())
    }
}

/// A column of the target as it is before the change.
fn own(get: &Get, at: usize) -> Typed {
    let def = &get.table.columns[at];
    Typed {
        expr: Expr::Col(get.first + at as ColId),
        ty: def.ty,
        nullable: def.nullable,
        fixed: true,
        collation: def.collation,
        label: Label::Implicit,
        dialect: None,
        manner: ErrorRules::default(),
    }
}
