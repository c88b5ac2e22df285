//! Growth ahead of need: steps that are in the map on disk already but not yet part of the log.
//!
//! An appender that finds no space takes the next waiting step: its VLFs are added to the map in
//! memory, and nothing is written. A step has no visible effect before it is taken: sizes, VLFs and
//! counters are those of a log that grows when it must. A VLF is in the map on disk before it is in
//! the map in memory, so a crash finds every VLF that a block was written to. The steps that were
//! not taken are then part of the log, as if it had grown just before. A clean stop takes them
//! back.
//!
//! States of a stretch of the file, and what moves it from one to the next. In file order the
//! stretches are always IN LOG, WAITING, DROPPED, PREPARED, ABSENT; the ends of the first four are
//! `Tail::map.end()`, [`OnDisk::map`]`.end()`, [`OnDisk::known_end`] and
//! [`Meta::prepared_end`](crate::on_disk::Meta::prepared_end).
//!
//! ```text
//!           +---------------------------+
//!     +---> | ABSENT: not in the file,  | <-------------------------------------+
//!     |     | or to be zeroed again     |                                       |
//!     |     +---------------------------+                                       |
//!     |         | prepare_ahead [G]                                             | cut_file [X]
//!     |         | prepare [A C R]                                               | prepare that fails [A C R]
//!     |         v                                                               | cut_to_map [O]
//!     |     +---------------------------+                                       |
//!     |     | PREPARED: zeros, durable, | --------------------------------------+
//!     |     | named by no map           | <-------------------------------------+
//!     |     +---------------------------+                                       | forget_dropped [S X]
//!     |         | publish_steps [G A C R]                                       | publish_steps [G A C R]:
//!     |         | (the map on disk is written)                                  | what the new steps leave
//!     |         v                                                               |
//!     |     +---------------------------+  drop_steps [G A C R S X]  +---------------------------+
//!     |     | WAITING: in `steps` and   | -------------------------> | DROPPED: not in `steps`,  |
//!     |     | in the map on disk        | <------------------------- | still in the map on disk  |
//!     |     +---------------------------+  publish_steps [G A C R]   +---------------------------+
//!     |         | take_step [A C R] (nothing is written)                        |
//!     |         | read_meta [O]                                                 | read_meta [O]
//!     |         v                                                               |
//!     |     +---------------------------+                                       |
//!     +---- | IN LOG: in the tail's map | <-------------------------------------+
//!           +---------------------------+
//!  shrink_to [K], from every state: all that lies past the new end of the log
//! ```
//!
//! - A: an appender, or a thread that reserves space, that finds none (`make_room`: `take_step`,
//!   else `grow_from`).
//! - C: a caller that requests a size (`grow`). R: a rollback in need (`grow_past_limit`, through
//!   `grow_by`).
//! - G: the log's grower thread, woken when the log runs low (`prepare_ahead`; other callers may
//!   call it too).
//! - S: a change of the growth settings (`set_growth`). K: a shrink that removes VLFs
//!   (`shrink_to`). X: a clean stop (`close`, through `cut_prepared`).
//! - O: opening after a crash. All that the map on disk names is log then.
//!
//! All but `take_step` and opening happen under the lock `meta`. A failed write of the map takes
//! the log offline.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use crate::LogError;
use crate::log::{GrowthPolicy, Log};
use crate::on_disk::{GROWTH_UNIT, GrowthStep, OnDisk, TakenStep};
use crate::options::{Growth, GrowthEvent, VlfRule};
use crate::tail::Tail;

/// Growth prepares at most this much of the file for the steps to come, or one step if that is
/// larger. It prepares many steps at once because each extension of a file costs a commit of the
/// file system's journal, and one map write publishes any number.
const AHEAD_MAX: u64 = 64 << 20;
/// Bytes prepared in one go in the background: checkpoints and truncations wait for the header no
/// longer than this takes.
const PIECE: u64 = 16 << 20;

/// Bytes of the next growth; 0 if the file may not grow.
fn next_step(policy: &GrowthPolicy, size: u64) -> u64 {
    let step = match policy.growth {
        Growth::None => 0,
        Growth::Bytes(bytes) => bytes,
        Growth::Percent(percent) => {
            (size / 100).saturating_mul(u64::from(percent)).max(GROWTH_UNIT)
        }
    };
    let room = policy
        .max_size
        .map_or(u64::MAX, |max| max.saturating_sub(size) / GROWTH_UNIT * GROWTH_UNIT);
    step.next_multiple_of(GROWTH_UNIT).min(room)
}

/// How far a growth by `step` prepares the file: by `wish` bytes where that is more, within limits.
pub(crate) fn far_end(size: u64, wish: u64, step: u64, max_size: Option<u64>) -> u64 {
    let ahead = wish.min(AHEAD_MAX).max(step).next_multiple_of(GROWTH_UNIT);
    (size + ahead).min(max_size.unwrap_or(u64::MAX)).max(size + step)
}

