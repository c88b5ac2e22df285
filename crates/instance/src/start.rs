//! The start of an instance: its folder is locked, what the folder says of itself is read, its
//! databases are opened. Guarantees: one instance per folder at a time; a small file of which a
//! copy is damaged is used and rewritten; where none is whole it is made again from the
//! databases' own files; what was found and done is in the error log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::registry::{self, Registry, RegistryError};
use catalog::{FIRST_USER_DB, MASTER, TEMPDB, db};
use disk::mirrored::{self, Damaged};
use disk::{Disk, DiskError, DiskLock};
use pages::{InstanceHome, InstanceId, PageError};

use super::identity::{self, Identity};
use super::lost_list;
use super::permit::Paths;
use super::{InstanceCore, InstanceError, SYSTEM};

/// A folder with this file has an instance, whatever else is lost.
const MASTER_FILE: &str = "master.mdf";

/// Whether there is an instance in a folder, however damaged.
///
/// # Errors
/// Of the disk.
pub fn is_made(disk: &dyn Disk, folder: &Path) -> Result<bool, DiskError> {
    Ok(registry::exists(disk, folder)? || disk.exists(&folder.join(MASTER_FILE))?)
}

/// What a folder says of itself.
pub struct KnownFolder {
    pub registry: Registry,
    pub identity: Identity,
    /// What an administrator should know.
    pub news: Vec<String>,
}

/// Reads list and identity, or makes them again. `write`: the folder may be changed.
///
/// # Errors
/// The disk; a list, or a master, of another version: nothing has been changed then.
pub fn read_known(
    disk: &dyn Disk,
    paths: &Paths,
    write: bool,
) -> Result<KnownFolder, InstanceError> {
    let root = paths.root();
    // Whatever else is the matter with master comes out when it is opened.
    if let Err(e @ PageError::OtherFormat { .. }) =
        pages::check_format(disk, &root.join(MASTER_FILE))
    {
        return Err(InstanceError::OtherVersion(e.to_string()));
    }
    let read = match registry::read(disk, root) {
        Ok(list) if list.is_new() && disk.exists(&root.join(MASTER_FILE))? => Err(Damaged {
            reasons: vec![(root.join(registry::FILE_NAME), mirrored::MISSING.into())],
            remains: Vec::new(),
        }),
        Ok(list) => Ok(list),
        Err(RegistryError::Damaged(damaged)) => Err(damaged),
        Err(e) => return Err(e.into()),
    };
    let before = read.as_ref().ok().and_then(|list| list.folder_before.as_deref());
    let named = || named_instance(disk, root);
    let identity = identity::establish(disk, root, before, &named, write)?;
    match read {
        Ok(registry) => Ok(KnownFolder { registry, identity, news: Vec::new() }),
        Err(damaged) => {
            let home = InstanceHome {
                instance: identity.id,
                folder: root.to_path_buf(),
                only_named: identity.copy,
                ..InstanceHome::default()
            };
            let remains = registry::remains(&damaged, root);
            let mut made = lost_list::make_again(disk, paths, &home, &remains);
            made.registry.stale = damaged.reasons;
            Ok(KnownFolder { registry: made.registry, identity, news: made.news })
        }
    }
}

/// The instance that master names.
fn named_instance(disk: &dyn Disk, root: &Path) -> Option<InstanceId> {
    let home = InstanceHome { folder: root.to_path_buf(), ..InstanceHome::default() };
    let found = txn::identify(disk, &root.join(MASTER_FILE), &home).ok().flatten()?;
    Some(found.owner).filter(|owner| *owner != InstanceId::default())
}

