//! What callers see of objects: each system view, each function and each system procedure that
//! takes or shows objects, asked by a user who has no right on them, one who has a right on another
//! object, one with VIEW DEFINITION, db_owner and sysadmin. Views, functions and procedures are
//! taken from the engine's own lists: one that is added is asked, too.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::support::text::{self, Bench, Text};
use engine::{ClientInfo, Instance, LoginToken};

const PASSWORD: &str = "Long-And-5trange";
/// Who may not know of the objects, and who may.
const STRANGERS: [&str; 2] = ["nobody", "other"];
const KNOWING: [&str; 3] = ["definer", "owner", "admin"];

/// What a message that repeats a name does not have: parts of the objects. The number of rows is
/// another such thing.
const NEWS: [&str; 19] = [
    "hushid",
    "hushval",
    "hushsum",
    "hushref",
    "hushmask",
    "hush_pk",
    "hush_df",
    "hush_ck",
    "hush_fk",
    "hush_ix",
    "hush_st",
    "hushcolumn",
    "hushparam",
    "hushnote",
    "hushtype",
    "hushuser",
    "hushrole",
    "hushlogin",
    "hushserver",
];

/// What an answer tells of the objects, if it tells anything.
fn told(said: &str) -> Option<&str> {
    let number = said.split(|c: char| !c.is_ascii_digit()).find(|number| *number == "4711");
    NEWS.into_iter().find(|word| said.contains(word)).or(number)
}

/// Objects of each kind. All of their names have a word that is nowhere else; the table has 4,711
/// rows.
const OBJECTS: &[&str] = &[
    "CREATE TABLE plain (id int PRIMARY KEY, n int)",
    "CREATE TABLE hushed (hushid int IDENTITY(31, 7) CONSTRAINT hush_pk PRIMARY KEY,
        hushval int CONSTRAINT hush_df DEFAULT 5 CONSTRAINT hush_ck CHECK (hushval > 0),
        hushsum AS hushid + 1, hushref int CONSTRAINT hush_fk REFERENCES plain (id),
        hushmask varchar(20) MASKED WITH (FUNCTION = 'default()'))",
    "CREATE INDEX hush_ix ON hushed (hushval)",
    "CREATE STATISTICS hush_st ON hushed (hushref)",
    "CREATE VIEW hushview AS SELECT hushid AS hushcolumn FROM dbo.hushed",
    "CREATE PROCEDURE hushproc @hushparam int AS SELECT @hushparam",
    "CREATE FUNCTION hushfn (@hushparam int) RETURNS int AS BEGIN RETURN 1 END",
    "CREATE FUNCTION hushtvf (@hushparam int) RETURNS TABLE AS RETURN SELECT 1 AS hushcolumn",
    "CREATE TRIGGER hushtr ON hushed AFTER DELETE AS RETURN",
    "CREATE SEQUENCE hushseq START WITH 1",
    "CREATE SYNONYM hushsyn FOR hushed",
    "CREATE TYPE hushtype FROM int",
    "CREATE TYPE hushtypes AS TABLE (hushcolumn int)",
    "CREATE USER hushuser WITHOUT LOGIN; CREATE ROLE hushrole; ALTER ROLE hushrole ADD MEMBER hushuser",
    "INSERT hushed (hushval) SELECT value FROM generate_series(1, 4711)",
    "EXEC sp_addextendedproperty 'hushnote', 'hush', 'SCHEMA', 'dbo', 'TABLE', 'hushed'",
];

struct World {
    instance: Arc<Instance>,
    tokens: Vec<(&'static str, LoginToken)>,
}

impl World {
    fn new() -> World {
        let bench = Bench::new();
        let instance = bench.instance.clone();
        let run = |sql: &str| text::run(&instance, sql);
        run("CREATE DATABASE d; CREATE DATABASE apart");
        for database in ["d", "apart"] {
            for sql in OBJECTS {
                run(&format!("USE {database}; EXEC('{}')", sql.replace('\'', "''")));
            }
        }
        for who in STRANGERS.iter().chain(&KNOWING) {
            run(&format!("CREATE LOGIN {who} WITH PASSWORD = '{PASSWORD}'"));
            run(&format!("USE d; CREATE USER {who}"));
        }
        run("USE d; GRANT SELECT ON plain TO other; GRANT VIEW DEFINITION TO definer");
        run("USE d; ALTER ROLE db_owner ADD MEMBER owner");
        run("ALTER SERVER ROLE sysadmin ADD MEMBER admin");
        run(&format!(
            "CREATE LOGIN hushlogin WITH PASSWORD = '{PASSWORD}'; CREATE SERVER ROLE hushserver"
        ));
        run("ALTER SERVER ROLE hushserver ADD MEMBER hushlogin");
        let client = ClientInfo { address: "127.0.0.1".into(), ..ClientInfo::default() };
        let all = STRANGERS.iter().chain(&KNOWING);
        let token = |who: &&'static str| {
            (*who, instance.authenticate(who, PASSWORD, &client).expect("the password is right"))
        };
        let tokens = all.map(token).collect();
        World { instance, tokens }
    }

