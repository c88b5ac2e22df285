//! Batches: parsing, the flat program, binding of statements when they first run, and the interpreter.

mod bindings;
mod bound_call;
pub mod cache;
mod call;
#[cfg(test)]
mod compile_tests;
pub mod compiled;
pub mod counts;
mod cursor_options;
mod cursors;
pub mod declared;
pub mod described;
pub mod dynamic;
pub mod execute;
mod execute_as;
pub mod flow;
pub mod function;
mod function_body;
mod insert_exec;
mod kind;
pub mod module;
mod origins;
pub mod parameters;
mod prepared_call;
mod profile;
pub mod program;
mod reads;
mod result_sets;
pub mod rpc;
pub mod run;
mod server_cursors;
pub mod shape;
pub mod short;
pub mod shown_plan;
mod sightings;
pub mod statement_text;
pub mod table_args;
pub mod table_param;
pub mod trigger;
pub mod undeclared;
mod undeclared_names;
mod unrun;
pub mod usage;

pub use compiled::{BatchParam, Bindings, Bound, Compiled, Stamp};
