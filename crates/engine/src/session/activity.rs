//! What a session does right now, told to the views while it runs: its batch, the place in it, its options, what it
//! waits for. Publishing costs two short locks per batch and one store per statement.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::SessionOptions;
use crate::batch::Compiled;
use crate::batch::program::Op;

/// First bytes of a handle of ad hoc text.
const HANDLE_KIND: [u8; 4] = [2, 0, 0, 0];
/// Bytes of a handle.
pub const HANDLE: usize = 20;

/// The state of a session as of its last batch.
#[derive(Clone)]
pub struct Published {
    /// The batch that runs, else the last one.
    pub batch: Option<Arc<Compiled>>,
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

impl Default for Published {
    fn default() -> Self {
        Published {
            batch: None,
            started: None,
            ended: None,
            elapsed: Duration::ZERO,
            options: SessionOptions::default(),
            rowcount: 0,
            error: 0,
        }
    }
}

/// What a session publishes.
#[derive(Default)]
pub struct Activity {
    published: Mutex<Published>,
    /// The operation of the batch that runs.
    at: AtomicU32,
}

impl std::fmt::Debug for Activity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Activity").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Activity {
    /// A batch begins.
    pub fn begins(&self, batch: &Arc<Compiled>) {
        self.at.store(0, Relaxed);
        let mut p = self.published.lock();
        p.batch = Some(batch.clone());
        p.started = Some(SystemTime::now());
    }

    /// A batch has ended.
    pub fn ended(&self, options: &SessionOptions, rowcount: u64, error: i32) {
        let now = SystemTime::now();
        let mut p = self.published.lock();
        let took = p.started.and_then(|started| now.duration_since(started).ok());
        p.elapsed += took.unwrap_or_default();
        p.ended = Some(now);
        p.options.clone_from(options);
        (p.rowcount, p.error) = (rowcount, error);
    }

    /// The batch has come to an operation.
    #[inline]
    pub fn reached(&self, at: usize) {
        self.at.store(at as u32, Relaxed);
    }

    /// A copy of it all.
    pub fn look(&self) -> Published {
        self.published.lock().clone()
    }

    /// The statement that runs, as a range of bytes of the batch's text; none between statements.
    pub fn statement(&self, batch: &Compiled) -> Option<(usize, usize)> {
        let Some(Op::Stmt(index)) = batch.program.ops.get(self.at.load(Relaxed) as usize) else {
            return None;
        };
        let span = batch.program.stmts.get(*index as usize)?.span;
        let (start, end) = (span.start as usize, span.end as usize);
        batch.text.get(start..end).map(|_| (start, end))
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
