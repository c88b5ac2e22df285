//! A server on a scratch folder, and a client that speaks raw TDS so that tests can send exact and
//! wrong bytes.
#![allow(dead_code)]

pub mod on_disk;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use engine::{Instance, InstanceOptions, Value};
use ringwood_server::{Server, ServerOptions};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use tds::client::{ClientCodec, ServerMessage, Token, TokenReader, message};
use tds::login::Login7;
use tds::prelogin::{Encryption, Prelogin};
use tds::tokens::DoneStatus;
use tds::{PacketType, TdsVersion};

pub const PASSWORD: &str = "Secret_1234";

/// A server and its instance, in a folder of their own.
pub struct TestServer {
    pub instance: Arc<Instance>,
    pub server: Option<Server>,
    pub address: SocketAddr,
    pub folder: tempfile::TempDir,
}

impl TestServer {
    pub fn start() -> TestServer {
        TestServer::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut ServerOptions)) -> TestServer {
        TestServer::open(|o| o.memory_bytes = Some(64 << 20), change)
    }

    /// With so much memory for everything.
    pub fn of_memory(bytes: u64) -> TestServer {
        TestServer::open(|o| o.process_bytes = Some(bytes), |_| {})
    }

    /// With options of the instance and of the server.
    pub fn open(
        of: impl FnOnce(&mut InstanceOptions),
        change: impl FnOnce(&mut ServerOptions),
    ) -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let mut instance = InstanceOptions::new(folder.path());
        of(&mut instance);
        let instance = Instance::open(instance).unwrap();
        let mut options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), folder.path());
        change(&mut options);
        instance.set_sa_password(PASSWORD).unwrap();
        let server = Server::start(instance.clone(), options).unwrap();
        let address = server.addresses()[0];
        TestServer { instance, server: Some(server), address, folder }
    }

    /// A client that has logged in, without TLS.
    pub fn client(&self) -> Client {
        Client::connect(self.address, Encryption::NotSupported, "sa", PASSWORD, "").unwrap()
    }

    pub fn stop(&mut self) {
        self.stop_within(Duration::from_secs(10));
    }

    /// Requests have so long to end by themselves.
    pub fn stop_within(&mut self, time: Duration) {
        assert!(self.server.take().unwrap().stop(time));
    }
}

enum Layer {
    Plain,
    Tls(Box<ClientConnection>),
}

/// A client on a blocking socket.
pub struct Client {
    pub socket: TcpStream,
    layer: Layer,
    pub codec: ClientCodec,
    plain: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub struct TokenAnswer {
    pub tokens: Vec<Token>,
    /// The session id in the headers.
    pub spid: u16,
}

impl TokenAnswer {
    pub fn rows(&self) -> Vec<Vec<Value>> {
        let rows = self
            .tokens
            .iter()
            .filter_map(|t| if let Token::Row(row) = t { Some(row.clone()) } else { None });
        rows.collect()
    }

    pub fn errors(&self) -> Vec<ServerMessage> {
        let errors = self
            .tokens
            .iter()
            .filter_map(|t| if let Token::Error(e) = t { Some(e.clone()) } else { None });
        errors.collect()
    }

    pub fn error_numbers(&self) -> Vec<i32> {
        self.errors().iter().map(|e| e.number).collect()
    }

    pub fn env_changes(&self) -> Vec<u8> {
        let kinds = self
            .tokens
            .iter()
            .filter_map(|t| if let Token::EnvChange { kind, .. } = t { Some(*kind) } else { None });
        kinds.collect()
    }

    pub fn dones(&self) -> Vec<(DoneStatus, u64)> {
        let dones = self.tokens.iter().filter_map(|t| match t {
            Token::Done { status, rows, .. } => Some((*status, *rows)),
            _ => None,
        });
        dones.collect()
    }

    /// It answers an attention.
    pub fn is_attention(&self) -> bool {
        self.dones().last().is_some_and(|(status, _)| status.contains(DoneStatus::ATTENTION))
    }
}

impl Client {
    pub fn open(address: SocketAddr) -> Client {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.set_nodelay(true).unwrap();
        Client {
            socket,
            layer: Layer::Plain,
            codec: ClientCodec::new(TdsVersion::V7_4),
            plain: Vec::new(),
        }
    }

