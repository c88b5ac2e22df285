//! `ringwood import`: the rows of a file into a table: CSV, TSV, JSON lines or Parquet. Guarantees:
//! all rows are there or none (with `--batch`: the batches before the error), also of the table
//! that it makes; memory does not grow with the file; text arrives as it was written, or is an
//! error with row and column.

mod convert;
mod delimited;
mod infer;
mod jsonl;

use super::file_rows::{ImportFailure, ImportRows};
use super::files::{FileFormat, parse_delimiter};
use super::progress::Progress;
use super::say::{say, say_error};
use super::{InstanceArgs, signals};
use clap::Args;
use convert::ConvertedRows;
use delimited::Delimited;
use engine::encoding::{Decoded, Encoding};
use engine::{
    BulkOptions, ColumnInfo, DataType, FirstError, ResultRows, Session, Sink, SqlError, Value,
};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const EXAMPLES: &str = "Examples:
  ringwood import -d Sales customer.csv customer
  ringwood import -d Sales more.jsonl customer --append
  ringwood import -d Sales prices.tsv dbo.price --replace --batch 100000";

/// Load a file into a table: CSV, TSV, JSON lines or Parquet. A table that is not there is made,
/// with types that the data shows
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    #[command(flatten)]
    instance: InstanceArgs,
    /// Database to import into
    #[arg(short = 'd', value_name = "DATABASE", default_value = "master")]
    database: String,
    /// The file
    file: PathBuf,
    /// The table, as T-SQL has its name
    table: String,
    /// Make the table; an error when it is there
    #[arg(long, conflicts_with_all = ["append", "replace"])]
    create: bool,
    /// Add to a table that is there
    #[arg(long, conflicts_with = "replace")]
    append: bool,
    /// Take the rows of a table that is there away first
    #[arg(long)]
    replace: bool,
    /// Commit after so many rows; without it all rows are one transaction
    #[arg(long, value_name = "ROWS", default_value = "0", hide_default_value = true)]
    batch: u64,
    /// Format, unless the file's name tells it
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// The first line is a row, not names: fields are the table's columns in order (CSV and TSV)
    #[arg(long)]
    no_header: bool,
    /// Character between fields (CSV and TSV)
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    delimiter: Option<char>,
    /// Code page of the file, e.g. 1252; a byte order mark wins over it
    #[arg(short = 'f', long = "code-page", value_name = "CODEPAGE", value_parser = parse_code_page)]
    code_page: Option<Encoding>,
    /// No progress and no summary
    #[arg(long)]
    quiet: bool,
}

fn parse_code_page(name: &str) -> Result<Encoding, String> {
    Encoding::of_code_page(name).ok_or_else(|| format!("code page {name} is not known"))
}

/// Runs the command.
pub fn run(args: &ImportArgs) -> ExitCode {
    match import(args) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(ImportFailure::Sql(error)) => say_error(&error),
        Err(ImportFailure::File(text)) => say(format_args!("{}: {text}", args.file.display())),
        Err(ImportFailure::Text(text)) => say(text),
    }
    ExitCode::FAILURE
}

fn import(args: &ImportArgs) -> Result<(), ImportFailure> {
    let format = FileFormat::of(args.format, &args.file).map_err(ImportFailure::Text)?;
    let total = std::fs::metadata(&args.file).map_err(|e| ImportFailure::File(e.to_string()))?;
    if total.is_dir() {
        return Err(ImportFailure::File("is a folder".into()));
    }
    let source = SourceFile { args, format, read: Arc::default() };
    // Before the instance is opened: a file that cannot be read is said at once.
    source.open()?;
    let instance = args.instance.open_existing()?;
    signals::stop_cleanly(&instance, None)
        .map_err(|e| ImportFailure::Text(format!("signals: {e}")))?;
    let result = (|| -> Result<(), ImportFailure> {
        let mut session = instance.session()?;
        let used = session.use_database(&args.database);
        used.map_err(|e| ImportFailure::Text(args.instance.told_of(&e)))?;
        let mut progress = Progress::new(Some(total.len()), args.quiet);
        let loaded = load(args, &source, &mut session, &mut progress);
        signals::wait_if_stopping();
        progress.end();
        let rows = loaded?;
        if !args.quiet {
            progress.done("Imported", rows, &format!("into {}", args.table));
        }
        Ok(())
    })();
    let closed = instance.close();
    result?;
    closed?;
    Ok(())
}

/// The file, which is read once to see its types and once for its rows.
struct SourceFile<'a> {
    args: &'a ImportArgs,
    format: FileFormat,
    /// Bytes read, for the progress.
    read: Arc<AtomicU64>,
}

impl SourceFile<'_> {
    fn open(&self) -> Result<Box<dyn ImportRows>, ImportFailure> {
        let file = File::open(&self.args.file).map_err(|e| ImportFailure::File(e.to_string()))?;
        self.read.store(0, Ordering::Relaxed);
        if self.format == FileFormat::Parquet {
            #[cfg(feature = "parquet")]
            return Ok(Box::new(super::parquet_file::ParquetRows::open(file, self.read.clone())?));
            #[cfg(not(feature = "parquet"))]
            return Err(ImportFailure::Text(
                "this build has no Parquet: it lacks the feature `parquet`".into(),
            ));
        }
        let counted = CountedFile { file, read: self.read.clone() };
        let text = Decoded::new(counted, self.args.code_page.unwrap_or(Encoding::Utf8));
        if self.format == FileFormat::Jsonl {
            return Ok(Box::new(jsonl::JsonLines::new(text)));
        }
        let delimiter = self.args.delimiter.unwrap_or(self.format.delimiter());
        Ok(Box::new(Delimited::open(text, delimiter, !self.args.no_header)?))
    }
}

