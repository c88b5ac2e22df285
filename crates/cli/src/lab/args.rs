//! What the command line of `ringwood lab` takes.

use clap::{Args, Subcommand, ValueEnum};
use lab::study::Scale;
use std::path::PathBuf;
use targets::device;

const EXAMPLES: &str = "Examples:
  ringwood lab list
  ringwood lab run all
  ringwood lab run vlf-count --scale standard --runs 5 --out ./results
  ringwood lab run delayed-durability --target ringwood postgres mariadb sqlite
  SQLCMDPASSWORD=... ringwood lab run all --target 'mssql://sa@localhost:1433/?data=/data&log=/log' --restart-with 'docker $1 sql'
  ringwood lab run data-files --device-path data=/mnt/a --device-path data2=/mnt/b
  ringwood lab run all --scale standard --resume
  ringwood lab run all --scale paper --notify https://hooks.example.org/services/KEY
  ringwood lab run tpcc --warehouses 4 --connections 1 8 32 --target ringwood postgres
  ringwood lab run wire --target ringwood postgres
  ringwood lab peers --rows 300000 --runs 6
  ringwood lab compare ./results-before ./results-after
  ringwood lab report --out ./results";

/// Run the studies.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct LabArgs {
    #[command(subcommand)]
    pub(super) command: LabCommand,
}

/// Scale on the command line.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum ScaleArg {
    /// A second: does everything work?
    #[value(hide = true)]
    Tiny,
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
            ScaleArg::Tiny => Scale::Tiny,
            ScaleArg::Quick => Scale::Quick,
            ScaleArg::Standard => Scale::Standard,
            ScaleArg::Paper => Scale::Paper,
        }
    }
}

/// What a run of studies is asked for.
#[derive(Args)]
pub(super) struct RunArgs {
    /// Studies, or `all`; or `tpcc` or `wire` alone
    #[arg(required = true)]
    pub(super) studies: Vec<String>,
    /// Size
    #[arg(long, value_enum, default_value = "quick")]
    pub(super) scale: ScaleArg,
    /// Rounds: every configuration runs once a round; on a modelled device half as many more at
    /// most, for those that measured this machine
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// Go on until every bound is decided, at most MAX rounds; intervals are corrected for looking
    /// more than once
    #[arg(long, value_name = "MAX", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(super) until_decided: Option<u32>,
    /// Engines: ringwood (default), served (ringwood serve, by a client), postgres, mariadb,
    /// sqlite, or a server that speaks TDS:
    /// mssql://user@host:port/?data=DIR&data2=DIR&log=DIR&backup=DIR (its password in
    /// SQLCMDPASSWORD)
    #[arg(long = "target", value_name = "TARGET", num_args = 1.., value_parser = known_or_address)]
    pub(super) targets: Vec<String>,
    /// The command that ends and starts that server, run by sh with $1 = kill, stop or start;
    /// without it recovery is left out
    #[arg(long, value_name = "COMMAND")]
    pub(super) restart_with: Option<String>,
    /// Disks: `real`, or the name of a model; each study's own choice unless given
    #[arg(long = "device", value_name = "DEVICE", num_args = 1..)]
    pub(super) devices: Vec<String>,
    /// Folder of a mount for one kind of file: data, data2, log or backup
    #[arg(long = "device-path", value_name = "KIND=DIR", value_parser = device::parse_mount)]
    pub(super) mounts: Vec<(String, PathBuf)>,
    /// Go on with a run that was interrupted
    #[arg(long)]
    pub(super) resume: bool,
    /// Seed of the order of runs; drawn from the clock unless given, and in the report
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Make databases that are kept from round to round again every N rounds; N rounds on the same
    /// databases count once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) fresh_every: u32,
    /// Take the numbers of repeats from the run in that folder, without a calibration round
    #[arg(long, value_name = "DIR")]
    pub(super) repeats_from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    /// Say at the end how it went: to a webhook (http://... or https://...), or by mail
    /// (smtp[s]://[user:password@]host[:port]/?from=a@x&to=b@y[,c@z]; builds with --features mail)
    #[arg(long, value_name = "URL")]
    pub(super) notify: Option<String>,
    /// Make each measured step slower by so many percent: for tests of `lab compare`
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, hide = true)]
    pub(super) slow_down: f64,
    /// Folder for databases and results
    #[arg(long, value_name = "DIR", default_value = "./lab-results")]
    pub(super) out: PathBuf,
}

