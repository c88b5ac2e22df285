//! The texts of DEFAULT and CHECK constraints as the catalog keeps them: in the form that
//! `catalog::definition` gives them. Guarantees: a text means the same when it is read under
//! QUOTED_IDENTIFIER ON, which the catalog is read with.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{Constraint, Expr, ExprKind};
use syntax::lexer::{Tok, tokenize_with, unquote};
use types::SqlError;

use super::ColumnDefaults;
use catalog::{NewCheck, NewDefault, definition};

/// A DEFAULT as the catalog keeps it: its text in parentheses.
pub fn new_default(constraint: &Constraint, expr: &Expr, batch: &str) -> NewDefault {
    let written = expr.span.text(batch).trim();
    let text = match expr.kind {
        // It may be no column: the text says what was written.
        ExprKind::Column(_) => format!("({written})"),
        _ => match definition::of_value(expr, written.len()) {
            Some(text) => text,
            None => format!("({})", single_quoted(written)),
        },
    };
    // As it will be read when the database is opened again.
    let read = catalog::load::parse_expression(&text).unwrap_or_else(|_| expr.clone());
    NewDefault {
        name: constraint.name.as_ref().map(|n| n.value.clone()),
        text: text.into(),
        expr: Arc::new(read),
    }
}

/// A DEFAULT's text as it reads under QUOTED_IDENTIFIER ON, which the catalog is read with: no
/// column can be named in it, so that what stands in double quotes is a string.
pub(crate) fn single_quoted(text: &str) -> String {
    let off = ParseSettings { quoted_identifier: false, ..ParseSettings::default() };
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for token in tokenize_with(text, off).list.iter().filter(|token| token.kind == Tok::Str) {
        let literal = token.span.text(text);
        if literal.starts_with('"') {
            let (start, end) = (token.span.start as usize, token.span.end as usize);
            out.push_str(&text[from..start]);
            out.push_str(&format!("'{}'", unquote(literal).replace('\'', "''")));
            from = end;
        }
    }
    out.push_str(&text[from..]);
    // Names of types and functions may be quoted too: then it is a text written under ON.
    let parses = |kind: &str, end: &str| syntax::parse(&format!("{kind} {out} {end}")).is_ok();
    if parses("PRINT", "") || parses("IF", "PRINT ''") { out } else { text.to_string() }
}

/// A CHECK constraint as the catalog keeps it: in parentheses, and as it reads under
/// QUOTED_IDENTIFIER ON.
pub fn new_check(
    constraint: &Constraint,
    condition: &Expr,
    column: Option<&str>,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<NewCheck, SqlError> {
    let written = condition.span.text(batch).trim();
    let text = match definition::of_condition(condition, written.len()) {
        Some(text) => text,
        None if defaults.quoted_identifier => format!("({written})"),
        None => format!("({})", single_quoted(written)),
    };
    Ok(NewCheck {
        name: constraint.name.as_ref().map(|n| n.value.clone()),
        condition: Arc::new(catalog::constraint::parse_condition(&text)?),
        text: text.into(),
        column: column.map(CompactString::from),
        not_for_replication: constraint.not_for_replication,
    })
}
