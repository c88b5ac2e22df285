//! Random statements for the binder and the evaluator: expressions over a schema with every type,
//! nested, with odd values, most of them wrong somewhere. What they may do is anything but panic,
//! hang or take more memory than they are given.
#![allow(dead_code)] // the test and the example use their parts

use engine::{Instance, InstanceOptions, Session, Sink, SqlError};
use sim::SimDisk;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time that a statement may take.
const LIMIT: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
CREATE TABLE a (i int NOT NULL PRIMARY KEY, b bigint NULL, s smallint NULL, t tinyint NULL, f float NULL, r real NULL,
  d decimal(20, 5) NULL, m money NULL, bt bit NULL, v varchar(30) NULL, n nvarchar(30) NULL, c char(5) NULL, x varbinary(20) NULL,
  vm varchar(max) NULL, xm varbinary(max) NULL, dt datetime NULL, d2 datetime2 NULL, da date NULL, ti time NULL,
  dto datetimeoffset NULL, sd smalldatetime NULL, u uniqueidentifier NULL)
CREATE TABLE b (i int NULL, v varchar(30) NULL, d date NULL, m decimal(9, 2) NULL)
CREATE INDEX b_i ON b (i) INCLUDE (v)
CREATE INDEX a_v ON a (v)
INSERT a VALUES (1, 9223372036854775807, -32768, 255, 1.7e308, 1e-30, 99999.99999, 1.5, 1, 'one', N'eins', 'a', 0x01, 'long', 0x0203,
  '2024-02-29 23:59:59.997', '9999-12-31 23:59:59.9999999', '0001-01-01', '23:59:59.9999999', '2024-01-01 00:00 +14:00', '2079-06-06',
  '00000000-0000-0000-0000-000000000000')
INSERT a (i) VALUES (2), (3)
INSERT a (i, b, v, n, d, da, dt) VALUES (-2147483648, 0, '', N'%_[', -0.5, '2000-01-01', '1753-01-01'), (2147483647, -1, 'ONE', N'x', 0, '2024-12-31', 0)
INSERT b VALUES (1, 'one', '2024-01-01', 1.5), (2, NULL, NULL, NULL), (NULL, 'x', '1999-12-31', -99.99), (1, 'two', NULL, 0)";

const COLUMNS: &[&str] = &[
    "i", "b", "s", "t", "f", "r", "d", "m", "bt", "v", "n", "c", "x", "vm", "xm", "dt", "d2", "da",
    "ti", "dto", "sd", "u",
];
const TYPES: &[&str] = &[
    "int",
    "bigint",
    "smallint",
    "tinyint",
    "bit",
    "float",
    "real",
    "decimal(38, 10)",
    "decimal(5, 2)",
    "decimal(38, 38)",
    "money",
    "smallmoney",
    "varchar(10)",
    "varchar(max)",
    "nvarchar(5)",
    "char(3)",
    "nchar(4)",
    "varbinary(8)",
    "binary(4)",
    "date",
    "time(3)",
    "datetime",
    "datetime2(0)",
    "datetimeoffset(4)",
    "smalldatetime",
    "uniqueidentifier",
    "sql_variant",
    "sysname",
];
const VALUES: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1",
    "2147483647",
    "-2147483648",
    "9223372036854775807",
    "99999999999999999999999999999999999999",
    "0.1",
    "-0.00001",
    "1e308",
    "1e-308",
    "0x",
    "0xFF00",
    "''",
    "'a'",
    "N'\u{1F600}'",
    "'2024-02-29'",
    "'23:59'",
    "'%'",
    "'[a-'",
    "' 12 '",
    "$1.23",
    "GETDATE()",
    "CAST('' AS xml)",
    "@@ROWCOUNT",
    "{d '2024-01-01'}",
    "'{\"a\":[1,{\"b\":null}]}'",
    "'$.a[0]'",
    "'yyyy-MM-dd'",
    "'en-US'",
    "'UTC'",
    "-9.9",
];
const FUNCTIONS: &[(&str, usize)] = &[
    ("ABS", 1),
    ("ACOS", 1),
    ("ASCII", 1),
    ("ATN2", 2),
    ("CEILING", 1),
    ("CHAR", 1),
    ("CHARINDEX", 3),
    ("CHECKSUM", 2),
    ("CHOOSE", 3),
    ("COALESCE", 2),
    ("CONCAT", 3),
    ("CONCAT_WS", 3),
    ("COMPRESS", 1),
    ("DATALENGTH", 1),
    ("DATEFROMPARTS", 3),
    ("DATETIME2FROMPARTS", 8),
    ("DAY", 1),
    ("DECOMPRESS", 1),
    ("DIFFERENCE", 2),
    ("EOMONTH", 2),
    ("EXP", 1),
    ("FLOOR", 1),
    ("FORMAT", 3),
    ("GREATEST", 3),
    ("HASHBYTES", 2),
    ("ISDATE", 1),
    ("ISJSON", 1),
    ("ISNULL", 2),
    ("ISNUMERIC", 1),
    ("JSON_MODIFY", 3),
    ("JSON_QUERY", 2),
    ("JSON_VALUE", 2),
    ("LEAST", 2),
    ("LEFT", 2),
    ("LEN", 1),
    ("LOG", 2),
    ("LOWER", 1),
    ("LTRIM", 1),
    ("NCHAR", 1),
    ("NULLIF", 2),
    ("OBJECT_ID", 1),
    ("PARSENAME", 2),
    ("PATINDEX", 2),
    ("POWER", 2),
    ("QUOTENAME", 2),
    ("RAND", 1),
    ("REPLACE", 3),
    ("REPLICATE", 2),
    ("REVERSE", 1),
    ("RIGHT", 2),
    ("ROUND", 3),
    ("SIGN", 1),
    ("SOUNDEX", 1),
    ("SPACE", 1),
    ("SQRT", 1),
    ("SQUARE", 1),
    ("STR", 3),
    ("STRING_ESCAPE", 2),
    ("STUFF", 4),
    ("SUBSTRING", 3),
    ("SWITCHOFFSET", 2),
    ("TIMEFROMPARTS", 5),
    ("TODATETIMEOFFSET", 2),
    ("TRANSLATE", 3),
    ("TRIM", 1),
    ("TYPE_NAME", 1),
    ("UNICODE", 1),
    ("UPPER", 1),
    ("YEAR", 1),
    ("BIT_COUNT", 1),
    ("GET_BIT", 2),
    ("LEFT_SHIFT", 2),
    ("SQL_VARIANT_PROPERTY", 2),
    ("FORMATMESSAGE", 2),
    ("DATEDIFF_BIG", 0),
    ("SUM", 1),
    ("MIN", 1),
    ("COUNT", 1),
    ("AVG", 1),
    ("STRING_AGG", 2),
];
const PARTS: &[&str] = &[
    "year",
    "quarter",
    "month",
    "dayofyear",
    "day",
    "week",
    "weekday",
    "hour",
    "minute",
    "second",
    "millisecond",
    "nanosecond",
    "iso_week",
    "tz",
];

