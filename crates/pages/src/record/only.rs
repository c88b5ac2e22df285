//! Records that are one insert or one update of a row, as most are: what they do is known where
//! they are built, without decoding them again. Guarantee: what is applied are the bytes that went
//! to the log, at the place that the record names: where assertions are on, each such record is
//! decoded and compared.

use super::{AT_TXN, RecordBuilder};
use crate::id::{PageId, TxnId};
use crate::op::BeforeImage;
use crate::op::PageOp;

/// Bytes that lie in a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordPart {
    pub at: usize,
    pub len: usize,
}

/// A record's first operation where it is an insert, or an update that carries what it replaces:
/// the record need not be decoded to be applied if nothing else is in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstOp {
    /// Length of the record when it was there.
    pub end: usize,
    pub slot: u16,
    pub flags: u8,
    pub key: Option<RecordPart>,
    /// Of an update.
    pub at: u16,
    pub before: Option<RecordPart>,
    pub new: RecordPart,
}

impl RecordBuilder {
    /// An update or an insert ends here that began at `begin`.
    #[inline]
    pub(super) fn note_first(&mut self, begin: usize, first: FirstOp) {
        if begin == self.begins {
            self.first = Some(FirstOp { end: self.buf.len(), ..first });
        }
    }

    /// The page and the operation of a record that is nothing but one insert or one update: what
    /// decoding it gives. `None` for every other record.
    #[inline]
    pub(crate) fn only(&self) -> Option<(PageId, PageOp<'_>)> {
        let FirstOp { end, slot, flags, key, at, before, new } = self.first.as_ref()?;
        if *end != self.buf.len() {
            return None;
        }
        let part = |part: &RecordPart| self.buf.get(part.at..part.at + part.len);
        let key = match key {
            Some(key) => Some(part(key)?),
            None => None,
        };
        let (slot, flags, new) = (*slot, *flags, part(new)?);
        let op = match before {
            Some(before) => {
                let before = BeforeImage::whole(part(before)?);
                PageOp::Update { slot, flags, old: self.last, key, at: *at, before, new_bytes: new }
            }
            None => PageOp::Insert { slot, flags, key, value: new },
        };
        Some((self.page, op))
    }

