//! The batches that a session has run last, by their texts. Drivers send some texts again and again
//! (`IF @@TRANCOUNT > 0 COMMIT TRAN` after each transaction): to find one of these costs neither a
//! hash of the text, nor a lock, nor a count of users that sessions share.
//! Guarantees: what is found here the cache would have given under the same options and in the same
//! database, and not before it was cleared; a session keeps no more than [`KEPT`] short texts.

use std::sync::Arc;

use instance::OfInstance;
use programs::compiled::CompiledBatch;
use session::state::SessionCore;
use session::state::phases::{self, Phase};

/// Batches kept.
const KEPT: usize = 2;
/// Longest text that is kept, in bytes.
const LONGEST: usize = 1 << 10;
/// A text is looked for in the cache once in so many times all the same: there it is known by that
/// to be in use.
const LOOK_AGAIN: u32 = 64;

/// A batch, and under what it was found.
struct RepeatedBatch {
    /// Of the cache.
    generation: u64,
    db: i32,
    /// The session's options, by their number.
    options: u64,
    /// How often it was asked for since.
    asked: u32,
    batch: Arc<CompiledBatch>,
}

/// What a session keeps.
#[derive(Default)]
pub(super) struct RepeatedBatches {
    /// The newest last.
    list: Vec<RepeatedBatch>,
}

impl RepeatedBatches {
    /// The batch of a text, where the cache would give the same.
    #[inline]
    pub(super) fn find(&mut self, core: &SessionCore, text: &str) -> Option<&Arc<CompiledBatch>> {
        let known = self.list.iter_mut().find(|known| *known.batch.source == *text)?;
        let _plan = phases::enter(Phase::Plan);
        known.asked = known.asked.saturating_add(1);
        let now = (core.instance().batches().generation(), core.db().id(), core.options.changes());
        let same = now == (known.generation, known.db, known.options);
        (same && known.asked < LOOK_AGAIN).then_some(&known.batch)
    }

    /// The cache has given this for its own text. `generation`: of the cache before it was asked.
    pub(super) fn keep(&mut self, core: &SessionCore, generation: u64, batch: &Arc<CompiledBatch>) {
        let source = &batch.source;
        self.list.retain(|old| old.generation == generation && *old.batch.source != **source);
        if source.len() > LONGEST {
            return;
        }
        if self.list.len() == KEPT {
            self.list.remove(0);
        }
        let (db, options) = (core.db().id(), core.options.changes());
        self.list.push(RepeatedBatch { generation, db, options, asked: 0, batch: batch.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instance;
    use crate::session::Session;
    use instance::InstanceOptions;
    use session::output::Sink;
    use types::SqlError;

    struct NoErrors;

    impl Sink for NoErrors {
        fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
            panic!("{error}")
        }
    }

    struct Errors(Vec<i32>);

    impl Sink for Errors {
        fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
            self.0.push(error.number);
            Ok(())
        }
    }

    const COMMIT: &str = "if @@trancount > 0 commit tran";

    fn run(session: &mut Session, text: &str) {
        assert!(session.execute(text, &mut NoErrors).ok, "{text}");
    }

    fn is_known(session: &mut Session, text: &str) -> bool {
        let Session { core, repeated, .. } = session;
        repeated.find(core, text).is_some()
    }

    fn session() -> (Arc<Instance>, Session) {
        let disk = Arc::new(sim::SimDisk::new(1));
        let options =
            InstanceOptions { memory_bytes: Some(64 << 20), disk, ..InstanceOptions::new("/data") };
        let instance = Instance::open(options).expect("the instance opens");
        let session = instance.session().expect("a session");
        (instance, session)
    }

    #[test]
    fn a_text_is_known_while_the_cache_would_give_the_same() {
        let (_instance, mut session) = session();
        assert!(!is_known(&mut session, COMMIT));
        run(&mut session, COMMIT);
        assert!(is_known(&mut session, COMMIT));
        for change in ["set quoted_identifier off", "use tempdb", "dbcc freeproccache"] {
            run(&mut session, change);
            assert!(!is_known(&mut session, COMMIT), "{change}");
            for _ in 0..2 {
                run(&mut session, COMMIT);
                assert!(is_known(&mut session, COMMIT), "{change}");
            }
        }
        // The cache is asked from time to time.
        assert!((0..LOOK_AGAIN).any(|_| !is_known(&mut session, COMMIT)));
        run(&mut session, COMMIT);
        assert!(is_known(&mut session, COMMIT));
    }

    #[test]
    fn few_short_texts_are_kept() {
        let (_instance, mut session) = session();
        let (other, long) = ("print 'a'", format!("print '{}'", "a".repeat(LONGEST)));
        for text in [COMMIT, other, COMMIT, long.as_str(), other] {
            run(&mut session, text);
        }
        assert!(is_known(&mut session, COMMIT) && is_known(&mut session, other));
        assert!(!is_known(&mut session, &long));
        run(&mut session, "print 'b'");
        assert_eq!(session.repeated.list.len(), KEPT);
        assert!(!is_known(&mut session, COMMIT) && is_known(&mut session, other));
    }

    /// A text means what it means under the options and in the database of the moment.
    #[test]
    fn a_known_text_does_what_it_says_now() {
        let (_instance, mut session) = session();
        run(&mut session, "create database d");
        let (make, fill) =
            ("create table t (n int check (n < 9))", "insert t select 1 + max(n) from t");
        for place in ["use tempdb", "use d"] {
            run(&mut session, place);
            run(&mut session, make);
            run(&mut session, "insert t values (1)");
        }
        let first = "if (select max(n) from t) <> 1 raiserror ('another table', 16, 1)";
        run(&mut session, first);
        run(&mut session, fill);
        run(&mut session, "use tempdb");
        run(&mut session, first);
        run(&mut session, "drop table t");
        run(&mut session, make);
        run(&mut session, "insert t values (2)");
        let mut errors = Errors(Vec::new());
        session.execute(first, &mut errors);
        assert_eq!(errors.0, [50_000]);
    }
}
