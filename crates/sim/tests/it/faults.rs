//! Power loss and planned faults of the simulated disk.

use std::path::Path;

use disk::{AlignedBuf, BlockFile, Disk, DiskError, Op, OpenMode};
use ringwood_sim::{Fault, OpKind, SimDisk};

fn filled(byte: u8) -> AlignedBuf {
    let mut buf = AlignedBuf::new(2048);
    buf.fill(byte);
    buf
}

fn content(disk: &SimDisk) -> Vec<u8> {
    content_of(&*disk.open(Path::new("f"), OpenMode::Open).expect("open"))
}

fn content_of(file: &dyn BlockFile) -> Vec<u8> {
    let mut buf = AlignedBuf::new(file.len().expect("len") as usize);
    file.read_at(0, &mut buf).expect("read");
    buf.chunks(512).map(|sector| sector[0]).collect()
}

fn prepared() -> (SimDisk, std::sync::Arc<dyn BlockFile>) {
    let disk = SimDisk::new(1);
    let file = disk.open(Path::new("f"), OpenMode::Create).expect("create");
    file.write_at(0, &filled(1)).expect("write");
    file.sync().expect("sync");
    (disk, file)
}

#[test]
fn synced_data_survives_and_unsynced_sectors_have_their_own_fate() {
    let (disk, file) = prepared();
    file.write_at(0, &filled(2)).expect("write");
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..300 {
        let left = content(&disk.crash(seed));
        assert_eq!(left, content(&disk.crash(seed)), "a seed repeats");
        assert!(left.iter().all(|b| [1, 2].contains(b)));
        seen.insert(left);
    }
    assert_eq!(seen.len(), 16, "every combination of four sectors happens");
    file.sync().expect("sync");
    assert!((0..50).all(|seed| content(&disk.crash(seed)) == [2; 4]));
}

#[test]
fn write_durable_covers_its_own_bytes_only() {
    let (disk, file) = prepared();
    file.write_at(0, &filled(2)[..512]).expect("write");
    file.write_durable(1024, &[&filled(3)[..1024]]).expect("durable");
    let mut first = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let left = content(&disk.crash(seed));
        assert_eq!(left[1..], [1, 3, 3]);
        first.insert(left[0]);
    }
    assert_eq!(first.len(), 2, "the earlier write may be lost or kept");
}

#[test]
fn the_crash_point_kills_everything_after_it() {
    let (disk, file) = prepared();
    assert_eq!(disk.io_count(), 3);
    disk.crash_at(5);
    file.write_durable(0, &[&filled(2)]).expect("fourth");
    assert_eq!(file.write_durable(0, &[&filled(3)]), Err(DiskError::Crashed));
    assert!(disk.has_crashed());
    assert_eq!(file.sync(), Err(DiskError::Crashed));
    assert_eq!(disk.open(Path::new("f"), OpenMode::Open).map(|_| ()), Err(DiskError::Crashed));
    let lefts: std::collections::BTreeSet<_> =
        (0..100).map(|seed| content(&disk.crash(seed))).collect();
    assert!(lefts.contains(&vec![2; 4]) && lefts.contains(&vec![3; 4]) && lefts.len() > 2);
}

#[test]
fn an_interrupted_change_of_names_or_length_happened_or_not() {
    let (disk, file) = prepared();
    disk.crash_at(4);
    assert_eq!(file.set_len(512), Err(DiskError::Crashed));
    let lens: std::collections::BTreeSet<_> =
        (0..50).map(|seed| content(&disk.crash(seed)).len()).collect();
    assert_eq!(lens.into_iter().collect::<Vec<_>>(), [1, 4]);

    let (disk, _file) = prepared();
    disk.crash_at(4);
    assert_eq!(disk.write_small_atomic(Path::new("s"), b"x"), Err(DiskError::Crashed));
    let there: std::collections::BTreeSet<_> =
        (0..50).map(|seed| disk.crash(seed).exists(Path::new("s")).expect("exists")).collect();
    assert_eq!(there.len(), 2);
}

#[test]
fn planned_faults_strike_once_and_where_they_should() {
    let (disk, file) = prepared();
    disk.fail(OpKind::Write, 2, Fault::Io);
    disk.fail_on(Path::new("g"), OpKind::Write, 1, Fault::Io);
    file.write_at(0, &filled(2)).expect("first");
    assert!(matches!(file.write_at(0, &filled(3)), Err(DiskError::Io { code: 5, .. })));
    file.write_at(0, &filled(4)).expect("third");
    disk.fail(OpKind::Write, 1, Fault::NoSpace);
    assert!(file.write_at(0, &filled(5)).is_err_and(|error| error.is_no_space()));
    disk.fail(OpKind::Write, 1, Fault::ShortWrite);
    assert!(file.write_at(0, &filled(6)).is_err());
    assert!(content_of(&*file).contains(&4), "part of the sectors stay old");
    disk.fail(OpKind::Read, 1, Fault::Io);
    assert!(file.read_at(0, &mut filled(0)).is_err());
    disk.set_capacity(4096);
    assert!(file.write_at(2048, &filled(7)).is_ok());
    assert!(file.write_at(4096, &filled(7)).is_err_and(|error| error.is_no_space()));
}

#[test]
fn a_failed_sync_loses_the_data_and_the_next_one_lies() {
    let (disk, file) = prepared();
    file.write_at(0, &filled(2)).expect("write");
    disk.fail(OpKind::Sync, 1, Fault::LoseUnsynced);
    assert!(file.sync().is_err());
    file.sync().expect("pretends");
    assert_eq!(content_of(&*file), [2; 4], "still visible");
    assert!((0..50).all(|seed| content(&disk.crash(seed)) == [1; 4]), "but gone");
}

/// Readers see the file with its new length, but neither that nor what was unsynced need survive a
/// power loss.
#[test]
fn a_length_whose_sync_fails_may_be_lost() {
    for len in [1024, 4096] {
        let (disk, file) = prepared();
        file.write_at(0, &filled(2)).expect("write");
        disk.fail(OpKind::SetLen, 1, Fault::LoseUnsynced);
        let failed = file.set_len(len);
        assert!(matches!(&failed, Err(DiskError::Io { op: Op::Sync, .. })), "{failed:?}");
        assert!(failed.is_err_and(|error| error.is_final()));
        assert_eq!((file.len(), content_of(&*file)[0]), (Ok(len), 2), "seen");
        let after = |seed| {
            let disk = disk.crash(seed);
            let file = disk.open(Path::new("f"), OpenMode::Open).expect("file");
            (file.len().expect("len"), content_of(&*file)[0])
        };
        let left: Vec<(u64, u8)> = (0..50).map(after).collect();
        assert!(
            left.contains(&(2048, 1))
                && left.iter().all(|(len, first)| *len >= 2048 && *first == 1)
        );
    }
}

#[test]
fn rot_flips_one_bit() {
    let (disk, file) = prepared();
    disk.rot(Path::new("f"), 512).expect("rot");
    assert_eq!(content_of(&*file), [1, 0x11, 1, 1]);
    assert_eq!(content(&disk.crash(1)), [1, 0x11, 1, 1]);
}
