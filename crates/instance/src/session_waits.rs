//! Changes of a database's state that wait for sessions, and the search for cycles through them.
//! The monitor of locks does not know these waits: whoever waits so looks for itself. Guarantee: of
//! a cycle in which such waits stand, one of them ends as its victim, and no other.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

/// The sessions that wait, each with the sessions that it waits for, by their numbers.
#[derive(Debug, Default)]
pub struct SessionWaits(Mutex<HashMap<i32, Vec<i32>>>);

/// A session that waits, until this is dropped.
#[derive(Debug)]
pub struct SessionWait<'w> {
    all: &'w SessionWaits,
    session: i32,
}

impl SessionWaits {
    /// A session begins to wait.
    pub fn begin(&self, session: i32) -> SessionWait<'_> {
        SessionWait { all: self, session }
    }
}

impl SessionWait<'_> {
    /// Notes for which sessions it waits now; true: one of them waits for it, perhaps through
    /// others. It counts as waiting no longer then. `locks`: the session of each request for a lock
    /// that is blocked, and the one that blocks it.
    pub fn is_in_a_cycle(&self, waits_for: &[i32], locks: &HashMap<i32, i32>) -> bool {
        let mut all = self.all.0.lock();
        all.insert(self.session, waits_for.to_vec());
        let (mut seen, mut left) = (HashSet::new(), waits_for.to_vec());
        while let Some(next) = left.pop() {
            if next == self.session {
                all.remove(&self.session);
                return true;
            }
            if seen.insert(next) {
                left.extend(all.get(&next).into_iter().flatten());
                left.extend(locks.get(&next));
            }
        }
        false
    }
}

impl Drop for SessionWait<'_> {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_has_one_victim() {
        let all = SessionWaits::default();
        let (first, second) = (all.begin(51), all.begin(52));
        let locks = |waits: &[(i32, i32)]| waits.iter().copied().collect::<HashMap<i32, i32>>();
        assert!(!first.is_in_a_cycle(&[52, 53], &locks(&[(53, 54)])));
        assert!(
            !first.is_in_a_cycle(&[52, 53], &locks(&[(53, 53)])),
            "a cycle of others is theirs"
        );
        assert!(second.is_in_a_cycle(&[51], &locks(&[])));
        assert!(!first.is_in_a_cycle(&[52, 53], &locks(&[])), "the other one is the victim");
        assert!(
            first.is_in_a_cycle(&[53], &locks(&[(54, 51), (53, 54)])),
            "through requests for locks"
        );
        drop(first);
        assert!(!second.is_in_a_cycle(&[51], &locks(&[])));
    }
}
