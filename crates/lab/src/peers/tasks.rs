//! The pieces of work of a comparison, in groups: within a group each piece goes on where the one
//! before it has stopped, and groups do not depend on each other, so that they can take turns.

use super::PeerOptions;
use crate::LabError;
use crate::verdict::CLIENT;
use targets::Target;
use targets::work::{Durability, Figure, TsqlWork, Work};

/// Connections that load together.
pub(super) const CONNECTIONS: u32 = 16;

/// A measured piece of work.
pub(super) struct Task {
    pub name: &'static str,
    /// What prepares it.
    prepare: Option<Work>,
    /// It begins right after a checkpoint, or on what the work before it has left to be written.
    after_checkpoint: bool,
    pub work: Work,
    /// What its seconds are divided by to get microseconds of one.
    pub count: Option<u64>,
    /// It is repeated until so many seconds have passed.
    least_s: f64,
    /// It leaves much to be written later, which is measured too.
    pub postpones: bool,
}

/// The row beside a bulk statement's: its time and that of writing what it has left to be written.
pub(super) fn with_checkpoint(name: &str) -> String {
    format!("{name}, with its checkpoint")
}

/// The groups of tasks. Work of size 0 is left out.
pub(super) fn groups(options: &PeerOptions) -> Vec<Vec<Task>> {
    let small = |name, work, count| Task {
        name,
        prepare: Some(Work::MakeOneRow),
        after_checkpoint: true,
        work,
        count,
        least_s: options.seconds,
        postpones: false,
    };
    let bulk = |name, prepare, work| Task {
        name,
        prepare,
        after_checkpoint: true,
        work,
        count: None,
        least_s: 0.0,
        postpones: true,
    };
    let (loops, commits, delayed) = (options.loop_inserts, options.commits, options.delayed);
    let latencies = Work::Latencies((options.seconds * 1000.0) as u64);
    let load = Work::Load(CONNECTIONS, options.load_rows / u64::from(CONNECTIONS));
    let mut groups = vec![
        vec![Task { least_s: 0.0, ..small("loop inserts", Work::LoopInserts(loops), Some(loops)) }],
        vec![small("durable commits", Work::Commits(commits, Durability::Full), Some(commits))],
        vec![small(CLIENT, latencies, None)],
        vec![small("delayed commits", Work::Commits(delayed, Durability::Delayed), Some(delayed))],
        vec![bulk("16 connections insert", Some(Work::MakeLoad), load)],
        vec![bulk(
            "updates of an 8,000-byte row",
            Some(Work::MakeWideWithKey),
            Work::RowUpdates(options.updates),
        )],
        vec![
            bulk("insert-select", Some(Work::MakeCustomer), Work::InsertSelect),
            bulk("update", None, Work::Update),
            // An engine that writes a page whole into its log when the page is changed first after
            // a checkpoint does not do so here.
            Task {
                after_checkpoint: false,
                ..bulk(AGAIN, Some(Work::Tsql(TsqlWork::UpdateBack)), Work::Update)
            },
            bulk("delete", None, Work::Delete),
        ],
    ];
    for group in &mut groups {
        group.retain(|task| match task.work {
            Work::LoopInserts(0) | Work::Commits(0, _) | Work::Load(_, 0) | Work::RowUpdates(0) => {
                false
            }
            Work::Latencies(_) => options.commits > 0,
            _ => true,
        });
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// The update of pages that were changed since the last checkpoint.
const AGAIN: &str = "update, no checkpoint before it";

/// What a task took: its seconds, those of its checkpoint, and what else it measured.
pub(super) struct TaskTime {
    pub seconds: f64,
    /// How often the work was repeated.
    pub times: u64,
    pub checkpoint: Option<f64>,
    pub more: Vec<Figure>,
}

/// Does the work until it has taken its least seconds, then the checkpoint of what it postpones.
pub(super) fn take(target: &mut dyn Target, task: &Task) -> Result<TaskTime, LabError> {
    if let Some(prepare) = &task.prepare {
        target.run(prepare)?;
        if task.after_checkpoint {
            target.run(&Work::Checkpoint)?;
        }
    }
    let mut taken = TaskTime { seconds: 0.0, times: 0, checkpoint: None, more: vec![] };
    while taken.times == 0 || taken.seconds < task.least_s {
        let mut figures = target.run(&task.work)?.into_iter();
        taken.seconds += figures.next().map_or(f64::NAN, |f| f.value);
        taken.times += 1;
        taken.more = figures.collect();
        if !matches!(task.work, Work::Commits(..)) {
            break;
        }
    }
    if task.postpones {
        taken.checkpoint =
            Some(target.run(&Work::Checkpoint)?.first().map_or(f64::NAN, |f| f.value));
    }
    if let Work::Load(connections, rows) = &task.work {
        target.run(&Work::CheckLoad(*connections, *rows))?;
    }
    Ok(taken)
}
