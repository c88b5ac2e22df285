//! What the row of every object that is neither a table nor a module says besides its text.

use compact_str::CompactString;
use types::Value;

/// What every object has.
#[derive(Clone, Debug)]
pub struct Head {
    pub object_id: i32,
    pub schema: CompactString,
    pub name: CompactString,
    pub create_date: Value,
    pub modify_date: Value,
}
