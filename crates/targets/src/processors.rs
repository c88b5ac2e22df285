//! How many processors the lab, an embedded engine and the servers that it starts may use: a limit
//! for a while, taken back at its end. Threads and processes that begin meanwhile have it too.

use crate::LabError;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A limit; it ends when this is dropped.
pub struct Limit {
    before: CpuSet,
}

/// How many processors this process may use.
pub fn available() -> u32 {
    sched_getaffinity(None).map_or(1, |set| set.count())
}

/// All threads of this process on that many of its processors, those with the lowest numbers.
/// Errors: it has fewer.
pub fn limit(count: u32) -> Result<Limit, LabError> {
    let before = sched_getaffinity(None).map_err(std::io::Error::from)?;
    if before.count() < count || count == 0 {
        return Err(LabError::Unsupported(format!(
            "{count} processors, of {} that are there",
            before.count()
        )));
    }
    let mut chosen = CpuSet::new();
    let ours = (0..CpuSet::MAX_CPU).filter(|cpu| before.is_set(*cpu));
    ours.take(count as usize).for_each(|cpu| chosen.set(cpu));
    let limit = Limit { before };
    set_all(&chosen)?;
    Ok(limit)
}

/// Sets every thread of the process. A thread that begins meanwhile has the set of the one that
/// began it: so twice.
fn set_all(set: &CpuSet) -> Result<(), LabError> {
    for _ in 0..2 {
        for entry in std::fs::read_dir("/proc/self/task")? {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|n| n.parse().ok()).and_then(Pid::from_raw);
            if let Some(id) = id {
                // It may have ended since it was listed.
                let _ = sched_setaffinity(Some(id), set);
            }
        }
    }
    sched_setaffinity(None, set).map_err(|e| std::io::Error::from(e).into())
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Nobody can be told, and what is measured next says how many processors it has.
        let _ = set_all(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_for_all_threads_and_is_taken_back() {
        let before = available();
        let (sender, receiver) = std::sync::mpsc::channel::<std::sync::mpsc::Sender<u32>>();
        let other = std::thread::spawn(move || {
            for answer in receiver {
                answer.send(available()).unwrap();
            }
        });
        let ask = || {
            let (answer, answered) = std::sync::mpsc::channel();
            sender.send(answer).unwrap();
            answered.recv().unwrap()
        };
        assert_eq!(ask(), before);
        let limited = limit(1).unwrap();
        assert_eq!((available(), ask()), (1, 1), "a thread that was there before");
        assert_eq!(std::thread::spawn(available).join().unwrap(), 1, "and one that begins now");
        drop(limited);
        assert_eq!((available(), ask()), (before, before));
        assert!(limit(before + 1).is_err() && limit(0).is_err());
        drop(sender);
        other.join().unwrap();
    }
}
