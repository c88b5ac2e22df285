//! System views and table functions: `sys.*`, `INFORMATION_SCHEMA.*`, DMVs. One file per group of views.
//! Guarantee: names and types of the columns are SQL Server's.

pub mod absent;
mod absent_keys;
mod absent_parts;
mod bulk_rowset;
pub mod columns;
pub mod compatibility;
pub mod counters;
mod cursors;
pub mod databases;
pub mod dblog;
mod dependencies;
mod described;
pub mod devices;
pub mod files;
mod index_usage;
mod information_rights;
pub mod information_schema;
pub(crate) mod languages;
mod lists;
pub mod log;
pub mod memory;
pub mod messages;
pub(crate) mod modules;
pub mod objects;
mod old_objects;
mod old_parts;
mod old_server;
mod open_json;
pub mod optimizer;
mod os;
mod others;
mod permissions;
mod physical;
mod pick;
mod plans;
mod policies;
mod properties;
mod query_store;
mod referenced;
pub mod rights;
mod routines;
pub mod security;
pub mod server;
mod server_triggers;
pub mod sessions;
pub mod statistics;
mod system_info;
pub mod table_functions;
pub mod transactions;
pub mod types;

pub mod waiting;
mod xml_nodes;

use std::any::Any;
use std::sync::{Arc, OnceLock};

use ::types::{DataType, Decimal, Len, SqlError, Value};

use exec::state::SessionCore;
use syntax::ast;

use catalog::Db;
pub(crate) use modules::columns_of_view;
pub use plan::view::{RowSource, ViewColumn, ViewDef};

/// Rows of a view.
pub type Rows = Result<Vec<Vec<Value>>, SqlError>;

/// A view whose rows the engine makes.
pub trait SystemView: ViewDef {
    /// The rows, each with a value for every column; `args` are the function's arguments, already evaluated.
    /// `db` is the database the view was named in, the current one unless the name said otherwise.
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> Rows;
    /// The wanted columns of the rows, piece by piece: for views that may be longer than memory.
    fn open(
        &self,
        session: &mut SessionCore,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let mut rows = self.rows(session, db, args)?;
        for row in &mut rows {
            *row = keep.iter().map(|at| row.get_mut(*at).map_or(Value::Null, std::mem::take)).collect();
        }
        Ok(Box::new(Made(Some(rows))))
    }
}

/// The session that asks for rows.
fn session_of(session: &mut dyn Any) -> Result<&mut SessionCore, SqlError> {
    session.downcast_mut().ok_or_else(|| SqlError::internal("a system view was asked by no session"))
}

/// Rows that were made at once.
struct Made(Option<Vec<Vec<Value>>>);

impl RowSource for Made {
    fn next(&mut self) -> Result<Option<Vec<Vec<Value>>>, SqlError> {
        Ok(self.0.take())
    }
}

/// What a query wants of a view that seeks.
pub struct Wanted<'a> {
    /// Positions of the columns that a row has, in this order.
    keep: &'a [usize],
    equal: &'a [(usize, Value)],
}

impl Wanted<'_> {
    /// The number that a column must have; 0 for a value that no id has.
    pub fn id(&self, column: usize) -> Option<i32> {
        let (_, value) = self.equal.iter().find(|(at, _)| *at == column)?;
        Some(value.as_i64().and_then(|id| i32::try_from(id).ok()).unwrap_or(0))
    }

    /// Whether a column is wanted.
    pub fn has(&self, column: usize) -> bool {
        self.keep.contains(&column)
    }

    /// Whether a text column may have this value. A name is compared as the catalog compares it, or not at all.
    pub fn may_be(&self, column: usize, name: &str) -> bool {
        let Some((_, value)) = self.equal.iter().find(|(at, _)| *at == column) else { return true };
        match value.as_str() {
            Some(wanted) if wanted.is_ascii() && name.is_ascii() => {
                wanted.trim_end().eq_ignore_ascii_case(name.trim_end())
            }
            Some(_) => true,
            None => !value.is_null(),
        }
    }

    /// A row of the wanted columns.
    pub fn row(&self, value: impl FnMut(usize) -> Value) -> Vec<Value> {
        self.keep.iter().copied().map(value).collect()
    }

    /// The wanted columns of a row that has all.
    pub fn part(&self, mut row: Vec<Value>) -> Vec<Value> {
        self.row(|at| row.get_mut(at).map_or(Value::Null, std::mem::take))
    }
}

