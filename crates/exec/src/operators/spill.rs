//! Run files of sorts, hash tables and kept rows that are larger than their memory: runs of
//! records, one after another in a file beside tempdb's primary file, written and read in large
//! aligned transfers. Guarantees: the file goes when its operator ends, however it ends, and at the
//! next start when the machine stopped before that; a record is checked by CRC-32C before it is
//! used; a full disk is error 1105 for tempdb, failed I/O 823, damage 824.

use std::path::PathBuf;
use std::sync::Arc;

use disk::{AlignedBuf, BUFFER_ALIGN, BlockFile, DiskError, OpenMode};
use types::{SqlError, msg};

use session::run_files::RunFiles;

/// Bytes of one write.
const WRITE: usize = 1 << 20;
/// CRC, length of the key, length of the value.
const HEADER: usize = 12;

/// A record: key and value.
pub type Record<'a> = (&'a [u8], &'a [u8]);

/// A run's place in its file: an aligned offset, the bytes of its records.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    offset: u64,
    len: u64,
}

/// A run file. Dropping it removes it.
#[derive(Debug)]
pub struct SpillFile {
    files: Arc<RunFiles>,
    file: Arc<dyn BlockFile>,
    path: PathBuf,
    /// Where the next run begins.
    end: u64,
}

impl SpillFile {
    /// A new, empty one. Errors: the disk's, as the guarantee says.
    pub fn create(files: &Arc<RunFiles>) -> Result<SpillFile, SqlError> {
        let path = files.next_path()?;
        let file = files.disk.open(&path, OpenMode::Create).map_err(|e| failed(files, &e))?;
        Ok(SpillFile { files: files.clone(), file, path, end: 0 })
    }

    /// Writes a run after the others.
    pub fn writer(&mut self) -> RunWriter<'_> {
        RunWriter {
            offset: self.end,
            at: self.end,
            spill: self,
            buf: AlignedBuf::new(WRITE),
            filled: 0,
            len: 0,
        }
    }

    /// Writes a run that is in memory as it goes to disk: records as [`put_record`] makes them, in
    /// a buffer's first bytes.
    pub fn write_run(&mut self, buf: &mut AlignedBuf, filled: usize) -> Result<Run, SqlError> {
        let end = filled.next_multiple_of(BUFFER_ALIGN);
        buf[filled..end].fill(0);
        self.write(self.end, &buf[..end])?;
        let run = Run { offset: self.end, len: filled as u64 };
        self.end += end as u64;
        Ok(run)
    }

    /// Reads a run with a buffer of so many bytes.
    pub fn reader(&self, run: Run, buffer: usize) -> RunReader {
        let buffer = buffer.max(BUFFER_ALIGN).next_multiple_of(BUFFER_ALIGN);
        RunReader {
            next: run.offset,
            left: run.len,
            buf: AlignedBuf::new(buffer),
            at: 0,
            end: 0,
            key: 0,
            value: 0,
        }
    }

    /// 824, told in the error log: the file has something else than what was written.
    pub fn damaged(&self) -> SqlError {
        damaged(self)
    }

    #[cfg(test)]
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), SqlError> {
        self.file.write_at(offset, bytes).map_err(|e| failed(&self.files, &e))
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if let Err(e) = self.files.disk.remove(&self.path) {
            self.files
                .errors
                .write("Server", &format!("A run file stays until the next start: {e}"));
        }
    }
}

/// Bytes that a record takes in a run.
pub fn record_bytes((key, value): Record<'_>) -> usize {
    HEADER + key.len() + value.len()
}

/// Puts a record into exactly as many bytes as it takes; neither part may be longer than `u32`
/// says.
pub fn put_record(place: &mut [u8], (key, value): Record<'_>) {
    let lengths = lengths(key.len() as u32, value.len() as u32);
    let (head, rest) = place.split_at_mut(HEADER);
    head[..4].copy_from_slice(&checksum(&lengths, (key, value)).to_le_bytes());
    head[4..].copy_from_slice(&lengths);
    rest[..key.len()].copy_from_slice(key);
    rest[key.len()..].copy_from_slice(value);
}

