//! Where batches run: a session of an embedded instance, or a connection to a server. The prompt
//! and the runner know no other difference between the two.

use super::complete::{Live, NameSource};
use super::meta::Catalogue;
use super::remote::{Lookup, RemoteNames};
use client::{Connection, DoneKind, DoneStatus, Token};
use engine::{
    ColumnInfo, DataType, Instance, ResultRows, Session, Sink, SqlError, StatementEnd,
    StatementKind,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use types::{Len, msg};

/// Cancels what runs, from any thread.
pub type Cancel = Arc<dyn Fn() + Send + Sync>;

/// A session somewhere.
pub enum SqlTarget {
    Embedded { session: Box<Session>, instance: Arc<Instance> },
    Server(Box<Remote>),
}

/// A connection to a server.
pub struct Remote {
    connection: Connection,
    /// Another connection, for questions about the catalog: it is made when somebody asks first.
    lookup: Rc<RefCell<Lookup>>,
    /// The connection is of no more use.
    lost: bool,
}

impl Remote {
    pub fn new(connection: Connection, lookup: Lookup) -> Remote {
        Remote { connection, lookup: Rc::new(RefCell::new(lookup)), lost: false }
    }
}

impl SqlTarget {
    /// The current database.
    pub fn database(&self) -> String {
        match self {
            SqlTarget::Embedded { session, .. } => session.database().to_string(),
            SqlTarget::Server(remote) => remote.connection.database().to_owned(),
        }
    }

    /// No batch can run any more: SHUTDOWN, or the connection is lost.
    pub fn is_over(&self) -> bool {
        match self {
            SqlTarget::Embedded { instance, .. } => instance.shutdown_requested(),
            SqlTarget::Server(remote) => remote.lost,
        }
    }

    /// What cancels the running batch.
    pub fn cancel(&self) -> Cancel {
        match self {
            SqlTarget::Embedded { session, .. } => {
                let handle = session.cancel_handle();
                Arc::new(move || handle.cancel())
            }
            SqlTarget::Server(remote) => {
                let handle = remote.connection.cancel_handle();
                Arc::new(move || {
                    handle.cancel();
                })
            }
        }
    }

    /// Runs a batch.
    pub fn execute(&mut self, text: &str, sink: &mut dyn Sink) {
        match self {
            SqlTarget::Embedded { session, .. } => {
                // The sink has heard how it went.
                session.execute(&types::units::held(text), sink);
            }
            SqlTarget::Server(remote) => remote.execute(text, sink),
        }
    }

    /// What completion offers.
    pub fn names(&self) -> Rc<dyn NameSource> {
        match self {
            SqlTarget::Embedded { instance, .. } => {
                Rc::new(Live { instance: Arc::clone(instance), database: self.database() })
            }
            SqlTarget::Server(remote) => {
                Rc::new(RemoteNames::new(remote.lookup.clone(), self.database()))
            }
        }
    }

    /// What answers questions in the words of other shells.
    pub fn catalogue(&self) -> Box<dyn Catalogue> {
        match self {
            SqlTarget::Embedded { instance, .. } => Box::new(super::meta::Embedded {
                instance: Arc::clone(instance),
                database: self.database(),
            }),
            SqlTarget::Server(remote) => Box::new(super::remote::RemoteCatalogue {
                lookup: remote.lookup.clone(),
                database: self.database(),
            }),
        }
    }
}

/// The column of a result set, as printers want it.
fn column(column: &client::Column) -> ColumnInfo {
    let ty = column.ty.data_type().unwrap_or(DataType::NVarChar(Len::Max));
    ColumnInfo::new(column.name.as_str(), ty, column.flags.contains(client::ColumnFlags::NULLABLE))
}

fn message(message: &client::ServerMessage) -> SqlError {
    let error =
        SqlError::new(message.number, message.severity, message.state, message.message.as_str());
    // In this order: an error whose line is known has its place.
    error.in_procedure(&message.procedure).at_line(message.line)
}

/// Gives a sink what a token says. The sink's own error: it wants no more.
pub fn show(token: &Token, sink: &mut dyn Sink) -> Result<(), SqlError> {
    match token {
        Token::Columns(columns) if columns.is_empty() => Ok(()),
        Token::Columns(columns) => sink.columns(&columns.iter().map(column).collect::<Vec<_>>()),
        Token::Row(row) => sink.rows(&ResultRows::one(row)),
        Token::Error(error) => sink.error(&message(error)),
        Token::Info(info) => sink.message(&message(info)),
        Token::Done { kind, status, rows, command } => sink.done(StatementEnd {
            statement: match *command {
                client::command::SELECT => StatementKind::Select,
                _ => StatementKind::Other,
            },
            rows: status.contains(DoneStatus::COUNT).then_some(*rows),
            error: status.contains(DoneStatus::ERROR),
            nested: *kind == DoneKind::InProc,
        }),
        _ => Ok(()),
    }
}

impl Remote {
    fn execute(&mut self, text: &str, sink: &mut dyn Sink) {
        if self.lost {
            return;
        }
        self.lookup.borrow_mut().forget();
        let mut cancelled = false;
        let result = self.connection.batch(text, &mut |token| {
            if let Token::Done { status, .. } = &token {
                cancelled |= status.contains(DoneStatus::ATTENTION);
            }
            show(&token, sink).is_ok()
        });
        let error = match result {
            Ok(()) if cancelled => SqlError::of(msg::BATCH_CANCELLED, []),
            Ok(()) => return,
            Err(error) => {
                self.lost = true;
                SqlError::new(0, 20, 1, format!("The connection to the server is lost: {error}."))
            }
        };
        // A sink that takes no more has said so before.
        let _ = sink.error(&error.at_line(1));
    }
}
