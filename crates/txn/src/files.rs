//! Data files of an open database: added, changed, removed. Guarantees: a file that
//! [`Database::add_file`] has returned is there after a crash, one that [`Database::remove_file`]
//! has taken out is not; a change of size, growth or limit is durable on return, a smaller size
//! too.

use pages::{FileEvent, FileGrowth, FileSpec};
use parking_lot::MutexGuard;

use crate::database::Database;
use crate::error::TxnError;
use crate::txn::now_us;

impl Database {
    /// While this is held no backup of the data begins and no file comes or goes elsewhere: a
    /// backup is of one list of files.
    ///
    /// # Errors
    /// [`TxnError::FilesBusy`] while one of these is going on.
    pub fn hold_files(&self) -> Result<MutexGuard<'_, ()>, TxnError> {
        self.checkpointer().data_backup.try_lock().ok_or(TxnError::FilesBusy)
    }

    /// Adds a data file; its number is `spec.id` (see [`pages::Store::next_file_id`]). It takes its
    /// share of new extents at once. The caller holds the files ([`hold_files`](Self::hold_files)).
    /// After an error the file may be left on the disk, listed or not: opening the database again
    /// decides.
    ///
    /// # Errors
    /// The file is there already or cannot be made; the log's errors.
    pub fn add_file(&self, spec: &FileSpec) -> Result<(), TxnError> {
        self.check_online()?;
        let store = self.store();
        store.make_file(spec)?;
        self.list_file(spec.id, Some(spec))?;
        // The list is read before redo: it must be on disk before any record can mean the new file.
        self.log().flush_all()?;
        if let Err(e) = self.checkpoint() {
            // It is not used, so it must not stay in the list.
            if self.list_file(spec.id, None).is_err() {
                self.fail("adding a data file", &e);
            }
            return Err(e);
        }
        Ok(store.use_file(spec.id, &spec.path)?)
    }

    /// Takes a data file out of the database; false when something is allocated in it. The caller
    /// holds the files and removes this one itself.
    ///
    /// # Errors
    /// [`pages::PageError::Invalid`] for the primary file; no such file; the log's errors.
    pub fn remove_file(&self, id: u16) -> Result<bool, TxnError> {
        self.check_online()?;
        let store = self.store();
        let Some(file) = store.files().into_iter().find(|f| f.spec.id == id) else {
            return Err(TxnError::Invalid("no such data file"));
        };
        if !store.close_file(id)? {
            return Ok(false);
        }
        let done = self.list_file(id, None).and_then(|()| {
            self.log().flush_all()?;
            // Writes what is left of its maps: nothing of it is redone any more.
            self.checkpoint().map(drop)
        });
        if let Err(e) = &done
            && self.list_file(id, Some(&file.spec)).is_err()
        {
            // In use and not listed: the next open would not find what is written to it from now
            // on.
            self.fail("removing a data file", e);
        }
        store.end_close(id, done.is_ok());
        done.map(|()| true)
    }

    fn list_file(&self, id: u16, added: Option<&FileSpec>) -> Result<(), TxnError> {
        let event = FileEvent { id, time_us: now_us(), added: added.cloned() };
        self.store().list_file(&mut self.system_sink(), &event)?;
        Ok(())
    }

    /// Changes how a data file grows, and its limit in bytes.
    ///
    /// # Errors
    /// No such file; the log's errors.
    pub fn limit_file(
        &self,
        id: u16,
        growth: FileGrowth,
        max_size: Option<u64>,
    ) -> Result<(), TxnError> {
        self.check_online()?;
        self.store().limit_file(&mut self.system_sink(), id, growth, max_size)?;
        Ok(self.log().flush_all()?)
    }

    /// Gives a data file another logical name.
    ///
    /// # Errors
    /// No such file; the log's errors.
    pub fn rename_file(&self, id: u16, name: &str) -> Result<(), TxnError> {
        self.check_online()?;
        self.store().rename_file(&mut self.system_sink(), id, name)?;
        Ok(self.log().flush_all()?)
    }

    /// Gives the free extents at the end of a data file back to the disk, down to `least` pages.
    /// The caller holds the files. A file that has to grow meanwhile stays as long as it is.
    ///
    /// # Errors
    /// No such file; I/O; the log's errors.
    pub fn shrink_file(&self, id: u16, least: u32) -> Result<(), TxnError> {
        self.check_online()?;
        let store = self.store();
        let Some(pages) = store.begin_cut(id, least)? else { return Ok(()) };
        if let Err(e) = self.checkpoint() {
            store.give_up_cut(id)?;
            return Err(e);
        }
        if store.end_cut(id, pages)? && pages < store.file_usage(id)?.minimum {
            store.note_minimum(&mut self.system_sink(), id, pages)?;
            self.log().flush_all()?;
        }
        Ok(())
    }

    /// Makes a data file at least so many bytes long.
    ///
    /// # Errors
    /// The disk is full; no such file.
    pub fn grow_file(&self, id: u16, bytes: u64) -> Result<(), TxnError> {
        self.check_online()?;
        Ok(self.store().grow_file(id, bytes)?)
    }
}
