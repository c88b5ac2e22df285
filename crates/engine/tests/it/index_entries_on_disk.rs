//! Entries of nonclustered indexes on disk: after power losses they say what their tables say,
//! damage of an entry is found, and files of earlier formats are refused.

use crate::support::text::{self, fails, power_loss, run, say};
use disk::{AlignedBuf, Disk, OpenMode};
use engine::Instance;
use engine::repair;
use pages::{HEADER_SIZE, PAGE_SIZE, Page, PageId};
use sim::SimDisk;
use std::path::Path;
use std::sync::Arc;

/// Where the checksum of a page lies in it.
const AT_CHECKSUM: usize = 48;

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 16 << 20).expect("the instance opens")
}

/// Sums over each index and over the table.
fn sums(instance: &Arc<Instance>, table: &str) -> String {
    let of = |hint: &str, columns: &str| {
        let sql = format!(
            "SELECT COUNT(*), CHECKSUM_AGG(BINARY_CHECKSUM({columns})) FROM d..{table} WITH (INDEX ({hint}))"
        );
        say(instance, &sql)
    };
    let mut all = Vec::new();
    for (index, columns) in
        [("ix_3", "a, b, c"), ("ix_text", "s, a"), ("ux", "id, s"), ("ix_own", "id, b")]
    {
        let by_table = of("0", columns);
        assert_eq!(of(index, columns), by_table, "{index} of {table}");
        all.push(by_table);
    }
    all.push(of("ix_3", "id, a, b, c, s"));
    assert_eq!(all.last(), Some(&of("0", "id, a, b, c, s")), "rows behind entries of {table}");
    all.join(" ")
}

/// Inserts, updates, deletes and a rollback of rows with entries, on a heap and on a clustered
/// table: after a power loss anywhere the indexes say what the tables say, and a transaction is
/// whole or not there.
#[test]
fn entries_after_a_power_loss() {
    let disk = SimDisk::new(83);
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf', SIZE = 4MB) LOG ON (NAME = l, FILENAME = 'd.ldf', SIZE = 2MB)",
    );
    run(&instance, "ALTER DATABASE d SET RECOVERY SIMPLE");
    let tables = ["heap", "tree"];
    for (table, key) in tables.into_iter().zip(["NOT NULL", "NOT NULL PRIMARY KEY"]) {
        run(
            &instance,
            &format!(
                "USE d CREATE TABLE {table} (id int {key}, a int, b int, c int, s varchar(200));
                 CREATE INDEX ix_3 ON {table} (a, b, c); CREATE INDEX ix_text ON {table} (s) INCLUDE (a);
                 CREATE UNIQUE INDEX ux ON {table} (id) INCLUDE (s); CREATE INDEX ix_own ON {table} (b) INCLUDE (id);
                 INSERT {table} SELECT value, value % 10, value % 7, value, REPLICATE('s', value % 50) FROM GENERATE_SERIES(1, 400)"
            ),
        );
    }
    let before: Vec<String> = tables.iter().map(|table| sums(&instance, table)).collect();
    instance.close().unwrap();
    drop(instance);
    let disk = disk.crash(1);
    let change = |table: &str| {
        format!(
            "BEGIN TRAN
             INSERT {table} SELECT value, value % 9, NULL, value, REPLICATE('t', value % 90) FROM GENERATE_SERIES(401, 700)
             UPDATE {table} SET a = a + 1, s = s + 'u' WHERE id % 3 = 0
             DELETE {table} WHERE id % 5 = 0
             COMMIT
             CHECKPOINT
             BEGIN TRAN
             UPDATE {table} SET a = NULL, b = id, s = NULL WHERE id % 4 = 1
             DELETE {table} WHERE id % 2 = 0
             INSERT {table} SELECT value, 1, 1, 1, 'again' FROM GENERATE_SERIES(2, 100) WHERE value % 2 = 0
             ROLLBACK
             INSERT {table} SELECT value, 5, 5, 5, 'back' FROM GENERATE_SERIES(5, 100) WHERE value % 5 = 0"
        )
    };
    let sql = format!("USE d; {}; {}", change("heap"), change("tree"));
    // What is there after each of the two steps of a table.
    let after_each = |table: &str| {
        let disk = disk.crash(2);
        let instance = open(&disk);
        let change = change(table);
        let (first, second) = change.split_once("CHECKPOINT").unwrap();
        [first, second].map(|step| {
            run(&instance, &format!("USE d; {step}"));
            sums(&instance, table)
        })
    };
    let steps = tables.map(after_each);
    power_loss(&disk, open, &sql, 40, |instance, _, at| {
        for ((table, before), [first, second]) in tables.iter().zip(&before).zip(&steps) {
            let found = sums(instance, table);
            assert!([before, first, second].contains(&&found), "{table} after I/O {at}: {found}");
        }
        let report = instance.check_database("d").unwrap();
        assert!(
            report.is_clean(),
            "after I/O {at}: {:?} {:?}",
            report.allocation,
            report.consistency
        );
        run(instance, "USE d INSERT heap VALUES (9999, 1, 1, 1, 'on') DELETE heap WHERE id = 9999");
    });
}

