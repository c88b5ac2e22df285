//! What FROM offers to a query block: tables, derived tables and functions by their names, with the
//! columns that an expression may name. Guarantee: a name with a prefix means a source that goes by
//! exactly that prefix.

use catalog::fold_name;
use compact_str::CompactString;
use expr::{ColId, ErrorRules, Expr, Label, Typed};
use logical::tree::OutColumn;
use std::sync::Arc;
use syntax::ast;
use types::{Collation, DataType};

/// A column that a source offers.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    /// As written; empty for an unnamed expression.
    pub name: CompactString,
    /// Lower case.
    pub folded: CompactString,
    pub id: ColId,
    pub ty: DataType,
    pub nullable: bool,
    pub collation: Collation,
    /// Hidden from `*`.
    pub hidden: bool,
    /// Its value, where no row has it: a computed column's.
    pub value: Option<Arc<Expr>>,
    /// What else it can be called.
    pub pseudo: Option<Pseudo>,
}

/// Columns that have a name beside their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pseudo {
    /// `$IDENTITY`, IDENTITYCOL.
    Identity,
    /// `$ROWGUID`, ROWGUIDCOL.
    RowGuid,
}

impl Pseudo {
    /// The one that a name means.
    pub fn of_name(name: &ast::Ident) -> Option<Pseudo> {
        let is = |other: &str| name.value.eq_ignore_ascii_case(other);
        match (name.quoted, name.value.len()) {
            (false, 9 | 11) if is("$identity") || is("identitycol") => Some(Pseudo::Identity),
            (false, 8 | 10) if is("$rowguid") || is("rowguidcol") => Some(Pseudo::RowGuid),
            _ => None,
        }
    }

    fn of_column(column: &catalog::ColumnDef) -> Option<Pseudo> {
        match (column.identity, column.traits.rowguid) {
            (Some(_), _) => Some(Pseudo::Identity),
            (None, true) => Some(Pseudo::RowGuid),
            (None, false) => None,
        }
    }
}

impl ScopeColumn {
    /// A visible column.
    pub fn new(
        name: &str,
        id: ColId,
        ty: DataType,
        nullable: bool,
        collation: Collation,
    ) -> ScopeColumn {
        let (folded, name) = (fold_name(name), name.into());
        ScopeColumn {
            name,
            folded,
            id,
            ty,
            nullable,
            collation,
            hidden: false,
            value: None,
            pseudo: None,
        }
    }

    /// A column of a bound query.
    pub fn of_query(column: &OutColumn) -> ScopeColumn {
        ScopeColumn::new(&column.name, column.id, column.ty, column.nullable, column.collation)
    }

    /// A column of a table.
    pub fn of_table(column: &catalog::ColumnDef, id: ColId) -> ScopeColumn {
        let shown =
            ScopeColumn::new(&column.name, id, column.ty, column.nullable, column.collation);
        ScopeColumn { hidden: column.is_hidden(), pseudo: Pseudo::of_column(column), ..shown }
    }

    /// The column as an expression.
    pub fn typed(&self) -> Typed {
        Typed {
            expr: self.value.as_deref().map_or(Expr::Col(self.id), Expr::clone),
            ty: self.ty,
            nullable: self.nullable,
            fixed: true,
            collation: self.collation,
            label: Label::Implicit,
            dialect: None,
            manner: ErrorRules::default(),
        }
    }
}

/// A table, derived table, CTE or function in FROM.
#[derive(Clone, Debug)]
pub struct FromSource {
    /// Alias or table name, lower case.
    pub name: CompactString,
    /// Alias was given: then the schema cannot be used to name it.
    pub aliased: bool,
    /// Lower case, for `dbo.t.c`.
    pub schema: Option<CompactString>,
    pub database: Option<CompactString>,
    pub columns: Vec<ScopeColumn>,
    /// object_id of a base table; 0 for everything else.
    pub object_id: i32,
    /// Its database; 0 for everything else.
    pub db_id: i32,
}

impl FromSource {
    /// What has no schema: a common table expression, a function of the system. It goes by its
    /// alias, if there is one.
    pub(crate) fn unqualified(
        name: &ast::Ident,
        alias: Option<&ast::Ident>,
        columns: Vec<ScopeColumn>,
    ) -> FromSource {
        FromSource {
            name: fold_name(&alias.unwrap_or(name).value),
            aliased: alias.is_some(),
            schema: None,
            database: None,
            columns,
            object_id: 0,
            db_id: 0,
        }
    }

    /// How it clashes with one that goes by the same name.
    pub fn clash(&self, other: &FromSource) -> Option<NameClash> {
        if self.aliased && other.aliased {
            return Some(NameClash::Alias(self.name.clone()));
        }
        let same = self.schema == other.schema && self.database == other.database;
        (same && self.aliased == other.aliased)
            .then(|| NameClash::Exposed(self.name.clone(), other.name.clone()))
    }

    /// Whether `qualifier.` means this source.
    pub fn is_named(&self, qualifier: &ast::ObjectName) -> bool {
        if fold_name(&qualifier.name.value) != self.name || qualifier.server.is_some() {
            return false;
        }
        let fits = |part: &Option<ast::Ident>, own: &Option<CompactString>| match part {
            None => true,
            Some(_) if self.aliased => false,
            Some(part) => own.as_ref().is_some_and(|own| fold_name(&part.value) == *own),
        };
        fits(&qualifier.schema, &self.schema) && fits(&qualifier.database, &self.database)
    }
}

/// Two sources whose names do not tell them apart.
#[derive(Debug, PartialEq, Eq)]
pub enum NameClash {
    /// Both have it as their alias.
    Alias(CompactString),
    /// Names of objects, or one an alias.
    Exposed(CompactString, CompactString),
}
