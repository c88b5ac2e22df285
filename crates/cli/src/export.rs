//! `ringwood export`: a table or a query's result as a file. Guarantees: memory does not grow with
//! the rows; the file is there when all of it is, under its name at once.

use super::files::{FileFormat, parse_delimiter};
use super::output::csv::CsvWriter;
use super::output::json::JsonLinesWriter;
use super::output::{ResultWriter, Results};
use super::progress::Progress;
use super::say::{say, say_error};
use super::{InstanceArgs, signals};
use clap::Args;
use engine::{ColumnInfo, ResultRows, Sink, SqlError, Value};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  ringwood export -d Sales customer customer.csv
  ringwood export -d Sales --query \"select * from customer where city = 'Burley'\" burley.parquet
  ringwood export -d Sales customer - --format jsonl | gzip > customer.jsonl.gz";

/// Write a table or a query's result to a file: CSV, TSV, JSON lines or Parquet
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    #[command(flatten)]
    instance: InstanceArgs,
    /// Database to export from
    #[arg(short = 'd', value_name = "DATABASE", default_value = "master")]
    database: String,
    /// The query whose result is exported, in place of TABLE
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
    /// Table (as T-SQL has its name; not with --query), then the file; - is standard output
    #[arg(value_names = ["TABLE", "FILE"], num_args = 1..=2, required = true)]
    names: Vec<String>,
    /// Format, unless the file's name tells it
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// The first line has no column names (CSV and TSV)
    #[arg(long)]
    no_header: bool,
    /// Character between fields (CSV and TSV)
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    delimiter: Option<char>,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
    /// No progress and no summary
    #[arg(long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &ExportArgs) -> ExitCode {
    match export(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ExportFailure::Told) => ExitCode::FAILURE,
        Err(ExportFailure::Sql(error)) => {
            say_error(&error);
            ExitCode::FAILURE
        }
        Err(ExportFailure::Text(text)) => {
            say(text);
            ExitCode::FAILURE
        }
    }
}

/// Why nothing was exported.
enum ExportFailure {
    Sql(SqlError),
    Text(String),
    /// It was said already.
    Told,
}

impl From<SqlError> for ExportFailure {
    fn from(error: SqlError) -> ExportFailure {
        ExportFailure::Sql(error)
    }
}

impl From<String> for ExportFailure {
    fn from(text: String) -> ExportFailure {
        ExportFailure::Text(text)
    }
}

fn export(args: &ExportArgs) -> Result<(), ExportFailure> {
    let (query, shown, path) = match (&args.query, args.names.as_slice()) {
        (Some(query), [file]) => (query.clone(), "", file),
        (None, [table, file]) => (format!("SELECT * FROM {table}"), table.as_str(), file),
        (Some(_), _) => {
            return Err(ExportFailure::Text(
                "with --query only the file is given, no table".into(),
            ));
        }
        (None, _) => {
            return Err(ExportFailure::Text(
                "a table and a file are needed, or --query and a file".into(),
            ));
        }
    };
    let path = Path::new(path);
    let format = FileFormat::of(args.format, path)?;
    let place = ExportPlace::of(path, args.force)?;
    let instance = args.instance.open_existing()?;
    signals::stop_cleanly(&instance, None).map_err(|e| format!("signals: {e}"))?;
    let mut session = instance.session()?;
    session.use_database(&args.database).map_err(|e| args.instance.told_of(&e))?;
    let result = (|| -> Result<u64, ExportFailure> {
        let (out, temporary) = place.open()?;
        let mut sink = ExportSink {
            target: target(args, format, out)?,
            progress: Progress::new(None, args.quiet),
            sets: 0,
            rows: 0,
            error: None,
        };
        session.execute(&query, &mut sink);
        signals::wait_if_stopping();
        sink.progress.end();
        let rows = sink.finish(path)?;
        temporary.keep()?;
        let what = format!(
            "{}to {}",
            if shown.is_empty() { String::new() } else { format!("of {shown} ") },
            path.display()
        );
        if !args.quiet {
            sink.progress.done("Exported", rows, &what);
        }
        Ok(rows)
    })();
    drop(session);
    let closed = instance.close();
    result?;
    closed?;
    Ok(())
}

/// Where the file goes.
struct ExportPlace {
    /// None: standard output.
    path: Option<PathBuf>,
}

/// A file in the making, removed unless it is kept.
struct Temporary {
    files: Option<(PathBuf, PathBuf, File)>,
}

impl ExportPlace {
    fn of(path: &Path, force: bool) -> Result<ExportPlace, String> {
        if path == Path::new("-") {
            return Ok(ExportPlace { path: None });
        }
        if path.is_dir() {
            return Err(format!("{}: is a folder", path.display()));
        }
        if !force && path.exists() {
            return Err(format!("{}: is there already; --force writes over it", path.display()));
        }
        Ok(ExportPlace { path: Some(path.to_path_buf()) })
    }

