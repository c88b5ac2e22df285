//! SET STATISTICS IO: after a statement a line for each table of which it has read pages.
//! Guarantees: a page counts for the table that it belongs to, whoever has asked for it (the scan,
//! a check of a foreign key, the change of an index); statements inside a statement, those of
//! triggers and procedures, have lines of their own; what functions read counts for the statement
//! that calls them. A statement that fails has no line.

use std::sync::Arc;

use pages::{PageReads, PageTrace, UnitReads};
use types::{SqlError, msg};

use super::run::{Failure, Run};
use catalog::{Db, TableDef};
use session::state::SessionCore;
use session::state::host::Host;
use session::state::scans::Scans;

/// What a statement has read of a table.
struct TableReads {
    name: String,
    db: i32,
    object_id: i32,
    scans: u64,
    pages: PageReads,
    large: PageReads,
}

impl TableReads {
    fn of(db: &Db, table: &TableDef) -> TableReads {
        let (pages, large) = (PageReads::default(), PageReads::default());
        TableReads {
            name: table.name.to_string(),
            db: db.id(),
            object_id: table.object_id,
            scans: 0,
            pages,
            large,
        }
    }

    /// 3615 with SQL Server's text. There are no page servers here.
    fn message(&self) -> SqlError {
        let TableReads { name, scans, pages, large, .. } = self;
        SqlError::of(
            msg::TABLE_READS,
            [
                &name,
                &scans,
                &pages.logical,
                &pages.physical,
                &0,
                &pages.ahead,
                &0,
                &large.logical,
                &large.physical,
                &0,
                &large.ahead,
                &0,
            ],
        )
    }
}

fn add(sum: &mut PageReads, more: PageReads) {
    sum.logical += more.logical;
    sum.physical += more.physical;
    sum.ahead += more.ahead;
}

/// The table that a unit belongs to; the tables of the system are not named.
fn table_of(
    host: &Host,
    core: &SessionCore,
    reads: &UnitReads,
) -> Option<(Arc<Db>, Arc<TableDef>)> {
    let mut databases = host.databases();
    // Tempdb by its second handle.
    if !core.objects.temps.list.is_empty() {
        databases.extend(host.variables_db().ok());
    }
    let is_in =
        |db: &Arc<Db>| db.storage_if_open().is_some_and(|s| s.store().number() == reads.store);
    databases.into_iter().filter(is_in).find_map(|db| {
        let catalog = db.catalog();
        let table = catalog.tables.values().find(|table| {
            let indexes = table.indexes.iter().chain([&table.storage]);
            indexes
                .map(|i| i.unit)
                .chain(table.outside().map(|(_, unit, _)| unit))
                .any(|unit| unit == reads.unit)
        })?;
        Some((db, table.clone()))
    })
}

/// What a statement reads is counted.
pub(super) struct Reading {
    /// The scans of the statement around it.
    around: Option<Box<Scans>>,
    trace: PageTrace,
}

impl Run<'_> {
    /// From now on what is read is counted.
    pub(super) fn begin_reading(&mut self) -> Reading {
        let around = self.core.run.scans.replace(Box::default());
        Reading { around, trace: PageTrace::begin() }
    }

    /// The statement has ended; what it has read is told unless it has failed.
    pub(super) fn end_reading(
        &mut self,
        at: usize,
        Reading { around, trace }: Reading,
        failed: bool,
    ) -> Result<(), Failure> {
        let units = trace.end();
        let scans = std::mem::replace(&mut self.core.run.scans, around);
        if failed {
            return Ok(());
        }
        let mut tables: Vec<TableReads> = Vec::new();
        for (db, table, count) in scans.map_or_else(Vec::new, |scans| scans.list()) {
            tables.push(TableReads { scans: count, ..TableReads::of(&db, &table) });
        }
        let host = self.core.host().clone();
        for unit in units {
            let place = if unit.store == 0 {
                let own = tables.iter().position(|table| table.object_id == 0);
                own.unwrap_or_else(|| {
                    let (pages, large) = (PageReads::default(), PageReads::default());
                    let name = "Worktable".to_owned();
                    tables.push(TableReads { name, db: 0, object_id: 0, scans: 0, pages, large });
                    tables.len() - 1
                })
            } else {
                let Some((db, table)) = table_of(&host, self.core, &unit) else { continue };
                let is = |t: &TableReads| (t.db, t.object_id) == (db.id(), table.object_id);
                tables.iter().position(is).unwrap_or_else(|| {
                    tables.push(TableReads::of(&db, &table));
                    tables.len() - 1
                })
            };
            add(&mut tables[place].pages, unit.pages);
            add(&mut tables[place].large, unit.large);
        }
        for table in &tables {
            let message = self.placed(at, table.message());
            self.sink.message(&message)?;
        }
        Ok(())
    }
}
