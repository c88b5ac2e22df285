//! Bulk loads: rows that go to the server as a stream while it loads them. Guarantees: the memory
//! that one takes does not depend on the number of rows; a load that is dropped before its end
//! loads nothing, and its connection is good for the next request.

use tds::client::BulkWriter;
use tds::{Column, ColumnFlags};
use types::Value;

use crate::connection::Connection;
use crate::options::ClientError;
use crate::reply::Reply;

/// Bytes that are sent at once, at least.
const PIECE: usize = 32 << 10;
/// The user type of rowversion.
const ROWVERSION: u32 = 80;

/// A bulk load that has begun.
pub struct BulkLoad<'a> {
    connection: &'a mut Connection,
    columns: Vec<Column>,
    /// Taken when the load ends.
    writer: Option<BulkWriter>,
    out: Vec<u8>,
}

impl Connection {
    /// Begins a bulk load into the columns of a table, but for those of which the server says that
    /// it makes their values; `table` stands as in T-SQL.
    ///
    /// # Errors
    /// The server's, the connection's; a column's type cannot be loaded.
    pub fn bulk_load(&mut self, table: &str) -> Result<BulkLoad<'_>, ClientError> {
        let reply = self.query(&format!("select top (0) * from {table}"))?;
        let columns =
            reply.results.into_iter().next().map(|result| result.columns).unwrap_or_default();
        let made = |c: &Column| {
            let flag = |flag| c.flags.contains(flag);
            flag(ColumnFlags::IDENTITY) || flag(ColumnFlags::COMPUTED) || c.user_type == ROWVERSION
        };
        let columns: Vec<Column> = columns.into_iter().filter(|c| !made(c)).collect();
        let declared =
            columns.iter().map(declared).collect::<Result<Vec<String>, ClientError>>()?;
        self.query(&format!("insert bulk {table} ({})", declared.join(", ")))?;
        let writer = Some(BulkWriter::new(self.codec(), &columns));
        Ok(BulkLoad { connection: self, columns, writer, out: Vec::new() })
    }
}

/// A column as INSERT BULK names it.
fn declared(column: &Column) -> Result<String, ClientError> {
    let ty = column.ty.data_type();
    let ty = ty.ok_or_else(|| {
        ClientError::Request(tds::TdsError::Unsupported("a column without a type"))
    })?;
    Ok(format!("[{}] {ty}", column.name.replace(']', "]]")))
}

impl BulkLoad<'_> {
    /// The columns whose values a row has.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Sends a row, or keeps it until there is enough to send.
    ///
    /// # Errors
    /// A value is not of its column's type; the connection is of no more use.
    pub fn row(&mut self, values: &[Value]) -> Result<(), ClientError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.row(values).map_err(ClientError::Request)?;
        writer.take_full(&mut self.out);
        if self.out.len() >= PIECE {
            self.connection.send(&self.out)?;
            self.out.clear();
        }
        Ok(())
    }

    /// Ends the load; how many rows the server has loaded.
    ///
    /// # Errors
    /// The server's, the connection's.
    pub fn finish(mut self) -> Result<u64, ClientError> {
        let Some(writer) = self.writer.take() else { return Ok(0) };
        writer.finish(true, &mut self.out);
        let mut reply = Reply::default();
        self.connection.request(&self.out, &mut |token| {
            reply.take(token);
            true
        })?;
        Ok(reply.checked()?.count.unwrap_or(0))
    }
}

impl Drop for BulkLoad<'_> {
    fn drop(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        writer.withdraw(&mut self.out);
        // A connection that is broken says so at its next request.
        let _ = self.connection.withdraw(&self.out);
    }
}
