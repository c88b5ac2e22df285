//! A name that leads elsewhere between the decision about it and the opening of the file: a thread
//! replaces it all the time while statements use it.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::places::Folders;
use super::{make_login, outcome};

/// How often each outcome is awaited, and after how many rounds no more.
const EACH: usize = 25;
const ROUNDS: usize = 20_000;

const REFUSED: &str = "3201(5)+3013";

/// Sets a flag when it goes, also by a failed assertion: a thread that waits for it ends.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_name_that_changes_leads_to_nothing_of_the_instance() {
    let folders = Folders::new();
    let instance = folders.open();
    folders.fill(&instance);
    let writer = make_login(&instance, "db_owner");
    let reader = make_login(&instance, "bulkadmin");
    let _special = folders.make_special();
    let before = folders.untouchable();
    let ordinary = std::fs::read(folders.at("data/good.bak")).expect("a backup");
    let (name, next) = (folders.at("allowed/changing"), folders.at("allowed/changing.next"));
    let done = AtomicBool::new(false);
    let mut seen = BTreeMap::<String, usize>::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                match turn % 4 {
                    0 | 2 => std::fs::write(&next, &ordinary).expect("a file"),
                    1 => symlink(folders.at("data/instance.id"), &next).expect("a link"),
                    _ => std::fs::hard_link(folders.at("data/closed.mdf"), &next)
                        .expect("a second name"),
                }
                std::fs::rename(&next, &name).expect("a name");
                std::thread::sleep(Duration::from_micros(fastrand::u64(0..4000)));
            }
        });
        let _stops = Stops(&done);
        let path = name.display();
        for _ in 0..ROUNDS {
            let sql = format!("BACKUP DATABASE app TO DISK = '{path}' WITH FORMAT");
            *seen.entry(outcome(&instance, &writer, &sql)).or_default() += 1;
            // Every backup begins with the same four bytes, which no file of the instance has.
            let sql = format!(
                "DECLARE @c varbinary(4); \
                 SELECT @c = SUBSTRING(BulkColumn, 1, 4) FROM OPENROWSET(BULK '{path}', SINGLE_BLOB) x; \
                 IF @c <> 0x5257424B RAISERROR('it has read %d bytes of another file', 16, 1, 4)"
            );
            let said = outcome(&instance, &reader, &sql);
            assert!(!said.contains("50000"), "a file of the instance was read");
            *seen.entry(format!("read: {said}")).or_default() += 1;
            let often = |what: &str| seen.get(what).is_some_and(|n| *n >= EACH);
            if ["ok", REFUSED, "read: ok", "read: 4861(5)"].into_iter().all(often) {
                break;
            }
        }
    });
    assert_eq!(folders.changed(&before), Vec::<String>::new());
    // Both happened: names that led to a file of the outside, and names that were refused.
    let often = |what: &str| seen.get(what).is_some_and(|n| *n >= EACH);
    assert!(["ok", REFUSED, "read: ok", "read: 4861(5)"].into_iter().all(often), "{seen:?}");
    std::fs::remove_file(&name).expect("a name");
    folders.check_databases(&instance);
}
