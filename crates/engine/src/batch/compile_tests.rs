//! That a compilation notices a cancel, and what is counted of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bind::env::{CompileEnv, VarScope};
use sim::SimDisk;
use syntax::ast::{Query, StmtKind};
use types::SqlError;

use crate::{Instance, InstanceOptions};

/// Compiles a query with this flag of a session that was told to stop.
fn compile(instance: &Arc<Instance>, text: &str, cancel: &AtomicBool) -> Result<u64, SqlError> {
    let stmts = syntax::parse(text).unwrap();
    let StmtKind::Select(query): &StmtKind = &stmts[0].kind else { panic!("{text}") };
    let query: &Query = query;
    instance.session().unwrap().with_core(|core| {
        let counters = bind::counters::OptimizerCounters::default();
        let env = CompileEnv {
            predicate_of: None,
            schema: None,
            chain: core.identity.chain,
            names: &**core.host(),
            db: core.db(),
            catalog: core.db().catalog(),
            vars: &VarScope::new(),
            values: &[],
            options: &core.options,
            temps: &core.objects.temps,
            changes: None,
            cancel,
            counters: &counters,
            unresolved: None,
        };
        plan::compile_query(query, &env)?;
        Ok(counters.totals().elapsed.occurrences)
    })
}

#[test]
fn a_compilation_notices_a_cancel_and_is_not_counted() {
    let disk = Arc::new(SimDisk::new(3));
    let options =
        InstanceOptions { memory_bytes: Some(64 << 20), disk, ..InstanceOptions::new("/data") };
    let instance = Instance::open(options).unwrap();
    let join = "SELECT 1 FROM sys.objects a, sys.objects b WHERE a.object_id = b.object_id";
    assert_eq!(compile(&instance, join, &AtomicBool::new(false)).unwrap(), 1);
    assert_eq!(compile(&instance, join, &AtomicBool::new(true)).unwrap_err().number, 3617);
}
