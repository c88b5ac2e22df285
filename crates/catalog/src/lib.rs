//! What databases and objects there are: definitions, the system tables that keep them, name
//! resolution, versions, and the handle of a database that is open. Nothing runs here.
//!
//! # Guarantees
//! - A definition is immutable once published; a change of schema publishes another one and moves
//!   the database's schema version.
//! - System tables are changed in the transaction of the statement that changes the schema; object
//!   ids and allocation units are never given twice.
//! - A session that uses a database that is not online gets SQL Server's error for its state.

pub mod alias;
pub mod change;
pub mod clock;
pub mod closing;
pub mod constraint;
pub mod counters;
pub mod db;
pub mod definition;
pub mod defs;
pub mod errorlog;
pub mod errors;
pub mod given_up;
pub mod growth;
pub mod identity;
mod index_row;
pub mod load;
pub mod lookups;
pub mod messages;
pub mod module;
pub mod names;
pub mod new;
pub mod object_head;
pub mod other;
pub mod overflow;
pub mod pending;
pub mod policy;
pub mod properties;
pub mod query_store;
pub mod registry;
pub mod row_counts;
pub mod row_version;
mod rows;
pub mod security;
pub mod sequence;
pub mod settings;
pub mod statistics;
pub mod store;
pub mod systables;
pub mod table_type;
pub mod temporal;
pub mod type_text;
pub mod usage;

pub use alias::AliasDef;
pub use constraint::{CheckDef, ForeignKeyDef};
pub use db::{Db, DbStatus, OpenStorage};
pub use defs::*;
pub use growth::GrowthSetting;
pub use lookups::{ConstraintAt, ConstraintKind, constraints_of};
pub use module::{ModuleDef, ModuleHead, ModuleKind, ModuleSettings, TriggerOrder};
pub use names::fold_name;
pub use new::*;
pub use registry::{FIRST_USER_DB, MASTER, MODEL, TEMPDB, VARIABLES};
pub use table_type::TableTypeDef;
