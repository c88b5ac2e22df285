//! T-SQL's lexer and parser; knows nothing of the engine.
//!
//! - [`split_batches`] cuts a script at GO, [`Scanner`] follows quotes and comments: a client's
//!   work.
//! - [`parse`] turns one batch into statements (see [`ast`]) or gives SQL Server's syntax error. As
//!   there, the whole batch is parsed before anything of it runs.
//!
//! Guarantees: no text panics or overflows the stack; time is linear in the text but for
//! pathological parentheses, where nesting is cut off by error 191; every node knows its place and
//! line.

pub mod ast;
mod batch;
mod error;
pub mod lexer;
pub mod mentions;
mod parser;
mod words;

pub use batch::{Batch, Scanner, split_batches};
pub use error::{ParseError, SyntaxError};
pub use lexer::ParseSettings;
pub use parser::{Parsed, commands};
pub use words::is_reserved;

/// Deepest nesting of the grammar's own rules: statements, queries, expressions, parentheses. Each
/// level of parentheses takes about two.
pub const MAX_DEPTH: u32 = 200;

/// Greatest height of a tree that the parser returns, in rules from root to leaf: beyond
/// [`MAX_DEPTH`] only through left-deep chains such as `a + b + c` or `UNION ALL`. AND and OR are
/// flat and not limited.
pub const MAX_HEIGHT: u32 = 1024;

/// Parses one batch (without GO).
///
/// # Errors
/// The first syntax error, as SQL Server numbers and words it; nothing of the batch may run then.
pub fn parse(text: &str) -> Result<Vec<ast::Stmt>, SyntaxError> {
    parse_with(text, ParseSettings::default()).map(|parsed| parsed.stmts)
}

/// Parses one batch with the settings that hold where it begins; it may change them for what
/// follows.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(text: &str, settings: ParseSettings) -> Result<Parsed, SyntaxError> {
    match parse_while(text, settings, &|| true) {
        Ok(parsed) => Ok(parsed),
        Err(ParseError::Syntax(error)) => Err(error),
        Err(ParseError::Stopped) => unreachable!("nobody stops it"),
    }
}

/// Parses one batch as [`parse_with`] does, as long as `wanted` says so: it is asked again and
/// again, at least once for some thousand bytes of text.
///
/// # Errors
/// As [`parse`]; the caller does not want the statements any more.
pub fn parse_while(
    text: &str,
    settings: ParseSettings,
    wanted: &dyn Fn() -> bool,
) -> Result<Parsed, ParseError> {
    stack::with_room(|| parser::parse(text, settings, wanted))
}
