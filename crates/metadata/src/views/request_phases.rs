//! sys.dm_ringwood_request_phases: where the time of requests goes, since trace flag 15001 was set.
//! SQL Server has no such view.

use types::{DataType, Value};

use super::{NVARCHAR60, View, ViewColumn, big, bit, text};
use session::state::phases::CountedTimes;

use DataType::{BigInt, Bit, Float};

const COLUMNS: &[ViewColumn] = &[
    ("phase", NVARCHAR60, false),
    ("request_count", BigInt, false),
    ("total_us", BigInt, false),
    ("p50_us", Float, true),
    ("p99_us", Float, true),
    ("max_us", Float, true),
    ("is_measured", Bit, false),
    ("total_cpu_us", BigInt, false),
    ("p50_cpu_us", Float, true),
    ("p99_cpu_us", Float, true),
    ("max_cpu_us", Float, true),
];

/// Microseconds, as far as they are known.
fn us(ns: Option<u64>) -> Value {
    ns.map_or(Value::Null, |ns| Value::Float(ns as f64 / 1e3))
}

/// The median, the 99th percentile and the longest of some times.
fn spread(times: &CountedTimes) -> [Value; 3] {
    [us(times.percentile(0.5)), us(times.percentile(0.99)), us(times.longest())]
}

/// sys.dm_ringwood_request_phases.
pub(crate) static REQUEST_PHASES: View =
    View::sys("dm_ringwood_request_phases", COLUMNS, |session, _, _| {
        let phases = session.host().request_phases();
        let rows = phases.times().into_iter().map(|times| {
            let mut row =
                vec![text(times.name), big(times.count), big(times.elapsed.total_ns / 1000)];
            row.extend(spread(&times.elapsed));
            row.extend([bit(phases.is_on()), big(times.processor.total_ns / 1000)]);
            row.extend(spread(&times.processor));
            row
        });
        Ok(rows.collect())
    });
