//! T-SQL in, text out: a fresh instance on the simulated disk, what a batch says as lines of text,
//! and power loss in a batch.

#![allow(dead_code)] // each test file uses its part

use engine::{
    ColumnInfo, DataType, Instance, InstanceOptions, ResultRows, Session, Sink, SqlError,
};
use sim::SimDisk;
use std::fmt::Write as _;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A result as text: a line per row with values between bars, `(n)` for a row count, `Msg n: text`
/// for errors.
#[derive(Default)]
pub struct Text {
    pub out: String,
    types: Vec<DataType>,
    /// Column names as a line of their own.
    pub names: bool,
}

impl Sink for Text {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.types = columns.iter().map(|c| c.ty).collect();
        if self.names {
            let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
            let _ = writeln!(self.out, "[{}]", names.join("|"));
        }
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&self.types)
                .map(|(v, ty)| types::display::format_value(v, *ty))
                .collect();
            let _ = writeln!(self.out, "{}", cells.join("|"));
            Ok(())
        })
    }
    fn done(&mut self, end: engine::StatementEnd) -> Result<(), SqlError> {
        if let (Some(rows), true) = (end.rows, self.types.is_empty()) {
            let _ = writeln!(self.out, "({rows})");
        }
        self.types.clear();
        Ok(())
    }
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        // 3621 "The statement has been terminated." follows most errors of DML.
        if message.number != 3621 {
            let _ = writeln!(self.out, "{}", message.message);
        }
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        let _ = writeln!(self.out, "Msg {}: {}", error.number, error.message);
        Ok(())
    }
}

/// Options of an instance on a simulated disk.
pub fn options(disk: &SimDisk, memory_bytes: u64) -> InstanceOptions {
    InstanceOptions {
        memory_bytes: Some(memory_bytes),
        disk: Arc::new(disk.clone()),
        // What goes by itself would go in the middle of a test.
        chore_period: Duration::from_secs(24 * 3600),
        ..InstanceOptions::new("/data")
    }
}

/// An instance on a simulated disk, which may have been used before.
pub fn try_open(disk: &SimDisk, memory_bytes: u64) -> Option<Arc<Instance>> {
    Instance::open(options(disk, memory_bytes)).ok()
}

/// How often the cleanup comes by for tests that wait for it.
pub const SHORT_PACE: Duration = Duration::from_millis(20);

/// As [`try_open`], with a cleanup that comes by every few milliseconds.
pub fn try_open_to_clean(disk: &SimDisk, memory_bytes: u64) -> Option<Arc<Instance>> {
    let mut options = options(disk, memory_bytes);
    options.pace.ghost_interval = SHORT_PACE;
    Instance::open(options).ok()
}

/// What a batch says in a session of its own.
pub fn say(instance: &Arc<Instance>, sql: &str) -> String {
    let mut out = Text::default();
    instance.session().unwrap().execute(sql, &mut out);
    out.out.trim().to_string()
}

