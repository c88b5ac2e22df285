//! OUTPUT parameters of a call by RPC, which has no variables to put them into.

use types::convert::{Mode, convert_with};
use types::{CodePage, DataType, Dialect, SqlError, Value};

/// Values of OUTPUT parameters of a call.
#[derive(Debug, Default)]
pub struct Outputs {
    /// What the client declares each argument as; none for a NULL without a type.
    pub types: Vec<Option<DataType>>,
    /// Values by the positions of their arguments.
    pub values: Vec<(usize, DataType, Value)>,
}

impl Outputs {
    /// Takes a value, in the client's type as a variable would take it; a document also as a text,
    /// which drivers declare for it.
    pub fn put(
        &mut self,
        at: usize,
        ty: DataType,
        value: &Value,
        (dialect, page): (Dialect, CodePage),
    ) -> Result<(), SqlError> {
        let to = self.types.get(at).copied().flatten().unwrap_or(ty);
        let value = if to == ty {
            value.clone()
        } else {
            let as_text = ty == DataType::Xml && to.is_string();
            let mode = if as_text { Mode::Explicit } else { Mode::Implicit };
            convert_with(value, ty, to, 0, mode, dialect, page)?
        };
        self.values.push((at, to, value));
        Ok(())
    }
}
