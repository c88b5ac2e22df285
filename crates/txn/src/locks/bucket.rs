//! The locked resources of one hash bucket of the lock table.
//! Guarantees: the first resource lies in the bucket itself, so that a lock in a bucket without
//! others is found where its mutex is; beyond a few, an index finds one of however many; what
//! nobody holds or waits for is forgotten, but for the first, so that a lock that is taken and
//! given back again and again moves nothing.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::names::{FastHash, LockTarget, Resource};
use super::table::LockEntry;

/// Up to so many beside the first are looked through.
const FEW: usize = 8;
/// Resources for which a bucket keeps room.
const ROOM: usize = 32;

/// All resources of a bucket have the same low bits of their hash: an index needs others.
#[derive(Default, Clone, Copy)]
struct Spread(FastHash);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
    fn write_u8(&mut self, v: u8) {
        self.0.write_u8(v);
    }
    fn write_u16(&mut self, v: u16) {
        self.0.write_u16(v);
    }
    fn write_u32(&mut self, v: u32) {
        self.0.write_u32(v);
    }
    fn write_u64(&mut self, v: u64) {
        self.0.write_u64(v);
    }
    fn write_usize(&mut self, v: usize) {
        self.0.write_usize(v);
    }
    fn write_isize(&mut self, v: isize) {
        self.0.write_isize(v);
    }
    fn finish(&self) -> u64 {
        let h = self.0.finish().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        h ^ (h >> 32)
    }
}

/// Where the resources beside the first are.
type Index = HashMap<Resource, usize, BuildHasherDefault<Spread>>;

/// One bucket. A place is 0 for the first resource, one more than its place in the list for
/// another.
#[derive(Debug)]
pub(super) struct Bucket {
    first: (Resource, LockEntry),
    more: Vec<(Resource, LockEntry)>,
    /// There once the list is longer than [`FEW`], until it is half as long.
    index: Option<Box<Index>>,
}

impl Default for Bucket {
    fn default() -> Self {
        // Whatever it is called: nobody holds it.
        let nobody = Resource { db: 0, what: LockTarget::Database };
        Bucket { first: (nobody, LockEntry::default()), more: Vec::new(), index: None }
    }
}

impl Bucket {
    /// Where a resource is.
    #[inline]
    pub fn find(&self, r: &Resource) -> Option<usize> {
        if self.first.0 == *r {
            return Some(0);
        }
        if self.more.is_empty() { None } else { self.find_more(r) }
    }

    fn find_more(&self, r: &Resource) -> Option<usize> {
        let at = match &self.index {
            None => self.more.iter().position(|(at, _)| at == r),
            Some(index) => index.get(r).copied(),
        };
        at.map(|at| at + 1)
    }

    /// The resource at a place that [`Bucket::find`] has told.
    #[inline]
    pub fn at(&mut self, place: usize) -> &mut LockEntry {
        match place.checked_sub(1) {
            None => &mut self.first.1,
            Some(at) => &mut self.more[at].1,
        }
    }

