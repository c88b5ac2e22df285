//! The syntax error: SQL Server's number, severity, state, line and text, and the texts themselves.

use std::fmt;

/// Why a batch cannot be parsed. Nothing of the batch may run then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// SQL Server's message number: 102, 103, 105, 113, 156, 191, 319, 1038, 4145 and some rarer ones.
    pub number: u32,
    /// Always 15: the user can correct it.
    pub severity: u8,
    /// 1 for most, as documented with the message.
    pub state: u8,
    /// 1-based line within the batch.
    pub line: u32,
    /// The full text.
    pub message: String,
    /// What SQL Server reports behind it, in this order; of most errors nothing.
    pub after: Vec<SyntaxError>,
}

/// Why there are no statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text has an error.
    Syntax(SyntaxError),
    /// Who asked for them does not want them any more.
    Stopped,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: ",
            self.number, self.severity, self.state, self.line
        )?;
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Characters of user text that a message quotes at most; the rest is cut off.
const QUOTED_MAX: usize = 1000;

/// The first [`QUOTED_MAX`] characters.
fn cut(text: &str) -> &str {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

impl SyntaxError {
    pub(crate) fn new(number: u32, line: u32, message: String) -> Self {
        Self { number, severity: 15, state: 1, line, message, after: Vec::new() }
    }

    /// Takes the place of the error of a text that is not read to its end.
    pub(crate) fn stopped() -> Self {
        Self::new(0, 1, String::new())
    }

    pub(crate) fn near(line: u32, text: &str) -> Self {
        Self::new(102, line, format!("Incorrect syntax near '{}'.", cut(text)))
    }

    pub(crate) fn near_keyword(line: u32, text: &str) -> Self {
        Self::new(156, line, format!("Incorrect syntax near the keyword '{text}'."))
    }

    /// WITH begins a statement, and nothing has ended the one before.
    pub(crate) fn with_after_statement(line: u32) -> Self {
        let message = "Incorrect syntax near the keyword 'with'. If this statement is a common table expression, an \
                       xmlnamespaces clause or a change tracking context clause, the previous statement must be \
                       terminated with a semicolon.";
        Self::new(319, line, message.to_owned())
    }

    pub(crate) fn unclosed_quote(line: u32, text: &str) -> Self {
        let message = format!("Unclosed quotation mark after the character string '{}'.", cut(text));
        Self::new(105, line, message)
    }

    pub(crate) fn unclosed_comment(line: u32) -> Self {
        Self::new(113, line, "Missing end comment mark '*/'.".to_owned())
    }

    pub(crate) fn identifier_too_long(line: u32, start: &str) -> Self {
        let message =
            format!("The identifier that starts with '{start}' is too long. Maximum length is 128.");
        Self { state: 4, ..Self::new(103, line, message) }
    }

    pub(crate) fn too_many_prefixes(line: u32, name: &str, maximum: u32) -> Self {
        let message = format!(
            "The object name '{}' contains more than the maximum number of prefixes. The maximum is {maximum}.",
            cut(name)
        );
        Self::new(117, line, message)
    }

    pub(crate) fn empty_name(line: u32) -> Self {
        let message = "An object or column name is missing or empty. For SELECT INTO statements, verify each \
                       column has a name. For other statements, look for empty alias names. Aliases defined as \
                       \"\" or [] are not allowed. Change the alias to a valid name.";
        Self { state: 4, ..Self::new(1038, line, message.to_owned()) }
    }

    pub(crate) fn no_table_constraint(line: u32) -> Self {
        let message = "Incorrect syntax for definition of the 'TABLE' constraint.";
        Self { state: 2, ..Self::new(142, line, message.to_owned()) }
    }

    pub(crate) fn no_return_value(line: u32) -> Self {
        Self::new(
            178,
            line,
            "A RETURN statement with a return value cannot be used in this context.".to_owned(),
        )
    }

    pub(crate) fn must_be_named(line: u32, at: usize) -> Self {
        let message = format!(
            "Must pass parameter number {at} and subsequent parameters as '@name = value'. After the form '@name = value' \
             has been used, all subsequent parameters must be passed in the form '@name = value'."
        );
        Self::new(119, line, message)
    }

    pub(crate) fn output_of_constant(line: u32) -> Self {
        let message = "Cannot use the OUTPUT option when passing a constant to a stored procedure.";
        Self::new(179, line, message.to_owned())
    }

    pub(crate) fn no_subqueries(line: u32) -> Self {
        let message = "Subqueries are not allowed in this context. Only scalar expressions are allowed.";
        Self::new(1046, line, message.to_owned())
    }

    pub(crate) fn same_action(line: u32, action: &str) -> Self {
        let message = format!(
            "Syntax error: Duplicate specification of the action \"{}\" in the trigger declaration.",
            action
        );
        Self::new(1034, line, message)
    }

    pub(crate) fn too_deep(line: u32) -> Self {
        let message = "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up \
                       into smaller queries.";
        Self::new(191, line, message.to_owned())
    }

    pub(crate) fn too_long(line: u32) -> Self {
        Self::new(173, line, "The batch is longer than the largest that can be parsed.".to_owned())
    }

    pub(crate) fn not_a_condition(line: u32, near: &str) -> Self {
        let message = format!(
            "An expression of non-boolean type specified in a context where a condition is expected, near '{}'.",
            cut(near)
        );
        Self::new(4145, line, message)
    }
}
