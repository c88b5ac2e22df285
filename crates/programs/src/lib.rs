//! Batches and modules of Ringwood as they are compiled: the flat program, what its statements are
//! bound to, what running them has cost, the cache that keeps them. Entry points:
//! [`cache::BatchCache`], [`compiled::CompiledBatch`], [`module::ModuleCode`]. Guarantees: nothing
//! here runs a statement; what is kept for a text was made of it, in this database, under these
//! options.

pub mod arguments;
pub mod bound_call;
pub mod cache;
pub mod compiled;
pub mod counts;
mod declared;
mod function_body;
pub mod guides;
pub mod module;
pub mod parameters;
pub mod program;
mod seen_texts;
pub mod shape;
pub mod shaped;
pub mod shown_plan;
pub mod statement_text;
pub mod table_param;
mod undeclared_names;
pub mod usage;
