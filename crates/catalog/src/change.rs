//! One change of a database's schema, as the session that made it remembers it until its
//! transaction ends: the catalog is changed at once (others are kept out by SCH-M locks), and
//! changed back by a rollback.

use std::sync::Arc;

use compact_str::CompactString;

use super::other::OtherObject;
use super::security::Security;
use super::statistics::Statistics;
use super::{AliasDef, Catalog, ModuleDef, OverflowUnit, TableDef, TableTypeDef};
use crate::Db;
use crate::errors;
use crate::fold_name;
use crate::given_up::{self, Name, NameRefusal};
use crate::pending::UnitRef;
use types::SqlError;

fn set_statistics(table: &TableDef, statistics: &Statistics, there: bool) {
    match there {
        true => table.state.statistics.put(statistics.clone()),
        false => drop(table.state.statistics.remove(statistics.stats_id)),
    }
}

/// A change of schema in one database.
pub struct DdlChange {
    db: Arc<Db>,
    what: ChangedObject,
    /// Units to free if the change is rolled back.
    created: CreatedUnits,
}

/// What a change of schema has made of storage.
#[derive(Clone, Debug, Default)]
pub struct CreatedUnits {
    /// Units that are made.
    pub units: Vec<UnitRef>,
    /// Units that have got their numbers, and are made when they are needed.
    pub numbered: Vec<OverflowUnit>,
}

impl CreatedUnits {
    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty() && self.numbered.is_empty()
    }
}

enum ChangedObject {
    /// A table's definition before and after; `None` = it was or is not there.
    Table { before: Option<Arc<TableDef>>, after: Option<Arc<TableDef>> },
    /// Nothing but storage, of a change that failed half-way.
    Units,
    /// An alias type that was created (`true`) or dropped.
    Alias { alias: Arc<AliasDef>, created: bool },
    /// A table type that was created (`true`) or dropped.
    TableType { def: Arc<TableTypeDef>, created: bool },
    /// A module's definition before and after.
    Module { before: Option<Arc<ModuleDef>>, after: Option<Arc<ModuleDef>> },
    /// A sequence or synonym before and after.
    Other { before: Option<OtherObject>, after: Option<OtherObject> },
    /// Statistics of a table that were created (`true`) or dropped.
    Statistics { table: Arc<TableDef>, statistics: Arc<Statistics>, created: bool },
    /// A schema that was created (`true`) or dropped.
    Schema { name: CompactString, id: i32, created: bool },
    /// Principals and permissions as the transaction leaves them: in force for others when it has
    /// committed.
    Security(Arc<Security>),
}

impl ChangedObject {
    /// Names that are free in the catalog now and that a rollback takes back.
    fn names_given_up(&self) -> Vec<(Name, i32)> {
        match self {
            ChangedObject::Table { before, after } => {
                given_up::of_table(before.as_deref(), after.as_deref())
            }
            ChangedObject::Module { before, after } => {
                given_up::of_module(before.as_deref(), after.as_deref())
            }
            ChangedObject::Other { before, after } => {
                given_up::of_other(before.as_ref(), after.as_ref())
            }
            ChangedObject::Alias { alias, created: false } => {
                vec![(Name::of_type(&alias.schema, &alias.name), alias.type_id)]
            }
            ChangedObject::TableType { def, created: false } => {
                vec![(Name::of_type(&def.schema, &def.name), def.type_id)]
            }
            ChangedObject::Units
            | ChangedObject::Alias { .. }
            | ChangedObject::TableType { .. }
            | ChangedObject::Statistics { .. }
            | ChangedObject::Schema { .. }
            | ChangedObject::Security(_) => Vec::new(),
        }
    }
}

impl DdlChange {
    /// Publishes a table's new definition.
    ///
    /// # Errors
    /// A name that it takes is not free any more: 2714, or [`errors::SCHEMA_CHANGED`] when another
    /// session's transaction may take it back.
    pub fn table(
        db: &Arc<Db>,
        spid: i32,
        before: Option<Arc<TableDef>>,
        after: Option<Arc<TableDef>>,
        created: CreatedUnits,
    ) -> Result<DdlChange, SqlError> {
        let taken = match db.is_autonomous() {
            // Table variables have names that nobody else has.
            true => Vec::new(),
            false => given_up::of_table(after.as_deref(), before.as_deref()),
        };
        let what = ChangedObject::Table { before: before.clone(), after: after.clone() };
        let change = DdlChange { created, ..DdlChange::of(db, what) };
        change.publish(spid, &taken, |catalog| {
            if let Some(before) = before {
                catalog.remove(before.object_id);
            }
            if let Some(after) = after {
                catalog.insert(after);
            }
        })?;
        Ok(change)
    }

