//! Which files a statement may open: the one place that decides it, for every statement that takes
//! a path.
//!
//! Guarantees: a path in a statement becomes a file only through [`InstanceCore::permit`] (to open
//! it) and [`InstanceCore::permit_database_file`] (for a file of a database); nobody reaches what
//! the instance keeps for itself, a device or a file that the kernel makes up; a file of a database
//! is reached only by the statements that such files are for; who is no sysadmin stays within the
//! allowed folders. Links are followed before it is decided, and not any more when the file is
//! opened. docs/internals/security.md has the design.

mod paths;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use paths::Paths;

use disk::{DiskError, FileIdentity, FoundKind, NamedPlace, OpenRule};
use session::state::SessionCore;
use txn::backup::FileDevice;
use types::SqlError;

use super::file_errors::disk_error;
use super::{InstanceCore, own_files};
use catalog::registry;

/// What a statement wants to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// A backup is written to it or read from it.
    Backup,
    /// Its rows or its content come into a statement.
    Import,
    /// It is a file of a database, or becomes one.
    Database,
}

/// How far the one who asks reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitReach {
    /// A sysadmin, the program itself: wherever the process can.
    Everywhere,
    /// The instance's folder, its volumes, and what `--allow-path` names.
    AllowedFolders,
}

impl PermitReach {
    /// The reach of the login that a session acts as.
    pub fn of(core: &mut SessionCore) -> PermitReach {
        if core.is_sysadmin() { PermitReach::Everywhere } else { PermitReach::AllowedFolders }
    }
}

/// Why a path is not opened.
#[derive(Debug)]
pub enum NotPermitted {
    /// It is no path: 5105.
    BadPath(SqlError),
    /// As the operating system would say it.
    Disk(DiskError),
}

impl NotPermitted {
    /// The error of a statement, which makes its own one of what the operating system says.
    pub fn or(self, error: impl FnOnce(&DiskError) -> SqlError) -> SqlError {
        match self {
            NotPermitted::BadPath(e) => e,
            NotPermitted::Disk(e) => error(&e),
        }
    }
}

impl From<DiskError> for NotPermitted {
    fn from(e: DiskError) -> NotPermitted {
        NotPermitted::Disk(e)
    }
}

/// Folders and files that an instance's options are about.
#[derive(Clone, Debug, Default)]
pub(super) struct FilePolicy {
    /// Besides the instance's folder, for who is no sysadmin.
    pub allowed: Vec<PathBuf>,
    /// What no statement opens besides what the instance keeps: the server's key, the file with a
    /// password.
    pub protected: Vec<PathBuf>,
}

/// A file that a statement may open. Only [`InstanceCore::permit`] makes one.
#[derive(Clone, Debug)]
pub struct PermittedPath {
    path: PathBuf,
    rule: Arc<PermittedFile>,
}

/// What holds for the file when it is opened: it is the one that was decided about.
#[derive(Debug)]
struct PermittedFile {
    instance: Arc<InstanceCore>,
    real: PathBuf,
}

impl OpenRule for PermittedFile {
    fn real(&self) -> &Path {
        &self.real
    }

    fn refuses(&self, file: &FileIdentity) -> bool {
        self.instance.keeps_file(file) || self.instance.has_database_file(file)
    }
}

impl PermittedPath {
    /// The backup device that is the file; `shown` is what messages call it.
    pub fn device(&self, shown: impl Into<String>) -> FileDevice {
        let rule: Arc<dyn OpenRule> = self.rule.clone();
        FileDevice::new(self.rule.instance.disk.clone(), self.path.clone(), shown, rule)
    }

    /// Opens the file to read it. What comes from outside is no database file: it does not go
    /// through the block-file layer.
    pub fn read(&self) -> Result<std::fs::File, DiskError> {
        disk::read_named(&*self.rule)
    }

    /// Whether the file is there.
    pub fn exists(&self) -> Result<bool, DiskError> {
        self.rule.instance.disk.exists(&self.rule.real)
    }

    /// Removes the file that was decided about; a link that led to it stays.
    pub fn remove(&self) -> Result<(), DiskError> {
        self.rule.instance.disk.remove_named(&self.path, &*self.rule)
    }
}

impl InstanceCore {
    /// The file that a statement's path names, if the statement may open it. `purpose` is not that
    /// of a database's file.
    pub fn permit(
        self: &Arc<Self>,
        reach: PermitReach,
        written: &str,
        purpose: FileUse,
    ) -> Result<PermittedPath, NotPermitted> {
        debug_assert_ne!(purpose, FileUse::Database);
        let path = self.paths.resolve(written).map_err(NotPermitted::BadPath)?;
        let place = self.decide(reach, &path, purpose)?;
        let rule = Arc::new(PermittedFile { instance: self.clone(), real: place.real });
        Ok(PermittedPath { path, rule })
    }

    /// The path that a statement gives a file of a database, if it may. Whether the file is another
    /// database's is asked where it is known which one it is for ([`InstanceCore::user_of`]).
    pub fn permit_database_file(
        &self,
        reach: PermitReach,
        written: &str,
    ) -> Result<PathBuf, NotPermitted> {
        let path = self.paths.resolve(written).map_err(NotPermitted::BadPath)?;
        self.permit_database_place(reach, path)
    }

