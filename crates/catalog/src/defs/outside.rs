//! What of a table's rows lies outside them: its large values, and values of other variable columns
//! that did not fit (row overflow).
//!
//! Guarantee: a table whose rows may need room outside has a unit for that, which takes no space
//! before the first value comes ([`crate::overflow`]).

use super::TableDef;
use access::{MAX_ENTRY_LEN, MAX_KEY_LEN};
use pages::{PageId, UnitId};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use types::{MAX_ROW, keeps_values};

/// `index_id` of the row that names a table's unit of values that do not fit: no index ever had it.
pub const OVERFLOW_INDEX_ID: i32 = -1;
/// `index_id` of the row that says where the pages of such a unit begin; one below it for every
/// other unit.
pub const OVERFLOW_PLACE_ID: i32 = -2;
/// Values of at most so many bytes stay in the row: a pointer and what it stands for would take
/// more.
pub const LEAST_OUTSIDE: usize = 24;
/// Most bytes of a number, date or GUID in a key.
const FIXED_KEY_PART: usize = 24;
/// Bytes of the uniquifier behind a key.
const UNIQUIFIER: usize = 4;

/// What the pages of an allocation unit hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    InRow,
    /// Values of MAX columns.
    Large,
    /// Values of other columns, of rows that were too long.
    Overflow,
}

impl UnitKind {
    /// sys.allocation_units.type.
    pub fn number(self) -> u8 {
        match self {
            UnitKind::InRow => 1,
            UnitKind::Large => 2,
            UnitKind::Overflow => 3,
        }
    }

    /// sys.allocation_units.type_desc.
    pub fn name(self) -> &'static str {
        match self {
            UnitKind::InRow => "IN_ROW_DATA",
            UnitKind::Large => "LOB_DATA",
            UnitKind::Overflow => "ROW_OVERFLOW_DATA",
        }
    }
}

/// The unit of values that do not fit their rows. It has its number from the beginning, and is made
/// when the first value comes ([`crate::overflow::make`]). Copies of a definition share it.
#[derive(Clone, Debug)]
pub struct OverflowUnit(Arc<Overflow>);

#[derive(Debug)]
struct Overflow {
    unit: UnitId,
    filegroup: u16,
    first_iam: OnceLock<PageId>,
    /// Where it begins from the moment in which it is made. Who makes it has the lock.
    made: Mutex<Option<PageId>>,
}

impl OverflowUnit {
    /// Of a number; without a page it is still to be made.
    pub fn new(unit: UnitId, first_iam: PageId, filegroup: u16) -> OverflowUnit {
        let first_iam =
            if first_iam.is_none() { OnceLock::new() } else { OnceLock::from(first_iam) };
        OverflowUnit(Arc::new(Overflow { unit, filegroup, first_iam, made: Mutex::new(None) }))
    }

    /// Its number.
    pub fn unit(&self) -> UnitId {
        self.0.unit
    }

    /// Its filegroup: that of the rows.
    pub fn filegroup(&self) -> u16 {
        self.0.filegroup
    }

    /// Where it begins, once it is made.
    pub fn first_iam(&self) -> Option<PageId> {
        self.0.first_iam.get().copied()
    }

    /// Has it made and noted unless it is; one thread at a time. One that could not be noted is
    /// there and is not made again.
    pub(crate) fn make_once<E>(
        &self,
        make: impl FnOnce() -> Result<PageId, E>,
        note: impl FnOnce(PageId) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut made = self.0.made.lock();
        if self.first_iam().is_none() {
            let first_iam = match *made {
                Some(first_iam) => first_iam,
                None => *made.insert(make()?),
            };
            note(first_iam)?;
            let _ = self.0.first_iam.set(first_iam);
        }
        Ok(())
    }
}

impl TableDef {
    /// Units and first IAM pages of what lies outside its rows, as far as they are made; they are
    /// in the filegroup of the rows.
    pub fn outside(&self) -> impl Iterator<Item = (UnitKind, UnitId, PageId)> {
        let large = self.lob.map(|(unit, first_iam)| (UnitKind::Large, unit, first_iam));
        let made =
            |unit: &OverflowUnit| unit.first_iam().map(|at| (UnitKind::Overflow, unit.unit(), at));
        let overflow = self.overflow.as_ref().and_then(made);
        large.into_iter().chain(overflow)
    }

