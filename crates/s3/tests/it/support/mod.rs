//! What tests share; each uses its part.

pub mod server;
