//! The disk of a modelled device: a real disk keeps the bytes, the model decides when a request is
//! done.
//!
//! A request is submitted to the model when it arrives, then done on the real disk, and its caller
//! sleeps until the moment that the model computed. How much later than that it ended is counted
//! ([`HostLate`]): a run of many late requests measured the host, not the model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::{
    BlockFile, Disk, DiskError, DiskLock, FileIdentity, NamedPlace, OpenMode, OpenRule, OsDisk,
};
use parking_lot::Mutex;

use crate::file::ModelFile;
use crate::late::HostLate;
use crate::params::Device;
use crate::place::kind_of;
use crate::shared::{Array, PlacedFile, SharedDevice};
use crate::timeline::Counters;

/// The file that remembers which database file is on which array; only devices of several arrays
/// have it.
const PLACES: &str = "model-arrays.txt";

#[derive(Debug, Default)]
struct FileNames {
    files: BTreeMap<PathBuf, Arc<PlacedFile>>,
    /// Arrays by path, as stored in [`PLACES`].
    arrays: BTreeMap<PathBuf, usize>,
    /// The next array for each kind of file.
    next: BTreeMap<&'static str, usize>,
}

/// A [`Disk`] with the timing of a modelled device.
#[derive(Debug)]
pub struct ModelDisk {
    host: Arc<dyn Disk>,
    shared: Arc<SharedDevice>,
    /// Path of [`PLACES`].
    places: PathBuf,
    names: Mutex<FileNames>,
}

impl ModelDisk {
    /// A device on top of a real disk. Durable writes and syncs are durable on the real disk too,
    /// which costs its time where that is longer than the model's.
    ///
    /// # Errors
    /// The file that remembers the arrays of files cannot be read.
    pub fn new(device: Device, host: Arc<dyn Disk>) -> Result<ModelDisk, DiskError> {
        ModelDisk::build(device, host, PathBuf::new(), true)
    }

    /// The same for a device that holds only what is below `folder`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn below(
        folder: PathBuf,
        device: Device,
        host: Arc<dyn Disk>,
    ) -> Result<ModelDisk, DiskError> {
        ModelDisk::build(device, host, folder, true)
    }

    /// A device for measurements on the files below `root`. The real disk is not asked for
    /// durability, so that only the model's time of a sync is waited for: a power failure of the
    /// host may lose what the model called durable; the end of the process does not. Relative paths
    /// are below `root`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_measuring(device: Device, root: impl Into<PathBuf>) -> Result<ModelDisk, DiskError> {
        ModelDisk::build(device, Arc::new(OsDisk::scratch(root)), PathBuf::new(), false)
    }

    fn build(
        device: Device,
        host: Arc<dyn Disk>,
        folder: PathBuf,
        host_durable: bool,
    ) -> Result<ModelDisk, DiskError> {
        let shared = SharedDevice::new(device, host_durable);
        let places = folder.join(PLACES);
        let names = Mutex::new(read_places(&*host, &places, shared.arrays.len())?);
        Ok(ModelDisk { host, shared: Arc::new(shared), places, names })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// What each array has done.
    pub fn counters(&self) -> Vec<Counters> {
        self.shared.arrays.iter().map(Array::counters).collect()
    }

    /// How much the real disk delayed.
    pub fn host_late(&self) -> HostLate {
        self.shared.host_late()
    }

    /// The array of a file, if the device has seen it.
    pub fn array_of(&self, path: &Path) -> Option<usize> {
        self.names.lock().files.get(path).map(|placed| placed.array)
    }

    /// A file that was opened, with the timing of the device.
    fn modelled(
        &self,
        file: Arc<dyn BlockFile>,
        path: &Path,
        mode: OpenMode,
    ) -> Result<Arc<dyn BlockFile>, DiskError> {
        if let Err(error) = ModelFile::check_host(&*file, &self.shared.device) {
            if mode == OpenMode::Create {
                self.host.remove(path)?;
            }
            return Err(error);
        }
        let placed = self.place(path)?;
        if mode == OpenMode::Create {
            self.shared.wait(self.shared.journal(placed.array));
        }
        Ok(Arc::new(ModelFile::new(file, self.shared.clone(), placed)))
    }

    /// Finds the array and extents of a file, or chooses an array.
    fn place(&self, path: &Path) -> Result<Arc<PlacedFile>, DiskError> {
        let names = &mut *self.names.lock();
        if let Some(placed) = names.files.get(path) {
            return Ok(placed.clone());
        }
        let count = self.shared.arrays.len();
        let array = match (names.arrays.get(path), kind_of(path)) {
            (Some(&array), _) => array,
            (None, Some(kind)) if count > 1 => {
                let next = names.next.entry(kind).or_default();
                let array = *next % count;
                *next += 1;
                names.arrays.insert(path.to_path_buf(), array);
                self.write_places(names)?;
                array
            }
            _ => 0,
        };
        let placed = Arc::new(PlacedFile { array, extents: Mutex::default() });
        names.files.insert(path.to_path_buf(), placed.clone());
        Ok(placed)
    }

    fn write_places(&self, names: &FileNames) -> Result<(), DiskError> {
        let mut text = String::from("# Which array of the modelled device a file lies on.\n");
        for (path, array) in &names.arrays {
            text.push_str(&format!("{array} {}\n", path.display()));
        }
        self.host.write_small_atomic(&self.places, text.as_bytes())
    }

    /// Removes what is known about a removed file; returns the array that it was on.
    fn forget(&self, path: &Path) -> Result<usize, DiskError> {
        let names = &mut *self.names.lock();
        let array = match names.files.remove(path) {
            Some(placed) => {
                let mut extents = placed.extents.lock();
                extents.cut(&mut self.shared.arrays[placed.array].space.lock(), 0);
                placed.array
            }
            None => 0,
        };
        if names.arrays.remove(path).is_some() {
            self.write_places(names)?;
        }
        Ok(array)
    }
}

