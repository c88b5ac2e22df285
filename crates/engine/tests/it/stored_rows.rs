//! Rows that go to the client as they are stored: whatever stands between the scan and the client,
//! one that takes stored rows is told what one is told that takes values.

use crate::index_entries_on_disk::change_page;
use crate::support::text::{self, Bench, run, say};
use engine::{ColumnInfo, ResultRows, RowItems, Sink, SqlError, StatementEnd};
use sim::SimDisk;

/// What a client is told, a line for each thing.
#[derive(Default)]
struct Client {
    takes_stored: bool,
    told: Vec<String>,
    /// Rows that came as they are stored.
    stored: usize,
    /// How often rows came.
    calls: usize,
}

impl Sink for Client {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        let names: Vec<String> = columns.iter().map(|c| format!("{} {:?}", c.name, c.ty)).collect();
        self.told.push(format!("columns {}", names.join(", ")));
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        assert!(!rows.is_empty());
        if let RowItems::Cells(_) = rows.items() {
            self.stored += rows.len();
        }
        self.calls += 1;
        rows.each(|row| {
            self.told.push(format!("row {row:?}"));
            Ok(())
        })
    }
    fn takes_stored(&self) -> bool {
        self.takes_stored
    }
    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        self.told.push(format!("done {end:?}"));
        Ok(())
    }
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.told.push(format!("message {}", message.message));
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.told.push(format!("error {} {}", error.number, error.message));
        Ok(())
    }
}

/// What both are told, and how many rows came as they are stored.
#[track_caller]
fn told(b: &mut Bench, sql: &str) -> (Vec<String>, usize) {
    let (mut plain, mut client) =
        (Client::default(), Client { takes_stored: true, ..Client::default() });
    b.session.execute(sql, &mut plain);
    b.session.execute(sql, &mut client);
    assert_eq!(plain.stored, 0);
    assert!(plain.told == client.told, "{sql}: {:#?} and {:#?}", plain.told, client.told);
    (client.told, client.stored)
}

fn bench() -> Bench {
    let mut b = Bench::new();
    for sql in [
        "CREATE TABLE w (id int PRIMARY KEY, n int, t text, v varchar(8000), m varchar(max), c char(10),
                         w nvarchar(4000), nc nchar(10), nt ntext, b varbinary(8000), i image,
                         d decimal(9, 2), at datetime2(3), x xml, r rowversion,
                         k varchar(100) COLLATE Cyrillic_General_CI_AS);
         CREATE INDEX by_n ON w (n);
         INSERT w (id, n, t, v, m, c, w, nc, nt, b, i, d, at, x, k)
         SELECT value, value % 7, REPLICATE('t', value % 30), REPLICATE('v', value * 3 % 200),
                REPLICATE('m', value % 26), 'c', REPLICATE(N'w\u{10D}', value % 14), N'\u{6f22}',
                REPLICATE(N'n', value % 26), CAST(value AS varbinary(8)), 0x00FF, value / 4.0,
                '2026-11-28T10:00:00', '<a>1</a>', REPLICATE(N'\u{414}', value % 26)
         FROM generate_series(1, 200);
         UPDATE w SET t = NULL, v = '', m = NULL, w = NULL, b = NULL, k = NULL WHERE id % 9 = 0;
         UPDATE w SET v = 'caf\u{e9} ' + v, t = 'na\u{ef}ve', w = NCHAR(55357) + N'lone' WHERE id % 13 = 0;
         UPDATE w SET m = REPLICATE(CAST('L' AS varchar(max)), 20000) WHERE id % 50 = 0;
         UPDATE w SET v = REPLICATE('V', 8000), b = CAST(REPLICATE('B', 8000) AS varbinary(8000))
         WHERE id % 60 = 0;
         ALTER TABLE w ADD late varchar(20)",
        "UPDATE w SET late = 'late' WHERE id = 7;
         CREATE TABLE h (id int, v varchar(100)); INSERT h SELECT id, LEFT(v, 100) FROM w;
         CREATE TABLE masked (id int, v varchar(100) MASKED WITH (FUNCTION = 'default()'));
         INSERT masked VALUES (1, 'secret');
         CREATE USER u WITHOUT LOGIN; GRANT SELECT ON masked TO u;
         CREATE TABLE copy (id int, v varchar(8000))",
    ] {
        let said = b.run(sql);
        assert!(!said.contains("Msg "), "{said}");
    }
    b
}

