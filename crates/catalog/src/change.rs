//! One change of a database's schema, as the session that made it remembers it until its transaction ends: the
//! catalog is changed at once (others are kept out by SCH-M locks), and changed back by a rollback.

use std::sync::Arc;

use compact_str::CompactString;
use pages::{PageId, UnitId};

use super::other::OtherObject;
use super::security::Security;
use super::statistics::Statistics;
use super::{AliasDef, ModuleDef, OverflowUnit, TableDef, TableTypeDef};
use crate::Db;
use crate::errors;
use crate::given_up::{self, Name};
use types::SqlError;

fn set_statistics(table: &TableDef, statistics: &Statistics, there: bool) {
    match there {
        true => table.state.statistics.put(statistics.clone()),
        false => drop(table.state.statistics.remove(statistics.stats_id)),
    }
}

/// An allocation unit that a statement created or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitRef {
    pub unit: UnitId,
    pub first_iam: PageId,
    pub filegroup: u16,
}

impl UnitRef {
    /// A unit of values that do not fit their rows, once it is made.
    pub fn of(unit: &OverflowUnit) -> Option<UnitRef> {
        let made = |first_iam| UnitRef { unit: unit.unit(), first_iam, filegroup: unit.filegroup() };
        unit.first_iam().map(made)
    }
}

/// A change of schema in one database.
pub struct DdlChange {
    db: Arc<Db>,
    what: What,
    /// Units to free if the change is rolled back.
    created: Created,
}

/// What a change of schema has made of storage.
#[derive(Clone, Debug, Default)]
pub struct Created {
    /// Units that are made.
    pub units: Vec<UnitRef>,
    /// Units that have got their numbers, and are made when they are needed.
    pub numbered: Vec<OverflowUnit>,
}

impl Created {
    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty() && self.numbered.is_empty()
    }
}

enum What {
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
    /// Principals and permissions as the transaction leaves them: in force for others when it has committed.
    Security(Arc<Security>),
}

impl What {
    /// Names that are free in the catalog now and that a rollback takes back.
    fn names_given_up(&self) -> Vec<(Name, i32)> {
        match self {
            What::Table { before, after } => given_up::of_table(before.as_deref(), after.as_deref()),
            What::Module { before, after } => given_up::of_module(before.as_deref(), after.as_deref()),
            What::Other { before, after } => given_up::of_other(before.as_ref(), after.as_ref()),
            What::Alias { alias, created: false } => {
                vec![(Name::of_type(&alias.schema, &alias.name), alias.type_id)]
            }
            What::TableType { def, created: false } => {
                vec![(Name::of_type(&def.schema, &def.name), def.type_id)]
            }
            What::Units
            | What::Alias { .. }
            | What::TableType { .. }
            | What::Statistics { .. }
            | What::Schema { .. }
            | What::Security(_) => Vec::new(),
        }
    }
}

impl DdlChange {
    /// Publishes a table's new definition. Errors: 2714 when another transaction has taken the name meanwhile.
    pub fn table(
        db: &Arc<Db>,
        spid: i32,
        before: Option<Arc<TableDef>>,
        after: Option<Arc<TableDef>>,
        created: Created,
    ) -> Result<DdlChange, SqlError> {
        // Before anyone finds the name free.
        let names = given_up::of_table(before.as_deref(), after.as_deref());
        db.give_up(spid, &names);
        if !db.replace_table(before.as_deref(), after.clone()) {
            db.settle_names(spid, &names);
            return Err(errors::name_taken(after.map(|t| t.name.clone()).unwrap_or_default().as_str()));
        }
        Ok(DdlChange { db: db.clone(), what: What::Table { before, after }, created })
    }

    /// Publishes a module's new definition. Errors: 2714 when another transaction has taken the name meanwhile.
    pub fn module(
        db: &Arc<Db>,
        spid: i32,
        before: Option<Arc<ModuleDef>>,
        after: Option<Arc<ModuleDef>>,
    ) -> Result<DdlChange, SqlError> {
        let names = given_up::of_module(before.as_deref(), after.as_deref());
        db.give_up(spid, &names);
        if !db.replace_module(before.as_deref(), after.clone()) {
            db.settle_names(spid, &names);
            return Err(errors::name_taken(after.map(|m| m.name.clone()).unwrap_or_default().as_str()));
        }
        Ok(DdlChange { db: db.clone(), what: What::Module { before, after }, created: Created::default() })
    }

    /// Publishes a sequence or synonym. Errors: 2714 when another transaction has taken the name meanwhile.
    pub fn other(
        db: &Arc<Db>,
        spid: i32,
        before: Option<OtherObject>,
        after: Option<OtherObject>,
    ) -> Result<DdlChange, SqlError> {
        let names = given_up::of_other(before.as_ref(), after.as_ref());
        db.give_up(spid, &names);
        if !db.replace_other(before.as_ref(), after.clone()) {
            db.settle_names(spid, &names);
            return Err(errors::name_taken(after.map(|o| o.name().clone()).unwrap_or_default().as_str()));
        }
        Ok(DdlChange { db: db.clone(), what: What::Other { before, after }, created: Created::default() })
    }

