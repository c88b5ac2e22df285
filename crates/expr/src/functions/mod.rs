//! The table of scalar functions: name, argument types, result type, evaluator. One list per theme.
//! Functions of the session and the catalog are listed by the crate that knows them, in the same
//! form. Guarantees: names are unique and lower case; an evaluator gets arguments of the kinds that
//! its rules say; a `strict` function is not called with a NULL; [`Stability`] says what a value
//! depends on besides the arguments.

pub mod bits;
pub mod choice;
pub mod convert;
pub mod date;
pub mod date_units;
pub mod digest;
pub mod format;
pub mod hierarchy;
pub mod json;
pub mod like_range;
pub mod math;
pub mod string;
mod string_codes;
mod string_parts;
pub(crate) mod string_search;
pub mod xml;
pub mod zones;

use crate::large::{HeldMemory, LONGEST, too_long};
use crate::{Env, Expr};
use std::collections::HashMap;
use std::sync::OnceLock;
use types::{Collation, DataType, Len, SqlError, Value, msg};

/// What an evaluator gets besides its arguments.
pub struct CallCx<'c> {
    pub rt: &'c mut dyn Env,
    /// The result's type.
    pub ty: DataType,
    /// The arguments' types.
    pub types: &'c [DataType],
    pub collation: Collation,
    /// What the result has come to.
    pub made: HeldMemory,
}

impl CallCx<'_> {
    /// Asks whether the statement is to go on: what work on a long value asks as it proceeds.
    #[inline]
    pub fn look(&self) -> impl Fn() -> Result<(), SqlError> {
        let rt: &dyn Env = &*self.rt;
        move || rt.check_cancel()
    }

    /// The result takes so many bytes, or will: to be said before it does where it can be much
    /// longer than the arguments.
    ///
    /// # Errors
    /// 701; 7119 when no value is so long.
    #[inline]
    pub fn makes(&mut self, bytes: usize) -> Result<(), SqlError> {
        // UTF-8 takes at most four bytes for a unit of two.
        if bytes > LONGEST / 2 * 4 {
            return Err(too_long());
        }
        self.made.grow_to(bytes, self.rt)
    }
}

/// An evaluator.
pub type Eval = fn(&[Value], &mut CallCx<'_>) -> Result<Value, SqlError>;
/// A result type from the arguments' types and expressions.
pub type ResultRule = fn(&[DataType], &[Expr]) -> Result<DataType, SqlError>;

/// What a function's value depends on besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Nothing: a call with constant arguments is a constant.
    Pure,
    /// The run of the statement (the clock, the session, the catalog): the same for all of its
    /// rows, so that a seek can use it.
    Statement,
    /// The moment of the call: NEWID.
    Row,
}

/// A scalar function.
pub struct Function {
    /// Lower case.
    pub name: &'static str,
    pub min: u8,
    pub max: u8,
    /// Rule per argument; the last one holds for the rest.
    pub args: &'static [ArgRule],
    pub result: ResultRule,
    /// NULL in, NULL out.
    pub strict: bool,
    pub stability: Stability,
    /// Can give NULL without a NULL argument.
    pub nullable: bool,
    pub eval: Eval,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What an argument is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgRule {
    /// Kept as it is.
    Any,
    /// A string; anything else becomes varchar.
    Str,
    /// nvarchar(4000): names.
    Name,
    Int,
    BigInt,
    Float,
    /// A number of its own type; a string becomes float.
    Number,
    /// A date or time of its own type; strings become datetime2, numbers datetime.
    Moment,
    /// The same, but a string becomes datetime.
    MomentOrDateTime,
    Date,
    DateTimeOffset,
    /// A string or a binary.
    Bytes,
    /// A string or a binary; anything else becomes varchar.
    StrOrBytes,
    Guid,
    /// A hierarchyid; strings and bytes become one.
    Hierarchy,
}

/// The functions that take text, ntext and image, besides those that take anything.
const TAKE_OLD_LOBS: [&str; 4] = ["substring", "patindex", "charindex", "textptr"];

impl ArgRule {
    /// The type to convert to; `None` keeps the argument. Error: 8116.
    pub fn target(
        self,
        ty: DataType,
        null: bool,
        name: &str,
        at: usize,
    ) -> Result<Option<DataType>, SqlError> {
        let invalid = || invalid_argument(ty, at, name);
        if ty.is_opaque() && !null && self != ArgRule::Any && !TAKE_OLD_LOBS.contains(&name) {
            return Err(invalid());
        }
        Ok(match self {
            ArgRule::Any => None,
            ArgRule::Str | ArgRule::Bytes | ArgRule::StrOrBytes if null => {
                Some(DataType::VarChar(Len::N(1)))
            }
            ArgRule::Str if ty.is_string() => None,
            ArgRule::Str if ty.is_binary() => Some(DataType::VarChar(Len::N(8000))),
            ArgRule::StrOrBytes if ty.is_string() || ty.is_binary() => None,
            ArgRule::Str | ArgRule::StrOrBytes => Some(DataType::VarChar(Len::N(text_width(ty)))),
            ArgRule::Name => Some(DataType::NVarChar(Len::N(4000))),
            ArgRule::Int => Some(DataType::Int),
            ArgRule::BigInt => Some(DataType::BigInt),
            ArgRule::Float => Some(DataType::Float),
            ArgRule::Number if ty.is_number() => None,
            ArgRule::Number if ty.is_string() => Some(DataType::Float),
            ArgRule::Number => return Err(invalid()),
            ArgRule::Moment | ArgRule::MomentOrDateTime if ty.is_temporal() => None,
            ArgRule::MomentOrDateTime if ty.is_string() => Some(DataType::DateTime),
            ArgRule::Moment if ty.is_string() => Some(DataType::DateTime2(7)),
            ArgRule::Moment | ArgRule::MomentOrDateTime if ty.is_number() || null => {
                Some(DataType::DateTime)
            }
            ArgRule::Moment | ArgRule::MomentOrDateTime => return Err(invalid()),
            ArgRule::Date => Some(DataType::Date),
            ArgRule::DateTimeOffset if matches!(ty, DataType::DateTimeOffset(_)) => None,
            ArgRule::DateTimeOffset => Some(DataType::DateTimeOffset(7)),
            ArgRule::Bytes if ty.is_string() || ty.is_binary() => None,
            ArgRule::Bytes => return Err(invalid()),
            ArgRule::Guid => Some(DataType::UniqueIdentifier),
            ArgRule::Hierarchy => Some(DataType::HierarchyId),
        })
    }

