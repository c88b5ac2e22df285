//! The lock manager by itself: order, conversion, timeouts, caches, and a many-thread model check.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::LockMode::*;
use super::*;
use pages::TxnId;

pub(super) fn table(id: u32) -> Resource {
    Resource { db: 1, what: LockTarget::Table(id) }
}

pub(super) fn now() -> WaitArgs {
    WaitArgs { timeout_ms: 0, ..WaitArgs::default() }
}

pub(super) fn owners(n: usize) -> (Arc<LockManager>, Vec<LockOwner>) {
    let m = LockManager::new();
    let list = (0..n).map(|i| LockOwner::new(m.clone(), 51 + i as u32)).collect();
    (m, list)
}

pub(super) fn until_waiting(m: &LockManager, n: usize) {
    let start = Instant::now();
    while m.list(None).iter().filter(|l| l.status != LockStatus::Grant).count() < n {
        assert!(start.elapsed() < Duration::from_secs(10), "nobody waits");
        thread::yield_now();
    }
}

#[test]
fn relocking_and_conversion() {
    let (m, mut o) = owners(2);
    let (a, b) = o.split_at_mut(1);
    a[0].lock(table(1), IS, now()).unwrap();
    a[0].lock(table(1), IX, now()).unwrap();
    b[0].lock(table(1), IX, now()).unwrap();
    assert_eq!(a[0].lock(table(1), S, now()), Err(LockError::Timeout { resource: table(1) }));
    assert_eq!(a[0].mode_of(&table(1)), Some(IX));
    assert!(b[0].unlock(&table(1)));
    a[0].lock(table(1), S, now()).unwrap();
    assert_eq!(a[0].mode_of(&table(1)), Some(SIX));
    assert_eq!(m.list(Some(1)).len(), 1);
    assert_eq!(m.list(Some(2)).len(), 0);
    a[0].release_all();
    assert!(m.list(None).is_empty());
    assert_eq!(m.counters(), (0, 1));
}

#[test]
fn statement_locks_end_with_the_statement() {
    let (m, mut o) = owners(1);
    let a = &mut o[0];
    a.lock_statement(table(1), IS, now()).unwrap();
    a.lock_statement(table(2), IS, now()).unwrap();
    a.lock(table(2), IX, now()).unwrap();
    a.lock(table(3), IX, now()).unwrap();
    a.lock_statement(table(3), IS, now()).unwrap();
    a.end_statement();
    assert_eq!(
        (a.mode_of(&table(1)), a.mode_of(&table(2)), a.mode_of(&table(3))),
        (None, Some(IX), Some(IX))
    );
    assert_eq!(m.list(None).len(), 2);
}

/// What one part of a statement takes for a moment, another part of it keeps.
#[test]
fn a_lock_stays_as_long_as_anybody_has_asked_for() {
    let (m, mut o) = owners(1);
    let a = &mut o[0];
    let taken = |a: &mut LockOwner, id, until| a.lock_until(table(id), S, now(), until).unwrap();
    for id in 1..=4 {
        taken(a, id, LockDuration::GivenBack);
    }
    assert_eq!(a.held_until(&table(2), LockDuration::Transaction), Some(S));
    taken(a, 3, LockDuration::Statement);
    taken(a, 3, LockDuration::GivenBack);
    a.lock_until(table(4), U, now(), LockDuration::Transaction).unwrap();
    assert_eq!(a.held_until(&table(5), LockDuration::Transaction), None);
    assert_eq!(a.try_until(table(6), S, LockDuration::GivenBack), Ok(Grant::New));
    assert_eq!(a.try_until(table(6), S, LockDuration::GivenBack), Ok(Grant::Held));
    assert_eq!(a.try_until(table(6), U, LockDuration::GivenBack), Ok(Grant::Stronger));
    (1..=6).for_each(|id| a.unlock_taken(&table(id)));
    assert_eq!(a.mode_of(&table(6)), None);
    let modes = |a: &LockOwner| (1..=5).map(|id| a.mode_of(&table(id))).collect::<Vec<_>>();
    assert_eq!(modes(a), [None, Some(S), Some(S), Some(U), None]);
    a.end_statement();
    assert_eq!(modes(a), [None, Some(S), None, Some(U), None]);
    assert!(!a.holds(&table(1), S, true) && a.holds(&table(2), S, false));
    assert!(a.unlock(&table(2)) && a.unlock(&table(4)) && m.list(None).is_empty());
}

