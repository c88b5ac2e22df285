//! What the files of a modelled device share: its clock, its arrays, and how late the host was.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::clock::Clock;
use crate::late::{HostLate, Lateness};
use crate::params::{Device, Nanos};
use crate::place::{Extents, Space};
use crate::timeline::{Counters, Request, Timeline};

/// A change of a name or a length writes this much of the file system's journal.
const JOURNAL_WRITE: u64 = 4096;

/// When a request was submitted to the model, and when it will be done. Of several requests, the
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestTimes {
    pub at: Nanos,
    pub asked: Nanos,
}

/// One array: its timeline and the addresses of its files.
#[derive(Debug)]
pub(crate) struct Array {
    timeline: Mutex<Timeline>,
    pub space: Mutex<Space>,
    journal: AtomicU64,
}

/// What the files of a device share.
#[derive(Debug)]
pub(crate) struct SharedDevice {
    pub device: Device,
    pub clock: Clock,
    /// Durable writes and syncs are durable on the real disk too.
    pub host_durable: bool,
    pub arrays: Vec<Array>,
    late: Lateness,
}

impl Array {
    fn new(device: &Device) -> Array {
        Array {
            timeline: Mutex::new(Timeline::new(device)),
            space: Mutex::new(Space::new(device)),
            journal: AtomicU64::new(0),
        }
    }

    /// What it has done.
    pub fn counters(&self) -> Counters {
        self.timeline.lock().counters()
    }
}

impl SharedDevice {
    /// Of a device that has done nothing yet.
    pub fn new(device: Device, host_durable: bool) -> SharedDevice {
        let arrays = (0..device.arrays.max(1)).map(|_| Array::new(&device)).collect();
        let clock = Clock::new(device.time_scale);
        SharedDevice { device, clock, host_durable, arrays, late: Lateness::default() }
    }

    /// How much the real disk delayed.
    pub fn host_late(&self) -> HostLate {
        self.late.counts()
    }

    /// Submits requests to an array now; returns when the last is done.
    pub fn submit(
        &self,
        array: usize,
        requests: impl IntoIterator<Item = Request>,
    ) -> RequestTimes {
        let mut timeline = self.arrays[array].timeline.lock();
        // The time is taken under the lock: the timeline needs its requests in order.
        let asked = self.clock.now();
        let at = requests
            .into_iter()
            .map(|request| timeline.submit(asked, request))
            .max()
            .unwrap_or(asked);
        RequestTimes { at, asked }
    }

    /// Sleeps until a request is done, and counts how late that was.
    pub fn wait(&self, due: RequestTimes) {
        let after = self.clock.wait_until(due.at);
        self.late.note(self.clock.real(due.at.saturating_sub(due.asked)), after);
    }

    /// Counts how late a request was (`after`) that took `modelled` in the model.
    pub fn note_late(&self, modelled: std::time::Duration, after: std::time::Duration) {
        self.late.note(modelled, after);
    }

    /// Pays for a change of a name or a length: a small durable write in the journal.
    pub fn journal(&self, array: usize) -> RequestTimes {
        let target = &self.arrays[array];
        let extent = target.space.lock().extent();
        let len = JOURNAL_WRITE.max(u64::from(self.device.physical));
        let pos = target.journal.fetch_add(len, Relaxed) % (extent / len * len);
        self.submit(array, [Request::Write { pos, len, durable: true }, Request::Flush])
    }
}

/// What a device knows about a file, open or not.
#[derive(Debug)]
pub(crate) struct PlacedFile {
    pub array: usize,
    pub extents: Mutex<Extents>,
}
