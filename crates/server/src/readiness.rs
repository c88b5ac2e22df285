//! What the system says of sockets: an epoll set that several threads may wait with at once, and a
//! bell to wake one of them. Guarantees: readiness is told once for each time that it comes
//! (edge-triggered), to one thread, of those that wait to the one that began last; what nobody
//! waits for is kept; a ring of the bell wakes one thread, now or when the next one waits.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::Timespec;

/// The number of the bell.
const BELL: u64 = u64::MAX;
/// Most listeners; they have the numbers from [`LISTENERS`] on, connections those below.
pub const MAX_LISTENERS: usize = 64;
/// The number of the first listener.
pub const LISTENERS: u64 = 1 << 62;
/// The place of the listener for administrators among them.
pub const DEDICATED: usize = MAX_LISTENERS;
/// Most that one call tells of.
pub const MOST: usize = 64;

/// An epoll set with its bell.
#[derive(Debug)]
pub struct Readiness {
    epoll: OwnedFd,
    bell: OwnedFd,
}

/// One thing that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadySource {
    /// The bell was rung.
    Bell,
    /// A source that is watched.
    Source {
        /// The number that it was given.
        id: u64,
        /// There is something to read, or its end, or an error.
        readable: bool,
        /// There is room to write, or its end, or an error.
        writable: bool,
        /// The other side sends no more, or there was an error: this is not told again.
        over: bool,
    },
}

impl Readiness {
    /// An empty set.
    ///
    /// # Errors
    /// The system has no descriptors.
    pub fn new() -> io::Result<Readiness> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN | EventFlags::ET)?;
        Ok(Readiness { epoll, bell })
    }

    /// Watches a non-blocking socket until it is closed.
    ///
    /// # Errors
    /// The system cannot watch it.
    pub fn watch(&self, source: impl AsFd, id: u64) -> io::Result<()> {
        assert_ne!(id, BELL, "the bell's number");
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::OUT | EventFlags::ET;
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(id), flags)?)
    }

    /// Wakes one thread.
    pub fn ring(&self) {
        // It cannot be full: nobody rings 2^64 times.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Waits for up to `timeout` (forever without one) and puts what is ready into `room`, at most
    /// as much as it holds; nothing is the timeout, or a signal.
    ///
    /// # Errors
    /// The system's.
    pub fn wait<'a>(
        &self,
        room: &'a mut [Event],
        timeout: Option<Duration>,
    ) -> io::Result<&'a [Event]> {
        // Whole milliseconds: finer ones would need a newer system call.
        let timeout = timeout.map(|t| Timespec {
            tv_sec: t.as_secs().min(1 << 20) as i64,
            tv_nsec: i64::from(t.subsec_millis()) * 1_000_000,
        });
        match epoll::wait(&self.epoll, &mut *room, timeout.as_ref()) {
            Ok(count) => Ok(&room[..count]),
            Err(Errno::INTR) => Ok(&[]),
            Err(error) => Err(error.into()),
        }
    }
}

/// What an event says.
pub fn ready(event: &Event) -> ReadySource {
    let (id, flags) = (event.data.u64(), event.flags);
    if id == BELL {
        return ReadySource::Bell;
    }
    let over = EventFlags::HUP | EventFlags::ERR;
    ReadySource::Source {
        id,
        readable: flags.intersects(EventFlags::IN | EventFlags::RDHUP | over),
        writable: flags.intersects(EventFlags::OUT | over),
        over: flags.intersects(EventFlags::RDHUP | over),
    }
}

/// Room for the events of one call.
pub fn room<const N: usize>() -> [Event; N] {
    [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; N]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn readiness_is_told_once_and_a_ring_is_kept() {
        let set = Readiness::new().unwrap();
        let mut room = room::<4>();
        let at_once = Some(Duration::ZERO);
        assert!(set.wait(&mut room, at_once).unwrap().is_empty());
        set.ring();
        assert_eq!(
            set.wait(&mut room, at_once).unwrap().iter().map(ready).collect::<Vec<_>>(),
            [ReadySource::Bell]
        );
        assert!(set.wait(&mut room, at_once).unwrap().is_empty(), "a ring wakes once");

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        set.watch(&server, 7).unwrap();
        let writable = ReadySource::Source { id: 7, readable: false, writable: true, over: false };
        assert_eq!(
            set.wait(&mut room, at_once).unwrap().iter().map(ready).collect::<Vec<_>>(),
            [writable]
        );
        client.write_all(b"x").unwrap();
        let long = Some(Duration::from_secs(20));
        let both = ReadySource::Source { id: 7, readable: true, writable: true, over: false };
        assert_eq!(
            set.wait(&mut room, long).unwrap().iter().map(ready).collect::<Vec<_>>(),
            [both]
        );
        assert!(set.wait(&mut room, at_once).unwrap().is_empty(), "not read, but told");
        drop(client);
        let end = ReadySource::Source { id: 7, readable: true, writable: true, over: true };
        assert_eq!(set.wait(&mut room, long).unwrap().iter().map(ready).collect::<Vec<_>>(), [end]);
        drop(server);
        assert!(set.wait(&mut room, at_once).unwrap().is_empty(), "a closed socket is not watched");
    }
}