    /// Publishes a module's new definition.
    ///
    /// # Errors
    /// As [`DdlChange::table`].
    pub fn module(
        db: &Arc<Db>,
        spid: i32,
        before: Option<Arc<ModuleDef>>,
        after: Option<Arc<ModuleDef>>,
    ) -> Result<DdlChange, SqlError> {
        let taken = given_up::of_module(after.as_deref(), before.as_deref());
        let change = DdlChange::of(
            db,
            ChangedObject::Module { before: before.clone(), after: after.clone() },
        );
        change.publish(spid, &taken, |catalog| {
            if let Some(before) = before {
                catalog.remove_module(before.object_id);
            }
            if let Some(after) = after {
                catalog.insert_module(after);
            }
        })?;
        Ok(change)
    }

    /// Publishes a sequence, synonym or policy.
    ///
    /// # Errors
    /// As [`DdlChange::table`].
    pub fn other(
        db: &Arc<Db>,
        spid: i32,
        before: Option<OtherObject>,
        after: Option<OtherObject>,
    ) -> Result<DdlChange, SqlError> {
        let taken = given_up::of_other(after.as_ref(), before.as_ref());
        let change = DdlChange::of(
            db,
            ChangedObject::Other { before: before.clone(), after: after.clone() },
        );
        change.publish(spid, &taken, |catalog| {
            if let Some(before) = before {
                catalog.remove_other(before.object_id());
            }
            if let Some(after) = after {
                catalog.insert_other(after);
            }
        })?;
        Ok(change)
    }

    /// Publishes an alias type's creation or removal.
    ///
    /// # Errors
    /// [`errors::SCHEMA_CHANGED`]: its name is not free any more.
    pub fn alias(
        db: &Arc<Db>,
        spid: i32,
        alias: &Arc<AliasDef>,
        created: bool,
    ) -> Result<DdlChange, SqlError> {
        let change = DdlChange::of(db, ChangedObject::Alias { alias: alias.clone(), created });
        let name = (Name::of_type(&alias.schema, &alias.name), alias.type_id);
        let taken = if created { vec![name] } else { Vec::new() };
        change.publish(spid, &taken, |catalog| catalog.set_type(alias, created))?;
        Ok(change)
    }

    /// Publishes a table type's creation or removal.
    ///
    /// # Errors
    /// As [`DdlChange::alias`].
    pub fn table_type(
        db: &Arc<Db>,
        spid: i32,
        def: &Arc<TableTypeDef>,
        created: bool,
    ) -> Result<DdlChange, SqlError> {
        let change = DdlChange::of(db, ChangedObject::TableType { def: def.clone(), created });
        let name = (Name::of_type(&def.schema, &def.name), def.type_id);
        let taken = if created { vec![name] } else { Vec::new() };
        change.publish(spid, &taken, |catalog| catalog.set_table_type(def, created))?;
        Ok(change)
    }

    /// A change that makes no storage.
    fn of(db: &Arc<Db>, what: ChangedObject) -> DdlChange {
        DdlChange { db: db.clone(), what, created: CreatedUnits::default() }
    }

    /// Publishes the change, by which its transaction takes names and gives others up.
    fn publish(
        &self,
        spid: i32,
        taken: &[(Name, i32)],
        change: impl FnOnce(&mut Catalog),
    ) -> Result<(), SqlError> {
        // Before anyone finds a name free.
        let given_up = self.names_given_up();
        self.db.give_up(spid, &given_up);
        let published = self.db.publish_taking(spid, taken, change);
        if published.is_err() {
            self.db.settle_names(spid, &given_up);
        }
        published.map_err(|refused| self.refused(refused))
    }

    fn refused(&self, refused: NameRefusal<'_>) -> SqlError {
        match (refused, &self.what) {
            // The statement looks again, and waits for whoever may take the name back.
            (NameRefusal::GivenUp, _) => errors::schema_changed(),
            // It looks again, and has an error of its own.
            (
                NameRefusal::Taken(_),
                ChangedObject::Alias { .. } | ChangedObject::TableType { .. },
            ) => errors::schema_changed(),
            (NameRefusal::Taken(name), ChangedObject::Table { after: Some(table), .. })
                if fold_name(name.written()) != fold_name(&table.name) =>
            {
                errors::constraint_name_taken(name.written())
            }
            (NameRefusal::Taken(name), _) => errors::name_taken(name.written()),
        }
    }

