//! The pure model of one array: requests with their times go in, completion times come out. No
//! clock, no sleeping, no files: tests drive it with times of their own.

use disk::Sectors;

use crate::array::ArrayState;
use crate::flash::FlashState;
use crate::params::{Device, Medium, Nanos, nanos, transfer};

/// One request to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read `len` bytes at `pos`.
    Read { pos: u64, len: u64 },
    /// Write `len` bytes at `pos`; durable when done if `durable` is set.
    Write { pos: u64, len: u64, durable: bool },
    /// Everything written earlier becomes durable.
    Flush,
}

/// What an array has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    /// Writes that did not cover whole physical sectors.
    pub rmw_writes: u64,
    /// Partial sectors that remained when a cache was written back.
    pub late_rmw: u64,
}

#[derive(Debug)]
enum DeviceState {
    Array(Box<ArrayState>),
    Flash(FlashState),
}

/// One array in device time. Requests come in the order of their times.
#[derive(Debug)]
pub struct Timeline {
    state: DeviceState,
    sectors: Sectors,
    overhead: Nanos,
    link_rate: u64,
    link_free: Nanos,
    counters: Counters,
}

impl Timeline {
    /// A new, idle array of a device.
    pub fn new(device: &Device) -> Self {
        let state = match &device.medium {
            Medium::Disks(disks) => {
                DeviceState::Array(Box::new(ArrayState::new(disks, device.physical, device.cache)))
            }
            Medium::Flash(flash) => DeviceState::Flash(FlashState::new(flash, device.cache.kind)),
        };
        Timeline {
            state,
            sectors: device.true_sectors(),
            overhead: nanos(device.overhead),
            link_rate: device.link_rate,
            link_free: 0,
            counters: Counters::default(),
        }
    }

    /// Takes a request that arrives at `now`; returns when it is done.
    pub fn submit(&mut self, now: Nanos, request: Request) -> Nanos {
        match request {
            Request::Read { pos, len } => {
                self.counters.reads += 1;
                let media = match &mut self.state {
                    DeviceState::Array(array) => array.read(now, pos, len),
                    DeviceState::Flash(flash) => flash.read(now, len),
                };
                media.max(self.link(now, len)) + self.overhead
            }
            Request::Write { pos, len, durable } => {
                self.counters.writes += 1;
                let partial = self.sectors.partial(pos, len);
                self.counters.rmw_writes += u64::from(partial > 0);
                let unit = u64::from(self.sectors.physical);
                let covered = (pos + len).next_multiple_of(unit) - pos / unit * unit;
                let media = match &mut self.state {
                    DeviceState::Array(array) => array.write(now, pos, len, durable),
                    DeviceState::Flash(flash) => flash.write(now, covered, partial, durable),
                };
                media.max(self.link(now, len)) + self.overhead
            }
            Request::Flush => {
                self.counters.flushes += 1;
                let media = match &mut self.state {
                    DeviceState::Array(array) => array.flush(now),
                    DeviceState::Flash(flash) => flash.flush(now),
                };
                media + self.overhead
            }
        }
    }

    /// Occupies the link for a transfer; returns when that is finished.
    fn link(&mut self, now: Nanos, len: u64) -> Nanos {
        if self.link_rate == 0 {
            return now;
        }
        self.link_free = self.link_free.max(now) + transfer(len, self.link_rate);
        self.link_free
    }

    /// What was done so far.
    pub fn counters(&self) -> Counters {
        let late_rmw = match &self.state {
            DeviceState::Array(array) => array.late_rmw,
            DeviceState::Flash(_) => 0,
        };
        Counters { late_rmw, ..self.counters }
    }
}
