//! SELECT, set operations, ORDER BY and CTEs become logical plans.

use crate::bind::Binder;
use crate::bind::deduce::Wanted;
use crate::bind::grouping::{aggregated, count_only};
use crate::bind::nested_change::{Place, check_none};
use crate::bind::scope::{Clause, Scope};
use crate::logical::{BoundQuery, CteDef, Logical, OutColumn, SortKey, TableName, TopSpec};
use catalog::fold_name;
use expr::bind_ops;
use expr::{Expr, Pred, Typed};
use std::sync::Arc;
use syntax::ast::{self, ExprKind, QueryBody, SelectItem, SetOp};
use types::convert::Mode;
use types::{Collation, DataType, SqlError, Value};

/// Error 1060.
const NO_COUNT: &str =
    "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.";

/// `@v = x` of a select list: slot, value.
type Assignments = Vec<(usize, Expr)>;

/// One item of a select list, bound.
struct Item {
    name: compact_str::CompactString,
    typed: Typed,
}

impl Binder<'_> {
    /// Binds a whole query as a block of its own.
    pub fn query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        self.check_cancel()?;
        self.scopes.push(Scope::default());
        let bound = self.query_in_scope(query);
        self.scopes.pop();
        bound
    }

    /// Binds the query of a derived table, subquery or common table expression in the block that is on top of the stack: it has
    /// an order only to say which rows TOP or OFFSET mean (1033).
    pub fn inner_query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let top = matches!(&query.body, QueryBody::Select(select) if select.top.is_some());
        if !query.order_by.is_empty() && !top && query.offset.is_none() && query.for_clause.is_none() {
            let text = "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common \
                        table expressions, unless TOP, OFFSET or FOR XML is also specified.";
            return Err(SqlError::new(1033, 15, 1, text));
        }
        self.query_in_scope(query)
    }

    fn query_in_scope(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let whole = std::mem::take(&mut self.whole);
        match &query.for_clause {
            Some(clause) if clause.kind != ast::ForKind::Browse => self.document(query, clause, whole),
            _ => self.plain_query(query),
        }
    }

    /// The query without what FOR makes of it.
    pub(super) fn plain_query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let before = self.ctes.len();
        self.push_ctes(&query.ctes);
        let bound = match &query.body {
            QueryBody::Select(select) => self.select(select, query),
            QueryBody::Set { .. } | QueryBody::Ordered(_) => self.set_query(query),
        };
        self.ctes.truncate(before);
        bound
    }

    /// Brings WITH's names in sight.
    pub fn push_ctes(&mut self, ctes: &[ast::Cte]) {
        for cte in ctes {
            let visible = self.ctes.len();
            self.ctes.push(Arc::new(CteDef {
                name: fold_name(&cte.name.value),
                columns: cte.columns.clone(),
                query: cte.query.clone(),
                visible,
            }));
        }
    }

    fn set_query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let mut bound = self.set_body(&query.body)?;
        let mut keys = Vec::new();
        for item in &query.order_by {
            let named = selected_at(&item.expr, &query.body).and_then(|at| bound.columns.get(at));
            let column = match named {
                Some(column) => Some(column),
                None => output_column(&item.expr, &bound.columns)?,
            };
            let Some(column) = column else {
                let text = "ORDER BY items must appear in the select list if the statement contains a UNION, \
                            INTERSECT or EXCEPT operator.";
                return Err(SqlError::new(104, 16, 1, text));
            };
            column.ty.check_comparable()?;
            let expr = Expr::Col(column.id);
            keys.push(SortKey { expr, descending: item.descending, collation: column.collation });
        }
        if !keys.is_empty() {
            bound.logical = Logical::Sort { input: Box::new(bound.logical), keys };
        }
        self.offset_fetch(query, bound)
    }

    pub(super) fn set_body(&mut self, body: &QueryBody) -> Result<BoundQuery, SqlError> {
        let (op, all, left, right) = match body {
            QueryBody::Select(select) => {
                check_none(&select.from.iter().collect::<Vec<_>>(), Place::Set)?;
                let bare = ast::Query {
                    ctes: Vec::new(),
                    body: QueryBody::Select(select.clone()),
                    order_by: Vec::new(),
                    offset: None,
                    fetch: None,
                    for_clause: None,
                    options: Vec::new(),
                    span: select.span,
                };
                return self.query(&bare);
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
    pub(super) fn union_all(&mut self, left: BoundQuery, right: BoundQuery) -> Result<BoundQuery, SqlError> {
        self.combined(SetOp::Union, true, left, right)
    }

    fn combined(
        &mut self,
        op: SetOp,
        all: bool,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<BoundQuery, SqlError> {
        if left.columns.len() != right.columns.len() {
            let text = "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number \
                        of expressions in their target lists.";
            return Err(SqlError::new(205, 16, 1, text));
        }
        if !left.assignments.is_empty() || !right.assignments.is_empty() {
            let text = "A SELECT statement that assigns a value to a variable must not be combined with data-\
                        retrieval operations.";
            return Err(SqlError::new(141, 15, 1, text));
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
            columns.push(OutColumn {
                name: l.name.clone(),
                id: first + i as u32,
                ty,
                nullable: l.nullable || r.nullable,
                collation,
                label,
                untyped: l.untyped && r.untyped,
                identity: None,
                base: false,
                table: None,
            });
        }
        let left = self.cast_to(left, &columns)?;
        let right = self.cast_to(right, &columns)?;
        let cols: Vec<_> = columns.iter().map(|c| c.id).collect();
        let keyed: Vec<_> = columns.iter().map(|c| (c.id, c.collation)).collect();
        let logical = match op {
            SetOp::Union => {
                let concat = Logical::Concat { inputs: vec![left, right], cols };
                if all { concat } else { Logical::Distinct { input: Box::new(concat), cols: keyed } }
            }
            SetOp::Except | SetOp::Intersect => Logical::SetOp {
                except: op == SetOp::Except,
                left: Box::new(left),
                right: Box::new(right),
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
            Logical::Project { input: Box::new(bound.logical), exprs }
        };
        Ok((logical, ids))
    }

    fn select(&mut self, select: &ast::Select, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let mut logical = self.from_clause(&select.from)?;
        self.scope()?.visible = true;
        self.scope()?.named_windows = select.windows.clone();
        let mut counted = None;
        if let Some(filter) = &select.filter {
            let preds = self.filter(filter, Clause::Where)?;
            if select.group_by.as_ref().is_some_and(|group| group.all) {
                counted = Some(preds);
            } else {
                logical = Logical::Filter { input: Box::new(logical), preds };
            }
        }
        self.group_by(select, query)?;
        let having = match &select.having {
            Some(e) => self.filter(e, Clause::Having)?,
            None => Vec::new(),
        };
        self.scope()?.clause = Clause::Select;
        self.scope()?.allow_windows = true;
        let known = self.known_values();
        let (items, assignments) = self.items(select)?;
        self.check_values_since(known, select.distinct, !query.order_by.is_empty())?;
        let keys = self.order_keys(select, query, &items)?;
        self.scope()?.allow_windows = false;
        logical = self.grouped_plan(logical, counted, having)?;
        self.finish_select(logical, select, query, items, assignments, keys)
    }

    fn filter(&mut self, e: &ast::Expr, clause: Clause) -> Result<Vec<Pred>, SqlError> {
        self.scope()?.clause = clause;
        let mut list = Vec::new();
        self.pred(e)?.into_conjuncts(&mut list);
        Ok(list)
    }

    /// Binds GROUP BY and decides whether the block groups at all.
    fn group_by(&mut self, select: &ast::Select, query: &ast::Query) -> Result<(), SqlError> {
        let in_items = select.items.iter().any(|item| match item {
            SelectItem::Expr { expr, .. } | SelectItem::Assign { expr, .. } => has_aggregate(expr),
            SelectItem::Wildcard { .. } => false,
        });
        let in_order = query.order_by.iter().any(|item| has_aggregate(&item.expr));
        if select.group_by.is_none() && select.having.is_none() && !in_items && !in_order {
            return Ok(());
        }
        self.scope()?.clause = Clause::GroupBy;
        let grouping = self.grouping(select)?;
        self.scope()?.grouping = Some(grouping);
        Ok(())
    }

    /// `counted`: the condition of a GROUP BY ALL.
    fn grouped_plan(
        &mut self,
        mut logical: Logical,
        counted: Option<Vec<Pred>>,
        having: Vec<Pred>,
    ) -> Result<Logical, SqlError> {
        let scope = self.scope()?;
        if let Some(mut grouping) = scope.grouping.take() {
            if let Some(filter) = counted {
                logical = count_only(self, logical, filter, &mut grouping.aggregates)?;
            }
            logical = aggregated(logical, grouping)?;
        }
        if !having.is_empty() {
            logical = Logical::Filter { input: Box::new(logical), preds: having };
        }
        let calls = std::mem::take(&mut self.scope()?.windows);
        if !calls.is_empty() {
            logical = Logical::Window { input: Box::new(logical), calls };
        }
        Ok(logical)
    }

    fn items(&mut self, select: &ast::Select) -> Result<(Vec<Item>, Assignments), SqlError> {
        let mut items = Vec::new();
        let mut assignments = Vec::new();
        for item in &select.items {
            match item {
                SelectItem::Wildcard { qualifier, .. } => self.wildcard(qualifier.as_ref(), &mut items)?,
                SelectItem::Expr { expr, alias } => {
                    let typed = match &expr.kind {
                        ExprKind::Identity { target, identity } => {
                            self.numbered_item(target, identity, alias.as_ref(), items.len())?
                        }
                        _ => self.expr(expr)?,
                    };
                    let name = match (alias, &expr.kind) {
                        (Some(alias), _) => alias.value.clone(),
                        (None, ExprKind::Column(c)) => self.stored_name(&typed, &c.name.value),
                        _ => "".into(),
                    };
                    items.push(Item { name, typed });
                }
                SelectItem::Assign { variable, op, expr } => {
                    assignments.push(self.assignment(variable, *op, expr)?);
                }
            }
        }
        if !items.is_empty() && !assignments.is_empty() {
            let text = "A SELECT statement that assigns a value to a variable must not be combined with data-\
                        retrieval operations.";
            return Err(SqlError::new(141, 15, 1, text));
        }
        Ok((items, assignments))
    }

    /// IDENTITY(type, seed, increment) in the select list of SELECT INTO: the values are given when the rows are stored.
    fn numbered_item(
        &mut self,
        target: &ast::TypeName,
        identity: &ast::Identity,
        alias: Option<&ast::Ident>,
        at: usize,
    ) -> Result<Typed, SqlError> {
        let name = alias.map_or("", |alias| alias.value.as_str());
        let ty = super::type_names::data_type(target, &self.catalog)?;
        let outermost = self.scopes.len() == 1;
        let Some(numbered) = self.numbered.as_mut().filter(|_| outermost) else {
            return Err(super::value::identity_outside());
        };
        numbered.push((at, catalog::identity::of_clause(identity, name, ty)?));
        let zero = Typed::new(Expr::Const(Value::Int(0)), DataType::Int, false);
        Ok(Typed::new(bind_ops::implicit(zero, ty)?, ty, false))
    }

    /// A result column is named as the table has it, not as the query wrote it.
    fn stored_name(&self, typed: &Typed, written: &str) -> compact_str::CompactString {
        let Expr::Col(id) = typed.expr else { return written.into() };
        let folded = fold_name(written);
        let sources = self.scopes.iter().flat_map(|s| &s.sources);
        // A query may offer one column under two names.
        let column = sources.flat_map(|s| &s.columns).find(|c| c.id == id && c.folded == folded);
        column.map_or_else(|| written.into(), |c| c.name.clone())
    }

    /// `@v = x`, `@v += x`: the slot and the value in the variable's type.
    pub fn assignment(
        &mut self,
        variable: &str,
        op: ast::AssignOp,
        expr: &ast::Expr,
    ) -> Result<(usize, Expr), SqlError> {
        self.deduce_assigned(variable, op, expr)?;
        let (slot, ty) = self.env.vars.find(variable)?;
        let mut typed = self.expr(expr)?;
        if let Some(op) = compound(op) {
            typed = self.binary(op, Typed::new(Expr::Var(slot), ty, true), typed)?;
        }
        Ok((slot, bind_ops::assigned(typed, ty, Mode::Implicit, self.collation())?))
    }

    fn wildcard(
        &mut self,
        qualifier: Option<&ast::ObjectName>,
        items: &mut Vec<Item>,
    ) -> Result<(), SqlError> {
        let scope = self.scope()?;
        if scope.sources.is_empty() {
            return Err(SqlError::new(263, 16, 1, "Must specify table to select from."));
        }
        let wanted = |s: &crate::bind::scope::Source| qualifier.is_none_or(|q| s.is_named(q));
        if !scope.sources.iter().any(wanted) {
            let name = qualifier.map(|q| q.to_string()).unwrap_or_default();
            let text = format!(
                "The column prefix '{name}' does not match with a table name or alias name used in the query."
            );
            return Err(SqlError::new(107, 15, 1, text));
        }
        let columns: Vec<_> = scope
            .sources
            .iter()
            .filter(|s| wanted(s))
            .flat_map(|s| {
                let full = s.name.clone();
                s.columns.iter().filter(|c| !c.hidden).map(move |c| (full.clone(), c.clone()))
            })
            .collect();
        let depth = self.scopes.len() - 1;
        for (full, column) in columns {
            self.rights.mentions(column.id);
            if self.node_columns.contains(&column.id) {
                return Err(super::xml::node_by_itself(&column.name));
            }
            let typed = self.grouped_column(depth, column.typed(), &format!("{full}.{}", column.name))?;
            items.push(Item { name: column.name, typed });
        }
        Ok(())
    }

    /// All columns of the block's sources: `*` as the arguments of a function.
    pub(super) fn all_columns(&mut self) -> Result<Vec<Typed>, SqlError> {
        let mut items = Vec::new();
        self.wildcard(None, &mut items)?;
        Ok(items.into_iter().map(|item| item.typed).collect())
    }

    /// ORDER BY: a position, an alias or name of the select list, else an expression over the sources.
    fn order_keys(
        &mut self,
        select: &ast::Select,
        query: &ast::Query,
        items: &[Item],
    ) -> Result<Vec<(SortKey, Option<usize>)>, SqlError> {
        let mut keys = Vec::new();
        for item in &query.order_by {
            let position = self.order_position(&item.expr, items)?;
            let (typed, position) = match position {
                Some(i) => (items[i].typed.clone(), Some(i)),
                None => {
                    self.scope()?.clause = Clause::OrderBy;
                    let typed = self.expr(&item.expr)?;
                    let same = items.iter().position(|i| match (&i.typed.expr, &typed.expr) {
                        (Expr::Col(a), Expr::Col(b)) => a == b,
                        _ => false,
                    });
                    (typed, same)
                }
            };
            if position.is_none() && select.distinct && !self.among_items(&item.expr, select) {
                let text = "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.";
                return Err(SqlError::new(145, 15, 1, text));
            }
            typed.ty.check_comparable()?;
            let position = position.or_else(|| self.item_of(&item.expr, select));
            let key = SortKey { expr: typed.expr, descending: item.descending, collation: typed.collation };
            keys.push((key, position));
        }
        Ok(keys)
    }

    fn item_of(&self, e: &ast::Expr, select: &ast::Select) -> Option<usize> {
        // Positions agree only while no wildcard has spread the list.
        if select.items.iter().any(|i| matches!(i, SelectItem::Wildcard { .. })) {
            return None;
        }
        select.items.iter().position(|i| match i {
            SelectItem::Expr { expr, .. } => bind_ops::same_syntax(expr, e),
            _ => false,
        })
    }

    fn among_items(&self, e: &ast::Expr, select: &ast::Select) -> bool {
        self.item_of(e, select).is_some()
    }

    fn order_position(&mut self, e: &ast::Expr, items: &[Item]) -> Result<Option<usize>, SqlError> {
        match &e.kind {
            ExprKind::Literal(ast::Literal::Integer(n)) => {
                let at = usize::try_from(*n - 1).ok().filter(|at| *at < items.len());
                if at.is_none() {
                    let text = format!(
                        "The ORDER BY position number {n} is out of range of the number of items in the select list."
                    );
                    return Err(SqlError::new(108, 16, 1, text));
                }
                Ok(at)
            }
            ExprKind::Column(c) if c.qualifier.is_none() => {
                let name = fold_name(&c.name.value);
                let mut found = items.iter().enumerate().filter(|(_, i)| fold_name(&i.name) == name);
                let first = found.next().map(|(at, _)| at);
                let differing = found.any(|(at, _)| {
                    let first = first.unwrap_or(at);
                    !matches!((&items[at].typed.expr, &items[first].typed.expr), (Expr::Col(a), Expr::Col(b)) if a == b)
                });
                if differing {
                    let text = format!("Ambiguous column name '{}'.", c.name.value);
                    return Err(SqlError::new(209, 16, 1, text));
                }
                Ok(first)
            }
            ExprKind::Literal(_) => {
                let text = "A constant expression was encountered in the ORDER BY list, position 1.";
                Err(SqlError::new(408, 15, 1, text))
            }
            _ => Ok(None),
        }
    }

    fn finish_select(
        &mut self,
        mut logical: Logical,
        select: &ast::Select,
        query: &ast::Query,
        items: Vec<Item>,
        assignments: Assignments,
        keys: Vec<(SortKey, Option<usize>)>,
    ) -> Result<BoundQuery, SqlError> {
        let mut columns = Vec::with_capacity(items.len());
        let mut exprs = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            bind_ops::check_result_column(&item.typed, at + 1)?;
            let untyped = item.typed.is_null_literal();
            let id = match item.typed.expr {
                Expr::Col(id) => id,
                e => {
                    let id = self.new_col();
                    exprs.push((id, e));
                    id
                }
            };
            let Typed { ty, nullable, collation, label, .. } = item.typed;
            let (base, identity) = (self.is_base(id), self.identity_of(id));
            let table = if ty.is_old_lob() { self.table_of(id) } else { None };
            if select.distinct && ty.check_comparable().is_err() {
                return Err(not_distinct(ty));
            }
            columns.push(OutColumn {
                name: item.name,
                id,
                ty,
                nullable,
                collation,
                label,
                untyped,
                identity,
                base,
                table,
            });
        }
        // A key that is an item sorts by the item's column: it is computed once.
        let mut sort = Vec::with_capacity(keys.len());
        for (mut key, position) in keys {
            if let Some(column) = position.and_then(|at| columns.get(at)) {
                key.expr = Expr::Col(column.id);
            } else if !matches!(key.expr, Expr::Col(_)) {
                let id = self.new_col();
                exprs.push((id, key.expr));
                key.expr = Expr::Col(id);
            }
            sort.push(key);
        }
        if !exprs.is_empty() {
            logical = Logical::Project { input: Box::new(logical), exprs };
        }
        if select.distinct {
            let cols = columns.iter().map(|c| (c.id, c.collation)).collect();
            logical = Logical::Distinct { input: Box::new(logical), cols };
        }
        let ties = sort.clone();
        if !sort.is_empty() {
            logical = Logical::Sort { input: Box::new(logical), keys: sort };
        }
        if let Some(top) = &select.top {
            let spec = self.top(top, ties)?;
            logical = Logical::Top { input: Box::new(logical), top: spec };
        }
        self.offset_fetch(query, BoundQuery { logical, columns, assignments })
    }

    /// Whether it is a column of a table of the block as it is.
    fn is_base(&self, id: expr::ColId) -> bool {
        let sources = self.scopes.last().map_or(&[][..], |scope| &scope.sources);
        sources.iter().any(|s| s.object_id != 0 && s.columns.iter().any(|c| c.id == id))
    }

    /// Schema and name of the table that a column is of.
    fn table_of(&self, id: expr::ColId) -> Option<TableName> {
        let mut sources = self.scopes.last()?.sources.iter();
        let source = sources.find(|s| s.object_id != 0 && s.columns.iter().any(|c| c.id == id))?;
        let used = self
            .tables
            .iter()
            .find(|u| (u.db.id(), u.table.object_id) == (source.db_id, source.object_id))?;
        Some(Arc::new([used.table.schema.clone(), used.table.name.clone()]))
    }

    fn identity_of(&self, id: expr::ColId) -> Option<(i64, i64)> {
        let scope = self.scopes.last()?;
        let source =
            scope.sources.iter().find(|s| s.object_id != 0 && s.columns.iter().any(|c| c.id == id))?;
        let (db, object) = (source.db_id, source.object_id);
        let table = self.tables.iter().find(|u| u.db.id() == db && u.table.object_id == object)?;
        let at = source.columns.iter().position(|c| c.id == id)?;
        table.table.columns.get(at)?.identity
    }

    /// TOP (n) [PERCENT] [WITH TIES].
    pub fn top(&mut self, top: &ast::Top, ties: Vec<SortKey>) -> Result<TopSpec, SqlError> {
        let clause = self.scope().map(|s| std::mem::replace(&mut s.clause, Clause::Where));
        let count = if top.percent {
            self.expr_as(&top.count, DataType::Float)?
        } else {
            self.row_count(&top.count, (1060, NO_COUNT))?
        };
        if let (Ok(clause), Ok(scope)) = (clause, self.scope()) {
            scope.clause = clause;
        }
        if !count.is_row_free() && !count.has_subquery() {
            let column = match &top.count.kind {
                ExprKind::Column(column) => column.name.value.as_str(),
                _ => "",
            };
            let text = format!(
                "The reference to column \"{column}\" is not allowed in an argument to a TOP, OFFSET, or FETCH clause. Only references to \
                 columns at an outer scope or standalone expressions and subqueries are allowed here."
            );
            return Err(SqlError::new(4115, 15, 1, text));
        }
        if top.with_ties && ties.is_empty() {
            let text = "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.";
            return Err(SqlError::new(1062, 15, 1, text));
        }
        let ties = top.with_ties.then_some(ties);
        Ok(TopSpec { count: Some(count), percent: top.percent, ties, offset: None })
    }

    /// The number of rows of TOP, OFFSET or FETCH; the error is for what is no integer.
    fn row_count(&mut self, e: &ast::Expr, (number, text): (i32, &str)) -> Result<Expr, SqlError> {
        self.deduce(e, Wanted::Becomes(DataType::BigInt))?;
        let typed = self.expr(e)?;
        let integer =
            matches!(typed.ty, DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt);
        if !integer && !typed.is_null_literal() {
            return Err(SqlError::new(number, 15, 1, text));
        }
        bind_ops::implicit(typed, DataType::BigInt)
    }

    fn offset_fetch(&mut self, query: &ast::Query, mut bound: BoundQuery) -> Result<BoundQuery, SqlError> {
        if query.offset.is_none() && query.fetch.is_none() {
            return Ok(bound);
        }
        if matches!(&query.body, QueryBody::Select(select) if select.top.is_some()) {
            let text = "A TOP can not be used in the same query or sub-query as a OFFSET.";
            return Err(SqlError::new(10_741, 15, 2, text));
        }
        let mut spec = TopSpec::default();
        if let Some(e) = &query.offset {
            let text = "The number of rows provided for a OFFSET clause must be an integer.";
            spec.offset = Some(self.row_count(e, (10_743, text))?);
        }
        if let Some(e) = &query.fetch {
            spec.count = Some(self.row_count(e, (1060, NO_COUNT))?);
        }
        bound.logical = Logical::Top { input: Box::new(bound.logical), top: spec };
        Ok(bound)
    }
}

/// 421: DISTINCT of values that cannot be compared.
fn not_distinct(ty: DataType) -> SqlError {
    let name = ty.base_name();
    let text = format!("The {name} data type cannot be selected as DISTINCT because it is not comparable.");
    SqlError::new(421, 16, 1, text)
}

/// 5335: a set operation that compares them.
fn no_operand(ty: DataType) -> SqlError {
    let text = format!(
        "The data type {} cannot be used as an operand to the UNION, INTERSECT or EXCEPT operators because it is not comparable.",
        ty.base_name()
    );
    SqlError::new(5335, 16, 1, text)
}

/// The operator of a compound assignment.
pub fn compound(op: ast::AssignOp) -> Option<ast::BinaryOp> {
    use ast::{AssignOp as A, BinaryOp as B};
    Some(match op {
        A::Set => return None,
        A::Add => B::Add,
        A::Subtract => B::Subtract,
        A::Multiply => B::Multiply,
        A::Divide => B::Divide,
        A::Modulo => B::Modulo,
        A::BitAnd => B::BitAnd,
        A::BitOr => B::BitOr,
        A::BitXor => B::BitXor,
    })
}

fn out_typed(column: &OutColumn) -> Typed {
    let mut typed = Typed { label: column.label, ..column.typed() };
    if column.untyped {
        typed.expr = Expr::Const(Value::Null);
    }
    typed
}

/// The column that an ORDER BY item of a set operation names.
fn output_column<'c>(e: &ast::Expr, columns: &'c [OutColumn]) -> Result<Option<&'c OutColumn>, SqlError> {
    match &e.kind {
        ExprKind::Literal(ast::Literal::Integer(n)) => {
            let column = usize::try_from(*n - 1).ok().and_then(|at| columns.get(at));
            column.map(Some).ok_or_else(|| {
                let text = format!(
                    "The ORDER BY position number {n} is out of range of the number of items in the select list."
                );
                SqlError::new(108, 16, 1, text)
            })
        }
        ExprKind::Column(c) if c.qualifier.is_none() => {
            let name = fold_name(&c.name.value);
            let column = columns.iter().find(|o| fold_name(&o.name) == name);
            column
                .map(Some)
                .ok_or_else(|| SqlError::new(207, 16, 1, format!("Invalid column name '{}'.", c.name.value)))
        }
        _ => Ok(None),
    }
}

/// Where a column that is named with its table (`t.a`) stands in the list of the first SELECT of a UNION, as `t.a` too.
fn selected_at(e: &ast::Expr, body: &QueryBody) -> Option<usize> {
    let ExprKind::Column(ast::ColumnRef { qualifier: Some(table), name }) = &e.kind else { return None };
    for (at, item) in body.first_select().items.iter().enumerate() {
        match item {
            SelectItem::Expr { expr, .. } => {
                if let ExprKind::Column(ast::ColumnRef { qualifier: Some(own), name: column }) = &expr.kind
                    && fold_name(&column.value) == fold_name(&name.value)
                    && fold_name(&own.name.value) == fold_name(&table.name.value)
                {
                    return Some(at);
                }
            }
            // Behind a star positions are not those of the list.
            _ => return None,
        }
    }
    None
}

/// Whether an aggregate of this block stands inside; subqueries are blocks of their own.
pub fn has_aggregate(e: &ast::Expr) -> bool {
    use expr::aggregate::AggKind;
    let own = |e: &ast::Expr| match &e.kind {
        ExprKind::Function(call) => {
            call.over.is_none() && AggKind::from_name(&fold_name(&call.name.name.value)).is_some()
        }
        _ => false,
    };
    contains(e, &own)
}

/// Whether an expression, or one in it, is such a one. What stands in subqueries is not in it.
pub fn contains(e: &ast::Expr, such: &dyn Fn(&ast::Expr) -> bool) -> bool {
    let one = |e: &ast::Expr| contains(e, such);
    let any = |list: &[ast::Expr]| list.iter().any(one);
    let opt = |e: &Option<Box<ast::Expr>>| e.as_deref().is_some_and(one);
    let within = match &e.kind {
        ExprKind::Function(call) => {
            let over = call.over.as_ref();
            any(&call.args)
                || over.is_some_and(|o| any(&o.partition_by) || o.order_by.iter().any(|i| one(&i.expr)))
        }
        ExprKind::Unary { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::Collate { operand, .. }
        | ExprKind::Parse { operand, .. }
        | ExprKind::IsNull { operand, .. }
        | ExprKind::InQuery { operand, .. } => one(operand),
        ExprKind::Convert { operand, style, .. } => one(operand) || opt(style),
        ExprKind::Binary { left, right, .. }
        | ExprKind::Compare { left, right, .. }
        | ExprKind::IsDistinct { left, right, .. } => one(left) || one(right),
        ExprKind::Quantified { left, .. } => one(left),
        ExprKind::Case { operand, branches, otherwise } => {
            opt(operand) || opt(otherwise) || branches.iter().any(|b| one(&b.when) || one(&b.then))
        }
        ExprKind::And(list) | ExprKind::Or(list) => any(list),
        ExprKind::Not(inner) => one(inner),
        ExprKind::Between { operand, low, high, .. } => one(operand) || one(low) || one(high),
        ExprKind::InList { operand, list, .. } => one(operand) || any(list),
        ExprKind::Like { operand, pattern, .. } => one(operand) || one(pattern),
        _ => false,
    };
    within || such(e)
}

/// The collation that DISTINCT and set operations compare a column by.
pub fn key_collation(column: &OutColumn) -> Collation {
    column.collation
}
