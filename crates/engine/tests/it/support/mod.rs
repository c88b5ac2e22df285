//! What tests share; each uses its part.

pub mod limited;
pub mod nested_sql;
pub mod random_sql;
pub mod restore;
pub mod scratch;
pub mod shop;
pub mod tape;
pub mod text;
pub mod work;
