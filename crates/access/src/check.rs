//! Structural checks: what DBCC CHECKTABLE needs of heaps, B+trees and LOBs. Damage is collected,
//! not returned as an error; the checks go on after it as far as they can. They expect a structure
//! that nobody changes meanwhile.

use crate::error::AccessError;
use crate::heap::{BACK, Heap, HomeSlot, forwarded, home};
use crate::lob::{LobPointer, LobSpace};
use crate::rid::Rid;
use crate::space::Space;
use pages::{FORWARD, PFS_ALLOCATED, PFS_IAM, Page, PageError, PageId, PageType};
use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFinding {
    pub page: PageId,
    pub what: String,
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}: {}", self.page, self.what)
    }
}

/// What a check saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    pub findings: Vec<CheckFinding>,
    /// Pages of the structure, allocation maps left out.
    pub pages: u64,
    /// Rows that are not deleted.
    pub rows: u64,
    pub ghosts: u64,
    pub forwarded: u64,
    /// Levels of a B+tree.
    pub levels: u8,
}

impl CheckReport {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(crate) fn add(&mut self, page: PageId, what: impl Into<String>) {
        self.findings.push(CheckFinding { page, what: what.into() });
    }

    /// Takes damage down as a finding; other errors stop the check.
    pub(crate) fn damage(&mut self, page: PageId, error: AccessError) -> Result<(), AccessError> {
        match error {
            AccessError::Page(e @ (PageError::Corrupt { .. } | PageError::NoSuchPage { .. })) => {
                self.add(page, e.to_string());
                Ok(())
            }
            AccessError::Page(e) if e.is_damage() => {
                self.add(page, e.to_string());
                Ok(())
            }
            e @ (AccessError::Lob { .. } | AccessError::Unstable { .. }) => {
                self.add(page, e.to_string());
                Ok(())
            }
            e => Err(e),
        }
    }

    /// The page's own structure, and whether it belongs here.
    pub(crate) fn page(&mut self, page: &Page, kind: PageType, space: &Space) {
        self.pages += 1;
        if let Err(e) = page.verify() {
            self.add(page.id(), e.to_string());
        }
        if page.page_type() != Some(kind) {
            self.add(page.id(), format!("is of type {} and not {kind:?}", page.raw_type()));
        }
        if page.unit() != space.id() {
            self.add(page.id(), format!("belongs to unit {} and not {}", page.unit(), space.id()));
        }
    }

    /// The allocation maps of the unit: extents also taken in the GAM, pages in use exactly the
    /// `seen` ones.
    pub(crate) fn maps(
        &mut self,
        space: &Space,
        seen: &HashSet<PageId>,
    ) -> Result<(), AccessError> {
        let unit = space.unit()?;
        let mut taken = HashSet::new();
        let files: BTreeSet<u16> = unit.extents().iter().map(|e| e.file).collect();
        for file in files {
            taken.extend(space.store.allocated_extents(file)?);
        }
        let iams: HashSet<PageId> = unit.iam_pages().into_iter().collect();
        let mut known = HashSet::new();
        for extent in unit.extents() {
            if !known.insert(extent) {
                self.add(extent.first_page(), "extent is twice in the IAM chain");
            }
            if !taken.contains(&extent) {
                self.add(extent.first_page(), "extent of the unit is free in the GAM");
            }
            for page in extent.pages() {
                let byte = space.store.pfs_byte(page)?;
                let used = byte & PFS_ALLOCATED != 0;
                if iams.contains(&page) != (byte & PFS_IAM != 0) {
                    self.add(page, "PFS and IAM chain do not agree on an IAM page");
                }
                if !iams.contains(&page) && used != seen.contains(&page) {
                    let what = if used {
                        "page is allocated but not part of the structure"
                    } else {
                        "page is part of the structure but free in the PFS"
                    };
                    self.add(page, what);
                }
            }
        }
        for page in seen.iter().filter(|p| !known.contains(&p.extent())) {
            self.add(*page, "page is part of the structure but not in the unit's extents");
        }
        Ok(())
    }
}

/// Pages that the check of a heap asks for at a time, one such step ahead of itself.
const READ_AHEAD: usize = 64;

