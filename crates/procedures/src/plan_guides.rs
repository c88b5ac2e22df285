//! sp_create_plan_guide, sp_control_plan_guide: plan guides of type SQL. Guarantees: they run
//! outside of transactions only (15002), so that no compiled batch has the hints of a guide that
//! was rolled back; of the guides for one statement of a batch at most one is enabled.

use std::sync::Arc;

use ::types::{DataType, Len, SqlError, msg};
use catalog::object_head::Head;
use catalog::other::{OtherObject, PlanGuideDef};
use catalog::security::Permission;
use catalog::{Catalog, errors, fold_name};

use super::call::{AllowedCallers, Body, ProcedureCall};
use super::params::{NAME, Param};
use ddl::others;
use ddl::work::SchemaChange;
use instance::OfInstance;
use programs::guides;

/// The procedures, and who may run each.
pub(super) const PROCEDURES: &[(&str, Body, AllowedCallers)] = &[
    ("sp_create_plan_guide", create, AllowedCallers::Database(Permission::Alter)),
    ("sp_control_plan_guide", control, AllowedCallers::Database(Permission::Alter)),
];

const TEXT: DataType = DataType::NVarChar(Len::Max);
const WORD: DataType = DataType::NVarChar(Len::N(60));
const CREATE: &[Param] = &[
    ("@name", NAME),
    ("@stmt", TEXT),
    ("@type", WORD),
    ("@module_or_batch", TEXT),
    ("@params", TEXT),
    ("@hints", TEXT),
];
const CONTROL: &[Param] = &[("@operation", WORD), ("@name", NAME)];
/// Characters of a name.
const MOST_OF_NAME: usize = 124;
/// UTF-16 units of what is kept of a guide.
const MOST: usize = 3900;

/// 15600.
fn invalid(procedure: &str) -> SqlError {
    SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&format_args!("sys.{procedure}")])
}

/// sp_create_plan_guide. Errors: 2714 the name is taken, 10502 the statement has a guide, 10507 the
/// batch has no such statement, 10519 these are no hints, 10533, 15002, 15600.
fn create(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let procedure = "sp_create_plan_guide";
    let given = call.given(procedure, 3, CREATE)?;
    call.check_alone(procedure)?;
    let (Some(name), Some(statement), Some(kind)) = (given.name(0), given.name(1), given.name(2))
    else {
        return Err(invalid(procedure));
    };
    match kind.to_ascii_uppercase().as_str() {
        "SQL" => {}
        "OBJECT" | "TEMPLATE" => return Err(errors::not_supported("A plan guide of another type")),
        _ => return Err(invalid(procedure)),
    }
    if name.chars().count() > MOST_OF_NAME {
        return Err(SqlError::of(msg::PLAN_GUIDE_NAME_LENGTH, [&name]));
    }
    let part = |at: usize| given.text(at).map(str::to_owned);
    let (batch, params, hints) = (part(3), part(4), part(5));
    if !has_statement(batch.as_deref().unwrap_or(statement), statement) {
        return Err(SqlError::of(msg::PLAN_GUIDE_NO_STATEMENT, [&name]));
    }
    if hints.as_deref().is_some_and(|hints| hints.trim_start().starts_with('<')) {
        return Err(errors::not_supported("A plan guide with a plan"));
    }
    if guides::hints(hints.as_deref()).is_err() {
        return Err(SqlError::of(msg::PLAN_GUIDE_HINTS, [&name]));
    }
    let db = call.core.db().clone();
    let mut work = SchemaChange::begin(call.core, &db)?;
    let now = catalog::clock::now();
    let head = Head {
        object_id: work.object_id()?,
        schema: "sys".into(),
        name: name.into(),
        create_date: now.clone(),
        modify_date: now,
    };
    let statement = statement.to_owned();
    let guide = PlanGuideDef { head, disabled: false, statement, batch, params, hints };
    if guide.text().encode_utf16().count() > MOST {
        return Err(errors::not_supported("A plan guide of more than 3,900 characters"));
    }
    if let Some(other) = enabled_like(&db.catalog(), &guide) {
        return Err(SqlError::of(msg::PLAN_GUIDE_EXISTS, [&name, &other.head.name]));
    }
    others::create(&mut work, OtherObject::PlanGuide(Arc::new(guide)))?;
    work.core.instance().forget_batches();
    Ok(0)
}

