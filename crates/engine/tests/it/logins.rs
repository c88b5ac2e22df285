//! Logins: made, changed and dropped by transactions, asked for by clients; passwords that expire
//! or must be changed; what a client and what the error log learn of a refusal.

use std::sync::Arc;

use crate::support::text::{Text, fails, power_loss, run, say, try_open};
use engine::{ClientInfo, Instance, LoginAudit, Session};
use sim::SimDisk;

const SA: &str = "yourStrong(!)Password";

fn open(disk: &SimDisk) -> Arc<Instance> {
    try_open(disk, 32 << 20).unwrap()
}

fn new() -> Arc<Instance> {
    open(&SimDisk::new(11))
}

fn from(address: &str) -> ClientInfo {
    ClientInfo { address: address.into(), ..ClientInfo::default() }
}

/// Number and state of the error of an attempt; (0, 0) without one.
fn attempt(instance: &Instance, login: &str, password: &str) -> (i32, u8) {
    match instance.authenticate(login, password, &from("10.0.0.7")) {
        Ok(_) => (0, 0),
        Err(e) => (e.number, e.state),
    }
}

fn session(
    instance: &Arc<Instance>,
    login: &str,
    password: &str,
    database: Option<&str>,
) -> Session {
    let token = instance.authenticate(login, password, &from("10.0.0.7")).unwrap();
    instance.session_for(&token, database).unwrap()
}

