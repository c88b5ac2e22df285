//! Rows that an operator puts on disk by parts of the hash of their keys, to come back to them a
//! part at a time. Guarantees: what is read is what was written, in its order within a part; memory
//! is a small buffer per part; the file goes with the last reader of it.

use std::sync::Arc;

use disk::AlignedBuf;
use types::SqlError;

use super::hash::key::{Key, part_of};
use super::spill::{Run, RunReader, SpillFile, put_record, record_bytes};
use catalog::errors::out_of_memory;
use session::query_memory::Share;
use session::run_files::RunFiles;

/// How many parts.
pub const PARTS: usize = 16;
/// Beyond this many splits of one another parts are not split again: their rows share a key, or
/// nearly so.
pub const LEVELS: u32 = 8;
/// Least and most bytes of a part's buffer.
const BUFFER_MIN: usize = 4 << 10;
const BUFFER_MAX: usize = 64 << 10;

/// One part's rows on disk.
#[derive(Clone)]
pub struct Part {
    file: Arc<SpillFile>,
    runs: Vec<Run>,
    pub rows: u64,
}

impl Part {
    /// Reads it from the beginning.
    pub fn read(&self) -> PartReader {
        PartReader { part: self.clone(), next: 0, reader: None, read: 0 }
    }
}

struct Buffer {
    bytes: AlignedBuf,
    filled: usize,
    runs: Vec<Run>,
    rows: u64,
}

/// Takes rows and writes them by parts.
pub struct Partitions {
    file: SpillFile,
    level: u32,
    buffers: Vec<Buffer>,
    _share: Share,
    key: Vec<u8>,
}

impl Partitions {
    /// Empty ones. `beside`: the share of the operator, which fits no more; the buffers take up to
    /// a quarter of what it has. `level`: which part of a hash counts.
    ///
    /// # Errors
    /// Those of the run file.
    pub fn new(files: &Arc<RunFiles>, beside: &Share, level: u32) -> Result<Partitions, SqlError> {
        Partitions::with_buffers(files, beside.sibling(), beside.used(), level)
    }

    /// The same with buffers for an operator that had so many bytes.
    pub fn with_buffers(
        files: &Arc<RunFiles>,
        mut share: Share,
        had: usize,
        level: u32,
    ) -> Result<Partitions, SqlError> {
        let size = (had / (4 * PARTS)).clamp(BUFFER_MIN, BUFFER_MAX).next_multiple_of(BUFFER_MIN);
        share.force(size * PARTS);
        let buffer =
            || Buffer { bytes: AlignedBuf::new(size), filled: 0, runs: Vec::new(), rows: 0 };
        Ok(Partitions {
            file: SpillFile::create(files)?,
            level,
            buffers: (0..PARTS).map(|_| buffer()).collect(),
            _share: share,
            key: Vec::new(),
        })
    }

    /// Adds a row; one without a key goes to the first part.
    ///
    /// # Errors
    /// Those of the run file; 701 for a row of more than 4 GB.
    pub fn push(&mut self, key: Option<Key<'_>>, row: &[u8]) -> Result<(), SqlError> {
        self.key.clear();
        if let Some(key) = key {
            self.key.extend_from_slice(&key.word.to_le_bytes());
            self.key.extend_from_slice(key.bytes);
        }
        let record = (&self.key[..], row);
        let need = record_bytes(record);
        if u32::try_from(need).is_err() {
            return Err(out_of_memory());
        }
        let buffer = &mut self.buffers[key.map_or(0, |key| part_of(key.hash(), self.level))];
        buffer.rows += 1;
        if buffer.filled + need > buffer.bytes.len() {
            buffer.flush(&mut self.file)?;
        }
        if need > buffer.bytes.len() {
            let mut writer = self.file.writer();
            writer.push(record.0, record.1)?;
            buffer.runs.push(writer.finish()?);
            return Ok(());
        }
        put_record(&mut buffer.bytes[buffer.filled..buffer.filled + need], record);
        buffer.filled += need;
        Ok(())
    }

    /// Which part of a hash counts.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// The parts.
    ///
    /// # Errors
    /// Those of the run file.
    pub fn finish(mut self) -> Result<Vec<Part>, SqlError> {
        for buffer in &mut self.buffers {
            buffer.flush(&mut self.file)?;
        }
        let file = Arc::new(self.file);
        let part = |b: Buffer| Part { file: file.clone(), runs: b.runs, rows: b.rows };
        Ok(self.buffers.into_iter().map(part).collect())
    }
}

impl Buffer {
    fn flush(&mut self, file: &mut SpillFile) -> Result<(), SqlError> {
        if self.filled > 0 {
            self.runs.push(file.write_run(&mut self.bytes, self.filled)?);
            self.filled = 0;
        }
        Ok(())
    }
}

/// Reads a part's rows.
pub struct PartReader {
    part: Part,
    next: usize,
    reader: Option<RunReader>,
    /// Rows that were read.
    pub read: u64,
}

impl PartReader {
    /// Goes to the next row; false when there is none.
    ///
    /// # Errors
    /// Those of the run file.
    pub fn advance(&mut self) -> Result<bool, SqlError> {
        loop {
            if let Some(reader) = &mut self.reader
                && reader.advance(&self.part.file)?
            {
                self.read += 1;
                return Ok(true);
            }
            let Some(run) = self.part.runs.get(self.next) else {
                self.reader = None;
                return Ok(false);
            };
            self.next += 1;
            let buffer = run.bytes().min(BUFFER_MAX as u64) as usize;
            self.reader = Some(self.part.file.reader(*run, buffer));
        }
    }

    /// The row that was gone to.
    pub fn row(&self) -> (Option<Key<'_>>, &[u8]) {
        let Some(reader) = &self.reader else { return (None, &[]) };
        let (key, row) = reader.record();
        let key = key.split_first_chunk::<8>();
        (key.map(|(word, bytes)| Key { word: u64::from_le_bytes(*word), bytes }), row)
    }
}
