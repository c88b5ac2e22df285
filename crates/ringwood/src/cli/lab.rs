//! `ringwood lab`: list and run the studies, write and show their reports.

use super::say::{print, say, write_failed};
use clap::{Args, Subcommand, ValueEnum};
use lab::compare::interleave::{self, Interleave};
use lab::compare::{self, Finding};
use lab::frame::{self, Options, Scale, duration};
use lab::notify::Address;
use lab::peers::{self, PeerOptions};
use lab::results::Results;
use lab::tpcc::{Mode, Sizes, TpccOptions};
use lab::tpch::TpchOptions;
use lab::wire::WireOptions;
use lab::{LabError, device, embedded, report, studies, target};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  ringwood lab list
  ringwood lab run all
  ringwood lab run vlf-count --scale standard --runs 5 --out ./results
  ringwood lab run delayed-durability --target ringwood postgres mariadb sqlite
  SQLCMDPASSWORD=... ringwood lab run all --target 'mssql://sa@localhost:1433/?data=/data&log=/log' --restart-with 'docker $1 sql'
  ringwood lab run data-files --device-path data=/mnt/a --device-path data2=/mnt/b
  ringwood lab run all --scale standard --resume
  ringwood lab run all --scale paper --notify 'smtp://localhost/?from=lab@example.org&to=me@example.org'
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
    command: LabCommand,
}

/// Scale on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum ScaleArg {
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
struct RunArgs {
    /// Studies, or `all`; or `tpcc` or `wire` alone
    #[arg(required = true)]
    studies: Vec<String>,
    /// Size
    #[arg(long, value_enum, default_value = "quick")]
    scale: ScaleArg,
    /// Rounds: every configuration runs once a round
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Go on until every bound is decided, at most MAX rounds; intervals are corrected for looking more than once
    #[arg(long, value_name = "MAX", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    until_decided: Option<u32>,
    /// Engines: ringwood (default), postgres, mariadb, sqlite, or a server that speaks TDS:
    /// mssql://user@host:port/?data=DIR&data2=DIR&log=DIR&backup=DIR (its password in SQLCMDPASSWORD)
    #[arg(long = "target", value_name = "TARGET", num_args = 1.., value_parser = known_or_address)]
    targets: Vec<String>,
    /// The command that ends and starts that server, run by sh with $1 = kill, stop or start; without it recovery is left out
    #[arg(long, value_name = "COMMAND")]
    restart_with: Option<String>,
    /// Disks: `real`, or the name of a model; each study's own choice unless given
    #[arg(long = "device", value_name = "DEVICE", num_args = 1..)]
    devices: Vec<String>,
    /// Folder of a mount for one kind of file: data, data2, log or backup
    #[arg(long = "device-path", value_name = "KIND=DIR", value_parser = device::parse_mount)]
    mounts: Vec<(String, PathBuf)>,
    /// Go on with a run that was interrupted
    #[arg(long)]
    resume: bool,
    /// Seed of the order of runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    load: LoadArgs,
    /// Say at the end how it went: to a webhook (http://... or https://...), or by mail
    /// (smtp[s]://[user:password@]host[:port]/?from=a@x&to=b@y[,c@z])
    #[arg(long, value_name = "URL")]
    notify: Option<String>,
    /// Make each measured step slower by so many percent: for tests of `lab compare`
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, hide = true)]
    slow_down: f64,
    /// Folder for databases and results
    #[arg(long, value_name = "DIR", default_value = "./lab-results")]
    out: PathBuf,
}

/// What `lab run tpcc` and `lab run wire` are asked for besides.
#[derive(Args)]
#[command(next_help_heading = "Options of tpcc and wire")]
struct LoadArgs {
    /// tpcc: warehouses
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    warehouses: u32,
    /// tpcc: numbers of connections, each a level
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1, 8, 32], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: Vec<u32>,
    /// tpcc: transactions as stored procedures, as single statements, or both
    #[arg(long, value_enum, default_value = "both")]
    mode: ModeArg,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// tpcc: seconds before them
    #[arg(long, default_value_t = 2.0)]
    ramp: f64,
    /// wire: connections that insert
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    inserting: u32,
    /// wire: numbers of connections that select, each a level
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1, 16], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    selecting: Vec<u32>,
    /// wire: idle connections beside a point query; 0 for none
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    idle: u32,
    /// Megabytes of the buffer pools of the servers that are started for it
    #[arg(long, default_value_t = 2048)]
    memory: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ModeArg {
    Procedures,
    Statements,
    Both,
}

