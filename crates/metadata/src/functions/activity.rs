//! What the server has done since it started (@@CONNECTIONS, @@CPU_BUSY and similar functions), and
//! application locks as they are held.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use expr::Expr;
use expr::functions::{ArgRule as A, CallCx, Function, int, text_arg};
use rustix::time::{ClockId, clock_gettime};
use txn::locks::OwnerId;
use txn::{LockMode, LockTarget, Resource};
use types::{DataType, Len, SqlError, Value, msg};

use super::{of_statement as f, session};
use crate::views::devices::files_of;
use instance::OfInstance;
use instance::figures::InstanceFigures;
use session::state::SessionCore;

/// Microseconds of a tick.
const TICK_US: u64 = 31_250;

fn mode_type(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::NVarChar(Len::N(32)))
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f("@@connections", (0, 0), &[], int, |_, cx| figure(cx, |f| f.connections)),
    f("@@cpu_busy", (0, 0), &[], int, |_, cx| figure(cx, |f| f.cpu_us / TICK_US)),
    f("@@idle", (0, 0), &[], int, |_, cx| figure(cx, |f| f.idle_us / TICK_US)),
    f("@@io_busy", (0, 0), &[], int, |_, cx| figure(cx, |f| f.io_us / TICK_US)),
    f("@@pack_received", (0, 0), &[], int, |_, cx| figure(cx, |f| f.received)),
    f("@@pack_sent", (0, 0), &[], int, |_, cx| figure(cx, |f| f.sent)),
    f("@@packet_errors", (0, 0), &[], int, |_, cx| figure(cx, |f| f.packet_errors)),
    f("@@timeticks", (0, 0), &[], int, |_, _| Ok(number(TICK_US))),
    f("@@total_errors", (0, 0), &[], int, |_, cx| figure(cx, |f| f.errors)),
    f("@@total_read", (0, 0), &[], int, |_, cx| figure(cx, |f| f.reads)),
    f("@@total_write", (0, 0), &[], int, |_, cx| figure(cx, |f| f.writes)),
    f("applock_mode", (3, 3), &[A::Name], mode_type, applock_mode),
    f("applock_test", (4, 4), &[A::Name], int, applock_test),
];

/// A count as an int, which begins at 0 again where it is too large for one.
fn number(count: u64) -> Value {
    Value::Int((count & 0x7fff_ffff) as i32)
}

/// Time of all processors that the process has used.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// What the server has done since its start.
pub fn figures(core: &SessionCore) -> InstanceFigures {
    let instance = core.instance();
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    let (since, cpu_us) = (instance.born.elapsed(), micros(cpu_time()));
    let packets = instance.packets();
    let mut figures = InstanceFigures {
        seconds: since.as_secs(),
        cpu_us,
        idle_us: micros(since).saturating_mul(cpus).saturating_sub(cpu_us),
        received: packets.map_or(0, |packets| packets.received()),
        sent: packets.map_or(0, |packets| packets.sent()),
        packet_errors: packets.map_or(0, |packets| packets.errors()),
        connections: instance.logins(),
        ..InstanceFigures::default()
    };
    for file in core.host().databases().iter().flat_map(files_of) {
        figures.reads += file.stats.reads;
        figures.writes += file.stats.writes;
        figures.errors += file.stats.failed_writes;
        figures.io_us +=
            file.stats.read_stall_us + file.stats.write_stall_us + file.stats.sync_stall_us;
    }
    figures
}

fn figure(cx: &mut CallCx<'_>, of: fn(&InstanceFigures) -> u64) -> Result<Value, SqlError> {
    Ok(number(of(&figures(session(cx)?))))
}

/// The application lock of a name for a principal in a database.
pub fn lock_of(resource: &str, principal: &str) -> LockTarget {
    let mut hasher = DefaultHasher::new();
    (resource, catalog::fold_name(principal).as_str()).hash(&mut hasher);
    LockTarget::Application(hasher.finish())
}

/// The mode of an application lock by its name.
pub fn mode_of(name: &str) -> Option<LockMode> {
    Some(match name.to_ascii_lowercase().as_str() {
        "shared" => LockMode::S,
        "update" => LockMode::U,
        "exclusive" => LockMode::X,
        "intentshared" => LockMode::IS,
        "intentexclusive" => LockMode::IX,
        _ => return None,
    })
}

/// Who owns an application lock of the session or of its transaction; a new owner where it has none
/// yet.
fn owner(core: &SessionCore, of: &str) -> Result<Option<OwnerId>, SqlError> {
    let locks = core.instance().locks();
    let of_session = core.objects.app_locks.owner.as_ref().map(txn::LockOwner::id);
    match of.to_ascii_lowercase().as_str() {
        "session" => Ok(Some(of_session.unwrap_or_else(|| locks.new_owner()))),
        "transaction" => {
            if core.trancount() == 0 {
                return Err(SqlError::of(msg::APP_LOCK_MODE_WITHOUT_TRANSACTION, []));
            }
            let running = core.shared.lock_owner.load(Relaxed);
            Ok(Some(if running == 0 { locks.new_owner() } else { OwnerId(running) }))
        }
        _ => Ok(None),
    }
}

fn resource(core: &SessionCore, principal: &str, name: &str) -> Result<Resource, SqlError> {
    let db = core.db().clone();
    Ok(Resource { db: db.storage()?.id(), what: lock_of(name, principal) })
}

/// APPLOCK_MODE(principal, resource, owner): in which mode it is held.
fn applock_mode(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let core = session(cx)?;
    let Some(owner) = owner(core, text_arg(args, 2))? else { return Ok(Value::Null) };
    let resource = resource(core, text_arg(args, 0), text_arg(args, 1))?;
    Ok(Value::str(match core.instance().locks().mode_held(owner, &resource) {
        None => "NoLock",
        Some(LockMode::S) => "Shared",
        Some(LockMode::U) => "Update",
        Some(LockMode::X) => "Exclusive",
        Some(LockMode::IS) => "IntentShared",
        Some(LockMode::IX) => "IntentExclusive",
        Some(LockMode::SIX) => "SharedIntentExclusive",
        Some(LockMode::UIX) => "UpdateIntentExclusive",
        Some(_) => return Ok(Value::Null),
    }))
}

/// APPLOCK_TEST(principal, resource, mode, owner): whether it would be granted now.
fn applock_test(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let core = session(cx)?;
    let Some(owner) = owner(core, text_arg(args, 3))? else { return Ok(Value::Null) };
    let Some(mode) = mode_of(text_arg(args, 2)) else { return Ok(Value::Null) };
    let resource = resource(core, text_arg(args, 0), text_arg(args, 1))?;
    Ok(Value::Int(i32::from(!core.instance().locks().conflicts(owner, resource, mode))))
}
