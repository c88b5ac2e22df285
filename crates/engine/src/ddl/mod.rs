//! Changes of schema in a session's transaction: tables, indexes, constraints, and the copies that rebuild a table.

pub mod build;
pub mod rebuild;
#[cfg(test)]
pub(crate) mod roots_tests;
pub mod tables;
