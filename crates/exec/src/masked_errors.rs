//! Hides the values that texts of errors name from users who may not see the values of masked
//! columns. Guarantee: a statement that reads no masked column pays one look at an empty list, and
//! that only when it fails.

use plan::Needs;
use session::state::core::SessionCore;
use types::{SqlError, msg};

/// An error of a statement as the caller may read it.
pub fn of_statement(session: &mut SessionCore, needs: &Needs, mut error: SqlError) -> SqlError {
    if needs.masked.is_empty() || session.sees(needs.masked.iter().copied()) {
        return error;
    }
    if let Some(text) = starred(&error) {
        error.message = text;
    }
    error
}

/// What stands for a value.
const STARS: &str = "******";

/// The text without what it says of a value; nothing where it says nothing of one.
fn starred(error: &SqlError) -> Option<String> {
    Some(match error.number {
        220 => msg::INTEGER_OVERFLOW.text([&STARS; 2]),
        232 => msg::FLOAT_OVERFLOW.text([&STARS; 2]),
        244 => msg::STRING_OVERFLOWS_SMALL_INTEGER.text([&STARS; 3]),
        245 => msg::CONVERSION_FAILED.text([&STARS; 3]),
        248 => msg::STRING_OVERFLOWS_INT.text([&STARS; 2]),
        // The key, the value that was cut: at the end.
        2601 | 2627 | 2628 => {
            let ends = [("The duplicate key value is (", ")."), ("Truncated value: '", "'.")];
            let (from, to) = ends.into_iter().find(|(from, _)| error.message.contains(from))?;
            let (before, _) = error.message.split_once(from)?;
            format!("{before}{from}{STARS}{to}")
        }
        13_609 => msg::JSON_SYNTAX.text([&STARS; 2]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_starred_out() {
        let of = |number, text: &str| starred(&SqlError::new(number, 16, 1, text));
        let duplicate = "Cannot insert duplicate key row in object 'dbo.t' with unique index 'i'. The duplicate key value is (a, b).";
        assert!(
            of(2601, duplicate).unwrap().ends_with("'i'. The duplicate key value is (******).")
        );
        let cut = "String or binary data would be truncated in table 'd.dbo.t', column 'a'. Truncated value: 'secret'.";
        assert!(of(2628, cut).unwrap().ends_with("column 'a'. Truncated value: '******'."));
        assert!(of(8134, "Divide by zero error encountered.").is_none());
    }
}
