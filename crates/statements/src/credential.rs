//! CREATE, ALTER and DROP CREDENTIAL. They belong to the instance and take no part in a
//! transaction.

use syntax::ast::{Credential, DropObjects};
use types::{SqlError, msg};

use super::StmtCtx;
use catalog::errors;
use instance::OfInstance;
use instance::credentials::ChangeError;

/// Longest name.
const NAME_MAX: usize = 128;

impl StmtCtx<'_> {
    pub(super) fn credential(&mut self, stmt: &Credential) -> Result<(), SqlError> {
        if stmt.database_scoped {
            return Err(errors::not_supported("DATABASE SCOPED CREDENTIAL"));
        }
        if self.core.trancount() > 0 {
            let what = if stmt.alter { "ALTER CREDENTIAL" } else { "CREATE CREDENTIAL" };
            return Err(errors::not_in_transaction(what));
        }
        let name = stmt.name.value.as_str();
        if name.chars().count() > NAME_MAX {
            return Err(SqlError::of(
                msg::NAME_TOO_LONG,
                [&"identifier", &name.chars().take(NAME_MAX).collect::<String>(), &NAME_MAX],
            ));
        }
        let credentials = self.core.instance().credentials();
        let secret = stmt.secret.as_deref();
        if stmt.alter {
            credentials
                .alter(name, &stmt.identity, secret)
                .map_err(|e| failed(e, missing("alter", name)))
        } else {
            let taken = SqlError::of(msg::NAMED_OBJECT_EXISTS, [&"credential", &name]);
            credentials.create(name, &stmt.identity, secret).map_err(|e| failed(e, taken))
        }
    }

    pub(super) fn drop_credential(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        if self.core.trancount() > 0 {
            return Err(errors::not_in_transaction("DROP CREDENTIAL"));
        }
        for name in &stmt.names {
            let name = name.name.value.as_str();
            let removed = self.core.instance().credentials().remove(name);
            removed.map_err(|e| failed(e, missing("drop", name)))?;
        }
        Ok(())
    }
}

fn missing(verb: &str, name: &str) -> SqlError {
    SqlError::of(msg::CANNOT_CHANGE_MISSING, [&verb, &"credential", &name])
}

fn failed(e: ChangeError, name: SqlError) -> SqlError {
    match e {
        ChangeError::Name => name,
        ChangeError::Kept(e) => e.into(),
    }
}
