//! What a worker does with a connection: it reads what there is, answers it, and leaves the
//! connection to those that wait for sockets, or to the queue where there is no thread for the
//! request.
//! Guarantees: a panic ends its connection alone; while others wait for a worker a connection gets
//! one request at a time; no request runs, no login is checked and no session ends without a thread
//! that its login may hold ([`crate::admission`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::MutexGuard;
use tds::PacketType;

use crate::admission::Class;
use crate::client::{AfterMessage, Client, ClientStage};
use crate::connection::{Connection, NextInput};
use crate::hub::Hub;
use crate::turns::QueuePlace;
use crate::wire::{ReceivedInput, WireError};
use crate::{load, login, request};

/// Serves a connection until it has nothing to read, or others wait.
pub fn serve(hub: &Hub, connection: &Arc<Connection>) {
    let served = catch_unwind(AssertUnwindSafe(|| {
        loop {
            let after = match turn(hub, connection) {
                TurnOutcome::Done(after) => after,
                TurnOutcome::Again => continue,
                TurnOutcome::Left => return hub.left(connection),
                TurnOutcome::More if hub.pool_of(connection).is_some_and(|pool| pool.is_busy()) => {
                    return hub.submit(connection.clone(), false);
                }
                TurnOutcome::More => continue,
            };
            match after {
                // Nothing more is done for a client after SHUTDOWN, its own or another's.
                Ok(AfterMessage::Continue)
                    if !hub.is_stopping() && !hub.instance.shutdown_requested() => {}
                Ok(AfterMessage::Later(delay)) => {
                    hub.release(connection);
                    return hub.later(connection.clone(), delay);
                }
                Ok(AfterMessage::Continue | AfterMessage::Close) => return hub.close(connection),
                Err(error) => {
                    note(hub, connection, &error);
                    return hub.close(connection);
                }
            }
            hub.release(connection);
            if hub.pool_of(connection).is_some_and(|pool| pool.is_busy()) {
                return hub.submit(connection.clone(), connection.is_in_transaction());
            }
        }
    }));
    if served.is_err() {
        let text = format!(
            "Error: 3624. A request of {} has panicked; its connection is closed.",
            connection.peer
        );
        hub.instance.error_log().write("Server", &text);
        hub.close(connection);
    }
    if hub.instance.shutdown_requested() {
        hub.request_stop();
    }
}

/// One message of a connection.
enum TurnOutcome {
    /// It was answered.
    Done(Result<AfterMessage, WireError>),
    /// Something else has come meanwhile.
    Again,
    /// Much has come, and nothing whole yet.
    More,
    /// The connection is not this worker's any more.
    Left,
}

fn turn(hub: &Hub, connection: &Arc<Connection>) -> TurnOutcome {
    // Until the message is answered, if there is one.
    let _timing = hub.instance.request_phases().begin(connection.take_waited());
    let (mut client, next) = match admitted(hub, connection) {
        Ok(admitted) => admitted,
        Err(turn) => return turn,
    };
    let client = &mut *client;
    let Some(next) = next else { return TurnOutcome::Done(login::open(hub, connection, client)) };
    TurnOutcome::Done(match (&mut client.stage, next) {
        (ClientStage::Ended | ClientStage::Refused(_) | ClientStage::Authenticated(_), _)
        | (_, NextInput::Gone) => Ok(AfterMessage::Close),
        (ClientStage::Ready(active), NextInput::Attention) => {
            request::acknowledge(hub, connection, active)
        }
        (ClientStage::Ready(active), NextInput::Got(ReceivedInput::Message(received))) => {
            request::run(hub, connection, active, received)
        }
        (ClientStage::Ready(active), NextInput::Got(got @ ReceivedInput::Bulk { .. })) => {
            load::run(hub, connection, active, got)
        }
        (ClientStage::New(_), NextInput::Got(ReceivedInput::Message(received))) => {
            login::message(hub, connection, client, received.message)
        }
        (ClientStage::New(_), _) => Ok(AfterMessage::Close),
        (ClientStage::Ready(_), NextInput::Got(ReceivedInput::Blocked | ReceivedInput::Closed)) => {
            Ok(AfterMessage::Close)
        }
    })
}

