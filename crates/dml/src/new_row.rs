//! New rows of a table, as INSERT, MERGE and OUTPUT INTO make them: which columns get values, the
//! identity, NOT NULL and CHECK. Guarantee: whoever adds rows to a table through SQL takes the same
//! steps in the same order.

use std::sync::Arc;

use super::change::{self, ChangePlan, CompileCascade, KeptChange, TableChange};
use super::loader::Loader;
use super::values::{column_value, column_value_into, default_of, null_error};
use bind::Binder;
use bind::unresolved_names::MOST_TOLD;
use catalog::errors::db_error;
use catalog::{Db, IndexDef, TableDef, identity, row_version};
use exec::operators::context::ExecCtx;
use exec::operators::rt::Rt;
use expr::Expr;
use plan::statement::Statement;
use session::state::changes::Action;
use storage::TableStore;
use storage::write::{RowWriter, WriteContext};
use syntax::ast;
use types::convert::Mode;
use types::{DataType, SqlError, Value, msg};

/// What each new row of a table goes through.
#[derive(Debug)]
pub struct NewRows {
    pub db: Arc<Db>,
    pub store: Arc<TableStore>,
    /// The identity column, when the statement does not give its values.
    identity: Option<usize>,
    /// The identity column, when it does.
    explicit_identity: Option<usize>,
    /// The rowversion column.
    row_version: Option<usize>,
    /// Columns that take no NULL.
    not_null: Vec<usize>,
    /// Computed columns that the rows have, with their values over the others.
    computed: Vec<(usize, Expr)>,
    /// CHECK, foreign keys, triggers.
    pub change: ChangePlan,
    /// Some index has IGNORE_DUP_KEY: rows that repeat its key are left out.
    pub ignores: bool,
    /// What 515 says that fails.
    verb: &'static str,
}

impl NewRows {
    /// Compiles what rows that give values for `columns` go through.
    ///
    /// # Errors
    /// Those of binding constraints.
    pub fn compile(
        binder: &mut Statement<'_>,
        change: &TableChange<'_>,
        columns: &[usize],
        compile_cascade: CompileCascade,
    ) -> Result<NewRows, SqlError> {
        let table = change.table;
        let identity = table.columns.iter().position(|c| c.identity.is_some());
        let given = identity.filter(|at| columns.contains(at));
        let row_version = table.row_version();
        let not_null = 0..table.columns.len();
        let not_null =
            not_null.filter(|i| !table.columns[*i].nullable && !table.columns[*i].is_virtual());
        let not_null = not_null.filter(|i| Some(*i) != row_version);
        let ignores = table.all_indexes().any(|index| ignores(index));
        Ok(NewRows {
            db: change.db.clone(),
            ignores,
            // A row that UPDATE moves is a new one of the table that it moves to.
            verb: if change.verb == Action::Update.word() {
                change.verb
            } else {
                Action::Insert.word()
            },
            store: TableStore::open(change.db, table)?,
            identity: identity.filter(|_| given.is_none()),
            explicit_identity: given,
            row_version,
            not_null: not_null.filter(|i| given.is_some() || Some(*i) != identity).collect(),
            computed: binder.stored_computed(change.db, table, None)?,
            change: change::compile(binder, change, compile_cascade)?,
        })
    }

    /// Whether the session's IDENTITY_INSERT fits the statement.
    ///
    /// # Errors
    /// 544, 545.
    pub fn check_identity(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        let table = &self.store.table;
        let on = ctx.session.options.identity_insert == Some((self.db.id(), table.object_id));
        if self.explicit_identity.is_some() && !on {
            return Err(SqlError::of(msg::IDENTITY_INSERT_OFF, [&table.name]));
        }
        if self.identity.is_some() && on {
            return Err(SqlError::of(msg::IDENTITY_VALUE_REQUIRED, [&table.name]));
        }
        Ok(())
    }

    /// The given values and defaults of a row.
    ///
    /// # Errors
    /// Those of the expressions; 2628.
    #[inline]
    pub fn compute(
        &self,
        exprs: &[Expr],
        row: &[Value],
        rt: &mut Rt<'_, '_>,
        values: &mut [Value],
    ) -> Result<(), SqlError> {
        let table = &self.store.table;
        for (column, e) in exprs.iter().enumerate() {
            let Some(place) = values.get_mut(column) else { break };
            column_value_into(e, row, rt, (&self.db, table, column), place)?;
        }
        Ok(())
    }

