//! Ringwood's command line: the commands and their arguments, one file per command. Results go to
//! standard output, messages and errors to standard error; the exit code is 1 when any batch failed
//! and 2 when the command line itself is wrong.

// These panic when their stream is closed or full: `say` has what returns the error instead.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod check;
mod export;
mod file_rows;
mod files;
mod health;
mod hidden_password;
mod import;
mod lab;
mod log;
mod output;
#[cfg(feature = "parquet")]
mod parquet_file;
mod progress;
mod repair;
mod say;
mod serve;
mod signals;
mod source_line;
mod sql;
mod top;

use clap::{Args, Parser, Subcommand};
use engine::instance::InstanceError;
use engine::{Instance, InstanceOptions};
use model::FolderPlacement;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the thread of a request allocates is charged to the request.
#[global_allocator]
static ALLOCATOR: disk::CountingAllocator = disk::CountingAllocator;

/// A transactional database that speaks T-SQL, and the lab that measures it.
#[derive(Parser)]
#[command(name = "ringwood", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  ringwood sql -Q \"select @@version\"
  ringwood sql --data ./db -d Sales -i schema.sql -i load.sql
  ringwood serve --data ./db
  ringwood lab run vlf-count --scale quick
  ringwood top --data ./db
  ringwood check --data ./db Sales
  ringwood repair --data ./db --dry-run";

#[derive(Subcommand)]
enum Command {
    /// Run T-SQL on an embedded instance
    Sql(Box<sql::SqlArgs>),
    /// Serve an instance to clients of SQL Server
    Serve(Box<serve::ServeArgs>),
    /// Ask a server whether it answers
    Health(health::HealthArgs),
    /// Run the studies and their reports
    Lab(lab::LabArgs),
    /// Watch a running instance: its log ring, log writes, waits, files
    Top(top::TopArgs),
    /// Write a table or a query's result to a file: CSV, TSV, JSON lines, Parquet
    Export(export::ExportArgs),
    /// Load a file into a table: CSV, TSV, JSON lines, Parquet
    Import(import::ImportArgs),
    /// Check a database's integrity offline
    Check(check::CheckArgs),
    /// Put an instance right that does not start: its own files and its system databases
    Repair(repair::RepairArgs),
}

/// Where an instance lives and how it is opened.
#[derive(Args, Clone)]
struct InstanceArgs {
    /// Folder of the instance
    #[arg(long, value_name = "DIR", default_value = "./ringwood-data")]
    data: PathBuf,
    /// Change nothing in the folder, which may be one that cannot be written; databases that were
    /// stopped cleanly can be read
    #[arg(long)]
    read_only: bool,
    /// Memory of the process, e.g. 512MB or 2GB, at least 16MB; a number alone is MB; half of
    /// memory unless given
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<u64>,
    /// Memory of all queries' sorts, joins and kept rows together, at least 4MB; more goes through
    /// files; a quarter of the machine's memory, at most three quarters of --memory, unless given
    #[arg(long, value_name = "SIZE", value_parser = parse_query_memory)]
    query_memory: Option<usize>,
    /// Memory that one statement may hold of it, at least 1MB: what needs more and cannot go
    /// through files gets error 701
    #[arg(long, value_name = "SIZE", value_parser = parse_statement_memory)]
    max_query_memory: Option<usize>,
    /// Folder of a drive letter in T-SQL file names, e.g. --volume E=/mnt/data
    #[arg(long = "volume", value_name = "E=DIR", value_parser = parse_volume)]
    volumes: Vec<(char, PathBuf)>,
    /// Trace flag at start: 1800 forces 4,096-byte log blocks in databases that follow the device
    /// (LOG_ALIGNMENT = DEVICE), 3505 keeps checkpoints from beginning by themselves, 1222 and 1204
    /// write deadlocks to the error log, 4022 keeps procedures of the start from running
    #[arg(short = 'T', value_name = "FLAG")]
    trace_flags: Vec<i32>,
    /// Run on a modelled device: a built-in name such as hdd-raid10-8x15000, or a device file
    #[arg(long, value_name = "NAME|FILE", value_parser = parse_device)]
    device: Option<model::Device>,
    /// Put the files below a folder (or drive letter) on a modelled device or into a real folder,
    /// e.g. --device-path E:=ssd-512e
    #[arg(long = "device-path", value_name = "DIR=DEVICE|FOLDER", value_parser = parse_device_path)]
    device_paths: Vec<(PathBuf, FolderPlacement)>,
    /// Reads and writes of data files in flight at a time on each real device, 1 to 256; as its
    /// queue allows unless given
    #[arg(long = "io-depth", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    io_depth: Option<u32>,
    /// Let threads read and write data files even where the kernel has io_uring
    #[arg(long = "io-threads")]
    io_threads: bool,
    /// Folders that statements of who is no sysadmin may name, besides the instance's.
    #[arg(skip)]
    allowed_folders: Vec<PathBuf>,
    /// Files that no statement opens.
    #[arg(skip)]
    protected_files: Vec<PathBuf>,
    /// What is told of each line of the error log.
    #[arg(skip)]
    log_echo: Option<engine::catalog::errorlog::Echo>,
}

