//! TLS of clients: which versions, and whose certificates are good.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::options::{ClientError, Trust};

/// What TDS 8.0 calls itself in TLS.
const ALPN: &[u8] = b"tds/8.0";

/// A new client side of TLS; `strict` for TDS 8.0, otherwise inside TDS packets, where servers
/// speak TLS 1.2 at most.
///
/// # Errors
/// The trusted certificates cannot be had, `host` is no name.
pub fn begin(
    host: &str,
    trust: &Trust,
    strict: bool,
) -> Result<Box<ClientConnection>, ClientError> {
    let provider = Arc::new(ring::default_provider());
    let versions: &[_] = if strict { &[&TLS13, &TLS12] } else { &[&TLS12] };
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions)?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::Any => Arc::new(AnyCertificate),
        Trust::System => verifier(system_roots()?)?,
        Trust::File(file) => verifier(roots_of(file)?)?,
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = builder.with_no_client_auth();
    if strict {
        config.alpn_protocols = vec![ALPN.to_vec()];
    }
    let name =
        ServerName::try_from(host.to_owned()).map_err(|_| ClientError::Name(host.to_owned()))?;
    Ok(Box::new(ClientConnection::new(Arc::new(config), name)?))
}

fn verifier(roots: RootCertStore) -> Result<Arc<dyn ServerCertVerifier>, ClientError> {
    let provider = Arc::new(ring::default_provider());
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    built.map(|v| v as Arc<dyn ServerCertVerifier>).map_err(|e| std::io::Error::other(e).into())
}

fn system_roots() -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let text =
            "the system has no trusted certificates; give a file with the server's, or trust any";
        return Err(std::io::Error::other(text).into());
    }
    Ok(roots)
}

fn roots_of(file: &Path) -> Result<RootCertStore, ClientError> {
    let failed = |why: String| ClientError::Certificates { file: file.into(), why };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|e| failed(e.to_string()))? {
        let certificate = certificate.map_err(|e| failed(e.to_string()))?;
        roots.add(certificate).map_err(|e| failed(e.to_string()))?;
    }
    if roots.is_empty() { Err(failed("there is no certificate in it".into())) } else { Ok(roots) }
}

#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
