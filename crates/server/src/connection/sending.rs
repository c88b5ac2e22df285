//! What leaves a connection. Answers whose client had sent its next request already may be kept
//! back, so that the next one's wait for the log does for both: they leave together with its
//! bytes, or by the clock's hand where the next request takes long.
//! Guarantees: bytes leave in the order in which they were made; what was kept back is sent by the
//! clock only when all that it tells is durable; what is forgotten is never sent; what stays for
//! longer than the clock leaves it is charged.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::OwedLogs;
use memory::{Clerk, MemoryAccount, Reservation};
use tds::PacketType;

use super::Connection;
use crate::wire::{ReceivedInput, ReceivedMessage};

/// After so long the clock sends what is kept back.
const LONGEST: Duration = Duration::from_millis(10);
/// The clock looks again after so long at what is not durable yet, or what the socket does not
/// take.
const AGAIN: Duration = Duration::from_millis(5);
/// How often that time is doubled while the client reads nothing, up to a third of a second:
/// clients that never read would take the clock from all others.
const DOUBLED: u32 = 6;
/// Most bytes that a client may leave unread of answers that nobody waits to send: thousands of
/// them.
const MOST_UNREAD: usize = 64 << 10;

/// Answers that are kept back.
#[derive(Default)]
pub(super) struct KeptAnswers {
    /// Their packets, as far as they were not sent.
    bytes: Vec<u8>,
    /// Part of them was.
    begun: bool,
    /// The socket has not taken all that it was given.
    stuck: bool,
    /// Looks of the clock in a row at which it has taken nothing.
    in_vain: u32,
    /// What must be durable before they leave.
    owed: OwedLogs,
    /// Since when the first one waits.
    since: Option<Instant>,
    /// The clock has it on its list.
    watched: bool,
    /// Charged for what stays for longer than usual.
    charged: Option<Reservation>,
}

impl KeptAnswers {
    /// Lets go of them: the packets that were not sent, and whether part of one was.
    fn take(&mut self) -> (Vec<u8>, bool) {
        let KeptAnswers { bytes, begun, watched, .. } = std::mem::take(self);
        self.watched = watched;
        (bytes, begun)
    }

    /// Charges what stays here: the client does not read, or the log is slow.
    fn charge(&mut self, account: &Arc<MemoryAccount>, bytes: usize) {
        let charged = self.charged.get_or_insert_with(|| Reservation::new(account, Clerk::Packets));
        charged.force(bytes.saturating_sub(charged.used()));
    }
}

impl Connection {
    /// Writes all of `bytes`, after what was kept back: it is for the caller to know that this is
    /// durable too. `waits` is called around a wait for the client to read.
    ///
    /// # Errors
    /// The connection is broken, or the client took nothing for `timeout`.
    pub fn send(
        &self,
        bytes: &[u8],
        timeout: Option<Duration>,
        waits: &dyn Fn(&mut dyn FnMut()),
    ) -> io::Result<()> {
        let result = if self.keeps.load(Ordering::Acquire) {
            self.keeps.store(false, Ordering::Release);
            let (mut all, _) = self.kept.lock().take();
            all.extend_from_slice(bytes);
            self.send_all(&all, bytes, timeout, waits)
        } else {
            self.send_all(bytes, bytes, timeout, waits)
        };
        if result.is_err() {
            // Part of a message may be missing: nothing that is sent now could be understood.
            self.gate.lock().gone = true;
        }
        result
    }

    /// Sends a short answer without a wait: whoever does so may hold no thread. What the socket
    /// does not take is kept for the clock. When that is to look after it, unless it does already.
    ///
    /// # Errors
    /// The connection is broken, or the client reads none of many such answers.
    pub fn send_soon(&self, bytes: &[u8]) -> io::Result<Option<Instant>> {
        let result = self.send_or_keep(bytes);
        if result.is_err() {
            self.gate.lock().gone = true;
        }
        result
    }

