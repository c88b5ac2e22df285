//! SQL values, types and their rules: conversions, arithmetic, dates, collations, the row and key
//! formats. Guarantees: pure (no I/O, no clock, no global state), one set of SQL Server's rules for
//! everyone, and no input, stored bytes included, makes it panic.

pub mod codepage;
pub mod collation;
pub mod convert;
pub mod datatype;
pub mod dateformat;
mod dateparse;
pub mod datetime;
pub mod decimal;
pub mod display;
pub mod error;
pub mod hierarchy;
pub mod key;
mod key_bytes;
pub mod language;
pub mod like;
pub mod look;
pub mod numtext;
pub mod ops;
pub mod packed;
mod result_rows;
pub mod rounding;
pub mod row;
pub mod rowcell;
pub mod units;
pub mod value;
mod value_errors;
pub mod variant;

pub use codepage::CodePage;
pub use collation::Collation;
pub use convert::xml::illegal_character;
pub use convert::{ConvertOptions, Mode, convert, convert_by, convert_in, convert_with};
pub use datatype::{DataType, Len, NameContext, TypeArg, common_type};
pub use decimal::Decimal;
pub use display::format_value;
pub use error::{Corrupt, RaisedError, SqlError};
pub use key::{
    KeyPart, decode_key_part, encode_key, encode_key_part, encode_sort_part, has_key_end,
    keeps_values, key_part_length, key_width, read_key_part, skip_key_part,
};
pub use language::{DateOrder, Dialect, LANGUAGES, Language};
pub use like::LikePattern;
pub use look::CancelCheck;
pub use messages as msg;
pub use ops::{BinaryOp, compare};
pub use packed::{pack_row, unpack_row};
pub use result_rows::{ResultRows, RowItems};
pub use row::{
    CellConstant, CellOrder, ColumnType, EncodeValue, Field, MAX_ROW, RowLayout, RowParts,
    StoredCell,
};
pub use value::{CompactString, Value};
