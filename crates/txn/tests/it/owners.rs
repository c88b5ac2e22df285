//! Files that change their instance, on the simulated disk: power loss at any I/O of taking a
//! database over, of closing it and of replacing its log. Whatever it is, the database has its
//! rows; and of two instances one has it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::txn::{self, CreateSpec, Database, DbState, Env, TxnError};
use crate::support::{self, Model, Table};
use access::ReadMode;
use disk::{Disk, DiskError};
use pages::{FileGrowth, FileSpec, InstanceHome, PageError};
use sim::SimDisk;
use wal::{Growth, LogOptions};

const PRIMARY: &str = "/db/test.mdf";
const LOG: &str = "/db/test_log.ldf";

fn create(env: Env) -> Arc<Database> {
    env.disk.create_dir_all(Path::new("/db")).unwrap();
    let file = |id: u16, path: &str| FileSpec {
        id,
        name: format!("file {id}"),
        path: path.into(),
        filegroup: 1,
        size: 4 << 20,
        growth: FileGrowth::Bytes(1 << 20),
        max_size: None,
    };
    let spec = CreateSpec {
        guid: [7; 16],
        files: vec![file(1, PRIMARY), file(3, "/db/test2.ndf")],
        log_path: LOG.into(),
        log: options(),
        settings: DbState::initial(),
    };
    Database::create(env, spec).unwrap()
}

fn options() -> LogOptions {
    support::log_options(1 << 20, Growth::Bytes(1 << 20), false)
}

/// The environment of an instance whose folder is `folder`, or of one that takes over what it
/// opens.
fn env(disk: &SimDisk, instance: u8, folder: &str, take: bool) -> Env {
    // As an instance's registry has them: what is recorded relative is below another folder each
    // time.
    let places = vec![(1, PRIMARY.into()), (3, "/db/test2.ndf".into())];
    let home = InstanceHome {
        instance: [instance; 16],
        folder: folder.into(),
        places,
        take,
        ..InstanceHome::default()
    };
    let plain = support::env(Arc::new(disk.clone()), 512, false);
    Env { home, ..plain }
}

fn open(disk: &SimDisk, instance: u8, folder: &str, take: bool) -> Result<Arc<Database>, TxnError> {
    Database::open(
        env(disk, instance, folder, take),
        Path::new(PRIMARY),
        Path::new(LOG),
        options(),
        &mut |_, _| {},
    )
}

fn add(db: &Arc<Database>, from: u64, to: u64) -> Result<(), TxnError> {
    let table = Table::open(db)?;
    for id in from..to {
        let mut t = db.begin(1)?;
        table.insert(&mut t, id, &[id as u8; 40])?;
        t.commit(txn::Durability::Full)?;
    }
    Ok(())
}

fn rows(db: &Arc<Database>) -> Model {
    let table = Table::open(db).unwrap();
    assert_eq!(table.faults(db).unwrap(), Vec::<String>::new());
    table.read_all(ReadMode::Current).unwrap().unwrap()
}

/// A database of instance 1 in another folder than its own, with 20 rows; closed cleanly, or
/// killed.
fn made(seed: u64, clean: bool) -> SimDisk {
    let disk = SimDisk::new(seed);
    let db = create(env(&disk, 1, "/one", false));
    Table::create(&db).unwrap();
    add(&db, 0, 20).unwrap();
    if clean {
        db.close().unwrap();
        return disk;
    }
    let left = disk.crash(seed);
    db.abandon();
    left
}

fn is_foreign(result: Result<Arc<Database>, TxnError>) -> bool {
    matches!(result, Err(TxnError::Page(PageError::Foreign { .. })))
}

#[test]
fn a_database_outside_the_folder_is_its_instances() {
    let disk = made(1, true);
    assert!(is_foreign(open(&disk, 2, "/two", false)));
    // In the folder it belongs to the folder's owner; taken over it belongs to the other one.
    open(&disk, 3, "/db", false).unwrap().close().unwrap();
    assert!(is_foreign(open(&disk, 1, "/one", false)));
    let db = open(&disk, 1, "/one", true).unwrap();
    assert!(matches!(
        open(&disk.process(9), 1, "/one", true),
        Err(TxnError::Disk(DiskError::Locked { holder: Some(1), .. }))
    ));
    db.close().unwrap();
    assert_eq!(rows(&open(&disk, 1, "/one", false).unwrap()).len(), 20);
}

