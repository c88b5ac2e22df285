//! What the catalog says of a database's objects: immutable once published, shared by plans.
//! A change of schema publishes new definitions and raises the database's schema version; plans made from older ones
//! are compiled again.

use crate::filter::IndexFilter;
use crate::fold_name;
use crate::lookups::{Lookups, constraints_of, name_of};
use crate::other::OtherObject;
use crate::policy::PolicyDef;
use crate::row_counts;
use crate::security::Security;
use crate::statistics::TableStatistics;
use crate::temporal::{Generated, Temporal};
use crate::usage::TableUsage;
use crate::{AliasDef, CheckDef, ForeignKeyDef, ModuleDef, ModuleKind, TableTypeDef};
use compact_str::CompactString;
use pages::{PageId, UnitId};
use parking_lot::Mutex;
use rpds::HashTrieMapSync;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use types::{Collation, DataType, RowLayout, SqlError};

/// `index_id` of the row that names a table's LOB unit.
pub const LOB_INDEX_ID: i32 = 255;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// sys.columns.column_id, from 1; never reused within a table.
    pub column_id: i32,
    /// Name as written at creation.
    pub name: CompactString,
    /// Declared type.
    pub ty: DataType,
    /// NULL allowed.
    pub nullable: bool,
    /// Collation of character columns.
    pub collation: Collation,
    /// DEFAULT constraint.
    pub default: Option<DefaultDef>,
    /// IDENTITY(seed, increment).
    pub identity: Option<(i64, i64)>,
    /// Of a computed column: what it is.
    pub computed: Option<Arc<ComputedDef>>,
    /// Of a column of the table's period: which.
    pub generated: Option<Generated>,
    /// user_type_id of the alias type that it was declared with.
    pub alias: Option<i32>,
    /// What stands for its values where who reads them may not see them: as sys.masked_columns.masking_function shows it.
    pub mask: Option<CompactString>,
}

impl ColumnDef {
    /// sys.columns.user_type_id.
    pub fn user_type_id(&self) -> i32 {
        self.alias.unwrap_or_else(|| self.ty.user_type_id())
    }

    /// Whether it is a computed column whose value no row has: it is computed where it is named.
    pub fn is_virtual(&self) -> bool {
        self.computed.as_ref().is_some_and(|computed| !computed.stored)
    }

    /// Whether the table makes the value of each row itself: computed columns, rowversion, its period. Loads have none for them.
    pub fn is_made(&self) -> bool {
        self.computed.is_some() || self.generated.is_some() || self.ty == DataType::RowVersion
    }

    /// Whether `*` passes over it.
    pub fn is_hidden(&self) -> bool {
        self.generated.is_some_and(|generated| generated.hidden)
    }
}

/// What a computed column is.
#[derive(Clone, Debug)]
pub struct ComputedDef {
    /// In parentheses, as sys.computed_columns.definition shows it.
    pub text: CompactString,
    /// The parsed expression, over the other columns of its table.
    pub expr: Arc<syntax::ast::Expr>,
    /// PERSISTED.
    pub persisted: bool,
    /// The rows have its values: it is persisted, or an index needs them.
    pub stored: bool,
}

/// A DEFAULT constraint: its text is parsed again when the catalog is loaded.
#[derive(Clone, Debug)]
pub struct DefaultDef {
    /// object_id of the constraint.
    pub object_id: i32,
    /// Constraint name.
    pub name: CompactString,
    /// The expression's text, as in sys.default_constraints.definition.
    pub text: CompactString,
    /// The parsed expression.
    pub expr: Arc<syntax::ast::Expr>,
}

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
    pub filter: Option<Arc<IndexFilter>>,
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

