//! Who runs a session's statements: the login that it belongs to, or the program that has opened the instance itself.

use std::sync::Arc;

use catalog::security::{SA, SA_SID};
use compact_str::CompactString;

/// Whose session it is.
pub struct Caller {
    /// Of the program itself: nothing is asked.
    system: bool,
    login: i32,
    name: CompactString,
    sid: Arc<[u8]>,
}

impl Caller {
    /// A session of the program itself, as `sa`.
    pub fn system() -> Caller {
        Caller {
            system: true,
            login: SA,
            name: CompactString::const_new("sa"),
            sid: SA_SID.as_slice().into(),
        }
    }

    /// A session of a login.
    pub fn login(id: i32, name: &str, sid: &Arc<[u8]>) -> Caller {
        Caller { system: false, login: id, name: name.into(), sid: sid.clone() }
    }

    /// principal_id of the login.
    pub fn login_id(&self) -> i32 {
        self.login
    }

    /// Name of the login.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// sid of the login.
    pub fn sid(&self) -> &[u8] {
        &self.sid
    }

    /// Whether the program itself runs it.
    pub fn is_system(&self) -> bool {
        self.system
    }
}
