//! Samples of a table's values: what its statistics are made of. Whole pages are read, evenly
//! spread over the heap or the clustered index; a small table is read as a whole.
//!
//! Values of one page depend on each other (rows that were inserted together lie together), so the
//! number of different values is estimated from how many *pages* of the sample each value is on:
//! Chaudhuri, Das, Srivastava, "Effective use of block-level sampling in statistics estimation"
//! (SIGMOD 2004), with the estimator of Haas and Stokes (1998) that PostgreSQL uses on rows.
//!
//! Uncommitted rows count: a statement that fills a table and the next one that reads it are often
//! of one transaction.

use std::ops::Bound;
use std::sync::Arc;

use access::{AccessError, Direction, ReadMode, RowBatch};
use catalog::errors::DATA_MOVED;
use catalog::statistics::histogram::{self, SampledValue};
use catalog::statistics::store::key_part;
use catalog::statistics::{MeasuredValues, Statistics};
use catalog::{Db, RowFilter, TableDef, clock, row_counts};
use types::{KeyPart, SqlError, Value, encode_key_part};

use super::{Base, TableMode, TableStore, access_error};

/// Pages of a sample; a table of at most so many (8 MB) is read as a whole, as SQL Server does.
pub const PAGES: usize = 1_000;
/// Most values that are looked at, FULLSCAN included: about a gigabyte of memory.
const MOST_VALUES: f64 = 2e7;
/// Longer texts and byte strings are cut: what they begin with tells them apart.
const LONGEST: usize = 200;

/// How much of a table is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// [`PAGES`].
    Default,
    /// This share (0 to 1] of the pages, but not less than the default.
    Share(f64),
    /// So many rows, as far as the average page tells.
    Rows(f64),
    All,
}

/// Values of some columns of the pages that were read.
#[derive(Debug, Default)]
struct Sample {
    /// Row after row.
    values: Vec<Value>,
    width: usize,
    /// For each row the number of its page.
    pages: Vec<u32>,
    /// Rows of the pages, whether the filter admits them or not.
    read: usize,
    /// The share of the table's pages.
    share: f64,
}

/// Measures statistics of a table.
///
/// # Errors
/// I/O, damaged pages, the database is not usable.
pub fn measure(
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    statistics: &Statistics,
    amount: Amount,
) -> Result<MeasuredValues, SqlError> {
    let positions: Vec<usize> =
        statistics.columns.iter().filter_map(|id| table.position(*id)).collect();
    debug_assert_eq!(positions.len(), statistics.columns.len());
    let modified = table.state.modified();
    let store = TableStore::open(db, table)?;
    let filter = match &statistics.filter {
        None => None,
        Some(filter) => {
            let of = filter.over(&store.table.columns);
            Some(of.ok_or_else(|| {
                SqlError::internal("a filter names a column that the table does not have")
            })?)
        }
    };
    let sample = read(db, &store, (&positions, filter.as_ref()), amount)?;
    let parts: Vec<KeyPart> = positions.iter().map(|at| key_part(&table.columns[*at])).collect();
    let (sampled, looked_at) = (sample.pages.len() as f64, sample.read as f64);
    let known = row_counts::estimate(table).map(|rows| rows as f64);
    let unfiltered = match known {
        Some(rows) if sample.share < 1.0 => rows.max(looked_at),
        _ if sample.share < 1.0 => looked_at / sample.share,
        _ => looked_at,
    };
    let rows = if sampled < looked_at { unfiltered * sampled / looked_at } else { unfiltered };
    let keys = Keys::of(&sample, &parts);
    let mut densities = Vec::with_capacity(parts.len());
    for prefix in 1..=parts.len() {
        let distinct = keys.distinct(prefix, sample.share, rows);
        densities.push(if distinct > 0.0 { 1.0 / distinct } else { 0.0 });
    }
    let scale = if sampled > 0.0 { rows / sampled } else { 1.0 };
    let histogram = keys.histogram(&sample, scale, densities.first().copied().unwrap_or(0.0));
    let lengths = lengths(&sample);
    Ok(MeasuredValues {
        updated: clock::now(),
        rows,
        sampled,
        unfiltered,
        modified,
        histogram,
        densities,
        lengths,
    })
}

