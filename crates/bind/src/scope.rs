//! Names that a query block can see: its FROM sources, the groups and windows it makes, and the
//! blocks around it. Guarantees: a name resolves to one column id or to an error with SQL Server's
//! number (207, 209, 4104, 8120); a column of an outer block becomes a parameter of the subquery
//! that mentions it.

use super::sources::Sources;
use catalog::fold_name;
use compact_str::CompactString;
use expr::aggregate::Aggregate;
use expr::same_syntax::{SyntaxIndex, same_syntax};
use expr::{ColId, Expr, Label, Manner, Typed};
use logical::tree::OutColumn;
use logical::window::WindowCall;
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
    pub value: Option<std::sync::Arc<Expr>>,
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
    pub fn of_name(name: &syntax::ast::Ident) -> Option<Pseudo> {
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
            manner: Manner::default(),
        }
    }
}

/// A table, derived table, CTE or function in FROM.
#[derive(Clone, Debug)]
pub struct Source {
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

impl Source {
    /// What has no schema: a common table expression, a function of the system. It goes by its
    /// alias, if there is one.
    pub fn unqualified(
        name: &ast::Ident,
        alias: Option<&ast::Ident>,
        columns: Vec<ScopeColumn>,
    ) -> Source {
        Source {
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
    pub fn clash(&self, other: &Source) -> Option<NameClash> {
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

/// Where in a SELECT an expression stands; decides which error an ungrouped column gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clause {
    #[default]
    Select,
    On,
    Where,
    GroupBy,
    Having,
    OrderBy,
    /// Inside the argument of an aggregate.
    Aggregate,
    /// An OUTPUT clause.
    Output,
    /// The definition of a computed column or a CHECK constraint.
    Definition,
    /// Where there is no row: VALUES, variables, TOP.
    None,
}

/// GROUP BY of a block: keys, aggregates met so far.
#[derive(Clone, Debug, Default)]
pub struct Grouping {
    /// The key's syntax, its expression over the sources, and the column that carries it after
    /// grouping.
    pub keys: Vec<GroupKey>,
    /// The keys as they are written.
    pub written: SyntaxIndex,
    pub aggregates: Vec<Aggregate>,
    /// Where there is more than one set of keys.
    pub sets: Option<GroupingSets>,
}

impl Grouping {
    /// The key that is written like an expression.
    pub fn key_written(&self, e: &ast::Expr) -> Option<usize> {
        self.written.candidates(e).iter().copied().find(|key| same_syntax(&self.keys[*key].ast, e))
    }

    /// Adds a key.
    pub fn add_key(&mut self, key: GroupKey) {
        self.written.add(&key.ast, self.keys.len());
        self.keys.push(key);
    }

    /// Whether rows of some set are without this key, so that it is NULL in them.
    pub fn leaves_out(&self, key: usize) -> bool {
        self.sets.as_ref().is_some_and(|sets| sets.masks.iter().any(|mask| mask >> key & 1 == 0))
    }
}

/// The sets of keys that ROLLUP, CUBE and GROUPING SETS mean; there are at least two.
#[derive(Clone, Debug)]
pub struct GroupingSets {
    /// Bit `i` of a set: it has key `i`.
    pub masks: Vec<u64>,
    /// The column of a set's number beside the input, and after the aggregation.
    pub number: ColId,
    /// Beside it the first of one column for each key: 1 where the set has it.
    pub flags: ColId,
    pub output: ColId,
}

/// One key of GROUP BY.
#[derive(Clone, Debug)]
pub struct GroupKey {
    pub ast: ast::Expr,
    pub source: Typed,
    pub output: ColId,
}

/// One query block while it is bound.
#[derive(Debug, Default)]
pub struct Scope {
    pub sources: Sources,
    /// So many of them, from the first, have columns that only a name with their prefix means.
    pub prefixed: usize,
    /// False while FROM is bound: siblings are not visible except to APPLY and ON.
    pub visible: bool,
    pub clause: Clause,
    /// While the right side of an APPLY in its FROM is bound.
    pub applying: bool,
    /// Its list, HAVING or ORDER BY is bound: an aggregate of it may still make it group.
    pub listing: bool,
    /// Set once the block is known to group.
    pub grouping: Option<Grouping>,
    /// OVER calls met so far.
    pub windows: Vec<WindowCall>,
    /// The WINDOW clause.
    pub named_windows: Vec<ast::NamedWindow>,
    /// Parameters that this block needs of the block around it: slot and the outer value.
    pub outer: Vec<(usize, Expr)>,
    /// Some value inside comes from a block around this one.
    pub correlated: bool,
    /// Whether OVER is allowed (select list and ORDER BY only).
    pub allow_windows: bool,
    /// While a call with OVER is bound.
    pub windowed: bool,
}
