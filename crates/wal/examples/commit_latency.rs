//! What the log costs over the bare device: durable one-record commits against raw durable writes
//! of the same size into the same kind of prepared file, interleaved; group commit with several
//! threads; bulk appending; and bulk appending into a log of small VLFs against one of few large
//! ones, in turn.
//!
//! Usage: `commit_latency [FOLDER] [SECONDS]`. The folder must be on the device to be measured.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use disk::{AlignedBuf, BlockFile, Disk, OpenMode, OsDisk};
use ringwood_wal::{CheckpointInfo, Growth, Log, LogOptions, VlfRule};

const SIZE: u64 = 256 << 20;
const RECORD: [u8; 200] = [7; 200];

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}

/// Commits one after the other for a while; latencies in microseconds.
fn commits(log: &Log, time: Duration, samples: &mut Vec<f64>) {
    let start = Instant::now();
    while start.elapsed() < time {
        let one = Instant::now();
        let lsn = log.append(&[&RECORD], 0).expect("append");
        log.flush_to(lsn).expect("flush");
        samples.push(one.elapsed().as_secs_f64() * 1e6);
    }
}

fn raw_writes(
    file: &Arc<dyn BlockFile>,
    at: &mut u64,
    time: Duration,
    samples: &mut Vec<f64>,
    block: usize,
) {
    let mut buf = AlignedBuf::new(block);
    buf[..200].copy_from_slice(&RECORD);
    let start = Instant::now();
    while start.elapsed() < time {
        let one = Instant::now();
        file.write_durable(*at, &[&buf]).expect("write");
        samples.push(one.elapsed().as_secs_f64() * 1e6);
        *at = (*at + block as u64) % SIZE;
    }
}

/// Frees everything, so that the log wraps around instead of growing.
fn recycle(log: &Log) {
    let lsn = log.append_reserved(&[b"checkpoint"], 0).expect("append");
    log.set_checkpoint(CheckpointInfo { checkpoint_lsn: lsn, redo_lsn: lsn, payload: Vec::new() })
        .expect("checkpoint");
    log.truncate_to(lsn);
}

