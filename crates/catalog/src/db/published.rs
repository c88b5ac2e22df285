//! The catalog of a database as it is published: its version, changes of it, and which of them are
//! not committed yet. Guarantees: the version moves before the catalog does; a change is seen as a
//! whole or not at all.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pages::TxnId;

use super::Db;
use crate::fold_name;
use crate::given_up::{Name, NameRefusal};
use crate::other::OtherObject;
use crate::security::Security;
use crate::{AliasDef, Catalog, ModuleDef, TableDef, TableTypeDef};

/// Of a table whose last change is remembered.
const DDL_BYTES: usize = 32;

impl Db {
    /// The catalog of this moment.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().clone()
    }

    /// Moves whenever the catalog does: what plans compare before they run.
    #[inline]
    pub fn schema_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether a definition of this database is the current one of its table.
    #[inline]
    pub fn is_current(&self, table: &TableDef) -> bool {
        // The version moves before the catalog does: what was found at one version holds as long as
        // that is the version.
        let version = self.schema_version();
        table.seen.is_at(version) || self.find_current(table, version)
    }

    #[cold]
    fn find_current(&self, table: &TableDef, version: u64) -> bool {
        let catalog = self.catalog.read();
        let current = catalog
            .by_id
            .get(&table.object_id)
            .is_some_and(|t| std::ptr::eq(Arc::as_ptr(t), table));
        if current {
            table.seen.set(version);
        }
        current
    }

    /// Publishes a changed catalog; the change says whether it wants to be published.
    pub(super) fn publish(&self, change: impl FnOnce(&mut Catalog) -> bool) -> bool {
        let mut current = self.catalog.write();
        let mut next = Catalog::clone(&current);
        if !change(&mut next) {
            return false;
        }
        next.version += 1;
        self.security.store(next.security.version, Ordering::Release);
        self.version.store(next.version, Ordering::Release);
        *current = Arc::new(next);
        true
    }

    /// Version of the principals and permissions that are in force: what sessions compare before
    /// they use what they know of them.
    #[inline]
    pub fn security_version(&self) -> u64 {
        self.security.load(Ordering::Acquire)
    }

    /// The principals and permissions that are in force.
    pub fn security(&self) -> Arc<Security> {
        self.catalog.read().security.clone()
    }

    /// Puts committed principals and permissions in force, unless newer ones are.
    pub(crate) fn set_security(&self, security: &Arc<Security>) {
        let mut current = self.catalog.write();
        if current.security.version < security.version {
            // A plan knows which rights its statement needs: that depends on whose its objects are.
            let moved = !current.security.has_owners_of(security);
            let mut next = Catalog { security: security.clone(), ..Catalog::clone(&current) };
            next.version += u64::from(moved);
            self.version.store(next.version, Ordering::Release);
            *current = Arc::new(next);
            self.security.store(security.version, Ordering::Release);
        }
    }

    /// Plans that were made before are made again: something is known now that may make better
    /// ones.
    pub fn forget_plans(&self) {
        self.publish(|_| true);
    }

    /// Replaces, adds or removes a table's definition; false when the name belongs to another
    /// table.
    pub fn replace_table(&self, old: Option<&TableDef>, new: Option<Arc<TableDef>>) -> bool {
        self.publish(|catalog| {
            if let Some(old) = old {
                catalog.remove(old.object_id);
            }
            let Some(new) = new else { return true };
            let free = new.of_view.is_some() || catalog.is_free(&new.schema, &new.name);
            if free {
                catalog.insert(new);
            }
            free
        })
    }

    /// Replaces, adds or removes a module's definition; false when the name belongs to another
    /// object.
    pub(crate) fn replace_module(
        &self,
        old: Option<&ModuleDef>,
        new: Option<Arc<ModuleDef>>,
    ) -> bool {
        self.publish(|catalog| {
            if let Some(old) = old {
                catalog.remove_module(old.object_id);
            }
            let Some(new) = new else { return true };
            let free = match new.is_ddl_trigger() {
                true => catalog.event_trigger(new.is_server_trigger(), &new.name).is_none(),
                false => catalog.is_free(&new.schema, &new.name),
            };
            if free {
                catalog.insert_module(new);
            }
            free
        })
    }

    /// Replaces, adds or removes a sequence or synonym; false when the name belongs to another
    /// object.
    pub(crate) fn replace_other(
        &self,
        old: Option<&OtherObject>,
        new: Option<OtherObject>,
    ) -> bool {
        self.publish(|catalog| {
            if let Some(old) = old {
                catalog.remove_other(old.object_id());
            }
            let Some(new) = new else { return true };
            let free = catalog.is_free(new.schema(), new.name());
            if free {
                catalog.insert_other(new);
            }
            free
        })
    }

    /// Adds or removes an alias type.
    pub(crate) fn set_type(&self, alias: &Arc<AliasDef>, present: bool) {
        self.publish(|catalog| {
            catalog.set_type(alias, present);
            true
        });
    }

    /// Adds or removes a table type.
    pub(crate) fn set_table_type(&self, def: &Arc<TableTypeDef>, present: bool) {
        self.publish(|catalog| {
            catalog.set_table_type(def, present);
            true
        });
    }

    /// Adds or removes a schema.
    pub(crate) fn set_schema(&self, name: &str, id: i32, present: bool) {
        self.publish(|catalog| {
            if present {
                catalog.schemas.insert_mut(fold_name(name), id);
                catalog.schema_names.insert_mut(id, name.into());
            } else {
                catalog.schemas.remove_mut(&fold_name(name));
                catalog.schema_names.remove_mut(&id);
            }
            true
        });
    }

    /// A session's transaction gives names up, each with the object that it holds SCH-M on.
    pub fn give_up(&self, spid: i32, names: &[(Name, i32)]) {
        if !names.is_empty() {
            self.given_up.lock().add(spid, names);
        }
    }

    /// The transaction has taken these names back, or ended.
    pub fn settle_names(&self, spid: i32, names: &[(Name, i32)]) {
        if !names.is_empty() {
            self.given_up.lock().settle(spid, names);
        }
    }

    /// An object that another session's transaction has locked which has given this name up.
    pub fn giver_of(&self, name: &Name, spid: i32) -> Option<i32> {
        self.given_up.lock().of_others(name, spid)
    }

    /// Publishes a change by which a session's transaction takes names; nothing is published when
    /// one of them is another's by now, or another session's transaction may take it back: both may
    /// have come after the statement looked whether it was free.
    pub(crate) fn publish_taking<'n>(
        &self,
        spid: i32,
        names: &'n [(Name, i32)],
        change: impl FnOnce(&mut Catalog),
    ) -> Result<(), NameRefusal<'n>> {
        let mut refused = None;
        self.publish(|catalog| {
            // Whoever gives a name up says so before it is free in a catalog.
            let given_up = self.given_up.lock();
            refused = names.iter().find_map(|(name, _)| match given_up.of_others(name, spid) {
                Some(_) => Some(NameRefusal::GivenUp),
                None => (!name.is_free(catalog)).then_some(NameRefusal::Taken(name)),
            });
            drop(given_up);
            if refused.is_none() {
                change(catalog);
            }
            refused.is_none()
        });
        refused.map_or(Ok(()), Err)
    }

    /// The same for an object that is not there, as an error calls it: perhaps with its schema and
    /// database.
    pub fn giver_of_missing(&self, called: &str, spid: i32) -> Option<i32> {
        self.given_up.lock().of_others_called(&fold_name(called), spid)
    }

    /// A transaction that changed these tables' definitions is about to commit.
    pub fn note_ddl(&self, objects: impl Iterator<Item = i32>, txn: TxnId) {
        let mut objects = objects.peekable();
        if objects.peek().is_some() {
            let mut ddl = self.ddl.lock();
            ddl.extend(objects.map(|object| (object, txn)));
        }
    }

    /// A transaction that changed definitions of any kind is about to commit.
    pub fn note_definition(&self, txn: TxnId) {
        self.newest_definition.fetch_max(txn.0, Ordering::AcqRel);
    }

    /// The newest transaction that may have made the definitions by which this database is read;
    /// `TxnId(0)` when none has since the start.
    #[inline]
    pub fn newest_definition(&self) -> TxnId {
        TxnId(self.newest_definition.load(Ordering::Acquire))
    }

    /// A table was dropped: nobody asks for its definition any more.
    pub(crate) fn forget_ddl(&self, object_id: i32) {
        let mut ddl = self.ddl.lock();
        ddl.remove(&object_id);
        if ddl.capacity() > 64 && ddl.len() < ddl.capacity() / 4 {
            ddl.shrink_to_fit();
        }
    }

    /// Memory of the definitions but for those that sessions pay for, and of what is remembered of
    /// their changes.
    pub fn definition_memory(&self) -> usize {
        // The account of memory asks, wherever its caller may be.
        let bytes = self.catalog.read_recursive().bytes;
        bytes + self.ddl.lock().len() * DDL_BYTES
    }

    /// The transaction that changed a table's definition last; `TxnId(0)` when none has since the
    /// start.
    pub fn newest_ddl(&self, object_id: i32) -> TxnId {
        self.ddl.lock().get(&object_id).copied().unwrap_or(TxnId(0))
    }
}
