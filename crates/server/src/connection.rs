//! One connection as pollers and workers share it. At any time it has one owner: nobody (it is idle
//! and the threads that wait for sockets watch it), a worker, which reads, runs and writes, or the
//! queue of requests for which there is no thread yet. While a request runs or is queued another
//! thread (the listener) reads in the worker's place, so that an attention or the end of the
//! connection is noticed at once. Guarantees: an idle or queued connection holds no thread;
//! readiness that comes while a worker has the connection is never lost; each attention is answered
//! once; a client that does not read makes only its own worker wait.

mod queue;
mod sending;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use engine::session::{CancelHandle, SessionWatcher};
use parking_lot::{Condvar, Mutex, MutexGuard};
use tds::PacketType;

use crate::admission::{Member, Slot, Ticket};
use crate::client::Client;
use crate::wire::{ReceivedInput, Wire, WireError};
use sending::KeptAnswers;

/// A connection.
pub struct Connection {
    /// Its number in its lane's readiness.
    pub id: usize,
    /// The client's address.
    pub peer: SocketAddr,
    /// The server's.
    pub local: SocketAddr,
    /// It was accepted although there are as many connections as allowed: its login is refused.
    pub surplus: bool,
    socket: TcpStream,
    gate: Mutex<ConnectionGate>,
    /// The gate has changed.
    changed: Condvar,
    wire: Mutex<Wire>,
    client: Mutex<Client>,
    /// Answers that leave together with the next one.
    kept: Mutex<KeptAnswers>,
    /// There are such.
    keeps: AtomicBool,
    /// When it was accepted.
    pub opened: Instant,
    /// Stops what the session runs; there when the login is done.
    handle: OnceLock<CancelHandle>,
    in_transaction: AtomicBool,
    /// It came by the listener for administrators.
    pub dedicated: bool,
    /// What its login holds of the worker threads; there when the password was right.
    share: OnceLock<Arc<Member>>,
    /// The thread that its request holds.
    slot: Mutex<Option<Slot>>,
    /// What its session tells of itself goes there.
    watcher: OnceLock<Arc<dyn SessionWatcher>>,
    /// Since when it has waited for a thread: nanoseconds after `opened`, 0 for not at all. Kept
    /// while requests are timed.
    waits_since: AtomicU64,
}

struct ConnectionGate {
    /// A worker has it, or it waits for one.
    owned: bool,
    /// There may be bytes to read.
    readable: bool,
    /// There may be room to write.
    writable: bool,
    /// The client sends no more.
    over: bool,
    /// A request runs, which the connection's handle stops. The listener reads.
    running: bool,
    /// The request reads by itself: a bulk load.
    loading: bool,
    /// The client wants the request stopped; to be answered.
    attention: bool,
    /// Attentions that have come while an earlier one waited for a thread, because a reset comes
    /// with it: to be answered behind that.
    more_attentions: u32,
    /// The listener has read a request while one runs, or the first piece of the bulk load that the
    /// one which runs announces.
    early: Option<ReceivedInput>,
    /// Its place in the queue of requests for which there is no thread yet.
    queued: Option<Ticket>,
    /// The request that is queued.
    held: Option<ReceivedInput>,
    /// The request was withdrawn from the queue, where it may still have this place.
    withdrawn: Option<Ticket>,
    /// The client has gone away, or the server ends the connection.
    gone: bool,
    /// Since when nobody has it.
    since: Instant,
}

/// What the worker that has a connection finds in it.
pub enum NextInput {
    /// A message or a piece.
    Got(ReceivedInput),
    /// The client has withdrawn what it asked for last.
    Attention,
    /// The connection is over.
    Gone,
}

impl ConnectionGate {
    /// Whether another thread than the owner's reads what the client sends.
    fn is_listened_to(&self) -> bool {
        (self.running || self.queued.is_some()) && !self.loading
    }

    /// An attention withdraws what was queued, but for the reset that was to come before it; not an
    /// earlier attention.
    fn withdraw_held(&mut self) -> NextInput {
        match self.held.take() {
            Some(ReceivedInput::Message(received)) if received.kind == PacketType::Attention => {
                self.more_attentions = self.more_attentions.saturating_add(1);
                NextInput::Got(ReceivedInput::Message(received))
            }
            Some(ReceivedInput::Message(received)) if received.resets() => {
                NextInput::Got(ReceivedInput::Message(received.into_attention()))
            }
            _ => NextInput::Attention,
        }
    }

