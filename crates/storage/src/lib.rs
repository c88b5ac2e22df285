//! Typed access to the storage of a table: heap or clustered index, nonclustered indexes, large
//! values. A [`TableStore`] is made once per table definition and kept by plans; it knows layouts,
//! key parts and locators.
//!
//! A row's *locator* is its RID in a heap, its whole clustered key (with the uniquifier) otherwise.
//! A nonclustered entry's key is the normalised key columns, followed by the locator unless the
//! index is unique; its value has what the key does not give back ([`entry`]). Included values that
//! do not fit are left to the base row.

pub mod entry;
pub mod keys;
pub mod left;
mod overflow;
pub mod row;
pub mod sample;
pub mod write;

use access::lob::LobSpace;
use access::{AccessError, BTree, Heap, IndexEntry, Rid};
use catalog::Db;
use catalog::errors;
use catalog::{IndexDef, TableDef};
use entry::{EntryColumns, EntryFormat};
use pages::{PageId, Unit, UnitId};
use std::any::Any;
use std::sync::{Arc, OnceLock};
use txn::TxnError;
use types::{ColumnType, Corrupt, KeyPart, SqlError, Value, encode_key_part, msg};

pub use row::{Pointers, RowPlace, fetch, fetch_beside};

/// How a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableMode {
    /// The statement's snapshot.
    Snapshot,
    /// NOLOCK: the newest version, committed or not.
    Dirty,
    /// The newest version, for rows that are to be changed.
    Current,
}

/// Where a table's rows are.
#[derive(Clone, Debug)]
pub enum Base {
    Heap(Heap),
    Tree(BTree),
}

/// A nonclustered index, opened.
#[derive(Debug)]
pub struct IndexStore {
    pub def: Arc<IndexDef>,
    pub tree: BTree,
    /// One per key column.
    pub parts: Vec<KeyPart>,
    /// What the entries are ordered by: the key, and the clustered key behind it unless the index
    /// is unique.
    pub order: Vec<(usize, bool)>,
    /// One for each column of the order.
    pub order_parts: Vec<KeyPart>,
    /// How entries are made and read.
    pub format: EntryFormat,
    /// Table positions of an entry's columns, without those of the locator: key columns, included
    /// columns.
    pub columns: Vec<usize>,
}

impl IndexStore {
    /// Whether a row has an entry.
    #[inline]
    pub fn admits(&self, values: &[Value]) -> bool {
        self.def.filter.as_ref().is_none_or(|filter| filter.admits(values))
    }

    /// Table positions of the columns of which a row's entry is made, and of those that say whether
    /// it has one.
    pub fn sources(&self) -> Vec<usize> {
        let mut all = self.columns.clone();
        all.extend(self.def.filter.iter().flat_map(|filter| filter.columns()));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Where an entry has a table column: by its number among the columns, or as one of the
    /// locator.
    pub fn position(&self, column: usize) -> Option<usize> {
        let own = self.columns.iter().position(|c| *c == column);
        own.or_else(|| self.format.located(column))
    }

    /// Whether an entry may be without the value of a table column that it has a place for: a value
    /// of an included column that does not fit is only in the base row.
    pub fn may_lack(&self, column: usize) -> bool {
        let own = self.columns.iter().position(|c| *c == column);
        own.is_some_and(|at| at >= self.def.key.len() && self.format.is_variable(at))
    }

    /// Columns of an entry, by the positions that [`IndexStore::position`] gives, into the first
    /// places of `out`.
    #[inline]
    pub fn decode(
        &self,
        entry: IndexEntry<'_>,
        wanted: &[u16],
        out: &mut [Value],
    ) -> Result<(), Corrupt> {
        self.format.decode(entry, wanted, out)
    }

    /// Where the row of an entry is.
    ///
    /// Errors: the entry is damaged.
    #[inline]
    pub fn locator<'e>(&self, entry: IndexEntry<'e>) -> Result<&'e [u8], Corrupt> {
        self.format.locator(entry).ok_or(Corrupt::Value { column: self.columns.len() })
    }
}

/// A table, opened.
#[derive(Debug)]
pub struct TableStore {
    pub table: Arc<TableDef>,
    pub base: Base,
    /// Key parts of the clustered index; empty for a heap.
    pub parts: Vec<KeyPart>,
    /// Those that are not disabled.
    pub indexes: Vec<IndexStore>,
    pub lob: Option<LobSpace>,
    /// Positions of MAX columns.
    pub lob_columns: Vec<usize>,
    /// Where values of other columns are that do not fit their rows, once somebody has opened it
    /// ([`TableStore::overflow_space`]).
    pub overflow: OnceLock<LobSpace>,
    /// Positions of the columns that may have them there.
    pub overflow_columns: Vec<usize>,
    /// Bytes of its largest row, values outside of the row not counted.
    pub longest_row: usize,
}

/// Which unit of a table is meant.
#[derive(Clone, Copy)]
enum TableUnit<'d> {
    Index(&'d IndexDef),
    /// Values outside the rows: unit, first IAM page.
    Outside(UnitId, PageId),
}