    /// Connects and logs in; the error of a refused login.
    pub fn connect(
        address: SocketAddr,
        encryption: Encryption,
        user: &str,
        password: &str,
        database: &str,
    ) -> Result<Client, Vec<i32>> {
        let mut client = Client::open(address);
        client.prelogin(encryption);
        client.log_in(user, password, database).map(|_| client)
    }

    /// Connects by TDS 8.0: TLS first.
    pub fn connect_strict(address: SocketAddr) -> Client {
        let mut client = Client::open(address);
        let mut config = tls_config(&[&rustls::version::TLS13]);
        config.alpn_protocols = vec![b"tds/8.0".to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let mut tls = ClientConnection::new(Arc::new(config), name).unwrap();
        while tls.is_handshaking() {
            tls.complete_io(&mut client.socket).unwrap();
        }
        assert_eq!(tls.alpn_protocol(), Some(b"tds/8.0".as_slice()));
        client.layer = Layer::Tls(Box::new(tls));
        client.codec.version = TdsVersion::V8_0;
        client.send(&client.codec.prelogin(&hello(Encryption::On)));
        client.read_payload().unwrap();
        client.log_in("sa", PASSWORD, "").unwrap();
        client
    }

    /// PRELOGIN and the handshake that follows; the server's answer.
    pub fn prelogin(&mut self, encryption: Encryption) -> Encryption {
        self.send(&self.codec.prelogin(&hello(encryption)));
        let (payload, _) = self.read_payload().unwrap();
        let reply = Prelogin::parse(&payload).unwrap().encryption.unwrap();
        if reply != Encryption::NotSupported && encryption != Encryption::NotSupported {
            self.shake_hands();
        }
        reply
    }

    fn shake_hands(&mut self) {
        let config = Arc::new(tls_config(&[&rustls::version::TLS12]));
        let mut tls =
            ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
        loop {
            let mut flight = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut flight).unwrap();
            }
            if !flight.is_empty() {
                self.socket.write_all(&message(PacketType::Prelogin, &flight, 4096, 0)).unwrap();
            }
            if !tls.is_handshaking() {
                break;
            }
            let (payload, _) = self.read_payload().unwrap();
            let mut bytes = payload.as_slice();
            while !bytes.is_empty() {
                tls.read_tls(&mut bytes).unwrap();
                tls.process_new_packets().unwrap();
            }
        }
        self.layer = Layer::Tls(Box::new(tls));
    }

    pub fn log_in(
        &mut self,
        user: &str,
        password: &str,
        database: &str,
    ) -> Result<TokenAnswer, Vec<i32>> {
        let mut login = Login7::new(self.codec.version, user, password);
        login.database = database.to_owned();
        login.app = "tests".to_owned();
        login.host = "here".to_owned();
        login.library = "raw".to_owned();
        login.options.database_fatal = true;
        self.log_in_as(&login)
    }

    pub fn log_in_as(&mut self, login: &Login7) -> Result<TokenAnswer, Vec<i32>> {
        self.send(&self.codec.login(login));
        let answer = self.read().map_err(|e| panic!("{e}")).unwrap();
        if !answer.tokens.iter().any(|t| matches!(t, Token::LoginAck { .. })) {
            return Err(answer.error_numbers());
        }
        self.codec.packet_size = login.negotiated_packet_size(4096);
        Ok(answer)
    }

    /// The server has agreed to encrypt the login only.
    pub fn drop_tls(&mut self) {
        self.layer = Layer::Plain;
    }

