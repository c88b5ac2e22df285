//! Users, roles and permissions: each rule, and the ways around it that must not be there.

mod chains;
mod execute_as;
mod grants;
mod roles;
mod users;

use std::sync::Arc;

use crate::support::text::{Text, power_loss, run, say, try_open};
use engine::{ClientInfo, Instance, Session};
use sim::SimDisk;

const PASSWORD: &str = "Some-l0ng-one";

fn open(disk: &SimDisk) -> Arc<Instance> {
    try_open(disk, 32 << 20).unwrap()
}

/// A database `d` with tables, a view and procedures of dbo; logins `ann` (a user of `d`) and `bob`
/// (a user of nothing).
fn new() -> Arc<Instance> {
    let instance = open(&SimDisk::new(3));
    run(&instance, "CREATE DATABASE d");
    run(
        &instance,
        &format!(
            "CREATE LOGIN ann WITH PASSWORD = '{PASSWORD}'; CREATE LOGIN bob WITH PASSWORD = '{PASSWORD}'"
        ),
    );
    owner(
        &instance,
        &[
            "CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int NULL, secret varchar(20) NULL)",
            "INSERT t VALUES (1, 10, 'one'), (2, 20, 'two')",
            "CREATE TABLE other (id int NOT NULL PRIMARY KEY, t int NULL)",
            "CREATE VIEW v AS SELECT id, a FROM t",
            "CREATE PROCEDURE p AS SELECT COUNT(*) FROM t",
            "CREATE PROCEDURE dynamic AS EXEC ('SELECT COUNT(*) FROM t')",
            "CREATE PROCEDURE put @id int AS INSERT t (id) VALUES (@id)",
            "CREATE USER ann",
        ],
    );
    instance
}

/// Batches of the program itself in `d`; none may fail.
#[track_caller]
fn owner(instance: &Arc<Instance>, batches: &[&str]) {
    let mut session = instance.session().unwrap();
    session.use_database("d").unwrap();
    for sql in batches {
        let said = said(&mut session, sql);
        assert!(!said.contains("Msg "), "{sql}\n{said}");
    }
}

fn said(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

fn login(instance: &Arc<Instance>, name: &str, database: &str) -> Session {
    let token = instance.authenticate(name, PASSWORD, &ClientInfo::default()).unwrap();
    instance.session_for(&token, Some(database)).unwrap()
}

/// The batch fails with exactly these errors and shows no rows.
#[track_caller]
fn refused(session: &mut Session, sql: &str, numbers: &[i32]) {
    let said = said(session, sql);
    let found: Vec<i32> = said
        .lines()
        .filter_map(|line| line.strip_prefix("Msg ")?.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(found, numbers, "{sql}\n{said}");
    assert!(said.lines().all(|line| line.starts_with("Msg ")), "{sql} shows something\n{said}");
}

#[track_caller]
fn allowed(session: &mut Session, sql: &str) -> String {
    let said = said(session, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    said
}
