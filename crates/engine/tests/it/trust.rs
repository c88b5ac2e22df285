//! No way to lose a database, seen through T-SQL: a full log, damage to the log, a statement that
//! panics, a lock timeout before a power loss.

#[path = "../../../txn/tests/it/support/panic_disk.rs"]
mod panic_disk;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::text::{self, Text, run, say};
use disk::{AlignedBuf, Disk, OpenMode};
use engine::{Instance, InstanceOptions, Session};
use panic_disk::{Doing, PanicDisk};
use sim::SimDisk;

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 32 << 20).expect("the instance opens")
}

fn create(instance: &Arc<Instance>, log: &str) {
    run(
        instance,
        &format!(
            "create database f on (name = d, filename = 'f.mdf', size = 4MB, filegrowth = 4MB)
             log on (name = l, filename = 'f.ldf', {log})"
        ),
    );
    run(instance, "alter database f set recovery simple");
    run(instance, "use f create table t(a int primary key, b varchar(8000))");
}

fn session(instance: &Arc<Instance>) -> Session {
    let mut session = instance.session().unwrap();
    session.use_database("f").unwrap();
    session
}

fn tell(session: &mut Session, sql: &str) -> String {
    let mut text = Text::default();
    session.execute(sql, &mut text);
    text.out.trim().to_string()
}

fn error_log(instance: &Arc<Instance>) -> String {
    instance.error_log().lines().join("\n")
}

/// 60 sessions, each with one open insert, a log of 8 MB that is filled until 9002: all commit.
#[test]
fn sixty_open_transactions_commit_on_a_full_log() {
    let disk = SimDisk::new(31);
    let instance = open(&disk);
    create(&instance, "size = 8MB, filegrowth = 0");
    let mut sessions: Vec<Session> = (0..60).map(|_| session(&instance)).collect();
    for (i, session) in sessions.iter_mut().enumerate() {
        assert_eq!(tell(session, &format!("begin tran insert t values ({i}, 'open')")), "(1)");
    }
    let full = say(
        &instance,
        "use f set nocount on; declare @i int = 1000;
         while @i < 9000 begin insert t values (@i, replicate('x', 7000)); set @i += 1 end",
    );
    assert!(full.contains("Msg 9002") && full.contains("due to 'ACTIVE_TRANSACTION'"), "{full}");
    let reason = "select log_reuse_wait_desc, state_desc from sys.databases where name = 'f'";
    assert_eq!(say(&instance, reason), "ACTIVE_TRANSACTION|ONLINE");
    for (i, session) in sessions.iter_mut().enumerate() {
        // What wants more of the log gets some or is refused.
        if i % 20 == 0 {
            let said = say(
                &instance,
                "use f begin tran insert t values (-1, replicate('y', 8000)) rollback",
            );
            assert!(said.contains("Msg 9002") || said.ends_with("(1)"), "{said}");
        }
        let end = if i % 3 == 2 { "rollback" } else { "commit" };
        assert_eq!(tell(session, end), "", "{end} of session {i}");
    }
    assert_eq!(say(&instance, "select count(*) from f..t where a < 60"), "40");
    run(&instance, "use f checkpoint insert t values (-1, replicate('y', 8000))");
    assert_eq!(say(&instance, reason), "NOTHING|ONLINE");
    assert!(instance.check_database("f").unwrap().is_clean());
}

/// A log that waits for its backup: transactions end, the instance stops cleanly and starts, and
/// the backup makes room.
#[test]
fn a_full_log_that_waits_for_its_backup() {
    let disk = SimDisk::new(34);
    let instance = open(&disk);
    create(&instance, "size = 2MB, filegrowth = 0");
    run(&instance, "alter database f set recovery full");
    run(&instance, "backup database f to disk = 'f.bak'");
    let mut one = session(&instance);
    assert_eq!(tell(&mut one, "begin tran insert t values (1, 'open')"), "(1)");
    let fill = "use f set nocount on; declare @i int = 1000;
         while @i < 9000 begin insert t values (@i, replicate('x', 7000)); set @i += 1 end";
    let full = say(&instance, fill);
    assert!(full.contains("Msg 9002") && full.contains("due to 'LOG_BACKUP'"), "{full}");
    assert_eq!(tell(&mut one, "commit"), "");
    let rows = say(&instance, "select count(*) from f..t");
    drop(one);
    for _ in 0..3 {
        instance.close().unwrap();
    }
    drop(instance);
    let mut instance = open(&disk);
    for _ in 0..20 {
        instance.close().unwrap();
        drop(instance);
        instance = open(&disk);
    }
    let state = "select log_reuse_wait_desc, state_desc from sys.databases where name = 'f'";
    assert_eq!(say(&instance, state), "LOG_BACKUP|ONLINE");
    assert_eq!(say(&instance, "select count(*) from f..t"), rows);
    run(&instance, "backup log f to disk = 'f.trn'");
    run(&instance, "use f insert t values (2, 'room')");
    assert!(instance.check_database("f").unwrap().is_clean());
}

