//! Security policies: put in the place of one another, with the tables and views that they are
//! about. Guarantees: nobody reads or changes a table while its policy changes; statements that
//! were compiled before are compiled again; of the policies that are on, one alone is about a table
//! (33264).

use std::sync::Arc;

use catalog::errors;
use catalog::given_up::Name;
use catalog::other::OtherObject;
use catalog::policy::PolicyDef;
use types::{SqlError, msg};

use super::modules::{self, Parent};
use super::others;
use super::work::SchemaChange;

/// Puts a policy in the place of another, or of none, or takes it away.
///
/// # Errors
/// 33264; 2714 the name is taken; 1205, 1222; what the storage says.
pub fn put(
    work: &mut SchemaChange<'_>,
    before: Option<Arc<PolicyDef>>,
    after: Option<Arc<PolicyDef>>,
) -> Result<(), SqlError> {
    let parents = parents(work, before.iter().chain(&after));
    parents.iter().try_for_each(|parent| parent.lock(work))?;
    if let Some(before) = &before {
        others::lock(work, &OtherObject::Policy(before.clone()))?;
    }
    if let (None, Some(after)) = (&before, &after) {
        work.wait_for_name(&Name::object(&after.schema, &after.name))?;
        work.check_free_name(&after.schema, &after.name)
            .map_err(|_| errors::name_taken(&after.name))?;
    }
    if let Some(after) = after.as_ref().filter(|policy| policy.enabled) {
        check_alone(work, after)?;
    }
    let object = |policy: Option<Arc<PolicyDef>>| policy.map(OtherObject::Policy);
    match (before, after) {
        (None, Some(after)) => others::create(work, OtherObject::Policy(after))?,
        (before, after) => others::replace(work, object(before), object(after))?,
    }
    parents.iter().try_for_each(|parent| modules::renew(work, Some(parent)))
}

fn parents<'p>(
    work: &SchemaChange<'_>,
    policies: impl Iterator<Item = &'p Arc<PolicyDef>>,
) -> Vec<Parent> {
    let catalog = work.db.catalog();
    let mut ids: Vec<i32> = policies.flat_map(|policy| policy.targets()).collect();
    ids.sort_unstable();
    ids.dedup();
    let parent = |id: &i32| match (catalog.by_id.get(id), catalog.modules.get(id)) {
        (Some(table), _) => Some(Parent::Table(table.clone())),
        (None, view) => view.cloned().map(Parent::View),
    };
    ids.iter().filter_map(parent).collect()
}

/// 33264: the table has another policy that is on.
fn check_alone(work: &SchemaChange<'_>, policy: &PolicyDef) -> Result<(), SqlError> {
    let catalog = work.db.catalog();
    for target in policy.targets() {
        let other =
            catalog.policies.get(&target).filter(|other| other.object_id != policy.object_id);
        if let Some(other) = other {
            let table = catalog.by_id.get(&target).map(|table| table.full_name());
            let view = || catalog.modules.get(&target).map(|view| view.full_name());
            let (name, table) = (full_name(policy), table.or_else(view).unwrap_or_default());
            return Err(SqlError::of(
                msg::POLICY_TABLE_TAKEN,
                [&name, &table, &table, &full_name(other)],
            ));
        }
    }
    Ok(())
}

/// `schema.name`.
pub fn full_name(policy: &PolicyDef) -> String {
    format!("{}.{}", policy.schema, policy.name)
}

/// The predicates of policies without schema binding go with their table.
///
/// # Errors
/// As [`put`].
pub fn forget_table(work: &mut SchemaChange<'_>, object_id: i32) -> Result<(), SqlError> {
    let catalog = work.db.catalog();
    for other in catalog.others.values() {
        let OtherObject::Policy(policy) = other else { continue };
        if policy.targets().any(|target| target == object_id) {
            let mut next = PolicyDef::clone(policy);
            next.predicates.retain(|predicate| predicate.target != object_id);
            let after = OtherObject::Policy(Arc::new(next));
            others::lock(work, other)?;
            others::replace(work, Some(other.clone()), Some(after))?;
        }
    }
    Ok(())
}
