//! Temporary procedures: procedures of tempdb, local ones (`#p`) under names that nobody else has.
//! Guarantees: a session sees no other session's local ones; every one goes with the session that
//! made it, whatever scope made it; those who run a global one at that moment run it to its end.

use std::sync::Arc;

use syntax::ast::ModuleVerb;
use types::SqlError;

use super::modules::{self, NewModule};
use super::temps::{kept_name, remember, tempdb};
use super::work::Work;
use catalog::security::{Class, Permission, Securable};
use catalog::{ModuleDef, ModuleKind, errors};
use session::state::SessionCore;

/// They belong to no scope but the session's.
const OF_SESSION: u32 = 0;

/// The temporary procedure that a name means to the session.
///
/// # Errors
/// Internal: there is no tempdb.
pub fn find(core: &SessionCore, name: &str) -> Result<Option<Arc<ModuleDef>>, SqlError> {
    let found = core.objects.temps.find_procedure(name, &*tempdb(core)?);
    Ok(found.filter(|module| module.kind == ModuleKind::Procedure))
}

/// Whether the caller may change or drop the temporary procedure of a name, if it is there: those
/// of its session it may, another's like any procedure of tempdb. Whoever runs it does so with
/// rights of its own, so that what it does is not for everybody to choose.
///
/// # Errors
/// Internal: there is no tempdb.
pub fn may_change(core: &mut SessionCore, name: &str) -> Result<bool, SqlError> {
    let Some(found) = find(core, name)? else { return Ok(true) };
    let id = found.object_id;
    if core.objects.temps.list.iter().any(|temp| temp.object_id == id && temp.name.starts_with('#'))
    {
        return Ok(true);
    }
    let db = tempdb(core)?;
    let schema = db.catalog().schemas.get("dbo").copied().unwrap_or_default();
    Ok(core.has(&db, Securable::new(Class::Object, id), schema, Permission::Alter))
}

/// Makes or changes a temporary procedure.
///
/// # Errors
/// 193 the name is too long, 2714 it is taken, 208 ALTER of nothing, 701; those of
/// [`modules::put`].
pub fn put(
    core: &mut SessionCore,
    new: &NewModule<'_>,
    check: impl FnOnce(&mut Work<'_>, &Arc<ModuleDef>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let db = tempdb(core)?;
    let before = find(core, new.name)?;
    let name = match (&before, new.verb) {
        (Some(_), ModuleVerb::Create) => return Err(errors::name_taken(new.name)),
        (Some(before), _) => before.name.clone(),
        (None, ModuleVerb::Alter) => return Err(errors::invalid_object(new.name)),
        (None, ModuleVerb::Create | ModuleVerb::CreateOrAlter) => {
            kept_name(core, &db, &new.name.into(), OF_SESSION)?
        }
    };
    let kept = NewModule {
        kind: new.kind,
        // One that another session makes meanwhile is not this one's.
        verb: if before.is_some() { new.verb } else { ModuleVerb::Create },
        schema: "",
        name: &name,
        text: new.text,
        settings: new.settings,
        parent: None,
        run_as: new.run_as,
    };
    let mut made = None;
    modules::put(&mut Work::begin(core, &db)?, &kept, |work, module| {
        super::temp_memory::charge_module(work.core, module)?;
        check(work, module)?;
        made = Some(module.object_id);
        Ok(())
    })?;
    if let (None, Some(object_id)) = (before, made) {
        remember(&mut core.objects.temps, new.name, object_id, OF_SESSION);
    }
    Ok(())
}
