//! The transaction table with many threads: what must hold whatever happens at the same time.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the threads of the test below tell each other of an id: 0 not begun, then these.
const BEGUN: u64 = 1;
const ENDING: u64 = 2;
const ENDED: u64 = 3;

struct SharedTable {
    table: TxnTable,
    states: Vec<AtomicU64>,
    /// What ended as a durable commit (0: it did not), and the record that began it, as block
    /// numbers.
    commits: Vec<AtomicU64>,
    holds: Vec<AtomicU64>,
    log: AtomicU64,
    /// Snapshots taken so far: writers do not run away from the readers.
    rounds: AtomicU64,
    stop: AtomicBool,
}

/// A reader that fails keeps no writer waiting.
struct ReaderGuard<'a>(&'a AtomicU64);

impl Drop for ReaderGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1 << 40, Ordering::Relaxed);
    }
}

impl SharedTable {
    fn state(&self, id: u64) -> u64 {
        self.states[id as usize].load(Ordering::SeqCst)
    }

    /// Begins, takes snapshots, ends; many are open at once.
    fn write(&self, who: LockRequester, seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut open = Vec::new();
        while self.table.next_id().0 + 64 < self.states.len() as u64 {
            if self.table.next_id().0 > 50 * (self.rounds.load(Ordering::Relaxed) + 4) {
                std::thread::yield_now();
            } else if open.len() < 20 && rng.bool() {
                let mut hold = 0;
                let x = self.table.begin(who, || {
                    hold = self.log.fetch_add(1, Ordering::SeqCst);
                    lsn(hold as u32)
                });
                self.holds[x.id.0 as usize].store(hold, Ordering::SeqCst);
                self.states[x.id.0 as usize].store(BEGUN, Ordering::SeqCst);
                open.push(x.id);
            } else if !open.is_empty() {
                let id = open.swap_remove(rng.usize(..open.len()));
                self.end(id, rng.bool());
            }
        }
        open.into_iter().for_each(|id| self.end(id, true));
    }

    /// The first ones leave nothing to wait for: snapshots are taken before any durable commit,
    /// too.
    fn end(&self, id: TxnId, durable: bool) {
        let durable = durable && id.0 > 60;
        let last = self.log.fetch_add(1, Ordering::SeqCst);
        if durable {
            self.commits[id.0 as usize].store(last, Ordering::SeqCst);
        }
        self.states[id.0 as usize].store(ENDING, Ordering::SeqCst);
        self.table.end(id, lsn(last as u32), durable);
        self.states[id.0 as usize].store(ENDED, Ordering::SeqCst);
    }

    /// The durable commit that readers of `id` wait for; zero if there is none.
    fn commit(&self, id: u64) -> Lsn {
        match self.commits[id as usize].load(Ordering::SeqCst) {
            0 => Lsn::ZERO,
            block => lsn(block as u32),
        }
    }

    /// Takes snapshots and asks them; asks what is held meanwhile.
    fn read(&self, seed: u64) {
        let _gone = ReaderGuard(&self.rounds);
        let mut rng = fastrand::Rng::with_seed(seed);
        while !self.stop.load(Ordering::SeqCst) {
            let from = self.table.next_id().0.saturating_sub(150).max(10);
            let to = from + 170;
            let before: Vec<u64> = (from..to).map(|id| self.state(id)).collect();
            let (s, ticket) = self.table.snapshot(TxnId(0), rng.u8(..8) == 0);
            let after: Vec<u64> = (from..to).map(|id| self.state(id)).collect();
            let first: Vec<bool> = (from..to).map(|id| sees(&self.table, &s, id)).collect();
            for (i, seen) in first.iter().enumerate() {
                assert!(*seen || before[i] != ENDED, "{} had ended", from + i as u64);
                assert!(!*seen || after[i] >= ENDING, "{} had not begun to end", from + i as u64);
            }
            for _ in 0..rng.u32(..6) {
                self.check_live(&s, ticket, from, &first);
                std::thread::yield_now();
            }
            self.table.release(ticket);
            self.rounds.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn check_live(&self, s: &Snapshot, ticket: Ticket, from: u64, first: &[bool]) {
        assert!(self.table.oldest_xmin() <= s.xmin());
        let hold = self.table.log_hold().expect("a snapshot is live").0;
        for (id, seen) in (from..).zip(first) {
            assert_eq!(sees(&self.table, s, id), *seen, "the answer for {id} has changed");
            let commit = self.commit(id);
            assert!(!*seen || ticket.commit >= commit, "what it has seen of {id} is waited for");
            if !*seen && self.state(id) != 0 {
                let needed = self.holds[id as usize].load(Ordering::SeqCst);
                assert!(hold <= lsn(needed as u32), "the log of {id} is kept");
            }
            // Whoever finds that it has ended finds its commit.
            if self.state(id) != 0 && !self.table.is_active(TxnId(id)) {
                assert!(self.table.newest_commit() >= commit);
            }
        }
    }
}

#[test]
fn many_threads_keep_every_promise() {
    for seed in 0..4u64 {
        let (table, who) = table_with(64);
        let zeros = || (0..10_000).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let shared = SharedTable {
            table,
            states: zeros(),
            commits: zeros(),
            holds: zeros(),
            log: AtomicU64::new(1),
            rounds: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        std::thread::scope(|scope| {
            let shared = &shared;
            for n in 0..3 {
                scope.spawn(move || shared.read(seed * 10 + n));
            }
            let writers: Vec<_> =
                (0..3).map(|n| scope.spawn(move || shared.write(who, seed * 10 + n))).collect();
            let ended: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
            shared.stop.store(true, Ordering::SeqCst);
            ended.into_iter().for_each(|w| w.expect("a writer"));
        });
        assert_eq!((snapshots(&shared.table), shared.table.active().len()), (0, 0));
    }
}

/// One writer as fast as it can, one who looks for what is still needed, and readers who ask at
/// once and again.
#[test]
fn narrow_moments() {
    let (t, who) = table_with(64);
    let (stop, horizon) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (t, stop, horizon) = (&t, &stop, &horizon);
        scope.spawn(move || {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                let x = t.begin(who, || lsn(n));
                t.end(x.id, lsn(n), true);
            }
        });
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                horizon.fetch_max(t.oldest_xmin().0, Ordering::SeqCst);
            }
        });
        let read = move |rounds: u32| {
            for round in 0..rounds {
                let (s, k) = t.snapshot(TxnId(0), round % 64 == 0);
                // The bounds are told from the answers of the ring, too.
                let asked = Snapshot::new(TxnId(0), TxnId(s.xmin().0 - 3), s.xmax(), s.moment());
                let ask = || (1..4).map(|n| sees(t, &asked, s.xmax().0 - n)).collect::<Vec<_>>();
                let first = ask();
                assert!(sees(t, &asked, s.xmin().0 - 1), "below the oldest all have ended");
                let found = horizon.load(Ordering::SeqCst);
                assert!(found <= s.xmin().0, "cleanup was told {found}, {s:?} may not see that");
                assert_eq!(ask(), first, "an answer has changed: {s:?}");
                t.release(k);
            }
        };
        let other = scope.spawn(move || read(400_000));
        let mine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(400_000)));
        let other = other.join();
        stop.store(true, Ordering::Relaxed);
        assert!(mine.is_ok() && other.is_ok());
    });
}