/// Counts what is read.
struct CountedFile {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for CountedFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(out)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

fn load(
    args: &ImportArgs,
    source: &SourceFile<'_>,
    session: &mut Session,
    progress: &mut Progress,
) -> Result<u64, ImportFailure> {
    let there = table_columns(session, &args.table)?;
    let found = match there {
        Some(_) if args.create || !(args.append || args.replace) => {
            let text = format!("the table {} is there; give --append or --replace", args.table);
            return Err(ImportFailure::Text(text));
        }
        None if args.append => {
            return Err(ImportFailure::Text(format!("there is no table {}", args.table)));
        }
        found => found,
    };
    // What is made belongs to the load's transaction, unless that is cut in batches.
    execute(
        session,
        if args.batch == 0 { "SET XACT_ABORT ON; BEGIN TRANSACTION" } else { "SET XACT_ABORT ON" },
    )?;
    let result = (|| -> Result<u64, ImportFailure> {
        let columns = match found {
            Some(columns) => {
                if args.replace {
                    execute(session, &format!("TRUNCATE TABLE {}", args.table))?;
                }
                columns
            }
            None => {
                let columns = infer::columns(source.open()?.as_mut())?;
                execute(session, &infer::create_table(&args.table, &columns))?;
                table_columns(session, &args.table)?.unwrap_or_default()
            }
        };
        let rows = copy(args, source, session, progress, &columns)?;
        if args.batch == 0 {
            execute(session, "COMMIT")?;
        }
        Ok(rows)
    })();
    if result.is_err() {
        // The error is told; whether there is still something to roll back is not known.
        let _ = execute(session, "IF @@TRANCOUNT > 0 ROLLBACK");
    }
    result
}

fn copy(
    args: &ImportArgs,
    source: &SourceFile<'_>,
    session: &mut Session,
    progress: &mut Progress,
    columns: &[TableColumn],
) -> Result<u64, ImportFailure> {
    let rows = source.open()?;
    let targets = targets(rows.as_ref(), columns)?;
    let names: Vec<&str> = targets.iter().map(|column| column.name.as_str()).collect();
    let options = BulkOptions {
        batch: args.batch,
        keep_identity: targets.iter().any(|column| column.identity),
        keep_nulls: true,
        table_lock: args.batch == 0,
        ignore_constraints: false,
        ignore_triggers: false,
    };
    let mut converted = ConvertedRows::new(rows, &targets, progress, &source.read);
    match session.bulk_insert(&args.table, &names, &options, &mut converted) {
        Ok(rows) => Ok(rows),
        Err(error) => Err(converted.explain(error)),
    }
}

/// A column of the table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    pub name: String,
    pub ty: DataType,
    pub identity: bool,
}

/// The table's columns, in the order of the file's fields.
fn targets(
    rows: &dyn ImportRows,
    columns: &[TableColumn],
) -> Result<Vec<TableColumn>, ImportFailure> {
    let Some(names) = rows.names() else { return Ok(columns.to_vec()) };
    let mut targets: Vec<TableColumn> = Vec::with_capacity(names.len());
    for name in names {
        let same = |column: &&TableColumn| column.name.to_lowercase() == name.to_lowercase();
        let Some(column) = columns.iter().find(same) else {
            return Err(ImportFailure::File(format!("the table has no column '{name}'")));
        };
        if targets.iter().any(|target| target.name == column.name) {
            return Err(ImportFailure::File(format!("column '{name}' comes twice")));
        }
        targets.push(column.clone());
    }
    Ok(targets)
}

/// The columns of a table; none when there is no such table.
fn table_columns(
    session: &mut Session,
    table: &str,
) -> Result<Option<Vec<TableColumn>>, ImportFailure> {
    let mut shape = CollectedResult::default();
    session.execute(&format!("SELECT * FROM {table} WHERE 1 = 0"), &mut shape);
    match shape.error.into_error() {
        Some(error) if error.number == 208 => return Ok(None),
        Some(error) => return Err(error.into()),
        None => {}
    }
    // Which of them is the identity column.
    let database = table_database(table);
    let literal = format!("N'{}'", table.replace('\'', "''"));
    let query = format!(
        "SELECT name FROM {database}sys.identity_columns WHERE object_id = OBJECT_ID({literal})"
    );
    let mut identities = CollectedResult::default();
    session.execute(&query, &mut identities);
    let is_identity = |name: &str| {
        identities.rows.iter().any(|row| row.first().and_then(Value::as_str) == Some(name))
    };
    let columns = shape.columns.iter().map(|column| TableColumn {
        name: column.name.to_string(),
        ty: column.ty,
        identity: is_identity(&column.name),
    });
    Ok(Some(columns.collect()))
}

/// `database.` of a name of three parts.
fn table_database(table: &str) -> String {
    let mut parts = Vec::new();
    let (mut part, mut quoted) = (String::new(), false);
    for c in table.chars() {
        quoted = if quoted { c != ']' } else { c == '[' };
        if c == '.' && !quoted {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    if parts.len() == 2 { format!("{}.", parts[0]) } else { String::new() }
}

/// Runs a batch that returns nothing.
fn execute(session: &mut Session, sql: &str) -> Result<(), ImportFailure> {
    let mut out = CollectedResult::default();
    session.execute(sql, &mut out);
    out.error.or(()).map_err(ImportFailure::from)
}

/// Keeps a small result.
#[derive(Default)]
struct CollectedResult {
    columns: Vec<ColumnInfo>,
    rows: Vec<Vec<Value>>,
    error: FirstError,
}

impl Sink for CollectedResult {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.rows.push(row.to_vec());
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.error(error)
    }
}
