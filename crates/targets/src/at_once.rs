//! Many connections that work at once. Guarantees: none begins before all are there; the time is
//! the clients' own.

use crate::LabError;
use std::sync::Barrier;
use std::time::Instant;

/// Runs `work` on all connections at once, each on a thread of its own: they wait for each other
/// before they begin. Seconds from the first's begin to the last's end, both taken by the clients
/// themselves: on a busy machine another thread would look at the clock after some of the work was
/// done.
pub(super) fn at_once<C: Send>(
    connections: Vec<C>,
    work: impl Fn(u32, &mut C) -> Result<(), LabError> + Sync,
) -> Result<f64, LabError> {
    let barrier = Barrier::new(connections.len());
    std::thread::scope(|scope| {
        let (barrier, work) = (&barrier, &work);
        let threads: Vec<_> = connections
            .into_iter()
            .zip(0..)
            .map(|(mut connection, index)| {
                scope.spawn(move || {
                    barrier.wait();
                    let begin = Instant::now();
                    // Connections are closed after the time was taken.
                    (work(index, &mut connection), begin, Instant::now(), connection)
                })
            })
            .collect();
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        let mut failed = None;
        for thread in threads {
            match thread.join() {
                Ok((result, begin, end, _)) => {
                    begins.push(begin);
                    ends.push(end);
                    failed = failed.or(result.err());
                }
                Err(_) => {
                    failed = Some(LabError::Request("a client's thread ended by a panic".into()))
                }
            }
        }
        let seconds = |(begin, end): (Instant, Instant)| end.duration_since(begin).as_secs_f64();
        let all = begins.into_iter().min().zip(ends.into_iter().max()).map_or(0.0, seconds);
        failed.map_or(Ok(all), Err)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[test]
    fn nobody_begins_before_all_are_there_and_the_last_counts() {
        let begun = AtomicU32::new(0);
        let seconds = at_once(vec![10u64, 40, 20], |_, ms| {
            begun.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(*ms));
            Ok(())
        })
        .unwrap();
        assert!(begun.into_inner() == 3 && (0.04..5.0).contains(&seconds), "{seconds}");
        let failed = at_once(vec![1, 2], |index, _| match index {
            0 => Ok(()),
            _ => Err(LabError::Request("refused".into())),
        });
        assert_eq!(failed.unwrap_err().to_string(), "refused");
    }
}
