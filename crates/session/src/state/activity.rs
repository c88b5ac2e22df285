//! What a session does right now, told to the views while it runs: its batch, the place in it, its
//! options, whether it waits for the log. Times are as of the system's last tick. Publishing costs
//! some stores per batch and one per statement; a lock only where the batch is another one than
//! before, or an option has changed.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{
    AtomicI32, AtomicU8, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use wal::WaitKind;

use super::phases;
use super::shared::SessionShared;
use crate::conceal::conceal;
use bind::set_options::{CurrentOptions, SessionOptions};

/// First bytes of a handle of ad hoc text.
const HANDLE_KIND: [u8; 4] = [2, 0, 0, 0];
/// Bytes of a handle.
pub const HANDLE: usize = 20;

/// A batch that runs or has run, as far as others may look at it.
pub trait BatchView: Send + Sync {
    /// Its text, without secrets.
    fn text(&self) -> &Arc<str>;

    /// The statement that the operation of this number belongs to, as a range of bytes of the text.
    fn statement(&self, operation: usize) -> Option<(usize, usize)>;
}

/// A place in a procedure or trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModulePlace {
    pub db: i32,
    pub object_id: i32,
    pub operation: usize,
}

/// The state of a session as of its last batch.
#[derive(Clone)]
pub struct Published {
    /// The batch that runs, else the last one.
    pub batch: Option<Arc<dyn BatchView>>,
    /// The procedure or trigger that runs inside it.
    pub module: Option<ModulePlace>,
    /// The text that the client sent, where the batch is the shape of it; else empty. It may have
    /// secrets.
    pub sent: String,
    /// When the last batch began and ended.
    pub started: Option<SystemTime>,
    pub ended: Option<SystemTime>,
    /// Time in finished batches.
    pub elapsed: Duration,
    /// SET options, @@ROWCOUNT and @@ERROR when the last batch ended.
    pub options: SessionOptions,
    pub rowcount: u64,
    pub error: i32,
}

impl Published {
    /// What the client has sent, without secrets.
    pub fn input(&self) -> Option<Arc<str>> {
        if self.sent.is_empty() {
            return self.batch.as_ref().map(|batch| batch.text().clone());
        }
        Some(conceal(&self.sent).into())
    }
}

/// What changes seldom of what a session publishes.
#[derive(Default)]
struct LastingActivity {
    batch: Option<Arc<dyn BatchView>>,
    sent: String,
    options: SessionOptions,
}

/// What a session publishes. Only the session's own thread changes it.
#[derive(Default)]
pub struct Activity {
    lasting: Mutex<LastingActivity>,
    /// Beginning and end of the last batch, in microseconds since 1970, 0 before the first; the
    /// time in finished ones.
    started: AtomicU64,
    ended: AtomicU64,
    elapsed: AtomicU64,
    rowcount: AtomicU64,
    error: AtomicI32,
    /// The operation of the batch that runs.
    at: AtomicU32,
    /// The procedure or trigger that runs inside the batch (its database, its object_id; 0 for
    /// none) and its operation. A thread that reads the two in the moment of a call may see the
    /// place of another module.
    module: AtomicU64,
    at_in_module: AtomicU32,
    /// What it waits for in the log, 1 more than the position in [`KINDS`]; 0 for nothing.
    waits: AtomicU8,
    /// The same of its last such wait.
    waited: AtomicU8,
    /// Since when, in microseconds since 1970.
    since: AtomicU64,
}

/// Waits that a log reports.
const KINDS: [WaitKind; 3] = [WaitKind::WriteLog, WaitKind::LogBuffer, WaitKind::Growth];

/// What a session's thread knows of what is published, so that it publishes only what is new.
#[derive(Default)]
pub struct PublishedState {
    /// Address of the batch, which the publication keeps alive.
    batch: usize,
    /// The client has sent another text than the batch's own.
    sent: bool,
    /// The options, by their number.
    options: Option<u64>,
}

thread_local! {
    /// The session whose batch this thread runs, or ran last: it is most often the next one's too.
    static HERE: RefCell<Weak<SessionShared>> = const { RefCell::new(Weak::new()) };
    /// A batch runs.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, waits of this thread are the session's.
pub struct CurrentSessionGuard {
    /// The session of the batch around this one, if it is another one.
    around: Option<Weak<SessionShared>>,
    ran: bool,
}

impl CurrentSessionGuard {
    /// A session's batch begins on this thread.
    #[inline]
    pub fn enter(session: &Arc<SessionShared>) -> CurrentSessionGuard {
        let ran = RUNS.replace(true);
        let around = HERE.with_borrow_mut(|here| {
            let known = std::ptr::eq(here.as_ptr(), Arc::as_ptr(session));
            (!known).then(|| std::mem::replace(here, Arc::downgrade(session)))
        });
        CurrentSessionGuard { around: around.filter(|_| ran), ran }
    }
}

impl Drop for CurrentSessionGuard {
    fn drop(&mut self) {
        RUNS.set(self.ran);
        if let Some(around) = self.around.take() {
            HERE.set(around);
        }
    }
}

/// The session whose batch this thread runs.
fn here() -> Option<Arc<SessionShared>> {
    if RUNS.get() { HERE.with_borrow(Weak::upgrade) } else { None }
}

/// This thread begins to wait for the log.
pub fn waits(kind: WaitKind) {
    phases::log_wait_begins();
    let Some(session) = here() else { return };
    // The flush of a commit is short, and each commit has one.
    if kind != WaitKind::WriteLog {
        session.begins_to_wait();
    }
    let a = &session.activity;
    a.since.store(micros(SystemTime::now()), Relaxed);
    let number = KINDS.iter().position(|k| *k == kind).map_or(0, |at| at as u8 + 1);
    a.waits.store(number, Relaxed);
    a.waited.store(number, Relaxed);
}

/// This thread has waited for the log.
pub fn waited() {
    phases::log_wait_ends();
    if let Some(session) = here() {
        session.activity.waits.store(0, Relaxed);
    }
}

/// Whether the batch that this thread runs is to stop: asked by waits for locks before they begin.
pub fn interrupted() -> bool {
    here().is_some_and(|session| {
        session.begins_to_wait();
        session.cancel.load(Acquire)
    })
}

/// Now, in microseconds since 1970, as of the system's last tick, some milliseconds ago: what is
/// shown is as coarse as that, and a batch may take less than the reading of the finer clock costs.
#[inline]
fn about_now() -> u64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1_000
}

