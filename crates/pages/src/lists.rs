//! What the threads of a checkpoint write next: lists of frames in order of place, one batch each,
//! and the order in which the homes of these batches are put in flight.
//!
//! # Guarantees
//! - Every frame is in one list, until [`Lists::stop`].
//! - A batch's [`ListTurn`] comes when the homes of all batches before it are in flight or will
//!   never be. A turn passes at the latest when it is dropped, so nobody waits for a thread that
//!   has failed or panicked.
//! - A batch waits for its turn only with a place for its images that no batch before it can be
//!   waiting for: a borrowed run for each thread.

use parking_lot::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The first list has this part of the pages of a full one, and each further one twice as many: the
/// homes of the first batch are written while the images of the large ones are still on their way
/// to the area.
const FIRST: usize = 8;

#[derive(Debug)]
struct ListsState<'a, T> {
    rest: &'a [T],
    /// Length of the next list.
    size: usize,
    /// Number of the next list.
    number: usize,
    /// Turns with lower numbers have passed.
    turn: usize,
    /// Turns that have passed before those with lower numbers.
    passed: BTreeSet<usize>,
}

/// The lists of one round of a checkpoint.
#[derive(Debug)]
pub(crate) struct Lists<'a, T> {
    state: Mutex<ListsState<'a, T>>,
    changed: Condvar,
    most: usize,
}

impl<'a, T> Lists<'a, T> {
    /// Cuts `all` into lists of `most`; `rising`: the first ones are shorter.
    pub fn new(all: &'a [T], most: usize, rising: bool) -> Lists<'a, T> {
        let size = if rising { most.div_ceil(FIRST) } else { most };
        let state = ListsState { rest: all, size, number: 0, turn: 0, passed: BTreeSet::new() };
        Lists { state: Mutex::new(state), changed: Condvar::new(), most }
    }

    /// The next list, and its turn.
    pub fn next(&self) -> Option<(&'a [T], ListTurn<'_, 'a, T>)> {
        let mut state = self.state.lock();
        if state.rest.is_empty() {
            return None;
        }
        let (list, rest) = state.rest.split_at(state.size.min(state.rest.len()));
        let number = state.number;
        state.rest = rest;
        state.size = (state.size * 2).min(self.most);
        state.number += 1;
        Some((list, ListTurn { lists: self, number, over: AtomicBool::new(false) }))
    }

    /// There are no further lists.
    pub fn stop(&self) {
        self.state.lock().rest = &[];
    }
}

/// The turn of one list.
#[derive(Debug)]
pub(crate) struct ListTurn<'l, 'a, T> {
    lists: &'l Lists<'a, T>,
    number: usize,
    over: AtomicBool,
}

/// A turn, whatever it is the turn of.
pub(crate) trait InTurn: Sync {
    /// Returns when all turns before it have passed.
    fn wait(&self);
    /// The next may begin. Only the first call has an effect.
    fn pass(&self);
}

impl<T: Sync> InTurn for ListTurn<'_, '_, T> {
    fn wait(&self) {
        let mut state = self.lists.state.lock();
        while state.turn < self.number {
            self.lists.changed.wait(&mut state);
        }
    }

    fn pass(&self) {
        self.pass_on();
    }
}

impl<T> ListTurn<'_, '_, T> {
    fn pass_on(&self) {
        if self.over.swap(true, Relaxed) {
            return;
        }
        let state = &mut *self.lists.state.lock();
        state.passed.insert(self.number);
        while state.passed.remove(&state.turn) {
            state.turn += 1;
        }
        self.lists.changed.notify_all();
    }
}

impl<T> Drop for ListTurn<'_, '_, T> {
    fn drop(&mut self) {
        self.pass_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn lists_rise_and_hold_everything_once() {
        let all: Vec<u32> = (0..1000).collect();
        let lists = Lists::new(&all, 300, true);
        let mut found = Vec::new();
        let mut lengths = Vec::new();
        while let Some((list, _turn)) = lists.next() {
            lengths.push(list.len());
            found.extend_from_slice(list);
        }
        assert_eq!(lengths, [38, 76, 152, 300, 300, 134]);
        assert_eq!(found, all);
        let lists = Lists::new(&all, 300, false);
        assert_eq!(lists.next().map(|(list, _)| list.len()), Some(300));
        lists.stop();
        assert!(lists.next().is_none());
    }

    #[test]
    fn turns_come_in_order_whatever_order_they_pass_in() {
        let all = [0; 4];
        let lists = Lists::new(&all, 1, false);
        let (_, first) = lists.next().expect("a list");
        let (_, second) = lists.next().expect("a list");
        let (_, third) = lists.next().expect("a list");
        let (_, fourth) = lists.next().expect("a list");
        first.wait();
        std::thread::scope(|scope| {
            let (came, comes) = channel();
            scope.spawn(move || {
                fourth.wait();
                came.send(()).expect("heard");
            });
            let early = || comes.recv_timeout(Duration::from_millis(30)).is_ok();
            // One that has failed before its turn.
            drop(third);
            assert!(!early(), "two are before it");
            second.pass();
            second.pass();
            assert!(!early(), "the first is before it");
            drop(first);
            comes.recv_timeout(Duration::from_secs(20)).expect("its turn");
        });
    }
}
