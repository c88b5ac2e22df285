//! System databases that do not open because of damage that can be undone without loss: a page of
//! which one bit has changed, a log that is damaged and not needed. Databases of users are left to
//! their administrators. Guarantees: nothing is guessed, what does not follow from what is there is
//! left as it is; a damaged log is kept under another name; each step is in the error log.

use std::path::{Path, PathBuf};

use catalog::TEMPDB;
use catalog::registry::DbEntry;
use disk::{DiskError, OpenMode};
use pages::MendedPage;
use txn::{Database, ErrorKind, TxnError};
use wal::MendedBit;

use super::file_errors::disk_error;
use super::files::Opened;
use super::open_error::OpenError;
use super::{InstanceCore, own_files};
use catalog::FIRST_USER_DB;
use catalog::db::DbStatus;

impl InstanceCore {
    /// Opens a system database that could not be opened, if its damage can be undone.
    pub(super) fn open_mended(
        &self,
        entry: &DbEntry,
        failed: OpenError,
    ) -> Result<Opened, OpenError> {
        if entry.id >= FIRST_USER_DB || entry.id == TEMPDB {
            return Err(failed);
        }
        if is_log_missing(&failed, entry) && !self.is_read_only() {
            return self.open_with_new_log(entry, false).unwrap_or(Err(failed));
        }
        if failed.status() != DbStatus::Suspect {
            return Err(failed);
        }
        let text =
            format!("'{}' is damaged and could not be opened: {}", entry.name, failed.text());
        self.error_log().write("Server", &text);
        let mended = self.mend_pages(entry);
        let failed = match self.open_files(entry) {
            Err(e) if mended || is_log_damage(&e) => e,
            other => return other,
        };
        if !is_log_damage(&failed) {
            return Err(failed);
        }
        if self.mend_log(entry) {
            match self.open_files(entry) {
                Err(e) if is_log_damage(&e) => {}
                other => return other,
            }
        }
        if self.is_read_only() {
            return Err(failed);
        }
        self.open_with_new_log(entry, true).unwrap_or(Err(failed))
    }

    /// A system database is open without something that cannot be read.
    pub(super) fn note_spared(&self, id: i32, what: &str) {
        let name =
            super::SYSTEM.iter().find(|(_, system)| *system == id).map_or("", |(name, _)| name);
        let text =
            format!("The system database '{name}' is damaged and open nevertheless: {what}.");
        self.error_log().write("Server", &text);
        self.add_notice(text);
    }

    /// Puts the pages right of which one bit has changed.
    fn mend_pages(&self, entry: &DbEntry) -> bool {
        let mut any = false;
        for file in entry.files.iter().filter(|file| !file.log) {
            match pages::mend_file(&*self.disk, &file.path, true) {
                Ok(state) => {
                    any |= !state.mended.is_empty();
                    for page in state.mended {
                        self.error_log().write("Server", &mended_text(&file.path, &page));
                    }
                }
                Err(e) => {
                    let text = format!("'{}' could not be mended: {e}", file.path.display());
                    self.error_log().write("Server", &text);
                }
            }
        }
        any
    }

    /// Puts the log blocks right of which one bit has changed.
    fn mend_log(&self, entry: &DbEntry) -> bool {
        let Some(log) = entry.files.iter().find(|file| file.log) else { return false };
        let Ok(file) = self.disk.open(&log.path, OpenMode::Open) else { return false };
        let mended = wal::mend(&file, true).unwrap_or_default();
        file.release();
        for bit in &mended {
            self.error_log().write("Server", &mended_bit_text(&log.path, bit));
        }
        !mended.is_empty()
    }

    /// Gives a database that was closed cleanly a new log and keeps the old one, if it is there.
    /// `None`: the log would be needed.
    fn open_with_new_log(&self, entry: &DbEntry, there: bool) -> Option<Result<Opened, OpenError>> {
        let primary = entry.files.iter().find(|file| file.file_id == 1)?;
        let log = entry.files.iter().find(|file| file.log)?;
        let env = self.env(entry);
        let closed = txn::identify(&*self.disk, &primary.path, &env.home).ok().flatten()?.closed;
        if !closed {
            return None;
        }
        let text = match there {
            true => format!("is damaged; it is '{}' now", self.put_log_aside(&log.path)?.display()),
            false => "is not there".to_string(),
        };
        let text = format!(
            "'{}' has a new log: the old one {text}. It was not needed, as the database was closed cleanly.",
            entry.name
        );
        self.error_log().write("Server", &text);
        let made =
            Database::open_without_log(env, &primary.path, &log.path, self.log_options(entry));
        Some(match made.and_then(|storage| storage.close()) {
            Ok(()) => self.open_files(entry),
            Err(e) => Err(e.into()),
        })
    }

    fn put_log_aside(&self, log: &Path) -> Option<PathBuf> {
        let aside = self.aside(log);
        let moved = self.disk.create_dir_all(aside.parent().unwrap_or(Path::new("")));
        match moved.and_then(|()| self.disk.rename(log, &aside)) {
            Ok(()) => Some(aside),
            Err(e) => {
                self.error_log().write("Server", &format!("The damaged log stays: {e}"));
                None
            }
        }
    }

    /// A name in the folder of what is put aside that nothing has.
    fn aside(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let folder = self.paths.root().join(own_files::REPAIR);
        let free = |path: &PathBuf| !self.disk.exists(path).unwrap_or(true);
        let mut names = (1u32..).map(|number| folder.join(format!("{number}-{name}")));
        names.find(free).unwrap_or_else(|| folder.join(name.as_ref()))
    }
}

/// What the error log says of a page that was put right.
pub fn mended_text(path: &Path, page: &MendedPage) -> String {
    let MendedPage { id, byte, bit } = page;
    let (file, number, path) = (id.file, id.page, path.display());
    format!(
        "Page {file}:{number} of '{path}': bit {bit} of byte {byte} had changed and was put right."
    )
}

/// The same of a log.
pub fn mended_bit_text(path: &Path, MendedBit { offset, bit }: &MendedBit) -> String {
    format!("Log '{}': bit {bit} of byte {offset} had changed and was put right.", path.display())
}

fn is_log_damage(e: &OpenError) -> bool {
    let OpenError::Txn(e) = e else { return false };
    matches!(e.kind(), ErrorKind::LogDamaged | ErrorKind::LogCorrupt)
        || matches!(e, TxnError::Log(wal::LogError::NotALog { .. }))
}

/// Whether the log, and nothing else, is not there: a start was interrupted between putting it
/// aside and making a new one.
fn is_log_missing(e: &OpenError, entry: &DbEntry) -> bool {
    let OpenError::Txn(e) = e else { return false };
    let log = entry.files.iter().find(|file| file.log);
    matches!(disk_error(e), Some(DiskError::NotFound { path }) if log.is_some_and(|log| log.path == *path))
}