fn micros(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

fn moment(us: u64) -> Option<SystemTime> {
    (us > 0).then(|| UNIX_EPOCH + Duration::from_micros(us))
}

fn kind(number: u8) -> Option<WaitKind> {
    KINDS.get(usize::from(number.checked_sub(1)?)).copied()
}

impl std::fmt::Debug for Activity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Activity").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Activity {
    /// A request begins: a batch, a call or a bulk load.
    #[inline]
    pub fn starts(&self) {
        self.at.store(0, Relaxed);
        self.module.store(0, Relaxed);
        self.started.store(about_now(), Relaxed);
    }

    /// The batch of the request is known; `sent` is what the client sent where that is not the
    /// batch's own text.
    pub fn begins<B: BatchView + 'static>(
        &self,
        told: &mut PublishedState,
        batch: &Arc<B>,
        sent: Option<&str>,
    ) {
        let address = Arc::as_ptr(batch).addr();
        if told.batch == address && !told.sent && sent.is_none() {
            return;
        }
        let mut lasting = self.lasting.lock();
        lasting.sent.clear();
        lasting.sent.push_str(sent.unwrap_or_default());
        if told.batch != address {
            lasting.batch = Some(batch.clone());
        }
        (told.batch, told.sent) = (address, sent.is_some());
    }

    /// A batch has ended.
    pub fn ended(
        &self,
        told: &mut PublishedState,
        options: &CurrentOptions,
        rowcount: u64,
        error: i32,
    ) {
        let now = about_now();
        let took = now.saturating_sub(self.started.load(Relaxed));
        self.elapsed.store(self.elapsed.load(Relaxed) + took, Relaxed);
        self.ended.store(now, Relaxed);
        self.rowcount.store(rowcount, Relaxed);
        self.error.store(error, Relaxed);
        if told.options != Some(options.changes()) {
            told.options = Some(options.changes());
            self.lasting.lock().options.clone_from(options);
        }
    }

    /// The batch has come to an operation.
    #[inline]
    pub fn reached(&self, at: usize) {
        self.at.store(at as u32, Relaxed);
    }

    /// A procedure or trigger begins inside the batch. Gives what ran before.
    #[inline]
    pub fn enters(&self, db: i32, object_id: i32) -> u64 {
        let before = self.module.load(Relaxed);
        self.module.store(u64::from(db as u32) << 32 | u64::from(object_id as u32), Relaxed);
        before
    }

    /// It has ended: what [`Activity::enters`] gave runs again.
    #[inline]
    pub fn leaves(&self, before: u64) {
        self.module.store(before, Relaxed);
    }

    /// It has come to an operation.
    #[inline]
    pub fn reached_in_module(&self, at: usize) {
        self.at_in_module.store(at as u32, Relaxed);
    }

    fn module(&self) -> Option<ModulePlace> {
        let module = self.module.load(Relaxed);
        let operation = self.at_in_module.load(Relaxed) as usize;
        let place = || ModulePlace {
            db: (module >> 32) as i32,
            object_id: module as u32 as i32,
            operation,
        };
        (module != 0).then(place)
    }

    /// When the last request began, in microseconds since 1970.
    #[inline]
    pub fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// The wait for the log that it is in.
    pub fn log_wait(&self) -> Option<(WaitKind, Duration)> {
        let kind = kind(self.waits.load(Relaxed))?;
        let us = micros(SystemTime::now()).saturating_sub(self.since.load(Relaxed));
        Some((kind, Duration::from_micros(us)))
    }

    /// The last wait for the log that it was in.
    pub fn last_log_wait(&self) -> Option<WaitKind> {
        kind(self.waited.load(Relaxed))
    }

    /// A copy of it all.
    pub fn look(&self) -> Published {
        let lasting = self.lasting.lock();
        Published {
            batch: lasting.batch.clone(),
            module: self.module(),
            sent: lasting.sent.clone(),
            started: moment(self.started.load(Relaxed)),
            ended: moment(self.ended.load(Relaxed)),
            elapsed: Duration::from_micros(self.elapsed.load(Relaxed)),
            options: lasting.options.clone(),
            rowcount: self.rowcount.load(Relaxed),
            error: self.error.load(Relaxed),
        }
    }

    /// The statement that runs, as a range of bytes of the batch's text; none between statements.
    pub fn statement(&self, batch: &dyn BatchView) -> Option<(usize, usize)> {
        batch.statement(self.at.load(Relaxed) as usize)
    }
}

/// sql_handle of a text: the same text has the same handle while the process runs.
pub fn handle(text: &str) -> [u8; HANDLE] {
    let mut bytes = [0; HANDLE];
    bytes[..4].copy_from_slice(&HANDLE_KIND);
    for (salt, part) in bytes[4..].chunks_exact_mut(8).enumerate() {
        let mut hasher = std::hash::DefaultHasher::new();
        (salt, text).hash(&mut hasher);
        part.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    bytes
}
