//! The locked resources: who holds each, who waits for it, in which order requests are granted.
//! Guarantees: new requests that conflict are granted in order of arrival, and none passes a
//! conversion that waits and that it conflicts with: who goes beside all that wait ahead of it
//! keeps nobody waiting for longer, and waits for the holders alone; a conversion waits only for
//! the holders it conflicts with; nobody waits for longer than that, whichever holder or waiter
//! leaves. Taking and giving back a lock costs the same however many hold it, and however many wait
//! for it in modes that it does not set free.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, Deref};
use std::sync::Arc;

use smallvec::SmallVec;

use super::modes::{ALL_MODES, LockMode, MODES};
use super::names::{FastBuild, LockRequester, OwnerId};
use super::waits::{Verdict, Waiter};

/// Up to this many holders are looked through; beyond, an index finds one and counts tell which
/// modes are held.
const FEW: usize = 16;

/// One who holds a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grant {
    pub who: LockRequester,
    pub mode: LockMode,
}

/// What makes many holders as cheap as one.
#[derive(Debug)]
struct HolderIndex {
    /// Where each owner is in the list.
    index: HashMap<OwnerId, usize, FastBuild>,
    /// How many hold in each mode.
    counts: [u32; MODES],
}

/// The holders of a resource.
#[derive(Debug, Default)]
pub(super) struct Holders {
    list: SmallVec<[Grant; 2]>,
    /// The modes in the list, as bits.
    mask: u32,
    /// There once the list is longer than [`FEW`], until it is half as long.
    crowd: Option<Box<HolderIndex>>,
}

impl Holders {
    fn position(&self, owner: OwnerId) -> Option<usize> {
        match &self.crowd {
            None => self.list.iter().position(|g| g.who.id == owner),
            Some(crowd) => crowd.index.get(&owner).copied(),
        }
    }

    /// The mode in which `owner` holds it.
    pub fn mode_of(&self, owner: OwnerId) -> Option<LockMode> {
        self.position(owner).map(|i| self.list[i].mode)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.list.iter()
    }

    /// The modes in which others than `owner` hold it.
    pub fn others_mask(&self, owner: OwnerId) -> u32 {
        let Some(crowd) = &self.crowd else {
            return self.list.iter().filter(|g| g.who.id != owner).fold(0, |m, g| m | g.mode.bit());
        };
        match self.mode_of(owner) {
            Some(own) if crowd.counts[own as usize] == 1 => self.mask & !own.bit(),
            _ => self.mask,
        }
    }

    /// Whether `owner`, which holds it already if this is a conversion, may hold it in `mode`.
    fn allow(&self, owner: OwnerId, mode: LockMode, conversion: bool) -> bool {
        let others = if conversion { self.others_mask(owner) } else { self.mask };
        others & !mode.compatible_mask() == 0
    }

    /// From now on `who` holds it in `mode`, whatever was before.
    fn set(&mut self, who: LockRequester, mode: LockMode) {
        match self.position(who.id) {
            Some(i) => {
                let before = std::mem::replace(&mut self.list[i].mode, mode);
                self.count(Some(before), Some(mode));
            }
            None => {
                self.list.push(Grant { who, mode });
                if let Some(crowd) = &mut self.crowd {
                    crowd.index.insert(who.id, self.list.len() - 1);
                }
                self.count(None, Some(mode));
                if self.list.len() == FEW + 1 && self.crowd.is_none() {
                    self.begin_crowd();
                }
            }
        }
    }

    /// The first one comes. Most locks are held by one and are wanted by nobody else.
    #[inline]
    fn begin(&mut self, who: LockRequester, mode: LockMode) {
        debug_assert!(self.list.is_empty() && self.crowd.is_none(), "held already");
        self.list.push(Grant { who, mode });
        self.mask = mode.bit();
    }

    /// Whether `owner` was the only one, which is gone then.
    #[inline]
    fn end(&mut self, owner: OwnerId) -> bool {
        let only =
            matches!(self.list.as_slice(), [only] if only.who.id == owner) && self.crowd.is_none();
        if only {
            self.list.clear();
            self.mask = 0;
        }
        only
    }

