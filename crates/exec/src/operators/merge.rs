//! The merge of sorted runs. Guarantee: records come in the order of their keys, equal keys in the
//! order of their runs.

use types::SqlError;

use super::spill::{Record, Run, RunReader, SpillFile};
use session::query_memory::Share;

/// The first 16 bytes of a key as numbers, 0 after a shorter one's end: most comparisons need no
/// more.
pub type KeyHead = (u64, u64);

/// The head of a key.
#[inline]
pub fn head(key: &[u8]) -> KeyHead {
    let mut bytes = [0; 16];
    let n = key.len().min(16);
    bytes[..n].copy_from_slice(&key[..n]);
    let both = u128::from_be_bytes(bytes);
    ((both >> 64) as u64, both as u64)
}

/// One run that is merged, with the beginning of its present key.
struct MergedRun {
    reader: RunReader,
    head: KeyHead,
}

impl MergedRun {
    fn advance(&mut self, file: &SpillFile) -> Result<bool, SqlError> {
        let more = self.reader.advance(file)?;
        self.head = if more { head(self.reader.key()) } else { (0, 0) };
        Ok(more)
    }
}

/// A k-way merge: a binary heap of runs by their present records, equal keys by the order of the
/// runs.
pub struct Merge {
    sources: Vec<MergedRun>,
    heap: Vec<usize>,
    /// The record on top has been given.
    given: bool,
    /// Holds what buffers have grown by, for records that are larger than a buffer.
    share: Share,
}

impl Merge {
    /// A merge of runs, each read with a buffer of so many bytes, which the caller has counted.
    pub fn new(
        file: &SpillFile,
        runs: &[Run],
        buffer: usize,
        share: Share,
    ) -> Result<Merge, SqlError> {
        let source = |run: &Run| MergedRun { reader: file.reader(*run, buffer), head: (0, 0) };
        let mut merge = Merge {
            sources: runs.iter().map(source).collect(),
            heap: Vec::new(),
            given: false,
            share,
        };
        for (i, source) in merge.sources.iter_mut().enumerate() {
            if source.advance(file)? {
                merge.heap.push(i);
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift(at);
        }
        Ok(merge)
    }

    fn less(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.sources[a], &self.sources[b]);
        let order = x.head.cmp(&y.head).then_with(|| x.reader.key().cmp(y.reader.key()));
        order.then(a.cmp(&b)).is_lt()
    }

    /// Lets the run at a place of the heap sink to where it belongs.
    fn sift(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            let Some(&first) = self.heap.get(left) else { return };
            let child = match self.heap.get(left + 1) {
                Some(&second) if self.less(second, first) => left + 1,
                _ => left,
            };
            if !self.less(self.heap[child], self.heap[at]) {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }

    /// The next record, if there is one.
    pub fn next_record(&mut self, file: &SpillFile) -> Result<Option<Record<'_>>, SqlError> {
        if std::mem::replace(&mut self.given, true)
            && let Some(&top) = self.heap.first()
        {
            let before = self.sources[top].reader.held();
            if !self.sources[top].advance(file)? {
                self.heap.swap_remove(0);
            } else {
                let grown = self.sources[top].reader.held().saturating_sub(before);
                if grown > 0 {
                    self.share.need(grown)?;
                }
            }
            self.sift(0);
        }
        let Some(&top) = self.heap.first() else { return Ok(None) };
        Ok(Some(self.sources[top].reader.record()))
    }
}
