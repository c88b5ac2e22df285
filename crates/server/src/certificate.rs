//! The server's certificate and key: given as PEM files, or made at the first start and kept in the
//! data folder. Guarantees: a key that is made here is readable by its owner alone from the moment
//! its file exists. What is made has a copy of each file: damage to one of them, or its loss, keeps
//! no server from starting, and its clients trust it as before; where no certificate fits a key any
//! more, both are kept under another name and others are made.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};

/// Names of the files that are made in the data folder.
const CERTIFICATE: &str = "server-cert.pem";
const KEY: &str = "server-key.pem";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read or written.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    /// A file is not what it should be.
    #[error("{}: {}", .0.display(), .1)]
    Content(PathBuf, String),
    /// A certificate could not be made.
    #[error("a certificate could not be made: {0}")]
    Make(#[from] rcgen::Error),
}

/// A chain of certificates and the key of its first.
#[derive(Debug)]
pub struct Identity {
    /// The server's certificate, then those that sign it.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its key.
    pub key: PrivateKeyDer<'static>,
    /// Where the certificate is, for clients that shall trust it.
    pub path: PathBuf,
}

impl Identity {
    /// What a server with it negotiates: these versions of TLS.
    ///
    /// # Errors
    /// The key does not fit the certificate, or is of a kind that cannot be used.
    pub(crate) fn config(
        &self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<ServerConfig, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())?;
        // Sessions are not resumed: login-only TLS ends before a ticket could be used, and idle
        // connections keep no state for it.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

/// Reads the certificates and the key of two PEM files.
///
/// # Errors
/// A file cannot be read, or has no certificate or no key.
pub fn load(certificate: &Path, key: &Path) -> Result<Identity, CertificateError> {
    let read =
        |path: &Path| fs::read(path).map_err(|e| CertificateError::File(path.to_path_buf(), e));
    let content = |path: &Path, text: String| CertificateError::Content(path.to_path_buf(), text);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&read(certificate)?)
        .collect::<Result<_, _>>()
        .map_err(|e| content(certificate, e.to_string()))?;
    if chain.is_empty() {
        return Err(content(certificate, "there is no certificate in the file".into()));
    }
    let key_der = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|e| content(key, format!("no private key: {e}")))?;
    Ok(Identity { chain, key: key_der, path: certificate.to_path_buf() })
}

/// The certificate of the data folder, made where there is none; `names` are the hosts that it is
/// for.
///
/// # Errors
/// A file cannot be written.
pub fn load_or_make(folder: &Path, names: &[String]) -> Result<Identity, CertificateError> {
    let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
    let certificates = [certificate.clone(), beside(&certificate, "copy")];
    let keys = [key.clone(), beside(&key, "copy")];
    for (from, key_from) in
        certificates.iter().flat_map(|one| keys.iter().map(move |other| (one, other)))
    {
        let Ok(identity) = load(from, key_from).and_then(usable) else { continue };
        keep(from, &certificates, 0o644)?;
        keep(key_from, &keys, 0o600)?;
        return Ok(Identity { path: certificate, ..identity });
    }
    for path in [&certificate, &key] {
        put_aside(path)?;
    }
    make(&certificate, &key, names)?;
    keep(&certificate, &certificates, 0o644)?;
    keep(&key, &keys, 0o600)?;
    load(&certificate, &key)
}

/// A certificate whose key is the one beside it.
fn usable(identity: Identity) -> Result<Identity, CertificateError> {
    match identity.config(&[&TLS13, &TLS12]) {
        Ok(_) => Ok(identity),
        Err(e) => Err(CertificateError::Content(identity.path, e.to_string())),
    }
}

/// The name of another file that goes with one.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Writes a file again whose copy is the one that can be used, and a copy that is not there. A file
/// that was replaced by somebody keeps its older copy.
fn keep(used: &Path, [own, copy]: &[PathBuf; 2], mode: u32) -> Result<(), CertificateError> {
    let to = match used == own {
        true if copy.exists() => return Ok(()),
        true => copy,
        false => own,
    };
    let text =
        fs::read_to_string(used).map_err(|e| CertificateError::File(used.to_path_buf(), e))?;
    write(to, &text, mode)
}

/// Keeps what cannot be used under another name.
fn put_aside(path: &Path) -> Result<(), CertificateError> {
    match fs::rename(path, beside(path, "damaged")) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(CertificateError::File(path.to_path_buf(), e))
        }
        _ => match fs::remove_file(beside(path, "copy")) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(CertificateError::File(path.to_path_buf(), e))
            }
            _ => Ok(()),
        },
    }
}

fn make(certificate: &Path, key: &Path, names: &[String]) -> Result<(), CertificateError> {
    let pair = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "Ringwood self-signed");
    params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
    let signed = params.self_signed(&pair)?;
    write(key, &pair.serialize_pem(), 0o600)?;
    write(certificate, &signed.pem(), 0o644)
}

/// A whole file or none: written under another name, then renamed.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertificateError> {
    let failed = |e| CertificateError::File(path.to_path_buf(), e);
    let part = path.with_extension("part");
    match fs::remove_file(&part) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
        _ => {}
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&part).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&part, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let names = vec!["localhost".to_string(), "127.0.0.1".to_string()];
        let first = load_or_make(folder.path(), &names).unwrap();
        let again = load_or_make(folder.path(), &names).unwrap();
        assert_eq!(first.chain, again.chain);
        let mode = fs::metadata(folder.path().join(KEY)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// Bytes of each file change, one at a time, to what no PEM file has, or the file is lost:
    /// there is the same certificate.
    #[test]
    fn damage_to_one_file_keeps_the_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let names = vec!["localhost".to_string()];
        let first = load_or_make(folder.path(), &names).unwrap();
        for name in [CERTIFICATE, KEY, "server-cert.pem.copy", "server-key.pem.copy"] {
            let path = folder.path().join(name);
            let whole = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            assert_eq!(
                load_or_make(folder.path(), &names).unwrap().chain,
                first.chain,
                "{name} is lost"
            );
            assert_eq!(fs::read(&path).unwrap(), whole, "{name} is there again");
            for at in (0..whole.len()).step_by(29) {
                let mut bad = whole.clone();
                bad[at] ^= 0x80;
                fs::write(&path, &bad).unwrap();
                assert_eq!(
                    load_or_make(folder.path(), &names).unwrap().chain,
                    first.chain,
                    "byte {at} of {name}"
                );
                fs::write(&path, &whole).unwrap();
            }
        }
    }

    #[test]
    fn where_no_key_fits_a_new_one_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let names = vec!["localhost".to_string()];
        let first = load_or_make(folder.path(), &names).unwrap();
        for name in [KEY, "server-key.pem.copy"] {
            fs::write(folder.path().join(name), "nothing").unwrap();
        }
        let second = load_or_make(folder.path(), &names).unwrap();
        assert_ne!(first.chain, second.chain);
        assert_eq!(load_or_make(folder.path(), &names).unwrap().chain, second.chain);
        assert!(folder.path().join("server-key.pem.damaged").exists());
    }

    #[test]
    fn files_that_are_not_pem_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pem");
        fs::write(&path, "nothing").unwrap();
        assert!(load(&path, &path).unwrap_err().to_string().contains("x.pem"));
        assert!(load(&folder.path().join("none"), &path).unwrap_err().to_string().contains("none"));
    }
}
