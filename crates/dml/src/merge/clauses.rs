//! Which WHEN clauses a MERGE may have: at most one of each action in each case, the unconditional
//! one last.

use syntax::ast::{Assignment, MergeAction, MergeClause, MergeWhen};
use types::{SqlError, msg};

/// The case as messages name it.
fn case_name(when: MergeWhen) -> &'static str {
    match when {
        MergeWhen::Matched => "WHEN MATCHED",
        MergeWhen::NotMatchedByTarget => "WHEN NOT MATCHED",
        MergeWhen::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
    }
}

fn action_name(action: &MergeAction) -> &'static str {
    match action {
        MergeAction::Update(_) => "UPDATE",
        MergeAction::Delete => "DELETE",
        MergeAction::Insert { .. } => "INSERT",
    }
}

/// Tests the clauses of a statement against each other.
///
/// # Errors
/// 5324, 10710, 10711, 10714, 10723.
pub fn check(clauses: &[MergeClause]) -> Result<(), SqlError> {
    for (at, clause) in clauses.iter().enumerate() {
        let (case, action) = (case_name(clause.when), action_name(&clause.action));
        let inserts = matches!(clause.action, MergeAction::Insert { .. });
        match (clause.when, inserts) {
            (MergeWhen::NotMatchedByTarget, false) => {
                return Err(SqlError::of(msg::MERGE_ACTION_NOT_ALLOWED, [&action, &case]));
            }
            (MergeWhen::Matched | MergeWhen::NotMatchedBySource, true) => {
                return Err(SqlError::of(msg::MERGE_INSERT_NOT_ALLOWED, [&case]));
            }
            _ => {}
        }
        let before = || clauses[..at].iter().filter(|other| other.when == clause.when);
        if before().any(|other| action_name(&other.action) == action) {
            return Err(SqlError::of(msg::MERGE_ACTION_TWICE, [&action, &case]));
        }
        if before().any(|other| other.condition.is_none()) {
            return Err(SqlError::of(msg::MERGE_CLAUSE_AFTER_UNCONDITIONAL, [&case, &case]));
        }
        check_assignments(&clause.action)?;
    }
    Ok(())
}

fn check_assignments(action: &MergeAction) -> Result<(), SqlError> {
    let MergeAction::Update(list) = action else { return Ok(()) };
    let both = |a: &Assignment| matches!(a, Assignment::Column { variable: Some(_), .. });
    if !list.iter().any(both) {
        return Ok(());
    }
    Err(SqlError::of(msg::MERGE_VARIABLE_COLUMN, []))
}