fn latency(log: &Log, raw: &Arc<dyn BlockFile>, seconds: f64) {
    let block = log.alignment() as usize;
    let (mut ours, mut bare, mut at) = (Vec::new(), Vec::new(), 0);
    let mut ratios = Vec::new();
    let slice = Duration::from_secs_f64(seconds / 20.0);
    for _ in 0..10 {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        raw_writes(raw, &mut at, slice, &mut b, block);
        commits(log, slice, &mut a);
        ratios.push(median(&mut a) / median(&mut b));
        ours.append(&mut a);
        bare.append(&mut b);
        recycle(log);
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    println!(
        "one committer: {ours:.1} us per durable commit, {bare:.1} us per raw durable write of {block} bytes"
    );
    println!(
        "ratio of medians {:.3}, median of 10 interleaved ratios {:.3}",
        ours / bare,
        median(&mut ratios)
    );
}

fn group(log: &Arc<Log>, threads: usize, seconds: f64) {
    let before = log.stats();
    let start = Instant::now();
    let mut all: Vec<f64> = std::thread::scope(|scope| {
        let run = || {
            let mut samples = Vec::new();
            commits(log, Duration::from_secs_f64(seconds), &mut samples);
            samples
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("committer")).collect()
    });
    let time = start.elapsed().as_secs_f64();
    let flushes = log.stats().flushes - before.flushes;
    println!(
        "{threads:>3} committers: {:>8.0} commits/s, median {:>6.1} us, {:.1} commits per flush",
        all.len() as f64 / time,
        median(&mut all),
        all.len() as f64 / flushes.max(1) as f64
    );
    recycle(log);
}

fn bulk(log: &Log, record: usize) {
    let bytes = vec![3; record];
    let before = log.stats();
    let mut rates = Vec::new();
    let mut appends = Vec::new();
    for _ in 0..5 {
        let total = SIZE as usize / 2;
        let start = Instant::now();
        let mut last = log.end();
        for _ in 0..total / record {
            last = log.append(&[&bytes], 0).expect("append");
        }
        appends.push(start.elapsed().as_secs_f64() * 1e9 / (total / record) as f64);
        log.flush_to(last).expect("flush");
        rates.push(total as f64 / start.elapsed().as_secs_f64() / 1e9);
        recycle(log);
    }
    let after = log.stats();
    println!(
        "bulk, records of {record:>4} bytes: {:.2} GB/s, {:.0} ns per append, {} writes of {} KB, LOGBUFFER {} ms",
        median(&mut rates),
        median(&mut appends),
        after.writes - before.writes,
        (after.bytes_written - before.bytes_written) / (after.writes - before.writes).max(1) / 1024,
        (after.log_buffer_wait_us - before.log_buffer_wait_us) / 1000
    );
}

/// Two logs of the same size, one cut into VLFs of `vlf` bytes: the same bytes appended to both in
/// turn, in records of the given size that are cut at the ends of VLFs; the ratio of times.
fn small_vlfs(disk: &OsDisk, vlf: u32, record: usize) {
    let make = |name: &str, vlf_rule| {
        let options = LogOptions {
            initial_size: SIZE,
            growth: Growth::None,
            vlf_rule,
            ..LogOptions::default()
        };
        Log::create(disk, Path::new(name), options).expect("log")
    };
    let logs = [
        make(&format!("few-{vlf}-{record}"), VlfRule::R100),
        make(&format!("many-{vlf}-{record}"), VlfRule::Fixed(vlf)),
    ];
    let bytes = vec![3; record];
    let time = |log: &Log| {
        let (start, mut left) = (Instant::now(), SIZE as usize / 2);
        while left > 0 {
            // As a statement that changes many rows cuts its records.
            let len = record.min(log.room()).min(left);
            log.append(&[&bytes[..len]], 0).expect("append");
            left -= len;
        }
        log.flush_all().expect("flush");
        let seconds = start.elapsed().as_secs_f64();
        recycle(log);
        seconds
    };
    // The order alternates, so that neither always writes after the other.
    let mut ratios: Vec<f64> = (0..15)
        .map(|round| {
            let [a, b] = [round % 2, 1 - round % 2].map(|which| time(&logs[which]));
            if round % 2 == 0 { b / a } else { a / b }
        })
        .collect();
    let written = logs.each_ref().map(|log| log.stats().bytes_written as f64);
    let writes = logs.each_ref().map(|log| log.stats().bytes_written / log.stats().writes / 1024);
    println!(
        "VLFs of {} KB against {} VLFs, records of {record} bytes: {:.2} times as long, {:.2} times the bytes, writes of {} against {} KB",
        vlf >> 10,
        logs[0].space().vlf_count,
        median(&mut ratios),
        written[1] / written[0],
        writes[1],
        writes[0]
    );
}

/// The device's own rate for the same bytes in 1 MiB writes, by so many threads in turns.
fn raw_bulk(file: &Arc<dyn BlockFile>, threads: u64) {
    let mut buf = AlignedBuf::new(1 << 20);
    buf.fill(3);
    let (buf, pieces) = (&buf, (SIZE / 2) >> 20);
    let mut rates = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || {
                    for i in (thread..pieces).step_by(threads as usize) {
                        file.write_at(i << 20, buf).expect("write");
                    }
                });
            }
        });
        file.sync().expect("sync");
        rates.push(SIZE as f64 / 2.0 / start.elapsed().as_secs_f64() / 1e9);
    }
    println!("raw 1 MiB writes, {threads} at a time: {:.2} GB/s", median(&mut rates));
}

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let seconds: f64 = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(4.0);
    let scratch = tempfile::tempdir_in(&folder).expect("scratch folder");
    let disk = OsDisk::new(scratch.path());
    let raw = disk.open(Path::new("raw"), OpenMode::Create).expect("raw file");
    raw.write_zeros(0, SIZE).expect("zeros");
    let options = LogOptions { initial_size: SIZE, growth: Growth::None, ..LogOptions::default() };
    let log = Log::create(&disk, Path::new("log"), options).expect("log");
    println!("direct I/O: {}, sectors {:?}", raw.is_direct(), raw.sectors());
    latency(&log, &raw, seconds);
    for threads in [1, 2, 8, 64] {
        group(&log, threads, seconds / 4.0);
    }
    for threads in [1, 2] {
        raw_bulk(&raw, threads);
    }
    for record in [60, 200, 1000, 8000] {
        bulk(&log, record);
    }
    for (vlf, record) in
        [(64 << 10, 8000), (128 << 10, 9000), (128 << 10, 15_000), (256 << 10, 15_000)]
    {
        small_vlfs(&disk, vlf, record);
    }
    println!("{:?}", log.stats());
}
