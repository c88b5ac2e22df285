//! Owners in the queue of a lock when others ahead give up, are granted and give back: nobody
//! waits for longer than for those that conflict, and deadlocks are told from queues.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::LockMode::*;
use super::table::{LockAnswer, LockEntry};
use super::tests::{now, owners, table, until_waiting};
use super::waits::{Verdict, Waiter};
use super::*;

/// Locks in a thread of its own; gives the owner back.
fn locking(
    mut owner: LockOwner,
    resource: Resource,
    mode: LockMode,
    args: WaitArgs,
) -> JoinHandle<(LockOwner, Result<(), LockError>)> {
    thread::spawn(move || {
        let got = owner.lock(resource, mode, args);
        (owner, got)
    })
}

fn until_held(m: &LockManager, owner: OwnerId, resource: Resource, mode: LockMode) {
    let start = Instant::now();
    while m.mode_held(owner, &resource) != Some(mode) {
        assert!(start.elapsed() < Duration::from_secs(10), "{mode:?} is not granted");
        thread::yield_now();
    }
}

/// How the one in between gives up.
#[derive(Clone, Copy, Debug)]
enum GiveUp {
    Timeout,
    Cancel,
    Deadlock,
}

/// IX waits for the holder of S, X behind it, and IS, which goes beside S and IX, behind X alone.
#[test]
fn who_waited_for_the_one_that_gives_up_is_granted_past_the_others() {
    for way in [GiveUp::Timeout, GiveUp::Cancel, GiveUp::Deadlock] {
        let (m, o) = owners(4);
        let Ok([mut a, b, mut c, d]) = <[LockOwner; 4]>::try_from(o) else { unreachable!() };
        let (b_id, c_session, d_id) = (b.id(), c.who().session, d.id());
        a.lock(table(1), S, now()).unwrap();
        c.lock(table(2), X, now()).unwrap();
        let b = locking(b, table(1), IX, WaitArgs::default());
        until_waiting(&m, 1);
        let timeout_ms = if matches!(way, GiveUp::Timeout) { 2_000 } else { -1 };
        let c =
            locking(c, table(1), X, WaitArgs { timeout_ms, priority: -10, ..WaitArgs::default() });
        until_waiting(&m, 2);
        let d = locking(d, table(1), IS, WaitArgs::default());
        until_waiting(&m, 3);
        let a = match way {
            GiveUp::Timeout => Ok(a),
            GiveUp::Cancel => {
                assert!(m.cancel(c_session));
                Ok(a)
            }
            GiveUp::Deadlock => Err(locking(a, table(2), S, WaitArgs::default())),
        };
        // While S is held and IX waits.
        until_held(&m, d_id, table(1), IS);
        assert_eq!(m.mode_held(b_id, &table(1)), None, "{way:?}");
        let (c, got) = c.join().unwrap();
        assert!(got.is_err(), "{way:?}");
        drop(c);
        let (d, got) = d.join().unwrap();
        assert_eq!(got, Ok(()));
        let a = a.unwrap_or_else(|waits| waits.join().unwrap().0);
        drop((a, d));
        assert_eq!(b.join().unwrap().1, Ok(()));
        assert_eq!(m.counters().0, u64::from(matches!(way, GiveUp::Deadlock)));
        assert!(m.list(None).is_empty(), "{way:?}");
    }
}

/// The same where the one in between is granted, and gives back while another one still waits.
#[test]
fn who_goes_beside_those_that_stay_is_granted_past_them() {
    let (m, o) = owners(5);
    let Ok([mut a, mut b, c, d, e]) = <[LockOwner; 5]>::try_from(o) else { unreachable!() };
    let (d_id, e_id) = (d.id(), e.id());
    a.lock(table(1), S, now()).unwrap();
    b.lock(table(1), U, now()).unwrap();
    let c = locking(c, table(1), U, WaitArgs::default());
    until_waiting(&m, 1);
    let d = locking(d, table(1), IX, WaitArgs::default());
    until_waiting(&m, 2);
    let e = locking(e, table(1), IU, WaitArgs::default());
    until_waiting(&m, 3);
    drop(b);
    let (c, got) = c.join().unwrap();
    assert_eq!(got, Ok(()));
    assert_eq!(m.mode_held(e_id, &table(1)), None);
    drop(c);
    until_held(&m, e_id, table(1), IU);
    assert_eq!(m.mode_held(d_id, &table(1)), None, "S is held");
    drop(a);
    assert_eq!(d.join().unwrap().1, Ok(()));
    assert_eq!(e.join().unwrap().1, Ok(()));
    assert!(m.list(None).is_empty());
}