/// What a running instance keeps of a table besides its definition; shared by all versions of the definition.
#[derive(Debug, Default)]
pub struct TableState {
    /// Rows as far as known: kept up by DML; negative when unknown (after a start, until counted).
    rows: AtomicI64,
    /// With `rows` added: how many rows were changed since the database was opened. So an INSERT counts once.
    other: AtomicI64,
    /// Rows at the last clean stop; negative when there was none. See [`crate::row_counts`].
    pub noted: AtomicI64,
    /// What is known of the values, and how many rows have changed.
    pub statistics: TableStatistics,
    /// Next identity value and the value up to which the catalog has reserved.
    pub identity: Mutex<IdentityState>,
    /// How its indexes were used; an emptied table goes on with it.
    pub usage: Arc<TableUsage>,
    /// Open storage handles by unit and root page (heap, trees), made on first use.
    pub handles: Mutex<HashMap<(UnitId, PageId), Arc<dyn std::any::Any + Send + Sync>>>,
}

impl TableState {
    /// Of a table that is opened, of whose rows so many were noted (negative: nothing).
    pub fn opened(noted: i64, statistics: TableStatistics) -> TableState {
        TableState {
            rows: AtomicI64::new(row_counts::UNKNOWN),
            other: AtomicI64::new(-row_counts::UNKNOWN),
            noted: AtomicI64::new(noted),
            statistics,
            ..TableState::default()
        }
    }

    /// Of an emptied table: its users' statistics are still wanted.
    pub fn emptied(&self) -> TableState {
        TableState {
            statistics: self.statistics.emptied(),
            usage: self.usage.clone(),
            ..TableState::default()
        }
    }

    /// A statement has added rows.
    #[inline]
    pub fn inserted(&self, rows: u64) {
        self.rows.fetch_add(rows as i64, Relaxed);
    }

    /// A statement has deleted rows.
    #[inline]
    pub fn deleted(&self, rows: u64) {
        self.rows.fetch_sub(rows as i64, Relaxed);
        self.other.fetch_add(2 * rows as i64, Relaxed);
    }

    /// A statement has updated rows in these columns (bits of `statistics::column_bit`). It counts where something is known of
    /// one of them that may no longer be so.
    #[inline]
    pub fn updated(&self, rows: u64, columns: u64) {
        if columns & self.statistics.measured_columns() != 0 {
            self.other.fetch_add(rows as i64, Relaxed);
        }
    }

    /// Rows as they were kept up; below zero when nobody has counted them.
    #[inline]
    pub fn rows(&self) -> i64 {
        self.rows.load(Relaxed)
    }

    /// The rows were counted while they were kept up as `before`. Changes in the meantime win.
    pub fn counted(&self, before: i64, rows: i64) {
        if self.rows.compare_exchange(before, rows, Relaxed, Relaxed).is_ok() {
            self.other.fetch_add(before - rows, Relaxed);
        }
    }

    /// How many rows were inserted, deleted, and updated in columns of which something is known, since the database was opened or the table made.
    #[inline]
    pub fn modified(&self) -> u64 {
        let sum = self.rows.load(Relaxed).wrapping_add(self.other.load(Relaxed));
        u64::try_from(sum).unwrap_or(0)
    }
}

