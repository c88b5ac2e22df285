//! Folders on other mounts or devices: a disk that sends each path to the disk of the innermost
//! placed folder that contains it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::{
    BlockFile, Disk, DiskError, DiskLock, FileIdentity, NamedPlace, Op, OpenMode, OpenRule,
};

use crate::error::ModelError;
use crate::modeldisk::ModelDisk;
use crate::params::Device;

/// Where the files of a folder go.
#[derive(Clone, Debug, PartialEq)]
pub enum FolderPlacement {
    /// Into a real folder, for example of another mount.
    Folder(PathBuf),
    /// They stay where they are, with the timing of a modelled device.
    Device(Box<Device>),
}

impl FolderPlacement {
    /// A built-in device's name, a device file, or a folder that exists.
    ///
    /// # Errors
    /// It is none of these, or the device file is wrong.
    pub fn parse(text: &str) -> Result<FolderPlacement, ModelError> {
        if crate::builtin(text).is_none() && Path::new(text).is_dir() {
            return Ok(FolderPlacement::Folder(
                std::path::absolute(text).unwrap_or_else(|_| text.into()),
            ));
        }
        match crate::device(text) {
            Ok(device) => Ok(FolderPlacement::Device(Box::new(device))),
            Err(ModelError::Unknown { known, .. }) => Err(ModelError::Placement {
                text: text.into(),
                reason: format!("neither a folder nor a device file nor one of {known}"),
            }),
            Err(error) => Err(error),
        }
    }
}

#[derive(Debug)]
struct FolderRoute {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// Path of the folder on that disk.
    there: PathBuf,
}

/// A disk of several: each path goes to the placement of the innermost folder above it, everything
/// else to the base.
#[derive(Debug)]
pub struct Routes {
    /// Folder that relative paths are under.
    root: PathBuf,
    base: Arc<dyn Disk>,
    routes: Vec<FolderRoute>,
}

impl Routes {
    /// Everything on `base`; relative paths are under `root`.
    pub fn new(root: impl Into<PathBuf>, base: Arc<dyn Disk>) -> Routes {
        Routes { root: root.into(), base, routes: Vec::new() }
    }

    /// Places the files below `folder` (relative = below the root). `real` is the disk of real
    /// folders, and keeps the bytes of modelled devices.
    ///
    /// # Errors
    /// As [`ModelDisk::new`].
    pub fn place(
        &mut self,
        folder: &Path,
        to: FolderPlacement,
        real: Arc<dyn Disk>,
    ) -> Result<(), DiskError> {
        let folder = self.root.join(folder);
        let (disk, there): (Arc<dyn Disk>, PathBuf) = match to {
            FolderPlacement::Folder(there) => (real, there),
            FolderPlacement::Device(device) => {
                (Arc::new(ModelDisk::below(folder.clone(), *device, real)?), folder.clone())
            }
        };
        self.push(folder, disk, there);
        Ok(())
    }

    /// Places the files below `folder` (relative = below the root) on a disk, under their own
    /// names; several folders may share one.
    pub fn place_disk(&mut self, folder: &Path, disk: Arc<dyn Disk>) {
        let folder = self.root.join(folder);
        self.push(folder.clone(), disk, folder);
    }

    fn push(&mut self, folder: PathBuf, disk: Arc<dyn Disk>, there: PathBuf) {
        self.routes.push(FolderRoute { folder, disk, there });
        // Longest first: the innermost folder is found first.
        self.routes.sort_by_key(|route| std::cmp::Reverse(route.folder.components().count()));
    }

    /// The disk of a path, and the path on that disk.
    fn find(&self, path: &Path) -> (&Arc<dyn Disk>, PathBuf) {
        let full = self.root.join(path);
        for route in &self.routes {
            if let Ok(rest) = full.strip_prefix(&route.folder) {
                // Joining an empty rest would add a slash, and the folder itself is a name too.
                let empty = rest.as_os_str().is_empty();
                return (
                    &route.disk,
                    if empty { route.there.clone() } else { route.there.join(rest) },
                );
            }
        }
        (&self.base, path.to_path_buf())
    }
}

impl Disk for Routes {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError> {
        let (disk, path) = self.find(path);
        disk.open(&path, mode)
    }

    fn look_up(&self, path: &Path) -> Result<NamedPlace, DiskError> {
        let (disk, path) = self.find(path);
        disk.look_up(&path)
    }

    fn open_named(
        &self,
        path: &Path,
        mode: OpenMode,
        rule: &dyn OpenRule,
    ) -> Result<Arc<dyn BlockFile>, DiskError> {
        let (disk, path) = self.find(path);
        disk.open_named(&path, mode, rule)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        let (disk, path) = self.find(path);
        disk.remove(&path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let ((source, from), (target, to)) = (self.find(from), self.find(to));
        if Arc::ptr_eq(source, target) {
            return source.rename(&from, &to);
        }
        let text = "the two names are on different devices".to_string();
        Err(DiskError::Io { op: Op::Rename, path: from, offset: 0, code: 18, text })
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        let (disk, path) = self.find(path);
        disk.exists(&path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        let (disk, path) = self.find(path);
        disk.create_dir_all(&path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let (disk, there) = self.find(dir);
        let entries = disk.list(&there)?;
        let back = |entry: PathBuf| match entry.strip_prefix(&there) {
            Ok(rest) => dir.join(rest),
            Err(_) => entry,
        };
        Ok(entries.into_iter().map(back).collect())
    }

    fn read_small(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        let (disk, path) = self.find(path);
        disk.read_small(&path)
    }

    fn write_small_atomic(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let (disk, path) = self.find(path);
        disk.write_small_atomic(&path, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8], durable: bool) -> Result<(), DiskError> {
        let (disk, path) = self.find(path);
        disk.append(&path, bytes, durable)
    }

    fn free_space(&self, path: &Path) -> Result<u64, DiskError> {
        let (disk, path) = self.find(path);
        disk.free_space(&path)
    }

    fn volume(&self, path: &Path) -> Option<disk::Volume> {
        let (disk, path) = self.find(path);
        disk.volume(&path)
    }

    fn lock_exclusive(&self, path: &Path) -> Result<DiskLock, DiskError> {
        let (disk, path) = self.find(path);
        disk.lock_exclusive(&path)
    }

    fn lock_shared(&self, path: &Path) -> Result<DiskLock, DiskError> {
        let (disk, path) = self.find(path);
        disk.lock_shared(&path)
    }

    fn identity(&self, path: &Path) -> Result<FileIdentity, DiskError> {
        let (disk, path) = self.find(path);
        disk.identity(&path)
    }

    fn is_within(&self, path: &Path, folder: &Path) -> Result<bool, DiskError> {
        let ((disk, there), (other, above)) = (self.find(path), self.find(folder));
        // What was placed elsewhere is not copied with the folder.
        Ok(there.starts_with(&above)
            && (Arc::ptr_eq(disk, other) || there == path)
            && disk.is_within(&there, &above)?)
    }
}
