//! Data files that come and go in the log of a database that is being restored. Guarantees: before
//! the log that adds a file is announced the file is there and listed, durably; a file that a step
//! of which nothing is announced has made is given up by the next redo.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pages::{DataFiles, FileEvent, FileSpec, LogHandle, PageError, Store};
use wal::Lsn;

use super::error::BackupError;
use crate::database::Env;

/// Says where the files go that the log adds (`path` of a specification is where it was), or which
/// of them goes nowhere. What is at a place is replaced.
pub type PlaceFiles<'a> = &'a mut dyn FnMut(&[FileSpec]) -> Result<Vec<PathBuf>, usize>;

/// The log of a database while only its header pages change: nothing is appended, all that is there
/// is durable.
struct QuietLog(Lsn);

impl LogHandle for QuietLog {
    fn append(&self, _record: &[u8]) -> Result<Lsn, PageError> {
        Err(PageError::Invalid { what: "the database is being restored" })
    }

    fn end(&self) -> Lsn {
        self.0
    }

    fn flush_to(&self, _lsn: Lsn) -> Result<(), PageError> {
        Ok(())
    }

    fn flush_all(&self) -> Result<(), PageError> {
        Ok(())
    }

    fn durable_lsn(&self) -> Lsn {
        Lsn::MAX
    }

    fn read(&self, _lsn: Lsn, _out: &mut Vec<u8>) -> Result<(), PageError> {
        Err(PageError::Invalid { what: "the database is being restored" })
    }
}

/// Makes the files that are there after the events and are not there yet: all of them or none. What
/// a step of which nothing is announced has made goes where this one says. A file whose number one
/// of the database's files has becomes that one: it was emptied and removed, but until the log is
/// announced the database needs it where it is. `end`: of the log as it is announced.
pub(super) fn make_files(
    env: &Env,
    primary: &Path,
    end: Lsn,
    events: Vec<FileEvent>,
    place: PlaceFiles<'_>,
) -> Result<(), BackupError> {
    let last: BTreeMap<u16, Option<FileSpec>> =
        events.into_iter().map(|e| (e.id, e.added)).collect();
    let files = DataFiles::open(&*env.disk, primary, &env.home)?;
    let store = Store::open(env.disk.clone(), env.pool.clone(), Arc::new(QuietLog(end)), files)?;
    let there = store.files();
    let there = |id: u16| there.iter().any(|f| f.spec.id == id) && !store.is_promised(id);
    let mut specs: Vec<FileSpec> =
        last.into_values().flatten().filter(|spec| !there(spec.id)).collect();
    if specs.is_empty() {
        return Ok(());
    }
    let paths = place(&specs).map_err(|i| {
        let FileSpec { name, path, .. } = specs.swap_remove(i);
        BackupError::NoPlace { name, path }
    })?;
    specs.iter_mut().zip(paths).for_each(|(spec, path)| spec.path = path);
    store.promise_files(&specs).map_err(|(i, e)| match (i, e) {
        (Some(i), PageError::Disk(cause)) => {
            let FileSpec { name, path, .. } = specs.swap_remove(i);
            BackupError::CannotMake { name, path, cause }
        }
        // The files may be there: the caller that gave the places keeps them.
        (_, e) => e.into(),
    })
}
