//! The requests of a client that has logged in: batches, calls, transaction requests, attentions.
//! Guarantees: each request is answered by one message, an attention by one more; a request that cannot be understood is an
//! error of that request, and ends the connection only where what follows it cannot be found.

use tds::request::SqlBatch;
use tds::tokens::{DoneKind, DoneStatus};
use tds::{AfterError, Message, MessageBuffer, PacketType, TdsError, TokenWriter};

use crate::client::Active;
use crate::connection::Connection;
use crate::hub::Hub;
use crate::output::Answer;
use crate::serve::After;
use crate::wire::WireError;

/// Answers an attention that came while nothing ran.
///
/// # Errors
/// The client is gone.
pub fn acknowledge(hub: &Hub, connection: &Connection, active: &Active) -> Result<After, WireError> {
    let mut buffer = MessageBuffer::new(active.packet_size, active.session.spid() as u16);
    TokenWriter::new(buffer.payload(), active.version).done(DoneKind::Done, DoneStatus::ATTENTION, 0, None);
    let mut bytes = Vec::new();
    buffer.finish(&mut bytes);
    connection.send(&bytes, hub.options.send_timeout, &|wait| wait())?;
    Ok(After::Continue)
}

/// Runs a request and answers it.
///
/// # Errors
/// The client is gone, or sends what is not the protocol.
pub fn run(
    hub: &Hub,
    connection: &Connection,
    active: &mut Active,
    message: Message,
) -> Result<After, WireError> {
    match message.kind {
        PacketType::Attention => return acknowledge(hub, connection, active),
        PacketType::SqlBatch | PacketType::Rpc | PacketType::TransactionManager => {}
        _ => return Err(TdsError::Packet("a message that no client sends after its login").into()),
    }
    if message.ignored {
        // The attention that follows is answered.
        return Ok(After::Continue);
    }
    connection.begin_request();
    let mut answer = Answer::new(hub, connection, active);
    if message.resets() {
        answer.reset_done();
    }
    let result = match message.kind {
        PacketType::SqlBatch => batch(active, &message, &mut answer),
        _ => Err(TdsError::Unsupported("this request")),
    };
    drop(message);
    let stopped = connection.end_request();
    let over = active.session.is_killed() || result.as_ref().is_err_and(|e| e.after() == AfterError::Close);
    if let Err(error) = &result {
        answer.fail(&error.to_sql_error());
    }
    connection.set_in_transaction(active.session.trancount() > 0);
    answer.finish(stopped)?;
    Ok(if over { After::Close } else { After::Continue })
}

fn batch(active: &mut Active, message: &Message, answer: &mut Answer<'_>) -> Result<(), TdsError> {
    let batch = SqlBatch::parse(&message.payload, active.version)?;
    active.session.execute(&batch.text, answer);
    Ok(())
}
