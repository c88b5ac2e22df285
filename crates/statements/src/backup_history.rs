//! What msdb is told of backups and restores, and how it and RESTORE HEADERONLY say it. Guarantees:
//! a backup is complete before it is noted; a history that cannot be written fails no backup.

use std::time::Duration;

use txn::RecoveryModel;
use txn::backup::{BackupDevice, BackupDone, RestoredStep, SetHeader, SetKind};
use types::SqlError;
use wal::Lsn;

use catalog::clock;
use instance::restore::DescribedDatabase;
use session::state::SessionCore;

/// device_type of files and of URLs.
const DISK: u8 = 2;
const URL: u8 = 9;

fn quote(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn time(us: u64) -> String {
    format!("'{}'", clock::iso(Duration::from_micros(us)))
}

/// The text of a GUID in stored order.
pub(super) fn guid_text(g: &[u8; 16]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02X}")).collect::<String>();
    let little = |bytes: &[u8]| hex(&bytes.iter().rev().copied().collect::<Vec<_>>());
    format!(
        "{}-{}-{}-{}-{}",
        little(&g[..4]),
        little(&g[4..6]),
        little(&g[6..8]),
        hex(&g[8..10]),
        hex(&g[10..])
    )
}

fn guid(g: &[u8; 16]) -> String {
    format!("'{}'", guid_text(g))
}

fn lsn(lsn: Lsn) -> String {
    if lsn.is_zero() { "NULL".into() } else { lsn.to_numeric().to_string() }
}

fn opt(text: &str) -> String {
    if text.is_empty() { "NULL".into() } else { quote(text) }
}

/// backupset.recovery_model: unlike sys.databases it has a hyphen.
pub(super) fn model_text(model: RecoveryModel) -> &'static str {
    match model {
        RecoveryModel::BulkLogged => "BULK-LOGGED",
        other => other.name(),
    }
}

/// Columns and values of backupset.
fn set_row(header: &SetHeader, done: &BackupDone) -> Vec<(&'static str, String)> {
    let end = &done.end;
    let about = DescribedDatabase::read(&header.engine);
    let (days, ticks) = about.created;
    let bit = |b: bool| u8::from(b).to_string();
    vec![
        ("backup_set_uuid", guid(&header.set_id)),
        ("position", header.position.to_string()),
        ("name", opt(&header.name)),
        ("description", opt(&header.description)),
        ("user_name", opt(&header.user)),
        ("first_lsn", lsn(header.first_lsn)),
        ("last_lsn", lsn(end.last_lsn)),
        ("checkpoint_lsn", lsn(header.checkpoint_lsn)),
        ("database_backup_lsn", lsn(header.database_backup_lsn)),
        (
            "database_creation_date",
            format!("DATEADD(ms, {}, DATEADD(day, {days}, '19000101'))", u64::from(ticks) * 10 / 3),
        ),
        ("backup_start_date", time(header.start_us)),
        ("backup_finish_date", time(end.finish_us)),
        ("type", format!("'{}'", header.kind.letter())),
        ("compatibility_level", about.compatibility_level.to_string()),
        ("database_version", "957".into()),
        ("backup_size", end.raw_bytes.to_string()),
        ("compressed_backup_size", end.stored_bytes.to_string()),
        ("database_name", quote(&header.database)),
        ("server_name", quote(&header.server)),
        ("machine_name", quote(&header.server)),
        ("flags", flags(header).to_string()),
        ("collation_name", opt(&about.collation)),
        ("is_password_protected", "0".into()),
        ("recovery_model", quote(model_text(header.recovery_model))),
        ("has_bulk_logged_data", "0".into()),
        ("is_snapshot", "0".into()),
        ("is_readonly", bit(about.read_only)),
        ("is_single_user", "0".into()),
        ("has_backup_checksums", bit(header.checksum)),
        ("is_damaged", "0".into()),
        ("begins_log_chain", bit(header.begins_chain)),
        ("has_incomplete_metadata", "0".into()),
        ("is_force_offline", bit(header.tail)),
        ("is_copy_only", bit(header.copy_only)),
        ("first_recovery_fork_guid", guid(&header.first_fork)),
        ("last_recovery_fork_guid", guid(&header.last_fork)),
        (
            "fork_point_lsn",
            if header.first_fork == header.last_fork {
                "NULL".into()
            } else {
                lsn(header.fork_lsn)
            },
        ),
        ("database_guid", guid(&header.database_guid)),
        ("family_guid", guid(&header.family)),
        ("differential_base_lsn", header.base.map_or("NULL".into(), |b| lsn(b.checkpoint_lsn))),
        ("differential_base_guid", header.base.map_or("NULL".into(), |b| guid(&b.set_id))),
        (
            "last_valid_restore_time",
            if header.kind == SetKind::Log { time(end.end_us) } else { "NULL".into() },
        ),
        ("compression_algorithm", if header.compressed { "N'LZ4'".into() } else { "NULL".into() }),
    ]
}

