//! UNION, INTERSECT and EXCEPT, and the ORDER BY of what they make. Guarantees: both sides have as
//! many columns, and each pair of them meets in one type and collation; the columns go by the names
//! of the first query.

use super::Binder;
use super::grouping::MOST_KEYS;
use super::scope::Scope;
use crate::nested_change::{Place, check_none};
use catalog::{errors, fold_name};
use expr::bind_ops;
use expr::same_syntax::same_syntax;
use expr::{Expr, Typed};
use logical::order::SortKey;
use logical::tree::input::Input;
use logical::tree::{BoundQuery, Logical, OutColumn};
use stack::Nested;
use syntax::ast::{self, ExprKind, QueryBody, SelectItem, SetOp};
use types::{DataType, SqlError, Value, msg};

impl Binder<'_> {
    pub(super) fn set_query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let mut bound = self.set_body(&query.body)?;
        if query.order_by.len() > MOST_KEYS {
            return Err(errors::wide_worktable());
        }
        let mut keys = Vec::new();
        for item in &query.order_by {
            self.check_cancel()?;
            let column = match output_column(&item.expr, &bound.columns)? {
                Some(column) => Some(column),
                None => {
                    let at = self.written_at(&item.expr, &query.body, bound.columns.len())?;
                    at.and_then(|at| bound.columns.get(at))
                }
            };
            let Some(column) = column else { return Err(self.not_listed(&item.expr, &query.body)) };
            column.ty.check_comparable()?;
            let expr = Expr::Col(column.id);
            keys.push(SortKey { expr, descending: item.descending, collation: column.collation });
        }
        if !keys.is_empty() {
            bound.logical = Logical::Sort { input: Input::new(bound.logical), keys };
        }
        self.offset_fetch(query, bound)
    }

    /// Where an ORDER BY item stands in the list of the first SELECT, when no column of the result
    /// is called like it: a column that has another name there (`a AS b`, ordered by `a` or `t.a`),
    /// or an expression that is written like it.
    ///
    /// # Errors
    /// 207, 209, 4104.
    fn written_at(
        &mut self,
        item: &ast::Expr,
        body: &QueryBody,
        count: usize,
    ) -> Result<Option<usize>, SqlError> {
        if matches!(item.kind, ExprKind::Literal(_)) {
            return Ok(None);
        }
        let items = &body.first_select().items;
        let written = |at: &usize| match &items[*at] {
            SelectItem::Expr { expr, .. } if same_syntax(expr, item) => Some(expr),
            _ => None,
        };
        let places: Vec<usize> = (0..items.len()).filter(|at| written(at).is_some()).collect();
        let Some(at) = places.first().copied() else { return Ok(None) };
        match &item.kind {
            ExprKind::Column(column) if column.qualifier.is_none() => {
                // Columns of one name of two tables.
                let first = written(&at);
                let other = |place: &usize| {
                    !first.zip(written(place)).is_some_and(|(a, b)| same_syntax(a, b))
                };
                if places.iter().any(other) {
                    return Err(SqlError::of(msg::AMBIGUOUS_COLUMN, [&column.name.value]));
                }
            }
            _ => match self.of_first(item, body) {
                Err(unknown) if matches!(unknown.number, 207 | 209 | 4104) => return Err(unknown),
                _ => {}
            },
        }
        // Around a star places are not those of the list.
        let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard { .. });
        let (before, behind) = items.split_at(at);
        Ok(match (before.iter().any(is_star), behind.iter().any(is_star)) {
            (false, _) => Some(at),
            (true, false) => count.checked_sub(behind.len()),
            (true, true) => None,
        })
    }

    /// An expression over what the first SELECT of a set operation reads, as a query of its own.
    fn of_first(&mut self, item: &ast::Expr, body: &QueryBody) -> Result<BoundQuery, SqlError> {
        let first = body.first_select();
        let alone = ast::Select {
            distinct: false,
            top: None,
            items: vec![SelectItem::Expr { expr: item.clone(), alias: None }],
            into: None,
            from: first.from.clone(),
            filter: None,
            group_by: None,
            having: None,
            windows: Vec::new(),
            span: first.span,
        };
        self.query(&bare(Box::new(alone)))
    }

    /// The error of an ORDER BY item that the result has no column for: 207 or 209 where it is a
    /// name that none or several columns of what the first SELECT reads have, else 104.
    fn not_listed(&mut self, item: &ast::Expr, body: &QueryBody) -> SqlError {
        if matches!(&item.kind, ExprKind::Column(column) if column.qualifier.is_none()) {
            match self.of_first(item, body) {
                Err(unknown) if matches!(unknown.number, 207 | 209) => return unknown,
                _ => {}
            }
        }
        SqlError::of(msg::ORDER_BY_NOT_IN_UNION_LIST, [])
    }

    pub(super) fn set_body(&mut self, body: &QueryBody) -> Result<BoundQuery, SqlError> {
        self.deeper(|b| b.set_parts(body))
    }

    fn set_parts(&mut self, body: &QueryBody) -> Result<BoundQuery, SqlError> {
        let (op, all, left, right) = match body {
            QueryBody::Select(select) => {
                check_none(&select.from.iter().collect::<Vec<_>>(), Place::Set)?;
                return self.query(&bare(select.clone()));
            }
            QueryBody::Ordered(query) => {
                self.scopes.push(Scope::default());
                let bound = self.inner_query(query);
                self.scopes.pop();
                return bound;
            }
            QueryBody::Set { op, all, left, right } => (*op, *all, left, right),
        };
        let around = std::mem::replace(&mut self.combining, true);
        let sides = self.set_body(left).and_then(|left| Ok((left, self.set_body(right)?)));
        self.combining = around;
        let (left, right) = sides?;
        self.combined(op, all, left, right)
    }

    /// UNION ALL of two queries.
    pub(super) fn union_all(
        &mut self,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<BoundQuery, SqlError> {
        self.combined(SetOp::Union, true, left, right)
    }

    pub(super) fn combined(
        &mut self,
        op: SetOp,
        all: bool,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<BoundQuery, SqlError> {
        if left.columns.len() != right.columns.len() {
            return Err(SqlError::of(msg::SET_OPERATION_COLUMN_COUNT, []));
        }
        if !left.assignments.is_empty() || !right.assignments.is_empty() {
            return Err(SqlError::of(msg::ASSIGNING_SELECT_RETURNS_ROWS, []));
        }
        let first = self.new_cols(left.columns.len());
        let mut columns = Vec::with_capacity(left.columns.len());
        for (i, (l, r)) in left.columns.iter().zip(&right.columns).enumerate() {
            let (lt, rt) = (out_typed(l), out_typed(r));
            let operator = match op {
                SetOp::Union => "UNION",
                SetOp::Intersect => "INTERSECT",
                SetOp::Except => "EXCEPT",
            };
            let (ty, label, collation) = bind_ops::unified_in_one(&[&lt, &rt], operator)?;
            if !(all && op == SetOp::Union) && ty.check_comparable().is_err() {
                return Err(no_operand(ty));
            }
            let nullable = l.nullable || r.nullable;
            columns.push(OutColumn {
                label,
                untyped: l.untyped && r.untyped,
                ..OutColumn::new(&l.name, first + i as u32, ty, nullable, collation)
            });
        }
        let left = self.cast_to(left, &columns)?;
        let right = self.cast_to(right, &columns)?;
        let cols: Vec<_> = columns.iter().map(|c| c.id).collect();
        let keyed: Vec<_> = columns.iter().map(|c| (c.id, c.collation)).collect();
        let logical = match op {
            SetOp::Union => {
                let concat = Logical::Concat { inputs: Nested::new(vec![left, right]), cols };
                if all {
                    concat
                } else {
                    Logical::Distinct { input: Input::new(concat), cols: keyed }
                }
            }
            SetOp::Except | SetOp::Intersect => Logical::SetOp {
                except: op == SetOp::Except,
                left: Nested::new(left),
                right: Nested::new(right),
                cols: keyed,
            },
        };
        Ok(BoundQuery { logical, columns, assignments: Vec::new() })
    }

    /// The query with its columns converted to the types of a set operation.
    fn cast_to(
        &mut self,
        bound: BoundQuery,
        columns: &[OutColumn],
    ) -> Result<(Logical, Vec<expr::ColId>), SqlError> {
        let mut exprs = Vec::new();
        let mut ids = Vec::with_capacity(columns.len());
        for (own, wanted) in bound.columns.iter().zip(columns) {
            let same_page = !own.ty.is_string()
                || own.ty.is_unicode()
                || own.collation.code_page() == wanted.collation.code_page();
            if (own.ty == wanted.ty && same_page) || own.untyped {
                ids.push(own.id);
                continue;
            }
            let id = self.new_col();
            exprs.push((id, bind_ops::implicit_in(own.typed(), wanted.ty, wanted.collation)?));
            ids.push(id);
        }
        let logical = if exprs.is_empty() {
            bound.logical
        } else {
            Logical::Project { input: Input::new(bound.logical), exprs }
        };
        Ok((logical, ids))
    }
}

/// A query of one SELECT and nothing around it.
fn bare(select: Box<ast::Select>) -> ast::Query {
    ast::Query {
        ctes: Vec::new(),
        span: select.span,
        body: QueryBody::Select(select),
        order_by: Vec::new(),
        offset: None,
        fetch: None,
        for_clause: None,
        options: Vec::new(),
    }
}

/// 5335: a set operation that compares them.
fn no_operand(ty: DataType) -> SqlError {
    SqlError::of(msg::SET_OPERATION_NOT_COMPARABLE, [&ty.base_name()])
}

fn out_typed(column: &OutColumn) -> Typed {
    let mut typed = Typed { label: column.label, ..column.typed() };
    if column.untyped {
        (typed.expr, typed.fixed) = (Expr::Const(Value::Null), false);
    }
    typed
}

/// The column that an ORDER BY item of a set operation names.
fn output_column<'c>(
    e: &ast::Expr,
    columns: &'c [OutColumn],
) -> Result<Option<&'c OutColumn>, SqlError> {
    match &e.kind {
        ExprKind::Literal(ast::Literal::Integer(n)) => {
            let column = usize::try_from(*n - 1).ok().and_then(|at| columns.get(at));
            column.map(Some).ok_or_else(|| SqlError::of(msg::ORDER_BY_POSITION, [&n]))
        }
        ExprKind::Column(c) if c.qualifier.is_none() => {
            let name = fold_name(&c.name.value);
            Ok(columns.iter().find(|o| fold_name(&o.name) == name))
        }
        _ => Ok(None),
    }
}
