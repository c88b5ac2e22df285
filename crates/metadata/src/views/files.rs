//! Files and their space: sys.database_files, sys.master_files, sys.filegroups,
//! sys.dm_io_virtual_file_stats, and what sp_spaceused needs.

use std::sync::Arc;

use disk::StatsSnapshot;
use pages::{FileGrowth, PAGE_SIZE};
use types::{DataType, Len, SqlError, Value};

use super::{
    LSN_NUMERIC, NVARCHAR60, SYSNAME, View, ViewColumn, ViewResult, big, bit, databases_of, int,
    text,
};
use catalog::Db;
use catalog::GrowthSetting;
use catalog::TableDef;
use catalog::errors;
use catalog::registry::FileEntry;
use instance::OfInstance;
use session::state::SessionCore;

use DataType::{BigInt, Bit, Char, DateTime, Int, SmallInt, TinyInt, UniqueIdentifier, VarBinary};

const PATH: DataType = DataType::NVarChar(Len::N(260));
/// 2 TB in pages: what max_size shows for a log without a limit.
const MAX_LOG_PAGES: i32 = 268_435_456;

macro_rules! file_columns {
    ($($first:expr),*) => {
        &[
            $($first,)*
            ("file_id", Int, false),
            ("file_guid", UniqueIdentifier, true),
            ("type", TinyInt, false),
            ("type_desc", NVARCHAR60, true),
            ("data_space_id", Int, false),
            ("name", SYSNAME, false),
            ("physical_name", PATH, true),
            ("state", TinyInt, true),
            ("state_desc", NVARCHAR60, true),
            ("size", Int, false),
            ("max_size", Int, false),
            ("growth", Int, false),
            ("is_media_read_only", Bit, false),
            ("is_read_only", Bit, false),
            ("is_sparse", Bit, false),
            ("is_percent_growth", Bit, false),
            ("is_name_reserved", Bit, false),
            ("create_lsn", LSN_NUMERIC, true),
            ("drop_lsn", LSN_NUMERIC, true),
            ("read_only_lsn", LSN_NUMERIC, true),
            ("read_write_lsn", LSN_NUMERIC, true),
            ("differential_base_lsn", LSN_NUMERIC, true),
            ("differential_base_guid", UniqueIdentifier, true),
            ("differential_base_time", DateTime, true),
            ("redo_start_lsn", LSN_NUMERIC, true),
            ("redo_start_fork_guid", UniqueIdentifier, true),
            ("redo_target_lsn", LSN_NUMERIC, true),
            ("redo_target_fork_guid", UniqueIdentifier, true),
            ("backup_lsn", LSN_NUMERIC, true),
        ]
    };
}

const FILES: &[ViewColumn] = file_columns!();
const ALL_FILES: &[ViewColumn] = file_columns!(("database_id", Int, false));

/// sys.database_files.
pub(crate) static DATABASE_FILES: View = View::sys("database_files", FILES, |_, db, _| {
    Ok(db.entry().files.iter().map(|file| file_row(db, file)).collect())
});

/// sys.master_files.
pub(crate) static MASTER_FILES: View = View::sys("master_files", ALL_FILES, |session, _, _| {
    let mut rows = Vec::new();
    for db in session.host().databases() {
        let mut entry = db.entry();
        // As the catalogue has them, which a file that was told to be elsewhere follows at the next
        // start.
        entry.take_next_places();
        for file in &entry.files {
            let mut row = vec![Value::Int(db.id())];
            row.extend(file_row(&db, file));
            rows.push(row);
        }
    }
    Ok(rows)
});

fn pages_of(bytes: u64) -> u64 {
    bytes / PAGE_SIZE as u64
}

/// Size, max_size, growth in pages or percent, whether growth is a percentage.
fn sizes(db: &Db, file: &FileEntry) -> (u64, i32, i32, bool) {
    let Some(storage) = db.storage_if_open() else { return (0, -1, 0, false) };
    let limit = |max: Option<u64>, none: i32| {
        max.map_or(none, |bytes| i32::try_from(pages_of(bytes)).unwrap_or(i32::MAX))
    };
    let step = |bytes: u64| i32::try_from(pages_of(bytes)).unwrap_or(i32::MAX);
    if file.log {
        let settings = db.settings();
        let (growth, percent) = match settings.log_growth {
            GrowthSetting::Bytes(n) => (step(n), false),
            GrowthSetting::Percent(p) => (i32::try_from(p).unwrap_or(i32::MAX), true),
        };
        let size = pages_of(storage.log().space().size);
        return (size, limit(settings.log_max_size, MAX_LOG_PAGES), growth, percent);
    }
    let info = storage.store().files().into_iter().find(|f| f.spec.id == file.file_id);
    let Some(info) = info else { return (0, -1, 0, false) };
    let (growth, percent) = match info.spec.growth {
        FileGrowth::None => (0, false),
        FileGrowth::Bytes(n) => (step(n), false),
        FileGrowth::Percent(p) => (i32::try_from(p).unwrap_or(i32::MAX), true),
    };
    (info.pages.into(), limit(info.spec.max_size, -1), growth, percent)
}