/// Identity counter: values are reserved in blocks in the catalog so that a crash never reuses one.
#[derive(Debug, Default, Clone, Copy)]
pub struct IdentityState {
    /// The value that was given last; `None` before the first.
    pub last: Option<i64>,
    /// Values up to here may be given without touching the catalog.
    pub reserved: i64,
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
    /// Row format of the heap or clustered index: one layout column per entry of `columns`, same order.
    pub layout: Arc<RowLayout>,
    /// Heap (index_id 0) or clustered index (1).
    pub storage: Arc<IndexDef>,
    /// Nonclustered indexes.
    pub indexes: Vec<Arc<IndexDef>>,
    /// LOB unit (first IAM), when a column is (max).
    pub lob: Option<(UnitId, PageId)>,
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

/// The schema version at which a definition was found to be the current one of its table; 0 for none. A copy of the definition
/// is another one.
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

/// By (schema, name), both folded to lower case. Versions of a map share what is the same in them.
pub type ByName<T> = HashTrieMapSync<(CompactString, CompactString), T>;
/// By object_id or another number.
pub type ById<T> = HashTrieMapSync<i32, T>;

/// Everything that names resolve to in one database, at one schema version. A clone that is changed costs what changes in it.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Raised by each committed or rolled back change of schema.
    pub version: u64,
    /// Tables by (schema, name), both folded to lower case.
    pub tables: ByName<Arc<TableDef>>,
    /// The tables that keep the rows of indexed views, by the view's object_id.
    pub view_rows: ById<i32>,
    /// Tables by object_id.
    pub by_id: ById<Arc<TableDef>>,
    /// The ids of constraints by (schema, name), both folded.
    pub constraint_names: ByName<i32>,
    /// Views, procedures and triggers by object_id.
    pub modules: ById<Arc<ModuleDef>>,
    /// Their ids by (schema, name), both folded.
    pub module_names: ByName<i32>,
    /// Triggers of the database and of the server, which have no schema, by object_id.
    pub ddl_triggers: Vec<i32>,
    /// Sequences, synonyms and security policies by object_id.
    pub others: ById<OtherObject>,
    /// The security policies that are on, by the object_id of each table that they are about.
    pub policies: ById<Arc<PolicyDef>>,
    /// Their ids by (schema, name), both folded.
    pub other_names: ByName<i32>,
    /// Alias types by (schema, name), both folded.
    pub types: ByName<Arc<AliasDef>>,
    /// Table types by (schema, name), both folded. No name is one of an alias type too.
    pub table_types: ByName<Arc<TableTypeDef>>,
    /// Tables with a foreign key to a table, by the id of the table that is referred to; once per foreign key.
    pub referenced_by: ById<Vec<i32>>,
    /// Schemas by lower-case name.
    pub schemas: HashTrieMapSync<CompactString, i32>,
    /// Schemas' names as written, by schema_id.
    pub schema_names: ById<CompactString>,
    /// Principals, permissions and owners, as committed. Their changes do not raise the version.
    pub security: Arc<Security>,
    /// What is made of the tables when it is asked for.
    pub lookups: Lookups,
}

impl Catalog {
    /// Adds a table.
    pub fn insert(&mut self, table: Arc<TableDef>) {
        self.lookups = Lookups::default();
        let schema = fold_name(&table.schema);
        match table.of_view {
            Some(view) => self.view_rows.insert_mut(view, table.object_id),
            None => self.tables.insert_mut((schema.clone(), fold_name(&table.name)), table.clone()),
        }
        for key in &table.foreign_keys {
            let mut list = self.referenced_by.get(&key.parent).cloned().unwrap_or_default();
            list.push(table.object_id);
            self.referenced_by.insert_mut(key.parent, list);
        }
        for (id, kind) in constraints_of(&table) {
            let name = fold_name(name_of(&table, kind));
            self.constraint_names.insert_mut((schema.clone(), name), id);
        }
        self.by_id.insert_mut(table.object_id, table);
    }

    /// Takes a table out.
    pub fn remove(&mut self, object_id: i32) {
        self.lookups = Lookups::default();
        let Some(table) = self.by_id.get(&object_id).cloned() else { return };
        let schema = fold_name(&table.schema);
        self.by_id.remove_mut(&object_id);
        match table.of_view {
            Some(view) => drop(self.view_rows.remove_mut(&view)),
            None => drop(self.tables.remove_mut(&(schema.clone(), fold_name(&table.name)))),
        }
        for key in &table.foreign_keys {
            if let Some(list) = self.referenced_by.get_mut(&key.parent)
                && let Some(at) = list.iter().position(|id| *id == object_id)
            {
                list.remove(at);
            }
        }
        for (_, kind) in constraints_of(&table) {
            self.constraint_names.remove_mut(&(schema.clone(), fold_name(name_of(&table, kind))));
        }
    }

