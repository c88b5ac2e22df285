//! A view that is a UNION ALL of tables, bound as one of its tables: a change of a partitioned view
//! is a change of each of them.
//! Guarantees: within the statement every mention of the view means that one table; each mention of
//! a table is noted, so that whoever changes the tables one after another can refuse a statement
//! that reads one of them as well.

use super::Binder;
use catalog::{Db, ModuleDef, TableDef};
use compact_str::CompactString;
use logical::tree::{Get, Logical};
use std::sync::Arc;
use syntax::ast::{self, ExprKind, QueryBody, SelectItem, SetOp, TableRefKind};

/// The one table that a view stands for, and what the statement reads besides.
#[derive(Debug)]
pub struct ViewMember {
    /// The view: its database and object_id.
    view: (i32, i32),
    /// The SELECT of the table.
    query: Arc<ast::Query>,
    /// The columns as the view names them.
    names: Arc<[CompactString]>,
    /// Tables in the order in which the statement mentions them: database and object_id.
    reads: Vec<(i32, i32)>,
}

impl ViewMember {
    /// A view whose rows are those of one of its SELECTs.
    pub fn new(
        db: &Db,
        view: &ModuleDef,
        query: Arc<ast::Query>,
        names: Arc<[CompactString]>,
    ) -> Box<ViewMember> {
        Box::new(ViewMember { view: (db.id(), view.object_id), query, names, reads: Vec::new() })
    }

    /// The tables that were bound, a table as often as it was mentioned: database and object_id.
    pub fn reads(&self) -> &[(i32, i32)] {
        &self.reads
    }
}

impl Binder<'_> {
    /// The SELECT that stands for a view in this statement, with the names of its columns.
    pub(super) fn standing_for(
        &self,
        db: &Db,
        view: &ModuleDef,
    ) -> Option<(Arc<ast::Query>, Arc<[CompactString]>)> {
        let member = self.member.as_ref()?;
        (member.view == (db.id(), view.object_id))
            .then(|| (member.query.clone(), member.names.clone()))
    }

    /// A table was bound. What the predicates of security policies read is theirs.
    #[inline]
    pub(super) fn note_mention(&mut self, db: &Db, table: &TableDef) {
        if let Some(member) = &mut self.member
            && self.open_policies.is_empty()
        {
            member.reads.push((db.id(), table.object_id));
        }
    }
}

/// The SELECTs of a view that has the form of a partitioned one: UNION ALL of plain columns of one
/// table each, and nothing else.
pub fn members_of(view: &ModuleDef) -> Option<Vec<ast::Query>> {
    let query = &view.view()?.query;
    let plain = query.ctes.is_empty()
        && query.order_by.is_empty()
        && query.offset.is_none()
        && query.for_clause.is_none()
        && matches!(query.body, QueryBody::Set { .. });
    let mut selects = Vec::new();
    if !plain || !unite(&query.body, &mut selects) {
        return None;
    }
    let alone = |select: &ast::Select| ast::Query {
        ctes: Vec::new(),
        body: QueryBody::Select(Box::new(select.clone())),
        order_by: Vec::new(),
        offset: None,
        fetch: None,
        for_clause: None,
        options: Vec::new(),
        span: query.span,
    };
    Some(selects.into_iter().map(alone).collect())
}

/// Gathers the SELECTs of a UNION ALL, from the left; false where it has another operator or a
/// SELECT of another form.
fn unite<'q>(body: &'q QueryBody, out: &mut Vec<&'q ast::Select>) -> bool {
    stack::with_room(|| match body {
        QueryBody::Set { op: SetOp::Union, all: true, left, right } => {
            unite(left, out) && unite(right, out)
        }
        QueryBody::Select(select) if is_plain(select) => {
            out.push(select);
            true
        }
        QueryBody::Select(_) | QueryBody::Set { .. } | QueryBody::Ordered(_) => false,
    })
}

fn is_plain(select: &ast::Select) -> bool {
    let one = |from: &[ast::TableRef]| match from {
        [table] => {
            matches!(&table.kind, TableRefKind::Named { sample: None, system_time: None, .. })
        }
        _ => false,
    };
    let column = |item: &SelectItem| match item {
        SelectItem::Wildcard { .. } => true,
        SelectItem::Expr { expr, .. } => matches!(expr.kind, ExprKind::Column(_)),
        SelectItem::Assign { .. } => false,
    };
    !select.distinct
        && select.top.is_none()
        && select.into.is_none()
        && select.filter.is_none()
        && select.group_by.is_none()
        && select.having.is_none()
        && select.windows.is_empty()
        && one(&select.from)
        && select.items.iter().all(column)
}

/// The table of a bound SELECT that is nothing but columns of one.
pub fn table_of(logical: &Logical) -> Option<&Get> {
    stack::with_room(|| match logical {
        Logical::Get(get) => Some(&**get),
        Logical::Filter { input, .. } | Logical::Project { input, .. } => table_of(input),
        _ => None,
    })
}
