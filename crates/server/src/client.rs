//! What the owner of a connection knows of its client: how far the login is, and the session.

use engine::Session;
use tds::TdsVersion;
use tds::prelogin::AfterPrelogin;

/// A client.
pub struct Client {
    /// How far it is.
    pub stage: Stage,
}

/// How far a connection is.
pub enum Stage {
    /// No login yet; what PRELOGIN has agreed on.
    New(Option<AfterPrelogin>),
    /// The login has failed: the answer, to be sent a little later.
    Refused(Vec<u8>),
    /// Logged in.
    Ready(Box<Active>),
    /// Over.
    Ended,
}

/// A client that has logged in.
pub struct Active {
    /// Its session.
    pub session: Session,
    /// The protocol's version.
    pub version: TdsVersion,
    /// Bytes of a packet.
    pub packet_size: usize,
}

impl Client {
    /// A client of which nothing is known.
    pub fn new() -> Client {
        Client { stage: Stage::New(None) }
    }

    /// Ends its session, which rolls back what is open.
    pub fn end(&mut self) {
        self.stage = Stage::Ended;
    }
}
