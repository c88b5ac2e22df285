//! Locks that owners keep: excluded when they have to be, listed once, forgotten when given back.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::LockMode::*;
use super::super::modes::ALL_MODES;
use super::super::tests::{now, owners, table};
use super::super::{Grant, LockDuration, LockError, LockOwner, WaitArgs};
use super::*;

/// Owners that have begun again, so that they keep what they may.
fn keepers(n: usize) -> (Arc<LockManager>, Vec<LockOwner>) {
    let (manager, mut list) = owners(n);
    list.iter_mut().for_each(LockOwner::begin_again);
    (manager, list)
}

/// Locks of a table that are in the lock table.
fn in_table(manager: &LockManager, r: &Resource) -> usize {
    manager.bucket(r).get(r).map_or(0, |entry| entry.holders.iter().count())
}

fn kept(manager: &LockManager) -> usize {
    manager.list_weak(None).len()
}

#[test]
fn modes_that_are_kept_go_beside_one_another() {
    let weak = ALL_MODES.into_iter().filter(|mode| goes_beside(*mode));
    for (a, b) in weak.clone().flat_map(|a| weak.clone().map(move |b| (a, b))) {
        assert!(a.compatible(b) && goes_beside(a.join(b)), "{a:?} {b:?}");
    }
    assert_eq!(weak.count(), 4);
}

#[test]
fn who_excludes_finds_what_is_kept() {
    let (m, mut o) = keepers(3);
    let r = table(1);
    o[0].lock(r, IX, now()).unwrap();
    o[1].lock_statement(r, IS, now()).unwrap();
    assert_eq!(
        (kept(&m), in_table(&m, &r), m.list(Some(1)).len(), m.list(Some(2)).len()),
        (2, 0, 2, 0)
    );
    assert_eq!(m.mode_held(o[0].id(), &r), Some(IX));
    assert_eq!(o[2].lock(r, S, now()), Err(LockError::Timeout { resource: r }));
    assert_eq!((kept(&m), in_table(&m, &r), m.list(None).len()), (0, 2, 2));
    assert!(m.keepers.is_quiet(), "it has given up");
    assert_eq!(m.mode_held(o[0].id(), &r), Some(IX));
    assert_eq!(o[2].try_until(r, X, LockDuration::Transaction), Ok(Grant::Busy));
    assert!(m.keepers.is_quiet());
    assert!(o[0].unlock(&r));
    o[2].lock(r, S, now()).unwrap();
    assert_eq!(o[0].lock(r, IX, now()), Err(LockError::Timeout { resource: r }));
    o[0].lock(r, IS, now()).unwrap();
    assert_eq!((kept(&m), in_table(&m, &r)), (0, 3), "nobody keeps what somebody excludes");
    o[1].end_statement();
    o[0].release_all();
    o[2].release_all();
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
    o[0].lock(r, IX, now()).unwrap();
    assert_eq!((kept(&m), in_table(&m, &r)), (1, 0), "it is kept again");
    drop(o);
    assert!(m.list(None).is_empty() && m.keepers.of(1).is_none());
}

#[test]
fn conversions_are_of_the_lock_table() {
    let (m, mut o) = keepers(2);
    let r = table(1);
    o[0].lock(r, SchS, now()).unwrap();
    o[0].lock(r, IX, now()).unwrap();
    assert_eq!((kept(&m), in_table(&m, &r), o[0].mode_of(&r)), (0, 1, Some(IX)));
    o[0].lock(r, S, now()).unwrap();
    assert_eq!(o[0].mode_of(&r), Some(SIX));
    o[0].lock(r, X, now()).unwrap();
    assert_eq!(o[1].lock(r, IS, now()), Err(LockError::Timeout { resource: r }));
    o[0].release_all();
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
    // From what is kept to what excludes; beside another it fails, and the lock is what it was.
    o[0].lock(r, IS, now()).unwrap();
    o[1].lock(r, IX, now()).unwrap();
    assert!(o[0].lock(r, S, now()).is_err());
    assert_eq!((o[0].mode_of(&r), m.list(None).len()), (Some(IS), 2));
    assert!(o[1].unlock(&r));
    assert_eq!(o[0].try_until(r, S, LockDuration::Transaction), Ok(Grant::Stronger));
    o[0].release_all();
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
    // Only some are kept, of one database, and of tables.
    let other = Resource { db: 2, ..r };
    let key = Resource { db: 1, what: LockTarget::Key { unit: 1, hash: 1 } };
    (0..40).for_each(|id| o[0].lock(table(id), IS, now()).unwrap());
    o[0].lock(other, IS, now()).unwrap();
    o[0].lock(key, S, now()).unwrap();
    assert_eq!((kept(&m), m.list(None).len()), (MOST, 42));
    o[0].release_all();
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
}

/// Sessions that have the same place give back what is their own; who excludes finds all of it.
#[test]
fn sessions_may_share_a_place() {
    let m = LockManager::new();
    let mut o: Vec<LockOwner> =
        (0..3).map(|n| LockOwner::new(m.clone(), 51 + n * PLACES as u32)).collect();
    o.iter_mut().for_each(LockOwner::begin_again);
    let r = table(1);
    o[0].lock(r, IS, now()).unwrap();
    o[1].lock(r, IX, now()).unwrap();
    assert_eq!((kept(&m), m.keepers.of(1).unwrap().used().count()), (2, 1));
    assert_eq!([0, 1].map(|n: usize| m.mode_held(o[n].id(), &r)), [Some(IS), Some(IX)]);
    assert!(o[0].unlock(&r));
    assert_eq!((kept(&m), m.mode_held(o[1].id(), &r)), (1, Some(IX)));
    o[0].lock(r, IS, now()).unwrap();
    // What one of them converts is its own.
    o[0].lock(r, IX, now()).unwrap();
    assert_eq!((kept(&m), in_table(&m, &r), m.mode_held(o[1].id(), &r)), (1, 1, Some(IX)));
    assert_eq!(o[2].lock(r, S, now()), Err(LockError::Timeout { resource: r }));
    assert_eq!((kept(&m), in_table(&m, &r)), (0, 2));
    o.iter_mut().for_each(LockOwner::release_all);
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
}

