//! Pieces of work that are written in T-SQL only, or that need an engine of our own: a part of
//! [`Work`](super::Work). Peers have no part in them. Data only, as there.

use super::config::Durability;
use super::load::loaded;

/// How a process ends whose delayed commits may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By SIGKILL, as soon as the last commit was acknowledged.
    Kill,
    /// The same after `sp_flush_log`.
    FlushThenKill,
    /// By a clean stop.
    Stop,
}

/// What ends under sessions that commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The power: of what was written and not synced any part may be there.
    Power,
    /// The operating system ends the process, and then writes what the process had written.
    System,
}

/// The rows of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadRow {
    /// One on each page, under a clustered index on an identity column.
    Page,
}

/// Customers of three warehouses: what a trigger holds in memory at once stays the same at all
/// scales.
pub const SOME: u64 = 90_000;

/// A piece of work in T-SQL.
#[derive(Clone, Debug, PartialEq)]
pub enum TsqlWork {
    /// All customers with their clustered index, read into memory, and an empty `customer_tmp`.
    /// Makes only what is not there.
    Customers,
    /// `UPDATE customer SET c_data = upper(c_data)`: the counterpart of the author's update, as
    /// much work.
    UpdateBack,
    /// A trigger after updates of `customer`, which joins the rows before and after and counts
    /// those that differ.
    MakeTrigger,
    /// The author's update, or its counterpart, of the first [`SOME`] customers at most.
    UpdateSome {
        /// The counterpart.
        back: bool,
    },
    /// Checks that the trigger has seen every changed row before and after, and drops it.
    DropTrigger,
    /// The author's delete in a transaction whose log is then made durable, and which is rolled
    /// back: deleting and flushing are the figure.
    DeleteRolledBack,
    /// The end of the log goes on until it is in the first so many KB of the file, with at least
    /// `room_kb` of them before it.
    PlaceHead {
        /// Size of the part of the file.
        below_kb: u64,
        /// Space that the work to come may need.
        room_kb: u64,
    },
    /// As [`PlaceHead`](TsqlWork::PlaceHead) where the log has not that space, else nothing:
    /// between the repeats of a step.
    KeepHead { below_kb: u64, room_kb: u64 },
    /// At least so many KB of log, by updates of a wide row.
    FillLog(u64),
    /// The published remedy: the log is shrunk as far as it goes and grown to its size in one step,
    /// if it is in more pieces than that would leave.
    Remedy {
        /// Size that the log gets.
        to_kb: u64,
    },
    /// How many VLFs `DBCC LOGINFO` lists.
    CountVlfs,
    /// Tables of the mix.
    MakeMix,
    /// Sessions that run so many short transactions each, all at once: new orders, payments,
    /// questions about them.
    Mix(u32, u64),
    /// An empty table for such rows.
    MakeRows(LoadRow),
    /// Connections that insert that many rows each.
    InsertRows(LoadRow, u32, u64),
    /// Checks that so many rows are there.
    CheckRows(u64),
    /// Adds data files beside those of the configuration: so many, of so many KB each, on the
    /// arrays in turn.
    AddFiles {
        /// Files that there are.
        from: u32,
        /// Files that there shall be.
        to: u32,
        /// Arrays.
        arrays: u32,
        /// Size of each.
        each_kb: u64,
    },
    /// A table of so many pages, everything written.
    MakeScattered(u64),
    /// One change on every `step`-th page of it, nothing written.
    Scatter {
        /// Pages of the table.
        pages: u64,
        /// Every how many pages.
        step: u64,
    },
    /// Sessions that each commit that many one-row inserts, all at once, with that durability.
    Sessions(u32, u64, Durability),
    /// One-row inserts, each a transaction, for that many milliseconds: commits a second.
    CommitsFor(u64, Durability),
    /// One-row inserts in one transaction, for that many milliseconds: rows a second.
    InsertsFor(u64),
    /// A process commits that many rows with delayed durability and a window of so many KB, and
    /// ends: rows that are missing when the database is opened again.
    Loss {
        /// Rows that were acknowledged.
        rows: u64,
        /// Window, KB.
        window_kb: u32,
        /// How the process ends.
        end: ProcessEnd,
    },
    /// Sessions commit one row after the other on a simulated disk, which ends at a random moment:
    /// acknowledged rows that are missing when the database is opened again, the most of some
    /// moments.
    Outage {
        /// Sessions.
        sessions: u32,
        /// Moments, each with a new instance.
        moments: u32,
        /// Window of delayed durability, KB; `None`: commits are durable.
        window_kb: Option<u32>,
        /// What ends.
        outage: Outage,
    },
    /// A few more rows of that many bytes, each a transaction: how large their log writes are by
    /// `sys.fn_dblog` and by `sys.dm_io_virtual_file_stats`.
    WriteSizes(u32),
    /// `BACKUP DATABASE ... WITH STATS = 1`: seconds, pages, and how many lines of progress it
    /// prints.
    FullBackup,
    /// The updates of the 8,000-byte row while a transaction of another session holds the log, as
    /// an author of the SIMPLE recovery model must.
    HeldRowUpdates(u64),
}

impl TsqlWork {
    /// Rows that it changes in a database with that many customers, where that is known beforehand.
    pub fn rows(&self, customers: u64) -> Option<u64> {
        Some(match self {
            TsqlWork::UpdateBack | TsqlWork::DeleteRolledBack => customers,
            TsqlWork::UpdateSome { .. } => customers.min(SOME),
            TsqlWork::InsertRows(_, connections, rows) => loaded(*connections, *rows),
            TsqlWork::Sessions(sessions, each, _) => u64::from(*sessions) * each,
            TsqlWork::HeldRowUpdates(n) => *n,
            TsqlWork::Scatter { pages, step } => pages.div_ceil((*step).max(1)),
            _ => return None,
        })
    }
}
