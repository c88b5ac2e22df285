//! One database as the engine sees it: name, state, catalog, storage, settings. Guarantees: the
//! catalog that plans were compiled against is compared by version; a session that uses a database
//! that is not online gets SQL Server's error for its state.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};

use compact_str::CompactString;
use pages::TxnId;
use parking_lot::{Mutex, RwLock};
use txn::{Apart, Database, DelayedDurability, RecoveryModel, Status, TxnError};
use types::{Collation, SqlError};

use crate::Catalog;
use crate::counters::Counters;
use crate::errorlog::ErrorLog;
use crate::given_up::GivenUpNames;
use crate::pending::UnitRef;
use crate::query_store::QueryStore;
use crate::registry::{DbEntry, FIRST_USER_DB, VARIABLES};
use crate::settings::DbSettings;
use crate::store::SysTrees;

pub mod errors;
mod property;
mod published;
mod units;
mod users;

pub use property::USER_ACCESS;
use users::Users;
pub use users::{ClosedDatabase, DbUse, RefusedSession, UserAccess};

/// State of a database, with sys.databases.state's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DbStatus {
    Online = 0,
    Restoring = 1,
    Recovering = 2,
    RecoveryPending = 3,
    Suspect = 4,
    Offline = 6,
}

impl DbStatus {
    /// state_desc.
    pub fn name(self) -> &'static str {
        match self {
            DbStatus::Online => "ONLINE",
            DbStatus::Restoring => "RESTORING",
            DbStatus::Recovering => "RECOVERING",
            DbStatus::RecoveryPending => "RECOVERY_PENDING",
            DbStatus::Suspect => "SUSPECT",
            DbStatus::Offline => "OFFLINE",
        }
    }
}

/// An open database's storage and what goes with it.
pub struct OpenStorage {
    pub storage: Arc<Database>,
    pub trees: SysTrees,
    pub counters: Counters,
    pub errors: Arc<ErrorLog>,
}

/// Open, or why not.
enum StorageState {
    Open(Arc<OpenStorage>),
    Down { status: DbStatus, cause: String },
}

/// A database of the instance.
pub struct Db {
    /// database_id.
    id: i32,
    name: RwLock<CompactString>,
    catalog: RwLock<Arc<Catalog>>,
    version: AtomicU64,
    /// Of `Catalog::security`.
    security: AtomicU64,
    /// Apart: transactions take its lock, and read what is beside it.
    state: Apart<RwLock<StorageState>>,
    /// How often `state` has become another one.
    turns: AtomicU64,
    settings: RwLock<DbSettings>,
    query_store: QueryStore,
    /// As the settings say, without their lock: every change of rows asks.
    read_only: AtomicBool,
    /// The number of the settings' collation: asked for in every compilation.
    collation: AtomicU32,
    entry: RwLock<DbEntry>,
    /// Names that open transactions may take back.
    given_up: Mutex<GivenUpNames>,
    /// The transaction that changed a table's definition last, as far as one has since the start.
    ddl: Mutex<HashMap<i32, TxnId>>,
    /// The newest transaction that changed any definition since it came into service.
    newest_definition: AtomicU64,
    /// The sessions that use the database, and which sessions may.
    users: Users,
    /// The filegroup in which room was not found last; 0 for none.
    full: AtomicU16,
    errors: Arc<ErrorLog>,
}

fn collation_of(settings: &DbSettings) -> Collation {
    Collation::from_name(&settings.collation).unwrap_or_default()
}

impl Db {
    /// A database that is open.
    pub fn online(
        entry: DbEntry,
        open: OpenStorage,
        catalog: Catalog,
        settings: DbSettings,
    ) -> Arc<Db> {
        let errors = open.errors.clone();
        Db::with(entry, StorageState::Open(Arc::new(open)), catalog, settings, errors)
    }

    /// A database that could not be opened.
    pub fn down(entry: DbEntry, status: DbStatus, cause: String, errors: Arc<ErrorLog>) -> Arc<Db> {
        Db::with(
            entry,
            StorageState::Down { status, cause },
            Catalog::default(),
            DbSettings::default(),
            errors,
        )
    }

