//! Requests that wait for a thread, by login and class.
//! Guarantees: requests of one login and class begin in the order in which they came; taking one
//! out costs the logarithm of their number.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use super::budget::Share;
use super::{Class, Member};

/// What waits in a queue.
pub trait Queued {
    /// It is taken out of the queue to begin; false: somebody else has withdrawn it meanwhile.
    fn leaves_queue(&self, ticket: Ticket) -> bool;
}

/// The place of a request in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    number: u64,
    login: i32,
    class: Class,
    /// Of the connection.
    pub lane: usize,
}

/// What waits of one login.
struct OfLogin<T> {
    share: Arc<Member>,
    classes: [BTreeMap<u64, (Ticket, Arc<T>)>; Class::ALL.len()],
}

/// All that wait, and the shares of those that are logged in.
pub struct Queues<T> {
    logins: HashMap<i32, OfLogin<T>>,
    shares: HashMap<i32, Weak<Share>>,
    next: u64,
}

impl<T> Queues<T> {
    /// Nothing waits.
    pub fn new() -> Queues<T> {
        Queues { logins: HashMap::new(), shares: HashMap::new(), next: 0 }
    }

    /// The share of a login; the same as long as somebody has it.
    pub fn share_of(&mut self, login: i32, lanes: usize) -> Arc<Share> {
        if let Some(share) = self.shares.get(&login).and_then(Weak::upgrade) {
            return share;
        }
        self.shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Share::new(login, lanes));
        self.shares.insert(login, Arc::downgrade(&share));
        share
    }

    /// A new place at the end.
    pub fn ticket(&mut self, login: i32, class: Class, lane: usize) -> Ticket {
        self.next += 1;
        Ticket { number: self.next, login, class, lane }
    }

    /// Whether requests of a login and class wait.
    pub fn has(&self, login: i32, class: Class) -> bool {
        self.logins.get(&login).is_some_and(|of| !of.classes[class as usize].is_empty())
    }

    /// Puts a request in its place.
    pub fn put(&mut self, share: &Arc<Member>, ticket: Ticket, item: Arc<T>) {
        let of = self.logins.entry(ticket.login).or_insert_with(|| OfLogin {
            share: share.clone(),
            classes: std::array::from_fn(|_| BTreeMap::new()),
        });
        of.classes[ticket.class as usize].insert(ticket.number, (ticket, item));
    }

    /// Takes a request out; whether it was there.
    pub fn remove(&mut self, ticket: Ticket) -> bool {
        let Some(of) = self.logins.get_mut(&ticket.login) else { return false };
        let was_there = of.classes[ticket.class as usize].remove(&ticket.number).is_some();
        if of.classes.iter().all(BTreeMap::is_empty) {
            self.logins.remove(&ticket.login);
        }
        was_there
    }

    /// Logins and classes that wait, in the order in which they are to be looked at: the login with
    /// the fewest threads first, of one login the ends of transactions first. Only logins that hold
    /// their share wait, so there are not many.
    pub fn in_turn(&self) -> Vec<(i32, Class)> {
        let mut logins: Vec<(usize, i32)> =
            self.logins.iter().map(|(login, of)| (of.share.held(), *login)).collect();
        logins.sort_unstable();
        let classes = |(_, login)| Class::ALL.map(|class| (login, class));
        logins
            .into_iter()
            .flat_map(classes)
            .filter(|(login, class)| self.has(*login, *class))
            .collect()
    }

    /// The first one of a login and class.
    pub fn first(&self, login: i32, class: Class) -> Option<(Ticket, Arc<Member>, Arc<T>)> {
        let of = self.logins.get(&login)?;
        let (ticket, item) = of.classes[class as usize].values().next()?;
        Some((*ticket, of.share.clone(), item.clone()))
    }
}
