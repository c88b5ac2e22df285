//! CREATE INDEX on a view: which view an index can be made on, and the first one, which makes the
//! view keep its rows. Guarantees: a view that keeps its rows is bound to its tables, each row of
//! it follows from one row of each of them, groups have only sums of what is not NULL and a count,
//! and nothing in it depends on more than the rows.

use std::sync::Arc;

use super::{StmtCtx, database_of, resolve_table};
use bind::computed::Nature;
use bind::resolve::NamedSource;
use catalog::{Db, ModuleDef, NewColumn, NewIndex, TableDef, errors};
use ddl::definition_binder::with_binder;
use ddl::function_nature::FunctionNature;
use ddl::system_functions::SystemFunctions;
use ddl::{index_options, indexed_views, table_def};
use dml::change::view_rows::{GroupedColumn, grouped, select_of};
use expr::ColId;
use expr::aggregate::AggKind;
use logical::tree::{BoundQuery, Logical};
use session::state::SessionCore;
use syntax::ast::{self, CreateIndex, GroupItem, QueryBody, SelectItem, TableRefKind};
use types::{DataType, SqlError, msg};

fn shown(view: &ModuleDef) -> String {
    format!("{}.{}", view.schema, view.name)
}

/// The table of a name whose indexes are meant: one, or that of an indexed view; or the view, which
/// keeps no rows.
pub enum IndexedObject {
    Table(Arc<Db>, Arc<TableDef>),
    View(Arc<Db>, Arc<ModuleDef>),
}

/// What a name means whose indexes are meant.
///
/// # Errors
/// 208.
pub(crate) fn resolve_indexed(
    core: &SessionCore,
    name: &ast::ObjectName,
) -> Result<IndexedObject, SqlError> {
    let missing = match resolve_table(core, name) {
        Ok((db, table)) => return Ok(IndexedObject::Table(db, table)),
        Err(e) => e,
    };
    if missing.number != 208 {
        return Err(missing);
    }
    let db = database_of(core, name)?;
    let catalog = db.catalog();
    let schema = name.schema.as_ref().map_or("", |schema| schema.value.as_str());
    let view =
        catalog.find_module(schema, &name.name.value).filter(|module| module.view().is_some());
    let Some(view) = view.cloned() else { return Err(missing) };
    match catalog.rows_of_view(view.object_id).cloned() {
        Some(rows) => Ok(IndexedObject::Table(db, rows)),
        None => Ok(IndexedObject::View(db, view)),
    }
}

impl StmtCtx<'_> {
    /// The first index of a view.
    ///
    /// # Errors
    /// 1934, 1935, 1939, 1940, 1941, 1990; those of the view; those of its rows.
    pub(super) fn index_view(
        &mut self,
        stmt: &CreateIndex,
        db: &Arc<Db>,
        view: &Arc<ModuleDef>,
    ) -> Result<(), SqlError> {
        let name = shown(view);
        if !view.has_option("SCHEMABINDING") {
            return Err(SqlError::of(msg::INDEXED_VIEW_NOT_SCHEMA_BOUND, [&name]));
        }
        if !stmt.clustered {
            return Err(SqlError::of(msg::INDEXED_VIEW_WITHOUT_CLUSTERED, [&name]));
        }
        if !stmt.unique {
            return Err(SqlError::of(msg::INDEXED_VIEW_NONUNIQUE, [&name]));
        }
        self.core.options.check_for_filters("CREATE INDEX")?;
        let settings = [
            (view.settings.ansi_nulls, "ANSI_NULLS"),
            (view.settings.quoted_identifier, "QUOTED_IDENTIFIER"),
        ];
        let off: Vec<&str> = settings.iter().filter(|(on, _)| !on).map(|(_, name)| *name).collect();
        if !off.is_empty() {
            return Err(SqlError::of(
                msg::CREATED_WITH_WRONG_SET_OPTIONS,
                [&view.name, &off.join(", ")],
            ));
        }
        let (fill_factor, options) = index_options::of_new(&stmt.options, true, None)?;
        if options.ignore_dup_key {
            return Err(SqlError::of(msg::INDEXED_VIEW_IGNORE_DUP_KEY, []));
        }
        let columns = check(SystemFunctions::of(self.core), db, view, &stmt.name.value)?;
        let key = table_def::key_columns(&columns, &stmt.columns, &view.name)?;
        check_key(view, &stmt.name.value, &columns, &key)?;
        let index = NewIndex {
            name: Some(stmt.name.value.clone()),
            unique: true,
            clustered: true,
            key,
            included: Vec::new(),
            constraint: None,
            fill_factor,
            options,
            filter: None,
        };
        indexed_views::create(self.core, db, view, columns, index)
    }
}

