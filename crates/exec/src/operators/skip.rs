//! Seeks past columns of an index (`SeekSpec::behind`): which value of them comes next, and which
//! ranges of keys are read of that value; of several columns a value is one combination of theirs.
//! Guarantee: the ranges of all values hold every row of the range that satisfies the conditions.
//! Where there are more values than have been paid for, and these have so few entries that reading
//! them is less work than passing them by, what is left is one range.

use crate::operators::rt::Rt;
use crate::operators::seek::{self, Range};
use access::{AccessError, Cursor, ReadMode, RowBatch};
use plan::nodes::{BehindPassed, SeekSpec};
use std::ops::Bound;
use storage::keys::after_prefix;
use types::{KeyPart, SqlError, key_part_length};

/// So many entries are read to find the next value, and to see whether it has a good many.
pub const SEEN: u16 = 16;
/// A value of fewer entries is not worth the search for the next one.
const FEW: usize = 8;
/// So many values at least are looked for before it is judged whether that pays.
const LOOKS: u32 = 16;

/// Where a seek past columns is up to.
pub struct SeekPastColumn {
    /// What is left of the range of the columns that are passed over.
    left: Range,
    /// Nothing is.
    over: bool,
    /// The ranges of the columns behind them, without what their keys begin with.
    behind: Vec<Range>,
    /// The columns up to them.
    passed: Vec<KeyPart>,
    /// Entries from the beginning of what is left on, or backward from its end.
    pub seen: RowBatch,
    /// So many values are looked for whatever they have.
    paid: u32,
    looks: u32,
    /// Of these, that found a value of few entries.
    vain: u32,
}

impl SeekPastColumn {
    /// A seek that has not begun; nothing where no row can satisfy it. `parts`: the whole key.
    pub fn of(
        spec: &SeekSpec,
        behind: &BehindPassed,
        parts: &[KeyPart],
        rt: &mut Rt<'_, '_>,
    ) -> Result<Option<Box<SeekPastColumn>>, SqlError> {
        let Some((passed, rest)) = parts.split_at_checked(spec.equal.len() + behind.columns) else {
            return Err(SqlError::internal("a seek past a column that the index does not have"));
        };
        let Some(left) = seek::range(spec, parts, rt)? else { return Ok(None) };
        let paid = LOOKS.max(behind.visits as u32);
        let behind = seek::ranges(&behind.ranges, rest, rt)?;
        if behind.is_empty() {
            return Ok(None);
        }
        let (passed, seen) = (passed.to_vec(), RowBatch::new());
        Ok(Some(Box::new(SeekPastColumn {
            left,
            over: false,
            behind,
            passed,
            seen,
            paid,
            looks: 0,
            vain: 0,
        })))
    }

    /// What is left to be searched for a further value.
    pub fn left(&self) -> Option<&Range> {
        (!self.over).then_some(&self.left)
    }

    /// Whether there are so many values that it is better to read what is left.
    pub fn is_vain(&self) -> bool {
        self.looks >= self.paid && self.vain > self.looks / 2
    }

    /// The ranges of the value that the entries seen begin with, in the order of their keys; what
    /// is left lies beyond it. Nothing where the key is none of this index: what is left is to be
    /// read. `cursor` has read these entries.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn take(
        &mut self,
        cursor: &mut Cursor,
        mode: ReadMode<'_>,
        backward: bool,
    ) -> Result<Option<Vec<Range>>, AccessError> {
        let Some(value) = self.value() else { return Ok(None) };
        let (mut same, mut all) = self.entries_of(&value);
        // Of wide rows few are on a page: it is the next one that tells whether the value has more.
        // As long as there are no more values than were expected nobody asks.
        while same == all
            && same < FEW
            && self.looks >= self.paid / 2
            && cursor.next_batch(mode, &mut self.seen)?
        {
            let (more, read) = self.entries_of(&value);
            (same, all) = (same + more, all + read);
        }
        self.looks = self.looks.saturating_add(1);
        self.vain += u32::from(same < FEW && same < all);
        let ranges = self.behind.iter().map(|range| within(&value, range)).collect();
        if backward {
            self.left.upper = Bound::Excluded(value);
        } else {
            match after_prefix(value) {
                Bound::Included(next) | Bound::Excluded(next) => {
                    self.left.lower = Bound::Included(next)
                }
                Bound::Unbounded => self.over = true,
            }
        }
        self.over |= seek::is_before(&self.left.upper, &self.left.lower);
        Ok(Some(ranges))
    }

    /// What the key of the first entry seen begins with: the columns up to those behind.
    fn value(&self) -> Option<Vec<u8>> {
        let key = self.seen.key(0);
        let mut length = 0;
        for part in &self.passed {
            length += key_part_length(part, key.get(length..)?)?;
        }
        key.get(..length).map(<[u8]>::to_vec)
    }

    /// How many of the entries seen are of a value, up to one that is not, and how many there are.
    fn entries_of(&self, value: &[u8]) -> (usize, usize) {
        let all = self.seen.len();
        ((0..all).take_while(|i| self.seen.key(*i).starts_with(value)).count(), all)
    }
}

/// A range of what follows a value in a key, as a range of keys.
fn within(value: &[u8], range: &Range) -> Range {
    let key = |rest: &[u8]| [value, rest].concat();
    Range {
        lower: match &range.lower {
            Bound::Unbounded => Bound::Included(value.to_vec()),
            Bound::Included(rest) => Bound::Included(key(rest)),
            Bound::Excluded(rest) => Bound::Excluded(key(rest)),
        },
        upper: match &range.upper {
            Bound::Unbounded => after_prefix(value.to_vec()),
            Bound::Included(rest) => Bound::Included(key(rest)),
            Bound::Excluded(rest) => Bound::Excluded(key(rest)),
        },
    }
}