    /// Publishes an alias type's creation or removal.
    pub fn alias(db: &Arc<Db>, spid: i32, alias: &Arc<AliasDef>, created: bool) -> DdlChange {
        let what = What::Alias { alias: alias.clone(), created };
        db.give_up(spid, &what.names_given_up());
        db.set_type(alias, created);
        DdlChange { db: db.clone(), what, created: Created::default() }
    }

    /// Publishes a table type's creation or removal.
    pub fn table_type(db: &Arc<Db>, spid: i32, def: &Arc<TableTypeDef>, created: bool) -> DdlChange {
        let what = What::TableType { def: def.clone(), created };
        db.give_up(spid, &what.names_given_up());
        db.set_table_type(def, created);
        DdlChange { db: db.clone(), what, created: Created::default() }
    }

    /// Publishes the creation or removal of a table's statistics.
    pub fn statistics(
        db: &Arc<Db>,
        table: &Arc<TableDef>,
        statistics: Arc<Statistics>,
        created: bool,
    ) -> DdlChange {
        set_statistics(table, &statistics, created);
        let what = What::Statistics { table: table.clone(), statistics, created };
        DdlChange { db: db.clone(), what, created: Created::default() }
    }

    /// Publishes a schema's creation or removal.
    pub fn schema(db: &Arc<Db>, name: &str, id: i32, created: bool) -> DdlChange {
        db.set_schema(name, id, created);
        let what = What::Schema { name: name.into(), id, created };
        DdlChange { db: db.clone(), what, created: Created::default() }
    }

    /// Principals and permissions as they are within the transaction. The caller holds the lock on them, so that nobody else changes
    /// them before it ends.
    pub fn security(db: &Arc<Db>, security: Arc<Security>) -> DdlChange {
        DdlChange { db: db.clone(), what: What::Security(security), created: Created::default() }
    }

    /// The principals and permissions of a database that this change made.
    pub fn security_of(&self, db: &Db) -> Option<&Arc<Security>> {
        match &self.what {
            What::Security(security) if self.db.id() == db.id() => Some(security),
            _ => None,
        }
    }

    /// Storage that was made for a change that failed: freed when the statement has been rolled back.
    pub fn only_units(db: &Arc<Db>, created: Created) -> DdlChange {
        DdlChange { db: db.clone(), what: What::Units, created }
    }

    /// Whether it is a change of what no transaction of the session takes back.
    pub fn is_autonomous(&self) -> bool {
        self.db.is_autonomous()
    }

    /// Bytes that it keeps until its transaction ends: with what was there before.
    pub fn held(&self) -> usize {
        Self::held_for(match &self.what {
            What::Table { before, .. } => before.as_deref(),
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
            What::Table { before, after } => {
                let restored = self.db.replace_table(after.as_deref(), before.clone());
                debug_assert!(restored, "the old name was kept free by the lock on the table");
            }
            What::Module { before, after } => {
                let restored = self.db.replace_module(after.as_deref(), before.clone());
                debug_assert!(restored, "the old name was kept free by the lock on the module");
            }
            What::Other { before, after } => {
                let restored = self.db.replace_other(after.as_ref(), before.clone());
                debug_assert!(restored, "the old name was kept free by the lock on the object");
            }
            What::Units | What::Security(_) => {}
            What::Alias { alias, created } => self.db.set_type(alias, !created),
            What::TableType { def, created } => self.db.set_table_type(def, !created),
            What::Statistics { table, statistics, created } => set_statistics(table, statistics, !created),
            What::Schema { name, id, created } => self.db.set_schema(name, *id, !created),
        }
        self.db.settle_names(spid, &self.what.names_given_up());
    }

    /// The table that it changes, if it changes one in this database.
    pub fn object_in(&self, db: &Db) -> Option<i32> {
        match &self.what {
            What::Table { before, after } if self.db.id() == db.id() => {
                after.as_ref().or(before.as_ref()).map(|table| table.object_id)
            }
            _ => None,
        }
    }

    /// The transaction has committed.
    pub fn committed(&self, spid: i32) {
        if let What::Security(security) = &self.what {
            self.db.set_security(security);
        }
        if let What::Table { before: Some(table), after: None } = &self.what {
            self.db.forget_ddl(table.object_id);
        }
        self.db.settle_names(spid, &self.what.names_given_up());
    }

    /// The change has been rolled back: created storage can go.
    pub fn free_created(&self) {
        self.db.free_units(&self.created.units);
        let made: Vec<UnitRef> = self.created.numbered.iter().filter_map(UnitRef::of).collect();
        self.db.free_units(&made);
    }
}