/// The next message of a connection, once there is a thread for what it asks for: one of those that
/// its login may hold. None where a login is to be opened that was checked before.
fn admitted<'c>(
    hub: &Hub,
    connection: &'c Arc<Connection>,
) -> Result<(MutexGuard<'c, Client>, Option<NextInput>), TurnOutcome> {
    let client = connection.client();
    let next = match &client.stage {
        ClientStage::Refused(_) => {
            return Err(TurnOutcome::Done(login::refuse(hub, connection, &client)));
        }
        ClientStage::Authenticated(_) => None,
        _ => match connection.next() {
            Ok(None) => return Err(TurnOutcome::Left),
            Ok(Some(NextInput::Got(ReceivedInput::Blocked))) => return Err(TurnOutcome::More),
            Ok(next) => next,
            Err(error) => return Err(TurnOutcome::Done(Err(error))),
        },
    };
    let class = class_of(connection, &client, next.as_ref());
    let Some(class) = class.filter(|class| !hub.may_begin(connection, *class)) else {
        return Ok((client, next));
    };
    let class = class_beyond_share(class, &client, next.as_ref());
    // Whoever takes it out of the queue has it.
    drop(client);
    match hub.enter_queue(connection, class, next) {
        QueuePlace::Admitted(next) => {
            // It has not waited.
            connection.take_waited();
            Ok((connection.client(), next))
        }
        QueuePlace::Left => Err(TurnOutcome::Left),
        // Nothing may come before the answer to a login.
        QueuePlace::Again if class == Class::Opening => {
            Err(TurnOutcome::Done(Ok(AfterMessage::Close)))
        }
        QueuePlace::Again => Err(TurnOutcome::Again),
    }
}

/// What kind of thread it takes; `None` where any does, because it neither waits nor takes long.
fn class_of(connection: &Connection, client: &Client, next: Option<&NextInput>) -> Option<Class> {
    match (&client.stage, next) {
        (ClientStage::Authenticated(_), _) => Some(Class::Opening),
        (ClientStage::New(_), Some(NextInput::Got(ReceivedInput::Message(message)))) => {
            (message.kind == PacketType::Login7).then_some(Class::Authentication)
        }
        (ClientStage::Ready(_), Some(NextInput::Gone)) => Some(Class::End),
        (ClientStage::Ready(_), Some(NextInput::Got(ReceivedInput::Message(message))))
            if message.kind == PacketType::Attention =>
        {
            // A reset may have a transaction to take back; it waits for nobody.
            message.resets().then_some(Class::End)
        }
        (
            ClientStage::Ready(_),
            Some(NextInput::Got(ReceivedInput::Message(_) | ReceivedInput::Bulk { .. })),
        ) => {
            Some(if connection.is_in_transaction() { Class::Transaction } else { Class::Ordinary })
        }
        _ => None,
    }
}

/// The class of what has found no thread: a request that does nothing but end its transaction has
/// more to choose from. It is looked at now alone, because that takes time.
fn class_beyond_share(class: Class, client: &Client, next: Option<&NextInput>) -> Class {
    match (class, &client.stage, next) {
        (
            Class::Transaction,
            ClientStage::Ready(active),
            Some(NextInput::Got(ReceivedInput::Message(message))),
        ) if request::ends_transaction(message, active.version) => Class::End,
        _ => class,
    }
}

/// What a client did wrong goes to the error log; that it went away does not.
fn note(hub: &Hub, connection: &Connection, error: &WireError) {
    let text = match error {
        WireError::Io(e) if !connection.is_logged_in() && e.get_ref().is_some() => {
            format!("Error: 17830. The TLS handshake failed: {e}.")
        }
        WireError::Io(_) => return,
        WireError::Tds(e) => {
            format!("Error: {}. The connection is closed: {e}.", e.to_sql_error().number)
        }
        WireError::Memory(e) => format!("Error: 701. The connection is closed: {e}."),
        WireError::Tls(e) => format!("Error: 17830. TLS: {e}."),
    };
    hub.instance
        .error_log()
        .write("Logon", &format!("{text} [CLIENT: {}]", connection.peer.ip().to_canonical()));
}
