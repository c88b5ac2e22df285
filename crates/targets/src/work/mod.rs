//! The language between studies and targets: configurations, pieces of work, figures and counters.
//! A study is written in it, a target (embedded, a peer, later SQL Server over its wire protocol)
//! carries it out. Data only.

mod config;
mod counters;
mod load;
mod tsql;

#[cfg(test)]
pub(crate) use config::for_tests;
pub use config::{Config, DataLayout, Durability, Knob, LogBlock, LogLayout};
pub use counters::{Counters, Figure, IoCount, WaitCount, late};
pub use load::loaded;
pub(crate) use load::{LOAD_BATCH, LOAD_FILLER};
pub use tsql::{LoadRow, Outage, ProcessEnd, SOME, TsqlWork};

/// A piece of work.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// `customer` with its index from `source`, an empty `customer_tmp`; everything written.
    MakeCustomer,
    /// `INSERT customer_tmp SELECT * FROM customer`
    InsertSelect,
    /// `UPDATE customer SET c_data = lower(c_data)`
    Update,
    /// `DELETE FROM customer`
    Delete,
    /// Everything dirty is written.
    Checkpoint,
    /// A process dies by SIGKILL in the middle of `Update` of that many rows; opening the database
    /// is measured.
    Recovery(u64),
    /// `BACKUP LOG`: seconds and pages.
    LogBackup,
    /// An empty table `one_row`.
    MakeOneRow,
    /// That many one-row inserts in a loop inside the server, one transaction.
    LoopInserts(u64),
    /// That many one-row inserts, each a transaction, in a loop inside the server.
    Commits(u64, Durability),
    /// Durable one-row inserts one by one from one client for that many milliseconds: how long each
    /// takes.
    Latencies(u64),
    /// Sessions that each commit that many one-row inserts, statement by statement, all at once;
    /// durable.
    SessionCommits(u32, u64),
    /// The same number and bytes of log writes as the measured step before, by write + fdatasync
    /// alone.
    RawWrites,
    /// An empty heap `arrivals`.
    MakeLoad,
    /// Connections that insert that many rows of about 1,000 bytes each, 64 in a transaction.
    Load(u32, u64),
    /// Checks that all rows of such a `Load` are there: it reads them all, and so has what is in
    /// memory written.
    CheckLoad(u32, u64),
    /// A table of one 8,000-byte row.
    MakeWide,
    /// The same table with a primary key.
    MakeWideWithKey,
    /// That many updates of the 8,000-byte row in one transaction, in a loop inside the server.
    RowUpdates(u64),
    /// The log from its size to that many KB by steps of so many.
    GrowLog {
        /// Step, KB.
        step_kb: u64,
        /// Final size, KB.
        to_kb: u64,
    },
    /// An empty table for payloads.
    MakePayload,
    /// Durable one-row inserts of that many bytes for that many milliseconds: rows a second, and
    /// how many log writes made the device read first.
    Payload(u32, u64),
    /// Work that is written in T-SQL only.
    Tsql(TsqlWork),
}

impl From<TsqlWork> for Work {
    fn from(work: TsqlWork) -> Work {
        Work::Tsql(work)
    }
}

impl Work {
    /// Rows that it changes in a database with that many customers, where that is known beforehand.
    pub fn rows(&self, customers: u64) -> Option<u64> {
        match self {
            Work::InsertSelect | Work::Update | Work::Delete => Some(customers),
            Work::LoopInserts(n) | Work::Commits(n, _) | Work::RowUpdates(n) => Some(*n),
            Work::SessionCommits(sessions, each) => Some(u64::from(*sessions) * each),
            Work::Load(connections, rows) => Some(loaded(*connections, *rows)),
            Work::Tsql(work) => work.rows(customers),
            _ => None,
        }
    }
}
