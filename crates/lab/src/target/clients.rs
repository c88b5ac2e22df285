//! What the clients of all peers do alike: many connections begun together, work that is stopped at a limit, checks of rows,
//! log files that were written before they are used.

use crate::LabError;
use crate::work::Work;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Barrier;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Runs `work` on all connections at once, each on a thread of its own: they wait for each other before they begin. Seconds
/// from then until the last has ended.
pub(super) fn at_once<C: Send>(
    connections: Vec<C>,
    work: impl Fn(u32, &mut C) -> Result<(), LabError> + Sync,
) -> Result<f64, LabError> {
    let barrier = Barrier::new(connections.len() + 1);
    std::thread::scope(|scope| {
        let (barrier, work) = (&barrier, &work);
        let threads: Vec<_> = connections
            .into_iter()
            .zip(0..)
            .map(|(mut connection, index)| {
                scope.spawn(move || {
                    barrier.wait();
                    // Connections are closed after the time was taken.
                    (work(index, &mut connection), Instant::now(), connection)
                })
            })
            .collect();
        barrier.wait();
        let begin = Instant::now();
        let mut seconds = 0.0f64;
        let mut failed = None;
        for thread in threads {
            match thread.join() {
                Ok((result, end, _)) => {
                    seconds = seconds.max(end.duration_since(begin).as_secs_f64());
                    failed = failed.or(result.err());
                }
                Err(_) => failed = Some(LabError::Request("a client's thread ended by a panic".into())),
            }
        }
        failed.map_or(Ok(seconds), Err)
    })
}

/// Runs `work`; after that many seconds `stop` is called, which must make it end with an error.
/// Errors: those of the work; [`LabError::TimeLimit`] where it was stopped.
pub(super) fn limited<T>(
    seconds: u64,
    stop: impl FnOnce() + Send,
    work: impl FnOnce() -> Result<T, LabError>,
) -> Result<T, LabError> {
    let (done, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let stopped = ended.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout);
            if stopped {
                stop();
            }
            stopped
        });
        let result = work();
        drop(done);
        let stopped = watch.join().unwrap_or(false);
        if stopped && result.is_err() { Err(LabError::TimeLimit(seconds)) } else { result }
    })
}

/// An error unless as many rows were found as there must be.
pub(super) fn expect_rows(target: &str, table: &str, found: u64, rows: u64) -> Result<(), LabError> {
    if found == rows {
        return Ok(());
    }
    Err(LabError::Request(format!("{target}: {found} rows in {table}, not {rows}")))
}

/// The statement of one of the customers' works, the table that it changes, and the rows that it leaves there of `rows`.
pub(super) fn customer_statement(work: &Work, rows: u64) -> (&'static str, &'static str, u64) {
    match work {
        Work::InsertSelect => ("insert into customer_tmp select * from customer", "customer_tmp", rows),
        Work::Update => ("update customer set c_data = lower(c_data)", "customer", rows),
        _ => ("delete from customer", "customer", 0),
    }
}

const PIECE: usize = 1 << 20;

/// Writes the first bytes of a file again with what they are, durably: space that was only reserved has been written then.
pub(super) fn write_again(path: &Path, bytes: u64) -> Result<(), LabError> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let mut buffer = vec![0; PIECE];
    let (mut at, end) = (0, bytes.min(file.metadata()?.len()));
    while at < end {
        let piece = &mut buffer[..PIECE.min((end - at) as usize)];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(piece)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(piece)?;
        at += piece.len() as u64;
    }
    Ok(file.sync_all()?)
}

/// Makes a file that large by zeros at its end, durably.
pub(super) fn extend_with_zeros(path: &Path, bytes: u64) -> Result<(), LabError> {
    let mut file = File::options().append(true).open(path)?;
    let buffer = vec![0; PIECE];
    let mut at = file.metadata()?.len();
    while at < bytes {
        let piece = PIECE.min((bytes - at) as usize);
        file.write_all(&buffer[..piece])?;
        at += piece as u64;
    }
    Ok(file.sync_all()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

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

    #[test]
    fn work_is_stopped_at_its_limit_and_not_before() {
        let (sender, stopped) = channel::<()>();
        let work = || stopped.recv().map_err(|_| LabError::Request("cancelled".into()));
        let out = limited(0, move || drop(sender), work);
        assert!(matches!(out, Err(LabError::TimeLimit(0))), "{out:?}");
        assert_eq!(limited(60, || panic!("too early"), || Ok(7)).unwrap(), 7);
        let own = limited(60, || panic!("too early"), || Err::<(), _>(LabError::Request("own".into())));
        assert_eq!(own.unwrap_err().to_string(), "own");
    }

    #[test]
    fn files_keep_their_bytes_and_get_zeros() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let bytes: Vec<u8> = (0..PIECE + 777).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        write_again(&path, u64::MAX).unwrap();
        write_again(&path, 100).unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
        extend_with_zeros(&path, 3 * PIECE as u64).unwrap();
        extend_with_zeros(&path, 5).unwrap();
        let longer = std::fs::read(&path).unwrap();
        assert!(longer.len() == 3 * PIECE && longer.starts_with(&bytes));
        assert!(longer[bytes.len()..].iter().all(|b| *b == 0));
    }
}