    fn open(&self) -> Result<(Box<dyn Write + Send>, Temporary), String> {
        let Some(path) = &self.path else {
            return Ok((
                Box::new(BufWriter::with_capacity(1 << 16, io::stdout())),
                Temporary { files: None },
            ));
        };
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.partial", std::process::id()));
        let partial = path.with_file_name(name);
        let failed = |e: io::Error| format!("{}: {e}", partial.display());
        let file = File::create_new(&partial).map_err(failed)?;
        let copy = file.try_clone().map_err(failed)?;
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok((Box::new(out), Temporary { files: Some((partial, path.clone(), copy)) }))
    }
}

impl Temporary {
    /// The file is whole: it gets its name.
    fn keep(mut self) -> Result<(), String> {
        let Some((partial, path, file)) = self.files.take() else { return Ok(()) };
        let kept = file.sync_all().and_then(|()| std::fs::rename(&partial, &path));
        kept.map_err(|e| {
            let _ = std::fs::remove_file(&partial);
            format!("{}: {e}", path.display())
        })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some((partial, ..)) = &self.files {
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// What writes the rows.
enum RowTarget {
    Text(Results<Box<dyn Write + Send>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet_file::ParquetWriter>),
}

fn target(
    args: &ExportArgs,
    format: FileFormat,
    out: Box<dyn Write + Send>,
) -> Result<RowTarget, String> {
    let delimiter = args.delimiter.unwrap_or(format.delimiter());
    let writer: Box<dyn ResultWriter> = match format {
        FileFormat::Csv | FileFormat::Tsv => Box::new(CsvWriter::new(delimiter, !args.no_header)),
        FileFormat::Jsonl => Box::new(JsonLinesWriter::default()),
        #[cfg(feature = "parquet")]
        FileFormat::Parquet => {
            return Ok(RowTarget::Parquet(Box::new(super::parquet_file::ParquetWriter::new(out))));
        }
        #[cfg(not(feature = "parquet"))]
        FileFormat::Parquet => {
            return Err("this build has no Parquet: it lacks the feature `parquet`".into());
        }
    };
    Ok(RowTarget::Text(Results::new(out, writer)))
}

impl RowTarget {
    fn columns(&mut self, columns: &[ColumnInfo]) -> io::Result<()> {
        match self {
            RowTarget::Text(results) => results.columns(columns),
            #[cfg(feature = "parquet")]
            RowTarget::Parquet(writer) => writer.columns(columns),
        }
    }

    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        match self {
            RowTarget::Text(results) => results.row(row),
            #[cfg(feature = "parquet")]
            RowTarget::Parquet(writer) => writer.row(row),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            RowTarget::Text(results) => results.finish(),
            #[cfg(feature = "parquet")]
            RowTarget::Parquet(writer) => writer.finish(),
        }
    }
}

/// Takes the result of the query.
struct ExportSink {
    target: RowTarget,
    progress: Progress,
    sets: u32,
    rows: u64,
    error: Option<ExportFailure>,
}

impl ExportSink {
    /// All rows are written. Gives their number.
    fn finish(&mut self, path: &Path) -> Result<u64, ExportFailure> {
        match self.error.take() {
            Some(ExportFailure::Text(text)) => {
                Err(ExportFailure::Text(format!("{}: {text}", path.display())))
            }
            Some(other) => Err(other),
            None if self.sets == 0 => {
                Err(ExportFailure::Text("the query gives no result set".into()))
            }
            None => {
                let finished = self.target.finish();
                finished.map_err(|e| ExportFailure::Text(format!("{}: {e}", path.display())))?;
                Ok(self.rows)
            }
        }
    }

    /// Keeps the first error and ends the batch.
    fn stop(&mut self, failed: ExportFailure) -> Result<(), SqlError> {
        self.error.get_or_insert(failed);
        Err(SqlError::new(0, 20, 1, "The export ends."))
    }

    fn check(&mut self, written: io::Result<()>) -> Result<(), SqlError> {
        match written {
            Ok(()) => Ok(()),
            // The reader of standard output has closed it.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => self.stop(ExportFailure::Told),
            Err(e) => self.stop(ExportFailure::Text(e.to_string())),
        }
    }
}

impl Sink for ExportSink {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.sets += 1;
        if self.sets > 1 {
            return self
                .stop(ExportFailure::Text("the query gives more than one result set".into()));
        }
        let written = self.target.columns(columns);
        self.check(written)
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.rows += 1;
            if self.rows.is_multiple_of(1024) {
                self.progress.at(self.rows, 0);
            }
            let written = self.target.row(row);
            self.check(written)
        })
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        say(&message.message);
        Ok(())
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| ExportFailure::Sql(error.clone()));
        Ok(())
    }
}