fn file_row(db: &Arc<Db>, file: &FileEntry) -> Vec<Value> {
    let (size, max_size, growth, percent) = sizes(db, file);
    let state = db.status();
    let mut row = vec![
        Value::Int(file.file_id.into()),
        Value::Null,
        Value::TinyInt(file.log.into()),
        text(if file.log { "LOG" } else { "ROWS" }),
        Value::Int(file.filegroup.into()),
        Value::Str(file.name.clone()),
        Value::Str(file.shown.clone()),
        Value::TinyInt(state as u8),
        text(state.name()),
        int(size),
        Value::Int(max_size),
        Value::Int(growth),
        bit(false),
        bit(db.settings().read_only),
        bit(false),
        bit(percent),
        bit(false),
    ];
    row.resize(FILES.len(), Value::Null);
    row
}

const GROUP_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("data_space_id", Int, false),
    ("type", Char(2), false),
    ("type_desc", NVARCHAR60, true),
    ("is_default", Bit, true),
    ("is_system", Bit, true),
    ("filegroup_guid", UniqueIdentifier, true),
    ("log_filegroup_id", Int, true),
    ("is_read_only", Bit, true),
    ("is_autogrow_all_files", Bit, true),
];

/// A filegroup.
pub struct Group {
    /// data_space_id, from 1.
    pub id: i32,
    pub name: compact_str::CompactString,
    pub is_default: bool,
}

/// The filegroups of a database.
pub fn groups(db: &Arc<Db>) -> Vec<Group> {
    let default = i32::from(db.settings().default_filegroup);
    let entry = db.entry();
    let groups = entry.filegroups.iter().enumerate();
    let group = |(i, name): (usize, &compact_str::CompactString)| {
        let id = i as i32 + 1;
        Group { id, name: name.clone(), is_default: id == default }
    };
    groups.map(group).collect()
}

fn group_rows(db: &Arc<Db>) -> Vec<Vec<Value>> {
    let row = |group: Group| {
        vec![
            Value::Str(group.name),
            Value::Int(group.id),
            text("FG"),
            text("ROWS_FILEGROUP"),
            bit(group.is_default),
            bit(false),
            Value::Null,
            Value::Null,
            bit(false),
            bit(false),
        ]
    };
    groups(db).into_iter().map(row).collect()
}

/// sys.filegroups.
pub(crate) static FILEGROUPS: View =
    View::sys("filegroups", GROUP_COLUMNS, |_, db, _| Ok(group_rows(db)));

/// sys.data_spaces.
pub(crate) static DATA_SPACES: View =
    View::sys("data_spaces", GROUP_COLUMNS.split_at(6).0, |_, db, _| {
        Ok(group_rows(db).into_iter().map(|row| row[..6].to_vec()).collect())
    });

const STAT_COLUMNS: &[ViewColumn] = &[
    ("database_id", SmallInt, false),
    ("file_id", SmallInt, false),
    ("sample_ms", BigInt, false),
    ("num_of_reads", BigInt, false),
    ("num_of_bytes_read", BigInt, false),
    ("io_stall_read_ms", BigInt, false),
    ("num_of_writes", BigInt, false),
    ("num_of_bytes_written", BigInt, false),
    ("io_stall_write_ms", BigInt, false),
    ("io_stall", BigInt, false),
    ("size_on_disk_bytes", BigInt, false),
    ("file_handle", VarBinary(Len::N(8)), false),
    ("io_stall_queued_read_ms", BigInt, false),
    ("io_stall_queued_write_ms", BigInt, false),
];

/// sys.dm_io_virtual_file_stats(database_id, file_id).
pub(crate) static FILE_STATS: View =
    View::function("dm_io_virtual_file_stats", 2, STAT_COLUMNS, file_stats);

