//! The rows of indexed views over a table that is changed: what the view says of the changed rows,
//! in the place of the table, is taken from and added to what the view keeps, in the same
//! transaction.
//!
//! ```text
//! deleted  ─► the view's query over them ─► DELETE, or MERGE that subtracts sums and counts and deletes groups of no rows
//! inserted ─► the view's query over them ─► INSERT, or MERGE that adds sums and counts, or the group
//! ```
//! Guarantees: the other tables of the view are read as they are now, and what was read stays so
//! until the transaction ends; a group that two transactions change at once is changed by one after
//! the other.

use std::sync::Arc;

use super::key_test::or_no_plan;
use super::keys::{Cascade, parse};
use super::{CompileCascade, TableChange};
use bind::env::{CompileEnv, VarScope};
use bind::module::{CHANGED_ROWS, ChangedTable, DELETED_IN_PLACE, INSERTED_IN_PLACE};
use bind::set_options::SessionOptions;
use bind::view_rows::rows_name;
use catalog::names::quote;
use catalog::{Catalog, ModuleDef, TableDef, fold_name};
use logical::isolation::Isolation;
use session::state::changes::Action;
use syntax::ast::{self, ExprKind, QueryBody, SelectItem, StmtKind, TableRefKind};
use types::SqlError;

/// What a column of a grouped view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Of a group's key, or of a row.
    Value,
    Sum,
    /// COUNT_BIG(*).
    Count,
}

/// The columns of a view, if it groups.
pub fn grouped(select: &ast::Select) -> Option<Vec<Kept>> {
    let kind = |item: &SelectItem| match item {
        SelectItem::Expr { expr, .. } => match &expr.kind {
            ExprKind::Function(call) if call.name.name.is("sum") => Kept::Sum,
            ExprKind::Function(call) if call.name.name.is("count_big") => Kept::Count,
            _ => Kept::Value,
        },
        _ => Kept::Value,
    };
    select.group_by.as_ref().map(|_| select.items.iter().map(kind).collect())
}

/// Whether a table is among the sources of a view.
pub fn reads(from: &[ast::TableRef], table: &TableDef) -> bool {
    let any = |name: &ast::ObjectName| is_of(name, table);
    from.iter().any(|source| match &source.kind {
        TableRefKind::Named { name, .. } => any(name),
        TableRefKind::Join { left, right, .. } => {
            reads(std::slice::from_ref(left), table) || reads(std::slice::from_ref(right), table)
        }
        _ => false,
    })
}

fn is_of(name: &ast::ObjectName, table: &TableDef) -> bool {
    let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
    fold_name(&name.name.value) == fold_name(&table.name)
        && fold_name(schema) == fold_name(&table.schema)
}

/// The steps of a change of a table for the views that keep rows of it.
///
/// # Errors
/// 1934; those of binding the steps.
pub fn compile(
    env: &CompileEnv<'_>,
    catalog: &Catalog,
    change: &TableChange<'_>,
    compile_cascade: CompileCascade,
) -> Result<Vec<Cascade>, SqlError> {
    let mut steps = Vec::new();
    if catalog.view_rows.is_empty() || change.table.of_view.is_some() {
        return Ok(steps);
    }
    let mut views: Vec<i32> = catalog.view_rows.keys().copied().collect();
    views.sort_unstable();
    for id in views {
        let (Some(view), Some(rows)) = (catalog.modules.get(&id), catalog.rows_of_view(id)) else {
            continue;
        };
        let Some(select) = select_of(view).filter(|select| reads(&select.from, change.table))
        else {
            continue;
        };
        if change.action == Action::Update && !names_any(view, change) {
            continue;
        }
        env.options.check_for_filters(change.verb)?;
        of_view(env, change, (rows, select), compile_cascade, &mut steps)?;
    }
    Ok(steps)
}

