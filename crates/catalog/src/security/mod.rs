//! Principals, their memberships, and what they may do: logins of the server (in master), users
//! and roles of a database, permissions, owners. Guarantees: what is published is immutable and
//! committed; a later state has a greater version, in the whole process.

pub mod password_age;
pub mod permission;
pub mod store;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compact_str::CompactString;
use types::Value;

use crate::fold_name;
pub use password_age::PasswordAge;
pub use permission::{Class, Permission};

/// principal_id of `sa`.
pub const SA: i32 = 1;
/// principal_id of the server's `public`.
pub const SERVER_PUBLIC: i32 = 2;
/// First principal_id of a login or role that was made.
pub const FIRST_LOGIN: i32 = 257;
/// principal_id of a database's `public`.
pub const PUBLIC: i32 = 0;
/// principal_id of `dbo`.
pub const DBO: i32 = 1;
/// principal_id of `guest`.
pub const GUEST: i32 = 2;
/// First principal_id of a user or role that was made.
pub const FIRST_USER: i32 = 5;
/// principal_id of `db_owner`.
pub const DB_OWNER: i32 = 16_384;

/// sid of `sa`.
pub const SA_SID: [u8; 1] = [1];

/// The fixed roles of the server, with the permissions that they carry. sysadmin may do everything
/// without being asked.
pub const SERVER_ROLES: [(&str, i32, &[Permission]); 9] = [
    ("public", SERVER_PUBLIC, &[Permission::ViewAnyDatabase, Permission::ConnectSql]),
    ("sysadmin", SYSADMIN, &[Permission::ControlServer]),
    ("securityadmin", SECURITYADMIN, &[Permission::AlterAnyLogin, Permission::ViewAnyDefinition]),
    (
        "serveradmin",
        5,
        &[
            Permission::AlterResources,
            Permission::AlterServerState,
            Permission::AlterSettings,
            Permission::Shutdown,
            Permission::ViewServerState,
        ],
    ),
    ("setupadmin", 6, &[]),
    (
        "processadmin",
        7,
        &[
            Permission::AlterAnyConnection,
            Permission::AlterServerState,
            Permission::ViewServerState,
        ],
    ),
    ("diskadmin", 8, &[Permission::AlterResources]),
    ("dbcreator", 9, &[Permission::CreateAnyDatabase, Permission::AlterAnyDatabase]),
    ("bulkadmin", 10, &[Permission::AdministerBulk]),
];
/// principal_id of `sysadmin`.
pub const SYSADMIN: i32 = 3;
/// principal_id of `securityadmin`.
pub const SECURITYADMIN: i32 = 4;
/// dbcreator.
pub const DBCREATOR: i32 = 9;

/// A fixed role of a database: name, principal_id, what it is granted and what it is denied on the
/// whole database.
pub type FixedRole = (&'static str, i32, &'static [Permission], &'static [Permission]);

/// The fixed roles of a database. db_owner may do everything without being asked.
pub const DATABASE_ROLES: [FixedRole; 9] = [
    ("db_owner", DB_OWNER, &[Permission::Control], &[]),
    (
        "db_accessadmin",
        16_385,
        &[Permission::AlterAnyUser, Permission::CreateSchema, Permission::Connect],
        &[],
    ),
    (
        "db_securityadmin",
        DB_SECURITYADMIN,
        &[
            Permission::AlterAnyApplicationRole,
            Permission::AlterAnyRole,
            Permission::CreateSchema,
            Permission::ViewDefinition,
        ],
        &[],
    ),
    (
        "db_ddladmin",
        16_387,
        &[
            Permission::AlterAnySchema,
            Permission::Checkpoint,
            Permission::CreateFunction,
            Permission::CreateProcedure,
            Permission::CreateSynonym,
            Permission::CreateTable,
            Permission::CreateType,
            Permission::CreateView,
            Permission::References,
        ],
        &[],
    ),
    (
        "db_backupoperator",
        16_389,
        &[Permission::BackupDatabase, Permission::BackupLog, Permission::Checkpoint],
        &[],
    ),
    ("db_datareader", 16_390, &[Permission::Select], &[]),
    ("db_datawriter", 16_391, &[Permission::Insert, Permission::Update, Permission::Delete], &[]),
    ("db_denydatareader", 16_392, &[], &[Permission::Select]),
    (
        "db_denydatawriter",
        16_393,
        &[],
        &[Permission::Insert, Permission::Update, Permission::Delete],
    ),
];
/// principal_id of `db_securityadmin`.
pub const DB_SECURITYADMIN: i32 = 16_386;

/// What a principal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A login with a password, or a user of one or without one.
    User,
    /// A role.
    Role,
    /// A role that nobody is a member of: a session that knows its password takes it on.
    ApplicationRole,
}

