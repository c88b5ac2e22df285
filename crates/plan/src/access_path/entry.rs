//! Conditions that the entries of an index tell of: they are tested before the rows behind the
//! entries are looked up.
//! Guarantee: no condition that can fail is asked of a row that it would not have been asked of
//! behind the conditions before it.

use super::Question;
use super::terms::Found;
use crate::estimate;
use crate::never_fails::never_fails;
use crate::nodes::EntryTest;
use expr::{ColId, Pred};
use logical::slots::pred_slots;
use logical::tree::Get;
use storage::{IndexStore, TableMode};
use types::SqlError;

/// Which of a table's conditions are tested on the entries of an index, in their order.
fn on_entries(get: &Get, index: &IndexStore, preds: &[Pred]) -> Vec<bool> {
    let told = |pred: &Pred| {
        let mut used = Vec::new();
        pred.columns(&mut used);
        let has =
            |id: &ColId| get.position(*id).is_some_and(|column| index.position(column).is_some());
        !used.is_empty() && used.iter().all(has) && !pred.has_subquery() && !pred.is_volatile()
    };
    let mut all_before = true;
    let mut of = |pred: &Pred| {
        let taken = told(pred) && (all_before || never_fails(pred));
        all_before &= taken;
        taken
    };
    preds.iter().map(&mut of).collect()
}

/// Whether an entry may be without a value that the condition asks for.
fn may_lack(get: &Get, index: &IndexStore, pred: &Pred) -> bool {
    let mut used = Vec::new();
    pred.columns(&mut used);
    used.iter().any(|id| get.position(*id).is_none_or(|column| index.may_lack(column)))
}

/// The test of an index's entries. It takes the conditions that it stands for from those that are
/// tested on rows, except where a row may be another one by then than its entry says (newest
/// versions are tested again), or where an entry may lack a value: it passes then, and none of the
/// conditions has been tested.
pub(super) fn test_of(
    get: &Get,
    index: &IndexStore,
    preds: &mut Vec<Pred>,
) -> Result<Option<EntryTest>, SqlError> {
    let taken = on_entries(get, index, preds);
    if !taken.contains(&true) {
        return Ok(None);
    }
    let lacks = preds.iter().zip(&taken).any(|(pred, taken)| *taken && may_lack(get, index, pred));
    let again = lacks || get.mode == TableMode::Current || get.locks.is_some();
    let (mut own, mut rest) = (Vec::new(), Vec::new());
    for (pred, taken) in std::mem::take(preds).into_iter().zip(taken) {
        match taken {
            true if again => {
                own.push(pred.clone());
                rest.push(pred);
            }
            true => own.push(pred),
            false => rest.push(pred),
        }
    }
    *preds = rest;
    let Some(mut pred) = Pred::from_conjuncts(own) else { return Ok(None) };
    let mut ids = Vec::new();
    pred.columns(&mut ids);
    pred_slots(&mut pred, &ids)?;
    let columns: Vec<usize> = ids.iter().filter_map(|id| get.position(*id)).collect();
    let places =
        columns.iter().filter_map(|column| index.position(*column)).map(|at| at as u16).collect();
    let columns = columns.into_iter().map(|column| column as u16).collect();
    Ok(Some(EntryTest { pred, columns, places }))
}

impl Question<'_> {
    /// The rows that are looked up when so many entries are read by these ranges.
    pub(super) fn looked_up(&self, index: &IndexStore, found: &[Found<'_>], read: f64) -> f64 {
        let used: &[usize] = match found.first() {
            Some(first) => &first.used,
            None => &[],
        };
        let is_sought = |at: usize, pred: &Pred| {
            let choice = || self.conditions.choices.iter().any(|choice| choice.at == at);
            used.contains(&at)
                || found
                    .iter()
                    .any(|found| found.sought.iter().any(|known| std::ptr::eq(*known, pred)))
                || (found.len() > 1 && choice())
        };
        let taken = on_entries(self.get, index, self.preds);
        let rest = self.preds.iter().zip(taken).enumerate();
        let rest: Vec<&Pred> = rest
            .filter(|(at, (pred, taken))| *taken && !is_sought(*at, pred))
            .map(|(_, (pred, _))| pred)
            .collect();
        if rest.is_empty() {
            return read;
        }
        let passed = read * estimate::kept(rest, &self.input);
        passed.max(self.rows.min(read))
    }
}