fn file_stats(session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> ViewResult {
    let only = args.get(1).and_then(Value::as_i64);
    let sample = sample_ms(session);
    let mut rows = Vec::new();
    for db in databases_of(session, args.first()) {
        let Some(storage) = db.storage_if_open() else { continue };
        let infos = storage.store().files();
        for file in &db.entry().files {
            if only.is_some_and(|id| id != i64::from(file.file_id)) {
                continue;
            }
            let (stats, size) = if file.log {
                (storage.log().file_stats(), storage.log().space().size)
            } else {
                match infos.iter().find(|f| f.spec.id == file.file_id) {
                    Some(info) => {
                        (info.file.stats().snapshot(), u64::from(info.pages) * PAGE_SIZE as u64)
                    }
                    None => continue,
                }
            };
            rows.push(stat_row(&db, file, &stats, size, sample));
        }
    }
    Ok(rows)
}

/// Milliseconds since the instance started.
fn sample_ms(session: &SessionCore) -> i64 {
    let (Value::DateTime { days, ticks }, (now_days, now_ticks)) =
        (session.instance().started(), catalog::clock::now_parts())
    else {
        return 0;
    };
    let elapsed_ticks = i64::from(now_ticks) - i64::from(*ticks);
    i64::from(now_days - days) * 86_400_000 + elapsed_ticks * 10 / 3
}

fn stat_row(
    db: &Arc<Db>,
    file: &FileEntry,
    s: &StatsSnapshot,
    size: u64,
    sample: i64,
) -> Vec<Value> {
    let (read_ms, write_ms) = (s.read_stall_us / 1000, (s.write_stall_us + s.sync_stall_us) / 1000);
    vec![
        Value::SmallInt(db.id() as i16),
        Value::SmallInt(file.file_id as i16),
        Value::BigInt(sample),
        big(s.reads),
        big(s.bytes_read),
        big(read_ms),
        big(s.writes),
        big(s.bytes_written),
        big(write_ms),
        big(read_ms + write_ms),
        big(size),
        Value::bytes(u64::from(file.file_id).to_be_bytes().as_slice()),
        Value::BigInt(0),
        Value::BigInt(0),
    ]
}

// ---- space ----

/// Space of a table in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Space {
    /// Its extents.
    pub reserved: u64,
    /// Pages in use of the heap or clustered index and of large values.
    pub data: u64,
    /// Pages in use of the nonclustered indexes.
    pub index: u64,
}

impl Space {
    /// Reserved and not in use.
    pub fn unused(&self) -> u64 {
        self.reserved.saturating_sub(self.data + self.index)
    }

    /// Adds another table's.
    pub fn add(&mut self, other: Space) {
        self.reserved += other.reserved;
        self.data += other.data;
        self.index += other.index;
    }
}

/// Pages of one unit: reserved, used.
pub fn unit_pages(db: &Arc<Db>, first_iam: pages::PageId) -> Result<(u64, u64), SqlError> {
    let storage = db.storage()?;
    let store = storage.store();
    let space = store.open_unit(first_iam).and_then(|unit| store.unit_space(&unit));
    let space = space.map_err(|e| errors::db_error(db, &e.into()))?;
    Ok((space.reserved, space.used))
}

/// Space of a table with its indexes.
pub fn table_space(db: &Arc<Db>, table: &TableDef) -> Result<Space, SqlError> {
    let mut space = Space::default();
    let page = PAGE_SIZE as u64;
    for index in table.stored_indexes() {
        let (reserved, used) = unit_pages(db, index.first_iam)?;
        space.reserved += reserved * page;
        if index.index_id <= 1 {
            space.data += used * page;
        } else {
            space.index += used * page;
        }
    }
    for (_, _, first_iam) in table.outside() {
        let (reserved, used) = unit_pages(db, first_iam)?;
        space.reserved += reserved * page;
        space.data += used * page;
    }
    Ok(space)
}

/// Bytes of all files, of the data files, and of allocated extents.
pub fn database_size(db: &Arc<Db>) -> (u64, u64, u64) {
    let Some(storage) = db.storage_if_open() else { return (0, 0, 0) };
    let store = storage.store();
    let (mut data, mut allocated) = (0, 0);
    let extent = u64::from(pages::EXTENT_PAGES) * PAGE_SIZE as u64;
    for file in store.files() {
        let size = u64::from(file.pages) * PAGE_SIZE as u64;
        data += size;
        // A map that cannot be read counts as full: the check says more.
        let free = store.file_extents(file.spec.id).map_or(0, |(_, free)| free * extent);
        allocated += size.saturating_sub(free);
    }
    (data + storage.log().space().size, data, allocated)
}
