//! The database as a study wants it: sizes of its files, the unit of log writes, what a commit
//! waits for. Data only.

/// What a study turns. A target says which of its own settings that is, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// In how many pieces the log is cut.
    LogPieces,
    /// How many files hold the data.
    DataFiles,
    /// What a commit waits for.
    Durability,
    /// By which steps the log grows.
    LogGrowth,
    /// The unit of log writes.
    LogBlock,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Until the log is on the disk.
    Full,
    /// For nothing: a bounded window may be lost.
    Delayed,
}

/// The unit of log writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogBlock {
    /// What the target chooses by itself.
    #[default]
    Default,
    /// The sector that the device reports.
    Device,
    /// The same with trace flag 1800, which makes 4,096 bytes of it.
    Flag1800,
    /// Forced to that many bytes.
    Forced(u32),
}

/// Files of the data.
#[derive(Clone, Debug)]
pub struct DataLayout {
    /// Number of files.
    pub files: u32,
    /// Number of devices over which they go in turn.
    pub arrays: u32,
    /// Size of all together, KB.
    pub size_kb: u64,
}

/// How the log comes to its size.
#[derive(Clone, Debug)]
pub struct LogLayout {
    /// Size at creation, KB.
    pub initial_kb: u64,
    /// Growth step, KB.
    pub growth_kb: u64,
    /// Filled by work until its growth has taken it to this size, KB; 0 = not.
    pub fill_to_kb: u64,
    /// Then expanded at once to this size, KB; not when it is there already.
    pub final_kb: u64,
}

/// A database as a study wants it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Unique in its study; names the folder.
    pub key: String,
    /// Bytes of buffer pool.
    pub memory: u64,
    /// Data files.
    pub data: DataLayout,
    /// The log.
    pub log: LogLayout,
    /// Unit of log writes.
    pub block: LogBlock,
    /// Full recovery model: the log is kept until it is backed up.
    pub full_recovery: bool,
    /// Rows of `source`, the customers that the work copies; 0 = no such table.
    pub customers: u64,
    /// Made once and kept for all rounds, because making it takes long.
    pub keep: bool,
    /// Take the buffer pool's memory from the system beforehand: where the pool is filled in
    /// gigabytes, that takes as long as what is measured, and not each time the same.
    pub commit_memory: bool,
    /// Seconds after which a piece of work is stopped, where the target can.
    pub limit_s: u64,
    /// So many processors for engine and clients together; `None`: all that there are.
    pub processors: Option<u32>,
}

/// A small database, without customers.
#[cfg(test)]
pub(crate) fn for_tests() -> Config {
    Config {
        key: "small".into(),
        memory: 64 << 20,
        data: DataLayout { files: 1, arrays: 1, size_kb: 32 << 10 },
        log: LogLayout {
            initial_kb: 8 << 10,
            growth_kb: 1 << 10,
            fill_to_kb: 0,
            final_kb: 8 << 10,
        },
        block: LogBlock::Default,
        full_recovery: true,
        customers: 0,
        keep: false,
        commit_memory: false,
        limit_s: 600,
        processors: None,
    }
}
