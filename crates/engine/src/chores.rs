//! What an instance does at times without being asked: it closes the intervals of the Query Stores,
//! forgets what is stale in them, and deletes what is older than HISTORY_RETENTION_PERIOD from the
//! histories of versioned tables. What fails is in the error log, and tried again. Guarantees: its
//! thread ends with the instance, whatever it waits for; a chore that fails, or that others keep
//! waiting, keeps no other from its turn.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use catalog::Db;
use parking_lot::{Condvar, Mutex};
use types::SqlError;

use crate::session::{CancelHandle, Session};
use ddl::retention;
use instance::InstanceCore;
use programs::usage;

/// Every so many periods the thread looks for what is old; the first time in the first one.
const OLD: u64 = 60;
/// How long a chore waits for a lock.
const PATIENCE: Duration = Duration::from_secs(5);
/// No period is shorter.
const SHORTEST: Duration = Duration::from_millis(1);

/// Whether the thread is to end, and what it does meanwhile.
#[derive(Default)]
struct ChoreThread {
    stopped: bool,
    /// Its session, while it changes something.
    session: Option<CancelHandle>,
}

/// Tells the thread to end.
#[derive(Default)]
struct ChoreStop {
    now: Mutex<ChoreThread>,
    wake: Condvar,
}

impl ChoreStop {
    /// Runs a session's work, which ends with 3617 when the thread is to end; nothing is run after
    /// that.
    fn within<T>(&self, session: &mut Session, work: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let handle = session.cancel_handle();
        handle.expect_request();
        {
            let mut now = self.now.lock();
            if now.stopped {
                return None;
            }
            now.session = Some(handle);
        }
        let done = work(session);
        self.now.lock().session = None;
        Some(done)
    }

    fn is_stopped(&self) -> bool {
        self.now.lock().stopped
    }
}

/// The thread.
struct Chores {
    stop: Arc<ChoreStop>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Chores {
    fn drop(&mut self) {
        let running = {
            let mut now = self.stop.now.lock();
            now.stopped = true;
            now.session.take()
        };
        self.stop.wake.notify_all();
        if let Some(session) = running {
            session.cancel();
        }
        if let Some(thread) = self.thread.take()
            // It can be the last to hold the instance.
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of it has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Begins the thread; `period`: how often it looks what there is to do, at full multiples of it, so
/// that intervals begin there.
pub(crate) fn begin(instance: &Arc<InstanceCore>, period: Duration) {
    let stop = Arc::new(ChoreStop::default());
    let (own, whose) = (stop.clone(), Arc::downgrade(instance));
    let period = period.max(SHORTEST);
    let thread =
        std::thread::Builder::new().name("chores".into()).spawn(move || run(&own, &whose, period));
    match thread {
        Ok(thread) => {
            *instance.chores.lock() = Some(Box::new(Chores { stop, thread: Some(thread) }))
        }
        Err(e) => instance.error_log().write("Server", &format!("No thread for chores: {e}")),
    }
}

fn run(stop: &ChoreStop, whose: &Weak<InstanceCore>, period: Duration) {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    for count in 0u64.. {
        let now = micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let next = (now / micros(period) + 1).saturating_mul(micros(period));
        {
            let end = Instant::now() + Duration::from_micros(next - now);
            let mut now = stop.now.lock();
            while !now.stopped && !stop.wake.wait_until(&mut now, end).timed_out() {}
            if now.stopped {
                return;
            }
        }
        let Some(instance) = whose.upgrade() else { return };
        let databases = instance.databases();
        if databases.iter().any(|db| db.query_store().notes()) {
            usage::settle_until(instance.batches(), next - 1);
        }
        if count.is_multiple_of(OLD) {
            forget_old(stop, &instance, &databases, next);
        }
    }
}

/// Lets go of what is old at a moment, in microseconds since 1970.
fn forget_old(stop: &ChoreStop, instance: &Arc<InstanceCore>, databases: &[Arc<Db>], moment: u64) {
    for db in databases {
        db.query_store().forget_stale(&db.settings().query_store, moment);
        if let Err(e) = clean(stop, instance, db)
            && !stop.is_stopped()
        {
            let text = format!("Histories of '{}' were not cleaned: {}", db.name(), e.message);
            instance.error_log().write("Server", &text);
        }
    }
}

/// What histories keep longer than they are to.
fn clean(stop: &ChoreStop, instance: &Arc<InstanceCore>, db: &Arc<Db>) -> Result<(), SqlError> {
    if db.storage_if_open().is_none()
        || db.check_writable().is_err()
        || retention::tables(db).is_empty()
    {
        return Ok(());
    }
    // The one session that it takes, or the administrators that it is for, are not kept out by a
    // chore.
    if !db.is_open_to_all() {
        return Ok(());
    }
    let work = |session: &mut Session| {
        session.with_core(|core| {
            core.options.lock_timeout = PATIENCE.as_millis() as i32;
            core.use_db(db.clone())?;
            retention::clean(core, db)
        })
    };
    stop.within(&mut Session::of(instance)?, work).unwrap_or(Ok(()))
}
