//! What the clients of all peers do alike: work that is stopped at a limit, checks of rows, log
//! files that were written before they are used.

use crate::LabError;
use crate::work::{TsqlWork, Work};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

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
            let stopped =
                ended.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout);
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
pub(super) fn expect_rows(
    target: &str,
    table: &str,
    found: u64,
    rows: u64,
) -> Result<(), LabError> {
    if found == rows {
        return Ok(());
    }
    Err(LabError::Request(format!("{target}: {found} rows in {table}, not {rows}")))
}

/// The statement of one of the customers' works, the table that it changes, and the rows that it
/// leaves there of `rows`.
pub(super) fn customer_statement(work: &Work, rows: u64) -> (&'static str, &'static str, u64) {
    match work {
        Work::InsertSelect => {
            ("insert into customer_tmp select * from customer", "customer_tmp", rows)
        }
        Work::Update => ("update customer set c_data = lower(c_data)", "customer", rows),
        Work::Tsql(TsqlWork::UpdateBack) => {
            ("update customer set c_data = upper(c_data)", "customer", rows)
        }
        _ => ("delete from customer", "customer", 0),
    }
}

const PIECE: usize = 1 << 20;

/// Writes the first bytes of a file again with what they are, durably: space that was only reserved
/// has been written then.
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

    #[test]
    fn work_is_stopped_at_its_limit_and_not_before() {
        let (sender, stopped) = channel::<()>();
        let work = || stopped.recv().map_err(|_| LabError::Request("cancelled".into()));
        let out = limited(0, move || drop(sender), work);
        assert!(matches!(out, Err(LabError::TimeLimit(0))), "{out:?}");
        assert_eq!(limited(60, || panic!("too early"), || Ok(7)).unwrap(), 7);
        let own =
            limited(60, || panic!("too early"), || Err::<(), _>(LabError::Request("own".into())));
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
