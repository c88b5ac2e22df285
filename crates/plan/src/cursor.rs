//! The query of a cursor. Its kind decides what the plan gives: rows (static, fast forward), one
//! locator per table in the order of the rows (keyset), or rows with their locator along an index
//! (dynamic). Guarantees: a kind that a query cannot have becomes another by SQL Server's rules,
//! never silently a wrong answer: a query whose rows are no rows of tables is static; an order that
//! no index gives makes a dynamic cursor a keyset.

use crate::nodes::{Node, Path, Plan, ScanPlan};
use crate::physical;
use crate::statement::Statement;
use crate::{ColumnInfo, CountedCompilation, Needs, QueryPlan, apply_options, columns_of, cost};
use bind::counters::CompiledKind;
use bind::env::{CompileEnv, VarScope};
use bind::set_options::CompileOptions;
use catalog::{Db, TableDef, fold_name};
use compact_str::CompactString;
use expr::{ColId, Expr};
use logical::hints::RowLocks;
use logical::rights::OwnershipChain;
use logical::slots::slots;
use logical::tree::{BoundQuery, Get, JoinKind, Logical};
use std::sync::Arc;
use std::time::Instant;
use storage::{Base, TableMode, TableStore};
use syntax::ast;
use types::{SqlError, msg};

/// The kinds of cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// A copy of the rows, made when it is opened.
    Static,
    /// The keys of the rows, made when it is opened; values are read at each fetch.
    Keyset,
    /// Nothing is kept but the place in an index.
    Dynamic,
    /// The query itself, suspended between two fetches.
    FastForward,
}

/// A table of a keyset or dynamic cursor.
#[derive(Debug)]
pub struct CursorTable {
    pub db: Arc<Db>,
    pub store: Arc<TableStore>,
    pub mode: TableMode,
    /// The columns that its rows are made of.
    pub columns: Vec<u16>,
    /// Locks that a read of a row takes, by the isolation level or hints.
    pub locks: Option<RowLocks>,
    /// An outer join may leave it without a row.
    pub outer: bool,
}

/// How a row is made of its base rows: the columns that are needed of all tables one after another,
/// then expressions, each over what stands before it.
#[derive(Debug)]
pub struct RowOfTables {
    pub exprs: Vec<Expr>,
    /// Slots of the result's columns.
    pub output: Vec<usize>,
}

/// A compiled cursor.
#[derive(Debug)]
pub struct CursorPlan {
    pub model: Model,
    /// Columns of its rows.
    pub columns: Vec<ColumnInfo>,
    /// The tables of the query whose rows its rows are made of; none where they are something else.
    pub origins: Vec<(Arc<Db>, Arc<TableDef>)>,
    /// Table and column that each column of the rows is.
    pub origin_of: Vec<Option<(usize, usize)>>,
    /// Rows; for a keyset the locators, one per table; for a dynamic cursor the rows, each followed
    /// by its locator.
    pub query: Arc<QueryPlan>,
    /// None for static and fast forward cursors.
    pub tables: Vec<CursorTable>,
    pub row: Option<RowOfTables>,
    /// FOR UPDATE OF: table and column; none when the list was left out.
    pub update_of: Option<Vec<(usize, usize)>>,
    /// Changes through it are refused: a table is read WITH (NOLOCK) (16941).
    pub dirty: bool,
    /// What it was made of, to be made again when a table has changed.
    pub source: CursorSource,
    /// To be made again in.
    pub names: NameScope,
}

/// What decides, beside its database and temporary tables, what the names and words of a cursor's
/// query mean.
#[derive(Clone, Debug)]
pub struct NameScope {
    /// The schema that is looked in before dbo.
    pub schema: Option<CompactString>,
    pub chain: OwnershipChain,
    pub options: CompileOptions,
}

impl NameScope {
    fn of(env: &CompileEnv<'_>) -> NameScope {
        let options = env.options.compile_options();
        NameScope { schema: env.schema.clone(), chain: env.chain, options }
    }
}

/// What a cursor's plan was made of.
#[derive(Clone, Debug)]
pub struct CursorSource {
    pub query: Arc<ast::Query>,
    pub vars: Arc<VarScope>,
    pub wish: Model,
    pub update_of: Vec<ast::Ident>,
    /// It is a client's, which may be a keyset over tables without a unique index; T-SQL's becomes
    /// static there.
    pub api: bool,
}

/// The tables of a query whose rows are combinations of rows of tables.
#[derive(Default)]
struct CursorTables {
    gets: Vec<(Get, bool)>,
    projects: Vec<(ColId, Expr)>,
}

