//! The instance as a whole: waits, configuration.

use std::sync::Arc;

use memory::Clerk;
use pages::PageWait;
use types::{DataType, Len, SqlError, Value};

use super::{NVARCHAR60, Rows, SYSNAME, View, ViewColumn, big, int, text};
use catalog::{Db, clock};
use instance::InstanceCore;
use instance::OfInstance;
use instance::configuration::ConfigurationOption;
use session::state::SessionCore;

use DataType::{BigInt, Bit, DateTime, Int, NVarChar, SqlVariant};

const WAIT_COLUMNS: &[ViewColumn] = &[
    ("wait_type", NVARCHAR60, false),
    ("waiting_tasks_count", BigInt, false),
    ("wait_time_ms", BigInt, false),
    ("max_wait_time_ms", BigInt, false),
    ("signal_wait_time_ms", BigInt, false),
];

/// Waits since the start or the last CLEAR: type, number, microseconds in all, longest.
pub fn waits(instance: &InstanceCore) -> Vec<(&'static str, u64, u64, u64)> {
    let mut out: Vec<_> = instance.log_waits.list().to_vec();
    let cleared = instance.cleared_page_waits();
    for (wait, (count, total)) in PageWait::ALL.into_iter().zip(cleared) {
        let w = instance.pool().waits().get(wait);
        out.push((
            wait.name(),
            w.count.saturating_sub(count),
            w.total_us.saturating_sub(total),
            w.max_us,
        ));
    }
    out.extend(
        instance
            .locks()
            .wait_stats()
            .into_iter()
            .map(|w| (w.wait_type, w.count, w.total_us, w.max_us)),
    );
    out
}

/// sys.dm_os_wait_stats.
pub(crate) static WAIT_STATS: View =
    View::sys("dm_os_wait_stats", WAIT_COLUMNS, |session, _, _| {
        let rows = waits(session.instance()).into_iter().map(|(name, count, total, max)| {
            vec![text(name), big(count), big(total / 1000), big(max / 1000), Value::BigInt(0)]
        });
        Ok(rows.collect())
    });

const ZONE_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("current_utc_offset", NVarChar(Len::N(6)), false),
    ("is_currently_dst", Bit, false),
];

/// sys.time_zone_info: the zones that AT TIME ZONE knows, and what they show now.
pub(crate) static TIME_ZONES: View = View::sys("time_zone_info", ZONE_COLUMNS, |_, _, _| {
    let zones = expr::zones::WINDOWS.iter().filter_map(|(name, _)| {
        let (offset, dst) = expr::zones::now(name)?;
        Some(vec![text(name), text(types::datetime::offset_text(offset)), Value::Bit(dst)])
    });
    Ok(zones.collect())
});

const CONFIGURATION_COLUMNS: &[ViewColumn] = &[
    ("configuration_id", Int, false),
    ("name", NVarChar(Len::N(35)), false),
    ("value", SqlVariant, true),
    ("minimum", SqlVariant, true),
    ("maximum", SqlVariant, true),
    ("value_in_use", SqlVariant, true),
    ("description", NVarChar(Len::N(255)), false),
    ("is_dynamic", Bit, false),
    ("is_advanced", Bit, false),
];

/// sys.configurations: what there is to configure.
pub(crate) static CONFIGURATIONS: View =
    View::sys("configurations", CONFIGURATION_COLUMNS, |session, _, _| {
        let row = |option: ConfigurationOption| {
            vec![
                Value::Int(option.id),
                text(option.name),
                Value::Int(option.value),
                Value::Int(option.minimum),
                Value::Int(option.maximum),
                Value::Int(option.in_use),
                text(option.name),
                Value::Bit(true),
                Value::Bit(option.is_advanced),
            ]
        };
        Ok(session.instance().configuration()?.into_iter().map(row).collect())
    });

const SYS_INFO_COLUMNS: &[ViewColumn] = &[
    ("cpu_count", Int, false),
    ("physical_memory_kb", BigInt, false),
    ("committed_kb", BigInt, false),
    ("sqlserver_start_time", DateTime, false),
];

/// sys.dm_os_sys_info: the columns that mean something here.
pub(crate) static SYS_INFO: View = View::sys("dm_os_sys_info", SYS_INFO_COLUMNS, sys_info);

fn sys_info(session: &mut SessionCore, _db: &Arc<Db>, _args: &[Value]) -> Rows {
    let instance = session.instance();
    let committed: usize = Clerk::ALL.into_iter().map(|clerk| instance.memory().held(clerk)).sum();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(vec![vec![
        int(cpus as u64),
        big(instance::machine_memory() >> 10),
        big((committed >> 10) as u64),
        instance.started().clone(),
    ]])
}

const CREDENTIAL_COLUMNS: &[ViewColumn] = &[
    ("credential_id", Int, false),
    ("name", SYSNAME, false),
    ("credential_identity", NVarChar(Len::N(4000)), true),
    ("create_date", DateTime, false),
    ("modify_date", DateTime, false),
    ("target_type", NVarChar(Len::N(100)), true),
    ("target_id", Int, true),
];

/// sys.credentials; a secret has no column.
pub(crate) static CREDENTIALS: View =
    View::sys("credentials", CREDENTIAL_COLUMNS, |session, _, _| {
        let time = |since| {
            let (days, ticks) = clock::parts(since);
            Value::DateTime { days, ticks }
        };
        let rows = session.instance().credentials().list().into_iter().map(|c| {
            let (created, modified) = (time(c.created), time(c.modified));
            vec![
                Value::Int(c.id),
                text(&c.name),
                text(&c.identity),
                created,
                modified,
                Value::Null,
                Value::Int(0),
            ]
        });
        Ok(rows.collect())
    });

/// DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR).
pub fn clear_waits(session: &SessionCore) -> Result<(), SqlError> {
    let instance = session.instance();
    instance.log_waits.clear();
    instance.locks().clear_wait_stats();
    instance.clear_page_waits();
    Ok(())
}
