//! Changes of schema of Ringwood, in a session's transaction: tables, indexes, constraints,
//! modules, the copies that rebuild a table; and from what statements say to the definitions that
//! they mean. Entry points: [`work::Work`] (a change in progress), [`table_def::from_create`],
//! [`tables::create_table`], [`temps`] (temporary tables). Guarantees: what changes a definition is
//! part of its statement's transaction, and in force for others when that has committed; a
//! statement that fails leaves nothing of it.

pub mod build;
pub mod constraints;
pub mod ddl_triggers;
pub mod definition_binder;
pub mod events;
pub mod foreign_keys;
pub mod function_nature;
pub mod index_options;
pub mod indexed_views;
mod kept_columns;
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
pub mod tables;
pub mod temp_memory;
pub mod temp_procedures;
pub mod temporal;
pub mod temps;
pub mod user_types;
pub mod versioned;
pub mod view_bases;
pub mod work;
