//! RESTORE HEADERONLY, FILELISTONLY, LABELONLY, VERIFYONLY: what backup files say of themselves,
//! and whether they are whole.

use std::time::Duration;

use syntax::ast::{Restore, RestoreKind};
use txn::backup::{BackupError, MediaLabel, MediaSet, SetEntry, SetKind, verify};
use types::{DataType, Decimal, Len, SqlError, Value, msg};
use wal::Lsn;

use super::StmtCtx;
use super::backup_errors::FailedCommand;
use super::backup_history;
use catalog::clock;
use instance::restore::DescribedDatabase;
use metadata::results::{column, send};
use metadata::views::{LSN_NUMERIC, SYSNAME};

const GUID: DataType = DataType::UniqueIdentifier;
const SIZE: DataType = DataType::numeric(20, 0);

type Row = Vec<(&'static str, DataType, Value)>;

impl StmtCtx<'_> {
    pub(super) fn restore_list(
        &mut self,
        stmt: &Restore,
        command: &'static str,
    ) -> Result<(), SqlError> {
        let options = self.restore_options(stmt)?;
        let devices = self.devices(&stmt.devices, &stmt.options)?;
        let place = FailedCommand { command, database: "", db: None };
        let some = stmt.kind != RestoreKind::VerifyOnly;
        let opened = MediaSet::open(&devices, some);
        let mut media = opened.map_err(|e| self.terminate(&place, &e))?;
        let rows = match stmt.kind {
            RestoreKind::HeaderOnly => {
                let sets = media.sets().map_err(|e| self.terminate(&place, &e))?;
                sets.iter().map(header_row).collect()
            }
            RestoreKind::FileListOnly => {
                let set = media.set(options.position).map_err(|e| self.terminate(&place, &e))?;
                file_rows(&set)
            }
            RestoreKind::LabelOnly => vec![label_row(media.label())],
            _ => {
                let position = options.position;
                let set = media.set(position).map_err(|e| self.terminate(&place, &e))?;
                if set.end.is_none() {
                    let device = devices.first().map_or(String::new(), |d| d.name().into());
                    return Err(self.terminate(&place, &BackupError::CutOff { device }));
                }
                let done = self.with_progress(options.stats, |progress| {
                    verify(&mut media, position, progress)
                });
                done.map_err(|e| self.terminate(&place, &e))?;
                return self.inform(msg::BACKUP_SET_VALID, [&position]);
            }
        };
        self.send(rows)
    }

    fn send(&mut self, rows: Vec<Row>) -> Result<(), SqlError> {
        let Some(first) = rows.first() else { return Ok(()) };
        let columns: Vec<_> = first.iter().map(|(name, ty, _)| column(name, *ty, true)).collect();
        let rows: Vec<Vec<Value>> = rows
            .into_iter()
            .map(|row| row.into_iter().map(|(_, _, value)| value).collect())
            .collect();
        send(self.sink, &columns, &rows, self.core, false)
    }
}

fn text(value: &str) -> Value {
    if value.is_empty() { Value::Null } else { Value::str(value) }
}

fn time(us: u64) -> Value {
    let (days, ticks) = clock::parts(Duration::from_micros(us));
    Value::DateTime { days, ticks }
}

fn lsn(lsn: Lsn) -> Value {
    if lsn.is_zero() { Value::Null } else { number(lsn.to_numeric(), 25) }
}

fn number(n: u128, precision: u8) -> Value {
    let mantissa = i128::try_from(n).ok();
    mantissa.and_then(|m| Decimal::new(m, precision, 0)).map_or(Value::Null, Value::Decimal)
}

fn size(n: u64) -> Value {
    number(n.into(), 20)
}

fn bit(b: bool) -> Value {
    Value::Bit(b)
}