    /// Whether the function converts what SQL Server would not convert implicitly.
    pub fn is_explicit(self) -> bool {
        matches!(self, ArgRule::Str | ArgRule::StrOrBytes | ArgRule::Date)
    }
}

/// Characters that a value of a type may take as text.
pub fn text_width(ty: DataType) -> u16 {
    match ty {
        DataType::Bit => 1,
        DataType::TinyInt => 3,
        DataType::SmallInt => 6,
        DataType::Int => 12,
        DataType::BigInt => 20,
        DataType::UniqueIdentifier => 36,
        _ => 50,
    }
}

/// 8116: a type that the function does not take.
pub fn invalid_argument(ty: DataType, at: usize, name: &str) -> SqlError {
    SqlError::of(msg::ARGUMENT_TYPE, [&ty.message_name(), &at, &name])
}

/// The lists, one for each theme.
const LISTS: &[&[Function]] = &[
    string::FUNCTIONS,
    date::FUNCTIONS,
    date_units::FUNCTIONS,
    format::FUNCTIONS,
    zones::FUNCTIONS,
    xml::FUNCTIONS,
    hierarchy::FUNCTIONS,
    math::FUNCTIONS,
    bits::FUNCTIONS,
    convert::FUNCTIONS,
    digest::FUNCTIONS,
    json::FUNCTIONS,
    choice::FUNCTIONS,
];

/// All functions of this crate.
pub fn all() -> impl Iterator<Item = &'static Function> {
    LISTS.iter().copied().flatten()
}

/// The function of a lower-case name.
pub fn find(name: &str) -> Option<&'static Function> {
    static TABLE: OnceLock<HashMap<&'static str, &'static Function>> = OnceLock::new();
    let table = TABLE.get_or_init(|| all().map(|f| (f.name, f)).collect());
    table.get(name).copied()
}

/// The type of a call's result under a collation: where that counts characters, one of them may be
/// two units, or several bytes of UTF-8.
///
/// # Errors
/// Those of the function's rule.
pub fn result_type(
    function: &Function,
    types: &[DataType],
    exprs: &[Expr],
    collation: Collation,
) -> Result<DataType, SqlError> {
    let ty = (function.result)(types, exprs)?;
    Ok(match function.name {
        "nchar" if collation.counts_characters() => DataType::NVarChar(Len::N(2)),
        "substring" if collation.counts_characters() && ty.is_string() => {
            same_length(types, exprs)?
        }
        _ => ty,
    })
}

/// A function that the binder itself relies on.
pub fn required(name: &str) -> Result<&'static Function, SqlError> {
    find(name).ok_or_else(|| SqlError::internal(format!("function {name} is missing")))
}

// Result rules and arguments that several lists share.

/// int.
pub fn int(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::Int)
}

/// smallint.
pub fn smallint(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::SmallInt)
}

/// bigint.
pub fn bigint(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::BigInt)
}

/// float.
pub fn float(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::Float)
}

/// sysname: nvarchar(128).
pub fn sysname(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::NVarChar(Len::N(128)))
}

/// nvarchar(4000).
pub fn nvarchar_4000(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::NVarChar(Len::N(4000)))
}

/// The first argument's type.
pub fn first_type(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    types
        .first()
        .copied()
        .ok_or_else(|| SqlError::internal("a function without arguments has no first type"))
}

/// The variable string type with the first argument's length.
pub(crate) fn same_length(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(match types.first().copied() {
        Some(DataType::Char(n)) => DataType::VarChar(Len::N(n)),
        Some(DataType::NChar(n)) => DataType::NVarChar(Len::N(n)),
        Some(ty) if ty.is_string() => ty.modern(),
        _ => DataType::VarChar(Len::N(8000)),
    })
}

/// The longest variable string type of the arguments' family; max only when the first is.
pub fn longest(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    let unicode = types.iter().any(|ty| ty.is_unicode());
    let max = types.first().is_some_and(|ty| ty.is_lob());
    Ok(match (unicode, max) {
        (true, true) => DataType::NVarChar(Len::Max),
        (true, false) => DataType::NVarChar(Len::N(4000)),
        (false, true) => DataType::VarChar(Len::Max),
        (false, false) => DataType::VarChar(Len::N(8000)),
    })
}

/// An argument as an integer; 0 for NULL, which strict functions never see.
pub fn int_arg(args: &[Value], i: usize) -> i64 {
    args.get(i).and_then(Value::as_i64).unwrap_or(0)
}

/// An argument as text; empty for NULL.
pub fn text_arg(args: &[Value], i: usize) -> &str {
    args.get(i).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut seen = std::collections::HashSet::new();
        for f in LISTS.iter().copied().flatten() {
            assert!(seen.insert(f.name), "{} twice", f.name);
            // Those of methods are no names that a text could have.
            assert!(f.name.starts_with("hierarchyid") || f.name == f.name.to_lowercase());
            assert!(f.min <= f.max, "{}", f.name);
        }
    }
}
