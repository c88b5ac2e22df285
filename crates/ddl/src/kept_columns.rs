//! The columns that a view or an inline function with `*` in its query keeps: a column that its
//! table gets later is not one of it, and one that the table calls otherwise later is still called
//! as it was, until the view is refreshed or altered. Guarantee: they are those of the moment when
//! the definition is made.

use std::sync::Arc;

use compact_str::CompactString;
use types::SqlError;

use super::own_queries::with_env;
use super::work::Work;
use bind::Binder;
use catalog::module::ModuleHead;
use catalog::{ModuleDef, ModuleKind};

/// A new definition with the columns that its query has now, if it is one that keeps them.
///
/// # Errors
/// Those of its query.
pub(super) fn with_columns(
    work: &mut Work<'_>,
    module: Arc<ModuleDef>,
) -> Result<Arc<ModuleDef>, SqlError> {
    if !module.selects_all() {
        return Ok(module);
    }
    let db = work.db.clone();
    let names: Arc<[CompactString]> = with_env(work.core, &db, |env, _| {
        let mut binder = Binder::new(env);
        Ok::<_, SqlError>(match module.kind {
            ModuleKind::View => {
                let (_, columns) = binder.view_query(&db, &module)?;
                columns.into_iter().map(|column| column.name).collect()
            }
            _ => {
                let columns = binder.inline_columns(&db, &module)?;
                columns.into_iter().map(|column| column.name).collect()
            }
        })
    })?;
    let head = ModuleHead { columns: Some(names), ..module.head() };
    Ok(Arc::new(ModuleDef::new(head, &module.text)?))
}
