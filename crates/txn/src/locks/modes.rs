//! Lock modes: SQL Server's names, the compatibility matrix and the conversion lattice. Guarantees:
//! compatibility is symmetric; a combined mode conflicts with exactly what its parts conflict with;
//! `join` never returns a mode weaker than either argument.

/// A lock mode. The discriminants index the compatibility table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// Schema stability: held while a plan that depends on the object runs.
    SchS,
    /// Schema modification: excludes everything.
    SchM,
    /// Shared.
    S,
    /// Update: shared with readers, one at a time among those that mean to write.
    U,
    /// Exclusive.
    X,
    /// Intent shared.
    IS,
    /// Intent update.
    IU,
    /// Intent exclusive.
    IX,
    /// Shared with intent update.
    SIU,
    /// Shared with intent exclusive.
    SIX,
    /// Update with intent exclusive.
    UIX,
    /// Bulk update: parallel bulk loads beside each other.
    BU,
    /// Shared range, shared key.
    RangeSS,
    /// Shared range, update key.
    RangeSU,
    /// Insert range: tests a range before a key is inserted.
    RangeIN,
    /// Exclusive range, exclusive key.
    RangeXX,
    /// Conversion of RangeI-N and S.
    RangeIS,
    /// Conversion of RangeI-N and U.
    RangeIU,
    /// Conversion of RangeI-N and RangeS-S.
    RangeXS,
    /// Conversion of RangeI-N and RangeS-U.
    RangeXU,
}

use LockMode::*;

/// How many modes there are.
pub(crate) const MODES: usize = 20;

/// Every mode, in the order of the discriminants.
pub(crate) const ALL_MODES: [LockMode; MODES] = [
    SchS, SchM, S, U, X, IS, IU, IX, SIU, SIX, UIX, BU, RangeSS, RangeSU, RangeIN, RangeXX,
    RangeIS, RangeIU, RangeXS, RangeXU,
];

/// Pairs of basic modes that may be granted together; the rest of the matrix follows.
const BASIC_PAIRS: [(LockMode, LockMode); 28] = [
    (S, S),
    (S, U),
    (S, IS),
    (S, IU),
    (U, IS),
    (IS, IS),
    (IS, IU),
    (IS, IX),
    (IU, IU),
    (IU, IX),
    (IX, IX),
    (BU, BU),
    (S, RangeSS),
    (S, RangeSU),
    (S, RangeIN),
    (U, RangeSS),
    (U, RangeIN),
    (X, RangeIN),
    (RangeSS, RangeSS),
    (RangeSS, RangeSU),
    (RangeIN, RangeIN),
    // Intents meet key modes only when a caller mixes granularities on one resource; these pairs
    // keep the lattice whole (X covers IX, S covers IS, U covers IU).
    (IS, RangeSS),
    (IS, RangeSU),
    (IU, RangeSS),
    (IS, RangeIN),
    (IU, RangeIN),
    (IX, RangeIN),
    (BU, RangeIN),
];

/// Combined modes and their two parts.
const COMBINED: [(LockMode, LockMode, LockMode); 7] = [
    (SIU, S, IU),
    (SIX, S, IX),
    (UIX, U, IX),
    (RangeIS, RangeIN, S),
    (RangeIU, RangeIN, U),
    (RangeXS, RangeIN, RangeSS),
    (RangeXU, RangeIN, RangeSU),
];

/// For each mode the bit set of the modes that may be granted beside it.
const COMPATIBLE: [u32; MODES] = build();

/// The one or two basic modes that `mode` consists of.
const fn parts(mode: usize) -> (usize, usize) {
    let mut i = 0;
    while i < COMBINED.len() {
        if COMBINED[i].0 as usize == mode {
            return (COMBINED[i].1 as usize, COMBINED[i].2 as usize);
        }
        i += 1;
    }
    (mode, mode)
}

/// Are two basic modes compatible? SCH-S conflicts with SCH-M only.
const fn basic(a: usize, b: usize) -> bool {
    if a == SchS as usize || b == SchS as usize {
        return a != SchM as usize && b != SchM as usize;
    }
    let mut i = 0;
    while i < BASIC_PAIRS.len() {
        let (x, y) = (BASIC_PAIRS[i].0 as usize, BASIC_PAIRS[i].1 as usize);
        if (x == a && y == b) || (x == b && y == a) {
            return true;
        }
        i += 1;
    }
    false
}

/// A combined mode goes with what all of its parts go with.
const fn build() -> [u32; MODES] {
    let mut m = [0u32; MODES];
    let mut a = 0;
    while a < MODES {
        let mut b = 0;
        while b < MODES {
            let ((a1, a2), (b1, b2)) = (parts(a), parts(b));
            if basic(a1, b1) && basic(a1, b2) && basic(a2, b1) && basic(a2, b2) {
                m[a] |= 1 << b;
            }
            b += 1;
        }
        a += 1;
    }
    m
}

impl LockMode {
    /// The bit of this mode in a mask.
    pub(crate) fn bit(self) -> u32 {
        1 << self as u32
    }

    /// May `self` and `other` be held on one resource by different owners?
    pub fn compatible(self, other: LockMode) -> bool {
        COMPATIBLE[self as usize] & other.bit() != 0
    }

    /// The bit set of the modes that may be granted beside this one.
    pub(crate) fn compatible_mask(self) -> u32 {
        COMPATIBLE[self as usize]
    }

    /// Does holding `self` give everything that holding `other` would? True when `self` excludes
    /// all that `other` does.
    pub fn covers(self, other: LockMode) -> bool {
        self == other || (self.compatible_mask() & !other.compatible_mask() == 0 && self != SchS)
    }

