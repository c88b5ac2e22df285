//! Tables: CREATE TABLE, ALTER TABLE, their columns and constraints.

use super::{Expr, Ident, IndexColumn, InlineIndex, ObjectName, OptionItem, Span, TypeName};
use compact_str::CompactString;

/// `CREATE TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: ObjectName,
    /// Columns, constraints and inline indexes; never empty.
    pub elements: Vec<TableElement>,
    /// `ON filegroup`, `ON scheme(column)`.
    pub on: Option<Placement>,
    /// `TEXTIMAGE_ON filegroup`.
    pub textimage_on: Option<Ident>,
    /// `WITH (...)`.
    pub options: Vec<OptionItem>,
}

/// `ON filegroup` or `ON scheme(column)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Filegroup or partition scheme; `DEFAULT` and `PRIMARY` are names like any other.
    pub name: Ident,
    /// The partitioning column.
    pub column: Option<Ident>,
}

/// A part of a table's definition.
#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    /// A column.
    Column(Box<ColumnDef>),
    /// A table constraint.
    Constraint(Constraint),
    /// `INDEX name [UNIQUE] [CLUSTERED] (columns)`.
    Index(InlineIndex),
    /// `PERIOD FOR SYSTEM_TIME (start, end)`.
    Period { start: Ident, end: Ident },
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// Its name.
    pub name: Ident,
    /// Its type; `None` for computed columns and for a bare `timestamp`.
    pub data_type: Option<TypeName>,
    /// `AS expression [PERSISTED]`.
    pub computed: Option<Computed>,
    /// `COLLATE`.
    pub collation: Option<Ident>,
    /// `NULL` is true, `NOT NULL` is false, `None` when not said.
    pub nullable: Option<bool>,
    /// It is said more than once.
    pub nullable_twice: bool,
    /// `IDENTITY`.
    pub identity: Option<Identity>,
    /// `ROWGUIDCOL`.
    pub rowguidcol: bool,
    /// `SPARSE`.
    pub sparse: bool,
    /// `MASKED WITH (FUNCTION = '...')`.
    pub mask: Option<CompactString>,
    /// `GENERATED ALWAYS AS ROW START | END [HIDDEN]`.
    pub generated: Option<Generated>,
    /// DEFAULT, PRIMARY KEY, UNIQUE, CHECK, REFERENCES in the order written; key lists are empty
    /// here.
    pub constraints: Vec<Constraint>,
    /// `INDEX name [UNIQUE] [CLUSTERED]` after the column.
    pub index: Option<Box<InlineIndex>>,
    /// Where it stands.
    pub span: Span,
}

impl ColumnDef {
    /// A column of which nothing is said but name and type.
    pub fn new(name: Ident, data_type: Option<TypeName>) -> ColumnDef {
        let span = name.span;
        ColumnDef {
            name,
            data_type,
            computed: None,
            collation: None,
            nullable: None,
            nullable_twice: false,
            identity: None,
            rowguidcol: false,
            sparse: false,
            mask: None,
            generated: None,
            constraints: Vec::new(),
            index: None,
            span,
        }
    }
}

/// `GENERATED ALWAYS AS ROW START | END [HIDDEN]`: a column of a table's period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// `END` rather than `START`.
    pub end: bool,
    /// Not among the columns that `*` means.
    pub hidden: bool,
}

/// A computed column's expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// The expression.
    pub expr: Expr,
    /// `PERSISTED`.
    pub persisted: bool,
}

/// `IDENTITY [(seed, increment)] [NOT FOR REPLICATION]`; literals with their sign applied as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// First value; 1 when left out. A whole number of up to 38 digits, perhaps with a minus.
    pub seed: CompactString,
    /// Step; 1 when left out.
    pub increment: CompactString,
    /// `NOT FOR REPLICATION`.
    pub not_for_replication: bool,
}

