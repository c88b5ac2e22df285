//! OUTPUT: expressions over a row before and after its change, for the client, for a table, or for
//! both. Guarantees: rows for a table that the statement reads or changes are added when it has
//! done its own work; the target of OUTPUT INTO has no triggers, foreign keys or CHECK constraints
//! (331 to 333).

mod run;

pub use run::{OutputOutlet, OutputRow, WaitingOutput, to_client};

use std::sync::Arc;

use super::change::{CompileCascade, TableChange};
use super::named::{is_query, table_position, target_table};
use super::new_row::{NewRows, row_of, target_columns, wrong_count};
use super::values::{into_column, masked_column};
use bind::scope::{Clause, Scope};
use bind::source::{FromSource, ScopeColumn};
use bind::{Binder, unsupported};
use catalog::security::Permission;
use catalog::{Db, TableDef};
use expr::{ColId, Expr, Typed};
use logical::hints::{Hints, TableLock};
use logical::slots::slots;
use plan::statement::Statement;
use session::output::ColumnInfo;
use session::state::changes::Action;
use syntax::ast::{self, SelectItem};
use types::{Collation, DataType, Len, SqlError, msg};

/// A compiled OUTPUT clause, or two: one INTO a table and one for the client. Slots: the columns of
/// `deleted`, those of `inserted`, those of the statement's row, what was done.
#[derive(Debug)]
pub struct OutputPlan {
    /// Columns of the changed table.
    width: usize,
    client: Option<SelectedColumns>,
    into: Option<IntoPlan>,
}

/// What goes to the client.
#[derive(Debug)]
struct SelectedColumns {
    columns: Vec<ColumnInfo>,
    exprs: Vec<Expr>,
}

/// What goes into a table.
#[derive(Debug)]
struct IntoPlan {
    rows: NewRows,
    /// One for each column of the table.
    exprs: Vec<Expr>,
    lock: TableLock,
    /// The statement reads or changes the table: its rows wait for the end.
    waits: bool,
}

/// Which of the two pseudo tables a statement has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PseudoTables {
    Inserted,
    Deleted,
    Both,
}

/// What an OUTPUT clause may name.
pub struct OutputScope<'a> {
    pub db: &'a Arc<Db>,
    pub table: &'a Arc<TableDef>,
    pub images: PseudoTables,
    /// MERGE: `$action` is known, and each image may be missing.
    pub merge: bool,
    /// Sources of the statement besides the target.
    pub others: Vec<FromSource>,
    /// The target's columns.
    pub columns: Vec<OutputColumn>,
}

/// A column of the target, which may be a view.
pub struct OutputColumn {
    pub column: ScopeColumn,
    /// Where the changed table has it; nowhere for one that is computed or another table's.
    pub position: Option<usize>,
    /// It is another table's.
    pub foreign: bool,
}

impl OutputColumn {
    /// The columns of a table.
    pub fn of_table(table: &TableDef, first: ColId) -> Vec<OutputColumn> {
        let columns = table.columns.iter().enumerate();
        let column = columns.map(|(at, c)| OutputColumn {
            column: ScopeColumn::new(&c.name, first + at as ColId, c.ty, c.nullable, c.collation),
            position: Some(at),
            foreign: false,
        });
        column.collect()
    }
}

/// A bound OUTPUT clause: columns have ids still.
pub struct BoundOutput {
    /// Ids of `deleted`, then of `inserted`.
    images: Vec<ColId>,
    action: ColId,
    plan: OutputPlan,
}

/// Binds OUTPUT; nothing without one. The sources of the statement are left as they are.
///
/// # Errors
/// 158, 10705; 330 to 333; those of the names and types.
pub fn bind(
    binder: &mut Statement<'_>,
    scope: OutputScope<'_>,
    output: &[ast::Output],
    compile_cascade: CompileCascade,
) -> Result<Option<BoundOutput>, SqlError> {
    if output.is_empty() {
        return Ok(None);
    }
    check_number(output)?;
    let width = scope.table.columns.len();
    let first = binder.new_cols(2 * width);
    let action = binder.new_col();
    // Columns that `inserted` has not.
    let absent = binder.new_cols(scope.columns.len());
    let columns = [first, first + width as ColId]
        .map(|first| binder.columns_of(scope.db, scope.table, first));
    let [deleted, inserted] = columns;
    for first in [first, first + width as ColId] {
        binder.note_masks(scope.db, scope.table, first);
        // Of a view's rows: what its query has found.
        let shown = scope.columns.iter().filter(|_| scope.images != PseudoTables::Inserted);
        for (column, at) in shown.filter_map(|column| Some((column, column.position?))) {
            binder.copy_mask(column.column.id, first + at as ColId);
        }
    }
    let names = names(&scope, [deleted?, inserted?], absent, action);
    // Nothing but these names is seen.
    let outer = std::mem::replace(&mut binder.scopes, vec![names]);
    let subqueries = binder.subqueries.len();
    let bound = clauses(binder, &scope, output, compile_cascade);
    binder.scopes = outer;
    let (client, into) = bound?;
    if binder.subqueries.len() > subqueries {
        return Err(SqlError::of(msg::SUBQUERY_IN_OUTPUT, []));
    }
    let plan = OutputPlan { width, client, into };
    let mut used = Vec::new();
    plan.exprs().for_each(|e| e.columns(&mut used));
    let mut missing = scope.columns.iter().zip(absent..).filter(|(_, id)| used.contains(id));
    if let Some((column, _)) = missing.next() {
        return Err(not_inserted(column));
    }
    let mut shown: Vec<usize> = used
        .iter()
        .filter_map(|id| id.checked_sub(first).filter(|at| (*at as usize) < 2 * width))
        .map(|at| at as usize % width.max(1))
        .collect();
    shown.sort_unstable();
    shown.dedup();
    if !shown.is_empty() {
        binder.rights.need_table(scope.db, scope.table, Permission::Select, &shown);
    }
    used.iter().for_each(|id| binder.rights.mentions(*id));
    let images = (first..first + 2 * width as ColId).collect();
    Ok(Some(BoundOutput { images, action, plan }))
}