    /// What the table adds to a computed row, and its tests: identity, rowversion, NOT NULL, CHECK.
    /// Notes the identity for `SCOPE_IDENTITY()` where `noted`.
    ///
    /// # Errors
    /// 515, 547, 8115.
    #[inline]
    pub fn complete(
        &self,
        values: &mut [Value],
        noted: bool,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        if self.change.is_instead() {
            self.unnumbered(values)?;
            return self.derived(values, rt);
        }
        if let Some(column) = self.identity {
            let next = identity::next(&self.db, &self.store.table, 1)?;
            self.give_identity(values, column, next)?;
            if noted {
                note_identity(rt, next);
            }
        }
        if let Some(column) = self.explicit_identity {
            self.note_explicit(&values[column], noted, rt)?;
        }
        if let Some(column) = self.row_version {
            let txn = rt.session().txn(&self.db)?;
            values[column] = row_version::value(row_version::next(&self.db, txn, 1)?);
        }
        self.derived(values, rt)?;
        self.checked(values, rt)
    }

    /// The stored computed columns.
    #[inline]
    fn derived(&self, values: &mut [Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        for (column, e) in &self.computed {
            values[*column] = column_value(e, values, rt, &self.db, &self.store.table, *column)?;
        }
        Ok(())
    }

    /// A row for a trigger that stands in the place of the INSERT has no number: 0.
    fn unnumbered(&self, values: &mut [Value]) -> Result<(), SqlError> {
        match self.identity {
            None => Ok(()),
            Some(column) => self.give_identity(values, column, 0),
        }
    }

    /// NOT NULL and CHECK.
    ///
    /// # Errors
    /// 515, 547.
    pub fn checked(&self, values: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        match self.not_null.iter().find(|at| values[**at].is_null()) {
            None => self.change.check(values, rt),
            Some(at) => Err(null_error(&self.db, &self.store.table, *at, self.verb)),
        }
    }

    fn give_identity(
        &self,
        values: &mut [Value],
        column: usize,
        next: i64,
    ) -> Result<(), SqlError> {
        values[column] = identity_value(next, self.store.table.columns[column].ty)?;
        Ok(())
    }

    fn note_explicit(
        &self,
        value: &Value,
        noted: bool,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let given = match value {
            Value::Decimal(d) => i64::try_from(d.truncated()).ok(),
            other => other.as_i64(),
        };
        if let Some(given) = given {
            identity::used(&self.db, &self.store.table, given)?;
            if noted {
                note_identity(rt, given);
            }
        }
        Ok(())
    }

    /// Adds a row at once; false when an index with IGNORE_DUP_KEY has its key already.
    ///
    /// # Errors
    /// 2601, 2627 of other indexes.
    pub fn insert(&self, values: &[Value], rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        let (db, store) = (&self.db, &self.store);
        let txn = rt.session().txn(db)?;
        let before = if self.ignores { Some(txn.mark()) } else { None };
        let mut writer = RowWriter::take();
        writer.repeated = None;
        let done = writer.insert(&mut WriteContext { db, txn, store }, values);
        let repeated = writer.repeated;
        writer.give();
        let Some(before) = before else { return done.map(|()| true) };
        let index =
            repeated.and_then(|id| store.table.all_indexes().find(|index| index.index_id == id));
        match done {
            Err(_) if index.is_some_and(|index| ignores(index)) => {
                txn.rollback_to(&before).map_err(|e| db_error(db, &e))?;
                rt.session().note(SqlError::of(msg::DUPLICATE_KEY_IGNORED, []));
                Ok(false)
            }
            done => done.map(|()| true),
        }
    }

    /// Keeps a row for what follows the change, and adds it to a load; false when it is left out.
    ///
    /// # Errors
    /// 701; those of the load.
    #[inline]
    pub fn load(
        &self,
        values: &[Value],
        loader: &mut Loader<'_>,
        kept: &mut Option<Box<KeptChange>>,
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        let at_once = self.ignores && !self.change.is_instead();
        if at_once {
            if !self.insert(values, rt)? {
                return Ok(false);
            }
            loader.count_unloaded();
        }
        if let Some(kept) = kept {
            kept.inserted(values, rt)?;
        }
        if !at_once && !self.change.is_instead() {
            loader.add(rt, values)?;
        }
        Ok(true)
    }
}

fn ignores(index: &IndexDef) -> bool {
    index.options.ignore_dup_key && !index.options.disabled
}

/// A value of an identity column of this type. Error: 8115.
#[inline]
pub fn identity_value(next: i64, ty: DataType) -> Result<Value, SqlError> {
    match ty {
        DataType::BigInt => Ok(Value::BigInt(next)),
        DataType::Int if i32::try_from(next).is_ok() => Ok(Value::Int(next as i32)),
        _ => types::convert::convert(&Value::BigInt(next), DataType::BigInt, ty, 0, Mode::Implicit)
            .map_err(|_| {
                let name = ty.message_name();
                SqlError::of(msg::ARITHMETIC_OVERFLOW, [&"IDENTITY", &name])
            }),
    }
}

/// @@IDENTITY and SCOPE_IDENTITY() from here on.
pub fn note_identity(rt: &mut Rt<'_, '_>, last: i64) {
    let session = rt.session();
    session.run.results.last_identity = Some(last);
    session.run.results.scope_identity = Some(last);
}

/// Table positions that the statement gives values for, in its order.
pub fn target_columns(
    table: &TableDef,
    names: &[ast::Ident],
    explicit: bool,
    position: &dyn Fn(&str) -> Result<usize, SqlError>,
) -> Result<Vec<usize>, SqlError> {
    if names.is_empty() {
        if explicit {
            return Err(SqlError::of(msg::IDENTITY_NEEDS_COLUMN_LIST, [&table.name]));
        }
        let given = |i: &usize| {
            let column = &table.columns[*i];
            column.identity.is_none() && column.computed.is_none() && !column.is_hidden()
        };
        return Ok((0..table.columns.len()).filter(given).collect());
    }
    let mut columns = Vec::with_capacity(names.len());
    for (number, name) in names.iter().enumerate() {
        let at = position(&name.value)
            .map_err(|first| with_others(first, &names[number + 1..], position))?;
        if columns.contains(&at) {
            return Err(SqlError::of(msg::COLUMN_SET_TWICE, [&name.value]));
        }
        if table.columns[at].computed.is_some() {
            return Err(not_modifiable(&table.columns[at].name));
        }
        columns.push(at);
    }
    Ok(columns)
}

/// 271: a value for a computed column.
pub fn not_modifiable(column: &str) -> SqlError {
    SqlError::of(msg::COMPUTED_COLUMN_MODIFIED, [&column])
}

/// Error of a list of the wrong length.
pub fn wrong_count(given: usize, expected: usize, listed: bool, select: bool) -> SqlError {
    if !listed {
        return SqlError::of(msg::COLUMN_COUNT_MISMATCH, []).state(1);
    }
    let fewer = given < expected;
    if select {
        let message =
            if fewer { msg::SELECT_FEWER_THAN_COLUMNS } else { msg::SELECT_MORE_THAN_COLUMNS };
        return SqlError::of(message, []);
    }
    let message =
        if fewer { msg::VALUES_FEWER_THAN_COLUMNS } else { msg::VALUES_MORE_THAN_COLUMNS };
    SqlError::of(message, [&"INSERT statement", &"VALUES clause"])
}

/// One expression per column of the table, of which `columns` are given.
pub fn row_of(
    binder: &mut Binder<'_>,
    table: &TableDef,
    columns: &[usize],
    given: Vec<Expr>,
) -> Result<Vec<Expr>, SqlError> {
    let mut row: Vec<Option<Expr>> = vec![None; table.columns.len()];
    for (column, e) in columns.iter().zip(given) {
        row[*column] = Some(e);
    }
    let mut out = Vec::with_capacity(row.len());
    for (column, e) in row.into_iter().enumerate() {
        out.push(match e {
            Some(e) => e,
            None => default_of(binder, table, column)?,
        });
    }
    Ok(out)
}

/// The error of a name in a list of columns, with those of the names behind it that are no columns
/// either.
fn with_others(
    mut first: SqlError,
    behind: &[ast::Ident],
    position: &dyn Fn(&str) -> Result<usize, SqlError>,
) -> SqlError {
    let number = first.number;
    let others = behind.iter().filter_map(|name| position(&name.value).err());
    first.after = others.filter(|other| other.number == number).take(MOST_TOLD).collect();
    first
}
