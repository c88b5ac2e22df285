//! The methods of the type hierarchyid as functions: the binder calls them with the value first.
//! Their names are those that texts cannot have.

use types::convert::hierarchy::{failed, parsed, path_of};
use types::hierarchy::{Misplaced, Path};
use types::{DataType, SqlError, Value};

use super::{ArgRule as A, Function, Stability, int_arg, text_arg};

const fn f(
    name: &'static str,
    args: &'static [A],
    result: super::ResultRule,
    strict: bool,
    eval: super::Eval,
) -> Function {
    let count = args.len() as u8;
    Function {
        name,
        min: count,
        max: count,
        args,
        result,
        strict,
        stability: Stability::Pure,
        nullable: true,
        eval,
    }
}

const H: A = A::Hierarchy;

fn hierarchy(_: &[DataType], _: &[crate::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::HierarchyId)
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f("hierarchyid::GetRoot", &[], hierarchy, true, |_, _| Ok(Value::bytes(Vec::new()))),
    f("hierarchyid::Parse", &[A::Name], hierarchy, true, |args, _| parsed(text_arg(args, 0))),
    f("hierarchyid.ToString", &[H], super::nvarchar_4000, true, |args, _| {
        Ok(Value::str(path(args, 0)?.to_text()))
    }),
    f(
        "hierarchyid.GetLevel",
        &[H],
        |_, _| Ok(DataType::SmallInt),
        true,
        |args, _| Ok(Value::SmallInt(path(args, 0)?.level() as i16)),
    ),
    f("hierarchyid.GetAncestor", &[H, A::Int], hierarchy, true, |args, _| {
        let Ok(up) = usize::try_from(int_arg(args, 1)) else {
            return Err(failed(
                24_011,
                "SqlHierarchyId.GetAncestor failed because 'n' was negative.",
            ));
        };
        Ok(path(args, 0)?.ancestor(up).map_or(Value::Null, |path| value(&path)))
    }),
    f(
        "hierarchyid.IsDescendantOf",
        &[H, H],
        |_, _| Ok(DataType::Bit),
        true,
        |args, _| Ok(Value::Bit(path(args, 0)?.is_below(&path(args, 1)?))),
    ),
    f("hierarchyid.GetReparentedValue", &[H, H, H], hierarchy, true, |args, _| {
        let moved = path(args, 0)?.moved(&path(args, 1)?, &path(args, 2)?);
        moved.map(|path| value(&path)).ok_or_else(|| {
            failed(
                24_009,
                "SqlHierarchyId.GetReparentedValue failed because 'oldRoot' was not an ancestor node of 'this'.",
            )
        })
    }),
    f("hierarchyid.GetDescendant", &[H, H, H], hierarchy, false, |args, _| {
        if args[0].is_null() {
            return Ok(Value::Null);
        }
        let end = |at: usize| if args[at].is_null() { Ok(None) } else { path(args, at).map(Some) };
        let (low, high) = (end(1)?, end(2)?);
        let child = path(args, 0)?.child(low.as_ref(), high.as_ref());
        child.map(|path| value(&path)).map_err(|why| {
            let why = match why {
                Misplaced::Low => "'child1' must be a child of 'this'.",
                Misplaced::High => "'child2' must be a child of 'this'.",
                Misplaced::Order => "'child1' must be less than 'child2'.",
            };
            failed(24_008, &format!("SqlHierarchyId.GetDescendant failed because {why}"))
        })
    }),
];

fn path(args: &[Value], at: usize) -> Result<Path, SqlError> {
    path_of(args[at].as_bytes().unwrap_or_default())
}

/// The value of a path; NULL for one that is too long, which no argument can be made of.
fn value(path: &Path) -> Value {
    path.to_bytes().map_or(Value::Null, Value::bytes)
}