/// 8661, 1901: the columns of the key.
fn check_key(
    view: &ModuleDef,
    index: &str,
    columns: &[NewColumn],
    key: &[(usize, bool)],
) -> Result<(), SqlError> {
    let kept = select_of(view).and_then(grouped);
    for (at, _) in key {
        if kept.as_ref().is_some_and(|kept| kept.get(*at) != Some(&GroupedColumn::Value)) {
            return Err(SqlError::of(msg::INDEXED_VIEW_KEY_NOT_GROUPED, [&index, &shown(view)]));
        }
        if matches!(columns[*at].ty, DataType::Float | DataType::Real) {
            return Err(SqlError::of(
                msg::INDEXED_VIEW_KEY_IMPRECISE,
                [&index, &shown(view), &columns[*at].name],
            ));
        }
    }
    Ok(())
}

/// Whether a view can keep its rows; gives their columns.
fn check(
    functions: SystemFunctions,
    db: &Arc<Db>,
    view: &Arc<ModuleDef>,
    index: &str,
) -> Result<Vec<NewColumn>, SqlError> {
    let create = view.view().ok_or_else(|| SqlError::internal("an index on no view"))?;
    let query = &create.query;
    if let Some(cte) = query.ctes.first() {
        return Err(SqlError::of(msg::INDEXED_VIEW_CTE, [&shown(view), &cte.name]));
    }
    let Some(select) = select_of(view) else {
        return Err(SqlError::of(msg::INDEXED_VIEW_SET_OPERATION, [&shown(view)]));
    };
    check_clauses(view, query, select)?;
    let mut seen = Vec::new();
    check_sources(functions, db, view, &select.from, &mut seen)?;
    with_binder(functions, db, |binder| {
        binder.may_inline = false;
        let (logical, columns) = binder.view_query(db, view)?;
        if !binder.subqueries.is_empty() {
            return Err(SqlError::of(msg::INDEXED_VIEW_SUBQUERY, [&shown(view)]));
        }
        check_nature(functions, view, &logical)?;
        let outputs: Vec<ColId> = columns.iter().map(|c| c.id).collect();
        check_groups(view, index, select, &logical, &outputs)?;
        if let Some(kept) = grouped(select) {
            let summed = binder.query(&without_groups(query, select, &kept))?;
            check_sums(view, index, &kept, &summed)?;
        }
        let new = columns.iter().map(|c| NewColumn {
            collation: c.collation,
            ..NewColumn::new(c.name.clone(), c.ty, c.nullable)
        });
        let new: Vec<NewColumn> = new.collect();
        if new.iter().any(|column| column.ty.is_lob()) {
            return Err(SqlError::of(msg::INDEXED_VIEW_LARGE_COLUMNS, [&shown(view)]));
        }
        Ok(new)
    })
}

/// 10100, 10101, 10118, 10119, 10121.
fn check_clauses(
    view: &ModuleDef,
    query: &ast::Query,
    select: &ast::Select,
) -> Result<(), SqlError> {
    let sets = |group: &ast::GroupBy| {
        group.with_rollup
            || group.with_cube
            || group.items.iter().any(|item| !matches!(item, GroupItem::Expr(_)))
    };
    let group = select.group_by.as_ref();
    let refused = [
        (select.distinct, msg::INDEXED_VIEW_DISTINCT),
        (select.top.is_some() || query.offset.is_some(), msg::INDEXED_VIEW_TOP),
        (group.is_some_and(|group| group.all), msg::INDEXED_VIEW_GROUP_BY_ALL),
        (group.is_some_and(sets), msg::INDEXED_VIEW_GROUPING_SETS),
        (select.having.is_some(), msg::INDEXED_VIEW_HAVING),
    ];
    match refused.into_iter().find(|(there, _)| *there) {
        Some((_, message)) => Err(SqlError::of(message, [&shown(view)])),
        None => Ok(()),
    }
}

