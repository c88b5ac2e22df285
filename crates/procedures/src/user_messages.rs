//! sp_addmessage, sp_altermessage, sp_dropmessage.

use ::types::language::Language;
use ::types::{DataType, Len, SqlError, Value, msg};
use catalog::messages::{ENGLISH, LAST_SYSTEM, Message};

use super::Call;
use super::params::{NAME, Param};
use instance::messages::{delete, locked, put};

const FLAG: DataType = DataType::VarChar(Len::N(5));

const ADD: &[Param] = &[
    ("@msgnum", DataType::Int),
    ("@severity", DataType::SmallInt),
    ("@msgtext", DataType::NVarChar(Len::N(255))),
    ("@lang", NAME),
    ("@with_log", FLAG),
    ("@replace", DataType::VarChar(Len::N(7))),
];
const ALTER: &[Param] = &[("@message_id", DataType::Int), ("@parameter", NAME), ("@parameter_value", FLAG)];
const DROP: &[Param] = &[("@msgnum", DataType::Int), ("@lang", NAME)];

fn error(number: i32, text: impl Into<String>) -> SqlError {
    SqlError::new(number, 16, 1, text)
}

/// The language of a name, the session's for none. Error: 15033.
fn language(call: &Call<'_>, name: Option<&str>) -> Result<&'static Language, SqlError> {
    match name {
        None => Ok(call.core.options.dialect.language()),
        Some(name) => Language::find(name)
            .ok_or_else(|| error(15_033, format!("'{name}' is not a valid official language name."))),
    }
}

fn flag(text: &str) -> Option<bool> {
    ["false", "true"].iter().position(|known| text.eq_ignore_ascii_case(known)).map(|at| at == 1)
}

fn id(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|id| i32::try_from(id).ok())
}

fn lcid(language: &Language) -> i16 {
    i16::try_from(i64::from(language.messages)).unwrap_or(ENGLISH)
}

/// sp_addmessage.
pub(super) fn add(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_addmessage", 0, ADD)?;
    let (number, severity) = (id(&given.value(0)), given.value(1).as_i64());
    let (Some(id), Some(severity), Some(text)) = (number, severity, given.text(2)) else {
        let usage =
            "Usage: sp_addmessage <msgnum>,<severity>,<msgtext> [,<language> [,FALSE | TRUE [,REPLACE]]]";
        return Err(error(15_071, usage));
    };
    if id <= LAST_SYSTEM {
        return Err(error(15_040, "User-defined error messages must have an ID greater than 50000."));
    }
    let Some(severity) = u8::try_from(severity).ok().filter(|severity| (1..=25).contains(severity)) else {
        let text = "User-defined error messages must have a severity level between 1 and 25.";
        return Err(error(15_041, text));
    };
    let language = language(call, given.name(3))?;
    let own = lcid(language);
    let logged = match given.text(4) {
        None => false,
        Some(word) => flag(word).ok_or_else(|| {
            error(15_271, "Invalid @with_log parameter value. Valid values are 'true' or 'false'.")
        })?,
    };
    let replace = match given.text(5) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("replace") => true,
        Some(_) => return Err(error(15_043, "You must specify 'REPLACE' to overwrite an existing message.")),
    };
    let known = locked(call.core, id)?;
    let english = known.iter().find(|message| message.language == ENGLISH);
    let mut message = Message { id, language: own, severity, logged, text: text.into() };
    if own != ENGLISH {
        let Some(english) = english else {
            let text = format!(
                "You must add the us_english version of this message before you can add the '{}' version.",
                language.name
            );
            return Err(error(15_279, text));
        };
        if english.severity != severity {
            let text = format!(
                "The severity level of the '{}' version of this message must be the same as the severity level ({}) of \
                 the us_english version.",
                language.name, english.severity
            );
            return Err(error(15_304, text));
        }
        message.logged = english.logged;
        if given.text(4).is_some() {
            let text = "The @with_log parameter is ignored for messages that are not us_english version.";
            call.sink.message(&SqlError::new(15_042, 10, 1, text))?;
        }
    }
    if !replace && known.iter().any(|message| message.language == own) {
        return Err(error(15_043, "You must specify 'REPLACE' to overwrite an existing message."));
    }
    put(call.core, &message)?;
    // The others are raised and logged as the one in us_english.
    if own == ENGLISH {
        for other in known.into_iter().filter(|message| message.language != ENGLISH) {
            put(call.core, &Message { severity, logged, ..other })?;
        }
    }
    Ok(0)
}

/// sp_altermessage: WITH_LOG.
pub(super) fn alter(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_altermessage", 3, ALTER)?;
    if !given.text(1).is_some_and(|word| word.eq_ignore_ascii_case("WITH_LOG")) {
        return Err(error(15_176, "The only valid @parameter value is 'WITH_LOG'."));
    }
    let Some(logged) = given.text(2).and_then(flag) else {
        return Err(error(15_277, "The only valid @parameter_value values are 'true' or 'false'."));
    };
    let Some(id) = id(&given.value(0)) else {
        let text = "Invalid EXECUTE statement using object \"ErrorMessage\", method \"Lock\".";
        return Err(SqlError::new(290, 16, 2, text));
    };
    if id <= LAST_SYSTEM {
        return Err(SqlError::of(msg::MESSAGE_IS_OWN, []));
    }
    let known = locked(call.core, id)?;
    if known.is_empty() {
        return Err(missing(id));
    }
    for message in known {
        put(call.core, &Message { logged, ..message })?;
    }
    Ok(0)
}

/// sp_dropmessage.
pub(super) fn drop_message(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_dropmessage", 0, DROP)?;
    let Some(id) = id(&given.value(0)) else {
        return Err(error(15_177, "Usage: sp_dropmessage <msg number> [,<language> | 'ALL']"));
    };
    if id <= LAST_SYSTEM {
        return Err(SqlError::of(msg::MESSAGE_IS_OWN, []));
    }
    let all = given.name(1).is_some_and(|name| name.eq_ignore_ascii_case("all"));
    let language = if all { None } else { Some(lcid(language(call, given.name(1))?)) };
    let known = locked(call.core, id)?;
    let gone = |message: &&Message| language.is_none_or(|language| message.language == language);
    let list: Vec<&Message> = known.iter().filter(gone).collect();
    if list.is_empty() {
        return Err(missing(id));
    }
    if language == Some(ENGLISH) && known.len() > 1 {
        let text = "All localized versions of this message must be dropped before the us_english version can be dropped.";
        return Err(error(15_280, text));
    }
    list.into_iter().try_for_each(|message| delete(call.core, message))?;
    Ok(0)
}

fn missing(id: i32) -> SqlError {
    error(15_179, format!("The message number {id} or specified language version does not exist."))
}
