//! Scalar functions by name: those of values (crate `expr`), and here those of the session, the
//! server and the catalog. Guarantees: names are unique over all lists and lower case.

pub mod activity;
pub mod cursors;
pub mod environment;
mod masks;
pub mod metadata;
mod passphrase;
pub mod properties;
pub mod row_version;
pub mod security;
pub mod sequence;
pub mod system;

use std::collections::HashMap;
use std::sync::OnceLock;

use expr::functions::{CallCx, Stability};
use types::SqlError;

use session::state::SessionCore;

pub use expr::functions::{ArgRule, Function, date, invalid_argument, required};

/// The functions of the session, the server and the catalog, theme by theme.
const LISTS: [&[Function]; 11] = [
    activity::FUNCTIONS,
    cursors::FUNCTIONS,
    system::FUNCTIONS,
    environment::FUNCTIONS,
    masks::FUNCTIONS,
    metadata::FUNCTIONS,
    passphrase::FUNCTIONS,
    properties::FUNCTIONS,
    row_version::FUNCTIONS,
    security::FUNCTIONS,
    sequence::FUNCTIONS,
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Function> {
    LISTS.into_iter().flatten()
}

/// The function of a lower-case name.
pub fn find(name: &str) -> Option<&'static Function> {
    static TABLE: OnceLock<HashMap<&'static str, &'static Function>> = OnceLock::new();
    let table = TABLE.get_or_init(|| all().map(|f| (f.name, f)).collect());
    table.get(name).copied().or_else(|| expr::functions::find(name))
}

/// A function that is NULL of NULL and has one value throughout a statement, with the least and the
/// most arguments.
const fn of_statement(
    name: &'static str,
    (min, max): (u8, u8),
    args: &'static [ArgRule],
    result: expr::functions::ResultRule,
    eval: expr::functions::Eval,
) -> Function {
    let stability = Stability::Statement;
    Function { name, min, max, args, result, strict: true, stability, nullable: true, eval }
}

/// The session that a function is called in.
fn session<'c>(cx: &'c mut CallCx<'_>) -> Result<&'c mut SessionCore, SqlError> {
    let host = cx.rt.host().and_then(|host| host.downcast_mut());
    host.ok_or_else(|| SqlError::internal("a constant expression asked for the session"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut seen = std::collections::HashSet::new();
        for f in all() {
            assert!(
                seen.insert(f.name) && expr::functions::find(f.name).is_none(),
                "{} twice",
                f.name
            );
            assert_eq!(f.name, f.name.to_lowercase());
            assert!(f.min <= f.max, "{}", f.name);
        }
    }
}
