//! Changes of schema in a session's transaction: tables, indexes, constraints, and the copies that rebuild a table; and from what
//! statements say to the definitions that they mean.

pub mod alias_types;
pub mod build;
pub mod computed_def;
pub mod constraints;
pub mod ddl_triggers;
pub mod events;
pub mod foreign_keys;
pub mod function_nature;
pub mod index_options;
pub mod indexed_views;
pub mod masks;
pub mod modules;
pub mod moves;
pub mod names;
pub mod option_rules;
pub mod others;
pub mod own_queries;
pub mod periods;
pub mod policies;
pub mod properties;
pub mod rebuild;
pub mod retention;
pub mod schemabinding;
pub mod shape;
pub mod switch;
pub mod system_functions;
pub mod table_def;
pub mod table_types;
pub mod tables;
pub mod temp_memory;
pub mod temp_procedures;
pub mod temporal;
pub mod temps;
pub mod work;
