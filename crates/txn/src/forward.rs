//! Analysis and redo side by side: one thread reads the log and learns from it, one has the pages
//! read that a batch of records names, many in flight at a time, one redoes batch after batch. The
//! first two mostly wait for the disk. Guarantees: records are redone in log order by one thread;
//! pages are not read ahead of a record that changes the list of files, as they might be those of
//! another file with the same number.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use pages::{FILE_LIST, PageId, PendingReads, RecordKind, RecordView};
use wal::Lsn;

use crate::database::Database;
use crate::error::TxnError;
use crate::recovery::{Analysis, Phase, RecoveryProgress, failed};
use crate::recovery_report::RecoveryReport;

/// Bytes of log in a batch.
const BATCH_BYTES: usize = 4 << 20;
/// Records in a batch, and pages that they may name, as a share of the pool: all batches together
/// take a quarter of it.
const BATCH_RECORDS: usize = 8192;
const POOL_SHARE: usize = 16;
/// One for each thread and one that waits.
const BATCHES: usize = 4;

/// Records waiting to be redone.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    records: Vec<(Lsn, Range<usize>)>,
    pages: Vec<PageId>,
    /// It ends with a change of the list of files.
    files_change: bool,
}

impl Batch {
    fn push(&mut self, lsn: Lsn, record: &[u8], pages: impl Iterator<Item = PageId>) {
        let (at, named) = (self.bytes.len(), self.pages.len());
        self.bytes.extend_from_slice(record);
        self.records.push((lsn, at..self.bytes.len()));
        self.pages.extend(pages);
        self.files_change = self.pages[named..].contains(&FILE_LIST);
    }

    fn is_full(&self, most_pages: usize) -> bool {
        self.files_change
            || self.bytes.len() >= BATCH_BYTES
            || self.records.len() >= BATCH_RECORDS
            || self.pages.len() >= most_pages
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.pages.clear();
        self.files_change = false;
    }
}

/// What the reading thread counts.
struct ReadCounts {
    /// The record that was read last, or where reading began.
    to: Lsn,
    records: u64,
    bytes: u64,
    took: Duration,
}

impl Database {
    /// Reads the log from `from` to its end, and redoes it. A failure of redo goes before one of
    /// reading, which is after it.
    pub(crate) fn analyse_and_redo(
        &self,
        from: Lsn,
        analysis: &mut Analysis,
        report: &mut RecoveryReport,
        progress: RecoveryProgress<'_>,
    ) -> Result<(), TxnError> {
        let (filled, to_fetch) = sync_channel(BATCHES);
        let (fetched, to_redo) = sync_channel(BATCHES);
        let (redone, empty) = sync_channel(BATCHES);
        let no_thread = |e: std::io::Error| TxnError::Recovery {
            phase: "analysis",
            lsn: from,
            cause: e.to_string(),
        };
        std::thread::scope(|scope| {
            let named = |name: &str| std::thread::Builder::new().name(name.into());
            let fetcher = named("recovery-pages")
                .spawn_scoped(scope, move || self.fetch_pages(&to_fetch, &fetched));
            fetcher.map_err(no_thread)?;
            let reader = named("recovery-log")
                .spawn_scoped(scope, move || self.read_batches(from, analysis, &filled, &empty))
                .map_err(no_thread)?;
            let result = self.redo_batches(&to_redo, &redone, report, progress);
            // Threads that wait for one or the other end.
            drop((to_redo, redone));
            let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result?;
            let read = read?;
            report.records += read.records;
            report.bytes += read.bytes;
            report.analysis_us += read.took.as_micros() as u64;
            progress(Phase::Redo, 100);
            Ok(())
        })
    }

    /// Fills batches until the log ends, or the thread that takes them.
    fn read_batches(
        &self,
        from: Lsn,
        analysis: &mut Analysis,
        filled: &SyncSender<Batch>,
        empty: &Receiver<Batch>,
    ) -> Result<ReadCounts, TxnError> {
        let mut read = ReadCounts { to: from, records: 0, bytes: 0, took: Duration::ZERO };
        let mut scan = self.log().scan(from);
        let mut idle: VecDeque<Batch> = (0..BATCHES).map(|_| Batch::default()).collect();
        let mut wanted = 1;
        loop {
            while idle.len() < wanted {
                let Ok(batch) = empty.recv() else { return Ok(read) };
                idle.push_back(batch);
            }
            let Some(mut batch) = idle.pop_front() else { return Ok(read) };
            let start = Instant::now();
            batch.clear();
            let more = self.fill(&mut batch, &mut scan, analysis, &mut read)?;
            read.took += start.elapsed();
            // Behind a change of the files no page is read before it is redone.
            wanted = if batch.files_change { BATCHES } else { 1 };
            if filled.send(batch).is_err() || !more {
                return Ok(read);
            }
        }
    }

    /// Has the pages of each batch read, and gives it on while they are: redo waits for those that
    /// it comes to.
    fn fetch_pages(&self, to_fetch: &Receiver<Batch>, fetched: &SyncSender<Batch>) {
        let mut under_way: VecDeque<PendingReads> = VecDeque::new();
        while let Ok(mut batch) = to_fetch.recv() {
            batch.pages.sort_unstable();
            batch.pages.dedup();
            under_way.push_back(self.store().start_prefetch(&batch.pages));
            // No page may come in when the files have changed.
            let stay = if batch.files_change { 0 } else { BATCHES };
            while under_way.len() > stay
                && let Some(reads) = under_way.pop_front()
            {
                // A damaged or missing page is met again by redo, which knows whether a record
                // rebuilds it.
                drop(reads.wait());
            }
            if fetched.send(batch).is_err() {
                return;
            }
        }
    }

