//! Reads the tokens of an answer. Guarantees: every token of
//! [`TokenWriter`](crate::tokens::TokenWriter) comes back as data, in order; an unknown token is an
//! error, since its length is not known.

use types::Value;

use crate::column::{Column, ColumnFlags, Sender, read_user_type};
use crate::decode::{ValuePlace, decode_value};
use crate::error::TdsError;
use crate::login::Feature;
use crate::reader::Reader;
use crate::rowscan::decode_row;
use crate::token;
use crate::tokens::{ColumnSource, DoneKind, DoneStatus};
use crate::typeinfo::TypeInfo;
use crate::version::TdsVersion;

/// The content of ERROR and INFO.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerMessage {
    pub number: i32,
    pub state: u8,
    pub severity: u8,
    pub message: String,
    pub server: String,
    pub procedure: String,
    pub line: u32,
}

/// One token.
#[derive(Clone, Debug)]
pub enum Token {
    /// Empty for a COLMETADATA without columns.
    Columns(Vec<Column>),
    Row(Vec<Value>),
    Done {
        kind: DoneKind,
        status: DoneStatus,
        command: u16,
        rows: u64,
    },
    Error(ServerMessage),
    Info(ServerMessage),
    /// The new and old value as bytes.
    EnvChange {
        kind: u8,
        new: Vec<u8>,
        old: Vec<u8>,
    },
    LoginAck {
        interface: u8,
        version: u32,
        name: String,
        product: [u8; 4],
    },
    FeatureExtAck(Vec<Feature>),
    ReturnStatus(i32),
    ReturnValue {
        ordinal: u16,
        name: String,
        status: u8,
        flags: ColumnFlags,
        ty: TypeInfo,
        value: Value,
    },
    Order(Vec<u16>),
    TableNames(Vec<Vec<String>>),
    ColumnSources(Vec<ColumnSource>),
}

/// Reads the tokens of one message.
#[derive(Debug)]
pub struct TokenReader<'a> {
    decoder: Decoder<'a>,
    types: Vec<TypeInfo>,
}

