//! What became of transactions over several databases: who decides, and who is told.
//!
//! # Guarantees
//! - An answer never changes: "committed" is said only when the decision is durable, "rolled back"
//!   only of a transaction that its coordinator has not committed and never will. While neither is
//!   certain the answer is "unknown".
//! - A decision is kept, over restarts too, until every database that takes part has the end of its
//!   part durable.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};
use wal::{Log, Lsn};

use crate::global::{DatabaseGuid, Decision, GlobalId, PrepareRecord};

/// Decisions that one database keeps before the others are made to acknowledge theirs.
const MANY: usize = 1024;

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    RolledBack,
    /// The coordinator cannot be asked, or has not decided yet.
    Unknown,
}

/// A database that takes part in a decision.
#[derive(Debug)]
struct Member {
    database: DatabaseGuid,
    /// Where the end of its part is; `None`: nobody knows yet.
    end: Option<(Arc<Log>, Lsn)>,
}

impl Member {
    fn is_over(&self) -> bool {
        self.end.as_ref().is_some_and(|(log, lsn)| log.is_durable(*lsn))
    }
}

/// The decisions of one open database.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// Transactions that are about to be decided, or whose decision is not durable yet.
    open: HashSet<GlobalId>,
    committed: HashMap<GlobalId, Vec<Member>>,
    /// The same, in the order in which they were made.
    order: VecDeque<GlobalId>,
}

impl Decisions {
    /// The decision is in the log, and durable when [`Coordinator::decided`] says so. To be called
    /// under the lock under which its record was appended: a checkpoint lists what was decided
    /// before it began.
    pub fn add(&mut self, decision: &Decision) {
        let member = |database: &DatabaseGuid| Member { database: *database, end: None };
        let members = decision.databases.iter().map(member).collect();
        if self.committed.insert(decision.id, members).is_none() {
            self.order.push_back(decision.id);
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&mut Vec<Member>) -> bool) {
        self.committed.retain(|_, members| keep(members));
        self.order.retain(|id| self.committed.contains_key(id));
    }

    /// Forgets the oldest decisions as far as everybody has acknowledged them.
    fn forget_oldest(&mut self) {
        while let Some(id) = self.order.front() {
            let open =
                self.committed.get(id).is_some_and(|members| !members.iter().all(Member::is_over));
            if open {
                return;
            }
            self.committed.remove(id);
            self.order.pop_front();
        }
    }

    /// Where the oldest decision waits for the end of a part to be durable.
    fn oldest_ends(&self) -> Vec<(Arc<Log>, Lsn)> {
        let members = self.order.front().and_then(|id| self.committed.get(id));
        let ends = members.into_iter().flatten().filter(|member| !member.is_over());
        ends.filter_map(|member| member.end.clone()).collect()
    }
}

/// One database as it decides for others.
#[derive(Debug, Default)]
pub(crate) struct Coordinator(Mutex<Decisions>);

impl Coordinator {
    /// The lock under which decisions are appended and listed.
    pub fn lock(&self) -> MutexGuard<'_, Decisions> {
        self.0.lock()
    }

    /// A transaction is about to ask its databases: until it is decided its outcome is unknown.
    pub fn begin(&self, id: GlobalId) {
        self.0.lock().open.insert(id);
    }

    /// It will not be committed.
    pub fn give_up(&self, id: GlobalId) {
        self.0.lock().open.remove(&id);
    }

    /// Its decision is durable.
    pub fn decided(&self, id: GlobalId) {
        self.0.lock().open.remove(&id);
    }

    /// The end of a database's part is in its log.
    pub fn ended(&self, id: GlobalId, database: DatabaseGuid, log: &Arc<Log>, end: Lsn) {
        let mut decisions = self.0.lock();
        let members = decisions.committed.get_mut(&id).into_iter().flatten();
        for member in members.filter(|member| member.database == database) {
            member.end = Some((log.clone(), end));
        }
        decisions.forget_oldest();
        if decisions.order.len() <= MANY {
            return;
        }
        let waiting = decisions.oldest_ends();
        drop(decisions);
        for (log, lsn) in waiting {
            // A database whose log has failed is asked again when it has been recovered.
            drop(log.flush_to(lsn));
        }
        self.0.lock().forget_oldest();
    }

    /// A database has been recovered: it has no open part any more, and the ends of all of them are
    /// durable.
    fn acknowledged(&self, database: DatabaseGuid) {
        self.0.lock().retain(|members| {
            members.retain(|member| member.database != database);
            !members.is_empty()
        });
    }

    /// What a checkpoint has to list.
    pub fn list(&self) -> Vec<Decision> {
        let mut decisions = self.0.lock();
        decisions.retain(|members| !members.iter().all(Member::is_over));
        let decision = |id: &GlobalId| {
            let members = decisions.committed.get(id)?;
            Some(Decision {
                id: *id,
                databases: members.iter().map(|member| member.database).collect(),
            })
        };
        decisions.order.iter().filter_map(decision).collect()
    }

    /// How many decisions somebody may have to ask for.
    pub fn kept(&self) -> usize {
        self.0.lock().committed.len()
    }

    /// How many bytes the list takes at most.
    pub fn list_bytes(&self) -> usize {
        let decisions = self.0.lock();
        decisions.committed.values().map(|members| 18 + 16 * members.len()).sum()
    }

    /// Before the database closes: databases that are open acknowledge what they can.
    pub fn settle(&self) {
        let ends: Vec<_> = {
            let decisions = self.0.lock();
            let members = decisions.committed.values().flatten().filter(|member| !member.is_over());
            members.filter_map(|member| member.end.clone()).collect()
        };
        for (log, lsn) in ends {
            // One that has failed stays in the list.
            drop(log.flush_to(lsn));
        }
    }

    fn ask(&self, id: GlobalId) -> Outcome {
        let decisions = self.0.lock();
        if decisions.open.contains(&id) {
            Outcome::Unknown
        } else if decisions.committed.contains_key(&id) {
            Outcome::Committed
        } else {
            Outcome::RolledBack
        }
    }
}

