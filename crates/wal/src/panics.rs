//! A panic inside the log takes the log offline. The locks of this crate do not poison, and a
//! thread that panics in the middle of a change of the tail, of a write or of the map on disk
//! leaves an unknown state. So such a panic is final for the log, as a failed write is: waiting
//! threads get an error, nothing more is written, and opening recovers what was acknowledged.
//!
//! Threads: a committer that writes for other threads ends its turn when it panics; "log writer"
//! and "log grower" end; if the second writer panics, the thread that waits for its result gets
//! none, which counts as a failed write (`second`).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::panicking;

use disk::{DiskError, Op};

use crate::log::Log;

/// Takes the log offline if the thread panics while this exists.
pub(crate) struct FailsOnPanic<'a> {
    log: &'a Log,
    during: &'static str,
    /// The thread was panicking already when this was made, and is cleaning up: that panic did not
    /// interrupt the guarded change.
    before: bool,
}

impl FailsOnPanic<'_> {
    /// Takes the log offline now, if the thread panics.
    pub fn check(&self) {
        if panicking() && !self.before {
            self.log.poison_by_panic(self.during);
        }
    }
}

impl Drop for FailsOnPanic<'_> {
    fn drop(&mut self) {
        self.check();
    }
}

impl Log {
    /// To be held while the log's state changes.
    pub(crate) fn fails_on_panic(&self, during: &'static str) -> FailsOnPanic<'_> {
        FailsOnPanic { log: self, during, before: panicking() }
    }

    /// Runs a piece of a background thread's work. `None` after a panic.
    pub(crate) fn guarded<T>(&self, name: &'static str, work: impl FnOnce(&Log) -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(|| work(self)));
        done.map_err(|panic| self.poison_by_panic(&format!("{name}: {}", text_of(&*panic)))).ok()
    }

    fn poison_by_panic(&self, during: &str) {
        let path = self.file.path().to_owned();
        let text = format!("a thread of the log has panicked ({during})");
        self.poison(DiskError::Io { op: Op::Write, path, offset: 0, code: 0, text });
    }
}

/// The message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no message",
    }
}
