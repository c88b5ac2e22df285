//! ROWGUIDCOL, SPARSE and NOT FOR REPLICATION: kept, shown, outlive a restart; $ROWGUID and
//! $IDENTITY are columns.

use crate::support::text::Bench;

const TABLE: &str = "CREATE TABLE s.t (id int IDENTITY (5, 1) NOT FOR REPLICATION PRIMARY KEY, g uniqueidentifier ROWGUIDCOL NOT NULL DEFAULT
     NEWID(), a int SPARSE NULL, b int CONSTRAINT small CHECK NOT FOR REPLICATION (b < 10), c int CHECK (c < 10), parent int
     CONSTRAINT up REFERENCES s.t (id) NOT FOR REPLICATION)";

const SHOWN: &[(&str, &str)] = &[
    (
        "SELECT name, is_rowguidcol, is_sparse FROM sys.columns WHERE object_id = OBJECT_ID('s.t') ORDER BY column_id",
        "id|0|0\ng|1|0\na|0|1\nb|0|0\nc|0|0\nparent|0|0",
    ),
    (
        "SELECT is_not_for_replication FROM sys.identity_columns WHERE object_id = OBJECT_ID('s.t')",
        "1",
    ),
    (
        "SELECT is_not_for_replication, is_not_trusted FROM sys.check_constraints ORDER BY is_not_for_replication",
        "0|0\n1|1",
    ),
    ("SELECT is_not_for_replication, is_not_trusted FROM sys.foreign_keys", "1|1"),
    ("SELECT is_not_for_replication FROM sys.triggers ORDER BY name", "1\n0"),
    (
        "SELECT COLUMNPROPERTY(OBJECT_ID('s.t'), 'g', 'IsRowGuidCol'), COLUMNPROPERTY(OBJECT_ID('s.t'), 'a', 'IsSparse'), \
         COLUMNPROPERTY(OBJECT_ID('s.t'), 'id', 'IsIdNotForRepl'), OBJECTPROPERTY(OBJECT_ID('s.t'), 'TableHasRowGuidCol')",
        "1|1|1|1",
    ),
];

#[test]
fn what_is_said_is_kept_and_shown() {
    let mut b = Bench::new();
    b.check("CREATE SCHEMA s", "");
    b.check(TABLE, "");
    b.check("CREATE TRIGGER s.first ON s.t FOR INSERT NOT FOR REPLICATION AS RETURN", "");
    b.check("CREATE TRIGGER s.second ON s.t FOR INSERT AS RETURN", "");
    for (query, expected) in SHOWN {
        b.check(query, expected);
    }
    let mut b = b.restart();
    for (query, expected) in SHOWN {
        b.check(query, expected);
    }
    // A rebuild of the rows keeps it, and constraints hold for everybody here.
    b.check("ALTER TABLE s.t ADD d int NOT NULL DEFAULT 7 ALTER TABLE s.t DROP CONSTRAINT up", "");
    b.fails("INSERT s.t (b) VALUES (10)", 547);
    b.check("ALTER TABLE s.t WITH CHECK CHECK CONSTRAINT small", "");
    b.check("SELECT is_not_trusted FROM sys.check_constraints WHERE name = 'small'", "1");
    b.check(SHOWN[1].0, "1");
    b.check(
        "SELECT name FROM sys.columns WHERE is_rowguidcol | is_sparse = 1 AND object_id = OBJECT_ID('s.t')",
        "g\na",
    );
}

