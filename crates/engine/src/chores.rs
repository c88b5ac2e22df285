//! What an instance does at times without being asked: it closes the intervals of the Query Stores, forgets what is stale in them, and deletes
//! what is older than HISTORY_RETENTION_PERIOD from the histories of versioned tables. What fails is in the error log, and tried again.
//! Guarantee: its thread ends with the instance.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use catalog::Db;
use parking_lot::{Condvar, Mutex};
use types::SqlError;

use crate::batch::usage;
use crate::ddl::retention;
use crate::instance::Instance;

/// Every so often, at full multiples of it: intervals begin there.
const PERIOD: Duration = Duration::from_secs(60);
/// Periods from one look for what is old to the next.
const OLD: u64 = 60;

/// Tells the thread to end.
#[derive(Default)]
struct Stop {
    stopped: Mutex<bool>,
    wake: Condvar,
}

/// The thread.
struct Chores {
    stop: Arc<Stop>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Chores {
    fn drop(&mut self) {
        *self.stop.stopped.lock() = true;
        self.stop.wake.notify_all();
        if let Some(thread) = self.thread.take()
            // It can be the last to hold the instance.
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of it has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Begins the thread.
pub(crate) fn begin(instance: &Arc<Instance>) {
    let stop = Arc::new(Stop::default());
    let (own, whose) = (stop.clone(), Arc::downgrade(instance));
    let thread = std::thread::Builder::new().name("chores".into()).spawn(move || run(&own, &whose));
    match thread {
        Ok(thread) => *instance.chores.lock() = Some(Box::new(Chores { stop, thread: Some(thread) })),
        Err(e) => instance.error_log().write("Server", &format!("No thread for chores: {e}")),
    }
}

fn run(stop: &Stop, whose: &Weak<Instance>) {
    let mut count = 0;
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let next = (now.as_secs() / PERIOD.as_secs() + 1) * PERIOD.as_secs();
        {
            let end = Instant::now() + Duration::from_secs(next).saturating_sub(now);
            let mut stopped = stop.stopped.lock();
            while !*stopped && !stop.wake.wait_until(&mut stopped, end).timed_out() {}
            if *stopped {
                return;
            }
        }
        let Some(instance) = whose.upgrade() else { return };
        count += 1;
        once(&instance, next * 1_000_000, count);
    }
}

/// What is to do at a moment, in microseconds since 1970.
fn once(instance: &Arc<Instance>, moment: u64, count: u64) {
    let databases = instance.databases();
    if databases.iter().any(|db| db.query_store().notes()) {
        // The cache of batches is the instance's own.
        let _ = usage::settle_until(instance, moment - 1);
    }
    if count.is_multiple_of(OLD) {
        for db in &databases {
            db.query_store().forget_stale(&db.settings().query_store, moment);
            if let Err(e) = clean(instance, db) {
                let text = format!("Histories of '{}' were not cleaned: {}", db.name(), e.message);
                instance.error_log().write("Server", &text);
            }
        }
    }
}

/// What histories keep longer than they are to.
fn clean(instance: &Arc<Instance>, db: &Arc<Db>) -> Result<(), SqlError> {
    if db.storage_if_open().is_none() || db.check_writable().is_err() || retention::tables(db).is_empty() {
        return Ok(());
    }
    let mut session = instance.session()?;
    session.with_core(|core| {
        core.set_db(db.clone());
        retention::clean(core, db)
    })
}
