//! What the definitions and statistics of temporary tables and of table variables take of the
//! instance's memory, and the definitions of temporary procedures.
//! Guarantees: the session that makes a table is charged before the table is to be seen; the charge
//! lasts as long as a catalog or a plan has a definition of the table; the tables of one session
//! leave as much memory free as they hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use memory::{Clerk, OutOfMemory, Reservation};
use types::SqlError;

use catalog::errors::out_of_memory;
use catalog::{ModuleDef, TableDef};
use session::state::SessionCore;

/// Bytes that are charged at once.
const STEP: usize = 4 << 10;

/// The charge for one table, kept with its state.
#[derive(Debug)]
struct Charge {
    charged: Reservation,
    /// Bytes of all tables of the session.
    of_session: Arc<AtomicUsize>,
}

impl Charge {
    fn take(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let others = self.of_session.load(Relaxed).saturating_sub(self.charged.used());
        self.charged.take_beside(bytes, others)
    }

    /// The table takes so many bytes now.
    fn set(&mut self, bytes: usize) -> Result<(), SqlError> {
        let held = self.charged.used();
        if bytes > held {
            let more = bytes - held;
            if self.take(more).is_err() {
                // Plans have given way, and with them perhaps tables of the session that were
                // dropped.
                self.take(more).map_err(|_| out_of_memory())?;
            }
            self.of_session.fetch_add(more, Relaxed);
        } else {
            self.charged.give(held - bytes);
            self.of_session.fetch_sub(held - bytes, Relaxed);
        }
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.of_session.fetch_sub(self.charged.used(), Relaxed);
    }
}

/// What the table takes with what was measured of its values.
fn bytes_of(table: &TableDef) -> usize {
    table.memory() + table.state.statistics.memory()
}

/// Charges so many bytes more that are about to be kept of a temporary table.
///
/// # Errors
/// 701: they must not be kept.
pub fn grow(table: &TableDef, bytes: usize) -> Result<(), SqlError> {
    let mut kept = table.state.charged.lock();
    match kept.as_mut().and_then(|kept| kept.downcast_mut::<Charge>()) {
        Some(charge) => charge.set(bytes_of(table) + bytes),
        None => Ok(()),
    }
}

/// Charges a table that is about to be published with this definition.
///
/// # Errors
/// 701: the table must not come.
pub fn charge(core: &SessionCore, table: &TableDef) -> Result<(), SqlError> {
    if !table.is_temporary() {
        return Ok(());
    }
    let mut kept = table.state.charged.lock();
    if let Some(charge) = kept.as_mut().and_then(|kept| kept.downcast_mut::<Charge>()) {
        return charge.set(bytes_of(table));
    }
    *kept = Some(Box::new(charge_of(core, bytes_of(table))?));
    Ok(())
}

fn charge_of(core: &SessionCore, bytes: usize) -> Result<Charge, SqlError> {
    let charged = Reservation::in_steps(core.host().memory(), Clerk::TemporaryTables, STEP);
    let mut charge = Charge { charged, of_session: core.memory.holdings.temporary.clone() };
    charge.set(bytes)?;
    Ok(charge)
}

/// Charges a temporary procedure that is about to be published.
///
/// # Errors
/// 701: the procedure must not come.
pub(crate) fn charge_module(core: &SessionCore, module: &ModuleDef) -> Result<(), SqlError> {
    *module.charged.lock() = Some(Box::new(charge_of(core, module.memory())?));
    Ok(())
}
