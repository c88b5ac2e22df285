//! Who runs a session's statements: the login that it belongs to, or the program that has opened
//! the instance itself; and the principal that it acts as (EXECUTE AS, application roles).
//! Guarantees: what EXECUTE AS began in a procedure or a text ends with it; acting as a user or in
//! an application role gives no right of the server; an application role is left by its cookie or
//! the end of the session alone.

use std::sync::Arc;

use catalog::security::{SA, SA_SID};
use compact_str::CompactString;

use super::effective::Effective;

/// The principal that a session acts as.
pub(super) enum ActingAs {
    Login {
        id: i32,
        name: CompactString,
        sid: Arc<[u8]>,
    },
    User {
        db: i32,
        id: i32,
        name: CompactString,
        sid: Arc<[u8]>,
    },
    /// In an application role: its rights instead of the login's, whose name the session keeps.
    Role {
        db: i32,
        id: i32,
        sid: Arc<[u8]>,
    },
}

/// What ends it, besides the end of the module, the text or the session that it began in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActingEnd {
    /// REVERT.
    Revert,
    /// Nothing.
    End,
    /// Whoever has the cookie.
    Cookie(Vec<u8>),
}

/// Whose session it is.
pub struct Caller {
    /// Of the program itself: nothing is asked.
    system: bool,
    login: i32,
    name: CompactString,
    sid: Arc<[u8]>,
    /// EXECUTE AS and application roles, the innermost last.
    acting: Vec<(ActingAs, ActingEnd)>,
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
        self.known_as().map_or(&self.name, |(name, _)| name)
    }

    /// The sid of the principal that acts.
    pub fn sid(&self) -> &[u8] {
        self.known_as().map_or(&self.sid, |(_, sid)| sid)
    }

    /// Name and sid of EXECUTE AS: in an application role one is still called what one was called
    /// before.
    fn known_as(&self) -> Option<(&CompactString, &Arc<[u8]>)> {
        self.acting.iter().rev().find_map(|(acting, _)| match acting {
            ActingAs::Login { name, sid, .. } | ActingAs::User { name, sid, .. } => {
                Some((name, sid))
            }
            ActingAs::Role { .. } => None,
        })
    }

    /// Whether the program itself runs it, acting as nobody else.
    #[inline]
    pub fn is_powerful(&self) -> bool {
        self.powerful
    }

    /// The login whose rights of the server count.
    pub(super) fn acting_login(&self) -> Option<i32> {
        match self.innermost() {
            None => Some(self.login),
            Some(ActingAs::Login { id, .. }) => Some(*id),
            Some(ActingAs::User { .. } | ActingAs::Role { .. }) => None,
        }
    }

    /// The user that EXECUTE AS USER names in a database, or the application role: its principal_id
    /// and its sid.
    pub(super) fn acting_user(&self, db: i32) -> Option<(i32, &[u8])> {
        match self.innermost() {
            Some(
                ActingAs::User { db: of, id, sid, .. } | ActingAs::Role { db: of, id, sid, .. },
            ) if *of == db => Some((*id, sid)),
            _ => None,
        }
    }

    fn innermost(&self) -> Option<&ActingAs> {
        self.acting.last().map(|(acting, _)| acting)
    }

    /// Whether it acts in an application role, which REVERT does not leave.
    pub(super) fn in_role(&self) -> bool {
        matches!(self.innermost(), Some(ActingAs::Role { .. }))
    }

    /// What ends what began last.
    pub(super) fn until(&self) -> Option<&ActingEnd> {
        self.acting.last().map(|(_, until)| until)
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

    pub(super) fn act(&mut self, acting: ActingAs, until: ActingEnd) {
        self.acting.push((acting, until));
        self.changed();
    }

    fn changed(&mut self) {
        self.powerful = self.system && self.acting.is_empty();
        self.known.clear();
    }
}
