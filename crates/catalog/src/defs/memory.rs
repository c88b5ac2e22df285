//! What definitions take of memory, as far as it grows with what users write.
//! Guarantee: an estimate that follows from the definition alone, so that what is added when it
//! comes is taken off when it goes.

use super::{ColumnDef, IndexDef, TableDef, TableState};
use crate::ModuleDef;

/// Of a table without columns and indexes: names in the maps of the catalog, its counts of rows.
const TABLE: usize = 1 << 10;
/// Of a column besides its definition: its place in the row.
const COLUMN: usize = 64;
/// Of an index or heap that was used: its allocation unit and what is open of it.
const UNIT: usize = 2 << 10;
/// Of each byte of a text that is kept parsed.
const PARSED: usize = 16;
/// Of a module without its text.
const MODULE: usize = 1 << 10;

impl TableDef {
    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let text = |text: &str| text.len() * PARSED;
        let of_column = |column: &ColumnDef| {
            let default = column.default.as_ref().map_or(0, |default| text(&default.text));
            let computed = column.computed.as_ref().map_or(0, |computed| text(&computed.text));
            column.name.len() + default + computed
        };
        let of_index = |index: &IndexDef| {
            index.name.len() + (index.key.len() + index.included.len()) * size_of::<(usize, bool)>()
        };
        let columns = self.columns.len() * (size_of::<ColumnDef>() + COLUMN);
        let indexes = (1 + self.indexes.len()) * (size_of::<IndexDef>() + UNIT);
        let checks = self.checks.iter().map(|check| 256 + text(&check.text));
        size_of::<TableDef>()
            + size_of::<TableState>()
            + TABLE
            + columns
            + indexes
            + (usize::from(self.lob.is_some()) + usize::from(self.overflow.is_some())) * UNIT
            + self.columns.iter().map(of_column).sum::<usize>()
            + self.all_indexes().map(|index| of_index(index)).sum::<usize>()
            + checks.sum::<usize>()
            + self.foreign_keys.len() * 512
    }

    /// Whether it is a session's, which pays for its definition.
    pub fn is_temporary(&self) -> bool {
        self.name.starts_with('#')
    }

    /// Whether other sessions can use it: not a session's own `#t`.
    pub fn is_shared(&self) -> bool {
        !self.is_temporary() || self.name.starts_with("##")
    }
}

impl ModuleDef {
    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let columns = self.columns.iter().flat_map(|kept| kept.iter());
        let names: usize = columns.map(|name| size_of_val(name) + name.len()).sum();
        MODULE + self.text.len() * (1 + PARSED) + names
    }
}
