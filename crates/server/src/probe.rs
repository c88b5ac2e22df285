//! Asks a server whether it answers, without logging in: what health checks of containers and load balancers want.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, Stream};
use tds::packet::HEADER;
use tds::prelogin::{Encryption, Prelogin};
use tds::{MessageBuffer, PacketType, packet};

/// Sends PRELOGIN, with `strict` inside TLS as TDS 8.0 does, and waits for the answer; the server's version.
///
/// # Errors
/// Nobody listens, no answer came within `timeout`, or it is not TDS.
pub fn probe(address: SocketAddr, strict: bool, timeout: Duration) -> io::Result<[u8; 6]> {
    let mut socket = TcpStream::connect_timeout(&address, timeout)?;
    socket.set_read_timeout(Some(timeout))?;
    socket.set_write_timeout(Some(timeout))?;
    if !strict {
        return ask(&mut socket);
    }
    let mut tls = ClientConnection::new(Arc::new(config()?), ServerName::from(address.ip()))
        .map_err(io::Error::other)?;
    ask(&mut Stream::new(&mut tls, &mut socket))
}

fn ask(stream: &mut (impl Read + Write)) -> io::Result<[u8; 6]> {
    let hello = Prelogin { encryption: Some(Encryption::Off), mars: Some(false), ..Prelogin::default() };
    let mut message = MessageBuffer::of_kind(PacketType::Prelogin, packet::DEFAULT_PACKET_SIZE, 0);
    hello.write(message.payload());
    let mut bytes = Vec::new();
    message.finish(&mut bytes);
    stream.write_all(&bytes)?;
    stream.flush()?;
    let mut header = [0; HEADER];
    stream.read_exact(&mut header)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] != PacketType::Reply.byte() || !(HEADER..=packet::DEFAULT_PACKET_SIZE).contains(&length) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is not TDS"));
    }
    let mut payload = vec![0; length - HEADER];
    stream.read_exact(&mut payload)?;
    Ok(Prelogin::parse(&payload).map_err(io::Error::other)?.version)
}

/// TLS with any certificate: nothing secret is sent.
fn config() -> io::Result<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"tds/8.0".to_vec()];
    Ok(config)
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
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
