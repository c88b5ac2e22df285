//! Deadlocks: the graph of waiting owners, the cycle that is confirmed, the victim, and what is
//! told of it.
//! Guarantees: nobody is a victim who is not on a cycle that stands when the victim is chosen; each
//! cycle has one victim: the lowest DEADLOCK_PRIORITY, then the least log written, then the one
//! that came last. No bucket is held for longer than it takes to copy one resource's holders.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use super::deadlock_report::{Block, Deadlock, DeadlockEdge, DeadlockParty};
use super::graph::{Graph, LockRequest, Search, WaitAt, WaitPlace, WaitingHolder};
use super::manager::LockManager;
use super::modes::LockMode;
use super::monitor::{SearchResult, processor_time};
use super::names::{FastBuild, LockRequester, Node, Resource};
use super::table::Grant;
use super::waits::{Verdict, Waiter};

/// The graph and the waiters that it was made from.
struct Snapshot {
    waiters: Vec<Arc<Waiter>>,
    graph: Graph,
}

impl LockManager {
    /// Looks at all that wait and breaks every deadlock among them.
    pub(super) fn find_deadlocks(&self) -> SearchResult {
        let _one = self.searching.lock();
        let snapshot = self.snapshot();
        let mut found = SearchResult { waiting: snapshot.waiters.len(), ..SearchResult::default() };
        let mut search = Search::new(&snapshot.graph);
        while let Some(cycle) = search.next_cycle() {
            let parties: Vec<_> = cycle.iter().map(|at| &snapshot.waiters[*at]).collect();
            let out = match self.confirm(&parties) {
                Ok(edges) => {
                    let victim = victim(&parties);
                    // A session that gets the error finds the deadlock where it is listed.
                    parties[victim].decide_and(Verdict::Victim, || {
                        self.waits.deadlocks.fetch_add(1, Relaxed);
                        found.broken += 1;
                        found.telling += self.tell(&parties, &edges, victim);
                    });
                    victim
                }
                // It has gone on, or is about to: what comes of that the next search sees.
                Err(changed) => {
                    found.unsure = true;
                    changed
                }
            };
            search.take_out(cycle[out]);
        }
        found
    }

    fn snapshot(&self) -> Snapshot {
        let waiters = self.waiters();
        let nodes: HashMap<Node, WaitAt, FastBuild> =
            waiters.iter().enumerate().map(|(at, w)| (w.node(), at)).collect();
        let mut places: HashMap<Resource, usize, FastBuild> = HashMap::default();
        let mut graph = Graph::default();
        let tickets: HashMap<u64, WaitAt, FastBuild> =
            waiters.iter().enumerate().map(|(at, w)| (w.ticket, at)).collect();
        for w in &waiters {
            let place = match places.entry(w.resource) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    graph.places.push(WaitPlace::default());
                    *new.insert(graph.places.len() - 1)
                }
            };
            let Waiter { owner, mode, conversion, .. } = **w;
            graph.waits.push(LockRequest { place, owner, mode, conversion, ahead: None });
        }
        for (resource, place) in places {
            self.look_at(resource, &mut graph, place, &nodes, &tickets);
        }
        Snapshot { waiters, graph }
    }

    /// Adds who holds a resource and in which order the others wait for it.
    fn look_at(
        &self,
        resource: Resource,
        graph: &mut Graph,
        place: usize,
        nodes: &HashMap<Node, WaitAt, FastBuild>,
        tickets: &HashMap<u64, WaitAt, FastBuild>,
    ) {
        let bucket = self.bucket(&resource);
        let Some(entry) = bucket.get(&resource) else { return };
        let grants: Vec<Grant> = entry.holders.iter().copied().collect();
        let queue: Vec<(u64, Option<LockRequester>)> =
            entry.queue.values().map(|w| (w.ticket, w.blocker)).collect();
        drop(bucket);
        let Graph { waits, places } = graph;
        let place = &mut places[place];
        let holder = |who: LockRequester, mode| {
            Some(WaitingHolder { wait: *nodes.get(&who.node())?, owner: who.id, mode })
        };
        place.holders = grants.into_iter().filter_map(|g| holder(g.who, g.mode)).collect();
        let mut ahead = None;
        for (ticket, blocker) in queue {
            let Some(&at) = tickets.get(&ticket) else { continue };
            match blocker {
                // All that wait for a transaction wait for one who is not in the queue, and not for
                // each other.
                Some(who) if place.holders.is_empty() => {
                    place.holders.extend(holder(who, LockMode::X))
                }
                Some(_) => {}
                None => waits[at].ahead = ahead.replace(at),
            }
        }
    }

    /// The search looks at one resource after the other. The cycle is real when every edge is there
    /// and every waiter has waited in one go since it was found: who waits neither takes nor
    /// releases locks. Else who has gone on.
    fn confirm(&self, parties: &[&Arc<Waiter>]) -> Result<Vec<DeadlockEdge>, usize> {
        let next = parties.iter().cycle().skip(1);
        let edges: Result<Vec<_>, usize> = parties
            .iter()
            .zip(next)
            .enumerate()
            .map(|(at, (a, b))| self.edge(a, b).ok_or(at))
            .collect();
        match parties.iter().position(|w| w.verdict() != Verdict::Waiting) {
            Some(gone) => Err(gone),
            None => edges,
        }
    }

    /// What `b` has that `a` waits for.
    fn edge(&self, a: &Waiter, b: &Waiter) -> Option<DeadlockEdge> {
        if let Some(who) = a.blocker {
            let block = Block::Holds(LockMode::X);
            return (who.node() == b.node()).then_some(DeadlockEdge { who, block });
        }
        let bucket = self.bucket(&a.resource);
        let entry = bucket.get(&a.resource)?;
        entry.queue.get(&a.queue_key())?;
        let blocks = |g: &&Grant| {
            g.who.id != a.owner && g.who.node() == b.node() && !g.mode.compatible(a.mode)
        };
        if let Some(g) = entry.holders.iter().find(blocks) {
            return Some(DeadlockEdge { who: g.who, block: Block::Holds(g.mode) });
        }
        let ahead = !a.conversion && b.resource == a.resource && b.queue_key() < a.queue_key();
        let ahead = ahead && !b.mode.compatible(a.mode);
        let edge = DeadlockEdge { who: b.who(), block: Block::Ahead(b.mode) };
        (ahead && entry.queue.contains_key(&b.queue_key())).then_some(edge)
    }

    /// Tells the listener of a deadlock: how long that took.
    fn tell(&self, parties: &[&Arc<Waiter>], edges: &[DeadlockEdge], victim: usize) -> Duration {
        let Some(listener) = self.listener.get() else { return Duration::ZERO };
        let start = processor_time();
        let party = |(w, edge): (&&Arc<Waiter>, &DeadlockEdge)| DeadlockParty {
            who: w.who(),
            resource: w.resource,
            mode: w.mode,
            conversion: w.conversion,
            waited: w.since.elapsed(),
            priority: w.args.priority,
            log_bytes: w.args.log_bytes,
            blocked_by: *edge,
        };
        let parties = parties.iter().zip(edges).map(party).collect();
        listener(&Deadlock { at: SystemTime::now(), parties, victim });
        processor_time().saturating_sub(start)
    }
}

/// The victim: the owner that gives way.
fn victim(parties: &[&Arc<Waiter>]) -> usize {
    let cost = |w: &Waiter| (w.args.priority, w.args.log_bytes, std::cmp::Reverse(w.ticket));
    (0..parties.len()).min_by_key(|at| cost(parties[*at])).unwrap_or_default()
}