    /// The rows of an indexed view.
    pub fn rows_of_view(&self, view: i32) -> Option<&Arc<TableDef>> {
        self.view_rows.get(&view).and_then(|id| self.by_id.get(id))
    }

    /// The table with this name; an empty schema is `dbo`.
    pub fn find(&self, schema: &str, name: &str) -> Option<&Arc<TableDef>> {
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.tables.get(&(fold_name(schema), fold_name(name)))
    }

    /// Adds a module, or puts it in the place of the one with its id.
    pub fn insert_module(&mut self, module: Arc<ModuleDef>) {
        if module.is_ddl_trigger() {
            self.ddl_triggers.retain(|id| *id != module.object_id);
            self.ddl_triggers.push(module.object_id);
        } else {
            let name = (fold_name(&module.schema), fold_name(&module.name));
            self.module_names.insert_mut(name, module.object_id);
        }
        self.modules.insert_mut(module.object_id, module);
    }

    /// Takes a module out.
    pub fn remove_module(&mut self, object_id: i32) {
        self.ddl_triggers.retain(|id| *id != object_id);
        let Some(module) = self.modules.get(&object_id).cloned() else { return };
        self.modules.remove_mut(&object_id);
        if !module.is_ddl_trigger() {
            self.module_names.remove_mut(&(fold_name(&module.schema), fold_name(&module.name)));
        }
    }

    /// The module with this name; an empty schema is `dbo`.
    pub fn find_module(&self, schema: &str, name: &str) -> Option<&Arc<ModuleDef>> {
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.modules.get(self.module_names.get(&(fold_name(schema), fold_name(name)))?)
    }

    /// The triggers of the database, or those of the server, which only master has.
    pub fn event_triggers(&self, of_server: bool) -> impl Iterator<Item = &Arc<ModuleDef>> {
        let all = self.ddl_triggers.iter().filter_map(|id| self.modules.get(id));
        all.filter(move |trigger| trigger.is_server_trigger() == of_server)
    }

    /// The triggers of the database.
    pub fn ddl_triggers(&self) -> impl Iterator<Item = &Arc<ModuleDef>> {
        self.event_triggers(false)
    }

    /// The trigger of the database, or of the server, with this name.
    pub fn event_trigger(&self, of_server: bool, name: &str) -> Option<&Arc<ModuleDef>> {
        self.event_triggers(of_server).find(|trigger| fold_name(&trigger.name) == fold_name(name))
    }

    /// The trigger of the database with this name.
    pub fn ddl_trigger(&self, name: &str) -> Option<&Arc<ModuleDef>> {
        self.event_trigger(false, name)
    }

    /// Adds a sequence, synonym or policy, or puts it in the place of the one with its id.
    pub fn insert_other(&mut self, object: OtherObject) {
        let name = (fold_name(object.schema()), fold_name(object.name()));
        self.other_names.insert_mut(name, object.object_id());
        if let OtherObject::Policy(policy) = &object {
            for target in policy.targets().filter(|_| policy.enabled) {
                self.policies.insert_mut(target, policy.clone());
            }
        }
        self.others.insert_mut(object.object_id(), object);
    }

    /// Takes a sequence, synonym or policy out.
    pub fn remove_other(&mut self, object_id: i32) {
        let Some(object) = self.others.get(&object_id).cloned() else { return };
        self.others.remove_mut(&object_id);
        if let OtherObject::Policy(policy) = &object {
            for target in policy.targets().filter(|_| policy.enabled) {
                self.policies.remove_mut(&target);
            }
        }
        self.other_names.remove_mut(&(fold_name(object.schema()), fold_name(object.name())));
    }

