//! How statements run in Ringwood: operators of queries, the pipeline of changes, cursors' rows,
//! plans as text and XML, and the state of a session that they work on. Entry points:
//! [`operators::query::run_query`], [`dml::DmlPlan`], [`cursor::OpenCursor`],
//! [`SessionCore`](state::SessionCore). Guarantees: errors carry SQL Server's numbers; a statement
//! that fails leaves no trace once its session has taken it back; what runs here parses no text and
//! knows no batch: what it needs of the layer above it asks [`host::Above`] for.

pub mod asking;
pub mod conceal;
pub mod cursor;
pub mod dml;
pub mod explain;
pub mod host;
pub mod operators;
pub mod output;
pub mod parked;
pub mod run_files;
pub mod state;
pub mod unseen;