    /// What a batch says to somebody in `d`.
    fn ask(&self, who: &str, sql: &str) -> String {
        let (_, token) = self.tokens.iter().find(|(known, _)| *known == who).expect("a login");
        let mut out = Text::default();
        self.instance.session_for(token, Some("d")).expect("it may come in").execute(sql, &mut out);
        out.out.trim().to_string()
    }

    /// The object_ids of the objects.
    fn ids(&self) -> BTreeSet<String> {
        let sql = "SELECT object_id FROM sys.objects WHERE name LIKE 'hush%'";
        self.ask("admin", sql).lines().map(str::to_owned).collect()
    }
}

#[test]
fn no_view_tells_of_what_nobody_may_know() {
    let world = World::new();
    let ids = world.ids();
    assert!(ids.len() >= 12, "{ids:?}");
    let mut shown_to_owner = 0;
    for view in engine::views::all().filter(|view| view.arguments().is_none()) {
        let sql = format!("SELECT * FROM {}.{}", view.schema(), view.name());
        for who in STRANGERS {
            let said = world.ask(who, &sql);
            assert!(!said.contains("hush"), "{who}: {sql}\n{said}");
            let cells = said.lines().flat_map(|line| line.split('|'));
            let id = cells.into_iter().find(|cell| ids.contains(*cell) || *cell == "4711");
            assert!(id.is_none(), "{who}: {sql} has {id:?}\n{said}");
        }
        shown_to_owner += usize::from(world.ask("owner", &sql).contains("hush"));
    }
    assert!(shown_to_owner >= 25, "only {shown_to_owner} views show the owner anything");
}

#[test]
fn no_table_function_tells_of_what_nobody_may_know() {
    let world = World::new();
    let table = text::say(&world.instance, "SELECT object_id('d.dbo.hushed')");
    let module = text::say(&world.instance, "SELECT object_id('d.dbo.hushproc')");
    let database = text::say(&world.instance, "SELECT db_id('d')");
    let (table, module, database) = (table.as_str(), module.as_str(), database.as_str());
    // First arguments; those that are missing are NULL.
    let begins: [&[&str]; 12] = [
        &[],
        &[table],
        &[table, "1"],
        &[table, "2"],
        &[module],
        &[module, "NULL", "1"],
        &[database, table],
        &[database, table, "NULL", "NULL", "'DETAILED'"],
        &["'dbo.hushed'", "'OBJECT'"],
        &["'dbo.hushview'", "'OBJECT'"],
        &["N'SELECT * FROM dbo.hushed'"],
        &["NULL", "'SCHEMA'", "'dbo'", "'TABLE'", "'hushed'"],
    ];
    let mut shown_to_owner = 0;
    for view in engine::views::all() {
        let Some(count) = view.arguments() else { continue };
        if ["generate_series", "string_split", "openjson"].contains(&view.name()) {
            continue;
        }
        let mut shown = false;
        for begin in begins {
            let argument = |at: usize| begin.get(at).copied().unwrap_or("NULL");
            let arguments: Vec<&str> = (0..count).map(argument).collect();
            let sql = format!(
                "SELECT * FROM {}.{}({})",
                view.schema(),
                view.name(),
                arguments.join(", ")
            );
            for who in STRANGERS {
                let said = world.ask(who, &sql);
                let told = told(&said);
                assert!(told.is_none(), "{who}: {sql} tells {told:?}\n{said}");
            }
            let said = world.ask("owner", &sql);
            shown |= told(&said).is_some();
        }
        shown_to_owner += usize::from(shown);
    }
    assert!(shown_to_owner >= 4, "only {shown_to_owner} functions show the owner anything");
}

