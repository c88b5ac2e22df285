//! Whether two expressions are written the same way, as GROUP BY's keys and the expressions over
//! them are compared; and an index that finds those that are among thousands.
//! Guarantee: expressions that are written the same way have the same shape.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use syntax::ast::{self, ExprKind, Literal};
use types::datetime::DatePart;

/// Levels of an expression that its shape is made of: what it takes does not grow with the
/// expression.
const LEVELS: usize = 4;
/// Parts of one level that its shape is made of.
const PARTS: usize = 4;

/// Expressions by their shapes.
#[derive(Clone, Debug, Default)]
pub struct SyntaxIndex {
    places: HashMap<u64, Vec<usize>>,
}

impl SyntaxIndex {
    /// Adds an expression that stands at a place.
    pub fn add(&mut self, e: &ast::Expr, place: usize) {
        self.places.entry(shape(e)).or_default().push(place);
    }

    /// Places, in the order in which they were added, where an expression may be that is written
    /// the same way.
    pub fn candidates(&self, e: &ast::Expr) -> &[usize] {
        match self.places.is_empty() {
            true => &[],
            false => self.places.get(&shape(e)).map_or(&[], Vec::as_slice),
        }
    }
}

/// A number that is the same for expressions that are written the same way.
fn shape(e: &ast::Expr) -> u64 {
    let mut hasher = DefaultHasher::new();
    add_shape(e, LEVELS, &mut hasher);
    hasher.finish()
}

fn add_shape(e: &ast::Expr, levels: usize, to: &mut DefaultHasher) {
    use ExprKind as K;
    std::mem::discriminant(&e.kind).hash(to);
    if levels == 0 {
        return;
    }
    let mut parts = |parts: &mut dyn Iterator<Item = &ast::Expr>| {
        parts.take(PARTS).for_each(|part| add_shape(part, levels - 1, to));
    };
    match &e.kind {
        K::Binary { left, right, .. } | K::Compare { left, right, .. } => {
            parts(&mut [&**left, &**right].into_iter());
        }
        K::Unary { operand, .. }
        | K::Cast { operand, .. }
        | K::Convert { operand, .. }
        | K::IsNull { operand, .. }
        | K::Not(operand) => parts(&mut std::iter::once(&**operand)),
        K::Function(call) => {
            let part = date_part(call);
            parts(&mut call.args.iter().skip(usize::from(part.is_some())));
            add_name(part.map_or("", DatePart::name), to);
            add_name(&call.name.name.value, to);
        }
        K::Case { branches, otherwise, .. } => {
            let both = branches.iter().flat_map(|branch| [&branch.when, &branch.then]);
            parts(&mut both.chain(otherwise.as_deref()));
        }
        K::And(list) | K::Or(list) => parts(&mut list.iter()),
        // The table of a column may be left out.
        K::Column(column) => add_name(&column.name.value, to),
        K::Variable(name) => add_name(name, to),
        K::Literal(Literal::Integer(n)) => n.hash(to),
        K::Literal(
            Literal::Decimal(text)
            | Literal::Float(text)
            | Literal::Money(text)
            | Literal::String { value: text, .. },
        ) => text.hash(to),
        K::Literal(Literal::Binary(bytes)) => bytes.hash(to),
        _ => {}
    }
}

fn add_name(name: &str, to: &mut DefaultHasher) {
    name.bytes().for_each(|byte| to.write_u8(byte.to_ascii_lowercase()));
}

/// The part of a date that a function is called with, which has several names.
pub fn date_part(call: &ast::FunctionCall) -> Option<DatePart> {
    const OF_PARTS: [&str; 7] =
        ["dateadd", "datediff", "datediff_big", "datename", "datepart", "datetrunc", "date_bucket"];
    let ExprKind::Column(part) = &call.args.first()?.kind else { return None };
    let named = call.name.schema.is_none() && OF_PARTS.iter().any(|name| call.name.name.is(name));
    DatePart::from_name(&part.name.value).filter(|_| named && part.qualifier.is_none())
}

