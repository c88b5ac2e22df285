//! Prints what a device model delivers for simple loads, next to published figures of such devices.
//! Virtual time, so it is fast.
//!
//! `cargo run -p ringwood-model --example show_device [NAME|FILE]...`

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ringwood_model::{Cache, CacheKind, Device, Medium, NAMES, Request, Timeline, device};

const MB: u64 = 1 << 20;

/// Requests a second with `depth` outstanding; the host takes 5 microseconds between a completion
/// and the next request.
fn rate(device: &Device, depth: u64, count: u64, mut next: impl FnMut(u64) -> Request) -> f64 {
    let mut timeline = Timeline::new(device);
    let mut ends: BinaryHeap<Reverse<u64>> = (0..depth).map(Reverse).collect();
    let mut last = 1;
    for i in 0..count {
        let Some(Reverse(at)) = ends.pop() else { break };
        let end = timeline.submit(at + 5_000, next(i));
        last = last.max(end);
        ends.push(Reverse(end));
    }
    count as f64 * 1e9 / last as f64
}

fn random(device: &Device, depth: u64, write: bool) -> f64 {
    let mut random = fastrand::Rng::with_seed(1);
    let places = device.array_capacity() / 4096;
    rate(device, depth, 4_000, |_| {
        let (pos, len) = (random.u64(0..places) * 4096, 4096);
        if write { Request::Write { pos, len, durable: true } } else { Request::Read { pos, len } }
    })
}

/// Megabytes (powers of ten) a second.
fn sequential(device: &Device, write: bool) -> f64 {
    let requests = rate(device, 4, 4_096, |i| {
        let (pos, len) = (i * MB, MB);
        if write { Request::Write { pos, len, durable: true } } else { Request::Read { pos, len } }
    });
    requests * MB as f64 / 1e6
}

/// Durable appends a second of `len` bytes each.
fn log(device: &Device, len: u64) -> f64 {
    rate(device, 1, 2_000, |i| Request::Write { pos: i * len, len, durable: true })
}

fn line(what: &str, value: f64, unit: &str, published: &str) {
    println!("  {what:<44} {value:>12.0} {unit:<5} {published}");
}

/// Published figures of the class: data sheets and the usual rules of thumb.
#[derive(Default)]
struct PublishedFigures {
    reads: &'static str,
    many_reads: &'static str,
    writes: &'static str,
    many_writes: &'static str,
    read_rate: &'static str,
    write_rate: &'static str,
    log: &'static str,
}

fn published(device: &Device) -> PublishedFigures {
    let empty = PublishedFigures::default();
    match &device.medium {
        Medium::Disks(d) if d.spindles > 1 => PublishedFigures {
            many_reads: "about 1 disk x spindles (queued)",
            many_writes: "about 1 disk x spindles / 2 (queued)",
            read_rate: "at least 1 disk x spindles / 2",
            write_rate: "1 disk x spindles / 2",
            log: "5,000 to 10,000 with a battery-backed cache",
            ..empty
        },
        Medium::Disks(d) => {
            let fast = d.rpm >= 15_000;
            let rate = if fast { "125 to 200" } else { "100 to 200" };
            PublishedFigures {
                reads: if fast { "175 to 210" } else { "75 to 100" },
                many_reads: "about twice as many, queued",
                writes: if fast { "175 to 210" } else { "75 to 100" },
                many_writes: "about twice as many, queued",
                read_rate: rate,
                write_rate: rate,
                log: if fast { "250 = 15,000 / 60" } else { "120 = 7,200 / 60" },
            }
        }
        Medium::Flash(f) if f.read_rate > 1_000_000_000 => PublishedFigures {
            reads: "about 10,000 to 12,000",
            many_reads: "400,000 to 800,000",
            writes: "30,000 to 60,000",
            many_writes: "100,000 to 200,000",
            read_rate: "2,500 to 3,500",
            write_rate: "1,800 to 2,200",
            ..empty
        },
        Medium::Flash(_) => PublishedFigures {
            reads: "about 10,000",
            many_reads: "75,000 to 90,000",
            writes: "15,000 to 25,000",
            many_writes: "30,000 to 45,000",
            read_rate: "500 to 550",
            write_rate: "450 to 520",
            ..empty
        },
    }
}

fn show(device: &Device) {
    let (logical, physical) = (device.logical, device.physical);
    println!("{} ({}), sectors {logical} / {physical}", device.name, device.about);
    let known = published(device);
    line("random 4 KB reads, 1 outstanding", random(device, 1, false), "/s", known.reads);
    line("random 4 KB reads, 64 outstanding", random(device, 64, false), "/s", known.many_reads);
    line("random 4 KB durable writes, 1 outstanding", random(device, 1, true), "/s", known.writes);
    // A cache absorbs what this loop writes; only without it the figure shows what the disks
    // sustain.
    let (bare, without) = match device.medium {
        Medium::Disks(_) if device.cache.kind != CacheKind::None => (
            Device { cache: Cache { kind: CacheKind::None, bytes: 0 }, ..device.clone() },
            ", cache off",
        ),
        _ => (device.clone(), ""),
    };
    let (writes, stream) = (random(&bare, 64, true), sequential(&bare, true));
    line(&format!("random 4 KB durable writes, 64{without}"), writes, "/s", known.many_writes);
    line("sequential reads, 1 MB", sequential(device, false), "MB/s", known.read_rate);
    line(&format!("sequential writes, 1 MB{without}"), stream, "MB/s", known.write_rate);
    let aligned = log(device, u64::from(physical));
    line("log: durable appends of a physical sector", aligned, "/s", known.log);
    if logical < physical {
        let parts = log(device, u64::from(logical));
        let flash = matches!(device.medium, Medium::Flash(_));
        let claim = if flash { "published 0.25 to 0.30" } else { "0.5 = one revolution more" };
        let ratio = format!("{:.2} of the line above; {claim}", parts / aligned);
        line("log: durable appends of a logical sector", parts, "/s", &ratio);
    }
    if device.arrays > 1 {
        println!("  all figures are of one of its {} arrays", device.arrays);
    }
    println!();
}

fn main() -> Result<(), ringwood_model::ModelError> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let names =
        if named.is_empty() { NAMES.iter().map(ToString::to_string).collect() } else { named };
    for name in names {
        show(&device(&name)?);
    }
    Ok(())
}
