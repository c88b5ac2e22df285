//! INSERT into a partitioned view: each row goes to the table that its value of the partitioning
//! column belongs to.
//! Guarantees: the rows come from one run of their source, and what they are made of is computed
//! once for each, whichever table it is for; a row that belongs to no table ends the statement when
//! all others are in theirs (4457), as what the tables say comes first.

use super::super::change::{KeptChange, TableChange, WrittenRows, finish_all};
use super::super::insert_rows::{
    RowsToInsert as Given, bound_query, loads_file, query_values, values_source,
};
use super::super::loader::Loader;
use super::super::named::{InsertTarget, insert_target};
use super::super::new_row::{NewRows, not_modifiable};
use super::super::values::{column_value, column_value_into};
use super::changing::ChangingMember;
use super::domain::Routes;
use super::members::MemberChange;
use super::refusals;
use bind::nested_change::of_query;
use bind::scope::Scope;
use bind::{Binder, unsupported};
use catalog::Db;
use exec::operators::RowSet;
use exec::operators::context::ExecCtx;
use exec::operators::open::start;
use exec::operators::query::lock_tables;
use exec::operators::rt::Rt;
use expr::Expr;
use logical::hints::{Hints, TableLock};
use logical::tree::BoundQuery;
use plan::Needs;
use plan::nodes::Plan;
use plan::statement::Statement;
use session::state::changes::Action;
use std::sync::Arc;
use storage::TableStore;
use syntax::ast::{self, InsertSource};
use types::{SqlError, Value};

/// A compiled INSERT.
#[derive(Debug)]
pub struct PartitionedInsert {
    members: Vec<ReceivingTable>,
    routes: Arc<Routes>,
    source: MemberRows,
    /// The values of the rows: by list, one for the first table and those of the same types, then
    /// by row of VALUES, or once for all rows of a query, then by column.
    lists: Vec<Vec<Vec<Expr>>>,
    top: Option<Expr>,
}

#[derive(Debug)]
enum MemberRows {
    /// So many rows of VALUES.
    Values(usize),
    Query(Box<Plan>),
}

/// A table that rows go into.
#[derive(Debug)]
struct ReceivingTable {
    rows: NewRows,
    lock: TableLock,
    /// The partitioning column.
    key: usize,
    /// The list that has its values, and for each of its columns the place there.
    list: usize,
    from: Vec<usize>,
}

/// Compiles INSERT; what it needs besides.
///
/// # Errors
/// Those of INSERT; 271, 354, 4431 to 4439, 4448, 4449, 4454.
pub fn compile(
    changing: &ChangingMember<'_>,
    insert: &ast::Insert,
) -> Result<(PartitionedInsert, Needs), SqlError> {
    let mut binder = changing.binder(0)?;
    binder.push_ctes(&insert.ctes)?;
    let targets = targets(changing, &mut binder, insert)?;
    check(changing, insert, &targets)?;
    let query = match &insert.source {
        InsertSource::Query(query) => Some(bound_query(
            &mut binder,
            changing.view.width(),
            query,
            !insert.columns.is_empty(),
        )?),
        _ => None,
    };
    let mut lists = Vec::new();
    let mut members = Vec::with_capacity(targets.len());
    for (at, (target, columns)) in targets.iter().enumerate() {
        if at == 0 || !changing.view.is_like_first(at) {
            lists.push(values(&mut binder, insert, query.as_ref(), (target, &columns[..]))?);
        }
        members.push(receiver(
            changing,
            &mut binder,
            insert,
            at,
            (target, &columns[..]),
            lists.len() - 1,
        )?);
    }
    let top = match &insert.top {
        Some(top) => {
            binder.scopes.push(Scope::default());
            let top = binder.top(top, Vec::new());
            binder.scopes.pop();
            top?.count
        }
        None => None,
    };
    let source = match (query, lists.first()) {
        (Some(BoundQuery { logical, columns, .. }), _) => {
            let wanted: Vec<_> = columns.iter().map(|column| column.id).collect();
            MemberRows::Query(Box::new(plan::physical::plan_query(
                &mut binder,
                logical,
                &wanted,
                None,
            )?))
        }
        (None, list) => MemberRows::Values(list.map_or(0, Vec::len)),
    };
    for used in &binder.tables {
        changing.view.check_not_member(used.db.id(), used.table.object_id)?;
    }
    let needs = plan::physical::needs(&mut binder)?;
    let routes = changing.view.routes.clone();
    Ok((PartitionedInsert { members, routes, source, lists, top }, needs))
}

/// Each table as the target, with the positions of the columns that get values, in the statement's
/// order.
fn targets(
    changing: &ChangingMember<'_>,
    binder: &mut Binder<'_>,
    insert: &ast::Insert,
) -> Result<Vec<(InsertTarget, Vec<usize>)>, SqlError> {
    let mut targets = Vec::with_capacity(changing.view.members().len());
    for at in 0..changing.view.members().len() {
        binder.member = Some(changing.view.standing(at));
        let target = insert_target(binder, &insert.target, &insert.columns)?;
        let columns = target.columns(&insert.columns, false)?;
        targets.push((target, columns));
    }
    // What the rows are made of reads the view as it is.
    binder.member = None;
    Ok(targets)
}

