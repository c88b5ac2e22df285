//! Batches on modelled devices: eight spindles serve eight times the requests of one, and no
//! request ends early.

use std::io::{IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use disk::{AlignedBuf, BlockFile, Data, Disk, OpenMode, Request, transfer};
use ringwood_model::{Device, Medium, ModelDisk, builtin};

const PAGE: usize = 8192;
const PAGES: u64 = 16_000;

/// Disks of 15,000 rpm without a cache, striped, with a clock that runs five times as fast.
fn striped(spindles: u32) -> Device {
    let mut device = Device { time_scale: 5.0, ..builtin("hdd-15000").expect("a device") };
    if let Medium::Disks(disks) = &mut device.medium {
        disks.spindles = spindles;
        disks.mirrored = false;
    }
    device
}

fn file(folder: &Path, device: Device) -> Arc<dyn BlockFile> {
    let disk = ModelDisk::for_measuring(device, folder).expect("a device");
    let file = disk.open(Path::new("f"), OpenMode::Create).expect("a file");
    file.allocate(0, PAGES * PAGE as u64).expect("space");
    file
}

/// Seconds that so many random requests take.
fn took(file: &dyn BlockFile, count: usize, write: bool) -> f64 {
    let mut random = fastrand::Rng::with_seed(8);
    let mut buf = AlignedBuf::new(count * PAGE);
    let offsets: Vec<u64> = (0..count).map(|_| random.u64(0..PAGES) * PAGE as u64).collect();
    let start = Instant::now();
    let mut well = 0;
    if write {
        let slices: Vec<IoSlice<'_>> = buf.chunks(PAGE).map(IoSlice::new).collect();
        let each = slices.chunks(1).zip(&offsets);
        let mut requests: Vec<Request<'_>> =
            each.map(|(one, &offset)| Request { file, offset, data: Data::Write(one) }).collect();
        transfer(&mut requests, &mut |_, _, result| well += usize::from(result.is_ok()));
    } else {
        let mut slices: Vec<IoSliceMut<'_>> = buf.chunks_mut(PAGE).map(IoSliceMut::new).collect();
        let each = slices.chunks_mut(1).zip(&offsets);
        let mut requests: Vec<Request<'_>> =
            each.map(|(one, &offset)| Request { file, offset, data: Data::Read(one) }).collect();
        transfer(&mut requests, &mut |_, _, result| well += usize::from(result.is_ok()));
    }
    assert_eq!(well, count);
    start.elapsed().as_secs_f64()
}

#[test]
fn eight_spindles_serve_a_batch_like_eight_disks() {
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let one = file(folders[0].path(), striped(1));
    let eight = file(folders[1].path(), striped(8));
    for write in [true, false] {
        // A busy machine makes requests late, never early: the shortest of five times is the
        // model's.
        let least =
            |file: &dyn BlockFile| (0..5).map(|_| took(file, 400, write)).fold(f64::MAX, f64::min);
        let ratio = least(&*one) / least(&*eight);
        assert!((5.0..14.0).contains(&ratio), "write {write}: {ratio}");
    }
    let stats = eight.stats().snapshot();
    assert_eq!((stats.writes, stats.reads, stats.in_flight), (2000, 2000, 0));
    assert!(stats.most_in_flight >= 200, "{}", stats.most_in_flight);
}

/// Requests one after the other take longer than the same requests in one batch.
#[test]
fn a_batch_of_one_takes_as_long_as_a_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file(folder.path(), striped(1));
    let alone: f64 = (0..40).map(|_| took(&*file, 1, false)).sum();
    let batch = took(&*file, 40, false);
    // With a queue a disk needs about half the time for each.
    assert!(alone > batch * 1.2, "{alone} {batch}");
}
