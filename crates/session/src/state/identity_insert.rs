//! SET IDENTITY_INSERT.

use super::core::SessionCore;
use super::names::resolve_table;
use syntax::ast::ObjectName;
use types::{SqlError, msg};

impl SessionCore {
    /// SET IDENTITY_INSERT. Errors: 1088 no such table, 8106 no identity column, 8107 another table
    /// has it on.
    pub fn set_identity_insert(&mut self, name: &ObjectName, on: bool) -> Result<(), SqlError> {
        let (db, table) = resolve_table(self, name).map_err(|e| match e.number {
            208 => SqlError::of(msg::OBJECT_NOT_FOUND, [&name]).state(11),
            _ => e,
        })?;
        if !table.columns.iter().any(|c| c.identity.is_some()) {
            return Err(SqlError::of(msg::NO_IDENTITY_PROPERTY, [&name]));
        }
        let this = (db.id(), table.object_id);
        match self.options.identity_insert {
            Some(other) if on && other != this => {
                Err(SqlError::of(msg::IDENTITY_INSERT_ELSEWHERE, [&name]))
            }
            current => {
                self.options.identity_insert =
                    if on { Some(this) } else { current.filter(|c| *c != this) };
                Ok(())
            }
        }
    }
}
