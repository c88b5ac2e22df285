//! What every database has of itself in sys.objects and similar views, and master..spt_values:
//! sources of rows for scripts, and nothing that tools take for tables of users.

use crate::support::text::{Bench, run, say};

#[test]
fn base_tables_and_queues_are_listed() {
    let mut b = Bench::new();
    b.check(
        "SELECT type, type_desc, COUNT(*), SUM(CAST(is_ms_shipped AS int)) FROM sys.objects GROUP BY type, type_desc ORDER BY type",
        "S |SYSTEM_TABLE|50|50\nSQ|SERVICE_QUEUE|3|3",
    );
    b.check("SELECT COUNT(*) FROM (SELECT TOP (400) name FROM sys.columns) AS c", "400");
    b.check(
        "SELECT name, schema_id, parent_object_id FROM sys.objects WHERE object_id = 34",
        "sysschobjs|4|0",
    );
    b.check("SELECT object_id FROM sys.all_objects WHERE name = 'sysschobjs'", "34");
    b.check("SELECT name, TYPE_NAME(user_type_id), is_nullable FROM sys.columns WHERE object_id = 49 ORDER BY column_id", "class|tinyint|0\nid|int|0\nsubid|int|0\nname|nvarchar|0\nvalue|sql_variant|1");
    b.check("SELECT COUNT(*) FROM sys.all_columns WHERE object_id = 49", "5");
    b.check("SELECT xtype, COUNT(*) FROM sysobjects GROUP BY xtype ORDER BY xtype", "S |50\nSQ|3");
    b.check("SELECT name FROM syscolumns WHERE id = 49 AND colid < 3 ORDER BY colid", "class\nid");
    b.check("SELECT OBJECT_ID('sys.sysschobjs'), OBJECT_ID('sysschobjs'), OBJECT_NAME(34), OBJECT_SCHEMA_NAME(34)", "34|NULL|sysschobjs|sys");
    b.check(
        "SELECT OBJECTPROPERTY(34, 'IsMSShipped'), OBJECTPROPERTY(34, 'IsSystemTable'), OBJECTPROPERTY(34, 'IsUserTable'),
                OBJECTPROPERTY(34, 'IsTable'), OBJECTPROPERTY(OBJECT_ID('ServiceBrokerQueue'), 'IsQueue')",
        "1|1|0|1|1",
    );
    // They are names alone.
    b.fails("SELECT * FROM sys.sysschobjs", 208);
    b.fails("DROP TABLE sys.sysschobjs", 3701);
}

#[test]
fn lists_of_users_tables_do_not_have_them() {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (n int)", "");
    for list in [
        "SELECT name FROM sys.tables",
        "SELECT name FROM sys.objects WHERE type = 'U'",
        "SELECT name FROM sys.objects WHERE is_ms_shipped = 0",
        "SELECT name FROM sysobjects WHERE xtype = 'U'",
        "SELECT name FROM sysobjects WHERE OBJECTPROPERTY(id, 'IsMSShipped') = 0",
        "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES",
        "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.COLUMNS",
    ] {
        b.check(list, "a");
    }
    // Who owns nothing sees none of them.
    run(&b.instance, "CREATE LOGIN ann WITH PASSWORD = 'Some-l0ng-one'; USE t; CREATE USER ann");
    b.check("EXECUTE AS USER = 'ann'; SELECT COUNT(*) FROM sys.objects; REVERT", "0");
}

#[test]
fn master_has_numbers_to_look_up() {
    let mut b = Bench::new();
    b.check(
        "SELECT COUNT(*), MIN(number), MAX(number) FROM master..spt_values WHERE type = 'P'",
        "2048|0|2047",
    );
    b.check(
        "SELECT number, low, high FROM master.dbo.spt_values WHERE type = 'P' AND number IN (0, 7, 8, 2047) ORDER BY number",
        "0|1|1\n7|1|128\n8|2|1\n2047|256|128",
    );
    b.check("SELECT name FROM master..spt_values WHERE type = 'L' AND number = 6", "X");
    b.check("SELECT name FROM master..spt_values WHERE type = 'LR' AND number = 7", "KEY");
    b.check("SELECT COUNT(*) FROM (SELECT TOP (1000) a.number FROM master..spt_values a, master..spt_values b) AS n", "1000");
    b.fails("SELECT * FROM spt_values", 208);
    b.fails("SELECT * FROM dbo.spt_values", 208);
    b.check("SELECT OBJECT_ID('spt_values'), SIGN(OBJECT_ID('master..spt_values'))", "NULL|-1");
    let i = &b.instance;
    assert_eq!(
        say(i, "USE master; SELECT COUNT(*) FROM spt_values WHERE type = 'P'").lines().last(),
        Some("2048")
    );
    let listed = "USE master; SELECT o.type, o.is_ms_shipped, COUNT(*) FROM sys.objects o JOIN sys.columns c ON c.object_id = o.object_id
                  WHERE o.name = 'spt_values' GROUP BY o.type, o.is_ms_shipped";
    assert_eq!(say(i, listed).lines().last(), Some("V |1|6"));
    b.check("SELECT COUNT(*) FROM sys.all_objects WHERE name = 'spt_values'", "0");
}
