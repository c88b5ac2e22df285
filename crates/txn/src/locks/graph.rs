//! The graph of waits as it was when the monitor looked, and the search for cycles in it.
//! Guarantees: every cycle of the graph of which no waiter was taken out is found; the search costs
//! one look at each waiter and holder, one at each waiter for each mode that waits behind it, and
//! one more at what lies on a cycle. A conversion waits for the holders that it conflicts with, a
//! new request also for those ahead of it in the queue that it conflicts with: it passes the
//! others.

use super::modes::{LockMode, MODES};
use super::names::OwnerId;

/// A waiter, by its position in [`Graph::waits`].
pub(super) type WaitAt = usize;

/// A request that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockRequest {
    /// Where it waits.
    pub place: usize,
    pub owner: OwnerId,
    pub mode: LockMode,
    pub conversion: bool,
    /// The one directly ahead of it in the queue, which begins with conversions.
    pub ahead: Option<WaitAt>,
}

/// A holder that waits somewhere itself; those that do not cannot be on a cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingHolder {
    pub wait: WaitAt,
    pub owner: OwnerId,
    pub mode: LockMode,
}

/// What is waited for.
#[derive(Debug, Default)]
pub(super) struct WaitPlace {
    pub holders: Vec<WaitingHolder>,
}

/// The graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub waits: Vec<LockRequest>,
    pub places: Vec<WaitPlace>,
}

/// A vertex: a waiter, or what all waiters of a place have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vertex {
    Wait(WaitAt),
    /// The holders of a place that conflict with a mode.
    Conflicts(usize, LockMode),
    /// This waiter and those ahead of it, as far as they conflict with a mode.
    Ahead(WaitAt, LockMode),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Color {
    /// Not visited.
    White,
    /// On the way that is being followed.
    Grey,
    /// All that can be reached from it has been seen.
    Black,
}

impl Graph {
    /// The edge of `v` at `cursor` or, where that is none, the next one after it; the cursor moves
    /// behind it.
    fn next_edge(&self, v: Vertex, cursor: &mut usize) -> Option<Vertex> {
        match v {
            Vertex::Wait(w) if self.waits[w].conversion => {
                self.next_holder(w, cursor).map(Vertex::Wait)
            }
            Vertex::Wait(w) => self.edge_of_new(w, cursor),
            Vertex::Conflicts(place, mode) => {
                let holders = &self.places[place].holders;
                let at =
                    holders.iter().skip(*cursor).position(|h| !h.mode.compatible(mode))? + *cursor;
                *cursor = at + 1;
                Some(Vertex::Wait(holders[at].wait))
            }
            Vertex::Ahead(w, mode) => self.edge_ahead(w, mode, cursor),
        }
    }

    /// A conversion does not wait for what its owner holds itself, so it has its edges to itself.
    fn next_holder(&self, w: WaitAt, cursor: &mut usize) -> Option<WaitAt> {
        let wait = &self.waits[w];
        let holders = &self.places[wait.place].holders;
        let conflicts = |h: &WaitingHolder| h.owner != wait.owner && !h.mode.compatible(wait.mode);
        let at = holders.iter().skip(*cursor).position(conflicts)? + *cursor;
        *cursor = at + 1;
        Some(holders[at].wait)
    }

    fn edge_of_new(&self, w: WaitAt, cursor: &mut usize) -> Option<Vertex> {
        let wait = &self.waits[w];
        if *cursor == 0 {
            *cursor = 1;
            if let Some(ahead) = wait.ahead {
                return Some(Vertex::Ahead(ahead, wait.mode));
            }
        }
        if *cursor > 1 {
            return None;
        }
        *cursor = 2;
        Some(Vertex::Conflicts(wait.place, wait.mode))
    }

    fn edge_ahead(&self, w: WaitAt, mode: LockMode, cursor: &mut usize) -> Option<Vertex> {
        let wait = &self.waits[w];
        if *cursor == 0 {
            *cursor = 1;
            if !wait.mode.compatible(mode) {
                return Some(Vertex::Wait(w));
            }
        }
        if *cursor > 1 {
            return None;
        }
        *cursor = 2;
        Some(Vertex::Ahead(wait.ahead?, mode))
    }

    /// The number of a vertex.
    fn number(&self, v: Vertex) -> usize {
        let waits = self.waits.len();
        match v {
            Vertex::Wait(w) => w,
            Vertex::Ahead(w, mode) => waits + w * MODES + mode as usize,
            Vertex::Conflicts(place, mode) => waits + (waits + place) * MODES + mode as usize,
        }
    }
}

/// A search for all cycles, depth first.
pub(super) struct Search<'a> {
    graph: &'a Graph,
    colors: Vec<Color>,
    /// The way that is being followed, with the edge to look at next.
    way: Vec<(Vertex, usize)>,
    next_root: WaitAt,
    /// Edges looked at.
    #[cfg(test)]
    looks: usize,
}

impl<'a> Search<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        let waits = graph.waits.len();
        let vertices = waits + (waits + graph.places.len()) * MODES;
        Search {
            graph,
            colors: vec![Color::White; vertices],
            way: Vec::new(),
            next_root: 0,
            #[cfg(test)]
            looks: 0,
        }
    }

    fn color(&mut self, v: Vertex) -> &mut Color {
        let at = self.graph.number(v);
        &mut self.colors[at]
    }

    fn enter(&mut self, v: Vertex) {
        *self.color(v) = Color::Grey;
        self.way.push((v, 0));
    }

    /// The next cycle: each waiter waits for the one after it, the last for the first. One of them
    /// is to be taken out ([`Search::take_out`]) before the next is asked for.
    pub fn next_cycle(&mut self) -> Option<Vec<WaitAt>> {
        loop {
            let Some((v, cursor)) = self.way.last_mut() else {
                let roots = self.next_root..self.graph.waits.len();
                let root = roots.into_iter().find(|w| self.colors[*w] == Color::White)?;
                self.next_root = root + 1;
                self.enter(Vertex::Wait(root));
                continue;
            };
            let v = *v;
            #[cfg(test)]
            {
                self.looks += 1;
            }
            match self.graph.next_edge(v, cursor) {
                None => {
                    self.way.pop();
                    *self.color(v) = Color::Black;
                }
                Some(next) => match *self.color(next) {
                    Color::White => self.enter(next),
                    Color::Grey => return Some(self.cycle_from(next)),
                    Color::Black => {}
                },
            }
        }
    }

    fn cycle_from(&self, first: Vertex) -> Vec<WaitAt> {
        let on_cycle = self.way.iter().skip_while(|(v, _)| *v != first);
        on_cycle
            .filter_map(|(v, _)| match v {
                Vertex::Wait(w) => Some(*w),
                _ => None,
            })
            .collect()
    }

    /// A waiter of the last cycle waits no more. The search goes on before it; what was seen behind
    /// it is seen again.
    pub fn take_out(&mut self, wait: WaitAt) {
        while let Some((v, _)) = self.way.pop() {
            if v == Vertex::Wait(wait) {
                // Seen to its end: nobody goes there any more.
                *self.color(v) = Color::Black;
                break;
            }
            *self.color(v) = Color::White;
            if let Vertex::Wait(w) = v {
                self.next_root = self.next_root.min(w);
            }
        }
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
