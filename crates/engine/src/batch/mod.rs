//! Batches: parsing, the flat program, binding of statements when they first run, and the interpreter.

pub mod cache;
pub mod declared;
pub mod errors_text;
pub mod execute;
pub mod flow;
pub mod program;
pub mod run;

use std::sync::Arc;

use parking_lot::Mutex;
use types::{DataType, SqlError};

use crate::context::{Condition, DmlPlan, QueryPlan, Scalar, VarScope};
use crate::instance::credentials::conceal;
use crate::session::Isolation;
use program::Program;

/// A statement bound to the catalog; cheap to clone.
#[derive(Clone)]
pub enum Bound {
    /// SET @v = x and DECLARE @v = x.
    Assign { slot: usize, value: Arc<Scalar> },
    /// IF and WHILE.
    Condition(Arc<Condition>),
    /// SELECT.
    Query(Arc<QueryPlan>),
    /// INSERT, UPDATE, DELETE, SELECT INTO.
    Dml(Arc<DmlPlan>),
    /// The arguments of PRINT, RAISERROR, WAITFOR, EXEC and the like.
    Scalars(Arc<[Arc<Scalar>]>),
}

/// What a bound statement was bound to: database, its schema version, and how it reads.
pub type Stamp = (i32, u64, Isolation);

/// A parsed batch with what its statements were bound to when they last ran.
pub struct Compiled {
    /// The text without secrets, which spans point into.
    pub text: Arc<str>,
    /// Its operations.
    pub program: Program,
    /// Bindings by operation, shared by the runs of the batch.
    pub bound: Mutex<Vec<Option<(Stamp, Bound)>>>,
}

impl Compiled {
    /// Parses a text and flattens it. `params` are the variables that exist before it starts.
    ///
    /// Errors: everything that SQL Server finds before a batch runs: syntax, undeclared variables, labels, types.
    pub fn new(text: &str, params: &[(compact_str::CompactString, DataType)]) -> Result<Compiled, SqlError> {
        let stmts = syntax::parse(text).map_err(syntax_error)?;
        let mut vars = VarScope::new();
        for (name, ty) in params {
            vars.declare(name, *ty)?;
        }
        declared::check(text, &stmts, params)?;
        let program = Program::build(stmts, vars, &crate::stmt::table_def::data_type)?;
        let bound = Mutex::new(vec![None; program.ops.len()]);
        Ok(Compiled { text: conceal(text).into(), program, bound })
    }
}

/// A parser's error as the user sees it.
pub fn syntax_error(e: syntax::SyntaxError) -> SqlError {
    let mut error = SqlError::new(i32::try_from(e.number).unwrap_or(102), e.severity, e.state, e.message);
    error.line = e.line;
    error
}
