//! Damage to the files that an instance keeps: whichever one bit of whichever file changes, nothing
//! is lost.

mod contents;
mod on_disk;

use crate::support::text::{self, run, say};
use contents::{MAKE, contents, spread};
use disk::Disk;
use disk::mirrored::second_copy;
use engine::Instance;
use engine::repair::{Repair, RepairAct, examine, repair};
use sim::SimDisk;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bits of each file that are changed, spread over the file.
fn flips() -> usize {
    contents::flips(12)
}

fn open(disk: &SimDisk) -> Arc<Instance> {
    Instance::open(text::options(disk, 8 << 20)).expect("the instance opens")
}

/// A closed instance with something of everything.
fn made() -> SimDisk {
    let disk = SimDisk::new(7);
    let instance = open(&disk);
    MAKE.iter().for_each(|sql| run(&instance, sql));
    instance.close().expect("it closes");
    disk
}

/// Changes one bit of a file.
fn flip(disk: &SimDisk, path: &Path, bit: usize) {
    let mut bytes = disk.read_small(path).expect("a small file");
    bytes[bit / 8] ^= 1 << (bit % 8);
    disk.write_small_atomic(path, &bytes).expect("a write");
}

const SMALL: [&str; 4] =
    ["databases.registry", "instance.id", "credentials.registry", "backup-devices.registry"];

fn path(name: &str) -> PathBuf {
    Path::new("/data").join(name)
}

fn error_log(instance: &Arc<Instance>) -> String {
    instance.error_log().lines().join("\n")
}

#[test]
fn a_changed_bit_of_a_small_file_changes_nothing() {
    let disk = made();
    let expected = contents(&open(&disk.crash(1)));
    for name in SMALL {
        for file in [path(name), second_copy(&path(name))] {
            let len = disk.file_len(&file).expect("a copy") as usize;
            for bit in spread(len, flips()) {
                let bad = disk.crash(1);
                flip(&bad, &file, bit);
                let instance = open(&bad);
                let what = format!("bit {bit} of {}", file.display());
                assert_eq!(contents(&instance), expected, "{what}");
                let said = error_log(&instance);
                assert!(said.contains(&file.display().to_string()), "{what} is not told: {said}");
                drop(instance);
                // It was rewritten: the other copy may go now.
                let other = if file == path(name) { second_copy(&file) } else { path(name) };
                bad.remove(&other).expect("the other copy");
                assert_eq!(contents(&open(&bad)), expected, "{what}, then the other copy is lost");
            }
        }
    }
}

#[test]
fn one_lost_small_file_loses_nothing() {
    let disk = made();
    let expected = contents(&open(&disk.crash(1)));
    for file in SMALL.iter().flat_map(|name| [path(name), second_copy(&path(name))]) {
        let lost = disk.crash(1);
        lost.remove(&file).expect("a copy");
        assert_eq!(contents(&open(&lost)), expected, "{}", file.display());
        assert!(lost.exists(&file).expect("the disk"), "{} was rewritten", file.display());
    }
}

/// Both copies of the list are gone, one is garbage, or one ends early: it is made from the
/// databases' own files, and a database that was detached is none of them.
#[test]
fn a_lost_list_is_made_again_from_the_databases() {
    let disk = made();
    let expected = contents(&open(&disk.crash(1)));
    let copies = [path("databases.registry"), second_copy(&path("databases.registry"))];
    for way in 0..3 {
        let lost = disk.crash(1);
        for copy in &copies {
            match way {
                0 => lost.remove(copy).expect("a copy"),
                1 => lost.write_small_atomic(copy, &[0xa5; 700]).expect("a write"),
                _ => {
                    let bytes = lost.read_small(copy).expect("a copy");
                    lost.write_small_atomic(copy, &bytes[..bytes.len() / 2]).expect("a write");
                }
            }
        }
        let instance = open(&lost);
        assert_eq!(contents(&instance), expected, "way {way}");
        let said = error_log(&instance);
        assert!(said.contains("made again from the databases' files: 'master'"), "{said}");
        instance.close().expect("it closes");
        drop(instance);
        let instance = open(&lost);
        assert_eq!(contents(&instance), expected, "way {way}, at the next start");
        assert!(!error_log(&instance).contains("made again"));
    }
}

