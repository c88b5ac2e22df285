//! The integrity check of a database: structures, and allocation maps against their owners.
//! Guarantees: a damaged page is reported and does not end the check; every allocated extent
//! belongs to exactly one unit of the caller's list or is reported.

use std::collections::HashMap;

use access::{AccessError, BTree, CheckReport, Heap, LobPointer, LobSpace};
use pages::{ExtentId, Unit, UnitId};

use crate::database::Database;
use crate::error::TxnError;

/// A structure to check, with its allocation unit.
pub enum CheckUnit<'a> {
    /// A heap.
    Heap(&'a Heap, Unit),
    /// A B+tree.
    Tree(&'a BTree, Unit),
    /// A LOB space and all pointers to it from rows; those of the list of discarded values are
    /// known.
    Lob(&'a LobSpace, &'a [LobPointer], Unit),
    /// Only the allocation of a unit (one that waits to be dropped).
    Space(Unit),
}

impl CheckUnit<'_> {
    fn unit(&self) -> &Unit {
        match self {
            CheckUnit::Heap(_, u)
            | CheckUnit::Tree(_, u)
            | CheckUnit::Lob(_, _, u)
            | CheckUnit::Space(u) => u,
        }
    }

    fn run(&self, db: &Database) -> Result<CheckReport, AccessError> {
        match self {
            CheckUnit::Heap(h, _) => h.check(),
            CheckUnit::Tree(t, _) => t.check(),
            CheckUnit::Lob(l, pointers, _) => {
                let discarded =
                    db.discarded_values().map(|d| d.of_unit(l.unit_id())).transpose()?;
                l.check(pointers, &discarded.unwrap_or_default())
            }
            CheckUnit::Space(_) => Ok(CheckReport::default()),
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckResult {
    /// Report of each unit, in the order given.
    pub reports: Vec<(UnitId, CheckReport)>,
    /// Extents that two units have, that no unit has, or that the GAM calls free.
    pub allocation: Vec<String>,
}

impl CheckResult {
    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.allocation.is_empty() && self.reports.iter().all(|(_, r)| r.is_clean())
    }

    /// All faults as text.
    pub fn messages(&self) -> Vec<String> {
        let found = self
            .reports
            .iter()
            .flat_map(|(u, r)| r.findings.iter().map(move |f| format!("unit {u}: {f}")));
        found.chain(self.allocation.iter().cloned()).collect()
    }
}

impl Database {
    /// Checks the units, which must be all there are, and the allocation maps. The units must not
    /// change meanwhile (the caller holds their locks and [`Database::hold_background`]), else
    /// half-seen changes are reported.
    pub fn check(&self, units: &[CheckUnit<'_>]) -> Result<CheckResult, TxnError> {
        let mut result = CheckResult::default();
        for u in units {
            result.reports.push((u.unit().id(), u.run(self)?));
        }
        self.check_allocation(units, &mut result)?;
        Ok(result)
    }

    fn check_allocation(
        &self,
        units: &[CheckUnit<'_>],
        result: &mut CheckResult,
    ) -> Result<(), TxnError> {
        let mut owners: HashMap<ExtentId, UnitId> = HashMap::new();
        for u in units {
            for extent in u.unit().extents() {
                if let Some(other) = owners.insert(extent, u.unit().id()) {
                    result.allocation.push(format!(
                        "extent {extent} belongs to units {other} and {}",
                        u.unit().id()
                    ));
                }
            }
        }
        for file in self.store().files() {
            for extent in self.store().allocated_extents(file.spec.id)? {
                if owners.remove(&extent).is_none() && !extent.is_system() {
                    result
                        .allocation
                        .push(format!("extent {extent} is allocated but belongs to no unit"));
                }
            }
        }
        let mut lost: Vec<_> = owners.into_iter().collect();
        lost.sort_unstable();
        for (extent, unit) in lost {
            result.allocation.push(format!("extent {extent} of unit {unit} is free in the GAM"));
        }
        Ok(())
    }
}
