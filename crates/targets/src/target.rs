//! What an engine under test is to a study: the trait that every target has, and the place where it
//! works.

use crate::LabError;
use crate::device::Device;
use crate::work::{Config, Counters, Figure, Knob, Work};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a target works.
#[derive(Clone, Debug)]
pub struct TargetPlace {
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
    fn set_up(&mut self, place: &TargetPlace, config: &Config) -> Result<Vec<String>, LabError>;
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

/// Title of the variant `postgres-torn`: it shows what a protection costs, and is no engine to be
/// compared with.
pub const TORN: &str = "PostgreSQL, full_page_writes off";