impl InstanceArgs {
    /// Opens the instance, and makes it where there is none.
    fn open(&self) -> Result<Arc<Instance>, engine::SqlError> {
        self.open_within(Duration::ZERO)
    }

    /// Opens an instance that is there.
    fn open_existing(&self) -> Result<Arc<Instance>, engine::SqlError> {
        self.open_or_make(false, Duration::ZERO)
    }

    /// Why a database cannot be used, with the folder: it may be another one than was meant.
    fn told_of(&self, error: &engine::SqlError) -> String {
        format!("{error} (the instance in {}; --data names another one)", self.data.display())
    }

    /// Opens the instance, and makes it where there is none; waits for a process that has the
    /// folder open.
    fn open_within(&self, patience: Duration) -> Result<Arc<Instance>, engine::SqlError> {
        self.open_or_make(true, patience)
    }

    fn open_or_make(
        &self,
        make: bool,
        patience: Duration,
    ) -> Result<Arc<Instance>, engine::SqlError> {
        let failed = |e: String| engine::SqlError::of(types::msg::INSTANCE_NOT_OPENED, [&e]);
        let mut options = InstanceOptions {
            process_bytes: self.memory,
            own_process: true,
            query_bytes: self.query_memory,
            statement_bytes: self.max_query_memory,
            log_echo: self.log_echo.clone(),
            volumes: self.volumes.iter().cloned().collect(),
            trace_flags: self.trace_flags.clone(),
            url_devices: ringwood::url_devices(),
            read_only: self.read_only,
            must_exist: !make,
            allowed_folders: self.allowed_folders.clone(),
            protected_files: self.protected_files.clone(),
            ..InstanceOptions::new(&self.data)
        };
        let backend =
            if self.io_threads { disk::IoBackend::Threads } else { disk::IoBackend::Auto };
        let io = disk::IoOptions { backend, depth: self.io_depth };
        options.disk = Arc::new(disk::OsDisk::new(&options.data_dir).with_io(io));
        options.disk = self.placed(&options).map_err(|e| failed(e.to_string()))?;
        let end = Instant::now() + patience;
        let instance = loop {
            match Instance::open(options.clone()) {
                Err(InstanceError::InUse { .. }) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                other => break other.map_err(|e| failed(e.to_string()))?,
            }
        };
        // Without it everything works; only `ringwood top` cannot look in.
        let _ = instance.open_to_view();
        Ok(instance)
    }

    /// The disk that `--device` and `--device-path` ask for. Says on standard error what is a
    /// model.
    fn placed(&self, options: &InstanceOptions) -> Result<Arc<dyn disk::Disk>, disk::DiskError> {
        let real = options.disk.clone();
        let mut base = real.clone();
        if let Some(device) = &self.device {
            say::say(device.describe());
            base = model::open(device.clone(), real.clone())?;
        }
        if self.device_paths.is_empty() {
            return Ok(base);
        }
        let mut routes = model::Routes::new(&options.data_dir, base);
        for (folder, to) in &self.device_paths {
            let folder = match drive_letter(folder) {
                Some(letter) => options
                    .volumes
                    .get(&letter)
                    .cloned()
                    .unwrap_or_else(|| letter.to_string().into()),
                None => folder.clone(),
            };
            if let FolderPlacement::Device(device) = to {
                say::say(format_args!("{}: {}", folder.display(), device.describe()));
            }
            routes.place(&folder, to.clone(), real.clone())?;
        }
        Ok(Arc::new(routes))
    }
}

/// `E` of `E:`.
fn drive_letter(folder: &Path) -> Option<char> {
    let mut chars = folder.to_str()?.strip_suffix(':')?.chars();
    let letter = chars.next().filter(char::is_ascii_alphabetic)?;
    chars.next().is_none().then(|| letter.to_ascii_uppercase())
}

fn parse_device(text: &str) -> Result<model::Device, String> {
    model::device(text).map_err(|e| e.to_string())
}