/// 1937, 1947, 10102, 10105, 10107, 10109 to 10115, 10129, 10140, 10142, 10147, 10148: what the
/// view reads.
fn check_sources(
    functions: SystemFunctions,
    db: &Arc<Db>,
    view: &ModuleDef,
    from: &[ast::TableRef],
    seen: &mut Vec<i32>,
) -> Result<(), SqlError> {
    if from.is_empty() {
        return Err(errors::not_supported("index on a view that reads no table"));
    }
    let name = shown(view);
    for source in from {
        match &source.kind {
            TableRefKind::Named { name: table, sample, hints, system_time, .. } => {
                if system_time.is_some() {
                    return Err(SqlError::of(msg::INDEXED_VIEW_SYSTEM_TIME, [&name]));
                }
                if sample.is_some() {
                    return Err(SqlError::of(msg::INDEXED_VIEW_TABLESAMPLE, [&name]));
                }
                if !hints.is_empty() {
                    return Err(SqlError::of(msg::INDEXED_VIEW_TABLE_HINT, [&name]));
                }
                let found = with_binder(functions, db, |binder| binder.resolve(table))?;
                let table = match found {
                    NamedSource::Table(_, table) => table,
                    NamedSource::Module(_, other) => {
                        return Err(SqlError::of(
                            msg::INDEXED_VIEW_OVER_VIEW,
                            [&name, &shown(&other)],
                        ));
                    }
                    NamedSource::View(..) => {
                        return Err(SqlError::of(msg::INDEXED_VIEW_ROWSET, [&name]));
                    }
                };
                if seen.contains(&table.object_id) {
                    return Err(SqlError::of(
                        msg::INDEXED_VIEW_SELF_JOIN,
                        [&name, &table.full_name()],
                    ));
                }
                seen.push(table.object_id);
            }
            TableRefKind::Join { kind, hint, left, right, .. } => {
                if matches!(kind, ast::JoinKind::Left | ast::JoinKind::Right | ast::JoinKind::Full)
                {
                    return Err(SqlError::of(msg::INDEXED_VIEW_OUTER_JOIN, [&name]));
                }
                if hint.is_some() {
                    return Err(SqlError::of(msg::INDEXED_VIEW_JOIN_HINT, [&name]));
                }
                check_sources(functions, db, view, std::slice::from_ref(left), seen)?;
                check_sources(functions, db, view, std::slice::from_ref(right), seen)?;
            }
            other => return Err(refused_source(view, other)),
        }
    }
    Ok(())
}

fn refused_source(view: &ModuleDef, kind: &TableRefKind) -> SqlError {
    let view = shown(view);
    match kind {
        TableRefKind::Derived { alias, .. } | TableRefKind::Values { alias, .. } => {
            SqlError::of(msg::INDEXED_VIEW_DERIVED_TABLE, [&view, alias])
        }
        TableRefKind::Apply { outer: true, .. } => {
            SqlError::of(msg::INDEXED_VIEW_OUTER_APPLY, [&view])
        }
        TableRefKind::Apply { .. } => SqlError::of(msg::INDEXED_VIEW_APPLY, [&view]),
        TableRefKind::Pivot { .. } => SqlError::of(msg::INDEXED_VIEW_PIVOT, [&view]),
        TableRefKind::Unpivot { .. } => SqlError::of(msg::INDEXED_VIEW_UNPIVOT, [&view]),
        TableRefKind::Function { name, .. } if name.name.is("openjson") => {
            SqlError::of(msg::INDEXED_VIEW_OPENJSON, [&view])
        }
        TableRefKind::Function { name, .. } if name.name.is("openxml") => {
            SqlError::of(msg::INDEXED_VIEW_OPENXML, [&view])
        }
        TableRefKind::Function { name, .. } => {
            SqlError::of(msg::INDEXED_VIEW_TABLE_FUNCTION, [&view, name])
        }
        _ => errors::not_supported("index on a view with this source"),
    }
}

/// 1949, 1956, 10143, 10150: what depends on more than the rows.
fn check_nature(
    functions: SystemFunctions,
    view: &ModuleDef,
    logical: &Logical,
) -> Result<(), SqlError> {
    let mut found = Nature::default();
    let input = match logical {
        Logical::Project { input, exprs } => {
            exprs.iter().for_each(|(_, e)| found.expr(e));
            vec![&**input]
        }
        Logical::Filter { input, preds } => {
            preds.iter().for_each(|pred| found.pred(pred));
            vec![&**input]
        }
        Logical::Join { left, right, on, .. } => {
            on.iter().for_each(|pred| found.pred(pred));
            vec![&**left, &**right]
        }
        Logical::Aggregate { input, keys, aggregates, .. } => {
            keys.iter().for_each(|key| found.expr(&key.expr));
            aggregates.iter().filter_map(|a| a.arg.as_ref()).for_each(|e| found.expr(e));
            vec![&**input]
        }
        Logical::Window { .. } => {
            return Err(SqlError::of(msg::INDEXED_VIEW_WINDOW, [&shown(view)]));
        }
        _ => Vec::new(),
    };
    if let Some((db, function)) = found.called.first() {
        let name = shown(view);
        return Err(if FunctionNature::of(functions, db, function).deterministic {
            SqlError::of(msg::INDEXED_VIEW_INLINED_FUNCTION, [&name])
        } else {
            SqlError::of(
                msg::INDEXED_VIEW_NONDETERMINISTIC_FUNCTION,
                [&name, &function.full_name()],
            )
        });
    }
    if let Some(function) = &found.varies {
        return Err(SqlError::of(msg::INDEXED_VIEW_NONDETERMINISTIC, [&shown(view), &function]));
    }
    input.into_iter().try_for_each(|input| check_nature(functions, view, input))
}

