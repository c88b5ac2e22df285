//! What lies past the bar of a data file goes elsewhere: to the file's front, or to other files of
//! its filegroup.
//!
//! Nodes of indexes move one by one while everybody works on ([`txn::Database::move_nodes`]). What
//! the catalog or rows name by its place needs the table for a moment, under SCH-M, one table and
//! one transaction at a time: an index's root and first IAM page go to other pages, heaps and
//! tables with large values go to new units, row by row, with their indexes. To make a file
//! shorter, small indexes are built again in its front as far as there is space. Guarantee: after
//! an error, or a crash, each table is where it was or where it was to go, whole.

use std::sync::Arc;
use std::time::Duration;

use access::BTree;
use pages::{ExtentId, PageId, Unit, UnitId};
use txn::{Database, TxnError};
use types::SqlError;

use crate::index::renew;
use catalog::Db;
use catalog::db::OpenStorage;
use catalog::errors::{self, db_error, store_error};
use catalog::store::StoreError;
use catalog::{IndexDef, TableDef, pending, systables};
use ddl::work::SchemaChange;
use session::state::SessionCore;
use storage::{Base, TableStore};

/// Walks over all that is behind the bar: transactions that were under way leave some pages behind
/// the first time.
const PASSES: u32 = 4;
/// How long the freeing of replaced units is waited for, in steps of `PAUSE`.
const PAUSES: u32 = 2_000;
const PAUSE: Duration = Duration::from_millis(5);

/// A file that is being vacated.
pub(super) struct Vacate<'c> {
    core: &'c mut SessionCore,
    db: Arc<Db>,
    open: Arc<OpenStorage>,
    file: u16,
    /// To its own front, as far as there is room; else to other files.
    inside: bool,
}

/// What of a table is past the bar and cannot move on the side.
struct LeftBehind {
    /// The heap, the large values, or the clustered index of a table that is to be built again.
    base: bool,
    /// Indexes whose root or first IAM page is there.
    heads: Vec<i32>,
    /// Extents of all units that would be built again.
    extents: u64,
}

