//! Indexes and statistics.

use super::{Expr, Ident, ObjectName, OptionItem, Placement};
use compact_str::CompactString;

/// One key column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// The column.
    pub name: Ident,
    /// `DESC`.
    pub descending: bool,
}

/// An index inside CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct InlineIndex {
    /// Its name.
    pub name: Ident,
    /// `UNIQUE`.
    pub unique: bool,
    /// `CLUSTERED` is true, `NONCLUSTERED` false.
    pub clustered: Option<bool>,
    /// Key columns; empty when written after a column.
    pub columns: Vec<IndexColumn>,
    /// `INCLUDE`.
    pub include: Vec<Ident>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `WITH (...)`.
    pub options: Vec<OptionItem>,
    /// `ON`.
    pub on: Option<Placement>,
}

/// `CREATE INDEX`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Its name.
    pub name: Ident,
    /// On which table or view.
    pub table: ObjectName,
    /// `UNIQUE`.
    pub unique: bool,
    /// `CLUSTERED`; NONCLUSTERED is the default.
    pub clustered: bool,
    /// `COLUMNSTORE`.
    pub columnstore: bool,
    /// Key columns; never empty but for a clustered columnstore.
    pub columns: Vec<IndexColumn>,
    /// `INCLUDE (...)`.
    pub include: Vec<Ident>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `WITH (...)`.
    pub options: Vec<OptionItem>,
    /// `ON filegroup`.
    pub on: Option<Placement>,
}

/// `ALTER INDEX`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterIndex {
    /// Which; `None` is ALL.
    pub name: Option<Ident>,
    /// On which table.
    pub table: ObjectName,
    /// What to do.
    pub action: AlterIndexAction,
}

/// What ALTER INDEX does.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterIndexAction {
    /// `REBUILD [PARTITION = n | ALL] [WITH (...)]`; `partition` is `None` for ALL.
    Rebuild { partition: Option<Expr>, options: Vec<OptionItem> },
    /// `REORGANIZE [PARTITION = n] [WITH (...)]`.
    Reorganize { partition: Option<Expr>, options: Vec<OptionItem> },
    /// `DISABLE`.
    Disable,
    /// `RESUME`, `PAUSE` or `ABORT`, in upper case, with the options behind it.
    Resumable { word: CompactString, options: Vec<OptionItem> },
    /// `SET (...)`.
    Set(Vec<OptionItem>),
}

/// `DROP INDEX`, both forms.
#[derive(Clone, Debug, PartialEq)]
pub struct DropIndex {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Never empty.
    pub items: Vec<DropIndexItem>,
}

/// `index ON table [WITH (...)]` or `table.index`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropIndexItem {
    /// The table.
    pub table: ObjectName,
    /// The index.
    pub index: Ident,
    /// `WITH (...)`.
    pub options: Vec<OptionItem>,
}

/// `CREATE STATISTICS`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateStatistics {
    /// Its name.
    pub name: Ident,
    /// On which table.
    pub table: ObjectName,
    /// On which columns; never empty.
    pub columns: Vec<Ident>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `WITH FULLSCAN, ...`.
    pub options: Vec<OptionItem>,
}

/// `UPDATE STATISTICS table [name | (names)] [WITH ...]`.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStatistics {
    /// Which table.
    pub table: ObjectName,
    /// Which statistics; empty is all.
    pub names: Vec<Ident>,
    /// `WITH`.
    pub options: Vec<OptionItem>,
}
