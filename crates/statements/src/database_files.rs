//! ALTER DATABASE: files and filegroups. Data files and the log grow, change their limits, come and
//! go.

use std::sync::Arc;

use pages::{FileGrowth, PAGE_SIZE};
use syntax::ast::{FileSpec, FilegroupChange, Ident};
use types::{SqlError, msg};

use super::StmtCtx;
use super::database_state::cannot_lock;
use catalog::GrowthSetting;
use catalog::errors::{self, db_error};
use catalog::fold_name;
use catalog::properties::PropertyClass;
use catalog::registry::{DbEntry, FileEntry};
use catalog::{Db, MASTER};
use ddl::properties;
use instance::InstanceCore;
use instance::boot_text::{note_log_size, save_settings};
use instance::file_errors::bad_directory;
use instance::file_errors::in_use;
use instance::file_specs;
use instance::file_specs::NewFile;
use instance::files::data_growth;
use instance::permit::PermitReach;

impl StmtCtx<'_> {
    pub(super) fn modify_file(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        spec: &FileSpec,
    ) -> Result<(), SqlError> {
        let name = spec.name.clone().unwrap_or_default();
        let entry = db.entry();
        let file = entry.files.iter().find(|f| fold_name(&f.name) == fold_name(&name)).cloned();
        let Some(file) = file else {
            return Err(SqlError::of(msg::MODIFY_FILE_NOT_FOUND, [&name]));
        };
        if let Some(shown) = &spec.filename {
            return self.move_file(instance, db, &file, shown);
        }
        if let Some(new) = &spec.new_name {
            if !file.log {
                let renamed = db.storage()?.rename_file(file.file_id, new);
                renamed.map_err(|e| db_error(db, &e))?;
            }
            db.change_entry(|entry| {
                for f in entry.files.iter_mut().filter(|f| f.file_id == file.file_id) {
                    f.name = new.clone();
                }
            });
            return instance.save_registry();
        }
        if file.log { self.modify_log(db, &file, spec) } else { self.modify_data(db, &file, spec) }
    }

    /// FILENAME: the file is looked for there when the database is opened next; the user moves it.
    ///
    /// Errors: 5105 a bad path; 5121 no place for a database's file; 1834, 1833 the place is
    /// another file's.
    fn move_file(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        file: &FileEntry,
        shown: &str,
    ) -> Result<(), SqlError> {
        if db.id() == MASTER {
            return Err(errors::not_supported("MODIFY FILE (FILENAME) in master"));
        }
        let reach = PermitReach::of(self.core);
        let path = instance.permit_database_file(reach, shown);
        let path = path.map_err(|e| e.or(|_| bad_directory(shown)))?;
        if let Some(other) = instance.user_of(db.id(), &path) {
            return Err(in_use(shown, &other));
        }
        let place = |f: &FileEntry| {
            f.next.as_ref().map_or_else(|| f.path.clone(), |(path, _)| path.clone())
        };
        if db.entry().files.iter().any(|f| f.file_id != file.file_id && place(f) == path) {
            return Err(SqlError::of(msg::FILE_REUSED_BEFORE_BACKUP, [&shown]));
        }
        let before = db.entry();
        let next = (path != file.path).then(|| (path, shown.into()));
        db.change_entry(|entry| {
            entry
                .files
                .iter_mut()
                .filter(|f| f.file_id == file.file_id)
                .for_each(|f| f.next.clone_from(&next));
            // Nothing is open where it was: the place is this one from now on.
            if db.storage_if_open().is_none() {
                entry.take_next_places();
            }
        });
        instance.save_registry().inspect_err(|_| db.change_entry(|entry| *entry = before))?;
        self.inform(msg::FILE_MODIFIED, [&file.name])
    }

    fn modify_log(&self, db: &Arc<Db>, file: &FileEntry, spec: &FileSpec) -> Result<(), SqlError> {
        let storage = db.storage()?;
        let mut settings = db.settings();
        let size = storage.log().space().size;
        if spec.max_size.is_some() {
            settings.log_max_size = file_specs::max_bytes(spec.max_size)?;
        }
        if spec.growth.is_some() {
            settings.log_growth = file_specs::growth_of(spec.growth)?;
        }
        let wanted = spec.size.map(file_specs::bytes).transpose()?;
        file_specs::check_limits(
            &file.name,
            wanted.unwrap_or(size),
            settings.log_max_size,
            settings.log_growth,
        )?;
        // A growth alone should cost no more than its own write to the log's header.
        if settings != db.settings() {
            save_settings(db, &settings)?;
        }
        let Some(wanted) = wanted else { return Ok(()) };
        check_larger(wanted, size)?;
        storage.log().grow(wanted).map_err(|e| db_error(db, &e.into()))?;
        note_log_size(db, wanted)
    }

    fn modify_data(&self, db: &Arc<Db>, file: &FileEntry, spec: &FileSpec) -> Result<(), SqlError> {
        let storage = db.storage()?;
        let Some(info) = storage.store().files().into_iter().find(|f| f.spec.id == file.file_id)
        else {
            return Err(SqlError::internal("a registered file is not open"));
        };
        let size = u64::from(info.pages) * PAGE_SIZE as u64;
        let wanted = spec.size.map(file_specs::bytes).transpose()?.map(file_specs::round_up);
        let max_size = match spec.max_size {
            None => info.spec.max_size,
            given => file_specs::max_bytes(given)?,
        };
        let growth = match (spec.growth, info.spec.growth) {
            (None, FileGrowth::None) => GrowthSetting::Bytes(0),
            (None, FileGrowth::Bytes(n)) => GrowthSetting::Bytes(n),
            (None, FileGrowth::Percent(p)) => GrowthSetting::Percent(p),
            (given, _) => file_specs::growth_of(given)?,
        };
        file_specs::check_limits(&file.name, wanted.unwrap_or(size), max_size, growth)?;
        if let Some(wanted) = wanted {
            check_larger(wanted, size)?;
        }
        if spec.growth.is_some() || spec.max_size.is_some() {
            let changed = storage.limit_file(file.file_id, data_growth(growth), max_size);
            changed.map_err(|e| db_error(db, &e))?;
        }
        if let Some(wanted) = wanted {
            storage.grow_file(file.file_id, wanted).map_err(|e| db_error(db, &e))?;
        }
        Ok(())
    }

    /// ADD FILE. Errors: 5011 no such filegroup, 1828 the logical name is taken, 5170 the file is
    /// there, 5061.
    pub(super) fn add_files(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        specs: &[FileSpec],
        filegroup: Option<&Ident>,
    ) -> Result<(), SqlError> {
        let entry = db.entry();
        let filegroup = match filegroup {
            None => 1,
            Some(name) => filegroup_of(db, &entry, &name.value)? as u16 + 1,
        };
        let mut files = Vec::new();
        for spec in specs {
            let default = format!("{}_{}", db.name(), entry.files.len() + files.len());
            let file = file_specs::new_file(spec, &default, filegroup, file_specs::DEFAULT_SIZE)?;
            let taken =
                entry.files.iter().map(|f| &f.name).chain(files.iter().map(|f: &NewFile| &f.name));
            if taken.into_iter().any(|name| fold_name(name) == fold_name(&file.name)) {
                return Err(file_specs::name_taken(&file.name));
            }
            files.push(file);
        }
        let reach = PermitReach::of(self.core);
        files.iter().try_for_each(|file| {
            let id = db.storage()?.store().next_file_id();
            self.clear_properties(db, PropertyClass::DatabaseFile, id.into())?;
            instance.add_data_file(reach, db, file)
        })
    }

    /// REMOVE FILE. Errors: 5009 no such file, 5020 the primary file or the log, 5042 it is not
    /// empty.
    pub(super) fn remove_file(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        name: &str,
    ) -> Result<(), SqlError> {
        let entry = db.entry();
        let Some(file) = entry.files.iter().find(|f| fold_name(&f.name) == fold_name(name)) else {
            return Err(SqlError::of(msg::FILES_NOT_FOUND, []));
        };
        if file.log || file.file_id == 1 {
            return Err(SqlError::of(msg::PRIMARY_FILE_NOT_REMOVED, []));
        }
        instance.remove_data_file(db, file)?;
        self.inform(msg::FILE_REMOVED, [&file.name])
    }

    /// ADD FILEGROUP: a name that files can be added to. Errors: 1826 there is one already, 5061.
    pub(super) fn add_filegroup(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        name: &str,
    ) -> Result<(), SqlError> {
        if db.entry().filegroups.iter().any(|g| fold_name(g) == fold_name(name)) {
            return Err(SqlError::of(msg::FILEGROUP_EXISTS, [&name]));
        }
        let id = db.entry().filegroups.len() as i32 + 1;
        self.clear_properties(db, PropertyClass::Dataspace, id)?;
        db.change_entry(|entry| entry.filegroups.push(name.into()));
        instance.save_registry()
    }

    /// A new file or filegroup begins without extended properties, also when an earlier one had its
    /// id.
    ///
    /// Errors: 5061 another transaction is changing properties of the database.
    fn clear_properties(
        &mut self,
        db: &Arc<Db>,
        class: PropertyClass,
        id: i32,
    ) -> Result<(), SqlError> {
        let cleared = properties::clear_id(self.core, db, class, id);
        cleared.map_err(|e| if e.number == 1222 { cannot_lock(db) } else { e })
    }

    /// REMOVE FILEGROUP: the one that was added last, when it has no files. Error: 5042 it has
    /// some.
    pub(super) fn remove_filegroup(
        &mut self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        name: &str,
    ) -> Result<(), SqlError> {
        let entry = db.entry();
        let at = filegroup_of(db, &entry, name)?;
        let id = at as u16 + 1;
        if at == 0
            || entry.files.iter().any(|f| f.filegroup == id)
            || db.settings().default_filegroup == id
        {
            return Err(SqlError::of(msg::NOT_EMPTY, [&"filegroup", &name]).state(8));
        }
        if id as usize != entry.filegroups.len() {
            return Err(errors::not_supported("REMOVE FILEGROUP of any but the last"));
        }
        db.change_entry(|entry| entry.filegroups.truncate(at));
        instance.save_registry()
    }

    pub(super) fn modify_filegroup(
        &self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        name: &str,
        change: &FilegroupChange,
    ) -> Result<(), SqlError> {
        let entry = db.entry();
        let at = filegroup_of(db, &entry, name)?;
        match change {
            FilegroupChange::Default => {
                let mut settings = db.settings();
                settings.default_filegroup = at as u16 + 1;
                save_settings(db, &settings)
            }
            FilegroupChange::Name(new) => {
                db.change_entry(|entry| entry.filegroups[at] = new.value.clone());
                instance.save_registry()
            }
            FilegroupChange::ReadWrite | FilegroupChange::AutogrowSingleFile => Ok(()),
            FilegroupChange::ReadOnly | FilegroupChange::AutogrowAllFiles => {
                Err(errors::not_supported("MODIFY FILEGROUP with this option"))
            }
        }
    }
}

/// The place of a filegroup in the list. Error: 5011.
fn filegroup_of(db: &Db, entry: &DbEntry, name: &str) -> Result<usize, SqlError> {
    let at = entry.filegroups.iter().position(|g| fold_name(g) == fold_name(name));
    at.ok_or_else(|| SqlError::of(msg::FILEGROUP_NOT_FOUND, [&name, &db.name()]))
}

/// 5039: MODIFY FILE only grows.
fn check_larger(wanted: u64, size: u64) -> Result<(), SqlError> {
    if wanted <= size {
        return Err(SqlError::of(msg::MODIFY_FILE_SIZE, []));
    }
    Ok(())
}
