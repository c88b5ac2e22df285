//! ALTER DATABASE SCOPED CONFIGURATION: the configurations that there are, what they may be, and
//! what a database has. Guarantee: a value that would change what statements do is refused; the
//! others say how plans are made or what is measured, are kept and shown, and change no result.

use std::sync::Arc;

use catalog::{Db, errors};
use types::SqlError;

use crate::boot_text::save_settings;

/// What a configuration takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScopedValue {
    /// ON or OFF.
    Switch,
    /// As it is: another value would change what statements do.
    Fixed,
    /// A number up to this one.
    Number(i64),
    /// OFF or WHEN_SUPPORTED, which is nowhere; FAIL_UNSUPPORTED would make statements fail.
    Elevation,
}

/// A configuration: its number, its name, its value unless another is set.
pub struct Scoped {
    pub id: i32,
    pub name: &'static str,
    pub default: &'static str,
    takes: ScopedValue,
}

const fn scoped(id: i32, name: &'static str, default: &'static str, takes: ScopedValue) -> Scoped {
    Scoped { id, name, default, takes }
}

/// All of them.
pub const ALL: &[Scoped] = &[
    scoped(1, "MAXDOP", "0", ScopedValue::Number(32_767)),
    scoped(2, "LEGACY_CARDINALITY_ESTIMATION", "0", ScopedValue::Fixed),
    scoped(3, "PARAMETER_SNIFFING", "1", ScopedValue::Fixed),
    scoped(4, "QUERY_OPTIMIZER_HOTFIXES", "0", ScopedValue::Switch),
    scoped(6, "IDENTITY_CACHE", "1", ScopedValue::Fixed),
    scoped(7, "INTERLEAVED_EXECUTION_TVF", "1", ScopedValue::Switch),
    scoped(8, "BATCH_MODE_MEMORY_GRANT_FEEDBACK", "1", ScopedValue::Switch),
    scoped(9, "BATCH_MODE_ADAPTIVE_JOINS", "1", ScopedValue::Switch),
    scoped(10, "TSQL_SCALAR_UDF_INLINING", "1", ScopedValue::Switch),
    scoped(11, "ELEVATE_ONLINE", "OFF", ScopedValue::Elevation),
    scoped(12, "ELEVATE_RESUMABLE", "OFF", ScopedValue::Elevation),
    scoped(13, "OPTIMIZE_FOR_AD_HOC_WORKLOADS", "0", ScopedValue::Switch),
    scoped(14, "XTP_PROCEDURE_EXECUTION_STATISTICS", "0", ScopedValue::Switch),
    scoped(15, "XTP_QUERY_EXECUTION_STATISTICS", "0", ScopedValue::Switch),
    scoped(16, "ROW_MODE_MEMORY_GRANT_FEEDBACK", "1", ScopedValue::Switch),
    scoped(17, "ISOLATE_SECURITY_POLICY_CARDINALITY", "0", ScopedValue::Switch),
    scoped(18, "BATCH_MODE_ON_ROWSTORE", "1", ScopedValue::Switch),
    scoped(19, "DEFERRED_COMPILATION_TV", "1", ScopedValue::Switch),
    scoped(20, "ACCELERATED_PLAN_FORCING", "1", ScopedValue::Switch),
    scoped(21, "GLOBAL_TEMPORARY_TABLE_AUTO_DROP", "1", ScopedValue::Fixed),
    scoped(22, "LIGHTWEIGHT_QUERY_PROFILING", "1", ScopedValue::Switch),
    scoped(23, "VERBOSE_TRUNCATION_WARNINGS", "1", ScopedValue::Fixed),
    scoped(24, "LAST_QUERY_PLAN_STATS", "0", ScopedValue::Switch),
    scoped(
        25,
        "PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES",
        "1440",
        ScopedValue::Number(71_582),
    ),
    scoped(27, "EXEC_QUERY_STATS_FOR_SCALAR_FUNCTIONS", "1", ScopedValue::Switch),
    scoped(28, "PARAMETER_SENSITIVE_PLAN_OPTIMIZATION", "1", ScopedValue::Switch),
    scoped(29, "ASYNC_STATS_UPDATE_WAIT_AT_LOW_PRIORITY", "0", ScopedValue::Switch),
    scoped(31, "CE_FEEDBACK", "1", ScopedValue::Switch),
    scoped(33, "MEMORY_GRANT_FEEDBACK_PERSISTENCE", "1", ScopedValue::Switch),
    scoped(34, "MEMORY_GRANT_FEEDBACK_PERCENTILE_GRANT", "1", ScopedValue::Switch),
    scoped(35, "OPTIMIZED_PLAN_FORCING", "1", ScopedValue::Switch),
    scoped(37, "DOP_FEEDBACK", "0", ScopedValue::Switch),
];

/// SET name = value: durable on return.
///
/// # Errors
/// 102 no such configuration or value; 40510 a value that would change what statements do.
pub fn set(db: &Arc<Db>, secondary: bool, name: &str, value: &str) -> Result<(), SqlError> {
    if secondary {
        return Err(errors::not_supported("ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY"));
    }
    let known = ALL.iter().find(|one| one.name == name).ok_or_else(|| errors::syntax_near(name))?;
    let wrong = || errors::syntax_near(value);
    let wanted = match (known.takes, value) {
        (ScopedValue::Elevation, "OFF" | "WHEN_SUPPORTED" | "FAIL_UNSUPPORTED") => value.to_owned(),
        (ScopedValue::Switch | ScopedValue::Fixed, "ON") => "1".to_owned(),
        (ScopedValue::Switch | ScopedValue::Fixed, "OFF") => "0".to_owned(),
        (ScopedValue::Number(most), _) => {
            let number = value.parse::<i64>().map_err(|_| wrong())?;
            if number > most {
                return Err(wrong());
            }
            number.to_string()
        }
        _ => return Err(wrong()),
    };
    let changes = known.takes == ScopedValue::Fixed && wanted != known.default;
    if changes || wanted == "FAIL_UNSUPPORTED" {
        return Err(errors::not_supported(&format!(
            "ALTER DATABASE SCOPED CONFIGURATION SET {name} = {value}"
        )));
    }
    let mut settings = db.settings();
    settings.scoped.remove(name);
    if wanted != known.default {
        settings.scoped.insert(name.into(), wanted.into());
    }
    save_settings(db, &settings)
}
