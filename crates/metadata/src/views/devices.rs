//! Files and the devices under them: sys.dm_os_volume_stats, and Ringwood's own
//! sys.dm_ringwood_files, sys.dm_ringwood_write_sizes, sys.dm_ringwood_io_latencies. SQL Server has
//! no view that shows sectors or sizes of writes.

use std::sync::Arc;

use disk::{LATENCY_BUCKETS, SIZE_BUCKETS, Sectors, StatsSnapshot};
use types::{DataType, Len, Value};

use super::{NVARCHAR60, SYSNAME, View, ViewColumn, big, bit, int, text};
use catalog::Db;
use catalog::registry::FileEntry;
use instance::OfInstance;
use session::state::SessionCore;

use DataType::{BigInt, Bit, Int, NVarChar, SmallInt, TinyInt};

/// A file of an open database with what its device says and what was counted.
pub struct FileIo {
    pub db: Arc<Db>,
    pub entry: FileEntry,
    pub sectors: Sectors,
    pub direct: bool,
    /// Of a log: what its blocks are aligned to in new VLFs.
    pub alignment: Option<u32>,
    /// Size in bytes.
    pub size: u64,
    pub stats: StatsSnapshot,
}

/// All files of one database; none when it is not open.
pub fn files_of(db: &Arc<Db>) -> Vec<FileIo> {
    let Some(storage) = db.storage_if_open() else { return Vec::new() };
    let (infos, log) = (storage.store().files(), storage.log());
    let see = |entry: FileEntry| {
        let db = db.clone();
        if entry.log {
            let (sectors, direct, stats) = (log.sectors(), log.is_direct(), log.file_stats());
            let (alignment, size) = (Some(log.alignment()), log.space().size);
            return Some(FileIo { db, entry, sectors, direct, alignment, size, stats });
        }
        let info = infos.iter().find(|f| f.spec.id == entry.file_id)?;
        let file = &info.file;
        let (sectors, direct, stats) = (file.sectors(), file.is_direct(), file.stats().snapshot());
        let size = u64::from(info.pages) * pages::PAGE_SIZE as u64;
        Some(FileIo { db, entry, sectors, direct, alignment: None, size, stats })
    };
    db.entry().files.into_iter().filter_map(see).collect()
}

fn all(session: &SessionCore) -> impl Iterator<Item = FileIo> {
    session.host().databases().into_iter().flat_map(|db| files_of(&db))
}

const FILES: &[ViewColumn] = &[
    ("database_id", SmallInt, false),
    ("file_id", SmallInt, false),
    ("type_desc", NVARCHAR60, false),
    ("name", SYSNAME, false),
    ("physical_name", NVarChar(Len::N(260)), false),
    ("size_bytes", BigInt, false),
    ("logical_sector_bytes", Int, false),
    ("physical_sector_bytes", Int, false),
    ("log_alignment_bytes", Int, true),
    ("is_direct_io", Bit, false),
    ("num_of_syncs", BigInt, false),
    ("io_stall_sync_ms", BigInt, false),
    ("num_of_durable_writes", BigInt, false),
    ("io_stall_durable_write_ms", BigInt, false),
    ("num_of_read_modify_writes", BigInt, false),
    ("real_path", NVarChar(Len::N(4000)), true),
];

/// sys.dm_ringwood_files.
pub(crate) static DEVICES: View = View::sys("dm_ringwood_files", FILES, |session, _, _| {
    let disk = session.instance().disk.clone();
    let rows = all(session).map(|f| {
        let volume = disk.volume(&f.entry.path);
        vec![
            Value::SmallInt(f.db.id() as i16),
            Value::SmallInt(f.entry.file_id as i16),
            text(if f.entry.log { "LOG" } else { "ROWS" }),
            Value::Str(f.entry.name),
            Value::Str(f.entry.shown),
            big(f.size),
            int(f.sectors.logical.into()),
            int(f.sectors.physical.into()),
            f.alignment.map_or(Value::Null, |bytes| int(bytes.into())),
            bit(f.direct),
            big(f.stats.syncs),
            big(f.stats.sync_stall_us / 1000),
            big(f.stats.durable_writes),
            big(f.stats.durable_stall_us / 1000),
            big(f.stats.rmw_writes),
            volume.map_or(Value::Null, |v| text(v.path.display().to_string())),
        ]
    });
    Ok(rows.collect())
});

const TEXT: DataType = NVarChar(Len::N(512));

