//! Random deadlocks: rounds in which sessions hold things in a ring, each wants what the next one
//! holds, and exactly one must give way; in which all convert, and all but one must; in which a
//! chain has no cycle, and nobody must. Seeded; what is held is rows, keys that were read, ranges,
//! tables and application locks, in three databases.

use ringwood_engine::{Instance, Session, Sink, SqlError};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// Databases that sessions hold things in.
pub const DATABASES: usize = 3;
/// Sessions of a round at most.
const MOST: usize = 20;

/// What came of all rounds.
#[derive(Default, Debug)]
pub struct Outcome {
    /// Deadlocks that were made and had a victim.
    pub deadlocks: AtomicU64,
    /// Rounds without a cycle.
    pub chains: AtomicU64,
    /// The longest that a deadlock stood, in microseconds.
    pub longest_us: AtomicU64,
    /// Victims that were not needed.
    pub needless: AtomicU64,
    /// Victims although another one had a lower DEADLOCK_PRIORITY.
    pub wrong: AtomicU64,
    /// Deadlocks of which there were less victims than cycles: a wait ended by its time-out.
    pub missed: AtomicU64,
}

impl Outcome {
    /// One line of JSON.
    pub fn json(&self) -> String {
        let figure = |of: &AtomicU64| of.load(Relaxed);
        format!(
            "{{\"deadlocks\": {}, \"chains\": {}, \"longest_ms\": {:.1}, \"needless_victims\": {}, \"wrong_victims\": {}, \
             \"missed\": {}}}",
            figure(&self.deadlocks),
            figure(&self.chains),
            figure(&self.longest_us) as f64 / 1000.0,
            figure(&self.needless),
            figure(&self.wrong),
            figure(&self.missed),
        )
    }
}

/// The first error of a batch.
#[derive(Default)]
struct Said {
    error: Option<(i32, String)>,
}

impl Sink for Said {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert((error.number, error.message.to_string()));
        Ok(())
    }
}

fn run(session: &mut Session, sql: &str) -> Result<(), (i32, String)> {
    let mut said = Said::default();
    session.execute(sql, &mut said);
    said.error.map_or(Ok(()), Err)
}

#[track_caller]
fn must(session: &mut Session, sql: &str) {
    if let Err((number, text)) = run(session, sql) {
        panic!("{sql}: {number} {text}");
    }
}

/// How one session holds what another one wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Row,
    Read,
    Range,
    Table,
    ApplicationOfTransaction,
    ApplicationOfSession,
}

use Kind::*;

const KINDS: [Kind; 6] = [Row, Read, Range, Table, ApplicationOfTransaction, ApplicationOfSession];

/// A thing that one session holds and another one wants.
#[derive(Clone, Copy, Debug)]
struct Thing {
    kind: Kind,
    db: usize,
    key: usize,
}

impl Thing {
    fn get_lock(&self, owner: &str) -> String {
        format!(
            "USE deadlock{}; DECLARE @r int; EXEC @r = sp_getapplock @Resource = 'thing{}', @LockMode = 'Exclusive', \
             @LockOwner = '{owner}', @LockTimeout = 30000; \
             IF @r = -3 RAISERROR('victim', 16, 1); IF @r IN (-1, -2, -999) RAISERROR('result %d', 16, 1, @r)",
            self.db, self.key
        )
    }

    fn hold(&self) -> String {
        let Thing { kind, db, key } = *self;
        match kind {
            Row => format!("UPDATE deadlock{db}.dbo.t SET n = n + 1 WHERE id = {key}"),
            Read => {
                format!("SELECT n FROM deadlock{db}.dbo.t WITH (REPEATABLEREAD) WHERE id = {key}")
            }
            Range => format!(
                "SELECT COUNT(*) FROM deadlock{db}.dbo.ranges WITH (SERIALIZABLE) WHERE id BETWEEN {key}01 AND {key}08"
            ),
            Table => {
                format!("SELECT COUNT(*) FROM deadlock{db}.dbo.own{key} WITH (TABLOCKX, HOLDLOCK)")
            }
            ApplicationOfTransaction => self.get_lock("Transaction"),
            ApplicationOfSession => self.get_lock("Session"),
        }
    }