/// What `lab run tpcc` and `lab run wire` are asked for besides.
#[derive(Args)]
#[command(next_help_heading = "Options of tpcc and wire")]
pub(super) struct LoadArgs {
    /// tpcc: warehouses
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) warehouses: u32,
    /// tpcc: numbers of connections, each a level
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1, 8, 32], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) connections: Vec<u32>,
    /// tpcc: transactions as stored procedures, as single statements, or both
    #[arg(long, value_enum, default_value = "both")]
    pub(super) mode: ModeArg,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 10.0)]
    pub(super) seconds: f64,
    /// tpcc: seconds before them
    #[arg(long, default_value_t = 2.0)]
    pub(super) ramp: f64,
    /// wire: connections that insert
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) inserting: u32,
    /// wire: numbers of connections that select, each a level
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1, 16], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) selecting: Vec<u32>,
    /// wire: inserts in one message, from as many connections as select; 0 for none
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(super) batch: u32,
    /// wire: idle connections beside a point query; 0 for none
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub(super) idle: u32,
    /// Megabytes of the buffer pools of the servers that are started for it
    #[arg(long, default_value_t = 2048)]
    pub(super) memory: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(super) enum ModeArg {
    Procedures,
    Statements,
    Both,
}

/// What `lab peers` is asked for.
#[derive(Args)]
pub(super) struct PeersArgs {
    /// Customer rows
    #[arg(long, default_value_t = 300_000)]
    pub(super) rows: u64,
    /// Rounds: every engine runs once a round, alone; fewer than 6 have no intervals
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// Only these engines; besides postgres there are postgres-shipped (its own settings) and
    /// postgres-torn (full_page_writes off)
    #[arg(long = "target", value_name = "TARGET", num_args = 1.., value_parser = known_target)]
    pub(super) targets: Vec<String>,
    /// One-row inserts of the loop in one transaction; 0 leaves this work out, as for the four
    /// below
    #[arg(long, default_value_t = 50_000)]
    pub(super) loop_inserts: u64,
    /// One-row durable commits, repeated until --seconds have passed
    #[arg(long, default_value_t = 5_000)]
    pub(super) commits: u64,
    /// Seconds that commits take at least
    #[arg(long, default_value_t = 5.0)]
    pub(super) seconds: f64,
    /// One-row delayed commits, repeated until --seconds have passed
    #[arg(long, default_value_t = 50_000)]
    pub(super) delayed: u64,
    /// Rows of about 1,000 bytes that 16 connections insert together
    #[arg(long, default_value_t = 256_000)]
    pub(super) load_rows: u64,
    /// Updates of one 8,000-byte row in one transaction
    #[arg(long, default_value_t = 80_000)]
    pub(super) updates: u64,
    /// Seconds after which one piece of work is stopped
    #[arg(long, default_value_t = 60)]
    pub(super) limit: u64,
    /// Seed of the order of engines and of the kinds of work; drawn from the clock unless given,
    /// and in the report
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Make the databases again every N rounds; N rounds on the same databases count once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) fresh_every: u32,
    /// Folder for results
    #[arg(long, value_name = "DIR", default_value = "./lab-results-peers")]
    pub(super) out: PathBuf,
}

/// What `lab compare` is asked for.
#[derive(Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(super) struct CompareArgs {
    /// Folders of results, the one of before first; with --binaries the studies; with --check one
    /// folder
    #[arg(required = true, value_name = "FOLDER|STUDY")]
    pub(super) what: Vec<String>,
    /// Run the studies with both of these ringwood commands in turns, the one of before first
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "check")]
    pub(super) binaries: Vec<PathBuf>,
    /// Rounds of an interleaved comparison
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) rounds: u32,
    /// Size of the studies
    #[arg(long, value_enum, default_value = "quick")]
    pub(super) scale: ScaleArg,
    /// Disk: `real`, or the name of a model
    #[arg(long = "device", value_name = "DEVICE", num_args = 1..)]
    pub(super) devices: Vec<String>,
    /// Seed of the coin that says which build is first in a round; drawn from the clock unless
    /// given
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Go on with an interleaved comparison that was interrupted
    #[arg(long, requires = "binaries")]
    pub(super) resume: bool,
    /// Deal the rounds of one run out to two sides, and say how often a build is told from itself
    #[arg(long)]
    pub(super) check: bool,
    /// How many comparisons --check makes
    #[arg(long, default_value_t = 100, requires = "check")]
    pub(super) comparisons: usize,
    /// Make the second side slower by so many percent: with --check its figures, with --binaries
    /// its measured steps
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, hide = true)]
    pub(super) slow_down: f64,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Folder for the results of an interleaved comparison (folders a and b in it)
    #[arg(long, value_name = "DIR", default_value = "./lab-compare")]
    pub(super) out: PathBuf,
}

