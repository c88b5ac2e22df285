//! DDL: databases and their files, tables, indexes, statistics, modules, schemas, types and sequences.

use super::{ExecuteAs, Expr, Ident, Literal, ObjectName, OptionItem, Query, Span, Stmt, TypeName};
use compact_str::CompactString;

// ---- databases ----

/// `CREATE DATABASE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    /// Its name.
    pub name: Ident,
    /// `CONTAINMENT = NONE | PARTIAL`.
    pub containment: Option<CompactString>,
    /// `ON [PRIMARY]`: files before the first FILEGROUP; empty when left out.
    pub primary: Vec<FileSpec>,
    /// `FILEGROUP name (...)`.
    pub filegroups: Vec<FilegroupSpec>,
    /// `LOG ON`.
    pub log: Vec<FileSpec>,
    /// `COLLATE`.
    pub collation: Option<Ident>,
    /// `FOR ATTACH`, `FOR ATTACH_REBUILD_LOG`: the word, upper case.
    pub attach: Option<CompactString>,
    /// `AS SNAPSHOT OF source`.
    pub snapshot_of: Option<Ident>,
    /// `WITH`.
    pub options: Vec<OptionItem>,
}

/// `FILEGROUP name [CONTAINS ...] [DEFAULT] (file), ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct FilegroupSpec {
    /// Its name.
    pub name: Ident,
    /// `DEFAULT`.
    pub is_default: bool,
    /// `CONTAINS FILESTREAM | MEMORY_OPTIMIZED_DATA`: the word, upper case.
    pub contains: Option<CompactString>,
    /// Its files.
    pub files: Vec<FileSpec>,
}

/// `(NAME = x, FILENAME = 'path', SIZE = 8MB, MAXSIZE = UNLIMITED, FILEGROWTH = 10%)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSpec {
    /// The logical name; required by ALTER DATABASE.
    pub name: Option<CompactString>,
    /// `NEWNAME`, in MODIFY FILE.
    pub new_name: Option<CompactString>,
    /// The path.
    pub filename: Option<CompactString>,
    /// First size, or new size in MODIFY FILE.
    pub size: Option<FileSize>,
    /// The limit.
    pub max_size: Option<MaxSize>,
    /// The growth step.
    pub growth: Option<FileGrowth>,
    /// `OFFLINE`.
    pub offline: bool,
    /// Where it stands.
    pub span: Span,
}

/// A size with its unit; MB when none was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSize {
    /// How many units.
    pub value: u64,
    /// Of what.
    pub unit: SizeUnit,
}

impl FileSize {
    /// In bytes; `None` when that does not fit in 64 bits.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        let shift = match self.unit {
            SizeUnit::Kb => 10,
            SizeUnit::Mb => 20,
            SizeUnit::Gb => 30,
            SizeUnit::Tb => 40,
        };
        self.value.checked_mul(1 << shift)
    }
}

/// Units of file sizes, powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeUnit {
    /// 2^10 bytes.
    Kb,
    /// 2^20 bytes.
    Mb,
    /// 2^30 bytes.
    Gb,
    /// 2^40 bytes.
    Tb,
}

/// `MAXSIZE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxSize {
    /// `UNLIMITED`.
    Unlimited,
    /// A size.
    Size(FileSize),
}

/// `FILEGROWTH`; zero turns growth off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileGrowth {
    /// A size.
    Size(FileSize),
    /// Hundredths of the file's size at the time.
    Percent(u64),
}

/// `ALTER DATABASE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabase {
    /// Which; `None` is `CURRENT`.
    pub name: Option<Ident>,
    /// What to do.
    pub action: AlterDatabaseAction,
}

/// What ALTER DATABASE does.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterDatabaseAction {
    /// `SET options [WITH termination]`.
    Set { options: Vec<OptionItem>, termination: Option<Termination> },
    /// `ADD FILE ... [TO FILEGROUP fg]`.
    AddFile { files: Vec<FileSpec>, filegroup: Option<Ident> },
    /// `ADD LOG FILE ...`.
    AddLogFile(Vec<FileSpec>),
    /// `REMOVE FILE name`.
    RemoveFile(CompactString),
    /// `MODIFY FILE (...)`.
    ModifyFile(FileSpec),
    /// `ADD FILEGROUP name [CONTAINS ...]`.
    AddFilegroup { name: Ident, contains: Option<CompactString> },
    /// `REMOVE FILEGROUP name`.
    RemoveFilegroup(Ident),
    /// `MODIFY FILEGROUP name DEFAULT | NAME = new | READ_ONLY | ...`.
    ModifyFilegroup { name: Ident, change: FilegroupChange, termination: Option<Termination> },
    /// `MODIFY NAME = new`.
    ModifyName(Ident),
    /// `COLLATE name`.
    Collate(Ident),
    /// `SCOPED CONFIGURATION [FOR SECONDARY] SET name = value`: both in upper case.
    ScopedConfiguration { secondary: bool, name: CompactString, value: CompactString },
    /// `SCOPED CONFIGURATION CLEAR PROCEDURE_CACHE [handle]`.
    ClearProcedureCache { handle: bool },
}

