//! What a disk delivers with so many requests in flight: random reads and writes of 8 KB, and large
//! durable writes.
//!
//! `./bench disk-depth [FOLDER [MEGABYTES [SECONDS]]]` (defaults: the current folder,
//! 1024, 0.5 for each line). Prints one line of JSON for each measurement.

use std::io::{IoSlice, IoSliceMut};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringwood_disk::{
    AlignedBuf, BlockFile, Data, Disk, IoBackend, IoOptions, OpenMode, OsDisk, Request, transfer,
};

const PAGE: usize = 8192;
const BATCH: usize = 1024;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn scattered(file: &dyn BlockFile, write: bool, time: Duration) -> f64 {
    let pages = file.len().expect("a length") / PAGE as u64;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut buf = AlignedBuf::new(BATCH * PAGE);
    let (start, mut count) = (Instant::now(), 0usize);
    while start.elapsed() < time {
        let offsets: Vec<u64> = (0..BATCH).map(|_| random.below(pages) * PAGE as u64).collect();
        let check =
            &mut |_: usize, _: &mut Request<'_>, result: Result<(), ringwood_disk::DiskError>| {
                result.expect("I/O")
            };
        if write {
            let slices: Vec<IoSlice<'_>> = buf.chunks(PAGE).map(IoSlice::new).collect();
            let requests = slices.chunks(1).zip(&offsets).map(|(one, &offset)| Request {
                file,
                offset,
                data: Data::Write(one),
            });
            transfer(&mut requests.collect::<Vec<_>>(), check);
        } else {
            let mut slices: Vec<IoSliceMut<'_>> =
                buf.chunks_mut(PAGE).map(IoSliceMut::new).collect();
            let requests = slices.chunks_mut(1).zip(&offsets).map(|(one, &offset)| Request {
                file,
                offset,
                data: Data::Read(one),
            });
            transfer(&mut requests.collect::<Vec<_>>(), check);
        }
        count += BATCH;
    }
    count as f64 / start.elapsed().as_secs_f64()
}

fn durable(file: &dyn BlockFile, bytes: usize, time: Duration) -> f64 {
    let buf = AlignedBuf::new(bytes);
    let (start, mut count) = (Instant::now(), 0u64);
    while start.elapsed() < time {
        let parts: Vec<&[u8]> = buf.chunks(PAGE).collect();
        file.write_durable(count % 8 * bytes as u64, &parts).expect("a write");
        count += 1;
    }
    count as f64 / start.elapsed().as_secs_f64()
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().unwrap_or_else(|| ".".into()));
    let size = args.next().map_or(1024, |m| m.parse::<u64>().expect("megabytes")) << 20;
    let time = Duration::from_secs_f64(args.next().map_or(0.5, |s| s.parse().expect("seconds")));
    let path = Path::new("raw_depth.tmp");
    let made = OsDisk::new(&folder).open(path, OpenMode::Create).expect("a new file");
    made.write_zeros(0, size).expect("space");
    drop(made);
    if let Some(reason) = ringwood_disk::io_fallback() {
        println!("{{\"note\": \"no io_uring: {reason}\"}}");
    }
    for backend in [IoBackend::Auto, IoBackend::Threads] {
        for depth in [1, 8, 32, 64, 128] {
            let io = IoOptions { backend, depth: Some(depth) };
            let file =
                OsDisk::new(&folder).with_io(io).open(path, OpenMode::Open).expect("the file");
            for write in [false, true] {
                let rate = scattered(&*file, write, time);
                let what = if write { "writes" } else { "reads" };
                println!(
                    "{{\"backend\": \"{backend:?}\", \"depth\": {depth}, \"{what} of 8 KB a second\": {rate:.0}}}"
                );
            }
        }
    }
    let file = OsDisk::new(&folder).open(path, OpenMode::Open).expect("the file");
    for kb in [8, 512, 1024, 2048] {
        let rate = durable(&*file, kb << 10, time);
        println!(
            "{{\"durable writes of KB\": {kb}, \"a second\": {rate:.0}, \"MB a second\": {:.0}}}",
            rate * kb as f64 / 1024.0
        );
    }
    drop(file);
    OsDisk::new(&folder).remove(path).expect("removed");
}
