//! The range of texts in which all those lie that LIKE may take, of a pattern that is known when
//! the statement runs. No text of T-SQL names these functions: seeks are made of them.
//! Guarantees: the range lacks no text that matches under a collation that keeps prefixes together
//! (`Collation::keeps_prefixes`); it is that of all texts where the pattern begins with a wildcard,
//! or is none, which LIKE itself tells of the row that it is asked for; NULL gives NULL.

use super::string_search::check_search_length;
use super::{ArgRule, CallCx, Function, ResultRule, Stability, int_arg, text_arg};
use crate::{CallExpr, Expr};
use types::like::LikePattern;
use types::{Collation, DataType, Len, SqlError, Value};

const RESULT: ResultRule = |_, _| Ok(DataType::NVarChar(Len::Max));

/// The pattern, and what escapes in it.
static START: Function = Function {
    name: "likerangestart",
    min: 1,
    max: 2,
    args: &[ArgRule::Any],
    result: RESULT,
    strict: true,
    stability: Stability::Pure,
    nullable: false,
    eval: start,
};

/// Characters of the longest text, and what [`START`] takes.
static END: Function = Function {
    name: "likerangeend",
    min: 2,
    max: 3,
    args: &[ArgRule::Any],
    result: RESULT,
    strict: true,
    stability: Stability::Pure,
    nullable: false,
    eval: end,
};

/// Both ends of the range, themselves in it, among texts of so many characters at most.
pub fn range(
    pattern: &Expr,
    escape: Option<&Expr>,
    longest: u16,
    collation: Collation,
) -> [Expr; 2] {
    let own: Vec<Expr> = std::iter::once(pattern).chain(escape).cloned().collect();
    let mut all = vec![Expr::Const(Value::Int(longest.into()))];
    all.extend(own.iter().cloned());
    let call = |function: &'static Function, args: Vec<Expr>| {
        let ty = DataType::NVarChar(Len::Max);
        let types = args
            .iter()
            .map(|arg| if matches!(arg, Expr::Const(Value::Int(_))) { DataType::Int } else { ty })
            .collect();
        Expr::Call(Box::new(CallExpr { function, args, types, ty, collation, lenient: false }))
    };
    [call(&START, own), call(&END, all)]
}

fn start(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    Ok(Value::str(beginning(args)))
}

/// What they begin with and the highest character, as often as fits: characters are weighed one by
/// one, so that no text is above.
fn end(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let longest = usize::try_from(int_arg(args, 0)).unwrap_or(0);
    let mut last = beginning(args.get(1..).unwrap_or_default());
    last.extend(std::iter::repeat_n(char::MAX, longest));
    Ok(Value::str(last))
}

/// What all texts begin with that match. Blanks at the end do not count when texts are compared:
/// without them the range is the wider one.
fn beginning(args: &[Value]) -> String {
    let (pattern, escape) = (text_arg(args, 0), args.get(1).and_then(Value::as_str));
    let read = match check_search_length(pattern, false) {
        Ok(()) => LikePattern::new(pattern, escape).ok(),
        Err(_) => None,
    };
    read.map_or_else(String::new, |read| read.prefix().trim_end_matches(' ').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constant;

    fn ends(pattern: Value, escape: Option<&str>) -> [Value; 2] {
        let escape = escape.map(|text| Expr::Const(Value::str(text)));
        let ends = range(&Expr::Const(pattern), escape.as_ref(), 3, Collation::DEFAULT);
        ends.map(|end| end.eval(&[], &mut Constant::default()).unwrap())
    }

    fn between(first: &str) -> [Value; 2] {
        let last: String = first.chars().chain([char::MAX; 3]).collect();
        [Value::str(first), Value::str(last)]
    }

    #[test]
    fn ranges_of_patterns() {
        for (pattern, escape, first) in [
            ("abc%", None, "abc"),
            ("ab_c", None, "ab"),
            ("a[bc]%", None, "a"),
            ("abc  ", None, "abc"),
            ("a!%b%", Some("!"), "a%b"),
            ("%abc", None, ""),
            ("", None, ""),
            ("  %", None, ""),
            // No pattern: LIKE tells of it.
            ("a!%b%", Some("!!"), ""),
        ] {
            assert_eq!(ends(Value::str(pattern), escape), between(first), "{pattern}");
        }
        assert_eq!(ends(Value::Null, None), [Value::Null, Value::Null]);
    }
}
