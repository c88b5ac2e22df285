//! SET IDENTITY_INSERT.

use super::core::SessionCore;
use super::names::resolve_table;
use syntax::ast::ObjectName;
use types::SqlError;

impl SessionCore {
    /// SET IDENTITY_INSERT. Errors: 1088 no such table, 8106 no identity column, 8107 another table has it on.
    pub fn set_identity_insert(&mut self, name: &ObjectName, on: bool) -> Result<(), SqlError> {
        let (db, table) = resolve_table(self, name).map_err(|e| match e.number {
            208 => {
                let text = format!(
                    "Cannot find the object \"{name}\" because it does not exist or you do not have permissions."
                );
                SqlError::new(1088, 16, 11, text)
            }
            _ => e,
        })?;
        if !table.columns.iter().any(|c| c.identity.is_some()) {
            let text =
                format!("Table '{name}' does not have the identity property. Cannot perform SET operation.");
            return Err(SqlError::new(8106, 16, 1, text));
        }
        let this = (db.id(), table.object_id);
        match self.options.identity_insert {
            Some(other) if on && other != this => {
                let text = format!(
                    "IDENTITY_INSERT is already ON for another table. Cannot perform SET operation for table '{name}'."
                );
                Err(SqlError::new(8107, 16, 1, text))
            }
            current => {
                self.options.identity_insert = if on { Some(this) } else { current.filter(|c| *c != this) };
                Ok(())
            }
        }
    }
}
