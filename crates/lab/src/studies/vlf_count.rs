//! vlf-count: what 20,000 virtual log files cost instead of 16. The log is made as the author of the published
//! experiment made it: 512 KB to begin with, small steps, a dummy table of char(8000) filled until the log has the
//! size, then truncation and one expansion. Measured: insert-select, update of every row, delete of every row, and
//! restart recovery after a SIGKILL in the middle of the update.

use super::{RunOptions, Scale, Study};
use crate::embedded::{self, Client};
use crate::results::{Io, StudyResult, Wait};
use crate::target::{bulk_insert, customer_named};
use crate::{LabError, tpcc};
use engine::Instance;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// The study.
pub struct VlfCount;

const LEVELS: [&str; 2] = ["16", "20000"];
const DATABASE: &str = "dbVLF";
const FACTOR: &str = "VLFs";

/// Sizes of a scale. Rows and log shrink together; the number of VLFs does not.
struct Sizes {
    rows: u64,
    /// Growth step of the 20,000-VLF log, KB; two VLFs a step.
    step_kb: u64,
    /// Size up to which it grows by steps, KB.
    stepped_kb: u64,
    /// Final size of both logs, KB.
    log_kb: u64,
    data_kb: u64,
    memory: u64,
}

fn sizes(scale: Scale) -> Sizes {
    let (rows, step_kb, data_gb, memory) = match scale {
        Scale::Quick => (100_000, 128, 2, 1 << 30),
        Scale::Standard => (1_000_000, 256, 6, 4 << 30),
        Scale::Paper => (3_000_000, 512, 20, 8 << 30),
    };
    let stepped_kb = step_kb * 10_000;
    Sizes { rows, step_kb, stepped_kb, log_kb: stepped_kb * 2, data_kb: data_gb << 20, memory }
}

/// The author's seconds.
fn published(level: &str, measure: &str) -> Option<f64> {
    match (measure, level) {
        ("insert", "16") => Some(281.0),
        ("insert", _) => Some(1069.0),
        ("update", "16") => Some(174.0),
        ("update", _) => Some(1554.0),
        ("delete", "16") => Some(193.0),
        ("delete", _) => Some(936.0),
        _ => None,
    }
}

/// Prints progress, when asked.
struct Progress<'a>(&'a RunOptions);

impl Progress<'_> {
    fn say(&self, text: &str) {
        if self.0.progress {
            eprintln!("vlf-count: {text}");
        }
    }
}

fn create_database(client: &mut Client, sizes: &Sizes, log_kb: u64, growth_kb: u64) -> Result<(), LabError> {
    client.run(&format!(
        "create database {DATABASE} on (name = {DATABASE}, filename = '{DATABASE}.mdf', size = {}KB)
         log on (name = {DATABASE}_log, filename = '{DATABASE}_log.ldf', size = {log_kb}KB, filegrowth = {growth_kb}KB)",
        sizes.data_kb
    ))?;
    client.run(&format!("alter database {DATABASE} set compatibility_level = 100"))?;
    client.run(&format!("alter database {DATABASE} set recovery simple"))?;
    client.run(&format!("use {DATABASE}")).map(drop)
}

fn log_kb(client: &mut Client) -> Result<u64, LabError> {
    Ok(client.number("select size from sys.database_files where type = 1")? as u64 * 8)
}

/// Grows the log by its small steps: an open transaction holds truncation while another session fills a dummy table.
fn grow_by_steps(
    instance: &Arc<Instance>,
    client: &mut Client,
    sizes: &Sizes,
    progress: &Progress,
) -> Result<(), LabError> {
    client.run("create table dummy (a char(8000)); create table holder (a int)")?;
    let mut holder = Client::new(instance, Some(DATABASE))?;
    holder.run("begin tran; insert holder values (1)")?;
    let mut told = Instant::now();
    while log_kb(client)? < sizes.stepped_kb {
        client.run("set nocount on; declare @i int = 0; begin tran; while @i < 500 begin insert dummy values ('x'); set @i += 1 end; commit")?;
        if told.elapsed().as_secs() >= 2 {
            told = Instant::now();
            progress.say(&format!(
                "growing by {} KB steps: {} of {} MB",
                sizes.step_kb,
                log_kb(client)? / 1024,
                sizes.stepped_kb / 1024
            ));
        }
    }
    holder.run("commit")?;
    client.run("truncate table dummy; checkpoint; drop table dummy; drop table holder; checkpoint")?;
    Ok(())
}