/// Changes a page of a file, and its checksum with it. The first page of which `change` says so.
pub fn change_page(disk: &SimDisk, path: &str, mut change: impl FnMut(&mut [u8]) -> bool) {
    let file = disk.open(Path::new(path), OpenMode::Open).unwrap();
    let pages = file.len().unwrap() / PAGE_SIZE as u64;
    for number in 0..pages as u32 {
        let at = u64::from(number) * PAGE_SIZE as u64;
        let mut buf = AlignedBuf::new(PAGE_SIZE);
        file.read_at(at, &mut buf).unwrap();
        let page = |buf: &AlignedBuf| Page::from_bytes(buf.first_chunk::<PAGE_SIZE>().unwrap());
        // Copies of pages lie elsewhere in the file.
        if page(&buf).id() == PageId::new(1, number) && change(&mut buf) {
            let sum = page(&buf).compute_checksum();
            buf[AT_CHECKSUM..AT_CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes());
            file.write_durable(at, &[&buf]).unwrap();
            return;
        }
    }
    panic!("no page of {path} was changed");
}

/// Two entries of a unique index that have changed their rows, and one that is no entry any more.
#[test]
fn entries_that_name_other_rows_are_found() {
    let disk = SimDisk::new(84);
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf') LOG ON (NAME = l, FILENAME = 'd.ldf')",
    );
    run(
        &instance,
        "USE d CREATE TABLE t (a int NOT NULL, s varchar(9)) CREATE UNIQUE INDEX u ON t (a) INCLUDE (s)
         INSERT t VALUES (1514082868, 'one'), (1514082869, 'two')",
    );
    assert!(instance.check_database("d").unwrap().is_clean());
    instance.close().unwrap();
    drop(instance);
    // Key length 5; not NULL; 0x5A3F1234 with its sign turned, in big-endian bytes.
    let key: [u8; 7] = [5, 0, 1, 0xDA, 0x3F, 0x12, 0x34];
    let find = |page: &[u8]| {
        page.windows(key.len()).position(|bytes| bytes == &key[..]).map(|at| at + key.len())
    };
    let told = |disk: &SimDisk| {
        let report = open(disk).check_database("d").unwrap();
        assert!(report.allocation.is_empty(), "{:?}", report.allocation);
        report.consistency.join("\n")
    };
    // A NULL bit, the end of the text, the text, the RID.
    let other = disk.crash(1);
    change_page(&other, "/data/d.mdf", |page| {
        let Some(at) = find(page) else { return false };
        assert_eq!(&page[at..at + 6], [0, 6, 0, b'o', b'n', b'e']);
        // The slot of the RID.
        page[at + 12] ^= 1;
        true
    });
    let said = told(&other);
    assert!(
        said.contains("index u has 2 entries for 2 rows, or entries that no row has"),
        "{said}"
    );
    let cut = disk.crash(1);
    change_page(&cut, "/data/d.mdf", |page| {
        let Some(at) = find(page) else { return false };
        page[at + 1] = 200;
        true
    });
    let said = told(&cut);
    assert!(said.contains("index u has 1 entries that cannot be read"), "{said}");
    // An included value is another one than that of its row.
    let changed = disk.crash(1);
    change_page(&changed, "/data/d.mdf", |page| {
        let Some(at) = find(page) else { return false };
        assert_eq!(&page[at + 3..at + 6], b"one");
        page[at + 5] = b'x';
        true
    });
    let said = told(&changed);
    assert!(
        said.contains("index u has 2 entries for 2 rows, or entries that no row has"),
        "{said}"
    );
    assert!(!said.contains("cannot be read"), "{said}");
}