#[test]
fn plain_scans_are_given_as_they_are_stored() {
    let mut b = bench();
    // Those whose values are all in the row.
    let inside = 200 - 4 - 3;
    for (sql, rows) in [
        ("SELECT * FROM w", inside),
        ("SELECT * FROM w WITH (SERIALIZABLE) WHERE id > 0", inside),
        ("SELECT * FROM w WITH (REPEATABLEREAD)", inside),
        ("SELECT * FROM w WITH (READCOMMITTEDLOCK)", inside),
        ("SELECT * FROM w WITH (NOLOCK)", inside),
        ("SELECT * FROM w WITH (TABLOCKX)", inside),
        ("SELECT id, v, k FROM w WHERE id BETWEEN 61 AND 99", 39),
        ("SELECT * FROM h", 200),
        ("SELECT * FROM h WITH (HOLDLOCK)", 200),
        ("SELECT id, v FROM h WHERE id <= 20", 20),
    ] {
        let (lines, stored) = told(&mut b, sql);
        assert_eq!(stored, rows, "{sql}");
        assert!(lines.iter().all(|line| !line.starts_with("error")), "{sql}: {lines:?}");
    }
    // Columns in another order, some, or one twice.
    for sql in [
        "SELECT * FROM h WHERE v LIKE 'v%'",
        "SELECT v, id FROM h WHERE id > 100",
        "SELECT id, v, id FROM h WHERE id > 5",
        "SELECT v FROM h WHERE id > 5",
        "SELECT late, k, id, nt FROM w WHERE d > 2 AND id < 45",
        "SELECT late, k, id, nt FROM w WITH (SERIALIZABLE) WHERE d > 2 AND id BETWEEN 2 AND 45",
    ] {
        let (lines, stored) = told(&mut b, sql);
        let rows = lines.iter().filter(|line| line.starts_with("row ")).count();
        assert!(stored > 0 && stored == rows, "{sql}: {stored} of {rows}");
    }
}

