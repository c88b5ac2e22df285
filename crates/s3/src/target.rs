//! Where an object is, and who asks for it: what a device, its readers and its writers share.

use std::sync::Arc;

use disk::{DiskError, Op};
use object_store::ObjectStoreExt;
use object_store::aws::AmazonS3;
use object_store::path::Path;

use crate::errors;
use crate::worker::Worker;

/// An object of a store.
#[derive(Clone, Debug)]
pub struct S3Object {
    pub worker: Arc<Worker>,
    pub store: Arc<AmazonS3>,
    pub key: Path,
    /// The URL.
    pub name: String,
}

impl S3Object {
    /// Bytes of the object.
    pub fn head(&self) -> Result<u64, DiskError> {
        let (store, key) = (self.store.clone(), self.key.clone());
        match self.worker.run(async move { store.head(&key).await }) {
            Some(Ok(meta)) => Ok(meta.size),
            Some(Err(e)) => Err(errors::of(Op::Open, &self.name, &e)),
            None => Err(errors::gone(Op::Open, &self.name)),
        }
    }
}
