//! What a session says, as tokens in packets: result sets, ends of statements, messages, changes of
//! the session. Guarantees: no more than a few packets and one row are in memory; each answer ends
//! with exactly one DONE that has no MORE bit; after an attention nothing more of the answer is
//! sent than what ends it; nothing is sent before what it tells is durable.

mod durable;
mod rows;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use engine::phases::{self, Phase};
use engine::{
    BeforeAnswer, ColumnInfo, ColumnOrigins, DataType, OutputParameter, ResultRows, SessionChange,
    Sink, SqlError, StatementEnd, StatementKind,
};
use memory::{Clerk, Reservation};
use tds::tokens::{ColumnSource, DoneKind, DoneStatus, EnvChange, ReturnValue, command};
use tds::{Column, ColumnFlags, MessageBuffer, RowColumns, TdsVersion, TokenWriter, TypeInfo};
use types::msg;

use crate::client::{ActiveClient, AnswerRoom};
use crate::command::{command_of, is_untold};
use crate::connection::Connection;
use crate::hub::Hub;
use crate::wire::LARGE;

/// Bytes of an answer that are gathered before they are sent, while they come fast.
const BATCH: usize = 32 << 10;
/// Full packets are sent at least this often.
const HURRY: Duration = Duration::from_millis(10);
/// User type of rowversion, whose values are binary(8).
const TIMESTAMP: u32 = 80;
/// The error of a batch that was cancelled.
const CANCELLED: i32 = msg::CANCELLED.number();
/// Number and state of the error of a load that the client has withdrawn with its last packet. The
/// DONE alone tells of it.
pub const WITHDRAWN: (i32, u8) = (CANCELLED, 2);
/// Errors of this severity and above end the connection.
const FATAL: u8 = 20;
/// Columns and tables of a cursor whose origins can be told.
const MOST_ORIGINS: usize = 255;
/// Room for the next answer that a buffer keeps.
const KEEP: usize = 64 << 10;

/// The name that errors carry, @@SERVERNAME: the host's.
pub fn server_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}

/// An answer that is being made.
pub struct ClientAnswer<'a> {
    hub: &'a Hub,
    connection: &'a Connection,
    buffer: MessageBuffer,
    version: TdsVersion,
    columns: RowColumns,
    /// Rows of these columns are charged while they are written, if they are large.
    may_be_large: bool,
    packets: Vec<u8>,
    /// A DONE that waits for whether it is the last.
    held: Option<DoneToken>,
    /// An error was sent since the last DONE.
    error: bool,
    /// An error was sent after which the connection ends.
    fatal: bool,
    /// A transaction is open, as far as this answer has heard.
    in_transaction: bool,
    /// A procedure was called by name or number: statements end with DONEINPROC.
    call: bool,
    /// The client knows the columns of the call's rows.
    known_columns: bool,
    sent: Instant,
    spid: u16,
    /// What must be durable before anything is sent.
    before: Arc<BeforeAnswer>,
    /// Part of it has been sent.
    begun: bool,
    /// Why nothing more of it may be sent.
    lost: Option<SqlError>,
}

#[derive(Clone, Copy)]
struct DoneToken {
    kind: DoneKind,
    status: DoneStatus,
    command: u16,
    rows: Option<u64>,
}

