//! What a transaction writes: its records into the log, and what access methods ask of the one who
//! writes rows.

use super::{NewestRecord, Txn};
use crate::locks::{LockMode, LockTarget};
use crate::sink::append_at_any_cost;
use access::{RowName, Writer};
use pages::{PageError, PageId, RecordBuilder, RecordSink, RowHeader, TxnId, UnitId};
use std::ops::Range;
use wal::{Log, Lsn};

/// What a compensation record may need beyond what its operations do, its slot in the log block
/// included.
const UNDO_OVERHEAD: usize = 66;

/// Appends what takes a change back, and gives back what was set aside for it.
fn append_compensation(
    log: &Log,
    rec: &RecordBuilder,
    reserved: &mut u64,
) -> Result<Lsn, PageError> {
    let len = rec.bytes().len() as u64;
    let release = len.min(reserved.saturating_sub(log.end_reserve())) as u32;
    let lsn = append_at_any_cost(log, rec.bytes(), release)?;
    *reserved -= u64::from(release);
    Ok(lsn)
}

impl RecordSink for Txn {
    #[inline]
    fn append(&mut self, rec: &mut RecordBuilder) -> Result<Lsn, PageError> {
        self.db.check_online()?;
        if rec.is_system() {
            return self.db.append_system(rec);
        }
        if self.shared.is_none() {
            self.begin()?;
        }
        let Some(s) = &self.shared else {
            return Err(PageError::Invalid { what: "a transaction without an id writes" });
        };
        let mut l = s.log.lock();
        debug_assert!(!l.ended, "a transaction writes after its end");
        rec.stamp(s.id, l.last);
        let len = rec.bytes().len() as u32;
        let lsn = if rec.is_compensation() {
            append_compensation(self.db.log(), rec, &mut l.reserved)?
        } else {
            let reserve = self.db.log().undo_reserve(rec.undo_bytes() + UNDO_OVERHEAD);
            let lsn = self.db.log().append(&[rec.bytes()], reserve)?;
            l.reserved += u64::from(reserve);
            // Rows that became shorter may have to be long again when others have filled their
            // page.
            if let Some(page) = rec.shrunk_page().filter(|page| *page != l.shrunk) {
                l.shrunk = page;
                l.undo_pages += 1;
                self.db.store().expect_undo_pages(1);
            }
            lsn
        };
        l.last = lsn;
        l.records += 1;
        l.bytes += u64::from(len);
        self.newest = NewestRecord { lsn, reserved: l.reserved };
        drop(l);
        if let Some(update) = rec.large_update() {
            self.latest.note(lsn, update);
        }
        Ok(lsn)
    }

    fn room(&self) -> usize {
        self.db.log().room()
    }
}

impl Writer for Txn {
    fn txn(&self) -> TxnId {
        self.id()
    }

    #[inline]
    fn active_elsewhere(&self, other: TxnId) -> bool {
        other != self.id() && self.db.txns().is_active(other)
    }

    #[inline]
    fn wrote(&self, header: &RowHeader) -> Range<usize> {
        // The log of other transactions may be gone before this one ends.
        if header.txn == self.id() { self.latest.wrote(header) } else { 0..0 }
    }

    fn ghosted(&mut self, unit: UnitId, page: PageId) {
        if self.ghosts.last() != Some(&(unit, page)) {
            self.ghosts.push((unit, page));
        }
    }

    #[inline]
    fn has_lockers(&self, unit: UnitId) -> bool {
        self.db.lockers().any(unit)
    }

    fn row_locked(&mut self, unit: UnitId, row: RowName<'_>) -> bool {
        self.is_forbidden(LockTarget::row(unit, row), LockMode::X)
    }

    fn gap_locked(&mut self, unit: UnitId, key: &[u8], next: RowName<'_>) -> bool {
        let next = LockTarget::row(unit, next);
        self.is_forbidden(next, LockMode::RangeIN)
            || !self.inherits_gap(next, LockTarget::row(unit, RowName::Key(key)))
    }
}
