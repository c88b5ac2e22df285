//! The requests of a client that has logged in: batches, calls, transaction requests, attentions.
//! Guarantees: each request is answered by one message, an attention by one more, in the order in
//! which they came; a request that cannot be understood, or for which there is no memory, is an
//! error of that request, and ends the connection only where what follows it cannot be found.

use std::sync::Arc;

use engine::phases;
use engine::session::{
    Isolation, RpcParam, RpcTable, RpcTableColumn, TransactionRequest, TransactionStart,
};
use engine::{DataType, Sink, SqlError, Value};
use memory::{Clerk, MemoryAccount, Reservation};
use tds::request::rpc::{self, RpcReader, RpcRequest, RpcValue};
use tds::request::{Begin, Headers, SqlBatch, TableValue, TransactionRequest as Asked};
use tds::tokens::{DoneKind, DoneStatus};
use tds::{
    AfterError, Grant, Limits, Message, MessageBuffer, PacketType, Reader, TdsError, TdsVersion,
    TokenWriter, TypeInfo,
};
use types::msg;

use crate::client::{ActiveClient, AfterMessage, out_of_memory};
use crate::connection::Connection;
use crate::counters::ServerCount;
use crate::hub::Hub;
use crate::output::{ClientAnswer, WITHDRAWN};
use crate::timers::DueTask;
use crate::wire::{LARGE, ReceivedMessage, WireError};

/// Answers an attention that came while nothing ran. It holds no thread, so nobody waits for a
/// client that does not read: a few such clients would keep all threads.
///
/// # Errors
/// The client is gone, or reads nothing.
pub fn acknowledge(
    hub: &Hub,
    connection: &Connection,
    active: &ActiveClient,
) -> Result<AfterMessage, WireError> {
    if let Some(due) = connection.send_soon(&only_done(active, DoneStatus::ATTENTION))? {
        hub.timers.add(due, DueTask::Kept(connection.id));
    }
    Ok(AfterMessage::Continue)
}

/// An answer that is one DONE.
fn only_done(active: &ActiveClient, status: DoneStatus) -> Vec<u8> {
    let mut buffer = MessageBuffer::new(active.packet_size, active.session.spid() as u16);
    TokenWriter::new(buffer.payload(), active.version).done(DoneKind::Done, status, 0, None);
    let mut bytes = Vec::new();
    buffer.finish(&mut bytes);
    bytes
}

/// Runs a request and answers it. Requests that its client has sent behind it may be run and
/// answered together with it, so that they wait for the log once: their answers are kept back, and
/// leave with that of the last one.
///
/// # Errors
/// The client is gone, or sends what is not the protocol.
pub fn run(
    hub: &Hub,
    connection: &Connection,
    active: &mut ActiveClient,
    mut received: ReceivedMessage,
) -> Result<AfterMessage, WireError> {
    loop {
        let ReceivedMessage { message, memory } = received;
        if let Some(after) = without_running(hub, connection, active, &message)? {
            return Ok(after);
        }
        hub.counters.add(ServerCount::Requests, 1);
        phases::is_request();
        connection.begin_request(false);
        let mut answer = ClientAnswer::new(hub, connection, active);
        let result = carry_out(hub, active, &message, memory, &mut answer);
        drop(message);
        if result.is_ok()
            && !active.session.is_killed()
            && let Some(next) = answer.next_to_join()
        {
            connection.set_in_transaction(active.session.trancount() > 0);
            answer.keep(active);
            hub.instance.request_phases().next_request();
            received = next;
            continue;
        }
        answer.settle(&mut active.session);
        let stopped = connection.end_request();
        if stopped {
            hub.counters.add(ServerCount::Attentions, 1);
        }
        let over =
            active.session.is_killed() || result.as_ref().is_err_and(RequestFailure::is_final);
        if let Err(failure) = result {
            answer.fail(&failure.error());
        }
        let over = over || answer.is_fatal();
        connection.set_in_transaction(active.session.trancount() > 0);
        answer.finish(stopped, active)?;
        return Ok(if over { AfterMessage::Close } else { AfterMessage::Continue });
    }
}

