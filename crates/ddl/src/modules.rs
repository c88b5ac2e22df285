//! Views, procedures, functions and triggers: made, changed, dropped. Each works in the session's
//! transaction, like a change of a table. Guarantees: a module's name is free in its schema; the
//! table of a trigger is locked while its triggers change, and statements that were compiled before
//! are compiled again.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::ModuleVerb;
use txn::LockMode;
use types::{SqlError, msg};

use super::work::SchemaChange;
use super::{indexed_views, kept_columns, schemabinding};
use catalog::change::DdlChange;
use catalog::given_up::Name;
use catalog::module::{as_create, rows_of};
use catalog::names::quote;
use catalog::security::{DBO, Security};
use catalog::{
    Catalog, ModuleDef, ModuleHead, ModuleKind, ModuleSettings, TableDef, TriggerOrder, clock,
    errors, fold_name,
};
use instance::security::change::hold_user;

/// A module to make.
pub struct NewModule<'a> {
    pub kind: ModuleKind,
    pub verb: ModuleVerb,
    /// Empty for `dbo`.
    pub schema: &'a str,
    pub name: &'a str,
    /// The statement.
    pub text: &'a str,
    pub settings: ModuleSettings,
    /// What a trigger watches.
    pub parent: Option<Parent>,
    /// EXECUTE AS.
    pub run_as: Option<i32>,
}

/// The table or view of a trigger.
#[derive(Clone)]
pub enum Parent {
    Table(Arc<TableDef>),
    View(Arc<ModuleDef>),
}

impl Parent {
    /// Its object_id.
    pub fn id(&self) -> i32 {
        match self {
            Parent::Table(table) => table.object_id,
            Parent::View(view) => view.object_id,
        }
    }

    /// Its schema.
    pub fn schema(&self) -> &str {
        match self {
            Parent::Table(table) => &table.schema,
            Parent::View(view) => &view.schema,
        }
    }

    pub(super) fn lock(&self, work: &mut SchemaChange<'_>) -> Result<(), SqlError> {
        match self {
            Parent::Table(table) => work.lock_current(table),
            Parent::View(view) => {
                work.lock(view.object_id, LockMode::SchM)?;
                check_current(work, &view.schema, &view.name, Some(view))
            }
        }
    }
}

