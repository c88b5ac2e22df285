//! The messages that users have added with sp_addmessage, as master keeps them. They are read where
//! they are kept: no copy in memory. Guarantee: `read` of what `row_of` wrote gives the same
//! messages.

use access::ReadMode;
use compact_str::CompactString;
use types::Value;

use crate::rows::damaged;
use crate::store::{StoreError, SysTrees};
use crate::systables::SysTable;

/// Lowest number of a user's message, less one.
pub const LAST_SYSTEM: i32 = 50_000;
/// The language that every message has: us_english.
pub const ENGLISH: i16 = 1033;

/// A message in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: i32,
    pub language: i16,
    pub severity: u8,
    /// It goes to the error log whenever it is raised.
    pub logged: bool,
    pub text: CompactString,
}

/// The messages of a number, or all.
///
/// # Errors
/// What the storage says; 8966 rows that cannot be read.
pub fn read(
    trees: &SysTrees,
    id: Option<i32>,
    mode: ReadMode<'_>,
) -> Result<Vec<Message>, StoreError> {
    let prefix: Vec<Value> = id.into_iter().map(Value::Int).collect();
    let rows = trees.rows(SysTable::Messages, &prefix, mode)?;
    rows.iter().map(|row| message_of(row).ok_or_else(|| damaged("a message", 0))).collect()
}

/// The row of a message.
pub fn row_of(message: &Message) -> Vec<Value> {
    vec![
        Value::Int(message.id),
        Value::SmallInt(message.language),
        Value::TinyInt(message.severity),
        Value::Bit(message.logged),
        Value::Str(message.text.clone()),
    ]
}

fn message_of(row: &[Value]) -> Option<Message> {
    let number = |at: usize| row.get(at)?.as_i64();
    Some(Message {
        id: i32::try_from(number(0)?).ok()?,
        language: i16::try_from(number(1)?).ok()?,
        severity: u8::try_from(number(2)?).ok()?,
        logged: matches!(row.get(3)?, Value::Bit(true)),
        text: row.get(4)?.as_str()?.into(),
    })
}