    /// The same for a place that no statement has written.
    pub(crate) fn permit_database_place(
        &self,
        reach: PermitReach,
        path: PathBuf,
    ) -> Result<PathBuf, NotPermitted> {
        let place = self.decide(reach, &path, FileUse::Database)?;
        // Below its folder an instance knows its files by the way through it, which may be a link.
        Ok(if path.starts_with(self.paths.root()) { path } else { place.real })
    }

    fn decide(
        &self,
        reach: PermitReach,
        path: &Path,
        purpose: FileUse,
    ) -> Result<NamedPlace, NotPermitted> {
        let refused = || DiskError::Refused { path: path.to_path_buf() };
        let place = match purpose {
            // It is read as the operating system has it.
            FileUse::Import => disk::look_up(path),
            _ => self.disk.look_up(path),
        };
        // Who must not look into a folder does not learn what is in it.
        if reach == PermitReach::AllowedFolders
            && !place.as_ref().is_ok_and(|place| self.is_allowed(path, &place.real))
        {
            return Err(refused().into());
        }
        let place = place?;
        if self.keeps_path(&place.real) || self.keeps_path(path) {
            return Err(refused().into());
        }
        let file = match place.found {
            None => return Ok(place),
            Some(FoundKind::Folder | FoundKind::Special) => return Err(refused().into()),
            Some(FoundKind::File(file)) => file,
        };
        let taken = purpose != FileUse::Database
            && (self.has_database_file(&file) || self.is_a_databases(&place.real, path)?);
        if taken || self.keeps_file(&file) {
            return Err(refused().into());
        }
        Ok(place)
    }

    /// Whether a path lies in a folder that is open to everybody who may give paths.
    fn is_allowed(&self, path: &Path, real: &Path) -> bool {
        let root = self.paths.root();
        let mut folders = self.policy.allowed.iter().map(PathBuf::as_path);
        let mut folders = std::iter::once(root).chain(self.paths.volumes()).chain(&mut folders);
        folders.any(|folder| match self.disk.look_up(folder) {
            // The folder itself may be reached through a link, what is in it not lead out of it.
            Ok(place) => real.starts_with(&place.real) && path != folder,
            Err(_) => false,
        })
    }

    /// Whether something of a name belongs to this instance, or to another one whose folder it lies
    /// in.
    fn keeps_path(&self, real: &Path) -> bool {
        let root = self.paths.root();
        if own_files::is_run_file(real.file_name().unwrap_or_default())
            || real.strip_prefix(root).is_ok_and(own_files::keeps)
        {
            return true;
        }
        // Where an instance lies within the folder of another one (a master that is made again),
        // its own files are not that one's.
        let outside = |folder: &&Path| {
            !(real.starts_with(root) && root != *folder && root.starts_with(folder))
        };
        real.ancestors().skip(1).filter(outside).any(|folder| {
            real.strip_prefix(folder).is_ok_and(own_files::keeps)
                && self.disk.exists(&folder.join(registry::FILE_NAME)).unwrap_or(false)
        })
    }

    /// Whether a file is one that the instance keeps, under whichever name.
    fn keeps_file(&self, file: &FileIdentity) -> bool {
        let protected =
            self.policy.protected.iter().filter_map(|path| self.disk.identity(path).ok());
        own_files::identities(&*self.disk, self.paths.root())
            .iter()
            .chain(&protected.collect::<Vec<_>>())
            .any(|own| is_same(own, file))
    }

    /// Whether a file is that of a database of this instance, which may be closed, under whichever
    /// name.
    fn has_database_file(&self, file: &FileIdentity) -> bool {
        let databases = self.databases();
        let has = |f: &registry::FileEntry| {
            self.is_file(&f.path, file)
                || f.next.as_ref().is_some_and(|(next, _)| self.is_file(next, file))
        };
        databases.iter().any(|db| db.entry().files.iter().any(has))
    }

    /// Whether a file is one of a database, whoever's: what is in it says that. One that somebody
    /// works with cannot be looked at.
    fn is_a_databases(&self, real: &Path, path: &Path) -> Result<bool, NotPermitted> {
        let path = if self.disk.exists(real).unwrap_or(false) { real } else { path };
        match txn::identify(&*self.disk, path, &pages::InstanceHome::default()) {
            Ok(found) => Ok(found.is_some()),
            Err(e) => match disk_error(&e) {
                Some(locked @ DiskError::Locked { .. }) => Err(locked.clone().into()),
                // Too short for a page, not readable, or not there: it is opened as what it is, or
                // not.
                _ => Ok(false),
            },
        }
    }

    /// Whether a name leads to a file.
    pub(super) fn is_file(&self, path: &Path, file: &FileIdentity) -> bool {
        self.disk.identity(path).is_ok_and(|found| is_same(&found, file))
    }
}

/// Whether two identities are of one file. Those that nobody could tell are of none.
fn is_same(one: &FileIdentity, other: &FileIdentity) -> bool {
    one.inode != 0 && (one.device, one.inode) == (other.device, other.inode)
}