/// A constraint with its optional name.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// `CONSTRAINT name`.
    pub name: Option<Ident>,
    /// What it demands.
    pub kind: ConstraintKind,
    /// `NOT FOR REPLICATION`, of CHECK and FOREIGN KEY.
    pub not_for_replication: bool,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// `DEFAULT expression [FOR column] [WITH VALUES]`.
    Default { expr: Expr, column: Option<Ident>, with_values: bool },
    /// `PRIMARY KEY` or `UNIQUE`.
    Key {
        primary: bool,
        /// `CLUSTERED` is true, `NONCLUSTERED` false.
        clustered: Option<bool>,
        /// Empty when written after a column: that column alone.
        columns: Vec<IndexColumn>,
        options: Vec<OptionItem>,
        on: Option<Placement>,
    },
    /// `CHECK (condition)`.
    Check { condition: Expr },
    /// `[FOREIGN KEY (columns)] REFERENCES table [(columns)] ...`.
    ForeignKey {
        /// Empty when written after a column: that column alone.
        columns: Vec<Ident>,
        table: ObjectName,
        /// Empty when left out: the other table's primary key.
        references: Vec<Ident>,
        on_delete: ReferentialAction,
        on_update: ReferentialAction,
    },
}

/// What a foreign key does when its target goes or changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferentialAction {
    /// `NO ACTION`, the default.
    #[default]
    NoAction,
    /// `CASCADE`.
    Cascade,
    /// `SET NULL`.
    SetNull,
    /// `SET DEFAULT`.
    SetDefault,
}

/// `ALTER TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// Which.
    pub name: ObjectName,
    /// What to do.
    pub action: AlterTableAction,
}

/// What ALTER TABLE does.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableAction {
    /// `[WITH CHECK | WITH NOCHECK] ADD ...`: never empty; `check` is `None` when not said.
    Add { elements: Vec<TableElement>, check: Option<bool> },
    /// `ALTER COLUMN name type [COLLATE] [NULL | NOT NULL] [WITH (options)]`.
    AlterColumn { column: Box<ColumnDef>, options: Vec<OptionItem> },
    /// `ALTER COLUMN name ADD MASKED WITH (FUNCTION = '...') | DROP MASKED`.
    Mask { column: Ident, function: Option<CompactString> },
    /// `ALTER COLUMN name ADD | DROP property`; the property in upper case.
    ColumnProperty { column: Ident, add: bool, property: CompactString },
    /// `DROP ...`: never empty.
    Drop(Vec<DropElement>),
    /// `[WITH CHECK | NOCHECK] CHECK | NOCHECK CONSTRAINT ALL | names`; no names is ALL.
    SwitchConstraints { enable: bool, validate: Option<bool>, names: Vec<Ident> },
    /// `ENABLE | DISABLE TRIGGER ALL | names`; no names is ALL.
    SwitchTriggers { enable: bool, names: Vec<Ident> },
    /// `REBUILD [PARTITION = ...] [WITH (...)]`.
    Rebuild(Vec<OptionItem>),
    /// `SET (...)`.
    Set(Vec<OptionItem>),
    /// `SWITCH [PARTITION n] TO table [PARTITION n]`.
    Switch(Box<SwitchPartition>),
}

/// `SWITCH [PARTITION n] TO table [PARTITION n]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchPartition {
    /// The partition that leaves.
    pub partition: Option<Expr>,
    /// Where to.
    pub target: ObjectName,
    /// The partition it becomes.
    pub target_partition: Option<Expr>,
}

/// One entry of ALTER TABLE ... DROP.
#[derive(Clone, Debug, PartialEq)]
pub enum DropElement {
    /// `[CONSTRAINT] [IF EXISTS] name [WITH (...)]`.
    Constraint { name: Ident, if_exists: bool, options: Vec<OptionItem> },
    /// `COLUMN [IF EXISTS] name`.
    Column { name: Ident, if_exists: bool },
    /// `PERIOD FOR SYSTEM_TIME`.
    Period,
}