/// An open storage unit, kept with the table's state so that all plans share insertion points and
/// the like.
enum UnitHandle {
    Heap(Heap),
    Tree(BTree),
    Lob(LobSpace),
}

/// An error of rows and pages as the user sees it.
pub fn access_error(db: &Db, e: AccessError) -> SqlError {
    errors::db_error(db, &TxnError::from(e))
}

/// A row that does not decode.
pub fn corrupt_row(table: &TableDef, e: &Corrupt) -> SqlError {
    SqlError::of(msg::ROW_DAMAGED, [&table.name, &e])
}

impl TableStore {
    /// Opens a table. Errors: the database is not usable, a unit cannot be opened.
    pub fn open(db: &Arc<Db>, table: &Arc<TableDef>) -> Result<Arc<TableStore>, SqlError> {
        let base = match &*handle(
            db,
            table,
            TableUnit::Index(&table.storage),
            table.storage.index_id > 0,
        )? {
            UnitHandle::Heap(heap) => Base::Heap(heap.clone()),
            UnitHandle::Tree(tree) => Base::Tree(tree.clone()),
            UnitHandle::Lob(_) => {
                return Err(SqlError::internal("a table's unit holds large values"));
            }
        };
        let mut indexes = Vec::with_capacity(table.indexes.len());
        for def in table.indexes.iter().filter(|def| def.is_stored()) {
            indexes.push(open_index(db, table, def)?);
        }
        let lob_columns = table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, c)| c.ty.is_lob() && !c.is_virtual())
            .map(|(i, _)| i);
        let lob = table
            .lob
            .map(|(unit, first_iam)| open_outside(db, table, unit, first_iam))
            .transpose()?;
        let may_overflow = table.overflow.is_some();
        let movable =
            (0..table.columns.len()).filter(|c| may_overflow && table.may_move(*c)).collect();
        let parts =
            if table.storage.index_id > 0 { key_parts(table, &table.storage) } else { Vec::new() };
        Ok(Arc::new(TableStore {
            table: table.clone(),
            base,
            parts,
            indexes,
            lob,
            lob_columns: lob_columns.collect(),
            overflow: OnceLock::new(),
            overflow_columns: movable,
            longest_row: table.layout.max_row_size().min(types::row::MAX_ROW),
        }))
    }

    /// Whether rows may have values outside them, which are read after the row and freed by and by:
    /// who reads rows holds a snapshot then.
    #[inline]
    pub fn has_outside(&self) -> bool {
        self.lob.is_some() || self.table.overflow.is_some()
    }

    /// The clustered key of a row, without the uniquifier.
    pub fn clustered_key(&self, values: &[Value], out: &mut Vec<u8>) {
        for (part, (column, _)) in self.parts.iter().zip(&self.table.storage.key) {
            encode_key_part(&values[*column], part, out);
        }
    }

    /// The index that an index id means; `None` for the base.
    pub fn index(&self, index_id: i32) -> Option<&IndexStore> {
        self.indexes.iter().find(|i| i.def.index_id == index_id)
    }
}

/// Opens a unit of values outside the rows.
fn open_outside(
    db: &Db,
    table: &TableDef,
    unit: UnitId,
    first_iam: PageId,
) -> Result<LobSpace, SqlError> {
    match &*handle(db, table, TableUnit::Outside(unit, first_iam), false)? {
        UnitHandle::Lob(space) => Ok(space.clone()),
        _ => Err(SqlError::internal("a unit of values outside the rows holds rows")),
    }
}

/// Opens a nonclustered index.
pub fn open_index(
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    def: &Arc<IndexDef>,
) -> Result<IndexStore, SqlError> {
    let tree = match &*handle(db, table, TableUnit::Index(def), true)? {
        UnitHandle::Tree(tree) => tree.clone(),
        _ => return Err(SqlError::internal("an index is not a tree")),
    };
    let mut columns: Vec<usize> = def.key.iter().map(|(c, _)| *c).collect();
    columns.extend(def.included.iter().filter(|c| !def.key.iter().any(|(k, _)| k == *c)));
    let types: Vec<(usize, ColumnType)> =
        columns.iter().map(|c| (*c, column_type(table, *c))).collect();
    let order = table.entry_order(def);
    let parts = key_parts(table, def);
    let clustered: Vec<(usize, KeyPart)> =
        table.storage.key.iter().map(|column| (column.0, key_part(table, *column))).collect();
    let format = EntryFormat::new(EntryColumns {
        columns: &types,
        key: &parts,
        clustered: (table.storage.index_id > 0).then_some(clustered.as_slice()),
        unique: def.unique,
    });
    Ok(IndexStore {
        def: def.clone(),
        tree,
        parts,
        order_parts: order.iter().map(|column| key_part(table, *column)).collect(),
        order,
        format,
        columns,
    })
}

