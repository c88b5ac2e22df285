//! The space of values that do not fit their rows: opened when one of them is read, made when the
//! first one is written.
//! Guarantee: a table without such values takes no space for them.

use crate::{TableStore, open_outside};
use access::lob::LobSpace;
use catalog::Db;
use catalog::errors::store_error;
use types::SqlError;

impl TableStore {
    /// Where such values are; nothing as long as there were none.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn overflow_space(&self, db: &Db) -> Result<Option<&LobSpace>, SqlError> {
        if let Some(space) = self.overflow.get() {
            return Ok(Some(space));
        }
        let Some(unit) = &self.table.overflow else { return Ok(None) };
        let Some(first_iam) = unit.first_iam() else { return Ok(None) };
        let space = open_outside(db, &self.table, unit.unit(), first_iam)?;
        Ok(Some(self.overflow.get_or_init(|| space)))
    }

    /// Where such a value may be written: it is made, and stays whatever becomes of the value.
    ///
    /// # Errors
    /// No room for it; those of opening it.
    pub(crate) fn overflow_to_write(&self, db: &Db) -> Result<&LobSpace, SqlError> {
        if let Some(unit) = &self.table.overflow
            && unit.first_iam().is_none()
        {
            let open = db.open()?;
            catalog::overflow::make(&open, unit).map_err(|e| store_error(db, e))?;
        }
        let space = self.overflow_space(db)?;
        space.ok_or_else(|| SqlError::internal("no space for a value outside"))
    }
}
