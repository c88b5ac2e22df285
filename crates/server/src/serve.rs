//! What a worker does with a connection: it reads what there is, answers it, and leaves the connection to those that wait for sockets.
//! Guarantees: a panic ends its connection alone; while others wait for a worker a connection gets one request at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::client::{Client, Stage};
use crate::connection::{Connection, Next};
use crate::hub::Hub;
use crate::wire::{Got, WireError};
use crate::{load, login, request};

/// What follows a message.
pub enum After {
    /// The next one.
    Continue,
    /// The end of the connection.
    Close,
    /// Nothing for a while.
    Later(Duration),
}

/// Serves a connection until it has nothing to read, or others wait.
pub fn serve(hub: &Hub, connection: &Arc<Connection>) {
    if catch_unwind(AssertUnwindSafe(|| serve_on(hub, connection))).is_err() {
        let text =
            format!("Error: 3624. A request of {} has panicked; its connection is closed.", connection.peer);
        hub.instance.error_log().write("Server", &text);
        hub.close(connection);
    }
    if hub.instance.shutdown_requested() {
        hub.request_stop();
    }
}

fn serve_on(hub: &Hub, connection: &Arc<Connection>) {
    loop {
        let mut client = connection.client();
        let after = if matches!(client.stage, Stage::Refused(_)) {
            login::refuse(hub, connection, &client)
        } else {
            match connection.next() {
                Ok(None) => return,
                Ok(Some(next)) => step(hub, connection, &mut client, next),
                Err(error) => Err(error),
            }
        };
        drop(client);
        match after {
            // Nothing more is done for a client after SHUTDOWN, its own or another's.
            Ok(After::Continue) if !hub.is_stopping() && !hub.instance.shutdown_requested() => {}
            Ok(After::Later(delay)) => return hub.later(connection.clone(), delay),
            Ok(After::Continue | After::Close) => return hub.close(connection),
            Err(error) => {
                note(hub, connection, &error);
                return hub.close(connection);
            }
        }
        if hub.pool().is_some_and(|pool| pool.is_busy()) {
            return hub.submit(connection.clone(), connection.is_in_transaction());
        }
    }
}

fn step(hub: &Hub, connection: &Connection, client: &mut Client, next: Next) -> Result<After, WireError> {
    match (&mut client.stage, next) {
        (Stage::Ended | Stage::Refused(_), _) | (_, Next::Gone) => Ok(After::Close),
        (Stage::Ready(active), Next::Attention) => request::acknowledge(hub, connection, active),
        (Stage::Ready(active), Next::Got(Got::Message(message))) => {
            request::run(hub, connection, active, message)
        }
        (Stage::Ready(active), Next::Got(got @ Got::Bulk { .. })) => load::run(hub, connection, active, got),
        (Stage::New(_), Next::Got(Got::Message(message))) => login::message(hub, connection, client, message),
        (Stage::New(_), _) => Ok(After::Close),
        (Stage::Ready(_), Next::Got(Got::Blocked | Got::Closed)) => Ok(After::Close),
    }
}

/// What a client did wrong goes to the error log; that it went away does not.
fn note(hub: &Hub, connection: &Connection, error: &WireError) {
    let text = match error {
        WireError::Io(e) if !connection.is_logged_in() && e.get_ref().is_some() => {
            format!("Error: 17830. The TLS handshake failed: {e}.")
        }
        WireError::Io(_) => return,
        WireError::Tds(e) => format!("Error: {}. The connection is closed: {e}.", e.to_sql_error().number),
        WireError::Memory(e) => format!("Error: 701. The connection is closed: {e}."),
        WireError::Tls(e) => format!("Error: 17830. TLS: {e}."),
    };
    hub.instance
        .error_log()
        .write("Logon", &format!("{text} [CLIENT: {}]", connection.peer.ip().to_canonical()));
}
