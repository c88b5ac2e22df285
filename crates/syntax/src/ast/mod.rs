//! The syntax tree of T-SQL: spans, names, literals and types live here; statements, queries,
//! expressions and DDL in the modules below.
//!
//! Guarantees to its readers: every statement, expression and table reference carries a [`Span`]
//! with the line it starts on; lists the grammar calls non-empty are non-empty; names are already
//! unquoted; the height of any tree the parser returns is bounded (see [`crate::MAX_HEIGHT`]), so
//! plain recursion over it is safe. The tree knows nothing of catalogs: types, functions and
//! options are names here.

pub mod admin;
pub mod batch;
pub mod command;
pub mod cursor;
pub mod database;
pub mod ddl;
pub mod dml;
pub mod expr;
pub mod index;
pub mod module;
pub mod query;
pub mod security;
pub mod stmt;
pub mod table;

pub use admin::*;
pub use batch::*;
pub use command::*;
pub use cursor::*;
pub use database::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use index::*;
pub use module::*;
pub use query::*;
pub use security::*;
pub use stmt::*;
pub use table::*;

use compact_str::CompactString;
use std::fmt;

/// A piece of the batch's text: bytes `start..end`, and the 1-based line that `start` is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte, counted from the start of the batch.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// 1-based line within the batch.
    pub line: u32,
}

impl Span {
    /// The span from the start of `self` to the end of `other`.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.end), line: self.line }
    }

    /// The text of this span in the batch it came from; empty when it is not from this batch.
    #[must_use]
    pub fn text(self, batch: &str) -> &str {
        batch.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// One name, without its brackets or quotes and with `]]` and `""` undone. At most 128 characters.
/// Comparison of the bare structure is exact; T-SQL's own comparison depends on the database's
/// collation and is the engine's affair ([`Ident::is`] is the ASCII-insensitive one that keywords
/// use).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name as written, case kept; a leading `#` or `##` of a temporary object is part of it.
    pub value: CompactString,
    /// Written as `[x]` or `"x"`: such a name is never taken for a keyword.
    pub quoted: bool,
    /// Where it stands.
    pub span: Span,
}

impl Ident {
    /// Whether the name equals `word` without regard to ASCII case.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        self.value.eq_ignore_ascii_case(word)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value)
    }
}

/// `server.database.schema.name`, each part but the last optional. `db..t` has a database and no
/// schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// Linked server.
    pub server: Option<Ident>,
    /// Database.
    pub database: Option<Ident>,
    /// Schema.
    pub schema: Option<Ident>,
    /// The object itself.
    pub name: Ident,
}

impl ObjectName {
    /// A name of one part.
    #[must_use]
    pub fn bare(name: Ident) -> Self {
        Self { server: None, database: None, schema: None, name }
    }

    /// Whether only the last part was given.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.server.is_none() && self.database.is_none() && self.schema.is_none()
    }

    /// From the first part that was given to the last.
    #[must_use]
    pub fn span(&self) -> Span {
        let first = self.server.as_ref().or(self.database.as_ref()).or(self.schema.as_ref());
        first.unwrap_or(&self.name).span.to(self.name.span)
    }
}

impl fmt::Display for ObjectName {
    /// As messages quote it: `db.schema.name`, parts that are missing in the middle left empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut begun = false;
        for part in [&self.server, &self.database, &self.schema] {
            if let Some(part) = part {
                write!(f, "{part}.")?;
                begun = true;
            } else if begun {
                f.write_str(".")?;
            }
        }
        write!(f, "{}", self.name)
    }
}

/// A constant as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// An unsigned whole number that fits; the engine makes it `int` or, beyond 2147483647,
    /// `numeric(p,0)`.
    Integer(i64),
    /// Digits with a point, or a whole number beyond `i64`: `numeric`. The text holds digits and at
    /// most one point, nothing else; it may be longer than 38 digits.
    Decimal(CompactString),
    /// With an exponent: `float`. The text is one that Rust's `f64` parser takes, and finite is not
    /// promised.
    Float(CompactString),
    /// `$12.50`: `money`. Digits with at most one point, perhaps none at all (`$` is zero).
    Money(CompactString),
    /// `'text'`, quotes undone.
    String {
        /// The characters.
        value: CompactString,
        /// `N'text'`: `nvarchar` rather than `varchar`.
        national: bool,
    },
    /// `0x...`; an odd digit count was padded with a zero in front.
    Binary(Box<[u8]>),
}

/// A type as written: `decimal(18, 2)`, `varchar(max)`, `dbo.PhoneNumber`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// The name. The standard's long spellings are replaced by the short one (`character varying`
    /// is `varchar`, `double precision` is `float`, `national text` is `ntext`), in lower case.
    pub name: ObjectName,
    /// What stands in the parentheses.
    pub params: Vec<TypeParam>,
    /// Where it stands.
    pub span: Span,
}

/// One parameter of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeParam {
    /// Length, precision or scale; any whole number the text held.
    Int(i64),
    /// `MAX`.
    Max,
    /// A word, such as an XML schema collection.
    Name(ObjectName),
}

/// One entry of an option list: `FILLFACTOR = 80`, `RECOVERY FULL`, `NOLOCK`, `INDEX(1, ix)`,
/// `QUERY_STORE = ON (MAX_STORAGE_SIZE_MB = 100)`. All option lists of T-SQL are kept in this one
/// form.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionItem {
    /// Upper case, ASCII; several words are joined by one space (`KEEP PLAN`).
    pub name: CompactString,
    /// What was said of it.
    pub value: OptionValue,
    /// A word after a number: `SECONDS`, `MINUTES`, `DAYS`, `PERCENT`, `KB`. Upper case.
    pub unit: Option<CompactString>,
    /// A parenthesised list after it.
    pub nested: Vec<OptionItem>,
    /// Where it stands.
    pub span: Span,
}

/// The value of an [`OptionItem`].
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// The bare word.
    None,
    /// `ON`.
    On,
    /// `OFF`.
    Off,
    /// Another word, upper case when it was not quoted.
    Word(CompactString),
    /// A constant, variable or other expression.
    Expr(Expr),
}

impl OptionItem {
    /// True for `X`, `X = ON` and `X ON`.
    #[must_use]
    pub fn is_on(&self) -> bool {
        matches!(self.value, OptionValue::None | OptionValue::On)
    }
}