/// The names that the databases know are those of their last checkpoint.
#[test]
fn a_lost_list_has_the_names_of_now() {
    let disk = made();
    let instance = open(&disk);
    run(&instance, "ALTER DATABASE Sales MODIFY NAME = Sold; CREATE DATABASE later");
    run(&instance, "EXEC('USE later; CHECKPOINT; USE Sold; CHECKPOINT')");
    std::mem::forget(instance);
    let left = disk.crash(3);
    for copy in [path("databases.registry"), second_copy(&path("databases.registry"))] {
        left.remove(&copy).expect("a copy");
    }
    let names = "SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY name";
    assert_eq!(say(&open(&left), names), "later\nRest\nSold");
}

#[test]
fn an_identity_that_is_lost_is_the_one_that_the_files_name() {
    let disk = made();
    let before = open(&disk.crash(1)).id();
    let damaged = disk.crash(1);
    flip(&damaged, &path("instance.id"), 300);
    flip(&damaged, &second_copy(&path("instance.id")), 301);
    let instance = open(&damaged);
    assert_eq!(instance.id(), before);
    assert!(error_log(&instance).contains("the identity is"), "{}", error_log(&instance));
}

#[test]
fn damaged_lists_of_objects_are_put_aside() {
    let disk = made();
    for copy in [path("credentials.registry"), second_copy(&path("credentials.registry"))] {
        flip(&disk, &copy, 200);
    }
    let instance = open(&disk);
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM sys.credentials"), "0");
    assert!(error_log(&instance).contains("All credentials are lost"), "{}", error_log(&instance));
    assert!(disk.exists(&path("credentials.registry.damaged")).expect("the disk"));
    run(&instance, "CREATE CREDENTIAL c WITH IDENTITY = 'again'");
    drop(instance);
    let instance = open(&disk);
    assert_eq!(say(&instance, "SELECT credential_identity FROM sys.credentials"), "again");
}

/// The list is written while the power fails, at each operation, with torn files.
#[test]
fn power_loss_while_the_list_is_written() {
    let disk = made();
    let sql = "CREATE DATABASE one; ALTER DATABASE Sales MODIFY NAME = Sold; DROP DATABASE one";
    disk.tear_small_writes();
    text::power_loss(&disk, open, sql, 60, |instance, disk, at| {
        let said = say(
            instance,
            "SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY database_id",
        );
        let sales = if said.contains("Sold") { "Sold" } else { "Sales" };
        assert!(said.starts_with(&format!("{sales}\nRest")), "at {at}: {said}");
        assert_eq!(
            say(instance, &format!("SELECT COUNT(*) FROM {sales}.dbo.t")),
            "2000",
            "at {at}"
        );
        let second = second_copy(&path("databases.registry"));
        let both = [disk.read_small(&path("databases.registry")), disk.read_small(&second)];
        assert_eq!(both[0], both[1], "at {at}: the start has made both copies the same");
    });
}

/// Places of a data file whose bit is changed: one in each page that was ever written, most of them
/// where there is content.
fn places(disk: &SimDisk, file: &Path, rng: &mut fastrand::Rng) -> Vec<u64> {
    let bytes = disk.read_small(file).expect("a small file");
    let pages =
        bytes.chunks(8192).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0));
    let mut place = |(number, page): (usize, &[u8])| {
        let used: Vec<usize> = (0..page.len()).filter(|at| page[*at] != 0).collect();
        let at = if rng.bool() { used[rng.usize(0..used.len())] } else { rng.usize(0..page.len()) };
        (number * 8192 + at) as u64
    };
    pages.map(&mut place).collect()
}

