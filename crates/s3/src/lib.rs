//! Backup devices on S3-compatible object storage: what `TO URL = 's3://...'` leads to, when a
//! build has the feature `s3`.
//!
//! A backup is one object per device, written as a multipart upload while it streams, and read by
//! ranges. Requests are made, signed and repeated by crate `object_store`; they travel through
//! `ureq`, which the workspace has anyway. The asynchronous code that `object_store` asks for stays
//! in [`worker`] and [`http`]: devices are plain blocking code.
//!
//! # Guarantees
//! - An object is there once its upload was completed, as a whole; a failed or dropped writer gives
//!   its parts up.
//! - Memory is bounded: a device keeps the part that it fills and those on their way, a reader a
//!   few pieces ahead.
//! - Errors are the numbers that SQL Server shows for such a device; neither they nor anything else
//!   holds the secret.
#![cfg(feature = "client")]

mod device;
mod errors;
mod http;
mod read;
mod target;
mod worker;
mod write;

use std::sync::Arc;
use std::time::Duration;

use disk::{DiskError, Op};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{BackoffConfig, RetryConfig};
use txn::backup::{BackupDevice, UrlDevices, UrlRequest};

use device::S3Device;
use http::Http;
use worker::Worker;

/// Parts that may be on their way at once, over all devices of a statement.
const IN_FLIGHT: usize = 8;

/// Makes devices of `s3://` URLs.
#[derive(Debug)]
pub struct S3 {
    worker: Arc<Worker>,
}

impl S3 {
    /// Starts the thread that requests run on.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn new() -> std::io::Result<S3> {
        Ok(S3 { worker: Arc::new(Worker::start()?) })
    }
}

impl UrlDevices for S3 {
    fn device(&self, request: &UrlRequest<'_>) -> Result<Box<dyn BackupDevice>, DiskError> {
        let bad = || errors::invalid(Op::Open, request.url);
        let rest = request
            .url
            .get(..5)
            .filter(|s| s.eq_ignore_ascii_case("s3://"))
            .map(|_| &request.url[5..]);
        let (host, key) = rest.and_then(|rest| rest.split_once('/')).ok_or_else(bad)?;
        let key = Path::parse(key).map_err(|_| bad())?;
        if host.is_empty() || key.as_ref().is_empty() {
            return Err(bad());
        }
        let store = Arc::new(store(request, host)?);
        let ahead = (IN_FLIGHT / request.devices.max(1)).clamp(1, 4);
        let name = request.url.to_string();
        Ok(Box::new(S3Device::new(self.worker.clone(), store, key, name, request.transfer, ahead)))
    }
}

/// The store of an endpoint. Bucket and key stay together as the object's path: on the wire a
/// bucket in the path and one in the host's name look alike, and nothing but objects is asked for.
fn store(request: &UrlRequest<'_>, host: &str) -> Result<AmazonS3, DiskError> {
    let scheme = if request.tls { "https" } else { "http" };
    let connector = Http::new(request.certificates, request.tls);
    let connector = connector.map_err(|_| errors::insecure(Op::Open, request.url))?;
    let built = AmazonS3Builder::new()
        .with_endpoint(format!("{scheme}://{host}"))
        .with_virtual_hosted_style_request(true)
        .with_bucket_name("-")
        .with_region(request.region)
        .with_access_key_id(request.key_id)
        .with_secret_access_key(request.secret)
        .with_retry(retries())
        .with_http_connector(connector)
        .build();
    built.map_err(|_| errors::invalid(Op::Open, request.url))
}

/// A request that failed for a passing reason is made again for some seconds; what lasts longer
/// ends the statement, for a backup keeps log from being reused while it waits.
fn retries() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(5),
        base: 2.0,
    };
    RetryConfig { backoff, max_retries: 5, retry_timeout: Duration::from_secs(30) }
}
