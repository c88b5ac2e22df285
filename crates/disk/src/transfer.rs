//! Batches of reads and writes that are in flight together, of any number of files and devices.
//!
//! [`transfer`] keeps as many requests of a batch in flight on each device as that takes
//! ([`BlockFile::depth`]) and returns when all have ended. Batches of several threads are
//! independent: no lock is shared by them.
//!
//! # Guarantees
//! - Each request ends exactly once, by itself: with all its bytes moved, or with an error; `done`
//!   is called for each as it ends.
//! - Requests of a batch are done in any order. A write is as durable as one by
//!   [`BlockFile::write_at`]: not before a sync.
//! - No request is in flight any more when the call ends, also when `done` panics. So the buffers
//!   need only be borrowed.

use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use crate::data::Data;
use crate::error::Op;
use crate::kernel::FileHandle;
use crate::lock::WritePassage;
use crate::port::{Completion, IoBackend, Port};
use crate::{BlockFile, DiskError};

/// One request of a batch.
#[derive(Debug)]
pub struct Request<'a> {
    pub file: &'a dyn BlockFile,
    /// Bytes from the file's start.
    pub offset: u64,
    pub data: Data<'a>,
}

/// What a file does with a request that is put in flight; see [`BlockFile::launch`].
pub enum Launch<'a> {
    /// It is done, and counted in the file's statistics.
    Done(Result<(), DiskError>),
    /// The kernel does it.
    Kernel(KernelFile<'a>),
    /// The file does it in [`BlockFile::land`] when [`BlockFile::next_to_land`] chooses it; the
    /// number is passed to `land`.
    Held(u64),
    /// It ends when `inner`, which moves the bytes, has ended and the time `due` of the timer has
    /// come.
    Timed { inner: Box<Launch<'a>>, timer: &'a dyn Timer, due: u64 },
}

/// A file that the kernel reads and writes.
#[derive(Clone, Copy)]
pub struct KernelFile<'a>(pub(crate) &'a FileHandle);

/// The clock of a device that itself decides when a request is done.
pub trait Timer: Sync {
    /// Real time until the moment; zero when it has passed.
    fn left(&self, due: u64) -> Duration;
    /// Returns at the moment, and not before.
    fn wait(&self, due: u64);
    /// The calling thread begins to wait for requests of this timer, in the kernel or for their
    /// moment ...
    fn begin_wait(&self);
    /// ... and has done so.
    fn end_wait(&self);
    /// The request has succeeded: counts it in the file's statistics. `took`: the time since it was
    /// put in flight; `waited`: since the caller has had nothing else to do than to wait.
    fn count(&self, due: u64, request: CountedRequest, took: Duration, waited: Duration);
}

/// What a timer counts of a request.
#[derive(Clone, Copy, Debug)]
pub struct CountedRequest {
    pub write: bool,
    pub offset: u64,
    pub bytes: u64,
}

/// Called at the end of each request with its number in the batch, the request and the result.
pub type RequestDone<'a, 'f> = dyn FnMut(usize, &mut Request<'a>, Result<(), DiskError>) + 'f;

/// Puts all requests in flight, as many at a time as their devices take, and calls `done` with the
/// number of each that has ended, in any order. Returns when all have.
pub fn transfer<'a>(requests: &mut [Request<'a>], done: &mut RequestDone<'a, '_>) {
    // A single request needs no queue.
    let alone = requests.len() == 1;
    let mut batch = Batch::new(requests);
    while batch.ended < requests.len() {
        batch.launch(requests, alone, done);
        batch.land(requests, done);
    }
}

/// The requests of one device that are waiting, in the order of the batch, and how many are in
/// flight.
struct DeviceLane {
    depth: usize,
    waiting: std::vec::IntoIter<u32>,
    in_flight: usize,
}

