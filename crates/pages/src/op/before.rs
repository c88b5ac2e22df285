//! What an update replaces, as its record keeps it: the before image, without the part that the log
//! has already.
//!
//! A row that one transaction changes again and again would log every state twice, as after image
//! and as the next record's before image. The part that the transaction's earlier record has as its
//! after image is left out: the row's old header, which every update logs, names that record. It
//! stays in the log as long as the update itself does, because both belong to one transaction.

use super::PageOp;
use crate::error::PageError;
use crate::row_header::RowHeader;
use std::ops::Range;
use wal::Lsn;

/// The bytes that an update replaces. Between `head` and `tail` stood `earlier` bytes that the
/// operation made which the old header names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeforeImage<'a> {
    pub head: &'a [u8],
    pub earlier: u16,
    pub tail: &'a [u8],
}

/// Bytes that are worth looking them up in another record when the change is taken back.
pub const WORTH: usize = 128;

impl<'a> BeforeImage<'a> {
    /// All bytes, in the record itself.
    #[must_use]
    #[inline]
    pub fn whole(bytes: &'a [u8]) -> BeforeImage<'a> {
        BeforeImage { head: bytes, earlier: 0, tail: &[] }
    }

    /// `bytes` stand at `at` of the row's body; `made` is what the operation that the row's header
    /// names wrote of it. That must be an update by the transaction that changes the row now.
    #[must_use]
    pub fn without(bytes: &'a [u8], at: usize, made: Range<usize>) -> BeforeImage<'a> {
        let start = made.start.clamp(at, at + bytes.len()) - at;
        let end = made.end.clamp(at, at + bytes.len()) - at;
        match u16::try_from(end.saturating_sub(start)) {
            Ok(earlier) if usize::from(earlier) >= WORTH => {
                BeforeImage { head: &bytes[..start], earlier, tail: &bytes[end..] }
            }
            _ => BeforeImage::whole(bytes),
        }
    }

    /// Bytes that are replaced.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.head.len() + usize::from(self.earlier) + self.tail.len()
    }

    /// Whether nothing is replaced: the update only inserts bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the record itself carries.
    #[must_use]
    #[inline]
    pub fn carried(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Appends the bytes to `out`. `at` is where they stood in the row's body, `earlier` the
    /// operation that the old header names; it is needed if [`BeforeImage::earlier`] is not 0.
    ///
    /// # Errors
    /// [`PageError::Record`] when `earlier` is missing or did not write what was left out.
    pub fn append_to(
        &self,
        at: usize,
        earlier: Option<&PageOp<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<(), PageError> {
        const MISFIT: PageError =
            PageError::Record { what: "update and the earlier one do not fit" };
        out.extend_from_slice(self.head);
        if self.earlier > 0 {
            let Some(PageOp::Update { at: made_at, new_bytes: made, .. }) = earlier else {
                return Err(MISFIT);
            };
            let start = (at + self.head.len()).checked_sub((*made_at).into()).ok_or(MISFIT)?;
            out.extend_from_slice(
                made.get(start..start + usize::from(self.earlier)).ok_or(MISFIT)?,
            );
        }
        out.extend_from_slice(self.tail);
        Ok(())
    }
}

/// How many updates a transaction remembers.
const REMEMBERED: usize = 4;

/// What a transaction's latest large updates wrote: rows that it changes again are usually among
/// them.
#[derive(Clone, Debug, Default)]
pub struct LatestUpdates {
    made: [Option<(Lsn, LargeUpdate)>; REMEMBERED],
    next: usize,
}

/// An update whose after image is long enough to be referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargeUpdate {
    /// Number of the operation within its record, as row headers keep it.
    pub index: u8,
    pub at: u16,
    pub len: u16,
}

impl LatestUpdates {
    /// The record at `lsn` has this update.
    pub fn note(&mut self, lsn: Lsn, update: LargeUpdate) {
        self.made[self.next] = Some((lsn, update));
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// What the version with this header wrote of its row's body; empty when that is not
    /// remembered.
    #[must_use]
    pub fn wrote(&self, header: &RowHeader) -> Range<usize> {
        let mut made = self.made.iter().flatten();
        let found = made.find(|(lsn, u)| *lsn == header.lsn && u.index == header.index);
        found.map_or(0..0, |(_, u)| u.at.into()..usize::from(u.at) + usize::from(u.len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(at: u16, new_bytes: &[u8]) -> PageOp<'_> {
        let before = BeforeImage::whole(&[]);
        PageOp::Update {
            slot: 0,
            flags: 0,
            old: RowHeader::default(),
            key: None,
            at,
            before,
            new_bytes,
        }
    }

    /// Whatever the two ranges, the bytes come back; a wrong or missing earlier operation is an
    /// error.
    #[test]
    fn what_was_left_out_comes_back() {
        let mut rng = fastrand::Rng::with_seed(4);
        let mut left_out = 0;
        for _ in 0..3_000 {
            let body: Vec<u8> = (0..rng.usize(1..900)).map(|_| rng.u8(..)).collect();
            let mut part = || {
                let start = rng.usize(0..=body.len());
                start..rng.usize(start..=body.len())
            };
            let (made, now) = (part(), part());
            let before = BeforeImage::without(&body[now.clone()], now.start, made.clone());
            assert_eq!(before.len(), now.len());
            let earlier = update(made.start as u16, &body[made.clone()]);
            let mut out = vec![7];
            before.append_to(now.start, Some(&earlier), &mut out).unwrap();
            assert_eq!(out[1..], body[now.clone()]);
            if before.earlier > 0 {
                left_out += 1;
                assert!(usize::from(before.earlier) >= WORTH && before.carried() < before.len());
                let end = now.start + before.head.len() + usize::from(before.earlier);
                let short = update(made.start as u16, &body[made.start..end - 1]);
                let late = update(made.end as u16, &body[made]);
                for wrong in [None, Some(&short), Some(&late)] {
                    assert!(before.append_to(now.start, wrong, &mut Vec::new()).is_err());
                }
            }
        }
        assert!(left_out > 200, "{left_out}");
    }
}
