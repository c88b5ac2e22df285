//! Whether a row was as its writer has left it when it was read in its newest version: what must be
//! asked of each row that is read for a change, under a lock, or by a cursor.
//!
//! A row is read first, and whether its writer still runs is asked then. One that has ended in
//! between may have changed the row once more, or taken its change back, after it was read: what
//! was read was perhaps never committed. Nothing may be concluded from such a row, not even that a
//! condition rejects it: it is read again. Rows are asked one by one ([`EndedTxns::row`]) or by the
//! page: the writers of all rows of a page are waited for together, and the page is read once more.
//! Guarantee: [`WriterState::ForGood`], and that a row is settled, are said only of a row that was
//! read after its writer had ended, or that is the reader's own.

use access::{RowBatch, Writer};
use catalog::Db;
use catalog::errors::db_error;
use pages::TxnId;
use std::collections::HashSet;
use std::sync::Arc;
use txn::Txn;
use types::SqlError;

/// Transactions that are remembered from page to page.
const MOST: usize = 256;

/// Whether the transaction has changed a row itself. Nobody else changes it then. Who has locked it
/// since waits for this transaction: to wait for them in turn would be a deadlock.
pub fn is_own(txn: &Txn, batch: &RowBatch, i: usize) -> bool {
    let writer = batch.header(i).txn;
    writer == txn.id() && writer != TxnId(0)
}

/// Waits until a row's writer has ended.
pub fn wait(db: &Arc<Db>, txn: &Txn, other: TxnId) -> Result<(), SqlError> {
    txn.wait_for(other).map_err(|e| db_error(db, &e))
}

/// How the writer of a row has left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterState {
    /// Before it was read.
    ForGood,
    /// Perhaps after that: it is to be read again.
    Meanwhile,
    /// It still runs.
    NotYet,
}

/// Which writers of a page are waited for before it is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwaitedWriters {
    /// The first one: the rows behind its row are perhaps not wanted.
    First,
    All,
}

/// Transactions that had ended before the last read began.
#[derive(Debug, Default)]
pub struct EndedTxns {
    /// All below this one.
    below: TxnId,
    /// And these.
    known: HashSet<TxnId>,
}

impl EndedTxns {
    /// Rows are about to be read.
    #[inline]
    pub fn reads(&mut self, txn: &Txn) {
        self.below = txn.database().txns().all_ended_below();
    }

    /// Whether a row by this writer, read since, is as it was left, without a look at who asks:
    /// most rows were written long ago.
    #[inline]
    pub fn is_below(&self, writer: TxnId) -> bool {
        writer < self.below
    }

    /// Whether a row by this writer, read since, is as it was left.
    #[inline]
    pub fn is_settled(&self, txn: &Txn, writer: TxnId) -> bool {
        writer < self.below || writer == txn.id() || self.known.contains(&writer)
    }

    /// How the writer of a row has left it that was read since. A row that was left meanwhile is
    /// read again before another one is asked for.
    #[inline]
    pub fn left_by(&mut self, txn: &Txn, writer: TxnId) -> WriterState {
        if self.is_settled(txn, writer) {
            return WriterState::ForGood;
        }
        let runs = txn.active_elsewhere(writer);
        self.found(writer, runs)
    }

    /// What a writer is that was not known to have ended before the read; whether it runs was asked
    /// after it.
    fn found(&mut self, writer: TxnId, runs: bool) -> WriterState {
        if runs {
            return WriterState::NotYet;
        }
        self.known.insert(writer);
        WriterState::Meanwhile
    }

    /// A writer has been waited for: it has ended before the next read.
    pub fn add(&mut self, writer: TxnId) {
        self.known.insert(writer);
    }

    /// Other rows come: what is known holds for them too, but is not to become much.
    pub fn forget_many(&mut self) {
        if self.known.len() > MOST {
            self.known.clear();
        }
    }

    /// Reads a row with `fetch`, again and again until it is as its writer has left it, and waits
    /// for one who runs (`patient`). False: there is no such row, it is deleted, or somebody is
    /// changing it who was not to be waited for.
    ///
    /// # Errors
    /// Those of the reads; 1205, 1222, a cancel.
    pub fn row(
        &mut self,
        (db, txn): (&Arc<Db>, &Txn),
        patient: bool,
        batch: &mut RowBatch,
        mut fetch: impl FnMut(&mut RowBatch) -> Result<bool, SqlError>,
    ) -> Result<bool, SqlError> {
        loop {
            self.reads(txn);
            if !fetch(batch)? {
                return Ok(false);
            }
            let writer = batch.header(0).txn;
            match self.left_by(txn, writer) {
                WriterState::ForGood => return Ok(!batch.is_ghost(0)),
                WriterState::Meanwhile => {}
                WriterState::NotYet if patient => {
                    wait(db, txn, writer)?;
                    self.add(writer);
                }
                WriterState::NotYet => return Ok(false),
            }
        }
    }

    /// A row of a page turned out not to be settled: waits for the writers of rows, of those in the
    /// order given who run. The page is to be read again then, and every row of it is settled that
    /// nobody has changed since.
    ///
    /// # Errors
    /// 1205, 1222, a cancel.
    pub fn settle(
        &mut self,
        (db, txn): (&Arc<Db>, &Txn),
        writers: impl Iterator<Item = TxnId>,
        awaited: AwaitedWriters,
    ) -> Result<(), SqlError> {
        let mut running: Vec<TxnId> = Vec::new();
        for writer in writers {
            let wanted = awaited == AwaitedWriters::All || running.is_empty();
            if self.left_by(txn, writer) == WriterState::NotYet
                && wanted
                && !running.contains(&writer)
            {
                running.push(writer);
            }
        }
        for writer in running {
            wait(db, txn, writer)?;
            self.add(writer);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that ended between the read and the question: the row is read again, once.
    #[test]
    fn who_ended_after_the_read_is_known_at_the_next_one() {
        let mut ended = EndedTxns { below: TxnId(5), known: HashSet::new() };
        assert_eq!(ended.found(TxnId(9), true), WriterState::NotYet);
        assert!(!ended.known.contains(&TxnId(9)));
        assert_eq!(ended.found(TxnId(9), false), WriterState::Meanwhile);
        assert!(ended.known.contains(&TxnId(9)), "what is read from now on is as it was left");
        ended.add(TxnId(11));
        assert!(ended.known.contains(&TxnId(11)));
        ended.known.extend((100..100 + MOST as u64).map(TxnId));
        ended.forget_many();
        assert!(ended.known.is_empty());
    }
}
