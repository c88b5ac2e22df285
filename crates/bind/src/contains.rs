//! What stands inside a written expression. Subqueries are blocks of their own: what they hold is
//! not inside.

use catalog::fold_name;
use expr::aggregate::AggKind;
use expr::same_syntax::date_part;
use std::cell::RefCell;
use syntax::ast::{self, ExprKind};

/// The call of an aggregate without OVER that an expression is.
pub fn as_aggregate(e: &ast::Expr) -> Option<&ast::FunctionCall> {
    match &e.kind {
        ExprKind::Function(call) => {
            // One with a schema is a user's.
            let own = call.over.is_none() && call.name.is_bare();
            (own && AggKind::from_name(&fold_name(&call.name.name.value)).is_some())
                .then_some(&**call)
        }
        _ => None,
    }
}

/// Whether an aggregate stands inside; subqueries are blocks of their own.
pub fn has_aggregate(e: &ast::Expr) -> bool {
    contains(e, &|e: &ast::Expr| as_aggregate(e).is_some())
}

/// The columns that are named in expressions, but for the parts of dates that look like columns
/// (`DATEADD(day, ...)`).
pub fn named_columns(list: &[ast::Expr]) -> Vec<ast::ColumnRef> {
    // By where they stand: what an argument is shows when the call around it is met, after it.
    let found: RefCell<Vec<(*const ast::Expr, ast::ColumnRef)>> = RefCell::default();
    let note = |e: &ast::Expr| {
        match &e.kind {
            ExprKind::Column(column) => {
                found.borrow_mut().push((std::ptr::from_ref(e), column.clone()))
            }
            ExprKind::Function(call) if date_part(call).is_some() => {
                let part = call.args.first().map(std::ptr::from_ref);
                found.borrow_mut().retain(|(at, _)| Some(*at) != part);
            }
            _ => {}
        }
        false
    };
    for e in list {
        contains(e, &note);
    }
    found.into_inner().into_iter().map(|(_, column)| column).collect()
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
                || over.is_some_and(|o| {
                    any(&o.partition_by) || o.order_by.iter().any(|i| one(&i.expr))
                })
        }
        ExprKind::Unary { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::Collate { operand, .. }
        | ExprKind::Parse { operand, .. }
        | ExprKind::IsNull { operand, .. }
        | ExprKind::InQuery { operand, .. } => one(operand),
        ExprKind::Convert { operand, style, .. } => one(operand) || opt(style),
        ExprKind::AtTimeZone { operand, zone } => one(operand) || one(zone),
        ExprKind::Method { target, args, .. } => one(target) || any(args),
        ExprKind::StaticMember { args, .. } => args.as_deref().is_some_and(any),
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