/// Every page of the system databases has a bit changed, and every log block, after a clean stop
/// and after a power loss of an idle instance: the instance starts and has everything.
#[test]
fn a_changed_bit_of_a_system_database_changes_nothing() {
    let closed = made();
    let expected = contents(&open(&closed.crash(1)));
    let running = {
        let disk = closed.crash(1);
        let instance = open(&disk);
        run(
            &instance,
            "CREATE LOGIN cid WITH PASSWORD = 'Qp5!vvzk40'; INSERT Sales.dbo.t VALUES (5000, 'x')",
        );
        // Until the logs have recorded how far they are durable.
        std::thread::sleep(std::time::Duration::from_secs(1));
        std::mem::forget(instance);
        disk.crash(2)
    };
    let after = contents(&open(&running.crash(1)));
    assert_ne!(expected, after);
    let mut rng = fastrand::Rng::with_seed(5);
    for name in ["master.mdf", "mastlog.ldf", "msdb.mdf", "msdb_log.ldf"] {
        for (disk, expected, state) in
            [(&closed, &expected, "closed"), (&running, &after, "power loss")]
        {
            let mut places = places(disk, &path(name), &mut rng);
            let step = (places.len() / (2 * flips())).max(1);
            let first = rng.usize(0..step);
            places = places.into_iter().skip(first).step_by(step).collect();
            for at in places {
                let bad = disk.crash(1);
                bad.rot(&path(name), at).expect("a byte");
                let what = format!("{state}: byte {at} of {name}, page {}", at / 8192);
                let instance = Instance::open(text::options(&bad, 8 << 20));
                let instance = instance.unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(&contents(&instance), expected, "{what}");
                let state = "SELECT state_desc FROM sys.databases WHERE database_id IN (1, 4)";
                assert_eq!(
                    say(&instance, state),
                    "ONLINE\nONLINE",
                    "{what}: {}",
                    error_log(&instance)
                );
            }
        }
    }
}

/// Overwrites a part of a page so that no single bit explains it.
fn spoil(disk: &SimDisk, name: &str, page: u64) {
    let mut bytes = disk.read_small(&path(name)).expect("a small file");
    let at = page as usize * 8192;
    (at + 100..at + 8192).step_by(61).for_each(|at| bytes[at] ^= 0x5a);
    disk.write_small_atomic(&path(name), &bytes).expect("a write");
}

/// The page of a system table's only leaf, or of its IAM: (type of the page, unit).
fn page_of(disk: &SimDisk, kind: u8, unit: u32) -> u64 {
    let bytes = disk.read_small(&path("master.mdf")).expect("a small file");
    let mut pages = bytes.chunks(8192).enumerate();
    let found =
        pages.find(|(at, page)| *at > 271 && page[1] == kind && page[24..28] == unit.to_le_bytes());
    found.expect("such a page").0 as u64
}

const INDEX_PAGE: u8 = 2;
const IAM_PAGE: u8 = 10;

fn states(done: &Repair) -> Vec<String> {
    done.databases.iter().map(|(name, state)| format!("{name} {state}")).collect()
}

const STATES: [&str; 6] = [
    "master ONLINE",
    "tempdb ONLINE",
    "model ONLINE",
    "msdb ONLINE",
    "Sales ONLINE",
    "Rest OFFLINE",
];

fn files(disk: &SimDisk) -> Vec<(PathBuf, Option<u64>)> {
    let all = disk.list(Path::new("/data")).expect("the folder");
    all.into_iter().map(|path| (path.clone(), disk.file_len(&path))).collect()
}

