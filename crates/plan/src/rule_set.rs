//! Sets of rewrites: which of them a statement is compiled without. Rewrites are numbers here:
//! their places in the list of `rewrite`.

/// A set of rewrites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet(u64);

impl RuleSet {
    /// Most rewrites that there can be.
    pub const MOST: usize = u64::BITS as usize;

    /// Puts one in.
    pub fn add(&mut self, rule: usize) {
        debug_assert!(rule < RuleSet::MOST);
        self.0 |= 1 << rule;
    }

    /// Whether it is in.
    pub fn has(self, rule: usize) -> bool {
        self.0 >> rule & 1 == 1
    }
}
