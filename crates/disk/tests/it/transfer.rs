//! Batches in flight through both backends: every byte arrives, each request fails by itself, and
//! nothing is in flight when the call has ended, however it ends.

use std::io::{IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringwood_disk::{
    AlignedBuf, BlockFile, Data, Disk, DiskError, IoBackend, IoOptions, OpenMode, OsDisk, Request,
    transfer,
};

const PAGE: usize = 8192;
const BACKENDS: [IoBackend; 2] = [IoBackend::Auto, IoBackend::Threads];

fn disk(folder: &Path, backend: IoBackend, direct: bool) -> OsDisk {
    let disk = if direct { OsDisk::new(folder) } else { OsDisk::buffered(folder) };
    disk.with_io(IoOptions { backend, depth: None })
}

fn page(mark: u64) -> AlignedBuf {
    let mut buf = AlignedBuf::new(PAGE);
    buf.chunks_mut(8).for_each(|word| word.copy_from_slice(&mark.to_le_bytes()));
    buf
}

/// Writes each page with its own mark to its position (file, page number), by requests of one or
/// several adjacent pages.
fn write_pages(
    files: &[Arc<dyn BlockFile>],
    places: &[(usize, u64)],
    mark: impl Fn(usize, u64) -> u64,
) {
    let pages: Vec<AlignedBuf> = places.iter().map(|&(file, at)| page(mark(file, at))).collect();
    let slices: Vec<IoSlice<'_>> = pages.iter().map(|page| IoSlice::new(page)).collect();
    let mut requests = Vec::new();
    let mut at = 0;
    for run in places.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1) {
        let data = Data::Write(&slices[at..at + run.len()]);
        requests.push(Request { file: &*files[run[0].0], offset: run[0].1 * PAGE as u64, data });
        at += run.len();
    }
    let mut ended = vec![0; requests.len()];
    transfer(&mut requests, &mut |i, _, result| {
        result.expect("a write");
        ended[i] += 1;
    });
    assert!(ended.iter().all(|times| *times == 1), "{ended:?}");
}

fn read_pages(
    files: &[Arc<dyn BlockFile>],
    places: &[(usize, u64)],
    mark: impl Fn(usize, u64) -> u64,
) {
    let mut pages: Vec<AlignedBuf> = places.iter().map(|_| AlignedBuf::new(PAGE)).collect();
    let mut slices: Vec<IoSliceMut<'_>> =
        pages.iter_mut().map(|page| IoSliceMut::new(page)).collect();
    let mut requests: Vec<Request<'_>> = slices
        .chunks_mut(1)
        .zip(places)
        .map(|(one, &(file, at))| Request {
            file: &*files[file],
            offset: at * PAGE as u64,
            data: Data::Read(one),
        })
        .collect();
    transfer(&mut requests, &mut |i, request, result| {
        result.expect("a read");
        // The bytes are there when the end of the request is reported.
        let Data::Read(bufs) = &request.data else { panic!("a read") };
        assert!(bufs[0][..] == page(mark(places[i].0, places[i].1))[..], "{:?}", places[i]);
    });
}

#[test]
fn every_byte_arrives() {
    let folder = tempfile::tempdir().expect("a folder");
    for (n, (backend, direct)) in
        BACKENDS.iter().flat_map(|b| [(*b, true), (*b, false)]).enumerate()
    {
        let disk = disk(folder.path(), backend, direct);
        let open = |name: &str| {
            disk.open(Path::new(&format!("{n}{name}")), OpenMode::Create).expect("a file")
        };
        let files = [open("a"), open("b")];
        files.iter().for_each(|file| file.write_zeros(0, 1000 * PAGE as u64).expect("space"));
        // More than a ring takes, adjacent and alone.
        let mut places: Vec<(usize, u64)> =
            (0..2000).map(|i| (i % 2, (i as u64 / 2 * 7) % 1000)).collect();
        places.sort_unstable();
        places.dedup();
        write_pages(&files, &places, |file, at| at * 10 + file as u64);
        read_pages(&files, &places, |file, at| at * 10 + file as u64);
        let few: Vec<(usize, u64)> = (0..300).map(|i| (0, 999 - i * 3)).collect();
        write_pages(&files, &few, |_, at| at + 5_000_000);
        read_pages(&files, &few, |_, at| at + 5_000_000);
        write_pages(&files, &[(1, 3)], |_, _| 9);
        read_pages(&files, &[(1, 3)], |_, _| 9);
        write_pages(&files, &[], |_, _| 0);
        let stats = files[1].stats().snapshot();
        assert_eq!((stats.in_flight, stats.reads), (0, 1001), "{backend:?} {direct}");
        assert!(stats.most_in_flight >= 2 || !direct, "{backend:?}: {}", stats.most_in_flight);
        assert_eq!(stats.bytes_read, 1001 * PAGE as u64);
    }
}

