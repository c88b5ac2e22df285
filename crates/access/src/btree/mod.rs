//! B+trees over memcmp-ordered keys. Entries are versioned rows; the root page keeps its place
//! while anybody uses the tree.

mod ahead;
mod beside;
mod check;
mod cursor;
mod descend;
mod insert;
mod modify;
mod moving;
pub(crate) mod node;
mod point;
mod root;
mod sample;
pub(crate) mod search;
mod split;
mod undo;
mod unlink;
mod ways;

pub use beside::Beside;
pub use cursor::{Cursor, Direction};
pub use modify::EntryChange;
pub use moving::{IndexMove, MovedNodes};
pub use node::{MAX_ENTRY_LEN, MAX_KEY_LEN, leaf_rows};
pub use point::{EditOutcome, EditWish, ValueEdit};
pub use ways::ExpectedEntry;

use crate::error::AccessError;
use crate::record::with_record;
use crate::space::{NewPage, Space};
use pages::{PageId, Store, Unit, UnitId};
use std::fmt;
use std::sync::Arc;

/// A B+tree: a handle over its allocation unit and root page.
#[derive(Clone)]
pub struct BTree {
    pub(crate) space: Space,
    pub(crate) root: PageId,
}

impl fmt::Debug for BTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BTree")
            .field("unit", &self.unit_id())
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl BTree {
    /// Makes an empty index in an allocation unit. The root page is never undone: rolling back the
    /// creation frees the unit.
    ///
    /// # Errors
    /// No space; I/O and the log's errors.
    pub fn create(store: Arc<Store>, unit: Unit) -> Result<BTree, AccessError> {
        let space = Space::new(store, unit);
        let root = {
            let mut page = space.take()?;
            with_record(|rec| {
                rec.system();
                page.format(rec, 0, PageId::NONE, PageId::NONE, page.id())?;
                NewPage::change(
                    &space.store,
                    &mut space.store.system(),
                    rec,
                    &mut [],
                    &mut [&mut page],
                    None,
                )
            })?;
            page.id()
        };
        Ok(BTree { space, root })
    }

    /// The index whose root page is known.
    pub fn open(store: Arc<Store>, unit: Unit, root: PageId) -> BTree {
        BTree { space: Space::new(store, unit), root }
    }

    /// For undo, which knows the unit's number alone.
    pub(crate) fn by_id(store: Arc<Store>, unit: UnitId, root: PageId) -> BTree {
        BTree { space: Space::by_id(store, unit), root }
    }

    /// Root page: what the catalog remembers of the index, with its unit.
    pub fn root(&self) -> PageId {
        self.root
    }

    /// The index's allocation unit.
    pub fn unit_id(&self) -> UnitId {
        self.space.id()
    }
}
