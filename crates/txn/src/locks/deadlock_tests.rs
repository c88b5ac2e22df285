//! Deadlocks: of conversions, rows, several owners of a session; victims; repeated searches; what
//! is told of them.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::LockMode::*;
use super::tests::{now, owners, table, until_waiting};
use super::*;
use pages::TxnId;

#[test]
fn deadlock_by_conversion_has_one_victim() {
    let (m, o) = owners(2);
    let done: Vec<_> = o
        .into_iter()
        .enumerate()
        .map(|(i, mut a)| {
            a.lock(table(1), S, now()).unwrap();
            thread::spawn(move || {
                let args = WaitArgs { log_bytes: 100 - i as u64, ..WaitArgs::default() };
                let r = a.lock(table(1), X, args);
                drop(a);
                r
            })
        })
        .collect();
    let r: Vec<_> = done.into_iter().map(|t| t.join().unwrap()).collect();
    // Both must ask before the first gets its X for a deadlock to arise; then the one with less log
    // gives way.
    if m.counters().0 == 1 {
        assert_eq!(r, [Ok(()), Err(LockError::Deadlock { resource: table(1), session: 52 })]);
    } else {
        assert!(r.iter().all(Result::is_ok));
    }
    assert!(m.list(None).is_empty());
}

/// Three owners in a ring, one edge of which is a wait for a transaction.
#[test]
fn deadlock_over_rows_respects_priority() {
    let (m, mut o) = owners(3);
    let mut c = o.pop().unwrap();
    let mut b = o.pop().unwrap();
    let mut a = o.pop().unwrap();
    a.lock(table(1), X, now()).unwrap();
    b.lock(table(2), X, now()).unwrap();
    let txn = TxnId(77); // run by c
    let c_who = c.who();
    let (m1, m2) = (m.clone(), m.clone());
    let ta = thread::spawn(move || {
        let r = a.lock(table(2), X, WaitArgs { priority: 1, ..WaitArgs::default() });
        a.release_all();
        r
    });
    let tb = thread::spawn(move || {
        let args = WaitArgs { priority: -5, ..WaitArgs::default() };
        let r = m1.wait_txn(b.who(), 1, txn, args, || Some(c_who));
        b.release_all();
        r
    });
    until_waiting(&m, 2);
    let r = c.lock(table(1), X, WaitArgs::default());
    assert_eq!(r, Ok(()));
    m2.txn_ended(1, txn);
    assert_eq!(ta.join().unwrap(), Ok(()));
    let gone = Resource { db: 1, what: LockTarget::Txn(txn) };
    assert_eq!(tb.join().unwrap(), Err(LockError::Deadlock { resource: gone, session: 52 }));
    assert_eq!(m.counters().0, 1);
}

