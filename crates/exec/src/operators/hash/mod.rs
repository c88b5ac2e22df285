//! Hash tables of operators: keys of a batch at a time, rows packed one after another, chains of
//! rows.

pub mod key;
pub mod rows;
pub mod table;
