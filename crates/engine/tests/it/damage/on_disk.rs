//! The same in a folder of the machine, with every file that an instance has besides those of
//! users' databases: whichever files there are. The instance starts, or starts after `ringwood
//! repair`, and has everything.
//!
//! `RINGWOOD_FLIPS` gives another number of bits of each file. What became of them is printed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use disk::OsDisk;
use engine::repair::repair;
use engine::{Instance, InstanceOptions};

use super::contents::{MAKE, contents, flips};
use crate::support::scratch;
use crate::support::text::run;

/// Beginnings of the names of users' databases and of their folders.
const OF_USERS: [&str; 4] = ["E/", "F/", "Rest", "Gone"];

fn options(folder: &Path) -> InstanceOptions {
    InstanceOptions {
        memory_bytes: Some(8 << 20),
        // What is lost with the power is tested on the simulated disk: here nothing waits for one.
        disk: Arc::new(OsDisk::scratch(folder)),
        chore_period: Duration::from_secs(24 * 3600),
        ..InstanceOptions::new(folder)
    }
}

fn open(folder: &Path) -> Arc<Instance> {
    Instance::open(options(folder)).expect("the instance opens")
}

/// All files below a folder, by their paths from there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path.strip_prefix(folder).expect("below").to_path_buf()),
            }
        }
    }
    files.sort();
    files
}

/// Makes a folder what another one is. The folder itself stays: an instance knows its own from a
/// copy.
fn make_same(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(to).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => std::fs::remove_dir_all(path).expect("it goes"),
            false => std::fs::remove_file(path).expect("it goes"),
        }
    }
    for file in files(from) {
        let target = to.join(&file);
        std::fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        std::fs::copy(from.join(&file), target).expect("a copy");
    }
}

/// Bits of a file: half of them spread over it, half over what is written in it.
fn bits(content: &[u8], count: usize, rng: &mut fastrand::Rng) -> Vec<usize> {
    let written: Vec<usize> = (0..content.len()).filter(|at| content[*at] != 0).collect();
    let mut spread = |len: usize, n: usize, of: usize| {
        let (from, to) = (n * len / of, ((n + 1) * len / of).max(n * len / of + 1));
        rng.usize(from..to.min(len).max(from + 1))
    };
    let half = count.div_ceil(2);
    let anywhere: Vec<usize> = (0..half).map(|n| spread(content.len(), n, half)).collect();
    let content = (0..count - half).filter(|_| !written.is_empty());
    let content: Vec<usize> =
        content.map(|n| written[spread(written.len(), n, count - half)]).collect();
    anywhere.into_iter().chain(content).map(|byte| byte * 8 + rng.usize(0..8)).collect()
}

/// An instance in a state, and what it has then.
struct Saved {
    name: &'static str,
    folder: PathBuf,
    expected: String,
}

/// An instance that was closed, and one whose process ended in the middle.
fn saved(case: &Path, folder: &Path) -> [Saved; 2] {
    let state = |name: &'static str| {
        let saved = folder.join(name);
        std::fs::create_dir(&saved).expect("a folder");
        make_same(case, &saved);
        saved
    };
    let expected = |saved: &Path| {
        make_same(saved, case);
        contents(&open(case))
    };
    let instance = open(case);
    MAKE.iter().for_each(|sql| run(&instance, sql));
    instance.close().expect("it closes");
    drop(instance);
    let closed = state("closed");
    let instance = open(case);
    run(
        &instance,
        "CREATE LOGIN cid WITH PASSWORD = 'Qp5!vvzk40'; INSERT Sales.dbo.t VALUES (5000, 'x')",
    );
    run(&instance, "EXEC('USE msdb; CREATE TABLE jobs (n int); INSERT jobs VALUES (7)')");
    // What a process that is killed leaves is what the files have now. The logs have had the time
    // to record how far they are durable: a bit of their last flush is found only then.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let killed = state("killed");
    drop(instance);
    [("closed", closed), ("killed", killed)].map(|(name, folder)| {
        let expected = expected(&folder);
        Saved { name, folder, expected }
    })
}

#[test]
fn a_changed_bit_of_any_file_of_the_instance_loses_nothing() {
    let scratch = scratch::folder();
    let case = scratch.path().join("case");
    std::fs::create_dir(&case).expect("a folder");
    let mut rng = fastrand::Rng::with_seed(11);
    for Saved { name: state, folder, expected } in saved(&case, scratch.path()) {
        assert!(expected.contains("Sales") && !expected.contains("Msg "), "{state}: {expected}");
        for file in files(&folder) {
            let content = std::fs::read(folder.join(&file)).expect("a file");
            let shown = file.display().to_string();
            if OF_USERS.iter().any(|of| shown.starts_with(of)) || content.is_empty() {
                continue;
            }
            let (mut started, mut repaired) = (0, 0);
            for bit in bits(&content, flips(2), &mut rng) {
                make_same(&folder, &case);
                let mut changed = content.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                std::fs::write(case.join(&file), &changed).expect("a file");
                let what = format!("{state}: bit {bit} of {shown}");
                match Instance::open(options(&case)) {
                    Ok(instance) => {
                        started += 1;
                        assert_eq!(contents(&instance), expected, "{what}");
                    }
                    Err(e) => {
                        repaired += 1;
                        let done = repair(&options(&case), &mut |_| ());
                        let done = done.unwrap_or_else(|again| panic!("{what}: {e}; {again}"));
                        assert!(!done.loses(), "{what}: {done:?}");
                        assert_eq!(contents(&open(&case)), expected, "{what}, repaired");
                    }
                }
            }
            println!(
                "{state}: {shown} ({} bytes): started {started}, repaired {repaired}",
                content.len()
            );
        }
    }
}
