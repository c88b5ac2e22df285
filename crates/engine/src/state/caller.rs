//! Who runs a session's statements: the login that it belongs to, or the program that has opened the instance itself; and as
//! whom it acts (EXECUTE AS).
//! Guarantees: what EXECUTE AS began in a procedure or a text ends with it; acting as a user gives no right of the server.

use std::sync::Arc;

use catalog::Db;
use catalog::security::{Kind, Permission, Principal, SA, SA_SID, Securable, Security};
use catalog::security::{Class, DBO};
use compact_str::CompactString;
use types::SqlError;

use super::core::SessionCore;
use super::rights::Effective;

/// As whom EXECUTE AS lets a session act.
enum Acting {
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
        Caller { system, login, name: name.into(), sid, acting: Vec::new(), powerful: system, known: Vec::new() }
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

    fn act(&mut self, acting: Acting) {
        self.acting.push(acting);
        self.changed();
    }

    fn changed(&mut self) {
        self.powerful = self.system && self.acting.is_empty();
        self.known.clear();
    }
}

/// Deepest nesting of EXECUTE AS.
const MAX_DEPTH: usize = 32;

impl SessionCore {
    /// Principals and permissions of a database as the session's transaction sees them.
    pub(crate) fn security(&self, db: &Db) -> Arc<Security> {
        match self.transactions.ddl.iter().rev().find_map(|change| change.security_of(db)) {
            Some(own) => own.clone(),
            None => db.security(),
        }
    }

    /// Name of the login that runs the statement.
    pub(crate) fn login_name(&self) -> CompactString {
        if self.caller.is_powerful() { self.login.clone() } else { self.caller.name().into() }
    }

    /// principal_id of the user that the caller is in the current database.
    pub(crate) fn user_id(&mut self) -> i32 {
        if self.may_all() {
            return DBO;
        }
        let db = self.db().clone();
        self.user_in(&db)
    }

    /// EXECUTE AS USER. Error: 15517.
    pub(crate) fn act_as_user(&mut self, name: &str) -> Result<(), SqlError> {
        let refused = || {
            let text = format!(
                "Cannot execute as the database principal because the principal \"{name}\" does not exist, this type of \
                 principal cannot be impersonated, or you do not have permission."
            );
            SqlError::new(15_517, 16, 1, text)
        };
        let db = self.db().clone();
        let security = self.security(&db);
        let user = security.database.find(name).filter(|p| can_be(p, 3..=4)).cloned().ok_or_else(refused)?;
        if self.user_id() != user.id || self.caller.acting_user(db.id()).is_none() {
            let on = Securable::new(Class::User, user.id);
            if !self.has(&db, on, 0, Permission::Impersonate) {
                return Err(refused());
            }
        }
        self.check_depth()?;
        let Principal { id, name, sid, .. } = Principal::clone(&user);
        self.caller.act(Acting::User { db: db.id(), id, name, sid });
        Ok(())
    }

    /// EXECUTE AS LOGIN. Error: 15406.
    pub(crate) fn act_as_login(&mut self, name: &str) -> Result<(), SqlError> {
        let refused = || {
            let text = format!(
                "Cannot execute as the server principal because the principal \"{name}\" does not exist, this type of \
                 principal cannot be impersonated, or you do not have permission."
            );
            SqlError::new(15_406, 16, 1, text)
        };
        let master = self.instance().database("master")?;
        let security = self.security(&master);
        let login = security.server.find(name).filter(|p| can_be(p, 0..=0)).cloned().ok_or_else(refused)?;
        let powerful = security.server.is_member(catalog::security::SYSADMIN, login.id);
        let may = self.is_sysadmin()
            || (!powerful
                && self.has(&master, Securable::new(Class::Login, login.id), 0, Permission::Impersonate));
        if !may {
            return Err(refused());
        }
        self.check_depth()?;
        let Principal { id, name, sid, .. } = Principal::clone(&login);
        self.caller.act(Acting::Login { id, name, sid });
        // It must be able to use the database that it finds itself in.
        let db = self.db().clone();
        if let Err(e) = self.effective(&db).map(drop) {
            let depth = self.caller.depth() - 1;
            self.caller.return_to(depth);
            return Err(e);
        }
        Ok(())
    }

    fn check_depth(&self) -> Result<(), SqlError> {
        match self.caller.depth() < MAX_DEPTH {
            true => Ok(()),
            false => {
                let text = format!("EXECUTE AS is nested too deeply (limit {MAX_DEPTH}).");
                Err(SqlError::new(217, 16, 1, text))
            }
        }
    }

    /// REVERT: back to whom acted before, at most to whom acted when the scope began.
    pub(crate) fn revert(&mut self) {
        let depth = self.caller.depth();
        if depth > self.acting_floor {
            self.caller.return_to(depth - 1);
        }
    }
}

/// Whether a principal is one that another can act as.
fn can_be(p: &Principal, never: std::ops::RangeInclusive<i32>) -> bool {
    p.kind == Kind::User && !never.contains(&p.id)
}
