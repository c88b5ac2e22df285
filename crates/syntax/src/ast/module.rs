//! Modules: views, procedures, functions, triggers. Each keeps its own text, which is what the
//! catalog stores.

use super::{
    ExecuteAs, Expr, Ident, ObjectName, OptionItem, Query, Span, Stmt, TableElement, TypeName,
};
use compact_str::CompactString;

/// How a module is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleVerb {
    /// `CREATE`.
    Create,
    /// `ALTER`.
    Alter,
    /// `CREATE OR ALTER`.
    CreateOrAlter,
}

/// `CREATE VIEW`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// CREATE or ALTER.
    pub verb: ModuleVerb,
    /// Its name.
    pub name: ObjectName,
    /// Its columns' names; empty when left out.
    pub columns: Vec<Ident>,
    /// `WITH SCHEMABINDING, ...`.
    pub options: Vec<OptionItem>,
    /// Its query.
    pub query: Query,
    /// `WITH CHECK OPTION`.
    pub check_option: bool,
    /// The whole statement as written: what the catalog keeps.
    pub text: String,
}

/// `CREATE PROCEDURE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateProcedure {
    /// CREATE or ALTER.
    pub verb: ModuleVerb,
    /// Its name.
    pub name: ObjectName,
    /// `;number`.
    pub number: Option<i64>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// `WITH RECOMPILE, ...`.
    pub options: Vec<OptionItem>,
    /// `WITH EXECUTE AS ...`.
    pub execute_as: Option<ExecuteAs>,
    /// `FOR REPLICATION`.
    pub for_replication: bool,
    /// Its statements. Their spans count from the start of the batch, as those of all statements
    /// do.
    pub body: Vec<Stmt>,
    /// The whole statement as written.
    pub text: String,
}

/// A parameter of a procedure or function.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// With its `@`.
    pub name: CompactString,
    /// Its type; `cursor` for CURSOR.
    pub data_type: TypeName,
    /// `VARYING`.
    pub varying: bool,
    /// `NULL` is true, `NOT NULL` false.
    pub nullable: Option<bool>,
    /// `= default`: a constant, or a function of the session (`@@SPID`).
    pub default: Option<Expr>,
    /// `OUTPUT`.
    pub output: bool,
    /// `READONLY`.
    pub readonly: bool,
    /// Where it stands.
    pub span: Span,
}

/// `CREATE FUNCTION`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    /// CREATE or ALTER.
    pub verb: ModuleVerb,
    /// Its name.
    pub name: ObjectName,
    /// Its parameters.
    pub params: Vec<Param>,
    /// `WITH SCHEMABINDING, ...`.
    pub options: Vec<OptionItem>,
    /// `WITH EXECUTE AS ...`.
    pub execute_as: Option<ExecuteAs>,
    /// What it returns and how.
    pub body: FunctionBody,
    /// The whole statement as written.
    pub text: String,
}

/// The three kinds of function.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionBody {
    /// `RETURNS type AS BEGIN ... END`.
    Scalar { returns: TypeName, body: Vec<Stmt> },
    /// `RETURNS TABLE AS RETURN query`.
    Inline(Query),
    /// `RETURNS @t TABLE (...) AS BEGIN ... END`.
    Table { variable: CompactString, elements: Vec<TableElement>, body: Vec<Stmt> },
}

/// `CREATE TRIGGER`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// CREATE or ALTER.
    pub verb: ModuleVerb,
    /// Its name.
    pub name: ObjectName,
    /// What it watches.
    pub on: TriggerTarget,
    /// `WITH ...`.
    pub options: Vec<OptionItem>,
    /// `WITH EXECUTE AS ...`.
    pub execute_as: Option<ExecuteAs>,
    /// `INSTEAD OF` rather than AFTER or FOR.
    pub instead_of: bool,
    /// `INSERT`, `UPDATE`, `DELETE` or DDL events, upper case; never empty.
    pub events: Vec<CompactString>,
    /// `NOT FOR REPLICATION`.
    pub not_for_replication: bool,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// The whole statement as written.
    pub text: String,
}

/// What a trigger watches.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerTarget {
    /// A table or view.
    Table(ObjectName),
    /// `DATABASE`.
    Database,
    /// `ALL SERVER`.
    Server,
}

/// `ENABLE | DISABLE TRIGGER ALL | names ON target`.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchTrigger {
    /// Enable rather than disable.
    pub enable: bool,
    /// Empty is ALL.
    pub names: Vec<ObjectName>,
    /// What they watch.
    pub on: TriggerTarget,
}
