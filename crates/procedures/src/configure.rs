//! sp_configure: the configuration options, their values, and other ones.

use types::{DataType, Len, SqlError, Value, msg};

use super::ProcedureCall;
use super::params::Param;
use instance::OfInstance;
use instance::configuration::{ConfigurationOption, SHOW_ADVANCED};
use metadata::results::column;

const PARAMS: &[Param] =
    &[("@configname", DataType::NVarChar(Len::N(35))), ("@configvalue", DataType::Int)];

/// EXEC sp_configure [name [, value]].
pub fn configure(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_configure", 0, PARAMS)?;
    let instance = call.core.instance().clone();
    let all = instance.configuration()?;
    let advanced = all.iter().any(|option| option.name == SHOW_ADVANCED && option.in_use == 1);
    let mut shown: Vec<_> =
        all.into_iter().filter(|option| advanced || !option.is_advanced).collect();
    if let Some(name) = given.text(0) {
        shown = vec![named(shown, name)?];
    }
    let value = given.value(1);
    let (Some(value), [option]) = (value.as_i64(), shown.as_slice()) else {
        return list(call, &shown).map(|()| 0);
    };
    instance.configure(option, value as i32)?;
    call.sink.message(&SqlError::of(msg::OPTION_CHANGED, [&option.name, &option.value, &value]))?;
    Ok(0)
}

/// The option of a name or of the beginning of one.
///
/// # Errors
/// 15123 there is none, 15124 there are several.
fn named(
    mut options: Vec<ConfigurationOption>,
    name: &str,
) -> Result<ConfigurationOption, SqlError> {
    let wanted = name.trim_end().to_ascii_lowercase();
    let folded = |option: &ConfigurationOption| option.name.to_ascii_lowercase();
    if let Some(at) = options.iter().position(|option| folded(option) == wanted) {
        return Ok(options.swap_remove(at));
    }
    options.retain(|option| folded(option).starts_with(&wanted));
    match options.len() {
        1 => Ok(options.swap_remove(0)),
        0 => Err(SqlError::of(msg::OPTION_NOT_FOUND, [&name])),
        _ => Err(SqlError::of(msg::OPTION_NOT_UNIQUE, [&name])),
    }
}

fn list(call: &mut ProcedureCall<'_>, options: &[ConfigurationOption]) -> Result<(), SqlError> {
    let row = |option: &ConfigurationOption| {
        let numbers = [option.minimum, option.maximum, option.value, option.in_use];
        std::iter::once(Value::str(option.name)).chain(numbers.map(Value::Int)).collect()
    };
    let rows: Vec<Vec<Value>> = options.iter().map(row).collect();
    let columns = [
        column("name", DataType::NVarChar(Len::N(35)), true),
        column("minimum", DataType::Int, true),
        column("maximum", DataType::Int, true),
        column("config_value", DataType::Int, true),
        column("run_value", DataType::Int, true),
    ];
    call.result(&columns, &rows)
}
