//! The list of an instance's databases: a small file in two copies ([`disk::mirrored`]), replaced
//! atomically whenever a database comes, goes, is renamed or moves a file. It holds what is needed
//! to open each database; all else is in the databases themselves. Files in the instance's folder
//! are recorded relative to it, so that it can be moved and copied; others absolute. Version 1 of
//! the list had absolute paths only: those below the folder that its master was in then are taken
//! for paths below the folder of now.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use compact_str::CompactString;
use disk::mirrored::{self, Damaged, FoundCopies};
use disk::{Disk, DiskError};

/// database_id of master.
pub const MASTER: i32 = 1;
/// database_id of tempdb, which is rebuilt at each start.
pub const TEMPDB: i32 = 2;
/// database_id of model, whose options new databases get.
pub const MODEL: i32 = 3;
/// Number of the handle through which table variables are reached; no database_id.
pub const VARIABLES: i32 = 32_766;
/// First database_id of user databases.
pub const FIRST_USER_DB: i32 = 5;

/// The file's name in the instance's folder.
pub const FILE_NAME: &str = "databases.registry";
const MAGIC: &str = "ringwood databases 2";
/// Before files were recorded relative to the folder.
const MAGIC_ABSOLUTE: &str = "ringwood databases 1";
/// As [`DbEntry::log_alignment`]: the physical sector that the device reports.
pub const ALIGN_TO_DEVICE: u16 = 1;

/// One file of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// sys.database_files.file_id.
    pub file_id: u16,
    /// Log rather than data.
    pub log: bool,
    /// 1 = PRIMARY; 0 for the log.
    pub filegroup: u16,
    /// Logical name.
    pub name: CompactString,
    /// Where it is, as resolved at creation.
    pub path: PathBuf,
    /// As written in the statement: what physical_name shows.
    pub shown: CompactString,
    /// Where it is looked for when the database is opened next, and how that is shown: MODIFY FILE
    /// (FILENAME).
    pub next: Option<(PathBuf, CompactString)>,
}

impl DbEntry {
    /// The files that were told to be elsewhere are there from now on.
    pub fn take_next_places(&mut self) {
        for file in &mut self.files {
            if let Some((path, shown)) = file.next.take() {
                (file.path, file.shown) = (path, shown);
            }
        }
    }
}

/// One database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbEntry {
    /// database_id.
    pub id: i32,
    /// Its name.
    pub name: CompactString,
    /// Taken offline by ALTER DATABASE SET OFFLINE.
    pub offline: bool,
    /// A restore is going on; nobody opens it.
    pub restoring: bool,
    /// Alignment of log writes: 512 or 4096, [`ALIGN_TO_DEVICE`], or 0 = 4096 unless the device
    /// needs more.
    pub log_alignment: u16,
    /// Filegroup names by id, from 1.
    pub filegroups: Vec<CompactString>,
    /// Files by file_id.
    pub files: Vec<FileEntry>,
}

/// A file that is being made or removed: if its database does not have it at the next start, it
/// goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingFile {
    /// database_id of the database that it is for.
    pub db: i32,
    /// Where it is.
    pub path: PathBuf,
}

/// All that the registry says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    pub entries: Vec<DbEntry>,
    pub pending: Vec<PendingFile>,
    /// The folder of a list of version 1, when it was written.
    pub folder_before: Option<PathBuf>,
    /// Copies of the file that are to be rewritten, and why.
    pub stale: Vec<(PathBuf, String)>,
    /// The file is of the time before there were two copies.
    pub single: bool,
}

/// What reading the registry can end in.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// No copy of the file is whole.
    #[error("the list of databases is damaged: {0}")]
    Damaged(Damaged),
    /// The file is whole, and not what this version understands.
    #[error("the list of databases cannot be read: {0}")]
    Format(String),
}

/// Reads the list; an instance that has none yet gives an empty one.
///
/// # Errors
/// [`RegistryError::Damaged`]: the databases' own files tell what was in it.
pub fn read(disk: &dyn Disk, root: &Path) -> Result<Registry, RegistryError> {
    let is_old = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(|text| parse(text).is_ok());
    let content = match mirrored::read(disk, &root.join(FILE_NAME), &is_old)? {
        FoundCopies::Nothing => return Ok(Registry::default()),
        FoundCopies::Whole(content) => content,
        FoundCopies::Damaged(damaged) => return Err(RegistryError::Damaged(damaged)),
    };
    let text =
        String::from_utf8(content.bytes).map_err(|_| RegistryError::Format("not text".into()))?;
    let mut found = parse(&text)?;
    found.make_absolute(root);
    (found.stale, found.single) = (content.stale, content.generation == 0);
    Ok(found)
}

/// What the lines of a damaged list say that can still be read. Each may be wrong: they are places
/// to look at.
#[must_use]
pub fn remains(damaged: &Damaged, root: &Path) -> Registry {
    let mut all = Registry::default();
    for bytes in &damaged.remains {
        let text = String::from_utf8_lossy(bytes);
        let mut found = Registry::default();
        for line in text.lines() {
            let _ = found.add_line(line);
        }
        found.make_absolute(root);
        all.entries.append(&mut found.entries);
        all.pending.append(&mut found.pending);
    }
    all
}

