//! Checks of a whole B+tree: order, fences, levels, sibling links, allocation.

use super::BTree;
use super::node::{MAX_LEVELS, inner_entry, leaf_entry};
use crate::check::CheckReport;
use crate::error::AccessError;
use pages::{Page, PageId, PageType};
use std::collections::HashSet;

/// A node to visit: what its parent says of it.
struct NodeVisit {
    id: PageId,
    level: Option<u8>,
    low: Option<Vec<u8>>,
    high: Option<Vec<u8>>,
}

/// Nodes that a check is ahead of itself, and after how many it asks for more.
const AHEAD: usize = 128;
const STEP: usize = 64;

/// What is known of one level while its nodes are visited from left to right.
#[derive(Default)]
struct Level {
    last: PageId,
    next: PageId,
}

impl BTree {
    /// Checks every page of the index against its neighbours, and the allocation maps.
    ///
    /// # Errors
    /// I/O; damage is in the report.
    pub fn check(&self) -> Result<CheckReport, AccessError> {
        let mut report = CheckReport::default();
        let mut seen = HashSet::new();
        let mut levels: Vec<Level> = Vec::new();
        let mut todo = vec![NodeVisit { id: self.root, level: None, low: None, high: None }];
        let mut visits = 0;
        while let Some(visit) = todo.pop() {
            visits += 1;
            if visits % STEP == 0 {
                let next: Vec<PageId> =
                    todo.iter().rev().take(AHEAD).map(|visit| visit.id).collect();
                self.space.store.read_ahead(&next);
            }
            if !seen.insert(visit.id) {
                report.add(visit.id, "page is in the index twice");
                continue;
            }
            let page = match self.space.store.read_scan(visit.id) {
                Ok(page) => page,
                Err(e) => {
                    report.damage(visit.id, e.into())?;
                    continue;
                }
            };
            report.page(&page, PageType::Index, &self.space);
            if let Err(e) = self.check_node(&page, &visit, &mut report, &mut levels, &mut todo) {
                report.damage(visit.id, e)?;
            }
        }
        for level in levels {
            if !level.next.is_none() {
                report.add(
                    level.last,
                    format!("last page of its level names {} as its right neighbour", level.next),
                );
            }
        }
        report.maps(&self.space, &seen)?;
        Ok(report)
    }

    fn check_node(
        &self,
        page: &Page,
        visit: &NodeVisit,
        report: &mut CheckReport,
        levels: &mut Vec<Level>,
        todo: &mut Vec<NodeVisit>,
    ) -> Result<(), AccessError> {
        let id = page.id();
        if page.root().is_none() {
            report.add(id, "has left the index");
        }
        if visit.level.is_some_and(|l| l != page.level()) || page.level() >= MAX_LEVELS {
            report.add(id, format!("level {} does not fit its parent", page.level()));
            return Ok(());
        }
        report.levels = report.levels.max(page.level() + 1);
        check_links(page, report, levels);
        if page.level() == 0 {
            return check_leaf(page, visit, report);
        }
        if page.slot_count() == 0 {
            report.add(id, "inner page without a child");
        }
        let mut children = Vec::new();
        for slot in 0..page.slot_count() {
            let (child, key) = inner_entry(page, slot)?;
            if slot == 0 && !key.is_empty() {
                report.add(id, "first separator is not minus infinity");
            }
            let low = if slot == 0 { visit.low.clone() } else { Some(key.to_vec()) };
            if slot > 0 {
                check_order(
                    page,
                    slot,
                    key,
                    children.last().and_then(|v: &NodeVisit| v.low.as_deref()),
                    visit,
                    report,
                );
            }
            if let Some(last) = children.last_mut() {
                last.high.clone_from(&low);
            }
            let level = Some(page.level() - 1);
            children.push(NodeVisit { id: child, level, low, high: visit.high.clone() });
        }
        // The leftmost is taken from the stack first, so each level is met from left to right.
        todo.extend(children.into_iter().rev());
        Ok(())
    }
}

fn check_links(page: &Page, report: &mut CheckReport, levels: &mut Vec<Level>) {
    let at = usize::from(page.level());
    if levels.len() <= at {
        levels.resize_with(at + 1, Level::default);
    }
    let level = &mut levels[at];
    if page.prev() != level.last {
        report.add(page.id(), format!("left neighbour is {} and not {}", page.prev(), level.last));
    }
    if !level.last.is_none() && level.next != page.id() {
        report.add(level.last, format!("right neighbour is {} and not {}", level.next, page.id()));
    }
    *level = Level { last: page.id(), next: page.next() };
}

fn check_leaf(page: &Page, visit: &NodeVisit, report: &mut CheckReport) -> Result<(), AccessError> {
    let mut last: Option<&[u8]> = None;
    for slot in 0..page.slot_count() {
        let entry = leaf_entry(page, slot)?;
        check_order(page, slot, entry.key, last, visit, report);
        last = Some(entry.key);
        *(if entry.header.is_ghost() { &mut report.ghosts } else { &mut report.rows }) += 1;
    }
    Ok(())
}

fn check_order(
    page: &Page,
    slot: u16,
    key: &[u8],
    last: Option<&[u8]>,
    visit: &NodeVisit,
    report: &mut CheckReport,
) {
    if last.is_some_and(|last| last >= key) {
        report.add(page.id(), format!("key in slot {slot} is not above the one before it"));
    }
    if visit.low.as_deref().is_some_and(|low| key < low)
        || visit.high.as_deref().is_some_and(|high| key >= high)
    {
        report.add(page.id(), format!("key in slot {slot} is outside the separators of its page"));
    }
}