fn header_row(set: &SetEntry) -> Row {
    use DataType::{Bit, DateTime, Int, SmallInt, TinyInt};
    let h = &set.header;
    let end = set.end.clone().unwrap_or_default();
    let about = DescribedDatabase::read(&h.engine);
    let whole = |value: Value| if set.end.is_some() { value } else { Value::Null };
    let kind = match h.kind {
        SetKind::Full => "Database",
        SetKind::Differential => "Database Differential",
        SetKind::Log => "Transaction Log",
    };
    let word = DataType::NVarChar(Len::N(60));
    vec![
        ("BackupName", SYSNAME, text(&h.name)),
        ("BackupDescription", DataType::NVarChar(Len::N(255)), text(&h.description)),
        ("BackupType", SmallInt, Value::SmallInt(h.kind as i16)),
        ("ExpirationDate", DateTime, Value::Null),
        ("Compressed", TinyInt, Value::TinyInt(h.compressed.into())),
        ("Position", SmallInt, Value::SmallInt(i16::try_from(h.position).unwrap_or(i16::MAX))),
        ("DeviceType", TinyInt, Value::TinyInt(2)),
        ("UserName", SYSNAME, text(&h.user)),
        ("ServerName", SYSNAME, text(&h.server)),
        ("DatabaseName", SYSNAME, text(&h.database)),
        ("DatabaseVersion", Int, Value::Int(957)),
        (
            "DatabaseCreationDate",
            DateTime,
            Value::DateTime { days: about.created.0, ticks: about.created.1 },
        ),
        ("BackupSize", SIZE, whole(size(end.raw_bytes))),
        ("FirstLSN", LSN_NUMERIC, lsn(h.first_lsn)),
        ("LastLSN", LSN_NUMERIC, whole(lsn(end.last_lsn))),
        ("CheckpointLSN", LSN_NUMERIC, lsn(h.checkpoint_lsn)),
        ("DatabaseBackupLSN", LSN_NUMERIC, lsn(h.database_backup_lsn)),
        ("BackupStartDate", DateTime, time(h.start_us)),
        ("BackupFinishDate", DateTime, whole(time(end.finish_us))),
        ("SortOrder", SmallInt, Value::SmallInt(52)),
        ("CodePage", SmallInt, Value::SmallInt(0)),
        ("UnicodeLocaleId", Int, Value::Int(1033)),
        ("UnicodeComparisonStyle", Int, Value::Int(196_609)),
        ("CompatibilityLevel", TinyInt, Value::TinyInt(about.compatibility_level)),
        ("SoftwareVendorId", Int, Value::Int(0)),
        ("SoftwareVersionMajor", Int, Value::Int(16)),
        ("SoftwareVersionMinor", Int, Value::Int(0)),
        ("SoftwareVersionBuild", Int, Value::Int(0)),
        ("MachineName", SYSNAME, text(&h.server)),
        ("Flags", Int, Value::Int(backup_history::flags(h))),
        ("BindingID", GUID, Value::Guid(h.database_guid)),
        ("RecoveryForkID", GUID, Value::Guid(h.last_fork)),
        ("Collation", SYSNAME, text(&about.collation)),
        ("FamilyGUID", GUID, Value::Guid(h.family)),
        ("HasBulkLoggedData", Bit, bit(false)),
        ("IsSnapshot", Bit, bit(false)),
        ("IsReadOnly", Bit, bit(about.read_only)),
        ("IsSingleUser", Bit, bit(false)),
        ("HasBackupChecksums", Bit, bit(h.checksum)),
        ("IsDamaged", Bit, bit(set.end.is_none())),
        ("BeginsLogChain", Bit, bit(h.begins_chain)),
        ("HasIncompleteMetaData", Bit, bit(false)),
        ("IsForceOffline", Bit, bit(h.tail)),
        ("IsCopyOnly", Bit, bit(h.copy_only)),
        ("FirstRecoveryForkID", GUID, Value::Guid(h.first_fork)),
        (
            "ForkPointLSN",
            LSN_NUMERIC,
            if h.first_fork == h.last_fork { Value::Null } else { lsn(h.fork_lsn) },
        ),
        ("RecoveryModel", word, text(backup_history::model_text(h.recovery_model))),
        ("DifferentialBaseLSN", LSN_NUMERIC, h.base.map_or(Value::Null, |b| lsn(b.checkpoint_lsn))),
        ("DifferentialBaseGUID", GUID, h.base.map_or(Value::Null, |b| Value::Guid(b.set_id))),
        ("BackupTypeDescription", word, text(kind)),
        ("BackupSetGUID", GUID, Value::Guid(h.set_id)),
        ("CompressedBackupSize", DataType::BigInt, whole(Value::BigInt(end.stored_bytes as i64))),
        ("Containment", TinyInt, Value::TinyInt(0)),
        ("KeyAlgorithm", DataType::NVarChar(Len::N(32)), Value::Null),
        ("EncryptorThumbprint", DataType::VarBinary(Len::N(20)), Value::Null),
        ("EncryptorType", DataType::NVarChar(Len::N(32)), Value::Null),
        ("LastValidRestoreTime", DateTime, whole(time(end.end_us))),
        (
            "CompressionAlgorithm",
            DataType::NVarChar(Len::N(32)),
            if h.compressed { text("LZ4") } else { Value::Null },
        ),
    ]
}