const VOLUMES: &[ViewColumn] = &[
    ("database_id", Int, false),
    ("file_id", Int, false),
    ("volume_mount_point", TEXT, true),
    ("volume_id", TEXT, true),
    ("logical_volume_name", TEXT, true),
    ("file_system_type", TEXT, true),
    ("total_bytes", BigInt, false),
    ("available_bytes", BigInt, false),
    ("supports_compression", TinyInt, true),
    ("supports_alternate_streams", TinyInt, true),
    ("supports_sparse_files", TinyInt, true),
    ("is_read_only", TinyInt, true),
    ("is_compressed", TinyInt, true),
    ("incurs_seek_penalty", TinyInt, true),
];

/// sys.dm_os_volume_stats(database_id, file_id): SQL Server's columns; what is mounted stands for
/// the volume's id.
pub(crate) static VOLUME_STATS: View =
    View::function("dm_os_volume_stats", 2, VOLUMES, |session, _, args| {
        let only = args.get(1).and_then(Value::as_i64);
        let disk = session.instance().disk.clone();
        let mut rows = Vec::new();
        for db in super::databases_of(session, args.first()) {
            for file in
                db.entry().files.iter().filter(|f| only.is_none_or(|id| id == i64::from(f.file_id)))
            {
                // A volume that only exists in memory has nothing to show.
                let Some(volume) = disk.volume(&file.path) else { continue };
                rows.push(vec![
                    Value::Int(db.id()),
                    Value::Int(file.file_id.into()),
                    text(volume.mount_point.display().to_string()),
                    text(volume.source),
                    Value::Null,
                    text(volume.file_system),
                    big(volume.total),
                    big(volume.available),
                    Value::Null,
                    Value::Null,
                    Value::TinyInt(1),
                    Value::TinyInt(volume.read_only.into()),
                    Value::Null,
                    Value::Null,
                ]);
            }
        }
        Ok(rows)
    });

const SIZES: &[ViewColumn] = &[
    ("database_id", SmallInt, false),
    ("file_id", SmallInt, false),
    ("type_desc", NVARCHAR60, false),
    ("up_to_bytes", BigInt, true),
    ("num_of_writes", BigInt, false),
];

/// Upper bound of a class of write sizes; none for the last one.
pub(crate) fn size_bound(class: usize) -> Option<u64> {
    (class + 1 < SIZE_BUCKETS).then(|| 512 << class)
}

/// sys.dm_ringwood_write_sizes: how many writes were at most so large, and larger than the class
/// before.
pub(crate) static WRITE_SIZES: View =
    View::sys("dm_ringwood_write_sizes", SIZES, |session, _, _| {
        let rows = all(session).flat_map(|f| {
            let kind = if f.entry.log { "LOG" } else { "ROWS" };
            let (db, file) = (f.db.id() as i16, f.entry.file_id as i16);
            f.stats.write_sizes.into_iter().enumerate().map(move |(class, count)| {
                vec![
                    Value::SmallInt(db),
                    Value::SmallInt(file),
                    text(kind),
                    size_bound(class).map_or(Value::Null, big),
                    big(count),
                ]
            })
        });
        Ok(rows.collect())
    });

const LATENCIES: &[ViewColumn] = &[
    ("database_id", SmallInt, false),
    ("file_id", SmallInt, false),
    ("type_desc", NVARCHAR60, false),
    ("operation", NVARCHAR60, false),
    ("below_us", BigInt, true),
    ("num_of_ios", BigInt, false),
];

/// sys.dm_ringwood_io_latencies: how many reads, writes, durable writes (which are writes too) and
/// syncs took less than so many microseconds, and not less than the class before; classes without
/// any are left out.
pub(crate) static LATENCY: View =
    View::sys("dm_ringwood_io_latencies", LATENCIES, |session, _, _| {
        let mut rows = Vec::new();
        for f in all(session) {
            let kind = if f.entry.log { "LOG" } else { "ROWS" };
            let kinds = [
                ("READ", &f.stats.read_latency),
                ("WRITE", &f.stats.write_latency),
                ("DURABLE WRITE", &f.stats.durable_latency),
                ("SYNC", &f.stats.sync_latency),
            ];
            for (operation, counts) in kinds {
                for (class, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    rows.push(vec![
                        Value::SmallInt(f.db.id() as i16),
                        Value::SmallInt(f.entry.file_id as i16),
                        text(kind),
                        text(operation),
                        if class + 1 < LATENCY_BUCKETS { big(1 << class) } else { Value::Null },
                        big(*count),
                    ]);
                }
            }
        }
        Ok(rows)
    });
