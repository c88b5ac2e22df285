//! What a record is, and the byte that says so.

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    Begin,
    Commit,
    Abort,
    Savepoint,
    Change,
    Compensation,
    CkptBegin,
    CkptEnd,
    /// A transaction over several databases: from here on another database decides.
    Prepare,
    /// Records of upper crates, 0 to 127.
    Misc(u8),
}

impl RecordKind {
    pub(super) fn to_u8(self) -> u8 {
        match self {
            RecordKind::Begin => 1,
            RecordKind::Commit => 2,
            RecordKind::Abort => 3,
            RecordKind::Savepoint => 4,
            RecordKind::Change => 5,
            RecordKind::Compensation => 6,
            RecordKind::CkptBegin => 7,
            RecordKind::CkptEnd => 8,
            RecordKind::Prepare => 9,
            RecordKind::Misc(n) => 0x80 | n,
        }
    }

    #[inline]
    pub(super) fn from_u8(b: u8) -> Option<RecordKind> {
        Some(match b {
            1 => RecordKind::Begin,
            2 => RecordKind::Commit,
            3 => RecordKind::Abort,
            4 => RecordKind::Savepoint,
            5 => RecordKind::Change,
            6 => RecordKind::Compensation,
            7 => RecordKind::CkptBegin,
            8 => RecordKind::CkptEnd,
            9 => RecordKind::Prepare,
            b if b & 0x80 != 0 => RecordKind::Misc(b & 0x7f),
            _ => return None,
        })
    }
}
