//! One attacker: a connection that sends statement after statement, an attention after a random
//! time, and the time until the server has let go. A connection that the server ends is opened
//! again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use client::{CancelHandle, Connection, Token};
use fastrand::Rng;
use parking_lot::Mutex;

use crate::report::{AttackOutcome, Report};
use crate::server::{connect, peak};
use crate::statements::{self, Statement};

/// An attention comes after at most this long.
const LONGEST: Duration = Duration::from_millis(2_500);
/// A connection whose attention has no answer for so long is dropped.
const PATIENCE: Duration = Duration::from_secs(20);

/// What all attackers share.
pub struct Field {
    pub port: u16,
    pub report: Arc<Report>,
    pub over: Arc<AtomicBool>,
    /// What each attacker runs now, for the report of a slow point query.
    pub running: Vec<Mutex<String>>,
    /// The server, and from which peak of its memory on a statement is told.
    pub peaks: Option<(u32, u64)>,
}

/// Attacks as `login` until the run is over.
pub fn attack(field: &Field, at: usize, login: &str, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut connection = None;
    while !field.over.load(Relaxed) {
        let Some(open) = &mut connection else {
            let begun = Instant::now();
            match connect(field.port, login) {
                Ok(open) => connection = Some(open),
                Err(error) => {
                    field.report.refused(&error, begun.elapsed());
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
            continue;
        };
        let statement = statements::next(&mut rng);
        let patience = LONGEST.mul_f64(rng.f64().powi(2));
        *field.running[at].lock() = format!("{}: {}", statement.family, statement.name);
        let outcome = run(open, &statement, patience);
        if let Some((pid, least)) = field.peaks {
            let peak = peak(pid);
            if peak >= least {
                let Statement { family, name, .. } = &statement;
                eprintln!("{} MB: {family}: {name}, {:?}", peak >> 20, outcome.took);
            }
        }
        let lost = outcome.lost.is_some();
        field.report.add(&statement, outcome);
        // A session keeps what was opened in it; from time to time that is given up, by a rollback
        // or with the session.
        if lost || rng.u8(0..10) == 0 {
            connection = None;
        } else if rng.bool() {
            let end = Statement { family: "end", name: "rollback".into(), text: ROLLBACK.into() };
            if run(open, &end, PATIENCE).lost.is_some() {
                connection = None;
            }
        }
    }
}

const ROLLBACK: &str = "if @@trancount > 0 rollback";

fn run(connection: &mut Connection, statement: &Statement, patience: Duration) -> AttackOutcome {
    let (done, wait) = channel();
    let cancel = connection.cancel_handle();
    let watch = std::thread::spawn(move || watch(&cancel, &wait, patience));
    let mut outcome = AttackOutcome::default();
    let begun = Instant::now();
    let result = connection.batch(&statement.text, &mut |token| {
        match token {
            Token::Row(_) => outcome.rows += 1,
            Token::Error(error) => outcome.error = outcome.error.or(Some(error.number)),
            _ => {}
        }
        true
    });
    outcome.took = begun.elapsed();
    outcome.lost = result.err().map(|error| error.to_string());
    let ended = Instant::now();
    end_watch(&done);
    let attention = watch.join().unwrap_or_default();
    outcome.attention = attention.map(|sent: Instant| ended.saturating_duration_since(sent));
    outcome
}

fn end_watch(done: &Sender<()>) {
    // The watch may have ended after the connection was hung up.
    let _ = done.send(());
}

/// Sends the attention when its time has come, and hangs up when nothing comes of it. When it was
/// sent.
fn watch(cancel: &CancelHandle, done: &Receiver<()>, patience: Duration) -> Option<Instant> {
    let late = |time| done.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    if !late(patience) {
        return None;
    }
    loop {
        let sent = Instant::now();
        if cancel.cancel() {
            if late(PATIENCE) {
                cancel.hang_up();
            }
            return Some(sent);
        }
        // The request has not begun yet, or has just ended.
        if !late(Duration::from_millis(1)) {
            return None;
        }
    }
}