const COMPARE_EXAMPLES: &str = "Examples:
  ringwood lab compare ./before ./after
  ringwood lab compare --binaries ./ringwood-old ./ringwood-new vlf-count log-growth
  ringwood lab compare --binaries ./ringwood ./ringwood vlf-count --rounds 24 --slow-down 5
  ringwood lab compare --check ./lab-results --rounds 24";

const TPCH_EXAMPLES: &str = "\
Examples:
  ringwood lab tpch --scale 0.2 --target postgres
  ringwood lab tpch --scale 1 --query 1 6 17 --runs 5
  ringwood lab tpch --scale 1 --runs 1 --limit 300        checks the published answers";

/// What `lab tpch` is asked for.
#[derive(Args)]
#[command(after_help = TPCH_EXAMPLES)]
pub(super) struct TpchArgs {
    /// Scale factor: 1 is about 1 GB of rows
    #[arg(long, default_value_t = 0.2)]
    pub(super) scale: f64,
    /// Rounds: every engine runs every query once a round
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// Only these queries
    #[arg(long = "query", value_name = "N", num_args = 1..)]
    pub(super) queries: Vec<usize>,
    /// An engine beside Ringwood: postgres (feature peers)
    #[arg(long = "target", value_name = "TARGET", num_args = 1.., value_parser = ["ringwood", "postgres"])]
    pub(super) targets: Vec<String>,
    /// Seconds after which a query is stopped
    #[arg(long, default_value_t = 30)]
    pub(super) limit: u64,
    /// Megabytes of each buffer pool
    #[arg(long, default_value_t = 2048)]
    pub(super) memory: u64,
    /// Show the results as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Folder of the databases, which are used again, and of results.json
    #[arg(long, value_name = "DIR", default_value = "./lab-results/tpch")]
    pub(super) out: PathBuf,
}

#[derive(Subcommand)]
pub(super) enum LabCommand {
    /// Name the studies and what they need
    List,
    /// Run studies (names, or all) and write results.json, results.csv and report.html
    Run(RunArgs),
    /// Run the same work on Ringwood, PostgreSQL, MariaDB and SQLite in turn (those that are
    /// installed; feature peers)
    Peers(PeersArgs),
    /// Run the 22 queries of TPC-H on Ringwood and PostgreSQL in turns, check their rows, show the
    /// times
    Tpch(TpchArgs),
    /// Did a change cost anything? Hold two folders of results against each other, or run two
    /// builds in turns. Exit code: 0 no difference or faster, 1 slower, 2 it could not be compared
    Compare(CompareArgs),
    /// Show the report of an earlier run and write its files again
    Report {
        /// Folder of the results
        #[arg(long, value_name = "DIR", default_value = "./lab-results")]
        out: PathBuf,
    },
    /// The process that a recovery run kills in the middle of an update
    #[command(hide = true)]
    Victim {
        #[arg(long)]
        parent: u32,
        #[arg(long)]
        data: PathBuf,
        #[arg(long)]
        database: String,
        /// Updates until so many bytes are in the log
        #[arg(long, conflicts_with = "commits", required_unless_present = "commits")]
        bytes: Option<u64>,
        /// Commits so many rows with delayed durability
        #[arg(long, requires = "window")]
        commits: Option<u64>,
        /// Window of delayed durability, KB
        #[arg(long)]
        window: Option<u32>,
        /// Makes them durable before it dies
        #[arg(long)]
        flush: bool,
        #[arg(long)]
        memory: u64,
        #[arg(long = "volume", value_parser = crate::parse_volume)]
        volumes: Vec<(char, PathBuf)>,
    },
}

/// An address is read later: errors of clap would repeat its password.
fn known_or_address(name: &str) -> Result<String, String> {
    if targets::is_address(name) { Ok(name.to_owned()) } else { known_target(name) }
}

fn known_target(name: &str) -> Result<String, String> {
    targets::find(name, None).map(|t| t.name().to_owned()).map_err(|e| e.to_string())
}