#[test]
fn a_master_that_cannot_be_opened_is_made_anew_with_its_logins() {
    let disk = made();
    let expected = contents(&open(&disk.crash(1)));
    // The IAM page of the objects: the tables of logins are whole.
    spoil(&disk, "master.mdf", page_of(&disk, IAM_PAGE, 1));
    let error = Instance::open(text::options(&disk, 8 << 20)).expect_err("master is damaged");
    assert!(error.to_string().contains("ringwood repair"), "{error}");
    let options = text::options(&disk, 8 << 20);
    let before = files(&disk);
    let plan = examine(&options).expect("a plan");
    assert_eq!(
        plan.steps.iter().map(|step| step.act).collect::<Vec<_>>(),
        [RepairAct::Rebuild],
        "{plan:?}"
    );
    assert!(plan.steps[0].text.contains("login ann, login bob"), "{plan:?}");
    assert_eq!(files(&disk), before, "it was only looked at");
    let done = repair(&options, &mut |_| ()).expect("the repair");
    assert_eq!(states(&done), STATES);
    assert!(!done.loses(), "{done:?}");
    let instance = open(&disk);
    assert_eq!(contents(&instance), expected);
    instance
        .authenticate("ann", "Xy7#kkpq29", &engine::ClientInfo::default())
        .expect("the password is as it was");
    instance
        .authenticate("bob", "Zt4%mmwr83", &engine::ClientInfo::default())
        .expect("the password is as it was");
    drop(instance);
    assert!(
        disk.exists(Path::new("/data/repair/rebuild-1/master.mdf")).expect("the disk"),
        "nothing is deleted"
    );
    let again = repair(&options, &mut |_| ()).expect("a second repair");
    assert!(again.steps.is_empty() && states(&again) == STATES, "{again:?}");
}

/// The page of the logins itself is damaged: what can be read of it comes disabled, and no role has
/// members that it had not.
#[test]
fn logins_of_a_damaged_page_come_disabled() {
    let disk = made();
    let page = page_of(&disk, INDEX_PAGE, 13);
    let mut bytes = disk.read_small(&path("master.mdf")).expect("a small file");
    // Two bits, in the free part of the page.
    for at in [page as usize * 8192 + 6000, page as usize * 8192 + 6100] {
        bytes[at] ^= 0x10;
    }
    disk.write_small_atomic(&path("master.mdf"), &bytes).expect("a write");
    let options = text::options(&disk, 8 << 20);
    let done = repair(&options, &mut |_| ()).expect("the repair");
    assert!(done.loses() && states(&done) == STATES, "{done:?}");
    let instance = open(&disk);
    let logins = say(
        &instance,
        "SELECT name, is_disabled FROM sys.sql_logins WHERE principal_id > 1 ORDER BY name",
    );
    assert_eq!(logins, "ann|1\nbob|1");
    run(&instance, "ALTER LOGIN ann ENABLE");
    instance
        .authenticate("ann", "Xy7#kkpq29", &engine::ClientInfo::default())
        .expect("the password is as it was");
}

#[test]
fn an_msdb_that_cannot_be_opened_keeps_nothing_from_starting() {
    let disk = made();
    spoil(&disk, "msdb.mdf", page_of(&disk, IAM_PAGE, 1));
    let instance = open(&disk);
    assert_eq!(
        say(&instance, "SELECT state_desc FROM sys.databases WHERE name = 'msdb'"),
        "SUSPECT"
    );
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM Sales.dbo.t"), "2000");
    run(&instance, "BACKUP DATABASE Sales TO DISK = 's.bak'");
    let client = engine::ClientInfo::default();
    let told = |login: &str, password: &str| {
        let token = instance.authenticate(login, password, &client).expect("the login");
        instance.session_for(&token, None).expect("a session").notices()
    };
    let to_admin = told("bob", "Zt4%mmwr83");
    assert!(
        to_admin.len() == 1 && to_admin[0].message.contains("'msdb' is SUSPECT"),
        "{to_admin:?}"
    );
    assert!(told("ann", "Xy7#kkpq29").is_empty(), "only administrators are told");
    instance.close().expect("it closes");
    drop(instance);
    let done = repair(&text::options(&disk, 8 << 20), &mut |_| ()).expect("the repair");
    assert!(done.loses() && states(&done) == STATES, "{done:?}");
}

