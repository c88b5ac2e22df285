//! Whose a file is, at random: folders are copied, moved and renamed, processes open them at the
//! same time and are killed, databases are created, restored over each other's files, detached and
//! attached. After each step the folders that it touched are opened and compared with a model:
//! every acknowledged row is there, no row of anybody else is, and a database whose files belong to
//! another instance is refused.
//!
//! Each process writes rows with a number of its own, so a file that two had written would differ
//! from its model.
//!
//! `cargo test -p ringwood --test owners` takes a few steps; RINGWOOD_OWNERS=300 sets their number,
//! RINGWOOD_SEED repeats a run's choices.

#[path = "support/errors.rs"]
mod errors;

use errors::errors_of;
use ringwood::{Database, Options, Session, SqlError, Value};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is known of a database in a folder.
#[derive(Clone, Debug)]
struct Model {
    /// Writer of each row, by id.
    rows: Vec<i64>,
    /// Where its files are; `None`: in the folder.
    outside: Option<PathBuf>,
    /// Its files are another instance's.
    foreign: bool,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    databases: BTreeMap<String, Model>,
}

struct World {
    root: tempfile::TempDir,
    random: fastrand::Rng,
    folders: Vec<Folder>,
    next: u64,
}

fn open(folder: &Path) -> Result<Database, SqlError> {
    Options::new(folder).memory(8 << 20).open()
}

/// The child: opens the folder, says so, writes rows to databases in turn until its standard input
/// ends.
fn child(folder: &Path, writer: &str, databases: &[String]) -> Result<(), SqlError> {
    let db = match open(folder) {
        Ok(db) => db,
        Err(e) => {
            println!("refused {}", e.message);
            return Ok(());
        }
    };
    let mut session = db.session()?;
    println!("ready");
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    std::thread::spawn(move || {
        // Whatever ends it, that is the end.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        told.store(true, Ordering::Release);
    });
    session.execute("set nocount on")?;
    'rounds: while !databases.is_empty() {
        for name in databases {
            if stop.load(Ordering::Acquire) {
                break 'rounds;
            }
            let batch = format!(
                "declare @i int = (select coalesce(max(id), -1) + 1 from {name}.dbo.t);
                 insert {name}.dbo.t values (@i, {writer}, replicate('x', 500)); select @i"
            );
            let id = session.query(&batch)?.rows[0][0].as_i64().unwrap_or_default();
            println!("{name} {id}");
        }
    }
    while !stop.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(session);
    db.close()
}

/// A running child.
struct Writer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    number: i64,
    refused: bool,
}