fn check(
    changing: &ChangingMember<'_>,
    insert: &ast::Insert,
    targets: &[(InsertTarget, Vec<usize>)],
) -> Result<(), SqlError> {
    let view = changing.view;
    if loads_file(&insert.source) {
        return Err(refusals::bulk_target(view.name()));
    }
    if let InsertSource::Query(query) = &insert.source
        && of_query(query)?.is_some()
    {
        return Err(refusals::nested_change(&refusals::written(&insert.target)));
    }
    for ((target, columns), member) in targets.iter().zip(view.members()) {
        let set: Vec<usize> = columns.iter().filter_map(|column| member.place(*column)).collect();
        view.check(MemberChange::Insert, &set)?;
        if set.len() < view.width() {
            return Err(refusals::values_missing(view.name()));
        }
        if let Some(column) =
            columns.iter().find(|column| target.table.columns[**column].computed.is_some())
        {
            return Err(not_modifiable(&target.table.columns[*column].name));
        }
    }
    Ok(())
}

/// The values of the rows for a table: by row of VALUES, or once for a query.
fn values(
    binder: &mut Binder<'_>,
    insert: &ast::Insert,
    query: Option<&BoundQuery>,
    (target, columns): (&InsertTarget, &[usize]),
) -> Result<Vec<Vec<Expr>>, SqlError> {
    let of = (&*target.db, &*target.table);
    if let Some(query) = query {
        return Ok(vec![query_values(binder, of, columns, &query.columns, false)?]);
    }
    let InsertSource::Values(rows) = &insert.source else {
        return Err(unsupported("INSERT ... EXEC"));
    };
    match values_source(binder, of, columns, rows, !insert.columns.is_empty())? {
        Given::Values(rows) => Ok(rows),
        Given::Query { .. } => Err(SqlError::internal("VALUES became a query")),
    }
}

/// A table that rows go into; `list` is the newest list of values.
fn receiver(
    changing: &ChangingMember<'_>,
    binder: &mut Statement<'_>,
    insert: &ast::Insert,
    at: usize,
    (target, columns): (&InsertTarget, &[usize]),
    list: usize,
) -> Result<ReceivingTable, SqlError> {
    let (db, table) = (&target.db, &target.table);
    let (first, member) = (&changing.view.members()[0], &changing.view.members()[at]);
    let hints = Hints::parse(table, &insert.hints)?;
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let through = target.through.as_ref().map(|(through, get)| through.change(get));
    let change = TableChange {
        constraints: !hints.ignore_constraints,
        triggers: !hints.ignore_triggers,
        view: through.as_ref(),
        ..TableChange::new(db, table, Action::Insert, &all)
    };
    let rows = NewRows::compile(binder, &change, columns, changing.cascade)?;
    let key = member.column(changing.view.key())?;
    let mut from = all.clone();
    if at > 0 && changing.view.is_like_first(at) {
        for place in 0..changing.view.width() {
            from[member.column(place)?] = first.column(place)?;
        }
        return Ok(ReceivingTable { rows, lock: hints.write_lock()?, key, list: 0, from });
    }
    Ok(ReceivingTable { rows, lock: hints.write_lock()?, key, list, from })
}

/// The rows on their way into their tables.
struct FillingMembers<'p> {
    plan: &'p PartitionedInsert,
    members: Vec<FilledMember<'p>>,
    /// Some row belongs to no table.
    homeless: bool,
}

struct FilledMember<'p> {
    loader: Loader<'p>,
    kept: Option<Box<KeptChange>>,
    values: Vec<Value>,
}