/// Whoever excludes looks at a bounded number of places with a bounded number of locks, whether the
/// sessions hold locks or have only held some; what finds no room there is in the lock table.
#[test]
fn many_sessions_have_few_places() {
    const MANY: usize = PLACES * MOST * 3 / 2;
    let (m, mut o) = keepers(MANY + 1);
    let r = table(1);
    for owner in &mut o {
        owner.lock(table(2), IS, now()).unwrap();
        owner.release_all();
        owner.begin_again();
    }
    assert_eq!((m.keepers.of(1).unwrap().used().count(), kept(&m)), (PLACES, 0));
    o[..MANY].iter_mut().for_each(|owner| owner.lock(r, IX, now()).unwrap());
    let room = PLACES * MOST;
    assert_eq!((kept(&m), in_table(&m, &r), m.list(None).len()), (room, MANY - room, MANY));
    assert_eq!(o[MANY].lock(r, X, now()), Err(LockError::Timeout { resource: r }));
    assert_eq!((kept(&m), in_table(&m, &r), m.list(None).len()), (0, MANY, MANY));
    o.iter_mut().for_each(LockOwner::release_all);
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
    o[MANY].lock(r, X, now()).unwrap();
}

#[test]
fn a_deadlock_over_kept_locks_is_found() {
    let (m, mut o) = keepers(2);
    let (a, b) = o.split_at_mut(1);
    let args = WaitArgs { timeout_ms: 60_000, ..WaitArgs::default() };
    a[0].lock(table(1), IX, args).unwrap();
    b[0].lock(table(2), IX, args).unwrap();
    assert_eq!(kept(&m), 2);
    // Whoever is the victim gives all back, and the other goes on.
    let ask = |owner: &mut LockOwner, id: u32| {
        let result = owner.lock(table(id), X, args);
        owner.release_all();
        result
    };
    let results = thread::scope(|scope| {
        let first = scope.spawn(|| ask(&mut a[0], 2));
        let second = ask(&mut b[0], 1);
        [first.join().unwrap(), second]
    });
    let victims = results.iter().filter(|r| matches!(r, Err(LockError::Deadlock { .. }))).count();
    assert_eq!((victims, results.iter().filter(|r| r.is_ok()).count()), (1, 1));
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
}

/// A lock that is moved while a list is made is in the list, once.
#[test]
fn what_is_moved_is_listed_once() {
    let (m, mut o) = keepers(2);
    let (a, b) = o.split_at_mut(1);
    let (a, r) = (&mut a[0], table(1));
    let over = AtomicBool::new(false);
    let mut seen = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                // Whether it gets it or not.
                let _ = b[0].lock(r, X, now());
                b[0].release_all();
            }
        });
        let args = WaitArgs { timeout_ms: 60_000, ..WaitArgs::default() };
        for _ in 0..1000 {
            a.begin_again();
            let locked = a.lock(r, IX, args);
            let listed: Vec<LockInfo> =
                m.list(Some(1)).into_iter().filter(|l| l.owner == a.id()).collect();
            seen.push((locked, listed.len(), m.mode_held(a.id(), &r)));
            a.release_all();
        }
        over.store(true, Ordering::SeqCst);
    });
    let wrong = seen.iter().position(|seen| *seen != (Ok(()), 1, Some(IX)));
    assert_eq!(wrong.map(|at| &seen[at]), None);
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
}

/// Owners that lock tables weakly and exclusively, convert, begin again and end: an exclusive
/// lock and another one on the same table are never held at once by two of them.
#[test]
fn nobody_is_beside_who_excludes() {
    const TABLES: usize = 3;
    let m = LockManager::new();
    // Of each table: how many have it weakly, or a large negative number.
    let users: [AtomicI64; TABLES] = Default::default();
    let end = Instant::now() + Duration::from_millis(400);
    thread::scope(|scope| {
        for seed in 0..6u32 {
            let (m, users) = (&m, &users);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(u64::from(seed));
                let args = WaitArgs { timeout_ms: 60_000, ..WaitArgs::default() };
                // Every second one has the same place.
                let session = 51 + seed * (PLACES as u32 / 2);
                let mut owner = LockOwner::new(m.clone(), session);
                while Instant::now() < end {
                    if rng.u32(..50) == 0 {
                        owner = LockOwner::new(m.clone(), session);
                    }
                    owner.begin_again();
                    let at = rng.usize(..TABLES);
                    let r = table(at as u32);
                    if rng.u32(..8) > 0 {
                        owner.lock(r, if rng.bool() { IX } else { IS }, args).unwrap();
                        assert!(
                            users[at].fetch_add(1, Ordering::SeqCst) >= 0,
                            "beside who excludes"
                        );
                        users[at].fetch_sub(1, Ordering::SeqCst);
                    }
                    // Another one that converts may have to be the victim.
                    if rng.u32(..8) == 0 && owner.lock(r, X, args).is_ok() {
                        assert_eq!(
                            users[at].fetch_sub(1 << 32, Ordering::SeqCst),
                            0,
                            "it excludes"
                        );
                        users[at].fetch_add(1 << 32, Ordering::SeqCst);
                    }
                    owner.release_all();
                }
            });
        }
    });
    assert!(m.list(None).is_empty() && m.keepers.is_quiet());
    assert!(m.keepers.of(1).is_none());
}