/// One clause, or two of which the first is INTO a table.
fn check_number(output: &[ast::Output]) -> Result<(), SqlError> {
    match output {
        [_] => Ok(()),
        [first, second] if first.into.is_some() && second.into.is_none() => Ok(()),
        _ => Err(SqlError::of(msg::SYNTAX_NEAR, [&"OUTPUT"])),
    }
}

/// 404: `inserted` has the columns of the changed table alone.
fn not_inserted(column: &OutputColumn) -> SqlError {
    if !column.foreign {
        return unsupported("A computed column of a view in OUTPUT inserted");
    }
    SqlError::of(msg::OUTPUT_COLUMN_NOT_MODIFIED, [&column.column.name])
}

/// `absent`: ids for the columns that `inserted` has not.
fn names(
    scope: &OutputScope<'_>,
    images: [Vec<ScopeColumn>; 2],
    absent: ColId,
    action: ColId,
) -> Scope {
    // The id of a column of the table, or of one that it has not.
    let image = |name: &str,
                 own: Vec<ScopeColumn>,
                 other: &dyn Fn(usize, &ScopeColumn) -> ColId| FromSource {
        name: name.into(),
        aliased: true,
        schema: None,
        database: None,
        columns: scope
            .columns
            .iter()
            .enumerate()
            .map(|(i, OutputColumn { column: c, position, .. })| {
                let column = match position.and_then(|at| own.get(at)) {
                    Some(own) => ScopeColumn {
                        name: c.name.clone(),
                        folded: c.folded.clone(),
                        ..own.clone()
                    },
                    None => ScopeColumn::new(&c.name, other(i, c), c.ty, c.nullable, c.collation),
                };
                ScopeColumn { nullable: column.nullable || scope.merge, ..column }
            })
            .collect(),
        object_id: 0,
        db_id: 0,
    };
    let [deleted, inserted] = images;
    let mut names = Scope { visible: true, clause: Clause::Output, ..Scope::default() };
    if scope.images != PseudoTables::Inserted {
        names.sources.push(image("deleted", deleted, &|_, c| c.id));
    }
    if scope.images != PseudoTables::Deleted {
        names.sources.push(image("inserted", inserted, &|i, _| absent + i as ColId));
    }
    // Without a prefix a name means a column of another source.
    names.prefixed = if scope.others.is_empty() { 0 } else { names.sources.len() };
    names.sources.extend(scope.others.iter().cloned());
    if scope.merge {
        let ty = DataType::NVarChar(Len::N(10));
        let mut column = ScopeColumn::new("$action", action, ty, false, Collation::DEFAULT);
        column.hidden = true;
        names.sources.push(FromSource {
            name: "".into(),
            aliased: true,
            schema: None,
            database: None,
            columns: vec![column],
            object_id: 0,
            db_id: 0,
        });
    }
    names
}

fn clauses(
    binder: &mut Statement<'_>,
    scope: &OutputScope<'_>,
    output: &[ast::Output],
    compile_cascade: CompileCascade,
) -> Result<(Option<SelectedColumns>, Option<IntoPlan>), SqlError> {
    let (mut client, mut into) = (None, None);
    for clause in output {
        let (columns, values) = items(binder, clause)?;
        match &clause.into {
            None => {
                let exprs =
                    values.into_iter().map(|t| binder.masked(t.expr, t.ty, t.collation)).collect();
                client = Some(SelectedColumns { columns, exprs });
            }
            Some(target) => {
                into = Some(into_table(binder, scope, target, values, compile_cascade)?)
            }
        }
    }
    Ok((client, into))
}

