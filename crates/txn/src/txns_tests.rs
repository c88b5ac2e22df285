//! The transaction table against an exact reference, and what it keeps in memory.

use super::*;

fn lsn(n: u32) -> Lsn {
    Lsn { vlf: 1, block: n, slot: 1 }
}

/// Its ring has room for `size` ids, so that they leave it soon.
fn table_with(size: usize) -> (TxnTable, LockRequester) {
    let locks = LockManager::new();
    let who = LockRequester { id: locks.new_owner(), session: 51 };
    (TxnTable::with_ring(1, locks, TxnId(10), size), who)
}

fn table() -> (TxnTable, LockRequester) {
    table_with(RING)
}

fn sees(t: &TxnTable, s: &Snapshot, id: u64) -> bool {
    s.sees(TxnId(id), t.endings())
}

/// Live snapshots.
fn snapshots(t: &TxnTable) -> usize {
    let mut live = 0;
    t.live.each(|_| live += 1);
    live
}

#[test]
fn snapshots_see_what_ended_before_them() {
    let (t, who) = table();
    let a = t.begin(who, || lsn(1));
    let b = t.begin(who, || lsn(2));
    assert_eq!((a.id, b.id), (TxnId(10), TxnId(11)));
    let (s, k1) = t.snapshot(TxnId(0), false);
    assert!(sees(&t, &s, 9) && !sees(&t, &s, 10) && !sees(&t, &s, 11) && !sees(&t, &s, 12));
    t.end(b.id, lsn(5), true);
    let (s2, k2) = t.snapshot(a.id, false);
    assert!(sees(&t, &s2, 10) && sees(&t, &s2, 11) && !sees(&t, &s, 11));
    assert_eq!((k1.commit, k2.commit), (Lsn::ZERO, lsn(5)));
    assert!(t.is_active(a.id) && !t.is_active(b.id) && !t.is_active(TxnId(3)));
    assert!(!t.is_active(TxnId(12)) && !t.is_active(TxnId(1 << 40)), "ids that nobody has had");
    t.release(k1);
    t.release(k2);
    t.end(a.id, lsn(6), false);
    assert_eq!(snapshots(&t), 0);
    assert_eq!((t.next_id(), t.newest_commit()), (TxnId(12), lsn(5)));
}

#[test]
fn a_transaction_does_not_stand_in_its_own_way() {
    let (t, who) = table();
    let own = t.begin(who, || lsn(1));
    let (s, k) = t.snapshot(own.id, false);
    assert_eq!(s.xmin(), TxnId(11), "what it reads has been written by itself or has ended");
    let other = t.begin(who, || lsn(2));
    let next = t.begin(who, || lsn(3));
    let (s, k) = t.renew(k, own.id);
    assert_eq!(s.xmin(), other.id);
    t.end(other.id, lsn(4), true);
    let (s, k) = t.renew(k, own.id);
    assert_eq!((s.xmin(), t.oldest_xmin()), (next.id, own.id));
    assert!(sees(&t, &s, own.id.0) && sees(&t, &s, other.id.0) && !sees(&t, &s, next.id.0));
    t.release(k);
}

#[test]
fn holds_follow_the_oldest_transaction_and_snapshot() {
    let (t, who) = table();
    assert_eq!(t.log_hold(), None);
    let a = t.begin(who, || lsn(1));
    let (_, k1) = t.snapshot(TxnId(0), false);
    let b = t.begin(who, || lsn(3));
    t.end(a.id, lsn(4), true);
    // The snapshot still needs what the first transaction overwrote.
    assert_eq!(t.log_hold(), Some((lsn(1), LogHolder::Snapshot)));
    assert_eq!(t.oldest_xmin(), a.id);
    let (_, k2) = t.snapshot(TxnId(0), true);
    t.release(k1);
    assert_eq!(t.log_hold(), Some((lsn(3), LogHolder::Transaction(b.id))));
    assert_eq!(t.oldest_xmin(), b.id);
    t.end(b.id, lsn(6), false);
    assert_eq!(t.log_hold(), Some((lsn(3), LogHolder::Snapshot)));
    t.release(k2);
    assert_eq!(t.log_hold(), None);
    assert_eq!(t.oldest_xmin(), TxnId(12));
    // With nobody active a snapshot holds what comes after the last end, and no more than the log's
    // end.
    let (_, k3) = t.snapshot(TxnId(0), false);
    assert_eq!(t.log_hold(), Some((lsn(6), LogHolder::Snapshot)));
    t.note_log_end(|| lsn(50));
    let (_, k4) = t.snapshot(TxnId(0), false);
    t.release(k3);
    assert_eq!(t.log_hold(), Some((lsn(50), LogHolder::Snapshot)));
    t.release(k4);
}

