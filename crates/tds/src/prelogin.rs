//! PRELOGIN: the exchange of versions and of encryption before a login. Guarantees: the reply
//! follows the protocol's table of encryption, and its options come in an order that every known
//! client reads.

use crate::error::TdsError;
use crate::reader::Reader;

const VERSION: u8 = 0x00;
const ENCRYPTION: u8 = 0x01;
const INSTANCE: u8 = 0x02;
const THREAD: u8 = 0x03;
const MARS: u8 = 0x04;
const TRACE: u8 = 0x05;
const FED_AUTH: u8 = 0x06;
const NONCE: u8 = 0x07;
const TERMINATOR: u8 = 0xFF;
/// Bits of the byte about encryption.
const CLIENT_CERTIFICATE: u8 = 0x80;
const RESERVED: u8 = 0x20;

/// What one side says about encryption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encryption {
    /// Possible, wanted for the login only.
    Off,
    /// Wanted for all.
    On,
    NotSupported,
    Required,
}

impl Encryption {
    /// The byte in PRELOGIN.
    pub fn byte(self) -> u8 {
        match self {
            Encryption::Off => 0,
            Encryption::On => 1,
            Encryption::NotSupported => 2,
            Encryption::Required => 3,
        }
    }

    /// The value of a byte; the bits that announce a client certificate and that are reserved are
    /// left out.
    pub fn from_byte(byte: u8) -> Option<Encryption> {
        match byte & !(CLIENT_CERTIFICATE | RESERVED) {
            0 => Some(Encryption::Off),
            1 => Some(Encryption::On),
            2 => Some(Encryption::NotSupported),
            // go-mssqldb sends 4 under TDS 8.0, where all is encrypted before PRELOGIN.
            3 | 4 => Some(Encryption::Required),
            _ => None,
        }
    }
}

/// What the server is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerEncryption {
    /// Encrypts as the client wishes; logins always if the client can.
    Optional,
    /// Encrypts everything.
    Forced,
    /// Has no certificate.
    Unavailable,
}

/// What follows the PRELOGIN exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterPrelogin {
    /// Nothing is encrypted.
    Plain,
    /// A TLS handshake; after LOGIN7 both sides go on unencrypted.
    LoginOnly,
    /// A TLS handshake; everything is encrypted.
    Everything,
    /// One side needs what the other has not: the client ends the connection after the reply, or is
    /// closed.
    Impossible,
}

impl ServerEncryption {
    /// The byte to answer with, and what follows.
    pub fn answer(self, client: Encryption) -> (Encryption, AfterPrelogin) {
        use Encryption::{NotSupported, Off, On, Required};
        match (self, client) {
            (ServerEncryption::Optional, Off) => (Off, AfterPrelogin::LoginOnly),
            (ServerEncryption::Optional | ServerEncryption::Forced, On | Required) => {
                (On, AfterPrelogin::Everything)
            }
            (ServerEncryption::Optional, NotSupported) => (NotSupported, AfterPrelogin::Plain),
            (ServerEncryption::Forced, Off) => (Required, AfterPrelogin::Everything),
            (ServerEncryption::Forced, NotSupported) => (Required, AfterPrelogin::Impossible),
            (ServerEncryption::Unavailable, Off | NotSupported) => {
                (NotSupported, AfterPrelogin::Plain)
            }
            (ServerEncryption::Unavailable, On | Required) => {
                (NotSupported, AfterPrelogin::Impossible)
            }
        }
    }
}

/// One side's PRELOGIN. Options that are absent are `None`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prelogin {
    /// Major, minor, build (high, low), sub-build (two bytes).
    pub version: [u8; 6],
    pub encryption: Option<Encryption>,
    /// A client certificate follows (bit 0x80).
    pub client_certificate: bool,
    /// From a client the instance's name, from a server 0 or 1 ("that is not my name"), as raw
    /// bytes.
    pub instance: Option<Vec<u8>>,
    pub thread: Option<u32>,
    pub mars: Option<bool>,
    /// Connection id (16 bytes) and activity id (20 bytes).
    pub trace: Option<[u8; 36]>,
    pub fed_auth_required: Option<bool>,
    pub nonce: Option<[u8; 32]>,
}

