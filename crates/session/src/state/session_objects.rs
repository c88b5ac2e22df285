//! Objects and values that a client has made in its session and finds again in its next batch:
//! temporary tables, cursors, prepared statements, documents, application locks.
//! Guarantee: they end with the session.

use std::collections::HashMap;
use std::sync::Arc;

use bind::env::TempTables;
use compact_str::CompactString;
use expr::functions::math::random_bits;
use expr::random::Random;
use types::Value;

use super::app_locks::AppLocks;
use super::cursors::Cursors;
use super::handles::Handles;

/// The objects and values of one session.
pub struct SessionObjects {
    /// The session's temporary tables.
    pub temps: TempTables,
    /// Its cursors.
    pub cursors: Cursors,
    /// Prepared statements.
    pub handles: Handles,
    /// What sp_getapplock has got.
    pub app_locks: AppLocks,
    /// sp_xml_preparedocument: documents by their numbers.
    pub xml_documents: HashMap<i32, Arc<str>>,
    /// CONTEXT_INFO().
    pub context_info: Value,
    /// SESSION_CONTEXT: values by lower-case key, and whether they may not be set again.
    pub session_context: HashMap<CompactString, (Value, bool)>,
    /// The values that were taken last of sequences, by database and object_id.
    pub sequence_values: Vec<((i32, i32), i64)>,
    /// RAND().
    pub random: Random,
}

impl Default for SessionObjects {
    /// Nothing, and a random beginning of RAND().
    fn default() -> SessionObjects {
        SessionObjects {
            temps: TempTables::default(),
            cursors: Cursors::default(),
            handles: Handles::default(),
            app_locks: AppLocks::default(),
            xml_documents: HashMap::new(),
            context_info: Value::Null,
            session_context: HashMap::new(),
            sequence_values: Vec::new(),
            random: Random::new((random_bits() >> 33) as i64),
        }
    }
}

impl SessionObjects {
    /// sp_reset_connection clears values and documents. Temporary tables, cursors, prepared
    /// statements and locks need more than that, and are ended by `Session::reset`.
    pub fn forget_values(&mut self) {
        self.context_info = Value::Null;
        self.session_context.clear();
        self.xml_documents.clear();
    }
}
