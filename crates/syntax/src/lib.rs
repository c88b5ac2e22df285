//! T-SQL's lexer and parser; knows nothing of the engine. [`ast`] is what a batch becomes.

pub mod ast;

/// Greatest height of a tree that the parser returns, in nodes from root to leaf.
pub const MAX_HEIGHT: u32 = 1000;