fn set_up(
    level: &str,
    folder: &Path,
    customers: &Path,
    sizes: &Sizes,
    progress: &Progress,
) -> Result<String, LabError> {
    std::fs::create_dir_all(folder)?;
    let instance = embedded::open(folder, sizes.memory)?;
    let mut client = Client::new(&instance, None)?;
    if level == "16" {
        create_database(&mut client, sizes, sizes.log_kb, sizes.log_kb / 16)?;
    } else {
        create_database(&mut client, sizes, 512, sizes.step_kb)?;
        grow_by_steps(&instance, &mut client, sizes, progress)?;
        client.run(&format!(
            "alter database {DATABASE} modify file (name = {DATABASE}_log, size = {}KB)",
            sizes.log_kb
        ))?;
    }
    let vlfs = client.number(&format!("select count(*) from sys.dm_db_log_info(db_id('{DATABASE}'))"))?;
    client.run(&customer_named("source"))?;
    client.run(&bulk_insert("source", customers))?;
    client.run("checkpoint")?;
    drop(client);
    instance.close().map_err(|e| LabError::Request(format!("closing the instance: {}", e.message)))?;
    Ok(format!(
        "{level}: {vlfs:.0} VLFs, log {} MB, data file {} MB",
        sizes.log_kb / 1024,
        sizes.data_kb / 1024
    ))
}

/// `customer` with its clustered index from the source rows, as "bulk copied, index rebuilt" left it.
fn make_customer(client: &mut Client) -> Result<(), LabError> {
    client.run("drop table if exists customer; drop table if exists customer_tmp")?;
    client.run(&customer_named("customer"))?;
    client.run("insert customer select * from source")?;
    client.run("create unique clustered index ci_customer on customer (c_w_id, c_d_id, c_id)")?;
    client.run("checkpoint").map(drop)
}

/// Counters that the report shows: the difference over the measured statements.
struct Counters {
    waits: Vec<(String, i64, i64)>,
    files: Vec<(String, [i64; 4])>,
}

impl Counters {
    fn read(client: &mut Client) -> Result<Counters, LabError> {
        let number = |v: &engine::Value| embedded::as_number(v).unwrap_or(0.0) as i64;
        let waits = client
            .run("select wait_type, waiting_tasks_count, wait_time_ms from sys.dm_os_wait_stats where waiting_tasks_count > 0")?
            .into_iter()
            .flatten()
            .map(|r| (r[0].to_string(), number(&r[1]), number(&r[2])))
            .collect();
        let files = client
            .run("select file_id, num_of_writes, num_of_bytes_written, num_of_reads, num_of_bytes_read from sys.dm_io_virtual_file_stats(db_id(), null)")?
            .into_iter()
            .flatten()
            .map(|r| {
                let name = if number(&r[0]) == 2 { "log" } else { "data" };
                (name.to_owned(), [number(&r[1]), number(&r[2]), number(&r[3]), number(&r[4])])
            })
            .collect();
        Ok(Counters { waits, files })
    }