impl CursorTables {
    /// False: rows of the query are not rows of tables.
    fn of(&mut self, logical: &Logical, outer: bool) -> bool {
        stack::with_room(|| {
            match logical {
                Logical::Get(get) => {
                    self.gets.push(((**get).clone(), outer));
                    true
                }
                Logical::Filter { input, .. } | Logical::Sort { input, .. } => {
                    self.of(input, outer)
                }
                // What an outer join has no row for is NULL, whatever the expression.
                Logical::Project { input, exprs } if !outer => {
                    let fits = self.of(input, outer);
                    self.projects.extend(exprs.iter().cloned());
                    fits
                }
                Logical::Join { kind, left, right, .. } => {
                    let (l, r) = match kind {
                        JoinKind::Inner => (outer, outer),
                        JoinKind::Left => (outer, true),
                        JoinKind::Full => (true, true),
                        JoinKind::Semi | JoinKind::Anti => return false,
                    };
                    self.of(left, l) && self.of(right, r)
                }
                _ => false,
            }
        })
    }
}

/// The scan that a plan without joins and orders is over.
pub fn driving_scan(plan: &Plan) -> Option<&ScanPlan> {
    let mut plan = plan;
    loop {
        match &plan.node {
            Node::Scan(scan) => return Some(scan),
            Node::Filter { input, .. } | Node::Project { input, .. } => plan = input,
            _ => return None,
        }
    }
}

/// Whether the place of a row in what the scan reads can be found again.
fn keeps_place(plan: &Plan) -> bool {
    driving_scan(plan).is_some_and(|scan| {
        let tree =
            matches!(scan.store.base, Base::Tree(_)) || matches!(scan.path, Path::Index { .. });
        tree && scan.locks.is_none() && scan.sample.is_none()
    })
}

fn has_unique_key(get: &Get) -> bool {
    let table = &get.table;
    (table.storage.index_id > 0 && table.storage.unique) || table.indexes.iter().any(|i| i.is_key())
}

/// 16907.
fn not_allowed(what: &str) -> SqlError {
    SqlError::of(msg::NOT_ALLOWED_IN_CURSOR, [&what])
}

fn check(query: &ast::Query) -> Result<(), SqlError> {
    if query.body.first_select().into.is_some() {
        return Err(not_allowed("INTO"));
    }
    match &query.for_clause {
        Some(clause) => Err(not_allowed(match clause.kind {
            ast::ForKind::Browse => "FOR BROWSE",
            ast::ForKind::Xml => "FOR XML",
            ast::ForKind::Json => "FOR JSON",
        })),
        _ => Ok(()),
    }
}

/// Compiles the query of a cursor.
///
/// # Errors
/// Those of a query; 16907 for what a cursor cannot have, 207 a column of FOR UPDATE OF that no
/// table has.
pub fn compile_cursor(source: &CursorSource, env: &CompileEnv<'_>) -> Result<CursorPlan, SqlError> {
    let began = Instant::now();
    let query = &*source.query;
    check(query)?;
    let mut statement = Statement::new(env);
    apply_options(&mut statement, &query.options, false)?;
    let mut bound = statement.query(query)?;
    if !bound.assignments.is_empty() {
        return Err(not_allowed("Variable assignment"));
    }
    statement.mask_result(&mut bound);
    let made = MadeCursor::new(&mut statement, &bound, source)?;
    let columns = columns_of(&bound.columns);
    let (origins, origin_of) = made.origins(&bound);
    let needs = physical::needs(&mut statement)?;
    let update_of = update_columns(&made.shape, &source.update_of)?;
    let plan_columns = if made.model == Model::Keyset { Vec::new() } else { columns.clone() };
    let query = QueryPlan {
        columns: plan_columns,
        plan: made.plan,
        assignments: Vec::new(),
        point: false,
        browse: None,
        order: Vec::new(),
        needs,
    };
    count(&statement, &query, source, began);
    let (tables, row) = match made.model {
        Model::Static | Model::FastForward => (Vec::new(), None),
        Model::Keyset | Model::Dynamic => tables(&made.shape, &bound)?,
    };
    Ok(CursorPlan {
        model: made.model,
        columns,
        origins,
        origin_of,
        dirty: made.shape.gets.iter().any(|(get, _)| get.mode == TableMode::Dirty),
        query: Arc::new(query),
        tables,
        row,
        update_of,
        source: source.clone(),
        names: NameScope::of(env),
    })
}

fn count(statement: &Statement<'_>, query: &QueryPlan, source: &CursorSource, began: Instant) {
    let (cost, trivial) = (cost::of(&query.plan).total, query.reads_points());
    let options = &source.query.options;
    CountedCompilation { kind: CompiledKind::Query, began, options, cost, trivial }
        .add(statement, &query.needs);
}

/// The kind that the cursor has in the end, and its plan.
struct MadeCursor {
    model: Model,
    plan: Plan,
    shape: CursorTables,
    rows_of_tables: bool,
}

/// Tables, and of each column the table and the column there.
type OriginsOf = (Vec<(Arc<Db>, Arc<TableDef>)>, Vec<Option<(usize, usize)>>);

impl MadeCursor {
    fn origins(&self, bound: &BoundQuery) -> OriginsOf {
        let gets: &[(Get, bool)] = if self.rows_of_tables { &self.shape.gets } else { &[] };
        let tables = gets.iter().map(|(get, _)| (get.db.clone(), get.table.clone())).collect();
        let place = |id: ColId| {
            let mut found = gets.iter().enumerate();
            found.find_map(|(at, (get, _))| get.position(id).map(|column| (at, column)))
        };
        (tables, bound.columns.iter().map(|column| place(column.id)).collect())
    }

