//! The second writer: a thread that writes the first half of a large batch of blocks while the
//! log's writer finishes and writes the other half. A device serves two transfers at a time faster
//! than one after the other. Guarantees: it holds the file, never the log; it writes only between
//! `begin` and `end`, both in one turn to write (see `turns`). Neither half is durable before the
//! next sync, which comes after both, so a crash may leave any part of them, as with one writer.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use disk::{BlockFile, DiskError, Op};

use crate::buffer::Block;
use crate::writes::{Batch, write_runs};

/// Lengths of the writes that were made.
type WriteLengths = Result<Vec<u64>, DiskError>;

/// The thread, as the log's writer sees it. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Second {
    jobs: Option<Sender<Batch>>,
    done: Receiver<WriteLengths>,
    thread: Option<JoinHandle<()>>,
}

impl Second {
    /// `None` if the system provides no thread: the writer then works alone.
    pub fn start(file: &Arc<dyn BlockFile>) -> Option<Second> {
        let (jobs, taken) = channel::<Batch>();
        let (send, done) = channel();
        let file = Arc::clone(file);
        let body = move || {
            for batch in taken {
                let written = write_runs(&*file, &batch);
                // Dropped before the result is sent, so that the blocks' buffers can be used again.
                drop(batch);
                if send.send(written).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log writer 2".into()).spawn(body).ok()?;
        Some(Second { jobs: Some(jobs), done, thread: Some(thread) })
    }

    /// Begins to write finished blocks. False if the thread no longer exists: nothing is being
    /// written then.
    pub fn begin(&self, blocks: &[Arc<Block>]) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.send(blocks.iter().cloned().collect()).is_ok())
    }

    /// Waits for the write that [`begin`](Self::begin) started.
    pub fn end(&self, path: &Path) -> WriteLengths {
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

    /// No background writer: the log's appenders write themselves, together with the second writer.
    fn with_second(log: Arc<Log>) -> Arc<Log> {
        log.io.lock().second = Second::start(&log.file);
        log
    }

    fn create(disk: &SimDisk) -> Arc<Log> {
        with_second(Log::create(disk, Path::new(PATH), options()).unwrap())
    }

    fn record(i: usize) -> Vec<u8> {
        vec![i as u8; RECORD + i]
    }

    /// Appends records until the log fails or there are `count`.
    fn append(log: &Log, count: usize) -> Vec<Lsn> {
        (0..count).map_while(|i| log.append(&[&record(i)], 0).ok()).collect()
    }

    /// How many appended records make the appender write the first batch.
    fn first_batch() -> usize {
        let log = create(&SimDisk::new(0));
        let mut count = 0;
        while log.stats().writes == 0 {
            log.append(&[&record(count)], 0).unwrap();
            count += 1;
        }
        assert_eq!(log.stats().writes, 2);
        count
    }

    /// Checks that the log holds a prefix of what was appended; returns the number of records.
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
        let before = disk.io_count();
        let lsns = append(&log, 600);
        // Batches of 1 MB, each in two writes.
        let stats = log.stats();
        assert_eq!(stats.writes, disk.io_count() - before);
        assert!(stats.writes > 8 && stats.bytes_written / stats.writes < 600 << 10, "{stats:?}");
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
            assert!(found >= 60, "seed {seed}: {found} records of 60 that were durable");
            partial += usize::from(found > 60);
        }
        assert!(partial > 0);
    }

    /// The half that follows a gap is not part of the log, nor of the log that is written in its
    /// place later.
    #[test]
    fn only_one_half_of_a_batch() {
        for first in [true, false] {
            let disk = SimDisk::new(7);
            let log = create(&disk);
            let lsns = append(&log, first_batch());
            let atoms = disk.unsynced_atoms();
            let after = disk.crash_keeping(|atom| (atom < atoms / 2) == first);
            let found = survivors(&after, &lsns);
            assert!(if first { found > 10 && found < 40 } else { found == 0 }, "{found} records");
            let log = with_second(Log::open(&after, Path::new(PATH), options()).unwrap().0);
            // The same records in the same positions, except those that the first half has left.
            let again: Vec<Lsn> =
                (found..300).map(|i| log.append(&[&record(i)], 0).unwrap()).collect();
            log.flush_all().unwrap();
            let lsns = [&lsns[..found], &again].concat();
            assert_eq!(survivors(&after.crash(1), &lsns), 300);
        }
    }

    /// Immediately, not only when the next batch is requested.
    #[test]
    fn a_failure_of_either_half_is_final() {
        let count = first_batch();
        for nth in 1..=2 {
            let disk = SimDisk::new(nth);
            let log = create(&disk);
            disk.fail(OpKind::Write, nth, Fault::Io);
            let lsns = append(&log, count);
            assert_eq!(lsns.len(), count - 1);
            assert!(matches!(log.flush_all(), Err(LogError::Offline { .. })));
            assert!(!log.is_durable(lsns[0]));
        }
    }

    #[test]
    fn without_the_thread_one_writer_does_it_all() {
        let disk = SimDisk::new(3);
        let log = create(&disk);
        log.io.lock().second = Some(Second { jobs: None, done: channel().1, thread: None });
        let lsns = append(&log, 300);
        assert_eq!(lsns.len(), 300);
        log.close().unwrap();
        assert_eq!(survivors(&disk, &lsns), 300);
    }

    /// What a thread has written that ends in the middle is unknown, so it counts as a failed
    /// write.
    #[test]
    fn a_thread_that_ends_while_it_writes_is_a_failure() {
        let log = create(&SimDisk::new(4));
        let (jobs, _taken) = channel();
        log.io.lock().second = Some(Second { jobs: Some(jobs), done: channel().1, thread: None });
        let lsns = append(&log, 300);
        assert_eq!(lsns.len(), first_batch() - 1);
        assert!(matches!(log.flush_all(), Err(LogError::Offline { .. })));
    }
}
