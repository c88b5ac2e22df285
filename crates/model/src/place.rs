//! Location of files on a device: which array, and at which addresses of it.
//!
//! Address space is allocated in extents, the first free one, when a file first touches that part
//! of itself. So files that grow alternately are interleaved, as on a real volume. When the device
//! is full, addresses begin again at the start: the model never refuses space, the file system
//! below it does.

use std::collections::BTreeSet;
use std::path::Path;

use crate::params::Device;

/// Extents per array at most this long.
const EXTENT: u64 = 64 << 20;
/// Least number of extents of an array.
const MIN_EXTENTS: u64 = 64;

/// The address space of one array. Extent 0 is the file system's journal and metadata.
#[derive(Debug)]
pub(crate) struct Space {
    extent: u64,
    count: u64,
    next: u64,
    freed: BTreeSet<u64>,
}

impl Space {
    pub fn new(device: &Device) -> Self {
        let capacity = device.array_capacity();
        let extent = (capacity / MIN_EXTENTS).next_multiple_of(1 << 20).clamp(1 << 20, EXTENT);
        Space { extent, count: (capacity / extent).max(2), next: 1, freed: BTreeSet::new() }
    }

    pub fn extent(&self) -> u64 {
        self.extent
    }

    fn take(&mut self) -> u64 {
        if let Some(first) = self.freed.pop_first() {
            return first;
        }
        let number = self.next;
        self.next += 1;
        if number < self.count { number } else { 1 + number % (self.count - 1) }
    }

    fn give_back(&mut self, number: u64) {
        self.freed.insert(number);
    }
}

/// Which extents a file has: index = part of the file, value = extent of its array.
#[derive(Debug, Default)]
pub(crate) struct Extents(Vec<Option<u64>>);

impl Extents {
    /// Addresses of `offset..offset + len` of the file, as (address, length), neighbours joined.
    pub fn locate(&mut self, space: &mut Space, offset: u64, len: u64) -> Vec<(u64, u64)> {
        let size = space.extent();
        let mut parts: Vec<(u64, u64)> = Vec::new();
        let (mut at, end) = (offset, offset.saturating_add(len));
        while at < end {
            let index = (at / size) as usize;
            if self.0.len() <= index {
                self.0.resize(index + 1, None);
            }
            let number = *self.0[index].get_or_insert_with(|| space.take());
            let part = ((at / size + 1) * size).min(end) - at;
            let address = number * size + at % size;
            match parts.last_mut() {
                Some((start, joined)) if *start + *joined == address => *joined += part,
                _ => parts.push((address, part)),
            }
            at += part;
        }
        parts
    }

    /// Frees the extents past `len`.
    pub fn cut(&mut self, space: &mut Space, len: u64) {
        let keep = len.div_ceil(space.extent()) as usize;
        if keep < self.0.len() {
            for number in self.0.drain(keep..).flatten() {
                space.give_back(number);
            }
        }
    }
}

/// The kind of a file. The files of each kind are assigned to the arrays round-robin, separately
/// from other kinds, so that a log between two data files does not put both on the same array.
/// `None`: small files, always on the first array.
pub(crate) fn kind_of(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "mdf" | "ndf" => Some("data"),
        "ldf" => Some("log"),
        "bak" | "trn" => Some("backup"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_grow_in_turn_lie_interleaved_and_give_back() {
        let device = crate::builtin("hdd-7200").expect("built in");
        let mut space = Space::new(&device);
        let (mut a, mut b) = (Extents::default(), Extents::default());
        let e = space.extent();
        assert_eq!(a.locate(&mut space, 0, 4096), [(e, 4096)]);
        assert_eq!(b.locate(&mut space, 512, 512), [(2 * e + 512, 512)]);
        assert_eq!(a.locate(&mut space, e - 512, 1024), [(2 * e - 512, 512), (3 * e, 512)]);
        a.cut(&mut space, e);
        assert_eq!(b.locate(&mut space, e, 10), [(3 * e, 10)]);
        assert_eq!(b.locate(&mut space, 0, e + 5), [(2 * e, e + 5)]);
    }

    #[test]
    fn a_full_device_begins_again() {
        let device = crate::builtin("hdd-7200").expect("built in").shrunk(1e-6);
        let mut space = Space::new(&device);
        let mut file = Extents::default();
        let e = space.extent();
        for part in 0..3 * space.count {
            let at = file.locate(&mut space, part * e, 1)[0].0;
            assert!(at >= e && at < space.count * e);
        }
    }

    #[test]
    fn kinds() {
        assert_eq!(kind_of(Path::new("a/Sales.MDF")), Some("data"));
        assert_eq!(kind_of(Path::new("Sales_log.ldf")), Some("log"));
        assert_eq!(kind_of(Path::new("databases.json")), None);
    }
}
