//! An answer waits for the log before it is sent: once for all that its statements have committed
//! and read, whenever bytes of it are about to leave.
//! Guarantees: no byte that tells of a commit leaves before the commit is durable; when the log
//! cannot be flushed, nothing that was not sent yet is told but the error, and the connection ends.

use std::io::{self, ErrorKind};

use engine::{Session, SqlError};
use tds::MessageBuffer;

use super::Answer;

impl Answer<'_> {
    /// The request has run: waits for the log, as long as an attention and views still find it
    /// running.
    pub fn settle(&mut self, session: &mut Session) {
        if self.lost.is_none()
            && let Err(error) = session.settle()
        {
            self.lose(error);
        }
    }

    /// Waits for the log before bytes leave.
    ///
    /// # Errors
    /// What was told is lost: the request is to end.
    pub(super) fn make_durable(&mut self) -> Result<(), SqlError> {
        if let Some(error) = &self.lost {
            let error = error.clone();
            self.discard();
            return Err(error);
        }
        self.before.wait().inspect_err(|error| self.lose(error.clone()))
    }

    /// Forgets what was not sent.
    fn lose(&mut self, error: SqlError) {
        self.lost = Some(error);
        self.fatal = true;
        self.discard();
    }

    fn discard(&mut self) {
        self.held = None;
        self.packets.clear();
        self.buffer = MessageBuffer::new(self.buffer.packet_size(), self.spid);
    }

    /// What the client is told in the place of an answer that is lost: the error alone.
    ///
    /// # Errors
    /// Part of the answer has been sent, perhaps of a token: nothing can follow it.
    pub(super) fn tell_loss(&mut self) -> io::Result<()> {
        let Some(error) = self.lost.take() else { return Ok(()) };
        if self.begun {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        self.discard();
        self.in_transaction = false;
        self.fail(&error);
        Ok(())
    }
}
