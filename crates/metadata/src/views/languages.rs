//! sys.syslanguages: the languages that SET LANGUAGE knows, with their names of months and days.

use types::{DataType, LANGUAGES, Language, Len, Value};

use super::{SYSNAME, View, ViewColumn, text};

use DataType::{Int, NChar, NVarChar, SmallInt, TinyInt};

/// The columns, of sp_helplanguage too.
pub const COLUMNS: &[ViewColumn] = &[
    ("langid", SmallInt, false),
    ("dateformat", NChar(3), false),
    ("datefirst", TinyInt, false),
    ("upgrade", Int, true),
    ("name", SYSNAME, false),
    ("alias", SYSNAME, false),
    ("months", NVarChar(Len::N(372)), true),
    ("shortmonths", NVarChar(Len::N(132)), true),
    ("days", NVarChar(Len::N(217)), true),
    ("lcid", Int, false),
    ("msglangid", SmallInt, false),
];

/// A language as a row.
pub fn row(language: &Language) -> Vec<Value> {
    vec![
        Value::SmallInt(language.id.into()),
        text(language.order.name()),
        Value::TinyInt(language.first_day),
        Value::Int(0),
        text(language.name),
        text(language.alias),
        text(language.months),
        text(language.short_months),
        text(language.days),
        Value::Int(language.lcid.into()),
        Value::SmallInt(language.messages as i16),
    ]
}

/// sys.syslanguages.
pub(crate) static LANGUAGES_VIEW: View =
    View::sys("syslanguages", COLUMNS, |_, _, _| Ok(LANGUAGES.iter().map(row).collect()));