    fn with(
        entry: DbEntry,
        state: StorageState,
        catalog: Catalog,
        settings: DbSettings,
        errors: Arc<ErrorLog>,
    ) -> Arc<Db> {
        let query_store = QueryStore::default();
        query_store.set_state(settings.query_store.state);
        Arc::new(Db {
            id: entry.id,
            name: RwLock::new(entry.name.clone()),
            version: AtomicU64::new(catalog.version),
            security: AtomicU64::new(catalog.security.version),
            catalog: RwLock::new(Arc::new(catalog)),
            state: Apart::new(RwLock::new(state)),
            turns: AtomicU64::new(0),
            read_only: AtomicBool::new(settings.read_only),
            collation: AtomicU32::new(collation_of(&settings).id()),
            users: Users::new(UserAccess::of(settings.user_access)),
            settings: RwLock::new(settings),
            query_store,
            entry: RwLock::new(entry),
            given_up: Mutex::default(),
            ddl: Mutex::default(),
            newest_definition: AtomicU64::new(0),
            full: AtomicU16::new(0),
            errors,
        })
    }

    /// A second handle on this database's storage, with definitions and transactions of its own:
    /// for table variables, whose changes no ROLLBACK takes back.
    ///
    /// # Errors
    /// As [`Db::check_usable`].
    pub fn for_variables(&self) -> Result<Arc<Db>, SqlError> {
        let entry = DbEntry { id: VARIABLES, ..self.entry() };
        let own = self.catalog();
        let catalog = Catalog {
            version: 1,
            schemas: own.schemas.clone(),
            schema_names: own.schema_names.clone(),
            security: own.security.clone(),
            ..Catalog::default()
        };
        Ok(Db::with(
            entry,
            StorageState::Open(self.open()?),
            catalog,
            self.settings(),
            self.errors.clone(),
        ))
    }

    /// Whether each statement's changes are its own transaction here, whatever the session has
    /// begun.
    #[inline]
    pub fn is_autonomous(&self) -> bool {
        self.id == VARIABLES
    }

    /// database_id; stable while the instance knows the database.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Its name, case as created.
    pub fn name(&self) -> CompactString {
        self.name.read().clone()
    }

    pub fn set_name(&self, name: &str) {
        *self.name.write() = name.into();
        self.entry.write().name = name.into();
    }

    /// Its files as the registry keeps them.
    pub fn entry(&self) -> DbEntry {
        self.entry.read().clone()
    }

    pub fn change_entry(&self, change: impl FnOnce(&mut DbEntry)) {
        change(&mut self.entry.write());
    }

    /// Its options.
    pub fn settings(&self) -> DbSettings {
        self.settings.read().clone()
    }

    /// Whether a trigger fires itself.
    pub fn has_recursive_triggers(&self) -> bool {
        self.settings.read().recursive_triggers
    }

    /// READ_COMMITTED_SNAPSHOT OFF: reads in READ COMMITTED wait for who is changing what they
    /// read.
    pub fn reads_by_locks(&self) -> bool {
        !self.settings.read().read_committed_snapshot
    }

    /// Whether cursors that say neither LOCAL nor GLOBAL are the frame's.
    pub fn has_local_cursors(&self) -> bool {
        self.settings.read().local_cursors
    }

    /// The collation of character columns that name none.
    pub fn default_collation(&self) -> Collation {
        Collation::from_id(self.collation.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Changes its options. Who may come in is what [`Db::claim`] and [`Db::set_user_access`] say.
    pub fn set_settings(&self, settings: DbSettings) {
        self.read_only.store(settings.read_only, Ordering::SeqCst);
        self.collation.store(collation_of(&settings).id(), Ordering::Relaxed);
        self.query_store.set_state(settings.query_store.state);
        *self.settings.write() = settings;
    }

    /// What is noted of its queries.
    pub fn query_store(&self) -> &QueryStore {
        &self.query_store
    }

    /// Error 3906 in a read-only database.
    #[inline]
    pub fn check_writable(&self) -> Result<(), SqlError> {
        match self.read_only.load(Ordering::SeqCst) {
            true => Err(errors::read_only(&self.name())),
            false => Ok(()),
        }
    }

    /// An allocation in this filegroup has found no room.
    pub fn note_full(&self, filegroup: u16) {
        self.full.store(filegroup, Ordering::Relaxed);
    }

    /// The filegroup in which an allocation found no room last.
    pub fn full_filegroup(&self) -> Option<u16> {
        Some(self.full.load(Ordering::Relaxed)).filter(|filegroup| *filegroup != 0)
    }

    // ---- state ----

    /// Its state now.
    pub fn status(&self) -> DbStatus {
        match &*self.state.read() {
            StorageState::Down { status, .. } => *status,
            StorageState::Open(open) => match open.storage.status() {
                Status::Online => DbStatus::Online,
                Status::Recovering => DbStatus::Recovering,
                Status::Suspect => DbStatus::Suspect,
                Status::Offline => DbStatus::Offline,
            },
        }
    }

    /// Why it is not online.
    pub fn cause(&self) -> Option<String> {
        match &*self.state.read() {
            StorageState::Down { cause, .. } => Some(cause.clone()),
            StorageState::Open(open) => open.storage.cause(),
        }
    }

    /// Takes it out of service; a statement that holds the storage keeps it alive until it is done.
    pub fn take_down(&self, status: DbStatus, cause: &str) -> Option<Arc<OpenStorage>> {
        match self.turn_to(StorageState::Down { status, cause: cause.to_string() }) {
            StorageState::Open(open) => Some(open),
            StorageState::Down { .. } => None,
        }
    }

    /// It is in another state from now on; the one before.
    fn turn_to(&self, next: StorageState) -> StorageState {
        let mut state = self.state.write();
        self.turns.fetch_add(1, Ordering::SeqCst);
        // What comes into service next is durable, and a restore may number from further back.
        self.newest_definition.store(0, Ordering::Release);
        std::mem::replace(&mut *state, next)
    }

    /// A number that is another one whenever it has been taken out of service or brought back: what
    /// was found before that is not asked for again. Read before [`Db::storage`].
    #[inline]
    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::SeqCst)
    }

