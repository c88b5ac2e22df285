//! What a page belongs to: its allocation unit and that unit's name. The log names units only where
//! it formats pages; of other pages their header says it, as it is now.

use std::collections::HashMap;
use std::sync::Arc;

use pages::{PageId, PageType, UnitId};
use txn::Database;

use catalog::Db;
use catalog::systables::{ALL, FIRST_USER_UNIT};

/// sys.allocation_units.allocation_unit_id of a unit.
pub(crate) fn alloc_unit_id(unit: UnitId) -> i64 {
    (72_057_594_037_927_936 + (u64::from(unit.0) << 16)) as i64
}

/// What a page is.
#[derive(Clone, Debug)]
pub struct Place {
    pub unit: UnitId,
    pub kind: Option<PageType>,
    pub level: u8,
    /// `schema.table.index`, `schema.table` of a heap.
    pub name: Arc<str>,
    /// The unit is a clustered index.
    pub clustered: bool,
}

/// A page as its header says: unit, type, level.
pub type Header = (UnitId, Option<PageType>, u8);

/// Names of units, and pages that were asked for.
pub struct Units {
    storage: Arc<Database>,
    names: HashMap<UnitId, (Arc<str>, bool)>,
    unknown: Arc<str>,
    pages: HashMap<PageId, Header>,
}

impl Units {
    /// The units of a database as its catalog has them now.
    pub fn new(db: &Db, storage: Arc<Database>) -> Units {
        let mut names: HashMap<UnitId, (Arc<str>, bool)> = HashMap::new();
        for (i, table) in ALL.iter().enumerate() {
            let name = format!("sys.{table:?}").to_ascii_lowercase();
            names.insert(UnitId(i as u32 + 1), (name.into(), true));
        }
        debug_assert!((ALL.len() as i64) < FIRST_USER_UNIT);
        for table in db.catalog().by_id.values() {
            for index in table.stored_indexes() {
                let full = match index.index_id {
                    0 => table.full_name(),
                    _ => format!("{}.{}", table.full_name(), index.name),
                };
                names.insert(index.unit, (full.into(), index.index_id == 1));
            }
            for (_, unit, _) in table.outside() {
                let full = match table.storage.index_id {
                    0 => table.full_name(),
                    _ => format!("{}.{}", table.full_name(), table.storage.name),
                };
                names.insert(unit, (full.into(), false));
            }
        }
        Units { storage, names, unknown: "Unknown Alloc Unit".into(), pages: HashMap::new() }
    }

    /// A record formats a page.
    pub fn learn(&mut self, page: PageId, header: Header) {
        self.pages.insert(page, header);
    }

    /// What a page belongs to; nothing is known of a page that cannot be read.
    pub fn place(&mut self, page: PageId) -> Place {
        let storage = &self.storage;
        let (unit, kind, level) = *self.pages.entry(page).or_insert_with(|| {
            let header =
                storage.store().read_scan(page).map(|p| (p.unit(), p.page_type(), p.level()));
            header.unwrap_or((UnitId(0), None, 0))
        });
        let known = self.names.get(&unit).map(|(name, clustered)| (name.clone(), *clustered));
        let (name, clustered) = known.unwrap_or_else(|| (self.unknown.clone(), false));
        Place { unit, kind, level, name, clustered }
    }
}
