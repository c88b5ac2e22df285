//! What the session and the server say of themselves: @@ variables, identity, the error of CATCH.

use std::sync::atomic::Ordering::Relaxed;

use super::session;
use crate::product::{SERVER_NAME, SERVICE_NAME};
use expr::functions::{
    ArgRule as A, Function, Stability, bigint, int, nvarchar_4000, smallint, sysname,
};
use instance::messages;
use instance::messages::format::format_message;
use session::state::SessionCore;
use types::convert::{Mode, convert};
use types::{DataType, Decimal, Len, SqlError, Value};

/// A function of the session.
macro_rules! session {
    ($name:literal, $result:expr, $get:expr) => {
        Function {
            name: $name,
            min: 0,
            max: 0,
            args: &[],
            result: $result,
            strict: false,
            stability: Stability::Statement,
            nullable: true,
            eval: |_, cx| {
                let get: fn(&SessionCore) -> Value = $get;
                Ok(get(session(cx)?))
            },
        }
    };
}

/// Clients match its beginning with `Microsoft ... - a.b.c.d`; then it says what it is.
const VERSION: &str = concat!(
    "Microsoft SQL Server 2022 compatible - 16.0.1000.6 (64-bit)\n\tRingwood ",
    env!("CARGO_PKG_VERSION"),
    "\n"
);

fn version_type(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::NVarChar(Len::N(300)))
}

fn identity_type(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::numeric(38, 0))
}

pub(crate) fn identity_value(id: Option<i64>) -> Value {
    let wide = id.and_then(|id| Decimal::from_i64(id).rescale(38, 0));
    wide.map_or(Value::Null, Value::Decimal)
}