/// Whether two expressions are written the same way: spans, the case of names and which name of a
/// date's part it is apart.
pub fn same_syntax(a: &ast::Expr, b: &ast::Expr) -> bool {
    use ExprKind as K;
    let all = |a: &[ast::Expr], b: &[ast::Expr]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_syntax(a, b))
    };
    let option = |a: &Option<Box<ast::Expr>>, b: &Option<Box<ast::Expr>>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same_syntax(a, b),
        _ => false,
    };
    match (&a.kind, &b.kind) {
        (K::Literal(a), K::Literal(b)) => a == b,
        (K::Column(a), K::Column(b)) => {
            // One of them may leave out whose column it is.
            let other = |a: &ast::ObjectName, b: &ast::ObjectName| !a.name.is(&b.name.value);
            let others = a.qualifier.as_deref().zip(b.qualifier.as_deref());
            a.name.value.eq_ignore_ascii_case(&b.name.value)
                && !others.is_some_and(|(a, b)| other(a, b))
        }
        (K::Variable(a), K::Variable(b)) => a.eq_ignore_ascii_case(b),
        (K::Unary { op: o, operand: a }, K::Unary { op: p, operand: b }) => {
            o == p && same_syntax(a, b)
        }
        (K::Binary { op: o, left: l, right: r }, K::Binary { op: p, left: m, right: s }) => {
            o == p && same_syntax(l, m) && same_syntax(r, s)
        }
        (K::Compare { op: o, left: l, right: r }, K::Compare { op: p, left: m, right: s }) => {
            o == p && same_syntax(l, m) && same_syntax(r, s)
        }
        (K::Cast { operand: a, target: t, .. }, K::Cast { operand: b, target: u, .. }) => {
            same_syntax(a, b) && t.name.name.is(&u.name.name.value) && t.params == u.params
        }
        (
            K::Convert { target: t, operand: a, style: s, .. },
            K::Convert { target: u, operand: b, style: z, .. },
        ) => {
            same_syntax(a, b)
                && t.name.name.is(&u.name.name.value)
                && t.params == u.params
                && option(s, z)
        }
        (K::Function(a), K::Function(b)) => {
            a.name.name.is(&b.name.name.value)
                && a.distinct == b.distinct
                && match (date_part(a), date_part(b)) {
                    (Some(part), Some(other)) => part == other && all(&a.args[1..], &b.args[1..]),
                    _ => all(&a.args, &b.args),
                }
        }
        (
            K::Case { operand: a, branches: v, otherwise: x },
            K::Case { operand: b, branches: w, otherwise: y },
        ) => {
            let branches = v
                .iter()
                .zip(w)
                .all(|(v, w)| same_syntax(&v.when, &w.when) && same_syntax(&v.then, &w.then));
            option(a, b) && option(x, y) && v.len() == w.len() && branches
        }
        (K::IsNull { operand: a, negated: m }, K::IsNull { operand: b, negated: n }) => {
            m == n && same_syntax(a, b)
        }
        (K::And(a), K::And(b)) | (K::Or(a), K::Or(b)) => all(a, b),
        (K::Not(a), K::Not(b)) => same_syntax(a, b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> ast::Expr {
        let stmts = syntax::parse(&format!("SELECT {text}")).expect("it parses");
        let Some(ast::StmtKind::Select(query)) = stmts.into_iter().next().map(|stmt| stmt.kind)
        else {
            panic!("a query")
        };
        match query.body.first_select().items.first() {
            Some(ast::SelectItem::Expr { expr, .. }) => expr.clone(),
            _ => panic!("an expression"),
        }
    }

    #[test]
    fn the_same_syntax_has_the_same_shape() {
        let same = [
            ("a", "T.A"),
            ("a + 1", "A+1"),
            ("f(a, b, c, d, e)", "F(a,b,c,d,e)"),
            ("CASE WHEN a = 1 THEN 2 ELSE @x END", "case when t.a = 1 then 2 else @X end"),
            ("-a * (b - 'x')", "- a * (b - 'x')"),
            ("CAST(a AS int)", "cast(a as INT)"),
            ("DATEPART(yy, a)", "datepart(year, a)"),
            ("DATEDIFF(month, @t, a)", "datediff(mm, @t, a)"),
        ];
        for (a, b) in same {
            let (a, b) = (expression(a), expression(b));
            assert!(same_syntax(&a, &b) && shape(&a) == shape(&b), "{a:?} {b:?}");
        }
        let mut index = SyntaxIndex::default();
        let all: Vec<ast::Expr> = (0..100).map(|i| expression(&format!("a + {i}"))).collect();
        all.iter().enumerate().for_each(|(at, e)| index.add(e, at));
        assert_eq!(index.candidates(&all[42]), [42]);
        assert_eq!(index.candidates(&expression("a")), []);
    }
}
