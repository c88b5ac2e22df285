//! sp_recompile, sp_refreshview, sp_refreshsqlmodule, sp_settriggerorder, sp_procoption,
//! sp_MS_marksystemobject.

use std::sync::Arc;

use ::types::{DataType, Len, SqlError, msg};

use super::ProcedureCall;
use super::params::Param;
use catalog::security::{Class, Permission, Securable};
use catalog::{MASTER, ModuleDef, ModuleKind, errors, fold_name};
use ddl::modules::{mark_system, may_run_at_start, order_trigger, run_at_start};
use ddl::work::SchemaChange;
use instance::OfInstance;
use metadata::names::name_parts;
use session::state::SessionCore;
use statements::refresh_module;
use statements::rights::not_permitted;

const OBJECT: DataType = DataType::NVarChar(Len::N(776));

/// 15165.
fn missing(name: &str) -> SqlError {
    SqlError::of(msg::OBJECT_OR_PERMISSION_MISSING, [&name])
}

/// The module of a name.
fn named(call: &ProcedureCall<'_>, name: &str) -> Option<Arc<ModuleDef>> {
    let parts = name_parts(name).filter(|parts| parts.len() <= 2)?;
    let schema = parts.get(1).map_or("", String::as_str);
    call.core.db().catalog().find_module(schema, &parts[0]).cloned()
}

/// ALTER on an object. Error: 15247.
fn may_alter(core: &mut SessionCore, schema: &str, object_id: i32) -> Result<(), SqlError> {
    let db = core.db().clone();
    let schema = db.catalog().schemas.get(&fold_name(schema)).copied().unwrap_or(0);
    match core.may_all()
        || core.has(&db, Securable::new(Class::Object, object_id), schema, Permission::Alter)
    {
        true => Ok(()),
        false => Err(not_permitted()),
    }
}

/// sp_recompile object: its plans, and those that read it, are made again. Here all plans are.
pub fn recompile(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@objname", OBJECT)];
    let given = call.given("sp_recompile", 1, PARAMS)?;
    let name = given.text(0).unwrap_or_default();
    let parts = name_parts(name).unwrap_or_default();
    let part = |at: usize| parts.get(at).map_or("", String::as_str);
    let found =
        call.core.db().catalog().find(part(1), part(0)).is_some() || named(call, name).is_some();
    if !found {
        return Err(missing(name));
    }
    call.core.instance().forget_batches();
    call.sink.message(&SqlError::of(msg::MARKED_FOR_RECOMPILATION, [&name]))?;
    Ok(0)
}

/// sp_refreshview view.
pub(crate) fn refresh_view(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@viewname", OBJECT)];
    let given = call.given("sp_refreshview", 1, PARAMS)?;
    let name = given.text(0).unwrap_or_default();
    let view =
        named(call, name).filter(|m| m.kind == ModuleKind::View).ok_or_else(|| missing(name))?;
    refresh(call, &view)
}

/// sp_refreshsqlmodule module [, namespace].
pub(crate) fn refresh_sql_module(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@name", OBJECT), ("@namespace", DataType::NVarChar(Len::N(20)))];
    let given = call.given("sp_refreshsqlmodule", 1, PARAMS)?;
    let name = given.text(0).unwrap_or_default();
    let module = match given.name(1).map(str::to_ascii_uppercase).as_deref() {
        None | Some("OBJECT") => named(call, name),
        Some("DATABASE_DDL_TRIGGER") => {
            let parts = name_parts(name).unwrap_or_default();
            parts.first().and_then(|name| call.core.db().catalog().ddl_trigger(name).cloned())
        }
        _ => None,
    };
    let module = module.ok_or_else(|| missing(name))?;
    refresh(call, &module)
}

fn refresh(call: &mut ProcedureCall<'_>, module: &Arc<ModuleDef>) -> Result<i32, SqlError> {
    let db = call.core.db().clone();
    may_alter(call.core, &module.schema, module.object_id)?;
    refresh_module(call.core, &db, module)?;
    Ok(0)
}

