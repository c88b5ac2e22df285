//! What huge pages under a buffer are worth: direct writes of 512 KB from eight long buffers, whose
//! memory is huge pages, against the same writes from short ones, whose memory comes from the
//! allocator; by one thread and by two, alternating.
//!
//! Usage: `buffer_pages [FOLDER] [ROUNDS]`. The folder must be on the device to be measured.

use std::path::Path;
use std::time::Instant;

use ringwood_disk::{AlignedBuf, BlockFile, Disk, OpenMode, OsDisk};

const FILE: u64 = 256 << 20;
const WRITE: usize = 512 << 10;
/// Lists of buffers that a run cycles through, as a log does: 8 MB.
const LISTS: usize = 16;

/// Buffers of `each` bytes for consecutive writes. Neighbours in time are not neighbours in memory,
/// as in a program that has run for a while.
fn lists(each: usize) -> Vec<Vec<AlignedBuf>> {
    let count = WRITE / each;
    let mut all: Vec<Vec<AlignedBuf>> = (0..LISTS).map(|_| Vec::new()).collect();
    for i in 0..count * LISTS {
        let mut buf = AlignedBuf::new(each);
        buf.fill(7);
        all[i * 7 % LISTS].push(buf);
    }
    all
}

/// GB/s of writing the whole file once.
fn run(file: &dyn BlockFile, lists: &[Vec<AlignedBuf>], threads: u64) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for i in (thread..FILE / WRITE as u64).step_by(threads as usize) {
                    let bufs: Vec<&[u8]> =
                        lists[i as usize % LISTS].iter().map(|buf| &buf[..]).collect();
                    file.write_gather(i * WRITE as u64, &bufs).expect("write");
                }
            });
        }
    });
    FILE as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let rounds: usize = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(15);
    let scratch = tempfile::tempdir_in(&folder).expect("scratch folder");
    let file = OsDisk::new(scratch.path()).open(Path::new("raw"), OpenMode::Create).expect("file");
    file.write_zeros(0, FILE).expect("zeros");
    println!("direct I/O: {}", file.is_direct());
    let (long, short) = (lists(64 << 10), lists(16 << 10));
    for threads in [1, 2] {
        let mut rates: [Vec<f64>; 2] = Default::default();
        for round in 0..rounds {
            for turn in 0..2 {
                let which = (turn + round) % 2;
                rates[which].push(run(
                    file.as_ref(),
                    if which == 0 { &long } else { &short },
                    threads,
                ));
            }
        }
        let [huge, small] = rates.map(median);
        println!(
            "{threads} thread(s): huge pages {huge:.2} GB/s, small {small:.2} GB/s, {:.2} times",
            huge / small
        );
    }
}
