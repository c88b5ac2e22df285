//! Changes of rows as people write them: OUTPUT in all its forms, MERGE, changes through views and common table
//! expressions, INSTEAD OF triggers.

extern crate ringwood_engine as engine;

#[path = "../support/text.rs"]
mod text;

mod merge;
mod output;
