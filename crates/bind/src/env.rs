//! What a statement is compiled against: names, variables, options.
//! Guarantees: a compiled object holds no name that must be looked up again; variables are slots.

use crate::counters::OptimizerCounters;
use crate::module::ChangedTable;
use crate::set_options::SessionOptions;
use crate::undeclared::Undeclared;
use crate::unresolved_names::UnresolvedNames;
use catalog::{Catalog, Db, ModuleDef, TableDef, fold_name};
use compact_str::CompactString;
use expr::functions::Function;
use logical::rights::OwnershipChain;
use logical::view::ViewDef;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use types::{DataType, SqlError, Value, msg};

/// What the instance knows by name; names are compared without regard to case.
pub trait Names {
    /// A database, whatever its state.
    fn find_db(&self, name: &str) -> Option<Arc<Db>>;

    /// Where table variables are.
    ///
    /// # Errors
    /// Why tempdb cannot be used.
    fn variables(&self) -> Result<Arc<Db>, SqlError>;

    /// A database that can be used.
    ///
    /// # Errors
    /// 911; why it cannot be used.
    fn database(&self, name: &str) -> Result<Arc<Db>, SqlError>;

    /// A system view or table function.
    fn view(&self, schema: &str, name: &str) -> Option<&'static dyn ViewDef>;

    /// A scalar function, by its lower-case name.
    fn function(&self, name: &str) -> Option<&'static Function>;
}

/// What names resolve to while a statement is compiled.
#[derive(Clone)]
pub struct CompileEnv<'a> {
    /// The instance, for other databases and server-wide names.
    pub names: &'a dyn Names,
    /// The session's current database.
    pub db: &'a Arc<Db>,
    /// Its catalog as of the statement.
    pub catalog: Arc<Catalog>,
    /// The batch's variables.
    pub vars: &'a VarScope,
    /// Their values at this moment, by slot: what a plan is made for. NULL, or none, when nothing
    /// is known.
    pub values: &'a [Value],
    /// SET options that change what a statement means.
    pub options: &'a SessionOptions,
    /// The session's temporary tables.
    pub temps: &'a TempTables,
    /// In a trigger: the table whose rows `inserted` and `deleted` have.
    pub changes: Option<ChangedTable>,
    /// Whose names these are.
    pub chain: OwnershipChain,
    /// The schema in which names without one are looked up before `dbo`: that of the module whose
    /// statement it is. `None` for `dbo`, and in a batch.
    pub schema: Option<CompactString>,
    /// A table whose block predicate is bound: what that reads has its policies, the table itself
    /// has not.
    pub predicate_of: Option<i32>,
    /// Set when the session is told to stop: a compilation that takes long looks at it.
    pub cancel: &'a AtomicBool,
    /// Where the compilation is counted.
    pub counters: &'a OptimizerCounters,
    /// The statement is bound to find all names in it that mean nothing.
    pub unresolved: Option<&'a UnresolvedNames>,
}

/// A temporary table or procedure of a session.
#[derive(Clone, Debug)]
pub struct TempName {
    /// Folded, with its `#` or, of a table variable, its `@`.
    pub name: CompactString,
    /// In tempdb, or among the table variables.
    pub object_id: i32,
    /// Nesting level of the scope that made it; 0 of a procedure, which stays as long as the
    /// session.
    pub level: u32,
    /// Its scope has not ended.
    pub visible: bool,
    /// The table type of a variable that was declared with one.
    pub type_id: Option<i32>,
    /// A parameter: nothing may change it.
    pub readonly: bool,
    /// It is another variable's table, which does not go with this name.
    pub borrowed: bool,
}

/// The temporary tables and procedures that a session has made, the newest last. One that is no
/// longer in tempdb was dropped.
#[derive(Debug, Default)]
pub struct TempTables {
    pub list: Vec<TempName>,
    /// How long it may become before those that were dropped are taken off.
    pub most: usize,
    /// Never the same twice, in any session: what a plan over temporary tables was made for.
    pub generation: u64,
    /// Nesting level of the scope that runs: its table variables are the ones in sight.
    pub level: u32,
    /// A name was looked up here since the flag was last taken.
    pub used: AtomicBool,
}

/// For statements that can name no temporary table.
pub static NO_TEMPS: TempTables =
    TempTables { list: Vec::new(), most: 0, generation: 0, level: 0, used: AtomicBool::new(false) };

impl TempTables {
    /// The list has changed.
    pub fn changed(&mut self) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.generation = NEXT.fetch_add(1, Ordering::Relaxed);
    }

    /// What is in sight in the scope at a level, which runs or has called the one that does.
    pub fn seen_at(&self, level: u32) -> TempTables {
        let list = self.list.iter().filter(|temp| temp.level <= level).cloned().collect();
        TempTables {
            list,
            most: self.most,
            generation: self.generation,
            level,
            used: AtomicBool::new(false),
        }
    }

    /// The table variable of a name in the scope that runs.
    pub fn find_variable(&self, name: &str, db: &Db) -> Option<Arc<TableDef>> {
        self.used.store(true, Ordering::Relaxed);
        let (name, catalog) = (fold_name(name), db.catalog());
        let own = |t: &&TempName| t.visible && t.level == self.level && t.name == name;
        let temp = self.list.iter().rev().find(own)?;
        catalog.by_id.get(&temp.object_id).cloned()
    }

    /// What a name means as a table variable in the scope that runs.
    pub fn variable(&self, name: &str) -> Option<&TempName> {
        let name = fold_name(name);
        self.list.iter().rev().find(|t| t.visible && t.level == self.level && t.name == name)
    }

    /// The parameter of the scope that runs whose table this is.
    pub fn readonly(&self, object_id: i32) -> Option<&TempName> {
        let own = |t: &&TempName| t.visible && t.level == self.level && t.object_id == object_id;
        self.list.iter().rev().find(own).filter(|t| t.readonly)
    }

    /// The table of a name, as far as it is still there.
    pub fn find(&self, name: &str, tempdb: &Db) -> Option<Arc<TableDef>> {
        self.used.store(true, Ordering::Relaxed);
        let (name, catalog) = (fold_name(name), tempdb.catalog());
        let mut newest = self.list.iter().rev().filter(|t| t.visible && t.name == name);
        newest.find_map(|t| catalog.by_id.get(&t.object_id).cloned())
    }

    /// The temporary procedure of a name, as far as it is still there: the session's, or anyone's
    /// whose name begins with `##`.
    pub fn find_procedure(&self, name: &str, tempdb: &Db) -> Option<Arc<ModuleDef>> {
        let catalog = tempdb.catalog();
        if name.starts_with("##") {
            return catalog.find_module("", name).cloned();
        }
        let name = fold_name(name);
        let mut newest = self.list.iter().rev().filter(|t| t.visible && t.name == name);
        newest.find_map(|t| catalog.modules.get(&t.object_id).cloned())
    }
}

