//! What clients' questions of the catalog cost in a database of many tables: views with the
//! conditions that tools use, and the catalog procedures. Least and middle milliseconds of several
//! rounds; the first run, which compiles, is shown by itself. `./bench metadata [TABLES ROUNDS
//! [PART OF A QUESTION'S NAME]]`

use std::time::Instant;

use ringwood_engine::{Instance, InstanceOptions, ResultRows, Session, Sink, SqlError};

/// Columns of each table.
const COLUMNS: usize = 10;

/// Counts rows; an error ends the program.
#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|_| {
            self.0 += 1;
            Ok(())
        })
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
    (
        "sys.objects by id",
        "SELECT name, type FROM sys.objects WHERE object_id = OBJECT_ID('dbo.t4000')",
    ),
    ("sys.objects by name", "SELECT object_id FROM sys.objects WHERE name = N't4000'"),
    (
        "has_table",
        "SELECT o.name FROM sys.objects o JOIN sys.schemas s ON o.schema_id = s.schema_id WHERE o.type IN (N'U', N'V') AND o.name = CAST(N't4000' AS nvarchar(max)) AND s.name = CAST(N'dbo' AS nvarchar(max))",
    ),
    (
        "sys.columns by id",
        "SELECT name, column_id FROM sys.columns WHERE object_id = OBJECT_ID('dbo.t4000')",
    ),
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
    (
        "OBJECTPROPERTY of a constraint",
        "SELECT OBJECTPROPERTY(OBJECT_ID('dbo.pk_t4000'), 'CnstIsClustKey')",
    ),
    ("sp_columns_100", "EXEC sp_columns_100 N't4000', N'dbo', NULL, NULL, 0, 3, 1"),
    ("sp_columns_100 with a pattern", "EXEC sp_columns_100 N't400_', N'dbo', NULL, NULL, 0, 3, 1"),
    ("sp_pkeys", "EXEC sp_pkeys N't4000', N'dbo'"),
    ("sp_fkeys to a table", "EXEC sp_fkeys N't4000', N'dbo'"),
    ("sp_statistics", "EXEC sp_statistics N't4000', N'dbo'"),
    ("sp_special_columns_100", "EXEC sp_special_columns_100 N't4000', N'dbo'"),
    (
        "syscolumns of a table",
        "SELECT name, xtype, length FROM syscolumns WHERE id = OBJECT_ID('t4000') ORDER BY colid",
    ),
    (
        "sysindexes of a table",
        "SELECT name, indid, rows FROM sysindexes WHERE id = OBJECT_ID('t4000')",
    ),
    (
        "who names a table",
        "SELECT referencing_entity_name FROM sys.dm_sql_referencing_entities('dbo.t4000', 'OBJECT')",
    ),
    (
        "SQLAlchemy: columns of a table",
        "SELECT [INFORMATION_SCHEMA].[COLUMNS].[TABLE_NAME], [sys].[columns].name AS name_1, [sys].[types].name AS name_2, [sys].[columns].is_nullable, [sys].[columns].max_length, [sys].[columns].precision, [sys].[columns].scale, [sys].[columns].collation_name, [sys].[default_constraints].definition, [sys].[identity_columns].seed_value FROM [sys].[columns] JOIN [sys].[types] ON [sys].[columns].user_type_id = [sys].[types].user_type_id LEFT OUTER JOIN [sys].[default_constraints] ON [sys].[default_constraints].object_id = [sys].[columns].default_object_id LEFT OUTER JOIN [sys].[identity_columns] ON [sys].[identity_columns].object_id = [sys].[columns].object_id AND [sys].[identity_columns].column_id = [sys].[columns].column_id JOIN [INFORMATION_SCHEMA].[COLUMNS] ON [INFORMATION_SCHEMA].[COLUMNS].COLUMN_NAME = [sys].[columns].name AND [INFORMATION_SCHEMA].[COLUMNS].TABLE_NAME = N't4000' AND [INFORMATION_SCHEMA].[COLUMNS].TABLE_SCHEMA = N'dbo' WHERE [sys].[columns].object_id = OBJECT_ID(N'[dbo].[t4000]') ORDER BY [sys].[columns].column_id",
    ),
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
    (
        "EF Core: tables",
        "SELECT SCHEMA_NAME([t].[schema_id]) AS [schema], [t].[name], CAST([e].[value] AS nvarchar(MAX)) AS [comment], 'table' AS [type], [t].[is_memory_optimized], [t].[temporal_type] FROM [sys].[tables] AS [t] LEFT JOIN [sys].[extended_properties] AS [e] ON [e].[major_id] = [t].[object_id] AND [e].[minor_id] = 0 AND [e].[class] = 1 AND [e].[name] = 'MS_Description' WHERE [t].[is_ms_shipped] = 0 AND [t].[temporal_type] <> 1",
    ),
    (
        "EF Core: columns",
        "SELECT SCHEMA_NAME([o].[schema_id]) AS [table_schema], [o].[name] AS [table_name], [c].[name] AS [column_name], [c].[column_id] AS [ordinal], SCHEMA_NAME([tp].[schema_id]) AS [type_schema], [tp].[name] AS [type_name], CAST([c].[max_length] AS int) AS [max_length], CAST([c].[precision] AS int) AS [precision], CAST([c].[scale] AS int) AS [scale], [c].[is_nullable], [c].[is_identity], [dc].[definition] AS [default_sql], [cc].[definition] AS [computed_sql] FROM (SELECT [v].[name], [v].[object_id], [v].[schema_id] FROM [sys].[views] v WHERE [v].[is_ms_shipped] = 0 UNION ALL SELECT [t].[name], [t].[object_id], [t].[schema_id] FROM [sys].[tables] t WHERE [t].[is_ms_shipped] = 0) o JOIN [sys].[columns] AS [c] ON [o].[object_id] = [c].[object_id] JOIN [sys].[types] AS [tp] ON [c].[user_type_id] = [tp].[user_type_id] LEFT JOIN [sys].[computed_columns] AS [cc] ON [c].[object_id] = [cc].[object_id] AND [c].[column_id] = [cc].[column_id] LEFT JOIN [sys].[default_constraints] AS [dc] ON [c].[object_id] = [dc].[parent_object_id] AND [c].[column_id] = [dc].[parent_column_id] ORDER BY [table_schema], [table_name], [c].[column_id]",
    ),
    (
        "EF Core: indexes",
        "SELECT SCHEMA_NAME([t].[schema_id]) AS [table_schema], [t].[name] AS [table_name], [i].[name] AS [index_name], [i].[type_desc], [i].[is_primary_key], [i].[is_unique], [i].[filter_definition], COL_NAME([ic].[object_id], [ic].[column_id]) AS [column_name], [ic].[is_descending_key] FROM (SELECT [t].[name], [t].[object_id], [t].[schema_id] FROM [sys].[tables] t) t JOIN [sys].[indexes] AS [i] ON [t].[object_id] = [i].[object_id] JOIN [sys].[index_columns] AS [ic] ON [i].[object_id] = [ic].[object_id] AND [i].[index_id] = [ic].[index_id] WHERE [i].[is_hypothetical] = 0 ORDER BY [table_schema], [table_name], [index_name], [ic].[key_ordinal]",
    ),
    (
        "EF Core: foreign keys",
        "SELECT SCHEMA_NAME([t].[schema_id]) AS [table_schema], [t].[name] AS [table_name], [f].[name], SCHEMA_NAME(tab2.[schema_id]) AS [principal_schema], [tab2].name AS [principal_table], [f].[delete_referential_action_desc], col1.name AS [column_name], col2.name AS [referenced] FROM [sys].[foreign_keys] AS [f] JOIN [sys].[foreign_key_columns] AS fc ON [fc].[constraint_object_id] = [f].[object_id] JOIN [sys].[tables] AS [t] ON [t].[object_id] = [fc].[parent_object_id] JOIN [sys].[columns] AS [col1] ON [col1].[column_id] = [fc].[parent_column_id] AND [col1].[object_id] = [t].[object_id] JOIN [sys].[tables] AS [tab2] ON [tab2].[object_id] = [fc].[referenced_object_id] JOIN [sys].[columns] AS [col2] ON [col2].[column_id] = [fc].[referenced_column_id] AND [col2].[object_id] = [tab2].[object_id] ORDER BY [table_schema], [table_name], [f].[name], [fc].[constraint_column_id]",
    ),
    (
        "SSMS: tables of the tree",
        "SELECT tbl.name AS [Name], SCHEMA_NAME(tbl.schema_id) AS [Schema], tbl.object_id AS [ID], CAST(tbl.is_memory_optimized AS bit) AS [IsMemoryOptimized] FROM sys.tables AS tbl WHERE (CAST(case when tbl.is_ms_shipped = 1 then 1 when (select major_id from sys.extended_properties where major_id = tbl.object_id and minor_id = 0 and class = 1 and name = N'microsoft_database_tools_support') is not null then 1 else 0 end AS bit) = 0) ORDER BY [Schema] ASC, [Name] ASC",
    ),
    ("sysobjects", "SELECT name, id FROM sysobjects WHERE xtype = 'U'"),
    (
        "syscolumns",
        "SELECT o.name, c.name, c.xtype FROM sysobjects o JOIN syscolumns c ON c.id = o.id WHERE o.xtype = 'U'",
    ),
    (
        "sysindexes: rows of all tables",
        "SELECT o.name, i.rows FROM sysobjects o JOIN sysindexes i ON i.id = o.id WHERE i.indid < 2 AND o.xtype = 'U'",
    ),
    (
        "sysreferences",
        "SELECT OBJECT_NAME(fkeyid), OBJECT_NAME(rkeyid), fkey1, rkey1 FROM sysreferences",
    ),
    (
        "rows of all tables",
        "SELECT t.name, SUM(p.rows) FROM sys.tables t JOIN sys.partitions p ON p.object_id = t.object_id AND p.index_id IN (0, 1) GROUP BY t.name",
    ),
    (
        "sys.sql_expression_dependencies",
        "SELECT referencing_id, referenced_id FROM sys.sql_expression_dependencies",
    ),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| args.get(at).and_then(|arg| arg.parse::<usize>().ok());
    let (tables, rounds) = (number(0).unwrap_or(5000), number(1).unwrap_or(9).max(1));
    let asked = args.get(2).map_or("", String::as_str);
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
    for (name, text) in ONE.iter().chain(ALL).filter(|(name, _)| name.contains(asked)) {
        let mut times = Vec::with_capacity(rounds + 1);
        let mut rows = 0;
        for _ in 0..=rounds {
            let begin = Instant::now();
            rows = run(&mut session, text);
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
        }
        let first = times.remove(0);
        times.sort_by(f64::total_cmp);
        println!(
            "{name:<42} {rows:>8} {first:>10.2} {:>10.2} {:>10.2}",
            times[0],
            times[times.len() / 2]
        );
    }
}
