//! The bindings of a run: each run of a batch has its own list, so that running a bound statement asks nobody.
//! A session keeps the lists of the batches that it ran last and takes them up again as they are: running a batch again costs
//! neither a lock, nor a copy, nor a count of users that sessions share.
//! Guarantee: a list that is kept is never trusted: each binding has its stamp, and what does not fit any more is looked for in
//! the list that all sessions share, then made anew.

use std::sync::Arc;

use super::cache::BatchCache;
use super::counts::Counts;
use super::{Bound, Compiled, Stamp};
use crate::instance::OfInstance;
use exec::state::SessionCore;

/// By operation: what a statement was bound to, and under what.
pub type Bindings = Vec<Option<(Stamp, Bound)>>;

/// What a run takes and gives back: bindings, and where the session counts what they cost.
pub(super) type Own = (Bindings, Arc<Counts>);

/// Batches whose bindings a session keeps; one of them is the batch around its calls.
const KEPT: usize = 9;

/// What a session keeps.
#[derive(Default)]
struct Kept {
    /// Of the cache of batches when the first of these was kept: what they hold is let go when that is cleared.
    generation: u64,
    /// The newest last; without bindings while a run has them.
    list: Vec<(Arc<Compiled>, Option<Own>)>,
}

/// The bindings to run a batch with: those of its last run in this session, else the shared ones.
pub(super) fn take(core: &mut SessionCore, batch: &Arc<Compiled>) -> Own {
    let kept = core.kept_bindings.as_mut().and_then(|kept| kept.downcast_mut::<Kept>());
    let place = kept.and_then(|kept| kept.list.iter_mut().rfind(|(of, _)| Arc::ptr_eq(of, batch)));
    match place.and_then(|(_, own)| own.take()) {
        Some(own) => own,
        None => (batch.bound.lock().clone(), batch.counts.take(core.db())),
    }
}

/// What the first statement of a batch was bound to when it ran last in this session, under what, and where it is counted.
pub(super) fn of_first(core: &SessionCore, batch: &Arc<Compiled>) -> Option<(Stamp, Bound, Arc<Counts>)> {
    let kept = core.kept_bindings.as_ref()?.downcast_ref::<Kept>()?;
    let (_, own) = kept.list.iter().rfind(|(of, _)| Arc::ptr_eq(of, batch))?;
    let (bound, counts) = own.as_ref()?;
    let (stamp, bound) = bound.first()?.as_ref()?;
    Some((*stamp, bound.clone(), counts.clone()))
}

/// Keeps the bindings of a run that has ended.
pub(super) fn keep(core: &mut SessionCore, batch: &Arc<Compiled>, own: Own) {
    let kept = core.kept_bindings.get_or_insert_with(|| Box::<Kept>::default());
    let Some(kept) = kept.downcast_mut::<Kept>() else { return };
    match kept.list.iter_mut().rfind(|(of, _)| Arc::ptr_eq(of, batch)) {
        Some((_, place)) => *place = Some(own),
        None => add(core, batch, own),
    }
}

#[cold]
fn add(core: &mut SessionCore, batch: &Arc<Compiled>, own: Own) {
    let generation = BatchCache::of(core.instance()).map_or(0, BatchCache::generation);
    let kept = core.kept_bindings.as_mut().and_then(|kept| kept.downcast_mut::<Kept>());
    let Some(kept) = kept else { return };
    if kept.generation != generation {
        kept.list.clear();
        kept.generation = generation;
    }
    if kept.list.len() >= KEPT {
        kept.list.remove(0);
    }
    kept.list.push((batch.clone(), Some(own)));
}
