//! Bulk loads: rows that a client sends after INSERT BULK, in pieces, while they are loaded.
//! Guarantees: no more than some pieces and one row are in memory, and a large row is charged; a
//! load that fails reads what the client still sends before it answers, because clients read no
//! answer earlier; an attention stops a load also when all its rows are there.

use engine::phases::{self, Phase};
use engine::{BulkRows, SqlError, Value};
use memory::{Clerk, Reservation};
use tds::request::{BulkEvent, BulkReader};
use tds::{Limits, TdsError};
use types::msg;

use crate::client::{ActiveClient, AfterMessage, out_of_memory};
use crate::connection::{Connection, NextInput};
use crate::counters::ServerCount;
use crate::hub::Hub;
use crate::output::{ClientAnswer, WITHDRAWN};
use crate::wire::{LARGE, ReceivedInput, WireError};

/// The rows of a load as they come.
struct LoadRows<'a> {
    hub: &'a Hub,
    connection: &'a Connection,
    reader: BulkReader,
    row: Vec<Value>,
    /// Charged for a large row.
    memory: Reservation,
    /// The client sends nothing more of it.
    ended: bool,
    /// What was wrong with the first piece; the load fails with it.
    failed: Option<SqlError>,
    /// Why the connection cannot go on.
    broken: Option<WireError>,
}

/// Loads what INSERT BULK has announced; `got` is the first piece.
///
/// # Errors
/// The client is gone, or sends what is not the protocol.
pub fn run(
    hub: &Hub,
    connection: &Connection,
    active: &mut ActiveClient,
    got: ReceivedInput,
) -> Result<AfterMessage, WireError> {
    hub.counters.add(ServerCount::Requests, 1);
    phases::is_request();
    connection.begin_request(true);
    let mut answer = ClientAnswer::new(hub, connection, active);
    let limits = Limits { memory: hub.options.max_message };
    let reader = BulkReader::new(active.version, limits);
    let memory = Reservation::new(hub.instance.memory(), Clerk::Packets);
    let mut rows = LoadRows {
        hub,
        connection,
        reader,
        row: Vec::new(),
        memory,
        ended: false,
        failed: None,
        broken: None,
    };
    rows.failed = rows.take(got).err();
    if rows.broken.is_none() {
        active.session.load_bulk(&mut rows, &mut answer);
    }
    while !rows.ended {
        // After an error: the rest is thrown away.
        rows.reader = BulkReader::new(active.version, limits);
        let _ = rows.more();
    }
    answer.settle(&mut active.session);
    let stopped = connection.end_request();
    connection.set_in_transaction(active.session.trancount() > 0);
    if let Some(error) = rows.broken {
        return Err(error);
    }
    let over = answer.is_fatal();
    answer.finish(stopped, active)?;
    Ok(if over || active.session.is_killed() {
        AfterMessage::Close
    } else {
        AfterMessage::Continue
    })
}

impl LoadRows<'_> {
    /// Waits for the next piece.
    fn more(&mut self) -> Result<(), SqlError> {
        let _receive = phases::enter(Phase::Receive);
        let (hub, connection) = (self.hub, self.connection);
        match connection.wait_next(hub.options.idle_timeout, &|wait| hub.stalled(connection, wait))
        {
            Ok(NextInput::Got(got)) => self.take(got),
            Ok(NextInput::Attention) => {
                self.ended = true;
                Err(cancelled())
            }
            Ok(NextInput::Gone) => {
                self.broken =
                    Some(std::io::Error::from(std::io::ErrorKind::ConnectionAborted).into());
                self.ended = true;
                Err(cancelled())
            }
            Err(error) => {
                self.broken = Some(error);
                self.ended = true;
                Err(cancelled())
            }
        }
    }

    /// Charges a large row: its bytes, and the values that they become.
    fn charge(&mut self) -> Result<(), SqlError> {
        let held = self.reader.held();
        let (wanted, charged) = (if held < LARGE { 0 } else { 2 * held }, self.memory.used());
        if wanted > charged {
            return self.memory.take(wanted - charged).map_err(|_| out_of_memory());
        }
        self.memory.give(charged - wanted);
        Ok(())
    }

    fn take(&mut self, got: ReceivedInput) -> Result<(), SqlError> {
        let ReceivedInput::Bulk { bytes, last, ignored } = got else {
            self.broken = Some(TdsError::Packet("another message within a bulk load").into());
            self.ended = true;
            return Err(cancelled());
        };
        self.reader.feed(&bytes);
        if last {
            self.reader.end();
            self.ended = true;
            // Of one that is withdrawn nothing more comes that could be stopped.
            if !ignored {
                self.connection.end_loading();
            }
        }
        self.charge()?;
        if ignored { Err(withdrawn()) } else { Ok(()) }
    }
}

fn cancelled() -> SqlError {
    SqlError::of(msg::BULK_LOAD_WITHDRAWN, [])
}

/// The last packet says that nothing is to be loaded: the answer is a DONE alone.
fn withdrawn() -> SqlError {
    let (_, state) = WITHDRAWN;
    SqlError::of(msg::BULK_LOAD_WITHDRAWN, []).state(state)
}

impl BulkRows for LoadRows<'_> {
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            let decode = phases::enter(Phase::Decode);
            let read = self.reader.next_row(&mut self.row).map_err(|e| e.to_sql_error())?;
            drop(decode);
            match read {
                BulkEvent::NeedMore => self.more()?,
                BulkEvent::Columns => {
                    let (sent, announced) = (self.reader.columns().len(), row.len());
                    if sent != announced {
                        return Err(SqlError::of(msg::BULK_COLUMN_COUNT, [&sent, &announced]));
                    }
                }
                BulkEvent::Row => {
                    row.swap_with_slice(&mut self.row);
                    return Ok(true);
                }
                BulkEvent::End => return Ok(false),
            }
        }
    }
}
