//! The search for cycles against a plain one that tries every way, on random graphs; and what it
//! costs.

use super::*;
use LockMode::*;

/// Whether `from` can reach itself over waiters that are not `out`, by trying every edge.
fn on_cycle(graph: &Graph, from: WaitAt, out: &[bool]) -> bool {
    let mut seen = vec![false; graph.waits.len()];
    let mut next = vec![from];
    while let Some(w) = next.pop() {
        let wait = &graph.waits[w];
        let place = &graph.places[wait.place];
        let holders =
            place.holders.iter().filter(|h| h.owner != wait.owner && !h.mode.compatible(wait.mode));
        let mut edges: Vec<WaitAt> = holders.map(|h| h.wait).collect();
        if !wait.conversion {
            let ahead = std::iter::successors(wait.ahead, |at| graph.waits[*at].ahead);
            edges.extend(ahead.filter(|at| !graph.waits[*at].mode.compatible(wait.mode)));
        }
        for e in edges.into_iter().filter(|e| !out[*e]) {
            if e == from {
                return true;
            }
            if !std::mem::replace(&mut seen[e], true) {
                next.push(e);
            }
        }
    }
    false
}

fn random(rng: &mut fastrand::Rng) -> Graph {
    let (waits, places) = (rng.usize(1..12), rng.usize(1..6));
    let mode = |rng: &mut fastrand::Rng| [S, U, X, IS, IX, SIX][rng.usize(..6)];
    let mut graph = Graph::default();
    graph.places.resize_with(places, WaitPlace::default);
    let mut queues = vec![(Vec::new(), Vec::new()); places];
    for at in 0..waits {
        let (place, conversion) = (rng.usize(..places), rng.u8(..4) == 0);
        let owner = OwnerId(at as u64 + 1);
        let (conversions, new) = &mut queues[place];
        if conversion {
            conversions.push(at);
            graph.places[place].holders.push(WaitingHolder { wait: at, owner, mode: mode(rng) });
        } else {
            new.push(at);
        }
        graph.waits.push(LockRequest { place, owner, mode: mode(rng), conversion, ahead: None });
        for _ in 0..rng.usize(..3) {
            let held = rng.usize(..places);
            if held != place {
                graph.places[held].holders.push(WaitingHolder { wait: at, owner, mode: mode(rng) });
            }
        }
    }
    for (conversions, new) in queues {
        let mut ahead = None;
        for at in conversions.into_iter().chain(new) {
            graph.waits[at].ahead = ahead.replace(at);
        }
    }
    graph
}

#[test]
fn every_cycle_of_random_graphs_is_found_and_nothing_else() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut cycles = 0;
    for _ in 0..20_000 {
        let graph = random(&mut rng);
        let mut out = vec![false; graph.waits.len()];
        let mut search = Search::new(&graph);
        while let Some(cycle) = search.next_cycle() {
            assert!(cycle.iter().all(|w| !out[*w]), "a cycle over one who was taken out");
            assert!(cycle.iter().all(|w| on_cycle(&graph, *w, &out)), "not a cycle");
            let victim = cycle[rng.usize(..cycle.len())];
            out[victim] = true;
            search.take_out(victim);
            cycles += 1;
        }
        for w in (0..graph.waits.len()).filter(|w| !out[*w]) {
            assert!(!on_cycle(&graph, w, &out), "a cycle is left");
        }
    }
    assert!(cycles > 3_000, "{cycles}");
}

/// Edges that a search looks at, counted by the vertices that it enters and leaves.
#[test]
fn a_long_queue_before_many_holders_is_looked_at_once() {
    const MANY: usize = 50_000;
    let mut graph = Graph::default();
    graph.places.resize_with(2, WaitPlace::default);
    for at in 0..MANY {
        // Half hold the first resource and wait for the second, half wait for the first.
        let place = usize::from(at < MANY / 2);
        let owner = OwnerId(at as u64 + 1);
        let ahead = at.checked_sub(1).filter(|before| usize::from(*before < MANY / 2) == place);
        graph.waits.push(LockRequest { place, owner, mode: X, conversion: false, ahead });
        if place == 1 {
            graph.places[0].holders.push(WaitingHolder { wait: at, owner, mode: S });
        }
    }
    let mut search = Search::new(&graph);
    assert!(search.next_cycle().is_none());
    // Each waiter has two edges, and so has what is ahead of it in its mode; each resource's
    // conflicts have one for each holder: 625 million if each waiter had them.
    assert!(search.looks < 7 * MANY, "{}", search.looks);
}