impl InstanceCore {
    pub(super) fn start(&self, registry: registry::Registry) -> Result<(), InstanceError> {
        let version = env!("CARGO_PKG_VERSION");
        self.error_log().write("Server", &format!("Ringwood {version} is starting."));
        self.error_log().write("Server", &self.memory_line());
        let errors = Arc::downgrade(self.error_log());
        disk::on_io_fallback(move |reason| {
            if let Some(errors) = errors.upgrade() {
                errors.write(
                    "Server",
                    &format!("Data files are read and written by threads: {reason}."),
                );
            }
        });
        for news in self.identity.news.iter().chain(&*self.notices.lock()) {
            self.error_log().write("Server", news);
        }
        let registry::Registry { mut entries, pending, folder_before, stale, single } = registry;
        *self.pending.lock() = pending;
        let tempdb = entries.iter().position(|e| e.id == TEMPDB).map(|at| entries.remove(at));
        let tempdb = self.forget_tempdb(tempdb, &entries);
        self.open_all(&entries).into_iter().for_each(|db| self.add_database(db));
        self.outcomes.settle();
        if !self.is_read_only() {
            self.mend_list(&stale, single);
            self.settle_files(folder_before.is_some() || !stale.is_empty());
        }
        for (name, id) in SYSTEM {
            // In a folder that is only read tempdb alone is made.
            if self.db_by_id(id).is_some() || (self.is_read_only() && id != TEMPDB) {
                continue;
            }
            let made = match tempdb.as_ref().filter(|_| id == TEMPDB) {
                Some(before) => self.make_system_database(name, id, Some(before)).or_else(|e| {
                    let text = format!(
                        "tempdb goes into the folder: it cannot be where it was: {}",
                        e.message
                    );
                    self.error_log().write("Server", &text);
                    self.make_system_database(name, id, None)
                }),
                None => self.make_system_database(name, id, None),
            };
            made.map_err(|e| InstanceError::Master(e.into_message()))?;
        }
        match self.db_by_id(MASTER) {
            Some(master) => master
                .check_usable()
                .map_err(|e| InstanceError::Master(master.cause().unwrap_or(e.into_message())))?,
            None => return Err(InstanceError::Master("it is missing".into())),
        }
        self.error_log().write("Server", "Ringwood is ready.");
        Ok(())
    }

    /// Something that administrators are told when they log in.
    pub(super) fn add_notice(&self, text: String) {
        self.notices.lock().push(text);
    }

    /// What an administrator should know of the start: what was made again, and which system
    /// databases are not to be had.
    pub fn notices(&self) -> Vec<String> {
        let mut notices = self.notices.lock().clone();
        for db in (1..FIRST_USER_DB).filter_map(|id| self.db_by_id(id)) {
            let cause = db.cause().filter(|_| db.status() != db::DbStatus::Online);
            if let Some(cause) = cause {
                let (name, state) = (db.name(), db.status().name());
                notices.push(format!(
                    "The system database '{name}' is {state}: {cause}. 'ringwood repair' tells what can be done about it."
                ));
            }
        }
        notices
    }

    /// Says which copies of the list were damaged; the list is rewritten afterwards.
    fn mend_list(&self, stale: &[(PathBuf, String)], single: bool) {
        for (path, reason) in
            stale.iter().filter(|(_, reason)| !single || reason != mirrored::MISSING)
        {
            let path = path.display();
            let text =
                format!("'{path}', a copy of the list of databases, is rewritten: {reason}.");
            self.error_log().write("Server", &text);
        }
    }
}

/// Makes sure of the folder and locks it.
pub fn lock_folder(
    disk: &dyn Disk,
    folder: &Path,
    read_only: bool,
    must_exist: bool,
) -> Result<DiskLock, InstanceError> {
    let name = folder.join("instance.lock");
    let there = || is_made(disk, folder);
    if (read_only || must_exist) && !there().or_else(not_a_folder)? {
        return Err(match disk.list(folder) {
            Err(DiskError::Io { code: 20, .. }) => InstanceError::NotAFolder(folder.to_path_buf()),
            _ => InstanceError::NoInstance(folder.to_path_buf()),
        });
    }
    let locked = match read_only {
        true => disk.lock_shared(&name),
        false => disk.create_dir_all(folder).and_then(|()| disk.lock_exclusive(&name)),
    };
    locked.map_err(|e| match e {
        DiskError::Locked { holder, .. } => InstanceError::InUse(folder.to_path_buf(), holder),
        DiskError::NotAFolder { path } => InstanceError::NotAFolder(path),
        // EPERM, EACCES, EROFS
        DiskError::Io { code: 1 | 13 | 30, text, .. } if !read_only => {
            InstanceError::NotWritable(folder.to_path_buf(), text)
        }
        e => e.into(),
    })
}

/// What lies below a file does not exist.
fn not_a_folder(e: DiskError) -> Result<bool, DiskError> {
    if matches!(e, DiskError::Io { code: 20, .. }) { Ok(false) } else { Err(e) }
}