    /// Its worker leaves it.
    fn let_go(&mut self) {
        self.owned = false;
        self.since = Instant::now();
    }
}

impl Connection {
    /// A connection that was accepted just now.
    pub fn new(
        id: usize,
        socket: TcpStream,
        peer: SocketAddr,
        surplus: bool,
        dedicated: bool,
        wire: Wire,
    ) -> io::Result<Connection> {
        socket.set_nonblocking(true)?;
        let now = Instant::now();
        Ok(Connection {
            id,
            peer,
            local: socket.local_addr()?,
            surplus,
            socket,
            gate: Mutex::new(ConnectionGate {
                owned: false,
                readable: false,
                writable: false,
                over: false,
                running: false,
                loading: false,
                attention: false,
                more_attentions: 0,
                early: None,
                queued: None,
                held: None,
                withdrawn: None,
                gone: false,
                since: now,
            }),
            changed: Condvar::new(),
            wire: Mutex::new(wire),
            client: Mutex::new(Client::new()),
            kept: Mutex::default(),
            keeps: AtomicBool::new(false),
            opened: now,
            handle: OnceLock::new(),
            in_transaction: AtomicBool::new(false),
            dedicated,
            share: OnceLock::new(),
            slot: Mutex::new(None),
            watcher: OnceLock::new(),
            waits_since: AtomicU64::new(0),
        })
    }