impl Log {
    /// Makes a waiting step of `size` bytes part of the log, unless the log no longer ends at
    /// `seen_end`. Writes nothing.
    pub(crate) fn take_step(&self, seen_end: u64, size: u64) -> TakenStep {
        let mut tail = self.tail.lock();
        if tail.map.end() != seen_end {
            return TakenStep::Already;
        }
        let mut steps = self.steps.lock();
        let Some(step) = steps.pop_front_if(|step| step.size == size) else {
            return TakenStep::Nothing;
        };
        let left = steps.back().map_or(0, |last| last.end - step.end);
        drop(steps);
        for (vlf_size, count) in step.vlfs {
            tail.map.push(vlf_size, count, step.create_lsn);
        }
        for offset in step.areas {
            tail.map.add_area(offset);
        }
        debug_assert_eq!(tail.map.end(), step.end);
        // Only when less than half is left, so that the grower is not woken for each small step.
        if left < step.end.min(AHEAD_MAX) / 2 {
            self.prepared.store(false, Ordering::Release);
        }
        self.counters.count_growth();
        self.tell_headroom(&tail);
        TakenStep::Grown(step.end)
    }

    /// Removes the waiting steps from the queue and from `on_disk`'s map. They stay in the file
    /// until its map is written again.
    pub(crate) fn drop_steps(&self, on_disk: &mut OnDisk) {
        // Under the tail's lock, so that no thread takes one meanwhile.
        let tail = self.tail.lock();
        let mut steps = self.steps.lock();
        if !steps.is_empty() {
            steps.clear();
            on_disk.truncate(tail.map.count());
        }
    }

    /// Publishes growths of these sizes in the map on disk and adds them to the waiting steps. The
    /// file is long enough for them.
    pub(crate) fn publish_steps(
        &self,
        on_disk: &mut OnDisk,
        rule: VlfRule,
        sizes: &[u64],
    ) -> Result<(), LogError> {
        if sizes.is_empty() {
            return Ok(());
        }
        let create_lsn = self.end();
        let old = on_disk.map.runs().len();
        let mut steps: VecDeque<GrowthStep> = VecDeque::with_capacity(sizes.len());
        for &size in sizes {
            let vlfs: SmallVec<_> = rule.cut(size, Some(on_disk.map.end())).into();
            for &(vlf_size, count) in &vlfs {
                on_disk.map.push(vlf_size, count, create_lsn);
            }
            let (areas, end) = (SmallVec::new(), on_disk.map.end());
            steps.push_back(GrowthStep { size, end, vlfs, create_lsn, areas });
        }
        on_disk.meta.refresh(&self.tail.lock(), self.durable_to.load(Ordering::Acquire));
        let areas = on_disk.meta.areas.len();
        // After a failure it is unknown which map is on disk.
        on_disk.publish(&*self.file, old).map_err(|cause| self.poison(cause))?;
        for area in &on_disk.meta.areas[areas..] {
            let at = steps.partition_point(|step| step.end <= area.offset);
            steps[at].areas.push(area.offset);
        }
        self.steps.lock().append(&mut steps);
        Ok(())
    }

    /// Publishes as many steps as fit what is prepared of the file, up to `far`.
    pub(crate) fn publish_prepared(
        &self,
        on_disk: &mut OnDisk,
        policy: &GrowthPolicy,
        far: u64,
    ) -> Result<(), LogError> {
        let mut end = on_disk.map.end();
        let mut sizes: SmallVec<[u64; 64]> = SmallVec::new();
        loop {
            let step = next_step(policy, end);
            if step == 0 || end + step > on_disk.meta.prepared_end.min(far) {
                break;
            }
            sizes.push(step);
            end += step;
        }
        self.publish_steps(on_disk, policy.rule, &sizes)
    }

    /// Bytes of the next automatic growth of a log of `size` bytes; 0 if it may not grow.
    pub(crate) fn next_step(&self, size: u64) -> u64 {
        next_step(&self.policy.lock(), size)
    }

    /// Grows by the configured step and returns the new size; `None` if another thread has grown
    /// the log, so that it no longer ends at `seen_end`. The slow path, for when no step waits.
    pub(crate) fn grow_from(&self, seen_end: u64) -> Result<Option<u64>, LogError> {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        let policy = *self.policy.lock();
        let step = next_step(&policy, seen_end);
        // The grower may have published one before this thread got the lock.
        match self.take_step(seen_end, step) {
            TakenStep::Grown(size) => return Ok(Some(size)),
            TakenStep::Already => return Ok(None),
            TakenStep::Nothing if step == 0 => return Err(LogError::Full { cause: None }),
            TakenStep::Nothing => {}
        }
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        // What waits is of another size.
        self.drop_steps(&mut on_disk);
        let far = far_end(seen_end, seen_end, step, policy.max_size);
        self.prepare(&mut on_disk, step, far)?;
        self.publish_prepared(&mut on_disk, &policy, far)?;
        match self.take_step(seen_end, step) {
            TakenStep::Grown(size) => Ok(Some(size)),
            TakenStep::Already | TakenStep::Nothing => Ok(None),
        }
    }

