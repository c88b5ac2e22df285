//! The contract of `Disk` and `BlockFile`, run against the operating system (direct and buffered)
//! and the simulated disk.

use std::path::Path;
use std::sync::Arc;

use disk::{AlignedBuf, BlockFile, Disk, DiskError, OpenMode, OsDisk};
use ringwood_sim::SimDisk;

/// Runs a check on every implementation, each on an empty disk.
fn on_every_disk(check: impl Fn(&dyn Disk)) {
    let direct = tempfile::tempdir().expect("scratch folder");
    check(&OsDisk::new(direct.path()));
    let buffered = tempfile::tempdir().expect("scratch folder");
    check(&OsDisk::buffered(buffered.path()));
    check(&SimDisk::new(1));
}

fn sector_of(file: &Arc<dyn BlockFile>) -> usize {
    file.sectors().logical as usize
}

fn filled(len: usize, byte: u8) -> AlignedBuf {
    let mut buf = AlignedBuf::new(len);
    buf.fill(byte);
    buf
}

#[test]
fn create_open_and_names() {
    on_every_disk(|disk| {
        disk.create_dir_all(Path::new("a/b")).expect("folder");
        let path = Path::new("a/b/file");
        assert!(matches!(disk.open(path, OpenMode::Open), Err(DiskError::NotFound { .. })));
        disk.open(path, OpenMode::Create).expect("create");
        assert!(matches!(disk.open(path, OpenMode::Create), Err(DiskError::Exists { .. })));
        disk.open(path, OpenMode::Open).expect("open");
        disk.rename(path, Path::new("a/b/other")).expect("rename");
        assert_eq!(disk.list(Path::new("a/b")).expect("list"), [Path::new("a/b/other")]);
        assert!(
            !disk.exists(path).expect("exists")
                && disk.exists(Path::new("a/b/other")).expect("exists")
        );
        disk.remove(Path::new("a/b/other")).expect("remove");
        assert!(matches!(disk.remove(path), Err(DiskError::NotFound { .. })));
        assert!(matches!(disk.list(Path::new("none")), Err(DiskError::NotFound { .. })));
        assert!(disk.free_space(Path::new("a/b/new")).expect("space") > 0);
    });
}

#[test]
fn transfers_are_exact() {
    on_every_disk(|disk| {
        let file = disk.open(Path::new("f"), OpenMode::Create).expect("create");
        let unit = sector_of(&file);
        let (one, two) = (filled(unit, 1), filled(2 * unit, 2));
        file.write_zeros(0, 64 * unit as u64).expect("zeros");
        file.write_gather(unit as u64, &[&one, &two, &one]).expect("gather");
        file.write_at(0, &two).expect("write");
        file.write_durable(8 * unit as u64, &[&two, &one]).expect("durable");
        file.sync().expect("sync");
        let mut all = AlignedBuf::new(64 * unit);
        file.read_at(0, &mut all).expect("read");
        let bytes: Vec<u8> = all.chunks(unit).map(|sector| sector[0]).take(12).collect();
        assert_eq!(bytes, [2, 2, 2, 2, 1, 0, 0, 0, 2, 2, 1, 0]);
        let many: Vec<&[u8]> = (0..2500).map(|_| &one[..]).collect();
        file.write_gather(0, &many).expect("more buffers than one call takes");
        assert_eq!(file.len().expect("len"), 2500 * unit as u64);
        let stats = file.stats().snapshot();
        assert!(
            stats.writes >= 5
                && stats.reads == 1
                && stats.bytes_read == 64 * unit as u64
                && stats.syncs >= 1
        );
    });
}

#[test]
fn lengths_and_ends() {
    on_every_disk(|disk| {
        let file = disk.open(Path::new("f"), OpenMode::Create).expect("create");
        let unit = sector_of(&file);
        assert!(file.is_empty().expect("len"));
        file.set_len(4 * unit as u64).expect("extend");
        let mut buf = filled(2 * unit, 9);
        file.read_at(2 * unit as u64, &mut buf).expect("zeros");
        assert!(buf.iter().all(|&b| b == 0));
        let end = file.read_at(3 * unit as u64, &mut buf);
        assert!(
            matches!(end, Err(DiskError::ShortRead { got, .. }) if got == unit as u64),
            "{end:?}"
        );
        file.write_at(0, &filled(4 * unit, 7)).expect("write");
        file.set_len(unit as u64).expect("cut");
        file.allocate(0, 4 * unit as u64).expect("allocate");
        assert_eq!(file.len().expect("len"), 4 * unit as u64);
        file.read_at(unit as u64, &mut buf).expect("read");
        assert!(buf.iter().all(|&b| b == 0), "what was cut does not come back");
    });
}

#[test]
fn misaligned_transfers_are_refused() {
    on_every_disk(|disk| {
        let file = disk.open(Path::new("f"), OpenMode::Create).expect("create");
        let unit = sector_of(&file);
        let mut buf = AlignedBuf::new(2 * unit);
        file.write_zeros(0, 8 * unit as u64).expect("zeros");
        let misaligned =
            |result: Result<(), DiskError>| matches!(result, Err(DiskError::Misaligned { .. }));
        assert!(misaligned(file.write_at(1, &buf[..unit])));
        assert!(misaligned(file.write_at(0, &buf[..unit - 1])));
        assert!(misaligned(file.write_durable(0, &[&buf[1..unit + 1]])));
        assert!(misaligned(file.read_at(0, &mut buf[8..unit + 8])));
    });
}

#[test]
fn small_files_are_replaced_whole() {
    on_every_disk(|disk| {
        let path = Path::new("small");
        assert!(matches!(disk.read_small(path), Err(DiskError::NotFound { .. })));
        disk.write_small_atomic(path, b"one").expect("write");
        disk.write_small_atomic(path, b"second").expect("replace");
        assert_eq!(disk.read_small(path).expect("read"), b"second");
        let huge = vec![0; disk::SMALL_FILE_MAX as usize + 1];
        assert!(matches!(disk.write_small_atomic(path, &huge), Err(DiskError::TooLarge { .. })));
    });
}

#[test]
fn locks_exclude_and_end() {
    on_every_disk(|disk| {
        let path = Path::new("lock");
        let lock = disk.lock_exclusive(path).expect("free");
        assert!(matches!(disk.lock_exclusive(path), Err(DiskError::Locked { .. })));
        drop(lock);
        disk.lock_exclusive(path).expect("free again");
    });
}

/// No system allows a file of 8 EB. That is a refusal as a full volume's is: nothing has changed,
/// and the file stays usable.
#[test]
fn a_file_larger_than_its_file_system_allows_is_refused() {
    on_every_disk(|disk| {
        let file = disk.open(Path::new("f"), OpenMode::Create).expect("create");
        let unit = sector_of(&file);
        file.write_durable(0, &[&filled(unit, 1)]).expect("write");
        let refused = file.allocate(1 << 62, 1 << 62).expect_err("too large");
        assert!(refused.is_no_space() && !refused.is_final(), "{refused}");
        assert_eq!(file.len(), Ok(unit as u64));
        file.allocate(0, 2 * unit as u64).expect("room");
    });
    let folder = tempfile::tempdir().expect("scratch folder");
    let file = OsDisk::new(folder.path()).open(Path::new("f"), OpenMode::Create).expect("create");
    let refused = file.allocate(1 << 62, 1 << 62);
    assert!(matches!(refused, Err(DiskError::FileLimit { .. })), "{refused:?}");
}
