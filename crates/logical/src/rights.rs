//! What a statement may only do with permission: found while it is bound, part of its plan,
//! compared with the caller's permissions at each run. Guarantees: whatever the binder resolves
//! leaves its right here; what is reached through a view, procedure or trigger of the same owner
//! leaves none (an ownership chain), and so do temporary tables and what the engine itself asks
//! for.

use catalog::security::{Class, Permission, Securable};
use catalog::{Db, ModuleDef, TEMPDB, TableDef, fold_name};
use expr::ColId;
use std::sync::Arc;

/// A permission that a statement needs.
#[derive(Clone, Debug)]
pub struct Right {
    pub db: Arc<Db>,
    pub on: Securable,
    /// schema_id of an object or type; 0 for others.
    pub schema: i32,
    pub permission: Permission,
    /// column_ids: each of them must be allowed. None: the whole object, or for SELECT any column
    /// of it.
    pub columns: Vec<i32>,
}

/// On whose behalf names are bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnershipChain {
    /// Of the caller.
    #[default]
    None,
    /// In a module: its database and the principal_id of its owner, whose own objects need no
    /// right.
    Owner(i32, i32),
    /// Of the engine: nothing needs a right.
    Trusted,
}

/// Which rows a system view shows, and to which callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewRight {
    /// To everyone who may use the database, as far as its rows are everyone's.
    Public,
    Database(Permission),
    Server(Permission),
}

/// Columns of a table by their ids in the statement.
#[derive(Clone, Debug)]
struct ColumnsRead {
    first: ColId,
    db: Arc<Db>,
    table: Arc<TableDef>,
}

/// The rights that a statement's binding has found so far.
#[derive(Clone, Debug, Default)]
pub struct Rights {
    pub chain: OwnershipChain,
    list: Vec<Right>,
    /// In the order of their first columns.
    reads: Vec<ColumnsRead>,
}

impl Rights {
    /// For a chain.
    pub fn new(chain: OwnershipChain) -> Rights {
        Rights { chain, ..Rights::default() }
    }

    /// What was found.
    pub fn take(&mut self) -> Vec<Right> {
        self.reads.clear();
        std::mem::take(&mut self.list)
    }

    /// Whether an object needs no right here.
    fn is_exempt(&self, db: &Db, name: &str, object_id: i32, schema_id: i32) -> bool {
        if db.is_autonomous() || (db.id() == TEMPDB && name.starts_with('#')) {
            return true;
        }
        match self.chain {
            OwnershipChain::None => false,
            OwnershipChain::Trusted => true,
            OwnershipChain::Owner(of, owner) => {
                of == db.id() && db.security().object_owner(object_id, schema_id) == owner
            }
        }
    }

    /// A permission on a database, schema or server.
    pub fn need(&mut self, db: &Arc<Db>, on: Securable, permission: Permission) {
        if self.chain != OwnershipChain::Trusted {
            self.add(Right { db: db.clone(), on, schema: 0, permission, columns: Vec::new() });
        }
    }

    /// A permission on an object as a whole, or on some columns.
    pub fn need_object(
        &mut self,
        db: &Arc<Db>,
        (schema, name): (&str, &str),
        object_id: i32,
        permission: Permission,
        columns: &[i32],
    ) {
        let schema = db.catalog().schemas.get(&fold_name(schema)).copied().unwrap_or(0);
        if !self.is_exempt(db, name, object_id, schema) {
            let on = Securable::new(Class::Object, object_id);
            self.add(Right { db: db.clone(), on, schema, permission, columns: columns.to_vec() });
        }
    }

    /// A permission on a type that was made in a schema.
    pub fn need_type(
        &mut self,
        db: &Arc<Db>,
        (schema, type_id): (&str, i32),
        permission: Permission,
    ) {
        let schema = db.catalog().schemas.get(&fold_name(schema)).copied().unwrap_or(0);
        let exempt = db.is_autonomous()
            || match self.chain {
                OwnershipChain::None => false,
                OwnershipChain::Trusted => true,
                OwnershipChain::Owner(of, owner) => {
                    of == db.id() && db.security().schema_owner(schema) == owner
                }
            };
        if !exempt {
            let on = Securable::new(Class::Type, type_id);
            self.add(Right { db: db.clone(), on, schema, permission, columns: Vec::new() });
        }
    }

    /// A permission on a table, of these columns by position.
    pub fn need_table(
        &mut self,
        db: &Arc<Db>,
        table: &TableDef,
        permission: Permission,
        columns: &[usize],
    ) {
        let ids: Vec<i32> =
            columns.iter().filter_map(|at| table.columns.get(*at)).map(|c| c.column_id).collect();
        self.need_object(db, (&table.schema, &table.name), table.object_id, permission, &ids);
    }

    /// Runs `f` on behalf of a view: what its owner has needs no right of the caller.
    pub fn in_view(&mut self, db: &Arc<Db>, view: &ModuleDef, f: impl FnOnce(&mut Rights)) {
        let outer = self.chain;
        if outer != OwnershipChain::Trusted {
            let schema = db.catalog().schemas.get(&fold_name(&view.schema)).copied().unwrap_or(0);
            self.chain =
                OwnershipChain::Owner(db.id(), db.security().object_owner(view.object_id, schema));
        }
        f(self);
        self.chain = outer;
    }

    /// The columns of a table have ids from `first` on: each that is mentioned needs SELECT.
    pub fn reads(&mut self, db: &Arc<Db>, table: &Arc<TableDef>, first: ColId) {
        let schema = db.catalog().schemas.get(&fold_name(&table.schema)).copied().unwrap_or(0);
        if !self.is_exempt(db, &table.name, table.object_id, schema) {
            let at = self.reads.partition_point(|known| known.first < first);
            self.reads.insert(at, ColumnsRead { first, db: db.clone(), table: table.clone() });
        }
    }

    /// A column is mentioned.
    pub fn mentions(&mut self, id: ColId) {
        let behind = self.reads.partition_point(|read| read.first <= id);
        let within = |r: &&ColumnsRead| id < r.first + r.table.columns.len() as ColId;
        let read = behind.checked_sub(1).and_then(|at| self.reads.get(at));
        if let Some(ColumnsRead { first, db, table }) = read.filter(within).cloned() {
            self.need_table(&db, &table, Permission::Select, &[(id - first) as usize]);
        }
    }

    fn add(&mut self, right: Right) {
        let same = |r: &&mut Right| {
            r.on == right.on && r.permission == right.permission && Arc::ptr_eq(&r.db, &right.db)
        };
        match self.list.iter_mut().find(same) {
            Some(known) => {
                for column in right.columns {
                    if !known.columns.contains(&column) {
                        known.columns.push(column);
                    }
                }
            }
            None => self.list.push(right),
        }
    }
}
