//! Small files in two copies over power loss, torn writes and decay.

use std::path::Path;

use disk::mirrored::{self, FoundCopies, second_copy};
use disk::{Disk, DiskError};
use ringwood_sim::{Fault, OpKind, SimDisk};

const FILE: &str = "/data/list";

fn content(disk: &SimDisk) -> Option<Vec<u8>> {
    match mirrored::read(disk, Path::new(FILE), &|_| false).expect("the disk") {
        FoundCopies::Nothing => None,
        FoundCopies::Whole(content) => Some(content.bytes),
        FoundCopies::Damaged(damaged) => panic!("no copy is whole: {damaged}"),
    }
}

/// The contents that are written one after the other: they grow and shrink.
fn version(n: usize) -> Vec<u8> {
    format!("version {n}\n{}end", "line\n".repeat(n * 7 % 40)).into_bytes()
}

fn write(disk: &SimDisk, n: usize) -> Result<(), DiskError> {
    mirrored::write(disk, Path::new(FILE), &version(n)).map(|_| ())
}

/// Each write is interrupted at each of its operations, with torn files, again and again on the
/// same disk: there is always the content of before or the one that was being written, and once a
/// write has returned its content.
#[test]
fn power_loss_leaves_the_old_or_the_new_content() {
    for seed in 0..400 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut disk = SimDisk::new(seed);
        let mut durable = None;
        for n in 0..12 {
            disk.tear_small_writes();
            disk.crash_at(disk.io_count() + rng.u64(1..4));
            let written = write(&disk, n);
            let mut now = disk.crash(rng.u64(..));
            // The very first copy of all has no other one beside it.
            let torn = || {
                matches!(
                    mirrored::read(&now, Path::new(FILE), &|_| false),
                    Ok(FoundCopies::Damaged(_))
                )
            };
            let found = if durable.is_none() && torn() { None } else { content(&now) };
            let new = Some(version(n));
            match written {
                Ok(()) => assert_eq!(found, new, "seed {seed}: it had returned"),
                Err(_) => {
                    assert!(found == durable || found == new, "seed {seed}: neither old nor new")
                }
            }
            durable = found;
            std::mem::swap(&mut disk, &mut now);
        }
    }
}

/// After a write any byte of either copy may decay, or a copy may be lost, and the content is the
/// one that was written last.
#[test]
fn one_copy_is_enough() {
    let disk = SimDisk::new(1);
    for n in 0..3 {
        write(&disk, n).expect("a write");
    }
    for path in [Path::new(FILE).to_path_buf(), second_copy(Path::new(FILE))] {
        let len = disk.file_len(&path).expect("a copy");
        for at in 0..len {
            let decayed = disk.crash(at);
            decayed.rot(&path, at).expect("a copy");
            assert_eq!(content(&decayed), Some(version(2)), "byte {at} of {}", path.display());
            write(&decayed, 3).expect("a write");
            let written = [FILE.into(), second_copy(Path::new(FILE))];
            written
                .iter()
                .for_each(|copy| assert_eq!(decayed.file_len(copy), disk_len(3), "{copy:?}"));
        }
        let lost = disk.crash(1);
        lost.remove(&path).expect("a copy");
        assert_eq!(content(&lost), Some(version(2)));
    }
}

fn disk_len(n: usize) -> Option<u64> {
    let disk = SimDisk::new(1);
    write(&disk, n).expect("a write");
    // The number of the generation has one digit in both.
    disk.file_len(Path::new(FILE))
}

#[test]
fn a_copy_that_cannot_be_written_or_read_does_no_harm() {
    let disk = SimDisk::new(1);
    write(&disk, 0).expect("a write");
    disk.fail(OpKind::Name, 1, Fault::NoSpace);
    assert!(matches!(write(&disk, 1), Err(DiskError::NoSpace { .. })));
    assert_eq!(content(&disk), Some(version(0)), "nothing has changed");
    disk.fail(OpKind::Name, 2, Fault::NoSpace);
    let half = mirrored::write(&disk, Path::new(FILE), &version(2)).expect("the first copy");
    assert!(matches!(half, Some(DiskError::NoSpace { .. })));
    assert_eq!(content(&disk), Some(version(2)));
    disk.fail(OpKind::Read, 1, Fault::Io);
    assert_eq!(content(&disk), Some(version(0)), "the copy that can be read");
    write(&disk, 3).expect("a write");
    disk.fail(OpKind::Read, 1, Fault::Io);
    assert_eq!(content(&disk), Some(version(3)));
}

#[test]
fn a_single_file_of_before_is_read_and_becomes_two() {
    let disk = SimDisk::new(1);
    disk.write_small_atomic(Path::new(FILE), b"of before").expect("a file");
    let read =
        |disk: &SimDisk| mirrored::read(disk, Path::new(FILE), &|bytes| bytes == b"of before");
    let FoundCopies::Whole(content) = read(&disk).expect("the disk") else { panic!("it is whole") };
    assert_eq!((content.bytes.as_slice(), content.generation), (&b"of before"[..], 0));
    assert_eq!(content.stale.len(), 1, "there is no second copy yet");
    write(&disk, 1).expect("a write");
    disk.rot(Path::new(FILE), 3).expect("a copy");
    let FoundCopies::Whole(content) = read(&disk).expect("the disk") else {
        panic!("its copy is whole")
    };
    assert_eq!((content.bytes, content.generation), (version(1), 1));
    assert!(matches!(
        mirrored::read(&SimDisk::new(2), Path::new(FILE), &|_| true),
        Ok(FoundCopies::Nothing)
    ));
}
