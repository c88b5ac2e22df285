//! CREATE INDEX on a view: which view an index can be made on, and the first one, which makes the view keep its rows.
//! Guarantees: a view that keeps its rows is bound to its tables, each row of it follows from one row of each of them, groups have
//! only sums of what is not NULL and a count, and nothing in it depends on more than the rows.

use std::sync::Arc;

use super::{StmtCtx, database_of, resolve_table};
use catalog::{Db, ModuleDef, NewColumn, NewIndex, TableDef, errors};
use ddl::computed_def::with_binder;
use ddl::function_nature::FunctionNature;
use ddl::system_functions::SystemFunctions;
use ddl::{index_options, indexed_views, table_def};
use exec::dml::change::view_rows::{Kept, grouped, select_of};
use exec::state::SessionCore;
use expr::ColId;
use expr::aggregate::AggKind;
use plan::bind::computed::Nature;
use plan::bind::resolve::Named;
use plan::logical::{BoundQuery, Logical};
use syntax::ast::{self, CreateIndex, GroupItem, QueryBody, SelectItem, TableRefKind};
use types::{DataType, SqlError};

fn error(number: i32, text: String) -> SqlError {
    SqlError::new(number, 16, 1, text)
}

/// `Cannot create index on view "v" because it ...`: `what` is the rest of the text.
fn because(view: &ModuleDef, number: i32, what: &str) -> SqlError {
    error(number, format!("Cannot create index on view \"{}\" because it {what}", shown(view)))
}

fn shown(view: &ModuleDef) -> String {
    format!("{}.{}", view.schema, view.name)
}

/// The table of a name whose indexes are meant: one, or that of an indexed view; or the view, which keeps no rows.
pub enum Indexed {
    Table(Arc<Db>, Arc<TableDef>),
    View(Arc<Db>, Arc<ModuleDef>),
}

