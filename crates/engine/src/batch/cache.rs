//! Compiled batches kept by text, and modules by name: a client that sends the same text again parses and binds nothing.
//! The least recently used go when there are too many; texts that are too long to be worth keeping are not kept.
//! Whoever runs one text again and again keeps what it found ([`Found`]) and asks neither the lock nor the text, as long as
//! the cache has not been cleared and nothing has changed that gives a text another meaning.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Weak};

use compact_str::CompactString;
use parking_lot::{Mutex, RwLock};
use syntax::ParseSettings;
use types::{DataType, SqlError};

use super::Compiled;
use super::module::{ModuleCode, compile};
use crate::instance::{BatchTexts, Instance};
use catalog::{Db, ModuleDef};
use plan::bind::set_options::SessionOptions;

/// Batches kept.
const CAPACITY: usize = 1000;
/// Longest text that is kept, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Code by database and object_id, with the definition that it was made of. Not kept in the definition itself: plans hold the
/// database, and the database its definitions.
type Modules = HashMap<(i32, i32), (Weak<ModuleDef>, Arc<ModuleCode>)>;

type Params = Vec<(CompactString, DataType)>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    /// Statements bind to names of the database they run in.
    db: i32,
    /// SET options that change what a text means: as @@OPTIONS shows them, and those of the parser.
    options: i32,
    settings: ParseSettings,
    text: Arc<str>,
    params: Params,
}

#[derive(Default)]
struct State {
    tick: u64,
    entries: HashMap<Key, (u64, Arc<Compiled>)>,
}

/// A compiled batch as it was found, and for what.
pub struct Found {
    /// Of the cache, whichever instance has it.
    generation: u64,
    db: i32,
    options: i32,
    settings: ParseSettings,
    batch: Arc<Compiled>,
}

/// The place for what was found.
pub type LastFound = Mutex<Option<Found>>;

/// Numbers what caches have been from one clearing to the next, over all instances of the process.
fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

/// The cache; one per instance.
pub struct BatchCache {
    generation: AtomicU64,
    state: Mutex<State>,
    modules: RwLock<Modules>,
    compiled: AtomicU64,
}

impl Default for BatchCache {
    fn default() -> Self {
        BatchCache {
            generation: AtomicU64::new(next_generation()),
            state: Mutex::default(),
            modules: RwLock::default(),
            compiled: AtomicU64::new(0),
        }
    }
}

impl BatchCache {
    /// As [`BatchCache::get`], for one who keeps what was found last. `text` and `params` are the same at each call.
    pub fn get_again(
        &self,
        last: &LastFound,
        db: &Db,
        options: &SessionOptions,
        text: &str,
        params: &[(CompactString, DataType)],
    ) -> Result<Arc<Compiled>, SqlError> {
        // Before the batch is looked for: one that is cleared meanwhile is not taken for a newer one.
        let generation = self.generation.load(Acquire);
        let (db_id, bits, settings) = (db.id(), options.bits(), options.parse_settings());
        if let Some(found) = &*last.lock()
            && (found.generation, found.db, found.options) == (generation, db_id, bits)
            && found.settings == settings
        {
            return Ok(found.batch.clone());
        }
        let batch = self.get(db, options, text, params)?;
        let found = Found { generation, db: db_id, options: bits, settings, batch: batch.clone() };
        *last.lock() = Some(found);
        Ok(batch)
    }

    /// The compiled batch for a text, compiled now when it is not there.
    pub fn get(
        &self,
        db: &Db,
        options: &SessionOptions,
        text: &str,
        params: &[(CompactString, DataType)],
    ) -> Result<Arc<Compiled>, SqlError> {
        let settings = options.parse_settings();
        if text.len() > MAX_TEXT {
            self.compiled.fetch_add(1, Relaxed);
            return Compiled::new(text, params, settings, &db.catalog()).map(Arc::new);
        }
        let key = Key {
            db: db.id(),
            options: options.bits(),
            settings,
            text: text.into(),
            params: params.to_vec(),
        };
        {
            let mut state = self.state.lock();
            state.tick += 1;
            let tick = state.tick;
            if let Some((used, batch)) = state.entries.get_mut(&key) {
                *used = tick;
                return Ok(batch.clone());
            }
        }
        self.compiled.fetch_add(1, Relaxed);
        let batch = Arc::new(Compiled::new(text, params, settings, &db.catalog())?);
        let mut state = self.state.lock();
        if state.entries.len() >= CAPACITY {
            state.evict();
        }
        let tick = state.tick;
        state.entries.insert(key, (tick, batch.clone()));
        Ok(batch)
    }

    /// The code of a procedure or trigger, compiled now when it is not there.
    ///
    /// # Errors
    /// Those of compiling it.
    pub fn module(&self, db: &Db, module: &Arc<ModuleDef>) -> Result<Arc<ModuleCode>, SqlError> {
        let key = (db.id(), module.object_id);
        if let Some((of, code)) = self.modules.read().get(&key)
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(module))
        {
            return Ok(code.clone());
        }
        self.compiled.fetch_add(1, Relaxed);
        let code = Arc::new(compile(module, &db.catalog())?);
        let mut modules = self.modules.write();
        if modules.len() >= CAPACITY {
            modules.retain(|_, (of, _)| of.strong_count() > 0);
        }
        modules.insert(key, (Arc::downgrade(module), code.clone()));
        Ok(code)
    }

    /// The cache of an instance.
    ///
    /// # Errors
    /// Internal: the instance has another one.
    pub fn of(instance: &Instance) -> Result<&BatchCache, SqlError> {
        let cache: &dyn Any = instance.batches_or(|| Box::<BatchCache>::default());
        cache.downcast_ref().ok_or_else(|| SqlError::internal("the cache of batches is another one"))
    }
}

impl BatchTexts for BatchCache {
    fn find_text(&self, test: &dyn Fn(&str) -> bool) -> Option<Arc<str>> {
        self.state.lock().entries.keys().map(|key| &key.text).find(|text| test(text)).cloned()
    }

    fn compilations(&self) -> u64 {
        self.compiled.load(Relaxed)
    }

    fn clear(&self) {
        self.generation.store(next_generation(), Release);
        self.state.lock().entries.clear();
        self.modules.write().clear();
    }
}

impl State {
    /// Drops the older half: rare, and cheaper than keeping a list in order at each use.
    fn evict(&mut self) {
        let mut ages: Vec<u64> = self.entries.values().map(|(used, _)| *used).collect();
        let middle = ages.len() / 2;
        let (_, median, _) = ages.select_nth_unstable(middle);
        let median = *median;
        self.entries.retain(|_, (used, _)| *used > median);
    }
}