    /// A resource, if it is locked.
    pub fn get(&self, r: &Resource) -> Option<&LockEntry> {
        match self.find(r)?.checked_sub(1) {
            None => Some(&self.first.1),
            Some(at) => self.more.get(at).map(|(_, entry)| entry),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &(Resource, LockEntry)> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// A resource, which is made if it is not there.
    #[inline]
    pub fn entry(&mut self, r: Resource) -> &mut LockEntry {
        match self.find(&r) {
            Some(place) => self.at(place),
            None if self.first.1.is_idle() => {
                self.first.0 = r;
                &mut self.first.1
            }
            None => self.add(r),
        }
    }

    fn add(&mut self, r: Resource) -> &mut LockEntry {
        let at = self.more.len();
        self.more.push((r, LockEntry::default()));
        if let Some(index) = &mut self.index {
            index.insert(r, at);
        } else if at == FEW {
            let index: Index = self.more.iter().enumerate().map(|(at, (r, _))| (*r, at)).collect();
            self.index = Some(Box::new(index));
        }
        &mut self.more[at].1
    }

    /// Forgets the resource at a place if it is idle and is not the first.
    #[inline]
    pub fn tidy(&mut self, place: usize) {
        if let Some(at) = place.checked_sub(1)
            && self.more[at].1.is_idle()
        {
            self.forget(at);
        }
    }

    fn forget(&mut self, at: usize) {
        let (gone, _) = self.more.swap_remove(at);
        if let Some(index) = &mut self.index {
            index.remove(&gone);
            if let Some((moved, _)) = self.more.get(at) {
                index.insert(*moved, at);
            }
        }
        if self.more.len() <= FEW / 2 {
            self.index = None;
        }
        // What many locks have taken goes back when they are gone.
        if self.more.capacity() > ROOM && self.more.len() < self.more.capacity() / 4 {
            self.more.shrink_to(self.more.len() * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::manager::{BUCKETS, LockManager};
    use super::super::modes::LockMode;
    use super::super::names::{FastBuild, LockRequester, OwnerId};
    use super::super::owner::LockOwner;
    use super::super::waits::WaitArgs;
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    fn key(n: u64) -> Resource {
        Resource { db: 1, what: LockTarget::Key { unit: 7, hash: n << 13 } }
    }

    /// Whether it is held.
    fn held(bucket: &Bucket, n: u64) -> bool {
        bucket.get(&key(n)).is_some_and(|entry| entry.holders.iter().next().is_some())
    }

    #[test]
    fn agrees_with_a_set_however_many_there_are() {
        let mut rng = fastrand::Rng::with_seed(5);
        let who = LockRequester { id: OwnerId(3), session: 51 };
        for most in [1usize, 6, 20, 500] {
            let (mut bucket, mut model) = (Bucket::default(), HashSet::new());
            for _ in 0..20_000 {
                let n = rng.u64(..2 * most as u64);
                if model.len() < most && rng.bool() {
                    bucket.entry(key(n)).ask(who, LockMode::S);
                    model.insert(n);
                } else if let Some(place) = bucket.find(&key(n)) {
                    bucket.at(place).give_back(who.id);
                    bucket.tidy(place);
                    model.remove(&n);
                }
                assert_eq!(held(&bucket, n), model.contains(&n));
                assert!(bucket.more.len() <= model.len(), "what is idle is forgotten");
                assert_eq!(bucket.iter().count(), bucket.more.len() + 1);
            }
            assert!((0..2 * most as u64).all(|n| held(&bucket, n) == model.contains(&n)));
            for n in model {
                let place = bucket.find(&key(n)).unwrap();
                bucket.at(place).give_back(who.id);
                bucket.tidy(place);
            }
            assert!(bucket.more.is_empty() && bucket.index.is_none());
        }
    }

    /// Locks of one bucket come and go while others wait for them, and the bucket's list and index
    /// move: whoever waits for a lock gets it, and nobody beside another.
    #[test]
    fn who_waits_in_a_long_bucket_is_woken() {
        const KEYS: usize = 60;
        let bucket = |r: &Resource| FastBuild::default().hash_one(r) as usize % BUCKETS;
        let first = bucket(&key(0));
        let keys: Vec<Resource> =
            (0..).map(key).filter(|r| bucket(r) == first).take(KEYS).collect();
        let users: Vec<AtomicU32> = (0..KEYS).map(|_| AtomicU32::new(0)).collect();
        let manager = LockManager::new();
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (keys, users, manager) = (&keys, &users, &manager);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(u64::from(thread));
                    let mut owner = LockOwner::new(manager.clone(), 51 + thread);
                    for round in 0..300 {
                        // Few at times: the index goes and comes again.
                        let most = if round / 50 % 2 == 0 { KEYS } else { 6 };
                        let mut wanted: Vec<usize> =
                            (0..rng.usize(1..16)).map(|_| rng.usize(..most)).collect();
                        // All in one order, so that there is no deadlock.
                        wanted.sort_unstable();
                        wanted.dedup();
                        for &i in &wanted {
                            let args = WaitArgs { timeout_ms: 60_000, ..WaitArgs::default() };
                            owner.lock(keys[i], LockMode::X, args).expect("it is given back");
                            assert_eq!(users[i].fetch_add(1, SeqCst), 0, "two have it");
                        }
                        rng.shuffle(&mut wanted);
                        for i in wanted {
                            users[i].fetch_sub(1, SeqCst);
                            assert!(owner.unlock(&keys[i]));
                        }
                    }
                });
            }
        });
        assert!(manager.list(None).is_empty());
        let bucket = manager.bucket(&keys[0]);
        assert!(bucket.more.is_empty() && bucket.index.is_none(), "what is idle is forgotten");
    }
}