#[test]
fn losers_of_a_crash_are_running_until_they_are_undone() {
    let (t, who) = table_with(16);
    t.saw(TxnId(40));
    let log = |at| TxnLog { begin: lsn(at), ..TxnLog::default() };
    let late = t.resume(who, TxnId(37), log(20));
    let early = t.resume(who, TxnId(5), log(30));
    assert_eq!((t.oldest_xmin(), t.next_id()), (TxnId(5), TxnId(41)));
    assert_eq!(t.log_hold(), Some((lsn(20), LogHolder::Transaction(TxnId(5)))));
    let active: Vec<_> = (1..60).filter(|id| t.is_active(TxnId(*id))).collect();
    assert_eq!(active, [5, 37]);
    t.end(late.id, lsn(50), false);
    assert!(t.is_active(TxnId(5)) && !t.is_active(TxnId(37)));
    let (s, k) = t.snapshot(TxnId(0), false);
    assert!(sees(&t, &s, 37) && sees(&t, &s, 36) && !sees(&t, &s, 5));
    t.end(early.id, lsn(51), false);
    assert!(!sees(&t, &s, 5), "not even when it has ended");
    t.release(k);
    let next = t.begin(who, || lsn(60));
    assert_eq!((next.id, t.oldest_xmin()), (TxnId(41), TxnId(41)));
}

/// What a snapshot of the model must answer.
struct TakenSnapshot {
    snapshot: Snapshot,
    ticket: Ticket,
    xmin: u64,
    hold: Lsn,
    commit: Lsn,
    /// Ended then, and own.
    seen: std::collections::HashSet<u64>,
}

#[derive(Default)]
struct Reference {
    active: Vec<(u64, Lsn)>,
    ended: std::collections::HashSet<u64>,
    commit: Lsn,
    live: Vec<TakenSnapshot>,
}

impl Reference {
    fn take(&self, own: u64, taken: (Snapshot, Ticket), next: u64) -> TakenSnapshot {
        let xmin = self.active.first().map_or(next, |a| a.0);
        let hold = self.active.first().map_or(Lsn::MAX, |a| a.1);
        let mut seen = self.ended.clone();
        seen.insert(own);
        TakenSnapshot { snapshot: taken.0, ticket: taken.1, xmin, hold, commit: self.commit, seen }
    }

    fn check(&self, t: &TxnTable, rng: &mut fastrand::Rng) {
        let next = t.next_id().0;
        for s in &self.live {
            for id in (0..8).map(|_| rng.u64(10..next + 2)).chain(self.active.iter().map(|a| a.0)) {
                assert_eq!(
                    sees(t, &s.snapshot, id),
                    s.seen.contains(&id),
                    "{id} for {:?}",
                    s.snapshot
                );
            }
            assert_eq!(s.ticket.commit, s.commit);
        }
        for id in (0..8).map(|_| rng.u64(10..next + 2)) {
            assert_eq!(t.is_active(TxnId(id)), self.active.iter().any(|a| a.0 == id));
        }
        let first = self.active.first();
        let xmin = self.live.iter().map(|l| l.xmin).chain(first.map(|a| a.0)).min();
        assert_eq!(t.oldest_xmin().0, xmin.unwrap_or(next));
        let hold = self.live.iter().map(|l| l.hold).chain(first.map(|a| a.1)).min();
        assert_eq!(t.log_hold().is_some(), hold.is_some());
        assert!(t.log_hold().map(|h| h.0) <= hold);
        assert_eq!(snapshots(t), self.live.len());
    }
}

