//! Rows that an operator keeps and reads by number: those that were added and not yet let go.
//! Packed rows lie in blocks; a block for which there is no memory goes to a run file and comes
//! back for whoever reads in it. Guarantees: memory stays within the share but for one block per
//! reader and one that is being filled; a row that was let go is not asked for again.

use std::collections::VecDeque;
use std::sync::Arc;

use disk::AlignedBuf;
use types::{SqlError, Value, unpack_row};

use crate::operators::spill::{Run, SpillFile, put_record, record_bytes};
use session::query_memory::Share;
use session::run_files::RunFiles;

/// Bytes of a block, unless one row is larger.
const BLOCK: usize = 64 << 10;

/// Where the bytes of a block are.
enum Bytes {
    Memory(Vec<u8>),
    Disk(Run),
}

/// Rows one after another.
struct Block {
    first: usize,
    bytes: Bytes,
    /// Where each row ends.
    ends: Vec<u32>,
}

impl Block {
    fn held(&self) -> usize {
        let bytes = if let Bytes::Memory(bytes) = &self.bytes { bytes.capacity() } else { 0 };
        bytes + self.ends.capacity() * 4
    }
}

/// The rows.
pub struct RowStore {
    files: Arc<RunFiles>,
    share: Share,
    blocks: VecDeque<Block>,
    /// The block that is being filled; its first row is the first after those of `blocks`.
    filling: Block,
    file: Option<SpillFile>,
}

/// Where somebody reads: a block that came from disk stays with him until he reads in another.
#[derive(Default)]
pub struct Cursor {
    /// First row of the block, and its bytes.
    block: Option<(usize, Vec<u8>)>,
}

impl Cursor {
    /// Forgets the block: the rows are others.
    pub fn clear(&mut self) {
        self.block = None;
    }
}

impl RowStore {
    /// No rows.
    pub fn new(files: Arc<RunFiles>, share: Share) -> RowStore {
        RowStore { files, share, blocks: VecDeque::new(), filling: empty(0), file: None }
    }

    /// Number of the row that comes next.
    pub fn len(&self) -> usize {
        self.filling.first + self.filling.ends.len()
    }