impl<'a> TokenReader<'a> {
    /// A reader at the first token of a message's payload.
    pub fn new(payload: &'a [u8], version: TdsVersion) -> TokenReader<'a> {
        TokenReader { decoder: Decoder::new(payload, version), types: Vec::new() }
    }

    /// All tokens of a message.
    pub fn read_all(payload: &'a [u8], version: TdsVersion) -> Result<Vec<Token>, TdsError> {
        let mut reader = TokenReader::new(payload, version);
        let mut tokens = Vec::new();
        while let Some(token) = reader.next_token()? {
            tokens.push(token);
        }
        Ok(tokens)
    }

    /// The next token; `None` at the end of the message.
    pub fn next_token(&mut self) -> Result<Option<Token>, TdsError> {
        if self.decoder.reader.is_empty() {
            return Ok(None);
        }
        self.decoder.token(&mut self.types).map(Some)
    }
}

/// Decodes one token after the other.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    pub(crate) reader: Reader<'a>,
    version: TdsVersion,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8], version: TdsVersion) -> Decoder<'a> {
        Decoder { reader: Reader::new(bytes, "answer"), version }
    }

    /// The next token; COLMETADATA sets the types of the rows that follow.
    pub(crate) fn token(&mut self, types: &mut Vec<TypeInfo>) -> Result<Token, TdsError> {
        let id = self.reader.u8()?;
        Ok(match id {
            token::COLMETADATA => {
                let columns = Column::read_all(&mut self.reader, self.version, Sender::Server)?;
                // Without columns: those that the client knows from before.
                if !columns.is_empty() {
                    *types = columns.iter().map(|c| c.ty).collect();
                }
                Token::Columns(columns)
            }
            token::ROW | token::NBCROW => {
                let mut row = Vec::with_capacity(types.len());
                decode_row(&mut self.reader, id, types, &mut row)?;
                Token::Row(row)
            }
            token::DONE => self.done(DoneKind::Done)?,
            token::DONE_PROC => self.done(DoneKind::Proc)?,
            token::DONE_IN_PROC => self.done(DoneKind::InProc)?,
            token::RETURN_STATUS => Token::ReturnStatus(self.reader.i32()?),
            token::RETURN_VALUE => self.return_value()?,
            token::FEATURE_EXT_ACK => self.features()?,
            _ => self.counted(id)?,
        })
    }

    /// Tokens with a length in two bytes.
    fn counted(&mut self, id: u8) -> Result<Token, TdsError> {
        let known = [
            token::ERROR,
            token::INFO,
            token::ENV_CHANGE,
            token::LOGIN_ACK,
            token::ORDER,
            token::TABNAME,
            token::COLINFO,
        ];
        if !known.contains(&id) {
            return Err(self.reader.malformed("token"));
        }
        let len = self.reader.u16()?;
        let mut reader = Reader::new(self.reader.bytes(usize::from(len))?, "token");
        let token = match id {
            token::ERROR => Token::Error(message(&mut reader, self.version)?),
            token::INFO => Token::Info(message(&mut reader, self.version)?),
            token::ENV_CHANGE => env_change(&mut reader)?,
            token::LOGIN_ACK => Token::LoginAck {
                interface: reader.u8()?,
                version: u32::from_be_bytes(reader.array()?),
                name: reader.b_varchar()?,
                product: reader.array()?,
            },
            token::ORDER => {
                let mut columns = Vec::new();
                while !reader.is_empty() {
                    columns.push(reader.u16()?);
                }
                Token::Order(columns)
            }
            token::TABNAME => table_names(&mut reader)?,
            _ => column_sources(&mut reader)?,
        };
        if reader.is_empty() { Ok(token) } else { Err(reader.malformed("length of a token")) }
    }

    fn done(&mut self, kind: DoneKind) -> Result<Token, TdsError> {
        let (status, command) = (DoneStatus(self.reader.u16()?), self.reader.u16()?);
        let rows = if self.version >= TdsVersion::V7_2 {
            self.reader.u64()?
        } else {
            u64::from(self.reader.u32()?)
        };
        Ok(Token::Done { kind, status, command, rows })
    }

    fn return_value(&mut self) -> Result<Token, TdsError> {
        let ordinal = self.reader.u16()?;
        let name = self.reader.b_varchar()?;
        let status = self.reader.u8()?;
        read_user_type(&mut self.reader, self.version)?;
        let flags = ColumnFlags(self.reader.u16()?);
        let ty = TypeInfo::read(&mut self.reader, self.version)?;
        let value = decode_value(&mut self.reader, &ty, ValuePlace::Parameter)?;
        Ok(Token::ReturnValue { ordinal, name, status, flags, ty, value })
    }

    fn features(&mut self) -> Result<Token, TdsError> {
        let mut features = Vec::new();
        loop {
            let id = self.reader.u8()?;
            if id == 0xFF {
                return Ok(Token::FeatureExtAck(features));
            }
            let len = self.reader.u32()? as usize;
            features.push(Feature { id, data: self.reader.bytes(len)?.to_vec() });
        }
    }
}

fn message(reader: &mut Reader<'_>, version: TdsVersion) -> Result<ServerMessage, TdsError> {
    Ok(ServerMessage {
        number: reader.i32()?,
        state: reader.u8()?,
        severity: reader.u8()?,
        message: reader.us_varchar()?,
        server: reader.b_varchar()?,
        procedure: reader.b_varchar()?,
        line: if version >= TdsVersion::V7_2 { reader.u32()? } else { u32::from(reader.u16()?) },
    })
}

/// Kinds 1 to 6, 13 and 19 have text, whose length counts characters; the others have bytes.
fn env_change(reader: &mut Reader<'_>) -> Result<Token, TdsError> {
    let kind = reader.u8()?;
    let unit = if matches!(kind, 1..=6 | 13 | 19) { 2 } else { 1 };
    let mut value = || -> Result<Vec<u8>, TdsError> {
        let len = usize::from(reader.u8()?);
        Ok(reader.bytes(len * unit)?.to_vec())
    };
    Ok(Token::EnvChange { kind, new: value()?, old: value()? })
}

fn table_names(reader: &mut Reader<'_>) -> Result<Token, TdsError> {
    let mut tables = Vec::new();
    while !reader.is_empty() {
        let parts = reader.u8()?;
        tables.push((0..parts).map(|_| reader.us_varchar()).collect::<Result<_, _>>()?);
    }
    Ok(Token::TableNames(tables))
}

fn column_sources(reader: &mut Reader<'_>) -> Result<Token, TdsError> {
    let mut sources = Vec::new();
    while !reader.is_empty() {
        let [column, table, status] = reader.array()?;
        sources.push(ColumnSource {
            column,
            table,
            expression: status & 0x04 != 0,
            key: status & 0x08 != 0,
            hidden: status & 0x10 != 0,
            base_name: if status & 0x20 != 0 { Some(reader.b_varchar()?) } else { None },
        });
    }
    Ok(Token::ColumnSources(sources))
}