fn read(
    db: &Arc<Db>,
    store: &TableStore,
    (positions, filter): (&[usize], Option<&RowFilter>),
    amount: Amount,
) -> Result<Sample, SqlError> {
    let columns: Vec<u16> = positions.iter().map(|at| *at as u16).collect();
    let mut sample = Sample { width: columns.len(), share: 1.0, ..Sample::default() };
    let fail = |e: AccessError| access_error(db, e);
    let mut batch = RowBatch::new();
    // Values outside the rows are read after them, and are not freed meanwhile.
    let _held =
        store.has_outside().then(|| db.storage().map(|storage| storage.snapshot())).transpose()?;
    let mut values = vec![Value::Null; columns.len()];
    // The filter's tests are over these columns, one after another.
    let tested: Vec<u16> = filter.iter().flat_map(|f| f.columns()).map(|at| at as u16).collect();
    let place = |at: usize| {
        tested.iter().position(|tested| usize::from(*tested) == at).unwrap_or(usize::MAX)
    };
    let filter = filter.map(|filter| filter.moved(place));
    let mut filtered = vec![Value::Null; tested.len()];
    let mut take =
        |sample: &mut Sample, batch: &RowBatch, page: u32| -> Result<(), SqlError> {
            // False: a value outside the row is not there, as the row's transaction has been rolled
            // back.
            let decode = |row: &[u8], columns: &[u16], values: &mut [Value]| match store
                .columns_read(db, TableMode::Dirty, row, columns, values)
            {
                Err(e) if e.number == DATA_MOVED => Ok(false),
                decoded => decoded.map(|()| true),
            };
            sample.read += batch.len();
            for i in 0..batch.len() {
                if let Some(filter) = &filter
                    && !(decode(batch.row(i), &tested, &mut filtered)? && filter.admits(&filtered))
                {
                    continue;
                }
                if !decode(batch.row(i), &columns, &mut values)? {
                    continue;
                }
                sample.values.extend(values.iter_mut().map(shortened));
                sample.pages.push(page);
            }
            Ok(())
        };
    let all = match &store.base {
        Base::Heap(heap) => heap.page_count().map_err(fail)?,
        Base::Tree(tree) => tree.leaf_estimate().map_err(fail)? as usize,
    };
    let wanted = wanted_pages(&store.table, amount, all, columns.len());
    let mut page = 0;
    match &store.base {
        Base::Heap(heap) => {
            let (mut scan, share) = heap.sample(wanted).map_err(fail)?;
            sample.share = share;
            while scan.next_batch(ReadMode::Dirty, &mut batch).map_err(fail)? {
                take(&mut sample, &batch, page)?;
                page += 1;
            }
        }
        Base::Tree(tree) if all <= wanted => {
            let mut cursor = tree.cursor(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
            while cursor.next_batch(ReadMode::Dirty, &mut batch).map_err(fail)? {
                take(&mut sample, &batch, page)?;
                page += 1;
            }
        }
        Base::Tree(tree) => {
            sample.share = wanted as f64 / all as f64;
            let mut before = None;
            for i in 0..wanted {
                let share = (i as f64 + 0.5) / wanted as f64;
                tree.leaf_at(share, ReadMode::Dirty, &mut batch).map_err(fail)?;
                // Where inner pages have few children, two shares may lead to one leaf.
                if before.replace(batch.page()) != Some(batch.page()) {
                    take(&mut sample, &batch, page)?;
                    page += 1;
                }
            }
        }
    }
    Ok(sample)
}

/// How many of a table's pages are read.
fn wanted_pages(table: &TableDef, amount: Amount, all: usize, columns: usize) -> usize {
    let rows = row_counts::estimate(table).unwrap_or(0) as f64;
    let wanted = match amount {
        Amount::Default => PAGES,
        Amount::All => usize::MAX,
        Amount::Share(share) => ((all as f64 * share).ceil() as usize).max(PAGES.min(all)),
        Amount::Rows(wanted) => ((all as f64 * wanted / rows.max(1.0)).ceil() as usize).max(1),
    };
    // Memory is bounded: beyond, the pages are spread evenly too, and the count of rows says how
    // many were read.
    let per_page = rows / all.max(1) as f64;
    let bound = MOST_VALUES / (per_page.max(1.0) * columns.max(1) as f64);
    wanted.min(bound.max(PAGES as f64) as usize)
}

fn shortened(value: &mut Value) -> Value {
    match std::mem::take(value) {
        Value::Str(text) if text.len() > LONGEST => {
            let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            Value::str(&text[..end])
        }
        Value::Bytes(bytes) if bytes.len() > LONGEST => Value::bytes(&bytes[..LONGEST]),
        value => value,
    }
}

/// The normalised keys of a sample's rows.
struct Keys {
    bytes: Vec<u8>,
    /// Where each row's parts end, row after row; a row begins where the one before it ends.
    ends: Vec<u32>,
    width: usize,
    pages: Vec<u32>,
    /// Rows in the order of the first column.
    sorted: Vec<u32>,
}

impl Keys {
    fn of(sample: &Sample, parts: &[KeyPart]) -> Keys {
        let mut keys = Keys {
            bytes: Vec::new(),
            ends: Vec::with_capacity(sample.values.len()),
            width: parts.len(),
            pages: sample.pages.clone(),
            sorted: Vec::new(),
        };
        for row in sample.values.chunks_exact(parts.len().max(1)) {
            for (value, part) in row.iter().zip(parts) {
                encode_key_part(value, part, &mut keys.bytes);
                keys.ends.push(keys.bytes.len() as u32);
            }
        }
        keys.sorted = keys.sorted_by(1);
        keys
    }

    fn rows(&self) -> usize {
        self.pages.len()
    }

    /// The key of a row's first `prefix` columns.
    fn key(&self, row: u32, prefix: usize) -> &[u8] {
        let first = row as usize * self.width;
        let begin = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..self.ends[first + prefix - 1] as usize]
    }

    /// The rows by the first `prefix` columns, those of one value by their pages.
    fn sorted_by(&self, prefix: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.rows() as u32).collect();
        order.sort_unstable_by(|a, b| {
            let pages = || self.pages[*a as usize].cmp(&self.pages[*b as usize]);
            self.key(*a, prefix).cmp(self.key(*b, prefix)).then_with(pages)
        });
        order
    }

    /// Different values of the first `prefix` columns in the whole table, when a share of its pages
    /// was read.
    fn distinct(&self, prefix: usize, share: f64, rows: f64) -> f64 {
        let order = if prefix == 1 { self.sorted.clone() } else { self.sorted_by(prefix) };
        let (mut values, mut on_pages, mut once) = (0.0, 0.0, 0.0);
        for group in order.chunk_by(|a, b| self.key(*a, prefix) == self.key(*b, prefix)) {
            let pages =
                group.chunk_by(|a, b| self.pages[*a as usize] == self.pages[*b as usize]).count();
            values += 1.0;
            on_pages += pages as f64;
            once += f64::from(u8::from(pages == 1));
        }
        if share >= 1.0 || values == 0.0 {
            return values;
        }
        let estimate = on_pages * values / (on_pages - once + once * share).max(1.0);
        estimate.clamp(values, rows.max(values))
    }

    fn histogram(&self, sample: &Sample, scale: f64, density: f64) -> histogram::Histogram {
        let same = |a: &u32, b: &u32| self.key(*a, 1) == self.key(*b, 1);
        let entries: Vec<SampledValue<'_>> = self
            .sorted
            .chunk_by(same)
            .map(|group| SampledValue {
                value: &sample.values[group[0] as usize * self.width],
                key: self.key(group[0], 1),
                rows: group.len() as f64,
            })
            .collect();
        let distinct = if density > 0.0 { 1.0 / density } else { 1.0 };
        let spread = (distinct / entries.len().max(1) as f64).max(1.0);
        histogram::build(&entries, scale, spread)
    }
}

/// Average bytes of the values of each prefix of the columns.
fn lengths(sample: &Sample) -> Vec<f64> {
    let rows = sample.pages.len().max(1) as f64;
    let mut sums = vec![0.0; sample.width];
    for row in sample.values.chunks_exact(sample.width.max(1)) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += stored_length(value) as f64;
        }
    }
    let mut before = 0.0;
    sums.into_iter()
        .map(|sum| {
            before += sum / rows;
            before
        })
        .collect()
}

fn stored_length(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bit(_) | Value::TinyInt(_) => 1,
        Value::SmallInt(_) => 2,
        Value::Int(_) | Value::Real(_) | Value::SmallMoney(_) | Value::SmallDateTime { .. } => 4,
        Value::Date(_) => 3,
        Value::Time(_) => 5,
        Value::Str(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Decimal(d) => {
            if d.precision() <= 9 {
                5
            } else {
                9
            }
        }
        Value::Guid(_) => 16,
        Value::DateTimeOffset { .. } => 10,
        _ => 8,
    }
}