/// What MODIFY FILEGROUP changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilegroupChange {
    /// `DEFAULT`.
    Default,
    /// `NAME = new`.
    Name(Ident),
    /// `READ_ONLY`, `READONLY`.
    ReadOnly,
    /// `READ_WRITE`, `READWRITE`.
    ReadWrite,
    /// `AUTOGROW_SINGLE_FILE`.
    AutogrowSingleFile,
    /// `AUTOGROW_ALL_FILES`.
    AutogrowAllFiles,
}

/// `WITH ROLLBACK IMMEDIATE` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// `ROLLBACK IMMEDIATE`.
    Immediate,
    /// `ROLLBACK AFTER n [SECONDS]`.
    After(u64),
    /// `NO_WAIT`.
    NoWait,
}

// ---- tables ----

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
    /// DEFAULT, PRIMARY KEY, UNIQUE, CHECK, REFERENCES in the order written; key lists are empty here.
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
}

/// A constraint with its optional name.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// `CONSTRAINT name`.
    pub name: Option<Ident>,
    /// What it demands.
    pub kind: ConstraintKind,
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

// ---- indexes and statistics ----

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

// ---- modules ----

/// How a module is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleVerb {
    /// `CREATE`.
    Create,
    /// `ALTER`.
    Alter,
    /// `CREATE OR ALTER`.
    CreateOrAlter,
}

/// `CREATE VIEW`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// CREATE or ALTER.
    pub verb: ModuleVerb,
    /// Its name.
    pub name: ObjectName,
    /// Its columns' names; empty when left out.
    pub columns: Vec<Ident>,
    /// `WITH SCHEMABINDING, ...`.
    pub options: Vec<OptionItem>,
    /// Its query.
    pub query: Query,
    /// `WITH CHECK OPTION`.
    pub check_option: bool,
    /// The whole statement as written: what the catalog keeps.
    pub text: String,
}

/// `CREATE PROCEDURE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateProcedure {
    /// CREATE or ALTER.
    pub verb: ModuleVerb,
    /// Its name.
    pub name: ObjectName,
    /// `;number`.
    pub number: Option<i64>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// `WITH RECOMPILE, ...`.
    pub options: Vec<OptionItem>,
    /// `WITH EXECUTE AS ...`.
    pub execute_as: Option<ExecuteAs>,
    /// Its statements. Their spans count from the start of the batch, as those of all statements do.
    pub body: Vec<Stmt>,
    /// The whole statement as written.
    pub text: String,
}

/// A parameter of a procedure or function.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// With its `@`.
    pub name: CompactString,
    /// Its type; `cursor` for CURSOR.
    pub data_type: TypeName,
    /// `VARYING`.
    pub varying: bool,
    /// `NULL` is true, `NOT NULL` false.
    pub nullable: Option<bool>,
    /// `= default`: a constant.
    pub default: Option<Expr>,
    /// `OUTPUT`.
    pub output: bool,
    /// `READONLY`.
    pub readonly: bool,
    /// Where it stands.
    pub span: Span,
}

/// `CREATE FUNCTION`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    /// CREATE or ALTER.
    pub verb: ModuleVerb,
    /// Its name.
    pub name: ObjectName,
    /// Its parameters.
    pub params: Vec<Param>,
    /// `WITH SCHEMABINDING, ...`.
    pub options: Vec<OptionItem>,
    /// `WITH EXECUTE AS ...`.
    pub execute_as: Option<ExecuteAs>,
    /// What it returns and how.
    pub body: FunctionBody,
    /// The whole statement as written.
    pub text: String,
}

/// The three kinds of function.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionBody {
    /// `RETURNS type AS BEGIN ... END`.
    Scalar { returns: TypeName, body: Vec<Stmt> },
    /// `RETURNS TABLE AS RETURN query`.
    Inline(Query),
    /// `RETURNS @t TABLE (...) AS BEGIN ... END`.
    Table { variable: CompactString, elements: Vec<TableElement>, body: Vec<Stmt> },
}

