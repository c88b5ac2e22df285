//! sp_monitor: what the server has done since its start, and since sp_monitor ran last.

use types::datetime::{DatePart, dateadd};
use types::{DataType, Len, SqlError, Value};

use super::ProcedureCall;
use instance::OfInstance;
use metadata::functions::activity;
use metadata::results::column;

const FIGURE: DataType = DataType::VarChar(Len::N(25));

/// EXEC sp_monitor.
pub fn run(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let now = activity::figures(call.core);
    let instance = call.core.instance().clone();
    let last = instance.monitor(now);
    let seconds = now.seconds.saturating_sub(last.seconds);
    let started = instance.started();
    let at = |seconds: u64| {
        let seconds = i64::try_from(seconds).unwrap_or(0);
        dateadd(DatePart::Second, seconds, started, DataType::DateTime)
    };
    call.result(
        &[
            column("last_run", DataType::DateTime, false),
            column("current_run", DataType::DateTime, false),
            column("seconds", DataType::Int, true),
        ],
        &[vec![at(last.seconds)?, at(now.seconds)?, metadata::views::int(seconds)]],
    )?;
    // Seconds in all, since the last time, and how much of the time between that was of one
    // processor.
    let busy = |all: u64, before: u64| {
        let more = all.saturating_sub(before) / 1_000_000;
        let share = (more * 100).checked_div(seconds).unwrap_or(0);
        Value::str(format!("{}({more})-{share}%", all / 1_000_000))
    };
    let count =
        |all: u64, before: u64| Value::str(format!("{all}({})", all.saturating_sub(before)));
    let rows: [&[(&str, Value)]; 3] = [
        &[
            ("cpu_busy", busy(now.cpu_us, last.cpu_us)),
            ("io_busy", busy(now.io_us, last.io_us)),
            ("idle", busy(now.idle_us, last.idle_us)),
        ],
        &[
            ("packets_received", count(now.received, last.received)),
            ("packets_sent", count(now.sent, last.sent)),
            ("packet_errors", count(now.packet_errors, last.packet_errors)),
        ],
        &[
            ("total_read", count(now.reads, last.reads)),
            ("total_write", count(now.writes, last.writes)),
            ("total_errors", count(now.errors, last.errors)),
            ("connections", count(now.connections, last.connections)),
        ],
    ];
    for row in rows {
        let columns: Vec<_> = row.iter().map(|(name, _)| column(name, FIGURE, true)).collect();
        call.result(&columns, &[row.iter().map(|(_, value)| value.clone()).collect()])?;
    }
    Ok(0)
}