/// The one SELECT that a view is.
pub fn select_of(view: &ModuleDef) -> Option<&ast::Select> {
    match &view.view()?.query.body {
        QueryBody::Select(select) => Some(select),
        QueryBody::Set { .. } | QueryBody::Ordered(_) => None,
    }
}

/// Whether the text of a view names a column that is changed.
fn names_any(view: &ModuleDef, change: &TableChange<'_>) -> bool {
    let names: Vec<_> =
        change.columns.iter().map(|at| fold_name(&change.table.columns[*at].name)).collect();
    let tokens = syntax::lexer::tokenize(&view.text);
    tokens.list.iter().any(|token| {
        let word = token.span.text(&view.text);
        let word = word.trim_start_matches(['[', '"']).trim_end_matches([']', '"']);
        names.contains(&fold_name(word))
    })
}

fn of_view(
    env: &CompileEnv<'_>,
    change: &TableChange<'_>,
    (rows, select): (&Arc<TableDef>, &ast::Select),
    compile_cascade: CompileCascade,
    steps: &mut Vec<Cascade>,
) -> Result<(), SqlError> {
    let vars = VarScope::new();
    let (deleted, inserted) = (change.action != Action::Insert, change.action != Action::Delete);
    let table = Arc::clone(change.table);
    let changes = ChangedTable { table, deleted, inserted, instead_of: None, rows: CHANGED_ROWS };
    // The hints on the other tables say how they are read.
    let options =
        SessionOptions { isolation: Isolation::ReadCommitted, rowcount: 0, ..env.options.clone() };
    let env = &CompileEnv {
        db: change.db,
        options: &options,
        vars: &vars,
        values: &[],
        changes: Some(changes),
        ..env.clone()
    };
    let step = |text: &str, source: &str| {
        let mut stmt = parse(text)?;
        let mut over = select.clone();
        over.from.iter_mut().for_each(|table| put(table, change.table, source));
        fill(&mut stmt, &over);
        Ok::<Cascade, SqlError>(Cascade::new(compile_cascade(&stmt, env)?))
    };
    let text = Texts { rows, kept: grouped(select) };
    let mut add = |of: &dyn Fn(bool) -> String, source: &str| {
        let sought = if text.are_sought() { or_no_plan(step(&of(true), source))? } else { None };
        steps.push(match sought {
            Some(sought) => sought,
            None => step(&of(false), source)?,
        });
        Ok::<(), SqlError>(())
    };
    if deleted {
        add(&|seeks| text.taken(seeks), DELETED_IN_PLACE)?;
    }
    if inserted {
        add(&|seeks| text.added(seeks), INSERTED_IN_PLACE)?;
    }
    Ok(())
}

/// The statements over a view's rows, with `(SELECT 1)` in the place of its query.
struct Texts<'t> {
    rows: &'t TableDef,
    kept: Option<Vec<Kept>>,
}