fn lanes(requests: &[Request<'_>]) -> Vec<DeviceLane> {
    let mut lanes: Vec<(u64, usize, Vec<u32>)> = Vec::new();
    for (i, request) in requests.iter().enumerate() {
        let device = request.file.device();
        let at = lanes.iter().position(|lane| lane.0 == device).unwrap_or_else(|| {
            lanes.push((
                device,
                request.file.depth().max(1),
                Vec::with_capacity(requests.len() - i),
            ));
            lanes.len() - 1
        });
        lanes[at].2.push(i as u32);
    }
    let lane = |(_, depth, waiting): (u64, usize, Vec<u32>)| DeviceLane {
        depth,
        waiting: waiting.into_iter(),
        in_flight: 0,
    };
    lanes.into_iter().map(lane).collect()
}

/// A request in flight.
struct Flight<'a> {
    start: Instant,
    lane: usize,
    kernel: Option<KernelFile<'a>>,
    timer: Option<(&'a dyn Timer, u64)>,
    held: Option<u64>,
    /// For a write: the file is not released before it has ended.
    passage: Option<WritePassage<'a>>,
}

/// A timed request whose bytes are moved. The earliest moment compares as the greatest, as the heap
/// needs it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TimedRequest(std::cmp::Reverse<u64>, u32);

/// The state of one call of [`transfer`].
struct Batch<'a> {
    lanes: Vec<DeviceLane>,
    flights: Vec<Option<Flight<'a>>>,
    // Dropped before the requests, which the caller owns: waits for what the kernel has.
    port: Option<Port>,
    /// Requests in the kernel (`in_kernel`), held by their files (`held`), and waiting for their
    /// moment (`due`).
    in_kernel: usize,
    held: Vec<u32>,
    due: BinaryHeap<TimedRequest>,
    ended: usize,
    completions: Vec<Completion>,
    /// When the caller last began to wait.
    waits_since: Instant,
}

