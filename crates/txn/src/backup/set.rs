//! What a backup set says of itself: its header in front, its end after the data, and the log's
//! layout between. Guarantees: what was encoded is decoded to the same; other bytes give `None`.

use wal::{LogLayout, Lsn, VlfRun};

use crate::backup_state::BackupBase;
use crate::codec::{Dec, Enc};
use crate::options::RecoveryModel;

/// What a set holds, with the numbers of RESTORE HEADERONLY's BackupType.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SetKind {
    Full = 1,
    Log = 2,
    Differential = 5,
}

impl SetKind {
    /// msdb's letter: D, I, L.
    pub fn letter(self) -> &'static str {
        match self {
            SetKind::Full => "D",
            SetKind::Log => "L",
            SetKind::Differential => "I",
        }
    }

    fn from_u8(b: u8) -> Option<SetKind> {
        [SetKind::Full, SetKind::Log, SetKind::Differential].into_iter().find(|k| *k as u8 == b)
    }
}

/// One file of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetFile {
    /// File number; the log has 2 by custom.
    pub id: u16,
    pub log: bool,
    /// Logical name.
    pub name: String,
    /// Path as the instance shows it.
    pub shown: String,
    /// 0 for the log.
    pub filegroup: u16,
    /// Size in bytes.
    pub size: u64,
    /// The size that it was made with, or the least one it has been cut to since; of a data file.
    pub minimum: u64,
    /// Growth step in bytes, or minus the percentage; 0 = none.
    pub growth: i64,
    /// Bytes; 0 = unlimited.
    pub max_size: u64,
}

/// The set's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetHeader {
    pub set_id: [u8; 16],
    pub kind: SetKind,
    /// From 1, within its media set.
    pub position: u16,
    pub copy_only: bool,
    /// WITH CHECKSUM was said. Checksums are kept always.
    pub checksum: bool,
    pub compressed: bool,
    /// A tail-log backup that left the database restoring.
    pub tail: bool,
    /// The first backup of its log chain.
    pub begins_chain: bool,
    pub name: String,
    pub description: String,
    pub database: String,
    pub server: String,
    pub user: String,
    /// Identity of the database's files.
    pub database_guid: [u8; 16],
    /// Identity that stays through restores.
    pub family: [u8; 16],
    /// Recovery forks at the beginning and at the end of the log in the set, and where the last one
    /// began.
    pub first_fork: [u8; 16],
    pub last_fork: [u8; 16],
    pub fork_lsn: Lsn,
    /// Microseconds since 1970.
    pub start_us: u64,
    pub recovery_model: RecoveryModel,
    /// The next transaction id at the checkpoint.
    pub next_txn: u64,
    /// Where restart begins (of a log backup: the checkpoint that was newest).
    pub checkpoint_lsn: Lsn,
    pub redo_lsn: Lsn,
    /// First block of log in the set.
    pub first_lsn: Lsn,
    /// Checkpoint of the newest full backup.
    pub database_backup_lsn: Lsn,
    /// Of a differential backup.
    pub base: Option<BackupBase>,
    pub files: Vec<SetFile>,
    /// Bytes of the engine.
    pub engine: Vec<u8>,
}

/// The set's end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetEnd {
    /// Microseconds since 1970.
    pub finish_us: u64,
    /// First block of log that is not in the set any more.
    pub last_lsn: Lsn,
    /// The log ends as it was then, in microseconds since 1970.
    pub end_us: u64,
    /// Pages of each data file.
    pub pages: Vec<(u16, u64)>,
    /// Bytes of log blocks.
    pub log_bytes: u64,
    /// Bytes of the whole set before and after compression, headers included.
    pub raw_bytes: u64,
    pub stored_bytes: u64,
    /// Pieces between header and end, over all families.
    pub pieces: u64,
}

impl SetEnd {
    /// Pages of log: whole 8 KB, rounded up.
    pub fn log_pages(&self) -> u64 {
        self.log_bytes.div_ceil(8192)
    }
}

/// Of the header, and of the database in the set.
pub(super) const SET_VERSION: u16 = 4;

impl SetFile {
    fn put(&self, e: &mut Enc) {
        e.u16(self.id).flag(self.log).text(&self.name).text(&self.shown).u16(self.filegroup);
        e.u64(self.size).u64(self.minimum).u64(self.growth as u64).u64(self.max_size);
    }

