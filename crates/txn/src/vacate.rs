//! Data files that are vacated: nodes of B+trees go elsewhere, extents without pages go back to
//! their file. Guarantees: each step is one log record of its own, done while no check holds the
//! background, so a crash or an error between two leaves the same rows; a unit that is dropped
//! meanwhile is left alone.

use access::{BTree, MovedNodes};
use pages::UnitId;

use crate::database::Database;
use crate::error::TxnError;

impl Database {
    /// Bars a data file from `page` on: see [`pages::Store::bar`].
    ///
    /// # Errors
    /// No such file; damage of a map page.
    pub fn bar_file(&self, id: u16, page: u32) -> Result<(), TxnError> {
        self.check_online()?;
        Ok(self.store().bar(id, page)?)
    }

    /// Moves the nodes of an index, its root excepted, from past the bar of a file: to the file's
    /// front if `inside`, else to wherever new pages come from. `go_on` is asked between the steps.
    /// False: there was no room in the file.
    ///
    /// # Errors
    /// What `go_on` says; the filegroup is full; damaged pages, I/O, the log's errors. What was
    /// moved before is moved.
    pub fn move_nodes<E: From<TxnError>>(
        &self,
        tree: &BTree,
        file: u16,
        inside: bool,
        go_on: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut walk = tree.move_nodes(file, inside);
        loop {
            go_on()?;
            self.check_online().map_err(TxnError::from)?;
            let step = {
                let _work = self.background_work();
                // The table of units stays locked, so that the unit's extents are not freed under
                // this.
                let units = self.open_units();
                if !units.open.contains_key(&tree.unit_id()) {
                    return Ok(true);
                }
                walk.step().map_err(TxnError::from)?
            };
            match step {
                MovedNodes::Some(_) => {}
                MovedNodes::All => return Ok(true),
                MovedNodes::NoRoom => return Ok(false),
            }
        }
    }

    /// Gives the extents of a unit back that lie past the bar of a file and have no page in use any
    /// more; returns how many are left there.
    ///
    /// # Errors
    /// Damaged pages, I/O, the log's errors.
    pub fn release_barred(&self, unit: UnitId, file: u16) -> Result<usize, TxnError> {
        self.check_online()?;
        let _work = self.background_work();
        let units = self.open_units();
        let Some(unit) = units.open.get(&unit) else { return Ok(0) };
        Ok(self.store().release_barred(unit, file)?)
    }

    /// Nothing of a barred file is in use: it stays barred for good, durably.
    ///
    /// # Errors
    /// No such file; the log's errors.
    pub fn note_emptied(&self, id: u16) -> Result<(), TxnError> {
        self.check_online()?;
        self.store().note_emptied(&mut self.system_sink(), id)?;
        Ok(self.log().flush_all()?)
    }
}