impl Prelogin {
    /// Reads a PRELOGIN message. Unknown options are skipped; an option whose place lies outside
    /// the message, or a first one that is not VERSION, is `Malformed` (SQL Server closes the
    /// connection).
    pub fn parse(payload: &[u8]) -> Result<Prelogin, TdsError> {
        let mut reader = Reader::new(payload, "PRELOGIN");
        if payload.first().is_some_and(|&option| option != VERSION) {
            return Err(reader.malformed("first option of PRELOGIN"));
        }
        let mut prelogin = Prelogin::default();
        loop {
            let option = reader.u8()?;
            if option == TERMINATOR {
                return Ok(prelogin);
            }
            let [a, b, c, d] = reader.array()?;
            let (at, len) =
                (usize::from(u16::from_be_bytes([a, b])), usize::from(u16::from_be_bytes([c, d])));
            let data =
                payload.get(at..at + len).ok_or_else(|| reader.malformed("PRELOGIN option"))?;
            prelogin.set(option, data).ok_or_else(|| reader.malformed("PRELOGIN option"))?;
        }
    }

    fn set(&mut self, option: u8, data: &[u8]) -> Option<()> {
        match option {
            VERSION => self.version = *data.first_chunk()?,
            ENCRYPTION => {
                let byte = *data.first()?;
                self.encryption = Some(Encryption::from_byte(byte)?);
                self.client_certificate = byte & CLIENT_CERTIFICATE != 0;
            }
            INSTANCE => self.instance = Some(data.to_vec()),
            // Servers and some clients send it empty.
            THREAD => self.thread = data.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)),
            MARS => self.mars = Some(*data.first()? != 0),
            TRACE => self.trace = data.first_chunk().copied(),
            FED_AUTH => self.fed_auth_required = Some(*data.first()? != 0),
            NONCE => self.nonce = Some(*data.first_chunk()?),
            _ => {}
        }
        Some(())
    }

    /// The server's answer to a client's PRELOGIN: no MARS, no instance mismatch, no federated
    /// authentication. `version` is the product's: major, minor, build. A client that does not
    /// speak of encryption gets `NotSupported`, as a client from before encryption does. A client
    /// certificate is not looked at, and without encryption there is no place for one.
    pub fn reply(
        &self,
        server: ServerEncryption,
        version: (u8, u8, u16),
    ) -> (Prelogin, AfterPrelogin) {
        let (encryption, after) = match server
            .answer(self.encryption.unwrap_or(Encryption::NotSupported))
        {
            (encryption, AfterPrelogin::Plain) if self.client_certificate => {
                let asked_for_plain = self.encryption == Some(Encryption::NotSupported);
                let encryption = if asked_for_plain { Encryption::Required } else { encryption };
                (encryption, AfterPrelogin::Impossible)
            }
            answer => answer,
        };
        let [build_high, build_low] = version.2.to_be_bytes();
        let reply = Prelogin {
            version: [version.0, version.1, build_high, build_low, 0, 0],
            encryption: Some(encryption),
            instance: Some(vec![0]),
            mars: Some(false),
            fed_auth_required: self.fed_auth_required.map(|_| false),
            ..Prelogin::default()
        };
        (reply, after)
    }

    /// Appends the message's payload. THREADID is always there, without data when there is none,
    /// and never last: go-mssqldb refuses an empty option at the end.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut options: Vec<(u8, Vec<u8>)> = vec![(VERSION, self.version.to_vec())];
        if let Some(encryption) = self.encryption {
            let certificate = if self.client_certificate { CLIENT_CERTIFICATE } else { 0 };
            options.push((ENCRYPTION, vec![encryption.byte() | certificate]));
        }
        if let Some(instance) = &self.instance {
            options.push((INSTANCE, instance.clone()));
        }
        options.push((THREAD, self.thread.map_or(Vec::new(), |id| id.to_be_bytes().to_vec())));
        options.push((MARS, vec![u8::from(self.mars.unwrap_or(false))]));
        if let Some(trace) = &self.trace {
            options.push((TRACE, trace.to_vec()));
        }
        if let Some(required) = self.fed_auth_required {
            options.push((FED_AUTH, vec![u8::from(required)]));
        }
        if let Some(nonce) = &self.nonce {
            options.push((NONCE, nonce.to_vec()));
        }
        let mut at = (options.len() * 5 + 1) as u16;
        for (option, data) in &options {
            out.push(*option);
            out.extend_from_slice(&at.to_be_bytes());
            out.extend_from_slice(&(data.len() as u16).to_be_bytes());
            at += data.len() as u16;
        }
        out.push(TERMINATOR);
        for (_, data) in &options {
            out.extend_from_slice(data);
        }
    }
}
