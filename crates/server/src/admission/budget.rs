//! How many worker threads there may be for one purpose, and how many of them one login may hold.
//! Guarantees: a budget never gives out more than its limit; while one login holds its share others
//! find room, and the more logins hold one the smaller it is; a request that is let in changes no
//! memory that all lanes share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Purposes of worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Requests that run.
    Running,
    /// Requests that have waited for a lock, WAITFOR or their client: until they end.
    Waiting,
    /// Requests of sessions in a transaction that find no other room: others may wait for them.
    Transaction,
    /// Ends of transactions and of sessions that find no other room. They wait for no lock.
    Ending,
    /// Logins.
    Login,
    /// Requests of sysadmins that find no other room.
    Administrator,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Purpose; 6] = [
        Purpose::Running,
        Purpose::Waiting,
        Purpose::Transaction,
        Purpose::Ending,
        Purpose::Login,
        Purpose::Administrator,
    ];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Running => "running",
            Purpose::Waiting => "waiting",
            Purpose::Transaction => "transaction",
            Purpose::Ending => "ending",
            Purpose::Login => "login",
            Purpose::Administrator => "administrator",
        }
    }
}

/// A counter in parts, one for each lane: threads of one lane count in the lane's own cache line. A
/// part may be negative, their sum is not.
#[derive(Debug)]
pub struct LaneCount(Box<[LanePart]>);

#[repr(align(128))]
#[derive(Debug, Default)]
struct LanePart(AtomicUsize);

impl LaneCount {
    /// 0, for so many lanes.
    pub fn new(lanes: usize) -> LaneCount {
        LaneCount((0..lanes.max(1)).map(|_| LanePart::default()).collect())
    }

    fn add(&self, lane: usize) {
        self.0[lane % self.0.len()].0.fetch_add(1, Ordering::SeqCst);
    }

    fn subtract(&self, lane: usize) {
        self.0[lane % self.0.len()].0.fetch_sub(1, Ordering::SeqCst);
    }

    /// The sum.
    pub fn sum(&self) -> usize {
        self.0.iter().fold(0, |sum, part| sum.wrapping_add(part.0.load(Ordering::SeqCst)))
    }
}

/// What a login holds of each budget in one lane. A part may be negative, the sum over all lanes is
/// not.
#[repr(align(128))]
#[derive(Debug, Default)]
struct HeldInLane([AtomicUsize; Purpose::ALL.len()]);

/// What a login holds of each budget.
#[derive(Debug)]
pub struct Share {
    /// The login's number; 0 stands for all clients that have not said yet who they are.
    pub login: i32,
    administrator: AtomicBool,
    /// Its open sessions.
    sessions: AtomicUsize,
    lanes: Box<[HeldInLane]>,
}

impl Share {
    /// Nothing, for so many lanes.
    pub fn new(login: i32, lanes: usize) -> Share {
        let lanes = (0..lanes.max(1)).map(|_| HeldInLane::default()).collect();
        Share { login, administrator: AtomicBool::new(false), sessions: AtomicUsize::new(0), lanes }
    }

    fn held_in(&self, purpose: Purpose, lane: usize) -> &AtomicUsize {
        &self.lanes[lane % self.lanes.len()].0[purpose as usize]
    }

    /// Worker threads of one purpose that it holds.
    fn held_for(&self, purpose: Purpose) -> usize {
        let of = |lane: &HeldInLane| lane.0[purpose as usize].load(Ordering::SeqCst);
        self.lanes.iter().fold(0, |sum, lane| sum.wrapping_add(of(lane)))
    }

    /// Whether its login is a sysadmin.
    pub fn is_administrator(&self) -> bool {
        self.administrator.load(Ordering::Relaxed)
    }

    /// Its login is a sysadmin, or is none.
    pub fn set_administrator(&self, is: bool) {
        self.administrator.store(is, Ordering::Relaxed);
    }

    /// Its open sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    /// It has one more.
    pub fn session_opened(&self) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
    }

    /// It has one less.
    pub fn session_closed(&self) {
        let before = self.sessions.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "a session is closed that was not open");
    }

    /// Worker threads that it holds.
    pub fn held(&self) -> usize {
        Purpose::ALL.iter().map(|purpose| self.held_for(*purpose)).sum()
    }
}

