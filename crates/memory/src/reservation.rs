//! A charge that grows and shrinks with what its owner holds, and ends with it.

use std::sync::Arc;

use crate::account::{MemoryAccount, OutOfMemory};
use crate::clerk::Clerk;

/// Bytes that are taken from the account at once, and kept when they are given back.
const STEP: usize = 64 << 10;

/// What one owner holds of the account.
#[derive(Debug)]
pub struct Reservation {
    account: Arc<MemoryAccount>,
    clerk: Clerk,
    step: usize,
    /// What the owner uses.
    used: usize,
    /// What is charged.
    held: usize,
}

impl Reservation {
    /// Of nothing: the account is not touched.
    pub fn new(account: &Arc<MemoryAccount>, clerk: Clerk) -> Reservation {
        Reservation::in_steps(account, clerk, STEP)
    }

    /// The same in other steps: small ones where owners are many, and most hold little.
    pub fn in_steps(account: &Arc<MemoryAccount>, clerk: Clerk, step: usize) -> Reservation {
        Reservation { account: account.clone(), clerk, step: step.max(1), used: 0, held: 0 }
    }

    /// Bytes in use.
    #[inline]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Takes bytes. The owner must leave as much free as it then holds, so that no owner alone
    /// takes what others need.
    ///
    /// # Errors
    /// [`OutOfMemory`]: nothing was taken.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        self.take_beside(bytes, 0)
    }

    /// The same for an owner who holds `elsewhere` more in other reservations: it must leave as
    /// much free as it holds in all of them.
    ///
    /// # Errors
    /// [`OutOfMemory`]: nothing was taken.
    #[inline]
    pub fn take_beside(&mut self, bytes: usize, elsewhere: usize) -> Result<(), OutOfMemory> {
        let wanted = self.used.checked_add(bytes).ok_or(OutOfMemory)?;
        if wanted > self.held {
            self.grow(wanted, elsewhere)?;
        }
        self.used = wanted;
        Ok(())
    }

    #[cold]
    fn grow(&mut self, wanted: usize, elsewhere: usize) -> Result<(), OutOfMemory> {
        let need = wanted - self.held;
        for step in [need.checked_next_multiple_of(self.step).unwrap_or(need), need] {
            let own = self.held.saturating_add(step).saturating_add(elsewhere);
            if self.account.charge_fairly(self.clerk, step, own).is_ok() {
                self.held += step;
                return Ok(());
            }
        }
        Err(OutOfMemory)
    }

    /// Takes bytes that are in use already.
    pub fn force(&mut self, bytes: usize) {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.held {
            let need = self.used - self.held;
            self.account.force(self.clerk, need);
            self.held += need;
        }
    }

    /// Gives bytes back.
    #[inline]
    pub fn give(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.used, "more given than taken");
        self.used = self.used.saturating_sub(bytes);
        if self.held - self.used >= 2 * self.step || (self.used == 0 && self.held > 0) {
            self.shrink();
        }
    }

    #[cold]
    fn shrink(&mut self) {
        self.account.release(self.clerk, self.held - self.used);
        self.held = self.used;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.held > 0 {
            self.account.release(self.clerk, self.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_reservations_of_one_owner_leave_as_much_as_they_hold() {
        let account = Arc::new(MemoryAccount::new(64 << 20));
        let clerk = Clerk::Sessions;
        let mut all = Vec::new();
        loop {
            let mut one = Reservation::in_steps(&account, clerk, 4 << 10);
            if one.take_beside(8 << 10, all.len() * (8 << 10)).is_err() {
                break;
            }
            all.push(one);
        }
        let held = account.held(clerk);
        assert!(held > 8 << 20 && account.limit() - held >= held - (16 << 10), "{held}");
        // Somebody else finds room.
        Reservation::new(&account, clerk).take(1 << 20).expect("half is free");
    }

    #[test]
    fn it_is_taken_in_steps_and_given_back_whole() {
        let account = Arc::new(MemoryAccount::new(64 << 20));
        let clerk = Clerk::QueryExecution;
        let mut held = Reservation::new(&account, clerk);
        held.take(1).expect("a byte");
        assert_eq!((held.used(), account.held(clerk)), (1, STEP), "a step at once");
        held.take(STEP - 1).expect("within the step");
        assert_eq!(account.held(clerk), STEP);
        held.take(3 * STEP).expect("more steps");
        held.give(STEP);
        assert_eq!(account.held(clerk), 4 * STEP, "one step is kept");
        held.give(2 * STEP);
        assert_eq!(account.held(clerk), STEP);
        held.force(1 << 30);
        assert_eq!(account.held(clerk), STEP + (1 << 30), "what is used already is charged");
        drop(held);
        assert_eq!((account.held(clerk), account.total()), (0, 0));
    }

    #[test]
    fn one_owner_leaves_as_much_as_it_holds() {
        let account = Arc::new(MemoryAccount::new(64 << 20));
        let most = account.limit();
        let mut first = Reservation::new(&account, Clerk::QueryExecution);
        assert!(first.take(most / 2 + 1).is_err(), "more than half");
        assert_eq!(account.total(), 0, "nothing is left of a charge that failed");
        first.take(most / 2).expect("half");
        let mut second = Reservation::new(&account, Clerk::QueryExecution);
        assert!(second.take(most / 4 + 1).is_err());
        second.take(most / 8).expect("there is room for others");
        drop(first);
        second.take(most / 4).expect("what was given back can be had");
        assert!(second.take(usize::MAX).is_err());
    }
}
