//! `ringwood lab`: list and run the studies, write and show their reports.

mod args;

pub use args::LabArgs;

use super::say::{print, say, write_failed};
use args::{CompareArgs, LabCommand, ModeArg, PeersArgs, RunArgs, ScaleArg, TpchArgs};
use lab::compare::interleave::{self, Interleave};
use lab::compare::{self, Finding};
use lab::frame::{self, Options, duration};
use lab::notify::Address;
use lab::peers::{self, PeerOptions};
use lab::results::Results;
use lab::study::Scale;
use lab::tpcc::{Mode, Sizes, TpccOptions};
use lab::tpch::TpchOptions;
use lab::wire::WireOptions;
use lab::{LabError, report, studies};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use targets::embedded;

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

/// The command line as the report shows it: the program without its folder, no password of a
/// target, and no address of `--notify`, which may have one.
fn command_line() -> String {
    let mut words = vec!["ringwood".to_owned()];
    let mut secret = false;
    for word in std::env::args().skip(1) {
        let shown = match word.split_once('=') {
            _ if secret => "...".into(),
            Some(("--notify", _)) => "--notify=...".into(),
            Some(("--target", address)) => quoted(&format!("--target={}", targets::shown(address))),
            _ => quoted(&targets::shown(&word)),
        };
        secret = word == "--notify";
        words.push(shown);
    }
    words.join(" ")
}

fn finish(results: &Results, out: &Path) -> Result<(), LabError> {
    report::write_all(results, out)?;
    print(&report::terminal(results)).map_err(LabError::Output)?;
    say(format_args!(
        "\nwritten: {0}/results.json, {0}/results.csv, {0}/report.html",
        out.display()
    ));
    Ok(())
}

/// Progress of a load, line by line.
fn progress(line: &str) {
    say(format_args!("lab: {line}"));
}

/// The seed that was given, or one from the clock, which the report names.
fn seed(given: Option<u64>) -> u64 {
    given.unwrap_or_else(frame::drawn_seed)
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
        seed: seed(args.seed),
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
            targets::shown(target)
        )));
    }
    let options = WireOptions {
        runs: args.runs as usize,
        seconds: args.load.seconds,
        inserting: args.load.inserting,
        selecting: args.load.selecting.clone(),
        batch: args.load.batch,
        idle: args.load.idle,
        rows: if matches!(args.scale, ScaleArg::Tiny) { 1_000 } else { 100_000 },
        postgres: args.targets.iter().any(|t| t == "postgres"),
        memory: args.load.memory << 20,
        program: std::env::current_exe()?,
        seed: seed(args.seed),
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
        fresh_every: args.fresh_every as usize,
        repeats_from: args.repeats_from.clone(),
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
        seed: seed(args.seed),
        fresh_every: args.fresh_every as usize,
        program: Some(std::env::current_exe()?),
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
            seed: match args.seed {
                None if args.resume => interleave::seed_of(&args.out)?,
                given => seed(given),
            },
        };
        return request.run(&args.out, &command_line(), args.resume, &mut |text| {
            say(format_args!("compare: {text}"))
        });
    }
    let [a, b] = args.what.as_slice() else {
        return Err(LabError::Request(
            "two folders of results are compared, the one of before first".into(),
        ));
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
    let (n, rounds, seed) = (args.comparisons, args.rounds as usize, seed(args.seed));
    let found = compare::check::deal_many(&results, n, rounds, slower, seed)?;
    let text = format!(
        "{n} comparisons of a build with itself{}, {rounds} rounds each, seed {seed}: no difference {}, slower {}, faster {}, \
         too few rounds {}\n",
        if args.slow_down == 0.0 {
            String::new()
        } else {
            format!(" made slower by {} %", args.slow_down)
        },
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
        std::fs::write(
            args.out.join("comparison.json"),
            serde_json::to_string_pretty(&comparison)?,
        )?;
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
        LabCommand::Victim {
            parent,
            data,
            database,
            bytes,
            commits,
            window,
            flush,
            memory,
            volumes,
        } => {
            let work = match commits {
                Some(rows) => embedded::VictimWork::Commits {
                    rows: *rows,
                    window_kb: window.unwrap_or_default(),
                    flush: *flush,
                },
                None => embedded::VictimWork::Update { bytes: bytes.unwrap_or_default() },
            };
            embedded::victim(
                *parent,
                data,
                *memory,
                volumes.iter().cloned().collect(),
                database,
                work,
            )
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
