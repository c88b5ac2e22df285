//! Read-ahead of a rollback: it goes backwards through a transaction's records, which name the
//! pages that it will need. Neighbouring pages are read together ([`ReadAround`]); where the pages
//! are scattered and not in memory, the records to come are looked through and their pages asked
//! for, many in flight at a time.
//!
//! Guarantees: a rollback of pages that are in memory looks at each record once. What cannot be
//! read is found by the undo itself.

use pages::{PageId, ReadAround, RecordKind, RecordView};
use wal::Lsn;

use crate::database::Database;

/// Pages that were not in memory before the records to come are looked through.
const MISSES: u32 = 8;
/// Most records that are looked through at a time; fewer in a small pool.
const LOOK: u32 = 128;

/// What a rollback knows of its way.
#[derive(Debug, Default)]
pub(crate) struct UndoAhead {
    around: ReadAround,
    misses: u32,
    /// Records to come that were looked through, and the one after them; none before the first
    /// time.
    looked: u32,
    next: Option<Lsn>,
}

impl UndoAhead {
    /// These pages are about to be visited by the undo of a record; `before` is the one to be
    /// undone next.
    pub fn visit(&mut self, db: &Database, pages: impl IntoIterator<Item = PageId>, before: Lsn) {
        self.looked = self.looked.saturating_sub(1);
        for page in pages {
            if self.misses < MISSES && !db.store().is_here(page) {
                self.misses += 1;
            }
            self.around.visit(db.store(), page);
        }
        let look = (db.store().pool().frames() / 8).min(LOOK);
        if self.misses >= MISSES && self.looked <= look / 2 {
            self.look(db, before, look);
        }
    }

    fn look(&mut self, db: &Database, before: Lsn, records: u32) {
        let mut at = if self.looked == 0 { before } else { self.next.unwrap_or(before) };
        let (mut bytes, mut wanted) = (Vec::new(), Vec::new());
        for _ in 0..records {
            if at.is_zero() || db.log().read(at, &mut bytes).is_err() {
                break;
            }
            let Ok(view) = RecordView::decode(&bytes) else { break };
            at = match view.kind() {
                RecordKind::Begin => Lsn::ZERO,
                RecordKind::Compensation => view.undo_next(),
                kind => {
                    if kind == RecordKind::Change
                        && let Ok(pages) = view.pages()
                    {
                        wanted.extend(pages);
                    }
                    view.prev_lsn()
                }
            };
            self.looked += 1;
        }
        self.next = Some(at);
        wanted.sort_unstable();
        wanted.dedup();
        // They come while the undo goes on.
        drop(db.store().start_prefetch(&wanted));
    }
}