/// Whether there is a copy of the list, whole or not.
///
/// # Errors
/// Of the disk.
pub fn exists(disk: &dyn Disk, root: &Path) -> Result<bool, DiskError> {
    let path = root.join(FILE_NAME);
    Ok(disk.exists(&path)? || disk.exists(&mirrored::second_copy(&path))?)
}

/// Replaces the list. Returns the error of the second copy where only the first one could be
/// written.
///
/// # Errors
/// Of the disk; the list is as it was.
pub fn write(
    disk: &dyn Disk,
    root: &Path,
    entries: &[DbEntry],
    pending: &[PendingFile],
) -> Result<Option<DiskError>, DiskError> {
    mirrored::write(disk, &root.join(FILE_NAME), format_registry(root, entries, pending).as_bytes())
}

fn format_registry(root: &Path, entries: &[DbEntry], pending: &[PendingFile]) -> String {
    let recorded = |path: &Path| escape(&path.strip_prefix(root).unwrap_or(path).to_string_lossy());
    let mut body = String::new();
    for file in pending {
        let _ = writeln!(body, "pending\t{}\t{}", file.db, recorded(&file.path));
    }
    for db in entries {
        let _ = writeln!(
            body,
            "database\t{}\t{}\t{}\t{}",
            db.id,
            u8::from(db.offline) + 2 * u8::from(db.restoring),
            db.log_alignment,
            escape(&db.name)
        );
        for group in &db.filegroups {
            let _ = writeln!(body, "filegroup\t{}", escape(group));
        }
        for f in &db.files {
            let (name, shown) = (escape(&f.name), escape(&f.shown));
            let path = recorded(&f.path);
            let log = u8::from(f.log);
            let _ = writeln!(
                body,
                "file\t{}\t{log}\t{}\t{name}\t{path}\t{shown}",
                f.file_id, f.filegroup
            );
            if let Some((path, shown)) = &f.next {
                let _ = writeln!(body, "next\t{}\t{}", recorded(path), escape(shown));
            }
        }
    }
    format!("{MAGIC}\n{body}end\t{:08x}\n", checksum(&body))
}

fn parse(text: &str) -> Result<Registry, RegistryError> {
    let wrong = |what: &str| RegistryError::Format(what.to_string());
    let absolute = text.starts_with(MAGIC_ABSOLUTE);
    let rest = text
        .strip_prefix(if absolute { MAGIC_ABSOLUTE } else { MAGIC })
        .and_then(|t| t.strip_prefix('\n'))
        .ok_or_else(|| wrong("unknown format"))?;
    let (body, end) = rest.rsplit_once("end\t").ok_or_else(|| wrong("it ends early"))?;
    if u32::from_str_radix(end.trim(), 16).ok() != Some(checksum(body)) {
        return Err(wrong("its checksum is wrong"));
    }
    let mut registry = Registry::default();
    for line in body.lines() {
        registry.add_line(line).ok_or_else(|| wrong(line))?;
    }
    registry.folder_before = if absolute { folder_of(&registry.entries) } else { None };
    Ok(registry)
}

impl Registry {
    /// Whether no copy of the list is there.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.entries.is_empty() && self.stale.is_empty() && !self.single
    }

    /// Takes in what one line says; `None` where it cannot be one.
    fn add_line(&mut self, line: &str) -> Option<()> {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["database", id, offline, alignment, name] => self.entries.push(DbEntry {
                id: id.parse().ok()?,
                name: unescape(name),
                offline: matches!(*offline, "1" | "3"),
                restoring: matches!(*offline, "2" | "3"),
                log_alignment: alignment.parse().unwrap_or(0),
                filegroups: Vec::new(),
                files: Vec::new(),
            }),
            ["pending", id, path] => {
                let path = PathBuf::from(unescape(path).as_str());
                self.pending.push(PendingFile { db: id.parse().ok()?, path });
            }
            ["filegroup", name] => self.entries.last_mut()?.filegroups.push(unescape(name)),
            ["file", id, log, group, name, path, shown] => {
                let file = parse_file(id, log, group, name, path, shown)?;
                self.entries.last_mut()?.files.push(file);
            }
            ["next", path, shown] => {
                let file = self.entries.last_mut()?.files.last_mut()?;
                file.next = Some((PathBuf::from(unescape(path).as_str()), unescape(shown)));
            }
            _ => return None,
        }
        Some(())
    }

    /// Makes what is recorded relative to the folder, or below the folder of before, a path of now.
    fn make_absolute(&mut self, root: &Path) {
        let before = self.folder_before.clone();
        let actual = |path: &mut PathBuf| {
            let rest = before.as_ref().and_then(|before| path.strip_prefix(before).ok());
            *path = root.join(rest.unwrap_or(path));
        };
        for file in self.entries.iter_mut().flat_map(|entry| &mut entry.files) {
            actual(&mut file.path);
            file.next.iter_mut().for_each(|(path, _)| actual(path));
        }
        self.pending.iter_mut().for_each(|file| actual(&mut file.path));
    }
}

