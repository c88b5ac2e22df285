//! `ringwood export` and `ringwood import`: what goes out comes back, in each format and of every
//! type; nothing is half imported; errors name file, row and column. `RINGWOOD_ROUNDS=n` runs more
//! rounds of random rows.

use crate::support::scratch;
use fastrand::Rng;
use ringwood::{BulkOptions, Database, Decimal, Value};
use std::path::Path;
use std::process::{Command, Output};

/// A folder with an instance in it.
struct InstanceFolder {
    folder: tempfile::TempDir,
}

impl InstanceFolder {
    fn new(batches: &[&str]) -> InstanceFolder {
        let place = InstanceFolder { folder: scratch::folder() };
        place.run(batches);
        place
    }

    fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.file(name), bytes).unwrap();
        self.file(name)
    }

    fn database(&self) -> Database {
        ringwood::Options::new(self.data()).memory(32 << 20).open().unwrap()
    }

    fn run(&self, batches: &[&str]) {
        let db = self.database();
        let mut session = db.session().unwrap();
        for batch in batches {
            session.execute(batch).unwrap_or_else(|e| panic!("{batch}: {e:?}"));
        }
        drop(session);
        db.close().unwrap();
    }

    /// A query's columns with their types, and its rows.
    fn rows(&self, query: &str) -> (Vec<String>, Vec<Vec<Value>>) {
        let db = self.database();
        let set = db.session().unwrap().query(query).unwrap_or_else(|e| panic!("{query}: {e:?}"));
        db.close().unwrap();
        (set.columns.iter().map(|c| format!("{} {}", c.name, c.ty)).collect(), set.rows)
    }

    fn ringwood(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringwood"));
        command.arg(arguments[0]).arg("--data").arg(self.data()).args(["--memory", "32MB"]);
        command.args(&arguments[1..]).output().unwrap()
    }

    #[track_caller]
    fn works(&self, arguments: &[&str]) -> String {
        let output = self.ringwood(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}\n{said}");
        said
    }

    /// Runs a command that fails; what it says.
    #[track_caller]
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.ringwood(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}\n{said}");
        said.trim_end().to_string()
    }
}

/// Every type that a column can have.
const TYPES: [&str; 31] = [
    "bit",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "decimal(38,10)",
    "decimal(5,0)",
    "float",
    "real",
    "money",
    "smallmoney",
    "char(5)",
    "varchar(20)",
    "varchar(max)",
    "nchar(5)",
    "nvarchar(20)",
    "nvarchar(max)",
    "binary(4)",
    "varbinary(8)",
    "varbinary(max)",
    "date",
    "time(0)",
    "time(7)",
    "datetime",
    "smalldatetime",
    "datetime2(0)",
    "datetime2(3)",
    "datetime2(7)",
    "datetimeoffset(0)",
    "datetimeoffset(7)",
    "uniqueidentifier",
];

fn create(table: &str) -> String {
    let columns: Vec<String> =
        TYPES.iter().enumerate().map(|(i, ty)| format!("[c {i}] {ty} null")).collect();
    format!("create table {table} (id int not null primary key, {})", columns.join(", "))
}

/// Text of up to `most` characters, with all that formats trip over.
fn text(rng: &mut Rng, most: usize, unicode: bool) -> String {
    const PLAIN: [char; 16] =
        ['a', 'Z', '0', ' ', ',', '"', '\'', '\n', '\r', '\t', '|', '\\', ';', 'ü', '€', '\u{1}'];
    const WIDE: [char; 6] = ['λ', '日', '𝄞', '\u{feff}', '\u{2028}', 'İ'];
    let (mut out, mut units) = (String::new(), 0);
    for _ in 0..rng.usize(..=most) {
        let c = if unicode && rng.bool() {
            WIDE[rng.usize(..WIDE.len())]
        } else {
            PLAIN[rng.usize(..PLAIN.len())]
        };
        // Counted as it grows: to count all of a long text for each character took seconds.
        if units + c.len_utf16() <= most {
            units += c.len_utf16();
            out.push(c);
        }
    }
    out
}

