//! Which thread writes the log, and which threads wait for it. A turn is the right to write.
//! Guarantees: one thread at a time has the turn. A thread that asks for it either gets it or waits
//! for the end of a flush that covers its record: the running flush or the one after it. A group of
//! waiting threads is woken by one system call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex};

/// An event that happens once; `OnceLock` wakes all threads that wait for it together, and none of
/// them needs a lock then.
type Event = Arc<OnceLock<()>>;

/// The turn to write, and the threads that wait for it.
#[derive(Debug, Default)]
pub(crate) struct WriteTurns {
    queue: Mutex<FlushQueue>,
    /// The running flush makes everything before this block durable.
    covers: AtomicU64,
    /// Signalled at the end of each turn, when blocks were written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct FlushQueue {
    /// A thread has the right to write.
    busy: bool,
    /// The end of the running flush, for the threads whose records it covers.
    running: Option<Event>,
    /// The flush after it.
    next: Option<NextFlush>,
}

/// A flush that has not begun.
#[derive(Debug)]
struct NextFlush {
    /// Wakes its thread: the first that came too late for the running flush.
    turn: Event,
    /// Its end, for the other threads that came too late.
    end: Option<Event>,
}

fn happened(event: Option<Event>) {
    if let Some(event) = event {
        // No other thread sets it.
        let _ = event.set(());
    }
}

impl WriteTurns {
    /// Waits for the turn, for a flush of everything that is appended, `key` included. False when
    /// instead another thread's flush has ended that covered `key`, or just missed it: the caller
    /// must check and ask again.
    pub fn take(&self, key: u64) -> bool {
        let (event, mine) = {
            let mut queue = self.queue.lock();
            if !queue.busy {
                queue.busy = true;
                self.covers.store(u64::MAX, Ordering::Relaxed);
                return true;
            }
            if key < self.covers.load(Ordering::Relaxed) {
                (queue.running.get_or_insert_default().clone(), false)
            } else if let Some(next) = &mut queue.next {
                (next.end.get_or_insert_default().clone(), false)
            } else {
                let turn = Event::default();
                queue.next = Some(NextFlush { turn: turn.clone(), end: None });
                (turn, true)
            }
        };
        event.wait();
        mine
    }

    /// Takes the turn if it is free: for a write that makes nothing durable.
    pub fn try_take(&self) -> bool {
        let mut queue = self.queue.lock();
        let free = !queue.busy;
        if free {
            queue.busy = true;
            self.covers.store(0, Ordering::Relaxed);
        }
        free
    }

    /// Waits while `full` returns true. Returns true if then no thread is writing: the caller has
    /// the turn, as by [`try_take`](Self::try_take).
    pub fn take_while(&self, full: impl Fn() -> bool) -> bool {
        let mut queue = self.queue.lock();
        while full() {
            if !queue.busy {
                queue.busy = true;
                self.covers.store(0, Ordering::Relaxed);
                return true;
            }
            self.written.wait(&mut queue);
        }
        false
    }

    /// Called by the thread that has the turn: its flush ends at this block. Records from there on
    /// come too late for it.
    pub fn covers(&self, key: u64) {
        self.covers.store(key, Ordering::Relaxed);
    }

    /// Gives the turn to the first thread that waits for it and wakes those whose flush has ended.
    /// True when no thread writes now.
    pub fn release(&self) -> bool {
        let (turn, ended) = {
            let mut queue = self.queue.lock();
            let ended = queue.running.take();
            let turn = queue.next.take().map(|next| {
                queue.running = next.end;
                self.covers.store(u64::MAX, Ordering::Relaxed);
                next.turn
            });
            queue.busy = turn.is_some();
            (turn, ended)
        };
        let idle = turn.is_none();
        // The next flush starts before any other thread is woken.
        happened(turn);
        happened(ended);
        self.written.notify_all();
        idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::thread;
    use std::time::Duration;

    /// Waits until `count` threads wait for the flush after the running one, including the one that
    /// will run it.
    fn await_next(turns: &WriteTurns, count: usize) {
        let waiting = || {
            let queue = turns.queue.lock();
            let next = queue.next.as_ref();
            next.map_or(0, |next| 1 + next.end.as_ref().map_or(0, |end| Arc::strong_count(end) - 1))
        };
        while waiting() < count {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn late_comers_elect_one_and_the_covered_wait_for_the_running_flush() {
        let turns = WriteTurns::default();
        let led = AtomicUsize::new(0);
        assert!(turns.take(5));
        turns.covers(6);
        thread::scope(|scope| {
            let covered = scope.spawn(|| turns.take(5));
            for _ in 0..5 {
                scope.spawn(|| {
                    if turns.take(6) {
                        led.fetch_add(1, Ordering::Relaxed);
                        assert!(turns.release());
                    }
                });
            }
            await_next(&turns, 5);
            assert!(!covered.is_finished());
            assert!(!turns.release());
            assert!(!covered.join().unwrap());
        });
        assert_eq!(led.load(Ordering::Relaxed), 1);
        assert!(turns.try_take() && !turns.try_take());
    }

    #[test]
    fn a_write_that_makes_nothing_durable_covers_nobody() {
        let turns = WriteTurns::default();
        assert!(turns.try_take());
        thread::scope(|scope| {
            let late = scope.spawn(|| turns.take(1) && turns.release());
            await_next(&turns, 1);
            turns.release();
            assert!(late.join().unwrap());
        });
    }

    #[test]
    fn who_waits_for_room_writes_when_nobody_does() {
        let turns = WriteTurns::default();
        let full = AtomicBool::new(true);
        assert!(!turns.take_while(|| false));
        assert!(turns.take(1));
        thread::scope(|scope| {
            let writes = scope.spawn(|| turns.take_while(|| full.load(Ordering::Relaxed)));
            thread::sleep(Duration::from_millis(5));
            turns.release();
            assert!(writes.join().unwrap());
            let waits = scope.spawn(|| turns.take_while(|| full.load(Ordering::Relaxed)));
            thread::sleep(Duration::from_millis(5));
            full.store(false, Ordering::Relaxed);
            turns.release();
            assert!(!waits.join().unwrap());
        });
    }
}
