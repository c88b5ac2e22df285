//! What small growth steps of the log cost against large ones, in turn: growing step by step,
//! filling the log that was grown, and filling a log that grows by itself. The last figure of each
//! line is the median of the ratios within a round.
//!
//! Usage: `growth_steps [FOLDER] [SIZE_MB] [SMALL_KB] [LARGE_KB] [ROUNDS]`. The folder must be on
//! the device to be measured; the defaults are the published sizes: 2,048 MB by 1,024 KB and by
//! 1,024,000 KB.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use disk::{Disk, OsDisk};
use ringwood_wal::{Growth, Log, LogOptions};

const RECORD: [u8; 16_200] = [7; 16_200];
const MEASURES: [&str; 3] = ["growing", "filling, pre-grown", "filling, autogrow"];

fn create(disk: &OsDisk, step: u64) -> Arc<Log> {
    let options =
        LogOptions { initial_size: 1 << 20, growth: Growth::Bytes(step), ..LogOptions::default() };
    Log::create(disk, Path::new("growth.ldf"), options).expect("create")
}

fn end(disk: &OsDisk, log: Arc<Log>) {
    log.close().expect("close");
    drop(log);
    disk.remove(Path::new("growth.ldf")).expect("remove");
}

/// Appends until the log holds `bytes`; all of it is durable at the end.
fn fill(log: &Log, bytes: u64) -> f64 {
    let start = Instant::now();
    let mut last = log.end();
    for _ in 0..bytes / RECORD.len() as u64 {
        last = log.append(&[&RECORD], 0).expect("append");
    }
    log.flush_to(last).expect("flush");
    start.elapsed().as_secs_f64()
}

/// Seconds of each measure.
fn run(disk: &OsDisk, size: u64, step: u64) -> [f64; 3] {
    let log = create(disk, step);
    let start = Instant::now();
    while log.space().size < size {
        log.grow((log.space().size + step).min(size)).expect("grow");
    }
    let growing = start.elapsed().as_secs_f64();
    let filling = fill(&log, size / 4 * 3);
    end(disk, log);
    let log = create(disk, step);
    let auto = fill(&log, size / 4 * 3);
    let stats = log.stats();
    println!(
        "  steps of {:>7} KB: {growing:.3} s, {filling:.3} s, {auto:.3} s ({} growths, {} waits of {:.3} s)",
        step >> 10,
        stats.growths,
        stats.growth_waits,
        stats.growth_wait_us as f64 / 1e6
    );
    end(disk, log);
    [growing, filling, auto]
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| ".".into());
    let mut number = |default: u64| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (size, small, large) = (number(2048) << 20, number(1024) << 10, number(1_024_000) << 10);
    let rounds = number(3);
    let disk = OsDisk::new(Path::new(&folder));
    let mut ratios = MEASURES.map(|_| Vec::new());
    for round in 0..rounds {
        // The order alternates, so that neither always goes first.
        let (a, b) = if round % 2 == 0 { (small, large) } else { (large, small) };
        let (first, second) = (run(&disk, size, a), run(&disk, size, b));
        let (ours, base) = if round % 2 == 0 { (first, second) } else { (second, first) };
        for (i, all) in ratios.iter_mut().enumerate() {
            all.push(ours[i] / base[i]);
        }
    }
    for (name, all) in MEASURES.iter().zip(&mut ratios) {
        all.sort_by(f64::total_cmp);
        println!("{name}: {:.3} times", all.get(all.len() / 2).copied().unwrap_or(0.0));
    }
}
