//! A connection that has logged in, its batches and their cancelling.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tds::client::{AnswerReader, AnswerToken, ClientCodec, Token};
use tds::login::Login7;
use tds::prelogin::{self, Prelogin};
use tds::tokens::DoneStatus;
use tds::{TdsVersion, text};

use crate::options::{ClientError, Encryption, Options, Trust};
use crate::tls;
use crate::wire::{SharedSocket, Wire};

/// Largest token, a row above all, in bytes: a value may have 2 GB by the protocol, and what a
/// client shows is less.
const LARGEST_TOKEN: usize = 1 << 30;
/// Packets that are asked for.
const PACKET_SIZE: u32 = 8000;
/// Kinds of ENVCHANGE.
const DATABASE: u8 = 1;
const PACKETS: u8 = 4;
const BEGIN: u8 = 8;
const COMMIT: u8 = 9;
const ROLLBACK: u8 = 10;

/// Whether a request runs, and whether it is being cancelled.
#[derive(Default)]
struct RunningRequest {
    runs: bool,
    /// It is not sent to its end yet: the attention has to come behind it.
    sending: bool,
    attention: bool,
}

/// Cancels what a connection runs, from any thread.
#[derive(Clone)]
pub struct CancelHandle {
    shared: Arc<SharedSocket>,
    running: Arc<Mutex<RunningRequest>>,
    attention: Arc<[u8]>,
}

impl CancelHandle {
    /// Asks the server to stop the running request. Returns whether one runs; nothing happens
    /// otherwise.
    pub fn cancel(&self) -> bool {
        let mut running = self.running.lock();
        if running.runs && !running.attention {
            running.attention = true;
            if !running.sending {
                // Where this fails the reader finds the connection broken.
                let _ = self.shared.send(&self.attention);
            }
        }
        running.runs
    }

    /// A request begins to be sent.
    fn begin(&self) {
        *self.running.lock() = RunningRequest { runs: true, sending: true, attention: false };
    }

    /// It is sent to its end: an attention that was asked for meanwhile follows it.
    fn sent(&self) {
        let mut running = self.running.lock();
        running.sending = false;
        if running.attention {
            // As above.
            let _ = self.shared.send(&self.attention);
        }
    }

    /// Ends the connection; whoever waits for its answer gets an error.
    pub fn hang_up(&self) {
        self.shared.hang_up();
    }
}

/// A connection.
pub struct Connection {
    wire: Wire,
    codec: ClientCodec,
    answers: AnswerReader,
    cancel: CancelHandle,
    database: String,
    /// The server's name of itself and its version.
    server: (String, [u8; 4]),
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Nobody listens, the certificate is not good, the login is refused, or it took too long.
    pub fn connect(options: &Options) -> Result<Connection, ClientError> {
        let until = Instant::now() + options.timeout;
        let mut wire = Wire::new(open(options, until)?, until)?;
        let strict = options.encryption == Encryption::Strict;
        let version = if strict { TdsVersion::V8_0 } else { TdsVersion::LATEST };
        let mut codec = ClientCodec::new(version);
        if strict {
            wire.strict(tls::begin(&options.host, &options.trust, true)?)?;
        }
        let login_only = prelogin(&mut wire, &codec, options)?;
        let mut login = Login7::new(version, &options.user, &options.password);
        login.database = options.database.clone();
        // Statements must not run in another database than the one that was asked for.
        login.options.database_fatal = true;
        login.app = options.app.clone();
        login.host = options.workstation.clone();
        login.server = options.host.clone();
        login.library = "ringwood".into();
        login.packet_size = PACKET_SIZE;
        login.client_pid = std::process::id();
        wire.send(&codec.login(&login))?;
        if login_only {
            wire.end_tls();
        }
        let answers = AnswerReader::new(version, LARGEST_TOKEN);
        codec.packet_size = tds::packet::DEFAULT_PACKET_SIZE;
        let cancel = CancelHandle {
            shared: wire.shared.clone(),
            running: Arc::default(),
            attention: codec.attention().into(),
        };
        let mut connection = Connection {
            wire,
            codec,
            answers,
            cancel,
            database: String::new(),
            server: Default::default(),
        };
        connection.log_in()?;
        connection.wire.logged_in()?;
        Ok(connection)
    }

    fn log_in(&mut self) -> Result<(), ClientError> {
        let (mut errors, mut accepted) = (Vec::new(), None);
        self.answer(&mut |token| {
            match token {
                Token::Error(error) => errors.push(error),
                Token::LoginAck { name, product, .. } => accepted = Some((name, product)),
                _ => {}
            }
            true
        })?;
        self.server = accepted.ok_or(ClientError::Login(errors))?;
        Ok(())
    }

    /// The current database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The server's name of its product, and its version: major, minor, build (high, low).
    pub fn server(&self) -> (&str, [u8; 4]) {
        (&self.server.0, self.server.1)
    }

    /// Cancels what this connection runs.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Runs a batch and hands over its answer token by token. Where `each` returns false the batch
    /// is cancelled, and the rest of its answer is dropped.
    ///
    /// # Errors
    /// The connection is of no more use. What goes wrong with the batch are tokens.
    pub fn batch(
        &mut self,
        text: &str,
        each: &mut dyn FnMut(Token) -> bool,
    ) -> Result<(), ClientError> {
        let message = self.codec.batch(&types::units::held(text));
        self.request(&message, each)
    }

