//! What statements say of periods and system versioning: PERIOD FOR SYSTEM_TIME among the columns of a new table, SYSTEM_VERSIONING
//! among its options and in ALTER TABLE ... SET.

use catalog::temporal::{Retention, RetentionUnit};
use catalog::{NewTable, errors, fold_name};
use compact_str::CompactString;
use syntax::ast::{ExprKind, Ident, Literal, OptionItem, OptionValue, TableElement};
use types::SqlError;

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
        (_, Some(_)) => {
            let text = "System-versioned table cannot have more than one SYSTEM_TIME period definition.";
            Err(SqlError::new(13508, 16, 1, text))
        }
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
        true => {
            Err(SqlError::new(13572, 16, 1, "Creating table variables containing PERIOD is not allowed."))
        }
    }
}

/// Checks the columns of a new table that are generated against its period.
///
/// # Errors
/// 13501 to 13509, 13513, 13587.
pub fn check_period(table: &NewTable, elements: &[TableElement]) -> Result<(), SqlError> {
    let period = period_of(elements)?;
    let error = |number, text: String| Err(SqlError::new(number, 16, 1, text));
    let mut found = [None, None];
    for column in &table.columns {
        let Some(generated) = column.generated else { continue };
        check_period_column(&column.name, column.ty, column.nullable)?;
        let (at, number, word) = if generated.end { (1, 13503, "END") } else { (0, 13502, "START") };
        if found[at].replace(column).is_some() {
            let text = format!(
                "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW {word}' column."
            );
            return error(number, text);
        }
    }
    let Some((start, end)) = period else {
        if found.iter().any(Option::is_some) {
            let text = "Cannot create generated always column when SYSTEM_TIME period is not defined.";
            return error(13509, text.into());
        }
        return Ok(());
    };
    let sides = [(start, found[0], 13504, "START", "start"), (end, found[1], 13505, "END", "end")];
    for (_, column, number, word, _) in sides {
        if column.is_none() {
            let text = format!("Temporal 'GENERATED ALWAYS AS ROW {word}' column definition missing.");
            return error(number, text);
        }
    }
    for (name, column, number, word, side) in sides {
        if column.is_none_or(|column| fold_name(&column.name) != fold_name(&name.value)) {
            let text = format!(
                "System-versioned table SYSTEM_TIME period definition {side} column name not matching 'GENERATED ALWAYS AS \
                 ROW {word}' column name."
            );
            return error(number + 2, text);
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
        let text = "You cannot specify SYSTEM_VERSIONING clause more than once.";
        return Err(SqlError::new(13512, 16, 1, text));
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
            ("HISTORY_RETENTION_PERIOD", OptionValue::Expr(_)) => wanted.retention = Some(retention(option)?),
            (name, _) => return Err(errors::syntax_near(name)),
        }
    }
    Ok(wanted)
}

/// HISTORY_TABLE = schema.table. Error: 13539.
fn history_name(option: &OptionItem) -> Result<(CompactString, CompactString), SqlError> {
    let OptionValue::Expr(e) = &option.value else { return Err(errors::syntax_near("HISTORY_TABLE")) };
    let ExprKind::Column(column) = &e.kind else { return Err(errors::syntax_near("HISTORY_TABLE")) };
    match &column.qualifier {
        Some(schema) if schema.schema.is_none() && schema.database.is_none() && schema.server.is_none() => {
            Ok((schema.name.value.clone(), column.name.value.clone()))
        }
        qualifier => {
            let lead = qualifier.as_ref().map_or(String::new(), |qualifier| format!("{qualifier}."));
            let text = format!(
                "Setting SYSTEM_VERSIONING to ON failed because history table '{lead}{}' is not specified in two-part name \
                 format.",
                column.name
            );
            Err(SqlError::new(13539, 15, 1, text))
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
        let text = format!("'{unit}' is not a valid history retention period unit for system versioning.");
        return Err(SqlError::new(13744, 15, 1, text));
    };
    let days = match known {
        RetentionUnit::Day => 1,
        RetentionUnit::Week => 7,
        RetentionUnit::Month => 31,
        RetentionUnit::Year => 366,
    };
    match i32::try_from(*count) {
        Ok(count) if count < 1 => {
            let text =
                format!("{count} is not a valid value for system versioning history retention period.");
            Err(SqlError::new(13743, 16, 1, text))
        }
        // What lies before the calendar is no time.
        Ok(count) if i64::from(count) * days < 365 * 2000 => Ok(Retention { count, unit: known }),
        _ => {
            let text =
                format!("The period of {count} {unit} is too big for system versioning history retention.");
            Err(SqlError::new(13749, 16, 1, text))
        }
    }
}