/// RESTORE HEADERONLY's Flags.
pub(super) fn flags(header: &SetHeader) -> i32 {
    let about = DescribedDatabase::read(&header.engine);
    i32::from(about.read_only) * 8
        + i32::from(header.checksum) * 16
        + i32::from(header.begins_chain) * 64
        + i32::from(header.tail) * (128 + 256)
        + i32::from(header.copy_only) * 512
}

/// Notes a backup.
///
/// # Errors
/// Why msdb cannot be written.
pub(super) fn note_backup(
    core: &SessionCore,
    done: &BackupDone,
    devices: &[Box<dyn BackupDevice>],
) -> Result<(), SqlError> {
    let header = &done.header;
    let media = guid(&done.media_id);
    let mut text = format!(
        "SET NOCOUNT ON; SET XACT_ABORT ON; BEGIN TRAN;\nDECLARE @m int, @s int;\n\
         SELECT @m = media_set_id FROM dbo.backupmediaset WHERE media_uuid = {media};\n\
         IF @m IS NULL BEGIN\n\
         INSERT dbo.backupmediaset (media_uuid, media_family_count, software_name, mirror_count, is_password_protected, \
         is_compressed, is_encrypted) VALUES ({media}, {}, N'Ringwood', 1, 0, {}, 0);\n\
         SELECT @m = media_set_id FROM dbo.backupmediaset WHERE media_uuid = {media};\n",
        devices.len(),
        u8::from(header.compressed)
    );
    for (i, device) in devices.iter().enumerate() {
        text.push_str(&format!(
            "INSERT dbo.backupmediafamily (media_set_id, family_sequence_number, media_count, physical_device_name, \
             device_type, physical_block_size, mirror) VALUES (@m, {}, 1, {}, {}, 4096, 0);\n",
            i + 1,
            quote(device.name()),
            if device.appends() { DISK } else { URL }
        ));
    }
    let row = set_row(header, done);
    let names: Vec<_> = row.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = row.iter().map(|(_, value)| value.as_str()).collect();
    text.push_str(&format!(
        "END;\nINSERT dbo.backupset (media_set_id, {}) VALUES (@m, {});\n\
         SELECT @s = MAX(backup_set_id) FROM dbo.backupset;\n",
        names.join(", "),
        values.join(", ")
    ));
    let about = DescribedDatabase::read(&header.engine);
    for file in &header.files {
        let pages =
            done.end.pages.iter().find(|(id, _)| *id == file.id && !file.log).map_or(0, |p| p.1);
        let pages = if file.log { done.end.log_pages() } else { pages };
        let group = about.filegroups.get(usize::from(file.filegroup).wrapping_sub(1));
        text.push_str(&format!(
            "INSERT dbo.backupfile (backup_set_id, filegroup_name, page_size, file_number, backed_up_page_count, file_type, \
             file_size, logical_name, physical_name, state, state_desc, is_readonly, is_present) VALUES (@s, {}, 8192, \
             {}, {pages}, '{}', {}, {}, {}, 0, N'ONLINE', 0, 1);\n",
            group.map_or("NULL".into(), |g| quote(g)),
            file.id,
            if file.log { 'L' } else { 'D' },
            file.size,
            quote(&file.name),
            quote(&file.shown)
        ));
    }
    text.push_str("COMMIT;");
    core.host().above().run_apart(core, "msdb", &text)
}

/// Notes a restore, if the backup set is one that this instance knows.
///
/// # Errors
/// As [`note_backup`].
pub(super) fn note_restore(
    core: &SessionCore,
    database: &str,
    user: &str,
    done: &RestoredStep,
    (replace, recovery, stop_us): (bool, bool, Option<u64>),
    devices: usize,
) -> Result<(), SqlError> {
    let text = format!(
        "SET NOCOUNT ON; INSERT dbo.restorehistory (restore_date, destination_database_name, user_name, backup_set_id, \
         restore_type, [replace], recovery, restart, stop_at, device_count) SELECT GETDATE(), {}, {}, backup_set_id, \
         '{}', {}, {}, 0, {}, {devices} FROM dbo.backupset WHERE backup_set_uuid = {};",
        quote(database),
        opt(user),
        done.header.kind.letter(),
        u8::from(replace),
        u8::from(recovery),
        stop_us.map_or("NULL".into(), time),
        guid(&done.header.set_id)
    );
    core.host().above().run_apart(core, "msdb", &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_and_quotes() {
        let g = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        assert_eq!(guid_text(&g), "03020100-0504-0706-0809-0A0B0C0D0E0F");
        assert_eq!(quote("O'Neil"), "N'O''Neil'");
    }
}
