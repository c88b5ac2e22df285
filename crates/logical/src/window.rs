//! Calls with OVER: which function, over which rows of which partition.

use crate::order::SortKey;
use expr::aggregate::Aggregate;
use expr::{ColId, Expr};
use types::Collation;

/// Which window function.
#[derive(Clone, Debug)]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile(Expr),
    /// Argument, offset, default; LEAD when `ahead`.
    Lag {
        arg: Expr,
        offset: Expr,
        default: Expr,
        ahead: bool,
    },
    FirstValue(Expr),
    LastValue(Expr),
    Aggregate(Aggregate),
}

/// One end of a frame, in rows from the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEnd {
    Unbounded,
    /// Negative before, positive after the current row.
    Rows(i64),
    /// The current row and its peers.
    Peers,
}

/// A call with OVER.
#[derive(Clone, Debug)]
pub struct WindowCall {
    pub kind: WindowKind,
    pub partition: Vec<(Expr, Collation)>,
    pub order: Vec<SortKey>,
    pub start: FrameEnd,
    pub end: FrameEnd,
    /// LAG, LEAD, FIRST_VALUE and LAST_VALUE pass over rows whose value is NULL.
    pub ignore_nulls: bool,
    pub output: ColId,
}

impl WindowCall {
    /// Calls `f` on every expression of the call.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.partition.iter_mut().for_each(|(e, _)| f(e));
        self.order.iter_mut().for_each(|k| f(&mut k.expr));
        match &mut self.kind {
            WindowKind::Ntile(e) | WindowKind::FirstValue(e) | WindowKind::LastValue(e) => f(e),
            WindowKind::Lag { arg, offset, default, .. } => {
                f(arg);
                f(offset);
                f(default);
            }
            WindowKind::Aggregate(a) => {
                a.arg.iter_mut().for_each(&mut *f);
                a.separator.iter_mut().for_each(f);
            }
            _ => {}
        }
    }
}