/// Makes all rows.
type MakeAll = fn(&mut SessionCore, &Arc<Db>, &[Value]) -> Rows;
/// Makes the wanted columns of the wanted rows, of others too if it likes.
type MakeWanted = fn(&mut SessionCore, &Arc<Db>, &Wanted<'_>) -> Rows;

enum Make {
    All(MakeAll),
    Wanted {
        sought: &'static [usize],
        expected: fn(&Db) -> f64,
        make: MakeWanted,
    },
    /// A query over other system views; parsed when it is first asked.
    Query {
        text: &'static str,
        parsed: OnceLock<Result<Box<ast::Query>, Box<SqlError>>>,
    },
}

/// The query of a text.
fn parsed(text: &str) -> Result<Box<ast::Query>, SqlError> {
    let stmts = syntax::parse(text).map_err(catalog::errors::syntax_error)?;
    match stmts.into_iter().next().map(|stmt| stmt.kind) {
        Some(ast::StmtKind::Select(query)) => Ok(query),
        _ => Err(SqlError::internal("the text of a system view is no query")),
    }
}

/// A view made of its columns and a function.
pub struct View {
    schema: &'static str,
    name: &'static str,
    columns: &'static [ViewColumn],
    arguments: Option<usize>,
    make: Make,
}

impl ViewDef for View {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn columns(&self) -> &'static [ViewColumn] {
        self.columns
    }

    fn arguments(&self) -> Option<usize> {
        self.arguments
    }

    fn right(&self) -> plan::rights::ViewRight {
        rights::needs(self.schema, self.name)
    }

    fn start(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        self.seek(session, db, args, keep, &[])
    }

    fn query(&self) -> Result<Option<&ast::Query>, SqlError> {
        let Make::Query { text, parsed: known } = &self.make else { return Ok(None) };
        match known.get_or_init(|| parsed(text).map_err(Box::new)) {
            Ok(query) => Ok(Some(query)),
            Err(error) => Err((**error).clone()),
        }
    }

    fn sought(&self) -> &'static [usize] {
        match self.make {
            Make::All(_) | Make::Query { .. } => &[],
            Make::Wanted { sought, .. } => sought,
        }
    }

    fn expected_rows(&self, db: &Db) -> f64 {
        match self.make {
            Make::All(_) | Make::Query { .. } => 100.0,
            Make::Wanted { expected, .. } => expected(db),
        }
    }

    fn seek(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
        equal: &[(usize, Value)],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let session = session_of(session)?;
        let Make::Wanted { make, .. } = self.make else { return self.open(session, db, args, keep) };
        if !session.may_all() {
            // What a caller may see is told from columns that it need not have asked for.
            let all: Vec<usize> = (0..self.columns.len()).collect();
            let mut rows = make(session, db, &Wanted { keep: &all, equal })?;
            rights::keep_visible(session, db, (self.schema, self.name), self.columns, &mut rows);
            let wanted = Wanted { keep, equal };
            return Ok(Box::new(Made(Some(rows.into_iter().map(|row| wanted.part(row)).collect()))));
        }
        let rows = make(session, db, &Wanted { keep, equal })?;
        debug_assert!(rows.iter().all(|row| row.len() == keep.len()), "rows of {}", self.name);
        Ok(Box::new(Made(Some(rows))))
    }
}

impl SystemView for View {
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> Rows {
        let mut rows = match self.make {
            Make::All(make) => make(session, db, args)?,
            Make::Query { .. } => {
                return Err(SqlError::internal("the rows of a query are asked of its view"));
            }
            Make::Wanted { make, .. } => {
                let keep: Vec<usize> = (0..self.columns.len()).collect();
                make(session, db, &Wanted { keep: &keep, equal: &[] })?
            }
        };
        rights::keep_visible(session, db, (self.schema, self.name), self.columns, &mut rows);
        debug_assert!(
            rows.iter().all(|row| row.len() == self.columns.len()),
            "rows of {} have a wrong width",
            self.name
        );
        Ok(rows)
    }
}

