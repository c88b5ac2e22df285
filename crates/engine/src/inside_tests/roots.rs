//! Definitions of before: handles whose root has moved or was not settled, units that were opened
//! by another name.

use crate::{ColumnInfo, Instance, InstanceOptions, Sink};
use catalog::db::DbStatus;
use catalog::{Db, IndexDef, TableDef, errors};
use pages::PageId;
use sim::SimDisk;
use statements::dbcc::vacate::settle;
use std::sync::Arc;
use storage::{Base, TableStore};
use txn::Durability;
use types::SqlError;

/// Errors alone count.
struct Quiet;

impl Sink for Quiet {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn done(&mut self, _: session::output::StatementEnd) -> Result<(), SqlError> {
        Ok(())
    }
    fn message(&mut self, _: &SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error:?}")
    }
}

fn run(instance: &Arc<Instance>, sql: &str) {
    instance.session().unwrap().execute(sql, &mut Quiet);
}

fn current(db: &Db) -> Arc<TableDef> {
    db.catalog().find("dbo", "t").cloned().unwrap()
}

fn clean(instance: &Arc<Instance>) {
    let report = instance.check_database("d").unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// A table of some pages in two files.
fn opened(seed: u64) -> (Arc<Instance>, Arc<Db>, Arc<TableDef>) {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        disk: Arc::new(SimDisk::new(seed)),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).unwrap();
    run(
        &instance,
        "CREATE DATABASE d ON (NAME = d1, FILENAME = 'd1.mdf', SIZE = 4MB), (NAME = d2, FILENAME = 'd2.ndf', SIZE = 4MB)",
    );
    run(&instance, "CREATE TABLE d.dbo.t (id int PRIMARY KEY, words char(900))");
    run(
        &instance,
        "DECLARE @i int = 0; WHILE @i < 900 BEGIN INSERT d.dbo.t VALUES (@i, 'x'); SET @i += 1 END",
    );
    let db = instance.database("d").unwrap();
    let table = current(&db);
    TableStore::open(&db, &table).unwrap();
    (instance, db, table)
}

/// A leaf whose header names the table's root.
fn page_below(db: &Db, table: &TableDef) -> PageId {
    let storage = db.storage().unwrap();
    let unit = storage.unit(table.storage.unit).unwrap();
    let root = table.storage.root;
    let pages = unit.extents().into_iter().flat_map(|e| e.pages());
    let mut leaves = pages.filter(|page| {
        let page = storage.store().read(*page).unwrap();
        page.level() == 0 && page.root() == root
    });
    leaves.next().unwrap()
}

/// The definition with another root.
fn with_root(table: &TableDef, root: PageId) -> Arc<TableDef> {
    let mut next = TableDef::clone(table);
    next.storage = Arc::new(IndexDef { root, ..IndexDef::clone(&table.storage) });
    Arc::new(next)
}

/// Closed and opened again, as far as the table can tell.
fn forget(db: &Db, table: &TableDef) {
    table.state.handles.lock().clear();
    db.storage().unwrap().unit(table.storage.unit).unwrap().note_root(PageId::NONE);
}

#[test]
fn a_stale_root_is_no_root() {
    let (instance, db, table) = opened(2);
    // Its root of before is a node now.
    let stale = with_root(&table, page_below(&db, &table));
    for again in [false, true] {
        let error = TableStore::open(&db, &stale).unwrap_err();
        assert_eq!(error.number, errors::SCHEMA_CHANGED);
        if !again {
            // Not even if nobody has said yet where the root is.
            forget(&db, &table);
        }
    }
    clean(&instance);
    run(&instance, "INSERT d.dbo.t VALUES (5000, 'y')");
    clean(&instance);
}

#[test]
fn a_read_only_database_settles_later() {
    let (instance, db, table) = opened(3);
    let storage = db.storage().unwrap();
    let Base::Tree(tree) = &TableStore::open(&db, &table).unwrap().base else { panic!("no tree") };
    let mut txn = storage.begin(51).unwrap();
    let root = tree.copy_root(&mut txn).unwrap();
    txn.commit(Durability::Full).unwrap();
    let next = with_root(&table, root);
    assert!(db.replace_table(Some(&table), Some(next.clone())));
    forget(&db, &next);
    let open = || {
        let Base::Tree(tree) = TableStore::open(&db, &next).unwrap().base.clone() else {
            panic!("no tree")
        };
        assert_eq!(
            storage.unit(next.storage.unit).unwrap().root(),
            root,
            "background work must know it"
        );
        tree
    };
    run(&instance, "ALTER DATABASE d SET READ_ONLY");
    assert!(open().root_is_copy().unwrap());
    assert!(open().root_is_copy().unwrap());
    run(&instance, "ALTER DATABASE d SET READ_WRITE");
    assert!(!open().root_is_copy().unwrap());
    clean(&instance);
}

#[test]
fn a_unit_is_known_by_the_name_in_the_catalog() {
    let (instance, db, table) = opened(4);
    let unit = db.storage().unwrap().unit(table.storage.unit).unwrap();
    let chain = unit.iam_pages();
    assert!(chain.len() == 2 && unit.first_iam() == chain[0], "{chain:?}");
    let mut next = TableDef::clone(&table);
    next.storage = Arc::new(IndexDef { first_iam: chain[1], ..IndexDef::clone(&table.storage) });
    let next = Arc::new(next);
    assert!(db.replace_table(Some(&table), Some(next.clone())));
    // Undo has opened it by the head of the chain, and nobody else yet.
    forget(&db, &next);
    TableStore::open(&db, &next).unwrap();
    assert_eq!(unit.first_iam(), chain[1]);
    // A definition of before changes nothing.
    forget(&db, &next);
    TableStore::open(&db, &table).unwrap();
    assert_eq!(unit.first_iam(), chain[1]);
    clean(&instance);
}

/// Two pages would pass for the root: nobody goes on with the index.
#[test]
fn a_root_that_cannot_be_settled_stops_the_database() {
    let (_instance, db, table) = opened(1);
    let storage = db.storage().unwrap();
    let unit = storage.unit(table.storage.unit).unwrap();
    let wrong = with_root(&table, page_below(&db, &table));
    settle(&db, &storage, &wrong, std::slice::from_ref(&unit)).unwrap_err();
    assert_eq!((db.status(), unit.root()), (DbStatus::Suspect, table.storage.root));
}
