//! A call of a system procedure, and who may make it.

use catalog::security::Permission;
use compact_str::CompactString;
use types::{DataType, SqlError, Value};

use crate::arguments::TableArg;
use exec::output::Sink;
use exec::state::SessionCore;

/// An argument of a call.
#[derive(Clone, Debug)]
pub struct Arg {
    /// With `@`; `None` is positional.
    pub name: Option<CompactString>,
    pub value: Value,
    /// The type that the caller gave it.
    pub ty: DataType,
    /// The caller's variable that takes the result.
    pub output: Option<usize>,
    /// DEFAULT: the parameter's own value.
    pub is_default: bool,
    /// A cursor variable of the caller, which takes the cursor that the procedure gives back.
    pub cursor: Option<CompactString>,
    /// A table; the value is NULL then.
    pub table: Option<TableArg>,
}

/// A call of a system procedure.
pub struct Call<'a> {
    pub core: &'a mut SessionCore,
    pub sink: &'a mut dyn Sink,
    pub args: &'a [Arg],
    /// Results for the caller's variables.
    pub outputs: &'a mut Vec<(usize, Value)>,
}

/// What a procedure does; it returns its status.
pub(crate) type Body = fn(&mut Call<'_>) -> Result<i32, SqlError>;

/// Who may run a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Everyone,
    /// Whoever may know of the object that the first argument names.
    SeesObject,
    /// dbo, db_owner, sysadmin.
    Owner,
    Server(Permission),
    /// As [`Runs::Server`], and whoever may not is told so in the words of procedures (15247).
    ServerOnly(Permission),
    /// Whoever may make databases; the error is that of CREATE DATABASE (262).
    CreatesDatabase,
    Database(Permission),
    /// Whoever may alter the object that the first argument names.
    AltersObject,
    /// Looks for itself.
    Itself,
    Sysadmin,
}
