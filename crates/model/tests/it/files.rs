//! Files on a modelled device: the bytes are real, sectors and arrays are the model's, time passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use disk::{AlignedBuf, Disk, DiskError, OpenMode, OsDisk, Sectors};
use ringwood_model::{Device, FolderPlacement, ModelDisk, Routes, builtin, open};

fn fast(name: &str) -> Device {
    builtin(name).expect(name).with_time_scale(1_000.0)
}

fn host(folder: &tempfile::TempDir) -> Arc<dyn Disk> {
    Arc::new(OsDisk::new(folder.path()))
}

#[test]
fn bytes_are_real_and_partial_writes_are_counted() {
    let folder = tempfile::tempdir().expect("folder");
    let disk = open(fast("ssd-512e"), host(&folder)).expect("device");
    let file = disk.open(Path::new("a.ldf"), OpenMode::Create).expect("file");
    assert_eq!(file.sectors(), Sectors { logical: 512, physical: 4096 });
    assert!(file.is_direct());
    file.write_zeros(0, 3 << 20).expect("zeros");
    let before = file.stats().snapshot();
    let page = AlignedBuf::from_slice(&[7; 4096]);
    file.write_durable(4096, &[&page[..]]).expect("whole sector");
    file.write_durable(8192, &[&page[..512], &page[512..1024]]).expect("part of a sector");
    file.write_gather(16_384 - 512, &[&page[..]]).expect("two parts");
    file.sync().expect("sync");
    let counted = file.stats().snapshot().since(&before);
    assert_eq!(
        (counted.writes, counted.durable_writes, counted.rmw_writes, counted.syncs),
        (3, 2, 2, 1)
    );
    assert_eq!(disk.counters()[0].rmw_writes, 2);
    assert!(matches!(
        file.write_at(100, &page[..512]),
        Err(DiskError::Misaligned { sector: 512, .. })
    ));
    // Closed first: an open file is locked against other handles.
    drop(file);
    let mut got = AlignedBuf::new(12_288);
    OsDisk::new(folder.path())
        .open(Path::new("a.ldf"), OpenMode::Open)
        .and_then(|real| real.read_at(4096, &mut got))
        .expect("the real file");
    assert!(got[..5120].iter().all(|&b| b == 7) && got[5120..11_776].iter().all(|&b| b == 0));
}

#[test]
fn sectors_are_what_the_device_says() {
    let folder = tempfile::tempdir().expect("folder");
    let open_on = |name: &str| {
        let disk = open(fast(name), host(&folder)).expect("device");
        disk.open(Path::new(&format!("{name}.mdf")), OpenMode::Create).expect("file")
    };
    let native = open_on("ssd-4kn");
    assert_eq!(native.sectors(), Sectors { logical: 4096, physical: 4096 });
    let page = AlignedBuf::new(4096);
    assert!(matches!(
        native.write_at(0, &page[..512]),
        Err(DiskError::Misaligned { sector: 4096, .. })
    ));
    let hidden = open_on("ssd-4k-hidden");
    assert_eq!(hidden.sectors(), Sectors { logical: 512, physical: 512 });
    hidden.write_durable(512, &[&page[..512]]).expect("write");
    assert_eq!(hidden.stats().snapshot().rmw_writes, 1, "what the volume hides costs all the same");
}

#[test]
fn files_of_a_kind_go_to_the_arrays_in_turn_and_stay_there() {
    let folder = tempfile::tempdir().expect("folder");
    let names = ["s.mdf", "s_log.ldf", "s_1.ndf", "s_2.ndf", "s_3.ndf"].map(PathBuf::from);
    let disk = open(fast("2x-hdd-raid10-4x15000"), host(&folder)).expect("device");
    for name in &names {
        disk.open(name, OpenMode::Create).expect("file");
    }
    let arrays = |disk: &ModelDisk| names.each_ref().map(|name| disk.array_of(name));
    assert_eq!(arrays(&disk), [0, 0, 1, 0, 1].map(Some));
    drop(disk);
    let disk = open(fast("2x-hdd-raid10-4x15000"), host(&folder)).expect("device again");
    for name in names.iter().rev() {
        disk.open(name, OpenMode::Open).expect("file");
    }
    assert_eq!(arrays(&disk), [0, 0, 1, 0, 1].map(Some));
    disk.rename(&names[2], Path::new("moved.ndf")).expect("rename");
    assert_eq!(disk.array_of(Path::new("moved.ndf")), Some(1));
    disk.remove(&names[3]).expect("remove");
    assert_eq!(disk.array_of(&names[3]), None);
}

#[test]
fn a_request_takes_the_time_of_the_device() {
    let folder = tempfile::tempdir().expect("folder");
    // Ten times as fast as real: 0.83 ms a revolution.
    let device = builtin("hdd-7200").expect("built in").with_time_scale(10.0);
    let disk = ModelDisk::for_measuring(device, folder.path()).expect("device");
    let file = disk.open(Path::new("x.ldf"), OpenMode::Create).expect("file");
    let page = AlignedBuf::new(4096);
    file.write_durable(0, &[&page[..]]).expect("write");
    let start = Instant::now();
    for _ in 0..30 {
        file.write_durable(0, &[&page[..]]).expect("write");
    }
    // Never faster. How much slower depends on the machine.
    assert!(start.elapsed() >= Duration::from_micros(30 * 833 - 900), "{:?}", start.elapsed());
    assert_eq!(file.stats().snapshot().durable_writes, 31);
}

