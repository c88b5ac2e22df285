//! The module whose statements a session runs. Guarantee: the names in its text are looked up in
//! one database and one schema from its beginning to its end.

use std::sync::Arc;

use bind::module_schema::looked_up_first;
use catalog::{Db, ModuleDef};
use compact_str::CompactString;

/// The module whose statements run.
#[derive(Clone, Debug)]
pub struct RunningModule {
    /// What @@PROCID says.
    pub object_id: i32,
    /// database_id of where it is.
    pub home: i32,
    /// The schema in which it looks up names first; `None` for dbo.
    pub schema: Option<CompactString>,
    /// The database whose names they are.
    pub names: Arc<Db>,
}

impl RunningModule {
    /// A module of a database, called in another or the same one.
    pub(super) fn of((db, module): (&Arc<Db>, &ModuleDef), current: &Arc<Db>) -> RunningModule {
        let schema = looked_up_first(&module.schema);
        let names = if module.marked_system || module.is_temporary() { current } else { db };
        RunningModule { object_id: module.object_id, home: db.id(), schema, names: names.clone() }
    }
}