/// What `lab peers` is asked for.
#[derive(Args)]
struct PeersArgs {
    /// Customer rows
    #[arg(long, default_value_t = 300_000)]
    rows: u64,
    /// Rounds: every engine runs once a round, alone; fewer than 6 have no intervals
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Only these engines
    #[arg(long = "target", value_name = "TARGET", num_args = 1.., value_parser = known_target)]
    targets: Vec<String>,
    /// One-row inserts of the loop in one transaction; 0 leaves this work out, as for the four below
    #[arg(long, default_value_t = 50_000)]
    loop_inserts: u64,
    /// One-row durable commits, repeated until --seconds have passed
    #[arg(long, default_value_t = 5_000)]
    commits: u64,
    /// Seconds that commits take at least
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// One-row delayed commits, repeated until --seconds have passed
    #[arg(long, default_value_t = 50_000)]
    delayed: u64,
    /// Rows of about 1,000 bytes that 16 connections insert together
    #[arg(long, default_value_t = 256_000)]
    load_rows: u64,
    /// Updates of one 8,000-byte row in one transaction
    #[arg(long, default_value_t = 80_000)]
    updates: u64,
    /// Seconds after which one piece of work is stopped
    #[arg(long, default_value_t = 60)]
    limit: u64,
    /// Folder for results
    #[arg(long, value_name = "DIR", default_value = "./lab-results-peers")]
    out: PathBuf,
}

/// What `lab compare` is asked for.
#[derive(Args)]
#[command(after_help = COMPARE_EXAMPLES)]
struct CompareArgs {
    /// Folders of results, the one of before first; with --binaries the studies; with --check one folder
    #[arg(required = true, value_name = "FOLDER|STUDY")]
    what: Vec<String>,
    /// Run the studies with both of these ringwood commands in turns, the one of before first
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "check")]
    binaries: Vec<PathBuf>,
    /// Rounds of an interleaved comparison
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Size of the studies
    #[arg(long, value_enum, default_value = "quick")]
    scale: ScaleArg,
    /// Disk: `real`, or the name of a model
    #[arg(long = "device", value_name = "DEVICE", num_args = 1..)]
    devices: Vec<String>,
    /// Seed of the coin that says which build is first in a round
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Go on with an interleaved comparison that was interrupted
    #[arg(long, requires = "binaries")]
    resume: bool,
    /// Deal the rounds of one run out to two sides, and say how often a build is told from itself
    #[arg(long)]
    check: bool,
    /// How many comparisons --check makes
    #[arg(long, default_value_t = 100, requires = "check")]
    comparisons: usize,
    /// Make the second side slower by so many percent: with --check its figures, with --binaries its measured steps
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, hide = true)]
    slow_down: f64,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    /// Folder for the results of an interleaved comparison (folders a and b in it)
    #[arg(long, value_name = "DIR", default_value = "./lab-compare")]
    out: PathBuf,
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
struct TpchArgs {
    /// Scale factor: 1 is about 1 GB of rows
    #[arg(long, default_value_t = 0.2)]
    scale: f64,
    /// Rounds: every engine runs every query once a round
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Only these queries
    #[arg(long = "query", value_name = "N", num_args = 1..)]
    queries: Vec<usize>,
    /// An engine beside Ringwood: postgres (feature peers)
    #[arg(long = "target", value_name = "TARGET", num_args = 1.., value_parser = ["ringwood", "postgres"])]
    targets: Vec<String>,
    /// Seconds after which a query is stopped
    #[arg(long, default_value_t = 30)]
    limit: u64,
    /// Megabytes of each buffer pool
    #[arg(long, default_value_t = 2048)]
    memory: u64,
    /// Show the results as JSON
    #[arg(long)]
    json: bool,
    /// Folder of the databases, which are used again, and of results.json
    #[arg(long, value_name = "DIR", default_value = "./lab-results/tpch")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum LabCommand {
    /// Name the studies and what they need
    List,
    /// Run studies (names, or all) and write results.json, results.csv and report.html
    Run(RunArgs),
    /// Run the same work on Ringwood, PostgreSQL, MariaDB and SQLite in turn (those that are installed; feature peers)
    Peers(PeersArgs),
    /// Run the 22 queries of TPC-H on Ringwood and PostgreSQL in turns, check their rows, show the times
    Tpch(TpchArgs),
    /// Did a change cost anything? Hold two folders of results against each other, or run two builds in turns.
    /// Exit code: 0 no difference or faster, 1 slower, 2 it could not be compared
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
        #[arg(long = "volume", value_parser = super::parse_volume)]
        volumes: Vec<(char, PathBuf)>,
    },
}

