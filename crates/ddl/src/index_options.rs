//! Options of an index that its definition keeps, from what follows WITH.

use syntax::ast::{Expr, ExprKind, Literal, OptionItem, OptionValue};
use types::{SqlError, msg};

use super::option_rules;
use catalog::{Compression, IndexOptions};

/// What a list of options says: how full pages are built (`None`: nothing is said of it), and the
/// rest over what was said before.
///
/// # Errors
/// Those of [`option_rules::check`]; 129.
pub fn read(
    options: &[OptionItem],
    before: IndexOptions,
) -> Result<(Option<u8>, IndexOptions), SqlError> {
    let fill = fill_factor(options)?;
    let fill = options.iter().any(|o| o.name == "FILLFACTOR").then_some(fill);
    let mut kept = before;
    for option in options {
        let on = option.is_on();
        match option.name.as_str() {
            "PAD_INDEX" => kept.padded = on,
            "IGNORE_DUP_KEY" => kept.ignore_dup_key = on,
            "ALLOW_ROW_LOCKS" => kept.no_row_locks = !on,
            "ALLOW_PAGE_LOCKS" => kept.no_page_locks = !on,
            "STATISTICS_NORECOMPUTE" => kept.no_recompute = on,
            "OPTIMIZE_FOR_SEQUENTIAL_KEY" => kept.sequential_key = on,
            "DATA_COMPRESSION" => kept.set_compression(compression(option).unwrap_or_default()),
            _ => {}
        }
    }
    Ok((fill, kept))
}

/// FILLFACTOR of an option list, 0 when not given. Errors: those of [`option_rules::check`], 129
/// out of range.
fn fill_factor(options: &[OptionItem]) -> Result<u8, SqlError> {
    option_rules::check("CREATE INDEX", options, option_rules::INDEX)?;
    for option in options.iter().filter(|o| o.name == "FILLFACTOR") {
        if let OptionValue::Expr(Expr { kind: ExprKind::Literal(Literal::Integer(n)), .. }) =
            &option.value
        {
            if (1..=100).contains(n) {
                return Ok(*n as u8);
            }
            return Err(SqlError::of(msg::FILLFACTOR_RANGE, [&n]));
        }
    }
    Ok(0)
}

/// What DATA_COMPRESSION says.
pub fn compression(option: &OptionItem) -> Option<Compression> {
    match &option.value {
        OptionValue::Word(word) if option.name == "DATA_COMPRESSION" => Compression::of(word),
        _ => None,
    }
}

/// 10618.
pub fn ignores_with_filter(verb: &str, name: &str, table: &str) -> SqlError {
    SqlError::of(msg::FILTER_IGNORE_DUP_KEY, [&verb, &name, &table])
}

/// What may be said of an index that is made.
///
/// # Errors
/// Those of [`read`]; 1916 IGNORE_DUP_KEY without UNIQUE, 10618 with a filter.
pub fn of_new(
    options: &[OptionItem],
    unique: bool,
    filtered: Option<(&str, &str)>,
) -> Result<(u8, IndexOptions), SqlError> {
    let wanted = options.iter().any(|o| o.name == "IGNORE_DUP_KEY" && o.is_on());
    if let Some((name, table)) = filtered.filter(|_| wanted) {
        return Err(ignores_with_filter("create", name, table));
    }
    if wanted && !unique {
        return Err(SqlError::of(msg::OPTIONS_EXCLUSIVE, []));
    }
    option_rules::check("CREATE INDEX", options, option_rules::INDEX)?;
    let (fill, kept) = read(options, IndexOptions::default())?;
    Ok((fill.unwrap_or(0), kept))
}
