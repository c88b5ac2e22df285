//! APPLY of aggregates over the rows that belong to a left row: it gives each left row one row, so
//! that the groups are joined by a left join, whichever kind of APPLY it is.

use super::groups::{Groups, put_outer};
use crate::rewrite::rule::Pass;
use expr::Expr;
use logical::tree::input::Input;
use logical::tree::{JoinKind, Logical};

/// An APPLY, or what is the same. `asked`: so many of the left rows are wanted at most.
pub fn joined(
    outer: bool,
    left: Input,
    right: Input,
    args: Vec<(usize, Expr)>,
    (left_rows, asked): (f64, f64),
    pass: &mut Pass<'_, '_>,
) -> Logical {
    let groups = match super::is_full(pass) {
        true => None,
        false => Groups::of_query(&right, &args, asked, pass.statement),
    };
    let fits = |groups: &Groups| {
        let computed = groups.exprs.iter().flatten();
        groups.pay(asked, left_rows)
            && !groups.may_fail()
            && !computed.into_iter().any(|(_, e)| e.has_subquery() || e.is_volatile())
    };
    let Some(mut groups) = groups.filter(fits) else {
        return Logical::Apply { outer, left, right, args };
    };
    pass.changed();
    let renamed = groups.rename(pass.statement);
    let (right, on) = (Input::new(groups.grouped()), groups.on);
    let joined = Logical::Join { kind: JoinKind::Left, left, right, on, hint: None };
    let values = Logical::Project { input: Input::new(joined), exprs: renamed };
    let Some(mut exprs) = groups.exprs else { return values };
    for (_, e) in &mut exprs {
        e.leaves_mut(&mut |leaf| put_outer(leaf, &args));
    }
    Logical::Project { input: Input::new(values), exprs }
}
