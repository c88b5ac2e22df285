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
use crate::thread_charges;

/// Bytes by which the count must change before the account is asked again.
const STEP: isize = 256 << 10;

/// Bytes that a thread has allocated less those that it has freed.
pub type ThreadCount = fn() -> isize;

static COUNT: OnceLock<ThreadCount> = OnceLock::new();

thread_local! {
    /// The account is asked when the count is not from `LOW` to `LOW + SPAN`. `UNMETERED`: never.
    static LOW: Cell<isize> = const { Cell::new(isize::MIN) };
    static SPAN: Cell<usize> = const { Cell::new(UNMETERED) };
    static SCOPE: Cell<Scope> = const { Cell::new(Scope { count: 0, charged: 0, metered: 0, account: 0 }) };
    /// The account whose address is in the scope. It stays from request to request: a thread serves
    /// one instance mostly, and a count of references that all threads change would cost each of
    /// them.
    static ACCOUNT: RefCell<Weak<MemoryAccount>> = const { RefCell::new(Weak::new()) };
}

/// No request is metered.
const UNMETERED: usize = usize::MAX;

/// What is metered on a thread.
#[derive(Clone, Copy)]
struct Scope {
    /// Count and charges of the thread when it began.
    count: isize,
    charged: isize,
    /// Bytes that are charged because the meter has found them.
    metered: usize,
    /// Address of the account.
    account: usize,
}

/// How the program counts. Only the first call has an effect: there is one allocator.
pub fn count_with(count: ThreadCount) {
    let _ = COUNT.set(count);
}

#[inline]
fn count() -> isize {
    COUNT.get().map_or(0, |count| count())
}

/// A request that is metered on the thread that runs it, until it is dropped.
#[derive(Debug)]
pub struct Metered {
    /// The request around this one, where there is any.
    around: Option<Box<OuterRequest>>,
    /// It belongs to its thread.
    here: PhantomData<*const ()>,
}

/// A request that goes on when the one inside of it has ended.
struct OuterRequest {
    scope: Scope,
    low: isize,
    span: usize,
    account: Weak<MemoryAccount>,
}

impl std::fmt::Debug for OuterRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OuterRequest({} bytes)", self.scope.metered)
    }
}

impl Metered {
    /// Meters the thread for an account from now on.
    #[inline]
    pub fn begin(account: &Arc<MemoryAccount>) -> Metered {
        let around = if SPAN.get() == UNMETERED { None } else { Some(OuterRequest::now()) };
        let address = Arc::as_ptr(account).addr();
        if SCOPE.get().account != address {
            ACCOUNT.replace(Arc::downgrade(account));
        }
        let count = count();
        SCOPE.set(Scope { count, charged: thread_charges::get(), metered: 0, account: address });
        watch(count, 0);
        Metered { around, here: PhantomData }
    }
}

impl OuterRequest {
    #[cold]
    fn now() -> Box<OuterRequest> {
        let account = ACCOUNT.with_borrow(Weak::clone);
        Box::new(OuterRequest { scope: SCOPE.get(), low: LOW.get(), span: SPAN.get(), account })
    }
}

impl Drop for Metered {
    #[inline]
    fn drop(&mut self) {
        let scope = SCOPE.get();
        if scope.metered > 0 {
            release(scope);
        }
        SPAN.set(UNMETERED);
        if let Some(around) = self.around.take() {
            ACCOUNT.replace(around.account);
            SCOPE.set(around.scope);
            LOW.set(around.low);
            SPAN.set(around.span);
        }
    }
}

/// Gives back what was metered.
#[cold]
fn release(scope: Scope) {
    if let Some(account) = ACCOUNT.with_borrow(Weak::upgrade) {
        account.release_metered(Clerk::QueryExecution, scope.metered);
    }
    SCOPE.set(Scope { metered: 0, ..scope });
}

/// Looks again when the count has grown by a step, or fallen so far that some goes back.
#[inline]
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
    if span == UNMETERED || count().wrapping_sub(LOW.get()) as usize <= span {
        return Ok(());
    }
    look()
}

#[cold]
fn look() -> Result<(), OutOfMemory> {
    let Some(account) = ACCOUNT.with_borrow(Weak::upgrade) else { return Ok(()) };
    let (scope, now) = (SCOPE.get(), count());
    let grown = now.wrapping_sub(scope.count);
    let charged = thread_charges::get().wrapping_sub(scope.charged);
    let held = usize::try_from(grown.saturating_sub(charged.max(0))).unwrap_or(0);
    if held > scope.metered {
        let more = held - scope.metered;
        let own = held.saturating_add(usize::try_from(charged).unwrap_or(0));
        account.charge_metered(Clerk::QueryExecution, more, own)?;
        // Read again: a cache that gave way to it may have asked, too.
        let scope = SCOPE.get();
        SCOPE.set(Scope { metered: scope.metered + more, ..scope });
    } else {
        account.release_metered(Clerk::QueryExecution, scope.metered - held);
        SCOPE.set(Scope { metered: held, ..scope });
    }
    watch(now, held);
    Ok(())
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