/// The variables of a batch: names with `@`, compared without regard to case; a slot each, in order
/// of declaration.
#[derive(Clone, Debug, Default)]
pub struct VarScope {
    slots: Vec<(CompactString, DataType)>,
    by_name: HashMap<CompactString, usize>,
    /// One of them can have a large value.
    large: bool,
    /// Those that hold cursors, folded: their slots are never read.
    cursors: Vec<CompactString>,
    /// Those of them whose types are being deduced.
    undeclared: Option<Arc<Undeclared>>,
}

/// 134: a name that a variable has already.
pub fn declared_twice(name: &str) -> SqlError {
    SqlError::of(msg::DUPLICATE_VARIABLE, [&name])
}

impl VarScope {
    /// An empty scope.
    pub fn new() -> VarScope {
        VarScope::default()
    }

    /// Gives the next slot to a variable. Errors: 134 when the name is taken.
    pub fn declare(&mut self, name: &str, ty: DataType) -> Result<usize, SqlError> {
        let slot = self.slots.len();
        if self.by_name.contains_key(&fold_name(name)) {
            return Err(declared_twice(name));
        }
        self.by_name.insert(fold_name(name), slot);
        self.slots.push((name.into(), ty));
        self.large |= ty.is_lob() || matches!(ty, DataType::Xml | DataType::SqlVariant);
        Ok(slot)
    }

    /// Whether one of them can have a large value.
    pub fn has_large(&self) -> bool {
        self.large
    }

    /// Gives the next slot to a parameter that is a table: no name finds it.
    pub fn reserve(&mut self) {
        self.slots.push((CompactString::default(), DataType::Int));
    }

    /// Declares a variable that holds a cursor; a parameter that was declared before becomes one.
    /// Errors: 134 when the name is taken.
    pub fn declare_cursor(&mut self, name: &str) -> Result<(), SqlError> {
        self.declare(name, DataType::Int)?;
        self.cursors.push(fold_name(name));
        Ok(())
    }

    /// A parameter that was declared is one for a cursor.
    pub fn mark_cursor(&mut self, name: &str) {
        debug_assert!(self.by_name.contains_key(&fold_name(name)), "an undeclared parameter");
        self.cursors.push(fold_name(name));
    }

    /// Whether a variable holds a cursor.
    pub fn is_cursor(&self, name: &str) -> bool {
        !self.cursors.is_empty() && self.cursors.contains(&fold_name(name))
    }

    /// Slot and type of a variable. Errors: 137 when it was not declared, 16949 when it holds a
    /// cursor.
    pub fn find(&self, name: &str) -> Result<(usize, DataType), SqlError> {
        match self.by_name.get(&fold_name(name)) {
            Some(_) if self.is_cursor(name) => {
                Err(SqlError::of(msg::CURSOR_VARIABLE_MISPLACED, [&name]))
            }
            Some(&slot) => {
                let deduced =
                    self.undeclared.as_ref().map(|u| u.type_of(slot)).transpose()?.flatten();
                Ok((slot, deduced.unwrap_or(self.slots[slot].1)))
            }
            None => Err(SqlError::of(msg::UNDECLARED_VARIABLE, [&name])),
        }
    }

    /// Gives the next slots to parameters whose types are to be deduced.
    ///
    /// # Errors
    /// As [`VarScope::declare`].
    pub fn deduce(&mut self, names: &[CompactString]) -> Result<Arc<Undeclared>, SqlError> {
        let undeclared = Arc::new(Undeclared::new(self.len(), names.to_vec()));
        // The type is one that nobody asks for.
        names.iter().try_for_each(|name| self.declare(name, DataType::SqlVariant).map(|_| ()))?;
        self.undeclared = Some(undeclared.clone());
        Ok(undeclared)
    }

    /// The parameters whose types are being deduced.
    #[inline]
    pub fn undeclared(&self) -> Option<&Arc<Undeclared>> {
        self.undeclared.as_ref()
    }

    /// The slot of a parameter of which nothing is known yet.
    pub fn open(&self, name: &str) -> Option<usize> {
        let undeclared = self.undeclared.as_ref()?;
        let slot = *self.by_name.get(&fold_name(name))?;
        undeclared.is_open(slot).then_some(slot)
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing was declared.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Name and type of a slot.
    pub fn get(&self, slot: usize) -> Option<(&str, DataType)> {
        self.slots.get(slot).map(|(name, ty)| (name.as_str(), *ty))
    }
}