impl View {
    /// `sys.name`.
    pub const fn sys(name: &'static str, columns: &'static [ViewColumn], make: MakeAll) -> View {
        View { schema: "sys", name, columns, arguments: None, make: Make::All(make) }
    }

    /// `sys.name`, which finds rows by the values of columns. `expected`: about how many rows there are.
    pub const fn seeking(
        name: &'static str,
        columns: &'static [ViewColumn],
        sought: &'static [usize],
        expected: fn(&Db) -> f64,
        make: MakeWanted,
    ) -> View {
        View { schema: "sys", name, columns, arguments: None, make: Make::Wanted { sought, expected, make } }
    }

    /// `INFORMATION_SCHEMA.name`, as [`View::seeking`].
    pub const fn information_seeking(
        name: &'static str,
        columns: &'static [ViewColumn],
        sought: &'static [usize],
        expected: fn(&Db) -> f64,
        make: MakeWanted,
    ) -> View {
        let make = Make::Wanted { sought, expected, make };
        View { schema: "INFORMATION_SCHEMA", name, columns, arguments: None, make }
    }

    /// `sys.name`, a query over other system views whose columns stand in the order of `columns`.
    pub const fn defined(name: &'static str, columns: &'static [ViewColumn], text: &'static str) -> View {
        let make = Make::Query { text, parsed: OnceLock::new() };
        View { schema: "sys", name, columns, arguments: None, make }
    }

    /// `INFORMATION_SCHEMA.name`, as [`View::defined`].
    pub const fn information_defined(
        name: &'static str,
        columns: &'static [ViewColumn],
        text: &'static str,
    ) -> View {
        let make = Make::Query { text, parsed: OnceLock::new() };
        View { schema: "INFORMATION_SCHEMA", name, columns, arguments: None, make }
    }

    /// `sys.name` of what this server does not have: no rows.
    pub const fn empty(name: &'static str, columns: &'static [ViewColumn]) -> View {
        View::sys(name, columns, |_, _, _| Ok(Vec::new()))
    }

    /// `INFORMATION_SCHEMA.name` of what this server does not have.
    pub const fn information_empty(name: &'static str, columns: &'static [ViewColumn]) -> View {
        View::information(name, columns, |_, _, _| Ok(Vec::new()))
    }

    /// `sys.name(arguments)`.
    pub const fn function(
        name: &'static str,
        arguments: usize,
        columns: &'static [ViewColumn],
        make: MakeAll,
    ) -> View {
        View { schema: "sys", name, columns, arguments: Some(arguments), make: Make::All(make) }
    }

    /// `INFORMATION_SCHEMA.name`.
    pub const fn information(name: &'static str, columns: &'static [ViewColumn], make: MakeAll) -> View {
        View { schema: "INFORMATION_SCHEMA", name, columns, arguments: None, make: Make::All(make) }
    }
}

/// The lists of views.
static LISTS: &[&[&dyn SystemView]] = &[
    VIEWS,
    old_objects::ALL,
    old_parts::ALL,
    old_server::ALL,
    absent_parts::ALL,
    absent_keys::ALL,
    server_triggers::ALL,
    information_rights::ALL,
    lists::ALL,
    referenced::ALL,
    plans::ALL,
    system_info::ALL,
    described::ALL,
    physical::ALL,
    index_usage::ALL,
    os::ALL,
    query_store::ALL,
];

