//! LOGIN7: who wants to log in, to what, and how. Guarantees: every offset is checked; a password
//! never shows in debug output.

use std::fmt;

use crate::error::TdsError;
use crate::packet::{MAX_PACKET_SIZE, MIN_PACKET_SIZE};
use crate::reader::Reader;
use crate::text::{from_utf16, push_utf16};
use crate::version::TdsVersion;

/// Most characters of a name in LOGIN7.
const MAX_NAME: usize = 128;
/// Most characters of a file's name.
const MAX_FILE: usize = 260;
/// Bytes in front of the variable part: in 7.1, and from 7.2 on.
const FIXED_7_1: usize = 86;
const FIXED: usize = 94;
/// Longest LOGIN7 message: SQL Server's limit, one byte below 128 KB.
pub const MAX_LOGIN: usize = (128 << 10) - 1;

const OPTION1_BIG_ENDIAN: u8 = 0x01;
const OPTION1_EBCDIC: u8 = 0x02;
const OPTION1_FLOATS: u8 = 0x0C;
const OPTION1_USE_DB: u8 = 0x20;
const OPTION1_DATABASE_FATAL: u8 = 0x40;
const OPTION1_SET_LANGUAGE: u8 = 0x80;
const OPTION2_LANGUAGE_FATAL: u8 = 0x01;
const OPTION2_ODBC: u8 = 0x02;
const OPTION2_INTEGRATED: u8 = 0x80;
const TYPE_OLEDB: u8 = 0x10;
const TYPE_READ_ONLY: u8 = 0x20;
const OPTION3_CHANGE_PASSWORD: u8 = 0x01;
const OPTION3_USER_INSTANCE: u8 = 0x04;
const OPTION3_UNKNOWN_COLLATION: u8 = 0x08;
const OPTION3_EXTENSION: u8 = 0x10;

/// Feature ids of the extension block.
pub mod feature {
    pub const SESSION_RECOVERY: u8 = 0x01;
    pub const FED_AUTH: u8 = 0x02;
    pub const COLUMN_ENCRYPTION: u8 = 0x04;
    pub const GLOBAL_TRANSACTIONS: u8 = 0x05;
    pub const AZURE_SQL_SUPPORT: u8 = 0x08;
    pub const DATA_CLASSIFICATION: u8 = 0x09;
    pub const UTF8_SUPPORT: u8 = 0x0A;
    pub const SQL_DNS_CACHING: u8 = 0x0B;
    pub const JSON_SUPPORT: u8 = 0x0D;
    pub const VECTOR_SUPPORT: u8 = 0x0E;
    pub const TERMINATOR: u8 = 0xFF;
}

/// A password; debug output hides it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A feature that the client asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feature {
    pub id: u8,
    pub data: Vec<u8>,
}

/// What the option bytes say, as far as a server acts on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoginOptions {
    /// Tell the client when USE changes the database.
    pub use_db_notices: bool,
    /// The login fails if the database cannot be opened.
    pub database_fatal: bool,
    /// Tell the client when SET LANGUAGE changes the language.
    pub language_notices: bool,
    /// The login fails if the language is unknown.
    pub language_fatal: bool,
    /// An ODBC client: ANSI settings on, TEXTSIZE and ROWCOUNT unlimited, IMPLICIT_TRANSACTIONS
    /// off.
    pub odbc: bool,
    /// An OLE DB client: settings as for ODBC.
    pub oledb: bool,
    /// Windows authentication: SSPI data instead of user and password.
    pub integrated_security: bool,
    pub read_only_intent: bool,
    pub user_instance: bool,
    /// The client copes with collations that it does not know.
    pub unknown_collation: bool,
}

/// A LOGIN7 message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login7 {
    /// The number that the client sent.
    pub version_number: u32,
    /// The version to speak with it.
    pub version: TdsVersion,
    /// Asked for; 0 leaves it to the server.
    pub packet_size: u32,
    pub client_version: u32,
    pub client_pid: u32,
    pub connection_id: u32,
    pub options: LoginOptions,
    /// Minutes.
    pub time_zone: i32,
    pub lcid: u32,
    pub host: String,
    pub user: String,
    pub password: Password,
    pub app: String,
    pub server: String,
    /// The client library's name.
    pub library: String,
    /// Empty: the login's default.
    pub language: String,
    /// Empty: the login's default.
    pub database: String,
    pub client_id: [u8; 6],
    pub sspi: Vec<u8>,
    pub attach_file: String,
    /// The client wants its password changed to this.
    pub new_password: Option<Password>,
    /// In the client's order.
    pub features: Vec<Feature>,
}