/// Makes or changes a module; `check` looks at the definition before anything is written.
///
/// # Errors
/// 2714 the name is taken, 208 ALTER of nothing, 2010 ALTER of something else; those of `check`.
pub fn put(
    work: &mut SchemaChange<'_>,
    new: &NewModule<'_>,
    check: impl FnOnce(&mut SchemaChange<'_>, &Arc<ModuleDef>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let schema = work.schema(new.schema)?;
    work.wait_for_name(&Name::object(&schema, new.name))?;
    let catalog = work.db.catalog();
    let before = catalog.find_module(&schema, new.name).cloned();
    let object_id = match (&before, new.verb) {
        (Some(_), ModuleVerb::Create) => return Err(errors::name_taken(new.name)),
        (Some(before), _) if before.kind != new.kind => {
            return Err(incompatible(&schema, new.name));
        }
        (Some(before), _) => before.object_id,
        (None, _) if catalog.find(&schema, new.name).is_some() => {
            return Err(match new.verb {
                ModuleVerb::Create => errors::name_taken(new.name),
                _ => incompatible(&schema, new.name),
            });
        }
        (None, ModuleVerb::Alter) => return Err(errors::invalid_object(new.name)),
        (None, _) => {
            work.check_free_name(&schema, new.name).map_err(|_| errors::name_taken(new.name))?;
            work.object_id()?
        }
    };
    // In the order of whoever drops the parent with its triggers.
    if let Some(parent) = &new.parent {
        parent.lock(work)?;
    }
    work.lock(object_id, LockMode::SchM)?;
    check_current(work, &schema, new.name, before.as_ref())?;
    let now = clock::now();
    let head = ModuleHead {
        object_id,
        schema,
        name: new.name.into(),
        kind: new.kind,
        parent: new.parent.as_ref().map_or(0, Parent::id),
        settings: new.settings,
        disabled: before.as_ref().is_some_and(|before| before.disabled),
        // It runs as sa then: what it does is not for others to choose.
        startup: before.as_ref().is_some_and(|before| before.startup) && work.core.is_sysadmin(),
        marked_system: before.as_ref().is_some_and(|before| before.marked_system),
        run_as: new.run_as,
        order: TriggerOrder::default(),
        columns: None,
        create_date: before
            .as_ref()
            .map_or_else(|| now.clone(), |before| before.create_date.clone()),
        modify_date: now,
    };
    let after = Arc::new(ModuleDef::new(head, &as_create(new.text))?);
    if let Some(before) = &before {
        let what = format!("ALTER {}", before.kind.word().to_uppercase());
        schemabinding::check_free(&catalog, &what, &before.schema, &before.name)?;
    }
    schemabinding::check(&after)?;
    check(work, &after)?;
    let after = kept_columns::with_columns(work, after)?;
    hold_run_as(work, new)?;
    if let Some(before) = &before {
        indexed_views::drop_rows(work, before)?;
    }
    replace(work, before, Some(after))?;
    renew(work, new.parent.as_ref())
}

/// The user of EXECUTE AS stays as long as the module does.
pub(super) fn hold_run_as(
    work: &mut SchemaChange<'_>,
    new: &NewModule<'_>,
) -> Result<(), SqlError> {
    match new.run_as {
        // A temporary procedure is in tempdb, and its user in the session's database.
        Some(user) if work.db.id() == work.core.db().id() => hold_user(work.core, &work.db, user),
        _ => Ok(()),
    }
}

/// Locks a module that is to be changed, after the table or view of a trigger; it must still be the
/// current one.
fn lock_with_parent(
    work: &mut SchemaChange<'_>,
    module: &Arc<ModuleDef>,
) -> Result<Option<Parent>, SqlError> {
    let parent = parent_of(&work.db.catalog(), module);
    if let Some(parent) = &parent {
        parent.lock(work)?;
    }
    work.lock(module.object_id, LockMode::SchM)?;
    check_current(work, &module.schema, &module.name, Some(module))?;
    Ok(parent)
}

/// Another session may have changed the module while its lock was waited for.
fn check_current(
    work: &SchemaChange<'_>,
    schema: &str,
    name: &str,
    before: Option<&Arc<ModuleDef>>,
) -> Result<(), SqlError> {
    let now = work.db.catalog().find_module(schema, name).cloned();
    let same = match (before, &now) {
        (None, None) => true,
        (Some(before), Some(now)) => Arc::ptr_eq(before, now),
        _ => false,
    };
    if same { Ok(()) } else { Err(errors::schema_changed()) }
}

fn incompatible(schema: &str, name: &str) -> SqlError {
    SqlError::of(msg::ALTER_INCOMPATIBLE_OBJECT, [&schema, &name])
}

pub(super) fn replace(
    work: &mut SchemaChange<'_>,
    before: Option<Arc<ModuleDef>>,
    after: Option<Arc<ModuleDef>>,
) -> Result<(), SqlError> {
    let (db, open) = (work.db.clone(), work.open.clone());
    if let Some(before) = before.as_ref().filter(|before| !before.is_ddl_trigger()) {
        // A trigger goes with its table, which is locked: whoever wants its name waits for this.
        work.lock(before.object_id, LockMode::SchM)?;
        work.hold_schema(&before.schema)?;
    }
    let schemas = db.catalog();
    let schema_id = |module: &ModuleDef| match module.is_ddl_trigger() {
        true => 0,
        false => schemas.schemas.get(&catalog::fold_name(&module.schema)).copied().unwrap_or(1),
    };
    let txn = work.core.txn(&db)?;
    let fail = |e| errors::store_error(&db, e);
    if let Some(before) = &before {
        for (system, values) in rows_of(before, schema_id(before)) {
            open.trees.delete(txn, system, &values).map_err(fail)?;
        }
    }
    if let Some(after) = &after {
        for (system, values) in rows_of(after, schema_id(after)) {
            open.trees.put(txn, system, &values).map_err(fail)?;
        }
    }
    if let (Some(module), None) = (&before, &after) {
        super::properties::forget_module(work.core, &db, module.object_id)?;
    }
    let change = DdlChange::module(&db, work.core.spid(), before, after)?;
    work.core.remember_ddl(change);
    Ok(())
}

/// Statements on the table or view of a trigger are compiled again.
pub(super) fn renew(work: &mut SchemaChange<'_>, parent: Option<&Parent>) -> Result<(), SqlError> {
    match parent {
        None => Ok(()),
        Some(Parent::Table(table)) => {
            work.publish(Some(table.clone()), Some(Arc::new(TableDef::clone(table))))
        }
        Some(Parent::View(view)) => {
            let again = Arc::new(ModuleDef::new(view.head(), &view.text)?);
            replace(work, Some(view.clone()), Some(again))
        }
    }
}

/// Drops a module.
///
/// # Errors
/// 1205, 1222; what the storage says.
pub fn drop_module(work: &mut SchemaChange<'_>, module: &Arc<ModuleDef>) -> Result<(), SqlError> {
    let parent = lock_with_parent(work, module)?;
    let what = format!("DROP {}", module.kind.word().to_uppercase());
    schemabinding::check_free(&work.db.catalog(), &what, &module.schema, &module.name)?;
    if module.kind == ModuleKind::View {
        drop_triggers(work, module.object_id)?;
        indexed_views::drop_rows(work, module)?;
    }
    replace(work, Some(module.clone()), None)?;
    renew(work, parent.as_ref())
}

/// Gives a module another name, which is free; its text stays.
///
/// # Errors
/// 1205, 1222; what the storage says.
pub fn rename(
    work: &mut SchemaChange<'_>,
    module: &Arc<ModuleDef>,
    name: &str,
) -> Result<(), SqlError> {
    let parent = lock_with_parent(work, module)?;
    let head = ModuleHead { name: name.into(), modify_date: clock::now(), ..module.head() };
    let after = Arc::new(ModuleDef::new(head, &module.text)?);
    indexed_views::rename(work, module, name)?;
    replace(work, Some(module.clone()), Some(after))?;
    renew(work, parent.as_ref())
}

/// Gives a column of a view another name: its text names it so from now on. `columns` are those
/// that the view has.
///
/// # Errors
/// 1205, 1222; what the storage says.
pub fn rename_column(
    work: &mut SchemaChange<'_>,
    view: &Arc<ModuleDef>,
    columns: &[CompactString],
    at: usize,
    name: &str,
) -> Result<(), SqlError> {
    work.lock(view.object_id, LockMode::SchM)?;
    check_current(work, &view.schema, &view.name, Some(view))?;
    let definition = view.view().ok_or_else(|| SqlError::internal("a view was expected"))?;
    let (start, end, list) = match definition.columns.get(at) {
        Some(column) => (column.span.start, column.span.end, quote(name)),
        None => {
            let names = columns.iter().enumerate();
            let names =
                names.map(|(place, old)| quote(if place == at { name } else { old.as_str() }));
            let after = definition.name.name.span.end;
            (after, after, format!(" ({})", names.collect::<Vec<_>>().join(", ")))
        }
    };
    let cut = |range: Option<&str>| {
        range.map(str::to_owned).ok_or_else(|| SqlError::internal("a name stands outside its text"))
    };
    let before = cut(view.text.get(..start as usize))?;
    let text = before + &list + &cut(view.text.get(end as usize..))?;
    let kept = view.columns.as_ref().map(|kept| {
        let names = kept.iter().enumerate();
        names.map(|(place, old)| if place == at { name.into() } else { old.clone() }).collect()
    });
    let head = ModuleHead { columns: kept, modify_date: clock::now(), ..view.head() };
    let after = Arc::new(ModuleDef::new(head, &text)?);
    replace(work, Some(view.clone()), Some(after))
}

/// Makes a definition again from its own text, as the text is now; `check` looks at it before
/// anything is written.
///
/// # Errors
/// 1205, 1222; those of `check`; what the storage says.
pub fn refresh(
    work: &mut SchemaChange<'_>,
    module: &Arc<ModuleDef>,
    check: impl FnOnce(&mut SchemaChange<'_>, &Arc<ModuleDef>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    work.lock(module.object_id, LockMode::SchM)?;
    check_current(work, &module.schema, &module.name, Some(module))?;
    let head = ModuleHead { columns: None, modify_date: clock::now(), ..module.head() };
    let after = Arc::new(ModuleDef::new(head, &module.text)?);
    check(work, &after)?;
    let after = kept_columns::with_columns(work, after)?;
    replace(work, Some(module.clone()), Some(after))
}

/// Makes a trigger the first or the last of its table for an action, or neither.
///
/// # Errors
/// 15133 it is an INSTEAD OF trigger, 15125 it is none for the action, 15130 another one has the
/// place.
pub fn order_trigger(
    work: &mut SchemaChange<'_>,
    trigger: &Arc<ModuleDef>,
    place: &str,
    action: &str,
) -> Result<(), SqlError> {
    let parent = parent_of(&work.db.catalog(), trigger);
    if let Some(parent) = &parent {
        parent.lock(work)?;
    }
    let (bit, action) = (TriggerOrder::bit(action), action.to_ascii_uppercase());
    let of_action =
        |m: &ModuleDef| m.trigger().is_some_and(|t| t.events.contains(&action.as_str().into()));
    if trigger.trigger().is_some_and(|t| t.instead_of) {
        return Err(SqlError::of(msg::INSTEAD_OF_ORDER, [&trigger.name]));
    }
    if !of_action(trigger) {
        return Err(SqlError::of(msg::NOT_A_TRIGGER_FOR, [&trigger.name, &action]));
    }
    let mut order = trigger.order;
    order.first &= !bit;
    order.last &= !bit;
    let of: fn(&mut TriggerOrder) -> &mut u8 = match place {
        "first" => |order| &mut order.first,
        _ => |order| &mut order.last,
    };
    if place != "none" {
        let taken = |m: &&Arc<ModuleDef>| {
            m.parent == trigger.parent
                && m.object_id != trigger.object_id
                && *of(&mut m.order.clone()) & bit != 0
        };
        if work.db.catalog().modules.values().any(|m| taken(&m)) {
            return Err(SqlError::of(msg::TRIGGER_ORDER_TAKEN, [&place, &action]));
        }
        *of(&mut order) |= bit;
    }
    let after = Arc::new(ModuleDef::new(ModuleHead { order, ..trigger.head() }, &trigger.text)?);
    replace(work, Some(trigger.clone()), Some(after))?;
    renew(work, parent.as_ref())
}

/// Whether a procedure may run when the instance has started: it is dbo's, in the schema dbo, so
/// that nobody who is not trusted with everything can have chosen what it does.
pub fn may_run_at_start(catalog: &Catalog, security: &Security, procedure: &ModuleDef) -> bool {
    let schema = catalog.schemas.get(&fold_name(&procedure.schema)).copied().unwrap_or(0);
    fold_name(&procedure.schema) == "dbo"
        && security.object_owner(procedure.object_id, schema) == DBO
}

/// Whether a procedure runs when the instance has started.
///
/// # Errors
/// 1205, 1222; what the storage says.
pub fn run_at_start(
    work: &mut SchemaChange<'_>,
    procedure: &Arc<ModuleDef>,
    startup: bool,
) -> Result<(), SqlError> {
    work.lock(procedure.object_id, LockMode::SchM)?;
    check_current(work, &procedure.schema, &procedure.name, Some(procedure))?;
    let after =
        Arc::new(ModuleDef::new(ModuleHead { startup, ..procedure.head() }, &procedure.text)?);
    replace(work, Some(procedure.clone()), Some(after))
}

/// A module counts as one of the system from now on.
///
/// # Errors
/// 1205, 1222; what the storage says.
pub fn mark_system(work: &mut SchemaChange<'_>, module: &Arc<ModuleDef>) -> Result<(), SqlError> {
    work.lock(module.object_id, LockMode::SchM)?;
    check_current(work, &module.schema, &module.name, Some(module))?;
    let head = ModuleHead { marked_system: true, ..module.head() };
    replace(work, Some(module.clone()), Some(Arc::new(ModuleDef::new(head, &module.text)?)))
}

/// What a trigger stands on.
fn parent_of(catalog: &Catalog, module: &ModuleDef) -> Option<Parent> {
    match (catalog.by_id.get(&module.parent), catalog.modules.get(&module.parent)) {
        (Some(table), _) => Some(Parent::Table(table.clone())),
        (None, Some(view)) => Some(Parent::View(view.clone())),
        _ => None,
    }
}

/// The triggers of a table or view that is dropped go with it.
///
/// # Errors
/// What the storage says.
pub(crate) fn drop_triggers(work: &mut SchemaChange<'_>, parent: i32) -> Result<(), SqlError> {
    let catalog = work.db.catalog();
    let own = |m: &&Arc<ModuleDef>| m.kind == ModuleKind::Trigger && m.parent == parent;
    for trigger in catalog.modules.values().filter(own) {
        replace(work, Some(trigger.clone()), None)?;
    }
    Ok(())
}

/// ENABLE TRIGGER and DISABLE TRIGGER; no names are all of the table.
///
/// # Errors
/// 4902-like: no such trigger.
pub fn switch_triggers(
    work: &mut SchemaChange<'_>,
    parent: &Parent,
    names: &[CompactString],
    enable: bool,
) -> Result<(), SqlError> {
    parent.lock(work)?;
    let catalog = work.db.catalog();
    let own = |m: &&Arc<ModuleDef>| m.kind == ModuleKind::Trigger && m.parent == parent.id();
    let mut found: Vec<Arc<ModuleDef>> = catalog.modules.values().filter(own).cloned().collect();
    for name in names {
        if !found.iter().any(|m| catalog::fold_name(&m.name) == catalog::fold_name(name)) {
            return Err(SqlError::of(msg::TRIGGER_NOT_FOUND, [&name]));
        }
    }
    let wanted = |m: &Arc<ModuleDef>| {
        names.is_empty()
            || names.iter().any(|n| catalog::fold_name(n) == catalog::fold_name(&m.name))
    };
    found.retain(|module| wanted(module) && module.disabled == enable);
    for before in found {
        let head = ModuleHead { disabled: !enable, ..before.head() };
        let after = Arc::new(ModuleDef::new(head, &before.text)?);
        replace(work, Some(before), Some(after))?;
    }
    renew(work, Some(parent))
}
