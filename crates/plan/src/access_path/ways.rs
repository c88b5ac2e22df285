//! The structures of a table as ways to read it: which there are, which of them hints leave, and
//! which give the wanted columns without a look at the row.
//! Guarantee: none stands for rows that have to be looked at themselves.

use super::terms::{Conditions, Terms};
use catalog::IndexDef;
use expr::{ColId, Pred};
use logical::access_hints::AccessHints;
use logical::tree::Get;
use std::borrow::Cow;
use storage::{Base, IndexStore, TableMode, TableStore};
use txn::locks::LockMode;

/// An index, or the base (`None`), as a way to read a table.
pub(super) struct AccessWay<'q> {
    pub def: &'q IndexDef,
    pub index: Option<usize>,
    pub store: Option<&'q IndexStore>,
    /// The columns that its entries are ordered by.
    pub order: Cow<'q, [(usize, bool)]>,
    /// Its rows are in a tree: it can be sought and gives an order.
    pub tree: bool,
    /// It holds all wanted columns.
    pub covering: bool,
    /// Some of them in its locators.
    pub by_locator: bool,
}

/// Whether entries of an index may stand for their rows. An entry's version is of the moment of its
/// row's, and under an S lock nobody changes what it holds; a row that is to be changed, or that
/// stronger locks keep others from, is always looked at itself.
pub(super) fn may_cover(get: &Get, needed: &[ColId]) -> bool {
    match get.locks {
        Some(locks) => locks.mode == LockMode::S && !needed.contains(&get.locator()),
        None => get.mode != TableMode::Current,
    }
}

/// Under locks a scan waits for all who are changing rows of the table, and SERIALIZABLE keeps them
/// all out: no index is read from end to end, for all that it costs, where another one is sought.
pub(super) fn prefer_seeks(ways: &mut [AccessWay<'_>], conditions: &Conditions<'_>) {
    let sought: Vec<bool> =
        ways.iter().map(|way| way.tree && conditions.seeks(&way.order, 1)).collect();
    if sought.contains(&true) {
        for (way, sought) in ways.iter_mut().zip(sought) {
            way.covering &= sought || way.index.is_none();
        }
    }
}

/// All structures by which a table may be read for these columns.
pub(super) fn ways_of<'t>(
    get: &'t Get,
    store: &'t TableStore,
    preds: &[Pred],
    wanted: &[usize],
    covers: bool,
) -> Vec<AccessWay<'t>> {
    let mut ways = Vec::with_capacity(1 + store.indexes.len());
    let clustered = matches!(store.base, Base::Tree(_));
    let base = &get.table.storage;
    ways.push(AccessWay {
        def: base,
        index: None,
        store: None,
        order: (&base.key).into(),
        tree: clustered,
        covering: true,
        by_locator: false,
    });
    let usable =
        |(_, index): &(usize, &IndexStore)| super::filtered::is_usable(get, &index.def, preds, &[]);
    for (at, index) in store.indexes.iter().enumerate().filter(usable) {
        let covering = covers && wanted.iter().all(|c| index.position(*c).is_some());
        let order = (&index.order).into();
        let by_locator = wanted.iter().any(|c| !index.columns.contains(c));
        let (index, store, def) = (Some(at), Some(index), &*index.def);
        ways.push(AccessWay { def, index, store, order, tree: true, covering, by_locator });
    }
    ways
}

impl AccessWay<'_> {
    /// Whether the table may be read so.
    pub fn obeys(&self, hints: AccessHints, conditions: &Conditions<'_>) -> bool {
        let named = hints.index.is_none_or(|hint| hint == self.def.index_id);
        let seeks = |least| self.tree && conditions.seeks(&self.order, least);
        named && hints.seek.is_none_or(seeks)
    }

    /// Whether equalities name a whole unique key.
    pub fn is_point(&self, terms: &Terms<'_>) -> bool {
        let named = |column: &usize| terms.equal.iter().any(|term| term.column == *column);
        self.tree
            && self.def.unique
            && !self.def.key.is_empty()
            && self.def.key.iter().all(|(column, _)| named(column))
    }
}