    /// Adds `self - before` to the study's sums for `level`.
    fn add_since(&self, before: &Counters, level: &str, study: &mut StudyResult) {
        for (name, count, ms) in &self.waits {
            let (c0, ms0) = before.waits.iter().find(|w| w.0 == *name).map_or((0, 0), |w| (w.1, w.2));
            if count - c0 <= 0 {
                continue;
            }
            match study.waits.iter_mut().find(|w| w.level == level && w.wait_type == *name) {
                Some(wait) => {
                    wait.count += count - c0;
                    wait.ms += ms - ms0;
                }
                None => study.waits.push(Wait {
                    level: level.into(),
                    wait_type: name.clone(),
                    count: count - c0,
                    ms: ms - ms0,
                }),
            }
        }
        for (index, (name, now)) in self.files.iter().enumerate() {
            let old = before.files.get(index).map_or([0; 4], |f| f.1);
            let d: Vec<i64> = now.iter().zip(old).map(|(n, o)| n - o).collect();
            match study.io.iter_mut().find(|i| i.level == level && i.file == *name) {
                Some(io) => {
                    io.writes += d[0];
                    io.bytes_written += d[1];
                    io.reads += d[2];
                    io.bytes_read += d[3];
                }
                None => study.io.push(Io {
                    level: level.into(),
                    file: name.clone(),
                    writes: d[0],
                    bytes_written: d[1],
                    reads: d[2],
                    bytes_read: d[3],
                }),
            }
        }
    }
}

/// One round of one level: the three statements, then the crash and the restart.
fn round(level: &str, folder: &Path, sizes: &Sizes, study: &mut StudyResult) -> Result<(), LabError> {
    let instance = embedded::open(folder, sizes.memory)?;
    let mut client = Client::new(&instance, Some(DATABASE))?;
    make_customer(&mut client)?;
    client.run("select * into customer_tmp from customer where 1 = 2; checkpoint")?;
    let before = Counters::read(&mut client)?;
    for (measure, statement) in [
        ("insert", "insert customer_tmp select * from customer"),
        ("update", "update customer set c_data = lower(c_data)"),
        ("delete", "delete from customer"),
    ] {
        let seconds = client.timed(statement)?;
        study.record(FACTOR, level, measure, "s", seconds, published(level, measure));
        client.run("checkpoint")?;
    }
    Counters::read(&mut client)?.add_since(&before, level, study);
    let counts = (
        client.number("select count(*) from customer_tmp")?,
        client.number("select count(*) from customer")?,
    );
    if counts != (sizes.rows as f64, 0.0) {
        return Err(LabError::Request(format!("wrong rows after the statements: {counts:?}")));
    }
    make_customer(&mut client)?;
    drop(client);
    instance.close().map_err(|e| LabError::Request(format!("closing the instance: {}", e.message)))?;
    drop(instance);
    crash_in_update(folder, sizes)?;
    let begin = Instant::now();
    let instance = embedded::open(folder, sizes.memory)?;
    let mut client = Client::new(&instance, Some(DATABASE))?;
    study.record(FACTOR, level, "recovery", "s", begin.elapsed().as_secs_f64(), None);
    if client
        .number("select count(*) from customer where c_data = lower(c_data) collate Latin1_General_BIN2")?
        != 0.0
    {
        return Err(LabError::Request("recovery kept rows of the update that never committed".into()));
    }
    drop(client);
    instance.close().map_err(|e| LabError::Request(format!("closing the instance: {}", e.message)))
}

/// Runs the update in a child process, which kills itself with SIGKILL once half of the update is in the log.
fn crash_in_update(folder: &Path, sizes: &Sizes) -> Result<(), LabError> {
    // The update logs about 1,000 bytes a row (500 before, 500 after).
    let half = sizes.rows * 500;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["lab", "victim", "--data"])
        .arg(folder)
        .args(["--bytes", &half.to_string(), "--memory", &sizes.memory.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut last = String::new();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines() {
            last = line?;
        }
    }
    let status = child.wait()?;
    if last != "killing" {
        return Err(LabError::Request(format!(
            "the child that should die in the middle of the update ended: {status}, {last}"
        )));
    }
    Ok(())
}

