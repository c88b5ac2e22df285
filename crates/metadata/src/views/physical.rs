//! Pages of tables and indexes: sys.dm_db_index_physical_stats, dm_db_database_page_allocations,
//! dm_db_page_info. Guarantee: what is told of a page is what its header says at that moment.
//! Structures that are changed meanwhile are told page by page.

use std::sync::Arc;

use pages::{PFS_ALLOCATED, PFS_IAM, PFS_LEVEL, PageId, PageType};
use types::{DataType, Len, SqlError, Value, msg};

use super::{NVARCHAR60, Rows, SystemView, View, ViewColumn, big, bit, databases_of, int, text};
use catalog::{Db, IndexDef, TableDef, UnitKind};
use session::state::SessionCore;

use DataType::{BigInt, Bit, Float, Int, NVarChar, SmallInt, TinyInt};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[&PHYSICAL, &ALLOCATIONS, &PAGE_INFO];

/// Bytes of a page behind its header.
const BODY: f64 = 8096.0;

/// A unit of pages.
struct Part {
    table: Arc<TableDef>,
    index: Arc<IndexDef>,
    first_iam: PageId,
    kind: UnitKind,
}

impl Part {
    /// Values outside the rows, whose pages have no order.
    fn is_outside(&self) -> bool {
        self.kind != UnitKind::InRow
    }
}

/// An optional number: NULL, 0 and -1 mean all.
fn number(args: &[Value], at: usize) -> Option<i64> {
    args.get(at).and_then(Value::as_i64).filter(|n| *n > 0)
}

/// The units of the indexes that are asked for. An index_id may be 0, the heap's.
fn parts(db: &Db, object: Option<i64>, index: Option<i64>) -> Vec<Part> {
    let catalog = db.catalog();
    let mut list = Vec::new();
    for table in catalog
        .stored()
        .into_iter()
        .filter(|t| object.is_none_or(|id| id == i64::from(t.shown_id())))
    {
        for own in
            table.stored_indexes().filter(|i| index.is_none_or(|id| id == i64::from(i.index_id)))
        {
            let part = |first_iam, kind| Part {
                table: table.clone(),
                index: own.clone(),
                first_iam,
                kind,
            };
            list.push(part(own.first_iam, UnitKind::InRow));
            let outside = table.outside().filter(|_| own.index_id < 2);
            list.extend(outside.map(|(kind, _, first_iam)| part(first_iam, kind)));
        }
    }
    list
}

fn failed(db: &Arc<Db>, error: pages::PageError) -> SqlError {
    catalog::errors::db_error(db, &txn::TxnError::from(error))
}

/// The pages of a unit's extents in order, each with its PFS byte.
fn pages_of(db: &Arc<Db>, first_iam: PageId) -> Result<Vec<(PageId, u8)>, SqlError> {
    let storage = db.storage()?;
    let store = storage.store();
    let read = || {
        let unit = store.open_unit(first_iam)?;
        let mut extents = unit.extents();
        extents.sort();
        let mut list = Vec::with_capacity(extents.len() * 8);
        for page in extents.iter().flat_map(|extent| extent.pages()) {
            list.push((page, store.pfs_byte(page)?));
        }
        Ok(list)
    };
    read().map_err(|e| failed(db, e))
}

/// What the header of a page says.
#[derive(Clone, Copy)]
struct Head {
    id: PageId,
    next: PageId,
    slots: u64,
    ghosts: u64,
    free: usize,
}

/// One level of an index, or all pages of a heap or of large values.
#[derive(Default)]
struct Level {
    pages: Vec<Head>,
    least: Option<usize>,
    greatest: usize,
    bytes: u64,
    forwarded: u64,
}

