//! The second writer: a thread that writes the first half of a large batch of blocks while the log's writer finishes and
//! writes the other half. A device serves two transfers at a time faster than one after the other.
//! Guarantees: it holds the file, never the log; it writes only while the log's writer waits for it. Neither half is durable
//! before the next sync, which comes behind both, so a crash may leave any part of them, as with one writer.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use disk::{BlockFile, DiskError, Op};

use crate::buffer::Block;
use crate::flush::{Batch, gather};

/// Lengths of the writes that were made.
type Written = Result<Vec<u64>, DiskError>;

/// The thread, as the log's writer sees it. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Second {
    jobs: Option<Sender<Batch>>,
    done: Receiver<Written>,
    thread: Option<JoinHandle<()>>,
}

impl Second {
    /// `None` if the system gives no thread: the writer then does without.
    pub fn start(file: &Arc<dyn BlockFile>) -> Option<Second> {
        let (jobs, taken) = channel::<Batch>();
        let (send, done) = channel();
        let file = Arc::clone(file);
        let body = move || {
            for batch in taken {
                if send.send(write_runs(&*file, &batch)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log writer 2".into()).spawn(body).ok()?;
        Some(Second { jobs: Some(jobs), done, thread: Some(thread) })
    }

    /// Begins to write finished blocks. False if the thread is gone: nothing is being written then.
    pub fn begin(&self, blocks: &[Arc<Block>]) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.send(blocks.iter().cloned().collect()).is_ok())
    }

    /// Waits for what was begun.
    pub fn end(&self, path: &Path) -> Written {
        let lost = || DiskError::Io {
            op: Op::Write,
            path: path.to_owned(),
            offset: 0,
            code: 0,
            text: "the thread that wrote has ended".into(),
        };
        self.done.recv().unwrap_or_else(|_| Err(lost()))
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

/// Writes finished blocks, neighbours in one call; gives the lengths of the calls.
pub(crate) fn write_runs(file: &dyn BlockFile, batch: &[Arc<Block>]) -> Written {
    let mut lens = Vec::new();
    let mut rest = batch;
    while let Some(first) = rest.first() {
        let (images, len, taken) = gather(rest);
        file.write_gather(first.offset, &images)?;
        lens.push(len);
        rest = &rest[taken..];
    }
    Ok(lens)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use sim::{Fault, OpKind, SimDisk};

    use super::*;
    use crate::{Log, LogError, LogOptions, Lsn};

    const PATH: &str = "log";
    const RECORD: usize = 25 << 10;

    fn options() -> LogOptions {
        LogOptions { initial_size: 32 << 20, background_writer: false, ..LogOptions::default() }
    }

    /// A log whose appenders write themselves, with the second writer.
    fn create(disk: &SimDisk) -> Arc<Log> {
        let log = Log::create(disk, Path::new(PATH), options()).unwrap();
        log.io.lock().second = Second::start(&log.file);
        log
    }

    fn record(i: usize) -> Vec<u8> {
        vec![i as u8; RECORD + i]
    }

    /// Appends records until the log fails or there are so many.
    fn append(log: &Log, count: usize) -> Vec<Lsn> {
        (0..count).map_while(|i| log.append(&[&record(i)], 0).ok()).collect()
    }

    /// What a log holds is a prefix of what was appended; returns how many records.
    fn survivors(disk: &SimDisk, lsns: &[Lsn]) -> usize {
        let (log, _) = Log::open(disk, Path::new(PATH), options()).unwrap();
        let found: Vec<(Lsn, Vec<u8>)> = log.scan(Lsn::ZERO).collect::<Result<_, _>>().unwrap();
        for (i, (lsn, bytes)) in found.iter().enumerate() {
            assert_eq!((*lsn, bytes), (lsns[i], &record(i)));
        }
        found.len()
    }

    #[test]
    fn two_threads_write_one_log() {
        let disk = SimDisk::new(1);
        let log = create(&disk);
        let writes = disk.io_count();
        let lsns = append(&log, 600);
        // Batches of 2 MB, each in two writes.
        assert!(disk.io_count() - writes >= 2);
        assert_eq!(log.stats().writes, disk.io_count() - writes);
        log.close().unwrap();
        assert_eq!(survivors(&disk, &lsns), 600);
    }

    /// One half may be on disk without the other; what was flushed is there.
    #[test]
    fn a_crash_leaves_any_part_of_the_halves() {
        let mut partial = 0;
        for seed in 0..40 {
            let disk = SimDisk::new(seed);
            let log = create(&disk);
            let mut lsns = append(&log, 60);
            log.flush_all().unwrap();
            disk.crash_at(disk.io_count() + 1 + seed % 5);
            while let Ok(lsn) = log.append(&[&record(lsns.len())], 0) {
                lsns.push(lsn);
            }
            assert!(log.poisoned.load(Ordering::Relaxed));
            let found = survivors(&disk.crash(seed), &lsns);
            assert!(found >= 60, "seed {seed}: {found} records of 60 that were hard");
            partial += usize::from(found > 60);
        }
        assert!(partial > 0);
        // Only the half of the thread, or only the other: a write's bytes become durable as atoms of their own.
        for keep_first in [false, true] {
            let disk = SimDisk::new(7);
            let log = create(&disk);
            let lsns = append(&log, 300);
            let atoms = disk.unsynced_atoms();
            assert!(atoms > 1);
            survivors(&disk.crash_keeping(|atom| (atom < atoms / 2) == keep_first), &lsns);
        }
    }

    #[test]
    fn a_failure_of_either_half_is_final() {
        for nth in 1..=2 {
            let disk = SimDisk::new(nth);
            let log = create(&disk);
            disk.fail(OpKind::Write, nth, Fault::Io);
            let lsns = append(&log, 600);
            assert!(lsns.len() < 600);
            assert!(matches!(log.flush_all(), Err(LogError::Offline { .. })));
            assert!(!log.is_hardened(lsns[0]));
        }
    }
}
