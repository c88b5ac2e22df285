//! Values on their way into columns: conversions, defaults, and the errors that name table and
//! column.

use bind::Binder;
use bind::period::{self, TRANSACTION_TIME};
use bind::scope::{Clause, Scope};
use catalog::Db;
use catalog::TableDef;
use exec::operators::rt::Rt;
use expr::{ConvertExpr, Expr, Typed, bind_ops};
use types::convert::Mode;
use types::{DataType, SqlError, Value, msg};

/// `database.schema.table`, as messages name a table.
pub fn full_name(db: &Db, table: &TableDef) -> String {
    format!("{}.{}.{}", db.name(), table.schema, table.name)
}

/// 515: NULL for a column that has none.
pub fn null_error(db: &Db, table: &TableDef, column: usize, verb: &str) -> SqlError {
    SqlError::of(msg::NULL_NOT_ALLOWED, [&table.columns[column].name, &full_name(db, table), &verb])
}

/// Puts the value for a column into its place; errors as for [`column_value`].
#[inline]
pub fn column_value_into(
    e: &Expr,
    row: &[Value],
    rt: &mut Rt<'_, '_>,
    (db, table, column): (&Db, &TableDef, usize),
    place: &mut Value,
) -> Result<(), SqlError> {
    match e.eval_into(row, rt, place) {
        Err(error) if error.number == 2628 => Err(truncated(e, row, rt, db, table, column)),
        result => result,
    }
}

/// The value for a column; a string that is too long is reported with table and column.
#[inline]
pub fn column_value(
    e: &Expr,
    row: &[Value],
    rt: &mut Rt<'_, '_>,
    db: &Db,
    table: &TableDef,
    column: usize,
) -> Result<Value, SqlError> {
    match e.eval(row, rt) {
        Err(error) if error.number == 2628 => Err(truncated(e, row, rt, db, table, column)),
        result => result,
    }
}

/// 2628 with names; the value is computed again for the message.
fn truncated(
    e: &Expr,
    row: &[Value],
    rt: &mut Rt<'_, '_>,
    db: &Db,
    table: &TableDef,
    column: usize,
) -> SqlError {
    let ty = table.columns[column].ty;
    let value = match e {
        Expr::Convert(c) => {
            let ConvertExpr { operand, .. } = &**c;
            operand.eval(row, rt).unwrap_or(Value::Null)
        }
        _ => Value::Null,
    };
    let part =
        types::convert::fitting_part(&value, ty, table.columns[column].collation.code_page());
    SqlError::truncation_in(&full_name(db, table), &table.columns[column].name, &part)
}

/// The conversion to a column's type. Errors: 273 for a rowversion column, 13536 for one of a
/// period: their values the table makes.
pub fn into_column(
    typed: Typed,
    (db, table): (&Db, &TableDef),
    column: usize,
) -> Result<Expr, SqlError> {
    if table.columns[column].generated.is_some() {
        return Err(SqlError::of(msg::GENERATED_INSERTED, [&full_name(db, table)]));
    }
    if table.columns[column].ty == DataType::RowVersion {
        return Err(SqlError::of(msg::TIMESTAMP_INSERTED, []));
    }
    bind_ops::assigned(
        typed,
        table.columns[column].ty,
        Mode::Assignment,
        table.columns[column].collation,
    )
}

/// The value of a column as it leaves the statement's query.
pub fn masked_column(
    binder: &mut Binder<'_>,
    value: Expr,
    table: &TableDef,
    column: usize,
) -> Expr {
    let def = &table.columns[column];
    binder.masked(value, def.ty, def.collation)
}

/// The value of a column that the statement does not mention.
pub fn default_of(
    binder: &mut Binder<'_>,
    table: &TableDef,
    column: usize,
) -> Result<Expr, SqlError> {
    let def = &table.columns[column];
    if def.generated.is_some() {
        let function = binder.env.names.function(TRANSACTION_TIME);
        return period::new_value(function, def);
    }
    let Some(default) = &def.default else { return Ok(Expr::Const(Value::Null)) };
    binder.scopes.push(Scope { clause: Clause::None, ..Scope::default() });
    let typed = binder.expr(&default.expr);
    binder.scopes.pop();
    let typed = typed?;
    if let Ok(e) = bind_ops::assigned(typed.clone(), def.ty, Mode::Assignment, def.collation) {
        return Ok(e);
    }
    Ok(bind_ops::explicit(typed, def.ty, 0, false)?.expr)
}
