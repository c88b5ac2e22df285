//! The bindings of a run: each run of a batch has its own list, so that running a bound statement
//! asks nobody. A session keeps the lists of the batches that it ran last and takes them up again
//! as they are: running a batch again costs neither a lock, nor a copy, nor a count of users that
//! sessions share. Guarantee: a list that is kept is never trusted: each binding has its stamp, and
//! what does not fit any more is looked for in the list that all sessions share, then made again.
//! Nor is what sp_executesql has found for a text: it is what would be found now, or is looked for.

use std::sync::Arc;

use instance::OfInstance;
use programs::cache::FoundBatch;
use programs::compiled::{Bindings, BoundOperation, CompiledBatch, Stamp};
use programs::counts::BatchCounts;
use session::state::SessionCore;
use session::state::handles::DeclaredParameters;

/// What a run takes and gives back: bindings, and where the session counts what they cost.
pub(super) type RunBindings = (Bindings, Arc<BatchCounts>);

/// Batches whose bindings a session keeps; one of them is the batch around its calls.
const KEPT: usize = 9;

/// A text of sp_executesql is looked for in the cache once in so many times all the same: there it
/// is known by that to be in use.
const LOOK_AGAIN: u32 = 64;

/// What a session keeps of a batch.
struct KeptBatch {
    batch: Arc<CompiledBatch>,
    /// Not while a run has it.
    own: Option<RunBindings>,
    /// As what sp_executesql has found it.
    again: Option<FoundAgain>,
}

/// What sp_executesql has found for a text.
struct FoundAgain {
    declared: Arc<DeclaredParameters>,
    /// The options when it was the same last, by their number.
    options: u64,
    /// How often it was asked for since.
    asked: u32,
    found: Arc<FoundBatch>,
}

/// What a session keeps.
#[derive(Default)]
struct SessionBindings {
    /// Of the cache of batches when the first of these was kept: what they hold is let go when that
    /// is cleared.
    generation: u64,
    /// The newest last.
    list: Vec<KeptBatch>,
}

impl SessionBindings {
    /// Of a session, where it keeps anything.
    fn of(core: &mut SessionCore) -> Option<&mut SessionBindings> {
        core.memory.bindings.as_mut()?.downcast_mut()
    }

    fn batch(&mut self, batch: &Arc<CompiledBatch>) -> Option<&mut KeptBatch> {
        self.list.iter_mut().rfind(|kept| Arc::ptr_eq(&kept.batch, batch))
    }

    fn found_again(
        &mut self,
        core: &SessionCore,
        text: &str,
        declared: &DeclaredParameters,
    ) -> Option<Arc<FoundBatch>> {
        let cache = core.instance().batches();
        let of_text = self.list.iter_mut().rev().filter(|kept| *kept.batch.source == *text);
        let mut of_text = of_text.filter_map(|kept| kept.again.as_mut());
        let again = of_text.find(|again| {
            std::ptr::eq(&*again.declared, declared)
                || again.declared.typed.is_empty() && declared.typed.is_empty()
        })?;
        again.asked += 1;
        let number = core.options.changes();
        let same = cache.is_same(&again.found, core.db(), &core.options, again.options == number);
        if !same || again.asked >= LOOK_AGAIN {
            return None;
        }
        again.options = number;
        Some(again.found.clone())
    }
}

/// The bindings to run a batch with: those of its last run in this session, else the shared ones.
pub(super) fn take(core: &mut SessionCore, batch: &Arc<CompiledBatch>) -> RunBindings {
    let place = SessionBindings::of(core).and_then(|kept| kept.batch(batch));
    match place.and_then(|kept| kept.own.take()) {
        Some(own) => own,
        None => (batch.bound.lock().clone(), batch.counts.take(core.db())),
    }
}

/// What the first statement of a batch was bound to when it ran last in this session, under what,
/// and where it is counted.
pub(super) fn of_first(
    core: &SessionCore,
    batch: &Arc<CompiledBatch>,
) -> Option<(Stamp, BoundOperation, Arc<BatchCounts>)> {
    let kept = core.memory.bindings.as_ref()?.downcast_ref::<SessionBindings>()?;
    let kept = kept.list.iter().rfind(|kept| Arc::ptr_eq(&kept.batch, batch))?;
    let (bound, counts) = kept.own.as_ref()?;
    let (stamp, bound) = bound.first()?.as_ref()?;
    Some((*stamp, bound.clone(), counts.clone()))
}

/// Keeps the bindings of a run that has ended.
pub(super) fn keep(core: &mut SessionCore, batch: &Arc<CompiledBatch>, own: RunBindings) {
    match SessionBindings::of(core).and_then(|kept| kept.batch(batch)) {
        Some(kept) => kept.own = Some(own),
        None => add(core, batch, own),
    }
}

#[cold]
fn add(core: &mut SessionCore, batch: &Arc<CompiledBatch>, own: RunBindings) {
    let generation = core.instance().batches().generation();
    let kept = core.memory.bindings.get_or_insert_with(|| Box::<SessionBindings>::default());
    let Some(kept) = kept.downcast_mut::<SessionBindings>() else { return };
    if kept.generation != generation {
        kept.list.clear();
        kept.generation = generation;
    }
    if kept.list.len() >= KEPT {
        kept.list.remove(0);
    }
    kept.list.push(KeptBatch { batch: batch.clone(), own: Some(own), again: None });
}

/// What sp_executesql has found for a text with these parameters when that ran last in this
/// session, if it would find the same now. It costs no hash of the text, no lock and no count that
/// sessions share.
pub(super) fn found_again(
    core: &mut SessionCore,
    text: &str,
    declared: &DeclaredParameters,
) -> Option<Arc<FoundBatch>> {
    let mut all = core.memory.bindings.take()?;
    let found = all
        .downcast_mut::<SessionBindings>()
        .and_then(|kept| kept.found_again(core, text, declared));
    core.memory.bindings = Some(all);
    found
}

/// sp_executesql has found this for a text, which has run by now.
pub(super) fn remember(
    core: &mut SessionCore,
    declared: Arc<DeclaredParameters>,
    found: Arc<FoundBatch>,
) {
    let options = core.options.changes();
    if let Some(kept) = SessionBindings::of(core).and_then(|kept| kept.batch(&found.batch)) {
        kept.again = Some(FoundAgain { declared, options, asked: 0, found });
    }
}
