//! CREATE, ALTER and DROP SECURITY POLICY.
//! Guarantee: a predicate that is kept was bound: its function fits the columns that it is given.

use std::sync::Arc;

use catalog::names::quote;
use catalog::other::OtherObject;
use catalog::policy::{PolicyDef, PredicateDef, PredicateKind};
use catalog::security::{Class, Permission, Securable};
use catalog::{Db, ModuleDef, ModuleKind, clock, errors, fold_name};
use syntax::ast::{
    DropObjects, ObjectName, OptionItem, OptionValue, PredicateCall, PredicateChange,
    PredicateVerb, SecurityPolicy,
};
use types::{SqlError, msg};

use super::StmtCtx;
use ddl::own_queries;
use ddl::policies::{self, full_name};
use ddl::view_bases;
use ddl::work::Work;
use instance::security::change::forget;
use session::state::SessionCore;

impl StmtCtx<'_> {
    pub(super) fn security_policy(&mut self, stmt: &SecurityPolicy) -> Result<(), SqlError> {
        let db = self.no_database("CREATE/ALTER SECURITY POLICY", &stmt.name)?;
        let before = if stmt.alter { Some(find(&db, &stmt.name)?) } else { None };
        let mut work = Work::begin(self.core, &db)?;
        let now = clock::now();
        let mut next = match &before {
            Some(before) => PolicyDef { modify_date: now, ..PolicyDef::clone(before) },
            None => PolicyDef {
                object_id: work.object_id()?,
                schema: work.schema(schema_of(&stmt.name))?,
                name: stmt.name.name.value.clone(),
                enabled: true,
                bound: true,
                not_for_replication: false,
                predicates: Vec::new(),
                create_date: now.clone(),
                modify_date: now,
            },
        };
        options(&mut next, stmt)?;
        let mut changed = Vec::new();
        for change in &stmt.changes {
            let table = apply(&work, &mut next, change)?;
            if change.verb != PredicateVerb::Drop {
                changed.push((
                    table,
                    next.predicates.last().map(|p| p.call.clone()).unwrap_or_default(),
                ));
            }
        }
        next.predicates.sort_by_key(|predicate| predicate.id);
        policies::put(&mut work, before, Some(Arc::new(next)))?;
        for (table, call) in changed {
            // Bound once, so that its errors come from here.
            let text = format!(
                "SELECT TOP (0) 1 AS x FROM {} WHERE EXISTS (SELECT * FROM {call} AS p)",
                table.quoted
            );
            own_queries::finds_row(&mut work, &text)?;
        }
        Ok(())
    }

    pub(super) fn drop_security_policy(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        for name in &stmt.names {
            let db = self.no_database("DROP SECURITY POLICY", name)?;
            match db.catalog().find_other(schema_of(name), &name.name.value).cloned() {
                Some(OtherObject::Policy(policy)) => {
                    let mut work = Work::begin(self.core, &db)?;
                    policies::put(&mut work, Some(policy.clone()), None)?;
                    forget(work.core, &db, Class::Object, policy.object_id)?;
                }
                _ if stmt.if_exists => {}
                _ => return Err(errors::cannot_drop("security policy", &name.to_string())),
            }
        }
        Ok(())
    }
}

fn schema_of(name: &ObjectName) -> &str {
    name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str())
}

/// The policy that ALTER names.
///
/// # Errors
/// 33271 it is something else, 33268 nothing has the name.
fn find(db: &Db, name: &ObjectName) -> Result<Arc<PolicyDef>, SqlError> {
    let catalog = db.catalog();
    match catalog.find_other(schema_of(name), &name.name.value) {
        Some(OtherObject::Policy(policy)) => Ok(policy.clone()),
        _ if catalog.is_free(schema_of(name), &name.name.value) => Err(missing(name)),
        _ => Err(SqlError::of(msg::NOT_A_SECURITY_POLICY, [&name])),
    }
}

fn options(next: &mut PolicyDef, stmt: &SecurityPolicy) -> Result<(), SqlError> {
    let switch = |option: &OptionItem| match option.value {
        OptionValue::On => Ok(true),
        OptionValue::Off => Ok(false),
        _ => Err(errors::syntax_near(&option.name)),
    };
    for option in &stmt.options {
        match option.name.as_str() {
            "STATE" => next.enabled = switch(option)?,
            "SCHEMABINDING" if !stmt.alter => next.bound = switch(option)?,
            name => return Err(errors::syntax_near(name)),
        }
    }
    next.not_for_replication |= stmt.not_for_replication;
    Ok(())
}

/// Changes one predicate, which is the last one then.
fn apply(
    work: &Work<'_>,
    next: &mut PolicyDef,
    change: &PredicateChange,
) -> Result<Target, SqlError> {
    let kind =
        if change.block { PredicateKind::Block(change.operation) } else { PredicateKind::Filter };
    let table = target(work, next, &change.target, kind)?;
    let id = table.id;
    let known = next.predicates.iter().position(|p| p.target == id && p.kind == kind);
    let number = match (change.verb, known) {
        (PredicateVerb::Add, _) => {
            if next.on(id).any(|p| p.kind.meets(kind)) {
                return Err(SqlError::of(
                    msg::POLICY_PREDICATE_EXISTS,
                    [&kind.word(), &table.name, &full_name(next)],
                ));
            }
            next.predicates.iter().map(|p| p.id).max().unwrap_or(0) + 1
        }
        (_, None) => {
            return Err(SqlError::of(
                msg::POLICY_WITHOUT_PREDICATE,
                [&full_name(next), &table.name],
            ));
        }
        (_, Some(at)) => next.predicates.remove(at).id,
    };
    if let Some(call) = &change.call {
        let function = function(work, next, call)?;
        let text = format!("{}.{}{}", quote(&function.schema), quote(&function.name), call.args);
        let predicate = PredicateDef::new(number, id, kind, text);
        next.predicates.push(predicate.ok_or_else(|| errors::syntax_near("PREDICATE"))?);
    }
    Ok(table)
}