    /// Takes `owner` out: the mode that it held.
    fn remove(&mut self, owner: OwnerId) -> Option<LockMode> {
        let i = self.position(owner)?;
        let gone = self.list.swap_remove(i);
        if let Some(crowd) = &mut self.crowd {
            crowd.index.remove(&owner);
            if let Some(moved) = self.list.get(i) {
                crowd.index.insert(moved.who.id, i);
            }
        }
        self.count(Some(gone.mode), None);
        if self.list.len() <= FEW / 2 && self.crowd.take().is_some() {
            self.list.shrink_to_fit();
        }
        Some(gone.mode)
    }

    /// Notes that one mode less and one more is held.
    fn count(&mut self, less: Option<LockMode>, more: Option<LockMode>) {
        match &mut self.crowd {
            Some(crowd) => {
                if let Some(less) = less {
                    let left = &mut crowd.counts[less as usize];
                    *left -= 1;
                    if *left == 0 {
                        self.mask &= !less.bit();
                    }
                }
                if let Some(more) = more {
                    crowd.counts[more as usize] += 1;
                    self.mask |= more.bit();
                }
            }
            None if less.is_none() => self.mask |= more.map_or(0, LockMode::bit),
            None => self.mask = self.list.iter().fold(0, |m, g| m | g.mode.bit()),
        }
    }

    #[cold]
    fn begin_crowd(&mut self) {
        let mut counts = [0; MODES];
        self.list.iter().for_each(|g| counts[g.mode as usize] += 1);
        let index = self.list.iter().enumerate().map(|(i, g)| (g.who.id, i)).collect();
        self.crowd = Some(Box::new(HolderIndex { index, counts }));
    }

    /// The modes that go beside all that is held, as bits.
    fn beside(&self) -> u32 {
        modes_in(self.mask).fold(u32::MAX, |beside, mode| beside & mode.compatible_mask())
    }

    /// Whether so many hold it in `mode` that nobody's place in the queue changes when one less
    /// does.
    fn many_hold(&self, mode: LockMode) -> bool {
        self.crowd.as_ref().is_some_and(|crowd| crowd.counts[mode as usize] > 1)
    }
}

/// A waiter's place in a queue: conversions first, then new requests, each in order of arrival.
pub(super) type QueueKey = (bool, u64);

/// The modes of a mask.
fn modes_in(mask: u32) -> impl Iterator<Item = LockMode> {
    ALL_MODES.into_iter().filter(move |mode| mask & mode.bit() != 0)
}

/// The owners that wait for a resource, and how many in each mode.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    waiters: BTreeMap<QueueKey, Arc<Waiter>>,
    /// There as long as anybody waits.
    counts: Option<Box<[u32; MODES]>>,
}

impl Deref for WaitQueue {
    type Target = BTreeMap<QueueKey, Arc<Waiter>>;

    fn deref(&self) -> &Self::Target {
        &self.waiters
    }
}

impl WaitQueue {
    pub fn insert(&mut self, waiter: Arc<Waiter>) {
        let (key, mode) = (waiter.queue_key(), waiter.mode);
        let before = self.waiters.insert(key, waiter);
        debug_assert!(before.is_none(), "a waiter's place is its own");
        self.counts.get_or_insert_default()[mode as usize] += 1;
    }

    fn remove(&mut self, key: &QueueKey) -> Option<Arc<Waiter>> {
        let gone = self.waiters.remove(key)?;
        if self.waiters.is_empty() {
            self.counts = None;
        } else if let Some(counts) = &mut self.counts {
            counts[gone.mode as usize] -= 1;
        }
        Some(gone)
    }

    /// The modes that somebody waits for, as bits.
    fn modes(&self) -> u32 {
        let Some(counts) = &self.counts else { return 0 };
        let wanted = ALL_MODES.into_iter().filter(|mode| counts[*mode as usize] > 0);
        wanted.fold(0, |modes, mode| modes | mode.bit())
    }
}

/// One locked resource.
#[derive(Debug, Default)]
pub(super) struct LockEntry {
    pub holders: Holders,
    pub queue: WaitQueue,
}

