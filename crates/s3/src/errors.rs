//! What failures of a server are called: the operating system errors that SQL Server shows for such
//! a device.

use std::error::Error as _;

use disk::{DiskError, Op};
use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

fn io(op: Op, url: &str, code: i32, text: impl Into<String>) -> DiskError {
    DiskError::Io { op, path: url.into(), offset: 0, code, text: text.into() }
}

/// A URL or a number that the device cannot have.
pub fn invalid(op: Op, url: &str) -> DiskError {
    io(op, url, 87, "The parameter is incorrect.")
}

/// The server's certificate does not hold, it speaks no TLS, or a certificate of ours cannot be
/// read.
pub fn insecure(op: Op, url: &str) -> DiskError {
    io(op, url, 12175, "A security error occurred.")
}

/// The worker ended without a result.
pub fn gone(op: Op, url: &str) -> DiskError {
    io(op, url, 12017, "The operation has been canceled.")
}

/// An error of a request. A missing object is `NotFound` when one is read; a missing bucket, when
/// one is written, is what SQL Server calls a request that is not supported.
pub fn of(op: Op, url: &str, e: &Error) -> DiskError {
    match e {
        Error::NotFound { .. } if matches!(op, Op::Open | Op::Read) => {
            DiskError::NotFound { path: url.into() }
        }
        Error::NotFound { .. } => io(op, url, 50, "The request is not supported."),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            io(op, url, 5, "Access is denied.")
        }
        _ => sent(op, url, e),
    }
}

/// What the sources of an error say of the way to the server.
fn sent(op: Op, url: &str, e: &Error) -> DiskError {
    let mut source = e.source();
    while let Some(e) = source {
        if let Some(http) = e.downcast_ref::<HttpError>() {
            let (code, text) = match http.kind() {
                _ if is_tls(http) => return insecure(op, url),
                _ if matches!(cause(http), Some(ureq::Error::HostNotFound)) => {
                    (12007, "The server name or address could not be resolved.")
                }
                HttpErrorKind::Connect => {
                    (12029, "A connection with the server could not be established.")
                }
                HttpErrorKind::Timeout => (12002, "The operation timed out."),
                HttpErrorKind::Interrupted => {
                    (12030, "The connection with the server was terminated abnormally.")
                }
                _ => (12152, "The server returned an invalid or unrecognized response."),
            };
            return io(op, url, code, text);
        }
        source = e.source();
    }
    // The server's own words, without what was sent.
    io(op, url, 12152, format!("The server refused the request: {}", first_words(e)))
}

fn cause(e: &HttpError) -> Option<&ureq::Error> {
    e.source().and_then(|e| e.downcast_ref())
}

fn is_tls(e: &HttpError) -> bool {
    use ureq::Error::{Rustls, Tls};
    match cause(e) {
        Some(Rustls(_) | Tls(_)) => true,
        Some(ureq::Error::Io(io)) => io.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

/// `<Code>` of the answer, else the beginning of the whole error.
fn first_words(e: &Error) -> String {
    let all = format!("{e}");
    let code = all.split_once("<Code>").and_then(|(_, rest)| Some(rest.split_once("</Code>")?.0));
    code.map_or_else(|| all.chars().take(200).collect(), str::to_string)
}
