//! Random histories over rows of any width, values outside them included, compared with a model:
//! several sessions with rows of their own and a reader of older snapshots, with clean restarts in
//! between or power loss at any I/O. What is there afterwards is of each session the last
//! acknowledged transaction, or the one that was being committed; the integrity check is clean, and
//! nothing is left outside when the rows are gone.
//!
//! `RINGWOOD_CRASH_SEEDS=2000 cargo test --release -p ringwood-engine --test
//! row_overflow_histories` runs more; RINGWOOD_CRASH_FROM sets the first seed, so a failing seed
//! can be run alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::text::{try_open, try_open_to_clean};
use engine::{Instance, ResultRows, Session, Sink, SqlError, Value};
use sim::{SimConfig, SimDisk};

const MEMORY: u64 = 6 << 20;
const SESSIONS: i64 = 3;
/// Ids of a session: its own number and every third behind it.
const IDS: i64 = 12;

/// A letter and how often.
type Text = (char, usize);
/// The columns a, b, c.
type Row = [Text; 3];
type Model = BTreeMap<i64, Row>;

#[derive(Default)]
struct Collector {
    rows: Vec<Vec<Value>>,
    error: Option<SqlError>,
}

impl Sink for Collector {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.rows.push(row.to_vec());
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

fn run(session: &mut Session, batch: &str) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut collector = Collector::default();
    session.execute(batch, &mut collector);
    collector.error.map_or(Ok(collector.rows), Err)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// A database with a table whose rows need up to 25,000 bytes: a heap or a clustered index, with an
/// index that includes columns.
fn set_up(instance: &Arc<Instance>, seed: u64) {
    let mut session = instance.session().unwrap();
    let key = ["primary key", "primary key nonclustered", ""][seed as usize % 3];
    let batches = [
        "create database d on (name = d, filename = 'd.mdf', size = 8MB) log on (name = l, filename = 'd.ldf', size = 2MB)".to_owned(),
        "alter database d set recovery simple; alter database d set allow_snapshot_isolation on".to_owned(),
        format!("use d create table t (id int not null {key}, n int not null, a varchar(8000), b nvarchar(4000), c varbinary(8000))"),
        "use d create index by_n on t (n) include (b, c)".to_owned(),
    ];
    for batch in batches {
        run(&mut session, &batch).unwrap_or_else(|e| panic!("seed {seed}: {batch}: {e:?}"));
    }
}

fn random_text(random: &mut fastrand::Rng, most: usize) -> Text {
    let letter = char::from(b'a' + random.u8(..26));
    let length = match random.u8(..6) {
        0 => 1,
        1 => random.usize(20..30),
        2 => random.usize(1..500),
        3 => most,
        _ => random.usize(1..most),
    };
    (letter, length)
}

fn a(text: Text) -> String {
    format!("replicate('{}', {})", text.0, text.1)
}

fn b(text: Text) -> String {
    format!("replicate(N'{}', {})", text.0, text.1)
}

fn c(text: Text) -> String {
    format!("cast(replicate('{}', {}) as varbinary(8000))", text.0, text.1)
}

/// One statement over the rows of a session, and what it does to them.
fn statement(random: &mut fastrand::Rng, own: i64, model: &mut Model) -> String {
    let id = own + SESSIONS * random.i64(0..IDS);
    let row: Row =
        [random_text(random, 8000), random_text(random, 4000), random_text(random, 8000)];
    let [x, y, z] = row;
    let Some(old) = model.get_mut(&id) else {
        model.insert(id, row);
        return format!("insert t values ({id}, {id} % 5, {}, {}, {})", a(x), b(y), c(z));
    };
    match random.u8(..9) {
        0 => {
            model.remove(&id);
            format!("delete t where id = {id}")
        }
        1 => {
            old[0] = x;
            format!("update t set a = {} where id = {id}", a(x))
        }
        2 => {
            old[1] = y;
            format!("update t set b = {} where id = {id}", b(y))
        }
        3 => {
            old[2] = z;
            format!("update t set c = {} where id = {id}", c(z))
        }
        4 => format!("update t set n = n + 1 where id = {id}"),
        5 => {
            model.values_mut().for_each(|row| row[0] = x);
            format!("update t set a = {} where id % {SESSIONS} = {own}", a(x))
        }
        6 => {
            let new = own + SESSIONS * random.i64(0..IDS);
            let moved = *old;
            match model.contains_key(&new) {
                true => format!("update t set n = n + 2 where id = {id}"),
                false => {
                    model.remove(&id);
                    model.insert(new, moved);
                    format!("update t set id = {new} where id = {id}")
                }
            }
        }
        _ => {
            *old = row;
            format!("update t set a = {}, b = {}, c = {} where id = {id}", a(x), b(y), c(z))
        }
    }
}

fn transaction(random: &mut fastrand::Rng, own: i64, model: &Model) -> (String, Model) {
    let mut next = model.clone();
    let mut batch = String::from("set nocount on; begin tran;\n");
    for _ in 0..random.usize(1..4) {
        let kept = next.clone();
        let point = random.u8(..6) == 0;
        if point {
            batch += "save tran s;\n";
        }
        batch += &statement(random, own, &mut next);
        batch += ";\n";
        if point {
            batch += "rollback tran s;\n";
            next = kept;
        }
    }
    if random.u8(..5) == 0 {
        return (batch + "rollback", model.clone());
    }
    (batch + "commit", next)
}

fn uniform(text: &str) -> Text {
    let letter = text.chars().next().unwrap_or('?');
    assert!(text.chars().all(|c| c == letter), "a value is mixed up");
    (letter, text.chars().count())
}

fn rows_of(found: Vec<Vec<Value>>) -> Model {
    let number = |value: &Value| value.as_i64().unwrap_or_default();
    let row = |row: Vec<Value>| {
        let bytes = row[3].as_bytes().unwrap_or_default();
        let text = String::from_utf8_lossy(bytes).into_owned();
        let columns =
            [row[1].as_str().unwrap_or_default(), row[2].as_str().unwrap_or_default(), &text];
        (number(&row[0]), columns.map(uniform))
    };
    found.into_iter().map(row).collect()
}

/// Rows of a session, by the table and by its index.
fn read(session: &mut Session, own: i64) -> Result<Model, SqlError> {
    let of_own = format!("where id % {SESSIONS} = {own}");
    let rows = rows_of(run(session, &format!("select id, a, b, c from t {of_own}"))?);
    let by_index = run(
        session,
        &format!("select id, 'x', b, c from t with (index(by_n)) {of_own} and n >= 0"),
    )?;
    let included = rows_of(by_index);
    let same =
        rows.iter().all(|(id, row)| included.get(id).is_some_and(|entry| entry[1..] == row[1..]));
    assert!(same && rows.len() == included.len(), "the index disagrees: {rows:?} {included:?}");
    Ok(rows)
}

/// Transactions of a session until the power goes or `most` have run: the states that its rows may
/// have then.
fn work(
    instance: &Arc<Instance>,
    disk: &SimDisk,
    own: i64,
    start: Model,
    seed: u64,
    most: usize,
) -> (Model, Model) {
    let mut random = fastrand::Rng::with_seed(seed * 10 + own as u64);
    let mut model = start;
    let Ok(mut session) = instance.session() else { return (model.clone(), model) };
    if run(&mut session, "use d").is_err() {
        return (model.clone(), model);
    }
    for _ in 0..most {
        let (batch, next) = transaction(&mut random, own, &model);
        let mut tries = 0;
        loop {
            match run(&mut session, &batch) {
                Ok(_) => break model = next,
                // The statement of another session reads these rows too: one of two that meet may
                // have to begin again.
                Err(error) if error.number == 1205 && !disk.has_crashed() && tries < 500 => {
                    tries += 1
                }
                Err(error) => {
                    assert!(
                        disk.has_crashed(),
                        "seed {seed}: an error without a crash: {error:?}\nin {batch}"
                    );
                    return (model, next);
                }
            }
        }
    }
    (model.clone(), model)
}

/// Reads the table again and again in one snapshot: it stays what it was when others replace its
/// values.
fn watch(instance: &Arc<Instance>, disk: &SimDisk, seed: u64) {
    let Ok(mut session) = instance.session() else { return };
    if run(&mut session, "use d set transaction isolation level snapshot").is_err() {
        return;
    }
    for _ in 0..4 {
        let mut first = None;
        if run(&mut session, "begin tran").is_err() {
            return;
        }
        for _ in 0..3 {
            let found = run(&mut session, "select id, a, b, c from t").map(rows_of);
            match found {
                Ok(rows) => assert_eq!(
                    *first.get_or_insert_with(|| rows.clone()),
                    rows,
                    "seed {seed}: a snapshot changed"
                ),
                Err(error) => {
                    assert!(
                        disk.has_crashed(),
                        "seed {seed}: a reader's error without a crash: {error:?}"
                    );
                    return;
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if run(&mut session, "commit").is_err() {
            return;
        }
    }
}

/// All sessions and the reader at once.
fn all_work(
    instance: &Arc<Instance>,
    disk: &SimDisk,
    start: &[Model],
    seed: u64,
    most: usize,
) -> Vec<(Model, Model)> {
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| watch(instance, disk, seed));
        let threads: Vec<_> = (0..SESSIONS)
            .map(|own| {
                let start = start[own as usize].clone();
                scope.spawn(move || work(instance, disk, own, start, seed, most))
            })
            .collect();
        let ends = threads.into_iter().map(|t| t.join().expect("a session panicked")).collect();
        reader.join().expect("the reader panicked");
        ends
    })
}

fn clean(instance: &Arc<Instance>, seed: u64) {
    let report =
        instance.check_database("d").unwrap_or_else(|e| panic!("seed {seed}: check: {e:?}"));
    assert!(report.is_clean(), "seed {seed}: {:#?} {:#?}", report.allocation, report.consistency);
}

/// Without rows nothing is outside.
fn empties(instance: &Arc<Instance>, seed: u64) {
    let mut session = instance.session().unwrap();
    run(&mut session, "use d delete t").unwrap_or_else(|e| panic!("seed {seed}: delete: {e:?}"));
    let used = "select used_pages from sys.allocation_units where type = 3";
    let end = Instant::now() + Duration::from_secs(20);
    while run(&mut session, used).unwrap()[0][0].as_i64() != Some(1) {
        assert!(Instant::now() < end, "seed {seed}: values are left outside");
        std::thread::sleep(Duration::from_millis(10));
    }
    clean(instance, seed);
}

fn new_disk(seed: u64) -> SimDisk {
    SimDisk::with_config(seed, SimConfig { capacity: 512 << 20, ..SimConfig::default() })
}

fn check(instance: &Arc<Instance>, ends: &[(Model, Model)], seed: u64) -> Vec<Model> {
    clean(instance, seed);
    let mut session = instance.session().unwrap();
    run(&mut session, "use d").unwrap_or_else(|e| panic!("seed {seed}: use: {e:?}"));
    let mut all = Vec::new();
    for (own, (before, after)) in ends.iter().enumerate() {
        let found =
            read(&mut session, own as i64).unwrap_or_else(|e| panic!("seed {seed}: read: {e:?}"));
        assert!(
            found == *before || found == *after,
            "seed {seed}: session {own}: found neither state\nbefore: {before:?}\nafter: {after:?}\nfound: {found:?}"
        );
        all.push(found);
    }
    all
}

#[test]
fn histories_with_clean_restarts() {
    for seed in 1..7 {
        let disk = new_disk(seed);
        let mut instance = try_open(&disk, MEMORY).expect("a fresh instance");
        set_up(&instance, seed);
        let mut models = vec![Model::new(); SESSIONS as usize];
        for round in 0..3 {
            let ends = all_work(&instance, &disk, &models, seed * 100 + round, 15);
            models = check(&instance, &ends, seed);
            instance.close().unwrap();
            drop(instance);
            // Who waits for the cleanup at the end does not wait long.
            let last = round == 2;
            let again =
                if last { try_open_to_clean(&disk, MEMORY) } else { try_open(&disk, MEMORY) };
            instance = again.expect("it opens again");
            let same: Vec<(Model, Model)> = models.iter().map(|m| (m.clone(), m.clone())).collect();
            check(&instance, &same, seed);
        }
        empties(&instance, seed);
        instance.close().unwrap();
    }
}

fn crash_once(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let disk = new_disk(seed);
    let instance = try_open(&disk, MEMORY).expect("a fresh instance");
    set_up(&instance, seed);
    disk.crash_at(disk.io_count() + random.u64(5..500));
    let empty = vec![Model::new(); SESSIONS as usize];
    let ends = all_work(&instance, &disk, &empty, seed, 30);
    drop(instance);
    let mut disk = disk.crash(seed);
    if random.u8(..3) == 0 {
        // A second power loss while recovery runs, or the freeing of what was discarded.
        disk.crash_at(disk.io_count() + random.u64(1..80));
        if let Some(instance) = try_open(&disk, MEMORY) {
            let _ = instance.session().map(|mut session| run(&mut session, "use d"));
            std::thread::sleep(Duration::from_millis(20));
            let _ = instance.close();
        }
        disk = disk.crash(seed + 1);
    }
    let instance = try_open_to_clean(&disk, MEMORY);
    let instance = instance.unwrap_or_else(|| panic!("seed {seed}: it does not open"));
    check(&instance, &ends, seed);
    empties(&instance, seed);
    instance.close().unwrap();
}

#[test]
fn power_loss_at_any_io() {
    let from = setting("RINGWOOD_CRASH_FROM", 1);
    for seed in from..from + setting("RINGWOOD_CRASH_SEEDS", 20) {
        if let Err(panic) = std::panic::catch_unwind(|| crash_once(seed)) {
            eprintln!("failing seed: {seed} (RINGWOOD_CRASH_FROM={seed} RINGWOOD_CRASH_SEEDS=1)");
            std::panic::resume_unwind(panic);
        }
    }
}
