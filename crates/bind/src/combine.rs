//! What is bound already, put together: AND, OR, NOT, CASE.
//! Guarantees: constants are taken out, nested lists are one; the results of a CASE have one type.

use expr::{CaseExpr, Expr, Pred, Typed};
use types::SqlError;

/// CASE from bound branches: all results meet in one type.
pub(crate) fn case_of(branches: Vec<(Pred, Typed)>, otherwise: Typed) -> Result<Typed, SqlError> {
    let results: Vec<&Typed> = branches.iter().map(|(_, then)| then).chain([&otherwise]).collect();
    let (ty, label, collation) = expr::bind_ops::unified(&results, "CASE")?;
    let nullable = results.iter().any(|r| r.nullable);
    let branches = branches
        .into_iter()
        .map(|(when, then)| Ok((when, expr::bind_ops::implicit_in(then, ty, collation)?)))
        .collect::<Result<Vec<_>, SqlError>>()?;
    let otherwise = expr::bind_ops::implicit_in(otherwise, ty, collation)?;
    let expr = Expr::Case(Box::new(CaseExpr::new(branches, otherwise)));
    Ok(Typed { collation, label, ..Typed::new(expr, ty, nullable) })
}

/// AND, with constants taken out.
pub fn conjunction(list: Vec<Pred>) -> Pred {
    let mut flat = Vec::with_capacity(list.len());
    for p in list {
        match p {
            Pred::And(inner) => flat.extend(inner),
            Pred::Const(Some(true)) => {}
            Pred::Const(Some(false)) => return Pred::Const(Some(false)),
            other => flat.push(other),
        }
    }
    match flat.len() {
        0 => Pred::Const(Some(true)),
        1 => flat.remove(0),
        _ => Pred::And(flat),
    }
}

pub(super) fn disjunction(list: Vec<Pred>) -> Pred {
    let mut flat = Vec::with_capacity(list.len());
    for p in list {
        match p {
            Pred::Or(inner) => flat.extend(inner),
            Pred::Const(Some(false)) => {}
            other => flat.push(other),
        }
    }
    match flat.len() {
        0 => Pred::Const(Some(false)),
        1 => flat.remove(0),
        _ => Pred::Or(flat),
    }
}

/// NOT, pushed into what can carry it.
pub fn negate(p: Pred) -> Pred {
    match p {
        Pred::Const(truth) => Pred::Const(truth.map(|t| !t)),
        Pred::IsNull(e, negated) => Pred::IsNull(e, !negated),
        Pred::Distinct(c, negated) => Pred::Distinct(c, !negated),
        Pred::Like(mut l) => {
            l.negated = !l.negated;
            Pred::Like(l)
        }
        Pred::InList(mut l) => {
            l.negated = !l.negated;
            Pred::InList(l)
        }
        Pred::Not(inner) => *inner,
        other => Pred::Not(Box::new(other)),
    }
}
