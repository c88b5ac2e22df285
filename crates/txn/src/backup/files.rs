//! Data files that come and go in the log of a database that is being restored.
//! Guarantees: before the log that adds a file is announced the file is there and listed, durably; a file that a step of
//! which nothing is announced has made is given up by the next redo.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pages::{FileEvent, FileSpec, LogHandle, PageError, Store};
use wal::Lsn;

use super::error::BackupError;
use crate::database::Env;

/// Says where a file goes that the log adds (`path` of the specification is where it was), or `None`: nowhere. What is at
/// the place is replaced.
pub type PlaceFile<'a> = &'a mut dyn FnMut(&FileSpec) -> Option<PathBuf>;

/// The log of a database while only its header pages change: nothing is appended, all that is there is hard.
struct Still(Lsn);

impl LogHandle for Still {
    fn append(&self, _record: &[u8]) -> Result<Lsn, PageError> {
        Err(PageError::Invalid { what: "the database is being restored" })
    }

    fn end(&self) -> Lsn {
        self.0
    }

    fn flush_to(&self, _lsn: Lsn) -> Result<(), PageError> {
        Ok(())
    }

    fn hardened(&self) -> Lsn {
        Lsn::MAX
    }

    fn read(&self, _lsn: Lsn, _out: &mut Vec<u8>) -> Result<(), PageError> {
        Err(PageError::Invalid { what: "the database is being restored" })
    }
}

/// Makes the files that are there behind the events and are not there yet. `end`: of the log as it is announced.
pub(super) fn make_files(
    env: &Env,
    primary: &Path,
    end: Lsn,
    events: Vec<FileEvent>,
    place: PlaceFile<'_>,
) -> Result<(), BackupError> {
    let last: BTreeMap<u16, Option<FileSpec>> = events.into_iter().map(|e| (e.id, e.added)).collect();
    let store = Store::open(env.disk.clone(), env.pool.clone(), Arc::new(Still(end)), primary)?;
    let there = store.files();
    for spec in last.into_values().flatten() {
        if there.iter().any(|f| f.spec.id == spec.id) {
            continue;
        }
        let Some(path) = place(&spec) else {
            return Err(BackupError::NoPlace { name: spec.name, path: spec.path });
        };
        let spec = FileSpec { path, ..spec };
        store.promise_file(&spec).map_err(|e| match e {
            PageError::Disk(cause) => BackupError::CannotMake { name: spec.name, path: spec.path, cause },
            e => e.into(),
        })?;
    }
    Ok(())
}