/// sp_settriggerorder trigger, order, action [, namespace].
pub(crate) fn set_trigger_order(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@triggername", DataType::NVarChar(Len::N(517))),
        ("@order", DataType::VarChar(Len::N(10))),
        ("@stmttype", DataType::VarChar(Len::N(50))),
        ("@namespace", DataType::VarChar(Len::N(10))),
    ];
    let given = call.given("sp_settriggerorder", 3, PARAMS)?;
    let (name, action) = (given.text(0).unwrap_or_default(), given.text(2).unwrap_or_default());
    let place = fold_name(given.text(1).unwrap_or_default().trim()).to_string();
    let known = ["first", "last", "none"].contains(&place.as_str());
    if !known || catalog::TriggerOrder::bit(action) == 0 && given.name(3).is_none() {
        return Err(SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&"sys.sp_settriggerorder"]));
    }
    if given.name(3).is_some() {
        return Err(errors::not_supported(
            "sp_settriggerorder of triggers of databases and servers",
        ));
    }
    let trigger =
        named(call, name).filter(|m| m.kind == ModuleKind::Trigger).ok_or_else(|| missing(name))?;
    let db = call.core.db().clone();
    may_alter(call.core, &trigger.schema, trigger.parent)?;
    order_trigger(&mut SchemaChange::begin(call.core, &db)?, &trigger, &place, action)?;
    Ok(0)
}

/// sp_MS_marksystemobject object: a procedure of master whose name begins with sp_ takes the names
/// in its text from the database that it is called in.
pub(crate) fn mark_system_object(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@objname", OBJECT)];
    let given = call.given("sp_MS_marksystemobject", 1, PARAMS)?;
    let name = given.text(0).unwrap_or_default();
    let module = named(call, name).ok_or_else(|| SqlError::of(msg::OBJECT_NOT_VALID, [&name]))?;
    let db = call.core.db().clone();
    mark_system(&mut SchemaChange::begin(call.core, &db)?, &module)?;
    Ok(0)
}

/// sp_procoption procedure, 'startup', value: whether it runs when the instance has started.
pub(crate) fn procedure_option(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@ProcName", OBJECT),
        ("@OptionName", DataType::VarChar(Len::N(35))),
        ("@OptionValue", DataType::VarChar(Len::N(12))),
    ];
    let given = call.given("sp_procoption", 3, PARAMS)?;
    let name = given.text(0).unwrap_or_default();
    let folded = |at: usize| fold_name(given.text(at).unwrap_or_default().trim());
    if call.core.trancount() > 0 {
        return Err(SqlError::of(msg::PROCEDURE_IN_TRANSACTION, [&"sys.sp_procoption"]));
    }
    let on = match folded(2).as_str() {
        "1" | "on" | "yes" | "true" => true,
        "0" | "off" | "no" | "false" => false,
        _ => return Err(SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&"sys.sp_procoption"])),
    };
    if folded(1) != "startup" {
        return Err(SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&"sys.sp_procoption"]));
    }
    let db = call.core.db().clone();
    let parts = name_parts(name).filter(|parts| match parts.get(2) {
        Some(database) => parts.len() == 3 && fold_name(database) == fold_name(&db.name()),
        None => true,
    });
    let parts = parts.ok_or_else(|| missing(name))?;
    let schema = parts.get(1).map_or("", String::as_str);
    let procedure = db.catalog().find_module(schema, &parts[0]).cloned();
    let procedure =
        procedure.filter(|m| m.kind == ModuleKind::Procedure).ok_or_else(|| missing(name))?;
    if db.id() != MASTER || !may_run_at_start(&db.catalog(), &call.core.security(&db), &procedure) {
        return Err(SqlError::of(msg::STARTUP_ONLY_MASTER, []));
    }
    if procedure.procedure().is_some_and(|p| !p.params.is_empty()) {
        return Err(SqlError::of(msg::STARTUP_HAS_PARAMETERS, []));
    }
    run_at_start(&mut SchemaChange::begin(call.core, &db)?, &procedure, on)?;
    Ok(0)
}
