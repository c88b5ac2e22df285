//! What the rewrites of a compilation have done. Rewrites are numbers here: their places in the
//! list of `plan::rewrite`.

/// What the rewrites of one compilation have done.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// Places of the statement that each has changed, by its number; empty until one has.
    changes: Vec<u64>,
    /// Ways to join two sets of relations that the search for an order of joins has looked at.
    pub steps: u64,
}

impl Applied {
    /// A rewrite has changed so many places.
    pub fn add(&mut self, rule: usize, places: u64) {
        if self.changes.len() <= rule {
            self.changes.resize(rule + 1, 0);
        }
        self.changes[rule] += places;
    }

    /// Numbers of the rewrites that have changed something, and how many places.
    pub fn changes(&self) -> impl Iterator<Item = (usize, u64)> {
        self.changes.iter().copied().enumerate().filter(|(_, places)| *places > 0)
    }
}