/// Random numbers: xorshift, so that a seed says everything.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

fn expression(r: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return match r.below(3) {
            0 => r.of(COLUMNS).into(),
            1 => r.of(VALUES).into(),
            _ => format!("CAST({} AS {})", r.of(VALUES), r.of(TYPES)),
        };
    }
    let e = |r: &mut Random| expression(r, depth - 1);
    match r.below(13) {
        0 | 1 => {
            format!("({} {} {})", e(r), r.of(&["+", "-", "*", "/", "%", "&", "|", "^", "||"]), e(r))
        }
        2 => format!("{}({})", r.of(&["-", "~", "+"]), e(r)),
        3 => format!("CAST({} AS {})", e(r), r.of(TYPES)),
        4 => {
            let style = r.of(&["0", "1", "2", "101", "112", "120", "126", "130", "-5", "NULL"]);
            format!("TRY_CONVERT({}, {}, {style})", r.of(TYPES), e(r))
        }
        5 => format!("CASE WHEN {} THEN {} ELSE {} END", condition(r, depth - 1), e(r), e(r)),
        6 => match r.below(4) {
            0 => format!("DATEADD({}, {}, {})", r.of(PARTS), e(r), e(r)),
            1 => format!("DATEDIFF({}, {}, {})", r.of(PARTS), e(r), e(r)),
            2 => format!("DATEPART({}, {})", r.of(PARTS), e(r)),
            _ => format!("DATETRUNC({}, {})", r.of(PARTS), e(r)),
        },
        7 => format!("(SELECT {} FROM b WHERE {})", e(r), condition(r, depth - 1)),
        8 => {
            format!(
                "{} COLLATE {}",
                e(r),
                r.of(&["Latin1_General_BIN2", "Latin1_General_CS_AS", "Nowhere"])
            )
        }
        9 => {
            let window = r.of(&[
                "ROW_NUMBER()",
                "LAG(i, 1)",
                "SUM(i)",
                "NTILE(3)",
                "FIRST_VALUE(v)",
                "PERCENT_RANK()",
            ]);
            format!("{window} OVER (PARTITION BY {} ORDER BY {})", e(r), e(r))
        }
        _ => {
            let (name, count) = FUNCTIONS[r.below(FUNCTIONS.len())];
            let args: Vec<String> = (0..count).map(|_| e(r)).collect();
            format!("{name}({})", args.join(", "))
        }
    }
}

