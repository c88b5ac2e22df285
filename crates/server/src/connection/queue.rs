//! A connection in the queue of requests for which there is no thread: it has what was read of it,
//! and no other owner.
//! Guarantee: it leaves the queue once, to begin or because something else has come.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Connection, ConnectionGate, NextInput};
use crate::admission::{Queued, Ticket};
use crate::wire::ReceivedInput;

impl ConnectionGate {
    /// Keeps what was read for when the connection has a thread.
    fn hold(&mut self, next: Option<NextInput>) {
        self.held = match next {
            Some(NextInput::Got(got)) => Some(got),
            None | Some(NextInput::Attention | NextInput::Gone) => None,
        };
        // More of a bulk load may follow, which is read when it runs.
        self.loading = matches!(self.held, Some(ReceivedInput::Bulk { .. }));
    }
}

impl Queued for Connection {
    fn leaves_queue(&self, ticket: Ticket) -> bool {
        let mut gate = self.gate.lock();
        let was_there = gate.queued == Some(ticket);
        if was_there {
            gate.queued = None;
        }
        was_there
    }
}

impl Connection {
    /// It begins to wait for a thread, unless it does already.
    pub fn begin_wait(&self) {
        let now = (self.opened.elapsed().as_nanos() as u64).max(1);
        let _ = self.waits_since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// A thread has it: how long it has waited for that, if it was noted.
    pub fn take_waited(&self) -> Option<Duration> {
        if self.waits_since.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let since = Duration::from_nanos(self.waits_since.swap(0, Ordering::Relaxed));
        Some(self.opened.elapsed().saturating_sub(since))
    }

    /// Where the request has been in the queue that the caller has taken it from; once.
    pub fn take_withdrawn(&self) -> Option<Ticket> {
        self.gate.lock().withdrawn.take()
    }

    /// Ends the connection if no worker has it, as [`Connection::end`] does. Whether the caller
    /// must close it.
    pub fn end_if_free(&self) -> bool {
        let mut gate = self.gate.lock();
        let free = self.take_idle(&mut gate);
        gate.gone |= free;
        free
    }

    /// Puts the connection into the queue, with what was read of it last, if that is known. False:
    /// something has come that is to be looked at first; the connection stays the caller's, and its
    /// next message is the same one again.
    pub fn enter_queue(&self, ticket: Ticket, held: Option<NextInput>) -> bool {
        let mut gate = self.gate.lock();
        assert!(gate.owned && gate.queued.is_none(), "a connection that nobody has is queued");
        if matches!(held, Some(NextInput::Gone)) {
            // It waits for a thread that ends its session.
            gate.gone = true;
        } else if gate.gone || gate.attention {
            gate.hold(held);
            return false;
        }
        gate.hold(held);
        gate.queued = Some(ticket);
        true
    }

    /// Reads what has come while the connection was being queued. Whether the caller has it again.
    pub fn listen_in_queue(&self) -> bool {
        let more = self.wire.lock().may_have_more();
        let mut gate = self.gate.lock();
        if gate.queued.is_none() || !gate.is_listened_to() || gate.early.is_some() {
            return false;
        }
        if !std::mem::take(&mut gate.readable) && !more {
            return false;
        }
        let over = gate.over;
        drop(gate);
        self.listen(over)
    }
}