    /// The socket, for watching it.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// What its owner knows of the client; only the owner takes it.
    pub fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock()
    }

    /// The bytes' state, for short steps that do not block.
    pub fn wire(&self) -> MutexGuard<'_, Wire> {
        self.wire.lock()
    }

    /// Whether its login is done.
    pub fn is_logged_in(&self) -> bool {
        self.handle.get().is_some()
    }

    /// Its login is done; `handle` stops the session, `watcher` hears of it.
    pub fn set_logged_in(&self, handle: CancelHandle, watcher: Arc<dyn SessionWatcher>) {
        // A connection logs in once.
        let _ = self.handle.set(handle);
        let _ = self.watcher.set(watcher);
    }

    /// What its login holds of the worker threads; `None` before the password was right.
    pub fn share(&self) -> Option<&Arc<Member>> {
        self.share.get()
    }

    /// Whose it is.
    pub fn set_share(&self, share: Arc<Member>) {
        // A connection logs in once.
        let _ = self.share.set(share);
    }

    /// The thread that its request holds, to be looked at or given back.
    pub fn slot(&self) -> MutexGuard<'_, Option<Slot>> {
        self.slot.lock()
    }

    /// Whether its session has a transaction: others may wait for its end.
    pub fn is_in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Relaxed)
    }

    /// Its owner has found out whether there is a transaction.
    pub fn set_in_transaction(&self, is: bool) {
        self.in_transaction.store(is, Ordering::Relaxed);
    }

    /// Since when nobody has it; `None` while a worker does.
    pub fn idle_since(&self) -> Option<Instant> {
        let gate = self.gate.lock();
        (!gate.owned).then_some(gate.since)
    }

    // ---- the side of whoever waits for sockets ----

    /// The system reports readiness. Whether a worker must take the connection.
    pub fn ready(&self, readable: bool, writable: bool, over: bool) -> bool {
        let mut gate = self.gate.lock();
        gate.over |= over;
        gate.readable |= readable;
        gate.writable |= writable;
        if !gate.owned {
            let take = gate.readable;
            gate.owned |= take;
            return take;
        }
        if writable {
            self.changed.notify_all();
        }
        let listens = gate.is_listened_to();
        // What stands behind an attention is read when that is answered: it may be another one.
        if gate.readable && listens && gate.early.is_none() && !gate.attention {
            gate.readable = false;
            let over = gate.over;
            drop(gate);
            return self.listen(over);
        }
        if gate.over && (listens || gate.queued.is_some()) {
            return self.lose(&mut gate);
        }
        if readable {
            self.changed.notify_all();
        }
        false
    }

    /// Reads while a request runs. Whether a worker must take the connection, because the request
    /// has ended meanwhile.
    fn listen(&self, over: bool) -> bool {
        // Held until it is known what was read: who reads next reads what comes after it.
        let mut wire = self.wire.lock();
        let mut gate = self.gate.lock();
        if gate.early.is_some() {
            // Two threads have come to listen, and the other one was the first.
            gate.readable = true;
            return gate.over && self.lose(&mut gate);
        }
        drop(gate);
        let got = wire.listen(&self.socket, true, over);
        let mut gate = self.gate.lock();
        gate.readable |= wire.is_cut();
        drop(wire);
        match got {
            Ok(ReceivedInput::Blocked) => return false,
            Ok(ReceivedInput::Message(message)) if message.kind == PacketType::Attention => {
                gate.attention = true
            }
            Ok(got @ (ReceivedInput::Message(_) | ReceivedInput::Bulk { .. })) if !over => {
                // The client does not wait for its answer; one request is kept, or one piece of a
                // load, what follows stays in the socket.
                gate.early = Some(got);
                gate.readable = true;
                self.changed.notify_all();
                return gate.queued.is_none() && self.take_idle(&mut gate);
            }
            // The end, also behind one more request, or garbage.
            Ok(ReceivedInput::Closed | ReceivedInput::Bulk { .. } | ReceivedInput::Message(_))
            | Err(_) => {
                return self.lose(&mut gate);
            }
        }
        // There may be more behind it.
        gate.readable = true;
        // Under the gate: a request that has ended is no longer there to be stopped, and the next
        // one must not be.
        self.cancel(&gate);
        self.changed.notify_all();
        self.take_idle(&mut gate)
    }

    /// Stops the request, if one runs.
    fn cancel(&self, gate: &ConnectionGate) {
        if let (true, Some(handle)) = (gate.running, self.handle.get()) {
            handle.cancel();
        }
    }

    /// The client has gone away while a request runs: nobody waits for its answer. Whether a worker
    /// must take the connection.
    fn lose(&self, gate: &mut ConnectionGate) -> bool {
        gate.gone = true;
        gate.readable = true;
        self.cancel(gate);
        self.changed.notify_all();
        self.take_idle(gate)
    }

    /// Whether nobody has it, or it was queued: it is the caller's then.
    fn take_idle(&self, gate: &mut ConnectionGate) -> bool {
        if let Some(ticket) = gate.queued.take() {
            gate.withdrawn = Some(ticket);
            return true;
        }
        !std::mem::replace(&mut gate.owned, true)
    }

    /// Takes the connection if nobody has it and it has been idle since before `then`; then it is
    /// the caller's.
    pub fn take_if_idle_since(&self, then: Instant) -> bool {
        let mut gate = self.gate.lock();
        !gate.owned && gate.since <= then && self.take_idle(&mut gate)
    }

    /// Ends the connection from outside: what runs is stopped, its worker finds the socket closed.
    /// Whether the caller must close it, because nobody has it.
    pub fn end(&self) -> bool {
        let mut gate = self.gate.lock();
        gate.gone = true;
        self.cancel(&gate);
        // Whoever waits for the socket is woken by this, too.
        self.hang_up();
        self.changed.notify_all();
        self.take_idle(&mut gate)
    }

    // ---- the owner's side ----

    /// What the client sends next; `None` when there is nothing: then the connection is nobody's
    /// any more. [`ReceivedInput::Blocked`]: much has come and nothing whole, and others have a
    /// turn first.
    ///
    /// # Errors
    /// What the client sends is of no use.
    pub fn next(&self) -> Result<Option<NextInput>, WireError> {
        loop {
            let (told, over) = {
                let mut gate = self.gate.lock();
                if gate.gone {
                    return Ok(Some(NextInput::Gone));
                }
                if std::mem::take(&mut gate.attention) {
                    return Ok(Some(gate.withdraw_held()));
                }
                if let Some(held) = gate.held.take() {
                    return Ok(Some(NextInput::Got(held)));
                }
                if let Some(early) = gate.early.take() {
                    return Ok(Some(NextInput::Got(early)));
                }
                let told = std::mem::take(&mut gate.readable);
                // After most answers: a client that waits for one has sent nothing. Who reads in
                // this moment has the wire, and what that finds is to be looked at.
                let nothing = || self.wire.try_lock().is_some_and(|wire| wire.has_nothing());
                if !told && !gate.over && nothing() {
                    gate.let_go();
                    return Ok(None);
                }
                (told, gate.over)
            };
            let (got, cut) = self.read(told, over)?;
            match got {
                ReceivedInput::Blocked if !cut => {}
                ReceivedInput::Closed => return Ok(Some(NextInput::Gone)),
                got => return Ok(Some(NextInput::Got(got))),
            }
            let mut gate = self.gate.lock();
            if !gate.readable && !gate.attention && !gate.gone && gate.early.is_none() {
                gate.let_go();
                return Ok(None);
            }
        }
    }

    /// What comes next in the order in which the client sends it: a listener that began when the
    /// request before this one ran may have read it in the meantime. With it whether there may be
    /// more of which the system does not tell again: the connection stays to be read.
    fn read(&self, told: bool, over: bool) -> Result<(ReceivedInput, bool), WireError> {
        let mut wire = self.wire.lock();
        let early = self.gate.lock().early.take();
        if let Some(early) = early {
            return Ok((early, false));
        }
        let got = wire.receive(&self.socket, told, over)?;
        let cut = wire.is_cut();
        if cut {
            self.gate.lock().readable = true;
        }
        Ok((got, cut))
    }

    /// A request begins; with `loading` it reads what the client sends by itself, with
    /// [`Connection::wait_next`].
    pub fn begin_request(&self, loading: bool) {
        // An attention may have come in the same bytes as the request.
        let more = self.wire.lock().may_have_more();
        let mut gate = self.gate.lock();
        gate.loading = loading;
        if let Some(handle) = self.handle.get() {
            gate.running = true;
            handle.expect_request();
        }
        if gate.attention || gate.gone {
            // Another thread has read it since this message was looked for, when nothing ran.
            self.cancel(&gate);
        }
        self.listen_from_now(gate, more);
    }

    /// A load has all that it reads: from now on another thread listens, as while others run.
    pub fn end_loading(&self) {
        let more = self.wire.lock().may_have_more();
        let mut gate = self.gate.lock();
        gate.loading = false;
        self.listen_from_now(gate, more);
    }

    /// What has come until now was for the worker: no listener will hear of it again. Where a
    /// request was read already, behind one that was queued, it stays to be looked for, as what
    /// stands behind an attention does.
    fn listen_from_now(&self, mut gate: MutexGuard<'_, ConnectionGate>, more: bool) {
        let reads = !gate.loading && gate.early.is_none() && !gate.attention;
        if reads && (std::mem::take(&mut gate.readable) || more) {
            let over = gate.over;
            drop(gate);
            self.listen(over);
        }
    }

    /// The request has ended; whether the client wanted it to.
    pub fn end_request(&self) -> bool {
        let mut gate = self.gate.lock();
        // Under the gate: a later cancel must not reach the next request.
        if let (true, Some(handle)) = (std::mem::take(&mut gate.running), self.handle.get()) {
            handle.request_over();
        }
        gate.loading = false;
        std::mem::take(&mut gate.attention)
    }

    /// Attentions that are to be answered behind the one that has waited for a thread.
    pub fn take_more_attentions(&self) -> u32 {
        std::mem::take(&mut self.gate.lock().more_attentions)
    }

    /// The client wants the running request stopped, or is gone.
    pub fn is_stopped(&self) -> bool {
        let gate = self.gate.lock();
        gate.attention || gate.gone
    }

    /// What the client sends next, in the middle of a request that reads (a bulk load): waits for
    /// it.
    ///
    /// # Errors
    /// What the client sends is of no use, or nothing came for `timeout`.
    pub fn wait_next(
        &self,
        timeout: Option<Duration>,
        waits: &dyn Fn(&mut dyn FnMut()),
    ) -> Result<NextInput, WireError> {
        let end = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let (told, over) = {
                let mut gate = self.gate.lock();
                if gate.gone {
                    return Ok(NextInput::Gone);
                }
                if gate.attention {
                    return Ok(NextInput::Attention);
                }
                (std::mem::take(&mut gate.readable), gate.over)
            };
            let (got, _) = self.read(told, over)?;
            match got {
                ReceivedInput::Blocked => {}
                ReceivedInput::Closed => return Ok(NextInput::Gone),
                ReceivedInput::Message(message) if message.kind == PacketType::Attention => {
                    self.gate.lock().attention = true;
                    return Ok(NextInput::Attention);
                }
                got => return Ok(NextInput::Got(got)),
            }
            let mut late = false;
            waits(&mut || {
                let mut gate = self.gate.lock();
                while !gate.readable && !gate.gone && !late {
                    match end {
                        None => self.changed.wait(&mut gate),
                        Some(end) => late = self.changed.wait_until(&mut gate, end).timed_out(),
                    }
                }
            });
            if late {
                return Err(io::Error::from(ErrorKind::TimedOut).into());
            }
        }
    }

    /// Closes both directions of the socket.
    pub fn hang_up(&self) {
        // It may be closed already.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

#[cfg(test)]
mod tests;