    fn new(
        statement: &mut Statement<'_>,
        bound: &BoundQuery,
        source: &CursorSource,
    ) -> Result<MadeCursor, SqlError> {
        let wish = source.wish;
        let columns: Vec<ColId> = bound.columns.iter().map(|c| c.id).collect();
        let mut shape = CursorTables::default();
        let rows_of_tables = shape.of(&bound.logical, false) && !shape.gets.is_empty();
        let rows = |statement: &mut Statement<'_>| {
            physical::plan_query(statement, bound.logical.clone(), &columns, None)
        };
        let model = match wish {
            Model::Static | Model::FastForward => wish,
            Model::Keyset | Model::Dynamic if !rows_of_tables => Model::Static,
            Model::Keyset
                if !source.api && !shape.gets.iter().all(|(get, _)| has_unique_key(get)) =>
            {
                Model::Static
            }
            Model::Keyset | Model::Dynamic => wish,
        };
        if model == Model::Dynamic && shape.gets.len() == 1 {
            let mut wanted = columns.clone();
            wanted.push(shape.gets[0].0.locator());
            // It runs again for each fetch.
            statement.inner_plans += 1;
            let plan = physical::plan_query(statement, bound.logical.clone(), &wanted, Some(1));
            statement.inner_plans -= 1;
            let plan = plan?;
            if keeps_place(&plan) {
                return Ok(MadeCursor { model, plan, shape, rows_of_tables });
            }
        }
        let (model, plan) = match model {
            Model::Keyset | Model::Dynamic => {
                let locators: Vec<ColId> =
                    shape.gets.iter().map(|(get, _)| get.locator()).collect();
                let plan = physical::plan_query(statement, bound.logical.clone(), &locators, None)?;
                (Model::Keyset, plan)
            }
            model => (model, rows(statement)?),
        };
        Ok(MadeCursor { model, plan, shape, rows_of_tables })
    }
}

/// The tables, and how a row is made of theirs.
fn tables(
    shape: &CursorTables,
    bound: &BoundQuery,
) -> Result<(Vec<CursorTable>, Option<RowOfTables>), SqlError> {
    let mut tables = Vec::with_capacity(shape.gets.len());
    let mut needed: Vec<ColId> = bound.columns.iter().map(|c| c.id).collect();
    shape.projects.iter().for_each(|(_, e)| e.columns(&mut needed));
    let mut cols: Vec<ColId> = Vec::new();
    for (get, outer) in &shape.gets {
        let before = cols.len();
        cols.extend((get.first..get.locator()).filter(|id| needed.contains(id)));
        tables.push(CursorTable {
            columns: cols[before..].iter().map(|id| (id - get.first) as u16).collect(),
            db: get.db.clone(),
            store: TableStore::open(&get.db, &get.table)?,
            mode: get.mode,
            locks: get.locks,
            outer: *outer,
        });
    }
    let mut exprs = Vec::with_capacity(shape.projects.len());
    for (id, e) in &shape.projects {
        let mut e = e.clone();
        slots(&mut e, &cols)?;
        exprs.push(e);
        cols.push(*id);
    }
    let place = |id: ColId| {
        let at = cols.iter().position(|c| *c == id);
        at.ok_or_else(|| SqlError::internal("a column of a cursor is not in its tables"))
    };
    let output = bound.columns.iter().map(|c| place(c.id)).collect::<Result<Vec<_>, _>>()?;
    Ok((tables, Some(RowOfTables { exprs, output })))
}

fn update_columns(
    shape: &CursorTables,
    names: &[ast::Ident],
) -> Result<Option<Vec<(usize, usize)>>, SqlError> {
    if names.is_empty() {
        return Ok(None);
    }
    let mut list = Vec::with_capacity(names.len());
    for name in names {
        let folded = fold_name(&name.value);
        let found = shape.gets.iter().enumerate().find_map(|(table, (get, _))| {
            let column = get.table.columns.iter().position(|c| fold_name(&c.name) == folded)?;
            Some((table, column))
        });
        list.push(found.ok_or_else(|| SqlError::of(msg::INVALID_COLUMN, [&name.value]))?);
    }
    Ok(Some(list))
}

impl CursorPlan {
    /// What it needs when it runs.
    pub fn needs(&self) -> &Needs {
        &self.query.needs
    }

    /// Whether it is the same cursor as an older plan of its source: its names may mean other
    /// tables by now.
    pub fn is_same(&self, older: &CursorPlan) -> bool {
        let tables = |plan: &CursorPlan| -> Vec<(i32, i32)> {
            plan.needs().tables.iter().map(|used| (used.db.id(), used.table.object_id)).collect()
        };
        (self.model, self.dirty) == (older.model, older.dirty)
            && self.columns == older.columns
            && self.update_of == older.update_of
            && tables(self) == tables(older)
    }
}
