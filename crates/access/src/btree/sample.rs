//! A sample of an index: leaves that lie evenly over the keys, read without a look at the others.
//!
//! A leaf is found by a share of the way from the first to the last: at each level the share
//! chooses among the children, what is left of it among theirs. Leaves below inner pages with few
//! children are met a little more often than others.

use super::BTree;
use super::cursor::copy_rows;
use super::node::{check_node, inner_entry};
use crate::batch::RowBatch;
use crate::error::AccessError;
use crate::snapshot::ReadMode;
use crate::visible::resolve_batch;
use pages::PageRef;

/// Ways down whose fan-outs tell how many leaves there are.
const PROBES: u32 = 5;

impl BTree {
    /// About how many leaves there are: exact for a tree of one or two levels.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn leaf_estimate(&self) -> Result<u64, AccessError> {
        let mut sum = 0.0;
        for probe in 0..PROBES {
            let mut leaves = 1.0;
            let share = (f64::from(probe) + 0.5) / f64::from(PROBES);
            self.descend_share(share, &mut |children| leaves *= f64::from(children.max(1)))?;
            sum += leaves;
        }
        Ok((sum / f64::from(PROBES)).round() as u64)
    }

    /// Fills `batch` with the rows of the leaf at a share (0 to 1) of the way through the tree; it
    /// may have none.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn leaf_at(
        &self,
        share: f64,
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<(), AccessError> {
        batch.clear();
        let leaf = self.descend_share(share, &mut |_| {})?;
        copy_rows(&leaf, 0, leaf.slot_count(), mode, batch)?;
        drop(leaf);
        resolve_batch(&self.space.store, batch, mode, true)?;
        batch.drop_gone();
        Ok(())
    }

    /// As `descend_read`; `met` gets the number of children of each inner page.
    fn descend_share(
        &self,
        share: f64,
        met: &mut dyn FnMut(u16),
    ) -> Result<PageRef<'_>, AccessError> {
        let mut share = share.clamp(0.0, 1.0);
        let mut page = self.space.store.read(self.root)?;
        check_node(&page, self.unit_id())?;
        while page.level() > 0 {
            let count = page.slot_count();
            met(count);
            let at = share * f64::from(count);
            let slot = (at as u16).min(count.saturating_sub(1));
            share = (at - f64::from(slot)).clamp(0.0, 1.0);
            let child = self.space.store.read(inner_entry(&page, slot)?.0)?;
            self.check_child(&page, &child)?;
            page = child;
        }
        Ok(page)
    }
}
