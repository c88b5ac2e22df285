//! SELECT INTO: creates the table that the query's columns describe and loads it.

use super::loader::Loader;
use super::new_row::{identity_value, note_identity};
use catalog::Db;
use catalog::security::{Class, Permission, Securable};
use catalog::{NewColumn, NewTable};
use exec::operators::RowSet;
use exec::operators::context::ExecCtx;
use exec::operators::rt::Rt;
use logical::tree::OutColumn;
use plan::Needs;
use plan::nodes::Plan;
use plan::physical;
use plan::statement::Statement;
use std::sync::Arc;
use storage::TableStore;
use syntax::ast;
use types::{DataType, Len, SqlError, Value, msg};

/// A compiled SELECT INTO.
#[derive(Debug)]
pub struct SelectIntoPlan {
    db: Arc<Db>,
    table: NewTable,
    plan: Plan,
    /// The column that is IDENTITY(...): the rows of the query come without its values.
    numbered: Option<usize>,
    pub(super) needs: Needs,
}

/// Compiles SELECT INTO.
pub fn compile(binder: &mut Statement<'_>, query: &ast::Query) -> Result<SelectIntoPlan, SqlError> {
    let Some(into) = &query.body.first_select().into else {
        return Err(SqlError::internal("a SELECT without INTO"));
    };
    let name = &into.table;
    let db = match &name.database {
        _ if name.name.value.starts_with('#') => {
            let tempdb = binder.env.names.find_db("tempdb");
            tempdb.ok_or_else(|| SqlError::internal("there is no tempdb"))?
        }
        None => binder.db.clone(),
        Some(db) => binder
            .env
            .names
            .find_db(&db.value)
            .ok_or_else(|| catalog::errors::invalid_object(&name.to_string()))?,
    };
    if !name.name.value.starts_with('#') {
        binder.rights.need(&db, Securable::DATABASE, Permission::CreateTable);
        let schema = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
        if let Some(id) = db.catalog().schemas.get(&catalog::fold_name(schema)) {
            binder.rights.need(&db, Securable::new(Class::Schema, *id), Permission::Alter);
        }
    }
    bind::document::check_absent(query, "SELECT INTO")?;
    binder.numbered = Some(Vec::new());
    let bound = binder.query(query);
    let numbered = binder.numbered.take().unwrap_or_default();
    let mut bound = bound?;
    if !bound.assignments.is_empty() {
        return Err(SqlError::of(msg::ASSIGNING_SELECT_RETURNS_ROWS, []));
    }
    binder.mask_result(&mut bound);
    if !keeps_identity(query.body.first_select()) {
        bound.columns.iter_mut().for_each(|column| column.identity = None);
    }
    let mut table = NewTable {
        schema: name.schema.as_ref().map_or_else(|| "dbo".into(), |s| s.value.clone()),
        name: name.name.value.clone(),
        filegroup: into.filegroup.as_ref().map_or_else(Default::default, |f| f.value.clone()),
        ..NewTable::default()
    };
    for (at, column) in bound.columns.iter().enumerate() {
        table.columns.push(new_column(column, at, &table)?);
    }
    let number = numbered.first().map(|(at, _)| *at);
    if let Some((at, step)) = numbered.first().copied() {
        if numbered.len() > 1 {
            return Err(SqlError::of(msg::SELECT_INTO_SEVERAL_IDENTITIES, [&table.name]));
        }
        if let Some(inherited) = table.columns.iter().find(|c| c.identity.is_some()) {
            return Err(SqlError::of(msg::IDENTITY_INHERITED, [&table.name, &inherited.name]));
        }
        table.columns[at].identity = Some(step);
    }
    // Only one identity column can be inherited; with several the new table has none.
    if table.columns.iter().filter(|c| c.identity.is_some()).count() > 1 {
        table.columns.iter_mut().for_each(|c| c.identity = None);
    }
    let wanted: Vec<_> = bound.columns.iter().map(|c| c.id).collect();
    let plan = physical::plan_query(binder, bound.logical, &wanted, None)?;
    Ok(SelectIntoPlan { db, table, plan, numbered: number, needs: plan::physical::needs(binder)? })
}

/// Whether a column that is the identity column of its table is one in the new table too: where
/// rows may come several times, or one for many, it is not.
fn keeps_identity(select: &ast::Select) -> bool {
    use ast::TableRefKind::{Apply, Join};
    let alone = |source: &ast::TableRef| !matches!(source.kind, Join { .. } | Apply { .. });
    select.from.len() == 1 && select.from.iter().all(alone) && select.group_by.is_none()
}

fn new_column(column: &OutColumn, at: usize, table: &NewTable) -> Result<NewColumn, SqlError> {
    if column.name.is_empty() {
        return Err(SqlError::of(msg::EMPTY_NAME, []));
    }
    let before = &table.columns;
    if before.iter().any(|c| c.name.eq_ignore_ascii_case(&column.name)) {
        return Err(SqlError::of(msg::DUPLICATE_COLUMN, [&column.name, &table.name]));
    }
    debug_assert_eq!(at, before.len());
    let ty = match column.ty {
        DataType::VarChar(Len::N(0)) => DataType::VarChar(Len::N(1)),
        ty => ty,
    };
    let mut new = NewColumn::new(column.name.clone(), ty, column.nullable || column.untyped);
    new.collation = column.collation;
    new.identity = column.identity;
    Ok(new)
}

impl SelectIntoPlan {
    /// The new table's name and the query that fills it, for SHOWPLAN.
    pub fn shown(&self) -> (&str, &Plan) {
        (&self.table.name, &self.plan)
    }

    /// Creates the table and loads it.
    pub fn run(&self, ctx: &mut ExecCtx<'_>) -> Result<u64, SqlError> {
        exec::operators::query::lock_tables(&self.needs, ctx)?;
        let new = self.table.clone();
        let above = ctx.session.host().above();
        let table = above.create_table(ctx.session, &self.db, new)?;
        let store = TableStore::open(&self.db, &table)?;
        let mut rt = Rt::new(ctx, &self.needs);
        let mut loader = Loader::new(&self.db, &store);
        let mut op = exec::operators::open::start(&self.plan, &mut rt);
        let mut batch = RowSet::default();
        let (mut last, mut given): (Option<i64>, Option<i64>) = (None, None);
        let identity = table
            .columns
            .iter()
            .position(|c| c.identity.is_some())
            .filter(|_| self.numbered.is_none());
        let mut numbered = Vec::new();
        while op.next(&mut rt, &mut batch)? {
            for i in 0..batch.len() {
                let row = batch.row(i);
                if let Some(given) = identity.and_then(|at| whole(&row[at])) {
                    last = Some(last.map_or(given, |l| l.max(given)));
                }
                if let Some(at) = self.numbered {
                    numbered.clear();
                    numbered.extend_from_slice(row);
                    let next = catalog::identity::next(&self.db, &table, 1)?;
                    numbered[at] = identity_value(next, table.columns[at].ty)?;
                    given = Some(next);
                    loader.add(&mut rt, &numbered)?;
                    continue;
                }
                loader.add(&mut rt, row)?;
            }
        }
        let count = loader.finish(&mut rt)?;
        if let Some(last) = last {
            catalog::identity::used(&self.db, &table, last)?;
        }
        if let Some(given) = given {
            note_identity(&mut rt, given);
        }
        table.state.inserted(count);
        Ok(count)
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Decimal(d) => i64::try_from(d.truncated()).ok(),
        other => other.as_i64(),
    }
}