    fn want(&self) -> String {
        let Thing { kind, db, key } = *self;
        match kind {
            Row | Read => format!("UPDATE deadlock{db}.dbo.t SET n = n + 1 WHERE id = {key}"),
            Range => format!("INSERT deadlock{db}.dbo.ranges VALUES ({key}05)"),
            Table => format!("INSERT deadlock{db}.dbo.own{key} VALUES (1)"),
            ApplicationOfTransaction | ApplicationOfSession => self.hold(),
        }
    }

    /// Gives back what does not end with the transaction.
    fn release(&self) -> Option<String> {
        let Thing { kind, db, key } = *self;
        (kind == ApplicationOfSession).then(|| {
            format!(
                "USE deadlock{db}; IF APPLOCK_MODE('public', 'thing{key}', 'Session') <> 'NoLock' \
                 EXEC sp_releaseapplock @Resource = 'thing{key}', @LockOwner = 'Session'"
            )
        })
    }
}

/// What a session of a round does.
struct Part {
    session: Session,
    priority: i32,
    hold: Option<Thing>,
    want: Option<Thing>,
}

/// How a session's wait ended.
struct End {
    asked: Instant,
    ended: Instant,
    victim: bool,
    missed: bool,
}

/// Makes the databases; rows for so many arenas.
pub fn make_databases(instance: &Arc<Instance>, arenas: usize) {
    let mut session = instance.session().expect("a session");
    for db in 0..DATABASES {
        must(&mut session, &format!("CREATE DATABASE deadlock{db}"));
        must(&mut session, &format!("ALTER DATABASE deadlock{db} SET RECOVERY SIMPLE"));
        must(&mut session, &format!("ALTER DATABASE deadlock{db} SET DELAYED_DURABILITY = FORCED"));
        must(
            &mut session,
            &format!(
                "USE deadlock{db}; CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
                 CREATE TABLE ranges (id int PRIMARY KEY);
                 INSERT t SELECT 100 + value, 0 FROM GENERATE_SERIES(0, {rows});
                 INSERT ranges SELECT (100 + value) * 100 FROM GENERATE_SERIES(0, {rows})",
                rows = arenas * MOST + 1
            ),
        );
        for key in 0..arenas * MOST {
            must(&mut session, &format!("USE deadlock{db}; CREATE TABLE own{} (n int)", key + 100));
        }
    }
}

/// Sessions and things of their own, beside other arenas.
pub struct Arena<'a> {
    rng: fastrand::Rng,
    first_key: usize,
    parts: Vec<Part>,
    outcome: &'a Outcome,
}

impl<'a> Arena<'a> {
    /// The arena of this number.
    pub fn new(
        instance: &Arc<Instance>,
        number: usize,
        seed: u64,
        outcome: &'a Outcome,
    ) -> Arena<'a> {
        let part = || {
            let mut session = instance.session().expect("a session");
            must(&mut session, "SET NOCOUNT ON; SET LOCK_TIMEOUT 30000");
            Part { session, priority: 0, hold: None, want: None }
        };
        Arena {
            rng: fastrand::Rng::with_seed(seed ^ (number as u64 * 7919)),
            first_key: 100 + number * MOST,
            parts: (0..MOST).map(|_| part()).collect(),
            outcome,
        }
    }

    fn thing(&mut self, at: usize) -> Thing {
        let (kind, db) = (KINDS[self.rng.usize(..KINDS.len())], self.rng.usize(..DATABASES));
        Thing { kind, db, key: self.first_key + at }
    }

    /// A number of sessions: mostly few.
    fn sessions(&mut self) -> usize {
        match self.rng.u8(..10) {
            0 => self.rng.usize(6..=MOST),
            1..4 => self.rng.usize(3..6),
            _ => 2,
        }
    }

    /// One round: how many deadlocks it made.
    pub fn round(&mut self) -> u64 {
        let count = self.sessions();
        let kind = self.rng.u8(..10);
        let things: Vec<Thing> = (0..count).map(|at| self.thing(at)).collect();
        let count = if kind == 1 { count.min(6) } else { count };
        for at in 0..count {
            let (hold, want) = match kind {
                // All read one row and change it then.
                1 => {
                    let thing = Thing { kind: Read, ..things[0] };
                    (thing, Some(thing))
                }
                // The last one wants nothing.
                0 if at + 1 == count => (things[at], None),
                _ => (things[at], Some(things[(at + 1) % count])),
            };
            let part = &mut self.parts[at];
            (part.hold, part.want) = (Some(hold), want);
            part.priority = self.rng.i32(-3..=3);
        }
        let ends = play(&mut self.parts[..count], kind == 0);
        let needed = match kind {
            0 => 0,
            1 => count as u64 - 1,
            _ => 1,
        };
        self.count(needed, &ends);
        needed
    }

    fn count(&self, needed: u64, ends: &[End]) {
        let o = self.outcome;
        let victims = ends.iter().filter(|end| end.victim).count() as u64;
        o.needless.fetch_add(victims.saturating_sub(needed), Relaxed);
        o.missed.fetch_add(ends.iter().filter(|end| end.missed).count() as u64, Relaxed);
        if needed == 0 {
            o.chains.fetch_add(1, Relaxed);
            return;
        }
        o.deadlocks.fetch_add(victims.min(needed), Relaxed);
        let least = self.parts[..ends.len()].iter().map(|part| part.priority).min();
        let of_victims = || ends.iter().zip(&self.parts).filter(|(end, _)| end.victim);
        if needed == 1 && of_victims().any(|(_, part)| Some(part.priority) != least) {
            o.wrong.fetch_add(1, Relaxed);
        }
        // A cycle stands from the last request on; of several in a round each is resolved after the
        // one before it.
        let mut since = ends.iter().map(|end| end.asked).max().unwrap_or_else(Instant::now);
        let mut resolved: Vec<Instant> = of_victims().map(|(end, _)| end.ended).collect();
        resolved.sort();
        for at in resolved {
            let stood = at.saturating_duration_since(since);
            o.longest_us.fetch_max(stood.as_micros() as u64, Relaxed);
            since = since.max(at);
        }
    }
}

