//! The functions that definitions may call: those of the system, by name.
//! Guarantee: nothing else has a name in a definition.

use std::fmt;
use std::sync::Arc;

use types::SqlError;

use bind::env::Names;
use catalog::{Db, errors};
use expr::functions::Function;
use logical::view::ViewDef;
use session::state::SessionCore;
use session::state::host::Above;

/// The functions of the system.
#[derive(Clone, Copy)]
pub struct SystemFunctions(&'static dyn Above);

impl SystemFunctions {
    /// As a session knows them.
    #[must_use]
    pub fn of(core: &SessionCore) -> SystemFunctions {
        SystemFunctions(core.host().above())
    }

    /// The function of a lower-case name.
    #[must_use]
    pub fn find(self, name: &str) -> Option<&'static Function> {
        self.0.function(name)
    }
}

impl fmt::Debug for SystemFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemFunctions")
    }
}

/// What a definition can name besides the columns of its table.
impl Names for SystemFunctions {
    fn find_db(&self, _: &str) -> Option<Arc<Db>> {
        None
    }

    fn variables(&self) -> Result<Arc<Db>, SqlError> {
        Err(SqlError::internal("a definition names a table variable"))
    }

    fn database(&self, name: &str) -> Result<Arc<Db>, SqlError> {
        Err(errors::no_database(name))
    }

    fn view(&self, _: &str, _: &str) -> Option<&'static dyn ViewDef> {
        None
    }

    fn function(&self, name: &str) -> Option<&'static Function> {
        self.find(name)
    }
}
