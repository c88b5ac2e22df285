//! The engine of Ringwood: an instance as programs hold it, its sessions, and the interpreter of
//! batches over the crates that run what is in them. Entry points: [`Instance::open`],
//! [`Instance::session`], [`Session::execute`]. What a batch produces goes to a [`Sink`]. What
//! programs need of the crates below is here under the names of `engine`. Guarantees: errors carry
//! SQL Server's numbers; a statement that fails leaves no trace; what was acknowledged as committed
//! survives a crash.

pub mod batch;
mod chores;
mod deadlocks;
#[cfg(test)]
mod inside_tests;
mod msdb;
mod open;
pub mod repair;
mod running;
pub mod session;
mod startup;
mod typed_rows;
mod upcalls;
pub mod watch;

pub use self::session::{
    BeforeAnswer, OwedLogs, RpcParam, Session, TransactionRequest, TransactionStart,
};
pub use ::session::conceal::has_secret;
pub use ::session::output::{
    ColumnInfo, ColumnOrigin, ColumnOrigins, FirstError, OutputParameter, SessionChange, Sink,
    StatementEnd, StatementKind,
};
pub use ::session::state::bulk::BulkOptions;
pub use ::session::state::phases;
pub use catalog;
pub use dml::bulk::{BulkRows, ColumnBatches};
pub use instance;
pub use instance::encoding;
pub use instance::security::{ClientInfo, LoginAudit, LoginToken};
pub use instance::{InstanceOptions, PageMemory};
pub use metadata::{functions, status, views};
pub use procedures as sysproc;
pub use programs;
pub use running::Instance;
pub use txn::backup::UrlDevices;
pub use types::{DataType, ResultRows, RowItems, SqlError, StoredCell, Value};
