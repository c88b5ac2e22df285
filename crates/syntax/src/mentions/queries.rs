//! What queries and expressions mention.

use super::{MentionWalk, Use};
use crate::ast::*;

impl MentionWalk<'_> {
    pub(super) fn query(&mut self, query: &Query) {
        self.with_ctes(&query.ctes, |walk| {
            walk.query_body(&query.body, &query.order_by);
            walk.exprs(query.offset.iter().chain(&query.fetch));
        });
    }

    /// `order`: keys that see the sources of a single SELECT.
    fn query_body(&mut self, body: &QueryBody, order: &[OrderItem]) {
        match body {
            QueryBody::Select(select) => self.select(select, order),
            QueryBody::Set { left, right, .. } => {
                self.query_body(left, &[]);
                self.query_body(right, &[]);
            }
            QueryBody::Ordered(query) => self.query(query),
        }
    }

    fn select(&mut self, select: &Select, order: &[OrderItem]) {
        self.to.enter();
        self.sources(&select.from);
        self.conditions(&select.from);
        self.items(&select.items);
        self.exprs(select.top.iter().map(|top| &top.count));
        self.exprs(&select.filter);
        if let Some(group) = &select.group_by {
            group.items.iter().for_each(|item| self.group(item));
        }
        self.exprs(&select.having);
        select.windows.iter().for_each(|window| self.over(&window.over));
        // A name may be that of a column of the result: then no source has it, or it is the same
        // one.
        self.exprs(order.iter().map(|item| &item.expr));
        if let Some(into) = &select.into {
            self.to.object(&into.table, None, Use::Write);
        }
        self.to.leave();
    }

    pub(super) fn items(&mut self, items: &[SelectItem]) {
        for item in items {
            match item {
                SelectItem::Wildcard { qualifier, .. } => self.to.star(qualifier.as_ref()),
                SelectItem::Expr { expr, .. } | SelectItem::Assign { expr, .. } => self.expr(expr),
            }
        }
    }

    fn group(&mut self, item: &GroupItem) {
        match item {
            GroupItem::Expr(expr) => self.expr(expr),
            GroupItem::Composite(list) => self.exprs(list),
            GroupItem::Rollup(list) | GroupItem::Cube(list) | GroupItem::Sets(list) => {
                list.iter().for_each(|item| self.group(item));
            }
        }
    }

    fn over(&mut self, over: &Over) {
        self.exprs(&over.partition_by);
        self.exprs(over.order_by.iter().map(|item| &item.expr));
    }

    pub(super) fn is_cte(&self, name: &ObjectName) -> bool {
        name.is_bare() && self.ctes.contains(&name.name.value.to_lowercase())
    }

    pub(super) fn sources(&mut self, from: &[TableRef]) {
        from.iter().for_each(|table| self.source(table));
    }

    pub(super) fn conditions(&mut self, from: &[TableRef]) {
        from.iter().for_each(|table| self.condition(table));
    }

    /// The sources of FROM, so that all of them are in sight of its conditions.
    pub(super) fn source(&mut self, table: &TableRef) {
        match &table.kind {
            TableRefKind::Named { name, alias, .. } if self.is_cte(name) => {
                self.to.source(alias.as_ref().unwrap_or(&name.name).as_str());
            }
            TableRefKind::Named { name, alias, .. } => {
                self.to.object(name, alias.as_ref(), Use::Read)
            }
            TableRefKind::Variable { name, alias, .. } => {
                self.to.source(alias.as_ref().map_or(name.as_str(), Ident::as_str));
            }
            TableRefKind::Function { name, alias, .. } => {
                self.to.object(name, alias.as_ref(), Use::Call)
            }
            TableRefKind::Method { alias, .. } => {
                self.to.source(alias.as_ref().map_or("", Ident::as_str));
            }
            TableRefKind::Derived { query, alias, .. } => {
                self.query(query);
                self.to.source(alias.as_str());
            }
            TableRefKind::Change { stmt, alias, .. } => {
                self.kind(&stmt.kind);
                self.to.source(alias.as_str());
            }
            TableRefKind::Bulk { alias, .. } => {
                self.to.source(alias.as_ref().map_or("", Ident::as_str));
            }
            TableRefKind::Values { alias, .. } => self.to.source(alias.as_str()),
            TableRefKind::Join { left, right, .. } | TableRefKind::Apply { left, right, .. } => {
                self.source(left);
                self.source(right);
            }
            TableRefKind::Pivot { input, alias, .. }
            | TableRefKind::Unpivot { input, alias, .. } => {
                self.source(input);
                self.to.source(alias.as_str());
            }
        }
    }

    /// What the sources of FROM compute.
    pub(super) fn condition(&mut self, table: &TableRef) {
        match &table.kind {
            TableRefKind::Function { args, .. } => self.exprs(args),
            TableRefKind::Method { call, .. } => self.expr(call),
            TableRefKind::Values { rows, .. } => self.exprs(rows.iter().flatten()),
            TableRefKind::Join { left, right, on, .. } => {
                self.condition(left);
                self.condition(right);
                self.exprs(on);
            }
            TableRefKind::Apply { left, right, .. } => {
                self.condition(left);
                self.condition(right);
            }
            TableRefKind::Pivot { input, aggregate, .. } => {
                self.condition(input);
                self.expr(aggregate);
            }
            TableRefKind::Unpivot { input, .. } => self.condition(input),
            TableRefKind::Named { .. }
            | TableRefKind::Variable { .. }
            | TableRefKind::Derived { .. }
            | TableRefKind::Change { .. }
            | TableRefKind::Bulk { .. } => {}
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Column(column) => self.to.column(column, false),
            ExprKind::Unary { operand, .. }
            | ExprKind::Collate { operand, .. }
            | ExprKind::Not(operand)
            | ExprKind::IsNull { operand, .. } => self.expr(operand),
            ExprKind::Binary { left, right, .. }
            | ExprKind::Compare { left, right, .. }
            | ExprKind::IsDistinct { left, right, .. } => self.exprs([&**left, &**right]),
            ExprKind::AtTimeZone { operand, zone } => self.exprs([&**operand, &**zone]),
            ExprKind::Case { operand, branches, otherwise } => {
                self.exprs(operand.iter().chain(otherwise).map(|e| &**e));
                self.exprs(branches.iter().flat_map(|branch| [&branch.when, &branch.then]));
            }
            ExprKind::Cast { operand, target, .. } => {
                self.to.data_type(target);
                self.expr(operand);
            }
            ExprKind::Identity { target, .. } => self.to.data_type(target),
            ExprKind::Convert { target, operand, style, .. } => {
                self.to.data_type(target);
                self.exprs(style.iter().map(|e| &**e).chain([&**operand]));
            }
            ExprKind::Parse { operand, culture, .. } => {
                self.exprs(culture.iter().map(|e| &**e).chain([&**operand]));
            }
            ExprKind::Function(call) | ExprKind::FullText(call) => self.call(call),
            ExprKind::NextValueFor { sequence, over } => {
                self.to.object(sequence, None, Use::Sequence);
                over.iter().for_each(|over| self.over(over));
            }
            ExprKind::Method { target, args, .. } => {
                self.expr(target);
                self.exprs(args);
            }
            ExprKind::StaticMember { args, .. } => self.exprs(args.iter().flatten()),
            ExprKind::Subquery(query) | ExprKind::Exists(query) => self.query(query),
            ExprKind::Quantified { left, query, .. } => {
                self.expr(left);
                self.query(query);
            }
            ExprKind::InQuery { operand, query, .. } => {
                self.expr(operand);
                self.query(query);
            }
            ExprKind::And(list) | ExprKind::Or(list) => self.exprs(list),
            ExprKind::Between { operand, low, high, .. } => {
                self.exprs([&**operand, &**low, &**high])
            }
            ExprKind::InList { operand, list, .. } => {
                self.expr(operand);
                self.exprs(list);
            }
            ExprKind::Like { operand, pattern, escape, .. } => {
                self.exprs([&**operand, &**pattern].into_iter().chain(escape.iter().map(|e| &**e)));
            }
            ExprKind::Literal(_)
            | ExprKind::OdbcLiteral { .. }
            | ExprKind::Default
            | ExprKind::Variable(_)
            | ExprKind::ColumnUpdated(_) => {}
            ExprKind::GlobalVariable(name) => self.to.built_in(name),
        }
    }

    fn call(&mut self, call: &FunctionCall) {
        // Functions of users have a schema.
        match call.name.is_bare() {
            true => self.to.built_in(call.name.name.as_str()),
            false => self.to.object(&call.name, None, Use::Call),
        }
        self.exprs(&call.args);
        self.exprs(call.within_group.iter().map(|item| &item.expr));
        call.over.iter().for_each(|over| self.over(over));
    }
}