/// A transaction that keeps its database from being opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InDoubt {
    /// The database, and its number in the instance.
    pub database: DatabaseGuid,
    pub number: u16,
    pub prepared: PrepareRecord,
}

#[derive(Debug, Default)]
struct KnownOutcomes {
    /// Databases whose logs have been read, with their numbers: copies of one database have the
    /// same identity.
    coordinators: BTreeMap<(DatabaseGuid, u16), Arc<Coordinator>>,
    /// Databases that are recovered.
    recovered: BTreeSet<DatabaseGuid>,
    in_doubt: BTreeMap<(GlobalId, DatabaseGuid), InDoubt>,
    /// What an administrator has decided: true commits.
    told: BTreeMap<GlobalId, bool>,
}

/// All databases of an instance, as they ask each other.
#[derive(Debug)]
pub struct Outcomes {
    /// Tells the transactions of this start from those of others.
    start: u64,
    next: AtomicU64,
    known: Mutex<KnownOutcomes>,
}

impl Default for Outcomes {
    fn default() -> Self {
        Outcomes { start: fastrand::u64(..), next: AtomicU64::new(1), known: Mutex::default() }
    }
}

impl Outcomes {
    /// Identity for a transaction.
    pub(crate) fn new_id(&self) -> GlobalId {
        let number = self.next.fetch_add(1, Relaxed);
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.start.to_le_bytes());
        id[8..].copy_from_slice(&number.to_be_bytes());
        GlobalId(id)
    }

    /// A database's log has been read: its decisions are known.
    pub(crate) fn register(
        &self,
        database: DatabaseGuid,
        number: u16,
        coordinator: Arc<Coordinator>,
    ) {
        self.known.lock().coordinators.insert((database, number), coordinator);
    }

    /// A database was closed: it cannot be asked any more.
    pub(crate) fn unregister(
        &self,
        database: DatabaseGuid,
        number: u16,
        coordinator: &Arc<Coordinator>,
    ) {
        let mut known = self.known.lock();
        let there = known.coordinators.get(&(database, number));
        if there.is_some_and(|there| Arc::ptr_eq(there, coordinator)) {
            known.coordinators.remove(&(database, number));
            known.recovered.remove(&database);
        }
    }

    /// A database has been recovered, and the ends of all its parts are durable.
    pub(crate) fn recovered(&self, database: DatabaseGuid) {
        let coordinators: Vec<_> = {
            let mut known = self.known.lock();
            known.in_doubt.retain(|_, doubt| doubt.database != database);
            known.recovered.insert(database);
            known.coordinators.values().cloned().collect()
        };
        coordinators.iter().for_each(|coordinator| coordinator.acknowledged(database));
    }

    /// At the end of a start, when no transaction runs yet: databases that were recovered before
    /// their coordinator acknowledge.
    pub fn settle(&self) {
        let known = self.known.lock();
        for database in &known.recovered {
            known.coordinators.values().for_each(|coordinator| coordinator.acknowledged(*database));
        }
    }

    /// What became of a transaction, by an administrator's word or the coordinator's.
    pub(crate) fn ask(&self, prepared: &PrepareRecord) -> Outcome {
        let known = self.known.lock();
        if let Some(commit) = known.told.get(&prepared.id) {
            return if *commit { Outcome::Committed } else { Outcome::RolledBack };
        }
        let range = (prepared.coordinator, 0)..=(prepared.coordinator, u16::MAX);
        let answers: Vec<Outcome> = known
            .coordinators
            .range(range)
            .map(|(_, coordinator)| coordinator.ask(prepared.id))
            .collect();
        // Of copies of one database only one can have decided.
        if answers.contains(&Outcome::Committed) {
            Outcome::Committed
        } else if answers.is_empty() || answers.contains(&Outcome::Unknown) {
            Outcome::Unknown
        } else {
            Outcome::RolledBack
        }
    }

    /// A database cannot be opened because of these.
    pub(crate) fn note_in_doubt(&self, list: &[InDoubt]) {
        let mut known = self.known.lock();
        known
            .in_doubt
            .extend(list.iter().map(|doubt| ((doubt.prepared.id, doubt.database), doubt.clone())));
    }

    /// The transactions that keep databases from being opened.
    pub fn in_doubt(&self) -> Vec<InDoubt> {
        self.known.lock().in_doubt.values().cloned().collect()
    }

    /// An administrator decides: the next attempts to open these databases go by it. None: no such
    /// transaction is in doubt.
    pub fn tell(&self, id: GlobalId, commit: bool) -> Vec<InDoubt> {
        let mut known = self.known.lock();
        let range = (id, [0; 16])..=(id, [u8::MAX; 16]);
        let doubts: Vec<InDoubt> =
            known.in_doubt.range(range).map(|(_, doubt)| doubt.clone()).collect();
        if !doubts.is_empty() {
            known.told.insert(id, commit);
        }
        doubts
    }
}
