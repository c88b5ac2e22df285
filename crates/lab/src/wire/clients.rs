//! Clients as thin as can be, for figures of servers and not of drivers: a blocking socket, one prepared statement with whole numbers as
//! parameters, one message there and one answer back. Both protocols are spoken in the same way: TDS by Ringwood's own crate,
//! PostgreSQL's by the crate of its driver.

use crate::LabError;
use std::io::{Read, Write};
use std::net::TcpStream;
use tds::client::{Answer, AnswerReader, ClientCodec, Token};
use tds::login::Login7;
use tds::prelogin::{Encryption, Prelogin};
use tds::request::rpc::procedure_id as id;
use tds::request::{Procedure, RpcParam, RpcRequest};
use tds::{Size, TdsVersion, TypeInfo, WireCollation};
use types::Value;

/// A connection with a prepared statement.
pub trait Client: Send {
    /// Runs it; how many rows it returned.
    fn run(&mut self, values: &[i32]) -> Result<usize, LabError>;
}

fn socket(port: u16) -> Result<TcpStream, LabError> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Reads what has arrived, at least one byte.
fn receive(socket: &mut TcpStream, buffer: &mut [u8]) -> Result<usize, LabError> {
    match socket.read(buffer)? {
        0 => Err(LabError::Request("the server has closed the connection".into())),
        count => Ok(count),
    }
}

/// Bytes read at a time: of 5,000 idle connections each has such a buffer.
const BUFFER: usize = 4 << 10;
/// Longest token of an answer.
const TOKEN: usize = 1 << 20;

/// TDS 7.4.
pub struct Tds {
    socket: TcpStream,
    codec: ClientCodec,
    reader: AnswerReader,
    buffer: Box<[u8]>,
    handle: i32,
}

fn wrong(error: &dyn std::fmt::Display) -> LabError {
    LabError::Target { target: "Ringwood".into(), message: error.to_string(), statement: "wire".into() }
}

fn int(value: i32) -> RpcParam {
    RpcParam::new("", TypeInfo::Int(4), Value::Int(value))
}

fn text(value: &str) -> RpcParam {
    let ty = TypeInfo::NVarChar(Size::Bytes(8000), WireCollation::DATABASE);
    RpcParam::new("", ty, Value::str(value))
}

impl Tds {
    /// Logs in as sa.
    pub fn connect(port: u16, password: &str, database: &str) -> Result<Tds, LabError> {
        let codec = ClientCodec::new(TdsVersion::V7_4);
        let reader = AnswerReader::new(codec.version, TOKEN);
        let buffer = vec![0; BUFFER].into_boxed_slice();
        let mut client = Tds { socket: socket(port)?, codec, reader, buffer, handle: 0 };
        let hello =
            Prelogin { encryption: Some(Encryption::NotSupported), mars: Some(false), ..Prelogin::default() };
        client.socket.write_all(&client.codec.prelogin(&hello))?;
        // Its answer is no message of tokens: one packet, whose header has its length.
        let mut header = [0; 8];
        client.socket.read_exact(&mut header)?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let mut rest = vec![0; length.saturating_sub(header.len())];
        client.socket.read_exact(&mut rest)?;
        let mut login = Login7::new(client.codec.version, "sa", password);
        login.database = database.into();
        login.app = "ringwood lab".into();
        client.socket.write_all(&client.codec.login(&login))?;
        client.answer(&mut |_| {})?;
        Ok(client)
    }

    /// Reads an answer to its end; its first error is the result's.
    fn answer(&mut self, token: &mut dyn FnMut(Token)) -> Result<(), LabError> {
        let mut error = None;
        loop {
            let count = receive(&mut self.socket, &mut self.buffer)?;
            let mut input = &self.buffer[..count];
            while let Some(answer) = self.reader.read(&mut input).map_err(|e| wrong(&e))? {
                match answer {
                    Answer::End => return error.map_or(Ok(()), Err),
                    Answer::Token(Token::Error(e)) => {
                        error.get_or_insert_with(|| wrong(&format_args!("Msg {}: {}", e.number, e.message)));
                    }
                    Answer::Token(other) => token(other),
                }
            }
        }
    }

    /// Runs a batch.
    pub fn batch(&mut self, text: &str) -> Result<(), LabError> {
        self.socket.write_all(&self.codec.batch(text))?;
        self.answer(&mut |_| {})
    }