    /// Ends TLS, and sends more behind the end all the same.
    pub fn end_tls(&mut self, behind: &[u8]) {
        let Layer::Tls(tls) = &mut self.layer else { panic!("there is no TLS") };
        tls.send_close_notify();
        let mut bytes = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut bytes).unwrap();
        }
        bytes.extend_from_slice(behind);
        // It may be closed while it is being sent.
        let _ = self.socket.write_all(&bytes);
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self.layer, Layer::Tls(_))
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap();
    }

    pub fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.layer {
            Layer::Plain => self.socket.write_all(bytes),
            Layer::Tls(tls) => {
                tls.writer().write_all(bytes)?;
                while tls.wants_write() {
                    tls.write_tls(&mut self.socket)?;
                }
                Ok(())
            }
        }
    }

    fn fill(&mut self, len: usize) -> io::Result<()> {
        while self.plain.len() < len {
            let mut room = [0; 16384];
            let n = match &mut self.layer {
                Layer::Plain => match self.socket.read(&mut room) {
                    // A process that was stopped for a while and goes on.
                    Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                    read => read?,
                },
                Layer::Tls(tls) => loop {
                    match tls.reader().read(&mut room) {
                        Err(e) if e.kind() == ErrorKind::WouldBlock => {
                            if tls.read_tls(&mut self.socket)? == 0 {
                                return Err(ErrorKind::UnexpectedEof.into());
                            }
                            tls.process_new_packets().map_err(io::Error::other)?;
                        }
                        other => break other?,
                    }
                },
            };
            if n == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.plain.extend_from_slice(&room[..n]);
        }
        Ok(())
    }

    /// One packet: its status, session id and payload.
    pub fn read_packet(&mut self) -> io::Result<(u8, u16, Vec<u8>)> {
        self.fill(8)?;
        let len = usize::from(u16::from_be_bytes([self.plain[2], self.plain[3]]));
        // TLS records of the handshake come in packets of PRELOGIN's type.
        assert!([0x04, 0x12].contains(&self.plain[0]), "type {}", self.plain[0]);
        self.fill(len)?;
        let packet: Vec<u8> = self.plain.drain(..len).collect();
        Ok((packet[1], u16::from_be_bytes([packet[4], packet[5]]), packet[8..].to_vec()))
    }

    /// A message's payload and session id.
    pub fn read_payload(&mut self) -> io::Result<(Vec<u8>, u16)> {
        let mut payload = Vec::new();
        loop {
            let (status, spid, part) = self.read_packet()?;
            payload.extend_from_slice(&part);
            if status & 1 != 0 {
                return Ok((payload, spid));
            }
        }
    }

    /// The next answer; takes over what it says of transactions.
    pub fn read(&mut self) -> io::Result<TokenAnswer> {
        // After a login with TLS for the login alone.
        let (payload, spid) = self.read_payload()?;
        let tokens =
            TokenReader::read_all(&payload, self.codec.version).map_err(io::Error::other)?;
        for token in &tokens {
            match token {
                Token::EnvChange { kind: 8, new, .. } => {
                    self.codec.transaction = u64::from_le_bytes(new.as_slice().try_into().unwrap());
                }
                Token::EnvChange { kind: 9 | 10, .. } => self.codec.transaction = 0,
                _ => {}
            }
        }
        let last = tokens
            .iter()
            .rev()
            .find_map(|t| if let Token::Done { status, .. } = t { Some(*status) } else { None });
        assert!(last.is_some_and(|status| !status.contains(DoneStatus::MORE)), "{tokens:?}");
        Ok(TokenAnswer { tokens, spid })
    }

    pub fn batch(&mut self, text: &str) -> TokenAnswer {
        self.send(&self.codec.batch(text));
        self.read().unwrap()
    }

    /// The single value of a query.
    pub fn value(&mut self, text: &str) -> Value {
        let answer = self.batch(text);
        assert!(answer.errors().is_empty(), "{text}: {:?}", answer.errors());
        answer
            .rows()
            .first()
            .and_then(|row| row.first().cloned())
            .unwrap_or_else(|| panic!("{answer:?}"))
    }

    pub fn int(&mut self, text: &str) -> i64 {
        self.value(text).as_i64().unwrap()
    }

    /// Runs what must not fail.
    pub fn run(&mut self, text: &str) {
        let answer = self.batch(text);
        assert!(answer.errors().is_empty(), "{text}: {:?}", answer.errors());
    }

    /// The server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        match self.fill(self.plain.len() + 1) {
            Err(e) => !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            Ok(()) => false,
        }
    }
}

fn hello(encryption: Encryption) -> Prelogin {
    Prelogin {
        version: [11, 0, 0, 0, 0, 0],
        encryption: Some(encryption),
        mars: Some(false),
        ..Prelogin::default()
    }
}

/// Takes any certificate, as TrustServerCertificate does.
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
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn tls_config(versions: &[&'static rustls::SupportedProtocolVersion]) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth()
}