fn into_table(
    binder: &mut Statement<'_>,
    scope: &OutputScope<'_>,
    into: &ast::OutputInto,
    values: Vec<Typed>,
    compile_cascade: CompileCascade,
) -> Result<IntoPlan, SqlError> {
    let (db, table) = into_target(binder, &into.target)?;
    check_into(&db, &table, &written(&into.target))?;
    let explicit = binder.env.options.identity_insert == Some((db.id(), table.object_id));
    let columns =
        target_columns(&table, &into.columns, explicit, &|name| table_position(&table, name))?;
    if columns.len() != values.len() {
        return Err(wrong_count(values.len(), columns.len(), !into.columns.is_empty(), true));
    }
    let mut given = Vec::with_capacity(values.len());
    for (typed, column) in values.into_iter().zip(&columns) {
        let manner = binder.env.options.manner();
        let value = into_column(Typed { manner, ..typed }, (&db, &table), *column)?;
        given.push(masked_column(binder, value, &table, *column));
    }
    let exprs = row_of(binder, &table, &columns, given)?;
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let change = TableChange::new(&db, &table, Action::Insert, &all);
    let rows = NewRows::compile(binder, &change, &columns, compile_cascade)?;
    let same = |other: &TableDef| other.object_id == table.object_id;
    let waits = same(scope.table) || binder.tables.iter().any(|used| same(&used.table));
    Ok(IntoPlan { rows, exprs, lock: Hints::default().write_lock()?, waits })
}

/// 330: neither a view nor a common table expression.
fn into_target(
    binder: &Binder<'_>,
    target: &ast::Target,
) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
    if is_query(binder, target)? {
        return Err(SqlError::of(msg::OUTPUT_INTO_VIEW, [&written(target)]));
    }
    target_table(binder, target)
}

/// A target as the statement names it.
fn written(target: &ast::Target) -> String {
    match target {
        ast::Target::Name(name) | ast::Target::Function { name, .. } => name.to_string(),
        ast::Target::Variable(name) => name.to_string(),
    }
}

/// 331, 332, 333.
fn check_into(db: &Arc<Db>, table: &TableDef, name: &str) -> Result<(), SqlError> {
    let catalog = db.catalog();
    if !catalog.triggers_of(table.object_id).is_empty() {
        return Err(SqlError::of(msg::OUTPUT_INTO_TRIGGERS, [&name]));
    }
    let referring = catalog.foreign_keys_to(table.object_id);
    if let Some(key) = table.foreign_keys.iter().chain(referring.iter().map(|(_, key)| key)).next()
    {
        return Err(SqlError::of(msg::OUTPUT_INTO_FOREIGN_KEY, [&name, &key.name]));
    }
    match table.checks.iter().find(|check| !check.disabled) {
        None => Ok(()),
        Some(check) => Err(SqlError::of(msg::OUTPUT_INTO_CHECK, [&name, &check.name])),
    }
}

fn items(
    binder: &mut Binder<'_>,
    output: &ast::Output,
) -> Result<(Vec<ColumnInfo>, Vec<Typed>), SqlError> {
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    let mut add = |name: compact_str::CompactString, typed: Typed| {
        let collation = typed.collation;
        columns.push(ColumnInfo { collation, ..ColumnInfo::new(name, typed.ty, typed.nullable) });
        values.push(typed);
    };
    for item in &output.items {
        match item {
            SelectItem::Wildcard { qualifier: Some(qualifier), .. } => {
                let scope = binder.scope()?;
                let Some(source) = scope.sources.iter().find(|s| s.is_named(qualifier)) else {
                    return Err(SqlError::of(msg::UNKNOWN_PREFIX, [&qualifier]));
                };
                for c in source.columns.iter().filter(|c| !c.hidden) {
                    add(c.name.clone(), c.typed());
                }
            }
            SelectItem::Expr { expr, alias } => {
                let typed = binder.expr(expr)?;
                let name = match (alias, &expr.kind) {
                    (Some(alias), _) => alias.value.clone(),
                    (None, ast::ExprKind::Column(c)) => c.name.value.clone(),
                    _ => "".into(),
                };
                add(name, typed);
            }
            _ => return Err(SqlError::of(msg::SYNTAX_NEAR, [&"*"])),
        }
    }
    Ok((columns, values))
}

impl BoundOutput {
    /// Adds the columns of the statement's row that the clause uses.
    pub fn needed(&self, needed: &mut Vec<ColId>) {
        let mut used = Vec::new();
        self.plan.exprs().for_each(|e| e.columns(&mut used));
        for id in used {
            if id != self.action && !self.images.contains(&id) && !needed.contains(&id) {
                needed.push(id);
            }
        }
    }

    /// The plan, where the statement's rows have these columns.
    ///
    /// # Errors
    /// Internal: a column is not among them.
    pub fn planned(self, row: &[ColId]) -> Result<OutputPlan, SqlError> {
        let BoundOutput { images, action, mut plan } = self;
        let cols: Vec<ColId> =
            images.into_iter().chain(row.iter().copied()).chain([action]).collect();
        for e in plan.client.iter_mut().flat_map(|c| &mut c.exprs) {
            slots(e, &cols)?;
        }
        for e in plan.into.iter_mut().flat_map(|i| &mut i.exprs) {
            slots(e, &cols)?;
        }
        Ok(plan)
    }
}

impl OutputPlan {
    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let client = self.client.iter().flat_map(|c| &c.exprs);
        client.chain(self.into.iter().flat_map(|i| &i.exprs))
    }

    /// Columns of the rows for the client; none without such.
    pub fn columns(&self) -> &[ColumnInfo] {
        self.client.as_ref().map_or(&[], |client| &client.columns)
    }
}
