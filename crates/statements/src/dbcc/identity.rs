//! DBCC CHECKIDENT (table [, NORESEED | RESEED [, value]]).

use types::{SqlError, Value, msg};

use super::Command;
use catalog::identity;

pub(super) fn check_ident(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let name = command.text(0).unwrap_or_default().to_string();
    let (db, table) = command.table(&name)?;
    let Some(table) = table else {
        return Err(SqlError::of(msg::TABLE_OR_OBJECT_NOT_FOUND, [&name]));
    };
    if !table.columns.iter().any(|c| c.identity.is_some()) {
        return Err(SqlError::of(msg::NO_IDENTITY_COLUMN, [&name]));
    }
    let before = table.state.identity.lock().last;
    let shown = |value: Option<i64>| value.map_or_else(|| "NULL".to_string(), |n| n.to_string());
    let reseed = command.text(1).is_some_and(|word| word.eq_ignore_ascii_case("reseed"));
    let value = match command.args.get(2) {
        Some(Value::Null) | None => None,
        Some(value) => value.as_i64(),
    };
    if let (true, Some(value)) = (reseed, value) {
        identity::set(&db, &table, Some(value))?;
    }
    let now = table.state.identity.lock().last;
    command.ctx.inform(msg::IDENTITY_INFORMATION, [&shown(before), &shown(now)])
}
