//! `ringwood lab`: list and run the studies, write and show their reports.

use clap::{Args, Subcommand, ValueEnum};
use lab::LabError;
use lab::machine::Machine;
use lab::peers::{self, PeerOptions};
use lab::report;
use lab::results::Results;
use lab::studies::{self, RunOptions, Scale, Study, vlf_count};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  ringwood lab list
  ringwood lab run all
  ringwood lab run vlf-count --scale standard --runs 5 --out ./results
  ringwood lab peers --rows 300000 --runs 5
  ringwood lab report --out ./results";

/// Run the studies.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

/// Scale on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum ScaleArg {
    /// Seconds: the shape
    Quick,
    /// Minutes: figures to rely on
    Standard,
    /// The author's own sizes
    Paper,
}

impl From<ScaleArg> for Scale {
    fn from(scale: ScaleArg) -> Scale {
        match scale {
            ScaleArg::Quick => Scale::Quick,
            ScaleArg::Standard => Scale::Standard,
            ScaleArg::Paper => Scale::Paper,
        }
    }
}

#[derive(Subcommand)]
enum LabCommand {
    /// Name the studies and what they need
    List,
    /// Run studies (names, or all) and write results.json, results.csv and report.html
    Run {
        /// Studies, or `all`
        #[arg(required = true)]
        studies: Vec<String>,
        /// Size
        #[arg(long, value_enum, default_value = "quick")]
        scale: ScaleArg,
        /// Rounds: every level runs once a round
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
        runs: u32,
        /// Folder for results
        #[arg(long, value_name = "DIR", default_value = "./lab-results")]
        out: PathBuf,
    },
    /// Run the same work on Ringwood, PostgreSQL, MariaDB and SQLite in turn (those that are installed)
    Peers {
        /// Customer rows
        #[arg(long, default_value_t = 300_000)]
        rows: u64,
        /// Rounds
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
        runs: u32,
        /// Only these targets
        #[arg(long = "target", value_name = "TARGET")]
        targets: Vec<String>,
        /// One-row inserts of the loop in one transaction
        #[arg(long, default_value_t = 50_000)]
        loop_inserts: u64,
        /// One-row durable commits
        #[arg(long, default_value_t = 5_000)]
        commits: u64,
        /// Folder for results
        #[arg(long, value_name = "DIR", default_value = "./lab-results-peers")]
        out: PathBuf,
    },
    /// Show the report of an earlier run and write its files again
    Report {
        /// Folder of the results
        #[arg(long, value_name = "DIR", default_value = "./lab-results")]
        out: PathBuf,
    },
    /// The process that vlf-count kills in the middle of an update
    #[command(hide = true)]
    Victim {
        #[arg(long)]
        data: PathBuf,
        #[arg(long)]
        bytes: u64,
        #[arg(long)]
        memory: u64,
    },
}

fn list() {
    for study in studies::all() {
        println!("{:<12} {}", study.name(), study.question());
        println!("{:<12} published: {}", "", study.source());
        for scale in [Scale::Quick, Scale::Standard, Scale::Paper] {
            let (bytes, seconds) = study.needs(scale);
            println!(
                "{:<12}   {:<9} {:>5.1} GB of disk, about {} s",
                "",
                scale.name(),
                bytes as f64 / 1e9,
                seconds
            );
        }
    }
}

fn chosen(names: &[String]) -> Result<Vec<Box<dyn Study>>, LabError> {
    if names.iter().any(|n| n == "all") {
        return Ok(studies::all());
    }
    names
        .iter()
        .map(|n| {
            studies::find(n)
                .ok_or_else(|| LabError::Request(format!("there is no study {n:?}: see `ringwood lab list`")))
        })
        .collect()
}

/// Refuses what does not fit on the disk.
fn check_space(study: &dyn Study, options: &RunOptions) -> Result<(), LabError> {
    use disk::Disk;
    let (bytes, seconds) = study.needs(options.scale);
    let free = disk::OsDisk::new(&options.out)
        .free_space(Path::new("."))
        .map_err(|e| LabError::Request(e.to_string()))?;
    if free < bytes + (1 << 30) {
        return Err(LabError::Request(format!(
            "{} at {} scale needs {:.1} GB of disk; {} has {:.1} GB free",
            study.name(),
            options.scale.name(),
            bytes as f64 / 1e9,
            options.out.display(),
            free as f64 / 1e9
        )));
    }
    eprintln!("{}: {:.1} GB of disk, about {seconds} s at 5 rounds", study.name(), bytes as f64 / 1e9);
    Ok(())
}

fn finish(results: &Results, out: &Path) -> Result<(), LabError> {
    report::write_all(results, out)?;
    print!("{}", report::terminal(results));
    eprintln!("\nwritten: {0}/results.json, {0}/results.csv, {0}/report.html", out.display());
    Ok(())
}

fn begin(out: &Path) -> Result<Results, LabError> {
    std::fs::create_dir_all(out)?;
    Ok(Results { ringwood: env!("CARGO_PKG_VERSION").into(), machine: Machine::probe(out), studies: vec![] })
}

fn execute(command: &LabCommand) -> Result<(), LabError> {
    match command {
        LabCommand::List => {
            list();
            Ok(())
        }
        LabCommand::Run { studies, scale, runs, out } => {
            let chosen = chosen(studies)?;
            let mut results = begin(out)?;
            let options = RunOptions {
                scale: (*scale).into(),
                runs: *runs as usize,
                out: out.canonicalize()?,
                progress: true,
            };
            for study in &chosen {
                check_space(study.as_ref(), &options)?;
                results.studies.push(study.run(&options)?);
            }
            finish(&results, out)
        }
        LabCommand::Peers { rows, runs, targets, loop_inserts, commits, out } => {
            let mut results = begin(out)?;
            let options = PeerOptions {
                rows: *rows,
                runs: *runs as usize,
                targets: targets.clone(),
                loop_inserts: *loop_inserts,
                commits: *commits,
            };
            results.studies.push(peers::run(&options, out, &|text| eprintln!("peers: {text}"))?);
            finish(&results, out)
        }
        LabCommand::Report { out } => finish(&report::read(out)?, out),
        LabCommand::Victim { data, bytes, memory } => vlf_count::victim(data, *bytes, *memory),
    }
}

/// Runs the command.
pub fn run(args: &LabArgs) -> ExitCode {
    match execute(&args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
