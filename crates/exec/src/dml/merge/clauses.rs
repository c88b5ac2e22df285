//! Which WHEN clauses a MERGE may have: at most one of each action in each case, the unconditional one last.

use syntax::ast::{Assignment, MergeAction, MergeClause, MergeWhen};
use types::SqlError;

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
    let error = |number, text: String| Err(SqlError::new(number, 15, 1, text));
    for (at, clause) in clauses.iter().enumerate() {
        let (case, action) = (case_name(clause.when), action_name(&clause.action));
        let inserts = matches!(clause.action, MergeAction::Insert { .. });
        match (clause.when, inserts) {
            (MergeWhen::NotMatchedByTarget, false) => {
                let text = format!(
                    "An action of type '{action}' is not allowed in the '{case}' clause of a MERGE statement."
                );
                return error(10710, text);
            }
            (MergeWhen::Matched | MergeWhen::NotMatchedBySource, true) => {
                let text = format!(
                    "An action of type 'INSERT' is not allowed in the '{case}' clause of a MERGE statement."
                );
                return error(10711, text);
            }
            _ => {}
        }
        let before = || clauses[..at].iter().filter(|other| other.when == clause.when);
        if before().any(|other| action_name(&other.action) == action) {
            let text = format!(
                "An action of type '{action}' cannot appear more than once in a '{case}' clause of a MERGE statement."
            );
            return error(10714, text);
        }
        if before().any(|other| other.condition.is_none()) {
            let text = format!(
                "In a MERGE statement, a '{case}' clause with a search condition cannot appear after a '{case}' clause \
                 with no search condition."
            );
            return error(5324, text);
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
    let text = "In a MERGE statement, a variable cannot be set to a column and expression in the same assignment in the SET \
                clause of an UPDATE action. Assignments of the form 'SET @variable = column = expression' are not valid in \
                the SET clause of an UPDATE action in a MERGE statement. Modify the SET clause to only specify assignments \
                of the form 'SET @variable = column' or 'SET @variable = expression'.";
    Err(SqlError::new(10723, 15, 1, text))
}
