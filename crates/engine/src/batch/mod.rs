//! The interpreter: runs what [`programs`] has compiled, and binds statements when they first run.

mod bindings;
mod call;
mod compile_only;
#[cfg(test)]
mod compile_tests;
mod cursor_options;
mod cursors;
pub mod described;
pub mod dynamic;
pub mod execute;
mod execute_as;
pub mod flow;
pub mod function;
mod insert_exec;
mod kind;
mod origins;
mod prepared_call;
mod profile;
mod reads;
mod result_sets;
pub mod rpc;
pub mod run;
mod scope;
mod server_cursors;
pub mod short;
pub mod table_args;
pub mod trigger;
pub mod undeclared;
