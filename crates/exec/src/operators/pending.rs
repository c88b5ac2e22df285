//! Locators of rows that are to be looked up together: they are put in the order in which the rows
//! lie, so that a page with several of them is visited once, and their pages are asked for before
//! the first is read.
//! Guarantee: few locators stay in the order in which they came: a page or two are not worth it.

use plan::nodes::ScanPlan;
use storage::{Base, access_error, value_rid};
use types::{SqlError, Value};

/// Most that are looked up together, and their bytes.
pub(super) const MOST: usize = 1024;
pub(super) const MOST_BYTES: usize = 64 << 10;
/// Fewest that are put in order.
pub(super) const FEW: usize = 64;
/// While all pages of a group are in memory, so many groups are not asked for.
const CALM: u32 = 8;

/// The locators.
#[derive(Debug, Default)]
pub(super) struct Pending {
    locators: Vec<Value>,
    at: usize,
    bytes: usize,
    /// Groups for which no pages need to be asked for.
    calm: u32,
}

impl Pending {
    /// Whether all have been taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at >= self.locators.len()
    }

    /// Whether as many are here as are looked up together, of which only so many are wanted.
    #[inline]
    pub fn is_full(&self, most: usize) -> bool {
        self.locators.len() >= most.min(MOST) || self.bytes >= MOST_BYTES
    }

    /// Another group begins.
    pub fn begin(&mut self) {
        self.locators.clear();
        (self.at, self.bytes) = (0, 0);
    }

    /// Adds one.
    #[inline]
    pub fn push(&mut self, locator: Value) {
        self.bytes += locator.heap_bytes();
        self.locators.push(locator);
    }

    /// Whether no pages need to be asked for, for one who wants nothing else of the next group.
    pub fn is_calm(&mut self) -> bool {
        let calm = self.calm > 0;
        self.calm = self.calm.saturating_sub(1);
        calm
    }

    /// The group is complete: puts it in order and asks for its pages.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn order(&mut self, plan: &ScanPlan) -> Result<(), SqlError> {
        if self.locators.len() < FEW {
            return Ok(());
        }
        match &plan.store.base {
            Base::Heap(_) => self.locators.sort_unstable_by_key(value_rid),
            Base::Tree(_) => self.locators.sort_unstable_by(|a, b| a.as_bytes().cmp(&b.as_bytes())),
        }
        if self.calm > 0 {
            self.calm -= 1;
            return Ok(());
        }
        let missing = match &plan.store.base {
            Base::Heap(heap) => heap.ask_for(self.locators.iter().filter_map(value_rid)),
            Base::Tree(tree) => {
                let keys = self.locators.iter().filter_map(Value::as_bytes);
                tree.ask_for(keys).map_err(|e| access_error(&plan.db, e))?
            }
        };
        if missing == 0 {
            self.calm = CALM;
        }
        Ok(())
    }

    /// Takes the next one.
    #[inline]
    pub fn take(&mut self) -> Option<Value> {
        let locator = self.locators.get_mut(self.at)?;
        self.at += 1;
        Some(std::mem::take(locator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use access::Rid;
    use pages::PageId;
    use storage::rid_value;

    #[test]
    fn rows_of_one_page_come_together() {
        let rid = |page, slot| Rid { page: PageId { file: 1, page }, slot };
        let mut all = [rid(300, 1), rid(2, 9), rid(300, 0), rid(2, 1)].map(rid_value);
        all.sort_unstable_by_key(value_rid);
        let found: Vec<Option<Rid>> = all.iter().map(value_rid).collect();
        assert_eq!(found, [rid(2, 1), rid(2, 9), rid(300, 0), rid(300, 1)].map(Some));
    }

    #[test]
    fn a_group_ends_with_what_is_wanted() {
        let mut pending = Pending::default();
        for n in 0..10 {
            assert!(!pending.is_full(10));
            pending.push(Value::BigInt(n));
        }
        assert!(pending.is_full(10) && !pending.is_full(MOST));
        assert!(matches!(pending.take(), Some(Value::BigInt(0))));
        pending.begin();
        assert!(pending.is_empty() && pending.take().is_none());
        pending.push(Value::bytes(vec![0u8; MOST_BYTES]));
        assert!(pending.is_full(MOST), "long keys");
    }
}
