//! Procedures by name, statements that are prepared once, transactions: each is one message there
//! and one answer back.

use tds::client::Token;
use tds::request::rpc::procedure_id as id;
use tds::request::{Begin, Procedure, RpcParam, RpcRequest, TransactionRequest};
use tds::{Size, TypeInfo, WireCollation};
use types::Value;

use crate::connection::Connection;
use crate::options::ClientError;
use crate::reply::Reply;

/// Longest nvarchar that is not nvarchar(max), in UTF-16 units.
const LONGEST: usize = 4000;

/// An int; without a name it is passed by its place.
pub fn int(name: &str, value: i32) -> RpcParam {
    RpcParam::new(name, TypeInfo::Int(4), Value::Int(value))
}

/// An nvarchar. Its declared length does not depend on the text, so that calls with different texts
/// are of the same types.
pub fn text(name: &str, value: &str) -> RpcParam {
    let value = types::units::held(value);
    // A character has as many bytes in UTF-8 as it has units, or more.
    let fits = value.len() <= LONGEST || types::units::utf16_len(&value) <= LONGEST;
    let size = if fits { Size::Bytes(2 * LONGEST as u16) } else { Size::Max };
    RpcParam::new(name, TypeInfo::NVarChar(size, WireCollation::DATABASE), Value::str(value))
}

/// A statement that a connection has prepared; its handle is good on that connection alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreparedStatement(i32);

impl PreparedStatement {
    /// The call that runs it.
    pub fn with(self, params: impl IntoIterator<Item = RpcParam>) -> RpcRequest {
        let params = std::iter::once(int("", self.0)).chain(params).collect();
        RpcRequest::new(Procedure::Id(id::EXECUTE), params)
    }
}

impl Connection {
    /// Runs a batch and keeps its answer.
    ///
    /// # Errors
    /// The batch's first error, or the connection's.
    pub fn query(&mut self, text: &str) -> Result<Reply, ClientError> {
        let mut reply = Reply::default();
        self.batch(text, &mut |token| {
            reply.take(token);
            true
        })?;
        reply.checked()
    }

    /// Calls a procedure and hands over its answer token by token, as [`Connection::batch`] does.
    ///
    /// # Errors
    /// A parameter's value is not of its type; the connection is of no more use.
    pub fn call_each(
        &mut self,
        call: &RpcRequest,
        each: &mut dyn FnMut(Token) -> bool,
    ) -> Result<(), ClientError> {
        self.calls_each(std::slice::from_ref(call), each)
    }

    /// As [`Connection::call_each`] several calls in one message, whose answers come in one.
    ///
    /// # Errors
    /// As there.
    pub fn calls_each(
        &mut self,
        calls: &[RpcRequest],
        each: &mut dyn FnMut(Token) -> bool,
    ) -> Result<(), ClientError> {
        let message = self.codec().rpc(calls).map_err(ClientError::Request)?;
        self.request(&message, each)
    }

    /// Calls a procedure and keeps its answer.
    ///
    /// # Errors
    /// The procedure's first error, or those of [`Connection::call_each`].
    pub fn call(&mut self, call: &RpcRequest) -> Result<Reply, ClientError> {
        let mut reply = Reply::default();
        self.call_each(call, &mut |token| {
            reply.take(token);
            true
        })?;
        reply.checked()
    }

    /// Prepares a statement, whose parameters are declared as `@a int, @b nvarchar(40)`.
    ///
    /// # Errors
    /// The server's, the connection's.
    pub fn prepare(
        &mut self,
        declared: &str,
        statement: &str,
    ) -> Result<PreparedStatement, ClientError> {
        let handle = RpcParam::new("", TypeInfo::Int(4), Value::Null).output();
        let params = vec![handle, text("", declared), text("", statement)];
        let reply = self.call(&RpcRequest::new(Procedure::Id(id::PREPARE), params))?;
        match reply.outputs.first() {
            Some(Value::Int(handle)) => Ok(PreparedStatement(*handle)),
            _ => Err(ClientError::Io(std::io::Error::other("sp_prepare gave no handle"))),
        }
    }

    /// Begins a transaction under the session's isolation level.
    ///
    /// # Errors
    /// The server's, the connection's.
    pub fn begin(&mut self) -> Result<(), ClientError> {
        self.transaction(&TransactionRequest::Begin(Begin::default()))
    }

    /// Commits the transaction that [`Connection::begin`] has begun.
    ///
    /// # Errors
    /// The server's, the connection's.
    pub fn commit(&mut self) -> Result<(), ClientError> {
        self.transaction(&TransactionRequest::Commit { name: String::new(), then: None })
    }

    fn transaction(&mut self, request: &TransactionRequest) -> Result<(), ClientError> {
        let mut reply = Reply::default();
        let message = self.codec().transaction(request);
        self.request(&message, &mut |token| {
            reply.take(token);
            true
        })?;
        reply.checked().map(drop)
    }
}