/// Reads [`PLACES`]. Lines that are not usable (the device has fewer arrays now, or the file is
/// damaged) are skipped, which only means that those files are assigned to arrays again.
fn read_places(host: &dyn Disk, path: &Path, count: usize) -> Result<FileNames, DiskError> {
    let mut names = FileNames::default();
    if count == 1 || !host.exists(path)? {
        return Ok(names);
    }
    let text = String::from_utf8_lossy(&host.read_small(path)?).into_owned();
    for line in text.lines() {
        let Some((array, path)) = line.split_once(' ') else { continue };
        let Some(array) = array.parse().ok().filter(|&array: &usize| array < count) else {
            continue;
        };
        let path = PathBuf::from(path);
        if let Some(kind) = kind_of(&path) {
            *names.next.entry(kind).or_default() += 1;
        }
        names.arrays.insert(path, array);
    }
    Ok(names)
}

impl Disk for ModelDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError> {
        self.modelled(self.host.open(path, mode)?, path, mode)
    }

    fn look_up(&self, path: &Path) -> Result<NamedPlace, DiskError> {
        self.host.look_up(path)
    }

    fn open_named(
        &self,
        path: &Path,
        mode: OpenMode,
        rule: &dyn OpenRule,
    ) -> Result<Arc<dyn BlockFile>, DiskError> {
        self.modelled(self.host.open_named(path, mode, rule)?, path, mode)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.host.remove(path)?;
        let array = self.forget(path)?;
        self.shared.wait(self.shared.journal(array));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.host.rename(from, to)?;
        if from != to {
            self.forget(to)?;
            let names = &mut *self.names.lock();
            if let Some(placed) = names.files.remove(from) {
                names.files.insert(to.to_path_buf(), placed);
            }
            if let Some(array) = names.arrays.remove(from) {
                names.arrays.insert(to.to_path_buf(), array);
                self.write_places(names)?;
            }
        }
        self.shared.wait(self.shared.journal(0));
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        self.host.exists(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.host.create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.host.list(dir)
    }

    fn read_small(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.host.read_small(path)
    }

    fn write_small_atomic(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        // The content and the new name.
        let done = self.shared.journal(0).max(self.shared.journal(0));
        self.host.write_small_atomic(path, bytes)?;
        self.shared.wait(done);
        Ok(())
    }

    fn append(&self, path: &Path, bytes: &[u8], durable: bool) -> Result<(), DiskError> {
        let done = durable.then(|| self.shared.journal(0));
        self.host.append(path, bytes, durable)?;
        if let Some(done) = done {
            self.shared.wait(done);
        }
        Ok(())
    }

    fn free_space(&self, path: &Path) -> Result<u64, DiskError> {
        self.host.free_space(path)
    }

    fn volume(&self, path: &Path) -> Option<disk::Volume> {
        self.host.volume(path)
    }

    fn lock_exclusive(&self, path: &Path) -> Result<DiskLock, DiskError> {
        self.host.lock_exclusive(path)
    }

    fn lock_shared(&self, path: &Path) -> Result<DiskLock, DiskError> {
        self.host.lock_shared(path)
    }

    fn identity(&self, path: &Path) -> Result<FileIdentity, DiskError> {
        self.host.identity(path)
    }

    fn is_within(&self, path: &Path, folder: &Path) -> Result<bool, DiskError> {
        self.host.is_within(path, folder)
    }
}
