//! Header and map of the log as they are on disk, and the growths that wait to be taken. Changed
//! under the lock `meta` of the log (the waiting growths under `steps`); what each write guarantees
//! is said in `grow` and `ahead`.

use disk::{AlignedBuf, BlockFile, DiskError};
use smallvec::SmallVec;

use crate::header::{
    FILE_RUNS, FileHeader, HISTORY_MAX, MAP_RUNS, MapPart, SLOT_SIZE, encode_file, encode_map,
};
use crate::tail::Tail;
use crate::vlf::{EqualVlfs, VlfMap};
use crate::{Lsn, runs};

/// Growth is rounded up to this many bytes.
pub(crate) const GROWTH_UNIT: u64 = 64 << 10;
/// One 8 KB map area in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapArea {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Index of its first run in the map.
    pub first_run: usize,
    /// Slot that was written last.
    pub slot: usize,
}

/// The state of header and map on disk.
#[derive(Debug)]
pub(crate) struct Meta {
    /// The header as last written; history, truncation point and durable end are refreshed with
    /// every write.
    pub header: FileHeader,
    pub areas: Vec<MapArea>,
    /// Sequence number of the last slot written anywhere.
    pub seqno: u64,
    /// The file is written with zeros and synced up to here: at least to the end of the map. The
    /// rest is for growths to come.
    pub prepared_end: u64,
}

impl Meta {
    /// Writes the slot of an area that is not the newest, durably: header and runs `first_run..` up
    /// to the next area or the end of `runs`.
    pub fn write_area(
        &mut self,
        file: &dyn BlockFile,
        index: usize,
        runs: &[EqualVlfs],
    ) -> Result<(), DiskError> {
        let end = self.areas.get(index + 1).map_or(runs.len(), |next| next.first_run);
        let next = self.areas.get(index + 1).map_or(0, |next| next.offset);
        let Some(area) = self.areas.get_mut(index) else { return Ok(()) };
        self.seqno += 1;
        let part = MapPart { runs: runs[area.first_run..end].to_vec(), next };
        let mut slot = AlignedBuf::new(SLOT_SIZE);
        if index == 0 {
            encode_file(&mut slot, self.seqno, &self.header, &part);
        } else {
            encode_map(&mut slot, self.seqno, &self.header.log_id, &part);
        }
        let target = 1 - area.slot;
        file.write_durable(area.offset + (target * SLOT_SIZE) as u64, &[&slot])?;
        area.slot = target;
        Ok(())
    }

    /// Copies into the header what the tail knows (truncation point, history) and how far the log
    /// is durable.
    pub fn refresh(&mut self, tail: &Tail, durable_to: u64) {
        self.header.oldest = tail.oldest;
        self.header.durable_to = durable_to;
        self.header.clean = false;
        let runs = tail.history.runs();
        // More runs than fit: the oldest are found again by reading the VLFs' first blocks.
        let skip = runs.len().saturating_sub(HISTORY_MAX);
        self.header.history = runs.skip(skip).copied().collect();
    }

    /// Adds areas for those runs at the end of the map that do not fit the last area; `old` runs
    /// were there before the growth.
    pub fn place_areas(&mut self, map: &mut VlfMap, old: usize) {
        let last = self.areas.len() - 1;
        let mut first = self.areas[last].first_run;
        let mut room = if last == 0 { FILE_RUNS } else { MAP_RUNS };
        loop {
            let fit = first + runs::how_many(&map.runs()[first..], room);
            if fit == map.runs().len() {
                return;
            }
            // Inside a new VLF. No reader finds the area until the one before it names it.
            (first, room) = (fit.max(old), MAP_RUNS);
            let offset = map.runs()[first].first_offset;
            self.areas.push(MapArea { offset, first_run: first, slot: 1 });
            map.add_area(offset);
        }
    }

    /// Adds new runs at the end of the map to the map on disk; `old` is how many there were before.
    /// Costs one write, and one more for each area that becomes full.
    pub fn publish_growth(
        &mut self,
        file: &dyn BlockFile,
        map: &mut VlfMap,
        old: usize,
    ) -> Result<(), DiskError> {
        let last = self.areas.len() - 1;
        self.place_areas(map, old);
        (last..self.areas.len()).rev().try_for_each(|area| self.write_area(file, area, map.runs()))
    }
}

/// Header and map as they are on disk, but for steps that were dropped.
#[derive(Debug)]
pub(crate) struct OnDisk {
    pub meta: Meta,
    /// The log's map and, after its end, the waiting steps.
    pub map: VlfMap,
    /// The end of the map as it was last written: further than that of `map` while dropped steps
    /// are still in it. The file is never cut before this offset.
    pub known_end: u64,
    /// A map area was dropped, and the area before it still names it in the file. The dropped
    /// area's space must not be written again until that has changed: a torn write would break the
    /// chain of areas.
    pub named: bool,
    /// Bytes of the last growth that was requested with [`Log::grow`](crate::Log::grow).
    pub asked: u64,
}

impl OnDisk {
    pub fn new(meta: Meta, map: VlfMap) -> OnDisk {
        let known_end = map.end();
        OnDisk { meta, map, known_end, named: false, asked: 0 }
    }

    /// Writes to disk what was added to the map after its first `old` runs; durable on return.
    pub fn publish(&mut self, file: &dyn BlockFile, old: usize) -> Result<(), DiskError> {
        if std::mem::take(&mut self.named) {
            let last = self.meta.areas.len() - 1;
            self.meta.write_area(file, last, &self.map.runs()[..old])?;
        }
        self.meta.publish_growth(file, &mut self.map, old)?;
        self.known_end = self.map.end();
        Ok(())
    }

    /// Keeps the first `count` VLFs; nothing is written.
    pub fn truncate(&mut self, count: u32) {
        self.map.truncate(count);
        let (runs, areas) = (self.map.runs().len(), self.meta.areas.len());
        self.meta.areas.retain(|area| area.first_run < runs);
        self.named |= self.meta.areas.len() < areas;
    }
}

/// A growth that waits to be taken.
#[derive(Debug)]
pub(crate) struct GrowthStep {
    /// Its bytes, and the size of the log once it is taken.
    pub size: u64,
    pub end: u64,
    /// Size and number of its VLFs.
    pub vlfs: SmallVec<[(u64, u32); 2]>,
    pub create_lsn: Lsn,
    /// Which of them begin with a map area, by offset.
    pub areas: SmallVec<[u64; 1]>,
}

/// What `Log::take_step` found.
pub(crate) enum TakenStep {
    /// The log has this size now.
    Grown(u64),
    /// Another thread has grown the log.
    Already,
    /// No such step waits.
    Nothing,
}