    /// The sequence, synonym or policy with this name; an empty schema is `dbo`.
    pub fn find_other(&self, schema: &str, name: &str) -> Option<&OtherObject> {
        if self.others.is_empty() {
            return None;
        }
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.others.get(self.other_names.get(&(fold_name(schema), fold_name(name)))?)
    }

    /// Whether a security policy, on or off, has a predicate on a table or view.
    pub fn is_in_policy(&self, object_id: i32) -> bool {
        self.others.values().any(|other| match other {
            OtherObject::Policy(policy) => policy.on(object_id).next().is_some(),
            _ => false,
        })
    }

    /// Whether no table, module, sequence or synonym has this name.
    pub fn is_free(&self, schema: &str, name: &str) -> bool {
        self.find(schema, name).is_none()
            && self.find_module(schema, name).is_none()
            && self.find_other(schema, name).is_none()
    }

    /// The alias type with this name; an empty schema is `dbo`.
    pub fn find_type(&self, schema: &str, name: &str) -> Option<&Arc<AliasDef>> {
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.types.get(&(fold_name(schema), fold_name(name)))
    }

    /// The alias type with this user_type_id.
    pub fn alias(&self, type_id: i32) -> Option<&Arc<AliasDef>> {
        self.types.values().find(|alias| alias.type_id == type_id)
    }

    /// The table type with this name; an empty schema is `dbo`.
    pub fn find_table_type(&self, schema: &str, name: &str) -> Option<&Arc<TableTypeDef>> {
        if self.table_types.is_empty() {
            return None;
        }
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.table_types.get(&(fold_name(schema), fold_name(name)))
    }

    /// The triggers of a table that are not disabled, in the order of their making.
    pub fn triggers_of(&self, table: i32) -> Vec<Arc<ModuleDef>> {
        let own = |m: &&Arc<ModuleDef>| m.kind == ModuleKind::Trigger && m.parent == table && !m.disabled;
        let mut triggers: Vec<_> = self.modules.values().filter(own).cloned().collect();
        triggers.sort_by_key(|trigger| trigger.object_id);
        triggers
    }

    /// The enabled trigger that stands in the place of an action on a table or view.
    pub fn instead_of(&self, object_id: i32, event: &str) -> Option<Arc<ModuleDef>> {
        let own = |m: &&Arc<ModuleDef>| {
            m.kind == ModuleKind::Trigger && m.parent == object_id && !m.disabled && m.stands_for(event)
        };
        self.modules.values().find(own).cloned()
    }

    /// The foreign keys that refer to a table, each with the table that has it.
    pub fn foreign_keys_to(&self, table: i32) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        let mut ids = self.referenced_by.get(&table).cloned().unwrap_or_default();
        ids.sort_unstable();
        ids.dedup();
        let children = ids.iter().filter_map(|id| self.by_id.get(id));
        let keys =
            children.flat_map(|child| child.foreign_keys.iter().map(move |key| (child.clone(), key.clone())));
        keys.filter(|(_, key)| key.parent == table).collect()
    }

    /// The schema_id of a table's schema.
    pub fn schema_id(&self, table: &TableDef) -> i32 {
        self.schemas.get(&fold_name(&table.schema)).copied().unwrap_or(1)
    }
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
        let column = |end| self.columns.iter().position(|c| c.generated.is_some_and(|g| g.end == end));
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
        let text = format!(
            "The query processor is unable to produce a plan because the index '{}' on table or view '{}' is disabled.",
            self.storage.name, self.name
        );
        Err(SqlError::new(8655, 16, 1, text))
    }

    /// The columns by which the entries of an index are ordered. Those of one that is not unique have the clustered key behind
    /// their own, as far as it says more; a column may stand there twice.
    pub fn entry_order(&self, index: &IndexDef) -> Vec<(usize, bool)> {
        let mut order = index.key.clone();
        if !index.unique && index.index_id > 1 && self.storage.index_id > 0 {
            let is_new = |(column, _): &(usize, bool)| index.key.iter().all(|(own, _)| own != column);
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