/// An address is read later: errors of clap would repeat its password.
fn known_or_address(name: &str) -> Result<String, String> {
    if target::is_address(name) { Ok(name.to_owned()) } else { known_target(name) }
}

fn known_target(name: &str) -> Result<String, String> {
    target::find(name, None).map(|t| t.name().to_owned()).map_err(|e| e.to_string())
}

fn list() -> String {
    let mut text = String::new();
    for study in studies::all(Scale::Quick) {
        let _ = writeln!(text, "{:<20} {}", study.name, study.question);
        let _ = writeln!(text, "{:<20} published: {}", "", study.source);
        for scale in Scale::ALL {
            let Some(sized) = studies::all(scale).into_iter().find(|s| s.name == study.name) else {
                continue;
            };
            let _ = writeln!(
                text,
                "{:<20}   {:<9} {:>5.1} GB of disk, {:.1} GB of memory, about {} for 6 rounds: {}",
                "",
                scale.name(),
                sized.needs.disk as f64 / 1e9,
                sized.needs.memory as f64 / 1e9,
                duration(sized.needs.seconds_per_run * 6.0),
                sized.sizes
            );
        }
    }
    text + LOADS
}

/// What `lab run` runs besides.
const LOADS: &str = "\
tpcc                 The five transactions of TPC-C over the wire, as procedures and statement by statement; alone, or beside PostgreSQL in turns
wire                 Durable inserts and point queries of many connections, idle connections, the start of a server; alone, or beside PostgreSQL
";

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    match word.contains([' ', '&', '*', '?', '$', '\'']) {
        true => format!("'{}'", word.replace('\'', "'\\''")),
        false => word.to_owned(),
    }
}

/// The command line as the report shows it: the program without its folder, no password of a target, and no address of `--notify`,
/// which may have one.
fn command_line() -> String {
    let mut words = vec!["ringwood".to_owned()];
    let mut secret = false;
    for word in std::env::args().skip(1) {
        let shown = match word.split_once('=') {
            _ if secret => "...".into(),
            Some(("--notify", _)) => "--notify=...".into(),
            Some(("--target", address)) => quoted(&format!("--target={}", target::shown(address))),
            _ => quoted(&target::shown(&word)),
        };
        secret = word == "--notify";
        words.push(shown);
    }
    words.join(" ")
}

fn finish(results: &Results, out: &Path) -> Result<(), LabError> {
    report::write_all(results, out)?;
    print(&report::terminal(results)).map_err(LabError::Output)?;
    say(format_args!("\nwritten: {0}/results.json, {0}/results.csv, {0}/report.html", out.display()));
    Ok(())
}

/// Progress of a load, line by line.
fn progress(line: &str) {
    say(format_args!("lab: {line}"));
}

fn run_tpcc(args: &RunArgs) -> Result<Results, LabError> {
    let tiny = matches!(args.scale, ScaleArg::Tiny);
    let modes = Mode::ALL.into_iter().filter(|mode| match args.load.mode {
        ModeArg::Both => true,
        ModeArg::Procedures => *mode == Mode::Procedures,
        ModeArg::Statements => *mode == Mode::Statements,
    });
    let options = TpccOptions {
        warehouses: args.load.warehouses,
        sizes: if tiny { Sizes::SMALL } else { Sizes::STANDARD },
        connections: args.load.connections.clone(),
        modes: modes.collect(),
        runs: args.runs as usize,
        seconds: args.load.seconds,
        ramp: args.load.ramp,
        targets: args.targets.clone(),
        restart_with: args.restart_with.clone(),
        memory: args.load.memory << 20,
        program: std::env::current_exe()?,
        seed: args.seed,
        commit: env!("RINGWOOD_COMMIT").into(),
        command: command_line(),
    };
    lab::tpcc::run(&options, &args.out, &mut progress)
}