fn file_rows(set: &SetEntry) -> Vec<Row> {
    use DataType::{BigInt, Bit, Int};
    let about = DescribedDatabase::read(&set.header.engine);
    let end = set.end.clone().unwrap_or_default();
    let path = DataType::NVarChar(Len::N(260));
    let row = |file: &txn::backup::SetFile| -> Row {
        let pages = end.pages.iter().find(|(id, _)| *id == file.id && !file.log).map_or(0, |p| p.1);
        let group = about.filegroups.get(usize::from(file.filegroup).wrapping_sub(1));
        let max = if file.max_size == 0 { 35_184_372_080_640 } else { file.max_size };
        vec![
            ("LogicalName", SYSNAME, text(&file.name)),
            ("PhysicalName", path, text(&file.shown)),
            ("Type", DataType::Char(1), Value::str(if file.log { "L" } else { "D" })),
            (
                "FileGroupName",
                SYSNAME,
                group.filter(|_| !file.log).map_or(Value::Null, |g| text(g)),
            ),
            ("Size", SIZE, size(file.size)),
            ("MaxSize", SIZE, size(max)),
            ("FileId", BigInt, Value::BigInt(file.id.into())),
            ("CreateLSN", LSN_NUMERIC, number(0, 25)),
            ("DropLSN", LSN_NUMERIC, number(0, 25)),
            ("UniqueId", GUID, Value::Guid(set.header.database_guid)),
            ("ReadOnlyLSN", LSN_NUMERIC, number(0, 25)),
            ("ReadWriteLSN", LSN_NUMERIC, number(0, 25)),
            ("BackupSizeInBytes", BigInt, Value::BigInt((pages * 8192) as i64)),
            ("SourceBlockSize", Int, Value::Int(4096)),
            ("FileGroupId", Int, Value::Int(file.filegroup.into())),
            ("LogGroupGUID", GUID, Value::Null),
            (
                "DifferentialBaseLSN",
                LSN_NUMERIC,
                set.header.base.map_or(Value::Null, |b| lsn(b.checkpoint_lsn)),
            ),
            (
                "DifferentialBaseGUID",
                GUID,
                set.header.base.map_or(Value::Null, |b| Value::Guid(b.set_id)),
            ),
            ("IsReadOnly", Bit, bit(about.read_only)),
            ("IsPresent", Bit, bit(true)),
            ("TDEThumbprint", DataType::VarBinary(Len::N(32)), Value::Null),
            ("SnapshotUrl", DataType::NVarChar(Len::N(360)), Value::Null),
        ]
    };
    set.header.files.iter().map(row).collect()
}

fn label_row(label: &MediaLabel) -> Row {
    use DataType::{DateTime, Int, TinyInt};
    let guid = |g: [u8; 16]| Value::str(backup_history::guid_text(&g));
    let text_guid = DataType::NVarChar(Len::N(128));
    vec![
        ("MediaName", SYSNAME, text(&label.name)),
        ("MediaSetId", text_guid, guid(label.media_id)),
        ("FamilyCount", Int, Value::Int(label.families.into())),
        ("FamilySequenceNumber", Int, Value::Int(label.family.into())),
        ("MediaFamilyId", text_guid, guid(label.media_id)),
        ("MediaSequenceNumber", Int, Value::Int(1)),
        ("MediaLabelPresent", TinyInt, Value::TinyInt(0)),
        ("MediaDescription", DataType::NVarChar(Len::N(255)), text(&label.description)),
        ("SoftwareName", SYSNAME, text("Ringwood")),
        ("SoftwareVendorId", Int, Value::Int(0)),
        ("MediaDate", DateTime, time(label.created_us)),
        ("MirrorCount", Int, Value::Int(1)),
        ("IsCompressed", DataType::Bit, bit(false)),
    ]
}