/// Included values of every type, also those that are left to their row, are as a check makes them
/// of the row: after changes of rows and of columns, and in an index that was built.
#[test]
fn included_values_of_all_types_are_those_of_their_rows() {
    let disk = SimDisk::new(88);
    let instance = open(&disk);
    run(&instance, "CREATE DATABASE d");
    for (table, key) in [("heap", ""), ("tree", " PRIMARY KEY")] {
        run(
            &instance,
            &format!(
                "USE d CREATE TABLE {table} (id int NOT NULL{key}, g int, b bit, f float, r real, m smallmoney,
                 n decimal(9, 2), c char(5), w nchar(3), v varchar(8000), u nvarchar(4000), z varbinary(8000),
                 k uniqueidentifier, dt datetime, t time(3), o datetimeoffset(2), y sql_variant,
                 x varchar(max), l varchar(9), j varchar(40) COLLATE Cyrillic_General_CI_AS,
                 e varchar(20) COLLATE Latin1_General_100_CI_AS_SC_UTF8, s AS g * 2 PERSISTED);
                 CREATE UNIQUE INDEX ux ON {table} (id)
                 INCLUDE (g, b, f, r, m, n, c, w, v, u, z, k, dt, t, o, y, x, l, j, e, s);
                 CREATE INDEX ix ON {table} (g, c) INCLUDE (v, u, y, l);
                 INSERT {table} (id, g, b, f, r, m, n, c, w, v, u, z, k, dt, t, o, y, x, l, j, e)
                 SELECT value, value % 5, value % 2, CASE WHEN value % 4 = 0 THEN -0e0 ELSE value / 3e0 END,
                 value, value, value / 7.0,
                 'c', N'w', REPLICATE('v', value * 10), REPLICATE(N'\u{f6}', value * 20) + NCHAR(55357),
                 CAST(REPLICATE('z', value * 11) AS varbinary(8000)), NEWID(), DATEADD(ms, value * 7, '20200101'),
                 '10:11:12.3456', '2020-01-01 10:11:12.345 +02:00',
                 CASE value % 4 WHEN 0 THEN CAST(value AS sql_variant) WHEN 1 THEN CAST('t' AS char(9))
                 WHEN 2 THEN CAST(1.50 AS decimal(7, 3)) END, REPLICATE(CAST('x' AS varchar(max)), value * 130), 'long',
                 N'\u{30a2}\u{e9}\u{2026}', N'\u{2026}\u{e9}' FROM GENERATE_SERIES(1, 80)"
            ),
        );
        run(
            &instance,
            &format!(
                "USE d UPDATE {table} SET v = UPPER(v), u = UPPER(u), y = N'y', c = NULL WHERE id % 3 = 0;
                 UPDATE {table} SET v = REPLICATE('q', 800), x = 'short', z = NULL WHERE id % 5 = 0;
                 ALTER TABLE {table} ALTER COLUMN l varchar(20);
                 UPDATE {table} SET l = 'longer than it was' WHERE id = 7;
                 CREATE INDEX built ON {table} (g) INCLUDE (b, f, n, c, v, u, z, t, o, y, x, l, j, e)"
            ),
        );
    }
    let report = instance.check_database("d").unwrap();
    assert!(report.is_clean(), "{:?} {:?}", report.allocation, report.consistency);
    assert_eq!(report.tables.len(), 2);
}

/// An entry whose length of the clustered key is another one leads to no row.
#[test]
fn entries_with_another_length_of_their_locators_are_found() {
    let disk = SimDisk::new(87);
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf') LOG ON (NAME = l, FILENAME = 'd.ldf')",
    );
    run(
        &instance,
        "USE d CREATE TABLE t (id int NOT NULL PRIMARY KEY, s varchar(9)) CREATE INDEX i ON t (s)
         INSERT t VALUES (7, 'one')",
    );
    assert!(instance.check_database("d").unwrap().is_clean());
    instance.close().unwrap();
    drop(instance);
    let disk = disk.crash(1);
    // NULL bits, the end of the text, the text, the length of the clustered key.
    let value = [0, 6, 0, b'o', b'n', b'e', 5, 0];
    change_page(&disk, "/data/d.mdf", |page| {
        let found = page.windows(value.len()).position(|bytes| bytes == &value[..]);
        found.inspect(|at| page[at + 6] = 4).is_some()
    });
    let report = open(&disk).check_database("d").unwrap();
    let said = report.consistency.join("\n");
    assert!(
        said.contains("index i has 1 entries for 1 rows, or entries that no row has"),
        "{said}"
    );
}

