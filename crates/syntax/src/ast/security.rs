//! Logins, users, roles, credentials and permissions: parsed in full, judged by the engine.

use super::{Ident, ObjectName, OptionItem};
use compact_str::CompactString;

/// `CREATE` or `ALTER` of a login, user or role.
#[derive(Clone, Debug, PartialEq)]
pub struct Principal {
    /// What it is.
    pub kind: PrincipalKind,
    /// Its name.
    pub name: Ident,
    /// `FROM WINDOWS`, `FOR LOGIN x`, `WITHOUT LOGIN`, `AUTHORIZATION x`, `ADD MEMBER x`, `ENABLE`.
    pub source: PrincipalSource,
    /// `WITH PASSWORD = '...', ...`.
    pub options: Vec<OptionItem>,
}

/// The kinds of principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrincipalKind {
    /// A login of the server.
    Login,
    /// A user of the database.
    User,
    /// A role of the database.
    Role,
    /// A role of the server.
    ServerRole,
    /// A role of the database that a session takes on by its password.
    ApplicationRole,
}

/// What stands between a principal's name and WITH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrincipalSource {
    /// Nothing.
    None,
    /// `FROM WINDOWS`, `FROM EXTERNAL PROVIDER`: the words, upper case.
    Provider(CompactString),
    /// `FOR LOGIN x`, `FROM LOGIN x`.
    Login(Ident),
    /// `FROM CERTIFICATE x`, `FROM ASYMMETRIC KEY x`: kind in upper case, and name.
    Key(CompactString, Ident),
    /// `WITHOUT LOGIN`.
    WithoutLogin,
    /// `AUTHORIZATION x`.
    Authorization(Ident),
    /// `ADD MEMBER x`.
    AddMember(Ident),
    /// `DROP MEMBER x`.
    DropMember(Ident),
    /// `ENABLE`.
    Enable,
    /// `DISABLE`.
    Disable,
}

/// `CREATE [DATABASE SCOPED] CREDENTIAL name WITH IDENTITY = '...' [, SECRET = '...']`.
#[derive(Clone, Debug, PartialEq)]
pub struct Credential {
    /// `ALTER` rather than `CREATE`.
    pub alter: bool,
    /// `DATABASE SCOPED`.
    pub database_scoped: bool,
    /// Its name.
    pub name: Ident,
    /// `IDENTITY`.
    pub identity: CompactString,
    /// `SECRET`.
    pub secret: Option<CompactString>,
}

/// `GRANT`, `REVOKE`, `DENY`.
#[derive(Clone, Debug, PartialEq)]
pub struct Permission {
    /// Which of the three.
    pub verb: PermissionVerb,
    /// `ALL`, `SELECT (columns)`, `VIEW SERVER STATE`; never empty.
    pub permissions: Vec<PermissionItem>,
    /// `ON [class::]name`.
    pub on: Option<Securable>,
    /// `TO`, `FROM`; never empty.
    pub principals: Vec<Ident>,
    /// `WITH GRANT OPTION`, `GRANT OPTION FOR`.
    pub grant_option: bool,
    /// `CASCADE`.
    pub cascade: bool,
    /// `AS x`.
    pub grantor: Option<Ident>,
}

/// Which permission statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionVerb {
    /// `GRANT`.
    Grant,
    /// `REVOKE`.
    Revoke,
    /// `DENY`.
    Deny,
}

/// One permission.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionItem {
    /// Upper case, words joined by one space.
    pub name: CompactString,
    /// `(columns)`.
    pub columns: Vec<Ident>,
}

/// What a permission is on.
#[derive(Clone, Debug, PartialEq)]
pub struct Securable {
    /// `OBJECT`, `SCHEMA`, `DATABASE`, ...: upper case, words joined by one space; `None` is
    /// OBJECT.
    pub class: Option<CompactString>,
    /// Its name.
    pub name: ObjectName,
}

/// `ALTER AUTHORIZATION`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterAuthorization {
    /// What gets another owner.
    pub on: Securable,
    /// The new owner; `None` is SCHEMA OWNER.
    pub to: Option<Ident>,
}

/// `ADD SENSITIVITY CLASSIFICATION`, `DROP SENSITIVITY CLASSIFICATION`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// `ADD` rather than `DROP`.
    pub add: bool,
    /// `[schema.]table.column`; never empty.
    pub columns: Vec<ObjectName>,
    /// `WITH (...)`.
    pub options: Vec<OptionItem>,
}

/// `CREATE` or `ALTER SECURITY POLICY name ADD FILTER PREDICATE f(a) ON t, ... [WITH (...)] [NOT
/// FOR REPLICATION]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SecurityPolicy {
    /// `ALTER` rather than `CREATE`.
    pub alter: bool,
    /// Its name.
    pub name: ObjectName,
    /// The predicates that are added, changed and dropped.
    pub changes: Vec<PredicateChange>,
    /// `WITH (STATE = ON, SCHEMABINDING = ON)`.
    pub options: Vec<OptionItem>,
    /// `NOT FOR REPLICATION`.
    pub not_for_replication: bool,
}

/// What is done to a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicateVerb {
    /// `ADD`.
    Add,
    /// `ALTER`.
    Alter,
    /// `DROP`.
    Drop,
}

/// One predicate of CREATE or ALTER SECURITY POLICY.
#[derive(Clone, Debug, PartialEq)]
pub struct PredicateChange {
    /// What is done to it.
    pub verb: PredicateVerb,
    /// `BLOCK` rather than `FILTER`.
    pub block: bool,
    /// The function and its arguments; none for DROP.
    pub call: Option<PredicateCall>,
    /// `ON table`.
    pub target: ObjectName,
    /// Of a block predicate; none for every one.
    pub operation: Option<BlockOperation>,
}

/// The call of a predicate's function.
#[derive(Clone, Debug, PartialEq)]
pub struct PredicateCall {
    /// The function.
    pub function: ObjectName,
    /// The text of its arguments, with the parentheses.
    pub args: String,
}

/// Which operations a block predicate is about, and when it looks at the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOperation {
    /// `AFTER INSERT`.
    AfterInsert,
    /// `AFTER UPDATE`.
    AfterUpdate,
    /// `BEFORE UPDATE`.
    BeforeUpdate,
    /// `BEFORE DELETE`.
    BeforeDelete,
}
