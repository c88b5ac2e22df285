//! What clients' questions of the catalog cost in a database of many tables: views with the conditions that tools use, and the
//! catalog procedures. Least and middle milliseconds of several rounds; the first run, which compiles, is shown by itself.
//! `cargo run --release -p ringwood-engine --example metadata_bench [-- TABLES ROUNDS]`

use std::time::Instant;

use ringwood_engine::{Instance, InstanceOptions, Session, Sink, SqlError, Value};

/// Columns of each table.
const COLUMNS: usize = 10;

/// Counts rows; an error ends the program.
#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn row(&mut self, _: &[Value]) -> Result<(), SqlError> {
        self.0 += 1;
        Ok(())
    }
    fn error(&mut self, e: &SqlError) -> Result<(), SqlError> {
        eprintln!("Msg {}: {}", e.number, e.message);
        std::process::exit(1)
    }
}

fn run(session: &mut Session, text: &str) -> usize {
    let mut count = Count::default();
    session.execute(text, &mut count);
    count.0
}

/// Questions about one object.
const ONE: &[(&str, &str)] = &[
    ("sys.objects by id", "SELECT name, type FROM sys.objects WHERE object_id = OBJECT_ID('dbo.t4000')"),
    ("sys.objects by name", "SELECT object_id FROM sys.objects WHERE name = N't4000'"),
    (
        "has_table",
        "SELECT o.name FROM sys.objects o JOIN sys.schemas s ON o.schema_id = s.schema_id WHERE o.type IN (N'U', N'V') AND o.name = CAST(N't4000' AS nvarchar(max)) AND s.name = CAST(N'dbo' AS nvarchar(max))",
    ),
    ("sys.columns by id", "SELECT name, column_id FROM sys.columns WHERE object_id = OBJECT_ID('dbo.t4000')"),
    (
        "columns with types, defaults, identity",
        "SELECT c.name, ty.name, d.definition, ic.seed_value FROM sys.columns c JOIN sys.types ty ON c.user_type_id = ty.user_type_id LEFT JOIN sys.default_constraints d ON d.object_id = c.default_object_id LEFT JOIN sys.identity_columns ic ON ic.object_id = c.object_id AND ic.column_id = c.column_id WHERE c.object_id = OBJECT_ID('dbo.t4000') ORDER BY c.column_id",
    ),
    (
        "columns by table and schema names",
        "SELECT c.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id JOIN sys.columns c ON c.object_id = t.object_id WHERE t.name = N't4000' AND s.name = N'dbo'",
    ),
    (
        "indexes of a table",
        "SELECT i.name, c.name FROM sys.indexes i JOIN sys.index_columns ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id JOIN sys.tables t ON t.object_id = i.object_id WHERE t.name = 't4000'",
    ),
    (
        "foreign keys of a table",
        "SELECT f.name, c.name FROM sys.foreign_keys f JOIN sys.foreign_key_columns k ON k.constraint_object_id = f.object_id JOIN sys.columns c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id WHERE f.parent_object_id = OBJECT_ID('dbo.t4000')",
    ),
    (
        "INFORMATION_SCHEMA.COLUMNS of a table",
        "SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = N't4000' AND TABLE_SCHEMA = N'dbo'",
    ),
    (
        "primary key by INFORMATION_SCHEMA",
        "SELECT k.COLUMN_NAME FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE k JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS t ON t.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND t.TABLE_SCHEMA = k.TABLE_SCHEMA WHERE t.CONSTRAINT_TYPE = 'PRIMARY KEY' AND t.TABLE_NAME = 't4000' AND k.TABLE_NAME = 't4000'",
    ),
    ("OBJECTPROPERTY of a constraint", "SELECT OBJECTPROPERTY(OBJECT_ID('dbo.pk_t4000'), 'CnstIsClustKey')"),
    ("sp_columns_100", "EXEC sp_columns_100 N't4000', N'dbo', NULL, NULL, 0, 3, 1"),
    ("sp_columns_100 with a pattern", "EXEC sp_columns_100 N't400_', N'dbo', NULL, NULL, 0, 3, 1"),
    ("sp_pkeys", "EXEC sp_pkeys N't4000', N'dbo'"),
    ("sp_fkeys to a table", "EXEC sp_fkeys N't4000', N'dbo'"),
    ("sp_statistics", "EXEC sp_statistics N't4000', N'dbo'"),
    ("sp_special_columns_100", "EXEC sp_special_columns_100 N't4000', N'dbo'"),
];

/// Questions about everything.
const ALL: &[(&str, &str)] = &[
    ("sys.tables", "SELECT name, object_id FROM sys.tables"),
    ("sys.objects", "SELECT name, object_id, type FROM sys.objects"),
    ("sys.columns", "SELECT object_id, name, column_id FROM sys.columns"),
    (
        "tables with columns and types",
        "SELECT t.name, c.name, ty.name FROM sys.tables t JOIN sys.columns c ON c.object_id = t.object_id JOIN sys.types ty ON ty.user_type_id = c.user_type_id",
    ),
    ("sys.indexes", "SELECT object_id, name FROM sys.indexes"),
    ("INFORMATION_SCHEMA.TABLES", "SELECT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.TABLES"),
    (
        "INFORMATION_SCHEMA.COLUMNS",
        "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS",
    ),
    (
        "objects that are not shipped",
        "SELECT COUNT(*) FROM sys.objects WHERE OBJECTPROPERTY(object_id, 'IsMSShipped') = 0",
    ),
    ("sp_tables", "EXEC sp_tables"),
];

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<usize>().ok());
    let tables = args.next().unwrap_or(5000);
    let rounds = args.next().unwrap_or(9).max(1);
    let folder = tempfile::tempdir().expect("a folder for the database");
    let instance = Instance::open(InstanceOptions::new(folder.path())).expect("an instance");
    let mut session = instance.session().expect("a session");
    run(
        &mut session,
        "CREATE DATABASE bench; ALTER DATABASE bench SET RECOVERY SIMPLE, DELAYED_DURABILITY = FORCED",
    );
    run(&mut session, "USE bench");
    let begin = Instant::now();
    let columns: String = (2..COLUMNS).map(|i| format!(", c{i} nvarchar(40) NULL")).collect();
    for i in 0..tables {
        // Every table refers to the one before, has a default and a second index.
        let refers = if i > 0 { format!(" REFERENCES t{} (id)", i - 1) } else { String::new() };
        let text = format!(
            "CREATE TABLE t{i} (id int IDENTITY CONSTRAINT pk_t{i} PRIMARY KEY, c1 int NOT NULL DEFAULT 0{refers}{columns}, INDEX ix_c1 (c1))"
        );
        run(&mut session, &text);
    }
    println!("{tables} tables of {COLUMNS} columns made in {:.1} s", begin.elapsed().as_secs_f64());
    println!("{:<42} {:>8} {:>10} {:>10} {:>10}", "", "rows", "first ms", "least ms", "middle ms");
    for (name, text) in ONE.iter().chain(ALL) {
        let mut times = Vec::with_capacity(rounds + 1);
        let mut rows = 0;
        for _ in 0..=rounds {
            let begin = Instant::now();
            rows = run(&mut session, text);
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
        }
        let first = times.remove(0);
        times.sort_by(f64::total_cmp);
        println!("{name:<42} {rows:>8} {first:>10.2} {:>10.2} {:>10.2}", times[0], times[times.len() / 2]);
    }
}
