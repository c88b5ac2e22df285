//! sys.dm_ringwood_request_phases: where the time of requests goes, since trace flag 15001 was set.
//! SQL Server has no such view.

use types::{DataType, Value};

use super::{NVARCHAR60, View, ViewColumn, big, bit, text};
use exec::state::phases::percentile;

use DataType::{BigInt, Bit, Float};

const COLUMNS: &[ViewColumn] = &[
    ("phase", NVARCHAR60, false),
    ("request_count", BigInt, false),
    ("total_us", BigInt, false),
    ("p50_us", Float, true),
    ("p99_us", Float, true),
    ("max_us", Float, true),
    ("is_measured", Bit, false),
];

/// Microseconds, as far as they are known.
fn us(ns: Option<u64>) -> Value {
    ns.map_or(Value::Null, |ns| Value::Float(ns as f64 / 1e3))
}

/// sys.dm_ringwood_request_phases.
pub static REQUEST_PHASES: View = View::sys("dm_ringwood_request_phases", COLUMNS, |session, _, _| {
    let phases = session.host().request_phases();
    let rows = phases.times().into_iter().map(|times| {
        // The bound of a class may be above the longest of all.
        let part = |part| percentile(&times.classes, part).map(|ns| ns.min(times.longest_ns));
        vec![
            text(times.name),
            big(times.count),
            big(times.total_ns / 1000),
            us(part(0.5)),
            us(part(0.99)),
            us((times.count > 0).then_some(times.longest_ns)),
            bit(phases.is_on()),
        ]
    });
    Ok(rows.collect())
});
