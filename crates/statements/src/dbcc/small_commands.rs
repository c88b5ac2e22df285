//! DBCC CHECKFILEGROUP, CLEANTABLE, INPUTBUFFER, PROCCACHE.

use std::sync::atomic::Ordering::Relaxed;

use types::{DataType, Len, SqlError, Value, msg};

use super::{Command, check};
use instance::OfInstance;
use metadata::results::column;
use metadata::views::files::groups;

/// DBCC CHECKFILEGROUP [(name or id [, NOINDEX])]: all of the database is checked.
pub(super) fn check_filegroup(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.ctx.core.db().clone();
    db.check_usable()?;
    let known = groups(&db);
    let found = match (command.text(0), command.number(0)) {
        (Some(name), _) => {
            known.iter().any(|group| catalog::fold_name(&group.name) == catalog::fold_name(name))
        }
        (_, Some(0)) | (None, None) => true,
        (_, Some(id)) => known.iter().any(|group| i64::from(group.id) == id),
    };
    if !found {
        let shown = command
            .text(0)
            .map_or_else(|| command.number(0).unwrap_or(0).to_string(), str::to_owned);
        return Err(SqlError::of(msg::DBCC_INVALID_FILEGROUP, [&shown, &db.name()]));
    }
    let report = check::check_all(command.ctx.core, &db)?;
    check::tell(command, &db, &report, None)
}

/// DBCC CLEANTABLE (database, table [, rows]): a dropped column leaves no space in rows here, so
/// there is none to get back.
pub(super) fn clean_table(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let db = command.database(0)?;
    db.check_usable()?;
    let name = command.text(1).unwrap_or_default().to_owned();
    let parts = metadata::names::name_parts(&name).unwrap_or_default();
    let part = |at: usize| parts.get(at).map_or("", String::as_str);
    if db.catalog().find(part(1), part(0)).is_none() {
        return Err(SqlError::of(msg::TABLE_OR_OBJECT_NOT_FOUND, [&name]));
    }
    Ok(())
}

/// DBCC INPUTBUFFER (session): what it runs or ran last.
pub(super) fn input_buffer(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let wanted = command.number(0).and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    let found =
        command.ctx.core.instance().sessions().into_iter().find(|(spid, _)| *spid == wanted);
    let Some((_, session)) = found else {
        return Err(SqlError::of(msg::INVALID_SPID, [&wanted]));
    };
    let input = session.activity.look().input();
    let row = match input {
        Some(text) => {
            let text: String = text.chars().take(4000).collect();
            vec![Value::str("Language Event"), Value::SmallInt(0), Value::str(text)]
        }
        None => vec![Value::str("No Event"), Value::SmallInt(0), Value::Null],
    };
    let columns = [
        column("EventType", DataType::NVarChar(Len::N(14)), true),
        column("Parameters", DataType::SmallInt, true),
        column("EventInfo", DataType::NVarChar(Len::N(4000)), true),
    ];
    command.result(&columns, &[row])
}

/// DBCC PROCCACHE: the compiled texts that are kept. All of them can be used, and none is held
/// while it is not.
pub(super) fn proc_cache(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let instance = command.ctx.core.instance();
    let kept = i32::try_from(instance.kept_batches()).unwrap_or(i32::MAX);
    let sessions = instance.sessions();
    let running = sessions.iter().filter(|(_, session)| session.running.load(Relaxed)).count();
    let active = i32::try_from(running).unwrap_or(i32::MAX).min(kept);
    let names = [
        ("num proc buffs", kept),
        ("num proc buffs used", kept),
        ("num proc buffs active", active),
        ("proc cache size", kept),
        ("proc cache used", kept),
        ("proc cache active", active),
    ];
    let columns: Vec<_> = names.iter().map(|(name, _)| column(name, DataType::Int, true)).collect();
    let row = names.iter().map(|(_, value)| Value::Int(*value)).collect();
    command.result(&columns, &[row])
}
