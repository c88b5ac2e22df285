//! Which rows of a system view a caller sees.

/// Which rows a caller sees who has no right to see all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisibleRows {
    All,
    /// Those of objects that it may know of: the column with the object_id (of the table, where it
    /// is a part of one).
    Objects(&'static str),
    /// Those whose definition it may see.
    Definitions(&'static str),
    /// The same by the columns of schema and name.
    Named(&'static str, &'static str),
    /// Those of databases that it may know of: the column with the database_id.
    Databases(&'static str),
    /// Those of types that it may know of: the column with the user_type_id.
    Types(&'static str),
    /// The same by the columns of schema and name.
    NamedTypes(&'static str, &'static str),
    /// Those of its own session, unless it has VIEW SERVER PERFORMANCE STATE.
    Session,
    /// Logins and roles of the server that it may know of.
    Logins,
    /// Members of roles of the server of which it may know.
    LoginMembers,
    /// Permissions of logins: its own and its roles'.
    LoginGrants,
    /// Users and roles of the database that it may know of.
    Users,
    /// Members of roles of the database of which it may know.
    UserMembers,
    /// Permissions of users: its own and its roles'.
    UserGrants,
}
