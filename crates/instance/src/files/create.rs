//! Making databases: their files, their first catalog, their place in the registry; those of users
//! and those of the system. Guarantee: a database that could not be made leaves no files.

use crate::InstanceCore;
use crate::boot_text::{DISCARDED, META, log_growth, make_tree};
use crate::file_errors::{cannot_create, cannot_create_file};
use crate::file_specs::{NewFile, NewFiles};
use crate::open_error::OpenError;
use crate::permit::PermitReach;
use catalog::GrowthSetting;
use catalog::clock;
use catalog::db::Db;
use catalog::registry::{DbEntry, FileEntry};
use catalog::settings::DbSettings;
use catalog::systables::DISCARDED_UNIT;
use compact_str::CompactString;
use pages::{FileGrowth, FileSpec, UnitId};
use std::path::PathBuf;
use std::sync::Arc;
use txn::{CreateSpec, Database, DbState, DelayedDurability, LossWindow, RecoveryModel, TxnError};
use types::{SqlError, msg};

/// Sizes of a system database.
const SYSTEM_DATA: u64 = 4 << 20;

const SYSTEM_LOG: u64 = 1 << 20;

const SYSTEM_GROWTH: u64 = 8 << 20;

impl InstanceCore {
    /// Makes a new database for somebody of a reach. The caller holds `changing` and has checked
    /// the name.
    #[allow(clippy::too_many_arguments)] // the parts of a database, and the caller's reach
    pub fn create_database(
        &self,
        reach: PermitReach,
        id: i32,
        name: &str,
        files: &NewFiles,
        settings: &DbSettings,
        recovery_model: RecoveryModel,
        log_alignment: u16,
    ) -> Result<Arc<Db>, SqlError> {
        let entry = self.new_entry(reach, id, name, files, log_alignment)?;
        for file in &entry.files {
            if let Some(folder) = file.path.parent() {
                self.disk
                    .create_dir_all(folder)
                    .map_err(|e| cannot_create_file(&file.shown, &e))?;
            }
        }
        // From here on a crash leaves files that the next start removes.
        self.announce(id, &entry.files)?;
        let made = self.create_announced(&entry, files, settings, recovery_model);
        if made.is_err() {
            self.settled(id, &entry.files);
        }
        made
    }

    fn create_announced(
        &self,
        entry: &DbEntry,
        files: &NewFiles,
        settings: &DbSettings,
        recovery_model: RecoveryModel,
    ) -> Result<Arc<Db>, SqlError> {
        let spec = self.create_spec(entry, files, settings, recovery_model);
        let storage =
            Database::create(self.env(entry), spec).map_err(|e| cannot_create(entry, &e))?;
        let made = self.fill(&storage, settings).and_then(|()| self.assemble(storage.clone()));
        let (open, catalog, settings) = made.map_err(|e| {
            self.remove_files(&storage, entry);
            SqlError::of(msg::CREATE_DATABASE_FAILED, [&e.text()])
        })?;
        let settings = self.note_names(entry, &storage, settings).map_err(|e| {
            self.remove_files(&storage, entry);
            SqlError::of(msg::CREATE_DATABASE_FAILED, [&e.text()])
        })?;
        let db = Db::online(entry.clone(), open, catalog, settings);
        let mut entries = self.entries();
        entries.push(entry.clone());
        self.forget_pending(entry.id, &entry.files);
        if let Err(e) = self.write_registry(&entries) {
            self.remove_files(&storage, entry);
            return Err(e);
        }
        self.add_database(db.clone());
        Ok(db)
    }

    fn new_entry(
        &self,
        reach: PermitReach,
        id: i32,
        name: &str,
        files: &NewFiles,
        log_alignment: u16,
    ) -> Result<DbEntry, SqlError> {
        let mut entry = DbEntry {
            id,
            name: name.into(),
            offline: false,
            restoring: false,
            log_alignment,
            filegroups: files.filegroups.clone(),
            files: Vec::new(),
        };
        // File 1 is the primary data file and file 2 the log, as everywhere in SQL Server.
        let mut next_data = 1;
        for file in &files.files {
            let file_id = match (file.log, next_data) {
                (true, _) => 2,
                (false, 1) => 1,
                (false, n) => n,
            };
            if !file.log {
                next_data = if next_data == 1 { 3 } else { next_data + 1 };
            }
            let shown = file.filename.clone().unwrap_or_else(|| default_file_name(file, file_id));
            let path = self.permit_database_file(reach, &shown);
            let path = path.map_err(|e| e.or(|cause| cannot_create_file(&shown, cause)))?;
            if entry.files.iter().any(|f| f.path == path) {
                return Err(SqlError::of(msg::FILE_REUSED_BEFORE_BACKUP, [&shown]));
            }
            let (log, filegroup, name) = (file.log, file.filegroup, file.name.clone());
            entry.files.push(FileEntry { file_id, log, filegroup, name, path, shown, next: None });
        }
        entry.files.sort_by_key(|f| f.file_id);
        Ok(entry)
    }

