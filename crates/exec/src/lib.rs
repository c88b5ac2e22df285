//! How queries run in Ringwood: the operators, the expressions of statements, the rows of cursors,
//! and which indexes a plan uses. Entry points: [`operators::query::run_query`],
//! [`operators::scalar`], [`cursor::Body`]. Guarantees: errors carry SQL Server's numbers;
//! what a query holds is charged to its statement's grant and goes to disk beyond that; what runs
//! here parses no text and knows no batch.

pub mod cursor;
pub mod masked_errors;
pub mod operators;
pub mod parked;
#[cfg(test)]
mod test_files;
pub mod uses;