impl Login7 {
    /// A login of a user with everything else empty.
    pub fn new(version: TdsVersion, user: &str, password: &str) -> Login7 {
        Login7 {
            version_number: version.number(),
            version,
            packet_size: 4096,
            client_version: 0,
            client_pid: 0,
            connection_id: 0,
            options: LoginOptions { odbc: true, ..LoginOptions::default() },
            time_zone: 0,
            lcid: 0x0409,
            host: String::new(),
            user: user.to_owned(),
            password: Password(password.to_owned()),
            app: String::new(),
            server: String::new(),
            library: String::new(),
            language: String::new(),
            database: String::new(),
            client_id: [0; 6],
            sspi: Vec::new(),
            attach_file: String::new(),
            new_password: None,
            features: Vec::new(),
        }
    }

    /// Reads a LOGIN7 message. `Login` for what cannot be right or is too old; SQL Server then logs
    /// error 17832 (17828 for 7.0's predecessors) and closes the connection without an answer.
    pub fn parse(payload: &[u8]) -> Result<Login7, TdsError> {
        if payload.len() > MAX_LOGIN {
            return Err(TdsError::TooLarge { what: "LOGIN7", limit: MAX_LOGIN });
        }
        let mut reader = Reader::new(payload, "LOGIN7");
        let length = reader.u32()? as usize;
        let payload =
            payload.get(..length).ok_or(TdsError::Login("its length is not the message's"))?;
        let mut reader = Reader::new(payload, "LOGIN7");
        reader.u32()?;
        let version_number = reader.u32()?;
        let version = TdsVersion::negotiate(version_number)
            .ok_or(TdsError::Login("a protocol version before 7.1"))?;
        let packet_size = reader.u32()?;
        let (client_version, client_pid, connection_id) =
            (reader.u32()?, reader.u32()?, reader.u32()?);
        let flags: [u8; 4] = reader.array()?;
        let options = LoginOptions::from_bytes(flags)?;
        let (time_zone, lcid) = (reader.i32()?, reader.u32()?);
        let fields = Fields { payload };
        let host = fields.name(&mut reader)?;
        let user = fields.name(&mut reader)?;
        let password = fields.password(&mut reader)?;
        let app = fields.name(&mut reader)?;
        let server = fields.name(&mut reader)?;
        let extension = fields.place(&mut reader)?;
        let library = fields.name(&mut reader)?;
        let language = fields.name(&mut reader)?;
        let database = fields.name(&mut reader)?;
        let client_id = reader.array()?;
        let (sspi_at, sspi_len) = fields.place(&mut reader)?;
        let (file_at, file_len) = fields.place(&mut reader)?;
        let attach_file = fields.text(file_at, file_len, MAX_FILE)?;
        let (mut new_password, mut sspi_long) = (None, 0);
        if version >= TdsVersion::V7_2 {
            let changed = fields.password(&mut reader)?;
            new_password = (flags[3] & OPTION3_CHANGE_PASSWORD != 0).then_some(changed);
            sspi_long = reader.u32()? as usize;
        }
        let sspi_len = if sspi_len == 0xFFFF && sspi_long > 0 { sspi_long } else { sspi_len };
        let sspi = fields.bytes(sspi_at, sspi_len)?.to_vec();
        let features = if flags[3] & OPTION3_EXTENSION != 0 && version >= TdsVersion::V7_4 {
            fields.features(extension)?
        } else {
            Vec::new()
        };
        Ok(Login7 {
            version_number,
            version,
            packet_size,
            client_version,
            client_pid,
            connection_id,
            options,
            time_zone,
            lcid,
            host,
            user,
            password,
            app,
            server,
            library,
            language,
            database,
            client_id,
            sspi,
            attach_file,
            new_password,
            features,
        })
    }

