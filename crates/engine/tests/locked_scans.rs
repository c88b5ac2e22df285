//! Reading with row locks: what a transaction takes back is never read.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use engine::{Instance, Session};
use sim::SimDisk;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use text::{Text, try_open};

fn made() -> Arc<Instance> {
    let instance = try_open(&SimDisk::new(1), 64 << 20).expect("the instance opens");
    text::run(&instance, "create database d");
    text::run(
        &instance,
        "use d
         create table t (id int primary key, k int not null, v char(20) not null)
         create index k on t (k) include (v)
         create table h (id int not null, v char(20) not null)
         insert t select value, value % 100, 'v' from generate_series(1, 20000)
         insert h select id, v from t",
    );
    instance
}

fn session(instance: &Arc<Instance>) -> Session {
    let mut session = instance.session().expect("a session");
    session.use_database("d").expect("it is there");
    session
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// What a transaction takes back was never there, however closely a reader comes behind it.
#[test]
fn nothing_is_read_that_was_taken_back() {
    let instance = made();
    text::run(
        &instance,
        "use d create table s (id int primary key, k int not null unique, v int not null)
         insert s select value, value, 0 from generate_series(1, 200)",
    );
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (instance, over) = (&instance, &over);
            scope.spawn(move || {
                let mut session = session(instance);
                let mut id = 50 * writer;
                while !over.load(Relaxed) {
                    id = id % 200 + 1;
                    let change = format!("begin tran update s set v = -1 where id = {id} rollback");
                    run(&mut session, &change);
                }
            });
        }
        let mut reader = session(&instance);
        let mut wrong = Vec::new();
        for _ in 0..400 {
            for query in [
                "select count(*) from s where v < 0",
                "select count(*) from s with (index(2)) where k > 0 and v < 0",
                "select count(*) from generate_series(1, 200) g where (select v from s where id = g.value) < 0",
            ] {
                let level = "set transaction isolation level serializable begin tran";
                let said = run(&mut reader, &format!("{level} {query} commit"));
                if said != "0" {
                    wrong.push((query, said));
                }
            }
        }
        over.store(true, Relaxed);
        assert!(wrong.is_empty(), "{} reads of what was never there: {:?}", wrong.len(), wrong.first());
    });
}
