//! DBCC TRACEON, TRACEOFF, TRACESTATUS.

use types::{DataType, SqlError, Value};

use super::Command;
use instance::OfInstance;
use metadata::results::column;

/// DBCC TRACEON (flag, ...) and TRACEOFF; -1 (all sessions) is what they always mean here.
pub(super) fn switch(command: &mut Command<'_, '_>, on: bool) -> Result<(), SqlError> {
    let instance = command.ctx.core.instance().clone();
    for at in 0..command.args.len() {
        if let Some(flag) =
            command.number(at).and_then(|n| i32::try_from(n).ok()).filter(|n| *n > 0)
        {
            instance.set_trace_flag(flag, on);
        }
    }
    Ok(())
}

/// DBCC TRACESTATUS.
pub(super) fn status(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let on = command.ctx.core.instance().trace_flags();
    let asked: Vec<i32> = (0..command.args.len())
        .filter_map(|at| command.number(at).and_then(|n| i32::try_from(n).ok()))
        .filter(|n| *n > 0)
        .collect();
    let shown = if asked.is_empty() { on.clone() } else { asked };
    let rows: Vec<Vec<Value>> = shown
        .iter()
        .map(|flag| {
            let set = i16::from(on.contains(flag));
            vec![
                Value::SmallInt(*flag as i16),
                Value::SmallInt(set),
                Value::SmallInt(set),
                Value::SmallInt(0),
            ]
        })
        .collect();
    let columns = ["TraceFlag", "Status", "Global", "Session"]
        .map(|name| column(name, DataType::SmallInt, true));
    command.result(&columns, &rows)
}
