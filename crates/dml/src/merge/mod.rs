//! MERGE: one statement that inserts, updates and deletes rows of a table by what a source has. The
//! two are joined as their clauses need it; each joined row takes the first clause of its case
//! whose condition holds.
//!
//! ```text
//! source, target ─► join ─► clause of each row ─► kept ─► deletes and updates ─► new keys ─► inserts ─► what follows each
//! ```
//! Guarantees: the rows are read to the end before one is changed (Halloween); rows of the target
//! that are read stay locked until they are changed; no row is updated twice (8672); the order of
//! the rows decides nothing about unique keys.

mod bind;
mod clauses;
mod run;

use std::sync::Arc;

use super::change::ChangePlan;
use super::new_row::NewRows;
use super::output::OutputPlan;
use super::set::SetClause;
use crate::shown::ChangeSource;
use catalog::Db;
use expr::{Expr, Pred};
use logical::hints::TableLock;
use logical::tree::TopSpec;
use plan::Needs;
use plan::nodes::Plan;
use storage::TableStore;

pub use self::bind::compile;

/// A compiled MERGE. Slots of its rows: the target's locator, whether there is a source row, then
/// columns.
#[derive(Debug)]
pub struct MergePlan {
    db: Arc<Db>,
    store: Arc<TableStore>,
    plan: Plan,
    /// Slots that hold columns of the target: (slot, column). They are read again before the
    /// change.
    own: Vec<(usize, u16)>,
    clauses: Vec<Clause>,
    /// Steps of the actions that there are.
    inserts: Option<NewRows>,
    updates: Option<ChangePlan>,
    deletes: Option<ChangePlan>,
    top: Option<TopSpec>,
    output: Option<OutputPlan>,
    lock: TableLock,
    /// The rows are the snapshot's: a newer version is a conflict.
    snapshot: bool,
    pub(super) needs: Needs,
}

/// A WHEN clause.
#[derive(Debug)]
struct Clause {
    case: JoinedCase,
    condition: Option<Pred>,
    action: ClauseAction,
}

/// Which of the two sides a joined row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinedCase {
    Both,
    SourceOnly,
    TargetOnly,
}

#[derive(Debug)]
enum ClauseAction {
    /// One expression for each column.
    Insert(Vec<Expr>),
    Update(SetClause),
    Delete,
}

impl MergePlan {
    /// Its table and where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> (&Db, &TableStore, ChangeSource<'_>) {
        (&self.db, &self.store, ChangeSource::Plan(&self.plan))
    }

    /// The columns that its one kind of change changes; none where every index has to follow.
    pub fn changed(&self) -> Option<&[usize]> {
        match &self.clauses[..] {
            [Clause { action: ClauseAction::Update(set), .. }] => set.unless_moved(&self.store),
            _ => None,
        }
    }

    /// OUTPUT.
    pub fn output(&self) -> Option<&OutputPlan> {
        self.output.as_ref()
    }
}
