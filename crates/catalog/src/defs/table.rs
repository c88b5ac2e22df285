//! Tables: columns, storage, constraints, and what follows from them.

use super::{ColumnDef, IndexDef, OverflowUnit, TableState};
use crate::fold_name;
use crate::temporal::Temporal;
use crate::{CheckDef, ForeignKeyDef, ModuleDef};
use compact_str::CompactString;
use pages::{PageId, UnitId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use types::{DataType, RowLayout, SqlError, msg};

/// A table.
#[derive(Clone, Debug)]
pub struct TableDef {
    /// sys.objects.object_id.
    pub object_id: i32,
    /// Schema name (`dbo`).
    pub schema: CompactString,
    /// Table name as written at creation.
    pub name: CompactString,
    /// Columns in order.
    pub columns: Vec<ColumnDef>,
    /// Row format of the heap or clustered index: one layout column per entry of `columns`, same
    /// order.
    pub layout: Arc<RowLayout>,
    /// Heap (index_id 0) or clustered index (1).
    pub storage: Arc<IndexDef>,
    /// Nonclustered indexes.
    pub indexes: Vec<Arc<IndexDef>>,
    /// LOB unit (first IAM), when a column is (max).
    pub lob: Option<(UnitId, PageId)>,
    /// Unit of the values of other columns that do not fit their rows, when there may be such rows.
    pub overflow: Option<OverflowUnit>,
    /// A clustered index that is not unique appends a 4-byte uniquifier to its key.
    pub uniquifier: bool,
    /// CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// FOREIGN KEY constraints.
    pub foreign_keys: Vec<ForeignKeyDef>,
    pub lock_escalation: LockEscalation,
    /// Whether its rows have a history, or are one.
    pub temporal: Temporal,
    /// The view whose rows it keeps: then it has the view's name, and nobody finds it by that.
    pub of_view: Option<i32>,
    /// Creation time, as days/ticks of datetime.
    pub create_date: types::Value,
    /// Shared run-time state.
    pub state: Arc<TableState>,
    /// When it was last found to be the current definition.
    pub seen: SeenCurrent,
}

impl TableDef {
    /// Its rowversion column.
    pub fn row_version(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.ty == DataType::RowVersion)
    }

    /// The object whose indexes its indexes are: a view, or itself.
    pub fn shown_id(&self) -> i32 {
        self.of_view.unwrap_or(self.object_id)
    }

    /// The columns of its period, start and end.
    pub fn period(&self) -> Option<(usize, usize)> {
        let column =
            |end| self.columns.iter().position(|c| c.generated.is_some_and(|g| g.end == end));
        column(false).zip(column(true))
    }

    /// The rows of a view as those of a table that is stored nowhere.
    pub fn of_view(view: &ModuleDef, columns: Vec<ColumnDef>) -> TableDef {
        let types: Vec<types::ColumnType> = columns
            .iter()
            .map(|c| types::ColumnType { ty: c.ty, nullable: c.nullable, collation: c.collation })
            .collect();
        let nowhere = IndexDef::heap(UnitId(0), PageId::NONE, 1);
        TableDef {
            object_id: view.object_id,
            schema: view.schema.clone(),
            name: view.name.clone(),
            columns,
            layout: Arc::new(RowLayout::new(&types)),
            storage: Arc::new(nowhere),
            indexes: Vec::new(),
            lob: None,
            overflow: None,
            uniquifier: false,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            lock_escalation: LockEscalation::default(),
            temporal: Temporal::default(),
            of_view: None,
            create_date: view.create_date.clone(),
            state: Arc::default(),
            seen: SeenCurrent::default(),
        }
    }

    /// Heap or clustered index, then the nonclustered ones.
    pub fn all_indexes(&self) -> impl Iterator<Item = &Arc<IndexDef>> {
        std::iter::once(&self.storage).chain(&self.indexes)
    }

    /// The key by which clients tell its rows apart.
    pub fn browse_key(&self) -> Option<&Arc<IndexDef>> {
        self.all_indexes().find(|index| index.index_id > 0 && index.is_key())
    }

    /// Those that have a unit.
    pub fn stored_indexes(&self) -> impl Iterator<Item = &Arc<IndexDef>> {
        self.all_indexes().filter(|index| index.is_stored())
    }

    /// Whether rows can be read and changed.
    ///
    /// # Errors
    /// 8655 its clustered index is disabled.
    pub fn check_enabled(&self) -> Result<(), SqlError> {
        if !self.storage.options.disabled {
            return Ok(());
        }
        Err(SqlError::of(msg::PLAN_INDEX_DISABLED, [&self.storage.name, &self.name]))
    }

    /// The columns by which the entries of an index are ordered. Those of one that is not unique
    /// have the clustered key behind their own, as far as it says more; a column may stand there
    /// twice.
    pub fn entry_order(&self, index: &IndexDef) -> Vec<(usize, bool)> {
        let mut order = index.key.clone();
        if !index.unique && index.index_id > 1 && self.storage.index_id > 0 {
            let is_new =
                |(column, _): &(usize, bool)| index.key.iter().all(|(own, _)| own != column);
            let more = self.storage.key.iter().rposition(is_new).map_or(0, |last| last + 1);
            order.extend_from_slice(&self.storage.key[..more]);
        }
        order
    }

    /// The position of a column by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let folded = fold_name(name);
        self.columns.iter().position(|c| fold_name(&c.name) == folded)
    }

    /// The position of a column by its column_id.
    pub fn position(&self, column_id: i32) -> Option<usize> {
        self.columns.iter().position(|c| c.column_id == column_id)
    }

    /// `schema.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

/// ALTER TABLE ... SET (LOCK_ESCALATION = ...): when many locks on rows become one on the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockEscalation {
    #[default]
    Table = 0,
    /// Never.
    Disable = 1,
    /// As `Table`: there are no partitions.
    Auto = 2,
}

impl LockEscalation {
    /// All of them, by the numbers that sys.tables shows.
    pub const ALL: [(LockEscalation, &str); 3] = [
        (LockEscalation::Table, "TABLE"),
        (LockEscalation::Disable, "DISABLE"),
        (LockEscalation::Auto, "AUTO"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// From its word.
    pub fn of(word: &str) -> Option<LockEscalation> {
        Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(word)).map(|(one, _)| *one)
    }
}

/// The schema version at which a definition was found to be the current one of its table; 0 for
/// none. A copy of the definition is another one.
#[derive(Debug, Default)]
pub struct SeenCurrent(AtomicU64);

impl SeenCurrent {
    #[inline]
    pub(crate) fn is_at(&self, version: u64) -> bool {
        version != 0 && self.0.load(Relaxed) == version
    }

    pub(crate) fn set(&self, version: u64) {
        self.0.store(version, Relaxed);
    }
}

impl Clone for SeenCurrent {
    fn clone(&self) -> SeenCurrent {
        SeenCurrent::default()
    }
}
