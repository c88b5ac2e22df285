//! msdb's tables of backups and restores: SQL Server's, as ordinary tables that anybody may query.
//! Guarantee: an instance whose msdb cannot have them opens all the same, and the error log tells
//! why.

use std::sync::Arc;

use types::SqlError;

use crate::session::Session;
use instance::InstanceCore;
use session::output::FirstError;

const TABLES: [(&str, &str); 5] = [
    (
        "backupset",
        "backup_set_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, backup_set_uuid uniqueidentifier NOT NULL, media_set_id int \
         NOT NULL, first_family_number tinyint NULL, first_media_number smallint NULL, last_family_number tinyint NULL, \
         last_media_number smallint NULL, catalog_family_number tinyint NULL, catalog_media_number smallint NULL, position \
         int NULL, expiration_date datetime NULL, software_vendor_id int NULL, name nvarchar(128) NULL, description \
         nvarchar(255) NULL, user_name nvarchar(128) NULL, software_major_version tinyint NULL, software_minor_version \
         tinyint NULL, software_build_version smallint NULL, time_zone smallint NULL, mtf_minor_version tinyint NULL, \
         first_lsn numeric(25,0) NULL, last_lsn numeric(25,0) NULL, checkpoint_lsn numeric(25,0) NULL, \
         database_backup_lsn numeric(25,0) NULL, database_creation_date datetime NULL, backup_start_date datetime NULL, \
         backup_finish_date datetime NULL, type char(1) NULL, sort_order smallint NULL, code_page smallint NULL, \
         compatibility_level tinyint NULL, database_version int NULL, backup_size numeric(20,0) NULL, database_name \
         nvarchar(128) NULL, server_name nvarchar(128) NULL, machine_name nvarchar(128) NULL, flags int NULL, \
         unicode_locale int NULL, unicode_compare_style int NULL, collation_name nvarchar(128) NULL, \
         is_password_protected bit NULL, recovery_model nvarchar(60) NULL, has_bulk_logged_data bit NULL, is_snapshot \
         bit NULL, is_readonly bit NULL, is_single_user bit NULL, has_backup_checksums bit NULL, is_damaged bit NULL, \
         begins_log_chain bit NULL, has_incomplete_metadata bit NULL, is_force_offline bit NULL, is_copy_only bit NULL, \
         first_recovery_fork_guid uniqueidentifier NULL, last_recovery_fork_guid uniqueidentifier NULL, fork_point_lsn \
         numeric(25,0) NULL, database_guid uniqueidentifier NULL, family_guid uniqueidentifier NULL, \
         differential_base_lsn numeric(25,0) NULL, differential_base_guid uniqueidentifier NULL, compressed_backup_size \
         numeric(20,0) NULL, key_algorithm nvarchar(32) NULL, encryptor_thumbprint varbinary(20) NULL, encryptor_type \
         nvarchar(32) NULL, last_valid_restore_time datetime NULL, compression_algorithm nvarchar(32) NULL",
    ),
    (
        "backupmediaset",
        "media_set_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, media_uuid uniqueidentifier NULL, media_family_count tinyint \
         NULL, name nvarchar(128) NULL, description nvarchar(255) NULL, software_name nvarchar(128) NULL, \
         software_vendor_id int NULL, MTF_major_version tinyint NULL, mirror_count tinyint NULL, is_password_protected \
         bit NULL, is_compressed bit NULL, is_encrypted bit NULL",
    ),
    (
        "backupmediafamily",
        "media_set_id int NOT NULL, family_sequence_number tinyint NOT NULL, media_family_id uniqueidentifier NULL, \
         media_count int NULL, logical_device_name nvarchar(128) NULL, physical_device_name nvarchar(260) NULL, \
         device_type tinyint NULL, physical_block_size int NULL, mirror tinyint NOT NULL",
    ),
    (
        "backupfile",
        "backup_set_id int NOT NULL, first_family_number tinyint NULL, first_media_number smallint NULL, filegroup_name \
         nvarchar(128) NULL, page_size int NULL, file_number numeric(10,0) NOT NULL, backed_up_page_count numeric(10,0) \
         NULL, file_type char(1) NULL, source_file_block_size numeric(10,0) NULL, file_size numeric(20,0) NULL, \
         logical_name nvarchar(128) NULL, physical_drive nvarchar(260) NULL, physical_name nvarchar(260) NULL, state \
         tinyint NULL, state_desc nvarchar(64) NULL, is_readonly bit NULL, is_present bit NULL",
    ),
    (
        "restorehistory",
        "restore_history_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, restore_date datetime NULL, destination_database_name \
         nvarchar(128) NULL, user_name nvarchar(128) NULL, backup_set_id int NOT NULL, restore_type char(1) NULL, \
         [replace] bit NULL, recovery bit NULL, restart bit NULL, stop_at datetime NULL, device_count tinyint NULL, \
         stop_at_mark_name nvarchar(128) NULL, stop_before bit NULL",
    ),
];

/// Runs a text in a session of its own, in a database.
///
/// # Errors
/// The first of the text's; why the database cannot be used.
pub(crate) fn run(
    instance: &Arc<InstanceCore>,
    database: &str,
    text: &str,
) -> Result<(), SqlError> {
    let mut session = Session::of(instance)?;
    session.use_database(database)?;
    let mut first = FirstError::default();
    session.execute(text, &mut first);
    first.or(())
}

/// Makes the tables that are missing.
pub(crate) fn ensure(instance: &Arc<InstanceCore>) {
    let Some(msdb) = instance.find_db("msdb").filter(|db| db.check_usable().is_ok()) else {
        return;
    };
    let catalog = msdb.catalog();
    let mut text = String::new();
    for (name, columns) in TABLES.iter().filter(|(name, _)| catalog.find("dbo", name).is_none()) {
        text.push_str(&format!("CREATE TABLE dbo.{name} ({columns});\n"));
    }
    if !text.is_empty()
        && let Err(e) = run(instance, "msdb", &format!("BEGIN TRAN;\n{text}COMMIT;"))
    {
        instance
            .error_log()
            .write("Server", &format!("msdb's backup history is not there: {}", e.message));
    }
}
