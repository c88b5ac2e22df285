//! Definitions, which later statements bind again.

use super::{Rule, around, chained, list, objects};
use std::fmt::Write as _;

/// The rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: "columns",
        text: |n| format!("CREATE TABLE made ({})", list(n, ",", |i| format!("c{i} int"))),
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "computed column",
        text: |n| {
            format!(
                "CREATE TABLE made (a int, b AS a{})\nGO\nINSERT made VALUES (1)\nGO\nSELECT b FROM made",
                " + 1".repeat(n)
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "computed column of CASE",
        text: |n| {
            let case = around(n, "CASE WHEN a = 1 THEN ", "a", " ELSE 0 END");
            format!(
                "CREATE TABLE made (a int, b AS {case} PERSISTED)\nGO\nINSERT made VALUES (1)\nGO\nSELECT b FROM made"
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "CHECK",
        text: |n| {
            format!(
                "CREATE TABLE made (a int CHECK (a{} > 0))\nGO\nINSERT made VALUES (1)",
                " + 1".repeat(n)
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "CHECK of ANDs",
        text: |n| {
            format!(
                "CREATE TABLE made (a int CHECK (a > 0{}))\nGO\nINSERT made VALUES (1)",
                " AND a > 0".repeat(n)
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "CHECK of COLLATEs",
        text: |n| {
            format!(
                "CREATE TABLE made (a varchar(9) CHECK (a{} > ''))\nGO\nINSERT made VALUES ('x')",
                " COLLATE Latin1_General_BIN".repeat(n)
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "CHECKs",
        text: |n| {
            let n = n.min(4_000);
            format!(
                "CREATE TABLE made (a int{})\nGO\nINSERT made VALUES (1)",
                " CHECK (a > 0)".repeat(n)
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "constraints added",
        text: |n| {
            let n = n.min(4_000);
            format!(
                "CREATE TABLE made (a int)\nGO\nALTER TABLE made ADD {}",
                list(n, ",", |_| "CHECK (a > 0)".into())
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "DEFAULT",
        text: |n| {
            format!(
                "CREATE TABLE made (a int DEFAULT (1{}))\nGO\nINSERT made DEFAULT VALUES",
                " + 1".repeat(n)
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "filtered index",
        text: |n| {
            format!(
                "CREATE TABLE made (a int)\nGO\nCREATE INDEX i ON made (a) WHERE a > 0{}",
                " AND a > 0".repeat(n)
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "columns of an index",
        text: |n| {
            format!(
                "CREATE TABLE made (a int)\nGO\nCREATE INDEX i ON made ({})",
                list(n, ",", |_| "a".into())
            )
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "a view's query",
        text: |n| {
            let query =
                chained(n, "SELECT 1 a", |i| format!("SELECT * FROM c{i}"), "SELECT * FROM LAST");
            format!("CREATE VIEW made AS {query}\nGO\nSELECT * FROM made a, made b")
        },
        undo: "DROP VIEW IF EXISTS made",
    },
    Rule {
        name: "views nested",
        text: |n| {
            let view = |i: usize| match i {
                0 => "CREATE OR ALTER VIEW v0 AS SELECT 1 a".to_owned(),
                _ => format!("CREATE OR ALTER VIEW v{i} AS SELECT a FROM v{}", i - 1),
            };
            format!("{}\nGO\nSELECT * FROM v{}", objects(n, view), n.clamp(1, 60) - 1)
        },
        undo: "",
    },
    Rule {
        name: "views doubled",
        text: |n| {
            let view = |i: usize| match i {
                0 => "CREATE OR ALTER VIEW v0 AS SELECT 1 a".to_owned(),
                _ => format!("CREATE OR ALTER VIEW v{i} AS SELECT p.a FROM v{0} p, v{0} q", i - 1),
            };
            format!("{}\nGO\nSELECT COUNT(*) FROM v{}", objects(n, view), n.clamp(1, 60) - 1)
        },
        undo: "",
    },
    Rule {
        name: "views of sums",
        text: |n| {
            let sum = " + a".repeat(n.min(900));
            let view = |i: usize| match i {
                0 => "CREATE OR ALTER VIEW v0 AS SELECT CAST(0 AS bigint) a FROM s".to_owned(),
                _ => format!("CREATE OR ALTER VIEW v{i} AS SELECT a{sum} a FROM v{}", i - 1),
            };
            format!(
                "{}\nGO\nSELECT a FROM v{} WHERE a = 0",
                objects(n.min(30), view),
                n.clamp(1, 30) - 1
            )
        },
        undo: "",
    },
    Rule {
        name: "functions of functions",
        text: |n| {
            let sum = " + @a".repeat(n.min(900));
            let function = |i: usize| {
                match i {
                0 => "CREATE OR ALTER FUNCTION dbo.f0 (@a bigint) RETURNS bigint AS BEGIN RETURN @a END"
                    .to_owned(),
                _ => format!(
                    "CREATE OR ALTER FUNCTION dbo.f{i} (@a bigint) RETURNS bigint AS BEGIN RETURN dbo.f{}(@a{sum}) END",
                    i - 1
                ),
            }
            };
            format!(
                "{}\nGO\nSELECT dbo.f{}(b - b) FROM s",
                objects(n.min(32), function),
                n.clamp(1, 32) - 1
            )
        },
        undo: "",
    },
    Rule {
        name: "functions nested in arguments",
        text: |n| {
            let function = "CREATE OR ALTER FUNCTION dbo.g (@a int) RETURNS int AS BEGIN RETURN CASE WHEN @a > 0 THEN @a ELSE 1 END END";
            format!("{function}\nGO\nSELECT {} FROM s", around(n, "dbo.g(", "a", ")"))
        },
        undo: "",
    },
    Rule {
        name: "functions of tables nested",
        text: |n| {
            let function = |i: usize| match i {
                0 => "CREATE OR ALTER FUNCTION dbo.h0 (@a int) RETURNS TABLE AS RETURN SELECT @a a"
                    .to_owned(),
                _ => format!(
                    "CREATE OR ALTER FUNCTION dbo.h{i} (@a int) RETURNS TABLE AS RETURN SELECT a FROM dbo.h{}(@a)",
                    i - 1
                ),
            };
            format!("{}\nGO\nSELECT * FROM dbo.h{}(1)", objects(n, function), n.clamp(1, 60) - 1)
        },
        undo: "",
    },
    Rule {
        name: "a procedure of itself",
        text: |n| {
            let sum = " + 1".repeat(n.min(900));
            format!(
                "CREATE OR ALTER PROCEDURE made @n int AS IF @n < 40 BEGIN SET @n = @n - 1{sum} + 2 - {} EXEC made @n END\nGO\nEXEC made 1",
                n.min(900)
            )
        },
        undo: "DROP PROCEDURE IF EXISTS made",
    },
    Rule {
        name: "triggers of themselves",
        text: |_| {
            "CREATE TABLE made (a int)\nGO\nCREATE TRIGGER made_t ON made AFTER INSERT AS INSERT made SELECT a + 1 FROM inserted\nGO\n\
             ALTER DATABASE CURRENT SET RECURSIVE_TRIGGERS ON\nGO\nINSERT made VALUES (1)"
                .into()
        },
        undo: "DROP TABLE IF EXISTS made",
    },
    Rule {
        name: "cascades",
        text: |n| {
            let n = n.min(100);
            let mut out = "CREATE TABLE k0 (a int PRIMARY KEY)".to_owned();
            for i in 1..n {
                let _ = write!(
                    out,
                    "\nCREATE TABLE k{i} (a int PRIMARY KEY REFERENCES k{} ON DELETE CASCADE ON UPDATE CASCADE)",
                    i - 1
                );
            }
            for i in 0..n.max(1) {
                let _ = write!(out, "\nGO\nINSERT k{i} VALUES (1)");
            }
            out.push_str("\nGO\nUPDATE k0 SET a = 2\nGO\nDELETE k0");
            for i in (0..n.max(1)).rev() {
                let _ = write!(out, "\nGO\nDROP TABLE k{i}");
            }
            out
        },
        undo: "",
    },
    Rule {
        name: "parameters",
        text: |n| {
            format!(
                "CREATE PROCEDURE made {} AS SELECT 1",
                list(n, ",", |i| format!("@p{i} int = 1"))
            )
        },
        undo: "DROP PROCEDURE IF EXISTS made",
    },
];