    /// The weakest mode that covers both: what a holder of `self` holds after asking for `other`.
    pub fn join(self, other: LockMode) -> LockMode {
        if self.covers(other) {
            return self;
        }
        if other.covers(self) {
            return other;
        }
        let both = self.compatible_mask() & other.compatible_mask();
        let mut best = SchM;
        let mut width = 0;
        for m in ALL_MODES {
            if m != SchS
                && m.compatible_mask() & !both == 0
                && m.compatible_mask().count_ones() > width
            {
                best = m;
                width = m.compatible_mask().count_ones();
            }
        }
        best
    }

    /// Whether holding it keeps others from inserting into the gap below the key.
    pub(crate) fn holds_gap(self) -> bool {
        matches!(self, RangeSS | RangeSU | RangeXX | RangeXS | RangeXU | SchM)
    }

    /// The range mode that holds the gap below a key as well as the key in this mode (S, U or X).
    pub fn with_gap(self) -> LockMode {
        match self {
            S => RangeSS,
            U => RangeSU,
            _ => RangeXX,
        }
    }

    /// The name as sys.dm_tran_locks.request_mode shows it.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; MODES] = [
            "Sch-S", "Sch-M", "S", "U", "X", "IS", "IU", "IX", "SIU", "SIX", "UIX", "BU",
            "RangeS-S", "RangeS-U", "RangeI-N", "RangeX-X", "RangeI-S", "RangeI-U", "RangeX-S",
            "RangeX-U",
        ];
        NAMES[self as usize]
    }

    /// The wait type of a wait for this mode in sys.dm_os_wait_stats.
    pub fn wait_type(self) -> &'static str {
        const NAMES: [&str; MODES] = [
            "LCK_M_SCH_S",
            "LCK_M_SCH_M",
            "LCK_M_S",
            "LCK_M_U",
            "LCK_M_X",
            "LCK_M_IS",
            "LCK_M_IU",
            "LCK_M_IX",
            "LCK_M_SIU",
            "LCK_M_SIX",
            "LCK_M_UIX",
            "LCK_M_BU",
            "LCK_M_RS_S",
            "LCK_M_RS_U",
            "LCK_M_RIn_NL",
            "LCK_M_RX_X",
            "LCK_M_RIn_S",
            "LCK_M_RIn_U",
            "LCK_M_RX_S",
            "LCK_M_RX_U",
        ];
        NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discriminants_index_the_tables() {
        for (i, m) in ALL_MODES.iter().enumerate() {
            assert_eq!(*m as usize, i);
        }
    }

    #[test]
    fn matrix_is_symmetric_and_matches_the_published_rows() {
        for a in ALL_MODES {
            for b in ALL_MODES {
                assert_eq!(a.compatible(b), b.compatible(a), "{a:?} {b:?}");
            }
            assert!(!SchM.compatible(a));
            assert_eq!(SchS.compatible(a), a != SchM);
        }
        // Rows in the order S U X IS IU IX SIU SIX UIX BU, 1 = granted together.
        let columns = [S, U, X, IS, IU, IX, SIU, SIX, UIX, BU];
        let rows = [
            (S, "1101101000"),
            (U, "1001000000"),
            (X, "0000000000"),
            (IS, "1101111110"),
            (IU, "1001111100"),
            (IX, "0001110000"),
            (SIU, "1001101000"),
            (SIX, "0001100000"),
            (UIX, "0001000000"),
            (BU, "0000000001"),
        ];
        for (mode, row) in rows {
            for (c, flag) in columns.iter().zip(row.chars()) {
                assert_eq!(mode.compatible(*c), flag == '1', "{mode:?} beside {c:?}");
            }
        }
        let keys = [S, U, X, RangeSS, RangeSU, RangeIN, RangeXX];
        let rows = [
            (RangeSS, "1101100"),
            (RangeSU, "1001000"),
            (RangeIN, "1110010"),
            (RangeXX, "0000000"),
        ];
        for (mode, row) in rows {
            for (c, flag) in keys.iter().zip(row.chars()) {
                assert_eq!(mode.compatible(*c), flag == '1', "{mode:?} beside {c:?}");
            }
        }
    }

    #[test]
    fn join_is_a_least_upper_bound() {
        for a in ALL_MODES {
            assert_eq!(a.join(a), a);
            for b in ALL_MODES {
                let j = a.join(b);
                assert!(j.covers(a) && j.covers(b), "{a:?} join {b:?} = {j:?}");
                assert_eq!(j.compatible_mask(), b.join(a).compatible_mask());
            }
        }
        assert_eq!(S.join(IX), SIX);
        assert_eq!(IX.join(S), SIX);
        assert_eq!(S.join(IU), SIU);
        assert_eq!(U.join(IX), UIX);
        assert_eq!(IS.join(IX), IX);
        assert_eq!(S.join(U), U);
        assert_eq!(IX.join(X), X);
        assert_eq!(IU.join(U), U);
        assert_eq!(BU.join(X), X);
        assert_eq!(BU.join(IX), X);
        assert_eq!(S.join(X), X);
        assert_eq!(SIX.join(U), UIX);
        assert_eq!(RangeIN.join(S), RangeIS);
        assert_eq!(RangeIN.join(RangeSS), RangeXS);
        assert_eq!(RangeSS.join(X), RangeXX);
        assert_eq!(SchS.join(X), X);
        assert_eq!(SchS.join(SchM), SchM);
    }
}