    /// Reads until the batch is full. False at the end of the log.
    fn fill(
        &self,
        batch: &mut Batch,
        scan: &mut wal::LogScan<'_>,
        analysis: &mut Analysis,
        read: &mut ReadCounts,
    ) -> Result<bool, TxnError> {
        let most_pages = (self.store().pool().frames() as usize / POOL_SHARE).max(64);
        while !batch.is_full(most_pages) {
            let Some((lsn, bytes)) =
                scan.next_record().map_err(|e| failed("analysis", read.to, e))?
            else {
                return Ok(false);
            };
            let view = RecordView::decode(bytes).map_err(|e| failed("analysis", lsn, e))?;
            analysis.record(lsn, &view).map_err(|e| failed("analysis", lsn, e))?;
            (read.to, read.records) = (lsn, read.records + 1);
            read.bytes += bytes.len() as u64;
            if matches!(view.kind(), RecordKind::Change | RecordKind::Compensation) {
                batch.push(
                    lsn,
                    bytes,
                    view.pages().map_err(|e| failed("analysis", lsn, e))?.into_iter(),
                );
            }
        }
        Ok(true)
    }

    fn redo_batches(
        &self,
        to_redo: &Receiver<Batch>,
        redone: &SyncSender<Batch>,
        report: &mut RecoveryReport,
        progress: RecoveryProgress<'_>,
    ) -> Result<(), TxnError> {
        while let Ok(batch) = to_redo.recv() {
            progress(Phase::Redo, 50);
            let start = Instant::now();
            for (lsn, range) in &batch.records {
                let view = RecordView::decode(&batch.bytes[range.clone()])
                    .map_err(|e| failed("redo", *lsn, e))?;
                self.store().redo(*lsn, &view).map_err(|e| failed("redo", *lsn, e))?;
            }
            report.redone += batch.records.len() as u64;
            report.redo_us += start.elapsed().as_micros() as u64;
            // The reader has ended if nobody takes it.
            drop(redone.send(batch));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BackgroundPace, CreateSpec, DbState, Env, LockManager};
    use pages::{BufferPool, FileGrowth, FileSpec, PoolOptions};
    use std::sync::Arc;
    use std::sync::mpsc::RecvTimeoutError;
    use wal::LogOptions;

    fn database() -> Arc<Database> {
        let pool =
            BufferPool::new(PoolOptions { bytes: 400 * 8192, ..PoolOptions::default() }).unwrap();
        let env = Env {
            home: Default::default(),
            disk: Arc::new(sim::SimDisk::new(1)),
            pool: Arc::new(pool),
            locks: LockManager::new(),
            db: 5,
            pace: BackgroundPace { background: false, ..BackgroundPace::default() },
            scratch: false,
            outcomes: Arc::default(),
        };
        let file = FileSpec {
            id: 1,
            name: "first".into(),
            path: "test.mdf".into(),
            filegroup: 1,
            size: 4 << 20,
            growth: FileGrowth::None,
            max_size: None,
        };
        let spec = CreateSpec {
            guid: [7; 16],
            files: vec![file],
            log_path: "test_log.ldf".into(),
            log: LogOptions {
                initial_size: 4 << 20,
                background_writer: false,
                ..LogOptions::default()
            },
            settings: DbState::initial(),
        };
        Database::create(env, spec).unwrap()
    }

    /// The threads that read end with it, whatever they wait for.
    #[test]
    fn a_failure_of_redo_ends_the_reading() {
        let (ends, ended) = sync_channel(1);
        std::thread::spawn(move || {
            let db = database();
            let from = db.log().end();
            // Each is a batch of its own, and the reader waits for it.
            (0..8).for_each(|_| db.rename_file(1, "another").unwrap());
            db.store().abandon("test");
            let (mut analysis, mut report) = (Analysis::new(from), RecoveryReport::default());
            let done = db.analyse_and_redo(from, &mut analysis, &mut report, &mut |_, _| {});
            assert!(matches!(done, Err(TxnError::Recovery { phase: "redo", .. })), "{done:?}");
            ends.send(()).unwrap();
        });
        // A reader that nobody tells of the failure would wait for ever.
        ended.recv_timeout(Duration::from_secs(60)).expect("it failed as it should, and in time");
    }

    /// The pages of a later batch may be those of another file with the same number.
    #[test]
    fn nothing_is_read_ahead_of_a_change_of_the_files() {
        let db = database();
        let from = db.log().end();
        for _ in 0..3 {
            // The page of the list is where the first file's own description is.
            db.rename_file(1, "another").unwrap();
        }
        let (filled, to_fetch) = sync_channel(BATCHES);
        let (redone, empty) = sync_channel(BATCHES);
        let db = &db;
        std::thread::scope(|scope| {
            let mut analysis = Analysis::new(from);
            let reader = scope.spawn(move || db.read_batches(from, &mut analysis, &filled, &empty));
            let (mut waiting, mut changes) = (Vec::new(), 0);
            while let Ok(batch) = to_fetch.recv() {
                if batch.files_change {
                    changes += 1;
                    let next = to_fetch.recv_timeout(Duration::from_millis(30)).map(drop);
                    assert_eq!(next, Err(RecvTimeoutError::Timeout));
                }
                waiting.push(batch);
                if waiting.last().is_some_and(|batch| batch.files_change) {
                    waiting.drain(..).for_each(|batch| redone.send(batch).unwrap());
                }
            }
            assert!(changes == 3, "{changes} changes of the files");
            let read = reader.join().unwrap().unwrap();
            assert!(read.records >= 3 && read.to < db.log().end());
        });
    }
}
