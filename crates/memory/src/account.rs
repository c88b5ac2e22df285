//! The account: what each clerk holds, and whether more may be had.
//! Guarantees: a charge is one addition to each of two counters; looking at those that tell how
//! much they hold themselves, and at the process, happens at most a hundred times a second however
//! many ask.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};

use crate::clerk::Clerk;
use crate::thread_charges;

/// The memory cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is not enough memory")]
pub struct OutOfMemory;

/// Tells how much it holds. `None`: it is no longer there.
pub type UsageSource = Box<dyn Fn() -> Option<usize> + Send + Sync>;

/// Something that can be made again, and is let go when others need the memory.
pub trait Cache: Send + Sync {
    /// Lets about so many bytes go; returns how many it was.
    fn give_back(&self, bytes: usize) -> usize;
}

/// Gives a cache as long as it is there.
type CacheRef = Box<dyn Fn() -> Option<std::sync::Arc<dyn Cache>> + Send + Sync>;

/// What sources hold and the process needs is looked at again after so long.
const LOOK_MILLIS: u64 = 10;
/// A change of this much lets the pool know.
const TELL: usize = 4 << 20;
/// Most that is set aside for the program itself, its threads' stacks and what is too small to be
/// charged.
const PROGRAM_MOST: usize = 128 << 20;
/// The process may be at least so much beyond the target: the program and its threads need some of
/// it.
const CEILING_LEAST: usize = 192 << 20;
/// A charge of this much is a large one.
const LARGE: usize = 1 << 20;
/// So is any charge of an asker that holds so much with it.
const LARGE_OWN: usize = 8 << 20;
/// Least that is left to pages whatever others want.
const POOL_LEAST: usize = 8 << 20;

/// The allocator is asked again after so long when it has given much back, and when it has not.
const TRIM_MILLIS: u64 = 100;
const TRIM_MILLIS_IN_VAIN: u64 = 2_000;
/// Less than this is not worth asking.
const TRIM_GAIN: usize = 8 << 20;

/// What the process tells, and does.
struct Process {
    resident: UsageSource,
    trim: Box<dyn Fn() + Send + Sync>,
}

/// A counter that shares its cache line with nothing.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicUsize);

/// The memory of an instance.
pub struct MemoryAccount {
    target: usize,
    charged: [Counter; Clerk::COUNT],
    /// Sum of `charged`.
    total: Counter,
    sources: RwLock<Vec<(Clerk, UsageSource)>>,
    caches: Mutex<Vec<CacheRef>>,
    /// The process, where all of it is the instance's.
    process_memory: OnceLock<Process>,
    /// When the allocator was last asked to give back what it keeps, in milliseconds since `born`;
    /// how long it need not be asked again.
    trimmed: AtomicU64,
    trim_pause: AtomicU64,
    /// The largest `total` that was seen since then.
    highest_total: AtomicUsize,
    /// Told when the pool should look how much it may have.
    on_change: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// `total` when it was told last.
    told: AtomicUsize,
    born: Instant,
    /// When sources were looked at last, in milliseconds since `born`, 1 at least.
    looked: AtomicU64,
    /// What sources that do not give way held then.
    fixed: AtomicUsize,
    /// What the process had beyond all that is known, then.
    unknown: AtomicUsize,
    /// Resident memory then; 0 where it is not measured.
    process: AtomicUsize,
    refused: AtomicU64,
}

impl std::fmt::Debug for MemoryAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryAccount({} of {})", self.total(), self.target)
    }
}