fn run_wire(args: &RunArgs) -> Result<Results, LabError> {
    let unknown = args.targets.iter().find(|t| !["ringwood", "postgres"].contains(&t.as_str()));
    if let Some(target) = unknown {
        return Err(LabError::Request(format!(
            "wire runs on ringwood, alone or beside postgres, not on {}",
            target::shown(target)
        )));
    }
    let options = WireOptions {
        runs: args.runs as usize,
        seconds: args.load.seconds,
        inserting: args.load.inserting,
        selecting: args.load.selecting.clone(),
        idle: args.load.idle,
        rows: if matches!(args.scale, ScaleArg::Tiny) { 1_000 } else { 100_000 },
        postgres: args.targets.iter().any(|t| t == "postgres"),
        memory: args.load.memory << 20,
        program: std::env::current_exe()?,
        seed: args.seed,
        commit: env!("RINGWOOD_COMMIT").into(),
        command: command_line(),
    };
    lab::wire::run(&options, &args.out, &mut progress)
}

/// What the frame of the studies does not run.
fn run_load(args: &RunArgs) -> Option<Result<Results, LabError>> {
    match args.studies.as_slice() {
        [name] if name == "tpcc" => Some(run_tpcc(args)),
        [name] if name == "wire" => Some(run_wire(args)),
        names if names.iter().any(|n| n == "tpcc" || n == "wire") => {
            Some(Err(LabError::Request("tpcc and wire are run alone".into())))
        }
        _ => None,
    }
}

fn run_studies(args: &RunArgs) -> Result<(), LabError> {
    // Read here and not by clap, whose errors would repeat a password.
    let notify = args.notify.as_deref().map(Address::parse).transpose()?;
    let options = Options {
        studies: args.studies.clone(),
        scale: args.scale.into(),
        runs: args.runs as usize,
        until_decided: args.until_decided.map(|n| n as usize),
        targets: args.targets.clone(),
        restart_with: args.restart_with.clone(),
        devices: args.devices.clone(),
        mounts: args.mounts.iter().cloned().collect(),
        out: args.out.clone(),
        resume: args.resume,
        seed: args.seed,
        progress: true,
        program: Some(std::env::current_exe()?),
        slow_down: args.slow_down,
        commit: env!("RINGWOOD_COMMIT").into(),
        command: command_line(),
    };
    let outcome = run_load(args).unwrap_or_else(|| frame::run(&options));
    if let Some(address) = notify
        && let Err(error) = address.send(&outcome)
    {
        say(format_args!("the message could not be sent: {error}"));
    }
    match outcome {
        Ok(results) => finish(&results, &args.out),
        Err(error) => Err(error),
    }
}

fn run_tpch(args: &TpchArgs) -> Result<(), LabError> {
    let options = TpchOptions {
        scale: args.scale,
        runs: args.runs as usize,
        queries: args.queries.clone(),
        postgres: args.targets.iter().any(|target| target.eq_ignore_ascii_case("postgres")),
        limit: args.limit,
        memory: args.memory << 20,
        folder: args.out.clone(),
    };
    let results = lab::tpch::run(&options, &mut |line| say(format_args!("tpch: {line}")))?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&results)? + "\n",
        false => lab::tpch::table(&results),
    };
    print(&text).map_err(LabError::Output)?;
    match results.wrong.is_empty() {
        true => Ok(()),
        false => Err(LabError::Request(format!("{} answers are wrong", results.wrong.len()))),
    }
}

fn run_peers(args: &PeersArgs) -> Result<(), LabError> {
    let options = PeerOptions {
        rows: args.rows,
        runs: args.runs as usize,
        targets: args.targets.clone(),
        loop_inserts: args.loop_inserts,
        commits: args.commits,
        delayed: args.delayed,
        seconds: args.seconds,
        load_rows: args.load_rows,
        updates: args.updates,
        limit: args.limit,
        commit: env!("RINGWOOD_COMMIT").into(),
        command: command_line(),
    };
    let mut said = String::new();
    let results = peers::run(&options, &args.out, &mut |text| {
        if text != said {
            say(format_args!("peers: {text}"));
            said = text.to_owned();
        }
    })?;
    finish(&results, &args.out)
}