/// All take what they hold, then all ask for what they want, then all give everything back.
fn play(parts: &mut [Part], chain: bool) -> Vec<End> {
    let barrier = Barrier::new(parts.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .iter_mut()
            .map(|part| {
                let barrier = &barrier;
                scope.spawn(move || play_part(part, barrier, chain))
            })
            .collect();
        threads.into_iter().map(|t| t.join().expect("a session panicked")).collect()
    })
}

fn play_part(part: &mut Part, barrier: &Barrier, chain: bool) -> End {
    let Part { session, priority, hold, want } = part;
    must(session, &format!("SET DEADLOCK_PRIORITY {priority}; BEGIN TRAN"));
    if let Some(hold) = hold {
        must(session, &hold.hold());
    }
    barrier.wait();
    let asked = Instant::now();
    let got = match want {
        Some(want) => run(session, &want.want()),
        None => {
            if chain {
                // The others' waits turn out long: they are looked at and are no deadlock.
                std::thread::sleep(Duration::from_millis(4));
            }
            Ok(())
        }
    };
    let ended = Instant::now();
    must(session, "IF @@TRANCOUNT > 0 ROLLBACK");
    for thing in [&hold, &want].into_iter().filter_map(|thing| thing.as_ref()) {
        if let Some(release) = thing.release() {
            must(session, &release);
        }
    }
    let victim = |(number, text): &(i32, String)| *number == 1205 || text == "victim";
    match got {
        Ok(()) => End { asked, ended, victim: false, missed: false },
        Err(e) if victim(&e) => End { asked, ended, victim: true, missed: false },
        Err((1222, _)) => End { asked, ended, victim: false, missed: true },
        Err((_, text)) if text.starts_with("result -1") => {
            End { asked, ended, victim: false, missed: true }
        }
        Err((number, text)) => panic!("{number} {text}"),
    }
}

/// Makes at least so many deadlocks in arenas beside each other.
pub fn make_deadlocks(
    instance: &Arc<Instance>,
    arenas: usize,
    deadlocks: u64,
    seed: u64,
) -> Outcome {
    make_databases(instance, arenas);
    let (outcome, made) = (Outcome::default(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for number in 0..arenas {
            let (outcome, made) = (&outcome, &made);
            scope.spawn(move || {
                let mut arena = Arena::new(instance, number, seed, outcome);
                while made.load(Relaxed) < deadlocks {
                    made.fetch_add(arena.round(), Relaxed);
                }
            });
        }
    });
    outcome
}
