//! The engine of Ringwood: instance, sessions, batches, execution of plans, changes, catalog views, backup, DBCC.
//! Entry points: [`Instance::open`], [`Instance::session`], [`Session::execute`]. What a batch produces goes to a
//! [`Sink`]. Guarantees: errors carry SQL Server's numbers; a statement that fails leaves no trace; what was
//! acknowledged as committed survives a crash.

mod arguments;
pub mod batch;
mod conceal;
pub mod cursor;
pub mod dbcc;
pub mod ddl;
pub mod dml;
pub mod encoding;
pub mod exec;
pub mod explain;
pub mod functions;
pub mod instance;
mod msdb;
mod open;
pub mod output;
mod properties;
pub mod security;
pub mod session;
pub mod state;
pub mod stmt;
pub mod sysproc;
pub mod views;
pub mod watch;

pub use catalog;
pub use dml::bulk::{BulkOptions, BulkRows, ColumnBatches};
pub use instance::{Instance, InstanceOptions, PageMemory};
pub use output::{
    ColumnInfo, Origin, Origins, OutputParameter, SessionChange, Sink, StatementEnd, StatementKind,
};
pub use security::{ClientInfo, LoginAudit, LoginToken};
pub use session::{RpcParam, Session, TransactionRequest, TransactionStart};
pub use txn::backup::UrlDevices;
pub use types::{DataType, SqlError, Value};
