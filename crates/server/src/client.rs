//! What the owner of a connection knows of its client: how far the login is, and the session.

use engine::{LoginToken, Session};
use tds::TdsVersion;
use tds::login::Login7;
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
    /// The password was right; the session is not open yet.
    Authenticated(Box<Authenticated>),
    /// Logged in.
    Ready(Box<Active>),
    /// Over.
    Ended,
}

/// A client whose password was right.
pub struct Authenticated {
    /// What it has sent.
    pub login: Login7,
    /// Who it is.
    pub token: LoginToken,
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
