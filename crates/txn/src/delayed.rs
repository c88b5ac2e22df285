//! When delayed commits become durable: by a thread of its own, within the loss window's time and
//! before its bytes are used up as long as the disk keeps up; else commits wait.
//!
//! Guarantees: a commit that was answered is durable within [`LossWindow::ms`](crate::LossWindow)
//! plus a flush; no more than [`LossWindow::kb`](crate::LossWindow) of log waits when a commit is
//! answered; none is forgotten when the database closes.

use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use wal::Lsn;

use crate::database::{Database, Status};
use crate::error::TxnError;

impl Database {
    /// A delayed commit is in the log buffer. From three quarters of the window on, the flusher is
    /// called, so that the disk works while commits go on; a commit that finds the window full
    /// waits until it is not.
    pub(crate) fn flush_delayed(&self, commit: Lsn) -> Result<(), TxnError> {
        // Pairs with close(), which changes the status before it flushes, and with the flusher's:
        // one of the two sees the other.
        fence(Ordering::SeqCst);
        if self.status() != Status::Online {
            // Nobody would come for it.
            return Ok(self.log().flush_to(commit)?);
        }
        let flusher = self.flusher();
        let (mut waiting, window) = (self.log().not_durable(), self.loss_window().bytes());
        if waiting > window {
            self.log().flush_beyond(window)?;
            waiting = self.log().not_durable();
        }
        if waiting > window / 4 * 3 {
            flusher.call();
        }
        flusher.remind();
        Ok(())
    }

    /// A commit is in the log buffer that its session makes durable before it is answered. Where
    /// the request goes on for long the flusher does it before, within the window's time: the log
    /// is written while the request works, and others need not wait for it.
    pub fn flush_soon(&self) {
        // As for a delayed commit.
        fence(Ordering::SeqCst);
        if self.status() == Status::Online {
            self.flusher().remind();
        }
    }

    /// The same where somebody waits for it outside of the request: where the window is longer than
    /// `most` the flusher comes at once.
    pub fn flush_within(&self, most: Duration) {
        fence(Ordering::SeqCst);
        if self.status() != Status::Online {
            return;
        }
        if Duration::from_millis(self.loss_window().ms.into()) > most {
            self.flusher().call();
        } else {
            self.flusher().remind();
        }
    }

    /// What the flusher does when its bell has rung.
    pub(crate) fn flush_round(&self) {
        let flusher = self.flusher();
        while flusher.due.load(Ordering::Acquire) {
            // Not a sleep: closing must not wait for a long window.
            let time = Duration::from_millis(self.loss_window().ms.into());
            let go_on = flusher.called.load(Ordering::Acquire) || flusher.bell.wait(Some(time));
            // Before the flush: a commit that comes meanwhile makes it due again. A flusher that
            // was called comes again by itself, so that commits need not wake him twice for each
            // flush.
            let called = flusher.called.load(Ordering::Acquire);
            flusher.due.store(called, Ordering::Release);
            // Pairs with the commit's: either it sees that nobody comes, or the flush sees its
            // record.
            fence(Ordering::SeqCst);
            if let Err(e) = self.log().flush_all() {
                return self.fail("log flush", &e.into());
            }
            // Where a good part of the window fills during a flush, a flusher that went to sleep
            // would be called again at once.
            let again = called && self.log().not_durable() > self.loss_window().bytes() / 6;
            flusher.called.store(again, Ordering::Release);
            // Unless he was called, a commit may have rung the bell meanwhile: that must not cut
            // the next wait short.
            if !go_on || !called {
                return;
            }
        }
    }
}
