//! Rows of a bulk load that are said to come in the order of the clustered index.
//! Guarantee: where neither the keys that came nor the keys that are stored are in that order, the
//! load ends (4819). They differ where a default stands in for NULL: who tells the order may mean
//! either, and nothing else depends on it.

use std::cmp::Ordering;

use catalog::TableDef;
use types::{SqlError, Value, msg};

use session::state::bulk::BulkLoad;

/// The order in which rows are said to come.
pub struct ToldOrder<'a> {
    /// The table as it was when the order was told.
    table: &'a TableDef,
    parts: Vec<OrderColumn>,
    /// The keys that came; nothing where they are those that are stored.
    came: Option<KeySequence>,
    stored: KeySequence,
}

/// One column of the key.
struct OrderColumn {
    /// Its place in the rows that come.
    place: usize,
    /// Its place in the table as it was, and in the rows that are stored now.
    column: usize,
    stored: usize,
    descending: bool,
}

/// Keys as they come one after another.
#[derive(Default)]
struct KeySequence {
    last: Option<Vec<Value>>,
    /// One came before its predecessor.
    out_of_order: bool,
}

impl<'a> ToldOrder<'a> {
    /// The order that a load tells, if it tells one.
    pub fn of(load: &'a BulkLoad) -> Option<ToldOrder<'a>> {
        let part = |(place, descending): &(usize, bool)| OrderColumn {
            place: *place,
            column: load.columns[*place],
            stored: load.columns[*place],
            descending: *descending,
        };
        let parts: Vec<OrderColumn> = load.order.iter().map(part).collect();
        let has_default = |part: &OrderColumn| load.table.columns[part.column].default.is_some();
        let replaced = !load.options.keep_nulls && parts.iter().any(has_default);
        let order = ToldOrder {
            table: &load.table,
            came: replaced.then(KeySequence::default),
            stored: KeySequence::default(),
            parts,
        };
        (!order.parts.is_empty()).then_some(order)
    }

    /// Rows are stored in the table as it is now: others may have changed it since.
    ///
    /// # Errors
    /// A column is gone.
    pub fn stored_in(&mut self, now: &TableDef) -> Result<(), SqlError> {
        for part in &mut self.parts {
            let place = now.column(&self.table.columns[part.column].name);
            part.stored = place.ok_or_else(|| SqlError::internal("a loaded column is gone"))?;
        }
        Ok(())
    }

    /// The next row, as it came and as it is stored.
    ///
    /// # Errors
    /// 4819.
    pub fn check(&mut self, came: &[Value], stored: &[Value]) -> Result<(), SqlError> {
        let key = self.parts.iter().map(|part| stored[part.stored].clone()).collect();
        let mut wrong = self.stored.add(key, &self.parts, self.table);
        if let Some(keys) = &mut self.came {
            let key = self.parts.iter().map(|part| came[part.place].clone()).collect();
            let fault = keys.add(key, &self.parts, self.table);
            wrong = wrong.or(fault).filter(|_| keys.out_of_order && self.stored.out_of_order);
        }
        wrong.map_or(Ok(()), |(first, second)| Err(out_of_order(&first, &second)))
    }
}

impl KeySequence {
    /// Adds the next key; gives it and its predecessor where it is the first that comes too early.
    fn add(
        &mut self,
        key: Vec<Value>,
        parts: &[OrderColumn],
        table: &TableDef,
    ) -> Option<(Vec<Value>, Vec<Value>)> {
        if self.out_of_order {
            return None;
        }
        let last = self.last.replace(key)?;
        let key = self.last.as_deref().unwrap_or_default();
        self.out_of_order = compare(&last, key, parts, table) == Ordering::Greater;
        self.out_of_order.then(|| (last, key.to_vec()))
    }
}

fn compare(left: &[Value], right: &[Value], parts: &[OrderColumn], table: &TableDef) -> Ordering {
    let values = parts.iter().zip(left.iter().zip(right));
    let mut orderings = values.map(|(part, (left, right))| {
        let collation = table.columns[part.column].collation;
        let ordering = match (left.is_null(), right.is_null()) {
            (false, false) => {
                types::ops::compare(left, right, collation).unwrap_or(Ordering::Equal)
            }
            // NULL is before all others.
            (left, right) => right.cmp(&left),
        };
        if part.descending { ordering.reverse() } else { ordering }
    });
    orderings.find(|ordering| *ordering != Ordering::Equal).unwrap_or(Ordering::Equal)
}

/// 4819.
fn out_of_order(first: &[Value], second: &[Value]) -> SqlError {
    let shown = |key: &[Value]| key.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    SqlError::of(msg::BULK_SORT_ORDER, [&shown(first), &shown(second)])
}