/// The child of [`crash_in_update`]: updates, and dies by SIGKILL when the log has grown by `bytes`.
pub fn victim(folder: &Path, bytes: u64, memory: u64) -> Result<(), LabError> {
    let instance = embedded::open(folder, memory)?;
    let mut watcher = Client::new(&instance, Some(DATABASE))?;
    let used = "select used_log_space_in_bytes from sys.dm_db_log_space_usage";
    watcher.run("checkpoint")?;
    let start = watcher.number(used)?;
    let updating = {
        let instance = instance.clone();
        std::thread::spawn(move || -> Result<(), LabError> {
            Client::new(&instance, Some(DATABASE))?
                .run("update customer set c_data = lower(c_data)")
                .map(drop)
        })
    };
    while !updating.is_finished() {
        if watcher.number(used)? - start >= bytes as f64 {
            println!("killing");
            // SIGKILL to ourselves: no destructor runs, nothing is flushed.
            let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
        }
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
    println!("the update ended before {bytes} bytes were logged");
    Ok(())
}

impl Study for VlfCount {
    fn name(&self) -> &'static str {
        "vlf-count"
    }

    fn question(&self) -> &'static str {
        "What do insert, update, delete and restart recovery cost on a log of 20,000 virtual log files instead of 16?"
    }

    fn source(&self) -> &'static str {
        "Linchi Shea, \"Performance impact: a large number of virtual log files\", SQL Server 2008"
    }

    fn needs(&self, scale: Scale) -> (u64, u64) {
        let s = sizes(scale);
        let seconds = match scale {
            Scale::Quick => 60,
            Scale::Standard => 600,
            Scale::Paper => 2_400,
        };
        ((2 * (s.log_kb + s.data_kb)) * 1024 + s.rows * 700, seconds)
    }

    fn run(&self, options: &RunOptions) -> Result<StudyResult, LabError> {
        let sizes = sizes(options.scale);
        let progress = Progress(options);
        let scratch = options.out.join("scratch-vlf-count");
        let _ = std::fs::remove_dir_all(&scratch);
        std::fs::create_dir_all(&scratch)?;
        let customers = scratch.join("customer.txt");
        progress.say(&format!("writing {} customer rows", sizes.rows));
        tpcc::write_customers(&customers, sizes.rows, 1)?;
        let mut study = StudyResult {
            study: self.name().into(),
            scale: options.scale.name().into(),
            target: "ringwood".into(),
            device: "real".into(),
            question: self.question().into(),
            meaning: String::new(),
            setup: vec![
                format!("published: {}", self.source()),
                format!(
                    "{} customer rows, buffer pool {} MB, {} rounds",
                    sizes.rows,
                    sizes.memory >> 20,
                    options.runs
                ),
            ],
            cells: vec![],
            waits: vec![],
            io: vec![],
        };
        let folders: Vec<(&str, PathBuf)> = LEVELS.iter().map(|l| (*l, scratch.join(l))).collect();
        for (level, folder) in &folders {
            progress.say(&format!("making the database with {level} VLFs"));
            study.setup.push(set_up(level, folder, &customers, &sizes, &progress)?);
        }
        let begin = Instant::now();
        for run in 0..options.runs {
            // The order alternates, so that neither level always comes first.
            let order: Vec<_> =
                if run % 2 == 0 { folders.iter().collect() } else { folders.iter().rev().collect() };
            for (level, folder) in order {
                round(level, folder, &sizes, &mut study)?;
            }
            let left = begin.elapsed().as_secs_f64() / (run + 1) as f64 * (options.runs - run - 1) as f64;
            progress.say(&format!("round {} of {}, about {left:.0} s left", run + 1, options.runs));
        }
        study.finish(LEVELS[0]);
        study.meaning = meaning(&study);
        std::fs::remove_dir_all(&scratch)?;
        Ok(study)
    }
}

/// Two sentences made from the figures.
fn meaning(study: &StudyResult) -> String {
    let ratio = |m: &str| study.cell(LEVELS[1], m).and_then(|c| c.ratio_to_baseline).unwrap_or(f64::NAN);
    let ratios = ["insert", "update", "delete", "recovery"].map(ratio);
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    format!(
        "With 20,000 VLFs instead of 16 the insert takes {:.2}, the update {:.2}, the delete {:.2} and recovery {:.2} times as long. {}",
        ratios[0],
        ratios[1],
        ratios[2],
        ratios[3],
        if worst <= 1.05 {
            "The number of VLFs does not matter here; SQL Server 2008 took 3.80, 8.93 and 4.85 times as long."
        } else {
            "At least one of them is slower by more than 5 %; SQL Server 2008 took 3.80, 8.93 and 4.85 times as long."
        }
    )
}
