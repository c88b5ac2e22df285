//! File specifications of CREATE and ALTER DATABASE: defaults, units, and the checks that need no
//! disk.

use catalog::GrowthSetting;
use compact_str::CompactString;
use syntax::ast::{CreateDatabase, FileGrowth, FileSize, FileSpec, MaxSize};
use types::{SqlError, msg};

use catalog::errors;
use catalog::fold_name;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
/// SIZE of a file that does not say: model's.
pub const DEFAULT_SIZE: u64 = 8 * MB;
/// FILEGROWTH of a file that does not say.
const DEFAULT_GROWTH: u64 = 64 * MB;
/// Smallest file.
const MIN_SIZE: u64 = 512 * KB;
/// Sizes and growth steps are whole extents.
const EXTENT: u64 = 64 * KB;
/// Largest data and log file.
const MAX_DATA: u64 = 16 << 40;
const MAX_LOG: u64 = 2 << 40;

/// A file to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Logical name.
    pub name: CompactString,
    /// As written; `None`: the name with the usual ending in the instance's folder.
    pub filename: Option<CompactString>,
    /// 1 = PRIMARY, 2.. in order of appearance; 0 for logs.
    pub filegroup: u16,
    /// Bytes.
    pub size: u64,
    /// Bytes; `None` = until the disk is full.
    pub max_size: Option<u64>,
    pub growth: GrowthSetting,
    pub log: bool,
}

/// What CREATE DATABASE asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFiles {
    /// Names by id, from 1.
    pub filegroups: Vec<CompactString>,
    /// Filegroup that tables go to unless they say otherwise.
    pub default_filegroup: u16,
    /// Data files, the primary one first, then the log.
    pub files: Vec<NewFile>,
}

/// The files of a CREATE DATABASE statement.
///
/// Errors: 5103, 5169, 5174, 5150 sizes; 1828 a logical name twice; 1826-like a filegroup twice.
pub fn from_create(stmt: &CreateDatabase) -> Result<NewFiles, SqlError> {
    let name = stmt.name.value.as_str();
    let mut out =
        NewFiles { filegroups: vec!["PRIMARY".into()], default_filegroup: 1, files: Vec::new() };
    if stmt.primary.is_empty() {
        out.files.push(new_file(&FileSpec::default(), name, 1, DEFAULT_SIZE)?);
    }
    for (i, spec) in stmt.primary.iter().enumerate() {
        let default = if i == 0 { name.to_string() } else { format!("{name}_{i}") };
        out.files.push(new_file(spec, &default, 1, DEFAULT_SIZE)?);
    }
    for group in &stmt.filegroups {
        if group.contains.is_some() {
            return Err(errors::not_supported("CONTAINS"));
        }
        if out.filegroups.iter().any(|g| fold_name(g) == fold_name(&group.name.value)) {
            return Err(SqlError::of(msg::FILEGROUP_EXISTS, [&group.name]));
        }
        out.filegroups.push(group.name.value.clone());
        let id = out.filegroups.len() as u16;
        if group.is_default {
            out.default_filegroup = id;
        }
        for (i, spec) in group.files.iter().enumerate() {
            out.files.push(new_file(
                spec,
                &format!("{name}_{}_{i}", group.name),
                id,
                DEFAULT_SIZE,
            )?);
        }
    }
    add_log(&mut out, stmt, name)?;
    check_names(&out.files)?;
    Ok(out)
}

fn add_log(out: &mut NewFiles, stmt: &CreateDatabase, name: &str) -> Result<(), SqlError> {
    if stmt.log.len() > 1 {
        return Err(errors::not_supported("more than one log file"));
    }
    let default_name = format!("{name}_log");
    match stmt.log.first() {
        Some(spec) => out.files.push(new_log(spec, &default_name, DEFAULT_SIZE)?),
        None => {
            // A database whose data files were sized gets a quarter of them as its log.
            let data: u64 = out.files.iter().map(|f| f.size).sum();
            let size = if stmt.primary.is_empty() {
                DEFAULT_SIZE
            } else {
                round_up((data / 4).max(MIN_SIZE))
            };
            out.files.push(new_log(&FileSpec::default(), &default_name, size)?);
        }
    }
    Ok(())
}

