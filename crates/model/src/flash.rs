//! Flash in device time: channels that work in parallel, two pipes (reading and writing) with a
//! rate and a number of requests a second, a bounded queue, and read-modify-write of sectors that
//! are written in part.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::params::{CacheKind, Flash, Nanos, SECOND, nanos, transfer};

/// The state of one drive.
#[derive(Debug)]
pub(crate) struct FlashState {
    flash: Flash,
    volatile: bool,
    /// When each channel is free, earliest first.
    channels: BinaryHeap<Reverse<Nanos>>,
    /// Ends of the requests that the drive has, earliest first.
    outstanding: BinaryHeap<Reverse<Nanos>>,
    read_pipe: Nanos,
    write_pipe: Nanos,
    /// End of the last write.
    written: Nanos,
}

impl FlashState {
    pub fn new(flash: &Flash, cache: CacheKind) -> Self {
        FlashState {
            flash: flash.clone(),
            volatile: cache == CacheKind::Volatile,
            channels: (0..flash.channels).map(|_| Reverse(0)).collect(),
            outstanding: BinaryHeap::new(),
            read_pipe: 0,
            write_pipe: 0,
            written: 0,
        }
    }

    /// When a request that arrives at `now` is admitted: immediately unless the queue is full.
    fn admit(&mut self, now: Nanos) -> Nanos {
        while self.outstanding.peek().is_some_and(|end| end.0 <= now) {
            self.outstanding.pop();
        }
        if self.outstanding.len() < self.flash.queue_depth as usize {
            return now;
        }
        self.outstanding.pop().map_or(now, |end| end.0.max(now))
    }

    /// Occupies the earliest free channel from `from` on. `work` computes the end from the start;
    /// returns the end.
    fn on_channel(&mut self, from: Nanos, work: impl FnOnce(Nanos) -> Nanos) -> Nanos {
        let Reverse(free) = self.channels.pop().unwrap_or(Reverse(0));
        let end = work(from.max(free));
        self.channels.push(Reverse(end));
        self.outstanding.push(Reverse(end));
        end
    }

    pub fn read(&mut self, now: Nanos, len: u64) -> Nanos {
        let from = self.admit(now);
        let moved = transfer(len, self.flash.read_rate);
        let busy = moved.max(SECOND / self.flash.read_iops);
        let latency = nanos(self.flash.read_latency);
        let pipe = self.read_pipe;
        let mut start = pipe;
        let end = self.on_channel(from, |begin| {
            start = begin.max(pipe);
            start + moved + latency
        });
        self.read_pipe = start + busy;
        end
    }

    /// `len` is what the medium writes (whole physical sectors), `partial` how many of these it has
    /// to read first.
    pub fn write(&mut self, now: Nanos, len: u64, partial: u32, durable: bool) -> Nanos {
        let from = self.admit(now);
        let moved = transfer(len, self.flash.write_rate);
        let busy = moved.max(SECOND / self.flash.write_iops);
        let mut latency =
            nanos(self.flash.write_latency) + u64::from(partial) * nanos(self.flash.rmw_latency);
        if durable && self.volatile {
            latency += nanos(self.flash.flush_latency);
        }
        let pipe = self.write_pipe;
        let mut start = pipe;
        let end = self.on_channel(from, |begin| {
            start = begin.max(pipe);
            start + moved + latency
        });
        self.write_pipe = start + busy;
        self.written = self.written.max(end);
        end
    }

    /// With capacitors a flush has nothing to do. Without them it waits for the writes and then for
    /// the flash.
    pub fn flush(&mut self, now: Nanos) -> Nanos {
        if self.volatile { now.max(self.written) + nanos(self.flash.flush_latency) } else { now }
    }
}