/// Calls of the functions that take an object or a part of one, with the name of the table's
/// database in front of names as `{}`.
const CALLS: &[(&str, &str)] = &[
    ("object_id", "object_id('{}dbo.hushed')"),
    ("object_id", "object_id('{}dbo.hushed', 'U')"),
    ("object_id", "object_id('{}dbo.hushview')"),
    ("object_id", "object_id('{}dbo.hushproc', 'P')"),
    ("object_id", "object_id('{}dbo.hushseq')"),
    ("object_id", "object_id('{}dbo.hush_pk')"),
    ("object_name", "object_name(@table, @db)"),
    ("object_name", "object_name(@module, @db)"),
    ("object_schema_name", "object_schema_name(@table, @db)"),
    ("object_definition", "object_definition(@module)"),
    ("col_name", "col_name(@table, 2)"),
    ("col_name", "col_name(@view, 1)"),
    ("col_length", "col_length('{}dbo.hushed', 'hushval')"),
    ("index_col", "index_col('{}dbo.hushed', 1, 1)"),
    ("stats_date", "isnull(convert(varchar(30), stats_date(@table, 2)), 'never')"),
    ("ident_current", "ident_current('{}dbo.hushed')"),
    ("ident_seed", "ident_seed('{}dbo.hushed')"),
    ("ident_incr", "ident_incr('{}dbo.hushed')"),
    ("objectproperty", "objectproperty(@table, 'IsUserTable')"),
    ("objectproperty", "objectproperty(@module, 'IsProcedure')"),
    ("objectpropertyex", "objectpropertyex(@table, 'BaseType')"),
    ("objectpropertyex", "objectpropertyex(@table, 'Cardinality')"),
    ("columnproperty", "columnproperty(@table, 'hushval', 'ColumnId')"),
    ("columnproperty", "columnproperty(@view, 'hushcolumn', 'ColumnId')"),
    ("columnproperty", "columnproperty(@module, '@hushparam', 'ColumnId')"),
    ("indexproperty", "indexproperty(@table, 'hush_ix', 'IndexID')"),
    ("indexproperty", "indexproperty(@table, 'hush_st', 'IsStatistics')"),
    ("indexkey_property", "indexkey_property(@table, 1, 1, 'ColumnId')"),
];

/// Functions that are about no object: the session and its statement, the server, files and schemas
/// (which are everybody's to know), values. Those of databases, types and principals have tests of
/// their own.
const OTHERS: &[&str] = &[
    "original_db_name",
    "column_updated",
    "columns_updated",
    "schema_name",
    "schema_id",
    "file_name",
    "file_id",
    "file_idex",
    "filegroup_name",
    "filegroup_id",
    "parsename",
    "serverproperty",
    "connectionproperty",
    "sessionproperty",
    "collationproperty",
    "filegroupproperty",
    "filepropertyex",
    "fileproperty",
    "fulltextserviceproperty",
    "@@connections",
    "@@cpu_busy",
    "@@idle",
    "@@io_busy",
    "@@pack_received",
    "@@pack_sent",
    "@@packet_errors",
    "@@timeticks",
    "@@total_errors",
    "@@total_read",
    "@@total_write",
    "applock_mode",
    "applock_test",
    "cursor_status",
    "@@rowcount",
    "rowcount_big",
    "@@error",
    "@@trancount",
    "@@spid",
    "@@identity",
    "scope_identity",
    "@@nestlevel",
    "@@options",
    "@@lock_timeout",
    "@@datefirst",
    "@@language",
    "@@langid",
    "@@textsize",
    "@@version",
    "eventdata",
    "host_id",
    "@@servername",
    "@@servicename",
    "@@microsoftversion",
    "@@max_connections",
    "@@max_precision",
    "@@procid",
    "@@fetch_status",
    "@@cursor_rows",
    "@@remserver",
    "context_info",
    "session_context",
    "xact_state",
    "app_name",
    "host_name",
    "error_number",
    "error_severity",
    "error_state",
    "error_line",
    "error_message",
    "error_procedure",
    "current_transaction_id",
    "formatmessage",
    "trigger_nestlevel",
    "current_timezone",
    "current_timezone_id",
    "current_request_id",
    "tertiary_weights",
    "getansinull",
    "crypt_gen_random",
    "sql_variant_property",
    "masked value",
    "encryptbypassphrase",
    "decryptbypassphrase",
    "pwdencrypt",
    "pwdcompare",
    "new row version",
    "transaction time",
    "@@dbts",
    "min_active_rowversion",
    "original_login",
    "system_user",
    "session_user",
    "current_user",
    "user",
    "next value for",
];

