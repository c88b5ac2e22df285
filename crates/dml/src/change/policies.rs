//! Block predicates of security policies: queries over the rows of a change, as it leaves them
//! (AFTER) or found them (BEFORE), that find one which a predicate does not let through.
//! Guarantees: every way of changing rows has them, bulk loads and cascades too; they hold for
//! everybody, whatever the right to the table.

use std::sync::Arc;

use super::TableChange;
use super::key_test::KeyTest;
use super::keys::query;
use crate::values::full_name;
use bind::env::{CompileEnv, VarScope};
use bind::module::{CHANGED_ROWS, ChangedTable};
use catalog::Catalog;
use catalog::policy::PredicateDef;
use session::state::changes::Action;
use syntax::ast::BlockOperation;
use types::{SqlError, msg};

/// The tests that policies add to a change.
///
/// # Errors
/// Those of binding a predicate.
pub fn compile(
    env: &CompileEnv<'_>,
    catalog: &Catalog,
    change: &TableChange<'_>,
) -> Result<Vec<KeyTest>, SqlError> {
    let table = change.table;
    let Some(policy) = catalog.policies.get(&table.object_id) else { return Ok(Vec::new()) };
    let vars = VarScope::new();
    let changes = ChangedTable {
        table: Arc::clone(table),
        deleted: change.action != Action::Insert,
        inserted: change.action != Action::Delete,
        instead_of: None,
        rows: CHANGED_ROWS,
    };
    let env = &CompileEnv {
        db: change.db,
        catalog: change.db.catalog(),
        vars: &vars,
        values: &[],
        changes: Some(changes),
        predicate_of: Some(table.object_id),
        ..env.clone()
    };
    let mut tests = Vec::new();
    for predicate in policy.on(table.object_id) {
        let tested = operations(change.action).iter().filter(|op| predicate.kind.blocks(**op));
        for operation in tested.filter(|op| may_break(change, predicate, **op)) {
            let source = match operation {
                BlockOperation::AfterInsert | BlockOperation::AfterUpdate => "inserted",
                BlockOperation::BeforeUpdate | BlockOperation::BeforeDelete => "deleted",
            };
            let text = format!(
                "SELECT TOP (1) 1 AS x FROM {source} WHERE NOT EXISTS (SELECT * FROM {} AS p)",
                predicate.call
            );
            tests.push(KeyTest::new(query(&text, env)?, blocked(change)));
        }
    }
    Ok(tests)
}

fn operations(action: Action) -> &'static [BlockOperation] {
    match action {
        Action::Insert => &[BlockOperation::AfterInsert],
        Action::Update => &[BlockOperation::BeforeUpdate, BlockOperation::AfterUpdate],
        Action::Delete => &[BlockOperation::BeforeDelete],
    }
}

/// An UPDATE that sets nothing which a predicate is given leaves the row as it was to it.
fn may_break(
    change: &TableChange<'_>,
    predicate: &PredicateDef,
    operation: BlockOperation,
) -> bool {
    let columns = &change.table.columns;
    let computed = columns.iter().filter(|c| c.computed.is_some());
    let set = change.columns.iter().filter_map(|at| columns.get(*at));
    operation != BlockOperation::AfterUpdate
        || set.chain(computed).any(|c| predicate.names(&c.name))
}

/// 33504.
fn blocked(change: &TableChange<'_>) -> SqlError {
    SqlError::of(msg::BLOCK_PREDICATE_CONFLICT, [&full_name(change.db, change.table)])
}
