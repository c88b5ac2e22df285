//! Common table expressions that refer to themselves: `anchor UNION ALL step`, where the steps read
//! the rows of the round before. Guarantees: the columns' types are the anchor's; a step whose
//! types differ is error 240.

use crate::Binder;
use crate::contains::has_aggregate;
use crate::source::{ScopeColumn, Source};
use catalog::fold_name;
use compact_str::CompactString;
use logical::tree::{BoundQuery, CteDef, Logical, OutColumn, WorkScan, WorkSource};
use stack::Nested;
use std::sync::Arc;
use syntax::ast::{self, QueryBody, SelectItem, SetOp, TableRefKind};
use types::{SqlError, msg};

/// Rows that a round is expected to give.
const ROUND_ROWS: f64 = 100.0;

/// A recursive CTE whose steps are being bound.
#[derive(Clone, Debug)]
pub struct OpenRecursion {
    name: CompactString,
    work: usize,
    columns: Vec<OutColumn>,
}

/// The anchors and the steps of a recursive CTE; `None` for one that does not refer to itself.
pub(super) fn parts(cte: &CteDef) -> Option<(Vec<&QueryBody>, Vec<&QueryBody>)> {
    let mut members = Vec::new();
    let mut body = &cte.query.body;
    while let QueryBody::Set { op: SetOp::Union, all: true, left, right } = body {
        members.push(&**right);
        body = left;
    }
    members.push(body);
    members.reverse();
    let first = members.iter().position(|member| names(member, &cte.name))?;
    // Without UNION ALL at the top it is not recursive, and may not name itself.
    if members.len() == 1 {
        return None;
    }
    let steps = members.split_off(first);
    Some((members, steps))
}

/// Whether a member of a CTE names it in a FROM clause.
fn names(body: &QueryBody, name: &str) -> bool {
    match body {
        QueryBody::Select(select) => select.from.iter().any(|table| table_names(table, name)),
        QueryBody::Set { left, right, .. } => names(left, name) || names(right, name),
        QueryBody::Ordered(query) => names(&query.body, name),
    }
}

fn table_names(table: &ast::TableRef, cte: &str) -> bool {
    match &table.kind {
        TableRefKind::Named { name, .. } => name.is_bare() && fold_name(&name.name.value) == cte,
        TableRefKind::Join { left, right, .. } | TableRefKind::Apply { left, right, .. } => {
            table_names(left, cte) || table_names(right, cte)
        }
        TableRefKind::Derived { query, .. } => names(&query.body, cte),
        _ => false,
    }
}

impl Binder<'_> {
    /// Binds a recursive CTE in the block on top of the stack.
    ///
    /// # Errors
    /// 246-252, 240: what a recursive CTE may not be.
    pub(super) fn recursive_cte(
        &mut self,
        cte: &Arc<CteDef>,
        anchors: &[&QueryBody],
        steps: &[&QueryBody],
    ) -> Result<BoundQuery, SqlError> {
        let Some((first, others)) = anchors.split_first() else {
            return Err(SqlError::of(msg::RECURSIVE_WITHOUT_ANCHOR, [&cte.name]));
        };
        let mut anchor = self.set_body(first)?;
        for other in others {
            let next = self.set_body(other)?;
            anchor = self.union_all(anchor, next)?;
        }
        for (column, name) in anchor.columns.iter_mut().zip(&cte.columns) {
            column.name = name.value.clone();
        }
        let work = self.new_work();
        let columns = anchor.columns.clone();
        self.recursions.push(OpenRecursion {
            name: cte.name.clone(),
            work,
            columns: columns.clone(),
        });
        let bound = self.steps(cte, steps);
        self.recursions.pop();
        let steps = bound?;
        let cols = self.new_cols(columns.len());
        let out: Vec<OutColumn> = columns
            .iter()
            .enumerate()
            .map(|(i, c)| OutColumn {
                id: cols + i as u32,
                nullable: true,
                identity: None,
                base: false,
                computed: true,
                table: None,
                ..c.clone()
            })
            .collect();
        let anchor_ids = columns.iter().map(|c| c.id).collect();
        let logical = Logical::Recursive {
            anchor: Nested::new((anchor.logical, anchor_ids)),
            steps: Nested::new(steps),
            cols: out.iter().map(|c| c.id).collect(),
            work,
            limit: self.max_recursion,
        };
        Ok(BoundQuery { logical, columns: out, assignments: Vec::new() })
    }

    fn steps(
        &mut self,
        cte: &CteDef,
        steps: &[&QueryBody],
    ) -> Result<Vec<(Logical, Vec<expr::ColId>)>, SqlError> {
        let mut out = Vec::with_capacity(steps.len());
        for step in steps {
            if !names(step, &cte.name) {
                return Err(SqlError::of(msg::ANCHOR_IN_RECURSIVE_PART, [&cte.name]));
            }
            check_step(step, &cte.name)?;
            let bound = self.set_body(step)?;
            let columns = self.recursions.last().map(|r| r.columns.clone()).unwrap_or_default();
            if bound.columns.len() != columns.len() {
                return Err(SqlError::of(msg::SET_OPERATION_COLUMN_COUNT, []));
            }
            for (anchor, own) in columns.iter().zip(&bound.columns) {
                if anchor.ty != own.ty && !own.untyped {
                    return Err(SqlError::of(
                        msg::RECURSIVE_TYPES_DIFFER,
                        [&anchor.name, &cte.name],
                    ));
                }
            }
            let ids = bound.columns.iter().map(|c| c.id).collect();
            out.push((bound.logical, ids));
        }
        Ok(out)
    }

    /// The rows of the round before, if a name in a step means its own CTE.
    pub(super) fn recursion(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
    ) -> Result<Option<Logical>, SqlError> {
        let folded = fold_name(&name.name.value);
        let Some(open) = self.recursions.iter().rev().find(|r| r.name == folded).cloned() else {
            return Ok(None);
        };
        let width = open.columns.len();
        let first = self.new_cols(width);
        let columns = open.columns.iter().enumerate();
        let columns = columns
            .map(|(i, c)| ScopeColumn::new(&c.name, first + i as u32, c.ty, true, c.collation))
            .collect();
        let source = Source::unqualified(&name.name, alias, columns);
        self.scope()?.sources.push(source);
        let source = WorkSource::Recursion(open.work);
        Ok(Some(Logical::Work(WorkScan { source, first, width, rows: ROUND_ROWS })))
    }
}