#[test]
fn many_locks_of_one_owner_use_the_index() {
    let (m, mut o) = owners(1);
    let a = &mut o[0];
    for round in 0..3 {
        for i in 0..200 {
            a.lock(table(i), X, now()).unwrap();
        }
        for i in (0..200).step_by(2 + round) {
            assert!(a.unlock(&table(i)));
            assert!(!a.unlock(&table(i)));
            assert_eq!(a.mode_of(&table(i)), None);
        }
        for i in 0..200 {
            let gone = i % (2 + round as u32) == 0;
            assert_eq!(a.mode_of(&table(i)), (!gone).then_some(X));
        }
    }
    let held = a.len();
    assert_eq!(m.list(None).len(), held);
    o.clear();
    assert!(m.list(None).is_empty());
}

/// Rows that are tried, few and many, some of which others hold: what the owner knows is what the
/// lock table has.
#[test]
fn tried_rows_agree_with_the_lock_table() {
    let (m, mut o) = owners(2);
    let key = |hash| Resource { db: 1, what: LockTarget::Key { unit: 1, hash } };
    let mut rng = fastrand::Rng::with_seed(11);
    for most in [4, 18, 700] {
        let mut model: std::collections::BTreeMap<u64, LockMode> =
            std::collections::BTreeMap::new();
        let theirs = key(most + 1);
        o[1].lock(theirs, X, now()).unwrap();
        for _ in 0..10_000 {
            let (n, mode) = (rng.u64(..=most), [S, U, RangeSS][rng.usize(..3)]);
            let before = model.get(&n).copied();
            if rng.u8(..5) == 0 {
                assert_eq!(o[0].unlock(&key(n)), before.is_some());
                model.remove(&n);
                continue;
            }
            let grant = match before {
                None => Grant::New,
                Some(held) if held.covers(mode) => Grant::Held,
                Some(_) => Grant::Stronger,
            };
            assert_eq!(o[0].try_until(key(n), mode, LockDuration::Transaction), Ok(grant));
            model.insert(n, before.map_or(mode, |held| held.join(mode)));
            assert_eq!(o[0].try_until(theirs, S, LockDuration::Transaction), Ok(Grant::Busy));
        }
        assert_eq!(o[0].len(), model.len());
        assert!(model.iter().all(|(n, mode)| o[0].mode_of(&key(*n)) == Some(*mode)));
        assert_eq!(m.list(None).len(), model.len() + 1);
        o.iter_mut().for_each(LockOwner::release_all);
        assert!(m.list(None).is_empty());
    }
}

#[test]
fn queue_is_fair_and_timeouts_let_the_next_pass() {
    let (m, mut o) = owners(3);
    let mut c = o.pop().unwrap();
    let mut b = o.pop().unwrap();
    let mut a = o.pop().unwrap();
    a.lock(table(1), S, now()).unwrap();
    let (tx, rx) = mpsc::channel();
    let tb = thread::spawn(move || {
        let start = Instant::now();
        let r = b.lock(table(1), X, WaitArgs { timeout_ms: 120, ..WaitArgs::default() });
        (r, start.elapsed())
    });
    until_waiting(&m, 1);
    // S would fit beside S, but X came first.
    let tc = thread::spawn(move || {
        c.lock(table(1), S, WaitArgs::default()).unwrap();
        tx.send(()).unwrap();
    });
    until_waiting(&m, 2);
    assert!(rx.try_recv().is_err());
    let (r, waited) = tb.join().unwrap();
    assert_eq!(r, Err(LockError::Timeout { resource: table(1) }));
    assert!(waited >= Duration::from_millis(120));
    rx.recv_timeout(Duration::from_secs(5)).unwrap();
    tc.join().unwrap();
    let stats = m.wait_stats();
    assert_eq!(
        stats.iter().map(|s| (s.wait_type, s.count)).collect::<Vec<_>>(),
        [("LCK_M_S", 1), ("LCK_M_X", 1)]
    );
    assert!(stats[1].total_us >= 120_000 && stats[1].max_us == stats[1].total_us);
}

#[test]
fn who_goes_beside_all_that_wait_does_not_queue() {
    let (m, mut o) = owners(4);
    let mut d = o.pop().unwrap();
    let mut c = o.pop().unwrap();
    let mut b = o.pop().unwrap();
    let mut a = o.pop().unwrap();
    a.lock(table(1), S, now()).unwrap();
    let tb = thread::spawn(move || {
        b.lock(table(1), IX, WaitArgs::default()).unwrap();
        b
    });
    until_waiting(&m, 1);
    for beside in [SchS, IS] {
        c.lock(table(1), beside, now()).unwrap();
        c.release_all();
    }
    // Those that would come between stay in line.
    for between in [S, U] {
        assert!(c.lock(table(1), between, now()).is_err(), "{between:?} keeps IX waiting");
    }
    let td = thread::spawn(move || {
        d.lock(table(1), SchM, WaitArgs::default()).unwrap();
    });
    until_waiting(&m, 2);
    for mode in [SchS, IS] {
        let refused = c.lock(table(1), mode, now());
        assert!(refused.is_err(), "{mode:?}: readers who keep coming would keep SCH-M waiting");
    }
    a.release_all();
    tb.join().unwrap().release_all();
    td.join().unwrap();
    c.lock(table(1), SchS, now()).unwrap();
}

