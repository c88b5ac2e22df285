//! The list of databases, made again from the databases' own files when no copy of it is whole.
//!
//! Each data file and log says which database it is of; a primary file says which files the
//! database has, and its boot page the database's name and number, the names of filegroups, and
//! where the log is. What can still be read of the damaged copies tells where to look outside of
//! the folder, and which databases were offline.
//!
//! Guarantees: a database whose primary file is found is in the list; files are only looked at; of
//! two files that claim to be one database's, the one at the place that it names is taken and the
//! other one is named in the report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use catalog::registry::{DbEntry, FileEntry, Registry};
use catalog::settings::DbSettings;
use catalog::{MASTER, TEMPDB};
use compact_str::CompactString;
use disk::Disk;
use pages::InstanceHome;
use txn::FileIdentity;

use super::own_files;
use super::permit::Paths;

/// Folders below the instance's one are looked into so deep, and so many files are looked at.
const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 100_000;

/// The list as it was made, and what there is to say about it.
pub(super) struct MadeAgain {
    pub registry: Registry,
    pub news: Vec<String>,
}

/// Looks for the databases of a folder, of its volumes and of the places that `remains` names.
pub(super) fn make_again(
    disk: &dyn Disk,
    paths: &Paths,
    home: &InstanceHome,
    remains: &Registry,
) -> MadeAgain {
    let mut search =
        Search { disk, paths, home, found: BTreeMap::new(), news: Vec::new(), left: MAX_FILES };
    search.folder(paths.root(), 0);
    for folder in paths.volumes() {
        search.folder(folder, 0);
    }
    for file in remains.entries.iter().flat_map(|entry| &entry.files) {
        search.file(&file.path);
        file.next.iter().for_each(|(path, _)| search.file(path));
    }
    search.listed_files();
    let mut entries = search.entries(remains);
    search.keep_unfound(&mut entries, remains);
    entries.sort_by_key(|entry| entry.id);
    let names: Vec<String> = entries.iter().map(|entry| format!("'{}'", entry.name)).collect();
    search.news.push(format!(
        "The list of databases was made again from the databases' files: {}. Databases that were offline may be online now.",
        names.join(", ")
    ));
    MadeAgain { registry: Registry { entries, ..Registry::default() }, news: search.news }
}

