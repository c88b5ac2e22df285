//! Which rows of a system view are shown to whom.

/// Which rows a caller sees to whom not everything is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    All,
    /// Those of objects that it may know of: the column with the object_id (of the table, where it is a part of one).
    Objects(&'static str),
    /// Those whose definition it may see.
    Definitions(&'static str),
    /// The same by the columns of schema and name.
    Named(&'static str, &'static str),
    /// master, tempdb and those that it may use, unless it has VIEW ANY DATABASE: the column with the database_id.
    Databases(&'static str),
    /// Those of its own session, unless it has VIEW SERVER STATE.
    Session,
    /// Logins: itself and roles, unless it has VIEW ANY DEFINITION.
    Logins,
    /// Permissions of logins: its own.
    LoginGrants,
    /// Users: itself and roles, unless it has VIEW DEFINITION.
    Users,
    /// Permissions of users: its own and its roles'.
    UserGrants,
}
