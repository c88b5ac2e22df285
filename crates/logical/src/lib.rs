//! TODO: what lives here and what it guarantees.

pub mod access_hints;
pub mod columns;
pub mod hints;
pub mod input;
pub mod isolation;
pub mod rights;
pub mod slots;
pub mod sources;
pub mod tree;
pub mod view;
pub mod window;