fn condition(r: &mut Random, depth: usize) -> String {
    let e = |r: &mut Random| expression(r, depth.saturating_sub(1));
    match r.below(if depth == 0 { 4 } else { 10 }) {
        0 | 1 => format!("{} {} {}", e(r), r.of(&["=", "<>", "<", ">=", "!<"]), e(r)),
        2 => format!("{} IS NOT NULL", e(r)),
        3 => format!(
            "{} LIKE {}",
            e(r),
            r.of(&["'a%'", "'%[^a-c]_'", "N'['", "''", "v", "'%%%%%%a'"])
        ),
        4 => format!("({}) AND ({})", condition(r, depth - 1), condition(r, depth - 1)),
        5 => format!("({}) OR NOT ({})", condition(r, depth - 1), condition(r, depth - 1)),
        6 => format!("{} IN ({}, {}, NULL)", e(r), e(r), e(r)),
        7 => format!("{} BETWEEN {} AND {}", e(r), e(r), e(r)),
        8 => format!("EXISTS (SELECT 1 FROM b WHERE b.i = a.i AND {})", condition(r, depth - 1)),
        _ => format!("{} NOT IN (SELECT {} FROM b)", e(r), e(r)),
    }
}

/// A statement of a seed.
pub fn statement(seed: u64) -> String {
    let r = &mut Random::new(seed);
    let depth = r.below(5);
    let e = |r: &mut Random| expression(r, depth);
    let mut sql = match r.below(12) {
        0 => format!(
            "SELECT {} FROM a GROUP BY {} HAVING {}",
            e(r),
            r.of(COLUMNS),
            condition(r, depth)
        ),
        1 => format!(
            "SELECT a.i, {} FROM a {} JOIN b ON {}",
            e(r),
            r.of(&["LEFT", "FULL", "INNER", "RIGHT"]),
            condition(r, depth)
        ),
        2 => format!("UPDATE a SET {} = {} WHERE {}", r.of(COLUMNS), e(r), condition(r, depth)),
        3 => format!("INSERT a (i, {}) SELECT i + 10, {} FROM b", r.of(COLUMNS), e(r)),
        4 => format!("DELETE a WHERE {}", condition(r, depth)),
        5 => format!("DECLARE @v {} = {} SELECT @v, {}", r.of(TYPES), expression(r, 0), e(r)),
        6 => format!("SELECT {} UNION SELECT {} ORDER BY 1", r.of(VALUES), expression(r, 1)),
        7 => format!("SELECT TOP ({}) {} FROM a ORDER BY {}", r.of(VALUES), e(r), e(r)),
        8 => format!(
            "MERGE b USING a ON b.i = a.i WHEN MATCHED AND {} THEN UPDATE SET v = {} WHEN NOT MATCHED THEN INSERT (i) VALUES ({});",
            condition(r, depth),
            e(r),
            e(r)
        ),
        9 => format!(
            "SELECT * FROM a CROSS APPLY (SELECT {} AS q FROM b WHERE {}) x",
            e(r),
            condition(r, depth)
        ),
        10 => format!(
            "SELECT {} AS j FROM a FOR {}",
            e(r),
            r.of(&["JSON PATH", "JSON AUTO", "XML RAW", "XML PATH"])
        ),
        _ => format!("SELECT {} FROM a WHERE {}", e(r), condition(r, depth)),
    };
    if r.below(6) == 0 {
        let _ = write!(
            sql,
            " OPTION ({})",
            r.of(&["RECOMPILE", "FORCE ORDER", "HASH JOIN", "LOOP JOIN", "MAXRECURSION 5"])
        );
    }
    sql
}

/// Counts rows and keeps the first error.
#[derive(Default)]
struct Seen {
    error: Option<SqlError>,
}

impl Sink for Seen {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

/// An instance whose statements may hold little memory.
pub struct Target {
    instance: Arc<Instance>,
    session: Session,
}

impl Target {
    pub fn new() -> Target {
        let disk = SimDisk::new(21);
        let options = InstanceOptions {
            memory_bytes: Some(64 << 20),
            query_bytes: Some(64 << 20),
            statement_bytes: Some(32 << 20),
            disk: Arc::new(disk.clone()),
            ..InstanceOptions::new("/data")
        };
        let instance = Instance::open(options).expect("the instance opens");
        let mut session = instance.session().expect("a session");
        for sql in ["CREATE DATABASE f", "USE f", SCHEMA] {
            let mut seen = Seen::default();
            session.execute(sql, &mut seen);
            assert!(seen.error.is_none(), "{sql}\n{:?}", seen.error);
        }
        Target { instance, session }
    }

    /// Runs the statement of a seed in a transaction that is rolled back. Whether it succeeded, or
    /// what was wrong with how it failed.
    pub fn try_one(&mut self, seed: u64) -> Result<bool, String> {
        let sql = statement(seed);
        let start = Instant::now();
        let mut seen = Seen::default();
        self.session.execute("BEGIN TRAN", &mut Seen::default());
        self.session.execute(&sql, &mut seen);
        self.session.execute("IF @@TRANCOUNT > 0 ROLLBACK", &mut Seen::default());
        let taken = start.elapsed();
        if taken > LIMIT {
            return Err(format!("seed {seed} took {} s\n{sql}", taken.as_secs()));
        }
        match seen.error {
            None => Ok(true),
            Some(e) if e.severity < 20 => Ok(false),
            Some(e) => {
                self.session = self.instance.session().map_err(|e| e.to_string())?;
                Err(format!("seed {seed}: {e}\n{sql}"))
            }
        }
    }
}
