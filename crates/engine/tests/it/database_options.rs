//! ALTER DATABASE SET: each option has its effect, is refused, or is kept and shown because it can
//! change no result.

use crate::support::text::{Bench, Text, say};
use engine::Session;

fn tell(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// Option, its value that is not the usual one, its column of sys.databases, its property.
const KEPT: &[(&str, &str, &str, &str)] = &[
    ("ANSI_NULLS", "ON", "is_ansi_nulls_on", "IsAnsiNullsEnabled"),
    ("ANSI_PADDING", "ON", "is_ansi_padding_on", "IsAnsiPaddingEnabled"),
    ("ANSI_WARNINGS", "ON", "is_ansi_warnings_on", "IsAnsiWarningsEnabled"),
    ("ARITHABORT", "ON", "is_arithabort_on", "IsArithmeticAbortEnabled"),
    ("CONCAT_NULL_YIELDS_NULL", "ON", "is_concat_null_yields_null_on", "IsNullConcat"),
    ("QUOTED_IDENTIFIER", "ON", "is_quoted_identifier_on", "IsQuotedIdentifiersEnabled"),
    ("NUMERIC_ROUNDABORT", "ON", "is_numeric_roundabort_on", "IsNumericRoundAbortEnabled"),
    (
        "CURSOR_CLOSE_ON_COMMIT",
        "ON",
        "is_cursor_close_on_commit_on",
        "IsCloseCursorsOnCommitEnabled",
    ),
    ("RECURSIVE_TRIGGERS", "ON", "is_recursive_triggers_on", "IsRecursiveTriggersEnabled"),
    ("CURSOR_DEFAULT", "LOCAL", "is_local_cursor_default", "IsLocalCursorsDefault"),
    ("PARAMETERIZATION", "FORCED", "is_parameterization_forced", "IsParameterizationForced"),
    ("AUTO_CLOSE", "ON", "is_auto_close_on", "IsAutoClose"),
    ("AUTO_SHRINK", "ON", "is_auto_shrink_on", "IsAutoShrink"),
    ("DATE_CORRELATION_OPTIMIZATION", "ON", "is_date_correlation_on", ""),
    ("AUTO_UPDATE_STATISTICS_ASYNC", "ON", "is_auto_update_stats_async_on", ""),
    ("ACCELERATED_DATABASE_RECOVERY", "= ON", "is_accelerated_database_recovery_on", ""),
    ("MIXED_PAGE_ALLOCATION", "ON", "is_mixed_page_allocation_on", ""),
];

#[test]
fn what_is_kept_is_shown_and_outlives_a_restart() {
    let mut b = Bench::new();
    let shown = |(_, _, column, property): &(&str, &str, &str, &str)| {
        let property = if property.is_empty() {
            format!("{column} + 0")
        } else {
            format!("CAST(DATABASEPROPERTYEX('t', '{property}') AS int)")
        };
        format!("SELECT {column} + 0, {property} FROM sys.databases WHERE name = 't'")
    };
    for option in KEPT {
        b.check(&shown(option), "0|0");
        b.check(&format!("ALTER DATABASE t SET {} {}", option.0, option.1), "");
        b.check(&shown(option), "1|1");
    }
    let mut b = b.restart();
    for option in KEPT {
        b.check(&shown(option), "1|1");
    }
}

#[test]
fn what_would_change_results_is_refused() {
    let mut b = Bench::new();
    for option in [
        "TRUSTWORTHY ON",
        "DB_CHAINING ON",
        "ANSI_NULL_DEFAULT ON",
        "HONOR_BROKER_PRIORITY ON",
        "ENCRYPTION ON",
        "CHANGE_TRACKING = ON",
        "CONTAINMENT = PARTIAL",
        "FILESTREAM (DIRECTORY_NAME = 'x')",
        "FILESTREAM (NON_TRANSACTED_ACCESS = FULL)",
        "TEMPORAL_HISTORY_RETENTION OFF",
        "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = ON",
    ] {
        let name = option.split([' ', '(']).next().unwrap();
        b.check(
            &format!("ALTER DATABASE t SET {option}"),
            &format!(
                "Msg 40510: Statement 'ALTER DATABASE SET {name}' is not supported in this version of Ringwood.\n\
                 Msg 5069: ALTER DATABASE statement failed."
            ),
        );
    }
}

/// The statements that SQL Server's tools write behind CREATE DATABASE for one with the usual
/// options.
#[test]
fn the_usual_values_are_taken() {
    let mut b = Bench::new();
    for option in [
        "COMPATIBILITY_LEVEL = 160",
        "ANSI_NULL_DEFAULT OFF",
        "ANSI_NULLS OFF",
        "ANSI_PADDING OFF",
        "ANSI_WARNINGS OFF",
        "ARITHABORT OFF",
        "AUTO_CLOSE OFF",
        "AUTO_SHRINK OFF",
        "AUTO_UPDATE_STATISTICS ON",
        "CURSOR_CLOSE_ON_COMMIT OFF",
        "CURSOR_DEFAULT GLOBAL",
        "CONCAT_NULL_YIELDS_NULL OFF",
        "NUMERIC_ROUNDABORT OFF",
        "QUOTED_IDENTIFIER OFF",
        "RECURSIVE_TRIGGERS OFF",
        "DISABLE_BROKER",
        "AUTO_UPDATE_STATISTICS_ASYNC OFF",
        "DATE_CORRELATION_OPTIMIZATION OFF",
        "TRUSTWORTHY OFF",
        "ALLOW_SNAPSHOT_ISOLATION OFF",
        "PARAMETERIZATION SIMPLE",
        "READ_COMMITTED_SNAPSHOT OFF",
        "HONOR_BROKER_PRIORITY OFF",
        "RECOVERY FULL",
        "MULTI_USER",
        "PAGE_VERIFY CHECKSUM",
        "DB_CHAINING OFF",
        "FILESTREAM( NON_TRANSACTED_ACCESS = OFF )",
        "TARGET_RECOVERY_TIME = 60 SECONDS",
        "DELAYED_DURABILITY = DISABLED",
        "ACCELERATED_DATABASE_RECOVERY = OFF",
        "QUERY_STORE = OFF",
        "READ_WRITE",
    ] {
        b.check(&format!("ALTER DATABASE [t] SET {option}"), "");
    }
}

#[test]
fn sessions_of_clients_that_set_nothing_have_the_options_of_their_database() {
    let mut b = Bench::new();
    let shown = "SELECT SESSIONPROPERTY('ANSI_NULLS'), SESSIONPROPERTY('QUOTED_IDENTIFIER'), SESSIONPROPERTY('ARITHABORT'), \
                 SESSIONPROPERTY('CONCAT_NULL_YIELDS_NULL'), SESSIONPROPERTY('NUMERIC_ROUNDABORT')";
    let client = |b: &Bench, sets: bool| {
        let mut session = b.instance.session().unwrap();
        session.use_database("t").unwrap();
        if !sets {
            session.without_ansi_defaults();
        }
        session
    };
    assert_eq!(tell(&mut client(&b, false), shown), "0|0|0|0|0");
    b.check(
        "ALTER DATABASE t SET ANSI_NULLS ON, QUOTED_IDENTIFIER ON, NUMERIC_ROUNDABORT ON, CURSOR_CLOSE_ON_COMMIT ON",
        "",
    );
    let mut session = client(&b, false);
    assert_eq!(tell(&mut session, shown), "1|1|0|0|1");
    assert_eq!(tell(&mut session, "SELECT 'a' WHERE NULL = NULL"), "");
    assert_eq!(tell(&mut client(&b, true), shown), "1|1|1|1|0");
}

#[test]
fn global_temporary_tables_are_read_as_those_of_the_database() {
    let mut b = Bench::new();
    b.check("CREATE TABLE ##r (id int PRIMARY KEY, a int) INSERT ##r VALUES (1, 1), (2, 2)", "(2)");
    let mut reader = b.instance.session().unwrap();
    for (versions, database, seen) in [
        ("ON", "t", "1"),
        ("OFF", "t", "Msg 1222: Lock request time out period exceeded."),
        ("OFF", "tempdb", "1"),
    ] {
        b.check(&format!("ALTER DATABASE t SET READ_COMMITTED_SNAPSHOT {versions}"), "");
        reader.use_database(database).unwrap();
        b.check("BEGIN TRAN UPDATE ##r SET a = 9 WHERE id = 1", "(1)");
        let read = "SET LOCK_TIMEOUT 0 SELECT a FROM ##r WHERE id = 1";
        assert_eq!(tell(&mut reader, read), seen, "{versions} {database}");
        assert_eq!(tell(&mut reader, "SELECT a FROM tempdb..##r WHERE id = 2"), "2");
        b.check("ROLLBACK", "");
        assert_eq!(tell(&mut reader, read), "1", "{versions} {database}");
    }
}

#[test]
fn without_row_versions_readers_wait_for_writers() {
    let mut b = Bench::new();
    b.check("CREATE TABLE r (id int PRIMARY KEY, a int) INSERT r VALUES (1, 1), (2, 2)", "(2)");
    let mut reader = b.instance.session().unwrap();
    reader.use_database("t").unwrap();
    assert_eq!(tell(&mut reader, "SET LOCK_TIMEOUT 0"), "");
    let waits = "Msg 1222: Lock request time out period exceeded.";
    let reads = [
        "SELECT a FROM r WHERE id = 1",
        "SELECT MAX(a) FROM r WHERE id < 2",
        "SELECT a FROM t.dbo.r ORDER BY id",
    ];
    let key = [("@id", engine::DataType::Int)];
    let prepared = reader.prepare("SELECT a FROM r WHERE id = @id", &key).unwrap();
    let run = |reader: &mut Session| {
        let mut out = Text::default();
        reader.execute_prepared(&prepared, &[engine::Value::Int(1)], &mut out).unwrap();
        out.out.trim().to_string()
    };
    for (versions, blocked) in [("ON", false), ("OFF", true), ("ON", false), ("OFF", true)] {
        // Nobody has to leave for it; statements that begin afterwards are under it.
        b.check(&format!("ALTER DATABASE t SET READ_COMMITTED_SNAPSHOT {versions}"), "");
        b.check("BEGIN TRAN UPDATE r SET a = 9 WHERE id = 1", "(1)");
        for (read, old) in reads.iter().zip(["1", "1", "1\n2"]) {
            assert_eq!(
                tell(&mut reader, read),
                if blocked { waits } else { old },
                "{versions} {read}"
            );
        }
        assert_eq!(run(&mut reader), if blocked { waits } else { "1" }, "{versions}");
        // Other rows, and other levels, are read as ever.
        assert_eq!(tell(&mut reader, "SELECT a FROM r WHERE id = 2"), "2");
        assert_eq!(tell(&mut reader, "SELECT a FROM r WITH (NOLOCK) WHERE id = 1"), "9");
        b.check("ROLLBACK", "");
        for (read, now) in reads.iter().zip(["1", "1", "1\n2"]) {
            assert_eq!(tell(&mut reader, read), now, "{versions} {read}");
        }
        let level = if blocked { "read committed" } else { "read committed snapshot" };
        let shown = tell(&mut reader, "DBCC USEROPTIONS WITH NO_INFOMSGS");
        assert!(shown.ends_with(&format!("isolation level|{level}")), "{shown}");
    }
    // A lock is held while the row is read alone.
    b.check("ALTER DATABASE t SET READ_COMMITTED_SNAPSHOT OFF", "");
    assert_eq!(tell(&mut reader, "BEGIN TRAN SELECT a FROM r"), "1\n2");
    b.check("SET LOCK_TIMEOUT 0 UPDATE r SET a = 3", "(2)");
    assert_eq!(tell(&mut reader, "COMMIT"), "");
    for database in ["master", "tempdb", "msdb"] {
        let said =
            say(&b.instance, &format!("ALTER DATABASE {database} SET READ_COMMITTED_SNAPSHOT OFF"));
        assert!(
            said.starts_with("Msg 5058: Option 'READ_COMMITTED_SNAPSHOT' cannot be set"),
            "{said}"
        );
    }
}