/// How often a table of FROM names a CTE.
fn mentions(table: &ast::TableRef, cte: &str) -> usize {
    match &table.kind {
        TableRefKind::Join { left, right, .. } | TableRefKind::Apply { left, right, .. } => {
            mentions(left, cte) + mentions(right, cte)
        }
        _ => usize::from(table_names(table, cte)),
    }
}

/// Whether the CTE stands in an outer join.
fn outer_join(table: &ast::TableRef, cte: &str) -> bool {
    match &table.kind {
        TableRefKind::Join { kind, left, right, .. } => {
            let inner = matches!(kind, ast::JoinKind::Inner | ast::JoinKind::Cross);
            (!inner && table_names(table, cte)) || outer_join(left, cte) || outer_join(right, cte)
        }
        TableRefKind::Apply { left, right, .. } => outer_join(left, cte) || outer_join(right, cte),
        _ => false,
    }
}

/// 465: a CTE whose only mention of itself is in a subquery of a step.
pub(super) fn in_subquery(cte: &CteDef, error: SqlError) -> SqlError {
    let step = matches!(cte.query.body, QueryBody::Set { op: SetOp::Union, all: true, .. });
    if error.number == 252 && step {
        return SqlError::of(msg::RECURSION_IN_SUBQUERY, []);
    }
    error
}

/// What a step may not have: GROUP BY, aggregates are found when it is bound; DISTINCT, TOP, outer
/// joins here.
fn check_step(step: &QueryBody, cte: &str) -> Result<(), SqlError> {
    let QueryBody::Select(select) = step else { return Ok(()) };
    let refuse = |message| Err(SqlError::of(message, [&cte]));
    if select.from.iter().map(|table| mentions(table, cte)).sum::<usize>() > 1 {
        return Err(SqlError::of(msg::SEVERAL_RECURSIVE_REFERENCES, [&cte]));
    }
    if select.from.iter().any(|table| outer_join(table, cte)) {
        return refuse(msg::OUTER_JOIN_IN_RECURSIVE_PART);
    }
    if select.distinct {
        return refuse(msg::DISTINCT_IN_RECURSIVE_PART);
    }
    if select.top.is_some() {
        return refuse(msg::TOP_IN_RECURSIVE_PART);
    }
    let aggregates = select.items.iter().any(|item| match item {
        SelectItem::Expr { expr, .. } | SelectItem::Assign { expr, .. } => has_aggregate(expr),
        SelectItem::Wildcard { .. } => false,
    });
    if aggregates || select.group_by.is_some() || select.having.is_some() {
        return Err(SqlError::of(msg::GROUPING_IN_RECURSIVE_PART, [&cte]));
    }
    Ok(())
}