impl<'a> ClientAnswer<'a> {
    /// An empty answer to a client.
    pub fn new(
        hub: &'a Hub,
        connection: &'a Connection,
        active: &mut ActiveClient,
    ) -> ClientAnswer<'a> {
        let spid = active.session.spid() as u16;
        let AnswerRoom { payload, mut packets } = std::mem::take(&mut active.room);
        packets.clear();
        ClientAnswer {
            hub,
            connection,
            buffer: MessageBuffer::in_room(active.packet_size, spid, payload),
            version: active.version,
            columns: RowColumns::default(),
            may_be_large: false,
            packets,
            held: None,
            error: false,
            fatal: false,
            in_transaction: active.session.trancount() > 0,
            call: false,
            known_columns: false,
            sent: Instant::now(),
            spid,
            before: active.session.before_answer().clone(),
            begun: false,
            lost: None,
        }
    }

    fn tokens(&mut self) -> TokenWriter<'_> {
        TokenWriter::new(self.buffer.payload(), self.version)
    }

    /// The session was reset, as the client asked.
    pub fn reset_done(&mut self) {
        self.tokens().env_change(EnvChange::ResetAck);
    }

    /// A call by name or number begins. `known_columns`: the client knows the columns of what it
    /// returns.
    pub fn begin_call(&mut self, known_columns: bool) {
        self.release();
        self.call = true;
        self.known_columns = known_columns;
        self.error = false;
    }

    /// A call has ended.
    pub fn end_call(&mut self) {
        self.release();
        self.hold_procedure();
        self.call = false;
        self.known_columns = false;
    }

    /// The DONEPROC of a procedure that has ended.
    fn hold_procedure(&mut self) {
        let error = std::mem::take(&mut self.error);
        let status = self.status(error);
        self.held =
            Some(DoneToken { kind: DoneKind::Proc, status, command: command::EXECUTE, rows: None });
    }

    fn status(&self, error: bool) -> DoneStatus {
        DoneStatus::FINAL
            .with_if(error, DoneStatus::ERROR)
            .with_if(self.fatal, DoneStatus::SERVER_ERROR)
            .with_if(self.in_transaction, DoneStatus::IN_TRANSACTION)
    }

    /// Writes the DONE that was held: something follows it.
    fn release(&mut self) {
        if let Some(done) = self.held.take() {
            self.tokens().done(
                done.kind,
                done.status.with(DoneStatus::MORE),
                done.command,
                done.rows,
            );
        }
    }

    /// The client wants no more, or may be told no more.
    pub fn is_stopped(&self) -> bool {
        self.lost.is_some() || self.connection.is_stopped()
    }

    /// Whether an error was sent after which the connection ends.
    pub fn is_fatal(&self) -> bool {
        self.fatal
    }

    /// An error that ends the request.
    pub fn fail(&mut self, error: &SqlError) {
        self.hub.counters.error(error.severity);
        self.release();
        self.tokens().error(error, server_name(), error.procedure());
        self.error = true;
        self.fatal |= error.severity >= FATAL;
    }

    /// Ends the answer and sends what is left of it; `stopped`: the client wants no more.
    ///
    /// # Errors
    /// The client is gone; or it was told part of an answer that is lost.
    pub fn finish(mut self, stopped: bool, active: &mut ActiveClient) -> std::io::Result<()> {
        let _encode = phases::enter(Phase::Encode);
        // Whoever has not waited for the log before ([`ClientAnswer::settle`]) does now.
        if self.make_durable().is_err() {
            self.tell_loss()?;
        }
        self.end(stopped);
        if stopped {
            self.tokens().done(DoneKind::Done, DoneStatus::ATTENTION, 0, None);
            self.buffer.finish(&mut self.packets);
        }
        let sent = self.send();
        active.room = AnswerRoom::left(self.buffer.into_room(), self.packets);
        sent
    }

    /// The packets with the end of the answer.
    fn end(&mut self, stopped: bool) {
        let last = match self.held.take() {
            Some(done) if !self.error => done,
            held => {
                self.held = held;
                self.release();
                DoneToken {
                    kind: DoneKind::Done,
                    status: self.status(self.error || stopped),
                    command: command::BATCH,
                    rows: None,
                }
            }
        };
        self.tokens().done(last.kind, last.status, last.command, last.rows);
        self.buffer.finish(&mut self.packets);
    }

    /// Sends the packets that are made.
    fn send(&mut self) -> std::io::Result<()> {
        let _send = phases::enter(Phase::Send);
        let (hub, connection) = (self.hub, self.connection);
        let timeout = hub.options.send_timeout;
        let room = self.packets.capacity() + self.buffer.payload().capacity() + connection.kept().0;
        let stalled = |wait: &mut dyn FnMut()| {
            // What a client that does not read leaves here: a few packets, which are there already.
            let mut queued = Reservation::new(hub.instance.memory(), Clerk::Packets);
            queued.force(room);
            hub.stalled(connection, wait);
        };
        self.begun = true;
        let result = connection.send(&self.packets, timeout, &stalled);
        self.packets.clear();
        result
    }

    /// Sends full packets when there are enough of them, or it is time.
    fn flow(&mut self) -> Result<(), SqlError> {
        let pending = self.buffer.pending();
        if pending < self.buffer.packet_size() || pending < BATCH && self.sent.elapsed() < HURRY {
            return Ok(());
        }
        self.make_durable()?;
        self.buffer.take_full(&mut self.packets);
        self.buffer.shrink(KEEP);
        self.send().map_err(|_| gone())?;
        // Not where the answer ends: nobody asks for it then.
        self.sent = Instant::now();
        self.packets.shrink_to(KEEP);
        if self.connection.is_stopped() { Err(gone()) } else { Ok(()) }
    }
}

/// What the engine is told of a client that takes no more; nobody reads it.
fn gone() -> SqlError {
    SqlError::of(msg::ANSWER_NOT_TAKEN, [])
}

/// How a column of a result is described, whose type this is on the wire.
fn column(info: &ColumnInfo, ty: TypeInfo) -> Column<&str> {
    // What the server gives a value by itself cannot be updated.
    let read_only = info.identity || info.computed || info.ty == DataType::RowVersion;
    let flags = ColumnFlags::default()
        .with_if(info.nullable, ColumnFlags::NULLABLE)
        .with_if(info.base && !read_only, ColumnFlags::UPDATABLE_UNKNOWN)
        .with_if(info.identity, ColumnFlags::IDENTITY)
        .with_if(info.computed, ColumnFlags::COMPUTED);
    let table =
        info.table.iter().flat_map(|names| names.iter()).map(|part| part.as_str()).collect();
    Column { name: info.name.as_str(), user_type: user_type(info.ty), flags, ty, table }
}

