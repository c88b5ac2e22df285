//! A login without any right but to read two small tables does its worst to a server, for as long
//! as asked: `./fuzz hostile [--seconds N] [--connections N] [--seed N] [--memory SIZE]
//! [--resident-mb N] [--peaks-mb N] [--server PROGRAM]`.
//!
//! Beside it another login asks for one row by its key, over and over. Promises that are looked at:
//! the process never ends, its resident memory stays under a bound (600 MB with `--memory 256MB`),
//! a point query takes at most 1 s, and each statement is gone within 1 s of its attention. The
//! report is JSON on standard output; the exit code is 1 when a promise was broken. `PROGRAM` is
//! `ringwood` beside the examples' folder unless it is named. With `--peaks-mb` each statement
//! during which the server's memory has reached so much is told on standard error, which says
//! something with one connection.

mod attack;
#[path = "../../../engine/tests/it/support/nested_sql/mod.rs"]
mod nested_sql;
mod report;
mod server;
mod statements;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use attack::Field;
use client::int;
use parking_lot::Mutex;
use report::Report;
use server::Server;

const ATTACKER: &str = "mallory";
const OTHER: &str = "alice";
/// Between two point queries.
const PAUSE: Duration = Duration::from_millis(5);

struct Settings {
    seconds: u64,
    connections: usize,
    seed: u64,
    memory: String,
    resident: u64,
    peaks: Option<u64>,
    program: PathBuf,
}

fn settings() -> Result<Settings, String> {
    let beside = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = beside.ancestors().nth(2).map(|folder| folder.join("ringwood"));
    let mut settings = Settings {
        seconds: 60,
        connections: 4,
        seed: fastrand::u64(..),
        memory: "256MB".into(),
        resident: 600 << 20,
        peaks: None,
        program: program.ok_or("the program's folder has no parent")?,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} wants a value"))?;
        let number = || value.parse::<u64>().map_err(|error| format!("{name} {value}: {error}"));
        match name.as_str() {
            "--seconds" => settings.seconds = number()?,
            "--connections" => settings.connections = number()? as usize,
            "--seed" => settings.seed = number()?,
            "--memory" => settings.memory = value,
            "--resident-mb" => settings.resident = number()? << 20,
            "--peaks-mb" => settings.peaks = Some(number()? << 20),
            "--server" => settings.program = value.into(),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(settings)
}

fn main() -> Result<(), String> {
    let settings = settings()?;
    eprintln!("seed {}, {} connections", settings.seed, settings.connections);
    let folder = std::env::temp_dir().join(format!("ringwood-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let held = attacked(&settings, &folder);
    // What is left of the folder is scratch data of this run.
    let _ = std::fs::remove_dir_all(&folder);
    if !held? {
        std::process::exit(1);
    }
    Ok(())
}

fn attacked(settings: &Settings, folder: &std::path::Path) -> Result<bool, String> {
    let mut server = Server::start(&settings.program, folder, &settings.memory)?;
    prepare(&server)?;
    let report = Arc::new(Report::new());
    let field = Field {
        port: server.port(),
        report: report.clone(),
        over: Arc::new(AtomicBool::new(false)),
        running: (0..settings.connections).map(|_| Mutex::default()).collect(),
        peaks: settings.peaks.map(|least| (server.pid(), least)),
    };
    let until = Instant::now() + Duration::from_secs(settings.seconds);
    std::thread::scope(|scope| {
        for at in 0..settings.connections {
            let (field, seed) = (&field, settings.seed.wrapping_add(at as u64));
            scope.spawn(move || attack::attack(field, at, ATTACKER, seed));
        }
        scope.spawn(|| ask_for_points(&field));
        let pid = server.pid();
        let mut told = Instant::now();
        while Instant::now() < until {
            report.memory(server::resident(pid), settings.resident, &|| running(&field));
            if let Some(status) = server.ended() {
                report.ended(&status, running(&field));
                break;
            }
            if told.elapsed() > Duration::from_secs(10) {
                told = Instant::now();
                eprintln!("{}", report.line());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        field.over.store(true, Relaxed);
    });
    eprintln!("{}", report.line());
    let (seconds, status) = server.stop(Duration::from_secs(60));
    let (mut json, held) = report.json();
    json["seed"] = settings.seed.into();
    json["stop"] = serde_json::json!({"seconds": seconds, "status": status});
    println!("{json}");
    Ok(held)
}

fn running(field: &Field) -> Vec<String> {
    field.running.iter().map(|text| text.lock().chars().take(200).collect()).collect()
}

/// A table with rows for the other login, and the attacker's login.
fn prepare(server: &Server) -> Result<(), String> {
    let mut sa = server.connect("sa")?;
    for text in [
        &format!("create login {ATTACKER} with password = '{}'", server::PASSWORD),
        &format!("create login {OTHER} with password = '{}'", server::PASSWORD),
        "create database d",
        "use d create table point (id int not null primary key, v int not null)",
        "use d insert point select value, value from generate_series(1, 1000)",
        &format!("use d create user {OTHER} grant select on point to {OTHER}"),
        "create database h",
        &format!("use h {}", nested_sql::SCHEMA),
        &format!("use h create user {ATTACKER} grant select to {ATTACKER}"),
        &format!("alter login {ATTACKER} with default_database = h"),
    ] {
        sa.query(text)
            .and_then(client::Reply::checked)
            .map_err(|error| format!("{text}: {error}"))?;
    }
    Ok(())
}

/// One row by its key, over and over.
fn ask_for_points(field: &Field) {
    while !field.over.load(Relaxed) {
        if let Err(error) = points(field) {
            field.report.point(Duration::ZERO, Some(error), &|| running(field));
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn points(field: &Field) -> Result<(), String> {
    let mut connection = server::connect(field.port, OTHER)?;
    let prepared = connection
        .prepare("@id int", "select v from d.dbo.point where id = @id")
        .map_err(|error| error.to_string())?;
    while !field.over.load(Relaxed) {
        let begun = Instant::now();
        let id = fastrand::i32(1..=1000);
        let reply =
            connection.call(&prepared.with([int("@id", id)])).map_err(|error| error.to_string())?;
        let took = begun.elapsed();
        let rows: Vec<_> = reply.results.iter().flat_map(|result| &result.rows).collect();
        let right = rows.len() == 1 && reply.errors.is_empty();
        let wrong = (!right).then(|| format!("{:?}", reply.errors));
        field.report.point(took, wrong, &|| running(field));
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
