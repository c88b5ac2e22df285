//! sp_addmessage, sp_altermessage, sp_dropmessage.

use ::types::language::Language;
use ::types::{DataType, Len, SqlError, Value, msg};
use catalog::messages::{ENGLISH, LAST_SYSTEM, Message};

use super::ProcedureCall;
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
const ALTER: &[Param] =
    &[("@message_id", DataType::Int), ("@parameter", NAME), ("@parameter_value", FLAG)];
const DROP: &[Param] = &[("@msgnum", DataType::Int), ("@lang", NAME)];

/// The language of a name, the session's for none. Error: 15033.
fn language(call: &ProcedureCall<'_>, name: Option<&str>) -> Result<&'static Language, SqlError> {
    match name {
        None => Ok(call.core.options.dialect.language()),
        Some(name) => {
            Language::find(name).ok_or_else(|| SqlError::of(msg::NOT_AN_OFFICIAL_LANGUAGE, [&name]))
        }
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
pub(super) fn add(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_addmessage", 0, ADD)?;
    let (number, severity) = (id(&given.value(0)), given.value(1).as_i64());
    let (Some(id), Some(severity), Some(text)) = (number, severity, given.text(2)) else {
        return Err(SqlError::of(msg::ADD_MESSAGE_USAGE, []));
    };
    if id <= LAST_SYSTEM {
        return Err(SqlError::of(msg::USER_MESSAGE_NUMBER, []));
    }
    let Some(severity) = u8::try_from(severity).ok().filter(|severity| (1..=25).contains(severity))
    else {
        return Err(SqlError::of(msg::USER_MESSAGE_SEVERITY, []));
    };
    let language = language(call, given.name(3))?;
    let own = lcid(language);
    let logged = match given.text(4) {
        None => false,
        Some(word) => flag(word).ok_or_else(|| SqlError::of(msg::WITH_LOG_VALUE, []))?,
    };
    let replace = match given.text(5) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("replace") => true,
        Some(_) => return Err(SqlError::of(msg::MESSAGE_REPLACE, [])),
    };
    let known = locked(call.core, id)?;
    let english = known.iter().find(|message| message.language == ENGLISH);
    let mut message = Message { id, language: own, severity, logged, text: text.into() };
    if own != ENGLISH {
        let Some(english) = english else {
            return Err(SqlError::of(msg::US_ENGLISH_FIRST, [&language.name]));
        };
        if english.severity != severity {
            return Err(SqlError::of(
                msg::SEVERITY_OF_TRANSLATION,
                [&language.name, &english.severity],
            ));
        }
        message.logged = english.logged;
        if given.text(4).is_some() {
            call.sink.message(&SqlError::of(msg::WITH_LOG_IGNORED, []))?;
        }
    }
    if !replace && known.iter().any(|message| message.language == own) {
        return Err(SqlError::of(msg::MESSAGE_REPLACE, []));
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
pub(super) fn alter(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_altermessage", 3, ALTER)?;
    if !given.text(1).is_some_and(|word| word.eq_ignore_ascii_case("WITH_LOG")) {
        return Err(SqlError::of(msg::ONLY_WITH_LOG, []));
    }
    let Some(logged) = given.text(2).and_then(flag) else {
        return Err(SqlError::of(msg::PARAMETER_VALUE_TRUE_FALSE, []));
    };
    let Some(id) = id(&given.value(0)) else {
        return Err(SqlError::of(msg::INVALID_EXECUTE_METHOD, []));
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
pub(super) fn drop_message(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_dropmessage", 0, DROP)?;
    let Some(id) = id(&given.value(0)) else {
        return Err(SqlError::of(msg::DROP_MESSAGE_USAGE, []));
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
        return Err(SqlError::of(msg::US_ENGLISH_LAST, []));
    }
    list.into_iter().try_for_each(|message| delete(call.core, message))?;
    Ok(0)
}

fn missing(id: i32) -> SqlError {
    SqlError::of(msg::MESSAGE_NOT_FOUND, [&id])
}