/// Answers a message for which nothing runs; nothing where it asks for more.
///
/// # Errors
/// As for [`run`].
fn without_running(
    hub: &Hub,
    connection: &Connection,
    active: &mut ActiveClient,
    message: &Message,
) -> Result<Option<AfterMessage>, WireError> {
    match message.kind {
        PacketType::Attention
        | PacketType::SqlBatch
        | PacketType::Rpc
        | PacketType::TransactionManager => {}
        _ => return Err(TdsError::Packet("a message that no client sends after its login").into()),
    }
    if message.resets() && (message.ignored || message.kind == PacketType::Attention) {
        return reset_alone(hub, connection, active, message).map(Some);
    }
    if message.kind == PacketType::Attention {
        return acknowledge(hub, connection, active).map(Some);
    }
    if message.ignored {
        // It was withdrawn before its end, so that no attention is needed: the client waits for
        // this.
        let in_transaction = active.session.trancount() > 0;
        let status = DoneStatus::ERROR.with_if(in_transaction, DoneStatus::IN_TRANSACTION);
        let bytes = only_done(active, status);
        let timeout = hub.options.send_timeout;
        connection.send(&bytes, timeout, &|wait| hub.stalled(connection, wait))?;
        return Ok(Some(AfterMessage::Continue));
    }
    Ok(None)
}

/// Resets the session for a request that was withdrawn: clients ask for the reset once, with the
/// first request of whoever gets the connection out of a pool next, and take it for done.
fn reset_alone(
    hub: &Hub,
    connection: &Connection,
    active: &mut ActiveClient,
    message: &Message,
) -> Result<AfterMessage, WireError> {
    connection.begin_request(false);
    let mut answer = ClientAnswer::new(hub, connection, active);
    match reset(active, message, &mut answer) {
        Ok(()) if message.ignored => {
            let (_, state) = WITHDRAWN;
            let withdrawn = SqlError::of(msg::REQUEST_WITHDRAWN, []).state(state);
            // The DONE alone tells of it.
            let _ = answer.error(&withdrawn);
        }
        Ok(()) => {}
        Err(failure) => answer.fail(&failure.error()),
    }
    answer.settle(&mut active.session);
    let (asked, stopped) = (message.kind == PacketType::Attention, connection.end_request());
    connection.set_in_transaction(active.session.trancount() > 0);
    answer.finish(asked || stopped, active)?;
    if asked {
        // Those that came while it waited for a thread, and the one that has come since.
        let more = connection.take_more_attentions().saturating_add(stopped.into());
        for _ in 0..more {
            acknowledge(hub, connection, active)?;
        }
    }
    Ok(if active.session.is_killed() { AfterMessage::Close } else { AfterMessage::Continue })
}

/// Longest batch that is looked at for whether it does nothing but end a transaction.
const END_OF_TRANSACTION: usize = 512;

/// Whether a request does nothing but end its transaction, as far as can be told at once: a request
/// of the transaction manager, or a batch that is a COMMIT or ROLLBACK, also with the condition
/// that drivers send before it.
pub fn ends_transaction(message: &Message, version: TdsVersion) -> bool {
    match message.kind {
        PacketType::TransactionManager => Asked::parse(&message.payload, version)
            .is_ok_and(|(_, asked)| matches!(asked, Asked::Commit { .. } | Asked::Rollback { .. })),
        PacketType::SqlBatch if message.payload.len() <= END_OF_TRANSACTION => {
            SqlBatch::parse(&message.payload, version)
                .is_ok_and(|batch| is_end_of_transaction(&batch.text))
        }
        _ => false,
    }
}

fn is_end_of_transaction(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';').to_ascii_uppercase();
    let mut words = text.split_whitespace().peekable();
    if words.next_if_eq(&"IF").is_some() {
        let condition: Vec<&str> = words.by_ref().take(3).collect();
        let condition = condition.concat();
        // Written without spaces it is shorter: then what follows is no COMMIT, and the request has
        // no privilege.
        if condition != "@@TRANCOUNT>0" {
            return false;
        }
    }
    if !matches!(words.next(), Some("COMMIT" | "ROLLBACK")) {
        return false;
    }
    let named = words.next_if(|word| matches!(*word, "TRAN" | "TRANSACTION")).is_some();
    if !named && words.next_if_eq(&"WORK").is_none() {
        return words.next().is_none();
    }
    let is_name = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '_');
    words.next().is_none_or(|word| named && is_name(word)) && words.next().is_none()
}

/// Charges a large message while it is worked on: what it says as a text, beside what is charged
/// for itself. Calls charge their values as these are read.
fn charge_text(message: &Message, memory: &mut Option<Reservation>) -> Result<(), SqlError> {
    let bytes = message.payload.len();
    match memory {
        Some(memory) if bytes >= LARGE && message.kind == PacketType::SqlBatch => {
            memory.take(bytes).map_err(|_| out_of_memory())
        }
        _ => Ok(()),
    }
}

