//! A limit of the kernel that leaves no ring: threads do the work, and the reason can be queried.
//! Alone in its process, because the limit is the whole process's.

use std::io::IoSlice;
use std::path::Path;

use ringwood_disk::{AlignedBuf, Data, Disk, OpenMode, OsDisk, Request, transfer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn without_a_ring_threads_do_the_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = OsDisk::new(folder.path()).open(Path::new("a"), OpenMode::Create).expect("a file");
    file.write_zeros(0, 100 * 8192).expect("space");
    let (tell, told) = std::sync::mpsc::channel();
    ringwood_disk::on_io_fallback(move |reason| {
        tell.send(reason.to_string()).expect("somebody listens")
    });
    let limit = getrlimit(Resource::Nofile);
    // Not one descriptor more than exist: the kernel refuses a ring.
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).expect("a limit");
    let pages: Vec<AlignedBuf> = (0..100).map(|_| AlignedBuf::new(8192)).collect();
    let slices: Vec<IoSlice<'_>> = pages.iter().map(|page| IoSlice::new(page)).collect();
    let each = slices.chunks(1).enumerate();
    let mut requests: Vec<Request<'_>> = each
        .map(|(i, one)| Request { file: &*file, offset: i as u64 * 8192, data: Data::Write(one) })
        .collect();
    let mut ended = 0;
    transfer(&mut requests, &mut |_, _, result| {
        result.expect("a write");
        ended += 1;
    });
    let reason = ringwood_disk::io_fallback();
    setrlimit(Resource::Nofile, limit).expect("the limit of before");
    assert_eq!(ended, 100);
    assert_eq!(told.recv().ok(), reason);
    assert!(reason.as_deref().is_some_and(|reason| reason.starts_with("io_uring: ")), "{reason:?}");
}
