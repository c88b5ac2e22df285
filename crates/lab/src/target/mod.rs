//! Engines under test. A target makes a configuration and carries out a study's work on it, and
//! says which of its own settings the study's factor is. What it cannot do it refuses as
//! unsupported, with the reason. Ringwood is one in this process, and one as a server of the lab's
//! own. A server that speaks TDS is somebody's, under its address; SQL Server is one. Peers
//! (feature `peers`) are the servers that are installed, started on a scratch folder and reachable
//! from this machine only, through their client libraries, and SQLite in this process.

mod at_once;
#[cfg(feature = "peers")]
mod clients;
pub(crate) mod kept;
mod latency;
#[cfg(feature = "peers")]
mod mariadb;
pub(crate) mod mssql;
mod outage;
#[cfg(feature = "peers")]
pub(crate) mod own_postgres;
pub(crate) mod own_server;
#[cfg(feature = "peers")]
mod postgres;
#[cfg(feature = "peers")]
mod process;
pub mod processors;
mod ringwood;
mod served;
#[cfg(feature = "peers")]
mod sqlite;
pub mod tsql;

#[cfg(feature = "peers")]
pub use mariadb::MariaDb;
pub use mssql::{Hook, Mssql, PASSWORD};
#[cfg(feature = "peers")]
pub use postgres::{Postgres, Variant};
pub use ringwood::Ringwood;
pub use served::{Served, TITLE as SERVED};
#[cfg(feature = "peers")]
pub use sqlite::Sqlite;

use crate::LabError;
use crate::device::Device;
use crate::work::{Config, Counters, Figure, Knob, Work};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a target works.
#[derive(Clone, Debug)]
pub struct Place {
    /// Scratch folder of a study on this target.
    pub folder: PathBuf,
    /// Its device.
    pub device: Device,
    /// Customer rows, for the studies that have them.
    pub customers: Option<PathBuf>,
    /// The ringwood command, for the run that kills a process.
    pub program: Option<PathBuf>,
    /// A configuration that is kept is made again all the same.
    pub fresh: bool,
}

/// An engine under test.
pub trait Target {
    /// Name on the command line and in results.
    fn name(&self) -> &'static str;
    /// Name in text.
    fn title(&self) -> &'static str;
    /// Which setting of this engine a factor is; `Err` says why it has none.
    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str>;
    /// Makes the database of a configuration (or opens a kept one, unless it is to be fresh);
    /// settings and sizes in words.
    fn set_up(&mut self, place: &Place, config: &Config) -> Result<Vec<String>, LabError>;
    /// Tries settings that no study turns and keeps the best, as its friends would; what was found,
    /// in words.
    fn tune(&mut self) -> Result<Vec<String>, LabError> {
        Ok(vec![])
    }
    /// Carries out one piece of work and checks that it was done; what was measured.
    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError>;
    /// Waits and I/O since the target started; empty where the engine does not count.
    fn counters(&mut self) -> Result<Counters, LabError>;
    /// The folder of the log and the disk it lies on, for raw writes beside it.
    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)>;
    /// Stops the engine and removes the configuration, unless it is kept for the next round.
    fn tear_down(&mut self) -> Result<(), LabError>;
    /// Whether it does work that is written in T-SQL only.
    fn speaks_tsql(&self) -> bool {
        false
    }
    /// Whether its files lie on another machine's disks.
    fn has_own_disk(&self) -> bool {
        false
    }
    /// Whether it is in this process or was started by it.
    fn is_ours(&self) -> bool {
        true
    }
    /// Over how many devices its data can be spread.
    fn arrays(&self, device: &Device) -> u32 {
        device.arrays()
    }
    /// Removes what was kept of the study whose scratch folder that is, where it is not in that
    /// folder.
    fn clear(&mut self, _folder: &Path) -> Result<(), LabError> {
        Ok(())
    }
}

/// The column of [`VARIANTS`]' second: it shows what a protection costs, and is no engine to be
/// compared with.
pub const TORN: &str = "PostgreSQL, full_page_writes off";

/// Names of the targets that are compared unless others are named, the default first.
pub const NAMES: [&str; 5] = ["ringwood", "served", "postgres", "mariadb", "sqlite"];
/// More of them: one of the above with other settings. Beside all of these there is a server's
/// address.
pub const VARIANTS: [&str; 2] = ["postgres-shipped", "postgres-torn"];

/// Whether it is the address of a server instead of a name.
pub fn is_address(name: &str) -> bool {
    name.starts_with("mssql:")
}

/// An address without its password; names as they are.
pub fn shown(name: &str) -> String {
    mssql::without_password(name)
}

/// What a build without other engines says.
#[cfg(not(feature = "peers"))]
pub fn without_peers() -> LabError {
    LabError::Request(
        "this build knows no other engine than ringwood: build it with --features peers \
         (cargo run --release --features peers -- lab ...)"
            .into(),
    )
}

/// The target of a name, case ignored, or of a server's address. `restart_with`: the command that
/// ends and starts such a server.
pub fn find(name: &str, restart_with: Option<&str>) -> Result<Box<dyn Target>, LabError> {
    if is_address(name) {
        return Ok(Box::new(Mssql::new(name, restart_with.map(|c| Hook(c.to_owned())))?));
    }
    Ok(match name.to_ascii_lowercase().as_str() {
        "ringwood" => Box::new(Ringwood::default()),
        "served" => Box::new(Served::default()),
        #[cfg(feature = "peers")]
        "postgres" | "postgresql" => Box::new(Postgres::new(Variant::Tuned)),
        #[cfg(feature = "peers")]
        "postgres-shipped" => Box::new(Postgres::new(Variant::Shipped)),
        #[cfg(feature = "peers")]
        "postgres-torn" => Box::new(Postgres::new(Variant::Torn)),
        #[cfg(feature = "peers")]
        "mariadb" => Box::new(MariaDb::default()),
        #[cfg(feature = "peers")]
        "sqlite" => Box::new(Sqlite::default()),
        #[cfg(not(feature = "peers"))]
        "postgres" | "postgresql" | "postgres-shipped" | "postgres-torn" | "mariadb" | "sqlite" => {
            return Err(without_peers());
        }
        _ => {
            return Err(LabError::Request(format!(
                "there is no target {name:?}: choose from {}, {}, or mssql://user@host:port/",
                NAMES.join(", "),
                VARIANTS.join(", ")
            )));
        }
    })
}
