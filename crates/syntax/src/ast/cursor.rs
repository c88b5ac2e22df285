//! Cursors.

use super::{Expr, Ident, NameOrVariable, Query};
use compact_str::CompactString;

/// A cursor's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorName {
    /// `GLOBAL`.
    pub global: bool,
    /// A name or a cursor variable.
    pub name: NameOrVariable,
}

/// `DECLARE c CURSOR ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    /// Its name.
    pub name: Ident,
    /// The rest.
    pub cursor: CursorDef,
}

/// `[options] CURSOR [options] FOR query [FOR ...]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorDef {
    /// `INSENSITIVE`, `SCROLL`, `LOCAL`, `FAST_FORWARD`, ...: upper case, in the order written.
    pub options: Vec<CompactString>,
    /// Its query.
    pub query: Query,
    /// `FOR READ ONLY`.
    pub read_only: bool,
    /// `FOR UPDATE [OF columns]`: the list is empty when left out.
    pub for_update: Option<Vec<Ident>>,
}

/// `FETCH [NEXT ...] [FROM] c [INTO @a, @b]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// Which row.
    pub from: FetchFrom,
    /// The cursor.
    pub cursor: CursorName,
    /// Where to; empty sends the row to the client.
    pub into: Vec<CompactString>,
}

/// The row that FETCH asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum FetchFrom {
    /// `NEXT`, the default.
    Next,
    /// `PRIOR`.
    Prior,
    /// `FIRST`.
    First,
    /// `LAST`.
    Last,
    /// `ABSOLUTE n`.
    Absolute(Expr),
    /// `RELATIVE n`.
    Relative(Expr),
}