impl Heap {
    /// Checks the whole heap: pages, stubs and their targets both ways, allocation maps.
    ///
    /// # Errors
    /// I/O; damage is in the report.
    pub fn check(&self) -> Result<CheckReport, AccessError> {
        let mut report = CheckReport::default();
        let pages = self.page_ids()?;
        let (mut stubs, mut targets) = (Vec::new(), HashSet::new());
        for (i, &id) in pages.iter().enumerate() {
            if i % READ_AHEAD == 0 {
                self.space.store.read_ahead(&pages[i..pages.len().min(i + 2 * READ_AHEAD)]);
            }
            match self.space.store.read_scan(id) {
                Ok(page) => {
                    report.page(&page, PageType::Data, &self.space);
                    if let Err(e) = check_rows(&page, &mut report, &mut stubs, &mut targets) {
                        report.damage(id, e)?;
                    }
                }
                Err(e) => report.damage(id, e.into())?,
            }
        }
        for (rid, target) in stubs {
            let led = targets.remove(&(target, rid));
            if !led {
                report.add(
                    rid.page,
                    format!("stub in slot {} leads to {target}, where its row is not", rid.slot),
                );
            } else if let Err(e) = self.check_stub(rid, target) {
                report.damage(target.page, e)?;
            }
        }
        for (target, rid) in targets {
            report.add(
                target.page,
                format!("forwarded row in slot {} has no stub at {rid}", target.slot),
            );
        }
        report.maps(&self.space, &pages.into_iter().collect())?;
        Ok(report)
    }

    fn check_stub(&self, rid: Rid, target: Rid) -> Result<(), AccessError> {
        let found = {
            let page = self.space.store.read(rid.page)?;
            home(&page, rid.slot)?
        };
        let page = self.space.store.read(target.page)?;
        if found != HomeSlot::At(target) || forwarded(&page, target.slot, rid)?.is_none() {
            return Err(AccessError::Unstable {
                page: target.page,
                what: "forwarded row and stub do not agree",
            });
        }
        Ok(())
    }
}

fn check_rows(
    page: &Page,
    report: &mut CheckReport,
    stubs: &mut Vec<(Rid, Rid)>,
    targets: &mut HashSet<(Rid, Rid)>,
) -> Result<(), AccessError> {
    for slot in 0..page.slot_count() {
        let Some((header, body)) = page.row(slot)? else { continue };
        let here = Rid { page: page.id(), slot };
        if body.len() < BACK {
            report.add(page.id(), format!("row in slot {slot} is shorter than a stub"));
            continue;
        }
        if header.is_forward() {
            if header.flags != FORWARD || body.len() != BACK {
                report.add(page.id(), format!("stub in slot {slot} is damaged"));
            } else if let HomeSlot::At(target) = home(page, slot)? {
                stubs.push((here, target));
            }
            continue;
        }
        if header.is_forwarded() {
            report.forwarded += 1;
            if let Some(back) = body.last_chunk::<BACK>() {
                targets.insert((here, Rid::from_bytes(*back)));
            }
        }
        *(if header.is_ghost() { &mut report.ghosts } else { &mut report.rows }) += 1;
    }
    Ok(())
}

impl LobSpace {
    /// Checks the chains of all values of the space, and that no other page of the unit is in use.
    /// `discarded` are the values on the list of discarded ones; of these a part may be freed
    /// already.
    ///
    /// # Errors
    /// I/O; damage is in the report.
    pub fn check(
        &self,
        values: &[LobPointer],
        discarded: &[LobPointer],
    ) -> Result<CheckReport, AccessError> {
        let mut report = CheckReport::default();
        let mut seen = HashSet::new();
        for &value in values {
            let mut pages = Vec::new();
            if let Err(e) = self.walk(value, value.len, |id, _| pages.push(id)) {
                report.damage(value.first, e)?;
            }
            report.rows += 1;
            report.pages += pages.len() as u64;
            for id in pages {
                if !seen.insert(id) {
                    report.add(id, "page belongs to two values");
                }
            }
        }
        for &value in discarded {
            match self.remains(value) {
                Ok(pages) => {
                    report.ghosts += 1;
                    report.pages += pages.len() as u64;
                    for id in pages {
                        if !seen.insert(id) {
                            report.add(id, "page belongs to a discarded value and to another");
                        }
                    }
                }
                Err(e) => report.damage(value.first, e)?,
            }
        }
        report.maps(self.space(), &seen)?;
        Ok(report)
    }
}