/// 8660, 8668, 10125, 10126, 10136, 10138: groups, and what the view says of them.
fn check_groups(
    view: &ModuleDef,
    index: &str,
    select: &ast::Select,
    logical: &Logical,
    outputs: &[ColId],
) -> Result<(), SqlError> {
    let mut node = logical;
    let mut computed: Vec<ColId> = Vec::new();
    let (keys, aggregates) = loop {
        node = match node {
            Logical::Aggregate { keys, aggregates, .. } => break (keys, aggregates),
            Logical::Project { input, exprs } => {
                computed.extend(exprs.iter().map(|(id, _)| *id));
                input
            }
            Logical::Filter { input, .. } => input,
            _ => return Ok(()),
        };
    };
    for aggregate in aggregates {
        let word = aggregate_word(aggregate.kind);
        if aggregate.distinct {
            return Err(SqlError::of(msg::INDEXED_VIEW_DISTINCT_AGGREGATE, [&shown(view), &word]));
        }
        match aggregate.kind {
            AggKind::Sum => {}
            AggKind::CountBig if aggregate.arg.is_none() => {}
            AggKind::Count => {
                return Err(SqlError::of(msg::INDEXED_VIEW_COUNT, [&shown(view)]));
            }
            _ => {
                return Err(SqlError::of(msg::INDEXED_VIEW_AGGREGATE, [&shown(view), &word]));
            }
        }
    }
    if select.group_by.is_none() {
        return Err(errors::not_supported("index on a view that aggregates without GROUP BY"));
    }
    if outputs.iter().any(|id| computed.contains(id)) {
        return Err(SqlError::of(
            msg::INDEXED_VIEW_EXPRESSION_ON_AGGREGATE,
            [&index, &shown(view)],
        ));
    }
    if !grouped(select).is_some_and(|kept| kept.contains(&GroupedColumn::Count)) {
        return Err(SqlError::of(msg::INDEXED_VIEW_WITHOUT_COUNT_BIG, [&shown(view)]));
    }
    if keys.iter().any(|key| !outputs.contains(&key.output)) {
        return Err(SqlError::of(msg::INDEXED_VIEW_GROUP_BY_NOT_SELECTED, [&index, &shown(view)]));
    }
    Ok(())
}

fn aggregate_word(kind: AggKind) -> String {
    match kind {
        AggKind::CountBig => "COUNT_BIG".into(),
        other => format!("{other:?}").to_uppercase(),
    }
}

/// The view's query over its single rows, with what is summed in the place of its sums.
fn without_groups(query: &ast::Query, select: &ast::Select, kept: &[GroupedColumn]) -> ast::Query {
    let mut single = select.clone();
    single.group_by = None;
    for (item, kept) in single.items.iter_mut().zip(kept) {
        let SelectItem::Expr { expr, .. } = item else { continue };
        match (&expr.kind, kept) {
            (ast::ExprKind::Function(call), GroupedColumn::Sum) => {
                if let Some(arg) = call.args.first().cloned() {
                    *expr = arg;
                }
            }
            (_, GroupedColumn::Count) => {
                expr.kind = ast::ExprKind::Literal(ast::Literal::Integer(1))
            }
            _ => {}
        }
    }
    ast::Query { body: QueryBody::Select(Box::new(single)), ..query.clone() }
}

/// 8662.
fn check_sums(
    view: &ModuleDef,
    index: &str,
    kept: &[GroupedColumn],
    summed: &BoundQuery,
) -> Result<(), SqlError> {
    let unknown = |(kept, column): (&GroupedColumn, &logical::tree::OutColumn)| {
        *kept == GroupedColumn::Sum && column.nullable
    };
    if !kept.iter().zip(&summed.columns).any(unknown) {
        return Ok(());
    }
    Err(SqlError::of(msg::INDEXED_VIEW_SUM_NULLABLE, [&index, &shown(view)]))
}
