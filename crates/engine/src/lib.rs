//! The engine of Ringwood: instance, sessions, batches, DDL, catalog views, backup, DBCC, over the crate that runs statements.
//! Entry points: [`Instance::open`], [`Instance::session`], [`Session::execute`]. What a batch produces goes to a
//! [`Sink`]. Guarantees: errors carry SQL Server's numbers; a statement that fails leaves no trace; what was
//! acknowledged as committed survives a crash.

mod above;
mod arguments;
pub mod batch;
mod chores;
pub mod dbcc;
pub mod ddl;
mod deadlocks;
pub mod encoding;
pub mod functions;
pub mod instance;
mod messages;
mod msdb;
mod objects;
mod open;
mod properties;
mod scoped;
pub mod security;
pub mod session;
mod startup;
pub mod stmt;
pub mod sysproc;
pub mod views;
pub mod watch;

pub use catalog;
pub use exec::conceal::has_secret;
pub use exec::dml::bulk::{BulkOptions, BulkRows, ColumnBatches};
pub use exec::output::{
    ColumnInfo, Origin, Origins, OutputParameter, SessionChange, Sink, StatementEnd, StatementKind,
};
pub use exec::state::phases;
pub use instance::{Instance, InstanceOptions, PageMemory};
pub use security::{ClientInfo, LoginAudit, LoginToken};
pub use session::{BeforeAnswer, Owed, RpcParam, Session, TransactionRequest, TransactionStart};
pub use txn::backup::UrlDevices;
pub use types::{DataType, SqlError, StoredCell, Value};
