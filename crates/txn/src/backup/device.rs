//! Where backups are written to and read from: a sequential stream of bytes per device.
//!
//! [`FileDevice`] is a file of the instance's disk, [`NullDevice`] takes everything and keeps nothing (TO DISK = 'NUL').
//! Object storage fits the same traits: it writes a stream once, reads ranges, and refuses to append.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use disk::{AlignedBuf, BlockFile, Disk, DiskError, OpenMode};

/// Every transfer starts and ends on a multiple of this many bytes.
pub const UNIT: usize = 4096;

/// One backup device as a statement names it.
pub trait BackupDevice: Send + Sync + Debug {
    /// Its name for messages.
    fn name(&self) -> &str;
    /// Bytes that are there; `None` if nothing is.
    fn size(&self) -> Result<Option<u64>, DiskError>;
    /// Opens it for reading.
    fn reader(&self) -> Result<Box<dyn BackupReader>, DiskError>;
    /// Opens it for writing from byte `at` on (a multiple of [`UNIT`]); what was there from `at` on is given up.
    fn writer(&self, at: u64) -> Result<Box<dyn BackupWriter>, DiskError>;
}

/// Reads a device. Offsets and lengths are multiples of [`UNIT`].
pub trait BackupReader: Send {
    /// Bytes that can be read.
    fn len(&self) -> u64;
    /// True if there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Fills the buffer from `offset`.
    fn read_at(&mut self, offset: u64, buf: &mut AlignedBuf, len: usize) -> Result<(), DiskError>;
}

/// Writes a device from front to back. Dropped without [`finish`](Self::finish) it leaves what was there before its start.
pub trait BackupWriter: Send {
    /// Adds bytes: a multiple of [`UNIT`].
    fn append(&mut self, bytes: &[u8]) -> Result<(), DiskError>;
    /// Makes everything durable.
    fn finish(&mut self) -> Result<(), DiskError>;
}

/// A file.
#[derive(Debug, Clone)]
pub struct FileDevice {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    name: String,
}

impl FileDevice {
    /// `name` is what messages call it.
    pub fn new(disk: Arc<dyn Disk>, path: PathBuf, name: impl Into<String>) -> FileDevice {
        FileDevice { disk, path, name: name.into() }
    }
}

impl BackupDevice for FileDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> Result<Option<u64>, DiskError> {
        match self.disk.open(&self.path, OpenMode::Open) {
            Ok(file) => file.len().map(Some),
            Err(DiskError::NotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn reader(&self) -> Result<Box<dyn BackupReader>, DiskError> {
        let file = self.disk.open(&self.path, OpenMode::Open)?;
        let len = file.len()?;
        Ok(Box::new(FileReader { file, len }))
    }

    fn writer(&self, at: u64) -> Result<Box<dyn BackupWriter>, DiskError> {
        let (file, created) = match self.disk.open(&self.path, OpenMode::Open) {
            Ok(file) => (file, false),
            Err(DiskError::NotFound { .. }) => {
                if let Some(folder) = self.path.parent() {
                    self.disk.create_dir_all(folder)?;
                }
                (self.disk.open(&self.path, OpenMode::Create)?, true)
            }
            Err(e) => return Err(e),
        };
        if !created && file.len()? != at {
            file.set_len(at)?;
        }
        let remove = created.then(|| (self.disk.clone(), self.path.clone()));
        Ok(Box::new(FileWriter { file, start: at, at, remove, done: false }))
    }
}

struct FileReader {
    file: Arc<dyn BlockFile>,
    len: u64,
}

impl BackupReader for FileReader {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&mut self, offset: u64, buf: &mut AlignedBuf, len: usize) -> Result<(), DiskError> {
        self.file.read_at(offset, &mut buf[..len])
    }
}

struct FileWriter {
    file: Arc<dyn BlockFile>,
    start: u64,
    at: u64,
    /// Made by this writer: goes if the backup fails.
    remove: Option<(Arc<dyn Disk>, PathBuf)>,
    done: bool,
}

impl BackupWriter for FileWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        self.file.write_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), DiskError> {
        self.file.sync()?;
        self.done = true;
        Ok(())
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // The error that matters has been reported; an unfinished set is also recognised by its missing end.
        let _ = match &self.remove {
            Some((disk, path)) => disk.remove(path),
            None => self.file.set_len(self.start),
        };
    }
}

/// Takes everything, keeps nothing.
#[derive(Debug, Clone, Default)]
pub struct NullDevice;

impl BackupDevice for NullDevice {
    fn name(&self) -> &str {
        "NUL"
    }

    fn size(&self) -> Result<Option<u64>, DiskError> {
        Ok(None)
    }

    fn reader(&self) -> Result<Box<dyn BackupReader>, DiskError> {
        Err(DiskError::NotFound { path: "NUL".into() })
    }

    fn writer(&self, _at: u64) -> Result<Box<dyn BackupWriter>, DiskError> {
        Ok(Box::new(NullDevice))
    }
}

impl BackupWriter for NullDevice {
    fn append(&mut self, _bytes: &[u8]) -> Result<(), DiskError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), DiskError> {
        Ok(())
    }
}
