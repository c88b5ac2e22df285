//! Where backups are written to and read from: a sequential stream of bytes per device.
//!
//! [`FileDevice`] is a file of the instance's disk, [`NullDevice`] takes everything and keeps
//! nothing (TO DISK = 'NUL'). What a URL leads to is made by the implementor of [`UrlDevices`]
//! (crate s3): it writes a stream once, reads ranges, and is never appended to.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use disk::{AlignedBuf, BlockFile, Disk, DiskError, OpenMode, OpenRule};

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
    /// Opens it for writing from byte `at` on (a multiple of [`UNIT`]); what was there from `at` on
    /// is given up.
    fn writer(&self, at: u64) -> Result<Box<dyn BackupWriter>, DiskError>;
    /// Whether a set can go after those that are there. If not, what is there is replaced as a
    /// whole, and only WITH FORMAT.
    fn appends(&self) -> bool {
        true
    }
}

/// What a URL device needs to know.
#[derive(Clone, Copy)]
pub struct UrlRequest<'a> {
    /// `s3://host[:port]/path`, at most [`URL_MAX`] bytes, without a query.
    pub url: &'a str,
    pub key_id: &'a str,
    pub secret: &'a str,
    pub region: &'a str,
    /// False: plain HTTP.
    pub tls: bool,
    /// Certificates in PEM that a server may be signed by; none: those that browsers trust.
    pub certificates: &'a [Vec<u8>],
    /// Bytes of a transfer (MAXTRANSFERSIZE).
    pub transfer: usize,
    /// Devices of the statement, which share the memory for transfers.
    pub devices: usize,
}

impl Debug for UrlRequest<'_> {
    /// Leaves the secret out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UrlRequest")
            .field("url", &self.url)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

/// Longest URL of a device.
pub const URL_MAX: usize = 259;

/// Makes devices of URLs.
pub trait UrlDevices: Send + Sync + Debug {
    /// The device of a URL; nothing is sent yet.
    fn device(&self, request: &UrlRequest<'_>) -> Result<Box<dyn BackupDevice>, DiskError>;
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

/// Writes a device from front to back. Dropped without [`finish`](Self::finish) it leaves what was
/// there before its start.
pub trait BackupWriter: Send {
    /// Adds bytes: a multiple of [`UNIT`].
    fn append(&mut self, bytes: &[u8]) -> Result<(), DiskError>;
    /// Makes everything durable, but does not yet make it last: what can fail fails here, for all
    /// devices of a set before the first of them is finished.
    fn settle(&mut self) -> Result<(), DiskError>;
    /// Makes what has settled last.
    fn finish(&mut self) -> Result<(), DiskError>;
}

/// A file. It is opened only as its rule allows.
#[derive(Debug, Clone)]
pub struct FileDevice {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    name: String,
    rule: Arc<dyn OpenRule>,
}

impl FileDevice {
    /// `name` is what messages call it; `rule` is what was decided about the path.
    pub fn new(
        disk: Arc<dyn Disk>,
        path: PathBuf,
        name: impl Into<String>,
        rule: Arc<dyn OpenRule>,
    ) -> FileDevice {
        FileDevice { disk, path, name: name.into(), rule }
    }

    fn open(&self, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError> {
        self.disk.open_named(&self.path, mode, &*self.rule)
    }
}

impl BackupDevice for FileDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> Result<Option<u64>, DiskError> {
        match self.open(OpenMode::Read) {
            Ok(file) => {
                let len = file.len();
                file.release();
                len.map(Some)
            }
            Err(DiskError::NotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn reader(&self) -> Result<Box<dyn BackupReader>, DiskError> {
        let file = self.open(OpenMode::Read)?;
        let len = file.len()?;
        Ok(Box::new(FileReader { file, len }))
    }

    fn writer(&self, at: u64) -> Result<Box<dyn BackupWriter>, DiskError> {
        let (file, created) = match self.open(OpenMode::Open) {
            Ok(file) => (file, false),
            Err(DiskError::NotFound { .. }) => (self.open(OpenMode::Create)?, true),
            Err(e) => return Err(e),
        };
        if !created && file.len()? != at {
            file.set_len(at)?;
        }
        let made = created.then(|| self.clone());
        Ok(Box::new(FileWriter { file, start: at, at, made, done: false }))
    }
}

struct FileReader {
    file: Arc<dyn BlockFile>,
    len: u64,
}

impl Drop for FileReader {
    fn drop(&mut self) {
        self.file.release();
    }
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
    made: Option<FileDevice>,
    done: bool,
}

impl BackupWriter for FileWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        self.file.write_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn settle(&mut self) -> Result<(), DiskError> {
        self.file.sync()
    }

    fn finish(&mut self) -> Result<(), DiskError> {
        self.done = true;
        Ok(())
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if !self.done {
            // The error that matters has been reported; an unfinished set is also recognised by its
            // missing end.
            let _ = match &self.made {
                Some(device) => device.disk.remove_named(&device.path, &*device.rule),
                None => self.file.set_len(self.start),
            };
        }
        self.file.release();
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

    fn settle(&mut self) -> Result<(), DiskError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), DiskError> {
        Ok(())
    }
}