    fn call(
        &mut self,
        procedure: u16,
        params: Vec<RpcParam>,
        token: &mut dyn FnMut(Token),
    ) -> Result<(), LabError> {
        let call = RpcRequest::new(Procedure::Id(procedure), params);
        let message = self.codec.rpc(&[call]).map_err(|e| wrong(&e))?;
        self.socket.write_all(&message)?;
        self.answer(token)
    }

    /// Prepares a statement, whose parameters are declared as `@a int, ...`.
    pub fn prepare(mut self, declared: &str, statement: &str) -> Result<Tds, LabError> {
        let mut handle = None;
        let params = vec![int(0).output(), text(declared), text(statement)];
        self.call(id::PREPARE, params, &mut |token| {
            if let Token::ReturnValue { value: Value::Int(n), .. } = token {
                handle = Some(n);
            }
        })?;
        self.handle = handle.ok_or_else(|| wrong(&"sp_prepare gave no handle"))?;
        Ok(self)
    }
}

impl Client for Tds {
    fn run(&mut self, values: &[i32]) -> Result<usize, LabError> {
        let params = std::iter::once(self.handle).chain(values.iter().copied()).map(int).collect();
        let mut rows = 0;
        self.call(id::EXECUTE, params, &mut |token| rows += usize::from(matches!(token, Token::Row(_))))?;
        Ok(rows)
    }
}

#[cfg(feature = "peers")]
pub use pg::Pg;

#[cfg(feature = "peers")]
mod pg {
    use super::{BUFFER, Client, receive, socket};
    use crate::LabError;
    use bytes::BytesMut;
    use fallible_iterator::FallibleIterator;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::backend::Message;
    use postgres_protocol::message::frontend;
    use std::io::Write;
    use std::net::TcpStream;

    /// PostgreSQL's protocol 3.
    pub struct Pg {
        socket: TcpStream,
        out: BytesMut,
        arrived: BytesMut,
    }

    /// The format of parameters and results: binary.
    const BINARY: i16 = 1;
    /// The statement's name.
    const NAME: &str = "s";

    impl Pg {
        /// Logs in and prepares a statement.
        pub fn connect(port: u16, statement: &str) -> Result<Pg, LabError> {
            let mut client = Pg { socket: socket(port)?, out: BytesMut::new(), arrived: BytesMut::new() };
            let who = [("user", "postgres"), ("database", "postgres")];
            frontend::startup_message(who, &mut client.out)?;
            client.exchange()?;
            frontend::parse(NAME, statement, std::iter::empty(), &mut client.out)?;
            frontend::sync(&mut client.out);
            client.exchange()?;
            Ok(client)
        }

        /// Sends what is to be sent and reads until the server is ready again; how many rows came.
        fn exchange(&mut self) -> Result<usize, LabError> {
            self.socket.write_all(&self.out)?;
            self.out.clear();
            let (mut rows, mut error) = (0, None);
            let mut buffer = [0; BUFFER];
            loop {
                let count = receive(&mut self.socket, &mut buffer)?;
                self.arrived.extend_from_slice(&buffer[..count]);
                while let Some(message) = Message::parse(&mut self.arrived)? {
                    match message {
                        Message::DataRow(_) => rows += 1,
                        Message::ErrorResponse(body) => {
                            let text = body
                                .fields()
                                .map(|f| Ok(String::from_utf8_lossy(f.value_bytes()).into_owned()));
                            error.get_or_insert(text.collect::<Vec<_>>()?.join(", "));
                        }
                        Message::ReadyForQuery(_) => {
                            let failed = |message| LabError::Target {
                                target: "PostgreSQL".into(),
                                message,
                                statement: "wire".into(),
                            };
                            return error.map_or(Ok(rows), |e| Err(failed(e)));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    impl Client for Pg {
        fn run(&mut self, values: &[i32]) -> Result<usize, LabError> {
            let number = |value: &i32, out: &mut BytesMut| {
                out.extend_from_slice(&value.to_be_bytes());
                Ok(IsNull::No)
            };
            frontend::bind("", NAME, [BINARY], values, number, [BINARY], &mut self.out)
                .map_err(|_| LabError::Request("parameters of a statement".into()))?;
            frontend::execute("", 0, &mut self.out)?;
            frontend::sync(&mut self.out);
            self.exchange()
        }
    }
}