impl MemoryAccount {
    /// So many bytes for all.
    pub fn new(target: usize) -> MemoryAccount {
        MemoryAccount {
            target,
            charged: Default::default(),
            total: Counter::default(),
            sources: RwLock::default(),
            caches: Mutex::default(),
            process_memory: OnceLock::new(),
            trimmed: AtomicU64::new(0),
            trim_pause: AtomicU64::new(0),
            highest_total: AtomicUsize::new(0),
            on_change: OnceLock::new(),
            told: AtomicUsize::new(0),
            born: Instant::now(),
            looked: AtomicU64::new(0),
            fixed: AtomicUsize::new(0),
            unknown: AtomicUsize::new(0),
            process: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// One without an end, for what belongs to no instance.
    pub fn unlimited() -> MemoryAccount {
        MemoryAccount::new(usize::MAX)
    }

    // ---- what is made known ----

    /// The process is the instance's alone: `resident` tells its memory, `trim` has the allocator
    /// give back what it keeps for allocations to come.
    pub fn measure(
        &self,
        resident: impl Fn() -> Option<usize> + Send + Sync + 'static,
        trim: impl Fn() + Send + Sync + 'static,
    ) {
        // Only the first counts: there is one process.
        let _ =
            self.process_memory.set(Process { resident: Box::new(resident), trim: Box::new(trim) });
    }

    /// Called when what the pool may have has changed by much.
    pub fn on_change(&self, tell: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_change.set(Box::new(tell));
    }

    /// Something tells itself how much it holds.
    pub fn add_source(
        &self,
        clerk: Clerk,
        source: impl Fn() -> Option<usize> + Send + Sync + 'static,
    ) {
        self.sources.write().push((clerk, Box::new(source)));
    }

    /// A cache gives way from now on.
    pub fn add_cache<C: Cache + 'static>(&self, cache: std::sync::Weak<C>) {
        let strong = move || cache.upgrade().map(|cache| cache as std::sync::Arc<dyn Cache>);
        self.caches.lock().push(Box::new(strong));
    }

    // ---- what is held ----

    /// Bytes for all.
    pub fn target(&self) -> usize {
        self.target
    }

    /// Sum of the charges.
    pub fn total(&self) -> usize {
        self.total.0.load(Relaxed)
    }

    /// What a clerk holds: its charges and what its sources tell.
    pub fn held(&self, clerk: Clerk) -> usize {
        let sources = self.sources.read();
        let told = sources.iter().filter(|(of, _)| *of == clerk).filter_map(|(_, source)| source());
        self.charged[clerk as usize].0.load(Relaxed).saturating_add(told.sum())
    }

    /// Resident memory of the process beyond what is charged or told, where it is measured: the
    /// program, its threads' stacks, and what is too small to be charged.
    pub fn program_holds(&self) -> Option<usize> {
        self.process_memory.get()?;
        self.look();
        Some(self.unknown.load(Relaxed))
    }

    /// How many charges were refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Set aside for the program, stacks and what is too small to be charged.
    pub fn program(&self) -> usize {
        (self.target / 8).min(PROGRAM_MOST)
    }

    /// Whether charges have come to more than half of what they may: what can be kept elsewhere is
    /// to go there.
    pub fn is_short(&self) -> bool {
        self.total() > self.limit() / 2
    }

    /// Least that is left to pages.
    pub(crate) fn pool_least(&self) -> usize {
        (self.target / 16).max(POOL_LEAST)
    }

    /// Most that charges may come to.
    pub fn limit(&self) -> usize {
        let set_aside = self.program() + self.pool_least();
        self.target.saturating_sub(set_aside).saturating_sub(self.fixed.load(Relaxed))
    }

    /// What is left for pages, by what was seen at the last look ([`MemoryAccount::balance`]).
    pub fn left_for_pages(&self) -> usize {
        let program = self.unknown.load(Relaxed).max(self.program());
        let others = self
            .total()
            .saturating_add(self.fixed.load(Relaxed))
            .saturating_add(self.caches_hold());
        self.target.saturating_sub(program).saturating_sub(others).max(self.pool_least())
    }

    /// What caches but the pool hold.
    fn caches_hold(&self) -> usize {
        let gives_way = |clerk: Clerk| clerk.gives_way() && clerk != Clerk::BufferPool;
        Clerk::ALL.into_iter().filter(|clerk| gives_way(*clerk)).map(|clerk| self.held(clerk)).sum()
    }

    // ---- charges ----

    /// Charges bytes that the asker has not taken yet.
    ///
    /// # Errors
    /// [`OutOfMemory`]: nothing was charged.
    pub fn charge(&self, clerk: Clerk, bytes: usize) -> Result<(), OutOfMemory> {
        self.charge_fairly(clerk, bytes, 0)
    }

    /// The same for one that holds `own` bytes with these: as much must be left.
    ///
    /// # Errors
    /// [`OutOfMemory`]: nothing was charged.
    pub fn charge_fairly(&self, clerk: Clerk, bytes: usize, own: usize) -> Result<(), OutOfMemory> {
        self.charge_metered(clerk, bytes, own)?;
        thread_charges::add(bytes as isize);
        Ok(())
    }

    /// The same for what the meter of the thread has found.
    pub(crate) fn charge_metered(
        &self,
        clerk: Clerk,
        bytes: usize,
        own: usize,
    ) -> Result<(), OutOfMemory> {
        self.look_sometimes();
        let mut charged = self.add_if_it_fits(bytes, own);
        if charged.is_none() && (self.reclaim(bytes) | self.trim()) {
            charged = self.add_if_it_fits(bytes, own);
        }
        let Some(total) = charged else {
            self.refused.fetch_add(1, Relaxed);
            return Err(OutOfMemory);
        };
        self.charged[clerk as usize].0.fetch_add(bytes, Relaxed);
        self.tell(total);
        Ok(())
    }

    /// Adds to the total in one step, so that many who ask at once get no more together than there
    /// is. The new total.
    fn add_if_it_fits(&self, bytes: usize, own: usize) -> Option<usize> {
        let add = |total: usize| self.fits(total, bytes, own).then(|| total + bytes);
        self.total.0.fetch_update(Relaxed, Relaxed, add).ok().map(|before| before + bytes)
    }

    fn fits(&self, total: usize, bytes: usize, own: usize) -> bool {
        let all = total.saturating_add(bytes);
        let limit = self.limit();
        let small = bytes < LARGE && own < LARGE_OWN;
        all <= limit && own <= limit - all && (small || self.process_has_room(bytes))
    }

    /// What the process has come to, for whatever reason, leaves room for a large charge: charges
    /// are estimates, and memory that was given back can stay with the allocator for a while. Small
    /// charges of those that hold little never fail for it.
    fn process_has_room(&self, bytes: usize) -> bool {
        let ceiling = self.target.saturating_add((self.target / 2).max(CEILING_LEAST));
        self.process.load(Relaxed).saturating_add(bytes) <= ceiling
    }

    /// Charges bytes that are in use already.
    pub fn force(&self, clerk: Clerk, bytes: usize) {
        thread_charges::add(bytes as isize);
        self.charged[clerk as usize].0.fetch_add(bytes, Relaxed);
        self.tell(self.total.0.fetch_add(bytes, Relaxed).saturating_add(bytes));
    }

    /// Gives bytes back.
    pub fn release(&self, clerk: Clerk, bytes: usize) {
        thread_charges::add((bytes as isize).wrapping_neg());
        self.release_metered(clerk, bytes);
    }

    /// The same for what the meter of the thread has found.
    pub(crate) fn release_metered(&self, clerk: Clerk, bytes: usize) {
        let before = self.charged[clerk as usize].0.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "more given back than charged: {clerk:?}");
        self.tell(self.total.0.fetch_sub(bytes, Relaxed).saturating_sub(bytes));
    }