/// The two sides of a comparison: those of two folders, or of two builds that are run for it.
fn sides(args: &CompareArgs) -> Result<[Results; 2], LabError> {
    if !args.binaries.is_empty() {
        let scale: Scale = args.scale.into();
        let mut arguments = args.what.clone();
        arguments.extend(["--scale".to_owned(), scale.name().to_owned()]);
        if !args.devices.is_empty() {
            arguments.push("--device".into());
            arguments.extend(args.devices.clone());
        }
        let request = Interleave {
            binaries: [args.binaries[0].canonicalize()?, args.binaries[1].canonicalize()?],
            arguments,
            only_second: match args.slow_down {
                0.0 => vec![],
                percent => vec!["--slow-down".into(), percent.to_string()],
            },
            rounds: args.rounds as usize,
            seed: args.seed,
        };
        return request
            .run(&args.out, &command_line(), args.resume, &mut |text| say(format_args!("compare: {text}")));
    }
    let [a, b] = args.what.as_slice() else {
        return Err(LabError::Request("two folders of results are compared, the one of before first".into()));
    };
    Ok([report::read(Path::new(a))?, report::read(Path::new(b))?])
}

/// How often a build is told from itself, or found to be slower where it was made so.
fn check(args: &CompareArgs) -> Result<(), LabError> {
    let [folder] = args.what.as_slice() else {
        return Err(LabError::Request("--check takes one folder of results".into()));
    };
    let results = report::read(Path::new(folder))?;
    let slower = 1.0 + args.slow_down / 100.0;
    let (n, rounds) = (args.comparisons, args.rounds as usize);
    let found = compare::check::deal_many(&results, n, rounds, slower, args.seed)?;
    let text = format!(
        "{n} comparisons of a build with itself{}, {rounds} rounds each: no difference {}, slower {}, faster {}, too few rounds {}\n",
        if args.slow_down == 0.0 { String::new() } else { format!(" made slower by {} %", args.slow_down) },
        found.none,
        found.slower,
        found.faster,
        found.too_few
    );
    print(&text).map_err(LabError::Output)
}

/// The exit code says what was found, as that of `diff` does.
fn run_compare(args: &CompareArgs) -> Result<ExitCode, LabError> {
    if args.check {
        return check(args).map(|()| ExitCode::SUCCESS);
    }
    let [a, b] = sides(args)?;
    let comparison = compare::compare(&a, &b)?;
    if !args.binaries.is_empty() {
        std::fs::write(args.out.join("comparison.json"), serde_json::to_string_pretty(&comparison)?)?;
        let [a, b] = interleave::folders(&args.out);
        let out = args.out.display();
        say(format_args!("written: {}, {}, {out}/comparison.json", a.display(), b.display()));
    }
    let text = match args.json {
        true => serde_json::to_string_pretty(&comparison)? + "\n",
        false => compare::terminal(&comparison),
    };
    print(&text).map_err(LabError::Output)?;
    Ok(match comparison.finding {
        Finding::NoDifference | Finding::Faster => ExitCode::SUCCESS,
        Finding::Slower => ExitCode::from(1),
        Finding::TooFewRounds => ExitCode::from(2),
    })
}

fn execute(command: &LabCommand) -> Result<(), LabError> {
    match command {
        LabCommand::List => print(&list()).map_err(LabError::Output),
        LabCommand::Run(args) => run_studies(args),
        LabCommand::Peers(args) => run_peers(args),
        LabCommand::Tpch(args) => run_tpch(args),
        LabCommand::Compare(_) => Ok(()),
        LabCommand::Report { out } => finish(&report::read(out)?, out),
        LabCommand::Victim { parent, data, database, bytes, commits, window, flush, memory, volumes } => {
            let work = match commits {
                Some(rows) => embedded::VictimWork::Commits {
                    rows: *rows,
                    window_kb: window.unwrap_or_default(),
                    flush: *flush,
                },
                None => embedded::VictimWork::Update { bytes: bytes.unwrap_or_default() },
            };
            embedded::victim(*parent, data, *memory, volumes.iter().cloned().collect(), database, work)
        }
    }
}

/// Runs the command.
pub fn run(args: &LabArgs) -> ExitCode {
    if let LabCommand::Compare(args) = &args.command {
        return run_compare(args).unwrap_or_else(|error| match error {
            LabError::Output(error) => ExitCode::from(write_failed("standard output", &error)),
            error => {
                say(error);
                ExitCode::from(2)
            }
        });
    }
    match execute(&args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(LabError::Output(error)) => ExitCode::from(write_failed("standard output", &error)),
        Err(error) => {
            say(error);
            ExitCode::FAILURE
        }
    }
}