/// What came of a request.
pub(super) enum LockAnswer {
    /// It is held in this mode.
    Held(LockMode),
    /// It has to wait for this mode; `conversion`: it holds a weaker one.
    MustWait { mode: LockMode, conversion: bool },
}

impl LockEntry {
    /// Grants `mode` to `who` if it need not wait.
    #[inline]
    pub fn ask(&mut self, who: LockRequester, mode: LockMode) -> LockAnswer {
        if self.is_idle() {
            self.holders.begin(who, mode);
            return LockAnswer::Held(mode);
        }
        self.ask_beside(who, mode)
    }

    /// As [`LockEntry::ask`] where others hold it or wait for it, or `who` itself does.
    fn ask_beside(&mut self, who: LockRequester, mode: LockMode) -> LockAnswer {
        let held = self.holders.mode_of(who.id);
        let mode = held.map_or(mode, |h| h.join(mode));
        if held == Some(mode) {
            return LockAnswer::Held(mode);
        }
        let conversion = held.is_some();
        // The queue, which may be long, is looked at last.
        if self.holders.allow(who.id, mode, conversion) && (conversion || self.lets_by(mode)) {
            self.holders.set(who, mode);
            return LockAnswer::Held(mode);
        }
        LockAnswer::MustWait { mode, conversion }
    }

    /// Whether a new request need not queue: it goes beside all that wait. A writer that waits for
    /// the end of a lock on the table (IX) holds up neither who reads versions (SCH-S) nor who
    /// locks the rows that he reads (IS).
    fn lets_by(&self, mode: LockMode) -> bool {
        self.queue.modes() & !mode.compatible_mask() == 0
    }

    /// A lock that was kept elsewhere is held here from now on. It goes with all that is held.
    pub fn take_over(&mut self, who: LockRequester, mode: LockMode) {
        debug_assert!(self.holders.allow(who.id, mode, false), "a lock comes that others exclude");
        self.holders.set(who, mode);
    }

    /// `owner` gives it back; whoever can have it now gets it. Nothing happens when it does not
    /// hold it.
    #[inline]
    pub fn give_back(&mut self, owner: OwnerId) {
        if self.queue.is_empty() && self.holders.end(owner) {
            return;
        }
        self.give_back_beside(owner);
    }

    /// As [`LockEntry::give_back`] where others hold it or wait for it.
    fn give_back_beside(&mut self, owner: OwnerId) {
        if let Some(mode) = self.holders.remove(owner)
            && !self.queue.is_empty()
            && !self.holders.many_hold(mode)
        {
            self.promote();
        }
    }

    /// A waiter gives up; whoever waited for it alone gets the resource.
    pub fn leave(&mut self, waiter: &Waiter) {
        let gone = self.queue.remove(&waiter.queue_key());
        // Nobody is granted a transaction: those that wait for it wait for its end.
        if gone.is_some() && waiter.blocker.is_none() {
            self.promote();
        }
    }

    /// Grants whatever has become possible: conversions that conflict with no other holder, new
    /// requests that also go beside all that stay ahead of them. What conflicts with one ahead
    /// stays behind it, or readers who keep coming would keep it waiting for ever.
    fn promote(&mut self) {
        let mut passed = None;
        // The modes that go beside all that were passed.
        let mut beside = u32::MAX;
        loop {
            let from = passed.map_or(Bound::Unbounded, Bound::Excluded);
            let Some((&key, w)) = self.queue.range((from, Bound::Unbounded)).next() else { return };
            let in_turn = w.conversion || beside & w.mode.bit() != 0;
            if in_turn && self.holders.allow(w.owner, w.mode, w.conversion) {
                let w = w.clone();
                self.queue.remove(&key);
                if w.decide(Verdict::Granted) {
                    self.holders.set(w.who(), w.mode);
                }
                continue;
            }
            beside &= w.mode.compatible_mask();
            passed = Some(key);
            // Conversions are in front. Of new requests those modes may be granted that go beside
            // holders and waiters: mostly nobody waits for one of them.
            if !w.conversion && beside & self.holders.beside() & self.queue.modes() == 0 {
                return;
            }
        }
    }

    /// Whether nobody holds it or waits for it.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.holders.list.is_empty() && self.queue.is_empty()
    }
}