/// The number of a type that clients cannot tell by its bytes.
fn user_type(ty: DataType) -> u32 {
    if ty == DataType::RowVersion { TIMESTAMP } else { 0 }
}

impl Sink for ClientAnswer<'_> {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        self.release();
        let version = self.version;
        let types = columns.iter().map(|c| TypeInfo::of(c.ty, c.nullable, c.collation, version));
        self.columns.set(types);
        self.may_be_large = self.columns.longest_row().is_none_or(|bytes| bytes >= LARGE);
        if self.known_columns {
            self.tokens().no_columns();
        } else {
            let described =
                columns.iter().zip(self.columns.types()).map(|(info, ty)| column(info, ty));
            let mut tokens = TokenWriter::new(self.buffer.payload(), version);
            tokens.columns_of(columns.len(), described);
        }
        self.flow()
    }

    fn origins(&mut self, origins: &ColumnOrigins) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        let (tables, columns) = (&origins.tables, &origins.columns);
        // The token counts columns and tables in a byte each.
        if tables.is_empty() || tables.len() > MOST_ORIGINS || columns.len() > MOST_ORIGINS {
            return Ok(());
        }
        let names: Vec<Vec<String>> = tables
            .iter()
            .map(|parts| parts.iter().map(|part| part.to_string()).collect())
            .collect();
        let sources: Vec<ColumnSource> = columns
            .iter()
            .enumerate()
            .map(|(at, origin)| ColumnSource {
                column: (at + 1) as u8,
                table: origin.table.map_or(0, |table| (table + 1) as u8),
                expression: origin.table.is_none(),
                key: origin.key,
                hidden: origin.hidden,
                base_name: origin.name.as_ref().map(|name| name.to_string()),
            })
            .collect();
        let mut tokens = self.tokens();
        tokens.table_names(&names);
        tokens.column_sources(&sources);
        self.flow()
    }

    fn ordered(&mut self, columns: &[u16]) -> Result<(), SqlError> {
        self.tokens().order(columns);
        self.flow()
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        let mut left = *rows;
        while !left.is_empty() {
            let written = self.some_rows(&left)?;
            left = left.skip(written);
        }
        Ok(())
    }

    fn takes_stored(&self) -> bool {
        true
    }

    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        if !end.error && is_untold(end.statement) {
            return Ok(());
        }
        self.release();
        let kind = match end.statement {
            _ if end.nested || self.call => DoneKind::InProc,
            // A call of the batch that did not come about.
            StatementKind::Execute => DoneKind::Proc,
            _ => DoneKind::Done,
        };
        self.held = Some(DoneToken {
            kind,
            status: self.status(end.error),
            command: command_of(end.statement),
            rows: end.rows,
        });
        if end.error {
            self.error = false;
        }
        self.flow()
    }

    fn step(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        self.done(end)
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        self.release();
        self.tokens().info(message, server_name(), message.procedure());
        self.flow()
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        let withdrawn = (error.number, error.state) == WITHDRAWN;
        if withdrawn || error.number == CANCELLED && self.connection.is_stopped() {
            // The client has asked for it: the answer to its attention says so, or the DONE.
            self.error = true;
            return Ok(());
        }
        self.fail(error);
        self.flow()
    }

    fn changed(&mut self, change: &SessionChange<'_>) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        self.release();
        let change = match *change {
            SessionChange::Database { new, old } => EnvChange::Database { new, old },
            SessionChange::Language { new, old } => EnvChange::Language { new, old },
            SessionChange::TransactionBegan(id) => EnvChange::BeginTransaction(id),
            SessionChange::TransactionCommitted(id) => EnvChange::CommitTransaction(id),
            SessionChange::TransactionRolledBack(id) => EnvChange::RollbackTransaction(id),
        };
        match change {
            EnvChange::BeginTransaction(_) => self.in_transaction = true,
            EnvChange::CommitTransaction(_) | EnvChange::RollbackTransaction(_) => {
                self.in_transaction = false
            }
            _ => {}
        }
        self.tokens().env_change(change);
        self.flow()
    }

    fn procedure_done(&mut self, status: i32) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        self.release();
        self.tokens().return_status(status);
        if !self.call {
            self.hold_procedure();
        }
        self.flow()
    }

    fn output_parameter(&mut self, parameter: &OutputParameter<'_>) -> Result<(), SqlError> {
        let _encode = phases::enter(Phase::Encode);
        self.release();
        let value = ReturnValue {
            ordinal: parameter.ordinal as u16,
            name: parameter.name,
            is_function_result: false,
            user_type: user_type(parameter.ty),
            flags: ColumnFlags::NULLABLE,
            ty: TypeInfo::of(parameter.ty, true, types::Collation::DEFAULT, self.version),
            value: parameter.value,
        };
        self.tokens().return_value(&value).map_err(|e| e.to_sql_error())?;
        self.flow()
    }
}