struct Search<'a> {
    disk: &'a dyn Disk,
    paths: &'a Paths,
    home: &'a InstanceHome,
    /// Files of databases that may be this instance's.
    found: BTreeMap<PathBuf, FileIdentity>,
    news: Vec<String>,
    /// Files that may still be looked at.
    left: usize,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = self.disk.list(folder) else { return };
        for path in entries {
            if path.strip_prefix(self.paths.root()).is_ok_and(own_files::keeps) {
                continue;
            }
            // What can be listed is a folder.
            match self.disk.list(&path) {
                Ok(_) if depth < MAX_DEPTH => self.folder(&path, depth + 1),
                Ok(_) => {}
                Err(_) => self.file(&path),
            }
        }
    }

    fn file(&mut self, path: &Path) {
        if self.left == 0 || self.found.contains_key(path) {
            return;
        }
        self.left -= 1;
        match txn::identify(self.disk, path, self.home) {
            Ok(Some(found)) if self.home.check(self.disk, path, &found.owner).is_ok() => {
                self.found.insert(path.to_path_buf(), found);
            }
            Ok(_) => {}
            Err(e) if self.disk.exists(path).unwrap_or(false) => {
                self.news.push(format!("'{}' could not be looked at: {e}.", path.display()));
            }
            Err(_) => {}
        }
    }

    /// The places that primary files name, of data files and of logs.
    fn listed_files(&mut self) {
        let mut places = Vec::new();
        for found in self.found.values() {
            places.extend(found.files.iter().map(|(_, path)| path.clone()));
            let log = settings_of(found).and_then(|s| self.paths.resolve(&s.log_file).ok());
            places.extend(log);
        }
        places.iter().for_each(|path| self.file(path));
    }

    fn entries(&mut self, remains: &Registry) -> Vec<DbEntry> {
        let mut primaries: Vec<(PathBuf, FileIdentity)> = self.found.clone().into_iter().collect();
        primaries.retain(|(_, found)| found.file_id == 1);
        // Those that are where they say that they are come first.
        primaries.sort_by_key(|(path, found)| {
            !found.files.iter().any(|(id, at)| *id == 1 && at == path)
        });
        let mut entries: Vec<DbEntry> = Vec::new();
        let mut unnumbered = Vec::new();
        for (path, found) in primaries {
            let Some(entry) = self.entry(&path, &found, remains) else { continue };
            let same = |other: &&DbEntry| {
                other.id == entry.id || other.name.eq_ignore_ascii_case(&entry.name)
            };
            match entries.iter().find(same) {
                Some(other) => self.news.push(format!(
                    "'{}' is not in the list: it claims to be '{}', as '{}' does. Attach it under another name.",
                    path.display(),
                    entry.name,
                    primary_of(other).display()
                )),
                None if entry.id == 0 => unnumbered.push(entry),
                None => entries.push(entry),
            }
        }
        for mut entry in unnumbered {
            let free =
                (catalog::FIRST_USER_DB..).find(|id| entries.iter().all(|other| other.id != *id));
            entry.id = free.unwrap_or(i32::MAX);
            entries.push(entry);
        }
        entries
    }

    /// What a primary file and its boot page say of their database.
    fn entry(&mut self, path: &Path, found: &FileIdentity, remains: &Registry) -> Option<DbEntry> {
        let Some(settings) = settings_of(found) else {
            let text =
                format!("'{}' is not in the list: its boot page cannot be read.", path.display());
            self.news.push(text);
            return None;
        };
        let named = remains.entries.iter().find(|entry| primary_of(entry) == path);
        if settings.database_id == 0 && !settings.database_name.is_empty() && named.is_none() {
            // It was detached.
            return None;
        }
        let stem =
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let names =
            [settings.database_name.clone(), found.name.as_str().into(), stem.as_str().into()];
        let name = names.into_iter().find(|name| !name.is_empty())?;
        let id = match settings.database_id {
            0 => system_id(&name).or(named.map(|entry| entry.id)).unwrap_or(0),
            id => id,
        };
        let log = self.log_of(path, &stem, found, &settings);
        let restoring = self.found.get(&log).is_some_and(|log| log.restoring);
        let mut files = self.data_files(path, found);
        files.push(FileEntry {
            file_id: 2,
            log: true,
            filegroup: 0,
            name: settings.log_name.clone(),
            shown: match self.paths.resolve(&settings.log_file) {
                Ok(noted) if noted == log => settings.log_file.clone(),
                _ => self.shown(&log),
            },
            path: log,
            next: None,
        });
        files.sort_by_key(|file| file.file_id);
        let mut entry = DbEntry {
            id,
            name,
            offline: named.is_some_and(|entry| entry.offline),
            restoring,
            log_alignment: named.map_or(0, |entry| entry.log_alignment),
            filegroups: settings.filegroups,
            files,
        };
        if entry.filegroups.is_empty() {
            entry.filegroups.push("PRIMARY".into());
        }
        for file in &mut entry.files {
            // The list may have been cut in the middle of a name.
            let whole = |known: &&FileEntry| {
                self.paths.resolve(&known.shown).is_ok_and(|path| path == file.path)
            };
            let known =
                named.and_then(|named| named.files.iter().find(|known| known.path == file.path));
            if let Some(known) = known.filter(whole) {
                (file.shown, file.next) = (known.shown.clone(), known.next.clone());
            }
        }
        Some(entry)
    }

    fn data_files(&self, primary: &Path, found: &FileIdentity) -> Vec<FileEntry> {
        let mut files = Vec::new();
        for (file_id, recorded) in &found.files {
            let beside = recorded.file_name().map(|name| primary.with_file_name(name));
            let own = |path: &PathBuf| {
                let there = self.found.get(path);
                there.is_some_and(|f| f.database == found.database && f.file_id == *file_id)
            };
            let path = match file_id {
                1 => primary.to_path_buf(),
                _ => Some(recorded.clone())
                    .filter(own)
                    .or(beside.filter(own))
                    .or_else(|| self.found.keys().find(|path| own(path)).cloned())
                    .unwrap_or_else(|| recorded.clone()),
            };
            let name = self.found.get(&path).map(|f| f.name.as_str().into()).unwrap_or_default();
            let shown = self.shown(&path);
            // Its filegroup is in its header, which is read when the database is opened.
            files.push(FileEntry {
                file_id: *file_id,
                log: false,
                filegroup: 1,
                name,
                path,
                shown,
                next: None,
            });
        }
        files
    }

    fn shown(&self, path: &Path) -> CompactString {
        self.paths.with_drive_letter(path).unwrap_or_else(|| self.paths.shown(path)).into()
    }

    /// Where the log is: at the place that the boot page names, beside the primary file, or
    /// anywhere.
    fn log_of(
        &self,
        primary: &Path,
        stem: &str,
        found: &FileIdentity,
        settings: &DbSettings,
    ) -> PathBuf {
        let own = |path: &PathBuf| {
            self.found.get(path).is_some_and(|f| f.database == found.database && f.file_id == 2)
        };
        let noted = self.paths.resolve(&settings.log_file).ok();
        let usual = primary.with_file_name(format!("{stem}_log.ldf"));
        let near = self.found.keys().filter(|path| own(path)).min_by_key(|path| {
            // Copies of a folder have their own log beside them.
            path.parent() != primary.parent()
        });
        let taken = noted.clone().filter(own).or_else(|| Some(usual.clone()).filter(own));
        taken.or_else(|| near.cloned()).or(noted).unwrap_or(usual)
    }

    /// Databases that the damaged copies name and whose files are not found stay in the list, so
    /// that nobody takes them for dropped.
    fn keep_unfound(&mut self, entries: &mut Vec<DbEntry>, remains: &Registry) {
        let usual = remains.entries.iter().cloned().chain(self.system_entries());
        for entry in usual {
            let primary = primary_of(&entry);
            let known = entries.iter().any(|e| {
                e.id == entry.id
                    || e.name.eq_ignore_ascii_case(&entry.name)
                    || primary_of(e) == primary
            });
            let complete =
                entry.files.iter().any(|f| f.log) && entry.files.iter().any(|f| f.file_id == 1);
            if entry.id <= 0 || entry.name.is_empty() || known || !complete {
                continue;
            }
            if entry.id != TEMPDB {
                let text = format!(
                    "The files of '{}' say nothing: it is in the list as far as that can be read.",
                    entry.name
                );
                self.news.push(text);
            }
            entries.push(entry);
        }
    }

    /// System databases at their usual places, where there are files.
    fn system_entries(&self) -> Vec<DbEntry> {
        let all = super::SYSTEM.into_iter().filter(|(_, id)| *id != TEMPDB);
        all.map(|(name, id)| system_entry(self.paths, name, id))
            .filter(|entry| self.disk.exists(primary_of(entry)).unwrap_or(false))
            .collect()
    }
}

