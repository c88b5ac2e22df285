//! Rows that are read by their names one after another, each on the leaf of the one before it where
//! that goes: rows that an index names in its order lie together where the order is that of time,
//! and the way down the tree is most of what a read costs.
//! Guarantee: where rows lie apart, the look at the leaf before is taken for few of them.

use super::{Name, Rows};
use access::{AccessError, ReadMode, RowBatch};

/// After so many looks in vain, one after another, none is taken.
const PATIENCE: u32 = 4;
/// Until so many rows were read: then one is.
const AGAIN: u32 = 64;

/// What is known of the rows that were read so far.
#[derive(Default)]
pub(super) struct Near {
    /// Rows since the last one that lay beside the one before it.
    apart: u32,
}

impl Near {
    /// Whether the next row is perhaps beside the last one.
    fn is_worth_a_look(&mut self) -> bool {
        if self.apart >= AGAIN {
            self.apart = PATIENCE - 1;
        }
        self.apart += 1;
        self.apart <= PATIENCE
    }

    /// The newest version of a row, as the only one of `batch`, which has the row before it; false
    /// if there is none.
    pub fn fetch(
        &mut self,
        rows: &Rows<'_>,
        name: &Name,
        batch: &mut RowBatch,
    ) -> Result<bool, AccessError> {
        if let (Rows::Tree(tree), Name::Key(key)) = (rows, name)
            && self.is_worth_a_look()
            && tree.fetch_near(key, ReadMode::Current, batch)?
        {
            self.apart = 0;
            return Ok(true);
        }
        rows.fetch(name, batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_looks_are_taken_in_vain() {
        let mut near = Near::default();
        let looks = (0..1000).filter(|_| near.is_worth_a_look()).count();
        assert!((PATIENCE as usize..30).contains(&looks), "{looks}");
        near.apart = 0;
        assert!(near.is_worth_a_look(), "rows lie together again");
    }
}
