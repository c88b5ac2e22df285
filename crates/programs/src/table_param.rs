//! A parameter of a table type, and what a call gives for it.

use std::sync::Arc;

use compact_str::CompactString;
use types::{SqlError, Value, msg};

use super::arguments::{Arg, TableArg};
use catalog::TableTypeDef;

/// A parameter of a table type.
#[derive(Clone, Debug)]
pub struct TableParam {
    /// With its `@`.
    pub name: CompactString,
    pub def: Arc<TableTypeDef>,
    /// What the call gives for it; nothing is an empty table.
    pub arg: Option<TableArg>,
}

impl TableParam {
    /// A parameter with what a call gives for it.
    ///
    /// # Errors
    /// 206 a value that is no table.
    pub fn new(
        name: &str,
        def: &Arc<TableTypeDef>,
        arg: Option<Arg>,
    ) -> Result<TableParam, SqlError> {
        let arg = match arg {
            None => None,
            Some(Arg { table: Some(table), .. }) => Some(table),
            Some(Arg { is_default: true, .. }) => None,
            Some(Arg { value: Value::Null, .. }) => return Err(clash("void type", def)),
            Some(Arg { ty, .. }) => return Err(clash(ty.base_name(), def)),
        };
        Ok(TableParam { name: name.into(), def: def.clone(), arg })
    }
}

/// 206: what is given is not of the type.
pub fn clash(given: &str, def: &TableTypeDef) -> SqlError {
    SqlError::of(msg::TYPE_CLASH, [&given, &def.name])
}
