//! Compiled batches kept by text, and modules by name: a client that sends the same text again
//! parses and binds nothing. The least recently used go when there are too many; texts that are too
//! long to be worth keeping are not kept. Guarantees: sessions meet at the lock of one of several
//! parts of the cache, chosen by the text, and hold it for one look; what is kept for a text was
//! made of it, in this database, under these options. Whoever runs one text again and again keeps
//! what it found ([`FoundBatch`]) and asks neither the lock nor the text, as long as the cache has
//! not been cleared and nothing has changed that gives a text another meaning.

mod memory_use;

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::ops::Deref;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Weak};

use memory::{Clerk, MemoryAccount};
use parking_lot::{Mutex, RwLock};
use syntax::ParseSettings;
use txn::Apart;
use types::SqlError;

use super::compiled::{CompiledBatch, go_on};
use super::guides;
use super::module::{ModuleCode, compile};
use super::program::BatchParam;
use super::seen_texts::SeenTexts;
use super::shape::{Literals, text_of};
use super::shaped::Shape;
use bind::set_options::SessionOptions;
use catalog::{Db, ModuleDef};
use session::state::SessionCore;
use session::state::phases::{self, Phase};

/// Batches kept.
const CAPACITY: usize = 1000;
/// Parts of the cache, each with its lock.
const PARTS: usize = 8;
/// Longest text that is kept, in bytes.
const MAX_TEXT: usize = 64 << 10;

pub use memory_use::plan_bytes;

/// Code by database and object_id, with the definition that it was made of. Not kept in the
/// definition itself: plans hold the database, and the database its definitions.
type Modules = HashMap<ModuleKey, (Weak<ModuleDef>, Arc<ModuleCode>), BuildHasherDefault<AsIs>>;

/// Of a module.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ModuleKey {
    db: i32,
    object_id: i32,
}

impl Hash for ModuleKey {
    /// Nobody chooses these numbers: it is enough to spread them over the bits.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let both = u64::from(self.db as u32) << 32 | u64::from(self.object_id as u32);
        state.write_u64(both.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
}

type Params = [BatchParam];

/// What a text depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Context {
    /// Statements bind to names of the database they run in.
    db: i32,
    /// SET options that change what a text means: as @@OPTIONS shows them, and those of the parser.
    options: i32,
    settings: ParseSettings,
    /// The text is the key of a shape.
    is_shape: bool,
}

/// Where a text is or would be kept.
#[derive(Clone, Copy)]
pub struct TextPlace<'t> {
    hash: u64,
    context: Context,
    pub text: &'t str,
    params: &'t Params,
}

/// What is kept for a text.
#[derive(Clone)]
pub enum CachedText {
    /// The batch that it is.
    Own(Arc<CompiledBatch>),
    /// The text is the key of this shape.
    Shape(Arc<Shape>),
}

impl CachedText {
    fn batch(&self) -> &Arc<CompiledBatch> {
        match self {
            CachedText::Own(batch) => batch,
            CachedText::Shape(shape) => &shape.batch,
        }
    }
}

struct CacheEntry {
    used: u64,
    /// What is charged for it.
    bytes: usize,
    context: Context,
    text: Box<str>,
    params: Box<Params>,
    kept: CachedText,
}

impl CacheEntry {
    fn is_of(&self, place: &TextPlace<'_>) -> bool {
        *self.text == *place.text && self.context == place.context && *self.params == *place.params
    }
}

/// Keys are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0.rotate_left(8) ^ u64::from(*b));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Entries by the hash of what they are kept for; of two with the same hash the later one stays.
#[derive(Default)]
struct CachePart {
    tick: u64,
    /// Sum over the entries.
    bytes: usize,
    entries: HashMap<u64, CacheEntry, BuildHasherDefault<AsIs>>,
}

/// A compiled batch as it was found, and for what: may be used again as long as
/// [`BatchCache::is_same`].
pub struct FoundBatch {
    /// Of the cache, whichever instance has it.
    generation: u64,
    db: i32,
    options: i32,
    settings: ParseSettings,
    pub batch: Arc<CompiledBatch>,
}