#[test]
fn conversions_go_first() {
    let (m, mut o) = owners(3);
    let mut c = o.pop().unwrap();
    let mut b = o.pop().unwrap();
    let mut a = o.pop().unwrap();
    a.lock(table(1), S, now()).unwrap();
    b.lock(table(1), S, now()).unwrap();
    let order = Arc::new(AtomicU64::new(0));
    let (o1, o2) = (order.clone(), order.clone());
    let tc = thread::spawn(move || {
        c.lock(table(1), X, WaitArgs::default()).unwrap();
        o1.fetch_add(1, Ordering::SeqCst)
    });
    until_waiting(&m, 1);
    let tb = thread::spawn(move || {
        b.lock(table(1), X, WaitArgs::default()).unwrap();
        let n = o2.fetch_add(1, Ordering::SeqCst);
        b.release_all();
        n
    });
    until_waiting(&m, 2);
    a.release_all();
    assert_eq!(tb.join().unwrap(), 0);
    assert_eq!(tc.join().unwrap(), 1);
}

#[test]
fn waiting_for_a_transaction() {
    let (m, mut o) = owners(2);
    let (a, b) = (o.remove(0), o.remove(0));
    let gone = Resource { db: 1, what: LockTarget::Txn(TxnId(5)) };
    assert_eq!(m.wait_txn(a.who(), 1, TxnId(5), WaitArgs::default(), || None), Ok(()));
    assert_eq!(
        m.wait_txn(a.who(), 1, TxnId(5), now(), || Some(b.who())),
        Err(LockError::Timeout { resource: gone })
    );
    let m1 = m.clone();
    let (who, other) = (a.who(), b.who());
    let session = who.session;
    let t =
        thread::spawn(move || m1.wait_txn(who, 1, TxnId(5), WaitArgs::default(), || Some(other)));
    until_waiting(&m, 1);
    let blockers: Vec<_> = m.waiting().iter().map(|w| (w.who, w.blocker)).collect();
    assert_eq!(blockers, [(who, Some(other))]);
    m.txn_ended(1, TxnId(5));
    assert_eq!(t.join().unwrap(), Ok(()));
    let m1 = m.clone();
    let t =
        thread::spawn(move || m1.wait_txn(who, 1, TxnId(5), WaitArgs::default(), || Some(other)));
    while !m.cancel(session) {
        thread::yield_now();
    }
    assert_eq!(t.join().unwrap(), Err(LockError::Cancelled { resource: gone }));
    assert!(m.list(None).is_empty());
}