/// Reads the pages of a unit by their levels. `rows`: also the sizes of their rows.
fn levels(db: &Arc<Db>, part: &Part, rows: bool) -> Result<Vec<Level>, SqlError> {
    let storage = db.storage()?;
    let store = storage.store();
    let mut levels: Vec<Level> = Vec::new();
    for (id, byte) in pages_of(db, part.first_iam)? {
        if byte & PFS_ALLOCATED == 0 || byte & PFS_IAM != 0 {
            continue;
        }
        let page = store.read_scan(id).map_err(|e| failed(db, e))?;
        let at = usize::from(page.level());
        if levels.len() <= at {
            levels.resize_with(at + 1, Level::default);
        }
        let level = &mut levels[at];
        if rows {
            for slot in 0..page.slot_count() {
                let Ok(bytes) = page.slot(slot) else { continue };
                level.least = Some(level.least.map_or(bytes.len(), |least| least.min(bytes.len())));
                level.greatest = level.greatest.max(bytes.len());
                level.bytes += bytes.len() as u64;
                let stub = part.index.index_id == 0 && !part.is_outside();
                let forwards = stub
                    && matches!(page.row(slot), Ok(Some((head, _))) if head.flags & pages::FORWARD != 0);
                level.forwarded += u64::from(forwards);
            }
        }
        level.pages.push(Head {
            id,
            next: page.next(),
            slots: page.slot_count().into(),
            ghosts: page.ghost_count().into(),
            free: page.free_bytes(),
        });
    }
    Ok(levels)
}

const PHYSICAL_COLUMNS: &[ViewColumn] = &[
    ("database_id", SmallInt, true),
    ("object_id", Int, true),
    ("index_id", Int, true),
    ("partition_number", Int, true),
    ("index_type_desc", NVARCHAR60, true),
    ("alloc_unit_type_desc", NVARCHAR60, true),
    ("index_depth", TinyInt, true),
    ("index_level", TinyInt, true),
    ("avg_fragmentation_in_percent", Float, true),
    ("fragment_count", BigInt, true),
    ("avg_fragment_size_in_pages", Float, true),
    ("page_count", BigInt, true),
    ("avg_page_space_used_in_percent", Float, true),
    ("record_count", BigInt, true),
    ("ghost_record_count", BigInt, true),
    ("version_ghost_record_count", BigInt, true),
    ("min_record_size_in_bytes", Int, true),
    ("max_record_size_in_bytes", Int, true),
    ("avg_record_size_in_bytes", Float, true),
    ("forwarded_record_count", BigInt, true),
    ("compressed_page_count", BigInt, true),
    ("hobt_id", BigInt, false),
    ("columnstore_delete_buffer_state", TinyInt, true),
    ("columnstore_delete_buffer_state_desc", NVARCHAR60, true),
    ("version_record_count", BigInt, true),
    ("inrow_version_record_count", BigInt, true),
    ("inrow_diff_version_record_count", BigInt, true),
    ("total_inrow_version_payload_size_in_bytes", BigInt, true),
    ("offrow_regular_version_record_count", BigInt, true),
    ("offrow_long_term_version_record_count", BigInt, true),
];

/// sys.dm_db_index_physical_stats(database, object, index, partition, mode).
static PHYSICAL: View = View::function("dm_db_index_physical_stats", 5, PHYSICAL_COLUMNS, physical);