    /// Grows by `step` bytes unless the log no longer ends at `seen_end`, whatever the policy
    /// allows.
    pub(crate) fn grow_by(&self, seen_end: u64, step: u64) -> Result<(), LogError> {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        if self.tail.lock().map.end() != seen_end {
            return Ok(());
        }
        // What waits is of another size.
        self.drop_steps(&mut on_disk);
        self.prepare(&mut on_disk, step, seen_end + step)?;
        let rule = self.policy.lock().rule;
        self.publish_steps(&mut on_disk, rule, &[step])?;
        if let (TakenStep::Grown(to), Some(sink)) = (self.take_step(seen_end, step), &self.waits) {
            sink.grew(&GrowthEvent { data_file: None, from: seen_end, to, us: 0 });
        }
        Ok(())
    }

    /// True while less than a quarter of the log is free, or a sixteenth when a truncation is to
    /// come.
    pub(crate) fn is_running_low(&self, size: u64) -> bool {
        let share = if self.truncation_due.load(Ordering::Acquire) { 16 } else { 4 };
        let free = self
            .headroom
            .load(Ordering::Acquire)
            .saturating_sub(self.reserved.load(Ordering::Relaxed));
        free < size / share
    }

    /// Announces that the log is about to be truncated: until then growth is prepared only if
    /// almost no space is left.
    pub fn expect_truncation(&self) {
        self.truncation_due.store(true, Ordering::Release);
    }

    /// The truncation that was expected has been done, or had nothing to free.
    pub(crate) fn truncation_done(&self, tail: &Tail) {
        self.truncation_due.store(false, Ordering::Release);
        self.tell_headroom(tail);
    }

    /// Prepares a piece of the growths to come if the log is running low, so that each of them
    /// costs no more than taking it. Returns true if there is more to do. Called by the log's own
    /// thread; other threads may call it too.
    pub fn prepare_ahead(&self) -> Result<bool, LogError> {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        if self.poisoned.load(Ordering::Acquire) {
            return Err(self.offline());
        }
        let size = self.tail.lock().map.end();
        if !self.is_running_low(size) {
            return Ok(false);
        }
        let policy = *self.policy.lock();
        let step = next_step(&policy, size);
        let far = far_end(size, size, step, policy.max_size);
        if self.steps.lock().front().is_some_and(|waits| waits.size != step) {
            self.drop_steps(&mut on_disk);
        }
        let from = on_disk.meta.prepared_end.max(on_disk.map.end());
        let piece = if step == 0 { 0 } else { far.saturating_sub(from).min(PIECE) };
        let last = from + piece >= far || step == 0;
        if last {
            self.prepared.store(true, Ordering::Release);
        }
        if piece > 0 {
            if let Err(cause) = self.file.write_zeros(from, piece) {
                // Not final: a full volume matters only if the log really has to grow, and that
                // growth will report it.
                self.prepared.store(true, Ordering::Release);
                return Err(self.no_room(cause));
            }
            on_disk.meta.prepared_end = from + piece;
        }
        self.publish_prepared(&mut on_disk, &policy, far)?;
        Ok(!last)
    }

    /// Changes how the log grows from now on.
    pub fn set_growth(&self, rule: VlfRule, growth: Growth, max_size: Option<u64>) {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        let policy = GrowthPolicy { rule, growth, max_size };
        if std::mem::replace(&mut *self.policy.lock(), policy) == policy {
            return;
        }
        // What waits was made by the old rules. If the write fails, the log is offline, and the
        // next append reports it.
        self.drop_steps(&mut on_disk);
        let _ = self.forget_dropped(&mut on_disk);
        self.prepared.store(false, Ordering::Release);
    }

    /// Writes the map again if it still has steps that were dropped.
    fn forget_dropped(&self, on_disk: &mut OnDisk) -> Result<(), LogError> {
        if on_disk.known_end <= on_disk.map.end() || self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        on_disk.meta.refresh(&self.tail.lock(), self.durable_to.load(Ordering::Acquire));
        let runs = on_disk.map.runs().len();
        on_disk.publish(&*self.file, runs).map_err(|cause| self.poison(cause))
    }

    /// Removes what was prepared for growths that did not come. The caller is the last user of the
    /// log.
    pub(crate) fn cut_prepared(&self) -> Result<(), LogError> {
        let mut on_disk = self.meta.lock();
        let _guard = self.fails_on_panic("its map was changed");
        self.drop_steps(&mut on_disk);
        let size = on_disk.map.end();
        if self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        self.forget_dropped(&mut on_disk)?;
        if on_disk.meta.prepared_end > size {
            self.cut_file(&mut on_disk, size)?;
        }
        Ok(())
    }
}
