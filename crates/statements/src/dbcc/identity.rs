//! DBCC CHECKIDENT (table [, NORESEED | RESEED [, value]]).

use types::{SqlError, Value};

use super::Command;
use catalog::identity;

pub(super) fn check_ident(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let name = command.text(0).unwrap_or_default().to_string();
    let (db, table) = command.table(&name)?;
    let Some(table) = table else {
        let text =
            format!("Cannot find a table or object with the name \"{name}\". Check the system catalog.");
        return Err(SqlError::new(2501, 16, 45, text));
    };
    if !table.columns.iter().any(|c| c.identity.is_some()) {
        let text = format!("'{name}' does not contain an identity column.");
        return Err(SqlError::new(7997, 16, 1, text));
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
    let text = format!(
        "Checking identity information: current identity value '{}', current column value '{}'.",
        shown(before),
        shown(now)
    );
    command.ctx.inform(7998, 10, text)
}
