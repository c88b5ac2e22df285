//! An answer waits for the log before it is sent: once for all that its statements have committed
//! and read, whenever bytes of it are about to leave; together with the next ones where the client
//! has sent its next requests already.
//! Guarantees: no byte that tells of a commit leaves before the commit is durable; when the log
//! cannot be flushed, nothing that was not sent yet is told but the error, and the connection ends.

use std::io::{self, ErrorKind};
use std::time::Duration;

use engine::phases::{self, Phase};
use engine::{Session, SqlError};
use tds::MessageBuffer;

use super::{BATCH, ClientAnswer};
use crate::admission::Slot;
use crate::client::{ActiveClient, AnswerRoom};
use crate::timers::DueTask;
use crate::wire::ReceivedMessage;

/// So long after the first answer that is kept back no further one joins it.
const JOIN: Duration = Duration::from_millis(5);

impl ClientAnswer<'_> {
    /// The next request, which has come already, where this answer would have to wait for the log
    /// and may join that one's wait: the request that it answers has ended then, and
    /// [`ClientAnswer::keep`] has to follow. Requests of others that wait for a thread come first.
    pub fn next_to_join(&self) -> Option<ReceivedMessage> {
        let (hub, connection) = (self.hub, self.connection);
        if !self.before.is_owed() || self.begun || self.fatal || self.lost.is_some() {
            return None;
        }
        let (kept, time) = connection.kept();
        let goes_on = !hub.is_stopping() && !hub.instance.shutdown_requested();
        let free = goes_on && hub.pool_of(connection).is_some_and(|pool| !pool.is_busy());
        if !free || kept + self.buffer.pending() >= BATCH || time >= JOIN {
            return None;
        }
        // The next one would run on the thread that this one holds: only where it would have got
        // the same, and nobody is queued for one.
        let may_go_on = connection.slot().as_ref().is_none_or(Slot::is_ordinary);
        if !may_go_on || hub.admission.queued() > 0 {
            return None;
        }
        connection.follow()
    }

    /// Ends the answer and keeps it back until the next one's bytes leave, or the clock sends it.
    pub fn keep(mut self, active: &mut ActiveClient) {
        let _encode = phases::enter(Phase::Encode);
        self.end(false);
        if let Some(at) = self.connection.keep(&self.packets, self.before.owed()) {
            self.hub.timers.add(at, DueTask::Kept(self.connection.id));
        }
        active.room = AnswerRoom::left(self.buffer.into_room(), self.packets);
    }

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
        // What was kept back is not told either.
        self.begun |= self.connection.forget_kept();
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