    fn get(d: &mut Dec<'_>) -> Option<SetFile> {
        Some(SetFile {
            id: d.u16()?,
            log: d.flag()?,
            name: d.text()?,
            shown: d.text()?,
            filegroup: d.u16()?,
            size: d.u64()?,
            minimum: d.u64()?,
            growth: d.u64()? as i64,
            max_size: d.u64()?,
        })
    }
}

impl SetHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut e = Enc::default();
        e.u16(SET_VERSION).guid(&self.set_id).u8(self.kind as u8).u16(self.position);
        e.flag(self.copy_only)
            .flag(self.checksum)
            .flag(self.compressed)
            .flag(self.tail)
            .flag(self.begins_chain);
        for text in [&self.name, &self.description, &self.database, &self.server, &self.user] {
            e.text(text);
        }
        e.guid(&self.database_guid).guid(&self.family).guid(&self.first_fork).guid(&self.last_fork);
        e.lsn(self.fork_lsn).u64(self.start_us).u8(self.recovery_model as u8).u64(self.next_txn);
        e.lsn(self.checkpoint_lsn)
            .lsn(self.redo_lsn)
            .lsn(self.first_lsn)
            .lsn(self.database_backup_lsn);
        BackupBase::put(&self.base, &mut e);
        e.u32(self.files.len() as u32);
        self.files.iter().for_each(|f| f.put(&mut e));
        e.bytes(&self.engine);
        e.0
    }

    /// The version of a header that is one of another version.
    pub(super) fn other_version(bytes: &[u8]) -> Option<u16> {
        Dec(bytes).u16().filter(|version| ![0, SET_VERSION].contains(version))
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<SetHeader> {
        let d = &mut Dec(bytes);
        if d.u16()? != SET_VERSION {
            return None;
        }
        Some(SetHeader {
            set_id: d.guid()?,
            kind: SetKind::from_u8(d.u8()?)?,
            position: d.u16()?,
            copy_only: d.flag()?,
            checksum: d.flag()?,
            compressed: d.flag()?,
            tail: d.flag()?,
            begins_chain: d.flag()?,
            name: d.text()?,
            description: d.text()?,
            database: d.text()?,
            server: d.text()?,
            user: d.text()?,
            database_guid: d.guid()?,
            family: d.guid()?,
            first_fork: d.guid()?,
            last_fork: d.guid()?,
            fork_lsn: d.lsn()?,
            start_us: d.u64()?,
            recovery_model: RecoveryModel::from_u8(d.u8()?)?,
            next_txn: d.u64()?,
            checkpoint_lsn: d.lsn()?,
            redo_lsn: d.lsn()?,
            first_lsn: d.lsn()?,
            database_backup_lsn: d.lsn()?,
            base: BackupBase::get(d)?,
            files: d.list(32, SetFile::get)?,
            engine: d.bytes()?.to_vec(),
        })
    }

    /// The log file's entry.
    pub fn log_file(&self) -> Option<&SetFile> {
        self.files.iter().find(|f| f.log)
    }
}

impl SetEnd {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut e = Enc::default();
        e.u64(self.finish_us).lsn(self.last_lsn).u64(self.end_us).u32(self.pages.len() as u32);
        for (file, pages) in &self.pages {
            e.u16(*file).u64(*pages);
        }
        e.u64(self.log_bytes).u64(self.raw_bytes).u64(self.stored_bytes).u64(self.pieces);
        e.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<SetEnd> {
        let d = &mut Dec(bytes);
        Some(SetEnd {
            finish_us: d.u64()?,
            last_lsn: d.lsn()?,
            end_us: d.u64()?,
            pages: d.list(10, |d| Some((d.u16()?, d.u64()?)))?,
            log_bytes: d.u64()?,
            raw_bytes: d.u64()?,
            stored_bytes: d.u64()?,
            pieces: d.u64()?,
        })
    }
}

/// What is said before the log blocks of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogStart {
    pub from: Lsn,
    pub layout: LogLayout,
    pub vlfs: Vec<VlfRun>,
}