impl<'a> Batch<'a> {
    fn new(requests: &[Request<'a>]) -> Batch<'a> {
        Batch {
            lanes: lanes(requests),
            flights: requests.iter().map(|_| None).collect(),
            port: None,
            in_kernel: 0,
            held: Vec::new(),
            due: BinaryHeap::new(),
            ended: 0,
            completions: Vec::new(),
            waits_since: Instant::now(),
        }
    }

    /// Puts in flight what the devices take, one request of each device in turn.
    fn launch(
        &mut self,
        requests: &mut [Request<'a>],
        alone: bool,
        done: &mut RequestDone<'a, '_>,
    ) {
        let mut some = true;
        while std::mem::take(&mut some) {
            for at in 0..self.lanes.len() {
                let room = self.port.as_ref().is_none_or(|port| self.in_kernel < port.room());
                let lane = &mut self.lanes[at];
                if lane.in_flight >= lane.depth || !room {
                    continue;
                }
                let Some(i) = lane.waiting.next() else { continue };
                lane.in_flight += 1;
                some = true;
                let request = &mut requests[i as usize];
                request.file.stats().begin();
                let start = Instant::now();
                let launched = request.file.launch(request.offset, &mut request.data);
                let mut flight = Flight {
                    start,
                    lane: at,
                    kernel: None,
                    timer: None,
                    held: None,
                    passage: None,
                };
                let over = self.start(i, request, launched, alone, &mut flight);
                self.flights[i as usize] = Some(flight);
                if let Some(result) = over {
                    self.moved(i, request, result, done);
                }
            }
        }
    }

    /// Starts the request; returns its result if it is over already.
    fn start(
        &mut self,
        i: u32,
        request: &mut Request<'a>,
        launched: Launch<'a>,
        alone: bool,
        flight: &mut Flight<'a>,
    ) -> Option<Result<(), DiskError>> {
        match launched {
            Launch::Done(result) => Some(result),
            Launch::Timed { inner, timer, due } => {
                flight.timer = Some((timer, due));
                self.start(i, request, *inner, alone, flight)
            }
            Launch::Held(ticket) => {
                flight.held = Some(ticket);
                self.held.push(i);
                None
            }
            Launch::Kernel(file) => {
                if request.data.is_write() {
                    match file.0.changing(Op::Write) {
                        Ok(passage) => flight.passage = Some(passage),
                        Err(error) => return Some(Err(error)),
                    }
                }
                flight.kernel = Some(file);
                let Some(op) =
                    file.0.operation(request.offset, &mut request.data).filter(|_| !alone)
                else {
                    return Some(file.0.move_now(request.offset, &mut request.data));
                };
                let port = self.port.get_or_insert_with(|| Port::new(file.0.backend()));
                self.in_kernel += 1;
                // SAFETY: file and buffers are borrowed by the requests for longer than this batch
                // lives; the batch's port has reaped everything when it is dropped, and no code
                // touches the buffers before that.
                unsafe { port.push(i, op) };
                None
            }
        }
    }

    /// Waits until at least one request has ended, and ends those that have.
    fn land(&mut self, requests: &mut [Request<'a>], done: &mut RequestDone<'a, '_>) {
        self.waits_since = Instant::now();
        if !self.held.is_empty() {
            let next = requests[self.held[0] as usize].file.next_to_land(self.held.len());
            let i = self.held.swap_remove(next.min(self.held.len() - 1));
            let request = &mut requests[i as usize];
            let ticket =
                self.flights[i as usize].as_ref().and_then(|flight| flight.held).unwrap_or(0);
            let result = request.file.land(ticket, request.offset, &mut request.data);
            self.moved(i, request, result, done);
            return;
        }
        let next = self.due.peek().map(|due| (due.0.0, due.1));
        let timer =
            next.and_then(|(at, i)| Some((self.flights[i as usize].as_ref()?.timer?.0, at)));
        // A batch's requests are all of one kind of device: whoever waits for the first of them
        // waits for the others too.
        let waits =
            self.flights.iter().flatten().find_map(|flight| flight.timer).map(|(timer, _)| timer);
        if let Some(timer) = waits {
            timer.begin_wait();
        }
        if let Some(port) = self.port.as_mut().filter(|_| self.in_kernel > 0) {
            let limit = timer.map(|(timer, at)| timer.left(at));
            let mut ended = std::mem::take(&mut self.completions);
            port.wait(limit, &mut ended);
            self.in_kernel -= ended.len();
            for Completion { index, result } in ended.drain(..) {
                let request = &mut requests[index as usize];
                let kernel = self.flights[index as usize].as_ref().and_then(|flight| flight.kernel);
                let Some(file) = kernel else {
                    unreachable!("only the kernel's requests complete")
                };
                let result = file.0.settle(request.offset, &mut request.data, result);
                self.moved(index, request, result, done);
            }
            self.completions = ended;
        } else if let Some((timer, at)) = timer {
            timer.wait(at);
        }
        while let Some(i) = self.due.peek().map(|due| due.1) {
            let timer = self.flights[i as usize].as_ref().and_then(|flight| flight.timer);
            if timer.is_some_and(|(timer, at)| !timer.left(at).is_zero()) {
                break;
            }
            self.due.pop();
            self.end(i, &mut requests[i as usize], Ok(()), done);
        }
        if let Some(timer) = waits {
            timer.end_wait();
        }
    }

    /// The bytes of a request are moved, or it has failed.
    fn moved(
        &mut self,
        i: u32,
        request: &mut Request<'a>,
        result: Result<(), DiskError>,
        done: &mut RequestDone<'a, '_>,
    ) {
        let timer = self.flights[i as usize].as_ref().and_then(|flight| flight.timer);
        match timer.filter(|_| result.is_ok()) {
            Some((_, due)) => {
                self.due.push(TimedRequest(std::cmp::Reverse(due), i));
            }
            None => self.end(i, request, result, done),
        }
    }

    fn end(
        &mut self,
        i: u32,
        request: &mut Request<'a>,
        result: Result<(), DiskError>,
        done: &mut RequestDone<'a, '_>,
    ) {
        let Some(flight) = self.flights[i as usize].take() else {
            unreachable!("a request ends once")
        };
        self.lanes[flight.lane].in_flight -= 1;
        self.ended += 1;
        request.file.stats().end();
        if result.is_ok() {
            let (write, bytes, took) =
                (request.data.is_write(), request.data.len(), flight.start.elapsed());
            match (flight.timer, flight.kernel) {
                (Some((timer, due)), _) => {
                    let counted = CountedRequest { write, offset: request.offset, bytes };
                    timer.count(due, counted, took, self.waits_since.elapsed());
                }
                (None, Some(file)) => file.0.count(write, request.offset, bytes, took),
                (None, None) => {}
            }
        }
        done(i as usize, request, result);
    }
}

impl Drop for Batch<'_> {
    /// Something is left only when `done` has panicked: the port waits for what the kernel has.
    fn drop(&mut self) {
        debug_assert!(self.in_kernel == 0 || std::thread::panicking());
        self.port = None;
    }
}

/// The default of [`BlockFile::launch`]: the request is done immediately by the file's ordinary
/// reads and writes.
pub(crate) fn one_by_one(
    file: &(impl BlockFile + ?Sized),
    offset: u64,
    data: &mut Data<'_>,
) -> Result<(), DiskError> {
    match data {
        Data::Write(bufs) => {
            let bufs: Vec<&[u8]> = bufs.iter().map(|buf| &**buf).collect();
            file.write_gather(offset, &bufs)
        }
        Data::Read(bufs) => {
            let mut at = offset;
            bufs.iter_mut().try_for_each(|buf| {
                file.read_at(at, buf)?;
                at += buf.len() as u64;
                Ok(())
            })
        }
    }
}

/// Options of the requests in flight on the files of an [`OsDisk`](crate::OsDisk).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoOptions {
    pub backend: IoBackend,
    /// Requests of a batch in flight on one device, 1 to 256; `None`: chosen by the queue of the
    /// device.
    pub depth: Option<u32>,
}
