//! What the evaluation of an expression needs of the run around it, and the run that has nothing: a
//! constant's.

use std::any::Any;
use std::sync::Arc;

use types::{Dialect, SqlError, Value};

use crate::parsed::Parsed;
use crate::random::Random;
use crate::{KeptList, QuantifiedExpr, Routine, SubRef};

/// What evaluation needs of the run around it. A statement's run implements it; it is handed in at
/// each call, and nothing keeps it.
pub trait Env {
    /// The value of a variable.
    fn var(&self, slot: usize) -> Value;

    /// The value of a variable by reference, where it can be had so.
    fn var_ref(&self, slot: usize) -> Option<&Value>;

    /// A value of the enclosing row; NULL before it was set.
    fn param(&self, slot: usize) -> Value;

    /// The statement's time, nanoseconds since 1970: the same however often it is asked for.
    fn clock(&mut self) -> i128;

    /// The random number of a call that has one for the whole statement; drawn at its first use.
    ///
    /// # Errors
    /// Internal, for a constant.
    fn once(&mut self, call: usize) -> Result<f64, SqlError>;

    /// The session's random numbers.
    ///
    /// # Errors
    /// Internal, for a constant.
    fn random(&mut self) -> Result<&mut Random, SqlError>;

    /// SET DATEFIRST, 1 to 7.
    ///
    /// # Errors
    /// Internal, for a constant.
    fn datefirst(&mut self) -> Result<u8, SqlError>;

    /// How the session reads and writes dates.
    ///
    /// # Errors
    /// Internal, for a constant of no known session.
    fn dialect(&mut self) -> Result<Dialect, SqlError>;

    /// What the client is told when the statement has ended, once.
    ///
    /// # Errors
    /// Internal, for a constant: it is then computed when the statement runs.
    fn warn(&mut self, warning: SqlError) -> Result<(), SqlError>;

    /// Error when the statement was told to stop.
    fn check_cancel(&self) -> Result<(), SqlError>;

    /// Takes bytes for the rest of the statement.
    ///
    /// # Errors
    /// 701.
    fn reserve(&mut self, bytes: usize) -> Result<(), SqlError>;

    /// Charges a large value that is there or about to be made, until it is released or the
    /// statement ends.
    ///
    /// # Errors
    /// 701; for a constant, when it is better computed when the statement runs.
    fn hold(&mut self, bytes: usize) -> Result<(), SqlError>;

    /// Ends a charge of [`Env::hold`].
    fn release(&mut self, bytes: usize);

    /// The document that a method of xml has read last and that was kept.
    fn document(&self) -> Option<&Arc<Parsed>> {
        None
    }

    /// Keeps a document for the next call, in the place of the one before, if there is room for it.
    fn keep_document(&mut self, parsed: &Arc<Parsed>) {
        let _ = parsed;
    }

    /// What the run knows of an IN list, by the list's number; nothing where no list is kept.
    fn list(&mut self, number: usize) -> Option<&mut KeptList> {
        let _ = number;
        None
    }

    /// The session, for functions of the crate that defines it; none for a constant.
    fn host(&mut self) -> Option<&mut dyn Any>;

    /// The value of a user's function for these arguments.
    ///
    /// # Errors
    /// What the function says.
    fn call(&mut self, routine: &dyn Routine, args: Vec<Value>) -> Result<Value, SqlError>;

    /// The one value of a subquery; NULL without a row.
    ///
    /// # Errors
    /// 512 with several rows; what the subquery says.
    fn scalar(&mut self, sub: &SubRef, row: &[Value]) -> Result<Value, SqlError>;

    /// Whether a subquery has a row.
    ///
    /// # Errors
    /// What the subquery says.
    fn exists(&mut self, sub: &SubRef, row: &[Value]) -> Result<bool, SqlError>;

    /// A comparison with the values of a subquery: ANY is true when one comparison is, unknown when
    /// none is and one is unknown; ALL is the mirror of it.
    ///
    /// # Errors
    /// What the subquery says.
    fn quantified(
        &mut self,
        test: &QuantifiedExpr,
        row: &[Value],
    ) -> Result<Option<bool>, SqlError>;
}

/// Bytes that a constant may take at compile time; a larger value is computed when the statement
/// runs.
const CONSTANT_BYTES: usize = 1 << 20;

/// The run of a constant, at compile time: no variables, no session, no subqueries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Constant {
    /// The dialect of the session that compiles, when it is known.
    pub dialect: Option<Dialect>,
}

fn no_constant(what: &str) -> SqlError {
    SqlError::internal(format!("a constant expression asked for {what}"))
}

impl Env for Constant {
    fn var(&self, _: usize) -> Value {
        Value::Null
    }

    fn var_ref(&self, _: usize) -> Option<&Value> {
        None
    }

    fn param(&self, _: usize) -> Value {
        Value::Null
    }

    fn clock(&mut self) -> i128 {
        0
    }

    fn once(&mut self, _: usize) -> Result<f64, SqlError> {
        Err(no_constant("a random number"))
    }

    fn random(&mut self) -> Result<&mut Random, SqlError> {
        Err(no_constant("a random number"))
    }

    fn datefirst(&mut self) -> Result<u8, SqlError> {
        Err(no_constant("the session"))
    }

    fn dialect(&mut self) -> Result<Dialect, SqlError> {
        self.dialect.ok_or_else(|| no_constant("the session's language"))
    }

    fn warn(&mut self, _: SqlError) -> Result<(), SqlError> {
        Err(no_constant("the session"))
    }

    fn check_cancel(&self) -> Result<(), SqlError> {
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.hold(bytes)
    }

    fn hold(&mut self, bytes: usize) -> Result<(), SqlError> {
        if bytes > CONSTANT_BYTES { Err(no_constant("much memory")) } else { Ok(()) }
    }

    fn release(&mut self, _: usize) {}

    fn host(&mut self) -> Option<&mut dyn Any> {
        None
    }

    fn call(&mut self, _: &dyn Routine, _: Vec<Value>) -> Result<Value, SqlError> {
        Err(no_constant("a function"))
    }

    fn scalar(&mut self, _: &SubRef, _: &[Value]) -> Result<Value, SqlError> {
        Err(no_constant("a subquery"))
    }

    fn exists(&mut self, _: &SubRef, _: &[Value]) -> Result<bool, SqlError> {
        Err(no_constant("a subquery"))
    }

    fn quantified(&mut self, _: &QuantifiedExpr, _: &[Value]) -> Result<Option<bool>, SqlError> {
        Err(no_constant("a subquery"))
    }
}
