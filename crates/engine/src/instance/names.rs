//! The names that statements are compiled against.

use std::sync::Arc;

use expr::functions::Function;
use types::SqlError;

use super::Instance;
use catalog::Db;
use plan::bind::env::Names;
use plan::view::ViewDef;

impl Names for Instance {
    fn find_db(&self, name: &str) -> Option<Arc<Db>> {
        Instance::find_db(self, name)
    }

    fn database(&self, name: &str) -> Result<Arc<Db>, SqlError> {
        Instance::database(self, name)
    }

    fn variables(&self) -> Result<Arc<Db>, SqlError> {
        self.variables_db()
    }

    fn view(&self, schema: &str, name: &str) -> Option<&'static dyn ViewDef> {
        crate::views::find(schema, name).map(|view| view as &dyn ViewDef)
    }

    fn function(&self, name: &str) -> Option<&'static Function> {
        crate::functions::find(name)
    }
}
