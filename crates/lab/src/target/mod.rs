//! Engines under test. A target makes a configuration and carries out a study's work on it, and says which of its own
//! settings the study's factor is. What it cannot do it refuses as unsupported, with the reason.
//! Peers are the distribution's packages, started on a scratch folder and reachable from this machine only.

pub(crate) mod kept;
mod mariadb;
mod postgres;
mod process;
mod ringwood;
mod sqlite;
pub mod tsql;

pub use mariadb::MariaDb;
pub use postgres::Postgres;
pub use ringwood::Ringwood;
pub use sqlite::Sqlite;

use crate::LabError;
use crate::device::Device;
use crate::work::{Config, Counters, Figure, Knob, Work};
use std::path::PathBuf;
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
}

/// An engine under test.
pub trait Target {
    /// Name on the command line and in results.
    fn name(&self) -> &'static str;
    /// Name in text.
    fn title(&self) -> &'static str;
    /// Which setting of this engine a factor is; `Err` says why it has none.
    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str>;
    /// Makes the database of a configuration (or opens a kept one); settings and sizes in words.
    fn set_up(&mut self, place: &Place, config: &Config) -> Result<Vec<String>, LabError>;
    /// Carries out one piece of work and checks that it was done; what was measured.
    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError>;
    /// Waits and I/O since the target started; empty where the engine does not count.
    fn counters(&mut self) -> Result<Counters, LabError>;
    /// The folder of the log and the disk it lies on, for raw writes beside it.
    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)>;
    /// Stops the engine and removes the configuration, unless it is kept for the next round.
    fn tear_down(&mut self) -> Result<(), LabError>;
}

/// Names of all targets, the default first.
pub const NAMES: [&str; 4] = ["ringwood", "postgres", "mariadb", "sqlite"];

/// The target of a name, case ignored.
pub fn find(name: &str) -> Result<Box<dyn Target>, LabError> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "ringwood" => Box::new(Ringwood::default()),
        "postgres" | "postgresql" => Box::new(Postgres::default()),
        "mariadb" => Box::new(MariaDb::default()),
        "sqlite" => Box::new(Sqlite::default()),
        _ => {
            return Err(LabError::Request(format!(
                "there is no target {name:?}: choose from {}",
                NAMES.join(", ")
            )));
        }
    })
}
