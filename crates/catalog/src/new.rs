//! What a statement asks to be created, checked against itself but not yet against the database.

use std::sync::Arc;

use compact_str::CompactString;
use types::{Collation, DataType};

use crate::defs::Compression;

/// A table to create.
#[derive(Clone, Debug, Default)]
pub struct NewTable {
    /// Schema; `dbo` when empty.
    pub schema: CompactString,
    /// Name.
    pub name: CompactString,
    /// Columns in order; never empty.
    pub columns: Vec<NewColumn>,
    /// Indexes, at most one of them clustered.
    pub indexes: Vec<NewIndex>,
    /// CHECK constraints.
    pub checks: Vec<NewCheck>,
    /// FOREIGN KEY constraints.
    pub foreign_keys: Vec<NewForeignKey>,
    /// Filegroup by name; the database's default one when empty.
    pub filegroup: CompactString,
    /// DATA_COMPRESSION of its heap or clustered index.
    pub compression: Option<Compression>,
    /// The view whose rows it is to keep.
    pub of_view: Option<i32>,
}

impl NewTable {
    /// Its columns are of their base types: it is kept in another database than the alias types.
    pub fn forget_types(&mut self) {
        self.columns.iter_mut().for_each(|column| column.alias = None);
    }
}

/// A column to create.
#[derive(Clone, Debug)]
pub struct NewColumn {
    pub name: CompactString,
    pub ty: DataType,
    pub nullable: bool,
    pub collation: Collation,
    pub default: Option<NewDefault>,
    /// Seed and increment.
    pub identity: Option<(i64, i64)>,
    pub computed: Option<Arc<crate::ComputedDef>>,
    pub generated: Option<crate::temporal::Generated>,
    /// user_type_id of the alias type that it is declared with.
    pub alias: Option<i32>,
    /// MASKED WITH (FUNCTION = ...), checked.
    pub mask: Option<CompactString>,
    /// ROWGUIDCOL, SPARSE, NOT FOR REPLICATION.
    pub traits: crate::ColumnTraits,
}

impl NewColumn {
    /// A plain column.
    pub fn new(name: impl Into<CompactString>, ty: DataType, nullable: bool) -> NewColumn {
        NewColumn {
            name: name.into(),
            ty,
            nullable,
            collation: Collation::default(),
            default: None,
            identity: None,
            computed: None,
            generated: None,
            alias: None,
            mask: None,
            traits: crate::ColumnTraits::default(),
        }
    }
}

/// A DEFAULT constraint to create.
#[derive(Clone, Debug)]
pub struct NewDefault {
    /// `None`: a name is made up.
    pub name: Option<CompactString>,
    /// As sys.default_constraints.definition shows it: in parentheses.
    pub text: CompactString,
    pub expr: Arc<syntax::ast::Expr>,
}

/// A CHECK constraint to create.
#[derive(Clone, Debug)]
pub struct NewCheck {
    /// `None`: a name is made up.
    pub name: Option<CompactString>,
    /// In parentheses, as it reads under QUOTED_IDENTIFIER ON.
    pub text: CompactString,
    pub condition: Arc<syntax::ast::Expr>,
    /// The column after which it was written.
    pub column: Option<CompactString>,
    pub not_for_replication: bool,
}

/// A FOREIGN KEY constraint to create.
#[derive(Clone, Debug)]
pub struct NewForeignKey {
    /// `None`: a name is made up.
    pub name: Option<CompactString>,
    pub columns: Vec<CompactString>,
    pub parent: syntax::ast::ObjectName,
    /// Empty: the other table's primary key.
    pub keys: Vec<CompactString>,
    pub on_delete: syntax::ast::ReferentialAction,
    pub on_update: syntax::ast::ReferentialAction,
    pub not_for_replication: bool,
}

/// What kind of constraint an index enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyConstraint {
    Primary,
    Unique,
}

/// An index to create; columns are positions in the table.
#[derive(Clone, Debug)]
pub struct NewIndex {
    /// `None`: a name is made up (constraints only).
    pub name: Option<CompactString>,
    pub unique: bool,
    pub clustered: bool,
    /// Position, descending; never empty.
    pub key: Vec<(usize, bool)>,
    pub included: Vec<usize>,
    pub constraint: Option<KeyConstraint>,
    /// Percent of a leaf that a build fills, 0 = 100.
    pub fill_factor: u8,
    pub options: crate::IndexOptions,
    /// Which rows it has; all without one.
    pub filter: Option<NewFilter>,
}

/// The filter of an index to create.
#[derive(Clone, Debug)]
pub struct NewFilter {
    /// In parentheses.
    pub text: String,
    pub terms: Vec<crate::defs::filter::FilterTerm>,
}