    /// What this server does not do: Windows and federated authentication, user instances,
    /// attaching a file.
    pub fn check_supported(&self) -> Result<(), TdsError> {
        if self.options.integrated_security {
            return Err(TdsError::IntegratedLogin);
        }
        let refused = [
            (self.features.iter().any(|f| f.id == feature::FED_AUTH), "federated authentication"),
            (self.options.user_instance, "a user instance"),
            (!self.attach_file.is_empty(), "attaching a database file at login"),
        ];
        match refused.iter().find(|(asked, _)| *asked) {
            Some((_, what)) => Err(TdsError::Unsupported(what)),
            None => Ok(()),
        }
    }

    /// The packet size to agree on, when the server prefers `default`.
    pub fn negotiated_packet_size(&self, default: usize) -> usize {
        match self.packet_size as usize {
            0 => default.clamp(MIN_PACKET_SIZE, MAX_PACKET_SIZE),
            asked => asked.clamp(MIN_PACKET_SIZE, MAX_PACKET_SIZE),
        }
    }

    /// The version number of LOGINACK: the negotiated one; 7.1's first revision has a number of its
    /// own.
    pub fn ack_number(&self) -> u32 {
        if self.version_number == 0x7100_0000 { 0x0701_0000 } else { self.version.number() }
    }

    /// Whether the client asked for a feature.
    pub fn feature(&self, id: u8) -> Option<&Feature> {
        self.features.iter().find(|f| f.id == id)
    }

    /// Appends the message's payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let fixed = if self.version >= TdsVersion::V7_2 { FIXED } else { FIXED_7_1 };
        let mut flags = self.options.to_bytes();
        if self.new_password.is_some() {
            flags[3] |= OPTION3_CHANGE_PASSWORD;
        }
        let has_features = !self.features.is_empty() && self.version >= TdsVersion::V7_4;
        if has_features {
            flags[3] |= OPTION3_EXTENSION;
        }
        let numbers = [
            0,
            self.version_number,
            self.packet_size,
            self.client_version,
            self.client_pid,
            self.connection_id,
        ];
        numbers.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        out.extend_from_slice(&flags);
        out.extend_from_slice(&self.time_zone.to_le_bytes());
        out.extend_from_slice(&self.lcid.to_le_bytes());
        let mut variable = Variable { offset: fixed, data: Vec::new() };
        variable.text(&self.host, out);
        variable.text(&self.user, out);
        variable.password(&self.password, out);
        variable.text(&self.app, out);
        variable.text(&self.server, out);
        let pointer = variable.data.len();
        variable.bytes(if has_features { &[0; 4] } else { &[] }, out);
        variable.text(&self.library, out);
        variable.text(&self.language, out);
        variable.text(&self.database, out);
        out.extend_from_slice(&self.client_id);
        variable.bytes(&self.sspi, out);
        variable.text(&self.attach_file, out);
        if self.version >= TdsVersion::V7_2 {
            variable.password(self.new_password.as_ref().unwrap_or(&Password::default()), out);
            out.extend_from_slice(&[0; 4]);
        }
        if has_features {
            let at = (fixed + variable.data.len()) as u32;
            variable.data[pointer..pointer + 4].copy_from_slice(&at.to_le_bytes());
            for feature in &self.features {
                variable.data.push(feature.id);
                variable.data.extend_from_slice(&(feature.data.len() as u32).to_le_bytes());
                variable.data.extend_from_slice(&feature.data);
            }
            variable.data.push(feature::TERMINATOR);
        }
        debug_assert_eq!(out.len() - start, fixed);
        out.extend_from_slice(&variable.data);
        let length = (out.len() - start) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
}

impl LoginOptions {
    fn from_bytes([one, two, types, three]: [u8; 4]) -> Result<LoginOptions, TdsError> {
        if one & (OPTION1_BIG_ENDIAN | OPTION1_EBCDIC | OPTION1_FLOATS) != 0 {
            return Err(TdsError::Login("byte order, character set or floating-point format"));
        }
        Ok(LoginOptions {
            use_db_notices: one & OPTION1_USE_DB != 0,
            database_fatal: one & OPTION1_DATABASE_FATAL != 0,
            language_notices: one & OPTION1_SET_LANGUAGE != 0,
            language_fatal: two & OPTION2_LANGUAGE_FATAL != 0,
            odbc: two & OPTION2_ODBC != 0,
            oledb: types & TYPE_OLEDB != 0,
            integrated_security: two & OPTION2_INTEGRATED != 0,
            read_only_intent: types & TYPE_READ_ONLY != 0,
            user_instance: three & OPTION3_USER_INSTANCE != 0,
            unknown_collation: three & OPTION3_UNKNOWN_COLLATION != 0,
        })
    }

