//! Engines under test. A target runs the same work at the same durability; its clock is the server's own where it has one.
//! Peers are the distribution's packages, started on a scratch folder and reachable from this machine only.

mod mariadb;
mod postgres;
mod process;
mod ringwood;
mod sqlite;

pub use mariadb::MariaDb;
pub use postgres::Postgres;
pub use ringwood::{CUSTOMER, Ringwood, bulk_insert, customer_named};
pub use sqlite::Sqlite;

use crate::LabError;
use std::path::Path;

/// A piece of work that every target can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `INSERT customer_tmp SELECT * FROM customer`
    InsertSelect,
    /// `UPDATE customer SET c_data = lower(c_data)`
    Update,
    /// `DELETE FROM customer`
    Delete,
    /// That many one-row inserts in a loop inside the server, one transaction.
    LoopInserts(u64),
    /// That many one-row inserts, each a durable commit, in a loop inside the server.
    DurableCommits(u64),
}

impl Work {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Work::InsertSelect => "insert-select",
            Work::Update => "update",
            Work::Delete => "delete",
            Work::LoopInserts(_) => "loop inserts",
            Work::DurableCommits(_) => "durable commits",
        }
    }
}

/// An engine under test.
pub trait Target {
    /// Name in reports.
    fn name(&self) -> &'static str;
    /// Version and the settings that matter, for the report.
    fn settings(&self) -> String;
    /// Starts the engine in its scratch folder and loads the source rows (`tpcc` file).
    fn prepare(&mut self, customers: &Path) -> Result<(), LabError>;
    /// Makes `customer` (with its index) from the source rows and an empty `customer_tmp` and `one_row`; then settles.
    fn reset(&mut self) -> Result<(), LabError>;
    /// Runs the work once; seconds.
    fn run(&mut self, work: Work) -> Result<f64, LabError>;
    /// Counts rows of a table, to prove that the work was done.
    fn count(&mut self, table: &str) -> Result<u64, LabError>;
}