/// Writes one run.
pub struct RunWriter<'f> {
    spill: &'f mut SpillFile,
    /// Where the run begins, where the next write goes.
    offset: u64,
    at: u64,
    buf: AlignedBuf,
    filled: usize,
    len: u64,
}

impl Run {
    /// Bytes of its records.
    pub fn bytes(&self) -> u64 {
        self.len
    }
}

impl RunWriter<'_> {
    /// The file, whose earlier runs may be read meanwhile.
    pub fn file(&self) -> &SpillFile {
        self.spill
    }

    /// Adds a record; neither part may be longer than `u32` says.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), SqlError> {
        let lengths = lengths(key.len() as u32, value.len() as u32);
        let crc = checksum(&lengths, (key, value));
        for bytes in [&crc.to_le_bytes()[..], &lengths, key, value] {
            self.append(bytes)?;
        }
        Ok(())
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<(), SqlError> {
        self.len += bytes.len() as u64;
        while !bytes.is_empty() {
            let n = bytes.len().min(self.buf.len() - self.filled);
            self.buf[self.filled..self.filled + n].copy_from_slice(&bytes[..n]);
            self.filled += n;
            bytes = &bytes[n..];
            if self.filled == self.buf.len() {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SqlError> {
        let end = self.filled.next_multiple_of(BUFFER_ALIGN);
        self.buf[self.filled..end].fill(0);
        self.spill.write(self.at, &self.buf[..end])?;
        self.at += end as u64;
        self.filled = 0;
        Ok(())
    }

    /// Writes the rest; the run is complete.
    pub fn finish(mut self) -> Result<Run, SqlError> {
        if self.filled > 0 {
            self.flush()?;
        }
        self.spill.end = self.at;
        Ok(Run { offset: self.offset, len: self.len })
    }
}

/// Reads one run, a record at a time.
pub struct RunReader {
    /// The file offset of the next read, and bytes of records from there on.
    next: u64,
    left: u64,
    buf: AlignedBuf,
    /// The present record's key begins here, after that of its header.
    at: usize,
    /// Bytes read end here.
    end: usize,
    key: usize,
    value: usize,
}

impl RunReader {
    /// Goes to the next record; false when there is none.
    pub fn advance(&mut self, spill: &SpillFile) -> Result<bool, SqlError> {
        self.at += self.key + self.value;
        (self.key, self.value) = (0, 0);
        if self.at == self.end && self.left == 0 {
            return Ok(false);
        }
        self.need(spill, HEADER)?;
        let word = |at: usize| self.buf[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let (crc, key, value) = (word(self.at), word(self.at + 4), word(self.at + 8));
        let (key_len, value_len) = (key as usize, value as usize);
        self.need(spill, HEADER + key_len + value_len)?;
        self.at += HEADER;
        (self.key, self.value) = (key_len, value_len);
        if checksum(&lengths(key, value), self.record()) != crc {
            return Err(damaged(spill));
        }
        Ok(true)
    }

    /// The present record's key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.buf[self.at..self.at + self.key]
    }

    /// The present record.
    #[inline]
    pub fn record(&self) -> Record<'_> {
        self.buf[self.at..self.at + self.key + self.value].split_at(self.key)
    }

    /// Bytes of its buffer.
    pub fn held(&self) -> usize {
        self.buf.len()
    }

    /// Has so many bytes from `at` on in the buffer.
    fn need(&mut self, spill: &SpillFile, bytes: usize) -> Result<(), SqlError> {
        let rest = self.end - self.at;
        if rest >= bytes {
            return Ok(());
        }
        if (bytes - rest) as u64 > self.left {
            return Err(damaged(spill));
        }
        // What is left goes to the end of an aligned piece, so that the next read lands on an
        // aligned place after it.
        let read_at = rest.next_multiple_of(BUFFER_ALIGN);
        let start = read_at - rest;
        if start + bytes > self.buf.len() {
            let mut larger = AlignedBuf::new((start + bytes).next_multiple_of(BUFFER_ALIGN));
            larger[start..read_at].copy_from_slice(&self.buf[self.at..self.end]);
            self.buf = larger;
        } else {
            self.buf.copy_within(self.at..self.end, start);
        }
        let room = (self.buf.len() - read_at) as u64;
        let wanted = room.min(self.left.next_multiple_of(BUFFER_ALIGN as u64));
        let target = &mut self.buf[read_at..read_at + wanted as usize];
        spill.file.read_at(self.next, target).map_err(|e| failed(&spill.files, &e))?;
        pages::note_run_file(wanted.div_ceil(pages::PAGE_SIZE as u64));
        let got = wanted.min(self.left);
        self.next += wanted;
        self.left -= got;
        (self.at, self.end) = (start, read_at + got as usize);
        Ok(())
    }
}

fn lengths(key: u32, value: u32) -> [u8; 8] {
    (u64::from(value) << 32 | u64::from(key)).to_le_bytes()
}

fn checksum(lengths: &[u8; 8], (key, value): Record<'_>) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(lengths), key), value)
}

/// A run file that cannot be made, written or read.
fn failed(files: &RunFiles, e: &DiskError) -> SqlError {
    if e.is_no_space() {
        return logged(files, SqlError::of(msg::RUN_FILE_SPACE, []));
    }
    logged(files, SqlError::of(msg::RUN_FILE_IO, [&e]))
}

fn damaged(spill: &SpillFile) -> SqlError {
    logged(&spill.files, SqlError::of(msg::RUN_FILE_DAMAGED, [&spill.path.display()]))
}

fn logged(files: &RunFiles, e: SqlError) -> SqlError {
    files.errors.write("database", &format!("'tempdb': {}", e.message));
    files.errors.save();
    e
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files;
    use sim::SimDisk;

    type Records = Vec<(Vec<u8>, Vec<u8>)>;

    /// Every record of a run, or the error's number.
    fn read_all(spill: &SpillFile, run: Run) -> Result<Records, i32> {
        let mut reader = spill.reader(run, 8192);
        let mut records = Vec::new();
        while reader.advance(spill).map_err(|e| e.number)? {
            let (key, value) = reader.record();
            records.push((key.to_vec(), value.to_vec()));
        }
        Ok(records)
    }

    #[test]
    fn a_flipped_bit_is_824() {
        let disk = SimDisk::new(1);
        let files = test_files::run_files(&disk);
        let mut spill = SpillFile::create(&files).expect("a run file");
        let records: Vec<_> =
            (0..300usize).map(|i| (vec![i as u8; i % 50], vec![1; i * 7 % 9000])).collect();
        let mut runs = Vec::new();
        for _ in 0..2 {
            let mut writer = spill.writer();
            records.iter().for_each(|(key, value)| writer.push(key, value).expect("a write"));
            runs.push(writer.finish().expect("a run"));
        }
        for at in [0, 5, 9, 13, 100_000, runs[1].len - 1] {
            assert_eq!(read_all(&spill, runs[1]).as_ref(), Ok(&records));
            let offset = runs[1].offset + at;
            disk.rot(&spill.path, offset).expect("a flipped bit");
            assert_eq!(read_all(&spill, runs[1]), Err(824), "at {at}");
            assert_eq!(read_all(&spill, runs[0]).as_ref(), Ok(&records));
            spill.end = runs[1].offset;
            let mut writer = spill.writer();
            records.iter().for_each(|(key, value)| writer.push(key, value).expect("a write"));
            runs[1] = writer.finish().expect("a run");
        }
    }
}