    fn to_bytes(self) -> [u8; 4] {
        let bits = |bits: &[(bool, u8)]| {
            bits.iter().filter(|(on, _)| *on).fold(0, |all, (_, bit)| all | bit)
        };
        [
            bits(&[
                (self.use_db_notices, OPTION1_USE_DB),
                (self.database_fatal, OPTION1_DATABASE_FATAL),
                (self.language_notices, OPTION1_SET_LANGUAGE),
            ]),
            bits(&[
                (self.language_fatal, OPTION2_LANGUAGE_FATAL),
                (self.odbc, OPTION2_ODBC),
                (self.integrated_security, OPTION2_INTEGRATED),
            ]),
            bits(&[(self.oledb, TYPE_OLEDB), (self.read_only_intent, TYPE_READ_ONLY)]),
            bits(&[
                (self.user_instance, OPTION3_USER_INSTANCE),
                (self.unknown_collation, OPTION3_UNKNOWN_COLLATION),
            ]),
        ]
    }
}

/// The variable part of a message that is read.
struct Fields<'a> {
    payload: &'a [u8],
}

impl<'a> Fields<'a> {
    fn place(&self, reader: &mut Reader<'_>) -> Result<(usize, usize), TdsError> {
        Ok((usize::from(reader.u16()?), usize::from(reader.u16()?)))
    }

    /// Offsets of empty fields mean nothing.
    fn bytes(&self, at: usize, len: usize) -> Result<&'a [u8], TdsError> {
        if len == 0 {
            return Ok(&[]);
        }
        let end = at.checked_add(len);
        end.and_then(|end| self.payload.get(at..end)).ok_or(TdsError::Login("a field lies outside"))
    }

    fn text(&self, at: usize, units: usize, limit: usize) -> Result<String, TdsError> {
        if units > limit {
            return Err(TdsError::Login("a name is too long"));
        }
        self.bytes(at, 2 * units).map(from_utf16)
    }

    fn name(&self, reader: &mut Reader<'_>) -> Result<String, TdsError> {
        let (at, units) = self.place(reader)?;
        self.text(at, units, MAX_NAME)
    }

    fn password(&self, reader: &mut Reader<'_>) -> Result<Password, TdsError> {
        let (at, units) = self.place(reader)?;
        if units > MAX_NAME {
            return Err(TdsError::Login("a password is too long"));
        }
        let plain: Vec<u8> =
            self.bytes(at, 2 * units)?.iter().map(|b| (b ^ 0xA5).rotate_left(4)).collect();
        Ok(Password(from_utf16(&plain)))
    }

    fn features(&self, (at, len): (usize, usize)) -> Result<Vec<Feature>, TdsError> {
        let pointer = self.bytes(at, len)?.first_chunk::<4>();
        let at = u32::from_le_bytes(*pointer.ok_or(TdsError::Login("the extension has no offset"))?)
            as usize;
        let block = self.payload.get(at..).ok_or(TdsError::Login("the extension lies outside"))?;
        let mut reader = Reader::new(block, "LOGIN7 feature extension");
        let mut features = Vec::new();
        loop {
            let id = reader.u8()?;
            if id == feature::TERMINATOR {
                return Ok(features);
            }
            let len = reader.u32()? as usize;
            features.push(Feature { id, data: reader.bytes(len)?.to_vec() });
        }
    }
}

/// The variable part of a message that is written.
struct Variable {
    offset: usize,
    data: Vec<u8>,
}

impl Variable {
    fn place(&self, len: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&((self.offset + self.data.len()) as u16).to_le_bytes());
        out.extend_from_slice(&(len as u16).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.place(bytes.len(), out);
        self.data.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        self.place(types::units::utf16_len(text), out);
        push_utf16(text, &mut self.data);
    }

    fn password(&mut self, password: &Password, out: &mut Vec<u8>) {
        self.place(types::units::utf16_len(&password.0), out);
        let start = self.data.len();
        push_utf16(&password.0, &mut self.data);
        self.data[start..].iter_mut().for_each(|b| *b = b.rotate_left(4) ^ 0xA5);
    }
}