    /// The transaction that the record was stamped with.
    #[inline]
    pub(crate) fn txn(&self) -> TxnId {
        let b = &self.buf[AT_TXN..AT_TXN + 6];
        TxnId::from_bytes([b[0], b[1], b[2], b[3], b[4], b[5]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UnitId;
    use crate::record::{RecordKind, RecordView, RowUpdate};
    use crate::row_header::RowHeader;
    use wal::Lsn;

    const PAGE: PageId = PageId::new(1, 300);
    const ROOT: PageId = PageId::new(1, 77_000);

    fn old() -> RowHeader {
        RowHeader {
            flags: 0,
            txn: TxnId(70_000),
            lsn: Lsn { vlf: 3, block: 200, slot: 9 },
            index: 4,
        }
    }

    fn insert(rec: &mut RecordBuilder, key: Option<&[u8]>) {
        rec.insert(300, 0, key, b"value").unwrap();
    }

    fn update(rec: &mut RecordBuilder, key: Option<&[u8]>) {
        rec.update(&RowUpdate {
            slot: 2,
            flags: 0,
            old: &old(),
            key,
            at: 9,
            before: BeforeImage::whole(b"before"),
            new_bytes: b"after all",
        })
        .unwrap();
    }

    /// The record says by itself what decoding it says.
    #[track_caller]
    fn is_known(rec: &mut RecordBuilder) {
        rec.stamp(TxnId(123_456), Lsn { vlf: 1, block: 16, slot: 1 });
        let (page, op) = rec.only().expect("it is one operation");
        let view = RecordView::decode(rec.bytes()).unwrap();
        let mut ops = view.ops();
        let decoded = ops.next().unwrap().unwrap();
        assert_eq!((decoded.page, decoded.index, decoded.op), (page, 0, op));
        assert!(ops.next().is_none());
        assert_eq!(rec.txn(), view.txn());
    }

    #[test]
    fn one_operation_is_known_without_decoding() {
        let long = [7; 200];
        let mut rec = RecordBuilder::new();
        for key in [None, Some(&b""[..]), Some(b"key"), Some(&long)] {
            for row in [insert, update] {
                rec.change().page(PAGE);
                row(&mut rec, key);
                is_known(&mut rec);
                rec.change_in(ROOT, PAGE);
                row(&mut rec, key);
                is_known(&mut rec);
                let short = rec.bytes().to_vec();
                rec.change();
                rec.root(ROOT).unwrap();
                rec.page(PAGE);
                row(&mut rec, key);
                is_known(&mut rec);
                assert_eq!(rec.bytes(), short, "one way to begin is the other");
            }
            rec.change_in(ROOT, PAGE);
            update(&mut rec, key);
            rec.stamp(TxnId(123_456), Lsn { vlf: 1, block: 16, slot: 1 });
            let (steps, undo) = (rec.bytes().to_vec(), rec.undo_bytes());
            let (old, before) = (old(), BeforeImage::whole(b"before"));
            let whole = RowUpdate {
                slot: 2,
                flags: 0,
                old: &old,
                key,
                at: 9,
                before,
                new_bytes: b"after all",
            };
            rec.update_in(ROOT, PAGE, &whole).unwrap();
            rec.stamp(TxnId(123_456), Lsn { vlf: 1, block: 16, slot: 1 });
            assert!(rec.only().is_none(), "the caller knows");
            assert_eq!(
                (rec.bytes(), rec.undo_bytes(), rec.row_ops()),
                (&steps[..], undo, 1),
                "at once as in steps"
            );
            let Some(key) = key else { continue };
            rec.change_in(ROOT, PAGE);
            insert(&mut rec, Some(key));
            let (steps, undo) = (rec.bytes().to_vec(), rec.undo_bytes());
            rec.insert_in((ROOT, PAGE), 300, key, b"value").unwrap();
            assert_eq!(
                (rec.bytes(), rec.undo_bytes(), rec.row_ops()),
                (&steps[..], undo, 1),
                "and a new row"
            );
            rec.stamp(TxnId(123_456), Lsn { vlf: 1, block: 16, slot: 1 });
            assert!(rec.only().is_some());
        }
    }

    #[test]
    fn other_records_are_decoded() {
        let unknown = |build: &dyn Fn(&mut RecordBuilder)| {
            let mut rec = RecordBuilder::new();
            build(&mut rec);
            assert!(rec.only().is_none());
        };
        unknown(&|rec| rec.page(PAGE));
        // Something before it, or behind it.
        unknown(&|rec| {
            rec.page(PAGE);
            rec.page(ROOT);
            insert(rec, None);
        });
        unknown(&|rec| {
            rec.page(PAGE);
            insert(rec, None);
            update(rec, None);
        });
        unknown(&|rec| {
            rec.page(PAGE);
            update(rec, Some(b"key"));
            rec.page(ROOT);
        });
        unknown(&|rec| {
            rec.page(PAGE);
            insert(rec, None);
            rec.payload(b"time").unwrap();
        });
        unknown(&|rec| {
            rec.payload(b"time").unwrap();
            rec.page(PAGE);
            insert(rec, None);
        });
        unknown(&|rec| {
            rec.page(PAGE);
            rec.format(crate::PageType::Data, 0, UnitId(1), PAGE, PAGE, PAGE).unwrap();
            insert(rec, None);
        });
        // Part of what it replaces is in another record.
        unknown(&|rec| {
            let before = BeforeImage { head: b"a", earlier: 200, tail: b"b" };
            rec.page(PAGE);
            rec.update(&RowUpdate {
                slot: 0,
                flags: 0,
                old: &old(),
                key: None,
                at: 0,
                before,
                new_bytes: b"new",
            })
            .unwrap();
        });
        // A builder is used again.
        unknown(&|rec| {
            rec.page(PAGE);
            insert(rec, None);
            rec.begin(RecordKind::Change).page(PAGE);
            rec.ghost(0, &old(), None).unwrap();
        });
    }
}