/// Calls that tell of a database, with its name as `{}` and its id as `@db`.
const OF_DATABASES: &[(&str, &str)] = &[
    ("db_id", "db_id('{}')"),
    ("db_name", "db_name(@db)"),
    ("has_dbaccess", "has_dbaccess('{}')"),
    ("databasepropertyex", "databasepropertyex('{}', 'Status')"),
    ("databaseproperty", "databaseproperty('{}', 'IsAutoClose')"),
];

/// Calls that tell of types, and who knows them besides the sysadmin.
const OF_TYPES: &[(&str, &str)] = &[
    ("type_id", "type_id('dbo.hushtype')"),
    ("type_id", "type_id('hushtypes')"),
    ("type_name", "type_name(@alias)"),
    ("type_name", "type_name(@table_type)"),
    ("typeproperty", "typeproperty('dbo.hushtype', 'Precision')"),
];

/// Calls that tell of users and roles of a database.
const OF_USERS: &[(&str, &str)] = &[("is_rolemember", "is_rolemember('hushrole', 'hushuser')")];

/// Calls that tell of logins and roles of the server.
const OF_LOGINS: &[(&str, &str)] = &[
    ("is_srvrolemember", "is_srvrolemember('hushserver', 'hushlogin')"),
    ("loginproperty", "loginproperty('hushlogin', 'DefaultDatabase')"),
];

/// What SQL Server answers everybody: a principal by its name, id or sid, whether one is oneself a
/// member of a role, what one may do.
const OF_EVERYBODY: &[&str] = &[
    "suser_sname",
    "suser_name",
    "suser_id",
    "suser_sid",
    "user_name",
    "user_id",
    "database_principal_id",
    "is_member",
    "has_perms_by_name",
];

#[test]
fn no_function_tells_of_what_nobody_may_know() {
    let world = World::new();
    let asked = || [CALLS, OF_DATABASES, OF_TYPES, OF_USERS, OF_LOGINS].into_iter().flatten();
    let said = || OTHERS.iter().chain(OF_EVERYBODY);
    let new: Vec<&str> = engine::functions::all()
        .map(|function| function.name)
        .filter(|name| {
            !said().any(|known| known == name) && !asked().any(|(known, _)| known == name)
        })
        .collect();
    assert!(new.is_empty(), "new functions: do they tell of objects? {new:?}");
    for name in said().chain(asked().map(|(name, _)| name)) {
        assert!(engine::functions::find(name).is_some(), "there is no function {name}");
    }
    let id = |database: &str, name: &str| {
        text::say(&world.instance, &format!("SELECT object_id('{database}.dbo.{name}')"))
    };
    for database in ["d", "apart"] {
        let declare = format!(
            "DECLARE @table int = {}, @view int = {}, @module int = {}, @db int = {};",
            id(database, "hushed"),
            id(database, "hushview"),
            id(database, "hushproc"),
            text::say(&world.instance, &format!("SELECT db_id('{database}')"))
        );
        for (_, call) in CALLS {
            let reaches = call.contains("{}") || call.contains("@db");
            let sql = format!("{declare} SELECT {}", call.replace("{}", &format!("{database}.")));
            for who in STRANGERS {
                let said = world.ask(who, &sql);
                let hidden = said == "NULL" || said == "never";
                assert!(hidden, "{who}: {sql}\n{said}");
            }
            for who in KNOWING {
                let said = world.ask(who, &sql);
                // Into the other database the sysadmin alone may look. The same numbers may be
                // objects of both.
                let knows = database == "d" || who == "admin";
                if reaches || database == "d" {
                    assert_eq!(said == "NULL", !knows, "{who}: {sql}\n{said}");
                }
            }
        }
    }
    assert_eq!(
        world.ask("nobody", "SELECT has_dbaccess('apart'), has_dbaccess('d'), has_dbaccess('x')"),
        "0|1|NULL"
    );
    assert_eq!(world.ask("admin", "SELECT has_dbaccess('apart')"), "1");
}