/// A login, user or role.
#[derive(Clone, Debug, PartialEq)]
pub struct Principal {
    pub id: i32,
    pub name: CompactString,
    pub kind: Kind,
    /// A login that is disabled.
    pub disabled: bool,
    /// CHECK_POLICY of a login.
    pub check_policy: bool,
    /// How old the password of a login is, and whether it expires or must be changed.
    pub password_age: PasswordAge,
    /// A user that belongs to no login.
    pub without_login: bool,
    pub sid: Arc<[u8]>,
    /// principal_id of the owner; of roles. 0 for none.
    pub owner: i32,
    pub created: Value,
    pub modified: Value,
    /// Default language of a login: a number of sys.syslanguages.
    pub language: u8,
    /// Default database of a login, default schema of a user.
    pub default_name: Option<CompactString>,
    /// A hash of the password of a login or an application role, as a PHC string.
    pub hash: Option<CompactString>,
}

impl Principal {
    fn built_in(id: i32, name: &str, kind: Kind, sid: &[u8]) -> Principal {
        // SQL Server 2022's own were made on this day.
        let made = Value::DateTime { days: 37_717, ticks: 0 };
        Principal {
            id,
            name: name.into(),
            kind,
            disabled: false,
            check_policy: true,
            password_age: PasswordAge::default(),
            without_login: false,
            sid: sid.into(),
            owner: if kind == Kind::Role { 1 } else { 0 },
            created: made.clone(),
            modified: made,
            language: 0,
            default_name: None,
            hash: None,
        }
    }

    /// Whether it was there before any statement, and stays.
    pub fn is_fixed(&self, scope: Scope) -> bool {
        match scope {
            Scope::Server => self.id < FIRST_LOGIN,
            Scope::Database => self.id < FIRST_USER || is_fixed_role(self.id),
        }
    }
}

/// Whether a principal_id of a database is that of a fixed role.
pub fn is_fixed_role(id: i32) -> bool {
    (DB_OWNER..DB_OWNER + 16).contains(&id)
}

/// Of the server or of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Server = 0,
    Database = 1,
}

/// What was said of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantState {
    Deny,
    Grant,
    GrantWithOption,
}

impl GrantState {
    /// As sys.database_permissions.state.
    pub fn code(self) -> &'static str {
        match self {
            GrantState::Deny => "D",
            GrantState::Grant => "G",
            GrantState::GrantWithOption => "W",
        }
    }

    /// state_desc.
    pub fn description(self) -> &'static str {
        match self {
            GrantState::Deny => "DENY",
            GrantState::Grant => "GRANT",
            GrantState::GrantWithOption => "GRANT_WITH_GRANT_OPTION",
        }
    }

    fn of_code(code: &str) -> Option<GrantState> {
        [GrantState::Deny, GrantState::Grant, GrantState::GrantWithOption]
            .into_iter()
            .find(|s| s.code() == code)
    }
}

/// What a permission is on: class, major_id (object_id, schema_id, principal_id; 0 for the database
/// or server), minor_id (column_id; 0 for the whole).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Securable {
    pub class: Class,
    pub major: i32,
    pub minor: i32,
}

impl Securable {
    /// Without columns.
    pub fn new(class: Class, major: i32) -> Securable {
        Securable { class, major, minor: 0 }
    }

    pub const DATABASE: Securable = Securable { class: Class::Database, major: 0, minor: 0 };
    pub const SERVER: Securable = Securable { class: Class::Server, major: 0, minor: 0 };
}

/// One row of GRANT or DENY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub on: Securable,
    pub permission: Permission,
    pub grantee: i32,
    pub grantor: i32,
    pub state: GrantState,
}

/// The principals of the server or of a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Principals {
    by_id: BTreeMap<i32, Arc<Principal>>,
    names: HashMap<CompactString, i32>,
    /// (role, member)
    members: BTreeSet<(i32, i32)>,
    /// By grantee.
    grants: HashMap<i32, Vec<Grant>>,
}

impl Principals {
    fn insert(&mut self, principal: Principal) {
        if let Some(before) = self.by_id.get(&principal.id) {
            self.names.remove(&fold_name(&before.name));
        }
        self.names.insert(fold_name(&principal.name), principal.id);
        self.by_id.insert(principal.id, Arc::new(principal));
    }

    /// The principal of an id.
    pub fn get(&self, id: i32) -> Option<&Arc<Principal>> {
        self.by_id.get(&id)
    }

    /// The principal of a name, without regard to case.
    pub fn find(&self, name: &str) -> Option<&Arc<Principal>> {
        self.names.get(&fold_name(name)).and_then(|id| self.by_id.get(id))
    }

    /// The one with a sid that is no role.
    pub fn with_sid(&self, sid: &[u8]) -> Option<&Arc<Principal>> {
        self.by_id.values().find(|p| p.kind == Kind::User && *p.sid == *sid)
    }

