//! Triggers of a database, and of the server, which master keeps: made, changed, dropped, switched;
//! in the session's transaction, like a change of a module. Guarantee: their names are their own:
//! no schema has them, no object of a schema is in their way.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::ModuleVerb;
use txn::LockMode;
use types::{SqlError, msg};

use super::modules::{NewModule, hold_run_as, replace};
use super::work::Work;
use catalog::given_up::Name;
use catalog::module::as_create;
use catalog::{ModuleDef, ModuleHead, TriggerOrder, clock, errors, fold_name};

/// Makes or changes a trigger of the database, or of the server; `check` looks at the definition
/// before anything is written.
///
/// # Errors
/// 2714 the name is taken, 208 ALTER of nothing; those of `check`.
pub fn put(
    work: &mut Work<'_>,
    new: &NewModule<'_>,
    of_server: bool,
    check: impl FnOnce(&Work<'_>, &Arc<ModuleDef>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    work.wait_for_name(&Name::event_trigger(of_server, new.name))?;
    let before = work.db.catalog().event_trigger(of_server, new.name).cloned();
    let object_id = match (&before, new.verb) {
        (Some(_), ModuleVerb::Create) => return Err(errors::name_taken(new.name)),
        (Some(before), _) => before.object_id,
        (None, ModuleVerb::Alter) => return Err(errors::invalid_object(new.name)),
        (None, _) => work.object_id()?,
    };
    lock(work, object_id, before.as_ref())?;
    let now = clock::now();
    let head = ModuleHead {
        object_id,
        schema: CompactString::default(),
        name: new.name.into(),
        kind: new.kind,
        parent: 0,
        settings: new.settings,
        disabled: before.as_ref().is_some_and(|before| before.disabled),
        startup: false,
        marked_system: false,
        run_as: new.run_as,
        order: TriggerOrder::default(),
        columns: None,
        create_date: before
            .as_ref()
            .map_or_else(|| now.clone(), |before| before.create_date.clone()),
        modify_date: now,
    };
    let after = Arc::new(ModuleDef::new(head, &as_create(new.text))?);
    check(work, &after)?;
    hold_run_as(work, new)?;
    replace(work, before, Some(after))
}

/// Another session may have changed the trigger while its lock was waited for.
fn lock(
    work: &mut Work<'_>,
    object_id: i32,
    before: Option<&Arc<ModuleDef>>,
) -> Result<(), SqlError> {
    work.lock(object_id, LockMode::SchM)?;
    let now = work.db.catalog().modules.get(&object_id).cloned();
    let same = match (before, &now) {
        (None, None) => true,
        (Some(before), Some(now)) => Arc::ptr_eq(before, now),
        _ => false,
    };
    if same { Ok(()) } else { Err(errors::schema_changed()) }
}

/// Drops a trigger; false when there is none of the name.
///
/// # Errors
/// 1205, 1222; what the storage says.
pub fn drop_trigger(work: &mut Work<'_>, of_server: bool, name: &str) -> Result<bool, SqlError> {
    let Some(before) = work.db.catalog().event_trigger(of_server, name).cloned() else {
        return Ok(false);
    };
    lock(work, before.object_id, Some(&before))?;
    replace(work, Some(before), None)?;
    Ok(true)
}

/// ENABLE TRIGGER and DISABLE TRIGGER; no names are all.
///
/// # Errors
/// 1088 no such trigger.
pub fn switch(
    work: &mut Work<'_>,
    of_server: bool,
    names: &[CompactString],
    enable: bool,
) -> Result<(), SqlError> {
    let catalog = work.db.catalog();
    if let Some(name) = names.iter().find(|name| catalog.event_trigger(of_server, name).is_none()) {
        return Err(SqlError::of(msg::TRIGGER_NOT_FOUND, [&name]));
    }
    let wanted = |m: &&Arc<ModuleDef>| {
        m.disabled == enable
            && (names.is_empty() || names.iter().any(|n| fold_name(n) == fold_name(&m.name)))
    };
    for before in catalog.event_triggers(of_server).filter(wanted) {
        lock(work, before.object_id, Some(before))?;
        let head = ModuleHead { disabled: !enable, ..before.head() };
        let after = Arc::new(ModuleDef::new(head, &before.text)?);
        replace(work, Some(before.clone()), Some(after))?;
    }
    Ok(())
}