/// What is given twice may take far more room than its row, which is charged where values are
/// copied. Numbers alone are read with less work than their rows are copied.
#[test]
fn texts_that_are_given_twice_and_numbers_alone_are_values() {
    let mut b = bench();
    for (sql, expected) in [
        ("SELECT v, id, v FROM h WHERE id <= 20", 0),
        ("SELECT c, id, c FROM w WHERE id <= 20", 0),
        ("SELECT x, m, x FROM w WHERE id <= 20", 0),
        ("SELECT b, r, r FROM w WHERE id <= 20", 0),
        ("SELECT id, n, d FROM w WHERE id <= 20", 0),
        ("SELECT id, v, id, n FROM w WHERE id <= 20", 20),
        ("SELECT d, n, d, n, v FROM w WHERE id <= 20", 20),
    ] {
        let (lines, stored) = told(&mut b, sql);
        assert_eq!(stored, expected, "{sql}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("row ")).count(), 20, "{sql}");
    }
}

/// A heap and a clustered table: columns of every type, some younger than rows, some gone; rows
/// that have been moved or deleted.
fn with_every_type() -> Bench {
    let mut b = Bench::new();
    for sql in [
        "SET NOCOUNT ON
         CREATE TABLE f (v int NOT NULL, e float, r real, m money, q smallmoney, dt datetime,
                         sd smalldatetime, d2 datetime2(3), d7 datetime2(7), ti time(2), t0 time(0),
                         o datetimeoffset(2), dd date, g uniqueidentifier, x sql_variant, l bigint,
                         y smallint, tt tinyint, bb bit, p decimal(38, 10), gone varchar(50),
                         s varchar(300), twice AS s + s PERSISTED)
         INSERT f (v, e, r, m, q, dt, sd, d2, d7, ti, t0, o, dd, g, x, l, y, tt, bb, p, gone, s)
         SELECT value, value % 50 / 4e0, value % 50 / 8e0, value % 60 / 8.0, value % 60 / 8.0,
                DATEADD(millisecond, value * 10 % 1000, CAST('20200101' AS datetime)),
                DATEADD(minute, value % 90, CAST('20200101' AS smalldatetime)),
                DATEADD(millisecond, value * 10 % 1000, CAST('20200101' AS datetime2(3))),
                DATEADD(millisecond, value * 10 % 1000, CAST('20200101' AS datetime2(7))),
                DATEADD(second, value % 100, CAST('08:00' AS time(2))),
                DATEADD(second, value % 100, CAST('08:00' AS time(0))),
                CAST(CONCAT('2020-01-01 0', value % 9, ':00:00 +0', value % 5, ':00') AS datetimeoffset(2)),
                DATEADD(day, value, CAST('20200101' AS date)),
                CAST(CONVERT(binary(16), value % 70) AS uniqueidentifier),
                IIF(value % 3 = 1, CAST('abc' AS sql_variant), CAST(value % 20 AS sql_variant)),
                CAST(value % 80 AS bigint) * 10000000000, value % 100 - 50, value % 200, value % 2,
                CAST(value / 7.0 AS decimal(38, 10)), 'gone', REPLICATE('s', value % 20)
         FROM GENERATE_SERIES(1, 300)
         UPDATE f SET e = NULL, m = NULL, dt = NULL, o = NULL, g = NULL, y = NULL, bb = NULL, p = NULL
         WHERE v % 11 = 0",
        "ALTER TABLE f ADD was varchar(10) NOT NULL DEFAULT 'old', late int NULL, lb bit NULL,
                           lc char(9) NULL, lh hierarchyid NULL",
        "UPDATE f SET late = v, lb = v % 2, lc = 'late', lh = '/1/', s = REPLICATE('longer', 40)
         WHERE v % 3 = 0",
        "ALTER TABLE f DROP COLUMN gone",
        "DELETE f WHERE v % 17 = 0
         SELECT * INTO k FROM f",
        "ALTER TABLE k ADD CONSTRAINT key_of_k PRIMARY KEY (v)",
        "ALTER TABLE k ADD later smallint NULL",
        "UPDATE k SET later = 7, s = 'shorter' WHERE v % 4 = 0 DELETE k WHERE v % 19 = 0",
    ] {
        assert_eq!(b.run(sql), "", "{sql}");
    }
    b
}

/// Whichever way a row is read: from its page, by itself under its lock, as an older version.
#[test]
fn columns_of_every_type_are_told_the_same() {
    let mut b = with_every_type();
    for table in ["f", "k"] {
        for hint in
            ["", "WITH (HOLDLOCK)", "WITH (UPDLOCK)", "WITH (READCOMMITTEDLOCK)", "WITH (NOLOCK)"]
        {
            let sql = format!("SELECT * FROM {table} {hint} WHERE v > 0");
            let (lines, stored) = told(&mut b, &sql);
            assert!(stored > 250, "{sql}: {stored}");
            let rows = lines.iter().filter(|line| line.starts_with("row ")).count();
            assert_eq!(stored, rows, "{sql}");
        }
    }
    b.check("ALTER DATABASE t SET ALLOW_SNAPSHOT_ISOLATION ON", "");
    let all = |b: &mut Bench| ["SELECT * FROM f", "SELECT * FROM k"].map(|sql| told(b, sql).0);
    b.check("SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRANSACTION", "");
    let before = all(&mut b);
    for table in ["f", "k"] {
        let changes = format!(
            "USE t UPDATE {table} SET s = 'other', late = 1, y = 2, x = 0x01 WHERE v % 5 = 0
             DELETE {table} WHERE v % 7 = 0"
        );
        let said = say(&b.instance, &changes);
        assert!(!said.contains("Msg "), "{said}");
    }
    assert!(all(&mut b) == before, "the snapshot is that of its moment");
}

/// Conditions, orders, limits, options, and everything that does something to a row on its way.
#[test]
fn who_takes_stored_rows_is_told_the_same() {
    let mut b = bench();
    for sql in [
        "SELECT * FROM w WHERE v LIKE 'v%' AND n <> 3",
        "SELECT * FROM w WHERE n = 3",
        "SELECT * FROM w WITH (INDEX(by_n)) WHERE n = 3",
        "SELECT * FROM w WITH (INDEX(by_n), SERIALIZABLE) WHERE n BETWEEN 2 AND 4",
        "SELECT m, v FROM w WITH (INDEX(1)) WHERE n < 5",
        "SELECT m, v FROM w WITH (INDEX(1), SERIALIZABLE) WHERE n < 5",
        "SELECT * FROM w WHERE id = 60",
        "SELECT * FROM w WHERE id IN (3, 60, 61, 500)",
        "SELECT TOP (5) * FROM w ORDER BY id DESC",
        "SELECT * FROM w ORDER BY id OFFSET 30 ROWS FETCH NEXT 10 ROWS ONLY",
        "SELECT DISTINCT n FROM w ORDER BY n",
        "SELECT n, id FROM w WHERE id < 20",
        "SELECT id, id, UPPER(v) FROM w WHERE id < 20",
        "SELECT id, 60 / (id - 45) FROM w WHERE id BETWEEN 40 AND 50",
        "SELECT * FROM w WHERE id BETWEEN 40 AND 50 AND 60 / (id - 45) <> 1",
        "SELECT id, v FROM h WHERE 60 / (id - 45) <> 1",
        "SET ROWCOUNT 7; SELECT * FROM w; SELECT * FROM h; SET ROWCOUNT 0",
        "SET TEXTSIZE 5; SELECT * FROM w WHERE id < 60; SET TEXTSIZE 9000; SELECT * FROM w; SET TEXTSIZE 2147483647",
        "SET NOCOUNT ON; SELECT * FROM h; SET NOCOUNT OFF",
        "SELECT * FROM h FOR XML RAW",
        "SELECT * FROM h FOR JSON PATH",
        "SELECT * FROM masked; EXECUTE AS USER = 'u'; SELECT * FROM masked; REVERT",
        "DECLARE @v varchar(8000); SELECT @v = v FROM w WHERE id < 30; SELECT @v",
        "TRUNCATE TABLE copy; INSERT copy EXEC ('SELECT id, v FROM w'); SELECT * FROM copy",
        "EXEC ('SELECT id, v FROM h') WITH RESULT SETS ((a bigint, b nvarchar(50)))",
        "DECLARE c CURSOR FOR SELECT id, v FROM h; OPEN c; FETCH c; FETCH c; CLOSE c; DEALLOCATE c",
        "BEGIN TRY SELECT id, v FROM h WHERE 60 / (id - 45) <> 1 END TRY BEGIN CATCH SELECT * FROM h END CATCH",
        "TRUNCATE TABLE copy; INSERT copy SELECT id, v FROM w; SELECT * FROM copy",
        "SELECT * FROM w AS a WHERE EXISTS (SELECT 1 FROM h WHERE h.id = a.id AND a.n = 2)",
    ] {
        let (lines, _) = told(&mut b, sql);
        assert!(lines.iter().any(|line| line.starts_with("row ")), "{sql}: {lines:?}");
    }
}

/// A client that goes away within the rows ends the batch; nothing more is run for it.
#[test]
fn a_client_that_goes_away_ends_the_batch() {
    struct Gone(usize);
    impl Sink for Gone {
        fn takes_stored(&self) -> bool {
            true
        }
        fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
            rows.each(|_| {
                self.0 += 1;
                if self.0 == 3 { Err(SqlError::new(3617, 16, 1, "gone")) } else { Ok(()) }
            })
        }
        fn error(&mut self, _: &SqlError) -> Result<(), SqlError> {
            Ok(())
        }
    }
    let mut b = bench();
    let mut gone = Gone(0);
    b.session.execute("SELECT * FROM h; DELETE h; SELECT * FROM h", &mut gone);
    assert_eq!(gone.0, 3);
    assert_eq!(say(&b.instance, "SELECT COUNT(*) FROM t..h"), "200");
}

