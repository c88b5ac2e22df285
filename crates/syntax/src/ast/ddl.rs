//! Schemas, types, sequences, and DROP of whatever there is. Databases, tables, indexes and modules
//! have files of their own.

use super::{
    Expr, Ident, Literal, ObjectName, OptionItem, Stmt, TableElement, TriggerTarget, TypeName,
};

/// `CREATE SCHEMA name [AUTHORIZATION owner] [elements]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// Its name; the owner's when left out.
    pub name: Ident,
    /// `AUTHORIZATION`.
    pub owner: Option<Ident>,
    /// CREATE TABLE, CREATE VIEW, GRANT and the like that belong to it.
    pub elements: Vec<Stmt>,
}

/// `CREATE TYPE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    /// Its name.
    pub name: ObjectName,
    /// What it is.
    pub kind: TypeKind,
}

/// What a user type is.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `FROM base [NULL | NOT NULL]`.
    Alias { base: TypeName, nullable: Option<bool> },
    /// `AS TABLE (...)`.
    Table { elements: Vec<TableElement>, options: Vec<OptionItem> },
}

/// `CREATE SEQUENCE`, `ALTER SEQUENCE`. `Some(None)` is the NO form (`NO CYCLE` is `Some(false)`).
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceDef {
    /// Its name.
    pub name: ObjectName,
    /// `AS type`.
    pub data_type: Option<TypeName>,
    /// `START WITH n`.
    pub start: Option<Expr>,
    /// `RESTART [WITH n]`; only in ALTER.
    pub restart: Option<Option<Expr>>,
    /// `INCREMENT BY n`.
    pub increment: Option<Expr>,
    /// `MINVALUE n`, `NO MINVALUE`.
    pub min_value: Option<Option<Expr>>,
    /// `MAXVALUE n`, `NO MAXVALUE`.
    pub max_value: Option<Option<Expr>>,
    /// `CYCLE`, `NO CYCLE`.
    pub cycle: Option<bool>,
    /// `CACHE [n]`, `NO CACHE`.
    pub cache: Option<SequenceCache>,
}

/// `CACHE` of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum SequenceCache {
    /// `CACHE`.
    Default,
    /// `CACHE n`.
    Size(Literal),
    /// `NO CACHE`.
    None,
}

/// `DROP kind [IF EXISTS] names`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropObjects {
    /// What kind of thing.
    pub kind: DropKind,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Never empty. STATISTICS has `table.name` as schema and name.
    pub names: Vec<ObjectName>,
    /// `ON DATABASE`, `ON ALL SERVER` of DROP TRIGGER.
    pub on: Option<TriggerTarget>,
}

/// What DROP drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// `TABLE`.
    Table,
    /// `VIEW`.
    View,
    /// `PROCEDURE`.
    Procedure,
    /// `FUNCTION`.
    Function,
    /// `TRIGGER`.
    Trigger,
    /// `SCHEMA`.
    Schema,
    /// `TYPE`.
    Type,
    /// `SEQUENCE`.
    Sequence,
    /// `SYNONYM`.
    Synonym,
    /// `STATISTICS`.
    Statistics,
    /// `LOGIN`.
    Login,
    /// `USER`.
    User,
    /// `ROLE`.
    Role,
    /// `SERVER ROLE`.
    ServerRole,
    /// `APPLICATION ROLE`.
    ApplicationRole,
    /// `SECURITY POLICY`.
    SecurityPolicy,
    /// `CREDENTIAL`.
    Credential,
    /// `DATABASE SCOPED CREDENTIAL`.
    DatabaseCredential,
    /// `DEFAULT`.
    Default,
    /// `RULE`.
    Rule,
}