/// Types, users and logins are known to those who have a right on them or on what includes them.
#[test]
fn types_and_principals_are_known_to_whom_they_concern() {
    let world = World::new();
    let id = |name: &str| world.ask("admin", &format!("SELECT type_id('dbo.{name}')"));
    let declare =
        format!("DECLARE @alias int = {}, @table_type int = {};", id("hushtype"), id("hushtypes"));
    for (calls, knowing) in
        [(OF_TYPES, &KNOWING[..]), (OF_USERS, &KNOWING), (OF_LOGINS, &KNOWING[2..])]
    {
        for (_, call) in calls {
            let sql = format!("{declare} SELECT {call}");
            for who in STRANGERS.iter().chain(&KNOWING) {
                let said = world.ask(who, &sql);
                assert_eq!(said == "NULL", !knowing.contains(who), "{who}: {sql}\n{said}");
            }
        }
    }
    let seen = |who: &str| {
        world.ask(
            who,
            "SELECT (SELECT COUNT(*) FROM sys.types WHERE name LIKE 'hush%'),
                (SELECT COUNT(*) FROM sys.database_principals WHERE name LIKE 'hush%'),
                (SELECT COUNT(*) FROM sys.database_role_members WHERE role_principal_id = user_id('hushrole')),
                (SELECT COUNT(*) FROM sys.server_principals WHERE name LIKE 'hush%'),
                (SELECT COUNT(*) FROM sys.server_role_members WHERE role_principal_id = suser_id('hushserver'))",
        )
    };
    assert_eq!(seen("nobody"), "0|0|0|0|0");
    assert_eq!(seen("definer"), "2|2|1|0|0");
    assert_eq!(seen("admin"), "2|2|1|2|1");
    let run = |sql: &str| text::run(&world.instance, &format!("USE d; {sql}"));
    run(
        "GRANT REFERENCES ON TYPE::hushtype TO nobody; GRANT IMPERSONATE ON USER::hushuser TO nobody",
    );
    run("ALTER SERVER ROLE hushserver ADD MEMBER nobody; ALTER ROLE hushrole ADD MEMBER other");
    assert_eq!(seen("nobody"), "1|1|0|1|1");
    assert_eq!(seen("other"), "0|1|1|0|0");
    run("GRANT EXECUTE ON SCHEMA::dbo TO other; USE master; GRANT VIEW ANY DEFINITION TO other");
    assert_eq!(seen("other"), "2|2|2|2|2");
}

/// All databases are everybody's to know until VIEW ANY DATABASE is denied or revoked.
#[test]
fn databases_are_known_by_view_any_database() {
    let world = World::new();
    let database = text::say(&world.instance, "SELECT db_id('apart')");
    let asked = |who: &str, call: &str| {
        world.ask(
            who,
            &format!("DECLARE @db int = {database}; SELECT {}", call.replace("{}", "apart")),
        )
    };
    for (_, call) in OF_DATABASES {
        assert_ne!(asked("nobody", call), "NULL", "{call}");
    }
    text::run(
        &world.instance,
        "USE master; DENY VIEW ANY DATABASE TO nobody; DENY VIEW ANY DATABASE TO admin",
    );
    for (_, call) in OF_DATABASES {
        assert_eq!(asked("nobody", call), "NULL", "{call}");
        assert_ne!(asked("other", call), "NULL", "{call}");
        assert_ne!(asked("admin", call), "NULL", "{call}");
    }
    for sql in [
        "SELECT name FROM sys.databases",
        "SELECT name FROM sysdatabases",
        "EXEC sp_helpdb",
        "EXEC sp_databases",
    ] {
        let said = world.ask("nobody", sql);
        assert!(said.contains("master") && !said.contains("apart"), "{sql}\n{said}");
        assert!(world.ask("other", sql).contains("apart"), "{sql}");
    }
    assert_eq!(
        world.ask("nobody", "SELECT db_name(), db_name(db_id()), has_dbaccess('d')"),
        "d|d|1"
    );
    assert!(world.ask("nobody", "EXEC sp_helpdb 'apart'").starts_with("Msg 15010"));
}

/// The text of a constraint or module is shown to those who may see definitions; the right to read
/// is not enough.
#[test]
fn texts_are_shown_to_whom_may_see_definitions() {
    let world = World::new();
    text::run(
        &world.instance,
        "USE d; GRANT SELECT ON hushed TO other; GRANT EXECUTE ON hushproc TO other",
    );
    for sql in [
        "EXEC sp_helptext 'hushproc'",
        "EXEC sp_helptext 'hush_ck'",
        "EXEC sp_helptext 'hushed', 'hushsum'",
        "SELECT object_definition(object_id('hush_ck'))",
        "SELECT definition FROM sys.check_constraints",
        "SELECT definition FROM sys.default_constraints",
        "SELECT definition FROM sys.computed_columns",
    ] {
        let said = world.ask("other", sql);
        assert!(!said.contains("(") && !said.contains("CREATE"), "{sql}\n{said}");
        assert!(world.ask("definer", sql).len() > 4, "{sql}");
    }
    assert!(world.ask("other", "EXEC sp_helptext 'hushproc'").starts_with("Msg 15197"));
    assert!(world.ask("nobody", "EXEC sp_helptext 'hushproc'").starts_with("Msg 15009"));
}

