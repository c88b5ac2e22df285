//! Administration: DBCC, BACKUP, RESTORE, KILL.

use super::{Expr, NameOrVariable, OptionItem};
use compact_str::CompactString;

/// `DBCC name [(args)] [WITH options]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dbcc {
    /// In upper case.
    pub name: CompactString,
    /// Strings, numbers, variables; a bare word is a column reference, `a.b` one with a qualifier.
    pub args: Vec<Expr>,
    /// `NO_INFOMSGS`, `TABLERESULTS`, ....
    pub options: Vec<OptionItem>,
}

/// `BACKUP DATABASE | LOG`.
#[derive(Clone, Debug, PartialEq)]
pub struct Backup {
    /// The log rather than the database.
    pub log: bool,
    /// Which database.
    pub database: NameOrVariable,
    /// `FILE = 'x'`, `FILEGROUP = 'x'`, `READ_WRITE_FILEGROUPS`.
    pub files: Vec<OptionItem>,
    /// `TO`.
    pub devices: Vec<Device>,
    /// `MIRROR TO`, one list per mirror.
    pub mirrors: Vec<Vec<Device>>,
    /// `WITH`.
    pub options: Vec<OptionItem>,
}

/// `RESTORE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Restore {
    /// What.
    pub kind: RestoreKind,
    /// Which database; `None` for HEADERONLY and its kin.
    pub database: Option<NameOrVariable>,
    /// `FILE = 'x'`, `FILEGROUP = 'x'`, `PAGE = '1:57'`.
    pub files: Vec<OptionItem>,
    /// `FROM`; empty for `RESTORE DATABASE d WITH RECOVERY`.
    pub devices: Vec<Device>,
    /// `FROM DATABASE_SNAPSHOT = name`.
    pub snapshot: Option<CompactString>,
    /// `WITH`: `MOVE` entries are in `moves`.
    pub options: Vec<OptionItem>,
    /// `MOVE 'logical' TO 'path'`.
    pub moves: Vec<MoveFile>,
}

/// `MOVE 'logical' TO 'path'`: constants or variables.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveFile {
    /// The file's logical name.
    pub logical: Expr,
    /// Where it goes.
    pub path: Expr,
}

/// What RESTORE restores or shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreKind {
    /// `DATABASE`.
    Database,
    /// `LOG`.
    Log,
    /// `HEADERONLY`.
    HeaderOnly,
    /// `FILELISTONLY`.
    FileListOnly,
    /// `LABELONLY`.
    LabelOnly,
    /// `VERIFYONLY`.
    VerifyOnly,
}

/// A backup device.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    /// `DISK = 'path'`.
    Disk(Expr),
    /// `URL = 'address'`.
    Url(Expr),
    /// `TAPE = 'name'`.
    Tape(Expr),
    /// A device made by `sp_addumpdevice`.
    Logical(NameOrVariable),
}