    fn send_or_keep(&self, bytes: &[u8]) -> io::Result<Option<Instant>> {
        if self.gate.lock().gone {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        self.wire.lock().count_packets(bytes);
        let mut kept = self.kept.lock();
        if kept.bytes.len() > MOST_UNREAD {
            return Err(ErrorKind::TimedOut.into());
        }
        let mut taken = 0;
        // The socket has taken all that came before.
        if kept.bytes.is_empty() && !kept.stuck {
            let all;
            (taken, all) = self.wire.lock().send(&self.socket, bytes, &[])?;
            if all {
                return Ok(None);
            }
            kept.stuck = true;
            kept.begun |= taken > 0;
        }
        let rest = &bytes[taken..];
        let now = Instant::now();
        if !rest.is_empty() {
            kept.bytes.extend_from_slice(rest);
            kept.since.get_or_insert(now);
            self.keeps.store(true, Ordering::Release);
        }
        let watched = std::mem::replace(&mut kept.watched, true);
        Ok((!watched).then_some(now + AGAIN))
    }

    /// `begins`: the packets among the bytes that were not counted before.
    fn send_all(
        &self,
        mut bytes: &[u8],
        mut begins: &[u8],
        timeout: Option<Duration>,
        waits: &dyn Fn(&mut dyn FnMut()),
    ) -> io::Result<()> {
        loop {
            {
                let mut gate = self.gate.lock();
                if gate.gone {
                    return Err(ErrorKind::ConnectionAborted.into());
                }
                gate.writable = false;
            }
            let (taken, all) =
                self.wire.lock().send(&self.socket, bytes, std::mem::take(&mut begins))?;
            bytes = &bytes[taken..];
            if all {
                return Ok(());
            }
            let mut result = Ok(());
            waits(&mut || result = self.wait_writable(timeout));
            result?;
        }
    }

    fn wait_writable(&self, timeout: Option<Duration>) -> io::Result<()> {
        let end = timeout.map(|timeout| Instant::now() + timeout);
        let mut gate = self.gate.lock();
        while !gate.writable {
            if gate.gone {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            match end {
                None => self.changed.wait(&mut gate),
                Some(end) => {
                    if self.changed.wait_until(&mut gate, end).timed_out() {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
            }
        }
        Ok(())
    }

    // ---- answers that are kept back ----

    /// How many bytes are kept back, and for how long the first of them have been.
    pub fn kept(&self) -> (usize, Duration) {
        if !self.keeps.load(Ordering::Acquire) {
            return (0, Duration::ZERO);
        }
        let kept = self.kept.lock();
        (kept.bytes.len(), kept.since.map_or(Duration::ZERO, |since| since.elapsed()))
    }

    /// The next request where the client has sent it already: then the one that runs has ended, and
    /// its answer is to be kept back. None where something else is to be done first.
    pub fn follow(&self) -> Option<ReceivedMessage> {
        let mut gate = self.gate.lock();
        if gate.attention || gate.gone || gate.over {
            return None;
        }
        let next = match gate.early.take() {
            Some(ReceivedInput::Message(received)) if is_plain(&received) => received,
            other => {
                gate.early = other;
                return None;
            }
        };
        // Under the gate, as where a request ends that is answered.
        if let (true, Some(handle)) = (std::mem::take(&mut gate.running), self.handle.get()) {
            handle.request_over();
        }
        Some(next)
    }

    /// Keeps the packets of an answer back, which waits for what is `owed` now, as all before it
    /// do. When the clock is to look after them, unless it does already.
    pub fn keep(&self, packets: &[u8], owed: OwedLogs) -> Option<Instant> {
        self.wire.lock().count_packets(packets);
        let mut kept = self.kept.lock();
        kept.bytes.extend_from_slice(packets);
        kept.owed = owed;
        let since = *kept.since.get_or_insert_with(Instant::now);
        self.keeps.store(true, Ordering::Release);
        let watched = std::mem::replace(&mut kept.watched, true);
        (!watched).then_some(since + LONGEST)
    }

    /// Forgets what was kept back: it may not be told. Whether part of it was told already.
    pub fn forget_kept(&self) -> bool {
        self.keeps.store(false, Ordering::Release);
        self.kept.lock().take().1
    }

    /// What the clock does with answers that were kept back: those that have been for long leave,
    /// if what they tell is durable, as far as the socket takes them. What stays is charged to the
    /// account. When to look again.
    pub fn send_kept(&self, account: &Arc<MemoryAccount>) -> Option<Instant> {
        let gone = self.gate.lock().gone;
        let mut kept = self.kept.lock();
        if gone {
            kept.take();
        }
        let now = Instant::now();
        match kept.since.map(|since| since + LONGEST) {
            None if !kept.stuck => {
                kept.watched = false;
                return None;
            }
            Some(due) if due > now => return Some(due),
            Some(_) if !kept.owed.is_durable() => {
                let held = kept.bytes.len();
                kept.charge(account, held);
                return Some(now + AGAIN);
            }
            _ => {}
        }
        let (held, in_vain) = (kept.bytes.len(), kept.in_vain);
        // Whoever reads much of this connection keeps the clock from no other one.
        let Some(mut wire) = self.wire.try_lock() else { return Some(now + AGAIN) };
        let sent = wire.send(&self.socket, &kept.bytes, &[]);
        drop(wire);
        let Ok((taken, all)) = sent else {
            kept.take();
            kept.watched = false;
            drop(kept);
            // The client is gone; the worker whose request runs finds out when it sends.
            let mut gate = self.gate.lock();
            gate.gone = true;
            self.cancel(&gate);
            self.changed.notify_all();
            return None;
        };
        kept.bytes.drain(..taken);
        kept.begun |= taken > 0;
        if kept.bytes.is_empty() {
            let charged = kept.charged.take();
            kept.take();
            kept.charged = charged.filter(|_| !all);
        }
        if !all {
            // Some of it may be encrypted already.
            kept.charge(account, held);
        }
        kept.stuck = !all;
        kept.watched = !all;
        kept.in_vain = if all || taken > 0 { 0 } else { in_vain.saturating_add(1) };
        let wait = AGAIN * (1_u32 << kept.in_vain.min(DOUBLED));
        (!all).then_some(now + wait)
    }
}

/// Whether a request is one that is run as it comes, like the one before it.
fn is_plain(received: &ReceivedMessage) -> bool {
    let runs = matches!(
        received.kind,
        PacketType::SqlBatch | PacketType::Rpc | PacketType::TransactionManager
    );
    runs && !received.ignored && !received.refused && !received.resets()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;
    use crate::wire::Wire;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use tds::MessageBuffer;

    fn connected(account: &Arc<MemoryAccount>) -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, peer) = listener.accept().unwrap();
        let wire = Wire::new(None, Arc::new(Counters::new()), account);
        (Connection::new(1, socket, peer, false, false, wire).unwrap(), client)
    }

    #[test]
    fn the_clock_does_not_wait_for_who_reads() {
        let account = Arc::new(MemoryAccount::unlimited());
        let (connection, _client) = connected(&account);
        assert!(connection.keep(&[1, 2, 3], OwedLogs::default()).is_some());
        std::thread::sleep(LONGEST);
        let reads = connection.wire();
        assert!(connection.send_kept(&account).is_some());
        assert_eq!(connection.kept().0, 3);
        drop(reads);
        assert!(connection.send_kept(&account).is_none());
        assert_eq!(connection.kept().0, 0);
    }

    /// A client that asks for short answers and reads none of them makes nobody wait, and is
    /// dropped; one that reads at last gets them all in their order.
    #[test]
    fn short_answers_are_sent_without_a_wait() {
        let account = Arc::new(MemoryAccount::unlimited());
        for reads in [true, false] {
            let (connection, mut client) = connected(&account);
            let mut sent = Vec::new();
            let refused = loop {
                let answer = [sent.len() as u8; 29];
                match connection.send_soon(&answer) {
                    Ok(_) => sent.extend_from_slice(&answer),
                    Err(e) => break e,
                }
                let kept = connection.kept().0;
                assert!(kept <= MOST_UNREAD + answer.len(), "{kept}");
                // Two in a row are kept: the socket is full.
                if reads && kept > answer.len() {
                    break ErrorKind::Other.into();
                }
            };
            if !reads {
                assert_eq!(refused.kind(), ErrorKind::TimedOut);
                assert!(connection.send_soon(&[1]).is_err(), "nothing more is sent");
                continue;
            }
            assert_eq!(refused.kind(), ErrorKind::Other);
            let answers = std::thread::spawn(move || {
                let mut bytes = vec![0; sent.len() + 3];
                client.read_exact(&mut bytes).unwrap();
                sent.extend_from_slice(&[1, 2, 3]);
                assert!(bytes == sent);
            });
            // What is sent in the ordinary way comes behind it.
            let waits = |wait: &mut dyn FnMut()| {
                // Nobody watches this socket.
                std::thread::sleep(Duration::from_millis(1));
                connection.ready(false, true, false);
                wait();
            };
            connection.send(&[1, 2, 3], Some(Duration::from_secs(60)), &waits).unwrap();
            answers.join().unwrap();
        }
    }

    #[test]
    fn what_a_client_does_not_read_is_charged_until_it_does() {
        let account = Arc::new(MemoryAccount::unlimited());
        let (connection, mut client) = connected(&account);
        // More than the system keeps.
        let mut buffer = MessageBuffer::new(tds::packet::DEFAULT_PACKET_SIZE, 1);
        buffer.payload().resize(64 << 20, 7);
        let mut packets = Vec::new();
        buffer.finish(&mut packets);
        assert!(connection.keep(&packets, OwedLogs::default()).is_some());
        // Mostly it is gone before.
        assert_eq!(account.total(), 0);
        std::thread::sleep(LONGEST);
        assert!(connection.send_kept(&account).is_some());
        assert!(account.total() >= connection.kept().0 && connection.kept().0 > 0);
        // The clock looks again more and more seldom.
        let until_next = || {
            let now = Instant::now();
            connection.send_kept(&account).map_or(Duration::ZERO, |next| next - now)
        };
        assert!((0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            until_next() >= AGAIN * (1_u32 << DOUBLED)
        }));
        let reads = std::thread::spawn(move || {
            let mut bytes = vec![0; packets.len()];
            client.read_exact(&mut bytes).unwrap();
            assert!(bytes == packets);
        });
        let end = Instant::now() + Duration::from_secs(60);
        // Until the client reads.
        while until_next() > AGAIN * 2 {
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(1));
        }
        while connection.send_kept(&account).is_some() {
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((connection.kept().0, account.total()), (0, 0));
        reads.join().unwrap();
    }
}