/// Rows come together, in values and as they are stored, and what stands between the query and the
/// client keeps them together.
#[test]
fn rows_come_together() {
    let mut b = bench();
    for sql in [
        "SELECT id, v FROM h",
        "SELECT v, id FROM h WHERE id > 0",
        "SELECT id FROM h",
        "SELECT id, UPPER(v) FROM h",
        "SELECT v FROM h ORDER BY v DESC",
        "EXEC ('SELECT id, v FROM h') WITH RESULT SETS ((a bigint, b nvarchar(100)))",
        "EXEC ('SELECT id, v FROM h') WITH RESULT SETS ((id int, v varchar(100)))",
        "SET TEXTSIZE 5; SELECT id, CAST(v AS varchar(max)) FROM h; SET TEXTSIZE 2147483647",
    ] {
        for takes_stored in [false, true] {
            let mut client = Client { takes_stored, ..Client::default() };
            b.session.execute(sql, &mut client);
            let rows = client.told.iter().filter(|line| line.starts_with("row ")).count();
            assert_eq!(rows, 200, "{sql}: {:?}", client.told);
            assert!(client.calls <= 8, "{sql}: {} calls", client.calls);
        }
    }
    // The rows before an error come, whatever stands between.
    for sql in [
        "SELECT id, 60 / (id - 45) FROM h",
        "EXEC ('SELECT id, 60 / (id - 45) FROM h') WITH RESULT SETS ((a bigint, b bigint))",
        "EXEC ('SELECT id, CASE WHEN id = 45 THEN NULL ELSE id END FROM h')
         WITH RESULT SETS ((a bigint, b bigint NOT NULL))",
    ] {
        let mut client = Client::default();
        b.session.execute(sql, &mut client);
        let rows = client.told.iter().filter(|line| line.starts_with("row ")).count();
        assert_eq!(rows, 44, "{sql}: {:?}", client.told);
        let error = client.told.iter().position(|line| line.starts_with("error "));
        assert_eq!(error, Some(45), "{sql}: {:?}", client.told);
    }
    // A limit ends within what comes together.
    let mut client = Client { takes_stored: true, ..Client::default() };
    b.session.execute(
        "SET ROWCOUNT 130; SELECT id, v FROM h; SELECT @@ROWCOUNT; SET ROWCOUNT 0",
        &mut client,
    );
    assert_eq!(client.stored, 130);
    assert!(client.told.contains(&"row [Int(130)]".to_owned()), "{:?}", client.told);
}

