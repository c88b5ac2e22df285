//! Which requests get a worker thread, and which wait in a queue that costs none. A request takes a
//! thread out of a budget: of requests that run; once it waits for something that may take long, of
//! requests that wait; where those have no room for its login, of one that is kept for sessions in
//! a transaction, for ends of transactions, for logins, or for sysadmins.
//! Guarantees: never more threads run requests than all budgets together ([`Admission::most`]); one
//! login leaves room for others in each of them; a COMMIT or ROLLBACK alone, a login and a request
//! of a sysadmin find a thread although all others wait; a request that is queued begins when there
//! is room for it, unless it is withdrawn.

mod budget;
mod queue;
#[cfg(test)]
mod tests;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

pub use budget::{Purpose, Share};

use budget::Budget;
use queue::Queues;
pub use queue::{Queued, Ticket};

/// Threads for ends of transactions and sessions that find no other room.
const ENDING: usize = 64;
/// Threads for logins.
const LOGIN: usize = 64;
/// Threads for requests of sysadmins that find no other room.
const ADMINISTRATOR: usize = 32;

/// What a request is, as far as its thread depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It ends a transaction or a session, and does nothing else: it waits for no lock.
    End,
    /// Of a session in a transaction.
    Transaction,
    /// Opens the session of a client whose password was right.
    Opening,
    /// Any other request.
    Ordinary,
    /// Checks a password.
    Authentication,
}

impl Class {
    const ALL: [Class; 5] =
        [Class::End, Class::Transaction, Class::Opening, Class::Ordinary, Class::Authentication];

    /// The budgets that it may take a thread of, the first one first.
    fn purposes(self) -> &'static [Purpose] {
        match self {
            Class::End => &[Purpose::Running, Purpose::Transaction, Purpose::Ending],
            Class::Transaction => &[Purpose::Running, Purpose::Transaction],
            Class::Opening => &[Purpose::Running, Purpose::Login],
            Class::Ordinary => &[Purpose::Running],
            Class::Authentication => &[Purpose::Login],
        }
    }
}

/// The share of a login as one of its connections has it. Each has one of its own: whoever takes a
/// thread with it changes no memory that other connections share.
#[derive(Debug)]
pub struct Member(Arc<Share>);

impl Member {
    /// The share, which the login's other connections have too.
    pub fn share(&self) -> &Arc<Share> {
        &self.0
    }
}

impl Deref for Member {
    type Target = Share;

    fn deref(&self) -> &Share {
        &self.0
    }
}

/// A thread that a request holds. It is given back by [`Admission::leave`].
#[derive(Debug)]
#[must_use]
pub struct Slot {
    share: Arc<Member>,
    purpose: Purpose,
    lane: usize,
}

impl Slot {
    /// Whether it is of the budget that every request asks first: the others are kept for those
    /// that need them, and another request of the same session has no right to it.
    pub fn is_ordinary(&self) -> bool {
        self.purpose == Purpose::Running
    }
}

/// What has become of a request that wanted into the queue.
#[derive(Debug)]
pub enum AdmissionOutcome {
    /// There is room: it may run.
    Admitted(Slot),
    /// It is in the queue.
    Queued(#[cfg_attr(not(test), expect(dead_code, reason = "the connection keeps it"))] Ticket),
    /// It did not want to be queued any more.
    Refused,
}

/// The budgets and the queue.
pub struct Admission<T> {
    budgets: [Budget; Purpose::ALL.len()],
    lanes: usize,
    /// Clients that have not said yet who they are.
    strangers: Arc<Member>,
    queues: Mutex<Queues<T>>,
    /// Requests in the queues, also those that are on their way into one.
    queued: AtomicUsize,
    /// Nothing that is queued begins any more.
    closed: AtomicBool,
}

impl<T: Queued> Admission<T> {
    /// So many threads for requests that run, of which one login may hold `percent` of 100.
    pub fn new(running: usize, percent: usize, lanes: usize) -> Admission<T> {
        let limit = |purpose| match purpose {
            Purpose::Running | Purpose::Waiting => running,
            Purpose::Transaction => running.div_ceil(2),
            Purpose::Ending => ENDING,
            Purpose::Login => LOGIN,
            Purpose::Administrator => ADMINISTRATOR,
        };
        Admission {
            budgets: Purpose::ALL
                .map(|purpose| Budget::new(purpose, limit(purpose), percent, lanes)),
            lanes,
            strangers: Arc::new(Member(Arc::new(Share::new(0, lanes)))),
            queues: Mutex::new(Queues::new()),
            queued: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// The share of clients that have not logged in.
    pub fn strangers(&self) -> &Arc<Member> {
        &self.strangers
    }

    /// The share of a login, for one of its connections.
    pub fn share_of(&self, login: i32, administrator: bool) -> Arc<Member> {
        let share = self.queues.lock().share_of(login, self.lanes);
        share.set_administrator(administrator);
        Arc::new(Member(share))
    }

    /// Threads that requests hold.
    pub fn held(&self) -> usize {
        self.budgets.iter().map(Budget::taken).sum()
    }

    /// Threads of one purpose that requests hold.
    pub fn held_for(&self, purpose: Purpose) -> usize {
        self.budget(purpose).taken()
    }

    /// Most threads that requests can hold.
    pub fn most(&self) -> usize {
        self.budgets.iter().map(Budget::limit).sum()
    }

    /// Requests in the queue.
    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::SeqCst)
    }