#[test]
fn a_healthy_instance_is_not_changed_and_a_running_one_refused() {
    let disk = made();
    let options = text::options(&disk, 8 << 20);
    let done = repair(&options, &mut |_| ()).expect("nothing is wrong");
    assert!(done.steps.is_empty() && done.notes.is_empty() && states(&done) == STATES, "{done:?}");
    let instance = open(&disk);
    assert!(repair(&options, &mut |_| ()).is_err() && examine(&options).is_err());
    drop(instance);
    assert!(examine(&text::options(&SimDisk::new(1), 8 << 20)).is_err(), "no instance is made");
}

/// Pages of tables in master that no start reads are put right, too.
#[test]
fn a_changed_bit_in_a_table_of_master_is_put_right() {
    let disk = made();
    let instance = open(&disk);
    run(
        &instance,
        "CREATE TABLE master.dbo.mine (n int, w char(4000)); INSERT master.dbo.mine VALUES (7, 'abc')",
    );
    instance.close().expect("it closes");
    drop(instance);
    let bytes = disk.read_small(&path("master.mdf")).expect("a small file");
    let at = bytes.windows(3).rposition(|found| found == b"abc").expect("the row") as u64;
    disk.rot(&path("master.mdf"), at).expect("a byte");
    let read = "SELECT n, RTRIM(w) FROM master.dbo.mine";
    assert!(say(&open(&disk), read).contains("Msg 824"));
    let done = repair(&text::options(&disk, 8 << 20), &mut |_| ()).expect("the repair");
    assert_eq!(
        done.steps.iter().map(|step| step.act).collect::<Vec<_>>(),
        [RepairAct::MendPages],
        "{done:?}"
    );
    assert_eq!(say(&open(&disk), read), "7|abc");
}

/// The power fails at each operation of a rebuild: the next repair ends it.
#[test]
fn power_loss_while_master_is_made_anew() {
    let disk = made();
    let expected = contents(&open(&disk.crash(1)));
    spoil(&disk, "master.mdf", page_of(&disk, IAM_PAGE, 1));
    disk.tear_small_writes();
    let options = |disk: &SimDisk| text::options(disk, 8 << 20);
    let ios = {
        let disk = disk.crash(0);
        repair(&options(&disk), &mut |_| ()).expect("the repair");
        disk.io_count()
    };
    for at in (1..=ios).step_by((ios / 80 + 1) as usize).chain(ios - 40..=ios) {
        let failing = disk.crash(at);
        failing.crash_at(at);
        // A crash behind the last change that matters is none.
        let _ = repair(&options(&failing), &mut |_| ());
        let left = failing.crash(at + 1);
        let done = repair(&options(&left), &mut |_| ()).unwrap_or_else(|e| panic!("at {at}: {e}"));
        assert_eq!(states(&done), STATES, "at {at}");
        assert_eq!(contents(&open(&left)), expected, "at {at}");
    }
}

/// Statistics are nothing that a start needs: a master whose page of them is damaged is open, and
/// administrators are told.
#[test]
fn a_master_without_its_statistics_is_open() {
    let disk = made();
    let expected = contents(&open(&disk.crash(1)));
    // Row counts, statistics, steps.
    for unit in [10, 11, 12] {
        let bad = disk.crash(1);
        spoil(&bad, "master.mdf", page_of(&bad, INDEX_PAGE, unit));
        let instance = open(&bad);
        assert_eq!(contents(&instance), expected);
        let told = instance.session().expect("a session").notices();
        assert!(told.len() == 1 && told[0].message.contains("statistics"), "{told:?}");
        run(&instance, "CREATE LOGIN cid WITH PASSWORD = 'Qp5!vvzk40'");
        instance.close().expect("it closes");
        drop(instance);
        assert!(say(&open(&bad), "SELECT name FROM sys.sql_logins").contains("cid"));
    }
}