fn digits(rng: &mut Rng, whole: usize, fraction: usize) -> Value {
    let mut text: String = if rng.bool() { "-".into() } else { String::new() };
    let some = |rng: &mut Rng, n: usize| {
        (0..n).map(|_| char::from(b'0' + rng.u8(..10))).collect::<String>()
    };
    let whole = rng.usize(1..=whole);
    text += &some(rng, whole);
    if fraction > 0 {
        text.push('.');
        text += &some(rng, fraction);
    }
    Value::Decimal(Decimal::parse(&text).unwrap())
}

fn pick<T: Copy>(rng: &mut Rng, extremes: &[T], other: impl FnOnce(&mut Rng) -> T) -> T {
    if rng.u8(..4) == 0 { extremes[rng.usize(..extremes.len())] } else { other(rng) }
}

/// A value for column `i` of [`TYPES`], often an extreme one.
fn value(rng: &mut Rng, ty: &str) -> Value {
    if rng.u8(..6) == 0 {
        return Value::Null;
    }
    let day = |rng: &mut Rng| pick(rng, &[0, 3_652_058, 719_162], |rng| rng.i32(0..=3_652_058));
    let ticks = |rng: &mut Rng, scale: u32| {
        let unit = 10u64.pow(7 - scale);
        pick(rng, &[0, 863_999_999_999], |rng| rng.u64(0..864_000_000_000)) / unit * unit
    };
    let bytes = |rng: &mut Rng, n: usize| (0..n).map(|_| rng.u8(..)).collect::<Vec<u8>>();
    match ty {
        "bit" => Value::Bit(rng.bool()),
        "tinyint" => Value::TinyInt(pick(rng, &[0, 255], |rng| rng.u8(..))),
        "smallint" => Value::SmallInt(pick(rng, &[i16::MIN, i16::MAX], |rng| rng.i16(..))),
        "int" => Value::Int(pick(rng, &[i32::MIN, i32::MAX, 0], |rng| rng.i32(..))),
        "bigint" => Value::BigInt(pick(rng, &[i64::MIN, i64::MAX], |rng| rng.i64(..))),
        "decimal(38,10)" => digits(rng, 28, 10),
        "decimal(5,0)" => digits(rng, 5, 0),
        "float" => {
            let extremes = [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 0.1, 1e23, -0.5, 5e-324];
            let f = pick(rng, &extremes, |rng| f64::from_bits(rng.u64(..)));
            Value::Float(if f.is_finite() { f } else { 1.0 / 3.0 })
        }
        "real" => {
            let f = pick(rng, &[f32::MAX, f32::MIN_POSITIVE, 0.1, 16_777_217.0], |rng| {
                f32::from_bits(rng.u32(..))
            });
            Value::Real(if f.is_finite() { f } else { 0.3 })
        }
        "money" => Value::Money(pick(rng, &[i64::MIN, i64::MAX, 1, -1], |rng| rng.i64(..))),
        "smallmoney" => Value::SmallMoney(pick(rng, &[i32::MIN, i32::MAX], |rng| rng.i32(..))),
        "char(5)" => Value::str(format!("{:5}", text(rng, 5, false))),
        "nchar(5)" => {
            let text = text(rng, 5, true);
            let pad = 5 - text.encode_utf16().count();
            Value::str(format!("{text}{}", " ".repeat(pad)))
        }
        "varchar(20)" => Value::str(text(rng, 20, false)),
        "nvarchar(20)" => Value::str(text(rng, 20, true)),
        "varchar(max)" => {
            let n = pick(rng, &[0, 9000], |rng| rng.usize(..50));
            Value::str(text(rng, n, false))
        }
        "nvarchar(max)" => {
            let n = pick(rng, &[0, 9000], |rng| rng.usize(..50));
            Value::str(text(rng, n, true))
        }
        "binary(4)" => Value::bytes(bytes(rng, 4)),
        "varbinary(8)" => {
            let n = rng.usize(..=8);
            Value::bytes(bytes(rng, n))
        }
        "varbinary(max)" => {
            let n = pick(rng, &[0, 20_000], |rng| rng.usize(..50));
            Value::bytes(bytes(rng, n))
        }
        "date" => Value::Date(day(rng)),
        "time(0)" => Value::Time(ticks(rng, 0)),
        "time(7)" => Value::Time(ticks(rng, 7)),
        "datetime" => Value::DateTime {
            days: pick(rng, &[-53_690, 2_958_463, 0], |rng| rng.i32(-53_690..=2_958_463)),
            ticks: pick(rng, &[0, 25_919_999], |rng| rng.u32(0..25_920_000)),
        },
        "smalldatetime" => Value::SmallDateTime {
            days: pick(rng, &[0, 65_535], |rng| rng.u16(..)),
            minutes: rng.u16(..1440),
        },
        "datetime2(0)" => Value::DateTime2 { days: day(rng), ticks: ticks(rng, 0) },
        "datetime2(3)" => Value::DateTime2 { days: day(rng), ticks: ticks(rng, 3) },
        "datetime2(7)" => Value::DateTime2 { days: day(rng), ticks: ticks(rng, 7) },
        "datetimeoffset(0)" | "datetimeoffset(7)" => Value::DateTimeOffset {
            days: rng.i32(1..3_652_058),
            ticks: ticks(rng, if ty.contains('0') { 0 } else { 7 }),
            offset: pick(rng, &[-840, 840, 0], |rng| rng.i16(-840..=840)),
        },
        "uniqueidentifier" => Value::Guid(std::array::from_fn(|_| rng.u8(..))),
        other => panic!("{other}"),
    }
}