fn column_type(table: &TableDef, column: usize) -> ColumnType {
    let c = &table.columns[column];
    ColumnType { ty: c.ty, nullable: c.nullable, collation: c.collation }
}

/// The parts of an index's key.
pub(crate) fn key_parts(table: &TableDef, index: &IndexDef) -> Vec<KeyPart> {
    index.key.iter().map(|column| key_part(table, *column)).collect()
}

fn key_part(table: &TableDef, (column, descending): (usize, bool)) -> KeyPart {
    let c = &table.columns[column];
    KeyPart { ty: c.ty, descending, collation: c.collation }
}

/// Whether the current definition of a table still has a unit, under this name and with this root.
fn names_unit(db: &Db, table: &TableDef, unit: UnitId, first_iam: PageId, root: PageId) -> bool {
    let catalog = db.catalog();
    catalog.by_id.get(&table.object_id).is_some_and(|t| {
        t.all_indexes().any(|i| (i.unit, i.first_iam, i.root) == (unit, first_iam, root))
            || t.outside().any(|(_, other, iam)| (other, iam) == (unit, first_iam))
    })
}

/// The shared handle of a unit.
fn handle(
    db: &Db,
    table: &TableDef,
    place: TableUnit<'_>,
    tree: bool,
) -> Result<Arc<UnitHandle>, SqlError> {
    // Unit numbers are never used twice, so a handle can be kept under its unit's; only the root
    // may move.
    let (unit, first_iam, root) = match place {
        TableUnit::Index(index) => (index.unit, index.first_iam, index.root),
        TableUnit::Outside(unit, first_iam) => (unit, first_iam, PageId::NONE),
    };
    let key = (unit, root);
    let mut handles = table.state.handles.lock();
    if let Some(known) = handles.get(&key)
        && let Ok(known) = known.clone().downcast::<UnitHandle>()
    {
        return Ok(known);
    }
    let storage = db.storage()?;
    let store = storage.store().clone();
    let named = || names_unit(db, table, unit, first_iam, root);
    let open = match store.open_unit(first_iam) {
        Ok(open) if open.id() == unit => open,
        // Dropped and freed, or given to another table, since the catalog was read: that is no
        // damage.
        _ if !named() => return Err(errors::schema_changed()),
        Ok(_) => return Err(SqlError::internal("a unit has another number than its table says")),
        Err(e) => return Err(errors::db_error(db, &e.into())),
    };
    // The thread that moves the heads settles that itself, and first opens the table as it is: a
    // copy is no root before.
    let moving = open.is_moving();
    if !moving && open.first_iam() != first_iam && named() {
        // Undo has opened it by the head of its chain.
        store.rename_unit(&open, first_iam).map_err(|e| errors::db_error(db, &e.into()))?;
    }
    let mut settled = !moving;
    let made = Arc::new(match place {
        TableUnit::Index(_) if tree => {
            let tree = BTree::open(store, open.clone(), root);
            if !moving {
                settled = settle_root(db, &tree, &open, &named)?;
            }
            UnitHandle::Tree(tree)
        }
        TableUnit::Index(_) => UnitHandle::Heap(Heap::new(store, open)),
        TableUnit::Outside(..) => UnitHandle::Lob(LobSpace::new(store, open)),
    });
    // Now ghost cleanup may know the unit.
    storage
        .open_unit(first_iam)
        .map_err(|e| if named() { errors::db_error(db, &e) } else { errors::schema_changed() })?;
    if settled {
        handles.insert(key, made.clone() as Arc<dyn Any + Send + Sync>);
    }
    Ok(made)
}

/// A crash may have come between the commit that names another root and the end of the old one:
/// that goes now, except in a read-only database (false), where the copy serves as it is. Nobody
/// may be moving the root.
///
/// Errors: [`errors::SCHEMA_CHANGED`] the root has moved since the catalog was read; its old page
/// may be a node now, and would look like a copy of the root.
fn settle_root(
    db: &Db,
    tree: &BTree,
    unit: &Unit,
    named: &dyn Fn() -> bool,
) -> Result<bool, SqlError> {
    let known = unit.root();
    if !known.is_none() && known != tree.root() {
        return Err(errors::schema_changed());
    }
    let settled = tree.root_is_copy().and_then(|copy| match copy {
        false => Ok(true),
        true if db.check_writable().is_ok() && named() => tree.settle_root().map(|()| true),
        true => Ok(false),
    });
    match settled {
        Err(_) | Ok(false) if !named() => Err(errors::schema_changed()),
        Err(e) => Err(access_error(db, e)),
        Ok(settled) => {
            unit.note_root(tree.root());
            Ok(settled)
        }
    }
}

/// A RID as a value that flows through plans.
pub fn rid_value(rid: Rid) -> Value {
    Value::BigInt(i64::from_le_bytes(rid.to_bytes()))
}

/// The RID in a locator value.
pub fn value_rid(value: &Value) -> Option<Rid> {
    match value {
        Value::BigInt(n) => Some(Rid::from_bytes(n.to_le_bytes())),
        _ => None,
    }
}