#[test]
fn each_request_fails_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    for (n, backend) in BACKENDS.into_iter().enumerate() {
        let disk = disk(folder.path(), backend, true);
        let file = disk.open(Path::new(&format!("{n}")), OpenMode::Create).expect("a file");
        file.write_zeros(0, 10 * PAGE as u64).expect("space");
        let mut pages: Vec<AlignedBuf> = (0..32).map(|_| AlignedBuf::new(PAGE)).collect();
        let mut slices: Vec<IoSliceMut<'_>> =
            pages.iter_mut().map(|page| IoSliceMut::new(page)).collect();
        let offset = |i: usize| match i {
            7 => 10 * PAGE as u64,        // past the end
            11 => 9 * PAGE as u64 + 4096, // half of it is there
            13 => 100,                    // inside a sector
            i => (i as u64 % 10) * PAGE as u64,
        };
        let requests = slices.chunks_mut(1).enumerate();
        let mut requests: Vec<Request<'_>> = requests
            .map(|(i, one)| Request { file: &*file, offset: offset(i), data: Data::Read(one) })
            .collect();
        let mut failed = Vec::new();
        transfer(&mut requests, &mut |i, _, result| match result {
            Ok(()) => assert!(![7, 11, 13].contains(&i)),
            Err(DiskError::ShortRead { got, .. }) => failed.push((i, got)),
            Err(DiskError::Misaligned { .. }) => failed.push((i, 1)),
            Err(error) => panic!("{i}: {error}"),
        });
        failed.sort_unstable();
        assert_eq!(failed, [(7, 0), (11, 4096), (13, 1)], "{backend:?}");
        let stats = file.stats().snapshot();
        assert_eq!((stats.reads, stats.in_flight), (29, 0));
    }
}

/// A panic in the middle of a batch: the buffers belong to the caller again, and the next batch
/// works.
#[test]
fn a_panic_leaves_nothing_in_flight() {
    let folder = tempfile::tempdir().expect("a folder");
    for (n, backend) in BACKENDS.into_iter().enumerate() {
        let disk = disk(folder.path(), backend, true);
        let files = [disk.open(Path::new(&format!("{n}")), OpenMode::Create).expect("a file")];
        files[0].write_zeros(0, 64 * PAGE as u64).expect("space");
        for round in 0..20 {
            let pages: Vec<AlignedBuf> = (0..64).map(page).collect();
            let slices: Vec<IoSlice<'_>> = pages.iter().map(|page| IoSlice::new(page)).collect();
            let ended = AtomicUsize::new(0);
            let batch = || {
                let each = slices.chunks(1).enumerate();
                let mut requests: Vec<Request<'_>> = each
                    .map(|(i, one)| Request {
                        file: &*files[0],
                        offset: (i * PAGE) as u64,
                        data: Data::Write(one),
                    })
                    .collect();
                transfer(&mut requests, &mut |_, _, _| {
                    if ended.fetch_add(1, Ordering::Relaxed) == round {
                        std::panic::resume_unwind(Box::new(()));
                    }
                });
            };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(batch)).is_err());
            drop(slices);
            // Anything still in flight would now write into what the memory is used for next.
            drop(pages);
            let places: Vec<(usize, u64)> = (0..64).map(|at| (0, at)).collect();
            write_pages(&files, &places, |_, at| at + 77);
            read_pages(&files, &places, |_, at| at + 77);
        }
    }
}

#[test]
fn batches_of_many_threads_do_not_meet() {
    let folder = tempfile::tempdir().expect("a folder");
    for (n, backend) in BACKENDS.into_iter().enumerate() {
        let disk = disk(folder.path(), backend, true);
        let file = disk.open(Path::new(&format!("{n}")), OpenMode::Create).expect("a file");
        file.write_zeros(0, 8 * 100 * PAGE as u64).expect("space");
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let files = [Arc::clone(&file)];
                scope.spawn(move || {
                    for round in 0..5 {
                        let places: Vec<(usize, u64)> =
                            (0..50).map(|at| (0, thread * 100 + at * 2)).collect();
                        write_pages(&files, &places, |_, at| at * 1000 + round);
                        read_pages(&files, &places, |_, at| at * 1000 + round);
                    }
                });
            }
        });
    }
}