/// An instance with `source`, a table of every type with random rows, and tables for copies of it.
fn with_source(seed: u64, rows: i32) -> InstanceFolder {
    let place = InstanceFolder { folder: scratch::folder() };
    let db = place.database();
    let mut session = db.session().unwrap();
    for table in ["source", "copy_csv", "copy_tsv", "copy_jsonl"] {
        session.execute(&create(table)).unwrap();
    }
    let mut rng = Rng::with_seed(seed);
    let mut id = 0;
    let mut fill = |row: &mut [Value]| {
        id += 1;
        row[0] = Value::Int(id);
        for (place, ty) in row[1..].iter_mut().zip(TYPES) {
            *place = value(&mut rng, ty);
        }
        Ok(id <= rows)
    };
    let options = BulkOptions::default();
    session.bulk_insert("source", &[], &options, &mut fill).unwrap();
    drop(session);
    db.close().unwrap();
    place
}

/// Tables have the columns and rows of `source`.
fn same(place: &InstanceFolder, copies: &[&str], what: &str) {
    let db = place.database();
    let mut session = db.session().unwrap();
    let mut rows = |table: &str| {
        let query = format!("select * from {table} order by id");
        let set = session.query(&query).unwrap_or_else(|e| panic!("{query}: {e:?}"));
        let types = set.columns.iter().map(|c| format!("{} {}", c.name, c.ty));
        (types.collect::<Vec<String>>(), set.rows)
    };
    let (types, expected) = rows("source");
    for copy in copies {
        let (copied_types, copied) = rows(copy);
        assert_eq!(copied_types, types, "{copy}, {what}");
        assert_eq!(copied.len(), expected.len(), "{copy}, {what}");
        for (copied, expected) in copied.iter().zip(&expected) {
            for (i, (copied, expected)) in copied.iter().zip(expected).enumerate() {
                let ty = i.checked_sub(1).map_or("int", |i| TYPES[i]);
                assert!(copied == expected, "{copy}, {what}: {ty}: {copied:?} of {expected:?}");
            }
        }
    }
    drop(session);
    db.close().unwrap();
}