    fn tell(&self, total: usize) {
        let told = self.told.load(Relaxed);
        if total.abs_diff(told) >= TELL
            && self.told.compare_exchange(told, total, Relaxed, Relaxed).is_ok()
            && let Some(tell) = self.on_change.get()
        {
            tell();
        }
    }

    /// Lets caches go for somebody that needs bytes; whether any did.
    fn reclaim(&self, bytes: usize) -> bool {
        let caches: Vec<_> = {
            let mut list = self.caches.lock();
            let found: Vec<_> = list.iter().map(|cache| cache()).collect();
            let mut there = found.iter().map(Option::is_some);
            list.retain(|_| there.next().unwrap_or(false));
            found.into_iter().flatten().collect()
        };
        let mut wanted = bytes;
        for cache in caches {
            wanted = wanted.saturating_sub(cache.give_back(wanted));
            if wanted == 0 {
                break;
            }
        }
        wanted < bytes
    }

    /// Has the allocator give back what it keeps if the process has come to half its target and
    /// that may help; whether it did.
    fn trim(&self) -> bool {
        let Some(process) = self.process_memory.get() else { return false };
        let total = self.total();
        let highest = self.highest_total.fetch_max(total, Relaxed).max(total);
        let (resident, unknown) = (self.process.load(Relaxed), self.unknown.load(Relaxed));
        if resident < self.target / 2 || unknown < self.program() {
            return false;
        }
        let (now, last) = (self.born.elapsed().as_millis() as u64, self.trimmed.load(Relaxed));
        // Much has been given back since: now it may help.
        let less = total.saturating_add(4 * TRIM_GAIN) <= highest;
        let pause = if less { TRIM_MILLIS } else { self.trim_pause.load(Relaxed) };
        let due = last == 0 || now - last.min(now) >= pause;
        if !due || self.trimmed.compare_exchange(last, now.max(1), Relaxed, Relaxed).is_err() {
            return false;
        }
        self.highest_total.store(total, Relaxed);
        (process.trim)();
        self.look();
        let gained = resident.saturating_sub(self.process.load(Relaxed));
        let helped = gained >= TRIM_GAIN;
        self.trim_pause.store(if helped { TRIM_MILLIS } else { TRIM_MILLIS_IN_VAIN }, Relaxed);
        helped
    }

    /// Looks at all that there is; when the process is near its target, the allocator gives back
    /// what it keeps. Plans are let go by those that need the memory: their own threads have the
    /// stacks for it.
    pub fn balance(&self) {
        self.look();
        self.trim();
    }

    // ---- looking ----

    fn look_sometimes(&self) {
        let now = self.born.elapsed().as_millis() as u64 + 1;
        let looked = self.looked.load(Relaxed);
        let due = looked == 0 || now - looked.min(now) >= LOOK_MILLIS;
        if due && self.looked.compare_exchange(looked, now, Relaxed, Relaxed).is_ok() {
            self.look();
        }
    }

    /// Asks all sources, and the process.
    fn look(&self) {
        let (mut fixed, mut known) = (0usize, self.total());
        let mut gone = false;
        for (clerk, source) in self.sources.read().iter() {
            let Some(bytes) = source() else {
                gone = true;
                continue;
            };
            known = known.saturating_add(bytes);
            if !clerk.gives_way() {
                fixed = fixed.saturating_add(bytes);
            }
        }
        if gone {
            self.sources.write().retain(|(_, source)| source().is_some());
        }
        self.fixed.store(fixed, Relaxed);
        if let Some(resident) = self.process_memory.get().and_then(|process| (process.resident)()) {
            self.process.store(resident, Relaxed);
            self.unknown.store(resident.saturating_sub(known), Relaxed);
        }
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
