//! Clients as thin as can be, for figures of servers and not of drivers: a blocking socket, one
//! prepared statement with whole numbers as parameters, once or often in one message, and one
//! answer back. Both protocols are spoken in the same way: TDS by Ringwood's own crate,
//! PostgreSQL's by the crate of its driver.

use crate::LabError;
use client::{ClientError, Connection, PreparedStatement, Token};
use targets::mssql::{Address, failed, log_in};

/// A connection with a prepared statement.
pub trait Client: Send {
    /// Runs it so many times, in one message; how many rows it returned.
    fn run(&mut self, values: &[i32], times: usize) -> Result<usize, LabError>;
}

/// TDS 7.4.
pub struct Tds {
    connection: Connection,
    prepared: PreparedStatement,
}

impl Tds {
    /// Logs in and prepares a statement, whose parameters are declared as `@a int, ...`.
    pub fn connect(
        address: &Address,
        database: &str,
        declared: &str,
        statement: &str,
    ) -> Result<Tds, LabError> {
        let mut connection = log_in(address, database)?;
        let prepared =
            connection.prepare(declared, statement).map_err(|e| failed(&e, statement))?;
        Ok(Tds { connection, prepared })
    }
}

impl Client for Tds {
    fn run(&mut self, values: &[i32], times: usize) -> Result<usize, LabError> {
        let (mut rows, mut error) = (0, None);
        let call = self.prepared.with(values.iter().map(|value| client::int("", *value)));
        let calls = vec![call; times];
        let called = self.connection.calls_each(&calls, &mut |token| {
            match token {
                Token::Row(_) => rows += 1,
                Token::Error(e) => {
                    error.get_or_insert(ClientError::Server(e));
                }
                _ => {}
            }
            true
        });
        match called.err().or(error) {
            Some(error) => Err(failed(&error, "wire")),
            None => Ok(rows),
        }
    }
}

#[cfg(feature = "peers")]
pub use pg::Pg;

#[cfg(feature = "peers")]
mod pg {
    use super::Client;
    use crate::LabError;
    use bytes::BytesMut;
    use fallible_iterator::FallibleIterator;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::backend::Message;
    use postgres_protocol::message::frontend;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    /// Bytes read at a time.
    const BUFFER: usize = 4 << 10;

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
            let socket = TcpStream::connect(("127.0.0.1", port))?;
            socket.set_nodelay(true)?;
            let mut client = Pg { socket, out: BytesMut::new(), arrived: BytesMut::new() };
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
                let count = self.socket.read(&mut buffer)?;
                if count == 0 {
                    return Err(LabError::Request("the server has closed the connection".into()));
                }
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
        fn run(&mut self, values: &[i32], times: usize) -> Result<usize, LabError> {
            let number = |value: &i32, out: &mut BytesMut| {
                out.extend_from_slice(&value.to_be_bytes());
                Ok(IsNull::No)
            };
            for _ in 0..times {
                frontend::bind("", NAME, [BINARY], values, number, [BINARY], &mut self.out)
                    .map_err(|_| LabError::Request("parameters of a statement".into()))?;
                frontend::execute("", 0, &mut self.out)?;
            }
            // Together: as its drivers send a batch, which commits once.
            frontend::sync(&mut self.out);
            self.exchange()
        }
    }
}