fn said(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

#[test]
fn sa_comes_in_with_its_password_alone() {
    let instance = new();
    assert_eq!(attempt(&instance, "sa", ""), (18_456, 1), "there is no password yet");
    assert_eq!(instance.set_sa_password("short").unwrap_err().number, 33_062);
    instance.set_sa_password(SA).unwrap();
    assert_eq!(attempt(&instance, "sa", SA), (0, 0));
    assert_eq!(attempt(&instance, "SA", SA), (0, 0));
    assert_eq!(attempt(&instance, "sa", &SA.to_lowercase()), (18_456, 1));
    assert_eq!(attempt(&instance, "sa", ""), (18_456, 1));
    assert_eq!(attempt(&instance, "sa", &"x".repeat(100_000)), (18_456, 1));
    let mut session = session(&instance, "sa", SA, None);
    assert_eq!(
        said(
            &mut session,
            "SELECT SUSER_SNAME(), ORIGINAL_LOGIN(), SUSER_ID(), SUSER_SID(), IS_SRVROLEMEMBER('sysadmin'), DB_NAME(), USER_NAME()"
        ),
        "sa|sa|1|0x01|1|master|dbo"
    );
    // The same again changes nothing; another one takes its place.
    instance.set_sa_password(SA).unwrap();
    instance.set_sa_password("Another-Password-1").unwrap();
    assert_eq!(attempt(&instance, "sa", SA), (18_456, 1));
    assert_eq!(attempt(&instance, "sa", "Another-Password-1"), (0, 0));
}

#[test]
fn the_error_log_tells_what_the_client_is_not_told() {
    let instance = new();
    instance.set_sa_password(SA).unwrap();
    run(&instance, "CREATE LOGIN ann WITH PASSWORD = 'An-0ther-one'; ALTER LOGIN ann DISABLE");
    let refused = |login: &str, password: &str| {
        let e = instance.authenticate(login, password, &from("10.1.2.3")).unwrap_err();
        (e.number, e.severity, e.state, e.into_message())
    };
    let usual = |login: &str| (18_456, 14, 1, format!("Login failed for user '{login}'."));
    assert_eq!(refused("sa", "x"), usual("sa"));
    assert_eq!(refused("nobody", "x"), usual("nobody"));
    assert_eq!(refused("ann", "x"), usual("ann"));
    assert_eq!(refused("sysadmin", "x"), usual("sysadmin"), "roles are no logins");
    assert_eq!(refused("ann", "An-0ther-one").0, 18_470);
    let log = instance.error_log().lines().join("\n");
    for line in [
        "Error: 18456, Severity: 14, State: 8.",
        "Login failed for user 'sa'. Reason: Password did not match that for the login provided. [CLIENT: 10.1.2.3]",
        "Error: 18456, Severity: 14, State: 5.",
        "Error: 18456, Severity: 14, State: 7.",
        "Error: 18470, Severity: 14, State: 1.",
        "Login failed for user 'ann'. Reason: The account is disabled. [CLIENT: 10.1.2.3]",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
    assert!(!log.contains("Login succeeded"));
    instance.set_login_audit(LoginAudit::Both);
    let _ = refused("evil\r\n2026-01-01 00:00:00.00 Logon Login succeeded", "x");
    assert!(instance.authenticate("sa", SA, &from("10.1.2.3")).is_ok());
    let lines = instance.error_log().lines();
    assert!(lines.iter().all(|line| !line.contains('\n')));
    assert_eq!(
        lines.iter().filter(|line| line.contains("Login succeeded for user 'sa'.")).count(),
        1
    );
    // A restart enables it again: ENABLE.
    run(&instance, "ALTER LOGIN ann ENABLE");
    assert_eq!(attempt(&instance, "ann", "An-0ther-one"), (0, 0));
}

#[test]
fn the_error_log_of_a_run_that_was_cut_off_is_there() {
    let disk = SimDisk::new(12);
    let instance = open(&disk);
    instance.set_sa_password(SA).unwrap();
    assert_eq!(attempt(&instance, "sa", "wrong"), (18_456, 1));
    run(&instance, "RAISERROR ('noted 4711', 10, 1) WITH LOG");
    // Nobody has closed it.
    let left = open(&disk.crash(1));
    let earlier = say(&left, "EXEC sp_readerrorlog 1");
    for line in ["Login failed for user 'sa'.", "[CLIENT: 10.0.0.7]", "noted 4711"] {
        assert!(earlier.contains(line), "{line}\n{earlier}");
    }
}

#[test]
fn repeated_failures_are_refused_by_login_and_address() {
    let instance = new();
    instance.set_sa_password(SA).unwrap();
    for _ in 0..5 {
        assert_eq!(attempt(&instance, "sa", "wrong"), (18_456, 1));
    }
    assert_eq!(attempt(&instance, "sa", SA), (18_456, 1), "the right one, too soon");
    assert!(instance.authenticate("sa", SA, &from("10.0.0.8")).is_ok(), "from elsewhere");
    assert!(
        instance
            .error_log()
            .lines()
            .iter()
            .any(|line| line.contains("Too many attempts have failed"))
    );
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(attempt(&instance, "sa", SA), (0, 0));
}

#[test]
fn logins_are_part_of_their_transaction() {
    let instance = new();
    let mut session = instance.session().unwrap();
    said(&mut session, "BEGIN TRAN; CREATE LOGIN bob WITH PASSWORD = 'B0b-and-alice'");
    assert_eq!(said(&mut session, "SELECT name FROM sys.sql_logins"), "sa\nbob", "its own change");
    assert_eq!(said(&mut instance.session().unwrap(), "SELECT name FROM sys.sql_logins"), "sa");
    assert_eq!(attempt(&instance, "bob", "B0b-and-alice"), (18_456, 1), "not committed yet");
    said(&mut session, "ROLLBACK");
    assert_eq!(said(&mut session, "SELECT name FROM sys.sql_logins"), "sa");
    said(
        &mut session,
        "BEGIN TRAN; CREATE LOGIN bob WITH PASSWORD = 'B0b-and-alice'; SAVE TRAN s; ALTER LOGIN bob WITH NAME = Robert; ROLLBACK TRAN s; COMMIT",
    );
    assert_eq!(attempt(&instance, "bob", "B0b-and-alice"), (0, 0));
    assert_eq!(
        said(
            &mut session,
            "BEGIN TRY; BEGIN TRAN; ALTER LOGIN bob WITH PASSWORD = 'An0ther-pass'; DROP LOGIN nobody; END TRY BEGIN CATCH; SELECT ERROR_NUMBER(); ROLLBACK; END CATCH"
        ),
        "15151"
    );
    assert_eq!(attempt(&instance, "bob", "B0b-and-alice"), (0, 0));
}

/// What LOGINPROPERTY and sys.sql_logins say of the age of a password that was set just now:
/// whether it must be changed and has expired, the days that are left, CHECK_POLICY and
/// CHECK_EXPIRATION.
fn age(instance: &Arc<Instance>, login: &str) -> String {
    let property = |name: &str| format!("LOGINPROPERTY('{login}', '{name}')");
    let [must, expired, left] = ["IsMustChange", "IsExpired", "DaysUntilExpiration"].map(property);
    let said = say(
        instance,
        &format!(
            "SELECT {must}, {expired}, {left}, is_policy_checked, is_expiration_checked FROM sys.sql_logins WHERE name = '{login}'"
        ),
    );
    // A midnight may have passed since.
    said.replace("|41|", "|42|")
}

#[test]
fn a_password_that_must_be_changed_opens_nothing_else() {
    let disk = SimDisk::new(14);
    let instance = open(&disk);
    run(
        &instance,
        "CREATE LOGIN ann WITH PASSWORD = 'F1rst-of-all' MUST_CHANGE, CHECK_EXPIRATION = ON",
    );
    run(&instance, "CREATE LOGIN bob WITH PASSWORD = 'F1rst-of-all', CHECK_EXPIRATION = ON");
    assert_eq!(attempt(&instance, "ann", "F1rst-of-all"), (18_488, 1));
    assert_eq!(attempt(&instance, "ann", "wrong"), (18_456, 1));
    assert_eq!(attempt(&instance, "bob", "F1rst-of-all"), (0, 0));
    assert_eq!(
        (age(&instance, "ann"), age(&instance, "bob")),
        ("1|0|42|1|1".into(), "0|0|42|1|1".into())
    );
    let log = instance.error_log().lines();
    for line in [
        "Error: 18488, Severity: 14, State: 1.",
        "Login failed for user 'ann'. Reason: The password of the account must be changed. [CLIENT: 10.0.0.7]",
    ] {
        assert!(log.iter().any(|of_log| of_log.ends_with(line)), "{line}\n{log:?}");
    }
    // It is so after a start.
    drop(instance);
    let instance = open(&disk.crash(1));
    assert_eq!(attempt(&instance, "ann", "F1rst-of-all"), (18_488, 1));
    // A client that changes the password as it logs in is let in; a wrong password and a disabled
    // login are refused to it too.
    let to_change = |login: &str, password: &str| {
        instance.authenticate_to_change(login, password, &from("10.0.0.7")).map_err(|e| e.number)
    };
    assert_eq!(to_change("ann", "wrong").unwrap_err(), 18_456);
    run(&instance, "ALTER LOGIN ann DISABLE");
    assert_eq!(to_change("ann", "F1rst-of-all").unwrap_err(), 18_470);
    run(&instance, "ALTER LOGIN ann ENABLE");
    let mut session =
        instance.session_for(&to_change("ann", "F1rst-of-all").unwrap(), None).unwrap();
    let changed = said(
        &mut session,
        "ALTER LOGIN ann WITH PASSWORD = 'An0ther-one' OLD_PASSWORD = 'F1rst-of-all'",
    );
    assert_eq!((changed.as_str(), attempt(&instance, "ann", "An0ther-one")), ("", (0, 0)));
    // Only a new password ends it.
    run(&instance, "ALTER LOGIN ann WITH PASSWORD = 'Th1rd-of-all' MUST_CHANGE");
    assert_eq!(attempt(&instance, "ann", "Th1rd-of-all"), (18_488, 1));
    run(&instance, "ALTER LOGIN ann WITH NAME = anna");
    assert_eq!(attempt(&instance, "anna", "Th1rd-of-all"), (18_488, 1));
    run(&instance, "ALTER LOGIN anna WITH PASSWORD = 'F0urth-of-all'");
    assert_eq!(attempt(&instance, "anna", "F0urth-of-all"), (0, 0));
    assert_eq!(age(&instance, "anna"), "0|0|42|1|1");
    // What is rolled back has not been.
    run(
        &instance,
        "BEGIN TRAN; ALTER LOGIN anna WITH PASSWORD = 'F1fth-of-all' MUST_CHANGE; ROLLBACK",
    );
    assert_eq!(attempt(&instance, "anna", "F0urth-of-all"), (0, 0));
}

#[test]
fn options_of_passwords_that_do_not_go_together() {
    let instance = new();
    for (options, number) in [
        ("'F1rst-of-all' MUST_CHANGE", 15_099),
        ("'F1rst-of-all' MUST_CHANGE, CHECK_EXPIRATION = OFF", 15_099),
        ("'F1rst-of-all' MUST_CHANGE, CHECK_POLICY = OFF", 15_128),
        ("'F1rst-of-all' MUST_CHANGE, CHECK_POLICY = OFF, CHECK_EXPIRATION = OFF", 15_128),
        ("'F1rst-of-all', CHECK_POLICY = OFF, CHECK_EXPIRATION = ON", 15_122),
        ("'F1rst-of-all' MUST_CHANGE, CHECK_POLICY = OFF, CHECK_EXPIRATION = ON", 15_122),
    ] {
        fails(&instance, &format!("CREATE LOGIN ann WITH PASSWORD = {options}"), &[number]);
    }
    run(&instance, "CREATE LOGIN ann WITH PASSWORD = 'F1rst-of-all'");
    assert_eq!(age(&instance, "ann"), "0|0|NULL|1|0");
    fails(&instance, "ALTER LOGIN ann WITH PASSWORD = 'An0ther-one' MUST_CHANGE", &[15_099]);
    run(
        &instance,
        "ALTER LOGIN ann WITH PASSWORD = 'An0ther-one' MUST_CHANGE, CHECK_EXPIRATION = ON",
    );
    // The password comes first, then the options, in a statement of their own.
    for off in [
        "CHECK_EXPIRATION = OFF",
        "CHECK_POLICY = OFF",
        "CHECK_POLICY = OFF, CHECK_EXPIRATION = OFF",
    ] {
        fails(&instance, &format!("ALTER LOGIN ann WITH {off}"), &[15_128]);
        let both = format!("ALTER LOGIN ann WITH PASSWORD = 'An0ther-one', {off}");
        fails(&instance, &both, &[15_128]);
    }
    assert_eq!(age(&instance, "ann"), "1|0|42|1|1");
    run(
        &instance,
        "ALTER LOGIN ann WITH PASSWORD = 'An0ther-one'; ALTER LOGIN ann WITH CHECK_POLICY = OFF",
    );
    assert_eq!(age(&instance, "ann"), "0|0|NULL|0|0");
    fails(&instance, "ALTER LOGIN ann WITH CHECK_EXPIRATION = ON", &[15_122]);
    // The policy brings the expiration, unless that is told to stay away.
    run(&instance, "ALTER LOGIN ann WITH CHECK_POLICY = ON");
    assert_eq!(age(&instance, "ann"), "0|0|42|1|1");
    run(
        &instance,
        "ALTER LOGIN ann WITH CHECK_EXPIRATION = OFF; ALTER LOGIN ann WITH CHECK_POLICY = ON",
    );
    assert_eq!(age(&instance, "ann"), "0|0|NULL|1|0");
    // Who may change no logins can change the own password, and say nothing else of it.
    let token = instance.authenticate("ann", "An0ther-one", &from("10.0.0.7")).unwrap();
    let mut session = instance.session_for(&token, None).unwrap();
    let said = said(
        &mut session,
        "ALTER LOGIN ann WITH PASSWORD = 'Th1rd-of-all' OLD_PASSWORD = 'An0ther-one' MUST_CHANGE",
    );
    assert!(said.contains("15151"), "{said}");
}

#[test]
fn logins_are_made_changed_and_dropped() {
    let instance = new();
    run(&instance, "CREATE DATABASE d");
    fails(&instance, "CREATE LOGIN c WITH PASSWORD = 'weak'", &[33_062]);
    fails(&instance, "CREATE LOGIN c WITH PASSWORD = 'weakweak'", &[33_064]);
    fails(&instance, "CREATE LOGIN carol WITH PASSWORD = 'Carol-1234'", &[33_064]);
    fails(&instance, "CREATE LOGIN c WITH PASSWORD = 'G00d-enough' MUST_CHANGE", &[15_099]);
    fails(&instance, "CREATE LOGIN c WITH PASSWORD = 0x01 HASHED", &[40_510]);
    fails(&instance, "CREATE LOGIN c FROM WINDOWS", &[15_407]);
    fails(
        &instance,
        "CREATE LOGIN c WITH PASSWORD = 'G00d-enough', DEFAULT_DATABASE = nowhere",
        &[15_010],
    );
    fails(&instance, "CREATE LOGIN [a\\b] WITH PASSWORD = 'G00d-enough'", &[15_006]);
    fails(&instance, "CREATE LOGIN sa WITH PASSWORD = 'G00d-enough'", &[15_025]);
    fails(&instance, "CREATE LOGIN sysadmin WITH PASSWORD = 'G00d-enough'", &[15_025]);
    run(
        &instance,
        "CREATE LOGIN Carol WITH PASSWORD = 'weak', CHECK_POLICY = OFF, DEFAULT_DATABASE = D, SID = 0x000102030405060708090A0B0C0D0E0F",
    );
    fails(&instance, "CREATE LOGIN CAROL WITH PASSWORD = 'G00d-enough'", &[15_025]);
    fails(
        &instance,
        "CREATE LOGIN x WITH PASSWORD = 'G00d-enough', SID = 0x000102030405060708090A0B0C0D0E0F",
        &[15_433],
    );
    assert_eq!(
        say(
            &instance,
            "SELECT name, principal_id, sid, type_desc, is_disabled, default_database_name, is_policy_checked, password_hash FROM sys.sql_logins WHERE name <> 'sa'"
        ),
        "Carol|257|0x000102030405060708090A0B0C0D0E0F|SQL_LOGIN|0|d|0|NULL"
    );
    assert_eq!(attempt(&instance, "carol", "weak"), (0, 0));
    run(&instance, "ALTER LOGIN carol WITH PASSWORD = 'other', NAME = Caroline");
    assert_eq!(attempt(&instance, "carol", "other"), (18_456, 1));
    assert_eq!(attempt(&instance, "caroline", "weak"), (18_456, 1));
    assert_eq!(attempt(&instance, "caroline", "other"), (0, 0));
    assert_eq!(
        say(
            &instance,
            "SELECT SUSER_ID('caroline'), SUSER_NAME(257), SUSER_SNAME(SUSER_SID('caroline')), SUSER_NAME(999), LOGINPROPERTY('caroline', 'DefaultDatabase')"
        ),
        "257|Caroline|Caroline|NULL|d"
    );
    fails(&instance, "ALTER LOGIN caroline WITH NAME = sa", &[15_025]);
    fails(&instance, "ALTER LOGIN nobody ENABLE", &[15_151]);
    fails(&instance, "DROP LOGIN sa", &[15_405]);
    run(&instance, "DROP LOGIN caroline");
    assert_eq!(attempt(&instance, "caroline", "other"), (18_456, 1));
    fails(&instance, "DROP LOGIN caroline", &[15_151]);
}

#[test]
fn a_password_that_the_policy_refuses_is_told_why() {
    let instance = new();
    let create =
        |password: &str| say(&instance, &format!("CREATE LOGIN app WITH PASSWORD = '{password}'"));
    let (simple, named) = (create("lettersonly"), create("App!Passw0rd"));
    assert!(
        simple.starts_with("Msg 33064: ") && simple.ends_with("Base 10 digits, and Symbols."),
        "{simple}"
    );
    assert!(named.starts_with("Msg 33064: "), "{named}");
    assert!(named.ends_with("Detail: The password contains the name of the login."), "{named}");
    assert_eq!(create("Blue7Whale!x"), "");
}

#[test]
fn server_roles() {
    let instance = new();
    run(
        &instance,
        "CREATE LOGIN dave WITH PASSWORD = 'D4ve-and-eve'; CREATE SERVER ROLE watchers; ALTER SERVER ROLE watchers ADD MEMBER dave; ALTER SERVER ROLE sysadmin ADD MEMBER dave",
    );
    assert_eq!(
        say(
            &instance,
            "SELECT IS_SRVROLEMEMBER('sysadmin', 'dave'), IS_SRVROLEMEMBER('watchers', 'dave'), IS_SRVROLEMEMBER('dbcreator', 'dave'), IS_SRVROLEMEMBER('public', 'dave'), IS_SRVROLEMEMBER('nothing', 'dave')"
        ),
        "1|1|0|1|NULL"
    );
    assert_eq!(
        say(
            &instance,
            "SELECT SUSER_NAME(role_principal_id), SUSER_NAME(member_principal_id) FROM sys.server_role_members"
        ),
        "sysadmin|sa\nsysadmin|dave\nwatchers|dave"
    );
    let mut dave = session(&instance, "dave", "D4ve-and-eve", None);
    assert_eq!(said(&mut dave, "SELECT SUSER_SNAME()"), "dave");
    fails(&instance, "DROP LOGIN dave", &[15_434]);
    drop(dave);
    fails(&instance, "ALTER SERVER ROLE sysadmin DROP MEMBER sa", &[15_405]);
    fails(&instance, "ALTER SERVER ROLE [public] ADD MEMBER dave", &[15_081]);
    fails(&instance, "ALTER SERVER ROLE nothing ADD MEMBER dave", &[15_151]);
    fails(&instance, "ALTER SERVER ROLE sysadmin ADD MEMBER nobody", &[15_151]);
    fails(&instance, "ALTER SERVER ROLE watchers ADD MEMBER watchers", &[15_413]);
    fails(&instance, "ALTER SERVER ROLE sysadmin WITH NAME = x", &[15_405]);
    fails(&instance, "DROP SERVER ROLE sysadmin", &[15_150]);
    fails(&instance, "DROP SERVER ROLE watchers", &[15_144]);
    run(
        &instance,
        "ALTER SERVER ROLE watchers WITH NAME = lookers; ALTER SERVER ROLE lookers DROP MEMBER dave; DROP SERVER ROLE lookers; ALTER SERVER ROLE sysadmin DROP MEMBER dave",
    );
    assert_eq!(say(&instance, "SELECT IS_SRVROLEMEMBER('sysadmin', 'dave')"), "0");
    run(&instance, "DROP LOGIN dave");
}

#[test]
fn a_session_begins_in_a_database_that_can_be_opened() {
    let instance = new();
    instance.set_sa_password(SA).unwrap();
    run(
        &instance,
        "CREATE DATABASE d; CREATE DATABASE gone; ALTER LOGIN sa WITH DEFAULT_DATABASE = gone",
    );
    assert_eq!(session(&instance, "sa", SA, Some("D")).database(), "d");
    assert_eq!(session(&instance, "sa", SA, Some("")).database(), "gone");
    assert_eq!(session(&instance, "sa", SA, None).database(), "gone");
    run(&instance, "DROP DATABASE gone");
    let token = instance.authenticate("sa", SA, &from("10.0.0.7")).unwrap();
    let named = instance.session_for(&token, Some("nowhere")).err().unwrap();
    assert_eq!((named.number, named.severity), (4060, 11));
    assert_eq!(
        named.message,
        "Cannot open database \"nowhere\" requested by the login. The login failed."
    );
    assert_eq!(instance.session_for(&token, None).err().unwrap().number, 4064);
    assert_eq!(token.refused().number, 18_456);
    let log = instance.error_log().lines().join("\n");
    assert!(log.contains("State: 38.") && log.contains("State: 40."), "{log}");
}

#[test]
fn logins_survive_a_restart_and_a_power_loss() {
    let disk = SimDisk::new(5);
    let instance = open(&disk);
    instance.set_sa_password(SA).unwrap();
    run(
        &instance,
        "CREATE LOGIN kept WITH PASSWORD = 'K3pt-password'; ALTER SERVER ROLE sysadmin ADD MEMBER kept",
    );
    instance.close().unwrap();
    drop(instance);
    let sql = "CREATE LOGIN late WITH PASSWORD = 'L4te-password'; ALTER SERVER ROLE sysadmin ADD MEMBER late";
    power_loss(&disk, open, sql, 12, |instance, _, at| {
        assert_eq!(attempt(instance, "kept", "K3pt-password"), (0, 0), "I/O {at}");
        assert_eq!(attempt(instance, "sa", SA), (0, 0), "I/O {at}");
        let late = say(instance, "SELECT COUNT(*) FROM sys.sql_logins WHERE name = 'late'");
        let member = say(instance, "SELECT ISNULL(IS_SRVROLEMEMBER('sysadmin', 'late'), -1)");
        assert!(
            ["0 -1", "1 0", "1 1"].contains(&format!("{late} {member}").as_str()),
            "{late} {member}"
        );
    });
}

#[test]
fn no_password_is_shown() {
    let instance = new();
    let mut other = instance.session().unwrap();
    said(&mut other, "CREATE LOGIN erin WITH PASSWORD = 'Er1n-password'");
    let shown = say(
        &instance,
        "SELECT event_info FROM sys.dm_exec_sessions s CROSS APPLY sys.dm_exec_input_buffer(s.session_id, NULL)",
    );
    assert!(shown.contains("CREATE LOGIN erin WITH PASSWORD = '*************'"), "{shown}");
    // A procedure keeps it, as SQL Server's does: it could not run otherwise.
    run(&instance, "CREATE DATABASE d");
    said(&mut other, "USE d");
    said(&mut other, "CREATE PROCEDURE p AS CREATE LOGIN frank WITH PASSWORD = 'Fr4nk-password'");
    said(&mut other, "EXEC p");
    assert_eq!(attempt(&instance, "frank", "Fr4nk-password"), (0, 0));
}

/// A text that was sent is shown by the session's views, the plan cache and Query Store; none shows
/// the secret in it.
#[test]
fn no_view_shows_a_secret_in_any_spelling() {
    let instance = new();
    run(
        &instance,
        "CREATE DATABASE q; ALTER DATABASE q SET QUERY_STORE = ON (QUERY_CAPTURE_MODE = ALL)",
    );
    let secret = "S3cretLit!com";
    for (number, text) in [
        "create login {n} with password/**/=/*x*/N'{s}'",
        "create login {n} with [password] --\n = '{s}'",
        "exec('create login {n} with password = ''{s}''')",
        "declare @t nvarchar(200) = N'create login {n} with password = ''{s}'''; exec sp_executesql @t",
        "exec('create login {n} with password = ''' + '{s}' + '''')",
        "exec sp_addlogin '{n}', '{s}'",
        "create credential {n} with identity = 'i', secret/*=*/= '{s}'",
        "select len(encryptbypassphrase('{s}', 'x')) as {n}",
        "select pwdcompare('{s}', 0x01) as {n}, name from sys.objects where pwdencrypt('{s}') is null",
        "create login {n} with password '{s}'",
    ]
    .into_iter()
    .enumerate()
    {
        let sql = text.replace("{n}", &format!("n{number}")).replace("{s}", secret);
        let mut session = instance.session().unwrap();
        said(&mut session, "USE q");
        said(&mut session, &sql);
        for view in [
            "SELECT event_info FROM sys.dm_exec_sessions s
             CROSS APPLY sys.dm_exec_input_buffer(s.session_id, NULL)",
            "SELECT t.text FROM sys.dm_exec_cached_plans p CROSS APPLY sys.dm_exec_sql_text(p.plan_handle) t",
            "SELECT t.text FROM sys.dm_exec_query_stats s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) t",
            "SELECT CAST(p.query_plan AS nvarchar(max)) FROM sys.dm_exec_query_stats s
             CROSS APPLY sys.dm_exec_query_plan(s.plan_handle) p",
            "EXEC q.sys.sp_query_store_flush_db; SELECT query_sql_text FROM q.sys.query_store_query_text",
            "SELECT query_plan FROM q.sys.query_store_plan",
            "EXEC sp_readerrorlog",
        ] {
            let shown = say(&instance, view);
            assert!(!shown.contains("Msg ") && !shown.contains(secret), "{sql}\n{view}\n{shown}");
        }
    }
}
