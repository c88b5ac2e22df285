//! Bulk loads: BULK INSERT of files in any encoding, and typed rows from the embedding program.

use crate::support::text::Bench;
use engine::{BulkOptions, ColumnBatches};
use engine::{SqlError, Value};
use std::path::PathBuf;

/// A folder with a file, and the file's path as T-SQL has it.
fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.txt");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// What BULK INSERT of a file into `t` says, and what is in `t` then.
fn load(b: &mut Bench, bytes: &[u8], options: &str) -> String {
    let (_folder, path) = file(bytes);
    b.run("truncate table t");
    let with = if options.is_empty() { String::new() } else { format!("with ({options})") };
    let said = b.run(&format!("bulk insert t from '{}' {with}", path.display()));
    said + &b.run("select * from t order by 1")
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn byte_order_marks_are_not_text() {
    let b = &mut Bench::new();
    b.check("create table t (a int, b nvarchar(20))", "");
    let text = "1\tZürich\n2\tλ\n";
    let expected = "(2)\n1|Zürich\n2|λ\n";
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for options in ["", "codepage = '65001'", "codepage = '1252'", "datafiletype = 'widechar'"] {
        assert_eq!(load(b, &marked, options), expected, "{options}");
    }
    let little = [b"\xff\xfe".to_vec(), utf16(text)].concat();
    let big: Vec<u8> = little.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    for options in ["", "datafiletype = 'widechar'", "codepage = 'acp'"] {
        assert_eq!(load(b, &little, options), expected, "{options}");
        assert_eq!(load(b, &big, options), expected, "{options}");
    }
    assert_eq!(load(b, &utf16(text), "datafiletype = 'widechar'"), expected);
    // The first row of an int column, and of a text column.
    b.check("create table u (b varchar(20))", "");
    let (_folder, path) = file(b"\xef\xbb\xbfa\n");
    b.check(
        &format!("bulk insert u from '{}' select b, len(b) from u", path.display()),
        "(1)\na|1",
    );
}

#[test]
fn bytes_are_written_in_hexadecimal_digits() {
    let b = &mut Bench::new();
    b.check("create table t (id int, b varbinary(4), f binary(3), h hierarchyid)", "");
    let text = b"1\t47494638\t0x01\t58\n2\t0X4749\t0A0b0C\t/1/2/\n3\t\t0x\t\n";
    let rows = "1|0x47494638|0x010000|0x58\n2|0x4749|0x0A0B0C|0x5B40\n3|NULL|0x000000|NULL\n";
    assert_eq!(load(b, text, ""), format!("(3)\n{rows}"));
    b.check("select h.ToString() from t where id < 3 order by id", "/1/\n/1/2/");
    let said = load(
        b,
        b"1\t4\t01\t58\n2\tx0\t01\t58\n3\t0x0102030405\t01\t58\n4\t00\t0\tFF\n5\t00\t01\t\n",
        "",
    );
    let found: Vec<&str> = said.lines().map(|line| line.get(..8).unwrap_or(line)).collect();
    assert_eq!(
        found,
        ["Msg 4864", "Msg 4864", "Msg 4863", "Msg 4864", "(1)", "5|0x00|0"],
        "{said}"
    );
}

#[test]
fn code_pages_are_honoured() {
    let b = &mut Bench::new();
    b.check("create table t (a int, b nvarchar(20), c varchar(20))", "");
    for (page, bytes, expected) in [
        ("acp", &b"1|Z\xfcrich|\x80\n"[..], "(1)\n1|Zürich|€\n"),
        ("1252", b"1|Z\xfcrich|\x80\n", "(1)\n1|Zürich|€\n"),
        ("raw", b"1|Z\xfcrich|\x80\n", "(1)\n1|Zürich|€\n"),
        ("oem", b"1|Z\x81rich|\x81\n", "(1)\n1|Zürich|ü\n"),
        ("850", b"1|Z\x81rich|\xb5\n", "(1)\n1|Zürich|Á\n"),
        ("65001", "1|Zürich|€\n".as_bytes(), "(1)\n1|Zürich|€\n"),
        ("1251", b"1|\xc0\xe1|x\n", "(1)\n1|Аб|x\n"),
        ("932", b"1|\x93\xfa\x96{|x\n", "(1)\n1|日本|x\n"),
    ] {
        let options = format!("codepage = '{page}', fieldterminator = '|'");
        assert_eq!(load(b, bytes, &options), expected, "{page}");
    }
    // A terminator beyond ASCII is of the file's encoding, in hexadecimal digits too.
    for terminator in ["§", "0xa7"] {
        let options = format!("codepage = 'acp', fieldterminator = '{terminator}'");
        assert_eq!(load(b, b"1\xa7a\xa7b\n", &options), "(1)\n1|a|b\n", "{terminator}");
    }
    let said = load(b, b"1|a|b\n", "codepage = '4711', fieldterminator = '|'");
    assert!(
        said.starts_with("Msg 4868: The bulk load failed. The codepage \"4711\" is not installed."),
        "{said}"
    );
}

#[test]
fn rows_of_a_file_come_in_the_order_that_is_told() {
    let b = &mut Bench::new();
    b.check("create table t (a int primary key)", "");
    assert_eq!(load(b, b"1\n2\n3\n", "order (a)"), "(3)\n1\n2\n3\n");
    let said = load(b, b"1\n3\n2\n", "order (a asc)");
    assert!(said.starts_with("Msg 4819: Cannot bulk load."), "{said}");
    assert!(
        said.contains("primary key of first row: (3), primary key of second row: (2)."),
        "{said}"
    );
    // It is not the order of the table.
    assert_eq!(load(b, b"1\n3\n2\n", "order (a desc)"), "(3)\n1\n2\n3\n");
    assert!(load(b, b"1\n", "order (z)").starts_with("Msg 207"));
    // An empty field is the default, 5, unless NULL is kept; in batches too.
    b.check("drop table t", "");
    b.check("create table t (a int default 5, b int)", "");
    b.check("create clustered index k on t (a)", "");
    let fields = "fieldterminator = ',', order (a), batchsize = 1";
    assert_eq!(load(b, b"1,0\n,0\n9,0\n", fields), "(3)\n1|0\n5|0\n9|0\n");
    let said = load(b, b"1,0\n,0\n9,0\n", &format!("keepnulls, {fields}"));
    assert!(
        said.contains("primary key of first row: (1), primary key of second row: (NULL)."),
        "{said}"
    );
    let said = load(b, b"1,0\n,0\n3,0\n", fields);
    assert!(said.starts_with("Msg 4819: Cannot bulk load."), "{said}");
}

#[test]
fn a_wrong_encoding_is_an_error_with_row_and_column() {
    let b = &mut Bench::new();
    b.check("create table t (a int, b varchar(20), c nvarchar(20))", "");
    let message = |row: u32, column: &str| {
        format!(
            "Msg 4864: Bulk load data conversion error (type mismatch or invalid character for the specified codepage) \
             for row {row}, column {column}.\n"
        )
    };
    for (bytes, options, expected) in [
        // Latin-1 where UTF-8 is expected.
        (&b"1\ta\tb\n2\tZ\xfcrich\tb\n3\tc\td\n"[..], "", message(2, "2 (b)")),
        (b"1\ta\tb\n2\ta\t\xfc\n3\tc\td\n", "", message(2, "3 (c)")),
        // A character that the column's code page does not have.
        ("1\ta\tλ\n2\tλ\tb\n3\tc\td\n".as_bytes(), "", message(2, "2 (b)")),
        (b"1\ta\tb\n2\t\x81\tb\n3\tc\td\n", "codepage = '932'", message(2, "2 (b)")),
    ] {
        let said = load(b, bytes, options);
        assert!(said.starts_with(&expected), "{said}");
        assert!(
            said.contains("(2)\n1|a|") && said.ends_with("3|c|d\n") && !said.contains('?'),
            "{said}"
        );
        let said = load(
            b,
            bytes,
            &[options, "maxerrors = 0"]
                .iter()
                .filter(|o| !o.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(","),
        );
        assert_eq!(
            said,
            format!(
                "{expected}Msg 4865: Cannot bulk load because the maximum number of errors (0) was exceeded.\n"
            )
        );
    }
    // A lone surrogate.
    let mut bytes = utf16("1\ta\tb\n2\ta\t");
    bytes.extend([0x00, 0xd8]);
    bytes.extend(utf16("\n"));
    let said = load(b, &bytes, "datafiletype = 'widechar'");
    assert!(said.starts_with(&message(2, "3 (c)")), "{said}");
}

#[test]
fn options_are_checked() {
    let b = &mut Bench::new();
    b.check("create table t (a int, b varchar(20) default 'dflt')", "");
    let bytes = b"1,x\n2,\n3,\"\"\n";
    assert_eq!(load(b, bytes, "format = 'csv'"), "(3)\n1|x\n2|dflt\n3|\n");
    assert_eq!(
        load(
            b,
            bytes,
            "format = 'csv', keepnulls, tablock, batchsize = 2, rows_per_batch = 9, order (a asc)"
        ),
        "(3)\n1|x\n2|NULL\n3|\n"
    );
    assert_eq!(load(b, bytes, "format = 'csv', firstrow = 2, lastrow = 2"), "(1)\n2|dflt\n");
    for (options, number) in [
        ("fieldterminatr = ','", 155),
        ("firstrow = 'x'", 102),
        ("format = 'xls'", 102),
        ("format = 'parquet'", 40510),
        ("datafiletype = 'narrow'", 102),
        ("datafiletype = 'native'", 40510),
        ("errorfile = 'x'", 40510),
        ("formatfile = 'x'", 40510),
        ("fieldquote = 'xx'", 102),
        ("tablock = 5", 102),
        ("check_constraints, fire_triggers", 0),
    ] {
        let said = load(b, b"1\ta\n", options);
        let expected =
            if number == 0 { "(1)\n1|a\n".to_string() } else { format!("Msg {number}: ") };
        assert!(said.starts_with(&expected), "{options}: {said}");
        assert!(number == 0 || !said.contains("1|a"), "{options}: {said}");
    }
}

#[test]
fn batches_commit_and_a_failed_load_leaves_nothing() {
    let b = &mut Bench::new();
    b.check("create table t (a int primary key, b varchar(3))", "");
    let rows: String = (0..5000).map(|i| format!("{i}\tx\n")).chain(["7\ty\n".into()]).collect();
    let said = load(b, rows.as_bytes(), "");
    assert!(said.starts_with("Msg 2627: ") && said.lines().count() == 1, "{said}");
    let said = load(b, rows.as_bytes(), "batchsize = 1000");
    assert!(
        said.starts_with("Msg 2627: ") && said.lines().count() == 5001,
        "{}",
        said.lines().count()
    );
}

/// Outside of a batch there is no CATCH that a doomed transaction could wait for.
#[test]
fn an_error_of_a_trigger_takes_the_transaction_back() {
    for error in ["raiserror ('no', 16, 1)", "throw 50000, 'no', 1"] {
        let b = &mut Bench::new();
        b.check("create table u (a int); create table t (a int)", "");
        b.check(&format!("create trigger g on t for insert as {error}"), "");
        b.check("begin tran; insert u values (1)", "(1)");
        let mut left = 1;
        let mut rows = |row: &mut [Value]| {
            row[0] = Value::Int(9);
            left -= 1;
            Ok(left >= 0)
        };
        let failed = b.session.bulk_insert("t", &["a"], &BulkOptions::default(), &mut rows);
        assert_eq!(failed.unwrap_err().number, 50000, "{error}");
        b.check("select @@trancount, xact_state(), count(*) from u", "0|0|0");
    }
}

#[test]
fn typed_rows() {
    let b = &mut Bench::new();
    b.check("create schema s", "");
    b.check(
        "create table s.[my t] (id int identity primary key, a int not null, b varchar(5), c decimal(9,2) default 7, d date)",
        "",
    );
    let mut n = 0;
    let mut rows = |row: &mut [Value]| {
        n += 1;
        row[0] = Value::str("x");
        row[1] = Value::BigInt(n);
        Ok(n <= 3000)
    };
    let loaded =
        b.session.bulk_insert("s.[my t]", &["b", "A"], &BulkOptions::default(), &mut rows).unwrap();
    assert_eq!(loaded, 3000);
    b.check(
        "select count(*), sum(a), min(b), sum(c), max(id) from s.[my t]",
        "3000|4501500|x|21000.00|3000",
    );
    // Columns, and values that convert.
    let batches = [2, 3].map(|n| {
        let a = (0..n).map(Value::Int).collect();
        let d = (0..n).map(|i| Value::str(format!("2020-02-0{}", i + 1))).collect();
        Ok(vec![a, d])
    });
    let mut rows = ColumnBatches::new(batches.into_iter());
    let options = BulkOptions { batch: 2, ..BulkOptions::default() };
    assert_eq!(b.session.bulk_insert("t.s.[my t]", &["a", "d"], &options, &mut rows).unwrap(), 5);
    b.check(
        "select count(*), min(d), max(d) from s.[my t] where d is not null",
        "5|2020-02-01|2020-02-03",
    );
    b.check("select @@trancount, @@rowcount", "0|1");

    let mut failing = |table: &str, columns: &[&str], values: &[Value]| -> SqlError {
        let mut left = 2;
        let mut rows = |row: &mut [Value]| {
            row.clone_from_slice(values);
            left -= 1;
            Ok(left >= 0)
        };
        b.session.bulk_insert(table, columns, &BulkOptions::default(), &mut rows).unwrap_err()
    };
    assert_eq!(failing("nosuch", &[], &[]).number, 208);
    assert_eq!(failing("s.[my t]; drop table x", &[], &[]).number, 102);
    assert_eq!(failing("s.[my t]", &["nosuch"], &[Value::Null]).number, 207);
    assert_eq!(failing("s.[my t]", &["a"], &[Value::Null]).number, 515);
    assert_eq!(failing("s.[my t]", &["a"], &[Value::str("x")]).number, 245);
    let error = failing("s.[my t]", &["a", "b"], &[Value::Int(1), Value::str("too long")]);
    assert!(error.number == 2628 && error.message.contains("column 'b'"), "{error:?}");
    let error = failing("s.[my t]", &["a", "b"], &[Value::Int(1), Value::str("λ")]);
    assert!(error.number == 4864 && error.message.contains("column 3 (b)"), "{error:?}");
    b.check("select count(*) from s.[my t]", "3005");
    // In a transaction of the session's own.
    b.check("begin tran", "");
    let mut left = 1;
    let mut rows = |row: &mut [Value]| {
        row[0] = Value::Int(9);
        left -= 1;
        Ok(left >= 0)
    };
    b.session.bulk_insert("s.[my t]", &["a"], &options, &mut rows).unwrap();
    b.check("rollback select count(*) from s.[my t]", "3005");
    b.check("set noexec on", "");
    let mut none = |_: &mut [Value]| Ok(false);
    assert_eq!(
        b.session.bulk_insert("s.[my t]", &[], &options, &mut none).unwrap_err().number,
        40510
    );
}