/// What a name means whose indexes are meant.
///
/// # Errors
/// 208.
pub fn resolve_indexed(core: &SessionCore, name: &ast::ObjectName) -> Result<Indexed, SqlError> {
    let missing = match resolve_table(core, name) {
        Ok((db, table)) => return Ok(Indexed::Table(db, table)),
        Err(e) => e,
    };
    if missing.number != 208 {
        return Err(missing);
    }
    let db = database_of(core, name)?;
    let catalog = db.catalog();
    let schema = name.schema.as_ref().map_or("", |schema| schema.value.as_str());
    let view = catalog.find_module(schema, &name.name.value).filter(|module| module.view().is_some());
    let Some(view) = view.cloned() else { return Err(missing) };
    match catalog.rows_of_view(view.object_id).cloned() {
        Some(rows) => Ok(Indexed::Table(db, rows)),
        None => Ok(Indexed::View(db, view)),
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
            let text = format!("Cannot create index on view '{name}' because the view is not schema bound.");
            return Err(error(1939, text));
        }
        if !stmt.clustered {
            let text =
                format!("Cannot create index on view '{name}'. It does not have a unique clustered index.");
            return Err(error(1940, text));
        }
        if !stmt.unique {
            let text = format!(
                "Cannot create nonunique clustered index on view '{name}' because only unique clustered indexes are allowed. \
                 Consider creating unique clustered index instead."
            );
            return Err(error(1941, text));
        }
        self.core.options.check_for_filters("CREATE INDEX")?;
        let settings = [
            (view.settings.ansi_nulls, "ANSI_NULLS"),
            (view.settings.quoted_identifier, "QUOTED_IDENTIFIER"),
        ];
        let off: Vec<&str> = settings.iter().filter(|(on, _)| !on).map(|(_, name)| *name).collect();
        if !off.is_empty() {
            let text = format!(
                "Cannot create index. Object '{}' was created with the following SET options off: '{}'.",
                view.name,
                off.join(", ")
            );
            return Err(error(1935, text));
        }
        let (fill_factor, options) = index_options::of_new(&stmt.options, true, None)?;
        if options.ignore_dup_key {
            let text = "Cannot define an index on a view with ignore_dup_key index option. Remove ignore_dup_key option and \
                        verify that view definition does not allow duplicates, or do not index view.";
            return Err(error(1990, text.into()));
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
        if kept.as_ref().is_some_and(|kept| kept.get(*at) != Some(&Kept::Value)) {
            let text = format!(
                "Cannot create the clustered index \"{index}\" on view \"{}\" because the index key includes columns that are not \
                 in the GROUP BY clause. Consider eliminating columns that are not in the GROUP BY clause from the index key.",
                shown(view)
            );
            return Err(error(8661, text));
        }
        if matches!(columns[*at].ty, DataType::Float | DataType::Real) {
            let text = format!(
                "Cannot create index or statistics '{index}' on view '{}' because key column '{}' is imprecise, computed and not \
                 persisted. Consider removing reference to column in view index or statistics key or changing column to be \
                 precise. If column is computed in base table consider marking it PERSISTED there.",
                shown(view),
                columns[*at].name
            );
            return Err(error(1901, text));
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
        let text = format!(
            "references common table expression \"{}\". Views referencing common table expressions cannot be indexed. Consider \
             not indexing the view, or removing the common table expression from the view definition.",
            cte.name
        );
        return Err(because(view, 10137, &text));
    }
    let Some(select) = select_of(view) else {
        let text = "contains one or more UNION, INTERSECT, or EXCEPT operators. Consider creating a separate indexed view for \
                    each query that is an input to the UNION, INTERSECT, or EXCEPT operators of the original view.";
        return Err(because(view, 10116, text));
    };
    check_clauses(view, query, select)?;
    let mut seen = Vec::new();
    check_sources(functions, db, view, &select.from, &mut seen)?;
    with_binder(functions, db, |binder| {
        binder.may_inline = false;
        let (logical, columns) = binder.view_query(db, view)?;
        if !binder.subqueries.is_empty() {
            let text = "contains one or more subqueries. Consider changing the view to use only joins instead of subqueries. \
                        Alternatively, consider not indexing the view.";
            return Err(because(view, 10127, text));
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
            let text = format!(
                "Cannot create index on view '{}'. It contains text, ntext, image, FILESTREAM or xml columns.",
                shown(view)
            );
            return Err(error(1942, text));
        }
        Ok(new)
    })
}

/// 10100, 10101, 10118, 10119, 10121.
fn check_clauses(view: &ModuleDef, query: &ast::Query, select: &ast::Select) -> Result<(), SqlError> {
    let sets = |group: &ast::GroupBy| {
        group.with_rollup
            || group.with_cube
            || group.items.iter().any(|item| !matches!(item, GroupItem::Expr(_)))
    };
    let group = select.group_by.as_ref();
    let refused = [
        (
            select.distinct,
            10100,
            "contains the DISTINCT keyword. Consider removing DISTINCT from the view or not indexing the view. Alternatively, \
             consider replacing DISTINCT with GROUP BY or COUNT_BIG(*) to simulate DISTINCT on grouping columns.",
        ),
        (
            select.top.is_some() || query.offset.is_some(),
            10101,
            "contains the TOP or OFFSET keyword. Consider removing the TOP or OFFSET or not indexing the view.",
        ),
        (
            group.is_some_and(|group| group.all),
            10118,
            "contains a GROUP BY ALL. Consider using a GROUP BY instead.",
        ),
        (
            group.is_some_and(sets),
            10119,
            "contains a CUBE, ROLLUP, or GROUPING SETS operator. Consider not indexing this view.",
        ),
        (select.having.is_some(), 10121, "contains a HAVING clause. Consider removing the HAVING clause."),
    ];
    match refused.iter().find(|(there, ..)| *there) {
        Some((_, number, what)) => Err(because(view, *number, what)),
        None => Ok(()),
    }
}

/// 1937, 1947, 10102, 10105, 10107, 10109 to 10115, 10129, 10140, 10142, 10147, 10148: what the view reads.
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
    let quoted = |number, what: &str| {
        Err(error(number, format!("Cannot create index on the view '{name}' because it {what}")))
    };
    for source in from {
        match &source.kind {
            TableRefKind::Named { name: table, sample, hints, system_time, .. } => {
                if system_time.is_some() {
                    return quoted(10147, "uses temporal FOR SYSTEM_TIME clause.");
                }
                if sample.is_some() {
                    let what = "contains the TABLESAMPLE clause. Consider removing TABLESAMPLE or not indexing the view.";
                    return Err(because(view, 10102, what));
                }
                if !hints.is_empty() {
                    let text = format!(
                        "Cannot create index on view '{name}' because the view contains a table hint. Consider removing the hint."
                    );
                    return Err(error(10140, text));
                }
                let found = with_binder(functions, db, |binder| binder.resolve(table))?;
                let table = match found {
                    Named::Table(_, table) => table,
                    Named::Module(_, other) => {
                        let text = format!(
                            "Cannot create index on view '{name}' because it references another view '{}'. Consider expanding \
                             referenced view's definition by hand in indexed view definition.",
                            shown(&other)
                        );
                        return Err(error(1937, text));
                    }
                    Named::View(..) => {
                        let what =
                            "references an internal system rowset provider. Consider not indexing this view.";
                        return Err(because(view, 10106, what));
                    }
                };
                if seen.contains(&table.object_id) {
                    let text = format!(
                        "Cannot create index on view \"{name}\". The view contains a self join on \"{}\".",
                        table.full_name()
                    );
                    return Err(error(1947, text));
                }
                seen.push(table.object_id);
            }
            TableRefKind::Join { kind, hint, left, right, .. } => {
                if matches!(kind, ast::JoinKind::Left | ast::JoinKind::Right | ast::JoinKind::Full) {
                    let what = "uses a LEFT, RIGHT, or FULL OUTER join, and no OUTER joins are allowed in indexed views. \
                                Consider using an INNER join instead.";
                    return Err(because(view, 10113, what));
                }
                if hint.is_some() {
                    let text = format!(
                        "Cannot create index on view '{name}' because it contains an INNER join that specifies a join hint. \
                         Consider removing the join hint."
                    );
                    return Err(error(10112, text));
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
    let (number, what) = match kind {
        TableRefKind::Derived { alias, .. } | TableRefKind::Values { alias, .. } => (
            10109,
            format!(
                "references derived table \"{alias}\" (defined by SELECT statement in FROM clause). Consider removing the \
                 reference to the derived table or not indexing the view."
            ),
        ),
        TableRefKind::Apply { outer: true, .. } => (
            10110,
            "contains an OUTER APPLY. Consider not indexing the view, or removing OUTER APPLY.".into(),
        ),
        TableRefKind::Apply { .. } => {
            (10142, "contains an APPLY. Consider not indexing the view, or removing APPLY.".into())
        }
        TableRefKind::Pivot { .. } => {
            (10114, "uses the PIVOT operator. Consider not indexing this view.".into())
        }
        TableRefKind::Unpivot { .. } => {
            (10115, "uses the UNPIVOT operator. Consider not indexing this view.".into())
        }
        TableRefKind::Function { name, .. } if name.name.is("openjson") => (10148, "uses OPENJSON.".into()),
        TableRefKind::Function { name, .. } if name.name.is("openxml") => (
            10105,
            "uses the OPENXML rowset provider. Consider removing OPENXML or not indexing the view.".into(),
        ),
        TableRefKind::Function { name, .. } => (
            10129,
            format!(
                "references the inline or multistatement table-valued function \"{name}\". Consider expanding the function \
                 definition by hand in the view definition, or not indexing the view."
            ),
        ),
        _ => return errors::not_supported("index on a view with this source"),
    };
    because(view, number, &what)
}

/// 1949, 1956, 10143, 10150: what depends on more than the rows.
fn check_nature(functions: SystemFunctions, view: &ModuleDef, logical: &Logical) -> Result<(), SqlError> {
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
            let what = "contains a ranking or aggregate window function. Remove the function from the view definition or, \
                        alternatively, do not index the view.";
            return Err(because(view, 10143, what));
        }
        _ => Vec::new(),
    };
    if let Some((db, function)) = found.called.first() {
        let name = shown(view);
        return Err(if FunctionNature::of(functions, db, function).deterministic {
            let what = "references a scalar UDF that is inlineable.";
            error(10150, format!("Cannot create index on the view '{name}' because it {what}"))
        } else {
            let text = format!(
                "Cannot create index on the '{name}' view because it uses the nondeterministic user-defined function \
                 '{}'. Remove the reference to the function, or make it deterministic.",
                function.full_name()
            );
            error(1956, text)
        });
    }
    if let Some(function) = &found.varies {
        let text = format!(
            "Cannot create index on view '{}'. The function '{function}' yields nondeterministic results. Use a deterministic \
             system function, or modify the user-defined function to return deterministic results.",
            shown(view)
        );
        return Err(error(1949, text));
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
            let text = format!(
                "uses aggregate \"{word}\" with the DISTINCT keyword. Consider not indexing this view or eliminating DISTINCT. \
                 Consider use of a GROUP BY or COUNT_BIG(*) view to simulate DISTINCT on grouping columns."
            );
            return Err(because(view, 10126, &text));
        }
        match aggregate.kind {
            AggKind::Sum => {}
            AggKind::CountBig if aggregate.arg.is_none() => {}
            AggKind::Count => {
                return Err(because(view, 10136, "uses the aggregate COUNT. Use COUNT_BIG instead."));
            }
            _ => {
                let text = format!(
                    "uses aggregate \"{word}\". Consider eliminating the aggregate, not indexing the view, or using alternate \
                     aggregates. For example, for AVG substitute SUM and COUNT_BIG, or for COUNT, substitute COUNT_BIG."
                );
                return Err(because(view, 10125, &text));
            }
        }
    }
    if select.group_by.is_none() {
        return Err(errors::not_supported("index on a view that aggregates without GROUP BY"));
    }
    if outputs.iter().any(|id| computed.contains(id)) {
        let text = format!(
            "Cannot create the clustered index '{index}' on view '{}' because the select list of the view contains an expression \
             on result of aggregate function or grouping column. Consider removing expression on result of aggregate function \
             or grouping column from select list.",
            shown(view)
        );
        return Err(error(8668, text));
    }
    if !grouped(select).is_some_and(|kept| kept.contains(&Kept::Count)) {
        let text = format!(
            "Cannot create index on view '{}' because its select list does not include a proper use of COUNT_BIG. Consider adding \
             COUNT_BIG(*) to select list.",
            shown(view)
        );
        return Err(error(10138, text));
    }
    if keys.iter().any(|key| !outputs.contains(&key.output)) {
        let text = format!(
            "Cannot create the clustered index \"{index}\" on view \"{}\" because the select list of the view definition does not \
             include all columns in the GROUP BY clause. Consider adding these columns to the select list.",
            shown(view)
        );
        return Err(error(8660, text));
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
fn without_groups(query: &ast::Query, select: &ast::Select, kept: &[Kept]) -> ast::Query {
    let mut single = select.clone();
    single.group_by = None;
    for (item, kept) in single.items.iter_mut().zip(kept) {
        let SelectItem::Expr { expr, .. } = item else { continue };
        match (&expr.kind, kept) {
            (ast::ExprKind::Function(call), Kept::Sum) => {
                if let Some(arg) = call.args.first().cloned() {
                    *expr = arg;
                }
            }
            (_, Kept::Count) => expr.kind = ast::ExprKind::Literal(ast::Literal::Integer(1)),
            _ => {}
        }
    }
    ast::Query { body: QueryBody::Select(Box::new(single)), ..query.clone() }
}

/// 8662.
fn check_sums(view: &ModuleDef, index: &str, kept: &[Kept], summed: &BoundQuery) -> Result<(), SqlError> {
    let unknown = |(kept, column): (&Kept, &plan::logical::OutColumn)| *kept == Kept::Sum && column.nullable;
    if !kept.iter().zip(&summed.columns).any(unknown) {
        return Ok(());
    }
    let text = format!(
        "Cannot create the clustered index \"{index}\" on view \"{}\" because the view references an unknown value (SUM aggregate \
         of nullable expression). Consider referencing only non-nullable values in SUM. ISNULL() may be useful for this.",
        shown(view)
    );
    Err(error(8662, text))
}