    /// The number of the unit of its values that do not fit their rows, as long as there were none.
    pub fn overflow_to_come(&self) -> Option<UnitId> {
        self.overflow.as_ref().filter(|unit| unit.first_iam().is_none()).map(OverflowUnit::unit)
    }

    /// Whether it has a MAX column whose values are stored.
    pub fn has_large(&self) -> bool {
        self.columns.iter().any(|c| c.ty.is_lob() && !c.is_virtual())
    }

    /// Whether a column that is not a MAX one may have its value outside a row: it is of variable
    /// length, and no part of the clustered key.
    pub fn may_move(&self, column: usize) -> bool {
        let in_key =
            self.storage.index_id > 0 && self.storage.key.iter().any(|(key, _)| *key == column);
        let def = self.columns.get(column);
        self.layout.is_variable(column)
            && !in_key
            && def.is_some_and(|c| !c.ty.is_lob() && !c.is_virtual())
    }

    /// Whether there can be a row that fits only with values of columns outside it that are not MAX
    /// columns.
    pub fn may_overflow(&self) -> bool {
        let room = MAX_ENTRY_LEN - self.longest_key().min(MAX_KEY_LEN);
        let movable = (0..self.columns.len()).any(|column| self.may_move(column));
        movable && self.longest_row(|_, most| most) > room.min(MAX_ROW)
    }

    /// Whether there can be a row that is too long with all that may leave it outside: error 511.
    pub fn may_be_too_long(&self) -> bool {
        let inside = |column, most: usize| {
            if self.may_move(column) { most.min(LEAST_OUTSIDE) } else { most }
        };
        self.longest_row(inside) > MAX_ROW
    }

    /// Bytes of the longest row, of the bytes that a value takes in it: of a column by its position
    /// and the most bytes of its values. Those of MAX columns are outside.
    fn longest_row(&self, bytes_of: impl Fn(usize, usize) -> usize) -> usize {
        let mut longest = self.layout.min_row_size();
        let mut ends = 0;
        for (at, column) in self.columns.iter().enumerate() {
            if !self.layout.is_variable(at) || column.is_virtual() {
                continue;
            }
            let declared = usize::try_from(column.ty.max_length()).unwrap_or(0);
            let most = if column.ty.is_lob() { LEAST_OUTSIDE } else { declared };
            longest += bytes_of(at, most);
            ends += 2;
        }
        longest + if ends > 0 { 2 + ends } else { 0 }
    }

    /// Most bytes of a clustered key; 0 for a heap.
    fn longest_key(&self) -> usize {
        if self.storage.index_id == 0 {
            return 0;
        }
        let part = |(at, _): &(usize, bool)| match self.columns.get(*at).map(|column| column.ty) {
            Some(ty) if keeps_values(ty) => FIXED_KEY_PART,
            _ => MAX_KEY_LEN,
        };
        self.storage.key.iter().map(part).sum::<usize>()
            + if self.uniquifier { UNIQUIFIER } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log may be full when a unit that is made is to be noted.
    #[test]
    fn a_unit_is_made_once_however_often_it_takes_to_note_it() {
        let unit = OverflowUnit::new(UnitId(100), PageId::NONE, 1);
        let page = PageId { file: 1, page: 80 };
        assert_eq!(
            unit.make_once(|| Err("no room"), |_| panic!("noted, not made")),
            Err("no room")
        );
        assert_eq!(unit.make_once(|| Ok(page), |_| Err("full")), Err("full"));
        assert_eq!(unit.first_iam(), None);
        let mut noted = Vec::new();
        for _ in 0..2 {
            let note = |at| {
                noted.push(at);
                Ok::<(), &str>(())
            };
            assert_eq!(unit.make_once(|| panic!("made twice"), note), Ok(()));
        }
        assert_eq!((noted, unit.first_iam()), (vec![page], Some(page)));
    }
}