    fn budget(&self, purpose: Purpose) -> &Budget {
        &self.budgets[purpose as usize]
    }

    fn take(&self, share: &Arc<Member>, class: Class, lane: usize, threads: usize) -> Option<Slot> {
        let own = class.purposes().iter();
        let reserve = share.is_administrator().then_some(&Purpose::Administrator);
        own.chain(reserve)
            .find(|purpose| self.budget(**purpose).take(share, lane, threads))
            .map(|purpose| Slot { share: share.clone(), purpose: *purpose, lane })
    }

    /// A thread for a request, unless others of its login wait for one already. `threads`: requests
    /// hold no more than so many in all.
    pub fn enter(
        &self,
        share: &Arc<Member>,
        class: Class,
        lane: usize,
        threads: usize,
    ) -> Option<Slot> {
        if self.queued() > 0 && self.queues.lock().has(share.login, class) {
            return None;
        }
        self.take(share, class, lane, threads)
    }

    /// Puts a request for which there was no thread into the queue, unless there is one now.
    /// `begin` is called before it is there; false: it does not want to wait. Beside the answer are
    /// those that may begin now, with their threads.
    ///
    /// Whoever is refused by [`Admission::enter`] must come here: two that ask for the last thread
    /// at once may both be refused, and so may one in the queue meanwhile.
    pub fn queue(
        &self,
        share: &Arc<Member>,
        class: Class,
        lane: usize,
        item: &Arc<T>,
        begin: impl FnOnce(Ticket) -> bool,
    ) -> (AdmissionOutcome, Vec<(Arc<T>, Slot)>) {
        let mut queues = self.queues.lock();
        // Before the budgets are asked: who gives a thread back looks here afterwards.
        self.queued.fetch_add(1, Ordering::SeqCst);
        if !queues.has(share.login, class)
            && let Some(slot) = self.take(share, class, lane, usize::MAX)
        {
            self.queued.fetch_sub(1, Ordering::SeqCst);
            return (AdmissionOutcome::Admitted(slot), self.begin_from(&mut queues));
        }
        let ticket = queues.ticket(share.login, class, lane);
        if self.is_closed() || !begin(ticket) {
            self.queued.fetch_sub(1, Ordering::SeqCst);
            return (AdmissionOutcome::Refused, self.begin_from(&mut queues));
        }
        queues.put(share, ticket, item.clone());
        (AdmissionOutcome::Queued(ticket), self.begin_from(&mut queues))
    }

    /// Takes a request out of the queue, if it is still there.
    pub fn withdraw(&self, ticket: Ticket) {
        if self.queues.lock().remove(ticket) {
            self.queued.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// What is queued does not begin any more, and nothing more is queued: the server ends all
    /// connections.
    pub fn close(&self) {
        // Under the lock: what is being queued is in the queue before, or is refused.
        let _queues = self.queues.lock();
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Whether all connections are being ended.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// A request has ended; those that may begin now, with their threads.
    pub fn leave(&self, slot: Slot) -> Vec<(Arc<T>, Slot)> {
        self.budget(slot.purpose).give(&slot.share, slot.lane);
        self.begin_queued()
    }

    /// A request waits for something that may take long: it goes to those that wait, if they have
    /// room. Those that may begin now, with their threads.
    pub fn waits(&self, slot: &mut Slot) -> Vec<(Arc<T>, Slot)> {
        let Slot { share, purpose, lane } = slot;
        if *purpose == Purpose::Waiting
            || !self.budget(Purpose::Waiting).take(share, *lane, usize::MAX)
        {
            return Vec::new();
        }
        let before = std::mem::replace(purpose, Purpose::Waiting);
        self.budget(before).give(share, *lane);
        self.begin_queued()
    }

    fn begin_queued(&self) -> Vec<(Arc<T>, Slot)> {
        if self.queued() == 0 { Vec::new() } else { self.begin_from(&mut self.queues.lock()) }
    }

    fn begin_from(&self, queues: &mut Queues<T>) -> Vec<(Arc<T>, Slot)> {
        let mut begun = Vec::new();
        if self.is_closed() {
            return begun;
        }
        for (login, class) in queues.in_turn() {
            while let Some((ticket, share, item)) = queues.first(login, class) {
                let Some(slot) = self.take(&share, class, ticket.lane, usize::MAX) else { break };
                queues.remove(ticket);
                self.queued.fetch_sub(1, Ordering::SeqCst);
                if item.leaves_queue(ticket) {
                    begun.push((item, slot));
                } else {
                    // It is being withdrawn in this moment.
                    self.budget(slot.purpose).give(&slot.share, slot.lane);
                }
            }
        }
        begun
    }
}