    /// Whether there was none yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all rows: the next one is row 0.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.share.clear();
        self.file = None;
        if let Bytes::Memory(bytes) = &mut self.filling.bytes {
            bytes.clear();
        }
        self.filling.ends.clear();
        self.filling.first = 0;
    }

    /// Adds a packed row.
    ///
    /// # Errors
    /// Those of the run file; 701 for a row of more than 4 GB.
    pub fn push(&mut self, row: &[u8]) -> Result<(), SqlError> {
        let filled = if let Bytes::Memory(bytes) = &self.filling.bytes { bytes.len() } else { 0 };
        if filled > 0 && filled + row.len() > BLOCK {
            self.close_block()?;
        }
        if let Bytes::Memory(bytes) = &mut self.filling.bytes {
            bytes.extend_from_slice(row);
            let end = u32::try_from(bytes.len()).map_err(|_| catalog::errors::out_of_memory())?;
            self.filling.ends.push(end);
        }
        Ok(())
    }

    fn close_block(&mut self) -> Result<(), SqlError> {
        let next = empty(self.len());
        let mut block = std::mem::replace(&mut self.filling, next);
        if !self.share.take(block.held()) {
            // The newest block goes: those before it are read sooner.
            if let Bytes::Memory(bytes) = &block.bytes {
                block.bytes = Bytes::Disk(self.write(bytes)?);
            }
            self.share.force(block.held());
        }
        self.blocks.push_back(block);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<Run, SqlError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::create(&self.files)?),
        };
        let record = (&[][..], bytes);
        let filled = record_bytes(record);
        let mut buffer = AlignedBuf::new(filled.next_multiple_of(disk::BUFFER_ALIGN));
        put_record(&mut buffer[..filled], record);
        file.write_run(&mut buffer, filled)
    }

    /// Lets rows before this one go.
    pub fn keep_from(&mut self, row: usize) {
        while let Some(block) = self.blocks.front()
            && block.first + block.ends.len() <= row
        {
            self.share.give(block.held());
            self.blocks.pop_front();
        }
    }

    /// Reads a row.
    ///
    /// # Errors
    /// Those of the run file.
    pub fn read(
        &self,
        row: usize,
        cursor: &mut Cursor,
        values: &mut [Value],
    ) -> Result<(), SqlError> {
        let mut unpack = |bytes: &[u8]| {
            unpack_row(bytes, values)
                .map_err(|e| SqlError::internal(format!("a kept row cannot be read: {e}")))
        };
        debug_assert!(row < self.len(), "a row that is not there");
        let block = if row >= self.filling.first {
            &self.filling
        } else {
            let at = self.blocks.partition_point(|block| block.first <= row);
            let block = at.checked_sub(1).and_then(|at| self.blocks.get(at));
            block.ok_or_else(|| SqlError::internal("a kept row was let go too early"))?
        };
        let (start, end) = block.range(row - block.first)?;
        match &block.bytes {
            Bytes::Memory(bytes) => unpack(&bytes[start..end]),
            Bytes::Disk(run) => {
                let bytes = match &mut cursor.block {
                    Some((first, bytes)) if *first == block.first => bytes,
                    other => &mut other.insert((block.first, self.load(*run)?)).1,
                };
                unpack(&bytes[start..end])
            }
        }
    }

    fn load(&self, run: Run) -> Result<Vec<u8>, SqlError> {
        let file =
            self.file.as_ref().ok_or_else(|| SqlError::internal("a block without its file"))?;
        let mut reader = file.reader(run, run.bytes() as usize);
        reader.advance(file)?;
        Ok(reader.record().1.to_vec())
    }
}

impl Block {
    fn range(&self, at: usize) -> Result<(usize, usize), SqlError> {
        let end = self.ends.get(at).ok_or_else(|| SqlError::internal("a kept row is not there"))?;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        Ok((start as usize, *end as usize))
    }
}

fn empty(first: usize) -> Block {
    Block { first, bytes: Bytes::Memory(Vec::new()), ends: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files;
    use session::query_memory::Grant;
    use session::query_memory::QueryMemory;

    #[test]
    fn rows_are_read_at_any_place_with_and_without_memory() {
        let files = test_files::run_files(&sim::SimDisk::new(1));
        for most in [1, 200 << 10, 1 << 30] {
            let mut rng = fastrand::Rng::with_seed(most as u64);
            let share = Grant::new(&Arc::new(QueryMemory::new(1 << 30, most))).share();
            let mut rows = RowStore::new(files.clone(), share);
            for _ in 0..2 {
                let (mut kept, mut cursors) = (0, [Cursor::default(), Cursor::default()]);
                for n in 0..6000 {
                    let mut row = Vec::new();
                    let text = "x".repeat(if n % 1000 == 999 { 100_000 } else { n % 90 });
                    types::pack_row(
                        &[Value::Int(n as i32), Value::Str(text.as_str().into())],
                        &mut row,
                    );
                    rows.push(&row).expect("a push");
                    let at = rng.usize(kept..=n);
                    let mut values = [Value::Null, Value::Null];
                    rows.read(at, &mut cursors[n % 2], &mut values).expect("a read");
                    assert_eq!(values[0], Value::Int(at as i32));
                    if n % 500 == 0 {
                        kept = rng.usize(kept..=n);
                        rows.keep_from(kept);
                    }
                }
                assert_eq!(rows.len(), 6000);
                assert_eq!(rows.file.is_some(), most < 1 << 30);
                assert!(rows.share.used() <= most.max(256 << 10), "{} bytes", rows.share.used());
                rows.clear();
            }
        }
    }
}
