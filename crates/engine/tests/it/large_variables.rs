//! Large values of variables when memory is short: those that nobody uses at present wait in run
//! files, more of them than the memory could hold, and each is what it was when it is used again.

use crate::support::limited::{MB, run, say};
use disk::Disk;
use engine::{Instance, InstanceOptions, Session};
use memory::Clerk;
use sim::{Fault, OpKind, SimDisk};
use std::path::Path;
use std::sync::Arc;

/// An instance with a little memory, and its disk.
fn open(megabytes: usize) -> (Arc<Instance>, SimDisk) {
    let disk = SimDisk::new(1);
    let options = InstanceOptions {
        process_bytes: Some((megabytes * MB) as u64),
        disk: Arc::new(disk.clone()),
        ..InstanceOptions::new("/data")
    };
    (Instance::open(options).expect("the instance opens"), disk)
}

/// Run files that there are.
fn run_files(disk: &SimDisk) -> usize {
    let all = disk.list(Path::new("/data")).expect("the folder");
    all.iter().filter(|path| path.to_string_lossy().contains(".sort-")).count()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed().as_secs() < 60, "never: {what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// 30 sessions that each keep 4 MB while they wait for a lock: 120 MB where values may take 70.
/// Each uses its value when its lock is free, one after the other: what is worked with must fit.
#[test]
fn sessions_that_wait_keep_more_than_memory_holds() {
    let (instance, disk) = open(96);
    assert_eq!(say(&instance, "create database d"), "");
    let mut holder = instance.session().expect("a session");
    let locks = |what: &str, rest: &str| -> String {
        (0..30).map(|i| format!("exec {what} 'k{i}'{rest}\n")).collect()
    };
    run(&mut holder, &format!("use d {}", locks("sp_getapplock", ", 'Exclusive', 'Session'")));
    let waits = "select count(*) from sys.dm_exec_requests where wait_type like 'LCK%'";
    let mut sessions = Vec::new();
    for i in 0..30 {
        let of_session = instance.clone();
        sessions.push(std::thread::spawn(move || {
            let sql = format!(
                "declare @v varchar(max) = replicate(cast('{i:02}' as varchar(max)), 2000000) + 'end{i:02}'
                 exec sp_getapplock 'k{i}', 'Exclusive', 'Session'
                 select len(@v), left(@v, 4), right(@v, 7)"
            );
            let mut session = of_session.session().expect("a session");
            session.use_database("d").expect("it is there");
            run(&mut session, &sql)
        }));
        wait_until("it waits", || say(&instance, waits) == (i + 1).to_string());
    }
    let (away, held) = (run_files(&disk), instance.memory().held(Clerk::QueryExecution));
    assert!(away >= 10, "{away} values are in run files");
    assert!(held <= 80 * MB, "{} MB are charged", held / MB);
    for (i, session) in sessions.into_iter().enumerate() {
        run(&mut holder, &format!("exec sp_releaseapplock 'k{i}', 'Session'"));
        let said = session.join().expect("an answer");
        assert_eq!(said, format!("4000005|{i:02}{i:02}|{i:02}end{i:02}"), "session {i}");
    }
    assert_eq!(run_files(&disk), 0, "the files have gone with their values");
    assert_eq!(instance.memory().held(Clerk::QueryExecution), 0);
}

/// A session with memory short: another one holds more than half of it.
fn under_pressure(sql: &str) -> (String, usize) {
    let (instance, disk) = open(96);
    assert_eq!(say(&instance, "create database d"), "");
    let account = instance.memory();
    let held = account.limit() * 5 / 8;
    account.charge(Clerk::Sessions, held).expect("there is room");
    assert!(account.is_short());
    let mut session: Session = instance.session().expect("a session");
    run(&mut session, "use d");
    let said = run(&mut session, sql);
    let left = run_files(&disk);
    account.release(Clerk::Sessions, held);
    (said, left)
}

/// Each is put away by the SELECT of sys.objects, which names none of the variables.
#[test]
fn every_way_to_use_a_variable_finds_it() {
    let away = "select count(*) - count(*) from sys.objects";
    let mb = "replicate(cast('ab' as varchar(max)), 700000)";
    let cases = [
        // Read, changed, set to NULL, given a new value, while it was away.
        (format!("declare @v varchar(max) = {mb} {away} set @v += 'c' {away} select len(@v), right(@v, 2)"), "0\n0\n1400001|bc"),
        (format!("declare @v varchar(max) = {mb} {away} set @v = null {away} select isnull(@v, 'null')"), "0\n0\nnull"),
        (format!("declare @v varchar(max) = {mb} {away} select @V = 'x' {away} select @v"), "0\n0\nx"),
        (format!("declare @v varchar(max) = {mb} {away} if len(@v) = 1400000 print 'long' {away} print len(@v)"), "0\nlong\n0\n1400000"),
        // A half of a surrogate pair, bytes, xml.
        ("declare @v nvarchar(max) = replicate(cast(N'é' as nvarchar(max)), 700000) + nchar(0xD83D)
          select count(*) - count(*) from sys.objects select len(@v), unicode(right(@v, 1))".into(), "0\n700001|55357"),
        ("declare @v varbinary(max) = cast(replicate(cast('é' as varchar(max)), 1400000) as varbinary(max)) + 0x01
          select count(*) - count(*) from sys.objects select datalength(@v), substring(@v, 1400000, 2)".into(), "0\n1400001|0xE901"),
        ("declare @v xml = cast('<a>' + replicate(cast('x' as varchar(max)), 1400000) + '</a>' as xml)
          select count(*) - count(*) from sys.objects select len(@v.value('(/a)[1]', 'varchar(max)'))".into(), "0\n1400000"),
        // A loop, whose initial value is given again each time round.
        (format!("declare @i int = 0, @n bigint = 0 while @i < 3 begin declare @v varchar(max) = {mb} {away} set @n += len(@v) set @i += 1 end select @n"),
         "0\n0\n0\n4200000"),
        // A cursor over it, a text with it, a procedure's OUTPUT parameter.
        (format!("declare @v varchar(max) = {mb} {away} declare c cursor static for select len(@v) open c {away} fetch c"), "0\n0\n1400000"),
        (format!("declare @v varchar(max) = {mb} {away} exec sp_executesql N'{away} select len(@p)', N'@p varchar(max)', @v"), "0\n0\n1400000"),
        (format!("exec('create procedure p @o varchar(max) output as set @o = {} {away}') declare @v varchar(max) exec p @v output {away} select len(@v)", mb.replace('\'', "''")),
         "0\n0\n1400000"),
        (format!("exec('create procedure p @o varchar(max) output as {away}') declare @v varchar(max) = {mb} exec p @v output {away} select len(@v)"),
         "0\n0\n1400000"),
        (format!("declare @v varchar(max) = {mb} begin try {away} declare @z int = 1 / 0 end try begin catch {away} select len(@v) end catch"), "0\n0\n1400000"),
    ];
    let mut wrong = Vec::new();
    for (sql, expected) in cases {
        let (said, left) = under_pressure(&sql);
        if said != expected || left != 0 {
            wrong.push(format!("{sql}\n  {left} run files, said {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// While the statement runs that does not name them.
#[test]
fn a_value_is_away_while_others_work() {
    let (instance, disk) = open(96);
    let account = instance.memory();
    let held = account.limit() * 5 / 8;
    account.charge(Clerk::Sessions, held).expect("there is room");
    let batch = {
        let instance = instance.clone();
        std::thread::spawn(move || {
            let sql =
                "declare @v varchar(max) = replicate(cast('ab' as varchar(max)), 700000), @w varchar(max)
                       set @w = @v waitfor delay '00:00:30' select len(@v) + len(@w)";
            let mut session = instance.session().expect("a session");
            run(&mut session, sql)
        })
    };
    wait_until("both are away", || run_files(&disk) == 2);
    let session =
        say(&instance, "select session_id from sys.dm_exec_requests where command = 'WAITFOR'");
    assert_eq!(say(&instance, &format!("kill {session}")), "");
    batch.join().expect("the end of the session");
    wait_until("the files have gone", || run_files(&disk) == 0);
    account.release(Clerk::Sessions, held);
}

/// Runs a batch in an instance whose memory is short and whose run files fail in a way.
fn with_fault(kind: OpKind, fault: Fault, sql: &str) -> (String, usize) {
    let (instance, disk) = open(96);
    assert_eq!(say(&instance, "create database d"), "");
    let account = instance.memory();
    let held = account.limit() * 5 / 8;
    account.charge(Clerk::Sessions, held).expect("there is room");
    let mut session = instance.session().expect("a session");
    run(&mut session, "use d");
    let procedure = "create procedure p @o varchar(max) output as set @o += 'x' select count(*) - count(*) from sys.objects";
    assert_eq!(run(&mut session, procedure), "");
    disk.fail_on(Path::new("/data/tempdb.mdf.sort-1"), kind, 1, fault);
    let said = run(&mut session, sql);
    drop(session);
    account.release(Clerk::Sessions, held);
    (said, run_files(&disk))
}

const VALUE: &str = "declare @v varchar(max) = replicate(cast('ab' as varchar(max)), 700000)
    select count(*) - count(*) from sys.objects";

/// A full disk: the value stays in memory, and the batch goes on.
#[test]
fn a_value_that_cannot_be_written_stays() {
    let said = with_fault(OpKind::Write, Fault::NoSpace, &format!("{VALUE} select len(@v)"));
    assert_eq!(said, ("0\n1400000".to_owned(), 0));
}

/// A value that cannot be read fails what needs it: a statement, or the end of a procedure that
/// returns it.
#[test]
fn a_value_that_cannot_be_read_is_an_error_of_what_needs_it() {
    for needs in [
        format!("{VALUE} select len(@v)"),
        "declare @v varchar(max) = replicate(cast('ab' as varchar(max)), 700000) exec p @v output select len(@v)".into(),
    ] {
        let (said, left) = with_fault(OpKind::Read, Fault::Io, &needs);
        assert!(said.starts_with("0\nMsg 823: "), "{needs}\n{said}");
        assert!(!said.contains("1400000"), "nothing goes on after it: {said}");
        assert_eq!(left, 0, "{needs}");
    }
}

/// Others hold all memory for longer than a value waits.
#[test]
fn a_value_without_room_waits_and_is_701() {
    let (instance, disk) = open(96);
    let account = instance.memory();
    let half = account.limit() * 5 / 8;
    account.charge(Clerk::Sessions, half).expect("there is room");
    let batch = {
        let instance = instance.clone();
        let sql = format!("{VALUE} waitfor delay '00:00:00.300' select len(@v)");
        std::thread::spawn(move || say(&instance, &sql))
    };
    wait_until("it is away", || run_files(&disk) == 1);
    // Less is left than the value takes, and would have to leave free.
    let rest = account.limit() - account.total() - MB / 2;
    account.charge(Clerk::Sessions, rest).expect("there is room");
    let said = batch.join().expect("an answer");
    account.release(Clerk::Sessions, half + rest);
    assert!(said.starts_with("0\nMsg 701: "), "{said}");
    assert_eq!(run_files(&disk), 0);
}
