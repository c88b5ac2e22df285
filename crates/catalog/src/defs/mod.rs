//! What the catalog says of a database's objects: immutable once published, shared by plans. A
//! change of schema publishes new definitions and raises the database's schema version; plans made
//! from older ones are compiled again.

mod catalog;
mod column;
pub mod filter;
mod index;
mod memory;
mod outside;
mod state;
mod table;

pub use catalog::{ById, ByName, Catalog};
pub use column::{ColumnDef, ColumnTraits, ComputedDef, DefaultDef};
pub use filter::{RowFilter, StatisticsFilter};
pub use index::{Compression, IndexDef, IndexOptions, LOB_INDEX_ID};
pub use outside::{LEAST_OUTSIDE, OVERFLOW_INDEX_ID, OVERFLOW_PLACE_ID, OverflowUnit, UnitKind};
pub use state::{IdentityState, TableState};
pub use table::{LockEscalation, SeenCurrent, TableDef};