/// Whether a batch has a statement that hints can be given to.
fn has_statement(batch: &str, statement: &str) -> bool {
    let Ok(mut stmts) = syntax::parse(statement) else { return false };
    let [stmt] = stmts.as_mut_slice() else { return false };
    guides::options_of(&mut stmt.kind).is_some() && batch.contains(guides::bare(statement))
}

fn batch_of(guide: &PlanGuideDef) -> &str {
    guide.batch.as_deref().unwrap_or(&guide.statement)
}

/// The enabled guide that is for the same statement of the same batch.
fn enabled_like(catalog: &Catalog, guide: &PlanGuideDef) -> Option<Arc<PlanGuideDef>> {
    let is_like = |other: &&Arc<PlanGuideDef>| {
        !other.disabled
            && other.head.object_id != guide.head.object_id
            && guides::is_same(&other.statement, &guide.statement)
            && guides::is_same(batch_of(other), batch_of(guide))
            && other.params == guide.params
    };
    guides_of(catalog).find(is_like).cloned()
}

fn guides_of(catalog: &Catalog) -> impl Iterator<Item = &Arc<PlanGuideDef>> {
    catalog.others.values().filter_map(|other| match other {
        OtherObject::PlanGuide(guide) => Some(guide),
        _ => None,
    })
}

/// What sp_control_plan_guide does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Drop,
    Enable,
    Disable,
}

/// sp_control_plan_guide. Errors: 10537 another guide for the statement is enabled, 15002, 15009
/// there is none of the name, 15600 another operation.
fn control(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let procedure = "sp_control_plan_guide";
    let given = call.given(procedure, 1, CONTROL)?;
    call.check_alone(procedure)?;
    let words = given.text(0).unwrap_or_default().trim().to_ascii_uppercase();
    let (word, all) = match words.strip_suffix(" ALL") {
        Some(word) => (word.trim_end(), true),
        None => (words.as_str(), false),
    };
    let operation = match word {
        "DROP" => Operation::Drop,
        "ENABLE" => Operation::Enable,
        "DISABLE" => Operation::Disable,
        _ => return Err(invalid(procedure)),
    };
    let db = call.core.db().clone();
    let name = given.name(1);
    let wanted: Vec<Arc<PlanGuideDef>> = match (all, name) {
        (true, None) => guides_of(&db.catalog()).cloned().collect(),
        (false, Some(name)) => {
            let is = |guide: &&Arc<PlanGuideDef>| fold_name(&guide.head.name) == fold_name(name);
            guides_of(&db.catalog()).filter(is).cloned().collect()
        }
        _ => return Err(invalid(procedure)),
    };
    if let (Some(name), true) = (name, wanted.is_empty()) {
        return Err(SqlError::of(msg::OBJECT_NOT_IN_DATABASE, [&name, &db.name()]));
    }
    let mut work = SchemaChange::begin(call.core, &db)?;
    for guide in wanted {
        change(&mut work, guide, operation)?;
    }
    work.core.instance().forget_batches();
    Ok(0)
}

fn change(
    work: &mut SchemaChange<'_>,
    guide: Arc<PlanGuideDef>,
    operation: Operation,
) -> Result<(), SqlError> {
    let before = OtherObject::PlanGuide(guide.clone());
    if operation == Operation::Drop {
        return others::drop_object(work, before);
    }
    others::lock(work, &before)?;
    if operation == Operation::Enable
        && let Some(other) = enabled_like(&work.db.catalog(), &guide)
    {
        let names: [&dyn std::fmt::Display; 2] = [&guide.head.name, &other.head.name];
        return Err(SqlError::of(msg::PLAN_GUIDE_OTHER_ENABLED, names));
    }
    let mut after = PlanGuideDef::clone(&guide);
    after.disabled = operation == Operation::Disable;
    after.head.modify_date = catalog::clock::now();
    others::replace(work, Some(before), Some(OtherObject::PlanGuide(Arc::new(after))))
}
