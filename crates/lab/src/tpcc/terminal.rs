//! What a terminal of TPC-C needs of an engine: statements with parameters, transactions, and the
//! five transactions as calls of stored procedures. Values are whole numbers (amounts in
//! hundredths, shares in ten-thousandths) and texts.

use super::inputs::Input;
use crate::LabError;

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub enum Param<'a> {
    Int(i32),
    Text(&'a str),
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    Int(i64),
    Text(String),
    Null,
}

impl Datum {
    /// A number that must be there.
    pub fn int(&self) -> Result<i64, TxnFailure> {
        match self {
            Datum::Int(n) => Ok(*n),
            other => Err(TxnFailure::Other(LabError::Request(format!(
                "{other:?} where a number must be"
            )))),
        }
    }
}

/// A row.
pub type Row = Vec<Datum>;

/// Why a transaction has not ended.
#[derive(Debug)]
pub enum TxnFailure {
    /// The engine has taken it back for the sake of others (a deadlock, a conflict of snapshots):
    /// it is run again.
    Retry,
    /// Anything else.
    Other(LabError),
}

/// How a transaction has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnEnd {
    Committed,
    /// A new order that names an item that is not there.
    RolledBack,
}

/// A statement in the languages of both engines; `?1` is its first parameter.
#[derive(Debug)]
pub struct Statement {
    /// Its place in [`super::plain::STATEMENTS`].
    pub id: usize,
    pub mssql: &'static str,
    /// Not read by a build without PostgreSQL.
    #[cfg_attr(not(feature = "peers"), allow(dead_code))]
    pub postgres: &'static str,
}

impl Statement {
    /// T-SQL with parameters as the driver counts them.
    pub fn t_sql(&self) -> String {
        self.mssql.replace('?', "@P")
    }

    /// PostgreSQL's.
    #[cfg(any(test, feature = "peers"))]
    pub fn pg_sql(&self) -> String {
        self.postgres.replace('?', "$")
    }
}

/// A connection that runs transactions.
pub trait Terminal: Send {
    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), TxnFailure>;
    /// Commits it, durably.
    fn commit(&mut self) -> Result<(), TxnFailure>;
    /// Takes it back; also after a failure that has ended it.
    fn rollback(&mut self) -> Result<(), TxnFailure>;
    /// The rows of a statement.
    fn query(
        &mut self,
        statement: &'static Statement,
        params: &[Param],
    ) -> Result<Vec<Row>, TxnFailure>;
    /// Runs a transaction as a stored procedure.
    fn call(&mut self, input: &Input) -> Result<TxnEnd, TxnFailure>;
    /// The single number of a query, without parameters.
    fn number(&mut self, query: &str) -> Result<i64, LabError>;
}