    /// Brings it back into service.
    pub fn bring_up(&self, open: OpenStorage, catalog: Catalog, settings: DbSettings) {
        self.set_user_access(UserAccess::of(settings.user_access));
        self.set_settings(settings);
        self.publish(|current| {
            let version = current.version;
            *current = catalog;
            current.version = version;
            true
        });
        self.turn_to(StorageState::Open(Arc::new(open)));
    }

    /// Error 945, 926 or 942 unless it is online.
    pub fn check_usable(&self) -> Result<(), SqlError> {
        self.with_open(|_| ())
    }

    /// Storage, system tables and counters. Errors as [`Db::check_usable`].
    pub fn open(&self) -> Result<Arc<OpenStorage>, SqlError> {
        self.with_open(Arc::clone)
    }

    /// The storage. Errors as [`Db::check_usable`].
    pub fn storage(&self) -> Result<Arc<Database>, SqlError> {
        self.with_open(|open| open.storage.clone())
    }

    /// What is wanted of the open database: no more is counted as in use than that.
    #[inline]
    fn with_open<T>(&self, take: impl FnOnce(&Arc<OpenStorage>) -> T) -> Result<T, SqlError> {
        match &*self.state.read() {
            StorageState::Down { status, .. } => Err(self.not_usable(*status)),
            StorageState::Open(open) => match open.storage.status() {
                Status::Online | Status::Recovering => Ok(take(open)),
                Status::Suspect => Err(self.not_usable(DbStatus::Suspect)),
                Status::Offline => Err(self.not_usable(DbStatus::Offline)),
            },
        }
    }

    #[cold]
    fn not_usable(&self, status: DbStatus) -> SqlError {
        errors::not_usable(&self.name.read(), status)
    }

    /// The storage whatever its state, for views.
    pub fn storage_if_open(&self) -> Option<Arc<Database>> {
        // The account of memory asks too, wherever its caller may be.
        match &*self.state.read_recursive() {
            StorageState::Open(open) => Some(open.storage.clone()),
            StorageState::Down { .. } => None,
        }
    }

    /// A failure that no user can be told about; the storage has kept its cause.
    pub fn note_failure(&self, error: &TxnError) {
        if let Some(storage) = self.storage_if_open()
            && storage.status() == Status::Suspect
        {
            self.log_failure(&error.to_string());
        }
    }

    /// Tells the error log.
    pub fn log_failure(&self, text: &str) {
        self.errors.write("database", &format!("'{}': {text}", self.name()));
        self.errors.save();
    }

    /// Whether SNAPSHOT isolation may be used here; the system databases always allow it.
    pub fn allows_snapshots(&self) -> bool {
        self.id < FIRST_USER_DB || self.settings.read().snapshot_isolation
    }

    /// Frees units that a rolled back transaction had created. What a crash leaves is freed when
    /// the database is next opened.
    pub(crate) fn free_units(&self, units: &[UnitRef]) {
        if let (false, Ok(open)) = (units.is_empty(), self.open()) {
            open.free_units(units);
        }
    }

    /// The recovery model; FULL for a database that is not open.
    pub fn recovery_model(&self) -> RecoveryModel {
        self.storage_if_open()
            .map_or(RecoveryModel::Full, |storage| storage.settings().recovery_model)
    }

    /// The setting of delayed durability; DISABLED for a database that is not open.
    pub fn delayed_durability(&self) -> DelayedDurability {
        self.storage_if_open()
            .map_or(DelayedDurability::Disabled, |storage| storage.delayed_durability())
    }
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Db({})", self.id())
    }
}
