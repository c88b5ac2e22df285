//! Locks of open files: the same contract on the real and on the simulated disk.

use std::path::Path;
use std::sync::Arc;

use disk::{AlignedBuf, Disk, DiskError, OpenMode, OsDisk};
use ringwood_sim::SimDisk;

/// Calls `check` with a disk and with the same files as another process (or another instance) sees
/// them.
fn on_both(check: impl Fn(&Arc<dyn Disk>, &Arc<dyn Disk>)) {
    let folder = tempfile::tempdir().expect("scratch");
    let os = |direct: bool| -> Arc<dyn Disk> {
        Arc::new(if direct { OsDisk::new(folder.path()) } else { OsDisk::buffered(folder.path()) })
    };
    check(&os(true), &os(false));
    let sim = SimDisk::new(1);
    check(
        &(Arc::new(sim.process(7)) as Arc<dyn Disk>),
        &(Arc::new(sim.process(8)) as Arc<dyn Disk>),
    );
}

fn locked<T>(result: Result<T, DiskError>) -> bool {
    // In the tests of the real disk the holder is this very process, in the others number 7.
    matches!(result, Err(DiskError::Locked { holder: Some(pid), .. }) if [7, std::process::id()].contains(&pid))
}

#[test]
fn an_open_file_is_nobody_elses() {
    on_both(|one, two| {
        let f = Path::new("f");
        let file = one.open(f, OpenMode::Create).expect("create");
        for mode in [OpenMode::Open, OpenMode::Read] {
            assert!(locked(two.open(f, mode)), "{mode:?}");
            assert!(locked(one.open(f, mode)), "{mode:?} by the same process");
        }
        assert!(locked(two.remove(f)) && one.exists(f) == Ok(true));
        drop(file);
        let other = two.open(f, OpenMode::Open).expect("free again");
        assert!(matches!(one.open(f, OpenMode::Open), Err(DiskError::Locked { .. })));
        two.remove(f).expect("who has it open may remove it");
        drop(other);
    });
}

#[test]
fn readers_share_a_file_and_change_nothing() {
    on_both(|one, two| {
        let f = Path::new("f");
        let buf = AlignedBuf::new(4096);
        one.open(f, OpenMode::Create).expect("create").write_at(0, &buf).expect("write");
        let first = one.open(f, OpenMode::Read).expect("read");
        let second = two.open(f, OpenMode::Read).expect("read too");
        assert!(matches!(two.open(f, OpenMode::Open), Err(DiskError::Locked { .. })));
        second.read_at(0, &mut AlignedBuf::new(4096)).expect("content");
        assert!(matches!(first.write_at(0, &buf), Err(DiskError::Released { .. })));
        assert!(matches!(first.set_len(0), Err(DiskError::Released { .. })));
        first.release();
        drop(second);
        two.open(f, OpenMode::Open).expect("free").write_at(0, &buf).expect("write");
    });
}

#[test]
fn a_released_file_is_free_and_written_no_more() {
    on_both(|one, two| {
        let f = Path::new("f");
        let buf = AlignedBuf::new(4096);
        let file = one.open(f, OpenMode::Create).expect("create");
        file.write_durable(0, &[&buf]).expect("write");
        file.release();
        file.release();
        let other = two.open(f, OpenMode::Open).expect("free");
        for result in [file.write_at(0, &buf), file.write_durable(0, &[&buf]), file.set_len(0)] {
            assert!(matches!(result, Err(DiskError::Released { .. })), "{result:?}");
        }
        file.read_at(0, &mut AlignedBuf::new(4096)).expect("it may still be read");
        drop(file);
        assert!(
            matches!(one.open(f, OpenMode::Open), Err(DiskError::Locked { .. })),
            "it is the other's"
        );
        drop(other);
    });
}

#[test]
fn folder_locks_are_shared_or_not() {
    on_both(|one, two| {
        let name = Path::new("instance.lock");
        let lock = one.lock_exclusive(name).expect("lock");
        assert!(locked(two.lock_exclusive(name)) && locked(two.lock_shared(name)));
        drop(lock);
        let _reader = two.lock_shared(name).expect("shared");
        one.lock_shared(name).expect("shared too");
        assert!(matches!(one.lock_exclusive(name), Err(DiskError::Locked { .. })));
    });
}

#[test]
fn a_power_loss_ends_locks() {
    let disk = SimDisk::new(1);
    let _file = disk.open(Path::new("f"), OpenMode::Create).expect("create");
    let other = |disk: &SimDisk| disk.process(2).open(Path::new("f"), OpenMode::Open).map(drop);
    assert!(matches!(other(&disk), Err(DiskError::Locked { .. })));
    assert_eq!(other(&disk.crash(3)), Ok(()), "nobody has it");
}

#[test]
fn copies_are_told_from_what_was_renamed() {
    let scratch = tempfile::tempdir().expect("scratch");
    let disk = OsDisk::new(scratch.path());
    for folder in ["a", "b"] {
        disk.create_dir_all(Path::new(folder)).expect("folder");
        disk.open(&Path::new(folder).join("x"), OpenMode::Create).expect("file");
    }
    let before = disk.identity(Path::new("a")).expect("identity");
    assert_ne!(before, disk.identity(Path::new("b")).expect("identity"));
    std::fs::rename(scratch.path().join("a"), scratch.path().join("c")).expect("rename");
    assert_eq!(before, disk.identity(Path::new("c")).expect("identity"));
    // What a link leads to, or what has a second name, is not in the folder only.
    let within = |path: &str| disk.is_within(Path::new(path), Path::new("c")).expect("within");
    std::os::unix::fs::symlink("../b", scratch.path().join("c/link")).expect("link");
    assert!(within("c/x") && !within("b/x") && !within("c/link/x"));
    std::fs::hard_link(scratch.path().join("c/x"), scratch.path().join("c/y")).expect("link");
    assert!(!within("c/x"));

    let sim = SimDisk::new(1);
    sim.create_dir_all(Path::new("/a")).expect("folder");
    sim.open(Path::new("/a/x"), OpenMode::Create).expect("file");
    let before = sim.identity(Path::new("/a")).expect("identity");
    sim.rename_dir(Path::new("/a"), Path::new("/b"));
    sim.copy_dir(Path::new("/b"), Path::new("/c"));
    assert_eq!(sim.identity(Path::new("/b")), Ok(before));
    assert_ne!(sim.identity(Path::new("/c")), Ok(before));
    assert_eq!(
        (sim.exists(Path::new("/a/x")), sim.exists(Path::new("/c/x"))),
        (Ok(false), Ok(true))
    );
}