    /// Names that are free in the catalog when it is published and that a rollback takes back.
    fn names_given_up(&self) -> Vec<(Name, i32)> {
        match self.db.is_autonomous() {
            true => Vec::new(),
            false => self.what.names_given_up(),
        }
    }

    /// Publishes the creation or removal of a table's statistics.
    pub fn statistics(
        db: &Arc<Db>,
        table: &Arc<TableDef>,
        statistics: Arc<Statistics>,
        created: bool,
    ) -> DdlChange {
        set_statistics(table, &statistics, created);
        DdlChange::of(db, ChangedObject::Statistics { table: table.clone(), statistics, created })
    }

    /// Publishes a schema's creation or removal.
    pub fn schema(db: &Arc<Db>, name: &str, id: i32, created: bool) -> DdlChange {
        db.set_schema(name, id, created);
        DdlChange::of(db, ChangedObject::Schema { name: name.into(), id, created })
    }

    /// Principals and permissions as they are within the transaction. The caller holds the lock on
    /// them, so that nobody else changes them before it ends.
    pub fn security(db: &Arc<Db>, security: Arc<Security>) -> DdlChange {
        DdlChange::of(db, ChangedObject::Security(security))
    }

    /// The principals and permissions of a database that this change made.
    pub fn security_of(&self, db: &Db) -> Option<&Arc<Security>> {
        match &self.what {
            ChangedObject::Security(security) if self.db.id() == db.id() => Some(security),
            _ => None,
        }
    }

    /// Storage that was made for a change that failed: freed when the statement has been rolled
    /// back.
    pub fn only_units(db: &Arc<Db>, created: CreatedUnits) -> DdlChange {
        DdlChange { db: db.clone(), what: ChangedObject::Units, created }
    }

    /// Whether it is a change of what no transaction of the session takes back.
    pub fn is_autonomous(&self) -> bool {
        self.db.is_autonomous()
    }

    /// Bytes that it keeps until its transaction ends: with what was there before.
    pub fn held(&self) -> usize {
        Self::held_for(match &self.what {
            ChangedObject::Table { before, .. } => before.as_deref(),
            _ => None,
        })
    }

    /// Bytes that a change of this table will keep.
    pub fn held_for(before: Option<&TableDef>) -> usize {
        const CHANGE: usize = 256;
        CHANGE + before.map_or(0, TableDef::memory)
    }

    /// Changes the catalog back.
    pub fn undo(&self, spid: i32) {
        match &self.what {
            ChangedObject::Table { before, after } => {
                let restored = self.db.replace_table(after.as_deref(), before.clone());
                debug_assert!(restored, "the old name was kept free by the lock on the table");
            }
            ChangedObject::Module { before, after } => {
                let restored = self.db.replace_module(after.as_deref(), before.clone());
                debug_assert!(restored, "the old name was kept free by the lock on the module");
            }
            ChangedObject::Other { before, after } => {
                let restored = self.db.replace_other(after.as_ref(), before.clone());
                debug_assert!(restored, "the old name was kept free by the lock on the object");
            }
            ChangedObject::Units | ChangedObject::Security(_) => {}
            ChangedObject::Alias { alias, created } => self.db.set_type(alias, !created),
            ChangedObject::TableType { def, created } => self.db.set_table_type(def, !created),
            ChangedObject::Statistics { table, statistics, created } => {
                set_statistics(table, statistics, !created)
            }
            ChangedObject::Schema { name, id, created } => self.db.set_schema(name, *id, !created),
        }
        self.db.settle_names(spid, &self.names_given_up());
    }

    /// Whether it is a change in this database.
    pub fn is_in(&self, db: &Db) -> bool {
        self.db.id() == db.id()
    }

    /// The table that it changes, if it changes one in this database.
    pub fn object_in(&self, db: &Db) -> Option<i32> {
        match &self.what {
            ChangedObject::Table { before, after } if self.db.id() == db.id() => {
                after.as_ref().or(before.as_ref()).map(|table| table.object_id)
            }
            _ => None,
        }
    }

    /// The transaction has committed.
    pub fn committed(&self, spid: i32) {
        if let ChangedObject::Security(security) = &self.what {
            self.db.set_security(security);
        }
        if let ChangedObject::Table { before: Some(table), after: None } = &self.what {
            self.db.forget_ddl(table.object_id);
        }
        self.db.settle_names(spid, &self.names_given_up());
    }

    /// The change has been rolled back: created storage can go.
    pub fn free_created(&self) {
        self.db.free_units(&self.created.units);
        let made: Vec<UnitRef> = self.created.numbered.iter().filter_map(UnitRef::of).collect();
        self.db.free_units(&made);
    }
}
