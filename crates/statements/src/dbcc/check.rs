//! DBCC CHECKDB, CHECKTABLE and the offline check: structures, allocation, rows, and that every
//! index says what its table says. Guarantee: tables and the catalog are locked against changes
//! while they are checked, and the background gives up no ghost, large value or extent meanwhile;
//! damage is reported and does not end the check.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

use access::{Direction, IndexEntry, ReadMode, RowBatch};
use logical::hints::TableLock;
use pages::UnitId;
use txn::LockMode;
use txn::check::{CheckResult, CheckUnit};
use types::{Corrupt, SqlError, Value, msg};

use super::Command;
use catalog::Db;
use catalog::db::OpenStorage;
use catalog::errors::{self, db_error};
use catalog::systables;
use catalog::{Catalog, OverflowUnit, TableDef, overflow, pending};
use ddl::build::for_each_row;
use exec::operators::context::ExecCtx;
use instance::catalog_locks::lock_catalog;
use session::state::SessionCore;
use storage::write::{entry_key, entry_value};
use storage::{Base, IndexStore, Pointers, TableStore};

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Allocation faults.
    pub allocation: Vec<String>,
    /// All other faults.
    pub consistency: Vec<String>,
    /// Tables that were checked, with their rows.
    pub tables: Vec<(String, u64)>,
}

impl CheckReport {
    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.allocation.is_empty() && self.consistency.is_empty()
    }
}

/// Checks all of a database.
pub fn check_all(core: &mut SessionCore, db: &Arc<Db>) -> Result<CheckReport, SqlError> {
    let open = db.open()?;
    lock_catalog(core, db, LockMode::S)?;
    let catalog = db.catalog();
    let mut report = CheckReport::default();
    let tables: Vec<Arc<TableDef>> = catalog.stored().into_iter().cloned().collect();
    let mut stores = Vec::with_capacity(tables.len());
    for table in &tables {
        core.lock_table(db, table, TableLock::of(LockMode::S))?;
        let store = TableStore::open(db, table)?;
        store.overflow_space(db)?;
        stores.push(store);
    }
    // Dropped units, discarded values and ghosts that go meanwhile would look like damage.
    let _held = open.storage.hold_background();
    let mut pointers = Vec::with_capacity(stores.len());
    for store in &stores {
        pointers.push(check_rows(core, db, store, &mut report)?);
    }
    let result = check_units(&open, &catalog, &stores, &pointers);
    let result = result.map_err(|e| db_error(db, &e))?;
    for (unit, found) in &result.reports {
        report
            .consistency
            .extend(found.findings.iter().map(|f| format!("Allocation unit {}: {f}.", unit.0)));
    }
    report.allocation.extend(result.allocation);
    Ok(report)
}

/// Structures and allocation of all units: tables, system tables, and what waits to be dropped.
fn check_units(
    open: &Arc<OpenStorage>,
    catalog: &Catalog,
    stores: &[Arc<TableStore>],
    pointers: &[Pointers],
) -> Result<CheckResult, txn::TxnError> {
    let store = open.storage.store();
    let mut units = Vec::new();
    for (table, pointers) in stores.iter().zip(pointers) {
        let unit = store.open_unit(table.table.storage.first_iam)?;
        units.push(match &table.base {
            Base::Heap(heap) => CheckUnit::Heap(heap, unit),
            Base::Tree(tree) => CheckUnit::Tree(tree, unit),
        });
        for index in &table.indexes {
            units.push(CheckUnit::Tree(&index.tree, store.open_unit(index.def.first_iam)?));
        }
        if let (Some(lob), Some((_, first_iam))) = (&table.lob, table.table.lob) {
            units.push(CheckUnit::Lob(lob, &pointers.large, store.open_unit(first_iam)?));
        }
        // Opened by now if there is one.
        let first_iam = table.table.overflow.as_ref().and_then(OverflowUnit::first_iam);
        if let (Some(space), Some(first_iam)) = (table.overflow.get(), first_iam) {
            units.push(CheckUnit::Lob(space, &pointers.overflow, store.open_unit(first_iam)?));
        }
    }
    for table in systables::ALL {
        let tree = open.trees.tree(table);
        units.push(CheckUnit::Tree(tree, store.open_unit(open.trees.first_iam(table))?));
    }
    if let Some(list) = open.storage.discarded_values() {
        let unit = open.storage.unit(list.tree().unit_id());
        units.extend(unit.map(|unit| CheckUnit::Tree(list.tree(), unit)));
    }
    if let Ok(mut pending) = pending::listed(&open.trees) {
        // A rollback has ended before it frees the units that were made for its tables.
        let lost = overflow::lost_units(&open.trees, catalog).unwrap_or_default();
        let listed: HashSet<UnitId> = pending.iter().map(|unit| unit.unit).collect();
        pending.extend(lost.into_iter().filter(|unit| !listed.contains(&unit.unit)));
        for unit in pending {
            // One that was freed a moment ago has nothing to check.
            if let Ok(handle) = store.open_unit(unit.first_iam)
                && handle.id() == unit.unit
            {
                units.push(CheckUnit::Space(handle));
            }
        }
    }
    open.storage.check(&units)
}