/// The threads of one purpose.
#[derive(Debug)]
pub struct Budget {
    purpose: Purpose,
    limit: usize,
    /// Of 100, what one login may hold while no other one holds anything.
    percent: usize,
    taken: LaneCount,
}

impl Budget {
    /// So many threads, of which one login may have `percent` of 100 at most.
    pub fn new(purpose: Purpose, limit: usize, percent: usize, lanes: usize) -> Budget {
        assert!((1..=100).contains(&percent), "a share of {percent} percent");
        Budget { purpose, limit, percent, taken: LaneCount::new(lanes) }
    }

    /// Threads at most.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Threads now.
    pub fn taken(&self) -> usize {
        self.taken.sum()
    }

    /// Takes a thread for a login, if its share allows. `threads`: no more than so many are held in
    /// all, as far as is known without adding up what other lanes have.
    pub fn take(&self, share: &Share, lane: usize, threads: usize) -> bool {
        let held = share.held_in(self.purpose, lane);
        self.taken.add(lane);
        held.fetch_add(1, Ordering::SeqCst);
        // Counted first: of two that take the last thread at once the later one sees the other.
        if threads < self.quiet()
            || self.admits(share.login != 0, share.held_for(self.purpose), self.taken.sum())
        {
            return true;
        }
        held.fetch_sub(1, Ordering::SeqCst);
        self.taken.subtract(lane);
        false
    }

    /// Gives a thread back.
    pub fn give(&self, share: &Share, lane: usize) {
        share.held_in(self.purpose, lane).fetch_sub(1, Ordering::SeqCst);
        self.taken.subtract(lane);
    }

    /// With fewer threads than this in use no login can hold more than its share.
    fn quiet(&self) -> usize {
        self.limit * self.percent / 100
    }

    /// Whether a login may hold `held` of `taken` threads: as many as its part of what it leaves
    /// free. So the first login that holds all that it may leaves room for a second one, both for a
    /// third one, and so on.
    fn admits(&self, shared: bool, held: usize, taken: usize) -> bool {
        if taken > self.limit {
            return false;
        }
        let free = self.limit - (taken - 1);
        !shared || held == 1 || held * (100 - self.percent) <= free * self.percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(budget: &Budget, share: &Share) -> usize {
        (0..).take_while(|n| budget.take(share, *n, usize::MAX)).count()
    }

    #[test]
    fn each_login_leaves_room_for_the_next_one() {
        let budget = Budget::new(Purpose::Running, 512, 50, 3);
        let logins: Vec<Share> = (1..=6).map(|login| Share::new(login, 3)).collect();
        let held: Vec<usize> = logins.iter().map(|share| fill(&budget, share)).collect();
        assert_eq!(held, [256, 128, 64, 32, 16, 8]);
        assert_eq!(budget.taken(), held.iter().sum::<usize>());
        // What the first gives back goes to those that have less.
        (0..200).for_each(|lane| budget.give(&logins[0], lane));
        assert_eq!((fill(&budget, &logins[5]), fill(&budget, &logins[0])), (100, 26));
        assert!(budget.taken() <= budget.limit());
    }

    #[test]
    fn a_share_of_all_ends_at_the_limit() {
        let budget = Budget::new(Purpose::Running, 10, 100, 1);
        assert_eq!(fill(&budget, &Share::new(1, 1)), 10);
        assert_eq!(fill(&budget, &Share::new(2, 1)), 0);
    }

    #[test]
    fn clients_before_their_login_share_nothing() {
        let budget = Budget::new(Purpose::Login, 10, 50, 1);
        assert_eq!(fill(&budget, &Share::new(0, 1)), 10);
    }

    #[test]
    fn a_quiet_server_counts_all_the_same() {
        let budget = Budget::new(Purpose::Running, 8, 50, 2);
        let share = Share::new(1, 2);
        (0..4).for_each(|n| assert!(budget.take(&share, n, n)));
        assert!(!budget.take(&share, 0, 4), "the share is used up");
        budget.give(&share, 7);
        assert!(budget.take(&share, 0, 3));
        assert_eq!((budget.taken(), share.held()), (4, 4));
    }
}