/// A database of the format before is left alone, and it is said why.
#[test]
fn files_of_earlier_formats_are_refused() {
    let disk = SimDisk::new(85);
    let instance = open(&disk);
    run(
        &instance,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf') LOG ON (NAME = l, FILENAME = 'd.ldf')",
    );
    run(&instance, "USE d CREATE TABLE t (a int) INSERT t VALUES (1)");
    instance.close().unwrap();
    drop(instance);
    let set_format = |disk: &SimDisk, from: u8, to: u8| {
        change_page(disk, "/data/d.mdf", |page| {
            assert!(page[HEADER_SIZE..].starts_with(b"RINGDATA"));
            assert_eq!(page[HEADER_SIZE + 8..][..2], [from, 0]);
            page[HEADER_SIZE + 8] = to;
            true
        });
    };
    let old = disk.crash(1);
    set_format(&old, 3, 2);
    let instance = open(&old);
    let state = "SELECT state_desc FROM sys.databases WHERE name = 'd'";
    assert_eq!(say(&instance, state), "RECOVERY_PENDING");
    assert_eq!(
        say(&instance, "SELECT state_desc FROM sys.databases WHERE name = 'master'"),
        "ONLINE"
    );
    let log = instance.error_log().lines().join("\n");
    assert!(
        log.contains("Error 946")
            && log.contains("has format 2, which an earlier version has made"),
        "{log}"
    );
    let said = say(&instance, "ALTER DATABASE d SET ONLINE");
    assert!(said.contains("Msg 946:") && said.contains("'d' version 2"), "{said}");
    instance.close().unwrap();
    drop(instance);
    // One of a later version.
    set_format(&old, 2, 4);
    let instance = open(&old);
    assert_eq!(say(&instance, state), "RECOVERY_PENDING");
    let said = say(&instance, "ALTER DATABASE d SET ONLINE");
    assert!(
        said.contains("Msg 948:") && said.contains("has format 4, which a later version has made"),
        "{said}"
    );
    instance.close().unwrap();
    drop(instance);
    set_format(&old, 4, 3);
    let instance = open(&old);
    assert_eq!(say(&instance, state), "ONLINE");
    assert_eq!(say(&instance, "SELECT a FROM d..t"), "1");
    run(&instance, "EXEC sp_detach_db 'd'");
    let attach = "CREATE DATABASE e ON (FILENAME = 'd.mdf'), (FILENAME = 'd.ldf') FOR ATTACH";
    for (format, number) in [(2, 946), (4, 948)] {
        set_format(&old, 3, format);
        let said = fails(&instance, attach, &[number, 1813]);
        assert!(
            said.contains("'e' ") && said.contains(&format!("has format {format}, ")),
            "{said}"
        );
        set_format(&old, format, 3);
    }
    run(&instance, attach);
    assert_eq!(say(&instance, "SELECT a FROM e..t"), "1");
}

/// An instance of another version: neither a start nor a repair changes its folder, with which
/// nothing is wrong.
#[test]
fn instances_of_other_versions_are_left_alone() {
    let disk = SimDisk::new(86);
    let instance = open(&disk);
    run(&instance, "CREATE LOGIN ann WITH PASSWORD = 'Qp5!vvzk40'");
    instance.close().unwrap();
    drop(instance);
    let disk = disk.crash(1);
    let files = ["/data/master.mdf", "/data/model.mdf", "/data/msdb.mdf"];
    let set_format = |from: u8, to: u8| {
        for path in files {
            change_page(&disk, path, |page| {
                assert_eq!(page[HEADER_SIZE + 8..][..2], [from, 0], "{path}");
                page[HEADER_SIZE + 8] = to;
                true
            });
        }
    };
    let content = || {
        files.map(|path| {
            let file = disk.open(Path::new(path), OpenMode::Read).unwrap();
            let mut bytes = AlignedBuf::new(file.len().unwrap() as usize);
            file.read_at(0, &mut bytes).unwrap();
            file.release();
            bytes.to_vec()
        })
    };
    let list = || disk.read_small(Path::new("/data/databases.registry")).unwrap();
    let has_tempdb = || disk.exists(Path::new("/data/tempdb.mdf")).unwrap();
    let options = || text::options(&disk, 16 << 20);
    for (format, maker) in [(2, "an earlier version"), (4, "a later version")] {
        set_format(3, format);
        let before = (content(), list(), has_tempdb());
        let told = format!("has format {format}, which {maker} has made");
        let Err(error) = Instance::open(options()) else { panic!("master cannot be used") };
        assert!(error.to_string().contains(&told), "{error}");
        let error = repair::examine(&options()).expect_err("it is another version's");
        assert!(error.to_string().contains(&told), "{error}");
        let error = repair::repair(&options(), &mut |_| {}).expect_err("it is another version's");
        assert!(error.to_string().contains(&told), "{error}");
        assert!((content(), list(), has_tempdb()) == before, "a file has changed");
        set_format(format, 3);
    }
    let instance = open(&disk);
    assert_eq!(say(&instance, "SELECT name FROM sys.server_principals WHERE name = 'ann'"), "ann");
}
