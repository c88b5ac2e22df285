//! Databases and their files: CREATE DATABASE, ALTER DATABASE.

use super::{Ident, OptionItem, Span};
use compact_str::CompactString;

/// `CREATE DATABASE`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    /// Its name.
    pub name: Ident,
    /// `CONTAINMENT = NONE | PARTIAL`.
    pub containment: Option<CompactString>,
    /// `ON [PRIMARY]`: files before the first FILEGROUP; empty when left out.
    pub primary: Vec<FileSpec>,
    /// `FILEGROUP name (...)`.
    pub filegroups: Vec<FilegroupSpec>,
    /// `LOG ON`.
    pub log: Vec<FileSpec>,
    /// `COLLATE`.
    pub collation: Option<Ident>,
    /// `FOR ATTACH`, `FOR ATTACH_REBUILD_LOG`: the word, upper case.
    pub attach: Option<CompactString>,
    /// `AS SNAPSHOT OF source`.
    pub snapshot_of: Option<Ident>,
    /// `WITH`.
    pub options: Vec<OptionItem>,
}

/// `FILEGROUP name [CONTAINS ...] [DEFAULT] (file), ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct FilegroupSpec {
    /// Its name.
    pub name: Ident,
    /// `DEFAULT`.
    pub is_default: bool,
    /// `CONTAINS FILESTREAM | MEMORY_OPTIMIZED_DATA`: the word, upper case.
    pub contains: Option<CompactString>,
    /// Its files.
    pub files: Vec<FileSpec>,
}

/// `(NAME = x, FILENAME = 'path', SIZE = 8MB, MAXSIZE = UNLIMITED, FILEGROWTH = 10%)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSpec {
    /// The logical name; required by ALTER DATABASE.
    pub name: Option<CompactString>,
    /// `NEWNAME`, in MODIFY FILE.
    pub new_name: Option<CompactString>,
    /// The path.
    pub filename: Option<CompactString>,
    /// First size, or new size in MODIFY FILE.
    pub size: Option<FileSize>,
    /// The limit.
    pub max_size: Option<MaxSize>,
    /// The growth step.
    pub growth: Option<FileGrowth>,
    /// `OFFLINE`.
    pub offline: bool,
    /// Where it stands.
    pub span: Span,
}

/// A size with its unit; MB when none was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSize {
    /// How many units.
    pub value: u64,
    /// Of what.
    pub unit: SizeUnit,
}

impl FileSize {
    /// In bytes; `None` when that does not fit in 64 bits.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        let shift = match self.unit {
            SizeUnit::Kb => 10,
            SizeUnit::Mb => 20,
            SizeUnit::Gb => 30,
            SizeUnit::Tb => 40,
        };
        self.value.checked_mul(1 << shift)
    }
}

/// Units of file sizes, powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeUnit {
    /// 2^10 bytes.
    Kb,
    /// 2^20 bytes.
    Mb,
    /// 2^30 bytes.
    Gb,
    /// 2^40 bytes.
    Tb,
}

/// `MAXSIZE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxSize {
    /// `UNLIMITED`.
    Unlimited,
    /// A size.
    Size(FileSize),
}

/// `FILEGROWTH`; zero turns growth off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileGrowth {
    /// A size.
    Size(FileSize),
    /// Hundredths of the file's size at the time.
    Percent(u64),
}

/// `ALTER DATABASE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabase {
    /// Which; `None` is `CURRENT`.
    pub name: Option<Ident>,
    /// What to do.
    pub action: AlterDatabaseAction,
}

/// What ALTER DATABASE does.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterDatabaseAction {
    /// `SET options [WITH termination]`.
    Set { options: Vec<OptionItem>, termination: Option<Termination> },
    /// `ADD FILE ... [TO FILEGROUP fg]`.
    AddFile { files: Vec<FileSpec>, filegroup: Option<Ident> },
    /// `ADD LOG FILE ...`.
    AddLogFile(Vec<FileSpec>),
    /// `REMOVE FILE name`.
    RemoveFile(CompactString),
    /// `MODIFY FILE (...)`.
    ModifyFile(FileSpec),
    /// `ADD FILEGROUP name [CONTAINS ...]`.
    AddFilegroup { name: Ident, contains: Option<CompactString> },
    /// `REMOVE FILEGROUP name`.
    RemoveFilegroup(Ident),
    /// `MODIFY FILEGROUP name DEFAULT | NAME = new | READ_ONLY | ...`.
    ModifyFilegroup { name: Ident, change: FilegroupChange, termination: Option<Termination> },
    /// `MODIFY NAME = new`.
    ModifyName(Ident),
    /// `COLLATE name`.
    Collate(Ident),
    /// `SCOPED CONFIGURATION [FOR SECONDARY] SET name = value`: both in upper case.
    ScopedConfiguration { secondary: bool, name: CompactString, value: CompactString },
    /// `SCOPED CONFIGURATION CLEAR PROCEDURE_CACHE [handle]`.
    ClearProcedureCache { handle: bool },
}

/// What MODIFY FILEGROUP changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilegroupChange {
    /// `DEFAULT`.
    Default,
    /// `NAME = new`.
    Name(Ident),
    /// `READ_ONLY`, `READONLY`.
    ReadOnly,
    /// `READ_WRITE`, `READWRITE`.
    ReadWrite,
    /// `AUTOGROW_SINGLE_FILE`.
    AutogrowSingleFile,
    /// `AUTOGROW_ALL_FILES`.
    AutogrowAllFiles,
}

/// `WITH ROLLBACK IMMEDIATE` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// `ROLLBACK IMMEDIATE`.
    Immediate,
    /// `ROLLBACK AFTER n [SECONDS]`.
    After(u64),
    /// `NO_WAIT`.
    NoWait,
}