impl LogStart {
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Enc::default();
        e.lsn(self.from).u32(self.layout.len() as u32);
        for (size, count) in &self.layout {
            e.u64(*size).u32(*count);
        }
        e.u32(self.vlfs.len() as u32);
        for run in &self.vlfs {
            e.u32(run.seq).u32(run.index).u32(run.count).u64(run.size).u64(run.room);
        }
        e.0
    }

    pub fn decode(bytes: &[u8]) -> Option<LogStart> {
        let d = &mut Dec(bytes);
        Some(LogStart {
            from: d.lsn()?,
            layout: d.list(12, |d| Some((d.u64()?, d.u32()?)))?,
            vlfs: d.list(20, |d| {
                Some(VlfRun {
                    seq: d.u32()?,
                    index: d.u32()?,
                    count: d.u32()?,
                    size: d.u64()?,
                    room: d.u64()?,
                })
            })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lsn(vlf: u32) -> Lsn {
        Lsn { vlf, block: 16, slot: 1 }
    }

    pub fn header() -> SetHeader {
        SetHeader {
            set_id: [1; 16],
            kind: SetKind::Differential,
            position: 3,
            copy_only: true,
            checksum: false,
            compressed: true,
            tail: false,
            begins_chain: true,
            name: "n".into(),
            description: "d".into(),
            database: "Äpfel".into(),
            server: "s".into(),
            user: "u".into(),
            database_guid: [2; 16],
            family: [3; 16],
            first_fork: [4; 16],
            last_fork: [5; 16],
            fork_lsn: lsn(1),
            start_us: 7,
            recovery_model: RecoveryModel::BulkLogged,
            next_txn: 99,
            checkpoint_lsn: lsn(2),
            redo_lsn: lsn(3),
            first_lsn: lsn(4),
            database_backup_lsn: lsn(5),
            base: Some(BackupBase {
                set_id: [6; 16],
                checkpoint_lsn: lsn(6),
                changed_from: lsn(7),
                time_us: 8,
            }),
            files: vec![SetFile { id: 1, name: "a".into(), growth: -10, ..SetFile::default() }],
            engine: vec![1, 2, 3],
        }
    }

    #[test]
    fn headers_survive_and_cut_ones_are_refused() {
        let h = header();
        let bytes = h.encode();
        assert_eq!(SetHeader::decode(&bytes), Some(h));
        let end = SetEnd { pages: vec![(1, 2), (3, 4)], pieces: 5, ..SetEnd::default() };
        assert_eq!(SetEnd::decode(&end.encode()), Some(end.clone()));
        let start = LogStart {
            from: lsn(1),
            layout: vec![(65536, 4)],
            vlfs: vec![VlfRun { seq: 1, index: 2, count: 3, size: 65536, room: 65536 }],
        };
        assert_eq!(LogStart::decode(&start.encode()), Some(start.clone()));
        for cut in 0..bytes.len() {
            assert_eq!(SetHeader::decode(&bytes[..cut]), None);
        }
        assert_eq!(SetHeader::other_version(&bytes), None);
        for version in [SET_VERSION - 1, SET_VERSION + 1] {
            let mut other = bytes.clone();
            other[..2].copy_from_slice(&version.to_le_bytes());
            assert_eq!(SetHeader::decode(&other), None);
            assert_eq!(SetHeader::other_version(&other), Some(version));
        }
    }

    #[test]
    fn random_bytes_do_no_harm() {
        let mut rng = fastrand::Rng::with_seed(3);
        let samples = [header().encode(), SetEnd::default().encode(), LogStart::default().encode()];
        for _ in 0..20_000 {
            let mut bytes = samples[rng.usize(0..3)].clone();
            for _ in 0..rng.usize(1..5) {
                let at = rng.usize(0..bytes.len());
                bytes[at] = rng.u8(..);
            }
            // What is taken for one is one: it comes back as it was read.
            let header = SetHeader::decode(&bytes);
            assert_eq!(header.as_ref().and_then(|h| SetHeader::decode(&h.encode())), header);
            let end = SetEnd::decode(&bytes);
            assert_eq!(end.as_ref().and_then(|e| SetEnd::decode(&e.encode())), end);
            let start = LogStart::decode(&bytes);
            assert_eq!(start.as_ref().and_then(|s| LogStart::decode(&s.encode())), start);
        }
    }
}