/// Views of the files that have no list of their own.
static VIEWS: &[&dyn SystemView] = &[
    &databases::DATABASES,
    &databases::SCOPED,
    &files::DATABASE_FILES,
    &files::MASTER_FILES,
    &files::FILEGROUPS,
    &files::DATA_SPACES,
    &files::FILE_STATS,
    &devices::DEVICES,
    &devices::VOLUME_STATS,
    &devices::WRITE_SIZES,
    &devices::LATENCY,
    &objects::OBJECTS,
    &objects::ALL_OBJECTS,
    &objects::TABLES,
    &objects::SYSTEM_OBJECTS,
    &columns::COLUMNS,
    &columns::ALL_COLUMNS,
    &columns::SYSTEM_COLUMNS,
    &columns::IDENTITY_COLUMNS,
    &columns::COMPUTED_COLUMNS,
    &columns::MASKED_COLUMNS,
    &objects::INDEXES,
    &objects::INDEX_COLUMNS,
    &objects::KEY_CONSTRAINTS,
    &objects::DEFAULT_CONSTRAINTS,
    &objects::SCHEMAS,
    &compatibility::OBJECTS,
    &compatibility::DATABASES,
    &languages::LANGUAGES_VIEW,
    &modules::VIEWS,
    &modules::ALL_VIEWS,
    &modules::SYSTEM_VIEWS,
    &modules::PROCEDURES,
    &modules::PARAMETERS,
    &modules::ALL_PARAMETERS,
    &modules::SYSTEM_PARAMETERS,
    &modules::ALL_SQL_MODULES,
    &modules::SYSTEM_SQL_MODULES,
    &modules::TRIGGERS,
    &modules::TRIGGER_EVENTS,
    &modules::SQL_MODULES,
    &modules::CHECK_CONSTRAINTS,
    &modules::FOREIGN_KEYS,
    &modules::FOREIGN_KEY_PAIRS,
    &statistics::STATS,
    &statistics::STATS_COLUMN_LIST,
    &statistics::STATS_PROPERTIES,
    &statistics::STATS_HISTOGRAM,
    &objects::PARTITIONS,
    &objects::ALLOCATION_UNITS,
    &objects::PARTITION_STATS,
    &types::TYPES,
    &log::LOG_INFO,
    &log::LOG_STATS,
    &log::LOG_SPACE_USAGE,
    &dblog::FN_DBLOG,
    &table_functions::GENERATE_SERIES,
    &table_functions::STRING_SPLIT,
    &open_json::OPEN_JSON,
    &xml_nodes::XML_NODES,
    &xml_nodes::OPEN_XML,
    &memory::RESOURCE_SEMAPHORES,
    &server::WAIT_STATS,
    &counters::COUNTERS,
    &optimizer::INFO,
    &waiting::WAITING_TASKS,
    &transactions::LOCKS,
    &transactions::DATABASE_TRANSACTIONS,
    &transactions::ACTIVE_TRANSACTIONS,
    &transactions::SESSION_TRANSACTIONS,
    &transactions::VERSION_USERS,
    &server::CONFIGURATIONS,
    &server::TIME_ZONES,
    &server::SYS_INFO,
    &server::CREDENTIALS,
    &security::SERVER_PRINCIPALS,
    &security::SQL_LOGINS,
    &security::SERVER_ROLE_MEMBERS,
    &security::SERVER_PERMISSIONS,
    &security::DATABASE_PRINCIPALS,
    &security::DATABASE_ROLE_MEMBERS,
    &security::DATABASE_PERMISSIONS,
    &sessions::SESSIONS,
    &sessions::REQUESTS,
    &sessions::CONNECTIONS,
    &cursors::CURSORS,
    &cursors::OF_CALLER,
    &bulk_rowset::CLOB,
    &bulk_rowset::NCLOB,
    &bulk_rowset::BLOB,
    &sessions::SQL_TEXT,
    &sessions::INPUT_BUFFER,
    &information_schema::TABLES,
    &information_schema::COLUMNS,
    &information_schema::SCHEMATA,
    &information_schema::TABLE_CONSTRAINTS,
    &information_schema::KEY_COLUMN_USAGE,
    &routines::VIEWS,
    &routines::ROUTINES,
    &routines::PARAMETERS,
    &routines::REFERENTIAL_CONSTRAINTS,
    &routines::CHECK_CONSTRAINTS,
    &routines::CONSTRAINT_TABLE_USAGE,
    &routines::CONSTRAINT_COLUMN_USAGE,
    &routines::DOMAINS,
    &properties::EXTENDED_PROPERTIES,
    &properties::FN_LISTEXTENDEDPROPERTY,
    &properties::SENSITIVITY,
    &permissions::BUILTIN,
    &permissions::MINE,
    &compatibility::COLLATIONS,
    &others::SYNONYMS,
    &messages::MESSAGES,
    &messages::SYSMESSAGES,
    &others::SEQUENCES,
    &policies::SECURITY_POLICIES,
    &policies::SECURITY_PREDICATES,
    &types::TABLE_TYPES,
    &absent::ASSEMBLY_TYPES,
    &absent::ASSEMBLIES,
    &absent::XML_SCHEMA_COLLECTIONS,
    &absent::XML_INDEXES,
    &objects::PERIODS,
    &absent::FULLTEXT_CATALOGS,
    &absent::FULLTEXT_INDEXES,
    &absent::SERVERS,
    &others::IS_SEQUENCES,
];

