//! The root page of an index goes to another place, while nobody else uses the index.
//!
//! The catalog names the root, and log records of transactions name it for undo. So the caller
//! locks everybody out, those with open transactions too, and no background work cleans the index
//! meanwhile. [`BTree::copy_root`] makes a copy in the caller's transaction, which makes the
//! catalog name it; a rollback or a crash takes the copy away. Behind the commit the copy is the
//! root. It still names the page that it was copied from, whatever becomes of it, until
//! [`BTree::settle_root`] has freed that page: right after the commit, or after a crash before the
//! index is used.

use super::BTree;
use super::node::check_node;
use super::split::copy_entries;
use crate::Writer;
use crate::error::{AccessError, corrupt};
use crate::record::with_record;
use crate::space::{self, NewPage};
use pages::{PageId, PageType};

impl BTree {
    /// Copies the root to a new page; the index with that root is the same one.
    ///
    /// # Errors
    /// No space; I/O and the log's errors.
    pub fn copy_root(&self, w: &mut dyn Writer) -> Result<PageId, AccessError> {
        let root = self.space.store.read(self.root)?;
        check_node(&root, self.unit_id())?;
        let mut new = self.space.take()?;
        with_record(|rec| {
            rec.change();
            new.format(rec, root.level(), PageId::NONE, PageId::NONE, self.root)?;
            copy_entries(rec, &root, 0, root.slot_count(), 0)?;
            NewPage::change(&self.space.store, w, rec, &mut [], &mut [&mut new], None)
        })?;
        Ok(new.id())
    }

    /// Whether the root is a copy whose original has not been freed.
    ///
    /// # Errors
    /// The page is no node of the index; I/O.
    pub fn root_is_copy(&self) -> Result<bool, AccessError> {
        Ok(self.named_root()? != self.root)
    }

    /// The page that the root calls the root.
    fn named_root(&self) -> Result<PageId, AccessError> {
        let root = self.space.store.read(self.root)?;
        check_node(&root, self.unit_id())?;
        Ok(root.root())
    }

    /// Makes this index's root the only one if it is a copy, and frees the page that it was copied
    /// from.
    ///
    /// # Errors
    /// The page cannot be the root: it has neighbours, or the one that it names is above it. I/O
    /// and the log's errors; the index must not be used then.
    pub fn settle_root(&self) -> Result<(), AccessError> {
        let named = self.named_root()?;
        if named == self.root {
            return Ok(());
        }
        // As long as the copy names it, nobody else has got its page.
        let mut old = self.space.store.write(named)?;
        let mut root = self.space.store.write(self.root)?;
        if root.root() != named {
            return Ok(());
        }
        check_node(&old, self.unit_id())?;
        // The copy may have been split since. Any other node lies below the root that its header
        // names.
        if root.level() < old.level() || !root.prev().is_none() || !root.next().is_none() {
            return Err(corrupt(self.root, "a node is taken for the root of its index"));
        }
        self.space.unit()?;
        with_record(|rec| {
            rec.system();
            rec.page(root.id());
            let unit = root.unit();
            rec.format(PageType::Index, root.level(), unit, PageId::NONE, PageId::NONE, self.root)?;
            copy_entries(rec, &root, 0, root.slot_count(), 0)?;
            rec.page(named);
            rec.format(PageType::Index, 0, unit, PageId::NONE, PageId::NONE, PageId::NONE)?;
            let latched = &mut [&mut old, &mut root];
            space::change_and_free(
                &self.space,
                &mut self.space.store.system(),
                rec,
                latched,
                &[named],
            )
        })
    }
}
