//! A binder for what stands in definitions: computed columns, filters of indexes, bodies of
//! functions. Guarantees: what it binds does not depend on a session's options, temporary tables
//! or rights.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::system_functions::SystemFunctions;
use bind::Binder;
use bind::counters::OptimizerCounters;
use bind::env::{CompileEnv, NO_TEMPS, VarScope};
use bind::set_options::SessionOptions;
use catalog::Db;
use logical::rights::Chain;
use types::SqlError;

/// Runs `f` with a binder for definitions.
pub fn with_binder<T>(
    functions: SystemFunctions,
    db: &Arc<Db>,
    f: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    with_variables(functions, db, &VarScope::new(), f)
}

/// The same, for the definition of what has variables.
pub(crate) fn with_variables<T>(
    functions: SystemFunctions,
    db: &Arc<Db>,
    vars: &VarScope,
    f: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    static GOES_ON: AtomicBool = AtomicBool::new(false);
    let (options, counters) = (SessionOptions::default(), OptimizerCounters::default());
    let env = CompileEnv {
        predicate_of: None,
        schema: None,
        chain: Chain::Trusted,
        names: &functions,
        db,
        catalog: db.catalog(),
        vars,
        values: &[],
        options: &options,
        temps: &NO_TEMPS,
        changes: None,
        cancel: &GOES_ON,
        counters: &counters,
        unresolved: None,
    };
    f(&mut Binder::new(&env))
}
