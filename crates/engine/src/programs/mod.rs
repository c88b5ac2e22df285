//! Batches and modules as they are compiled: the flat program, what its statements are bound to, what
//! running them has cost, the cache that keeps them.
//! Guarantees: nothing here runs a statement; what is kept for a text was made of it, in this database,
//! under these options.

pub(crate) mod arguments;
pub(crate) mod bound_call;
pub mod cache;
pub mod compiled;
pub mod counts;
pub mod declared;
pub(crate) mod function_body;
pub mod module;
pub mod parameters;
pub mod program;
pub mod shape;
pub mod shown_plan;
pub(crate) mod sightings;
pub mod statement_text;
pub mod table_param;
pub(crate) mod undeclared_names;
pub mod usage;
