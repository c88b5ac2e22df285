//! What tests share; each uses its part.

#[path = "../../../../ringwood/tests/support/errors.rs"]
pub mod errors;
pub mod history;
pub mod scratch;
pub mod served;
pub mod terminal;
