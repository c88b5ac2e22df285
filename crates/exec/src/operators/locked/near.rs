//! Rows that are read by their names one after another, each looked for beside those before it:
//! rows that an index names in its order lie together where the order is that of time, and the way
//! down the tree is most of what a read costs.
//! Guarantee: the rows come in the order in which they are asked for; what is remembered of the
//! tree beyond one node is taken from the statement's grant.

use super::{LockedRows, Name};
use crate::operators::rt::Rt;
use access::{AccessError, Beside, ReadMode, RowBatch};
use pages::PAGE_SIZE;
use plan::nodes::ScanPlan;
use session::query_memory::Share;
use storage::RowPlace;
use types::SqlError;

/// Nodes above leaves that are remembered of many rows in no order.
const NODES: usize = 16;

/// What is known of the rows that were read so far.
#[derive(Default)]
pub(super) struct NearRows {
    beside: Beside,
    share: Option<Share>,
}

impl NearRows {
    /// Many rows come, in the order of an index: that of their own keys is another one.
    pub fn expect_many(&mut self, rt: &mut Rt<'_, '_>) {
        if self.share.is_none() {
            let share = self.share.insert(rt.share());
            if share.take(NODES * PAGE_SIZE) {
                self.beside.keep(NODES);
            }
        }
    }

    /// The newest version of a row, as the only one of `batch`; false if there is none.
    pub fn fetch(
        &mut self,
        rows: &LockedRows<'_>,
        name: &Name,
        batch: &mut RowBatch,
    ) -> Result<bool, AccessError> {
        match (rows, name) {
            (LockedRows::Tree(tree), Name::Key(key)) => {
                tree.fetch_beside(&mut self.beside, key, ReadMode::Current, batch)
            }
            _ => rows.fetch(name, batch),
        }
    }

    /// The same of a row that an entry names.
    pub fn read(
        &mut self,
        plan: &ScanPlan,
        place: RowPlace<'_>,
        batch: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        let of = (&*plan.db, &*plan.store);
        storage::fetch_beside(of, &mut self.beside, place, ReadMode::Current, batch)
    }
}