fn new_log(spec: &FileSpec, name: &str, size: u64) -> Result<NewFile, SqlError> {
    let mut file = new_file(spec, name, 0, size)?;
    file.log = true;
    if file.size > MAX_LOG {
        return Err(SqlError::of(msg::LOG_FILE_TOO_LARGE, [&file.name]));
    }
    file.max_size = Some(file.max_size.unwrap_or(MAX_LOG).min(MAX_LOG));
    Ok(file)
}

/// One file, with defaults filled in.
pub fn new_file(
    spec: &FileSpec,
    name: &str,
    filegroup: u16,
    default_size: u64,
) -> Result<NewFile, SqlError> {
    let file_name = spec.name.clone().unwrap_or_else(|| name.into());
    let size = match spec.size {
        Some(size) => round_up(bytes(size)?),
        None => default_size,
    };
    if size < MIN_SIZE {
        return Err(SqlError::of(msg::FILE_SIZE_TOO_SMALL, []));
    }
    let max_size = max_bytes(spec.max_size)?;
    let growth = growth_of(spec.growth)?;
    check_limits(&file_name, size, max_size, growth)?;
    Ok(NewFile {
        name: file_name,
        filename: spec.filename.clone(),
        filegroup,
        size,
        max_size,
        growth,
        log: false,
    })
}

/// MAXSIZE in bytes, `None` = unlimited.
pub fn max_bytes(max: Option<MaxSize>) -> Result<Option<u64>, SqlError> {
    match max {
        None | Some(MaxSize::Unlimited) => Ok(None),
        Some(MaxSize::Size(size)) => Ok(Some(round_up(bytes(size)?))),
    }
}

/// FILEGROWTH with its default.
pub fn growth_of(growth: Option<FileGrowth>) -> Result<GrowthSetting, SqlError> {
    Ok(match growth {
        None => GrowthSetting::Bytes(DEFAULT_GROWTH),
        Some(FileGrowth::Size(size)) => GrowthSetting::Bytes(round_up(bytes(size)?)),
        Some(FileGrowth::Percent(percent)) => {
            GrowthSetting::Percent(u32::try_from(percent).unwrap_or(u32::MAX))
        }
    })
}

/// 5103 MAXSIZE below SIZE, 5169 FILEGROWTH above MAXSIZE.
pub fn check_limits(
    name: &str,
    size: u64,
    max: Option<u64>,
    growth: GrowthSetting,
) -> Result<(), SqlError> {
    let Some(max) = max else { return Ok(()) };
    if max < size {
        return Err(SqlError::of(msg::MAXSIZE_BELOW_SIZE, [&name]));
    }
    if matches!(growth, GrowthSetting::Bytes(step) if step > max) {
        return Err(SqlError::of(msg::FILEGROWTH_OVER_MAXSIZE, [&name]));
    }
    Ok(())
}

/// A size in bytes; 5171-like when it is beyond any file.
pub fn bytes(size: FileSize) -> Result<u64, SqlError> {
    match size.bytes() {
        Some(n) if n <= MAX_DATA => Ok(n),
        _ => Err(SqlError::of(msg::FILE_SIZE_RANGE, [])),
    }
}

/// Up to a whole extent.
pub fn round_up(bytes: u64) -> u64 {
    bytes.next_multiple_of(EXTENT)
}

fn check_names(files: &[NewFile]) -> Result<(), SqlError> {
    for (i, file) in files.iter().enumerate() {
        if files[..i].iter().any(|other| fold_name(&other.name) == fold_name(&file.name)) {
            return Err(name_taken(&file.name));
        }
    }
    Ok(())
}

/// 1828: two files of one logical name.
pub fn name_taken(name: &str) -> SqlError {
    SqlError::of(msg::LOGICAL_FILE_EXISTS, [&name])
}