    /// What requests are made with.
    pub(crate) fn codec(&self) -> &ClientCodec {
        &self.codec
    }

    /// Sends a part of a message whose end [`Connection::request`] or [`Connection::withdraw`]
    /// sends.
    pub(crate) fn send(&self, part: &[u8]) -> Result<(), ClientError> {
        Ok(self.wire.send(part)?)
    }

    /// Sends a message, or its end, and hands over the answer as [`Connection::batch`] does.
    pub(crate) fn request(
        &mut self,
        message: &[u8],
        each: &mut dyn FnMut(Token) -> bool,
    ) -> Result<(), ClientError> {
        self.cancel.begin();
        let sent = self.wire.send(message).map_err(ClientError::from);
        self.cancel.sent();
        self.finish(sent, each)
    }

    /// Sends the end of a message that the server is not to carry out, and waits until it knows.
    pub(crate) fn withdraw(&mut self, end: &[u8]) -> Result<(), ClientError> {
        self.cancel.begin();
        let sent = self.wire.send(end).map_err(ClientError::from);
        self.cancel.sent();
        self.cancel.cancel();
        self.finish(sent, &mut |_| true)
    }

    /// Reads the answer of what was sent, to its end and until every attention is acknowledged.
    fn finish(
        &mut self,
        sent: Result<(), ClientError>,
        each: &mut dyn FnMut(Token) -> bool,
    ) -> Result<(), ClientError> {
        let mut wanted = true;
        let cancel = self.cancel.clone();
        let run = || -> Result<(), ClientError> {
            sent?;
            let mut acknowledged = false;
            loop {
                self.answer(&mut |token| {
                    if let Token::Done { status, .. } = &token {
                        acknowledged |= status.contains(DoneStatus::ATTENTION);
                    }
                    if wanted && !each(token) {
                        wanted = false;
                        cancel.cancel();
                    }
                    true
                })?;
                // Under the lock: a cancel that comes later must not reach the next request.
                let mut running = self.cancel.running.lock();
                if acknowledged || !running.attention {
                    running.runs = false;
                    return Ok(());
                }
            }
        };
        let result = run();
        if result.is_err() {
            self.cancel.running.lock().runs = false;
        }
        result
    }

    /// One message of the server's; keeps what it says of the connection itself.
    fn answer(&mut self, each: &mut dyn FnMut(Token) -> bool) -> Result<(), ClientError> {
        loop {
            let bytes = self.wire.ready();
            let mut rest = bytes;
            let read = self.answers.read(&mut rest);
            let used = bytes.len() - rest.len();
            self.wire.use_up(used);
            match read? {
                // Not before: the reader may have the end of the answer already.
                None => self.wire.more()?,
                Some(AnswerToken::End) => return Ok(()),
                Some(AnswerToken::Token(token)) => {
                    if let Token::EnvChange { kind, new, .. } = &token {
                        self.changed(*kind, new);
                    }
                    each(token);
                }
            }
        }
    }

    fn changed(&mut self, kind: u8, new: &[u8]) {
        match kind {
            DATABASE => self.database = text::from_utf16(new),
            PACKETS => {
                if let Ok(size) = text::from_utf16(new).parse() {
                    self.codec.packet_size = size;
                }
            }
            BEGIN => {
                self.codec.transaction = new.first_chunk().map_or(0, |id| u64::from_le_bytes(*id))
            }
            COMMIT | ROLLBACK => self.codec.transaction = 0,
            _ => {}
        }
    }
}

/// A socket to the first address that answers.
fn open(options: &Options, until: Instant) -> io::Result<TcpStream> {
    let mut failed = None;
    for address in (options.host.as_str(), options.port).to_socket_addrs()? {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| io::Error::other("the name has no address")))
}

/// PRELOGIN and the handshake that it leads to; whether only the login is encrypted.
fn prelogin(wire: &mut Wire, codec: &ClientCodec, options: &Options) -> Result<bool, ClientError> {
    let asked = match options.encryption {
        Encryption::None => prelogin::Encryption::NotSupported,
        Encryption::Optional => prelogin::Encryption::Off,
        Encryption::Mandatory => prelogin::Encryption::On,
        Encryption::Strict => prelogin::Encryption::Required,
    };
    let hello = Prelogin { encryption: Some(asked), mars: Some(false), ..Prelogin::default() };
    wire.send(&codec.prelogin(&hello))?;
    let answered = Prelogin::parse(&wire.message()?)?.encryption;
    match (options.encryption, answered) {
        // All is encrypted already.
        (Encryption::Strict, _) => return Ok(false),
        (Encryption::None, None | Some(prelogin::Encryption::NotSupported)) => return Ok(false),
        (Encryption::None, Some(_)) => return Err(ClientError::OnlyEncrypted),
        (
            Encryption::Mandatory,
            Some(prelogin::Encryption::On | prelogin::Encryption::Required),
        ) => {
            wire.shake_hands(tls::begin(&options.host, &options.trust, false)?)?;
            return Ok(false);
        }
        (Encryption::Mandatory, _) => return Err(ClientError::NoEncryption),
        (Encryption::Optional, None | Some(prelogin::Encryption::NotSupported)) => {
            return if wire.is_loopback() { Ok(false) } else { Err(ClientError::NoEncryption) };
        }
        (Encryption::Optional, Some(_)) => {}
    }
    wire.shake_hands(tls::begin(&options.host, &Trust::Any, false)?)?;
    Ok(answered == Some(prelogin::Encryption::Off))
}
