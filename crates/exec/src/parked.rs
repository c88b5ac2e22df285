//! Large values that no statement works with at present, in run files beside tempdb's primary file
//! instead of in memory. Guarantees: a value comes back as it was, or an error says why not (823,
//! 824); its file is removed with it; writing and reading it can be cancelled; neither needs memory
//! beyond the value and 2 MB.

use std::sync::Arc;

use compact_str::CompactString;
use types::look::{CancelCheck, byte_pieces, pieces};
use types::{SqlError, Value};

use crate::operators::spill::{Run, RunReader, SpillFile};
use session::run_files::RunFiles;

/// Bytes of the buffer that a value is read through.
const READ: usize = 1 << 20;

/// A text or bytes in a run file.
#[derive(Debug)]
pub struct ParkedValue {
    file: SpillFile,
    run: Run,
    /// Bytes of the value itself.
    len: usize,
    is_text: bool,
}

impl ParkedValue {
    /// Writes a value to a file of its own; none for what is neither text nor bytes.
    ///
    /// # Errors
    /// 1105 the disk is full, 823 it fails; what `look` says.
    pub fn park(
        files: &Arc<RunFiles>,
        value: &Value,
        look: CancelCheck<'_>,
    ) -> Result<Option<ParkedValue>, SqlError> {
        let (is_text, len) = match value {
            Value::Str(text) => (true, text.len()),
            Value::Bytes(bytes) => (false, bytes.len()),
            _ => return Ok(None),
        };
        let mut file = SpillFile::create(files)?;
        let mut writer = file.writer();
        match value {
            Value::Str(text) => {
                for piece in pieces(text, look) {
                    writer.push(&[], piece?.as_bytes())?;
                }
            }
            Value::Bytes(bytes) => {
                for piece in byte_pieces(bytes, look) {
                    writer.push(&[], piece?)?;
                }
            }
            _ => {}
        }
        let run = writer.finish()?;
        Ok(Some(ParkedValue { file, run, len, is_text }))
    }

    /// Bytes that the value takes in memory.
    pub fn bytes(&self) -> usize {
        self.len
    }

    /// Reads the value, whose memory the caller has charged.
    ///
    /// # Errors
    /// 823 the disk fails, 824 it has something else; what `look` says.
    pub fn load(&self, look: CancelCheck<'_>) -> Result<Value, SqlError> {
        let mut reader = self.file.reader(self.run, READ);
        let value = if self.is_text {
            self.text(&mut reader, look)?
        } else {
            self.binary(&mut reader, look)?
        };
        if reader.advance(&self.file)? { Err(self.file.damaged()) } else { Ok(value) }
    }

    fn text(&self, reader: &mut RunReader, look: CancelCheck<'_>) -> Result<Value, SqlError> {
        let mut text = CompactString::with_capacity(self.len);
        while text.len() < self.len && reader.advance(&self.file)? {
            look()?;
            let (_, piece) = reader.record();
            text.push_str(std::str::from_utf8(piece).map_err(|_| self.file.damaged())?);
        }
        if text.len() == self.len { Ok(Value::Str(text)) } else { Err(self.file.damaged()) }
    }

    fn binary(&self, reader: &mut RunReader, look: CancelCheck<'_>) -> Result<Value, SqlError> {
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, self.len).collect();
        let place =
            Arc::get_mut(&mut bytes).ok_or_else(|| SqlError::internal("a new value is shared"))?;
        let mut at = 0;
        while at < self.len && reader.advance(&self.file)? {
            look()?;
            let (_, piece) = reader.record();
            let end = at + piece.len();
            place.get_mut(at..end).ok_or_else(|| self.file.damaged())?.copy_from_slice(piece);
            at = end;
        }
        if at == self.len { Ok(Value::Bytes(bytes)) } else { Err(self.file.damaged()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files;
    use sim::SimDisk;
    use types::look::GO_ON;

    /// What people put into (max) values: ASCII, characters of 2 to 4 bytes across the ends of
    /// pieces, a half of a surrogate pair, bytes.
    fn values() -> Vec<Value> {
        let half = char::from_u32(0x10_F800).expect("the first high surrogate as it is held");
        vec![
            Value::Str("x".repeat(3_000_000).into()),
            Value::Str("\u{20AC}\u{1F600}Ж".repeat(300_001).into()),
            Value::Str(format!("{}{half}", "y".repeat((64 << 10) - 1)).repeat(20).into()),
            Value::Bytes((0..3_000_001_u32).map(|i| (i % 251) as u8).collect()),
            Value::Bytes(Arc::from([])),
        ]
    }

    fn run_files(disk: &SimDisk) -> usize {
        use disk::Disk;
        disk.list(std::path::Path::new("/data")).expect("the folder").len()
    }

    #[test]
    fn a_value_comes_back_as_it_was_and_its_file_goes() {
        let disk = SimDisk::new(1);
        let files = test_files::run_files(&disk);
        let before = run_files(&disk);
        for value in values() {
            let parked = ParkedValue::park(&files, &value, GO_ON)
                .expect("it is written")
                .expect("it is large");
            assert_eq!(run_files(&disk), before + 1);
            for _ in 0..2 {
                assert!(parked.load(GO_ON).expect("it is read") == value, "another value");
            }
            drop(parked);
            assert_eq!(run_files(&disk), before, "the file of the value has gone");
        }
        assert!(ParkedValue::park(&files, &Value::Int(1), GO_ON).expect("no error").is_none());
    }

    #[test]
    fn a_flipped_bit_is_824() {
        let disk = SimDisk::new(1);
        let files = test_files::run_files(&disk);
        for value in values().into_iter().take(4) {
            let parked = ParkedValue::park(&files, &value, GO_ON)
                .expect("it is written")
                .expect("it is large");
            disk.rot(parked.file.path(), 70_000).expect("a flipped bit");
            assert_eq!(parked.load(GO_ON).map(|_| ()).map_err(|e| e.number), Err(824));
        }
    }

    #[test]
    fn both_ways_can_be_cancelled() {
        let disk = SimDisk::new(1);
        let files = test_files::run_files(&disk);
        let before = run_files(&disk);
        let stop: CancelCheck<'_> = &|| Err(SqlError::new(3617, 16, 1, "stop"));
        for value in values().into_iter().take(4) {
            let refused = ParkedValue::park(&files, &value, stop).map(|_| ()).map_err(|e| e.number);
            assert_eq!((refused, run_files(&disk)), (Err(3617), before));
            let parked = ParkedValue::park(&files, &value, GO_ON)
                .expect("it is written")
                .expect("it is large");
            assert_eq!(parked.load(stop).map(|_| ()).map_err(|e| e.number), Err(3617));
        }
    }
}
