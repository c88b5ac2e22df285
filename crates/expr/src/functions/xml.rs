//! `value()` of the XML that FOR XML, TYPE gives: the binder calls it for the paths that ask for text.

use types::{DataType, Len, Value};

use super::{ArgRule as A, Function, Stability, text_arg};
use crate::document::{first_text, whole_text};

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "xml_whole_text",
        min: 1,
        max: 1,
        args: &[A::Str],
        result: |_, _| Ok(DataType::NVarChar(Len::Max)),
        strict: true,
        stability: Stability::Pure,
        nullable: false,
        eval: |args, _| Ok(Value::str(whole_text(text_arg(args, 0)))),
    },
    Function {
        name: "xml_first_text",
        min: 1,
        max: 1,
        args: &[A::Str],
        result: |_, _| Ok(DataType::NVarChar(Len::Max)),
        strict: true,
        stability: Stability::Pure,
        nullable: true,
        eval: |args, _| Ok(first_text(text_arg(args, 0)).map_or(Value::Null, Value::str)),
    },
];