/// Taking over writes header pages and the log's header: a power loss at any of it leaves a
/// database that one of them opens, and both by taking it over again.
#[test]
fn a_power_loss_while_files_are_taken_over() {
    for clean in [true, false] {
        let whole = made(7, clean);
        let start = whole.crash(1);
        let before = start.io_count();
        open(&start, 2, "/two", true).unwrap().close().unwrap();
        let all = start.io_count() - before;
        for n in 1..=all {
            let disk = whole.crash(n);
            disk.crash_at(disk.io_count() + n);
            let ended = open(&disk, 2, "/two", true).and_then(|db| db.close());
            assert!(ended.is_err() || n == all, "clean {clean}, I/O {n} of {all}");
            let left = disk.crash(n + 1000);
            let one = open(&left, 1, "/one", false);
            let db = match one {
                Ok(db) => db,
                Err(TxnError::Page(PageError::Foreign { .. })) => {
                    open(&left, 2, "/two", true).unwrap()
                }
                Err(e) => panic!("clean {clean}, I/O {n}: {e}"),
            };
            assert_eq!(rows(&db).len(), 20, "clean {clean}, I/O {n}");
            add(&db, 20, 25).unwrap();
            db.close().unwrap();
            drop(db);
            let db = open(&left, 2, "/two", true).unwrap();
            assert_eq!(rows(&db).len(), 25, "clean {clean}, I/O {n}");
        }
    }
}

/// The log of a database that was closed cleanly is lost, and a power loss comes while another is
/// made: either the database has a log then, or it can be given one again.
#[test]
fn a_power_loss_while_a_lost_log_is_replaced() {
    let log = Path::new(LOG);
    let rebuild = |disk: &SimDisk| {
        Database::open_without_log(env(disk, 1, "/one", false), Path::new(PRIMARY), log, options())
    };
    assert!(matches!(rebuild(&made(3, false)), Err(TxnError::NotClosed)), "it would be needed");
    let whole = made(4, true);
    whole.remove(log).unwrap();
    let start = whole.crash(1);
    let before = start.io_count();
    let db = rebuild(&start).unwrap();
    add(&db, 20, 30).unwrap();
    db.close().unwrap();
    let all = start.io_count() - before;
    for n in 1..=all {
        let disk = whole.crash(n);
        disk.crash_at(disk.io_count() + n);
        let ended = rebuild(&disk).and_then(|db| {
            add(&db, 20, 30)?;
            db.close()
        });
        assert!(ended.is_err() || n == all);
        let left = disk.crash(n + 1000);
        let db = match open(&left, 1, "/one", false) {
            Ok(db) => db,
            Err(e) => {
                // Nothing has been acknowledged yet.
                if left.exists(log).unwrap() {
                    left.remove(log).unwrap();
                }
                rebuild(&left).unwrap_or_else(|again| panic!("I/O {n} of {all}: {e}, then {again}"))
            }
        };
        let found = rows(&db);
        assert!((20..=30).contains(&found.len()), "I/O {n}: {} rows", found.len());
        let more = found.len() as u64;
        add(&db, more, more + 5).unwrap();
        db.close().unwrap();
        drop(db);
        assert_eq!(rows(&open(&left, 1, "/one", false).unwrap()).len() as u64, more + 5, "I/O {n}");
    }
}

/// Data files know at which checkpoint they were closed: files of different times do not open
/// together.
#[test]
fn files_of_different_times_do_not_open() {
    let disk = made(5, true);
    let older: Vec<PathBuf> = [PRIMARY, "/db/test2.ndf", LOG].map(PathBuf::from).to_vec();
    disk.copy_dir(Path::new("/db"), Path::new("/old"));
    let db = open(&disk, 1, "/one", false).unwrap();
    add(&db, 20, 200).unwrap();
    db.close().unwrap();
    drop(db);
    for file in &older {
        let mixed = disk.crash(2);
        mixed.rename(&Path::new("/old").join(file.file_name().unwrap()), file).unwrap();
        let opened = open(&mixed, 1, "/one", false).map(|_| ());
        let told = matches!(
            opened,
            Err(TxnError::NotADatabase { .. } | TxnError::Page(PageError::NotADataFile { .. }))
        );
        assert!(told, "{}: {opened:?}", file.display());
    }
    assert_eq!(rows(&open(&disk, 1, "/one", false).unwrap()).len(), 200);
}
