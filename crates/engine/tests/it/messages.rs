//! Messages by number: sp_addmessage and similar procedures, sys.messages, RAISERROR and
//! FORMATMESSAGE of numbers, languages.

use crate::support::text::{self, Bench, fails};
use sim::SimDisk;

#[test]
fn added_raised_formatted_dropped() {
    let b = &mut Bench::new();
    b.check("exec sp_addmessage 50001, 11, N'Low %d of %s'", "");
    b.check(
        "select severity, is_event_logged, language_id, text from sys.messages where message_id = 50001",
        "11|0|1033|Low %d of %s",
    );
    b.check(
        "select formatmessage(50001, 7, 'ten'), formatmessage(50002, 1), formatmessage(null)",
        "Low 7 of ten|NULL|NULL",
    );
    b.check("raiserror (50001, -1, 1, 7, 'ten')", "Msg 50001: Low 7 of ten");
    b.check(
        "begin try raiserror (50001, 16, 3, 8, 'x') end try begin catch select error_number(), error_severity(), error_state(), error_message() end catch",
        "50001|16|3|Low 8 of x",
    );
    b.check("declare @n int = 50001 raiserror (@n, 10, 1, 1, 'y')", "Low 1 of y");
    let said = b.instance.clone();
    let not_found = fails(&said, "raiserror (50077, 16, 2)", &[18054]);
    assert!(
        not_found.contains("Error 50077, severity 16, state 2 was raised, but no message"),
        "{not_found}"
    );
    fails(&said, "raiserror (12000, 16, 1)", &[2732]);
    fails(&said, "raiserror (50000, 16, 1)", &[2732]);
    // The engine's own from 13000 on.
    b.check("raiserror (15517, 16, 1, 'x')", "Msg 15517: Cannot execute as the database principal because the principal \"x\" does not exist, this type of principal cannot be impersonated, or you do not have permission.");
    // REPLACE, WITH_LOG, names of parameters.
    fails(&said, "exec sp_addmessage 50001, 16, N'y'", &[15043]);
    b.check("exec sp_addmessage @msgtext = N'new', @severity = 16, @msgnum = 50001, @replace = 'replace', @with_log = 'TRUE'", "");
    b.check(
        "select severity, is_event_logged, text from sys.messages where message_id = 50001",
        "16|1|new",
    );
    b.check("exec sp_altermessage 50001, 'WITH_LOG', 'false'; select is_event_logged from sys.messages where message_id = 50001", "0");
    b.check("select description, dlevel from sys.sysmessages where error = 50001", "new|0");
    // Part of the transaction.
    b.check("begin tran exec sp_addmessage 50009, 16, N'x' exec sp_dropmessage 50001 rollback select message_id from sys.messages where message_id > 50000", "50001");
    b.check(
        "exec sp_dropmessage 50001; select count(*) from sys.messages where message_id = 50001",
        "0",
    );
}

#[test]
fn languages() {
    let b = &mut Bench::new();
    let i = &b.instance.clone();
    fails(i, "exec sp_addmessage 50014, 16, N'x', @lang = 'French'", &[15279]);
    b.check("exec sp_addmessage 50014, 16, N'x %s %d'", "");
    fails(i, "exec sp_addmessage 50014, 10, N'y', @lang = 'French'", &[15304]);
    b.check("exec sp_addmessage 50014, 16, N'fr %2! et %1!', 'French'", "");
    b.check(
        "select language_id from sys.messages where message_id = 50014 order by 1",
        "1033\n1036",
    );
    b.check("select formatmessage(50014, N'abc', 5)", "x abc 5");
    let said = b.run(
        "set language French select formatmessage(50014, N'abc', 5) raiserror (50014, 16, 1, N'abc', 5)",
    );
    assert!(said.trim_end().ends_with("fr 5 et abc\nMsg 50014: fr 5 et abc"), "{said}");
    fails(i, "exec sp_dropmessage 50014, 'us_english'", &[15280]);
    // Without a name it is the session's language.
    fails(i, "exec sp_dropmessage 50014", &[15280]);
    let said = b.run("set language French exec sp_dropmessage 50014 select language_id from sys.messages where message_id = 50014");
    assert!(said.trim_end().ends_with("\n1033"), "{said}");
    b.check("set language us_english exec sp_addmessage 50014, 16, N'fr', 'French' exec sp_dropmessage 50014, 'all' select count(*) from sys.messages where message_id = 50014",
        "Changed language setting to us_english.\n0");
}

#[test]
fn what_may_not_be() {
    let b = &mut Bench::new();
    let i = &b.instance.clone();
    for (sql, number) in [
        ("exec sp_addmessage 50000, 16, N'x'", 15040),
        ("exec sp_addmessage 50010, 26, N'x'", 15041),
        ("exec sp_addmessage 50010, 16, null", 15071),
        ("exec sp_addmessage 50010, 16, N'x', @with_log = 'maybe'", 15271),
        ("exec sp_addmessage 50010, 16, N'x', @lang = 'Klingon'", 15033),
        ("exec sp_dropmessage null", 15177),
        ("exec sp_dropmessage 50000", 15178),
        ("exec sp_dropmessage 50010", 15179),
        ("exec sp_altermessage 50010, 'FOO', 'true'", 15176),
        ("exec sp_altermessage 50010, 'WITH_LOG', 'maybe'", 15277),
        ("exec sp_altermessage 50010, 'WITH_LOG', 'true'", 15179),
        ("exec sp_altermessage null, 'WITH_LOG', 'true'", 290),
        (
            "use t; create user u without login; execute as user = 'u'; exec sp_addmessage 50010, 16, N'x'",
            15247,
        ),
    ] {
        fails(i, sql, &[number]);
    }
}