#[test]
fn a_column_is_found_by_what_it_is() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE t (id int IDENTITY, g uniqueidentifier ROWGUIDCOL, a int) CREATE TABLE u (k int IDENTITY (7, 1), a int)
         INSERT t (g, a) VALUES ('00000000-0000-0000-0000-00000000000A', 3) INSERT u VALUES (4)",
        "(1)\n(1)",
    );
    let guid = "00000000-0000-0000-0000-00000000000A";
    b.check("SELECT $ROWGUID, $identity FROM t", &format!("{guid}|1"));
    b.check(
        "SELECT t.$ROWGUID, u.$IDENTITY FROM t JOIN u ON u.k > t.$IDENTITY",
        &format!("{guid}|7"),
    );
    b.check("SELECT ROWGUIDCOL, IDENTITYCOL FROM t WHERE IDENTITYCOL = 1", &format!("{guid}|1"));
    b.check(
        "SELECT a FROM t WHERE $ROWGUID = '00000000-0000-0000-0000-00000000000A' ORDER BY $IDENTITY",
        "3",
    );
    b.check("SELECT (SELECT $IDENTITY FROM u) + t.$IDENTITY FROM t GROUP BY t.$IDENTITY", "8");
    b.check(
        "UPDATE t SET a = $IDENTITY + 5 DELETE t WHERE $ROWGUID IS NULL SELECT a FROM t",
        "(1)\n(0)\n6",
    );
    // The heading is the column's own name.
    b.check("SELECT $IDENTITY, $ROWGUID INTO copied FROM t SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('copied')", "(1)\nid\ng");
    b.check("SELECT $ROWGUID FROM u", "Msg 126: Invalid pseudocolumn \"$ROWGUID\".");
    b.fails("SELECT $IDENTITY FROM t, u", 209);
    b.fails("SELECT [$IDENTITY] FROM t", 207);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut b = Bench::new();
    b.fails("CREATE TABLE x (a int ROWGUIDCOL)", 2761);
    b.fails("CREATE TABLE x (a uniqueidentifier ROWGUIDCOL, b uniqueidentifier ROWGUIDCOL)", 8196);
    for column in [
        "int SPARSE NOT NULL",
        "int SPARSE IDENTITY",
        "text SPARSE",
        "int SPARSE PRIMARY KEY",
        "uniqueidentifier SPARSE ROWGUIDCOL",
    ] {
        b.fails(&format!("CREATE TABLE x (a {column})"), 1731);
    }
    b.check("CREATE TABLE x (id int IDENTITY, a uniqueidentifier, b uniqueidentifier, c int NULL, d int NOT NULL)", "");
    b.check(
        "ALTER TABLE x ALTER COLUMN a ADD ROWGUIDCOL ALTER TABLE x ALTER COLUMN c ADD SPARSE",
        "",
    );
    b.check("ALTER TABLE x ALTER COLUMN id ADD NOT FOR REPLICATION", "");
    let marks = "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('x') AND is_rowguidcol | is_sparse = 1 UNION ALL \
                 SELECT name FROM sys.identity_columns WHERE is_not_for_replication = 1";
    b.check(marks, "a\nc\nid");
    b.fails("ALTER TABLE x ALTER COLUMN b ADD ROWGUIDCOL", 4925);
    b.fails("ALTER TABLE x ALTER COLUMN b DROP ROWGUIDCOL", 4926);
    b.fails("ALTER TABLE x ALTER COLUMN d ADD SPARSE", 1731);
    b.fails("ALTER TABLE x ADD e uniqueidentifier ROWGUIDCOL", 8196);
    b.fails("ALTER TABLE x ALTER COLUMN c ADD NOT FOR REPLICATION", 40510);
    // Another type or nullability takes away what cannot be said of it any more.
    b.check("ALTER TABLE x ALTER COLUMN c bigint NULL", "");
    b.check(marks, "a\nc\nid");
    b.check(
        "ALTER TABLE x ALTER COLUMN c int NOT NULL ALTER TABLE x ALTER COLUMN a DROP ROWGUIDCOL",
        "",
    );
    b.check("ALTER TABLE x ALTER COLUMN id DROP NOT FOR REPLICATION", "");
    b.check(marks, "");
    b.fails("CREATE PROCEDURE p FOR REPLICATION AS SELECT 1", 40510);
    b.check("SELECT OBJECT_ID('p')", "NULL");
}
