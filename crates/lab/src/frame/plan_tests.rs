//! Studies that the machine, a device or a target is too small for, and what an interrupted run has
//! left.

use super::*;
use crate::frame::options::for_tests as options;
use std::collections::BTreeMap;

#[test]
fn the_author_s_sizes_are_refused_on_a_small_machine() {
    let options = options(Path::new("/nowhere"));
    let study = chosen(&options).unwrap().remove(0);
    assert!(study.needs.disk >= 168 << 30, "160 GB of files and a log of 8 GB");
    let disk = fits(&study, &options, 100_000_000_000, None).unwrap_err().to_string();
    assert!(disk.contains("GB of disk; 100.0 GB are free") && disk.contains("--out"), "{disk}");
    let memory = fits(&study, &options, u64::MAX / 4, Some(1 << 30)).unwrap_err().to_string();
    assert!(memory.contains("GB of memory; 1.1 GB are free"), "{memory}");
    assert!(fits(&study, &options, u64::MAX / 4, Some(64 << 30)).is_ok());
}

#[test]
fn what_an_interrupted_run_has_left_is_not_missing() {
    let out = tempfile::tempdir().unwrap();
    let options = options(out.path());
    let chosen = chosen(&options).unwrap();
    let planned = plan_all(&chosen, &options).unwrap();
    let left =
        || planned.iter().map(|p| left_in(&scratch_folder(out.path(), &chosen[0], p))).sum::<u64>();
    let write = |folder: &str| {
        let folder = out.path().join(folder).join("16-on-1/data");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("lab.mdf"), vec![1; 1 << 20]).unwrap();
    };
    // Of another target, device or study: this run leaves them alone.
    for other in
        ["data-files-postgres-real", "data-files-ringwood-ssd-512e", "vlf-count-ringwood-real"]
    {
        write(&format!("scratch-{other}"));
    }
    assert_eq!(left(), 0);
    write("scratch-data-files-ringwood-real");
    let kept = left();
    assert!(((1 << 20)..(2 << 20)).contains(&kept), "{kept}");
    write("scratch-data-files-ringwood-2x-iscsi-raid10-4x15000.going");
    assert_eq!(left(), 2 * kept);
}

#[test]
fn blocks_smaller_than_the_sector_have_no_meaning() {
    let options =
        Options { studies: vec!["log-block-size".into()], ..options(Path::new("/nowhere")) };
    let study = chosen(&options).unwrap().remove(0);
    let target = targets::find("ringwood", None).unwrap();
    for (device, arms_there, out) in [("ssd-512e", 4, 0), ("ssd-4kn", 3, 1)] {
        let device = Device::named(device, &BTreeMap::new()).unwrap();
        let (arms, left_out) = choose_arms(&study, target.as_ref(), &device);
        assert_eq!((arms.len(), left_out.len()), (arms_there, out), "{left_out:?}");
    }
}

#[test]
fn two_arrays_need_two_devices() {
    let options = options(Path::new("/nowhere"));
    let study = chosen(&options).unwrap().remove(0);
    let target = targets::find("ringwood", None).unwrap();
    let real = Device::named(REAL, &BTreeMap::new()).unwrap();
    let (arms, left_out) = choose_arms(&study, target.as_ref(), &real);
    // Of those that run anywhere five have one array; thirteen are for the disk that is there
    // alone, and two for each number of processors that this machine has.
    let processors = |fits: fn(u32, u32) -> bool| {
        let needed = study.arms.iter().filter_map(|arm| arm.config.processors);
        needed.filter(|count| fits(*count, processors::available())).count()
    };
    let (there, missing) =
        (processors(|count, has| count <= has), processors(|count, has| count > has));
    assert!(there >= 2 && there + missing == 8);
    assert_eq!((arms.len(), left_out.len()), (5 + 13 + there, 1 + missing));
    let two = Device::named("2x-hdd-raid10-4x15000", &BTreeMap::new()).unwrap();
    let (arms, left_out) = choose_arms(&study, target.as_ref(), &two);
    assert_eq!((arms.len(), left_out.len()), (10, 0));
    // A device that arms have to themselves runs no others.
    let published = Device::named("iscsi-8x15000", &BTreeMap::new()).unwrap();
    let (arms, left_out) = choose_arms(&study, target.as_ref(), &published);
    assert_eq!((arms.len(), left_out.len()), (10, 0));
    assert!(arms.iter().all(|i| study.arms[*i].factor.starts_with("Test ")));
    #[cfg(feature = "peers")]
    {
        let sqlite = targets::find("sqlite", None).unwrap();
        assert!(choose_arms(&study, sqlite.as_ref(), &real).0.is_empty());
    }
}
