//! The texts of DEFAULT and CHECK constraints as the catalog keeps them.
//! Guarantees: a text means the same when it is read under QUOTED_IDENTIFIER ON, which the catalog is read with.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{Constraint, Expr, ExprKind, Literal};
use syntax::lexer::{Tok, tokenize_with, unquote};
use types::SqlError;

use super::ColumnDefaults;
use catalog::{NewCheck, NewDefault};

/// A DEFAULT's text as the catalog keeps it: in parentheses, numbers in two pairs of them.
pub fn new_default(constraint: &Constraint, expr: &Expr, batch: &str) -> NewDefault {
    let text = expr.span.text(batch).trim();
    let named = matches!(expr.kind, ExprKind::Column(_));
    let text = if named { text.to_string() } else { single_quoted(text) };
    let number = matches!(
        expr.kind,
        ExprKind::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Money(_))
    );
    let text = if number { format!("(({text}))") } else { format!("({text})") };
    NewDefault {
        name: constraint.name.as_ref().map(|n| n.value.clone()),
        text: text.into(),
        expr: Arc::new(expr.clone()),
    }
}

/// A DEFAULT's text as it reads under QUOTED_IDENTIFIER ON, which the catalog is read with: no column can be named in it,
/// so that what stands in double quotes is a string.
pub fn single_quoted(text: &str) -> String {
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

/// A CHECK constraint as the catalog keeps it: in parentheses, and as it reads under QUOTED_IDENTIFIER ON.
pub fn new_check(
    constraint: &Constraint,
    condition: &Expr,
    column: Option<&str>,
    batch: &str,
    defaults: &ColumnDefaults,
) -> Result<NewCheck, SqlError> {
    let text = condition.span.text(batch).trim();
    let text = if defaults.quoted_identifier { text.to_string() } else { single_quoted(text) };
    let text = format!("({text})");
    Ok(NewCheck {
        name: constraint.name.as_ref().map(|n| n.value.clone()),
        condition: Arc::new(catalog::constraint::parse_condition(&text)?),
        text: text.into(),
        column: column.map(CompactString::from),
        not_for_replication: constraint.not_for_replication,
    })
}