    fn create_spec(
        &self,
        entry: &DbEntry,
        files: &NewFiles,
        settings: &DbSettings,
        recovery_model: RecoveryModel,
    ) -> CreateSpec {
        let mut specs = Vec::new();
        let mut log = self.log_options(entry);
        let mut log_path = PathBuf::new();
        for placed in &entry.files {
            let Some(file) = files.files.iter().find(|f| f.name == placed.name) else { continue };
            if file.log {
                log_path = placed.path.clone();
                log.initial_size = file.size;
            } else {
                specs.push(FileSpec {
                    id: placed.file_id,
                    name: file.name.to_string(),
                    path: placed.path.clone(),
                    filegroup: file.filegroup,
                    size: file.size,
                    growth: data_growth(file.growth),
                    max_size: file.max_size,
                });
            }
        }
        log.vlf_rule = settings.vlf_rule();
        log.growth = log_growth(settings.log_growth);
        log.max_size = settings.log_max_size;
        CreateSpec {
            guid: new_guid(),
            files: specs,
            log_path,
            log,
            settings: DbState {
                recovery_model,
                delayed: DelayedDurability::Disabled,
                window: LossWindow::default(),
                log_chain: false,
                meta: Vec::new(),
            },
        }
    }

    /// Makes the system tables of a new database.
    fn fill(&self, storage: &Arc<Database>, settings: &DbSettings) -> Result<(), OpenError> {
        // They begin in the primary file, the one that is never emptied, if it has room: their
        // roots do not move.
        let store = storage.store();
        let (_, free) = store.file_extents(1).map_err(TxnError::from)?;
        let files = store.files().into_iter().map(|f| f.spec.id).filter(|id| *id != 1);
        let others: Vec<u16> =
            files.filter(|_| free > 2 * catalog::systables::ALL.len() as u64).collect();
        others.iter().try_for_each(|id| storage.bar_file(*id, 0))?;
        let made = self.fill_trees(storage, settings);
        others.iter().for_each(|id| store.unbar(*id));
        made
    }

    fn fill_trees(&self, storage: &Arc<Database>, settings: &DbSettings) -> Result<(), OpenError> {
        let mut meta = format!("{META}\n");
        settings.write(&mut meta);
        for (i, _) in catalog::systables::ALL.iter().enumerate() {
            make_tree(storage, UnitId(i as u32 + 1), &format!("tree{i}="), &mut meta)?;
        }
        make_tree(storage, UnitId(DISCARDED_UNIT), DISCARDED, &mut meta)?;
        storage.change_settings(|state| state.meta = meta.into_bytes())?;
        Ok(())
    }

    /// Makes a system database; `before`: with the files that it had.
    pub(crate) fn make_system_database(
        &self,
        name: &str,
        id: i32,
        before: Option<&DbEntry>,
    ) -> Result<(), SqlError> {
        let (data, log) = if id == catalog::MASTER {
            (CompactString::from("master"), CompactString::from("mastlog"))
        } else {
            (CompactString::from(name), CompactString::from(format!("{name}_log")))
        };
        let scratch = self.read_only.as_ref();
        let file = |name: CompactString, log: bool| NewFile {
            filename: scratch.map(|folder| {
                let ending = if log { "ldf" } else { "mdf" };
                folder.join(format!("{name}.{ending}")).to_string_lossy().as_ref().into()
            }),
            name,
            filegroup: u16::from(!log),
            size: if log { SYSTEM_LOG } else { SYSTEM_DATA },
            max_size: None,
            growth: GrowthSetting::Bytes(SYSTEM_GROWTH),
            log,
        };
        let files = match before {
            Some(entry) => NewFiles {
                filegroups: entry.filegroups.clone(),
                default_filegroup: 1,
                files: entry
                    .files
                    .iter()
                    .map(|f| NewFile {
                        filename: Some(f.shown.clone()),
                        filegroup: f.filegroup,
                        ..file(f.name.clone(), f.log)
                    })
                    .collect(),
            },
            None => NewFiles {
                filegroups: vec!["PRIMARY".into()],
                default_filegroup: 1,
                files: vec![file(data, false), file(log, true)],
            },
        };
        let settings = DbSettings {
            create_date: clock::now_parts(),
            log_growth: GrowthSetting::Bytes(SYSTEM_GROWTH),
            log_min_size: SYSTEM_LOG,
            ..DbSettings::default()
        };
        // What new databases get.
        let recovery =
            if id == catalog::MODEL { RecoveryModel::Full } else { RecoveryModel::Simple };
        let made =
            self.create_database(PermitReach::Everywhere, id, name, &files, &settings, recovery, 0);
        made.map(drop)
    }
}

pub fn data_growth(growth: GrowthSetting) -> FileGrowth {
    match growth {
        GrowthSetting::Bytes(0) | GrowthSetting::Percent(0) => FileGrowth::None,
        GrowthSetting::Bytes(n) => FileGrowth::Bytes(n),
        GrowthSetting::Percent(p) => FileGrowth::Percent(p),
    }
}

fn default_file_name(file: &NewFile, file_id: u16) -> CompactString {
    let ending = match (file.log, file_id) {
        (true, _) => "ldf",
        (false, 1) => "mdf",
        (false, _) => "ndf",
    };
    // A logical name may hold what a file name may not.
    let name: String =
        file.name.chars().map(|c| if "/\\:\0".contains(c) { '_' } else { c }).collect();
    format!("{name}.{ending}").into()
}

fn new_guid() -> [u8; 16] {
    let mut guid = [0; 16];
    fastrand::fill(&mut guid);
    guid
}