/// The entries that an index should have, or has, as one number: order does not matter, and a
/// difference of any entry shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    count: u64,
    sum: u64,
}

impl Tally {
    /// An entry with all that it says of its row: key, locator, and included values. Bytes can be
    /// compared: entries are made by one function of a row's values, and the values that a row
    /// gives back make the same bytes again.
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut hasher = DefaultHasher::new();
        (key, value).hash(&mut hasher);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// Decodes every row and compares what the indexes should hold with what they hold. Returns the
/// pointers to values outside the rows.
fn check_rows(
    core: &mut SessionCore,
    db: &Arc<Db>,
    store: &Arc<TableStore>,
    report: &mut CheckReport,
) -> Result<Pointers, SqlError> {
    let name = store.table.full_name();
    let mut expected = vec![Tally::default(); store.indexes.len()];
    let mut pointers = Pointers::default();
    let mut values = vec![Value::Null; store.table.columns.len()];
    let (mut rows, mut faults) = (0u64, Vec::new());
    let (mut key, mut value) = (Vec::new(), Vec::new());
    let mut ctx = ExecCtx { session: core, vars: &mut [] };
    let scanned = for_each_row(&mut ctx, db, store, &mut |_, locator, row| {
        rows += 1;
        store.pointers(row, &mut pointers);
        if let Err(e) = store.all_columns(db, row, &mut values) {
            faults.push(format!("Table {name}: row {rows} cannot be read: {}", e.message));
            return Ok(());
        }
        for (at, column) in store.table.columns.iter().enumerate() {
            if values[at].is_null() && !column.nullable && !column.is_virtual() {
                faults
                    .push(format!("Table {name}: row {rows} has NULL in column {}.", column.name));
            }
        }
        let tallies = store.indexes.iter().zip(&mut expected);
        for (index, tally) in tallies.filter(|(index, _)| index.admits(&values)) {
            let locator = locator.bytes();
            entry_key(index, &values, &locator, &mut key);
            match entry_value(index, &values, &locator, key.len(), &mut value) {
                Ok(()) => tally.add(&key, &value),
                Err(e) => faults.push(format!(
                    "Table {name}: row {rows} can have no entry in index {}: {}",
                    index.def.name, e.message
                )),
            }
        }
        Ok(())
    });
    if let Err(e) = scanned {
        ctx.session.check_cancel()?;
        faults.push(format!("Table {name}: its rows cannot be read: {}", e.message));
    }
    for (index, expected) in store.indexes.iter().zip(&expected) {
        match actual(&ctx, db, index) {
            Ok((found, unreadable)) => {
                if found != *expected {
                    faults.push(format!(
                        "Table {name}: index {} has {} entries for {} rows, or entries that no row has.",
                        index.def.name, found.count, expected.count
                    ));
                }
                if let Some((count, e)) = unreadable {
                    faults.push(format!(
                        "Table {name}: index {} has {count} entries that cannot be read: {e}",
                        index.def.name
                    ));
                }
            }
            Err(e) => {
                ctx.session.check_cancel()?;
                faults.push(format!(
                    "Table {name}: index {} cannot be read: {}",
                    index.def.name, e.message
                ));
            }
        }
    }
    report.consistency.append(&mut faults);
    report.tables.push((name, rows));
    Ok(pointers)
}

/// The entries that an index has, and how many of them cannot be read, with the first reason.
fn actual(
    ctx: &ExecCtx<'_>,
    db: &Arc<Db>,
    index: &IndexStore,
) -> Result<(Tally, Option<(u64, Corrupt)>), SqlError> {
    let (mut tally, mut unreadable) = (Tally::default(), None::<(u64, Corrupt)>);
    let mut batch = RowBatch::new();
    let columns: Vec<u16> = (0..index.columns.len() as u16).collect();
    let mut values = vec![Value::Null; columns.len()];
    let mut cursor = index.tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let fail = |e: access::AccessError| db_error(db, &e.into());
    while cursor.next_batch(ReadMode::Dirty, &mut batch).map_err(fail)? {
        ctx.session.check_cancel()?;
        for i in 0..batch.len() {
            let entry = batch.entry(i);
            tally.add(entry.key, entry.value);
            let located = index.locator(entry);
            if let Err(e) = located.and_then(|_| read_entry(index, entry, &columns, &mut values)) {
                unreadable.get_or_insert((0, e)).0 += 1;
            }
        }
    }
    Ok((tally, unreadable))
}

/// Whether all columns of an entry can be read that it has itself.
fn read_entry(
    index: &IndexStore,
    entry: IndexEntry<'_>,
    columns: &[u16],
    values: &mut [Value],
) -> Result<(), Corrupt> {
    match index.decode(entry, columns, values) {
        // The base row has one of them: what of the others?
        Err(Corrupt::OffRow { .. }) => {}
        read => return read,
    }
    columns.iter().try_for_each(|column| match index.decode(entry, &[*column], values) {
        Err(Corrupt::OffRow { .. }) => Ok(()),
        read => read,
    })
}

/// DBCC CHECKDB [(database)].
pub(super) fn check_db(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.database(0)?;
    refuse_repair(command)?;
    db.check_usable()?;
    let report = check_all(command.ctx.core, &db)?;
    tell(command, &db, &report, None)
}

/// DBCC CHECKTABLE (table): the whole database is checked, the table's rows are told.
pub(super) fn check_table(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    refuse_repair(command)?;
    let name = command.text(0).unwrap_or_default().to_string();
    let (db, table) = command.table(&name)?;
    let Some(table) = table else {
        return Err(SqlError::of(msg::TABLE_OR_OBJECT_NOT_FOUND, [&name]));
    };
    let report = check_all(command.ctx.core, &db)?;
    tell(command, &db, &report, Some(table.full_name()))
}

/// Nothing is repaired: 40510 for what asks for it, 2526 for what is no argument; NOINDEX or an
/// index id checks more than asked.
fn refuse_repair(command: &Command<'_, '_>) -> Result<(), SqlError> {
    let Some(word) = command.text(1) else { return Ok(()) };
    match word.to_ascii_uppercase().as_str() {
        "NOINDEX" => Ok(()),
        word @ ("REPAIR_ALLOW_DATA_LOSS" | "REPAIR_FAST" | "REPAIR_REBUILD") => {
            Err(errors::not_supported(&format!("DBCC with {word}")))
        }
        _ => Err(errors::syntax_near(word)),
    }
}

pub(super) fn tell(
    command: &mut Command<'_, '_>,
    db: &Arc<Db>,
    report: &CheckReport,
    only: Option<String>,
) -> Result<(), SqlError> {
    for fault in report.allocation.iter().chain(&report.consistency) {
        command.ctx.sink.error(&SqlError::of(msg::CHECK_FAULT, [fault]))?;
        db.log_failure(fault);
    }
    if command.quiet() {
        return Ok(());
    }
    for (name, rows) in &report.tables {
        if only.as_ref().is_none_or(|only| only == name) {
            command.ctx.inform(msg::ROWS_IN_OBJECT, [rows, name])?;
        }
    }
    let (allocation, consistency) = (report.allocation.len(), report.consistency.len());
    command.ctx.inform(msg::CHECK_COUNTS, [&allocation, &consistency, &db.name()])
}
