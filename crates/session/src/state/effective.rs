//! What a caller may do in a database: who it is there, the roles that it is in, what was granted
//! and denied to any of them. Guarantee: a denial counts before a grant, on the securable itself
//! and on what contains it.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::security::{
    Class, DATABASE_ROLES, GrantState, Kind, Permission, SERVER_PUBLIC, SERVER_ROLES, Securable,
    Security,
};
use catalog::{Db, FIRST_USER_DB, MODEL};
use logical::rights::Right;

/// What was said of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PermissionDecision {
    Nothing,
    Granted,
    Denied,
    /// By owning it.
    Owner,
}

/// What a caller is and may do in one database.
pub struct Effective {
    pub(super) db: i32,
    /// It is looked at each time, and found by a lock that all sessions share.
    pub(super) master: Arc<Db>,
    /// Of the principals and permissions of master and of the database.
    pub(super) versions: (u64, u64),
    /// Nothing in the database is forbidden.
    pub(super) all: bool,
    /// Nothing at all is forbidden.
    pub(super) sysadmin: bool,
    pub user: i32,
    pub(super) server: Arc<Security>,
    pub(super) database: Arc<Security>,
    /// The login and its roles.
    pub(super) logins: Vec<i32>,
    /// The user and its roles.
    pub(super) users: Vec<i32>,
    pub(super) known: HashMap<(Securable, Permission), PermissionDecision>,
}

impl Effective {
    /// What was said on a securable itself.
    fn explicit(&self, on: Securable, schema: i32, permission: Permission) -> PermissionDecision {
        let (ids, principals) = match on.class.is_server() {
            true => (&self.logins, &self.server.server),
            false => (&self.users, &self.database.database),
        };
        if on.minor == 0 && self.owns(on, schema) {
            return PermissionDecision::Owner;
        }
        let mut decision = PermissionDecision::Nothing;
        for id in ids {
            for grant in principals
                .grants_of(*id)
                .iter()
                .filter(|g| g.on == on && g.permission == permission)
            {
                match grant.state {
                    GrantState::Deny => return PermissionDecision::Denied,
                    GrantState::Grant | GrantState::GrantWithOption => {
                        decision = PermissionDecision::Granted
                    }
                }
            }
        }
        match on.class {
            Class::Database => {
                for (_, _, granted, denied) in DATABASE_ROLES.iter().filter(|r| ids.contains(&r.1))
                {
                    if denied.contains(&permission) {
                        return PermissionDecision::Denied;
                    }
                    if granted.contains(&permission) {
                        decision = PermissionDecision::Granted;
                    }
                }
                // guest may come into the databases that everyone needs.
                let everyones = self.db < FIRST_USER_DB
                    && self.db != MODEL
                    && permission == Permission::Connect;
                if everyones
                    || (permission == Permission::Connect
                        && self.user >= catalog::security::FIRST_USER)
                {
                    decision = PermissionDecision::Granted;
                }
            }
            Class::Server => {
                let carries = |r: &&(&str, i32, &[Permission])| {
                    ids.contains(&r.1) && r.2.contains(&permission)
                };
                if SERVER_ROLES.iter().any(|role| carries(&role)) {
                    decision = PermissionDecision::Granted;
                }
            }
            _ => {}
        }
        decision
    }

    /// Whether the caller, or a role of the caller, owns it.
    fn owns(&self, on: Securable, schema: i32) -> bool {
        match on.class {
            Class::Object => self.users.contains(&self.database.object_owner(on.major, schema)),
            Class::Schema => self.users.contains(&self.database.schema_owner(on.major)),
            Class::Type => self.users.contains(&self.database.schema_owner(schema)),
            Class::User => {
                let role = self.database.database.get(on.major).filter(|p| p.kind == Kind::Role);
                role.is_some_and(|role| self.users.contains(&role.owner))
            }
            Class::Login => {
                let role = self.server.server.get(on.major).filter(|p| p.kind == Kind::Role);
                on.major > SERVER_PUBLIC
                    && role.is_some_and(|role| self.logins.contains(&role.owner))
            }
            Class::Database | Class::Server => false,
        }
    }

    /// Whether a permission is had on a securable, whatever it was said on.
    fn decide(&mut self, on: Securable, schema: i32, permission: Permission) -> PermissionDecision {
        if let Some(known) = self.known.get(&(on, permission)) {
            return *known;
        }
        let mut decision = self.explicit(on, schema, permission);
        if decision == PermissionDecision::Nothing || decision == PermissionDecision::Granted {
            for (class, wider) in permission.included_in(on.class) {
                let wider_on = match class {
                    _ if *class == on.class => Securable { minor: 0, ..on },
                    Class::Schema => Securable::new(Class::Schema, schema),
                    Class::Server => Securable::SERVER,
                    _ => Securable::DATABASE,
                };
                match self.decide(wider_on, schema, *wider) {
                    PermissionDecision::Denied => {
                        decision = PermissionDecision::Denied;
                        break;
                    }
                    PermissionDecision::Granted | PermissionDecision::Owner => {
                        decision = PermissionDecision::Granted
                    }
                    PermissionDecision::Nothing => {}
                }
            }
        }
        self.known.insert((on, permission), decision);
        decision
    }

    /// Whether it is allowed.
    pub fn has(&mut self, on: Securable, schema: i32, permission: Permission) -> bool {
        let all = if on.class.is_server() { self.sysadmin } else { self.all };
        all || matches!(
            self.decide(on, schema, permission),
            PermissionDecision::Granted | PermissionDecision::Owner
        )
    }

    /// Whether a permission was granted on some column of an object.
    fn any_column(&self, right: &Right) -> bool {
        let mut grants = self.users.iter().flat_map(|id| self.database.database.grants_of(*id));
        grants.any(|g| {
            g.on.class == Class::Object
                && g.on.major == right.on.major
                && g.permission == right.permission
                && g.state != GrantState::Deny
        })
    }

    /// Whether an object's columns are allowed; the column that is not, 0 for the object.
    pub(super) fn columns(&mut self, right: &Right) -> Result<(), i32> {
        let whole = self.decide(right.on, right.schema, right.permission);
        if whole == PermissionDecision::Denied {
            return Err(0);
        }
        let allowed = whole != PermissionDecision::Nothing;
        if whole == PermissionDecision::Owner || !right.permission.has_columns() {
            return if allowed { Ok(()) } else { Err(0) };
        }
        if right.columns.is_empty() {
            return if allowed || self.any_column(right) { Ok(()) } else { Err(0) };
        }
        let mut missing = None;
        for column in &right.columns {
            let on = Securable { minor: *column, ..right.on };
            match self.explicit(on, right.schema, right.permission) {
                PermissionDecision::Denied => return Err(*column),
                PermissionDecision::Granted => {}
                _ if allowed => {}
                _ => missing = missing.or(Some(*column)),
            }
        }
        match missing {
            None => Ok(()),
            Some(column) => Err(if allowed || self.any_column(right) { column } else { 0 }),
        }
    }
}