fn physical(session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> Rows {
    let mode = args.get(4).and_then(Value::as_str).unwrap_or("LIMITED").to_ascii_uppercase();
    if !["LIMITED", "SAMPLED", "DETAILED", "DEFAULT", ""].contains(&mode.as_str()) {
        return Err(SqlError::of(
            msg::INVALID_PARAMETER_OF_PROCEDURE,
            [&"sys.dm_db_index_physical_stats"],
        ));
    }
    let index = args.get(2).and_then(Value::as_i64).filter(|n| *n >= 0);
    let mut rows = Vec::new();
    if number(args, 3).is_some_and(|partition| partition > 1) {
        return Ok(rows);
    }
    for db in databases_of(session, args.first().filter(|id| number(&[(*id).clone()], 0).is_some()))
    {
        for part in parts(&db, number(args, 1), index) {
            let sizes = mode == "SAMPLED" || mode == "DETAILED";
            let levels = levels(&db, &part, sizes)?;
            let depth = levels.len().max(1);
            for (at, level) in levels.iter().enumerate() {
                if at == 0 || mode == "DETAILED" {
                    rows.push(physical_row(&db, &part, (at, depth), level, sizes));
                }
            }
        }
    }
    Ok(rows)
}

fn physical_row(
    db: &Db,
    part: &Part,
    (at, depth): (usize, usize),
    level: &Level,
    sizes: bool,
) -> Vec<Value> {
    let pages = level.pages.len();
    let is_heap = part.index.index_id == 0 || part.is_outside();
    // A page whose right neighbour in the index is not the next one of the index on disk is out of
    // order.
    let out_of_order = level.pages.windows(2).filter(|two| two[0].next != two[1].id).count();
    // A fragment is a run of pages that lie side by side.
    let breaks = level.pages.windows(2).filter(|two| {
        let (a, b) = (two[0].id, two[1].id);
        a.file != b.file || a.page + 1 != b.page || (!is_heap && two[0].next != b)
    });
    let fragments = if pages == 0 { 0 } else { breaks.count() + 1 };
    let share = |n: usize| if pages == 0 { 0.0 } else { n as f64 * 100.0 / pages as f64 };
    // Of a heap it is the share of extents that do not follow the one before.
    let fragmentation = if is_heap {
        if fragments > 1 { share(fragments - 1) } else { 0.0 }
    } else {
        share(out_of_order)
    };
    let slots: u64 = level.pages.iter().map(|page| page.slots).sum();
    let ghosts: u64 = level.pages.iter().map(|page| page.ghosts).sum();
    let used: f64 = level.pages.iter().map(|page| BODY - page.free as f64).sum();
    let shown = |value: Value| if sizes { value } else { Value::Null };
    PHYSICAL_COLUMNS
        .iter()
        .map(|(name, _, _)| match *name {
            "database_id" => Value::SmallInt(db.id() as i16),
            "object_id" => Value::Int(part.table.object_id),
            "index_id" => Value::Int(part.index.index_id),
            "partition_number" => Value::Int(1),
            "index_type_desc" => text(match part.index.index_id {
                0 => "HEAP",
                1 => "CLUSTERED INDEX",
                _ => "NONCLUSTERED INDEX",
            }),
            "alloc_unit_type_desc" => text(part.kind.name()),
            "index_depth" => Value::TinyInt(if is_heap { 1 } else { depth as u8 }),
            "index_level" => Value::TinyInt(at as u8),
            "avg_fragmentation_in_percent" if part.is_outside() => Value::Null,
            "avg_fragmentation_in_percent" => Value::Float(fragmentation),
            "fragment_count" | "avg_fragment_size_in_pages" if part.is_outside() => Value::Null,
            "fragment_count" => big(fragments as u64),
            "avg_fragment_size_in_pages" if fragments == 0 => Value::Null,
            "avg_fragment_size_in_pages" => Value::Float(pages as f64 / fragments as f64),
            "page_count" => big(pages as u64),
            "avg_page_space_used_in_percent" => shown(Value::Float(if pages == 0 {
                0.0
            } else {
                used * 100.0 / (pages as f64 * BODY)
            })),
            "record_count" => shown(big(slots.saturating_sub(ghosts))),
            "ghost_record_count" => shown(big(ghosts)),
            "version_ghost_record_count" => shown(big(0)),
            "min_record_size_in_bytes" => shown(int(level.least.unwrap_or(0) as u64)),
            "max_record_size_in_bytes" => shown(int(level.greatest as u64)),
            "avg_record_size_in_bytes" => shown(Value::Float(if slots == 0 {
                0.0
            } else {
                level.bytes as f64 / slots as f64
            })),
            "forwarded_record_count" if part.index.index_id == 0 && !part.is_outside() => {
                shown(big(level.forwarded))
            }
            "compressed_page_count" => shown(big(0)),
            "hobt_id" => super::partitions::partition_id(&part.index),
            _ => Value::Null,
        })
        .collect()
}

const ALLOCATION_COLUMNS: &[ViewColumn] = &[
    ("database_id", SmallInt, true),
    ("object_id", Int, true),
    ("index_id", Int, true),
    ("partition_id", Int, true),
    ("rowset_id", BigInt, true),
    ("allocation_unit_id", BigInt, true),
    ("allocation_unit_type", Int, true),
    ("allocation_unit_type_desc", NVARCHAR60, true),
    ("data_clone_id", Int, true),
    ("clone_state", Int, true),
    ("clone_state_desc", NVARCHAR60, true),
    ("extent_file_id", SmallInt, true),
    ("extent_page_id", Int, true),
    ("allocated_page_iam_file_id", SmallInt, true),
    ("allocated_page_iam_page_id", Int, true),
    ("allocated_page_file_id", SmallInt, true),
    ("allocated_page_page_id", Int, true),
    ("is_allocated", Bit, true),
    ("is_iam_page", Bit, true),
    ("is_mixed_page_allocation", Bit, true),
    ("page_free_space_percent", Int, true),
    ("page_type", Int, true),
    ("page_type_desc", NVARCHAR60, true),
    ("page_level", Int, true),
    ("next_page_file_id", SmallInt, true),
    ("next_page_page_id", Int, true),
    ("previous_page_file_id", SmallInt, true),
    ("previous_page_page_id", Int, true),
    ("is_page_compressed", Bit, true),
    ("has_ghost_records", Bit, true),
];

/// sys.dm_db_database_page_allocations(database, object, index, partition, mode): the pages of the
/// extents of objects. DETAILED reads their headers too.
static ALLOCATIONS: View =
    View::function("dm_db_database_page_allocations", 5, ALLOCATION_COLUMNS, allocations);

fn allocations(session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> Rows {
    let detailed = args
        .get(4)
        .and_then(Value::as_str)
        .is_some_and(|mode| mode.eq_ignore_ascii_case("DETAILED"));
    let index = args.get(2).and_then(Value::as_i64).filter(|n| *n >= 0);
    let mut rows = Vec::new();
    for db in databases_of(session, args.first().filter(|id| number(&[(*id).clone()], 0).is_some()))
    {
        for part in parts(&db, number(args, 1), index) {
            for (id, byte) in pages_of(&db, part.first_iam)? {
                rows.push(allocation_row(&db, &part, id, byte, detailed)?);
            }
        }
    }
    Ok(rows)
}

fn allocation_row(
    db: &Arc<Db>,
    part: &Part,
    id: PageId,
    byte: u8,
    detailed: bool,
) -> Result<Vec<Value>, SqlError> {
    let storage = db.storage()?;
    let (allocated, iam) = (byte & PFS_ALLOCATED != 0, byte & PFS_IAM != 0);
    let page = if detailed && allocated {
        Some(storage.store().read_scan(id).map_err(|e| failed(db, e))?)
    } else {
        None
    };
    let page = page.as_deref();
    let place = |id: Option<PageId>, file: bool| match id.filter(|id| !id.is_none()) {
        Some(id) if file => Value::SmallInt(id.file as i16),
        Some(id) => int(id.page.into()),
        None => Value::Null,
    };
    let row = ALLOCATION_COLUMNS.iter().map(|(name, _, _)| match *name {
        "database_id" => Value::SmallInt(db.id() as i16),
        "object_id" => Value::Int(part.table.object_id),
        "index_id" => Value::Int(part.index.index_id),
        "partition_id" => Value::Int(1),
        "rowset_id" => super::partitions::partition_id(&part.index),
        "allocation_unit_type" => Value::Int(part.kind.number().into()),
        "allocation_unit_type_desc" => text(part.kind.name()),
        "extent_file_id" => Value::SmallInt(id.file as i16),
        "extent_page_id" => int(u64::from(id.page / 8 * 8)),
        "allocated_page_iam_file_id" => place(Some(part.first_iam), true),
        "allocated_page_iam_page_id" => place(Some(part.first_iam), false),
        "allocated_page_file_id" => Value::SmallInt(id.file as i16),
        "allocated_page_page_id" => int(id.page.into()),
        "is_allocated" => bit(allocated),
        "is_iam_page" => bit(iam),
        "is_mixed_page_allocation" | "is_page_compressed" => bit(false),
        "page_free_space_percent" => Value::Int(fullness(byte)),
        "page_type" => page.map_or(Value::Null, |page| Value::Int(page.raw_type().into())),
        "page_type_desc" => page.map_or(Value::Null, |page| text(kind_of(page.page_type()))),
        "page_level" => page.map_or(Value::Null, |page| Value::Int(page.level().into())),
        "next_page_file_id" => place(page.map(|page| page.next()), true),
        "next_page_page_id" => place(page.map(|page| page.next()), false),
        "previous_page_file_id" => place(page.map(|page| page.prev()), true),
        "previous_page_page_id" => place(page.map(|page| page.prev()), false),
        "has_ghost_records" => page.map_or(Value::Null, |page| bit(page.ghost_count() > 0)),
        _ => Value::Null,
    });
    Ok(row.collect())
}

/// The class of fullness in percent.
fn fullness(byte: u8) -> i32 {
    [0, 50, 80, 95, 100].get(usize::from(byte & PFS_LEVEL)).copied().unwrap_or(100)
}

pub(super) fn kind_of(kind: Option<PageType>) -> &'static str {
    match kind {
        Some(PageType::Data) => "DATA_PAGE",
        Some(PageType::Index) => "INDEX_PAGE",
        Some(PageType::Lob) => "TEXT_MIX_PAGE",
        Some(PageType::Gam) => "GAM_PAGE",
        Some(PageType::Iam) => "IAM_PAGE",
        Some(PageType::Pfs) => "PFS_PAGE",
        Some(PageType::Boot) => "BOOT_PAGE",
        Some(PageType::FileHeader) => "FILEHEADER_PAGE",
        Some(PageType::Doublewrite) => "DOUBLEWRITE_PAGE",
        None => "UNUSED_PAGE",
    }
}

const PAGE_COLUMNS: &[ViewColumn] = &[
    ("database_id", Int, false),
    ("file_id", Int, false),
    ("page_id", Int, false),
    ("page_header_version", Int, true),
    ("page_type", Int, true),
    ("page_type_desc", NVarChar(Len::N(64)), true),
    ("page_type_flag_bits", NVarChar(Len::N(64)), true),
    ("page_type_flag_bits_desc", NVarChar(Len::N(64)), true),
    ("page_flag_bits", NVarChar(Len::N(64)), true),
    ("page_flag_bits_desc", NVarChar(Len::N(256)), true),
    ("page_lsn", NVarChar(Len::N(64)), true),
    ("page_level", Int, true),
    ("object_id", Int, true),
    ("index_id", Int, true),
    ("partition_id", BigInt, true),
    ("alloc_unit_id", BigInt, true),
    ("is_encrypted", Bit, true),
    ("has_checksum", Bit, true),
    ("checksum", Int, true),
    ("is_iam_pg", Bit, true),
    ("is_mixed_ext", Bit, true),
    ("has_ghost_records", Bit, true),
    ("has_version_records", Bit, true),
    ("pfs_page_id", Int, true),
    ("pfs_is_allocated", Bit, true),
    ("pfs_alloc_percent", Int, true),
    ("pfs_status", NVarChar(Len::N(64)), true),
    ("pfs_status_desc", NVarChar(Len::N(64)), true),
    ("gam_page_id", Int, true),
    ("gam_status", Bit, true),
    ("gam_status_desc", NVarChar(Len::N(64)), true),
    ("sgam_page_id", Int, true),
    ("sgam_status", Bit, true),
    ("sgam_status_desc", NVarChar(Len::N(64)), true),
    ("diff_map_page_id", Int, true),
    ("diff_status", Bit, true),
    ("diff_status_desc", NVarChar(Len::N(64)), true),
    ("ml_map_page_id", Int, true),
    ("ml_status", Bit, true),
    ("ml_status_desc", NVarChar(Len::N(64)), true),
    ("prev_page_file_id", SmallInt, true),
    ("prev_page_page_id", Int, true),
    ("next_page_file_id", SmallInt, true),
    ("next_page_page_id", Int, true),
    ("fixed_length", SmallInt, true),
    ("slot_count", SmallInt, true),
    ("ghost_rec_count", SmallInt, true),
    ("free_bytes", SmallInt, true),
    ("free_bytes_offset", Int, true),
    ("reserved_bytes", SmallInt, true),
    ("reserved_bytes_by_xdes_id", SmallInt, true),
    ("xdes_id", NVarChar(Len::N(64)), true),
];

/// sys.dm_db_page_info(database, file, page, mode). DETAILED tells its type in words too.
static PAGE_INFO: View = View::function("dm_db_page_info", 4, PAGE_COLUMNS, page_info);

fn page_info(session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> Rows {
    let db = match args.first().and_then(Value::as_i64) {
        None => db.clone(),
        Some(id) => match i32::try_from(id).ok().and_then(|id| session.host().db_by_id(id)) {
            Some(db) => db,
            None => return Ok(Vec::new()),
        },
    };
    let (file, page) = (args.get(1).and_then(Value::as_i64), args.get(2).and_then(Value::as_i64));
    let file = file.and_then(|n| u16::try_from(n).ok());
    let (Some(file), Some(page)) = (file, page.and_then(|n| u32::try_from(n).ok())) else {
        return Ok(Vec::new());
    };
    let mode = args.get(3).and_then(Value::as_str).unwrap_or("LIMITED");
    let detailed = mode.eq_ignore_ascii_case("DETAILED");
    let id = PageId::new(file, page);
    let storage = db.storage()?;
    let store = storage.store();
    if !store.files().iter().any(|f| f.spec.id == file && page < f.pages) {
        return Ok(Vec::new());
    }
    let byte = store.pfs_byte(id).map_err(|e| failed(&db, e))?;
    let page = store.read(id).map_err(|e| failed(&db, e))?;
    let owner = parts(&db, None, None).into_iter().find(|part| {
        let outside =
            part.table.outside().find(|(kind, _, _)| *kind == part.kind).map(|(_, unit, _)| unit);
        outside.unwrap_or(part.index.unit) == page.unit()
    });
    let pfs = id.pfs_page();
    let kind = page.page_type();
    let words = |value: String| if detailed { text(value) } else { Value::Null };
    let row = PAGE_COLUMNS.iter().map(|(name, _, _)| match *name {
        "database_id" => Value::Int(db.id()),
        "file_id" => Value::Int(file.into()),
        "page_id" => int(id.page.into()),
        "page_header_version" => Value::Int(1),
        "page_type" => Value::Int(page.raw_type().into()),
        "page_type_desc" => words(kind_of(kind).to_owned()),
        "page_lsn" => text(page.lsn().to_string()),
        "page_level" => Value::Int(page.level().into()),
        "object_id" => owner.as_ref().map_or(Value::Null, |part| Value::Int(part.table.object_id)),
        "index_id" => owner.as_ref().map_or(Value::Null, |part| Value::Int(part.index.index_id)),
        "partition_id" => {
            owner.as_ref().map_or(Value::Null, |part| super::partitions::partition_id(&part.index))
        }
        "is_encrypted" | "is_mixed_ext" => bit(false),
        "has_checksum" => bit(page.stored_checksum() != 0),
        "checksum" => Value::Int(page.stored_checksum() as i32),
        "is_iam_pg" => bit(byte & PFS_IAM != 0),
        "has_ghost_records" => bit(page.ghost_count() > 0),
        "has_version_records" => bit(page.is_versioned()),
        "pfs_page_id" => int(pfs.page.into()),
        "pfs_is_allocated" => bit(byte & PFS_ALLOCATED != 0),
        "pfs_alloc_percent" => Value::Int(fullness(byte)),
        "pfs_status" => text(format!("0x{byte:02x}")),
        "pfs_status_desc" => words(format!(
            "{} {}_PCT_FULL",
            if byte & PFS_ALLOCATED != 0 { "ALLOCATED" } else { "NOT_ALLOCATED" },
            fullness(byte)
        )),
        "prev_page_file_id" => Value::SmallInt(page.prev().file as i16),
        "prev_page_page_id" => int(page.prev().page.into()),
        "next_page_file_id" => Value::SmallInt(page.next().file as i16),
        "next_page_page_id" => int(page.next().page.into()),
        "slot_count" if kind.is_some_and(PageType::is_slotted) => {
            Value::SmallInt(page.slot_count() as i16)
        }
        "ghost_rec_count" if kind.is_some_and(PageType::is_slotted) => {
            Value::SmallInt(page.ghost_count() as i16)
        }
        "free_bytes" if kind.is_some_and(PageType::is_slotted) => {
            Value::SmallInt(page.free_bytes() as i16)
        }
        _ => Value::Null,
    });
    Ok(vec![row.collect()])
}