/// The view or function with this name; names compare without regard to case.
pub fn find(schema: &str, name: &str) -> Option<&'static dyn SystemView> {
    let schema =
        if schema.eq_ignore_ascii_case("dbo") && compatibility::is_old(name) { "sys" } else { schema };
    every().find(|view| view.schema().eq_ignore_ascii_case(schema) && view.name().eq_ignore_ascii_case(name))
}

/// The views of all lists.
fn every() -> impl Iterator<Item = &'static dyn SystemView> {
    LISTS.iter().flat_map(|list| list.iter().copied())
}

/// The view with an object_id.
pub fn by_id(object_id: i32) -> Option<&'static dyn SystemView> {
    if object_id >= 0 {
        return None;
    }
    every().find(|view| view.object_id() == object_id)
}

/// Every view that a text can name, for sys.all_objects; the binder's own ones have names with parentheses.
pub fn all() -> impl Iterator<Item = &'static dyn SystemView> {
    every().filter(|view| !view.name().contains('('))
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The position of a column, for constants: a name that is not there does not compile.
pub(crate) const fn position(columns: &[ViewColumn], name: &str) -> usize {
    let mut i = 0;
    while !same(columns[i].0.as_bytes(), name.as_bytes()) {
        i += 1;
    }
    i
}

// ---- types and values that many views use ----

pub(crate) const SYSNAME: DataType = DataType::NVarChar(Len::N(128));
pub(crate) const NVARCHAR60: DataType = DataType::NVarChar(Len::N(60));
pub(crate) const LSN_NUMERIC: DataType = DataType::numeric(25, 0);

pub(crate) fn text(value: impl AsRef<str>) -> Value {
    Value::str(value)
}

pub(crate) fn bit(value: bool) -> Value {
    Value::Bit(value)
}

pub(crate) fn big(value: u64) -> Value {
    Value::BigInt(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(crate) fn int(value: u64) -> Value {
    Value::Int(i32::try_from(value).unwrap_or(i32::MAX))
}

/// An LSN as numeric(25,0); NULL for none.
pub(crate) fn lsn_numeric(lsn: wal::Lsn) -> Value {
    if lsn.is_zero() {
        return Value::Null;
    }
    let number = i128::try_from(lsn.to_numeric()).unwrap_or(i128::MAX);
    Decimal::new(number, 25, 0).map_or(Value::Null, Value::Decimal)
}

/// An LSN as text; NULL for none.
pub(crate) fn lsn_text(lsn: wal::Lsn) -> Value {
    if lsn.is_zero() { Value::Null } else { text(lsn.to_string()) }
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The databases that a function's first argument names: NULL or no argument means all, DB_ID() one.
pub(crate) fn databases_of(session: &SessionCore, arg: Option<&Value>) -> Vec<Arc<Db>> {
    match arg.and_then(Value::as_i64) {
        None => session.host().databases(),
        Some(id) => i32::try_from(id).ok().and_then(|id| session.host().db_by_id(id)).into_iter().collect(),
    }
}
