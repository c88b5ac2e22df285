//! Arguments of calls as data, tables among them: what a client sends and what T-SQL names.

use std::sync::Arc;

use compact_str::CompactString;
use types::{DataType, Value};

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

/// A table that is passed.
#[derive(Clone, Debug)]
pub enum TableArg {
    /// The caller's variable: its table, and the type that it was declared with.
    Variable { object_id: i32, type_id: Option<i32> },
    /// A client's rows.
    Rows(Arc<RpcTable>),
}

/// The rows of a table-valued parameter.
#[derive(Clone, Debug, Default)]
pub struct RpcTable {
    /// Empty: the default schema.
    pub schema: CompactString,
    /// Empty: the parameter's type.
    pub type_name: CompactString,
    /// None: the table is NULL, which is an empty one.
    pub columns: Vec<RpcTableColumn>,
    /// The values of all rows one after another, as many for each as there are columns. They
    /// convert to the columns' types.
    pub values: Vec<Value>,
}

/// A column of a table-valued parameter.
#[derive(Clone, Copy, Debug)]
pub struct RpcTableColumn {
    /// Which of the type's columns it is, from 0.
    pub position: usize,
    /// The type's default, or identity, is to be used, not the values.
    pub default: bool,
}
