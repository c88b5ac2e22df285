//! The experiments' own scripts, unchanged; sizes and loop counts are small only where they are
//! text to replace.

use crate::support::text::Bench;

const DATABASES: &str = include_str!("../data/log-growth-databases.sql");
const TABLE: &str = include_str!("../data/log-growth-table.sql");
const WORKLOAD: &str = include_str!("../data/log-growth-workload.sql");
const BACKUPS: &str = include_str!("../data/log-growth-backups.sql");
const SCHEMA: &str = include_str!("../data/vlf-count-schema.sql");
const STATEMENTS: &str = include_str!("../data/vlf-count-workload.sql");
const BLOCK_SIZE: &str = include_str!("../data/log-block-size-workload.sql");

/// Runs a script batch by batch and gives all that was said.
fn script(b: &mut Bench, text: &str) -> String {
    syntax::split_batches(text).iter().map(|batch| b.run(batch.text)).collect()
}

#[test]
fn log_growth() {
    let b = &mut Bench::new();
    // The data files' 5 GB are not needed on a disk in memory.
    let databases = DATABASES.replace("5120000KB", "5120KB").replace("262144KB", "2048KB");
    assert_eq!(script(b, &databases), "");
    b.check("alter database HighVLF set compatibility_level = 100 alter database LowVLF set compatibility_level = 100", "");
    for (database, vlfs) in [("HighVLF", 4), ("LowVLF", 4)] {
        b.session.use_database(database).unwrap();
        b.check("set nocount off", "");
        assert_eq!(script(b, TABLE), "(1)\n");
        // 200 of the 40,000 rounds.
        assert_eq!(script(b, &WORKLOAD.replace("40000", "200")), "");
        b.check("select a, c, left(b, 3) from vlf_test", "1|199|bbb");
        b.check(
            &format!("select case when count(*) >= {vlfs} then 'enough' end from sys.dm_db_log_info(null)"),
            "enough",
        );
        b.check("dbcc checkdb with no_infomsgs", "");
    }
    let said = script(b, BACKUPS);
    for kind in ["DATABASE", "LOG"] {
        assert_eq!(
            said.matches(&format!("BACKUP {kind} successfully processed")).count(),
            2,
            "{said}"
        );
    }
    assert!(!said.contains("Msg "), "{said}");
}

#[test]
fn vlf_count() {
    let b = &mut Bench::new();
    assert_eq!(script(b, SCHEMA), "");
    b.check(
        "set nocount on declare @i int = 0
         while @i < 300
         begin
             insert customer (c_id, c_d_id, c_w_id, c_data, c_discount, c_since)
             values (@i / 10 + 1, @i % 10 + 1, 1, replicate('ABC ', 100), 0.1234, getdate())
             set @i += 1
         end
         set nocount off",
        "",
    );
    assert_eq!(script(b, STATEMENTS), "(0)\n(300)\n(300)\n(300)\n");
    b.check(
        "select count(*), min(c_data) from customer_tmp",
        &format!("300|{}", "ABC ".repeat(100)),
    );
    b.check("select count(*) from customer", "0");
    b.check("dbcc checkdb with no_infomsgs", "");
}

#[test]
fn log_block_size() {
    let b = &mut Bench::new();
    b.check("create database YourTestDB", "");
    b.session.use_database("YourTestDB").unwrap();
    b.check("create table YourTestTable(a int) create table tab1(col1 varchar(1000), col2 varchar(1000), col3 varchar(2000)) alter database YourTestDB set recovery simple", "");
    // One second instead of thirty.
    let said = script(b, &BLOCK_SIZE.replace("SECOND,30", "SECOND,1"));
    assert_eq!(said, "Changed database context to 'YourTestDB'.\n0\n");
    b.check("select case when count(*) > 100 then 'many' end from tab1", "many");
}

#[test]
fn bulk_insert() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.txt");
    std::fs::write(&file, "h1|h2|h3\n1|one|1.5\n2||2.5\nx|three|3.5\n4|four|4.5\n").unwrap();
    let path = file.display().to_string();
    let b = &mut Bench::new();
    b.check("create table f(a int, b varchar(10) default 'none', c decimal(5,2))", "");
    let bulk = |more: &str| {
        format!(
            "bulk insert f from '{path}' with (fieldterminator = '|', rowterminator = '\\n', firstrow = 2{more})"
        )
    };
    b.check(&bulk(""), "Msg 4864: Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for row 4, column 1 (a).\n(3)");
    b.check("select * from f", "1|one|1.50\n2|none|2.50\n4|four|4.50");
    b.check("truncate table f", "");
    b.check(&bulk(", keepnulls, lastrow = 3"), "(2)");
    b.check("select * from f", "1|one|1.50\n2|NULL|2.50");
    b.check(&bulk(", maxerrors = 0"), "Msg 4864: Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for row 4, column 1 (a).\nMsg 4865: Cannot bulk load because the maximum number of errors (0) was exceeded.");
    b.check("select count(*) from f", "2");
    b.check("bulk insert f from 'nowhere.txt'", "Msg 4860: Cannot bulk load. The file \"nowhere.txt\" does not exist or you don't have file access rights.");
}
