//! An engine under TPC-C: its process, its tables, its terminals.

use super::tables::Sizes;
use super::terminal::Terminal;
use crate::LabError;

/// An engine.
pub trait Engine {
    /// Its name in results.
    fn title(&self) -> &'static str;
    /// Starts it, where it is ours to start.
    fn start(&mut self) -> Result<(), LabError>;
    /// Stops it cleanly, where it is ours.
    fn stop(&mut self) -> Result<(), LabError>;
    /// Ends its process by SIGKILL. Errors: unsupported where nobody says how.
    fn kill(&mut self) -> Result<(), LabError>;
    /// Starts it after a kill, and waits until its database answers.
    fn restart(&mut self) -> Result<(), LabError>;
    /// Makes database, tables, rows, indexes and procedures.
    fn load(
        &mut self,
        warehouses: i32,
        sizes: Sizes,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError>;
    /// A terminal.
    fn connect(&self) -> Result<Box<dyn Terminal>, LabError>;
    /// Everything dirty is written.
    fn checkpoint(&mut self) -> Result<(), LabError>;
    /// Version and settings in words.
    fn said(&self) -> Result<Vec<String>, LabError>;
}