#[test]
fn they_are_durable() {
    let mut b = Bench::new();
    b.check("exec sp_addmessage 60000, 12, N'kept %s', @with_log = 'true'", "");
    let mut b = b.restart();
    b.check(
        "select severity, is_event_logged, text from sys.messages where message_id = 60000",
        "12|1|kept %s",
    );
    b.check("raiserror (60000, -1, 1, 'here')", "Msg 60000: kept here");
}

#[test]
fn the_engines_own_are_those_of_the_list() {
    let b = &mut Bench::new();
    let own = b.run(
        "select message_id, severity, text from sys.messages where message_id < 50000 order by 1",
    );
    let listed = types::msg::all().map(|m| format!("{}|{}|{}", m.number, m.severity, m.text));
    assert_eq!(own.trim_end(), listed.collect::<Vec<_>>().join("\n"));
}

/// What must be there after a power loss: all of a change or nothing of it, both at some of the
/// moments.
fn all_or_none(prepare: &[&str], change: &str, question: &str, none: &str, all: &str) {
    let disk = SimDisk::new(71);
    let open = |disk: &SimDisk| text::try_open(disk, 64 << 20).expect("it opens");
    let instance = open(&disk);
    prepare.iter().for_each(|text| text::run(&instance, text));
    instance.close().expect("it closes");
    drop(instance);
    let (mut before, mut after) = (0, 0);
    text::power_loss(&disk, open, change, 40, |instance, _, at| {
        let said = text::say(instance, question);
        let left = said.lines().last().unwrap_or_default();
        before += usize::from(left == none);
        after += usize::from(left == all);
        assert!(left == none || left == all, "power lost at I/O {at}: {said}");
        for db in ["master", "d"] {
            let said = text::say(instance, &format!("DBCC CHECKDB ({db}) WITH NO_INFOMSGS"));
            assert_eq!(said, "", "power lost at I/O {at}");
        }
    });
    assert!(before > 0 && after > 0, "{before} before, {after} after");
}

#[test]
fn a_power_loss_leaves_all_or_none_of_the_messages() {
    all_or_none(
        &[
            "CREATE DATABASE d",
            "EXEC sp_addmessage 50001, 10, 'one'; EXEC sp_addmessage 50001, 10, 'eins', 'German'",
            "EXEC sp_addmessage 50002, 10, 'two'",
        ],
        "BEGIN TRAN EXEC sp_dropmessage 50001, 'all' EXEC sp_addmessage 50003, 11, 'three' EXEC sp_altermessage 50002, 'WITH_LOG', 'true' COMMIT",
        "SELECT STRING_AGG(CONCAT(message_id, ':', language_id, is_event_logged), ' ') WITHIN GROUP (ORDER BY message_id, language_id)
         FROM sys.messages WHERE message_id > 50000",
        "50001:10310 50001:10330 50002:10330",
        "50002:10331 50003:10330",
    );
}

#[test]
fn a_power_loss_leaves_all_or_none_of_moves_and_classifications() {
    all_or_none(
        &[
            "CREATE DATABASE d",
            "USE d; EXEC ('CREATE SCHEMA s'); CREATE TABLE a (i int)",
            "USE d; EXEC ('CREATE TRIGGER x ON a AFTER INSERT AS RETURN'); EXEC ('CREATE TRIGGER y ON a AFTER INSERT AS RETURN')",
        ],
        "USE d; CREATE TABLE b (i int); INSERT b VALUES (1); BEGIN TRAN
         EXEC sp_settriggerorder 'y', 'First', 'INSERT'
         ADD SENSITIVITY CLASSIFICATION TO dbo.a.i WITH (LABEL = 'secret')
         ALTER SCHEMA s TRANSFER dbo.a
         COMMIT",
        "USE d; SELECT CONCAT(SCHEMA_NAME(t.schema_id), (SELECT COUNT(*) FROM sys.sensitivity_classifications),
             (SELECT COUNT(*) FROM sys.trigger_events WHERE is_first = 1))
         FROM sys.tables t WHERE name = 'a'",
        "dbo00",
        "s11",
    );
}

#[test]
fn a_power_loss_leaves_a_scoped_configuration_or_none() {
    all_or_none(
        &["CREATE DATABASE d"],
        "USE d; CREATE TABLE a (i int); INSERT a VALUES (1); ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 3",
        "USE d; SELECT CONCAT('maxdop ', CAST(value AS int)) FROM sys.database_scoped_configurations WHERE name = 'MAXDOP'",
        "maxdop 0",
        "maxdop 3",
    );
}
