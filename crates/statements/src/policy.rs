//! CREATE, ALTER and DROP SECURITY POLICY.
//! Guarantee: a predicate that is kept was bound: its function fits the columns that it is given.

use std::sync::Arc;

use catalog::names::quote;
use catalog::other::OtherObject;
use catalog::policy::{PolicyDef, PredicateDef, PredicateKind};
use catalog::security::{Class, Permission, Securable};
use catalog::{Db, ModuleDef, ModuleKind, clock, errors, fold_name};
use syntax::ast::{
    DropObjects, ObjectName, OptionItem, OptionValue, PredicateCall, PredicateChange, PredicateVerb,
    SecurityPolicy,
};
use types::SqlError;

use super::StmtCtx;
use ddl::indexed_views;
use ddl::own_queries;
use ddl::policies::{self, full_name};
use ddl::work::Work;
use exec::state::SessionCore;
use instance::security::change::forget;

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
                changed.push((table, next.predicates.last().map(|p| p.call.clone()).unwrap_or_default()));
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
        _ => {
            let text = format!("Cannot alter '{name}' because it is not a security policy.");
            Err(SqlError::new(33_271, 16, 1, text))
        }
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
fn apply(work: &Work<'_>, next: &mut PolicyDef, change: &PredicateChange) -> Result<Target, SqlError> {
    let kind = if change.block { PredicateKind::Block(change.operation) } else { PredicateKind::Filter };
    let table = target(work, next, &change.target, kind)?;
    let id = table.id;
    let known = next.predicates.iter().position(|p| p.target == id && p.kind == kind);
    let number = match (change.verb, known) {
        (PredicateVerb::Add, _) => {
            if next.on(id).any(|p| p.kind.meets(kind)) {
                let text = format!(
                    "A {} predicate for the same operation has already been defined on table '{}' in the security policy '{}'.",
                    kind.word(),
                    table.name,
                    full_name(next)
                );
                return Err(SqlError::new(33_262, 16, 1, text));
            }
            next.predicates.iter().map(|p| p.id).max().unwrap_or(0) + 1
        }
        (_, None) => {
            let text = format!(
                "The security policy '{}' does not contain a predicate on table '{}'.",
                full_name(next),
                table.name
            );
            return Err(SqlError::new(33_261, 16, 1, text));
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
        let text = "Security predicates are not allowed on temporary objects. Object names that begin with '#' denote temporary \
                    objects.";
        return Err(SqlError::new(33_269, 16, 1, text));
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
                let text = format!(
                    "BLOCK predicates can only be added to user tables. '{name}' is not a user table."
                );
                Err(SqlError::new(33_503, 16, 1, text))
            }
            Some(view) if view.kind == ModuleKind::View && view.has_option("SCHEMABINDING") => {
                match policy.bound {
                    true => Ok(of(view.object_id, &view.schema, &view.name)),
                    false => {
                        Err(errors::not_supported("A predicate on a view in a policy without schema binding"))
                    }
                }
            }
            None if catalog.find_other(schema, own).is_none() => Err(missing(name)),
            _ => {
                let text = format!(
                    "Security predicates can only be added to user tables and schema bound views. '{name}' is not a user \
                     table or a schema bound view."
                );
                Err(SqlError::new(33_263, 16, 1, text))
            }
        };
    };
    if kind != PredicateKind::Filter && table.temporal.is_history() {
        let text = format!(
            "BLOCK security predicates cannot reference temporal history tables. Table '{}' is a temporal history table.",
            table.full_name()
        );
        return Err(SqlError::new(33_510, 16, 1, text));
    }
    if let Some(view) = indexed_views::over(&catalog, table) {
        let text = format!(
            "The security policy '{}' cannot have a predicate on table '{}' because this table is referenced by the indexed \
             view '{}'.",
            full_name(policy),
            table.full_name(),
            view.full_name()
        );
        return Err(SqlError::new(33_265, 16, 1, text));
    }
    Ok(of(table.object_id, &table.schema, &table.name))
}

/// 4512: what a policy with schema binding names has its schema and is of the database.
fn two_parts(policy: &PolicyDef, name: &ObjectName) -> Result<(), SqlError> {
    if name.database.is_none() && name.server.is_none() && (name.schema.is_some() || !policy.bound) {
        return Ok(());
    }
    let text = format!(
        "Cannot schema bind security policy '{}' because name '{name}' is invalid for schema binding. Names must be in \
         two-part format and an object cannot reference itself.",
        full_name(policy)
    );
    Err(SqlError::new(4512, 16, 3, text))
}

/// The function of a predicate.
fn function(work: &Work<'_>, policy: &PolicyDef, call: &PredicateCall) -> Result<Arc<ModuleDef>, SqlError> {
    let name = &call.function;
    two_parts(policy, name)?;
    let catalog = work.db.catalog();
    let found = catalog.find_module(schema_of(name), &name.name.value);
    let Some(function) = found.filter(|module| module.kind == ModuleKind::InlineFunction).cloned() else {
        let text = format!(
            "Cannot find the object \"{name}\" or this object is not an inline table-valued function."
        );
        return Err(SqlError::new(33_270, 16, 1, text));
    };
    if policy.bound && !function.has_option("SCHEMABINDING") {
        let text = format!(
            "Cannot schema bind security policy '{}'. '{}' is not schema bound.",
            full_name(policy),
            function.full_name()
        );
        return Err(SqlError::new(4513, 16, 2, text));
    }
    Ok(function)
}

/// 33268.
fn missing(name: &ObjectName) -> SqlError {
    let text = format!(
        "Cannot find the object \"{name}\" because it does not exist or you do not have permissions."
    );
    SqlError::new(33_268, 16, 1, text)
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
