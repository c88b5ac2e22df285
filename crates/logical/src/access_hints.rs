//! Table hints about how the rows are found: INDEX, FORCESEEK, FORCESCAN.
//! Guarantee: what a hint asks for is what the plan does, or there is no plan (8622).

use catalog::{IndexDef, TableDef, fold_name};
use std::sync::Arc;
use syntax::ast::{ExprKind, Literal, OptionItem, OptionValue};
use types::{SqlError, msg};

/// What the hints of a table say of how its rows are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessHints {
    /// Only by this index (its index_id).
    pub index: Option<i32>,
    /// FORCESEEK: only by a seek, over so many columns of the index at least.
    pub seek: Option<usize>,
    /// FORCESCAN, INDEX(0): no seek.
    pub scan: bool,
    /// TABLESAMPLE: some of the pages, all of each.
    pub sample: Option<Sample>,
}

/// Which pages of a table TABLESAMPLE takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub amount: SampleAmount,
    /// REPEATABLE: the same pages as long as the table stays as it is; else other ones in each
    /// statement.
    pub seed: Option<i64>,
}

/// How many pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleAmount {
    /// So many of 2^32.
    Share(u64),
    /// As many as have so many rows, on average.
    Rows(u64),
}

impl Sample {
    /// All pages, of 2^32.
    pub const ALL: u64 = 1 << 32;

    /// The share of pages for a table with so many rows: how many of 2^32.
    pub fn share(&self, rows: u64) -> u64 {
        match self.amount {
            SampleAmount::Share(share) => share,
            SampleAmount::Rows(wanted) => {
                let share = u128::from(wanted) * u128::from(Sample::ALL) / u128::from(rows.max(1));
                u64::try_from(share).map_or(Sample::ALL, |share| share.min(Sample::ALL))
            }
        }
    }

    /// Whether the page of a number is taken.
    pub fn takes(share: u64, seed: u64, page: u64) -> bool {
        // The mixing steps of SplitMix64.
        let mut mixed =
            (seed ^ page.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) >> 32 < share
    }
}

impl AccessHints {
    /// Takes one of these hints.
    ///
    /// Errors: 308 no such index, 315 a disabled one, 362 and 363 columns that are not the first
    /// ones of its key.
    pub fn add(&mut self, table: &TableDef, item: &OptionItem) -> Result<(), SqlError> {
        match item.name.as_str() {
            "FORCESCAN" => self.scan = true,
            "FORCESEEK" => {
                self.seek.get_or_insert(0);
                if let Some(of) = item.nested.first()
                    && let Some(word) = word_of(&of.value)
                {
                    let index = named(table, &word)?;
                    self.index = Some(index.index_id);
                    self.seek = Some(columns(table, index, &of.nested)?);
                }
            }
            _ => {
                let word = match item.nested.first() {
                    Some(first) if first.name.is_empty() => word_of(&first.value),
                    Some(first) => Some(first.name.to_string()),
                    None => word_of(&item.value),
                };
                if let Some(word) = word {
                    self.index = Some(named(table, &word)?.index_id);
                    self.scan |= word == "0";
                }
            }
        }
        Ok(())
    }

    /// Whether no plan could do what they say.
    pub(crate) fn is_contradictory(&self) -> bool {
        self.scan && self.seek.is_some()
    }
}

/// Error 8622: the hints leave no plan.
pub fn no_plan() -> SqlError {
    SqlError::of(msg::NO_PLAN_FOR_HINTS, [])
}

/// How many columns of an index FORCESEEK names.
fn columns(table: &TableDef, index: &IndexDef, named: &[OptionItem]) -> Result<usize, SqlError> {
    for (place, item) in named.iter().enumerate() {
        let name = word_of(&item.value).unwrap_or_default();
        let Some((column, _)) = index.key.get(place) else {
            return Err(SqlError::of(msg::FORCESEEK_TOO_MANY_COLUMNS, [&table.name, &index.name]));
        };
        if fold_name(&table.columns[*column].name) != fold_name(&name) {
            return Err(SqlError::of(
                msg::FORCESEEK_COLUMN_MISMATCH,
                [&name, &table.name, &index.name],
            ));
        }
    }
    Ok(named.len())
}

/// A name or a number.
fn word_of(value: &OptionValue) -> Option<String> {
    match value {
        OptionValue::Word(word) => Some(word.to_string()),
        OptionValue::Expr(e) => match &e.kind {
            ExprKind::Literal(Literal::Integer(n)) => Some(n.to_string()),
            ExprKind::Column(c) => Some(c.name.value.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// The index of a name or number; 0 is what the rows lie in. Errors: 307, 308, 315 it is disabled.
fn named<'t>(table: &'t TableDef, word: &str) -> Result<&'t Arc<IndexDef>, SqlError> {
    let found = match word.parse::<i32>() {
        Ok(0) => Some(&table.storage),
        Ok(id) => table.all_indexes().find(|index| index.index_id == id),
        Err(_) => table.all_indexes().find(|index| fold_name(&index.name) == fold_name(word)),
    };
    let found = found.ok_or_else(|| match word.parse::<i32>() {
        Ok(id) => SqlError::of(msg::HINTED_INDEX_ID_MISSING, [&id, &table.name]),
        Err(_) => SqlError::of(msg::HINTED_INDEX_MISSING, [&word, &table.name]),
    })?;
    if found.options.disabled {
        return Err(SqlError::of(msg::HINTED_INDEX_DISABLED, [&found.name, &table.name]));
    }
    Ok(found)
}