impl PartitionedInsert {
    /// The tables and where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> (impl Iterator<Item = (&Db, &TableStore)>, Option<&Plan>) {
        let tables = self.members.iter().map(|to| (&*to.rows.db, &*to.rows.store));
        let plan = match &self.source {
            MemberRows::Values(_) => None,
            MemberRows::Query(plan) => Some(&**plan),
        };
        (tables, plan)
    }

    /// Whether its rows are its own.
    pub fn reads_nothing(&self) -> bool {
        matches!(self.source, MemberRows::Values(_))
    }

    fn lock(&self, needs: &Needs, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        for ReceivingTable { rows, lock, .. } in &self.members {
            ctx.session.lock_table(&rows.db, &rows.store.table, *lock)?;
            rows.db.check_writable()?;
        }
        lock_tables(needs, ctx)
    }

    /// Runs the statement; returns how many rows it added.
    ///
    /// # Errors
    /// Those of INSERT; 4457.
    pub fn run(&self, needs: &Needs, ctx: &mut ExecCtx<'_>) -> Result<u64, SqlError> {
        self.lock(needs, ctx)?;
        let mut rt = Rt::new(ctx, needs);
        let limit = usize::try_from(self.limit(&mut rt)?).unwrap_or(usize::MAX);
        let mut filling = self.begin();
        match &self.source {
            MemberRows::Values(rows) => {
                for row in 0..limit.min(*rows) {
                    filling.give(row, &[], &mut rt)?;
                }
            }
            MemberRows::Query(plan) => {
                let (mut op, mut batch) = (start(plan, &mut rt), RowSet::default());
                let mut left = limit;
                while left > 0 && op.next(&mut rt, &mut batch)? {
                    for row in 0..batch.len().min(left) {
                        left -= 1;
                        filling.give(0, batch.row(row), &mut rt)?;
                    }
                }
            }
        }
        let (written, homeless) = filling.finish(rt)?;
        self.follow(ctx, written, homeless)
    }

    /// Runs a compiled `VALUES (@1, ...)` once for each row that `next` puts into the variables.
    /// Gives the number of rows.
    ///
    /// # Errors
    /// Those of INSERT and of the rows; 4457.
    pub fn load_rows(
        &self,
        needs: &Needs,
        ctx: &mut ExecCtx<'_>,
        next: &mut dyn FnMut(&mut [Value]) -> Result<bool, SqlError>,
    ) -> Result<u64, SqlError> {
        self.lock(needs, ctx)?;
        let mut rt = Rt::new(ctx, needs);
        let mut filling = self.begin();
        while next(rt.vars_mut())? {
            filling.give(0, &[], &mut rt)?;
        }
        let (written, homeless) = filling.finish(rt)?;
        self.follow(ctx, written, homeless)
    }

    /// How many rows TOP and SET ROWCOUNT allow.
    fn limit(&self, rt: &mut Rt<'_, '_>) -> Result<u64, SqlError> {
        let rowcount = match (rt.session().options.rowcount, &self.source) {
            (0, _) | (_, MemberRows::Values(_)) => u64::MAX,
            (n, _) => n,
        };
        match &self.top {
            None => Ok(rowcount),
            Some(e) => Ok(rowcount.min(e.eval(&[], rt)?.as_i64().map_or(0, |n| n.max(0) as u64))),
        }
    }

    fn begin(&self) -> FillingMembers<'_> {
        let members = self.members.iter().map(|to| FilledMember {
            loader: Loader::new(&to.rows.db, &to.rows.store),
            kept: to.rows.change.begin(),
            values: vec![Value::Null; to.rows.store.table.columns.len()],
        });
        FillingMembers { plan: self, members: members.collect(), homeless: false }
    }

    /// The rows are in their tables: keys, indexed views, and the triggers of tables that got some,
    /// the last one's first.
    fn follow(
        &self,
        ctx: &mut ExecCtx<'_>,
        mut written: Vec<WrittenRows>,
        homeless: bool,
    ) -> Result<u64, SqlError> {
        if homeless {
            return Err(refusals::no_partition());
        }
        let changes = self.members.iter().zip(&mut written);
        let changes = changes.map(|(to, written)| (&to.rows.change, written.kept.take()));
        let with_rows =
            changes.rev().filter(|(_, kept)| kept.as_ref().is_some_and(|kept| kept.count() > 0));
        finish_all(ctx, with_rows.collect())?;
        for (to, written) in self.members.iter().zip(&written) {
            ctx.session.inserted(&to.rows.db, &to.rows.store.table, written.count);
        }
        Ok(written.iter().map(|written| written.count).sum())
    }
}

impl FillingMembers<'_> {
    /// Computes a row and adds it to its table. `at`: which row of VALUES; `row`: that of the
    /// query.
    fn give(&mut self, at: usize, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let plan = self.plan;
        let ReceivingTable { rows, key, .. } = &plan.members[0];
        let exprs = &plan.lists[0][at];
        let belongs = column_value(&exprs[*key], row, rt, &rows.db, &rows.store.table, *key)?;
        let Some(to) = plan.routes.find(&belongs) else {
            self.homeless = true;
            return Ok(());
        };
        let (ReceivingTable { rows, key, list, from, .. }, filled) =
            (&plan.members[to], &mut self.members[to]);
        let exprs = &plan.lists[*list][at];
        for (column, place) in filled.values.iter_mut().enumerate() {
            // Its expression may have another value when it is computed again.
            if column == *key {
                place.clone_from(&belongs);
                continue;
            }
            let of = (&*rows.db, &*rows.store.table, column);
            column_value_into(&exprs[from[column]], row, rt, of, place)?;
        }
        rows.complete(&mut filled.values, false, rt)?;
        rows.load(&filled.values, &mut filled.loader, &mut filled.kept, rt)?;
        Ok(())
    }

    /// All rows were given: they are in their tables after this. Also gives whether some belongs to
    /// none.
    fn finish(self, mut rt: Rt<'_, '_>) -> Result<(Vec<WrittenRows>, bool), SqlError> {
        let mut counts = Vec::with_capacity(self.members.len());
        for filled in self.members {
            counts.push((filled.loader.finish(&mut rt)?, filled.kept));
        }
        let mut state = Some(rt.suspend());
        let written = counts.into_iter().map(|(count, kept)| {
            // The first one holds what all of them are charged with.
            WrittenRows::new(count, kept, state.take().unwrap_or_default())
        });
        Ok((written.collect(), self.homeless))
    }
}