impl Deref for FoundBatch {
    type Target = Arc<CompiledBatch>;

    fn deref(&self) -> &Arc<CompiledBatch> {
        &self.batch
    }
}

/// The place for what was found, behind the number that the session's options had when that was the
/// same last. What it is counts its users here: they are one session's, those of the batch are all
/// sessions.
pub type LastFound = Mutex<Option<(u64, Arc<FoundBatch>)>>;

/// Numbers what caches have been from one clearing to the next, over all instances of the process.
fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

/// A batch that is kept, as views see it.
pub struct KeptPlan {
    pub batch: Arc<CompiledBatch>,
    /// database_id.
    pub db: i32,
    /// Tells batches of one text apart.
    pub hash: u64,
    /// The options that it was compiled under; of a text.
    pub options: Option<i32>,
    /// The module that it is the body of.
    pub module: Option<Arc<ModuleDef>>,
    /// It has parameters.
    pub prepared: bool,
}

/// The cache; one per instance.
pub struct BatchCache {
    generation: AtomicU64,
    hasher: RandomState,
    /// Each apart: sessions that meet at one do not take the others, nor the generation, from
    /// cores.
    parts: [Apart<Mutex<CachePart>>; PARTS],
    /// Texts and shapes that were seen once and are not kept.
    sightings: SeenTexts,
    modules: RwLock<Modules>,
    compiled: AtomicU64,
    /// What plans are charged to.
    account: Arc<MemoryAccount>,
}

impl BatchCache {
    /// An empty one, whose plans are charged to an account, and go when others need the memory.
    pub fn new(account: &Arc<MemoryAccount>) -> Arc<BatchCache> {
        let cache = Arc::new(BatchCache {
            account: account.clone(),
            generation: AtomicU64::new(next_generation()),
            hasher: RandomState::new(),
            parts: Default::default(),
            sightings: SeenTexts::default(),
            modules: RwLock::default(),
            compiled: AtomicU64::new(0),
        });
        account.add_cache(Arc::downgrade(&cache));
        cache
    }

    /// As [`BatchCache::get`], for one who keeps what was found last. `text` and `params` are the
    /// same at each call.
    ///
    /// # Errors
    /// Those of compiling the text.
    pub fn get_again(
        &self,
        last: &LastFound,
        core: &SessionCore,
        text: &str,
        params: &[BatchParam],
    ) -> Result<Arc<FoundBatch>, SqlError> {
        let _plan = phases::enter(Phase::Plan);
        let number = core.options.changes();
        if let Some((known, found)) = &mut *last.lock()
            && self.is_same(found, core.db(), &core.options, *known == number)
        {
            *known = number;
            return Ok(found.clone());
        }
        let found = Arc::new(self.found(core, text, params)?);
        *last.lock() = Some((number, found.clone()));
        Ok(found)
    }

    /// As [`BatchCache::get`], to be used again.
    ///
    /// # Errors
    /// Those of compiling the text.
    pub fn found(
        &self,
        core: &SessionCore,
        text: &str,
        params: &[BatchParam],
    ) -> Result<FoundBatch, SqlError> {
        // Before the batch is looked for: one that is cleared meanwhile is not taken for a newer
        // one.
        let generation = self.generation();
        let batch = self.get(core, text, params)?;
        let (options, settings) = (core.options.bits(), core.options.parse_settings());
        Ok(FoundBatch { generation, db: core.db().id(), options, settings, batch })
    }

    /// Whether what was found for a text is what would be found now.
    #[inline]
    /// `same_options`: they have not changed since.
    pub fn is_same(
        &self,
        found: &FoundBatch,
        db: &Db,
        options: &SessionOptions,
        same_options: bool,
    ) -> bool {
        found.generation == self.generation()
            && found.db == db.id()
            && (same_options
                || found.options == options.bits() && found.settings == options.parse_settings())
    }

