//! What tests share; each uses its part.

pub mod errors;
pub mod history;
pub mod scratch;
pub mod served;
pub mod terminal;
