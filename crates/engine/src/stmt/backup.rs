//! BACKUP and RESTORE: what they are for is not there yet, and they say so.

use syntax::ast::{Backup, NameOrVariable, Restore};
use types::SqlError;

use super::StmtCtx;

impl StmtCtx<'_> {
    pub(super) fn backup(&mut self, stmt: &Backup) -> Result<(), SqlError> {
        self.named(&stmt.database)?;
        Err(not_yet("BACKUP"))
    }

    pub(super) fn restore(&mut self, _stmt: &Restore) -> Result<(), SqlError> {
        Err(not_yet("RESTORE"))
    }

    /// Error 911 when the database does not exist: a wrong name is worth knowing even now.
    fn named(&self, name: &NameOrVariable) -> Result<(), SqlError> {
        let name = match name {
            NameOrVariable::Name(name) => name.value.to_string(),
            NameOrVariable::Variable(variable) => {
                let (slot, _) = self.variables.scope.find(variable)?;
                let value = self.variables.values.get(slot);
                value.and_then(|v| v.as_str()).unwrap_or_default().to_string()
            }
        };
        self.core.instance().database(&name).map(drop)
    }
}

fn not_yet(what: &str) -> SqlError {
    SqlError::new(40510, 16, 1, format!("{what} is not supported yet."))
}
