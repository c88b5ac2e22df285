//! sp_readerrorlog, xp_readerrorlog, sp_cycle_errorlog.

use ::types::convert::{Mode, convert};
use ::types::ops::compare;
use ::types::{Collation, DataType, Len, SqlError, Value};

use super::ProcedureCall;
use super::params::Param;
use catalog::errors;
use metadata::results::column;

const SOUGHT: DataType = DataType::NVarChar(Len::N(4000));

/// xp_readerrorlog [archive [, 1 [, text [, text [, from [, to [, order]]]]]]]: the lines of the
/// error log that have both texts, of a time.
pub fn read(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@p1", DataType::Int),
        ("@p2", DataType::Int),
        ("@p3", SOUGHT),
        ("@p4", SOUGHT),
        ("@p5", DataType::DateTime),
        ("@p6", DataType::DateTime),
        ("@p7", DataType::NVarChar(Len::N(10))),
    ];
    let given = call.given("xp_readerrorlog", 0, PARAMS)?;
    if given.number(1, 1) != 1 {
        return Err(errors::not_supported("the log of SQL Server Agent"));
    }
    let archive = usize::try_from(given.number(0, 0)).unwrap_or(0);
    let log = call.core.host().error_log().clone();
    let lines = if archive == 0 { log.lines() } else { log.earlier(archive).unwrap_or_default() };
    let folded = |at: usize| given.name(at).map(str::to_lowercase);
    let sought: Vec<String> = [folded(2), folded(3)].into_iter().flatten().collect();
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for line in &lines {
        let Some((at, source, text)) = parts(line) else {
            // The rest of a text of several lines.
            if let Some(Value::Str(text)) = rows.last_mut().and_then(|row| row.last_mut()) {
                text.push('\n');
                text.push_str(line);
            }
            continue;
        };
        rows.push(vec![at, Value::str(source), Value::str(text)]);
    }
    let (from, to) = (given.value(4), given.value(5));
    let in_time = |at: &Value| {
        let order = |other: &Value| compare(at, other, Collation::DEFAULT);
        (from.is_null() || order(&from).is_some_and(|o| o.is_ge()))
            && (to.is_null() || order(&to).is_some_and(|o| o.is_le()))
    };
    rows.retain(|row| {
        let text = row[2].as_str().unwrap_or_default().to_lowercase();
        in_time(&row[0]) && sought.iter().all(|word| text.contains(word.as_str()))
    });
    if given.text(6).is_some_and(|order| order.eq_ignore_ascii_case("desc")) {
        rows.reverse();
    }
    let columns = [
        column("LogDate", DataType::DateTime, true),
        column("ProcessInfo", DataType::NVarChar(Len::N(50)), true),
        column("Text", DataType::NVarChar(Len::Max), true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

/// A line's time, source and text.
fn parts(line: &str) -> Option<(Value, &str, &str)> {
    let (time, rest) = line.split_at_checked("2026-01-05 03:04:05.00".len())?;
    let at = convert(
        &Value::str(time),
        DataType::VarChar(Len::N(30)),
        DataType::DateTime,
        0,
        Mode::Implicit,
    )
    .ok()?;
    let rest = rest.strip_prefix(' ')?;
    let (source, text) = rest.split_once(' ')?;
    Some((at, source, text.trim_start()))
}

/// sp_cycle_errorlog: a new file begins.
pub fn cycle(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    call.core.host().error_log().cycle();
    Ok(0)
}