impl World {
    fn new(seed: u64) -> World {
        let root = tempfile::tempdir().unwrap();
        World { root, random: fastrand::Rng::with_seed(seed), folders: Vec::new(), next: 1 }
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn new_path(&mut self, kind: &str) -> PathBuf {
        let number = self.fresh();
        self.root.path().join(format!("{kind}{number}"))
    }

    fn any(&mut self) -> usize {
        self.random.usize(..self.folders.len())
    }

    /// A usable database of a folder.
    fn any_database(&mut self, at: usize) -> Option<String> {
        let usable = self.folders[at].databases.iter().filter(|(_, m)| !m.foreign);
        let names: Vec<String> = usable.map(|(name, _)| name.clone()).collect();
        if names.is_empty() { None } else { Some(self.random.choice(names).unwrap_or_default()) }
    }

    fn add_folder(&mut self) {
        let path = self.new_path("folder");
        open(&path).unwrap().close().unwrap();
        self.folders.push(Folder { path, databases: BTreeMap::new() });
    }

    fn start(&mut self, at: usize) -> Writer {
        let number = self.fresh() as i64;
        let folder = &self.folders[at];
        let names = folder.databases.iter().filter(|(_, m)| !m.foreign).map(|(name, _)| name);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("child")
            .arg(&folder.path)
            .arg(number.to_string())
            .args(names)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("the child said nothing").unwrap();
        assert!(first == "ready" || first.starts_with("refused"), "{first}");
        Writer { child, lines, number, refused: first != "ready" }
    }

    /// Ends a writer, by a kill or cleanly, and takes what it has acknowledged into the model.
    fn end(&mut self, at: usize, mut writer: Writer, kill: bool) {
        if kill {
            writer.child.kill().unwrap();
        } else {
            drop(writer.child.stdin.take());
        }
        let lines: Vec<String> = writer.lines.map_while(Result::ok).collect();
        let status = writer.child.wait().unwrap();
        assert!(kill || status.success(), "a writer failed: {status:?} {lines:?}");
        for line in lines {
            // The last line may be cut off by the kill.
            let Some((name, Ok(id))) = line.split_once(' ').map(|(n, id)| (n, id.parse::<usize>()))
            else {
                continue;
            };
            let Some(model) = self.folders[at].databases.get_mut(name) else { continue };
            assert!(id <= model.rows.len(), "{name}: row {id} after {} rows", model.rows.len());
            if id == model.rows.len() {
                model.rows.push(writer.number);
            }
        }
        if kill {
            self.adopt(at, writer.number);
        }
    }

    /// A killed writer may have committed one row in each database that it had not acknowledged
    /// yet.
    fn adopt(&mut self, at: usize, writer: i64) {
        let path = self.folders[at].path.clone();
        let db = open(&path).unwrap();
        for (name, model) in self.folders[at].databases.iter_mut().filter(|(_, m)| !m.foreign) {
            let found = read(&mut db.session().unwrap(), &path, name);
            if found.len() == model.rows.len() + 1 && found.last() == Some(&writer) {
                model.rows.push(writer);
            }
        }
        db.close().unwrap();
    }

    /// Opens a folder and compares it with its model.
    fn verify(&self, at: usize) {
        let folder = &self.folders[at];
        let db = open(&folder.path).unwrap();
        let mut session = db.session().unwrap();
        for (name, model) in &folder.databases {
            if model.foreign {
                assert_eq!(
                    errors_of(&mut session, &format!("use {name}")),
                    [945],
                    "{name} in {:?}",
                    folder.path
                );
                continue;
            }
            let found = read(&mut session, &folder.path, name);
            assert!(
                found == model.rows,
                "{name} in {:?}: {found:?} instead of {:?}",
                folder.path,
                model.rows
            );
        }
        drop(session);
        db.close().unwrap();
    }

    // ---- steps ----

    fn create(&mut self) -> Vec<usize> {
        let (at, name) = (self.any(), format!("d{}", self.fresh()));
        let outside = self.random.bool().then(|| self.new_path("outside"));
        let place = |file: &str| match &outside {
            Some(folder) => folder.join(file).display().to_string(),
            None => format!("{name}_{file}"),
        };
        let batch = format!(
            "create database {name} on (name = d, filename = '{}', size = 3MB) log on (name = l, filename = '{}', size = 1MB);
             alter database {name} set recovery simple;
             create table {name}.dbo.t (id int not null primary key, writer int not null, filler varchar(600) not null)",
            place("d.mdf"),
            place("l.ldf")
        );
        let db = open(&self.folders[at].path).unwrap();
        let said = errors_of(&mut db.session().unwrap(), &batch);
        assert!(said.is_empty(), "{said:?}");
        db.close().unwrap();
        self.folders[at]
            .databases
            .insert(name, Model { rows: Vec::new(), outside, foreign: false });
        vec![at]
    }

    fn write(&mut self) -> Vec<usize> {
        let at = self.any();
        let writer = self.start(at);
        std::thread::sleep(Duration::from_millis(self.random.u64(..120)));
        let kill = self.random.bool();
        self.end(at, writer, kill);
        vec![at]
    }

    /// Two folders at the same time; one of them is often a copy of the other.
    fn write_two(&mut self) -> Vec<usize> {
        let (one, two) = (self.any(), self.any());
        let first = self.start(one);
        let second = self.start(two);
        assert!(
            !first.refused && second.refused == (one == two),
            "one process in a folder at a time"
        );
        std::thread::sleep(Duration::from_millis(self.random.u64(..120)));
        let (kill_first, kill_second) = (self.random.bool(), self.random.bool());
        self.end(two, second, kill_second && one != two);
        self.end(one, first, kill_first);
        vec![one, two]
    }

    /// `cp -a`, of a folder that may be open: then only the original must be whole.
    fn copy(&mut self) -> Vec<usize> {
        let (at, busy) = (self.any(), self.random.u8(..3) == 0);
        let path = self.new_path("folder");
        let writer = busy.then(|| self.start(at));
        let done =
            Command::new("cp").arg("-a").arg(&self.folders[at].path).arg(&path).status().unwrap();
        assert!(done.success() || busy);
        let Some(writer) = writer else {
            let mut databases = self.folders[at].databases.clone();
            databases.values_mut().for_each(|model| model.foreign |= model.outside.is_some());
            self.folders.push(Folder { path, databases });
            let copy = self.folders.len() - 1;
            if self.random.bool() {
                self.verify(copy);
            }
            return vec![at, copy];
        };
        // Whatever it is, using it harms nobody. It has a process of its own, as it may be any
        // garbage.
        let names: Vec<String> = self.folders[at].databases.keys().cloned().collect();
        let mut user = Command::new(std::env::current_exe().unwrap())
            .arg("child")
            .arg(&path)
            .arg("-1")
            .args(names)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        user.kill().unwrap();
        user.wait().unwrap();
        self.end(at, writer, false);
        std::fs::remove_dir_all(&path).unwrap();
        vec![at]
    }

    fn rename(&mut self) -> Vec<usize> {
        let at = self.any();
        let path = self.new_path("folder");
        std::fs::rename(&self.folders[at].path, &path).unwrap();
        self.folders[at].path = path;
        vec![at]
    }

    /// Backs a database up and restores it under another name, into its folder or over somebody
    /// else's file.
    fn restore(&mut self) -> Vec<usize> {
        let at = self.any();
        let Some(name) = self.any_database(at) else { return Vec::new() };
        let other = self.any();
        let victim = self.any_database(other).filter(|_| other != at);
        let (backup, new) = (self.new_path("backup"), format!("d{}", self.fresh()));
        let (data, log) = match &victim {
            Some(victim) => self.files_of(other, victim),
            None => (
                self.folders[at].path.join(format!("{new}_d.mdf")),
                self.folders[at].path.join(format!("{new}_l.ldf")),
            ),
        };
        // While its owner is running, or not.
        let owner = (victim.is_some() && self.random.bool()).then(|| self.start(other));
        let db = open(&self.folders[at].path).unwrap();
        let mut session = db.session().unwrap();
        let said = errors_of(
            &mut session,
            &format!("backup database {name} to disk = '{}'", backup.display()),
        );
        assert!(said.is_empty(), "{said:?}");
        let said = errors_of(
            &mut session,
            &format!(
                "restore database {new} from disk = '{}' with replace, move 'd' to '{}', move 'l' to '{}'",
                backup.display(),
                data.display(),
                log.display()
            ),
        );
        drop(session);
        db.close().unwrap();
        std::fs::remove_file(&backup).unwrap();
        if let Some(owner) = owner {
            // Its own registry may know the place as another database's: a copy of its owner.
            let place = self.folders[other].databases[victim.as_ref().unwrap()].outside.clone();
            let known = place.is_some()
                && self.folders[at].databases.values().any(|model| model.outside == place);
            let expected = if known { 1834 } else { 3634 };
            assert!(said.contains(&expected) && said.contains(&3156), "{said:?}");
            self.end(other, owner, false);
        } else if victim.is_some() {
            assert!(said.contains(&1834) && said.contains(&3156), "{said:?}");
        } else {
            assert!(said.is_empty(), "{said:?}");
            let rows = self.folders[at].databases[&name].rows.clone();
            self.folders[at].databases.insert(new, Model { rows, outside: None, foreign: false });
        }
        vec![at, other]
    }

    fn files_of(&self, at: usize, name: &str) -> (PathBuf, PathBuf) {
        let folder = &self.folders[at];
        match &folder.databases[name].outside {
            Some(outside) => (outside.join("d.mdf"), outside.join("l.ldf")),
            None => (
                folder.path.join(format!("{name}_d.mdf")),
                folder.path.join(format!("{name}_l.ldf")),
            ),
        }
    }

    /// A database that lies outside is attached by another folder's instance, detached before or
    /// not.
    fn attach(&mut self) -> Vec<usize> {
        let (from, to) = (self.any(), self.any());
        let Some(name) = self.any_database(from).filter(|_| from != to) else { return Vec::new() };
        let outside = self.folders[from].databases[&name].outside.clone();
        // A copy of the folder knows the place already.
        let known = self.folders[to].databases.values().any(|model| model.outside == outside);
        if outside.is_none() || known {
            return Vec::new();
        }
        let (data, log) = self.files_of(from, &name);
        let new = format!("d{}", self.fresh());
        let detach = self.random.bool();
        if detach {
            let db = open(&self.folders[from].path).unwrap();
            let said =
                errors_of(&mut db.session().unwrap(), &format!("exec sp_detach_db '{name}'"));
            assert!(said.is_empty(), "{said:?}");
            db.close().unwrap();
        }
        let running = (!detach && self.random.bool()).then(|| self.start(from));
        let rebuild = detach && self.random.bool();
        if rebuild {
            std::fs::remove_file(&log).unwrap();
        }
        let how = if rebuild { "attach_rebuild_log" } else { "attach" };
        let batch = format!(
            "create database {new} on (filename = '{}') log on (filename = '{}') for {how}",
            data.display(),
            log.display()
        );
        let db = open(&self.folders[to].path).unwrap();
        let said = errors_of(&mut db.session().unwrap(), &batch);
        db.close().unwrap();
        if let Some(running) = running {
            assert_eq!(said, [5120, 1813]);
            self.end(from, running, false);
            return vec![from, to];
        }
        assert!(said.is_empty(), "{said:?}");
        let model = self.folders[from].databases[&name].clone();
        if detach {
            self.folders[from].databases.remove(&name);
        } else {
            // Taken away: its instance finds another one's name in the files.
            self.folders[from].databases.get_mut(&name).unwrap().foreign = true;
        }
        self.folders[to].databases.insert(new, model);
        vec![from, to]
    }

    /// Drops a database, own or foreign: the files of a foreign one stay.
    fn drop_one(&mut self) -> Vec<usize> {
        let at = self.any();
        let names: Vec<String> = self.folders[at].databases.keys().cloned().collect();
        let Some(name) = self.random.choice(names).filter(|_| self.random.bool()) else {
            return Vec::new();
        };
        let (data, _) = self.files_of(at, &name);
        let db = open(&self.folders[at].path).unwrap();
        let said = errors_of(&mut db.session().unwrap(), &format!("drop database {name}"));
        assert!(said.is_empty(), "{said:?}");
        db.close().unwrap();
        let model = self.folders[at].databases.remove(&name).unwrap();
        assert!(model.foreign || !data.exists(), "the files of a dropped database");
        // Their owner is asked for when that one is looked at.
        (0..self.folders.len()).collect()
    }

    fn step(&mut self, number: usize) {
        if self.folders.len() > 4 {
            let at = self.any();
            let gone = self.folders.swap_remove(at);
            std::fs::remove_dir_all(&gone.path).unwrap();
        }
        let kind = self.random.u8(..12);
        let touched = match kind {
            0..=1 => self.create(),
            2..=3 => self.write(),
            4..=5 => self.write_two(),
            6 => self.copy(),
            7 => self.rename(),
            8..=9 => self.restore(),
            10 => self.attach(),
            _ => self.drop_one(),
        };
        if std::env::var_os("RINGWOOD_TELL").is_some() {
            let paths: Vec<_> = touched.iter().map(|at| &self.folders[*at]).collect();
            eprintln!("step {number}, kind {kind}: {paths:?}");
        }
        for at in &touched {
            self.verify(*at);
        }
        if number.is_multiple_of(10) {
            (0..self.folders.len()).for_each(|at| self.verify(at));
        }
    }
}

fn read(session: &mut Session, folder: &Path, name: &str) -> Vec<i64> {
    let found = session.query(&format!("select id, writer from {name}.dbo.t order by id"));
    let found = found.unwrap_or_else(|e| {
        let log = std::fs::read_to_string(folder.join("log/ERRORLOG")).unwrap_or_default();
        panic!("{name} in {folder:?}: {e:?}\n{log}")
    });
    let number = |value: &Value| value.as_i64().unwrap_or(-9);
    assert!(
        found.rows.iter().enumerate().all(|(i, row)| number(&row[0]) == i as i64),
        "a row is missing"
    );
    found.rows.iter().map(|row| number(&row[1])).collect()
}

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|a| a == "child") {
        return match child(Path::new(&args[2]), &args[3], &args[4..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("child: {error:?}");
                ExitCode::FAILURE
            }
        };
    }
    let steps = number_from("RINGWOOD_OWNERS").unwrap_or(20) as usize;
    let seed = number_from("RINGWOOD_SEED").unwrap_or_else(|| fastrand::u64(..));
    eprintln!("RINGWOOD_SEED={seed}");
    let _ = std::io::stderr().flush();
    let mut world = World::new(seed);
    (0..2).for_each(|_| world.add_folder());
    (0..4).for_each(|_| drop(world.create()));
    (0..steps).for_each(|number| world.step(number + 1));
    println!("test result: ok. {steps} passed; 0 failed; 0 ignored");
    ExitCode::SUCCESS
}
