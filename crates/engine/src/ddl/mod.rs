//! Changes of schema in a session's transaction: tables, indexes, constraints, and the copies that rebuild a table.

pub mod alias_types;
pub mod build;
pub mod constraints;
pub mod ddl_triggers;
pub mod events;
pub mod foreign_keys;
pub mod indexed_views;
pub mod modules;
pub mod moves;
pub mod names;
#[cfg(test)]
mod names_tests;
pub mod others;
#[cfg(test)]
mod overflow_tests;
pub mod own_queries;
pub mod policies;
pub mod rebuild;
pub mod retention;
#[cfg(test)]
pub(crate) mod roots_tests;
pub mod schemabinding;
pub mod shape;
pub mod switch;
pub mod table_types;
pub mod tables;
pub mod temp_memory;
pub mod temp_procedures;
pub mod temporal;
pub mod temps;
pub mod work;