/// Threads lock random tables in random modes and check by counters that no two incompatible modes
/// are ever held at once; deadlocks occur and are all resolved.
#[test]
fn random_load_never_grants_conflicts_and_never_hangs() {
    const TABLES: usize = 4;
    let m = LockManager::new();
    let held: Arc<Vec<[AtomicI64; 20]>> =
        Arc::new((0..TABLES).map(|_| std::array::from_fn(|_| AtomicI64::new(0))).collect());
    let victims = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..6)
        .map(|t| {
            let (m, held, victims) = (m.clone(), held.clone(), victims.clone());
            thread::spawn(move || {
                let mut rng = fastrand::Rng::with_seed(t);
                for _ in 0..400 {
                    let mut o = LockOwner::new(m.clone(), t as u32);
                    let mut mine: Vec<(usize, LockMode)> = Vec::new();
                    for _ in 0..rng.usize(1..4) {
                        let (i, mode) =
                            (rng.usize(0..TABLES), [IS, IX, S, U, X, SIX][rng.usize(0..6)]);
                        if o.lock(table(i as u32), mode, WaitArgs::default()).is_err() {
                            victims.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        let now = o.mode_of(&table(i as u32)).unwrap();
                        if let Some(k) = mine.iter().position(|(j, _)| *j == i) {
                            held[i][mine[k].1 as usize].fetch_sub(1, Ordering::SeqCst);
                            mine.remove(k);
                        }
                        for other in super::modes::ALL_MODES {
                            if !other.compatible(now) {
                                assert_eq!(
                                    held[i][other as usize].load(Ordering::SeqCst),
                                    0,
                                    "{now:?} beside {other:?}"
                                );
                            }
                        }
                        held[i][now as usize].fetch_add(1, Ordering::SeqCst);
                        mine.push((i, now));
                        thread::yield_now();
                    }
                    for (i, mode) in mine {
                        held[i][mode as usize].fetch_sub(1, Ordering::SeqCst);
                    }
                    drop(o);
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    assert_eq!(m.counters().0, victims.load(Ordering::Relaxed));
    assert!(m.list(None).is_empty());
}

#[test]
fn what_is_to_stop_does_not_begin_to_wait() {
    let m = LockManager::new();
    m.set_interrupted(|| true);
    let (mut a, mut b) = (LockOwner::new(m.clone(), 51), LockOwner::new(m.clone(), 52));
    a.lock(table(1), X, WaitArgs::default()).unwrap();
    let refused = b.lock(table(1), X, WaitArgs::default());
    assert!(matches!(refused, Err(LockError::Cancelled { .. })), "{refused:?}");
    // What can be had at once is.
    b.lock(table(2), X, WaitArgs::default()).unwrap();
}

/// A lock that many hold, against a plain list of its holders.
#[test]
fn many_holders_agree_with_a_plain_list() {
    let m = LockManager::new();
    let mut rng = fastrand::Rng::with_seed(11);
    let mut o: Vec<LockOwner> = (0..100).map(|i| LockOwner::new(m.clone(), 51 + i)).collect();
    for step in 0..20_000 {
        // Many come, then many go.
        let (i, busy) = (rng.usize(..o.len()), step / 1000 % 2 == 0);
        let mode = [SchS, IS, IX, S, U, SIX, X][rng.usize(..7)];
        if rng.u8(..10) < if busy { 2 } else { 8 } {
            o[i].release_all();
        } else {
            let target = o[i].mode_of(&table(1)).map_or(mode, |held| held.join(mode));
            let fits =
                |other: &LockOwner| other.mode_of(&table(1)).is_none_or(|m| m.compatible(target));
            let free = (0..o.len()).all(|other| other == i || fits(&o[other]));
            let got = if busy && rng.bool() {
                Err(())
            } else {
                o[i].lock(table(1), mode, now()).map_err(drop)
            };
            if got.is_ok() {
                assert!(free, "{mode:?} was granted");
            } else if !m.conflicts(o[i].id(), table(1), target) {
                assert!(free);
            } else {
                assert!(!free, "{mode:?} was refused");
            }
        }
        if step % 50 == 0 {
            let mut held: Vec<_> = m.list(None).iter().map(|l| (l.owner, l.mode)).collect();
            let mut expected: Vec<_> =
                o.iter().filter_map(|o| o.mode_of(&table(1)).map(|mode| (o.id(), mode))).collect();
            held.sort_by_key(|(owner, _)| *owner);
            expected.sort_by_key(|(owner, _)| *owner);
            assert_eq!(held, expected);
        }
    }
}

/// Memory for so many bytes of locks.
struct FewBytes(AtomicI64);

impl LockMemory for FewBytes {
    fn take(&self, bytes: usize, own: usize) -> bool {
        assert!(own >= bytes, "what is asked for is part of what is then held");
        let enough = self.0.load(Ordering::SeqCst) >= bytes as i64;
        if enough {
            self.0.fetch_sub(bytes as i64, Ordering::SeqCst);
        }
        enough
    }

    fn give(&self, bytes: usize) {
        self.0.fetch_add(bytes as i64, Ordering::SeqCst);
    }
}

#[test]
fn many_locks_take_memory_and_few_do_not() {
    const MEMORY: i64 = 1 << 20;
    let (m, mut o) = owners(2);
    let memory: &'static FewBytes = Box::leak(Box::new(FewBytes(AtomicI64::new(MEMORY))));
    struct SharedBytes(&'static FewBytes);
    impl LockMemory for SharedBytes {
        fn take(&self, bytes: usize, own: usize) -> bool {
            self.0.take(bytes, own)
        }
        fn give(&self, bytes: usize) {
            self.0.give(bytes);
        }
    }
    m.set_memory(Box::new(SharedBytes(memory)));
    let key = |hash| Resource { db: 1, what: LockTarget::Key { unit: 1, hash } };
    let mut taken = 0;
    let refused = loop {
        match o[0].lock(key(taken), S, now()) {
            Ok(()) => taken += 1,
            Err(e) => break e,
        }
    };
    assert_eq!(refused, LockError::NoMemory { resource: key(taken) });
    assert!(taken > 2000 && taken < 20_000, "{taken}");
    // What it has it can lock again; others have a few locks in any case.
    o[0].lock(key(0), X, now()).unwrap();
    (0..200).for_each(|id| o[1].lock(table(id), S, now()).unwrap());
    assert!(o[1].lock(key(1), X, now()).is_err(), "what was granted is held");
    for hash in 0..taken / 2 {
        assert!(o[0].unlock(&key(hash)));
    }
    let left = memory.0.load(Ordering::SeqCst);
    assert!(left > MEMORY / 3, "half of it is back: {left}");
    (0..100).for_each(|hash| o[0].lock(key(hash), S, now()).unwrap());
    o[0].release_all();
    assert_eq!(memory.0.load(Ordering::SeqCst), MEMORY);
    assert!(o[0].is_empty() && m.list(None).len() == 200);
}