#[test]
fn parallel_requests_wait_side_by_side() {
    let folder = tempfile::tempdir().expect("folder");
    let device = builtin("ssd-512e").expect("built in").with_time_scale(0.05);
    let disk = ModelDisk::for_measuring(device, folder.path()).expect("device");
    let file = disk.open(Path::new("x.mdf"), OpenMode::Create).expect("file");
    file.set_len(1 << 20).expect("length");
    let read_all = |threads: u64| {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let file = &file;
                scope.spawn(move || {
                    let mut page = AlignedBuf::new(4096);
                    for round in 0..10 {
                        file.read_at((thread * 10 + round) * 4096, &mut page).expect("read");
                    }
                });
            }
        });
        start.elapsed()
    };
    // A read takes 2 ms; eight channels work in parallel. A busy machine may wake the threads late,
    // but not each time; one after another they would never take less than eight times as long.
    let beside = (0..20).any(|_| {
        let (one, eight) = (read_all(1), read_all(8));
        assert!(one >= Duration::from_millis(19), "{one:?}");
        eight < one * 3
    });
    assert!(beside, "eight threads take as long as one after another");
}

#[test]
fn a_model_cannot_have_smaller_sectors_than_the_disk_below() {
    let folder = tempfile::tempdir().expect("folder");
    let coarse: Arc<dyn Disk> = open(fast("ssd-4kn"), host(&folder)).expect("device");
    let fine = open(fast("hdd-7200"), coarse).expect("device");
    let error = fine.open(Path::new("x.mdf"), OpenMode::Create).expect_err("refused").to_string();
    assert!(error.contains("sectors of 4096 bytes are larger"), "{error}");
}

#[test]
fn folders_go_to_other_mounts_and_devices() {
    let (root, mount) = (tempfile::tempdir().expect("root"), tempfile::tempdir().expect("mount"));
    let base = host(&root);
    let mut routes = Routes::new(root.path(), base.clone());
    let to_mount = FolderPlacement::parse(&mount.path().display().to_string()).expect("folder");
    routes.place(Path::new("E"), to_mount, base.clone()).expect("mount");
    routes
        .place(Path::new("E/fast"), FolderPlacement::parse("ssd-4kn").expect("device"), base)
        .expect("device");
    routes.create_dir_all(Path::new("E/fast")).expect("folder");
    let sectors =
        |path: &str| routes.open(Path::new(path), OpenMode::Create).expect(path).sectors();
    sectors("plain.mdf");
    sectors("E/on_mount.mdf");
    assert_eq!(sectors("E/fast/modelled.mdf").logical, 4096);
    assert!(root.path().join("plain.mdf").exists() && mount.path().join("on_mount.mdf").exists());
    assert!(root.path().join("E/fast/modelled.mdf").exists());
    assert_eq!(routes.list(Path::new("E")).expect("list"), [PathBuf::from("E/on_mount.mdf")]);
    let absolute = root.path().join("E/on_mount.mdf");
    assert_eq!(routes.exists(&absolute), Ok(true), "absolute paths below the root are routed too");
    routes.rename(Path::new("E/on_mount.mdf"), Path::new("E/renamed.mdf")).expect("same mount");
    assert!(routes.rename(Path::new("E/renamed.mdf"), Path::new("E/fast/x.mdf")).is_err());
    routes.remove(&root.path().join("E/renamed.mdf")).expect("remove");
    assert!(!mount.path().join("renamed.mdf").exists());
    assert!(FolderPlacement::parse("/no/such/folder").is_err());
}

/// Megabytes a second of eight writers, two per file, on files that are placed on the device's
/// arrays round-robin.
fn parallel_load(name: &str) -> f64 {
    let folder = tempfile::tempdir().expect("folder");
    // A slow clock, so that the time is the model's and not the machine's; a cache too small to
    // hide the disks.
    let mut device = builtin(name).expect(name).with_time_scale(0.25);
    device.cache.bytes = 4 << 20;
    let disk = ModelDisk::for_measuring(device, folder.path()).expect("device");
    let files: Vec<_> = (0..4)
        .map(|i| disk.open(Path::new(&format!("{i}.ndf")), OpenMode::Create).expect("file"))
        .collect();
    let (piece, rounds) = (256 << 10, 24);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..8u64 {
            let file = &files[writer as usize % 4];
            scope.spawn(move || {
                let data = AlignedBuf::new(piece);
                for round in 0..rounds {
                    let at = (writer / 4 * rounds + round) * piece as u64;
                    file.write_at(at, &data).expect("write");
                }
            });
        }
    });
    (8 * rounds * piece as u64) as f64 / 1e6 / start.elapsed().as_secs_f64()
}

#[test]
fn two_arrays_carry_twice_what_one_does() {
    // A little more than twice: each array also has half the streams to seek between. The machine's
    // own load can only make it look worse: the best of some tries counts.
    let ratios: Vec<f64> = (0..4)
        .map(|_| parallel_load("2x-hdd-raid10-4x15000") / parallel_load("hdd-raid10-4x15000"))
        .scan(false, |done, ratio| {
            let go_on = !*done;
            *done = (1.8..3.0).contains(&ratio);
            go_on.then_some(ratio)
        })
        .collect();
    assert!(
        ratios.last().is_some_and(|ratio| (1.8..3.0).contains(ratio)),
        "never about twice as much: {ratios:?}"
    );
}
