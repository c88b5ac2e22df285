//! sys.messages and sys.sysmessages: what the engine raises itself, and what sp_addmessage has
//! added.

use types::{DataType, Len, SqlError, Value};

use super::{View, ViewColumn, text};
use catalog::messages::Message;
use instance::messages::{added, own};
use session::state::SessionCore;

use DataType::{Bit, Int, NVarChar, SmallInt, TinyInt};

const COLUMNS: &[ViewColumn] = &[
    ("message_id", Int, false),
    ("language_id", SmallInt, false),
    ("severity", TinyInt, true),
    ("is_event_logged", Bit, false),
    ("text", NVarChar(Len::N(2048)), false),
];

/// The messages of a number, or all.
fn messages(session: &mut SessionCore, id: Option<i32>) -> Result<Vec<Message>, SqlError> {
    let own = own().iter().filter(|message| id.is_none_or(|id| message.id == id)).cloned();
    let mut list: Vec<Message> = own.collect();
    list.extend(added(session, id)?);
    Ok(list)
}

/// sys.messages.
pub(crate) static MESSAGES: View = View::seeking(
    "messages",
    COLUMNS,
    &[0],
    |_| 600.0,
    |session, _, wanted| {
        let row = |message: Message| {
            wanted.part(vec![
                Value::Int(message.id),
                Value::SmallInt(message.language),
                Value::TinyInt(message.severity),
                Value::Bit(message.logged),
                text(message.text),
            ])
        };
        Ok(messages(session, wanted.id(0))?.into_iter().map(row).collect())
    },
);

/// sys.sysmessages, as SQL Server 2000 had it.
pub(crate) static SYSMESSAGES: View = View::seeking(
    "sysmessages",
    &[
        ("error", Int, true),
        ("severity", TinyInt, true),
        ("dlevel", SmallInt, true),
        ("description", NVarChar(Len::N(255)), true),
        ("msglangid", SmallInt, true),
    ],
    &[0],
    |_| 600.0,
    |session, _, wanted| {
        let row = |message: Message| {
            let description: String = message.text.chars().take(255).collect();
            // The bit that says that it is logged.
            let level = if message.logged { 128 } else { 0 };
            wanted.part(vec![
                Value::Int(message.id),
                Value::TinyInt(message.severity),
                Value::SmallInt(level),
                text(description),
                Value::SmallInt(message.language),
            ])
        };
        Ok(messages(session, wanted.id(0))?.into_iter().map(row).collect())
    },
);
