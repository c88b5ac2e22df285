//! What a compiled statement needs when it runs: tables to lock, plans of subqueries.

use crate::nodes::Plan;
use crate::watched::WatchedTable;
use bind::mask::MaskedColumn;
use bind::table_use::TableUse;
use catalog::other::SequenceDef;
use catalog::{Db, ModuleDef};
use logical::rights::Right;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What a compiled statement needs when it runs.
#[derive(Clone, Default)]
pub struct Needs {
    /// The tables that it reads: locked against changes of schema while it runs, or as their hints
    /// say.
    pub tables: Vec<TableUse>,
    /// The views that were expanded in it: they must still be the current ones.
    pub modules: Vec<(Arc<Db>, Arc<ModuleDef>)>,
    /// The sequences whose values it takes.
    pub sequences: Vec<(Arc<Db>, Arc<SequenceDef>)>,
    /// What the caller must be allowed.
    pub rights: Vec<Right>,
    /// Plans of the subqueries in its expressions.
    pub subqueries: Vec<Arc<Plan>>,
    /// Tables whose rows and values decided how they are read.
    pub watched: Vec<WatchedTable>,
    /// The masked columns that it reads, of the tables that it names.
    pub masked: Vec<MaskedColumn>,
    /// OPTION (RECOMPILE): the plan is for one run.
    pub one_run: bool,
    /// A session makes the plan that will replace this one; the others go on with it.
    pub(crate) renewed: Arc<AtomicBool>,
}

impl Needs {
    /// Whether there is nothing to lock and nothing to be allowed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
            && self.modules.is_empty()
            && self.sequences.is_empty()
            && self.rights.is_empty()
    }

    /// The needs of a statement that runs as several: all that each of them needs, but for the
    /// subqueries, which are each one's own.
    pub fn together<'n>(parts: impl Iterator<Item = &'n Needs>) -> Needs {
        let mut all = Needs::default();
        for part in parts {
            all.tables.extend_from_slice(&part.tables);
            all.modules.extend_from_slice(&part.modules);
            all.sequences.extend_from_slice(&part.sequences);
            all.rights.extend_from_slice(&part.rights);
            all.watched.extend_from_slice(&part.watched);
            all.masked.extend_from_slice(&part.masked);
            all.one_run |= part.one_run;
        }
        all
    }

    /// Whether it reads tables or views: then it begins a transaction under SET
    /// IMPLICIT_TRANSACTIONS ON.
    #[inline]
    pub fn reads_data(&self) -> bool {
        !self.tables.is_empty() || !self.modules.is_empty()
    }

    /// Whether the plan may run again, and the statistics have not moved by the thresholds since
    /// the statement was compiled.
    #[inline]
    pub fn is_current(&self) -> bool {
        !self.one_run && self.watched.iter().all(WatchedTable::is_as_it_was)
    }

    /// Whether the caller is to make the plan that replaces this one: whoever asks first, until it
    /// gives up.
    pub fn claim(&self) -> bool {
        self.one_run || !self.renewed.swap(true, Relaxed)
    }

    /// The caller could not make another plan.
    pub fn give_up(&self) {
        self.renewed.store(false, Relaxed);
    }
}

impl std::fmt::Debug for Needs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tables.iter().map(|used| &used.table.name)).finish()
    }
}
