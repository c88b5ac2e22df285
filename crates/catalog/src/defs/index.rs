//! Indexes and heaps: where rows lie and in which order.

use super::RowFilter;
use compact_str::CompactString;
use pages::{PageId, UnitId};
use std::sync::Arc;

/// `index_id` of the row that names a table's LOB unit.
pub const LOB_INDEX_ID: i32 = 255;

/// Where an index or heap keeps its rows, what its key is.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// 0 heap, 1 clustered, 2.. nonclustered.
    pub index_id: i32,
    /// Empty for a heap.
    pub name: CompactString,
    /// Allocation unit.
    pub unit: UnitId,
    /// First IAM page of the unit.
    pub first_iam: PageId,
    /// Root page of the B+tree; `PageId` none for a heap.
    pub root: PageId,
    /// No two rows share the key.
    pub unique: bool,
    /// Key columns: position in `TableDef::columns`, descending.
    pub key: Vec<(usize, bool)>,
    /// INCLUDE columns: positions in `TableDef::columns`.
    pub included: Vec<usize>,
    /// Made by a PRIMARY KEY constraint (object_id of the constraint).
    pub primary_key: Option<i32>,
    /// Made by a UNIQUE constraint (object_id of the constraint).
    pub unique_constraint: Option<i32>,
    /// Percent of a leaf that a build fills, 0 = 100.
    pub fill_factor: u8,
    /// Filegroup of its unit, 1 = PRIMARY.
    pub filegroup: u16,
    /// What else was said of it.
    pub options: IndexOptions,
    /// Which rows it has; all without one.
    pub filter: Option<Arc<RowFilter>>,
}

impl IndexDef {
    /// A heap in a unit.
    pub fn heap(unit: UnitId, first_iam: PageId, filegroup: u16) -> IndexDef {
        IndexDef {
            index_id: 0,
            name: CompactString::default(),
            unit,
            first_iam,
            root: PageId::NONE,
            unique: false,
            key: Vec::new(),
            included: Vec::new(),
            primary_key: None,
            unique_constraint: None,
            fill_factor: 0,
            filegroup,
            options: IndexOptions::default(),
            filter: None,
        }
    }

    /// No two rows of the table share the key: what plans and constraints may count on.
    pub fn is_key(&self) -> bool {
        self.unique && self.filter.is_none() && !self.options.disabled
    }

    /// Whether it has a unit: a nonclustered index that is disabled has none.
    pub fn is_stored(&self) -> bool {
        self.index_id < 2 || !self.options.disabled
    }

    /// The same nonclustered index without entries, disabled.
    pub fn without_unit(&self) -> IndexDef {
        let mut void = self.clone();
        (void.unit, void.first_iam, void.root) = (UnitId(0), PageId::NONE, PageId::NONE);
        void.options.disabled = true;
        void
    }

    /// Whether it keeps or tests a column.
    pub fn names(&self, column: usize) -> bool {
        self.key.iter().any(|(at, _)| *at == column)
            || self.included.contains(&column)
            || self.filter.as_ref().is_some_and(|filter| filter.columns().any(|at| at == column))
    }
}

/// Options of an index that its definition keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// ALTER INDEX ... DISABLE: it has no entries, and nobody uses it until it is rebuilt.
    pub disabled: bool,
    /// A row whose key is there already is left out with a warning.
    pub ignore_dup_key: bool,
    /// PAD_INDEX.
    pub padded: bool,
    /// ALLOW_ROW_LOCKS = OFF and ALLOW_PAGE_LOCKS = OFF.
    pub no_row_locks: bool,
    pub no_page_locks: bool,
    /// STATISTICS_NORECOMPUTE.
    pub no_recompute: bool,
    /// OPTIMIZE_FOR_SEQUENTIAL_KEY.
    pub sequential_key: bool,
    /// DATA_COMPRESSION = ROW, DATA_COMPRESSION = PAGE: said and shown; pages are as without it.
    pub row_compression: bool,
    pub page_compression: bool,
}

impl IndexOptions {
    /// DATA_COMPRESSION.
    pub fn compression(self) -> Compression {
        match (self.row_compression, self.page_compression) {
            (_, true) => Compression::Page,
            (true, _) => Compression::Row,
            _ => Compression::None,
        }
    }

    /// Sets DATA_COMPRESSION.
    pub fn set_compression(&mut self, to: Compression) {
        self.row_compression = to == Compression::Row;
        self.page_compression = to == Compression::Page;
    }

    fn all(&mut self) -> [&mut bool; 9] {
        [
            &mut self.disabled,
            &mut self.ignore_dup_key,
            &mut self.padded,
            &mut self.no_row_locks,
            &mut self.no_page_locks,
            &mut self.no_recompute,
            &mut self.sequential_key,
            &mut self.row_compression,
            &mut self.page_compression,
        ]
    }

    /// As a number that the catalog keeps.
    pub fn bits(mut self) -> i32 {
        self.all().iter().enumerate().map(|(at, set)| i32::from(**set) << at).sum()
    }

    /// From that number.
    pub fn of_bits(bits: i32) -> IndexOptions {
        let mut options = IndexOptions::default();
        options.all().into_iter().enumerate().for_each(|(at, set)| *set = bits >> at & 1 == 1);
        options
    }
}

/// DATA_COMPRESSION.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None = 0,
    Row = 1,
    Page = 2,
}

impl Compression {
    /// Its word in T-SQL.
    pub fn word(self) -> &'static str {
        match self {
            Compression::None => "NONE",
            Compression::Row => "ROW",
            Compression::Page => "PAGE",
        }
    }

    /// From its word.
    pub fn of(word: &str) -> Option<Compression> {
        let all = [Compression::None, Compression::Row, Compression::Page];
        all.into_iter().find(|compression| compression.word().eq_ignore_ascii_case(word))
    }
}