fn rounds() -> u64 {
    std::env::var("RINGWOOD_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

#[test]
fn every_type_comes_back_from_text() {
    for seed in 0..rounds() {
        let place = with_source(seed, 300);
        for extension in ["csv", "tsv", "jsonl"] {
            let file = place.file(&format!("rows.{extension}"));
            let copy = format!("copy_{extension}");
            let said = place.works(&["export", "source", &file]);
            assert!(said.starts_with("Exported 300 rows of source to "), "{said}");
            let said = place.works(&["import", &file, &copy, "--append"]);
            assert!(said.starts_with(&format!("Imported 300 rows into {copy} in ")), "{said}");
        }
        same(&place, &["copy_csv", "copy_tsv", "copy_jsonl"], &format!("seed {seed}"));
    }
}

#[cfg(feature = "parquet")]
#[test]
fn every_type_comes_back_from_parquet_with_its_table() {
    for seed in 0..rounds() {
        let place = with_source(1000 + seed, 1500);
        let file = place.file("rows.parquet");
        place.works(&["export", "source", &file]);
        // The table is made with the types that the file names.
        place.works(&["import", &file, "copy"]);
        same(&place, &["copy"], &format!("parquet, seed {seed}"));
        place.works(&["export", "--query", "select * from copy", &file, "--force"]);
        place.works(&["import", &file, "copy", "--replace", "--batch", "400", "--quiet"]);
        same(&place, &["copy"], &format!("parquet again, seed {seed}"));
    }
}

#[cfg(feature = "parquet")]
#[test]
fn damaged_parquet_files_are_errors() {
    let place = with_source(5, 50);
    let file = place.file("rows.parquet");
    place.works(&["export", "source", &file]);
    let bytes = std::fs::read(&file).unwrap();
    let mut rng = Rng::with_seed(9);
    let bad = place.file("bad.parquet");
    for round in 0..12 * rounds() {
        let mut bytes = bytes.clone();
        match round % 3 {
            0 => bytes.truncate(rng.usize(..bytes.len())),
            1 => drop(bytes.splice(..rng.usize(1..100), [])),
            _ => {
                let at = rng.usize(..bytes.len());
                bytes[at] ^= 1 << rng.u8(..8);
            }
        }
        std::fs::write(&bad, &bytes).unwrap();
        let output = place.ringwood(&["import", &bad, "copy", "--quiet"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{said}");
        match output.status.code() {
            // A flip of a bit may go into a value.
            Some(0) => place.run(&["drop table copy"]),
            Some(1) => assert!(said.contains("bad.parquet: "), "{said}"),
            code => panic!("{code:?}: {said}"),
        }
    }
}

#[test]
fn a_query_with_unnamed_columns() {
    let place = InstanceFolder::new(&[]);
    let file = place.file("q.csv");
    place.works(&[
        "export",
        "--query",
        "select 1, '', null, 'a,b' as x, cast(0x00FF as varbinary(2))",
        &file,
    ]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, "column1,column2,column3,x,column5\n1,\"\",,\"a,b\",0x00FF\n");
    let said = place.fails(&["export", "--query", "select 1", &file]);
    assert!(said.ends_with("q.csv: is there already; --force writes over it"), "{said}");
    place.works(&[
        "export",
        "--query",
        "select 1 as a, 2 as a",
        &file,
        "--force",
        "--format",
        "jsonl",
        "--quiet",
    ]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"a\":1,\"a_2\":2}\n");
    let output = place.ringwood(&[
        "export",
        "--query",
        "select 'x' as a",
        "-",
        "--format",
        "tsv",
        "--no-header",
    ]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "x\n");

    // Nothing half exported is left.
    let other = place.file("other.csv");
    let said = place.fails(&["export", "--query", "select 1 union all select 1 / 0", &other]);
    assert!(said.starts_with("Msg 8134, "), "{said}");
    assert!(place.fails(&["export", "nosuch", &other]).starts_with("Msg 208, "));
    assert_eq!(
        place.fails(&["export", "--query", "print 'x'", &other]),
        "x\nthe query gives no result set"
    );
    let said = place.fails(&["export", "--query", "select 1 select 2", &other]);
    assert!(said.ends_with("other.csv: the query gives more than one result set"), "{said}");
    assert!(
        place
            .fails(&["export", "t", &place.file("x.xls")])
            .contains("give --format csv, tsv, jsonl or parquet")
    );
    let mut left: Vec<_> =
        std::fs::read_dir(place.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["data", "q.csv"]);
}

#[test]
fn no_instance_is_made_and_the_folder_is_named() {
    let place = InstanceFolder { folder: scratch::folder() };
    let (file, out) = (place.write("t.csv", "a\n1\n"), place.file("out.csv"));
    let folder = place.data().display().to_string();
    for arguments in [["export", "t", out.as_str()], ["import", file.as_str(), "t"]] {
        let said = place.fails(&arguments);
        assert!(said.contains(&folder), "{said}");
        assert!(!place.data().exists(), "{arguments:?}");
    }
    place.run(&[]);
    for arguments in [["export", "-d", "Sales", "t", &out], ["import", "-d", "Sales", &file, "t"]] {
        let said = place.fails(&arguments);
        assert!(said.contains("'Sales'") && said.contains(&folder), "{said}");
    }
}

#[test]
fn types_are_inferred() {
    let place = InstanceFolder::new(&[]);
    let file = place.write(
        "people.csv",
        "id,name,born,height,code,id2,note,gone\r\n\
         1,\"Zoë, \"\"Z\"\"\",1990-02-28,1.75,007,3000000000,\"\",\r\n\
         2,Ann,2000-12-31,2,042,1,\"two\nlines\",\r\n",
    );
    place.works(&["import", &file, "people"]);
    let (types, rows) = place.rows("select * from people order by id");
    let expected = [
        "id int",
        "name nvarchar(8)",
        "born date",
        "height decimal(3,2)",
        "code nvarchar(3)",
        "id2 bigint",
        "note nvarchar(9)",
        "gone nvarchar(50)",
    ];
    assert_eq!(types, expected);
    assert_eq!(rows[0][1], Value::str("Zoë, \"Z\""));
    assert_eq!(
        (&rows[0][6], &rows[0][7], &rows[1][6]),
        (&Value::str(""), &Value::Null, &Value::str("two\nlines"))
    );
    // A header is not needed, and a table can be named with its schema.
    let bare = place.write("bare.tsv", "1\tx\n2\ty\n");
    place.works(&["import", &bare, "dbo.[b c]", "--no-header", "--create"]);
    let (types, rows) = place.rows("select * from [b c]");
    assert_eq!(
        (types, rows.len()),
        (vec!["column1 int".to_string(), "column2 nvarchar(1)".into()], 2)
    );
    let lines = place.write(
        "l.jsonl",
        "{\"a\":1,\"b\":\"2024-01-02T03:04:05.5Z\",\"c\":true}\n{\"a\":1.5,\"b\":null}\n",
    );
    place.works(&["import", &lines, "l"]);
    let (types, _) = place.rows("select * from l");
    assert_eq!(types, ["a float", "b datetimeoffset(1)", "c bit"]);
}

#[test]
fn nothing_is_half_imported() {
    let place =
        InstanceFolder::new(&["create table t (id int primary key, v varchar(5) default 'd')"]);
    let ten_thousand: String = (1..=10_000).map(|i| format!("{i},x\n")).collect();
    let bad = place.write("bad.csv", format!("id,v\n{ten_thousand}x1,y\n"));
    let said = place.fails(&["import", &bad, "t", "--append"]);
    assert!(
        said.ends_with("bad.csv: row 10001 (line 10002), column 1 (id): 'x1' is no int"),
        "{said}"
    );
    let count = |expected: i32| {
        assert_eq!(place.rows("select count(*) from t").1, [[Value::Int(expected)]]);
    };
    count(0);
    // The table that it was to make is not there either: here the id is text, and the key that a
    // later row repeats.
    let said = place.fails(&["import", &bad, "t"]);
    assert_eq!(said, "the table t is there; give --append or --replace");
    place.fails(&["import", &bad, "t", "--create"]);
    assert_eq!(place.fails(&["import", &bad, "u", "--append"]), "there is no table u");
    // In batches what was committed stays.
    let said = place.fails(&["import", &bad, "t", "--append", "--batch", "4000"]);
    assert!(said.contains("row 10001"), "{said}");
    count(8000);
    let twice = place.write("twice.csv", "id,v\n9001,x\n9001,y\n");
    let said = place.fails(&["import", &twice, "t", "--append"]);
    assert!(said.contains("twice.csv: at row 2 (line 3) or before: Msg 2627: "), "{said}");
    count(8000);
    // --replace that fails leaves the rows that were there.
    place.fails(&["import", &bad, "t", "--replace"]);
    count(8000);
    let good = place.write("good.csv", "V,ID\n,1\n\"\",2\nz,3\n");
    place.works(&["import", &good, "t", "--replace"]);
    let (_, rows) = place.rows("select v from t order by id");
    assert_eq!(rows, [[Value::Null], [Value::str("")], [Value::str("z")]]);
    // A table that is made for rows that cannot be loaded goes with them.
    let lines = place.write("x.jsonl", "{\"a\":1}\n{\"a\":2,\"b\":3}\n");
    let said = place.fails(&["import", &lines, "fresh"]);
    assert!(said.ends_with("x.jsonl: row 2 (line 2): the first object has no key 'b'"), "{said}");
    assert_eq!(
        place.rows("select count(*) from sys.tables where name = 'fresh'").1,
        [[Value::Int(0)]]
    );
}

#[test]
fn errors_name_file_row_and_column() {
    let place = InstanceFolder::new(&[
        "create table t (a int, b varchar(3), c date, d varbinary(2), e uniqueidentifier)",
    ]);
    for (row, expected) in [
        ("1.5,,,,", "column 1 (a): '1.5' is no int"),
        ("\"\",,,,", "column 1 (a): '' is no int"),
        ("1,abcd,,,", "column 2 (b): a text of 4 characters does not fit into varchar(3)"),
        ("1,λ,,,", "column 2 (b): 'λ' has characters that varchar does not (code page 1252)"),
        ("1,,2024-02-30,,", "column 3 (c): '2024-02-30' is no date"),
        ("1,,,AB,", "column 4 (d): 'AB' is no varbinary"),
        ("1,,,0xA,", "column 4 (d): '0xA' is no varbinary"),
        ("1,,,,6F9619FF", "column 5 (e): '6F9619FF' is no uniqueidentifier"),
    ] {
        let file = place.write("t.csv", format!("a,b,c,d,e\n1,x,,,\n{row}\n"));
        let said = place.fails(&["import", &file, "t", "--append"]);
        assert!(said.ends_with(&format!("t.csv: row 2 (line 3), {expected}")), "{said}");
    }
    for (text, expected) in [
        ("a,b,x\n1,2,3\n", "the table has no column 'x'"),
        ("a,b,A\n1,2,3\n", "column 'A' comes twice"),
        ("a,b\n1\n", "row 1 (line 2): 1 field where 2 are expected"),
        ("a,b\n1,\"x\n", "line 2, column 2: the quote is not closed"),
    ] {
        let file = place.write("t.csv", text);
        let said = place.fails(&["import", &file, "t", "--append"]);
        assert!(said.ends_with(&format!("t.csv: {expected}")), "{said}");
    }
    // Encodings: a wrong one is an error, a right one and a mark are honoured.
    let latin = place.write("latin.csv", b"a,b\n1,Z\xfc\n");
    let said = place.fails(&["import", &latin, "t", "--append"]);
    assert!(
        said.contains("latin.csv: line 2, column 2: bytes that are no text in the file's encoding"),
        "{said}"
    );
    place.works(&["import", &latin, "t", "--append", "-f", "1252"]);
    let utf16: Vec<u8> = "\u{feff}a,b\n2,Zü\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16 = place.write("utf16.csv", utf16);
    place.works(&["import", &utf16, "t", "--append"]);
    let marked = place.write("marked.csv", "\u{feff}a,b\n3,Zü\n");
    place.works(&["import", &marked, "t", "--append", "-f", "437"]);
    let (_, rows) = place.rows("select a, b from t order by a");
    assert_eq!(rows, [1, 2, 3].map(|a| [Value::Int(a), Value::str("Zü")]));
    assert!(place.fails(&["import", "nosuch.csv", "t"]).starts_with("nosuch.csv: "));
    assert!(!Path::new("nosuch.csv").exists());
}

#[test]
fn identity_values_are_kept_when_the_file_has_them() {
    let place = InstanceFolder::new(&["create table t (id int identity primary key, v int)"]);
    let with = place.write("with.csv", "id,v\n7,1\n");
    place.works(&["import", &with, "t", "--append"]);
    let without = place.write("without.csv", "v\n2\n");
    place.works(&["import", &without, "t", "--append"]);
    let (_, rows) = place.rows("select id, v from t order by id");
    assert_eq!(rows, [[Value::Int(7), Value::Int(1)], [Value::Int(8), Value::Int(2)]]);
}