/// What the values of a call hold while they are read and the call runs. Most calls are small, and
/// nothing is taken for them.
struct CallMemory<'h> {
    account: &'h Arc<MemoryAccount>,
    taken: Option<Reservation>,
}

impl Grant for CallMemory<'_> {
    fn take(&mut self, bytes: usize) -> bool {
        let account = self.account;
        let taken = self.taken.get_or_insert_with(|| Reservation::new(account, Clerk::Packets));
        taken.take(bytes).is_ok()
    }

    fn give_all(&mut self) {
        self.taken = None;
    }
}

/// Why a request was not carried out.
enum RequestFailure {
    Tds(TdsError),
    Sql(SqlError),
}

impl From<TdsError> for RequestFailure {
    fn from(error: TdsError) -> RequestFailure {
        RequestFailure::Tds(error)
    }
}

impl From<SqlError> for RequestFailure {
    fn from(error: SqlError) -> RequestFailure {
        RequestFailure::Sql(error)
    }
}

impl RequestFailure {
    fn is_final(&self) -> bool {
        matches!(self, RequestFailure::Tds(error) if error.after() == AfterError::Close)
    }

    fn error(self) -> SqlError {
        match self {
            RequestFailure::Tds(error) => error.to_sql_error(),
            RequestFailure::Sql(error) => error,
        }
    }
}

fn carry_out(
    hub: &Hub,
    active: &mut ActiveClient,
    message: &Message,
    mut memory: Option<Reservation>,
    answer: &mut ClientAnswer<'_>,
) -> Result<(), RequestFailure> {
    if message.resets() {
        reset(active, message, answer)?;
    }
    if message.refused {
        return Err(out_of_memory().into());
    }
    charge_text(message, &mut memory)?;
    let headers = Headers::read(&mut Reader::new(&message.payload, "request"), active.version)?;
    if headers.wants_notification {
        return Err(TdsError::Unsupported("a query notification").into());
    }
    if !message.resets() {
        check_transaction(active, headers)?;
    }
    match message.kind {
        PacketType::SqlBatch => {
            let batch = SqlBatch::parse(&message.payload, active.version)?;
            active.session.execute(&batch.text, answer);
            Ok(())
        }
        PacketType::Rpc => calls(hub, active, message, answer),
        _ => transaction(active, message, answer),
    }
}

/// Resets the session as a message asks for it.
fn reset(
    active: &mut ActiveClient,
    message: &Message,
    answer: &mut ClientAnswer<'_>,
) -> Result<(), RequestFailure> {
    if message.keeps_transaction() && active.session.trancount() > 0 {
        return Err(
            TdsError::Unsupported("a reset of the connection that keeps its transaction").into()
        );
    }
    answer.reset_done();
    Ok(active.session.reset(answer)?)
}

/// Error 3971 when the client believes to be in a transaction that is not the session's: what it
/// asks for was meant for that one. Error 3989 when it does not know of the session's.
fn check_transaction(active: &ActiveClient, headers: Headers) -> Result<(), RequestFailure> {
    let (theirs, ours) = (headers.transaction, active.session.transaction_number());
    if theirs == ours || active.version < TdsVersion::V7_2 {
        return Ok(());
    }
    if theirs == 0 {
        return Err(SqlError::of(msg::REQUEST_WITHOUT_TRANSACTION, []).into());
    }
    Err(SqlError::of(msg::TRANSACTION_NOT_RESUMED, [&format_args!("{theirs:x}")]).into())
}

fn calls(
    hub: &Hub,
    active: &mut ActiveClient,
    message: &Message,
    answer: &mut ClientAnswer<'_>,
) -> Result<(), RequestFailure> {
    let limits = Limits { memory: hub.options.max_message };
    let mut memory = CallMemory { account: hub.instance.memory(), taken: None };
    let mut reader = RpcReader::new(&message.payload, active.version, limits)?;
    reader.set_grant(&mut memory);
    while let Some(call) = reader.next_call()? {
        // Whoever fetches knows the columns since the cursor was opened.
        let fetches =
            call.procedure.name().is_some_and(|name| name.eq_ignore_ascii_case("sp_cursorfetch"));
        answer.begin_call(call.no_metadata && fetches);
        if let Err(error) = run_call(active, call, answer) {
            answer.fail(&error);
        }
        answer.end_call();
        if answer.is_stopped() {
            break;
        }
    }
    Ok(())
}

