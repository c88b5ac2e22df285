//! Values beside one another: their order, what comparisons hold, and a value as another kind.

use std::cmp::Ordering;

use crate::item::Atom;
use crate::path::{Cast, Compare};

pub(super) fn is_number(atom: &Atom) -> bool {
    matches!(atom, Atom::Number(_))
}

/// The order of two values: as numbers where one is a number, as truths where one is, else as
/// texts. None where one is not what the other is.
pub(super) fn compared(a: &Atom, b: &Atom) -> Option<Ordering> {
    if is_number(a) || is_number(b) {
        return a.number().partial_cmp(&b.number());
    }
    match (a, b) {
        (Atom::Binary(a, _), Atom::Binary(b, _)) => Some(a.cmp(b)),
        (Atom::Bool(a), b) => truth_of(b).map(|b| a.cmp(&b)),
        (a, Atom::Bool(b)) => truth_of(a).map(|a| a.cmp(b)),
        (a, b) => Some(a.text().cmp(&b.text())),
    }
}

fn truth_of(atom: &Atom) -> Option<bool> {
    match atom.text().trim() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

pub(super) fn satisfies(op: Compare, order: Ordering) -> bool {
    match op {
        Compare::Equal => order.is_eq(),
        Compare::NotEqual => order.is_ne(),
        Compare::Less => order.is_lt(),
        Compare::LessEqual => order.is_le(),
        Compare::Greater => order.is_gt(),
        Compare::GreaterEqual => order.is_ge(),
        Compare::Is | Compare::Before | Compare::After => false,
    }
}

/// A value as another kind; none where it is no such value, as SQL Server's casts of untyped data
/// give.
pub(crate) fn cast_to(cast: Cast, atom: &Atom) -> Option<Atom> {
    match cast {
        Cast::Text => Some(Atom::Text(atom.text().into_owned())),
        Cast::Untyped => Some(Atom::Untyped(atom.text().into_owned())),
        Cast::Number => Some(atom.number()).filter(|n| !n.is_nan()).map(Atom::Number),
        Cast::Whole { least, most } => {
            let whole = |n: &f64| !n.is_nan() && (n.fract() == 0.0 || is_number(atom));
            let inside = |n: &f64| (least as f64..=most as f64).contains(n);
            let n = Some(atom.number()).filter(whole).map(f64::trunc);
            n.filter(inside).map(Atom::Number)
        }
        Cast::Binary(encoding) => match atom {
            Atom::Binary(bytes, _) => Some(Atom::Binary(bytes.clone(), encoding)),
            Atom::Number(_) | Atom::Bool(_) => None,
            text => encoding.decode(&text.text()).map(|bytes| Atom::Binary(bytes, encoding)),
        },
        Cast::Bool if is_number(atom) => Some(Atom::Bool(atom.truth())),
        Cast::Bool => truth_of(atom).map(Atom::Bool),
    }
}