impl<'c> Vacate<'c> {
    pub(super) fn new(
        core: &'c mut SessionCore,
        db: &Arc<Db>,
        file: u16,
        inside: bool,
    ) -> Result<Vacate<'c>, SqlError> {
        Ok(Vacate { core, open: db.open()?, db: db.clone(), file, inside })
    }

    /// Moves what can be moved; whether nothing is left behind the bar.
    ///
    /// Errors: 1105 no room in the filegroup; 1205, 1222; a cancelled statement; what the storage
    /// says.
    pub(super) fn run(&mut self) -> Result<bool, SqlError> {
        for _ in 0..PASSES {
            let before = self.behind_bar()?;
            self.move_system()?;
            let tables: Vec<Arc<TableDef>> =
                self.db.catalog().stored().into_iter().cloned().collect();
            for table in &tables {
                match self.table(table) {
                    // It was dropped or changed: what it is now is for the next pass.
                    Err(e) if e.number == errors::SCHEMA_CHANGED => {}
                    done => done?,
                }
            }
            if self.settled()? {
                return Ok(true);
            }
            if self.behind_bar()? >= before {
                break;
            }
        }
        Ok(false)
    }

    fn fail(&self, e: TxnError) -> SqlError {
        db_error(&self.db, &e)
    }

    /// Extents in use past the bar.
    fn behind_bar(&self) -> Result<u64, SqlError> {
        self.open.storage.store().behind_bar(self.file).map_err(|e| self.fail(e.into()))
    }

    /// The nodes of the system tables' trees; their roots and first IAM pages stay.
    fn move_system(&mut self) -> Result<(), SqlError> {
        let open = self.open.clone();
        for table in systables::ALL {
            self.nodes(open.trees.tree(table))?;
        }
        open.storage.discarded_values().map_or(Ok(()), |list| self.nodes(list.tree()))
    }

    /// The nodes of a tree, and then the extents that nothing is left in.
    fn nodes(&mut self, tree: &BTree) -> Result<(), SqlError> {
        let storage = self.open.storage.clone();
        let core = &self.core;
        let mut go_on = || core.check_cancel().map_err(StoreError::from);
        let moved = storage.move_nodes(tree, self.file, self.inside, &mut go_on);
        moved.map_err(|e| store_error(&self.db, e))?;
        storage.release_barred(tree.unit_id(), self.file).map(drop).map_err(|e| self.fail(e))
    }

    fn table(&mut self, table: &Arc<TableDef>) -> Result<(), SqlError> {
        let store = TableStore::open(&self.db, table)?;
        // Only an open unit says where its extents are.
        store.overflow_space(&self.db)?;
        if let Base::Tree(tree) = &store.base {
            self.nodes(tree)?;
        }
        for index in &store.indexes {
            self.nodes(&index.tree)?;
        }
        let left = self.left(table);
        if !left.base && left.heads.is_empty() {
            return Ok(());
        }
        let room =
            self.open.storage.store().free_in_front(self.file).map_err(|e| self.fail(e.into()))?;
        if self.inside && left.extents > room {
            return Ok(());
        }
        if left.base || self.inside { self.rebuild(table) } else { self.move_heads(table) }
    }

    fn left(&self, table: &TableDef) -> LeftBehind {
        let mut left = LeftBehind { base: false, heads: Vec::new(), extents: 0 };
        let mut all = 0;
        for index in table.all_indexes() {
            let (behind, extents) = self.behind(index.unit);
            all += extents;
            if behind > 0 && index.index_id == 0 {
                left.base = true;
            } else if behind > 0 && self.heads_behind(index) {
                left.heads.push(index.index_id);
                left.extents += extents;
            }
        }
        for (_, unit, _) in table.outside() {
            let (behind, extents) = self.behind(unit);
            left.base |= behind > 0;
            all += extents;
        }
        left.base |= self.inside && left.heads.contains(&1);
        if left.base {
            left.extents = all;
        }
        left
    }

    /// Extents of a unit past the bar, and all of them; none of one that was dropped.
    fn behind(&self, unit: UnitId) -> (u64, u64) {
        let storage = &self.open.storage;
        let Some(unit) = storage.unit(unit) else { return (0, 0) };
        let extents = unit.extents();
        let behind = |e: &&ExtentId| self.is_behind(e.first_page());
        (extents.iter().filter(behind).count() as u64, extents.len() as u64)
    }

    fn heads_behind(&self, index: &IndexDef) -> bool {
        self.is_behind(index.root) || self.is_behind(index.first_iam)
    }

    fn is_behind(&self, page: PageId) -> bool {
        page.file == self.file && self.open.storage.store().is_barred(page)
    }

    /// New units for what must not stay where it is, filled with the same rows.
    fn rebuild(&mut self, table: &Arc<TableDef>) -> Result<(), SqlError> {
        self.core.begin_statement(false)?;
        let done = self.rebuild_locked(table);
        self.core.end_statement(done)
    }

    fn rebuild_locked(&mut self, table: &Arc<TableDef>) -> Result<(), SqlError> {
        let db = self.db.clone();
        SchemaChange::begin(self.core, &db)?.lock_current(table)?;
        // Others had the table until now.
        let left = self.left(table);
        let mut work = SchemaChange::begin(self.core, &db)?;
        if left.base || !left.heads.is_empty() {
            renew(&mut work, table, left.base, &|index| left.heads.contains(&index.index_id))?;
        }
        Ok(())
    }

    /// Other roots and first IAM pages for the indexes of a table.
    fn move_heads(&mut self, table: &Arc<TableDef>) -> Result<(), SqlError> {
        let storage = self.open.storage.clone();
        self.core.begin_statement(false)?;
        let db = self.db.clone();
        let locked =
            SchemaChange::begin(self.core, &db).and_then(|mut work| work.lock_current(table));
        if let Err(e) = locked {
            return self.core.end_statement(Err(e));
        }
        // From the copy of a root until the old one is gone nothing may change the index, ghost
        // cleanup neither. Behind the table's lock: a thread that holds the background waits for no
        // lock.
        let held = storage.hold_background();
        let units: Vec<Unit> =
            table.all_indexes().filter_map(|index| storage.unit(index.unit)).collect();
        units.iter().for_each(|unit| unit.set_moving(true));
        let named = self.name_heads(table);
        let after = self.core.end_statement(named);
        let settled = after.and_then(|after| settle(&self.db, &storage, &after, &units));
        // Not before: a session that opens the table now would settle it itself, and an error of
        // that would stop no other.
        units.iter().for_each(|unit| unit.set_moving(false));
        drop(held);
        settled?;
        for unit in units {
            storage.release_barred(unit.id(), self.file).map_err(|e| self.fail(e))?;
        }
        Ok(())
    }

    /// Makes the catalog name copies of the roots, and IAM pages that stay.
    fn name_heads(&mut self, table: &Arc<TableDef>) -> Result<Arc<TableDef>, SqlError> {
        let mut next = TableDef::clone(table);
        let store = TableStore::open(&self.db, table)?;
        if let Base::Tree(tree) = &store.base {
            next.storage = Arc::new(self.name_head(&table.storage, tree)?);
        }
        for index in &store.indexes {
            let named = Arc::new(self.name_head(&index.def, &index.tree)?);
            if let Some(place) = next.indexes.iter_mut().find(|i| i.index_id == index.def.index_id)
            {
                *place = named;
            }
        }
        let db = self.db.clone();
        SchemaChange::begin(self.core, &db)?.replace(table, next)
    }

    fn name_head(&mut self, index: &IndexDef, tree: &BTree) -> Result<IndexDef, SqlError> {
        let storage = self.open.storage.clone();
        let mut next = index.clone();
        if self.is_behind(index.root) {
            let db = self.db.clone();
            let copied = tree.copy_root(self.core.txn(&db)?);
            next.root = copied.map_err(|e| db_error(&db, &e.into()))?;
        }
        if self.is_behind(index.first_iam) {
            let unit = storage.open_unit(index.first_iam).map_err(|e| self.fail(e))?;
            next.first_iam = storage.store().open_iam(&unit).map_err(|e| self.fail(e.into()))?;
        }
        Ok(next)
    }

    /// Waits until replaced units are freed; whether nothing is left behind the bar.
    fn settled(&mut self) -> Result<bool, SqlError> {
        let storage = self.open.storage.clone();
        for _ in 0..PAUSES {
            self.core.check_cancel()?;
            storage.run_deferred();
            let waiting =
                pending::listed(&self.open.trees).map_err(|e| store_error(&self.db, e))?;
            if self.behind_bar()? == 0 {
                return Ok(true);
            }
            if waiting.is_empty() {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(false)
    }
}

/// The catalog names other roots and IAM pages: the old roots go. A table that was dropped since
/// still has its units: the background frees them, and is held.
pub fn settle(
    db: &Db,
    storage: &Database,
    table: &TableDef,
    units: &[Unit],
) -> Result<(), SqlError> {
    let store = storage.store();
    for index in table.all_indexes().filter(|index| index.index_id > 0) {
        let Some(unit) = units.iter().find(|unit| unit.id() == index.unit) else { continue };
        let tree = BTree::open(store.clone(), unit.clone(), index.root);
        let settled = tree.settle_root().map_err(TxnError::from).and_then(|()| {
            unit.note_root(index.root);
            Ok(store.rename_unit(unit, index.first_iam)?)
        });
        if let Err(e) = settled {
            // Two pages pass for the root: a restart settles that before anybody uses the index.
            storage.fail("moving the root of an index", &e);
            return Err(db_error(db, &e));
        }
    }
    Ok(())
}
