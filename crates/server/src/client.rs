//! What the owner of a connection knows of its client: how far the login is, and the session.
//! Guarantee: a session is charged as long as it is open; the sessions of one login leave as much
//! memory free as they take.

use std::sync::Arc;
use std::time::Duration;

use engine::{LoginToken, Session, SqlError};
use memory::{Clerk, MemoryAccount, OutOfMemory, Reservation};
use tds::TdsVersion;
use tds::login::Login7;
use tds::prelogin::AfterPrelogin;
use types::msg;

use crate::admission::Share;

/// A client.
pub struct Client {
    /// How far it is.
    pub stage: ClientStage,
}

/// How far a connection is.
pub enum ClientStage {
    /// No login yet; what PRELOGIN has agreed on.
    New(Option<AfterPrelogin>),
    /// The login has failed: the answer, to be sent a little later.
    Refused(Vec<u8>),
    /// The password was right; the session is not open yet.
    Authenticated(Box<AuthenticatedClient>),
    /// Logged in.
    Ready(Box<ActiveClient>),
    /// Over.
    Ended,
}

/// What follows a message.
pub enum AfterMessage {
    /// The next one.
    Continue,
    /// The end of the connection.
    Close,
    /// Nothing for a while.
    Later(Duration),
}

/// A client whose password was right.
pub struct AuthenticatedClient {
    /// What it has sent.
    pub login: Login7,
    /// The login.
    pub token: LoginToken,
}

/// A client that has logged in.
pub struct ActiveClient {
    /// Its session.
    pub session: Session,
    /// The protocol's version.
    pub version: TdsVersion,
    /// Bytes of a packet.
    pub packet_size: usize,
    /// Of its last answer, for the next one.
    pub room: AnswerRoom,
    /// What it takes of memory.
    #[expect(dead_code, reason = "it is charged as long as the session is open")]
    pub memory: SessionMemory,
}

/// Bytes of room of each kind that are kept, however many clients there are.
const MOST_ROOM: usize = 1 << 10;

/// Room for short answers: their tokens and their packets.
#[derive(Default)]
pub struct AnswerRoom {
    pub payload: Vec<u8>,
    pub packets: Vec<u8>,
}

impl AnswerRoom {
    /// What is kept of an answer's room: that of a long one is given back.
    pub fn left(payload: Vec<u8>, packets: Vec<u8>) -> AnswerRoom {
        let small = |room: Vec<u8>| if room.capacity() <= MOST_ROOM { room } else { Vec::new() };
        AnswerRoom { payload: small(payload), packets: small(packets) }
    }
}

/// What a session and its connection take of memory before they have done anything, with what they
/// keep for their next request: the room of a short answer, the place of the last transaction.
const SESSION: usize = 15 << 10;

/// 701: there is no memory for what a client has asked for.
pub fn out_of_memory() -> SqlError {
    SqlError::of(msg::OUT_OF_MEMORY, [&"default"])
}

/// The charge for an open session.
pub struct SessionMemory {
    charged: Reservation,
    share: Arc<Share>,
}

impl SessionMemory {
    /// For one more session of a login. Whoever `must_enter` does, whatever memory there is.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn take(
        account: &Arc<MemoryAccount>,
        share: &Arc<Share>,
        must_enter: bool,
    ) -> Result<SessionMemory, OutOfMemory> {
        let mut charged = Reservation::in_steps(account, Clerk::Sessions, SESSION);
        if must_enter {
            charged.force(SESSION);
        } else {
            charged.take_beside(SESSION, share.sessions() * SESSION)?;
        }
        share.session_opened();
        Ok(SessionMemory { charged, share: share.clone() })
    }
}

impl Drop for SessionMemory {
    fn drop(&mut self) {
        debug_assert_eq!(self.charged.used(), SESSION, "a session is charged once");
        self.share.session_closed();
    }
}

impl Client {
    /// A client of which nothing is known.
    pub fn new() -> Client {
        Client { stage: ClientStage::New(None) }
    }

    /// Ends its session, which rolls back what is open.
    pub fn end(&mut self) {
        self.stage = ClientStage::Ended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_rooms_are_kept() {
        let room =
            AnswerRoom::left(Vec::with_capacity(MOST_ROOM), Vec::with_capacity(MOST_ROOM + 1));
        assert_eq!((room.payload.capacity(), room.packets.capacity()), (MOST_ROOM, 0));
    }

    #[test]
    fn sessions_of_one_login_leave_as_much_as_they_take() {
        let account = Arc::new(MemoryAccount::new(64 << 20));
        let (many, other) = (Arc::new(Share::new(1, 1)), Arc::new(Share::new(2, 1)));
        let mut open = Vec::new();
        while let Ok(memory) = SessionMemory::take(&account, &many, false) {
            open.push(memory);
        }
        assert_eq!(many.sessions(), open.len());
        assert!(open.len() > 1000 && account.total() <= account.limit() / 2, "{}", open.len());
        let more = SessionMemory::take(&account, &other, false).expect("another login finds room");
        let administrator = SessionMemory::take(&account, &many, true).expect("who must enter");
        drop((open, more, administrator));
        assert_eq!((account.total(), many.sessions(), other.sessions()), (0, 0, 0));
    }
}