/// The number of the transaction, by which sys.dm_tran_current_transaction knows it too. Where none
/// runs the statement begins its own.
fn current_transaction(session: &mut SessionCore) -> Result<Value, SqlError> {
    let running = |session: &SessionCore| session.shared.lock_owner.load(Relaxed);
    if running(session) == 0 {
        let db = session.db().clone();
        session.txn(&db)?;
    }
    Ok(i64::try_from(running(session)).map_or(Value::Null, Value::BigInt))
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    session!("@@rowcount", int, |s| Value::Int(
        i32::try_from(s.run.results.rowcount).unwrap_or(i32::MAX)
    )),
    session!("rowcount_big", bigint, |s| Value::BigInt(s.run.results.rowcount as i64)),
    session!("@@error", int, |s| Value::Int(s.run.results.error_number)),
    session!("@@trancount", int, |s| Value::Int(s.trancount() as i32)),
    session!("@@spid", smallint, |s| Value::SmallInt(s.spid() as i16)),
    session!("@@identity", identity_type, |s| identity_value(s.run.results.last_identity)),
    session!("scope_identity", identity_type, |s| identity_value(s.run.results.scope_identity)),
    session!("@@nestlevel", int, |s| Value::Int(s.run.nest_level as i32)),
    session!("@@options", int, |s| Value::Int(s.options.bits())),
    session!("@@lock_timeout", int, |s| Value::Int(s.options.lock_timeout)),
    session!("@@datefirst", |_, _| Ok(DataType::TinyInt), |s| Value::TinyInt(s.options.datefirst)),
    session!("@@language", sysname, |s| Value::str(s.options.dialect.language().name)),
    session!("@@langid", smallint, |s| Value::SmallInt(s.options.dialect.language().id.into())),
    session!("@@textsize", int, |s| Value::Int(s.options.textsize)),
    session!("@@version", version_type, |_| Value::str(VERSION)),
    Function {
        name: "eventdata",
        min: 0,
        max: 0,
        args: &[],
        result: |_, _| Ok(DataType::Xml),
        strict: false,
        stability: Stability::Statement,
        nullable: true,
        eval: |_, cx| match &session(cx)?.run.triggers.event_data {
            None => Ok(Value::Null),
            Some(data) => {
                let text = Value::str(&**data);
                convert(&text, DataType::NVarChar(Len::Max), DataType::Xml, 0, Mode::Explicit)
            }
        },
    },
    session!("host_id", |_, _| Ok(DataType::Char(10)), |s| {
        let names = s.shared.names.lock();
        let process =
            names.connection.as_deref().map_or_else(std::process::id, |client| client.process);
        Value::str(format!("{process:<10}"))
    }),
    session!("@@servername", sysname, |_| Value::str(SERVER_NAME)),
    session!("@@servicename", sysname, |_| Value::str(SERVICE_NAME)),
    session!("@@microsoftversion", int, |_| Value::Int(0x1000_0000)),
    session!("@@max_connections", int, |_| Value::Int(32767)),
    session!("@@max_precision", |_, _| Ok(DataType::TinyInt), |_| Value::TinyInt(38)),
    session!("@@procid", int, |s| Value::Int(
        s.identity.module.as_ref().map_or(0, |module| module.object_id)
    )),
    session!("@@fetch_status", int, |s| Value::Int(s.objects.cursors.fetch_status)),
    session!("@@cursor_rows", int, |s| Value::Int(s.objects.cursors.opened_rows)),
    session!("@@remserver", sysname, |_| Value::Null),
    session!("context_info", |_, _| Ok(DataType::VarBinary(Len::N(128))), |s| s
        .objects
        .context_info
        .clone()),
    Function {
        name: "session_context",
        min: 1,
        max: 1,
        args: &[A::Any],
        result: |types, _| match types.first() {
            Some(ty) if ty.is_unicode() => Ok(DataType::SqlVariant),
            ty => Err(super::invalid_argument(
                ty.copied().unwrap_or(DataType::Int),
                1,
                "session_context",
            )),
        },
        strict: true,
        stability: Stability::Statement,
        nullable: true,
        eval: |args, cx| {
            let key = catalog::fold_name(args[0].as_str().unwrap_or_default());
            let found = session(cx)?.objects.session_context.get(&key);
            Ok(found.map_or(Value::Null, |(value, _)| value.clone()))
        },
    },
    session!("xact_state", smallint, |s| Value::SmallInt(s.xact_state())),
    session!("app_name", sysname, |s| Value::Str(s.identity.app_name.clone())),
    session!("host_name", sysname, |s| Value::Str(s.identity.host_name.clone())),
    session!("error_number", int, |s| s.run.error().map_or(Value::Null, |e| Value::Int(e.number))),
    session!("error_severity", int, |s| s
        .run
        .error()
        .map_or(Value::Null, |e| Value::Int(i32::from(e.severity)))),
    session!("error_state", int, |s| s
        .run
        .error()
        .map_or(Value::Null, |e| Value::Int(i32::from(e.state)))),
    session!("error_line", int, |s| s
        .run
        .error()
        .map_or(Value::Null, |e| Value::Int(e.line as i32))),
    session!("error_message", nvarchar_4000, |s| s
        .run
        .error()
        .map_or(Value::Null, |e| Value::str(&e.message))),
    session!("error_procedure", sysname, |s| {
        let procedure = s.run.error().map(SqlError::procedure).filter(|name| !name.is_empty());
        procedure.map_or(Value::Null, Value::str)
    }),
    Function {
        name: "current_transaction_id",
        min: 0,
        max: 0,
        args: &[],
        result: bigint,
        strict: false,
        stability: Stability::Statement,
        nullable: true,
        eval: |_, cx| current_transaction(session(cx)?),
    },
    Function {
        name: "formatmessage",
        min: 1,
        max: 21,
        args: &[A::Any],
        result: nvarchar_4000,
        strict: false,
        stability: Stability::Statement,
        nullable: true,
        eval: |args, cx| match args.split_first() {
            Some((Value::Str(format), values)) => format_message(format, values).map(Value::str),
            Some((number, values)) => {
                let Some(number) = number.as_i64() else { return Ok(Value::Null) };
                match messages::find(session(cx)?, number)? {
                    Some(message) => format_message(&message.text, values).map(Value::str),
                    None => Ok(Value::Null),
                }
            }
            None => Ok(Value::Null),
        },
    },
];