/// A system database as it is made.
pub fn system_entry(paths: &Paths, name: &str, id: i32) -> DbEntry {
    let log = if id == MASTER { "mastlog".to_string() } else { format!("{name}_log") };
    let file = |file_id: u16, name: &str, ending: &str| {
        let shown = CompactString::from(format!("{name}.{ending}"));
        let (log, path) = (file_id == 2, paths.root().join(shown.as_str()));
        FileEntry {
            file_id,
            log,
            filegroup: u16::from(!log),
            name: name.into(),
            path,
            shown,
            next: None,
        }
    };
    DbEntry {
        id,
        name: name.into(),
        offline: false,
        restoring: false,
        log_alignment: 0,
        filegroups: vec!["PRIMARY".into()],
        files: vec![file(1, name, "mdf"), file(2, &log, "ldf")],
    }
}

fn system_id(name: &str) -> Option<i32> {
    super::SYSTEM.iter().find(|(system, _)| *system == name).map(|(_, id)| *id)
}

fn primary_of(entry: &DbEntry) -> &Path {
    let primary = entry.files.iter().find(|file| file.file_id == 1);
    primary.map_or(Path::new(""), |file| file.path.as_path())
}

/// The engine's settings in the boot page of a primary file.
fn settings_of(found: &FileIdentity) -> Option<DbSettings> {
    let state = found.settings.as_ref().filter(|state| !state.meta.is_empty())?;
    std::str::from_utf8(&state.meta).ok().map(DbSettings::read)
}