/// What a predicate is about.
struct Target {
    id: i32,
    /// `schema.name`.
    name: String,
    /// The same for a text.
    quoted: String,
}

/// The table or view that a predicate is about.
fn target(
    work: &Work<'_>,
    policy: &PolicyDef,
    name: &ObjectName,
    kind: PredicateKind,
) -> Result<Target, SqlError> {
    if name.name.value.starts_with('#') {
        return Err(SqlError::of(msg::POLICY_TEMPORARY_OBJECT, []));
    }
    two_parts(policy, name)?;
    let catalog = work.db.catalog();
    let (schema, own) = (schema_of(name), name.name.value.as_str());
    let of = |id: i32, schema: &str, own: &str| Target {
        id,
        name: format!("{schema}.{own}"),
        quoted: format!("{}.{}", quote(schema), quote(own)),
    };
    let Some(table) = catalog.find(schema, own) else {
        return match catalog.find_module(schema, own) {
            Some(view) if view.kind == ModuleKind::View && kind != PredicateKind::Filter => {
                Err(SqlError::of(msg::BLOCK_PREDICATE_TARGET, [&name]))
            }
            Some(view) if view.kind == ModuleKind::View && view.has_option("SCHEMABINDING") => {
                match policy.bound {
                    true => Ok(of(view.object_id, &view.schema, &view.name)),
                    false => Err(errors::not_supported(
                        "A predicate on a view in a policy without schema binding",
                    )),
                }
            }
            None if catalog.find_other(schema, own).is_none() => Err(missing(name)),
            _ => Err(SqlError::of(msg::POLICY_PREDICATE_TARGET, [&name])),
        };
    };
    if kind != PredicateKind::Filter && table.temporal.is_history() {
        return Err(SqlError::of(msg::BLOCK_PREDICATE_HISTORY, [&table.full_name()]));
    }
    if let Some(view) = view_bases::indexed_over(&catalog, table) {
        return Err(SqlError::of(
            msg::POLICY_INDEXED_VIEW,
            [&full_name(policy), &table.full_name(), &view.full_name()],
        ));
    }
    Ok(of(table.object_id, &table.schema, &table.name))
}

/// 4512: what a policy with schema binding names has its schema and is of the database.
fn two_parts(policy: &PolicyDef, name: &ObjectName) -> Result<(), SqlError> {
    if name.database.is_none() && name.server.is_none() && (name.schema.is_some() || !policy.bound)
    {
        return Ok(());
    }
    Err(SqlError::of(
        msg::SCHEMA_BIND_INVALID_NAME,
        [&"security policy", &full_name(policy), &name],
    ))
}

/// The function of a predicate.
fn function(
    work: &Work<'_>,
    policy: &PolicyDef,
    call: &PredicateCall,
) -> Result<Arc<ModuleDef>, SqlError> {
    let name = &call.function;
    two_parts(policy, name)?;
    let catalog = work.db.catalog();
    let found = catalog.find_module(schema_of(name), &name.name.value);
    let Some(function) = found.filter(|module| module.kind == ModuleKind::InlineFunction).cloned()
    else {
        return Err(SqlError::of(msg::POLICY_FUNCTION_NOT_FOUND, [&name]));
    };
    if policy.bound && !function.has_option("SCHEMABINDING") {
        return Err(SqlError::of(
            msg::SCHEMA_BIND_NOT_BOUND,
            [&"security policy", &full_name(policy), &function.full_name()],
        ));
    }
    Ok(function)
}

/// 33268.
fn missing(name: &ObjectName) -> SqlError {
    SqlError::of(msg::POLICY_OBJECT_NOT_FOUND, [&name])
}

/// Whoever makes a policy may refer to its tables and use its functions.
///
/// # Errors
/// 229.
pub(super) fn check_rights(core: &mut SessionCore, stmt: &SecurityPolicy) -> Result<(), SqlError> {
    let db = core.db().clone();
    let catalog = db.catalog();
    let mut check = |name: &ObjectName, object_id: i32, schema: &str, permission: Permission| {
        let schema_id = catalog.schemas.get(&fold_name(schema)).copied().unwrap_or(0);
        match core.has(&db, Securable::new(Class::Object, object_id), schema_id, permission) {
            true => Ok(()),
            false => Err(missing(name)),
        }
    };
    for change in &stmt.changes {
        let target = &change.target;
        if let Some(table) = catalog.find(schema_of(target), &target.name.value) {
            check(target, table.object_id, &table.schema, Permission::References)?;
        } else if let Some(view) = catalog.find_module(schema_of(target), &target.name.value) {
            check(target, view.object_id, &view.schema, Permission::References)?;
        }
        let Some(call) = &change.call else { continue };
        let name = &call.function;
        if let Some(function) = catalog.find_module(schema_of(name), &name.name.value) {
            check(name, function.object_id, &function.schema, Permission::Select)?;
            check(name, function.object_id, &function.schema, Permission::References)?;
        }
    }
    Ok(())
}