/// Sessions that read and then write one row: each gets its turn. A reader that was let past a
/// conversion which waits would convert, too, be the victim, and come again.
#[test]
fn sessions_that_read_and_convert_all_get_their_turn() {
    // Nearly each turn takes a search for deadlocks, a tenth of a second.
    const TURNS: u32 = 12;
    let m = LockManager::new();
    let start = Instant::now();
    let threads: Vec<_> = (0..5)
        .map(|session| {
            let m = m.clone();
            thread::spawn(move || {
                let mut rng = fastrand::Rng::with_seed(session.into());
                let mut turns = 0;
                while turns < TURNS {
                    assert!(
                        start.elapsed() < Duration::from_secs(60),
                        "{session} has had {turns} turns"
                    );
                    let mut o = LockOwner::new(m.clone(), 51 + session);
                    // Nobody who holds nothing is a victim.
                    o.lock(table(1), S, WaitArgs::default()).unwrap();
                    thread::sleep(Duration::from_micros(rng.u64(..300)));
                    let args = WaitArgs { timeout_ms: 30_000, ..WaitArgs::default() };
                    match o.lock(table(1), X, args) {
                        Ok(()) => turns += 1,
                        Err(e) => assert!(matches!(e, LockError::Deadlock { .. }), "{e}"),
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(m.counters().0 > 0, "there was no deadlock");
}

#[test]
fn a_new_request_does_not_pass_a_conversion_that_waits() {
    let (m, mut o) = owners(4);
    let (mut d, mut c, mut b, mut a) =
        (o.pop().unwrap(), o.pop().unwrap(), o.pop().unwrap(), o.pop().unwrap());
    for o in [&mut a, &mut b, &mut c] {
        o.lock(table(1), S, now()).unwrap();
    }
    let ta = thread::spawn(move || {
        a.lock(table(1), X, WaitArgs::default()).unwrap();
        a
    });
    until_waiting(&m, 1);
    let td = thread::spawn(move || d.lock(table(1), S, WaitArgs::default()).map(|()| d.id()));
    until_waiting(&m, 2);
    b.release_all();
    // Was the reader granted when one of the holders left, it is among them now.
    assert_eq!(m.list(None).iter().filter(|l| l.status == LockStatus::Grant).count(), 2);
    c.release_all();
    drop(ta.join().unwrap());
    td.join().unwrap().unwrap();
}

/// A session has an owner in each of two databases, and one for application locks: they wait as
/// one.
#[test]
fn a_deadlock_over_owners_of_sessions_has_one_victim() {
    let m = LockManager::new();
    let in_db = |db| Resource { db, what: LockTarget::Table(1) };
    let app = Resource { db: 1, what: LockTarget::Application(9) };
    for (first, second) in [(in_db(1), in_db(2)), (app, in_db(2)), (in_db(1), app)] {
        let mut held: Vec<LockOwner> =
            (51..53).map(|session| LockOwner::new(m.clone(), session)).collect();
        held[0].lock(first, X, now()).unwrap();
        held[1].lock(second, X, now()).unwrap();
        let before = m.counters().0;
        let threads: Vec<_> = [second, first]
            .into_iter()
            .zip(held)
            .map(|(wanted, held)| {
                let mut other = LockOwner::new(m.clone(), held.who().session);
                thread::spawn(move || {
                    let args = WaitArgs { timeout_ms: 30_000, ..WaitArgs::default() };
                    let got = other.lock(wanted, X, args);
                    drop(held);
                    got.is_ok()
                })
            })
            .collect();
        let got: Vec<bool> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(got.iter().filter(|got| **got).count(), 1, "{first:?} {second:?}");
        assert_eq!(m.counters().0, before + 1);
    }
    assert!(m.list(None).is_empty());
}

/// The edge that closes the cycle comes without a new wait: only a search that is repeated finds
/// it.
#[test]
fn what_one_search_does_not_find_another_does() {
    let (m, mut o) = owners(3);
    let (mut c, mut b, mut a) = (o.pop().unwrap(), o.pop().unwrap(), o.pop().unwrap());
    let b_session = b.who().session;
    a.lock(table(2), X, now()).unwrap();
    let mut b_too = LockOwner::new(m.clone(), b_session);
    b_too.lock(table(1), IS, now()).unwrap();
    c.lock(table(1), S, now()).unwrap();
    let args = WaitArgs { timeout_ms: 30_000, ..WaitArgs::default() };
    let ta = thread::spawn(move || {
        let got = a.lock(table(1), IX, args);
        a.release_all();
        got
    });
    let tb = thread::spawn(move || b.lock(table(2), X, args));
    until_waiting(&m, 2);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(m.counters(), (0, 0));
    b_too.lock(table(1), S, now()).unwrap();
    let (ra, rb) = (ta.join().unwrap(), tb.join().unwrap());
    assert!(
        matches!(rb, Err(LockError::Deadlock { .. }))
            != matches!(ra, Err(LockError::Deadlock { .. }))
    );
    assert_eq!(m.counters().0, 1);
}

/// What a deadlock's listener is told.
#[test]
fn the_listener_is_told_of_the_cycle() {
    let (m, mut o) = owners(2);
    let told = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let list = told.clone();
    m.set_deadlock_listener(move |deadlock| list.lock().push(deadlock.clone()));
    let (mut b, mut a) = (o.pop().unwrap(), o.pop().unwrap());
    let (a_id, b_id) = (a.id(), b.id());
    a.lock(table(1), S, now()).unwrap();
    b.lock(table(2), X, now()).unwrap();
    let ta = thread::spawn(move || {
        let args = WaitArgs { priority: -3, log_bytes: 900, ..WaitArgs::default() };
        a.lock(table(2), U, args).is_err()
    });
    until_waiting(&m, 1);
    b.lock(table(1), X, WaitArgs { log_bytes: 4, ..WaitArgs::default() }).unwrap();
    assert!(ta.join().unwrap());
    let told = told.lock();
    let [deadlock] = &told[..] else { panic!("{told:?}") };
    let of = |id| deadlock.parties.iter().find(|p| p.who.id == id).unwrap();
    let (a, b) = (of(a_id), of(b_id));
    assert_eq!(deadlock.parties[deadlock.victim].who.id, a_id);
    assert_eq!((a.priority, a.log_bytes, a.mode, a.resource), (-3, 900, U, table(2)));
    assert_eq!((a.blocked_by.who.id, a.blocked_by.block), (b_id, Block::Holds(X)));
    assert_eq!((b.blocked_by.who.id, b.blocked_by.block), (a_id, Block::Holds(S)));
}
