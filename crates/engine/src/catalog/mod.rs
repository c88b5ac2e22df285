//! The catalog: definitions of a database's objects, the system tables that keep them, and changes of schema.

pub mod ddl;
pub mod defs;
pub mod identity;
pub mod load;
pub mod new;
pub mod pending;
pub mod rebuild;
pub mod store;
pub mod systables;
pub mod tables;

pub use defs::*;
pub use new::*;
pub use tables::create_table;