impl Texts<'_> {
    fn name(&self, at: usize) -> String {
        quote(&self.rows.columns[at].name)
    }

    fn all(&self, lead: &str) -> String {
        let names = (0..self.rows.columns.len()).map(|at| format!("{lead}{}", self.name(at)));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The same row, or group, on both sides.
    fn same(&self) -> String {
        let of_key: Vec<usize> = match &self.kept {
            None => self.rows.storage.key.iter().map(|(at, _)| *at).collect(),
            Some(kept) => (0..kept.len()).filter(|at| kept[*at] == Kept::Value).collect(),
        };
        let equal = of_key.into_iter().map(|at| {
            let name = self.name(at);
            match self.rows.columns[at].nullable {
                false => format!("m.{name} = d.{name}"),
                true => format!("(m.{name} = d.{name} OR (m.{name} IS NULL AND d.{name} IS NULL))"),
            }
        });
        equal.collect::<Vec<_>>().join(" AND ")
    }

    /// Whether the key of the kept rows leads to those of a change: a plan that was made while
    /// there were none must not read all of them, and lock them, when there are many.
    fn are_sought(&self) -> bool {
        self.rows.storage.key.first().is_some_and(|(at, _)| !self.rows.columns[*at].nullable)
    }

    /// `SET` of sums and counts.
    fn sets(&self, kept: &[Kept], sign: &str) -> String {
        let numbers = (0..kept.len()).filter(|at| kept[*at] != Kept::Value);
        let sets = numbers.map(|at| format!("{0} = m.{0} {sign} d.{0}", self.name(at)));
        sets.collect::<Vec<_>>().join(", ")
    }

    fn merge(&self, seeks: bool, then: &str) -> String {
        format!(
            "MERGE {} WITH (UPDLOCK, HOLDLOCK{}) AS m USING (SELECT 1) AS d ({}) ON {} {then};",
            rows_name(self.rows),
            if seeks { ", FORCESEEK" } else { "" },
            self.all(""),
            self.same()
        )
    }

    fn taken(&self, seeks: bool) -> String {
        let Some(kept) = &self.kept else {
            return format!(
                "DELETE m FROM {} AS m{} INNER JOIN (SELECT 1) AS d ({}) ON {}",
                rows_name(self.rows),
                if seeks { " WITH (FORCESEEK)" } else { "" },
                self.all(""),
                self.same()
            );
        };
        let count = kept
            .iter()
            .position(|kept| *kept == Kept::Count)
            .map_or(String::new(), |at| self.name(at));
        let then = format!(
            "WHEN MATCHED AND m.{count} = d.{count} THEN DELETE WHEN MATCHED THEN UPDATE SET {}",
            self.sets(kept, "-")
        );
        self.merge(seeks, &then)
    }

    fn added(&self, seeks: bool) -> String {
        let Some(kept) = &self.kept else {
            let (name, all) = (rows_name(self.rows), self.all(""));
            return format!("INSERT INTO {name} ({all}) SELECT {all} FROM (SELECT 1) AS d ({all})");
        };
        let then = format!(
            "WHEN MATCHED THEN UPDATE SET {} WHEN NOT MATCHED THEN INSERT ({}) VALUES ({})",
            self.sets(kept, "+"),
            self.all(""),
            self.all("d.")
        );
        self.merge(seeks, &then)
    }
}

/// Puts the changed rows in the place of their table; the others are read as they are, under locks.
fn put(source: &mut ast::TableRef, table: &TableDef, changed: &str) {
    let span = source.span;
    match &mut source.kind {
        TableRefKind::Named { name, hints, .. } => {
            if is_of(name, table) {
                let bare = ast::Ident { value: changed.into(), quoted: false, span };
                *name = ast::ObjectName::bare(bare);
                return;
            }
            hints.push(ast::OptionItem {
                name: "HOLDLOCK".into(),
                value: ast::OptionValue::None,
                unit: None,
                nested: Vec::new(),
                span,
            });
        }
        TableRefKind::Join { left, right, .. } => {
            put(left, table, changed);
            put(right, table, changed);
        }
        _ => {}
    }
}

/// Puts the query in the place of the one derived table of a statement.
fn fill(stmt: &mut ast::Stmt, select: &ast::Select) {
    let from = match &mut stmt.kind {
        StmtKind::Merge(merge) => return derive(&mut merge.source, select),
        StmtKind::Delete(delete) => &mut delete.from,
        StmtKind::Insert(insert) => match &mut insert.source {
            ast::InsertSource::Query(query) => match &mut query.body {
                QueryBody::Select(outer) => &mut outer.from,
                _ => return,
            },
            _ => return,
        },
        _ => return,
    };
    from.iter_mut().for_each(|source| derive(source, select));
}

fn derive(source: &mut ast::TableRef, select: &ast::Select) {
    match &mut source.kind {
        TableRefKind::Derived { query, .. } => {
            query.body = QueryBody::Select(Box::new(select.clone()))
        }
        TableRefKind::Join { left, right, .. } => {
            derive(left, select);
            derive(right, select);
        }
        _ => {}
    }
}