fn parse_device_path(text: &str) -> Result<(PathBuf, FolderPlacement), String> {
    let (folder, to) = text.split_once('=').ok_or("expected DIR=DEVICE or DIR=FOLDER")?;
    if folder.is_empty() {
        return Err("expected DIR=DEVICE or DIR=FOLDER".into());
    }
    Ok((PathBuf::from(folder), FolderPlacement::parse(to).map_err(|e| e.to_string())?))
}

/// The smallest memory of the process, in bytes: restart recovery and a few sessions fit.
const MIN_MEMORY: u64 = 16 << 20;

/// Memory of the process.
fn parse_memory(text: &str) -> Result<u64, String> {
    let bytes = parse_megabytes(text)?;
    if bytes < MIN_MEMORY { Err("at least 16MB".into()) } else { Ok(bytes) }
}

/// The smallest memory of queries, in bytes: an operator has some hundred KB, a statement some of
/// them.
const MIN_QUERY_MEMORY: u64 = 4 << 20;

fn parse_query_memory(text: &str) -> Result<usize, String> {
    let bytes = parse_megabytes(text)?;
    if bytes < MIN_QUERY_MEMORY {
        return Err("at least 4MB".into());
    }
    usize::try_from(bytes).map_err(|_| format!("{text:?} is too large"))
}

/// The least memory of one statement, in bytes.
const MIN_STATEMENT_MEMORY: u64 = 1 << 20;

fn parse_statement_memory(text: &str) -> Result<usize, String> {
    let bytes = parse_megabytes(text)?;
    if bytes < MIN_STATEMENT_MEMORY {
        return Err("at least 1MB".into());
    }
    usize::try_from(bytes).map_err(|_| format!("{text:?} is too large"))
}

/// Memory such as `64MB`: KB, MB, GB and TB are powers of 1,024; a number alone is MB, as in SQL
/// Server's max server memory.
fn parse_megabytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if number { parse_size(&format!("{text}MB")) } else { parse_size(text) }
}

/// A size with its unit.
fn parse_size(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let digits = upper.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let factor: u64 = match upper[digits.len()..].trim() {
        "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        "T" | "TB" => 1 << 40,
        unit => return Err(format!("unknown unit {unit:?}: use KB, MB, GB or TB")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| format!("{text:?} is not a size"))?;
    number.checked_mul(factor).ok_or_else(|| format!("{text:?} is too large"))
}

fn parse_volume(text: &str) -> Result<(char, PathBuf), String> {
    let (drive, folder) = text.split_once('=').ok_or("expected LETTER=FOLDER")?;
    let mut letters = drive.trim_end_matches(':').chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() && !folder.is_empty() => {
            Ok((letter.to_ascii_uppercase(), PathBuf::from(folder)))
        }
        _ => Err("expected LETTER=FOLDER".into()),
    }
}

/// Parses the arguments and runs the command.
fn main() -> ExitCode {
    disk::start_heap();
    match Cli::parse().command {
        Command::Sql(args) => sql::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Repair(args) => repair::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("64MB"), Ok(64 << 20));
        assert_eq!(parse_size("2 gb"), Ok(2 << 30));
        assert_eq!(parse_memory("512"), Ok(512 << 20));
        assert_eq!(parse_memory("16 MB"), Ok(16 << 20));
        assert!(
            ["8", "1KB", "0", "", "-1", "64 B"].into_iter().all(|text| parse_memory(text).is_err())
        );
        assert_eq!(parse_query_memory("4"), Ok(4 << 20));
        assert!(["3", "4095KB", "", "x"].into_iter().all(|text| parse_query_memory(text).is_err()));
        assert!(
            parse_size("12XB").is_err()
                && parse_size("MB").is_err()
                && parse_size("99999999999TB").is_err()
        );
    }

    #[test]
    fn volumes() {
        assert_eq!(parse_volume("e=/mnt/x"), Ok(('E', PathBuf::from("/mnt/x"))));
        assert!(parse_volume("EE=/x").is_err() && parse_volume("E").is_err());
    }

    #[test]
    fn devices() {
        assert_eq!(parse_device("nvme").map(|d| d.name), Ok("nvme".into()));
        assert!(parse_device("floppy").is_err_and(|e| e.contains("hdd-raid10-8x7200")));
        assert!(matches!(parse_device_path("E:=ssd-4kn"), Ok((_, FolderPlacement::Device(_)))));
        assert!(matches!(parse_device_path("logs=/"), Ok((_, FolderPlacement::Folder(_)))));
        assert!(parse_device_path("=nvme").is_err() && parse_device_path("E").is_err());
        assert_eq!(drive_letter(Path::new("e:")), Some('E'));
        assert_eq!(drive_letter(Path::new("ee:")), None);
    }

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
