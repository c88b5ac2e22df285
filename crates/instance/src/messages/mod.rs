//! Messages by number: those that the engine raises itself, and those of sp_addmessage, which
//! master keeps. Guarantees: a change of messages is part of its statement's transaction; whoever
//! changes them is alone until it ends; the engine's own are the list of the crate `messages`.

pub mod format;

use std::sync::{Arc, OnceLock};

use access::ReadMode;
use catalog::messages::{ENGLISH, LAST_SYSTEM, Message, read, row_of};
use catalog::systables::SysTable;
use catalog::{Db, errors};
use session::state::SessionCore;
use txn::LockMode;
use txn::locks::LockTarget;
use types::{SqlError, Value, msg};

/// The lock that whoever changes messages holds. Schemas' own ids are small.
const LOCK: LockTarget = LockTarget::Schema(u32::MAX - 2);

/// The engine's own messages, in the order of their numbers.
pub fn own() -> &'static [Message] {
    static OWN: OnceLock<Vec<Message>> = OnceLock::new();
    OWN.get_or_init(|| msg::all().map(message).collect())
}

/// One of the engine's own messages.
fn own_of(id: i32) -> Option<&'static Message> {
    let own = own();
    own.binary_search_by_key(&id, |message| message.id).ok().map(|at| &own[at])
}

/// A message of the list as sys.messages shows it.
fn message(listed: &msg::Listed) -> Message {
    Message {
        id: listed.number,
        language: ENGLISH,
        severity: listed.severity,
        logged: false,
        text: listed.text.into(),
    }
}

/// Master, where messages are.
pub fn master(core: &SessionCore) -> Result<Arc<Db>, SqlError> {
    core.host().database("master")
}

/// The messages that users have added, of a number or all, as the statement sees them.
///
/// # Errors
/// What the storage says.
pub fn added(core: &mut SessionCore, id: Option<i32>) -> Result<Vec<Message>, SqlError> {
    let db = master(core)?;
    let snapshot = core.snapshot(&db)?;
    read(&db.open()?.trees, id, snapshot.mode()).map_err(|e| errors::store_error(&db, e))
}

/// The messages of a number as whoever holds the lock finds them, which it takes.
///
/// # Errors
/// 3906, 1205, 1222; why master cannot be used.
pub fn locked(core: &mut SessionCore, id: i32) -> Result<Vec<Message>, SqlError> {
    let db = master(core)?;
    db.check_writable()?;
    core.txn(&db)?.lock(LOCK, LockMode::X).map_err(|e| errors::db_error(&db, &e))?;
    read(&db.open()?.trees, Some(id), ReadMode::Dirty).map_err(|e| errors::store_error(&db, e))
}

/// Adds a message, or replaces the one of its number and language.
pub fn put(core: &mut SessionCore, message: &Message) -> Result<(), SqlError> {
    let db = master(core)?;
    let open = db.open()?;
    let put = open.trees.put(core.txn(&db)?, SysTable::Messages, &row_of(message));
    put.map_err(|e| errors::store_error(&db, e))
}

/// Deletes a message.
pub fn delete(core: &mut SessionCore, message: &Message) -> Result<(), SqlError> {
    let db = master(core)?;
    let open = db.open()?;
    let key = [Value::Int(message.id), Value::SmallInt(message.language)];
    let deleted = open.trees.delete(core.txn(&db)?, SysTable::Messages, &key);
    deleted.map(drop).map_err(|e| errors::store_error(&db, e))
}

/// The message of a number in the session's language, else in us_english.
///
/// # Errors
/// What the storage says; 2787 a place of the translation that the message has not.
pub fn find(core: &mut SessionCore, id: i64) -> Result<Option<Message>, SqlError> {
    let Ok(id) = i32::try_from(id) else { return Ok(None) };
    if id <= LAST_SYSTEM {
        return Ok(own_of(id).cloned());
    }
    let language = core.options.dialect.language().messages;
    let found = added(core, Some(id))?;
    let Some(english) = found.iter().find(|message| message.language == ENGLISH) else {
        return Ok(None);
    };
    match found.iter().find(|message| i64::from(message.language) == i64::from(language)) {
        Some(message) if message.language != ENGLISH => {
            let text = in_order(&message.text, &english.text)?;
            Ok(Some(Message { text: text.into(), ..message.clone() }))
        }
        _ => Ok(Some(english.clone())),
    }
}

/// A translation names its values by their places (`%1!`): the specifications of the us_english
/// text stand there instead, each with the place of its value.
fn in_order(translated: &str, english: &str) -> Result<String, SqlError> {
    let specifications = format::specifications(english)?;
    let mut out = String::with_capacity(translated.len());
    let mut rest = translated;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
        let place = rest[1..1 + digits]
            .parse::<usize>()
            .ok()
            .filter(|_| rest[1 + digits..].starts_with('!'));
        let Some(place) = place else {
            out.push('%');
            rest = &rest[1..];
            continue;
        };
        let found = place.checked_sub(1).and_then(|at| specifications.get(at));
        let Some(found) = found else {
            return Err(SqlError::of(msg::INVALID_FORMAT, [&format_args!("{place}!")]).state(2));
        };
        out.push_str(&format!("%{place}${found}"));
        rest = &rest[2 + digits..];
    }
    out.push_str(rest);
    Ok(out)
}