    /// Changes when the cache is cleared.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Acquire)
    }

    /// The compiled batch for a text, compiled now when it is not there.
    pub fn get(
        &self,
        core: &SessionCore,
        text: &str,
        params: &Params,
    ) -> Result<Arc<CompiledBatch>, SqlError> {
        let _plan = phases::enter(Phase::Plan);
        let place = self.place(core.db(), &core.options, text, params);
        match self.find(&place) {
            Some(CachedText::Own(batch)) => Ok(batch),
            _ => self.compile(core, &place),
        }
    }

    /// Where a text is kept.
    pub fn place<'t>(
        &self,
        db: &Db,
        options: &SessionOptions,
        text: &'t str,
        params: &'t Params,
    ) -> TextPlace<'t> {
        let settings = options.parse_settings();
        let context = Context { db: db.id(), options: options.bits(), settings, is_shape: false };
        TextPlace { hash: self.hash(&context, text, params), context, text, params }
    }

    /// Where the shape of the text at a place is kept.
    pub(crate) fn place_of_shape<'t>(&self, of: &TextPlace<'_>, key: &'t str) -> TextPlace<'t> {
        let context = Context { is_shape: true, ..of.context };
        TextPlace { hash: self.hash(&context, key, &[]), context, text: key, params: &[] }
    }

    fn hash(&self, context: &Context, text: &str, params: &Params) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        (context, text).hash(&mut hasher);
        if !params.is_empty() {
            params.hash(&mut hasher);
        }
        hasher.finish()
    }

    fn part(&self, place: &TextPlace<'_>) -> &Mutex<CachePart> {
        &self.parts[(place.hash >> 32) as usize % PARTS]
    }

    /// What is kept there.
    pub fn find(&self, place: &TextPlace<'_>) -> Option<CachedText> {
        let mut part = self.part(place).lock();
        part.tick += 1;
        let tick = part.tick;
        let entry = part.entries.get_mut(&place.hash)?;
        if !entry.is_of(place) {
            return None;
        }
        entry.used = tick;
        Some(entry.kept.clone())
    }

    /// Keeps something there.
    fn keep(&self, place: &TextPlace<'_>, kept: CachedText) {
        if place.text.len() > MAX_TEXT {
            return;
        }
        let bytes = plan_bytes(place.text.len());
        let (text, params) = (place.text.into(), place.params.into());
        let mut part = self.part(place).lock();
        while part.entries.len() >= CAPACITY / PARTS
            || (part.bytes + bytes > self.most_of_part() && !part.entries.is_empty())
        {
            part.evict();
        }
        let entry =
            CacheEntry { used: part.tick, bytes, context: place.context, text, params, kept };
        part.bytes += bytes;
        if let Some(same) = part.entries.insert(place.hash, entry) {
            part.bytes -= same.bytes;
        }
    }

    /// Whether this text was here a moment ago; now it was.
    pub(crate) fn was_seen(&self, place: &TextPlace<'_>) -> bool {
        self.sightings.was_seen(place.hash)
    }

    /// Compiles the text itself and keeps it.
    ///
    /// # Errors
    /// Those of compiling it.
    pub fn compile(
        &self,
        core: &SessionCore,
        place: &TextPlace<'_>,
    ) -> Result<Arc<CompiledBatch>, SqlError> {
        self.compiled.fetch_add(1, Relaxed);
        let batch = self.charged(Clerk::Plans, place.text, || {
            let go_on = || go_on(core);
            let (text, params, catalog) = (place.text, place.params, core.db().catalog());
            let settings = place.context.settings;
            let mut batch = CompiledBatch::new(text, params, settings, &catalog, &go_on)?;
            guides::apply(&mut batch.program, text, params, &catalog)?;
            Ok(batch)
        })?;
        let batch = Arc::new(batch);
        self.keep(place, CachedText::Own(batch.clone()));
        Ok(batch)
    }

    /// Compiles a shape and keeps it. The text that has these literals is compiled by itself where
    /// this fails.
    ///
    /// # Errors
    /// Those of compiling it.
    pub(crate) fn compile_shape(
        &self,
        core: &SessionCore,
        place: &TextPlace<'_>,
        literals: &Literals,
    ) -> Result<Arc<Shape>, SqlError> {
        debug_assert!(place.context.is_shape);
        self.compiled.fetch_add(1, Relaxed);
        let text = text_of(place.text);
        let batch = self.charged(Clerk::Plans, text, || {
            let go_on = || go_on(core);
            let catalog = core.db().catalog();
            CompiledBatch::new(text, &literals.params(), place.context.settings, &catalog, &go_on)
        })?;
        let shape = Arc::new(Shape::new(Arc::new(batch)));
        self.keep(place, CachedText::Shape(shape.clone()));
        Ok(shape)
    }

    /// The code of a procedure or trigger, compiled now when it is not there.
    ///
    /// # Errors
    /// Those of compiling it.
    pub fn module(
        &self,
        core: &SessionCore,
        db: &Db,
        module: &Arc<ModuleDef>,
    ) -> Result<Arc<ModuleCode>, SqlError> {
        let _plan = phases::enter(Phase::Plan);
        let key = ModuleKey { db: db.id(), object_id: module.object_id };
        if let Some((of, code)) = self.modules.read().get(&key)
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(module))
        {
            return Ok(code.clone());
        }
        self.compiled.fetch_add(1, Relaxed);
        let code = Arc::new(self.charged_module(compile(core, module, &db.catalog())?)?);
        let mut modules = self.modules.write();
        if modules.len() >= CAPACITY {
            modules.retain(|_, (of, _)| of.strong_count() > 0);
        }
        modules.insert(key, (Arc::downgrade(module), code.clone()));
        Ok(code)
    }

    /// Everything that is kept.
    pub fn plans(&self) -> Vec<KeptPlan> {
        let mut plans = Vec::new();
        for part in &self.parts {
            plans.extend(part.lock().entries.iter().map(|(hash, entry)| KeptPlan {
                batch: entry.kept.batch().clone(),
                db: entry.context.db,
                hash: *hash,
                options: Some(entry.context.options),
                module: None,
                prepared: entry.context.is_shape || !entry.params.is_empty(),
            }));
        }
        // The key of a shape is kept for its own text too.
        plans.sort_by_key(|plan| Arc::as_ptr(&plan.batch));
        plans.dedup_by(|a, b| Arc::ptr_eq(&a.batch, &b.batch));
        let modules = self.modules.read();
        plans.extend(modules.iter().filter_map(|(ModuleKey { db, object_id }, (module, code))| {
            let (batch, module) = (code.batch.clone(), Some(module.upgrade()?));
            let hash = u64::from(*object_id as u32);
            Some(KeptPlan { batch, db: *db, hash, options: None, module, prepared: false })
        }));
        plans
    }

    /// The text of a kept batch that `test` wants.
    pub fn find_text(&self, test: &dyn Fn(&str) -> bool) -> Option<Arc<str>> {
        self.parts.iter().find_map(|part| {
            let part = part.lock();
            part.entries
                .values()
                .map(|entry| &entry.kept.batch().text)
                .find(|text| test(text))
                .cloned()
        })
    }

    /// Batches compiled since the start.
    pub fn compilations(&self) -> u64 {
        self.compiled.load(Relaxed)
    }

    /// Texts kept.
    pub fn kept(&self) -> usize {
        self.parts.iter().map(|part| part.lock().entries.len()).sum()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.generation.store(next_generation(), Release);
        for part in &self.parts {
            let mut part = part.lock();
            part.entries.clear();
            part.bytes = 0;
        }
        self.modules.write().clear();
    }
}

impl CachePart {
    /// Drops the older half: rare, and cheaper than keeping a list in order at each use.
    fn evict(&mut self) {
        let mut ages: Vec<u64> = self.entries.values().map(|entry| entry.used).collect();
        let middle = ages.len() / 2;
        let (_, median, _) = ages.select_nth_unstable(middle);
        let median = *median;
        self.entries.retain(|_, entry| entry.used > median);
        self.bytes = self.entries.values().map(|entry| entry.bytes).sum();
    }
}