/// Without VIEW SERVER STATE one sees one's own session.
#[test]
fn one_sees_ones_own_session() {
    let world = World::new();
    let _other = world.instance.session().expect("a session");
    for procedure in ["sp_who", "sp_who2"] {
        let said = world.ask("nobody", &format!("EXEC {procedure}"));
        assert_eq!(said.lines().count(), 1, "{procedure}\n{said}");
        assert!(said.contains("nobody"), "{procedure}\n{said}");
        assert!(
            world.ask("admin", &format!("EXEC {procedure}")).lines().count() > 1,
            "{procedure}"
        );
    }
    assert!(world.ask("nobody", "EXEC sp_lock").starts_with("Msg 300"));
    // What it names and what names it, without those of which one may not know.
    assert!(world.ask("definer", "EXEC sp_depends 'hushview'").contains("dbo.hushed"));
    text::run(&world.instance, "USE d; GRANT SELECT ON hushview TO other");
    assert!(!world.ask("other", "EXEC sp_depends 'hushview'").contains("hushed"));
}

#[test]
fn no_procedure_tells_of_what_nobody_may_know() {
    let world = World::new();
    let names = [
        "hushed",
        "hushview",
        "hushproc",
        "hushfn",
        "hushtr",
        "hushseq",
        "hushsyn",
        "dbo.hushed",
        "d.dbo.hushed",
    ];
    let mut shown_to_owner = 0;
    for procedure in engine::sysproc::names() {
        // They take effect whoever asks, and say nothing of objects.
        if ["sp_setapprole", "sp_unsetapprole", "xp_cmdshell"].contains(&procedure) {
            continue;
        }
        for name in names {
            let sql = format!("EXEC {procedure} '{name}'");
            for who in STRANGERS {
                let said = world.ask(who, &sql);
                let told = told(&said);
                assert!(told.is_none(), "{who}: {sql} tells {told:?}\n{said}");
            }
        }
        let sql = format!("BEGIN TRAN; EXEC {procedure} 'hushed'; IF @@TRANCOUNT > 0 ROLLBACK");
        let said = world.ask("owner", &sql);
        shown_to_owner += usize::from(told(&said).is_some());
    }
    assert!(shown_to_owner >= 8, "only {shown_to_owner} procedures show the owner anything");
    let unknown = "Msg 15009: The object 'hushed' does not exist in database 'd' or is invalid for this operation.";
    assert_eq!(world.ask("nobody", "EXEC sp_spaceused 'hushed'"), unknown);
    assert!(world.ask("definer", "EXEC sp_spaceused 'hushed'").contains("4711"));
}

#[test]
fn the_number_of_rows_does_not_show_through_a_policy() {
    let world = World::new();
    let run = |sql: &str| {
        text::run(&world.instance, &format!("USE d; EXEC('{}')", sql.replace('\'', "''")))
    };
    run(
        "CREATE FUNCTION mine (@n int) RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT 1 AS ok WHERE @n = 5",
    );
    run("CREATE SECURITY POLICY rules ADD FILTER PREDICATE dbo.mine(hushval) ON dbo.hushed");
    run("GRANT SELECT ON hushed TO other");
    for sql in [
        "SELECT count(*) FROM hushed",
        "SELECT rows FROM sys.partitions WHERE object_id = object_id('hushed')",
        "SELECT rowcnt, rows FROM sys.sysindexes WHERE id = object_id('hushed')",
        "SELECT row_count FROM sys.dm_db_partition_stats",
        "EXEC sp_spaceused 'hushed'",
        "EXEC sp_statistics 'hushed'",
        "SELECT objectpropertyex(object_id('hushed'), 'Cardinality')",
        "SELECT * FROM sys.dm_db_stats_properties(object_id('hushed'), 1)",
    ] {
        let said = world.ask("other", sql);
        assert!(!said.contains("4711"), "{sql}\n{said}");
    }
    assert!(world.ask("owner", "EXEC sp_spaceused 'hushed'").contains("4711"));
    assert!(world.ask("owner", "SELECT rows FROM sys.partitions").contains("4711"));
}
