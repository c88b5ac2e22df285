//! Queries that are suspended between their batches while the session runs other statements, and on
//! the way from one thread to another.

use std::sync::Arc;

use bind::env::{CompileEnv, VarScope};
use plan::QueryPlan;
use syntax::ast::StmtKind;
use types::{SqlError, Value};

use super::Session;
use crate::Instance;
use exec::operators::RowSet;
use exec::operators::context::ExecCtx;
use exec::operators::query::{RunningQuery, lock_tables};
use instance::InstanceOptions;
use session::output::Sink;

/// Fails at any error.
struct NoErrors;

impl Sink for NoErrors {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error}")
    }
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &mut NoErrors);
}

fn compile(session: &Session, sql: &str) -> Arc<QueryPlan> {
    let core = &session.core;
    let stmts = syntax::parse(sql).expect("it parses");
    let Some(StmtKind::Select(query)) = stmts.first().map(|s| &s.kind) else {
        panic!("not a query: {sql}")
    };
    let env = CompileEnv {
        predicate_of: None,
        schema: None,
        chain: logical::rights::Chain::None,
        names: &**core.host(),
        db: core.db(),
        catalog: core.db().catalog(),
        vars: &VarScope::new(),
        values: &[],
        options: &core.options,
        temps: &core.objects.temps,
        changes: None,
        cancel: &core.shared.cancel,
        counters: core.host().optimizer(),
        unresolved: None,
    };
    plan::compile_query(query, &env).expect("it compiles")
}

/// All rows, `between` called after each batch.
fn rows(
    session: &mut Session,
    query: &Arc<QueryPlan>,
    mut between: impl FnMut(&mut Session, usize),
) -> Vec<Vec<Value>> {
    let (mut all, mut batch, mut batches) = (Vec::new(), RowSet::default(), 0);
    lock_tables(query.needs(), &mut context(session)).expect("locks");
    let mut running = RunningQuery::start_suspendable(query.clone(), &mut context(session));
    loop {
        // Each time on another thread: the query goes there and the thread borrows the session.
        let more = std::thread::scope(|scope| {
            let (running, batch, session) = (&mut running, &mut batch, &mut *session);
            let next = scope.spawn(move || running.next(&mut context(session), batch));
            next.join().expect("no panic").expect("no error")
        });
        if !more {
            return all;
        }
        all.extend((0..batch.len()).map(|i| batch.row(i).to_vec()));
        between(session, batches);
        batches += 1;
        lock_tables(query.needs(), &mut context(session)).expect("no table has changed");
    }
}

fn context(session: &mut Session) -> ExecCtx<'_> {
    ExecCtx { session: &mut session.core, vars: &mut [] }
}

fn filled() -> (Arc<Instance>, Session) {
    let disk = Arc::new(sim::SimDisk::new(1));
    let options =
        InstanceOptions { memory_bytes: Some(64 << 20), disk, ..InstanceOptions::new("/data") };
    let instance = Instance::open(options).expect("the instance opens");
    let mut session = instance.session().expect("a session");
    run(&mut session, "create database d");
    session.use_database("d").expect("the database");
    run(
        &mut session,
        "create table t (id int primary key, k int, v varchar(40)) create index k on t (k)
         create table u (k int, name varchar(20))
         ;with n as (select 1 as i union all select i + 1 from n where i < 3000)
         insert t select i, i % 300, concat('v', i) from n option (maxrecursion 0)
         insert u select id, concat('n', id) from t where id <= 250",
    );
    (instance, session)
}

const QUERIES: &[&str] = &[
    "select id, k, v from t",
    "select id, k, v from t where k between 10 and 200 order by id desc",
    "select t.id, u.name from t left join u on u.k = t.k",
    "select t.id, u.name from t full join u on u.k = t.k + 100",
    "select t.id, o.id from t cross apply (select top (2) x.id from t x where x.k = t.k order by x.id) o",
    "select id, (select count(*) from u where u.k = t.k), (select max(id) from t) from t",
    "select k, count(*), min(v) from t group by k",
    "select id, sum(k) over (partition by k % 7 order by id) from t",
    "select distinct k from t union all select k from u",
    "select id, k from t except select k, len(name) from u where k < 20",
    "with r as (select 1 as n union all select n + 1 from r where n < 900) \
     select r.n, t.v from r join t on t.id = r.n option (maxrecursion 1000)",
    "select a.id, b.k from t a, u b where a.id + b.k < 60",
    "select top (60) percent id, v from t order by v",
];

#[test]
fn other_statements_between_batches_change_nothing() {
    for sql in QUERIES {
        let (instance, mut session) = filled();
        let query = compile(&session, sql);
        let undisturbed = rows(&mut session, &query, |_, _| {});
        assert!(undisturbed.len() > 128, "several batches: {sql}");
        let disturbed = rows(&mut session, &query, |session, batch| {
            run(
                session,
                &format!(
                    "insert t values (10000 + {batch}, 20, 'new') delete t where id % 50 = {batch}
                     update t set k += 1000, v = 'changed' where id % 40 = {batch} delete u where k % 30 = {batch}
                     select count(*) from t join u on t.k = u.k
                     select top (3) * from t order by v"
                ),
            );
        });
        assert_eq!(disturbed.len(), undisturbed.len(), "{sql}");
        assert!(disturbed == undisturbed, "other rows: {sql}");
        assert_eq!(instance.query_memory().used(), 0, "memory is left: {sql}");
    }
}

#[test]
fn two_runs_of_one_plan_take_turns() {
    let (_instance, mut session) = filled();
    let query = compile(&session, "select id, k, v from t order by v");
    let alone = rows(&mut session, &query, |_, _| {});
    let (mut first, mut second) = (
        RunningQuery::start_suspendable(query.clone(), &mut context(&mut session)),
        RunningQuery::start_suspendable(query.clone(), &mut context(&mut session)),
    );
    let (mut batch, mut all) = (RowSet::default(), [Vec::new(), Vec::new()]);
    loop {
        let mut more = false;
        for (running, all) in [&mut first, &mut second].into_iter().zip(&mut all) {
            if running.next(&mut context(&mut session), &mut batch).expect("rows") {
                all.extend((0..batch.len()).map(|i| batch.row(i).to_vec()));
                more = true;
            }
        }
        if !more {
            break;
        }
    }
    assert!(all[0] == alone && all[1] == alone);
}

#[test]
fn a_changed_table_is_told_when_the_query_goes_on() {
    let (_instance, mut session) = filled();
    let query = compile(&session, "select id, k, v from t");
    let mut running = RunningQuery::start_suspendable(query.clone(), &mut context(&mut session));
    let mut batch = RowSet::default();
    assert!(running.next(&mut context(&mut session), &mut batch).expect("rows"));
    run(&mut session, "alter table t add w int null");
    assert!(lock_tables(query.needs(), &mut context(&mut session)).is_err());
}

/// Compiles as long as a running query borrows nothing and goes to other threads.
const _: fn() = || {
    fn free<T: Send + 'static>() {}
    free::<RunningQuery<Arc<QueryPlan>>>();
};