/// Where the folder was whose list has absolute paths: master's primary file was always in it.
fn folder_of(entries: &[DbEntry]) -> Option<PathBuf> {
    let master = entries.iter().find(|db| db.id == MASTER)?;
    let primary = master.files.iter().find(|f| f.file_id == 1)?;
    Some(primary.path.parent()?.to_path_buf())
}

fn parse_file(
    id: &str,
    log: &str,
    group: &str,
    name: &str,
    path: &str,
    shown: &str,
) -> Option<FileEntry> {
    Some(FileEntry {
        file_id: id.parse().ok()?,
        log: log == "1",
        filegroup: group.parse().ok()?,
        name: unescape(name),
        path: PathBuf::from(unescape(path).as_str()),
        shown: unescape(shown),
        next: None,
    })
}

pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' => out.push_str("%25"),
            '\t' => out.push_str("%09"),
            '\n' => out.push_str("%0A"),
            '\r' => out.push_str("%0D"),
            c => out.push(c),
        }
    }
    out
}

pub fn unescape(text: &str) -> CompactString {
    text.replace("%09", "\t").replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%").into()
}

/// FNV-1a: it tells a hand-edited or cut file from a whole one.
pub fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<DbEntry> {
        vec![DbEntry {
            id: 5,
            name: "odd\tname 100%09".into(),
            offline: true,
            restoring: true,
            log_alignment: 512,
            filegroups: vec!["PRIMARY".into()],
            files: vec![FileEntry {
                file_id: 1,
                log: false,
                filegroup: 1,
                name: "x".into(),
                path: "/data/E/x.mdf".into(),
                shown: r"E:\x.mdf".into(),
                next: Some(("/elsewhere/x.mdf".into(), "/elsewhere/x.mdf".into())),
            }],
        }]
    }

    fn pending() -> Vec<PendingFile> {
        vec![PendingFile { db: 7, path: "/data/half\tmade.mdf".into() }]
    }

    const ROOT: &str = "/data";

    fn text() -> String {
        format_registry(Path::new(ROOT), &sample(), &pending())
    }

    /// What an instance in `root` reads.
    fn read_in(root: &str, text: &str) -> Registry {
        let disk = sim::SimDisk::new(1);
        disk.write_small_atomic(&Path::new(root).join(FILE_NAME), text.as_bytes()).unwrap();
        read(&disk, Path::new(root)).unwrap()
    }

    #[test]
    fn the_list_survives() {
        let all =
            Registry { entries: sample(), pending: pending(), single: true, ..Registry::default() };
        assert_eq!(Registry { stale: Vec::new(), ..read_in(ROOT, &text()) }, all);
        assert_eq!(
            parse(&format_registry(Path::new(ROOT), &[], &[])).unwrap(),
            Registry::default()
        );
    }

    #[test]
    fn files_in_the_folder_move_with_it() {
        let found = read_in("/moved", &text());
        let file = &found.entries[0].files[0];
        assert_eq!(file.path, Path::new("/moved/E/x.mdf"));
        assert_eq!(
            file.next.as_ref().map(|(path, _)| path.as_path()),
            Some(Path::new("/elsewhere/x.mdf"))
        );
        assert_eq!(found.pending[0].path, Path::new("/moved/half\tmade.mdf"));
    }

    /// A list as it was written before: master in /old, a file in the same folder, one outside.
    #[test]
    fn lists_with_absolute_paths_are_read() {
        let body = "pending\t5\t/old/new.ndf\ndatabase\t1\t0\t0\tmaster\nfilegroup\tPRIMARY\n\
                    file\t1\t0\t1\tmaster\t/old/master.mdf\tmaster.mdf\n\
                    file\t2\t1\t0\tmastlog\t/old/mastlog.ldf\tmastlog.ldf\n\
                    database\t5\t0\t0\tx\nfilegroup\tPRIMARY\n\
                    file\t1\t0\t1\tx\t/old/E/x.mdf\tE:\\x.mdf\nfile\t2\t1\t0\tl\t/older/x.ldf\t/older/x.ldf\n";
        let text = format!("{MAGIC_ABSOLUTE}\n{body}end\t{:08x}\n", checksum(body));
        let found = read_in("/new", &text);
        let paths: Vec<&Path> =
            found.entries.iter().flat_map(|e| &e.files).map(|f| f.path.as_path()).collect();
        let expected = ["/new/master.mdf", "/new/mastlog.ldf", "/new/E/x.mdf", "/older/x.ldf"];
        assert_eq!(paths, expected.map(Path::new));
        assert_eq!(found.pending[0].path, Path::new("/new/new.ndf"));
        assert_eq!(found.folder_before, Some("/old".into()));
    }

    #[test]
    fn damage_is_noticed() {
        let text = text();
        for cut in [0, 5, text.len() / 2, text.len() - 3] {
            assert!(parse(&text[..cut]).is_err());
        }
        assert!(parse(&text.replace("x.mdf", "y.mdf")).is_err());
    }
}
