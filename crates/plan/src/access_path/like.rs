//! LIKE with a pattern that is known when the statement runs: a range of a column, beside the
//! pattern itself, which is tested on what is found.

use crate::estimate::constant::known_pattern;
use expr::functions::like_range;
use expr::{Expr, LikeExpr, Pred};
use logical::tree::Get;
use types::{DataType, Len};

/// No key of an index is longer in bytes, and a character takes at least one.
const LONGEST_KEY: u16 = 1_900;

/// So many times more rows may match a pattern of which nothing is known than are guessed: it may
/// be `%`, and to look each of its rows up costs far more than to read the table.
pub(super) const DOUBT: f64 = 3.0;

/// Whether a condition is a range of which nothing is known.
pub(super) fn is_unknown(pred: &Pred, get: &Get) -> bool {
    matches!(pred, Pred::Like(like) if known_pattern(like, get).is_none())
}

/// The column, and both ends of its range. Nothing for a constant pattern (`rewrite::like_range`
/// has said its range), and where the pattern that the plan is made for begins with a wildcard: all
/// texts are read then, and an index that has them in order is of no use for it unless a hint wants
/// that.
pub(super) fn range_of(get: &Get, like: &LikeExpr) -> Option<(usize, [Expr; 2])> {
    let Expr::Col(id) = like.operand else { return None };
    let column = get.position(id)?;
    let def = &get.table.columns[column];
    let same = |e: &Expr| e.is_fixed() && !e.has_subquery();
    let sought = like.compiled.is_none()
        && !like.negated
        && def.collation == like.collation
        && like.collation.keeps_prefixes()
        && same(&like.pattern)
        && like.escape.as_ref().is_none_or(same);
    let vain =
        || known_pattern(like, get).is_some_and(|known| known.prefix().trim_end().is_empty());
    if !sought || get.hints.access.seek.is_none() && vain() {
        return None;
    }
    let longest = match def.ty {
        DataType::Char(n) | DataType::NChar(n) => n,
        DataType::VarChar(Len::N(n)) | DataType::NVarChar(Len::N(n)) => n,
        _ => return None,
    };
    let escape = like.escape.as_ref();
    Some((
        column,
        like_range::range(&like.pattern, escape, longest.min(LONGEST_KEY), like.collation),
    ))
}
