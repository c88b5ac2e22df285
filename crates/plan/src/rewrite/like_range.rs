//! `x LIKE 'abc%'` of a column in the key of an index: the range of texts that begin with `abc`,
//! beside the pattern itself. The range may hold texts that do not match (the pattern is still
//! tested), never lack one that does.

use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use expr::{CompareExpr, Expr, LikeExpr, Pred};
use logical::tree::Logical;
use logical::tree::sources::source;
use syntax::ast::CompareOp;
use types::{DataType, Len, Value};

/// The rewrite.
pub static RULE: Rewrite = Rewrite { name: "LikeRange", apply: node };

fn node(logical: Logical, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    match with_inputs(logical, &mut |input| node(input, pass)) {
        Logical::Filter { input, mut preds } => {
            let ranges: Vec<Pred> =
                preds.iter().filter_map(|pred| range_of(pred, &input)).flatten().collect();
            if !ranges.is_empty() {
                pass.changed();
                preds.extend(ranges);
            }
            Logical::Filter { input, preds }
        }
        other => other,
    }
}

fn range_of(pred: &Pred, input: &Logical) -> Option<[Pred; 2]> {
    let Pred::Like(like) = pred else { return None };
    let Expr::Col(id) = like.operand else { return None };
    let get = source(input, id)?;
    let at = get.position(id)?;
    // Behind columns that have one value, or that are passed over, a range is sought as well.
    let indexed =
        get.table.all_indexes().any(|index| index.key.iter().any(|(column, _)| *column == at));
    let column = &get.table.columns[at];
    if like.negated
        || !indexed
        || column.collation != like.collation
        || !like.collation.keeps_prefixes()
    {
        return None;
    }
    bounds(like, longest(column.ty)?)
}

/// Characters of the longest text of a type.
fn longest(ty: DataType) -> Option<usize> {
    match ty {
        DataType::Char(n) | DataType::NChar(n) => Some(usize::from(n)),
        DataType::VarChar(Len::N(n)) | DataType::NVarChar(Len::N(n)) => Some(usize::from(n)),
        _ => None,
    }
}

/// `x >= prefix AND x <= prefix followed by the highest character, as often as fits`: collations
/// weigh characters one by one, so that no text with the prefix is above.
fn bounds(like: &LikeExpr, longest: usize) -> Option<[Pred; 2]> {
    // Blanks at the end do not count when texts are compared: without them the range is the wider
    // one.
    let prefix = like.compiled.as_ref()?.prefix().trim_end_matches(' ');
    if prefix.is_empty() {
        return None;
    }
    let last: String = prefix.chars().chain(std::iter::repeat_n(char::MAX, longest)).collect();
    let compare = |op, text: &str| {
        let right = Expr::Const(Value::str(text));
        let compare =
            CompareExpr { op, left: like.operand.clone(), right, collation: like.collation };
        Pred::Compare(Box::new(compare))
    };
    Some([compare(CompareOp::GreaterEqual, prefix), compare(CompareOp::LessEqual, &last)])
}
