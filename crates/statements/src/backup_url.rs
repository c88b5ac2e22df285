//! Devices that are URLs: `s3://host[:port]/bucket/path`, with what WITH and the credentials say of
//! them. Guarantees: nothing goes over a connection without TLS unless the statement asks for it.

use disk::{DiskError, Op};
use instance::OfInstance;
use serde_json::Value as Json;
use syntax::ast::OptionItem;
use txn::backup::{BackupDevice, BackupError, URL_MAX, UrlRequest};
use types::{SqlError, msg};

use super::StmtCtx;
use super::backup_errors::{FailedCommand, reason};
use catalog::errors;

/// IDENTITY of credentials for S3.
const IDENTITY: &str = "S3 Access Key";
/// Where certificates of one's own are put, below the instance's folder.
const CERTIFICATES: &str = "ca-certificates";
/// Certificates that are read, at most.
const MAX_CERTIFICATES: usize = 50;
/// MAXTRANSFERSIZE: bytes of a part of an object.
const TRANSFER: std::ops::RangeInclusive<i64> = 5 << 20..=20 << 20;

/// What a statement says of its URLs.
#[derive(Debug)]
pub(super) struct UrlOptions {
    /// WITH CREDENTIAL.
    credential: Option<String>,
    transfer: usize,
    region: String,
    tls: bool,
}

impl Default for UrlOptions {
    fn default() -> Self {
        UrlOptions { credential: None, transfer: 10 << 20, region: "us-east-1".into(), tls: true }
    }
}

impl StmtCtx<'_> {
    /// The options among a statement's that are about URLs; those that URLs cannot have are errors.
    /// Errors: 3291, 3250, 3217.
    pub(super) fn url_options(&self, items: &[OptionItem]) -> Result<UrlOptions, SqlError> {
        let mut options = UrlOptions::default();
        for item in items {
            match item.name.as_str() {
                "INIT" | "FILE" | "MEDIAPASSWORD" | "PASSWORD" => {
                    return Err(SqlError::of(msg::URL_OPTION_DISALLOWED, [&item.name]));
                }
                "CREDENTIAL" => options.credential = Some(self.option_text(item)?),
                "MAXTRANSFERSIZE" => {
                    let n = self.option_number(item)?.unwrap_or(0);
                    if !TRANSFER.contains(&n) {
                        return Err(SqlError::of(msg::PARAMETER_RANGE, [&n, &"MAXTRANSFERSIZE"]));
                    }
                    // Whole units, so that a part begins where a unit does.
                    options.transfer = n as usize / txn::backup::UNIT * txn::backup::UNIT;
                }
                "BACKUP_OPTIONS" | "RESTORE_OPTIONS" => {
                    options.read_json(&item.name, &self.option_text(item)?)?
                }
                _ => {}
            }
        }
        Ok(options)
    }

    /// The device of a URL. Errors: 3297, 3057, 3288, 3233, 3201.
    pub(super) fn url_device(
        &self,
        url: &str,
        options: &UrlOptions,
        certificates: &[Vec<u8>],
        devices: usize,
    ) -> Result<Box<dyn BackupDevice>, SqlError> {
        check_url(url)?;
        let instance = self.core.instance();
        let Some(maker) = &instance.url_devices else {
            return Err(errors::not_supported(
                "BACKUP and RESTORE with URL in a build without the feature s3",
            ));
        };
        let credentials = instance.credentials();
        let credential = match &options.credential {
            None => credentials
                .for_url(url)
                .ok_or_else(|| refused(url, 50, "The request is not supported."))?,
            Some(name) => credentials
                .find(name)
                .ok_or_else(|| SqlError::of(msg::CREDENTIAL_NOT_FOUND, [&name]))?,
        };
        if !credential.identity.eq_ignore_ascii_case(IDENTITY) {
            return Err(SqlError::of(msg::S3_IDENTITY_INVALID, [&IDENTITY]));
        }
        let secret = credential.secret.as_deref().and_then(|secret| secret.split_once(':'));
        let (key_id, secret) =
            secret.ok_or_else(|| refused(url, 87, "The parameter is incorrect."))?;
        let request = UrlRequest {
            url,
            key_id,
            secret,
            region: &options.region,
            tls: options.tls,
            certificates,
            transfer: options.transfer,
            devices,
        };
        maker.device(&request).map_err(|cause| opening(url, cause))
    }

    /// Certificates that servers may be signed by. A folder that is not there has none.
    pub(super) fn certificates(&self) -> Vec<Vec<u8>> {
        let instance = self.core.instance();
        let files =
            instance.disk.list(&instance.paths.root().join(CERTIFICATES)).unwrap_or_default();
        files
            .iter()
            .take(MAX_CERTIFICATES)
            .filter_map(|file| instance.disk.read_small(file).ok())
            .collect()
    }
}

