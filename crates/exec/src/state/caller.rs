//! Who runs a session's statements: the login that it belongs to, or the program that has opened the instance itself; and as
//! whom it acts (EXECUTE AS).
//! Guarantees: what EXECUTE AS began in a procedure or a text ends with it; acting as a user gives no right of the server.

use std::sync::Arc;

use catalog::security::{SA, SA_SID};
use compact_str::CompactString;

use super::effective::Effective;

/// As whom EXECUTE AS lets a session act.
pub(super) enum Acting {
    Login { id: i32, name: CompactString, sid: Arc<[u8]> },
    User { db: i32, id: i32, name: CompactString, sid: Arc<[u8]> },
}

/// Whose session it is.
pub struct Caller {
    /// Of the program itself: nothing is asked.
    system: bool,
    login: i32,
    name: CompactString,
    sid: Arc<[u8]>,
    /// EXECUTE AS, the innermost last.
    acting: Vec<Acting>,
    /// Neither the program itself, or acting as another.
    powerful: bool,
    /// What was worked out for the one that acts now, one for each database.
    pub(super) known: Vec<Effective>,
}

impl Caller {
    fn new(system: bool, login: i32, name: &str, sid: Arc<[u8]>) -> Caller {
        Caller {
            system,
            login,
            name: name.into(),
            sid,
            acting: Vec::new(),
            powerful: system,
            known: Vec::new(),
        }
    }

    /// A session of the program itself, as `sa`.
    pub fn system() -> Caller {
        Caller::new(true, SA, "sa", SA_SID.as_slice().into())
    }

    /// A session of a login.
    pub fn login(id: i32, name: &str, sid: &Arc<[u8]>) -> Caller {
        Caller::new(false, id, name, sid.clone())
    }

    /// principal_id of the login that acts; 0 for a user that acts without one.
    pub fn login_id(&self) -> i32 {
        self.acting_login().unwrap_or(0)
    }

    /// Name of the login that acts, or of the user that acts without one.
    pub fn name(&self) -> &str {
        match self.acting.last() {
            None => &self.name,
            Some(Acting::Login { name, .. } | Acting::User { name, .. }) => name,
        }
    }

    /// sid of whom acts.
    pub fn sid(&self) -> &[u8] {
        match self.acting.last() {
            None => &self.sid,
            Some(Acting::Login { sid, .. } | Acting::User { sid, .. }) => sid,
        }
    }

    /// Whether the program itself runs it, acting as nobody else.
    #[inline]
    pub fn is_powerful(&self) -> bool {
        self.powerful
    }

    /// The login whose rights of the server count.
    pub(super) fn acting_login(&self) -> Option<i32> {
        match self.acting.last() {
            None => Some(self.login),
            Some(Acting::Login { id, .. }) => Some(*id),
            Some(Acting::User { .. }) => None,
        }
    }

    /// The user that EXECUTE AS USER names in a database.
    pub(super) fn acting_user(&self, db: i32) -> Option<i32> {
        match self.acting.last() {
            Some(Acting::User { db: of, id, .. }) if *of == db => Some(*id),
            _ => None,
        }
    }

    /// How deep EXECUTE AS is nested.
    pub fn depth(&self) -> usize {
        self.acting.len()
    }

    /// Ends what EXECUTE AS began beyond a depth.
    pub fn return_to(&mut self, depth: usize) {
        if self.acting.len() > depth {
            self.acting.truncate(depth);
            self.changed();
        }
    }

    pub(super) fn act(&mut self, acting: Acting) {
        self.acting.push(acting);
        self.changed();
    }

    fn changed(&mut self) {
        self.powerful = self.system && self.acting.is_empty();
        self.known.clear();
    }
}
