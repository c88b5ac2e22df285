//! Meters what a request allocates, whoever allocates it and whether or not anybody charges it.
//!
//! A program whose allocator counts by thread makes the count known ([`count_with`]). The thread
//! that runs a request opens a [`Metered`] scope; [`check`], called wherever a statement asks
//! whether it was cancelled, charges what the thread has allocated since, less what was charged in
//! the usual way, and refuses when that does not fit.
//!
//! ```text
//!  count of the thread          ── grows ──►
//!  base │■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■│
//!       │ charged by reservations │ metered: charged here
//! ```
//! Guarantees: between two steps a check is a subtraction and a comparison of numbers of the
//! thread; what was metered goes back when the scope ends; without a count nothing is metered.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock, Weak};

use crate::account::{MemoryAccount, OutOfMemory};
use crate::clerk::Clerk;

/// Bytes by which the count must change before the account is asked again.
const STEP: isize = 256 << 10;

/// Bytes that a thread has allocated less those that it has freed.
pub type ThreadCount = fn() -> isize;

static COUNT: OnceLock<ThreadCount> = OnceLock::new();

thread_local! {
    /// The account is asked when the count is not from `LOW` to `LOW + SPAN`.
    static LOW: Cell<isize> = const { Cell::new(isize::MIN) };
    static SPAN: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Bytes that this thread has charged to accounts by itself, less those that it has released.
    static CHARGED: Cell<isize> = const { Cell::new(0) };
    static SCOPE: RefCell<Scope> = const { RefCell::new(Scope::none()) };
}

/// What is metered on a thread.
struct Scope {
    account: Weak<MemoryAccount>,
    /// Count and charges of the thread when it began.
    count: isize,
    charged: isize,
    /// Bytes that are charged because the meter has found them.
    metered: usize,
}

impl Scope {
    const fn none() -> Scope {
        Scope { account: Weak::new(), count: 0, charged: 0, metered: 0 }
    }
}

/// How the program counts. Only the first call has an effect: there is one allocator.
pub fn count_with(count: ThreadCount) {
    let _ = COUNT.set(count);
}

#[inline]
fn count() -> isize {
    COUNT.get().map_or(0, |count| count())
}

/// The calling thread has charged bytes itself (released: below zero).
#[inline]
pub(crate) fn charged_here(bytes: isize) {
    CHARGED.set(CHARGED.get().wrapping_add(bytes));
}

/// A request that is metered on the thread that runs it, until it is dropped.
#[derive(Debug)]
pub struct Metered {
    outer: (isize, usize),
    /// The scope around this one, where there is any.
    around: Option<(Weak<MemoryAccount>, isize, isize, usize)>,
    /// It belongs to its thread.
    here: PhantomData<*const ()>,
}

impl Metered {
    /// Meters the thread for an account from now on.
    #[inline]
    pub fn begin(account: &Arc<MemoryAccount>) -> Metered {
        let outer = (LOW.get(), SPAN.get());
        let inside = outer.1 != usize::MAX;
        let (now, charged) = (count(), CHARGED.get());
        let around = SCOPE.with_borrow_mut(|scope| {
            let around = inside.then(|| (scope.account.clone(), scope.count, scope.charged, scope.metered));
            // A thread serves one instance mostly: the reference stays from request to request.
            if !std::ptr::eq(scope.account.as_ptr(), Arc::as_ptr(account)) {
                scope.account = Arc::downgrade(account);
            }
            (scope.count, scope.charged, scope.metered) = (now, charged, 0);
            around
        });
        watch(now, 0);
        Metered { outer, around, here: PhantomData }
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        SCOPE.with_borrow_mut(|scope| {
            if scope.metered > 0
                && let Some(account) = scope.account.upgrade()
            {
                account.release_metered(Clerk::QueryExecution, scope.metered);
            }
            scope.metered = 0;
            if let Some((account, count, charged, metered)) = self.around.take() {
                *scope = Scope { account, count, charged, metered };
            }
        });
        LOW.set(self.outer.0);
        SPAN.set(self.outer.1);
    }
}

/// Looks again when the count has grown by a step, or fallen so far that some goes back.
fn watch(count: isize, metered: usize) {
    let below = if metered == 0 { isize::MAX / 4 } else { 2 * STEP };
    LOW.set(count.wrapping_sub(below));
    SPAN.set((below as usize).wrapping_add(STEP as usize));
}

/// Charges what the request of this thread holds by now.
///
/// # Errors
/// [`OutOfMemory`]: it holds more than it may have.
#[inline]
pub fn check() -> Result<(), OutOfMemory> {
    let span = SPAN.get();
    if span == usize::MAX || count().wrapping_sub(LOW.get()) as usize <= span {
        return Ok(());
    }
    look()
}

#[cold]
fn look() -> Result<(), OutOfMemory> {
    SCOPE.with(|scope| {
        // A cache that gives way to this very charge may ask, too: it is let pass.
        let Ok(mut scope) = scope.try_borrow_mut() else { return Ok(()) };
        let now = count();
        let Some(account) = scope.account.upgrade() else { return Ok(()) };
        let grown = now.wrapping_sub(scope.count);
        let charged = CHARGED.get().wrapping_sub(scope.charged);
        let held = usize::try_from(grown.saturating_sub(charged.max(0))).unwrap_or(0);
        if held > scope.metered {
            let own = held.saturating_add(usize::try_from(charged).unwrap_or(0));
            account.charge_metered(Clerk::QueryExecution, held - scope.metered, own)?;
        } else {
            account.release_metered(Clerk::QueryExecution, scope.metered - held);
        }
        scope.metered = held;
        watch(now, held);
        Ok(())
    })
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
