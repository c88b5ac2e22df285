//! Values of sequences: given from memory, reserved in the system table of reservations as far as
//! the cache goes. Guarantees: no value is given before its reservation is durable, so that none is
//! given again after a crash; a rollback gives no value back; a sequence that came to its end stays
//! there until it cycles or is restarted.

use std::sync::Arc;

use txn::Durability;
use types::{SqlError, Value, msg};

use crate::other::{SequenceDef, SequenceOptions};
use crate::systables::SysTable;
use crate::{Db, errors};

/// Values that CACHE without a number reserves.
const DEFAULT_CACHE: u32 = 50;

impl SequenceOptions {
    /// The value after another; none at the end of a sequence that does not cycle.
    fn after(&self, last: Option<i64>) -> Option<i64> {
        let Some(last) = last else { return Some(self.first) };
        let next =
            last.checked_add(self.increment).filter(|next| (self.min..=self.max).contains(next));
        match next {
            None if self.cycle => Some(if self.increment > 0 { self.min } else { self.max }),
            next => next,
        }
    }

    /// Whether no value is left.
    pub fn is_exhausted(&self, last: Option<i64>) -> bool {
        self.after(last).is_none()
    }

    /// The last of `count` values from `first` on, the end of the sequence at most.
    fn end_of(&self, first: i64, count: u64) -> i64 {
        let bound = if self.increment > 0 { self.max } else { self.min };
        let room = (i128::from(bound) - i128::from(first)) / i128::from(self.increment);
        let steps = i128::from(count.saturating_sub(1)).min(room);
        i64::try_from(i128::from(first) + steps * i128::from(self.increment)).unwrap_or(bound)
    }

    /// Values that are reserved at a time.
    pub fn cache_size(&self) -> u64 {
        match self.cache {
            None => 1,
            Some(0) => DEFAULT_CACHE.into(),
            Some(n) => n.into(),
        }
    }
}

/// The next value.
///
/// # Errors
/// 11728 the sequence is at its end; what the log says.
pub fn next(db: &Arc<Db>, sequence: &SequenceDef) -> Result<i64, SqlError> {
    let options = &sequence.options;
    let mut place = sequence.state.0.lock();
    let next = options.after(place.last).ok_or_else(|| exhausted(sequence))?;
    let inside = match (place.last, place.reserved) {
        (Some(last), Some(reserved)) if options.increment > 0 => last < next && next <= reserved,
        (Some(last), Some(reserved)) => last > next && next >= reserved,
        _ => false,
    };
    if !inside {
        let reserved = options.end_of(next, options.cache_size());
        write(db, options.counter, Some(reserved))?;
        place.reserved = Some(reserved);
    }
    place.last = Some(next);
    Ok(next)
}

/// What [`range`] has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub first: i64,
    pub last: i64,
    /// How often it went on from the other end.
    pub cycles: i64,
}

/// `count` values in a row.
///
/// # Errors
/// 11732 there are not so many; what the log says.
pub fn range(db: &Arc<Db>, sequence: &SequenceDef, count: u64) -> Result<Range, SqlError> {
    let options = &sequence.options;
    let mut place = sequence.state.0.lock();
    let too_many = || SqlError::of(msg::SEQUENCE_RANGE_LIMIT, [&sequence.schema, &sequence.name]);
    let first = options.after(place.last).ok_or_else(too_many)?;
    let wide = |n: i64| i128::from(n);
    let step = wide(options.increment);
    let (begin, bound) =
        if step > 0 { (options.min, options.max) } else { (options.max, options.min) };
    // Values up to the end, and those of a whole round.
    let left = (wide(bound) - wide(first)) / step + 1;
    let round = (wide(bound) - wide(begin)) / step + 1;
    let more = i128::from(count) - left;
    let (last, cycles) = if more <= 0 {
        (wide(first) + (i128::from(count) - 1) * step, 0)
    } else if options.cycle {
        (wide(begin) + ((more - 1) % round) * step, (more - 1) / round + 1)
    } else {
        return Err(too_many());
    };
    let last = i64::try_from(last).map_err(|_| too_many())?;
    let cycles = i64::try_from(cycles).map_err(|_| too_many())?;
    let inside = cycles == 0
        && match (place.last, place.reserved) {
            (Some(from), Some(reserved)) if step > 0 => from < first && last <= reserved,
            (Some(from), Some(reserved)) => from > first && last >= reserved,
            _ => false,
        };
    if !inside {
        write(db, options.counter, Some(last))?;
        place.reserved = Some(last);
    }
    place.last = Some(last);
    Ok(Range { first, last, cycles })
}

/// The database is being closed: what was reserved and not given is given back.
///
/// # Errors
/// What the log says.
pub fn settle(db: &Arc<Db>, sequence: &SequenceDef) -> Result<(), SqlError> {
    let mut place = sequence.state.0.lock();
    if place.last == place.reserved {
        return Ok(());
    }
    write(db, sequence.options.counter, place.last)?;
    place.reserved = place.last;
    Ok(())
}

fn exhausted(sequence: &SequenceDef) -> SqlError {
    SqlError::of(msg::SEQUENCE_EXHAUSTED, [&sequence.name])
}

/// In a transaction of its own, which is durable before a value is given: values may be seen
/// without being written anywhere.
fn write(db: &Arc<Db>, counter: i32, reserved: Option<i64>) -> Result<(), SqlError> {
    db.check_writable()?;
    let open = db.open()?;
    let run = || -> Result<(), crate::store::StoreError> {
        let mut txn = open.storage.begin(0)?;
        let id = Value::Int(counter);
        match reserved {
            Some(last) => {
                open.trees.put(&mut txn, SysTable::Identities, &[id, Value::BigInt(last)])?
            }
            None => drop(open.trees.delete(&mut txn, SysTable::Identities, &[id])?),
        }
        txn.commit(Durability::Full)?;
        Ok(())
    };
    run().map_err(|e| errors::store_error(db, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::DataType;

    fn options(increment: i64, min: i64, max: i64, cycle: bool) -> SequenceOptions {
        let first = if increment > 0 { min } else { max };
        let ty = DataType::BigInt;
        SequenceOptions {
            ty,
            start: first,
            first,
            increment,
            min,
            max,
            cycle,
            cache: Some(3),
            counter: 1,
        }
    }

    #[test]
    fn values_end_or_begin_again() {
        let up = options(2, 1, 6, false);
        assert_eq!(
            (up.after(None), up.after(Some(1)), up.after(Some(5))),
            (Some(1), Some(3), None)
        );
        let round = options(-2, 1, 6, true);
        assert_eq!(
            (round.after(None), round.after(Some(2)), round.after(Some(4))),
            (Some(6), Some(6), Some(2))
        );
        assert_eq!(options(1, 1, i64::MAX, false).after(Some(i64::MAX)), None);
    }

    #[test]
    fn reservations_end_with_the_sequence() {
        assert_eq!(options(2, 1, 6, false).end_of(1, 2), 3);
        assert_eq!(options(2, 1, 6, false).end_of(1, 50), 5);
        assert_eq!(options(-3, -10, 6, true).end_of(6, 50), -9);
        assert_eq!(options(1, i64::MIN, i64::MAX, false).end_of(i64::MAX, 50), i64::MAX);
    }
}