impl UrlOptions {
    /// `{"s3": {"region": "...", "tls": true}}`
    fn read_json(&mut self, option: &str, text: &str) -> Result<(), SqlError> {
        let invalid = || SqlError::of(msg::INVALID_PARAMETER_VALUE, [&option]);
        let json: Json = serde_json::from_str(text).map_err(|_| invalid())?;
        let outer =
            json.as_object().filter(|o| o.keys().all(|key| key == "s3")).ok_or_else(invalid)?;
        let Some(s3) = outer.get("s3") else { return Ok(()) };
        for (key, value) in s3.as_object().ok_or_else(invalid)? {
            match (key.as_str(), value) {
                ("region", Json::String(region)) if !region.is_empty() => {
                    self.region.clone_from(region)
                }
                ("tls", Json::Bool(tls)) => self.tls = *tls,
                _ => return Err(invalid()),
            }
        }
        Ok(())
    }
}

fn check_url(url: &str) -> Result<(), SqlError> {
    if url.len() > URL_MAX {
        return Err(SqlError::of(msg::DEVICE_NAME_TOO_LONG, [&URL_MAX]));
    }
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") {
        return Err(errors::not_supported("BACKUP and RESTORE with URLs other than s3://"));
    }
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let named = path
        .is_some_and(|(host, path)| !host.is_empty() && !path.is_empty() && !path.ends_with('/'));
    if !scheme.eq_ignore_ascii_case("s3") || !named || url.contains(['?', '#', '@', ' ', '\\', '%'])
    {
        return Err(SqlError::of(msg::URL_INVALID, []));
    }
    Ok(())
}

/// 3201 with an operating system error.
fn refused(url: &str, code: i32, text: &str) -> SqlError {
    opening(
        url,
        DiskError::Io { op: Op::Open, path: url.into(), offset: 0, code, text: text.into() },
    )
}

fn opening(url: &str, cause: DiskError) -> SqlError {
    let place = FailedCommand { command: "", database: "", db: None };
    reason(&place, &BackupError::Open { device: url.into(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_checked() {
        for good in ["s3://h/b/x.bak", "S3://h:9000/b/a/b/c", "s3://b.host/x"] {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for (bad, number) in [
            ("s3://h", 3297),
            ("s3:///b/x", 3297),
            ("s3://h/b/", 3297),
            ("s3://h/b?x=1", 3297),
            ("ftp://h/b", 3297),
            ("x", 3297),
            ("https://a.blob/x", 40510),
        ] {
            assert_eq!(check_url(bad).map_err(|e| e.number), Err(number), "{bad}");
        }
        assert_eq!(
            check_url(&format!("s3://h/{}", "x".repeat(260))).map_err(|e| e.number),
            Err(3057)
        );
    }

    #[test]
    fn options_are_json() {
        let mut options = UrlOptions::default();
        options
            .read_json("BACKUP_OPTIONS", r#"{"s3": {"region":"eu-west-1", "tls": false}}"#)
            .unwrap();
        assert_eq!((options.region.as_str(), options.tls), ("eu-west-1", false));
        for bad in [
            "",
            "[]",
            "{\"s3\": 1}",
            "{\"s3\": {\"region\": 1}}",
            "{\"azure\": {}}",
            "{\"s3\": {\"x\": 1}}",
        ] {
            let found = options.read_json("BACKUP_OPTIONS", bad).map_err(|e| e.number);
            assert_eq!(found, Err(3217), "{bad}");
        }
    }
}