/// `CREATE TRIGGER`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// CREATE or ALTER.
    pub verb: ModuleVerb,
    /// Its name.
    pub name: ObjectName,
    /// What it watches.
    pub on: TriggerTarget,
    /// `WITH ...`.
    pub options: Vec<OptionItem>,
    /// `WITH EXECUTE AS ...`.
    pub execute_as: Option<ExecuteAs>,
    /// `INSTEAD OF` rather than AFTER or FOR.
    pub instead_of: bool,
    /// `INSERT`, `UPDATE`, `DELETE` or DDL events, upper case; never empty.
    pub events: Vec<CompactString>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// The whole statement as written.
    pub text: String,
}

/// What a trigger watches.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerTarget {
    /// A table or view.
    Table(ObjectName),
    /// `DATABASE`.
    Database,
    /// `ALL SERVER`.
    Server,
}

/// `ENABLE | DISABLE TRIGGER ALL | names ON target`.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchTrigger {
    /// Enable rather than disable.
    pub enable: bool,
    /// Empty is ALL.
    pub names: Vec<ObjectName>,
    /// What they watch.
    pub on: TriggerTarget,
}

// ---- schemas, types, sequences, DROP ----

/// `CREATE SCHEMA name [AUTHORIZATION owner] [elements]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// Its name; the owner's when left out.
    pub name: Ident,
    /// `AUTHORIZATION`.
    pub owner: Option<Ident>,
    /// CREATE TABLE, CREATE VIEW, GRANT and the like that belong to it.
    pub elements: Vec<Stmt>,
}

/// `CREATE TYPE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    /// Its name.
    pub name: ObjectName,
    /// What it is.
    pub kind: TypeKind,
}

/// What a user type is.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `FROM base [NULL | NOT NULL]`.
    Alias { base: TypeName, nullable: Option<bool> },
    /// `AS TABLE (...)`.
    Table { elements: Vec<TableElement>, options: Vec<OptionItem> },
}

/// `CREATE SEQUENCE`, `ALTER SEQUENCE`. `Some(None)` is the NO form (`NO CYCLE` is `Some(false)`).
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceDef {
    /// Its name.
    pub name: ObjectName,
    /// `AS type`.
    pub data_type: Option<TypeName>,
    /// `START WITH n`.
    pub start: Option<Expr>,
    /// `RESTART [WITH n]`; only in ALTER.
    pub restart: Option<Option<Expr>>,
    /// `INCREMENT BY n`.
    pub increment: Option<Expr>,
    /// `MINVALUE n`, `NO MINVALUE`.
    pub min_value: Option<Option<Expr>>,
    /// `MAXVALUE n`, `NO MAXVALUE`.
    pub max_value: Option<Option<Expr>>,
    /// `CYCLE`, `NO CYCLE`.
    pub cycle: Option<bool>,
    /// `CACHE [n]`, `NO CACHE`.
    pub cache: Option<SequenceCache>,
}

/// `CACHE` of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum SequenceCache {
    /// `CACHE`.
    Default,
    /// `CACHE n`.
    Size(Literal),
    /// `NO CACHE`.
    None,
}

/// `DROP kind [IF EXISTS] names`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropObjects {
    /// What kind of thing.
    pub kind: DropKind,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Never empty. STATISTICS has `table.name` as schema and name.
    pub names: Vec<ObjectName>,
    /// `ON DATABASE`, `ON ALL SERVER` of DROP TRIGGER.
    pub on: Option<TriggerTarget>,
}

/// What DROP drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// `TABLE`.
    Table,
    /// `VIEW`.
    View,
    /// `PROCEDURE`.
    Procedure,
    /// `FUNCTION`.
    Function,
    /// `TRIGGER`.
    Trigger,
    /// `SCHEMA`.
    Schema,
    /// `TYPE`.
    Type,
    /// `SEQUENCE`.
    Sequence,
    /// `SYNONYM`.
    Synonym,
    /// `STATISTICS`.
    Statistics,
    /// `LOGIN`.
    Login,
    /// `USER`.
    User,
    /// `ROLE`.
    Role,
    /// `SERVER ROLE`.
    ServerRole,
    /// `APPLICATION ROLE`.
    ApplicationRole,
    /// `SECURITY POLICY`.
    SecurityPolicy,
    /// `CREDENTIAL`.
    Credential,
    /// `DATABASE SCOPED CREDENTIAL`.
    DatabaseCredential,
    /// `DEFAULT`.
    Default,
    /// `RULE`.
    Rule,
}