/// A flipped bit in the log's last block: SUSPECT, and the error log names the range. All other
/// databases open.
#[test]
fn a_damaged_log_is_suspect_and_its_range_is_named() {
    let disk = SimDisk::new(32);
    let instance = open(&disk);
    create(&instance, "size = 1MB, filegrowth = 1MB");
    (0..20).for_each(|i| run(&instance, &format!("use f insert t values ({i}, 'durable')")));
    let left = disk.crash(1);
    drop(instance);
    let file = left.open(Path::new("/data/f.ldf"), OpenMode::Open).unwrap();
    let mut bytes = AlignedBuf::new(file.len().unwrap() as usize);
    file.read_at(0, &mut bytes).unwrap();
    let magic = |at: &usize| bytes[*at..].starts_with(b"RWLB");
    let last = (8192..bytes.len()).step_by(512).filter(magic).max().expect("blocks");
    let sector = last / 512 * 512;
    let mut one = AlignedBuf::new(512);
    one.copy_from_slice(&bytes[sector..sector + 512]);
    one[100] ^= 4;
    file.write_durable(sector as u64, &[&one]).unwrap();
    drop(file);
    let instance = open(&left);
    assert_eq!(say(&instance, "select state_desc from sys.databases where name = 'f'"), "SUSPECT");
    let said = error_log(&instance);
    let line = said.lines().find(|line| line.contains("9004")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("'f'") && line.contains("the log records from 0000"), "{line}");
    assert_eq!(
        say(&instance, "select state_desc from sys.databases where name = 'master'"),
        "ONLINE"
    );
}

/// A statement that panics ends its batch and its transaction; its locks and latches are free,
/// nobody else notices.
#[test]
fn a_statement_that_panics_is_contained() {
    let sim = SimDisk::new(33);
    let instance = open(&sim);
    create(&instance, "size = 8MB, filegrowth = 8MB");
    run(&instance, "use f insert t values (1, 'one'), (2, 'two')");
    run(
        &instance,
        "use f set nocount on; declare @i int = 10;
         while @i < 600 begin insert t values (@i, replicate('x', 7000)); set @i += 1 end",
    );
    instance.close().unwrap();
    drop(instance);
    let disk = PanicDisk::new(Arc::new(sim));
    let options = InstanceOptions {
        memory_bytes: Some(32 << 20),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).unwrap();
    let mut victim = session(&instance);
    assert_eq!(tell(&mut victim, "begin tran update t set b = 'lost' where a = 1"), "(1)");
    disk.arm("victim", Doing::Read, "f.mdf");
    let thread = std::thread::Builder::new().name("victim".into()).spawn(move || {
        let said = tell(&mut victim, "select sum(len(b)) from t; select 'not reached'");
        (said, tell(&mut victim, "select @@trancount"))
    });
    let (said, after) = thread.unwrap().join().unwrap();
    assert!(said.starts_with("Msg 3624") && !said.contains("not reached"), "{said}");
    assert_eq!(after, "0", "the transaction is rolled back, the session works");
    assert!(disk.struck().is_some());
    let start = Instant::now();
    let mut other = session(&instance);
    assert_eq!(tell(&mut other, "set lock_timeout 900 update t set b = 'free' where a = 1"), "(1)");
    assert_eq!(say(&instance, "select sum(len(b)) from f..t"), (4 + 3 + 590 * 7000).to_string());
    assert!(start.elapsed() < Duration::from_secs(5));
    let said = error_log(&instance);
    assert!(said.contains("3624") && said.contains("injected"), "{said}");
    assert!(instance.check_database("f").unwrap().is_clean());
}

/// A statement that gives up waiting (1222) leaves its transaction as it was; a power loss takes
/// both transactions back.
#[test]
fn a_lock_timeout_and_then_a_power_loss() {
    for seed in 0..8 {
        let disk = SimDisk::new(40 + seed);
        let instance = open(&disk);
        create(&instance, "size = 8MB, filegrowth = 8MB");
        run(&instance, "use f insert t values (1, 'one'), (2, 'two'), (3, 'three')");
        let (mut holder, mut waiter) = (session(&instance), session(&instance));
        assert_eq!(tell(&mut holder, "begin tran update t set b = 'held' where a = 1"), "(1)");
        assert_eq!(
            tell(&mut waiter, "set lock_timeout 20 begin tran update t set b = 'mine' where a = 2"),
            "(1)"
        );
        let said = tell(&mut waiter, "update t set b = b + '!'");
        assert!(said.contains("Msg 1222"), "{said}");
        assert_eq!(tell(&mut waiter, "select @@trancount"), "1");
        assert_eq!(tell(&mut waiter, "insert t values (4, 'after the timeout')"), "(1)");
        if seed % 2 == 0 {
            assert_eq!(tell(&mut waiter, "commit"), "");
        } else {
            // Its records are durable, its commit is not there.
            run(&instance, "exec f.sys.sp_flush_log");
        }
        let left = disk.crash(seed);
        drop((holder, waiter, instance));
        let instance = open(&left);
        let wanted = if seed % 2 == 0 {
            "1|one\n2|mine\n3|three\n4|after the timeout"
        } else {
            "1|one\n2|two\n3|three"
        };
        assert_eq!(say(&instance, "select a, b from f..t order by a"), wanted, "seed {seed}");
        assert!(instance.check_database("f").unwrap().is_clean());
    }
}