/// An owner that is after another one in a queue, and goes beside it, does not wait for it.
#[test]
fn a_queue_is_no_deadlock_of_those_that_go_beside_one_another() {
    let (m, o) = owners(4);
    let Ok([mut a, mut b, c, mut d]) = <[LockOwner; 4]>::try_from(o) else { unreachable!() };
    a.lock(table(1), U, now()).unwrap();
    b.lock(table(1), S, now()).unwrap();
    d.lock(table(2), X, now()).unwrap();
    let c = locking(c, table(1), IX, WaitArgs::default());
    until_waiting(&m, 1);
    let d = locking(d, table(1), IU, WaitArgs::default());
    until_waiting(&m, 2);
    let b = locking(b, table(2), S, WaitArgs::default());
    until_waiting(&m, 3);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(m.counters().0, 0);
    drop(a);
    let (d, got) = d.join().unwrap();
    assert_eq!(got, Ok(()));
    drop(d);
    let (b, got) = b.join().unwrap();
    assert_eq!(got, Ok(()));
    drop(b);
    assert_eq!(c.join().unwrap().1, Ok(()));
    assert_eq!(m.counters().0, 0);
    assert!(m.list(None).is_empty());
}

/// A cycle over one that is ahead in the queue, behind another one that is beside the way.
#[test]
fn a_deadlock_over_one_farther_ahead_in_the_queue_is_found() {
    let (m, o) = owners(4);
    let Ok([mut a, b, c, mut d]) = <[LockOwner; 4]>::try_from(o) else { unreachable!() };
    a.lock(table(1), IS, now()).unwrap();
    d.lock(table(2), X, now()).unwrap();
    let b = locking(b, table(1), X, WaitArgs::default());
    until_waiting(&m, 1);
    // Behind X both, and beside one another.
    let c = locking(c, table(1), IX, WaitArgs::default());
    until_waiting(&m, 2);
    let d = locking(d, table(1), IX, WaitArgs { priority: -10, ..WaitArgs::default() });
    until_waiting(&m, 3);
    let a = locking(a, table(2), S, WaitArgs::default());
    let (d, got) = d.join().unwrap();
    assert!(matches!(got, Err(LockError::Deadlock { .. })), "{got:?}");
    drop(d);
    let (a, got) = a.join().unwrap();
    assert_eq!(got, Ok(()));
    drop(a);
    let (b, got) = b.join().unwrap();
    assert_eq!(got, Ok(()));
    drop(b);
    assert_eq!(c.join().unwrap().1, Ok(()));
    assert_eq!(m.counters().0, 1);
}

/// Random requests, ends and retreats, one after the other: whoever waits conflicts with another
/// holder, or, with a new request, with one ahead of it; no two holders conflict.
#[test]
fn nobody_waits_for_nothing_however_others_come_and_go() {
    let mut rng = fastrand::Rng::with_seed(3);
    for round in 0..300 {
        let mut entry = LockEntry::default();
        let mut waiting: BTreeMap<u64, Arc<Waiter>> = BTreeMap::new();
        let mut ticket = 0;
        let modes: &[LockMode] = if round % 2 == 0 {
            &[SchS, SchM, IS, IU, IX, S, U, SIX, X]
        } else {
            &[S, U, X, RangeSS, RangeSU, RangeIN, RangeXX]
        };
        for _ in 0..200 {
            let who = LockRequester { id: OwnerId(rng.u64(1..10)), session: 0 };
            match waiting.remove(&who.id.0) {
                Some(waiter) if rng.bool() => {
                    assert!(waiter.decide(Verdict::Cancelled));
                    entry.leave(&waiter);
                }
                Some(waiter) => drop(waiting.insert(who.id.0, waiter)),
                None if rng.u8(..3) == 0 => entry.give_back(who.id),
                None => {
                    let wanted = modes[rng.usize(..modes.len())];
                    if let LockAnswer::MustWait { mode, conversion } = entry.ask(who, wanted) {
                        ticket += 1;
                        let mut waiter =
                            Waiter::new(&who, table(1), mode, WaitArgs::default(), ticket);
                        waiter.conversion = conversion;
                        let waiter = Arc::new(waiter);
                        entry.queue.insert(waiter.clone());
                        waiting.insert(who.id.0, waiter);
                    }
                }
            }
            waiting.retain(|_, waiter| waiter.verdict() == Verdict::Waiting);
            assert_eq!(waiting.len(), entry.queue.len());
            check(&entry);
        }
    }
}

fn check(entry: &LockEntry) {
    let held: Vec<_> = entry.holders.iter().collect();
    for (at, one) in held.iter().enumerate() {
        let others = held[at + 1..].iter();
        others
            .for_each(|other| assert!(one.mode.compatible(other.mode), "{one:?} beside {other:?}"));
    }
    let mut ahead: Vec<LockMode> = Vec::new();
    for waiter in entry.queue.values() {
        let by_holder =
            held.iter().any(|g| g.who.id != waiter.owner && !g.mode.compatible(waiter.mode));
        let by_waiter =
            !waiter.conversion && ahead.iter().any(|mode| !mode.compatible(waiter.mode));
        assert!(by_holder || by_waiter, "{:?} waits for nobody: {entry:?}", waiter.mode);
        ahead.push(waiter.mode);
    }
}
