//! One object as a backup device.

use std::sync::Arc;

use disk::{DiskError, Op};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use txn::backup::{BackupDevice, BackupReader, BackupWriter};

use crate::errors;
use crate::read::S3Reader;
use crate::target::S3Object;
use crate::worker::Worker;
use crate::write::S3Writer;

/// An object, there or not.
#[derive(Debug)]
pub struct S3Device {
    target: S3Object,
    /// Bytes of a part.
    part: usize,
    /// Parts on their way at once.
    ahead: usize,
}

impl S3Device {
    pub fn new(
        worker: Arc<Worker>,
        store: Arc<AmazonS3>,
        key: Path,
        name: String,
        part: usize,
        ahead: usize,
    ) -> S3Device {
        S3Device { target: S3Object { worker, store, key, name }, part, ahead }
    }
}

impl BackupDevice for S3Device {
    fn name(&self) -> &str {
        &self.target.name
    }

    fn size(&self) -> Result<Option<u64>, DiskError> {
        match self.target.head() {
            Ok(size) => Ok(Some(size)),
            Err(DiskError::NotFound { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn reader(&self) -> Result<Box<dyn BackupReader>, DiskError> {
        let len = self.target.head()?;
        Ok(Box::new(S3Reader::new(self.target.clone(), len, self.ahead)))
    }

    fn writer(&self, at: u64) -> Result<Box<dyn BackupWriter>, DiskError> {
        if at != 0 {
            return Err(errors::invalid(Op::Create, &self.target.name));
        }
        Ok(Box::new(S3Writer::open(self.target.clone(), self.part, self.ahead)?))
    }

    fn appends(&self) -> bool {
        false
    }
}