/// More snapshots than there are slots, ids that leave the ring while they run or are asked for.
#[test]
fn one_thread_agrees_with_a_simple_reference() {
    for seed in 0..12 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (t, who) = table_with([16, 64][seed as usize % 2]);
        let mut model = Reference::default();
        let most = [3, 40][seed as usize / 2 % 2];
        for step in 1..3000u32 {
            match rng.u32(0..7) {
                0..3 if model.active.len() < most => {
                    let x = t.begin(who, || lsn(step));
                    model.active.push((x.id.0, lsn(step)));
                }
                0..4 if !model.active.is_empty() => {
                    // Mostly the newest: the oldest ones grow very old.
                    let n = model.active.len();
                    let at = if rng.u8(..4) > 0 { n - 1 } else { rng.usize(..n) };
                    let (id, _) = model.active.remove(at);
                    let durable = rng.bool();
                    t.end(TxnId(id), lsn(step), durable);
                    model.ended.insert(id);
                    model.commit = if durable { lsn(step) } else { model.commit };
                }
                4 if model.live.len() < 2 * most => {
                    let own = model.active.get(rng.usize(..3)).map_or(0, |a| a.0);
                    let taken = t.snapshot(TxnId(own), rng.u8(..4) == 0);
                    model.live.push(model.take(own, taken, t.next_id().0));
                }
                5 if !model.live.is_empty() => {
                    let old = model.live.swap_remove(rng.usize(..model.live.len()));
                    match rng.bool() {
                        true => t.release(old.ticket),
                        false => {
                            let taken = t.renew(old.ticket, TxnId(0));
                            model.live.push(model.take(0, taken, t.next_id().0));
                        }
                    }
                }
                _ => {}
            }
            model.check(&t, &mut rng);
        }
        assert!(t.next_id().0 > 400, "the ring has gone round many times");
    }
}

/// One snapshot stays long, with one transaction that was running when it was taken; another stays
/// open for ever.
#[test]
fn a_million_transactions_leave_no_trace_beside_an_old_one() {
    let (t, who) = table();
    let old = t.begin(who, || lsn(1));
    let asked = t.begin(who, || lsn(2));
    let (s, k) = t.snapshot(TxnId(0), true);
    t.end(asked.id, lsn(3), true);
    let mut most = 0;
    for n in 0..1_000_000u32 {
        let x = t.begin(who, || lsn(n + 4));
        if n % 3 == 0 {
            let (mine, k) = t.snapshot(x.id, false);
            debug_assert!(sees(&t, &mine, x.id.0 - 1) && !sees(&t, &mine, old.id.0));
            t.release(k);
        }
        t.end(x.id, lsn(n + 4), n % 2 == 0);
        most = most.max(t.ring.old_ids());
    }
    assert_eq!(most, 2, "the one that runs, and the one that the snapshot does not see");
    assert_eq!(t.inner.lock().running.len(), 1);
    assert!(!sees(&t, &s, asked.id.0) && !sees(&t, &s, asked.id.0 + 1) && !sees(&t, &s, 999_999));
    let (now, k2) = t.snapshot(TxnId(0), false);
    assert!([asked.id.0, 13, 5000, 999_999, 1_000_011].iter().all(|id| sees(&t, &now, *id)));
    assert!(!sees(&t, &now, old.id.0) && t.is_active(old.id));
    t.release(k);
    t.release(k2);
    t.end(old.id, lsn(1_000_009), true);
    for n in 0..3 * RING as u32 {
        let x = t.begin(who, || lsn(n + 1_000_010));
        t.end(x.id, lsn(n + 1_000_010), true);
    }
    assert_eq!(t.ring.old_ids(), 0);
    assert!(!t.is_active(old.id));
}

#[path = "txns_threads_tests.rs"]
mod threads;