/// Runs a batch that says nothing but messages of success.
#[track_caller]
pub fn run(instance: &Arc<Instance>, sql: &str) {
    let said = say(instance, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
}

/// Runs a batch that has these errors; gives all that it says.
#[track_caller]
pub fn fails(instance: &Arc<Instance>, sql: &str, numbers: &[i32]) -> String {
    let said = say(instance, sql);
    let found: Vec<i32> = said
        .lines()
        .filter_map(|line| line.strip_prefix("Msg ")?.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(found, numbers, "{sql}\n{said}");
    said
}

/// Loses power at I/Os of a batch that succeeds otherwise, about `tries` of them from the first to
/// after the last. `after` gets the instance that opens on what is left, its disk, and the number
/// of the I/O.
pub fn power_loss(
    disk: &SimDisk,
    open: impl Fn(&SimDisk) -> Arc<Instance>,
    sql: &str,
    tries: u64,
    mut after: impl FnMut(&Arc<Instance>, &SimDisk, u64),
) {
    let ios = {
        let disk = disk.crash(0);
        let instance = open(&disk);
        let before = disk.io_count();
        run(&instance, sql);
        disk.io_count() - before
    };
    // Whether an interrupted write has happened is drawn: a change of few I/Os has several draws at
    // each of them.
    let draws = (tries / (ios + 2)).clamp(1, 8);
    for at in (1..=ios + 2).step_by((ios / tries + 1) as usize) {
        let disk = disk.crash(at);
        let instance = open(&disk);
        disk.crash_at(disk.io_count() + at);
        say(&instance, sql);
        drop(instance);
        for draw in 1..=draws {
            let left = disk.crash(at + 1000 * draw);
            after(&open(&left), &left, at);
        }
    }
}

/// An instance on a simulated disk with one database that is in use.
pub struct Bench {
    pub instance: Arc<Instance>,
    pub session: Session,
    disk: SimDisk,
}

impl Bench {
    /// A new one.
    pub fn new() -> Bench {
        Bench::on(SimDisk::new(7))
    }

    /// A new one on a disk.
    pub fn on(disk: SimDisk) -> Bench {
        let options = options(&disk, 64 << 20);
        Bench::open(disk, options)
    }

    /// A new one with a cleanup that comes by every few milliseconds.
    pub fn of_short_pace() -> Bench {
        Bench::with(|options| options.pace.ghost_interval = SHORT_PACE)
    }

    /// A new one with options of its own.
    pub fn with(change: impl FnOnce(&mut InstanceOptions)) -> Bench {
        let disk = SimDisk::new(7);
        let mut options = options(&disk, 64 << 20);
        change(&mut options);
        Bench::open(disk, options)
    }

    fn open(disk: SimDisk, options: InstanceOptions) -> Bench {
        let instance = Instance::open(options).unwrap();
        let session = instance.session().unwrap();
        let mut bench = Bench { instance, session, disk };
        assert_eq!(bench.run("CREATE DATABASE t"), "");
        bench.session.use_database("t").unwrap();
        bench
    }

    /// The same after a clean stop and a start.
    pub fn restart(self) -> Bench {
        let Bench { instance, session, disk } = self;
        drop(session);
        instance.close().unwrap();
        drop(instance);
        let instance = try_open(&disk, 64 << 20).unwrap();
        let mut session = instance.session().unwrap();
        session.use_database("t").unwrap();
        Bench { instance, session, disk }
    }

    /// Reads and writes of its disk so far.
    pub fn io_count(&self) -> u64 {
        self.disk.io_count()
    }

    /// What a batch says.
    pub fn run(&mut self, sql: &str) -> String {
        let mut text = Text::default();
        self.session.execute(sql, &mut text);
        text.out
    }

    /// Runs a batch that has this error, perhaps among others.
    #[track_caller]
    pub fn fails(&mut self, sql: &str, number: i32) {
        let said = self.run(sql);
        assert!(said.contains(&format!("Msg {number}:")), "{sql}: {said}");
    }

    /// Checks what a batch says; blanks at the ends of lines and around the whole do not count.
    #[track_caller]
    pub fn check(&mut self, sql: &str, expected: &str) {
        let trimmed =
            |s: &str| s.trim().lines().map(|l| l.trim().to_owned()).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&self.run(sql)), trimmed(expected), "{sql}");
    }
}

/// Runs a batch of a session; what it says, without blanks around it.
pub fn run_in(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// Another session beside a bench's own.
pub fn beside(b: &Bench) -> Session {
    let mut session = b.instance.session().unwrap();
    session.use_database("t").unwrap();
    session
}

/// Starts a batch of another session that has to wait.
#[track_caller]
pub fn blocked(b: &Bench, sql: &str) -> JoinHandle<String> {
    let (mut session, text) = (beside(b), sql.to_owned());
    let running = std::thread::spawn(move || run_in(&mut session, &text));
    std::thread::sleep(Duration::from_millis(80));
    assert!(!running.is_finished(), "did not wait: {sql}: {}", running.join().unwrap());
    running
}
