//! Queries and the SELECTs in them become logical plans, clause by clause in the order in which
//! they are evaluated: FROM, WHERE, GROUP BY, HAVING, the list, DISTINCT, ORDER BY, TOP.
//! Guarantees: a query is a block of its own; what clients and SELECT INTO want to know of a column
//! (its table, IDENTITY) goes with it.

use crate::Binder;
use crate::grouping::{aggregated, count_only};
use crate::scope::{Clause, Scope};
use crate::select_list::{Item, SelectList};
use crate::source::Source;
use catalog::{TableDef, fold_name};
use expr::bind_ops;
use expr::{ColId, Expr, Pred, Typed};
use logical::order::SortKey;
use logical::tree::input::Input;
use logical::tree::{BoundQuery, CteDef, Logical, OutColumn};
use std::sync::Arc;
use syntax::ast::{self, QueryBody, SelectItem};
use types::{Collation, DataType, SqlError, msg};

/// A key of ORDER BY, and the item of the list that it is.
type ListedKey = (SortKey, Option<usize>);

impl Binder<'_> {
    /// Binds a whole query as a block of its own.
    pub fn query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        self.scopes.push(Scope::default());
        let bound = self.query_in_scope(query);
        self.scopes.pop();
        bound
    }

    /// Binds the query of a derived table, subquery or common table expression in the block that is
    /// on top of the stack: it has an order only to say which rows TOP or OFFSET mean (1033).
    /// Behind a UNION a TOP in one of its parts will do.
    pub fn inner_query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let orders =
            !query.order_by.is_empty() && query.offset.is_none() && query.for_clause.is_none();
        if orders && !has_top(&query.body) {
            return Err(SqlError::of(msg::ORDER_BY_IN_VIEW, []));
        }
        self.query_in_scope(query)
    }

    fn query_in_scope(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        self.deeper_block(|b| b.block(query))
    }

    fn block(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let whole = std::mem::take(&mut self.whole);
        match &query.for_clause {
            Some(clause) if clause.kind != ast::ForKind::Browse => {
                self.document(query, clause, whole)
            }
            clause => {
                self.browsing = whole && (clause.is_some() || self.env.options.browse);
                self.plain_query(query)
            }
        }
    }

    /// The query without what FOR makes of it.
    pub(super) fn plain_query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let before = self.ctes.len();
        let known = self.push_ctes(&query.ctes);
        let bound = known.and_then(|()| match &query.body {
            QueryBody::Select(select) => self.select(select, query),
            QueryBody::Set { .. } | QueryBody::Ordered(_) => self.set_query(query),
        });
        self.ctes.truncate(before);
        bound
    }

    /// Brings WITH's names in sight.
    ///
    /// # Errors
    /// 3617; 8623: each mention of a name is looked for among them.
    pub fn push_ctes(&mut self, ctes: &[ast::Cte]) -> Result<(), SqlError> {
        for cte in ctes {
            self.check_cancel()?;
            self.count_node()?;
            let visible = self.ctes.len();
            self.ctes.push(Arc::new(CteDef {
                name: fold_name(&cte.name.value),
                columns: cte.columns.clone(),
                query: cte.query.clone(),
                visible,
            }));
        }
        Ok(())
    }

    fn select(&mut self, select: &ast::Select, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let browsing = std::mem::take(&mut self.browsing);
        let for_exists = std::mem::take(&mut self.for_exists);
        let mut logical = self.from_clause(&select.from)?;
        self.scope()?.visible = true;
        self.scope()?.named_windows = select.windows.clone();
        let mut counted = None;
        if let Some(filter) = &select.filter {
            let preds = self.filter(filter, Clause::Where)?;
            if select.group_by.as_ref().is_some_and(|group| group.all) {
                counted = Some(preds);
            } else {
                logical = Logical::Filter { input: Input::new(logical), preds };
            }
        }
        let (blocks, subqueries) = (self.scopes.len(), self.subqueries.len());
        let noted = self.noted_unresolved();
        let mut bound = self.list_of_groups(select, query, for_exists);
        if self.begins_to_group(blocks, subqueries)? {
            self.forget_unresolved(noted);
            bound = self.list_of_groups(select, query, for_exists);
        }
        let (having, mut list, keys) = bound?;
        if browsing && list.assignments.is_empty() && !select.distinct {
            self.browse(&mut list.items);
        }
        self.scope()?.allow_windows = false;
        logical = self.grouped_plan(logical, counted, having)?;
        self.finish_select(logical, (select, query), list, keys)
    }

    /// What follows the rows of a block: its groups, HAVING, the list, and ORDER BY.
    fn list_of_groups(
        &mut self,
        select: &ast::Select,
        query: &ast::Query,
        for_exists: bool,
    ) -> Result<(Vec<Pred>, SelectList, Vec<ListedKey>), SqlError> {
        self.group_by(select, query)?;
        self.scope()?.listing = true;
        let having = match &select.having {
            Some(e) => self.filter(e, Clause::Having)?,
            None => Vec::new(),
        };
        self.scope()?.clause = Clause::Select;
        self.scope()?.allow_windows = true;
        let known = self.known_values();
        // Of groups `*` has no columns: EXISTS asks for none.
        let list_is_rows = for_exists && self.scope()?.grouping.is_some();
        let list = self.select_list(select, list_is_rows)?;
        self.check_values_since(known, select.distinct, !query.order_by.is_empty())?;
        let keys = self.order_keys(select, query, &list.items)?;
        self.scope()?.listing = false;
        Ok((having, list, keys))
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
            SelectItem::Expr { expr, .. } | SelectItem::Assign { expr, .. } => {
                self.has_own_aggregate(expr)
            }
            SelectItem::Wildcard { .. } => false,
        });
        let in_order = query.order_by.iter().any(|item| self.has_own_aggregate(&item.expr));
        let written = select.group_by.is_some() || select.having.is_some();
        if !written && !in_items && !in_order && self.scope()?.grouping.is_none() {
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
            logical = Logical::Filter { input: Input::new(logical), preds: having };
        }
        let calls = std::mem::take(&mut self.scope()?.windows);
        if !calls.is_empty() {
            logical = Logical::Window { input: Input::new(logical), calls };
        }
        Ok(logical)
    }

    /// The rows of a block as its list, DISTINCT, ORDER BY and TOP make them; `keys`: with the
    /// items that they are.
    fn finish_select(
        &mut self,
        mut logical: Logical,
        (select, query): (&ast::Select, &ast::Query),
        list: SelectList,
        keys: Vec<(SortKey, Option<usize>)>,
    ) -> Result<BoundQuery, SqlError> {
        let SelectList { items, mut assignments } = list;
        let mut columns = Vec::with_capacity(items.len());
        let mut exprs = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            self.check_cancel()?;
            bind_ops::check_result_column(&item.typed, at + 1)?;
            let column = self.out_column(item, &mut exprs);
            if select.distinct && column.ty.check_comparable().is_err() {
                return Err(not_distinct(column.ty));
            }
            columns.push(column);
        }
        let mut different: Vec<(ColId, Collation)> = Vec::new();
        if select.distinct {
            different.extend(columns.iter().map(|c: &OutColumn| (c.id, c.collation)));
            for (slot, e) in &mut assignments {
                different.push(self.different_value(*slot, e, &mut exprs)?);
            }
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
            logical = Logical::Project { input: Input::new(logical), exprs };
        }
        if select.distinct {
            logical = Logical::Distinct { input: Input::new(logical), cols: different };
        }
        let ties = sort.clone();
        if !sort.is_empty() {
            logical = Logical::Sort { input: Input::new(logical), keys: sort };
        }
        if let Some(top) = &select.top {
            let spec = self.top(top, ties)?;
            logical = Logical::Top { input: Input::new(logical), top: spec };
        }
        self.offset_fetch(query, BoundQuery { logical, columns, assignments })
    }

    /// What a variable is given by SELECT DISTINCT, as a column among `exprs`.
    fn different_value(
        &mut self,
        slot: usize,
        e: &mut Expr,
        exprs: &mut Vec<(ColId, Expr)>,
    ) -> Result<(ColId, Collation), SqlError> {
        let ty = self.env.vars.get(slot).map_or(DataType::SqlVariant, |(_, ty)| ty);
        if ty.check_comparable().is_err() {
            return Err(not_distinct(ty));
        }
        let id = self.new_col();
        exprs.push((id, std::mem::replace(e, Expr::Col(id))));
        Ok((id, self.collation()))
    }

    /// An item as a column of the result; what must be computed for it joins `exprs`.
    fn out_column(&mut self, item: Item, exprs: &mut Vec<(ColId, Expr)>) -> OutColumn {
        let untyped = item.typed.is_null_literal();
        let Typed { expr, ty, nullable, collation, label, .. } = item.typed;
        let id = match expr {
            Expr::Col(id) => id,
            e => {
                let id = self.new_col();
                exprs.push((id, e));
                id
            }
        };
        let base = self.base_column(id);
        let used = base.and_then(|(source, at)| Some((self.table_of(source)?, at)));
        let column = used.and_then(|(table, at)| table.columns.get(at));
        let identity = column.and_then(|column| column.identity);
        let computed = base.is_none() || column.is_some_and(|column| column.computed.is_some());
        let table = used
            .filter(|_| ty.is_old_lob())
            .map(|(table, _)| Arc::new([table.schema.clone(), table.name.clone()]));
        let base = base.is_some();
        OutColumn {
            name: item.name,
            id,
            ty,
            nullable,
            collation,
            label,
            untyped,
            identity,
            base,
            computed,
            table,
        }
    }

    /// The table of the block that a column is of as it is, and its place there.
    fn base_column(&self, id: ColId) -> Option<(&Source, usize)> {
        let mut tables = self.scopes.last()?.sources.iter().filter(|s| s.object_id != 0);
        // A table's columns have ids in their order.
        tables.find_map(|s| Some((s, s.columns.binary_search_by_key(&id, |c| c.id).ok()?)))
    }

    /// The definition of a source that is a table.
    fn table_of(&self, source: &Source) -> Option<&TableDef> {
        let named = (source.db_id, source.object_id);
        self.tables.iter().find(|u| (u.db.id(), u.table.object_id) == named).map(|u| &*u.table)
    }
}

/// 421: DISTINCT of values that cannot be compared.
fn not_distinct(ty: DataType) -> SqlError {
    let name = ty.base_name();
    SqlError::of(msg::DISTINCT_NOT_COMPARABLE, [&name])
}

/// Whether TOP stands in a query, or in a part of a set operation.
fn has_top(body: &QueryBody) -> bool {
    stack::with_room(|| match body {
        QueryBody::Select(select) => select.top.is_some(),
        QueryBody::Ordered(query) => has_top(&query.body),
        QueryBody::Set { left, right, .. } => has_top(left) || has_top(right),
    })
}
