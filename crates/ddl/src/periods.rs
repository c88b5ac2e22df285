//! What statements say of periods and system versioning: PERIOD FOR SYSTEM_TIME among the columns
//! of a new table, SYSTEM_VERSIONING among its options and in ALTER TABLE ... SET.

use catalog::temporal::{Retention, RetentionUnit};
use catalog::{NewTable, errors, fold_name};
use compact_str::CompactString;
use syntax::ast::{ExprKind, Ident, Literal, OptionItem, OptionValue, TableElement};
use types::{SqlError, msg};

use super::temporal::{Versioning, check_period_column, check_precision};

/// The period among the elements of a table or of ALTER TABLE ... ADD.
///
/// # Errors
/// 13508 there are two.
pub fn period_of(elements: &[TableElement]) -> Result<Option<(&Ident, &Ident)>, SqlError> {
    let mut periods = elements.iter().filter_map(|element| match element {
        TableElement::Period { start, end } => Some((start, end)),
        _ => None,
    });
    match (periods.next(), periods.next()) {
        (_, Some(_)) => Err(SqlError::of(msg::SEVERAL_PERIODS, [])),
        (period, None) => Ok(period),
    }
}

/// 13572: a table variable has no period.
pub fn check_none(elements: &[TableElement]) -> Result<(), SqlError> {
    let is_part = |element: &TableElement| match element {
        TableElement::Period { .. } => true,
        TableElement::Column(column) => column.generated.is_some(),
        _ => false,
    };
    match elements.iter().any(is_part) {
        false => Ok(()),
        true => Err(SqlError::of(msg::PERIOD_IN_TABLE_VARIABLE, [])),
    }
}

/// Checks the columns of a new table that are generated against its period.
///
/// # Errors
/// 13501 to 13509, 13513, 13587.
pub(crate) fn check_period(table: &NewTable, elements: &[TableElement]) -> Result<(), SqlError> {
    let period = period_of(elements)?;
    let mut found = [None, None];
    for column in &table.columns {
        let Some(generated) = column.generated else { continue };
        check_period_column(&column.name, column.ty, column.nullable)?;
        let (at, again) =
            if generated.end { (1, msg::SEVERAL_ROW_ENDS) } else { (0, msg::SEVERAL_ROW_STARTS) };
        if found[at].replace(column).is_some() {
            return Err(SqlError::of(again, []));
        }
    }
    let Some((start, end)) = period else {
        if found.iter().any(Option::is_some) {
            return Err(SqlError::of(msg::GENERATED_WITHOUT_PERIOD, []));
        }
        return Ok(());
    };
    let sides = [
        (start, found[0], msg::ROW_START_MISSING, msg::PERIOD_START_NAME),
        (end, found[1], msg::ROW_END_MISSING, msg::PERIOD_END_NAME),
    ];
    for (_, column, missing, _) in sides {
        if column.is_none() {
            return Err(SqlError::of(missing, []));
        }
    }
    for (name, column, _, other_name) in sides {
        if column.is_none_or(|column| fold_name(&column.name) != fold_name(&name.value)) {
            return Err(SqlError::of(other_name, []));
        }
    }
    match found {
        [Some(start), Some(end)] => check_precision(start.ty, end.ty),
        _ => Ok(()),
    }
}

/// What SYSTEM_VERSIONING among the options asks for: nothing, OFF (an inner none), or ON.
///
/// # Errors
/// 13512 said twice; 13539, 13743, 13744, 13749; 102 an option that is none.
pub fn versioning_of(options: &[OptionItem]) -> Result<Option<Option<Versioning>>, SqlError> {
    let mut all = options.iter().filter(|option| option.name == "SYSTEM_VERSIONING");
    let Some(option) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(SqlError::of(msg::VERSIONING_TWICE, []));
    }
    match option.value {
        OptionValue::Off if option.nested.is_empty() => Ok(Some(None)),
        OptionValue::On => versioning(&option.nested).map(Some).map(Some),
        _ => Err(errors::syntax_near("SYSTEM_VERSIONING")),
    }
}

fn versioning(options: &[OptionItem]) -> Result<Versioning, SqlError> {
    let mut wanted = Versioning { history: None, check: true, retention: None };
    for option in options {
        match (option.name.as_str(), &option.value) {
            ("HISTORY_TABLE", OptionValue::Expr(_)) => wanted.history = Some(history_name(option)?),
            ("DATA_CONSISTENCY_CHECK", OptionValue::On) => wanted.check = true,
            ("DATA_CONSISTENCY_CHECK", OptionValue::Off) => wanted.check = false,
            ("HISTORY_RETENTION_PERIOD", OptionValue::Word(word)) if word == "INFINITE" => {}
            ("HISTORY_RETENTION_PERIOD", OptionValue::Expr(_)) => {
                wanted.retention = Some(retention(option)?)
            }
            (name, _) => return Err(errors::syntax_near(name)),
        }
    }
    Ok(wanted)
}

/// HISTORY_TABLE = schema.table. Error: 13539.
fn history_name(option: &OptionItem) -> Result<(CompactString, CompactString), SqlError> {
    let OptionValue::Expr(e) = &option.value else {
        return Err(errors::syntax_near("HISTORY_TABLE"));
    };
    let ExprKind::Column(column) = &e.kind else {
        return Err(errors::syntax_near("HISTORY_TABLE"));
    };
    match &column.qualifier {
        Some(schema)
            if schema.schema.is_none() && schema.database.is_none() && schema.server.is_none() =>
        {
            Ok((schema.name.value.clone(), column.name.value.clone()))
        }
        qualifier => {
            let lead =
                qualifier.as_ref().map_or(String::new(), |qualifier| format!("{qualifier}."));
            Err(SqlError::of(msg::HISTORY_TWO_PART_NAME, [&format_args!("{lead}{}", column.name)]))
        }
    }
}

/// HISTORY_RETENTION_PERIOD = 6 MONTHS.
fn retention(option: &OptionItem) -> Result<Retention, SqlError> {
    let near = || errors::syntax_near("HISTORY_RETENTION_PERIOD");
    let OptionValue::Expr(e) = &option.value else { return Err(near()) };
    let ExprKind::Literal(Literal::Integer(count)) = &e.kind else { return Err(near()) };
    let unit = option.unit.as_ref().ok_or_else(near)?;
    let Some(known) = RetentionUnit::of(unit) else {
        return Err(SqlError::of(msg::RETENTION_UNIT, [&unit]));
    };
    let days = match known {
        RetentionUnit::Day => 1,
        RetentionUnit::Week => 7,
        RetentionUnit::Month => 31,
        RetentionUnit::Year => 366,
    };
    match i32::try_from(*count) {
        Ok(count) if count < 1 => Err(SqlError::of(msg::RETENTION_INVALID, [&count])),
        // What lies before the calendar is no time.
        Ok(count) if i64::from(count) * days < 365 * 2000 => Ok(Retention { count, unit: known }),
        _ => Err(SqlError::of(msg::RETENTION_TOO_LONG, [&count, &unit])),
    }
}
