//! The logical plan: what a query means, without how it runs ([`tree`]), and what it is made of:
//! table hints and isolation levels, system views as plans see them ([`view`]), the permissions
//! that a statement needs ([`rights`]), sets of columns. The crate `bind` makes it, `plan` rewrites
//! it and makes physical plans of it.
//! Guarantees: a tree names tables by their definitions and columns by numbers of the statement,
//! nothing by a name that must be looked up; what an input remembers of the node below it is true.

pub mod access_hints;
pub mod columns;
pub mod hints;
pub mod isolation;
pub mod order;
pub mod rights;
pub mod slots;
pub mod tree;
pub mod view;
pub mod window;