fn run_call(
    active: &mut ActiveClient,
    call: RpcRequest,
    answer: &mut ClientAnswer<'_>,
) -> Result<(), SqlError> {
    if call.no_execute {
        return Err(TdsError::Unsupported("describing a call without executing it").to_sql_error());
    }
    let RpcRequest { procedure, params, .. } = call;
    let Some(name) = procedure.name() else {
        return Err(SqlError::of(msg::PROCEDURE_NOT_FOUND, [&format_args!("{procedure:?}")]));
    };
    if is_reset(name) {
        active.session.reset(answer)?;
        return answer.procedure_done(0);
    }
    let params = params.into_iter().map(parameter).collect();
    active.session.rpc(name, params, answer);
    Ok(())
}

fn parameter(param: rpc::RpcParam) -> RpcParam {
    let (ty, value, table) = match param.value {
        RpcValue::Scalar { ty: TypeInfo::Xml, value } => (Some(DataType::Xml), value, None),
        RpcValue::Scalar { ty, value } => (ty.data_type(), value, None),
        RpcValue::Table(table) => (None, Value::Null, Some(Arc::new(rows_of(table)))),
    };
    RpcParam {
        name: param.name.into(),
        ty,
        value,
        output: param.by_ref,
        is_default: param.default,
        table,
    }
}

/// sp_reset_connection: the same as the bit of a packet that asks for it, as a call of its own.
fn is_reset(name: &str) -> bool {
    let bare = name.rsplit('.').next().unwrap_or_default().trim_matches(['[', ']', '"']);
    bare.eq_ignore_ascii_case("sp_reset_connection")
}

/// A table-valued parameter as the engine takes it.
fn rows_of(table: TableValue) -> RpcTable {
    let order = &table.column_order;
    let position =
        |at: usize| order.get(at).map_or(at, |number| usize::from(*number).saturating_sub(1));
    let columns = table.columns.iter().enumerate();
    RpcTable {
        schema: table.schema.as_str().into(),
        type_name: table.type_name.as_str().into(),
        columns: columns
            .map(|(at, column)| RpcTableColumn { position: position(at), default: column.default })
            .collect(),
        values: table.values,
    }
}

fn transaction(
    active: &mut ActiveClient,
    message: &Message,
    answer: &mut ClientAnswer<'_>,
) -> Result<(), RequestFailure> {
    let (_, asked) = Asked::parse(&message.payload, active.version)?;
    let request = match asked {
        Asked::Begin(begin) => TransactionRequest::Begin(start(begin)),
        // The name of a COMMIT means nothing, as in T-SQL.
        Asked::Commit { name: _, then } => TransactionRequest::Commit { then: then.map(start) },
        Asked::Rollback { name, then } => {
            TransactionRequest::Rollback { name: name.into(), then: then.map(start) }
        }
        Asked::Save { name } => TransactionRequest::Save { name: name.into() },
    };
    active.session.transaction(&request, answer);
    Ok(())
}

fn start(begin: Begin) -> TransactionStart {
    let isolation = match begin.isolation {
        1 => Some(Isolation::ReadUncommitted),
        2 => Some(Isolation::ReadCommitted),
        3 => Some(Isolation::RepeatableRead),
        4 => Some(Isolation::Serializable),
        5 => Some(Isolation::Snapshot),
        _ => None,
    };
    TransactionStart { name: begin.name.into(), isolation }
}

#[cfg(test)]
mod tests {
    use super::is_end_of_transaction;

    #[test]
    fn batches_that_only_end_a_transaction() {
        for text in [
            "COMMIT",
            " commit tran ;",
            "rollback transaction",
            "ROLLBACK WORK",
            "commit tran name_1",
            "IF @@TRANCOUNT > 0 COMMIT TRAN",
            "if @@trancount > 0 rollback tran",
        ] {
            assert!(is_end_of_transaction(text), "{text}");
        }
        for text in [
            "",
            "commit waitfor delay '1:00'",
            "commit tran waitfor delay '1:00'",
            "commit; update t set n = 1",
            "commit update t set n = 1",
            "commit tran t; select 1",
            "if @@trancount > 1 commit",
            "if (select n from t) > 0 commit",
            "commit work select",
            "begin tran",
            "select 1",
        ] {
            assert!(!is_end_of_transaction(text), "{text}");
        }
    }
}
