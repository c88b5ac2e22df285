//! Answers of any length, token by token as their bytes arrive. Guarantees: no more than one token
//! and what is fed at a time is kept; a token over the limit is an error.

use crate::client::tokens::{Decoder, Token};
use crate::error::TdsError;
use crate::packet::{MessageReader, PacketContent};
use crate::rowscan::RowScan;
use crate::token;
use crate::typeinfo::TypeInfo;
use crate::version::TdsVersion;

/// What has arrived.
#[derive(Clone, Debug)]
pub enum AnswerToken {
    Token(Token),
    /// The message is over.
    End,
}

/// Reads a connection's answers from its bytes.
#[derive(Debug)]
pub struct AnswerReader {
    packets: MessageReader,
    version: TdsVersion,
    limit: usize,
    buffer: Vec<u8>,
    /// Bytes at the front of the buffer that are used up.
    used: usize,
    /// The last packet of the message has arrived.
    ended: bool,
    types: Vec<TypeInfo>,
    scan: RowScan,
}

impl AnswerReader {
    /// A reader whose tokens, rows above all, may have `limit` bytes.
    pub fn new(version: TdsVersion, limit: usize) -> AnswerReader {
        AnswerReader {
            packets: MessageReader::of_answers(),
            version,
            limit,
            buffer: Vec::new(),
            used: 0,
            ended: false,
            types: Vec::new(),
            scan: RowScan::default(),
        }
    }

    /// Reads from the front of `input`, which it shortens, until a token is complete; `None` when
    /// all of `input` is used up. After an error the connection is of no more use.
    pub fn read(&mut self, input: &mut &[u8]) -> Result<Option<AnswerToken>, TdsError> {
        loop {
            if let Some(token) = self.token()? {
                return Ok(Some(AnswerToken::Token(token)));
            }
            if self.ended {
                self.ended = false;
                self.types.clear();
                return if self.used == self.buffer.len() {
                    self.buffer.clear();
                    self.used = 0;
                    Ok(Some(AnswerToken::End))
                } else {
                    Err(TdsError::Truncated { what: "answer", at: self.buffer.len() })
                };
            }
            match self.packets.step(input)? {
                None => return Ok(None),
                Some(PacketContent::Message(_)) => {
                    return Err(TdsError::Packet("a server sends nothing but answers"));
                }
                Some(PacketContent::Piece { bytes, last, .. }) => {
                    self.buffer.drain(..self.used);
                    self.used = 0;
                    self.buffer.extend_from_slice(bytes);
                    self.ended = last;
                }
            }
        }
    }

    /// The next token that is complete.
    fn token(&mut self) -> Result<Option<Token>, TdsError> {
        let rest = &self.buffer[self.used..];
        let result = match rest.first() {
            None => return Ok(None),
            Some(&(token::ROW | token::NBCROW)) => {
                let mut row = Vec::with_capacity(self.types.len());
                self.scan.read(rest, &self.types, &mut row).map(|taken| (taken, Token::Row(row)))
            }
            Some(_) => {
                let mut decoder = Decoder::new(rest, self.version);
                decoder.token(&mut self.types).map(|token| (decoder.reader.position(), token))
            }
        };
        match result {
            Ok((taken, token)) => {
                self.used += taken;
                Ok(Some(token))
            }
            Err(TdsError::Truncated { .. }) if !self.scan.is_complete(&self.types) => {
                if rest.len() > self.limit {
                    return Err(TdsError::TooLarge {
                        what: "a token of an answer",
                        limit: self.limit,
                    });
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