/// A row whose bytes are damaged is told of behind the rows before it, also those that go out with
/// it; nothing of it is told.
#[test]
fn rows_before_a_damaged_one_come() {
    let disk = SimDisk::new(85);
    let instance = text::try_open(&disk, 16 << 20).expect("the instance opens");
    run(
        &instance,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf') LOG ON (NAME = l, FILENAME = 'd.ldf')",
    );
    run(
        &instance,
        "USE d CREATE TABLE k (id int PRIMARY KEY, v varchar(20))
         INSERT k SELECT value, CONCAT('row ', value, ' here') FROM GENERATE_SERIES(1, 200)",
    );
    instance.close().unwrap();
    drop(instance);
    let disk = disk.crash(1);
    change_page(&disk, "/data/d.mdf", |page| {
        let text = b"row 150 here";
        let Some(at) = page.windows(text.len()).position(|bytes| bytes == text) else {
            return false;
        };
        // Where the text ends stands before it. The row is not so long.
        page[at - 2..at].copy_from_slice(&0x7FF0_u16.to_le_bytes());
        true
    });
    let instance = text::try_open(&disk, 16 << 20).expect("the instance opens");
    let mut client = Client { takes_stored: true, ..Client::default() };
    instance.session().unwrap().execute("SELECT id, v FROM d..k", &mut client);
    assert_eq!(client.stored, 149, "{:?}", client.told);
    assert!(client.told[149].contains("row 149 here"), "{:?}", client.told);
    assert!(client.told[150].starts_with("error 824 "), "{:?}", client.told);
}