    /// All by id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Principal>> {
        self.by_id.values()
    }

    /// (role, member) pairs in order.
    pub fn members(&self) -> impl Iterator<Item = (i32, i32)> + '_ {
        self.members.iter().copied()
    }

    /// Adds the roles of these principals, of the roles themselves too, to them. Each once.
    pub fn close_over_roles(&self, ids: &mut Vec<i32>) {
        let mut at = 0;
        while at < ids.len() {
            let member = ids[at];
            for (role, _) in self.members.iter().filter(|(_, m)| *m == member) {
                if !ids.contains(role) {
                    ids.push(*role);
                }
            }
            at += 1;
        }
    }

    /// Whether a principal is a member of a role, directly or through other roles.
    pub fn is_member(&self, role: i32, id: i32) -> bool {
        let mut ids = vec![id];
        self.close_over_roles(&mut ids);
        ids[1..].contains(&role)
    }

    /// What was granted or denied to a principal itself.
    pub fn grants_of(&self, id: i32) -> &[Grant] {
        self.grants.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Everything that was granted or denied.
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.grants.values().flatten()
    }

    /// The least id from `first` on that nobody has.
    pub fn free_id(&self, first: i32) -> i32 {
        let used =
            self.by_id.keys().copied().filter(|id| *id >= first && !is_fixed_role(*id)).max();
        let next = used.map_or(first, |id| id + 1);
        if is_fixed_role(next) { DB_OWNER + 16 } else { next }
    }
}

/// Principals, permissions and owners of a database; in master those of the server too.
#[derive(Clone, Debug)]
pub struct Security {
    /// Greater than that of every state that was read before.
    pub version: u64,
    pub server: Principals,
    pub database: Principals,
    /// Owner by class and major_id, where it is not what it would be by itself.
    owners: HashMap<(u8, i32), i32>,
}

impl Default for Security {
    /// What every database has.
    fn default() -> Security {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut server = Principals::default();
        server.insert(Principal::built_in(SA, "sa", Kind::User, &SA_SID));
        for (name, id, _) in SERVER_ROLES {
            server.insert(Principal::built_in(id, name, Kind::Role, &[id as u8]));
        }
        server.members.insert((SYSADMIN, SA));
        let mut database = Principals::default();
        database.insert(Principal::built_in(PUBLIC, "public", Kind::Role, &[]));
        database.insert(Principal::built_in(DBO, "dbo", Kind::User, &SA_SID));
        for (name, id, sid) in
            [("guest", GUEST, 0u8), ("INFORMATION_SCHEMA", 3, 0xf3), ("sys", 4, 0xf4)]
        {
            database.insert(Principal::built_in(id, name, Kind::User, &[sid]));
        }
        for (name, id, _, _) in DATABASE_ROLES {
            database.insert(Principal::built_in(id, name, Kind::Role, &[]));
        }
        database.members.insert((DB_OWNER, DBO));
        Security {
            version: NEXT.fetch_add(1, Ordering::Relaxed),
            server,
            database,
            owners: HashMap::new(),
        }
    }
}

impl Security {
    /// The principals of a scope.
    pub fn of(&self, scope: Scope) -> &Principals {
        match scope {
            Scope::Server => &self.server,
            Scope::Database => &self.database,
        }
    }

    /// principal_id of a schema's owner.
    pub fn schema_owner(&self, schema_id: i32) -> i32 {
        match self.owners.get(&(Class::Schema as u8, schema_id)) {
            Some(owner) => *owner,
            // guest, INFORMATION_SCHEMA, sys and those of fixed roles belong to the users and roles
            // of these names.
            None if (GUEST..FIRST_USER).contains(&schema_id) || is_fixed_role(schema_id) => {
                schema_id
            }
            None => DBO,
        }
    }

    /// principal_id of an object's owner: its schema's, unless it has one of its own.
    pub fn object_owner(&self, object_id: i32, schema_id: i32) -> i32 {
        match self.owners.get(&(Class::Object as u8, object_id)) {
            Some(owner) => *owner,
            None => self.schema_owner(schema_id),
        }
    }

    /// Whether it says the same of everything and everybody.
    pub fn says_as(&self, other: &Security) -> bool {
        self.server == other.server && self.database == other.database && self.has_owners_of(other)
    }

    /// Whether everything has the same owner in `other`.
    pub(crate) fn has_owners_of(&self, other: &Security) -> bool {
        self.owners == other.owners
    }

    /// The owner that something has of its own.
    pub fn own_owner(&self, class: Class, major: i32) -> Option<i32> {
        self.owners.get(&(class as u8, major)).copied()
    }

    /// What a principal owns, by class and major_id.
    pub fn owned_by(&self, id: i32) -> impl Iterator<Item = (Class, i32)> + '_ {
        let owned = self.owners.iter().filter(move |(_, owner)| **owner == id);
        owned.filter_map(|((class, major), _)| {
            Class::from_number(*class).map(|class| (class, *major))
        })
    }
}
