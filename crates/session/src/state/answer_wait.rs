//! Whether a session waits for the log itself, or the sender of its answers does, and the records
//! that are waited for.
//! Guarantee: between [`AnswerWait::begin_at_once`] and its end the session waits itself.

use std::sync::Arc;

use txn::Database;
use types::SqlError;

use super::before_answer::BeforeAnswer;

/// The log records that the answers of a session wait for, and who waits.
#[derive(Default)]
pub struct AnswerWait {
    /// What must be durable before the client is told.
    before: Arc<BeforeAnswer>,
    /// Whoever sends the answers waits for the log.
    held: bool,
    /// How many of the statements that run wait at once all the same.
    at_once: u32,
}

impl AnswerWait {
    /// What the answers wait for: whoever sends them waits before.
    pub fn before(&self) -> &Arc<BeforeAnswer> {
        &self.before
    }

    /// From now on statements do not wait for the log: whoever sends the answers does.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// A request begins: one that has panicked may have been at something that waits at once.
    #[inline]
    pub fn begin_request(&mut self) {
        self.at_once = 0;
    }

    /// Waits until everything that the session has committed and read so far is durable.
    ///
    /// # Errors
    /// Those of the log.
    #[inline]
    pub fn settle(&self) -> Result<(), SqlError> {
        self.before.wait()
    }

    /// What is seen outside of the answer begins, or what takes files from a database: what came
    /// before is durable now, and what it commits will be when it ends.
    ///
    /// # Errors
    /// Those of the log; then it is not to begin.
    pub fn begin_at_once(&mut self) -> Result<(), SqlError> {
        self.settle()?;
        self.at_once += 1;
        Ok(())
    }

    /// It has ended.
    pub fn end_at_once(&mut self) {
        self.at_once = self.at_once.saturating_sub(1);
    }

    /// Whether commits wait for whoever sends the answer.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.held && self.at_once == 0
    }

    /// A transaction of this database is about to be committed, which others `can_see`: nothing of
    /// before may be lost that another database owes.
    pub(super) fn settle_others(
        &self,
        can_see: bool,
        storage: &Arc<Database>,
    ) -> Result<(), SqlError> {
        if can_see { self.before.wait_for_others(storage) } else { Ok(()) }
    }

    /// The session leaves its current database.
    pub(super) fn leaves_db(&self) {
        self.before.leaves();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_at_once_does_so_until_its_outermost_end_or_the_next_request() {
        let mut answers = AnswerWait::default();
        assert!(!answers.is_held(), "an embedded session waits itself");
        answers.hold();
        assert!(answers.is_held());
        answers.begin_at_once().expect("nothing is owed");
        answers.begin_at_once().expect("nothing is owed");
        answers.end_at_once();
        assert!(!answers.is_held(), "the outer one goes on");
        answers.end_at_once();
        assert!(answers.is_held());
        answers.begin_at_once().expect("nothing is owed");
        // A panic has left it without its end.
        answers.begin_request();
        assert!(answers.is_held());
    }
}
