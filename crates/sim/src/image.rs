//! One file's content: sparse pages shared between copies, and the versions of sectors that are not
//! durable yet.

use std::collections::BTreeMap;
use std::sync::Arc;

const PAGE: usize = 4096;
const ZEROS: [u8; PAGE] = [0; PAGE];

/// A sparse byte image; what was never written reads as zeros. Cloning shares the pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    len: u64,
    pages: BTreeMap<u64, Arc<[u8; PAGE]>>,
}

impl Image {
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Cuts or extends; bytes past the end are discarded, so that a later extension reads as zeros.
    pub fn set_len(&mut self, len: u64) {
        if len < self.len {
            let first_gone = len.div_ceil(PAGE as u64);
            self.pages.split_off(&first_gone);
            let within = (len % PAGE as u64) as usize;
            if within != 0
                && let Some(page) = self.pages.get_mut(&(len / PAGE as u64))
            {
                Arc::make_mut(page)[within..].fill(0);
            }
        }
        self.len = len;
    }

    /// Copies bytes out; the range must lie within the length.
    pub fn read(&self, offset: u64, out: &mut [u8]) {
        debug_assert!(offset + out.len() as u64 <= self.len);
        let mut done = 0;
        while done < out.len() {
            let at = offset + done as u64;
            let within = (at % PAGE as u64) as usize;
            let n = (PAGE - within).min(out.len() - done);
            match self.pages.get(&(at / PAGE as u64)) {
                Some(page) => out[done..done + n].copy_from_slice(&page[within..within + n]),
                None => out[done..done + n].fill(0),
            }
            done += n;
        }
    }

    /// Writes bytes, extending the length if needed.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let within = (at % PAGE as u64) as usize;
            let n = (PAGE - within).min(bytes.len() - done);
            let part = &bytes[done..done + n];
            done += n;
            if n == PAGE && part == ZEROS.as_slice() {
                // Absent pages are zeros.
                self.pages.remove(&(at / PAGE as u64));
                continue;
            }
            let page = self.pages.entry(at / PAGE as u64).or_insert_with(|| Arc::new([0; PAGE]));
            Arc::make_mut(page)[within..within + n].copy_from_slice(part);
        }
        self.len = self.len.max(offset + bytes.len() as u64);
    }
}

/// A file: live and durable content, and for each unsynced atom the versions written since it was
/// last durable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inode {
    pub live: Image,
    pub durable: Image,
    pub unsynced: BTreeMap<u64, Vec<Box<[u8]>>>,
    /// A length change that the crash interrupted.
    pub interrupted_len: Option<u64>,
}

impl Inode {
    /// A write that is not durable.
    pub fn write(&mut self, offset: u64, bytes: &[u8], atom: u64) {
        self.live.write(offset, bytes);
        let end = offset + bytes.len() as u64;
        for index in offset / atom..end.div_ceil(atom) {
            let version = self.atom_of(&self.live, index, atom);
            self.unsynced.entry(index).or_default().push(version);
        }
    }

    fn atom_of(&self, image: &Image, index: u64, atom: u64) -> Box<[u8]> {
        let start = index * atom;
        let end = (start + atom).min(image.len());
        let mut bytes = vec![0; end.saturating_sub(start) as usize].into_boxed_slice();
        image.read(start, &mut bytes);
        bytes
    }

    /// Makes the atoms that overlap a range durable, and the length as far as the range needs it.
    pub fn make_durable(&mut self, offset: u64, len: u64, atom: u64) {
        let end = offset + len;
        if self.durable.len() < end.min(self.live.len()) {
            self.durable.set_len(end.min(self.live.len()));
        }
        let range = offset / atom..end.div_ceil(atom);
        let indexes: Vec<u64> = self.unsynced.range(range).map(|(index, _)| *index).collect();
        for index in indexes {
            self.unsynced.remove(&index);
            let start = index * atom;
            if start < self.durable.len() {
                let bytes = self.atom_of(&self.live, index, atom);
                let fits = (self.durable.len() - start).min(bytes.len() as u64) as usize;
                self.durable.write(start, &bytes[..fits]);
            }
        }
    }

    /// Everything written so far becomes durable.
    pub fn sync(&mut self, atom: u64) {
        self.make_durable(0, self.live.len(), atom);
        debug_assert!(self.unsynced.is_empty());
    }

    /// A durable change of the length.
    pub fn set_len(&mut self, len: u64, atom: u64) {
        self.live.set_len(len);
        self.durable.set_len(len);
        self.unsynced.split_off(&len.div_ceil(atom));
    }

    /// A change of the length whose sync has failed: what was unsynced is lost, and the length may
    /// be lost too.
    pub fn lose_at_len(&mut self, len: u64) {
        self.live.set_len(len);
        self.unsynced.clear();
    }

    /// What a power loss leaves of this file if `keep` decides for each unsynced atom whether it
    /// survives.
    pub fn kept(&self, atom: u64, keep: &mut dyn FnMut() -> bool) -> Inode {
        let mut left = self.durable.clone();
        left.set_len(self.live.len());
        for (index, versions) in &self.unsynced {
            if let Some(newest) = versions.last().filter(|_| keep()) {
                let start = index * atom;
                let fits = left.len().saturating_sub(start).min(newest.len() as u64) as usize;
                left.write(start.min(left.len()), &newest[..fits]);
            }
        }
        Inode { live: left.clone(), durable: left, ..Inode::default() }
    }

    /// What a power loss leaves of this file.
    pub fn crashed(&self, atom: u64, rng: &mut fastrand::Rng) -> Inode {
        let mut left = self.durable.clone();
        if self.live.len() > left.len() {
            // The file grew by writing: the new length is unsynced metadata.
            let (old, new) = (left.len() / atom, self.live.len().div_ceil(atom));
            let len = match rng.u8(0..3) {
                0 => left.len(),
                1 => self.live.len(),
                _ => (rng.u64(old..=new) * atom).clamp(left.len(), self.live.len()),
            };
            left.set_len(len);
        }
        // One bias per crash makes "all lost" and "all kept" as likely as mixtures.
        let keep = [0.0, 0.1, 0.5, 0.9, 1.0][rng.usize(0..5)];
        for (index, versions) in &self.unsynced {
            if rng.f64() >= keep {
                continue;
            }
            // Mostly the newest version, sometimes one in between: the device may have written only
            // up to that one.
            let version =
                if rng.u8(0..4) == 0 { rng.usize(0..versions.len()) } else { versions.len() - 1 };
            let start = index * atom;
            let fits =
                left.len().saturating_sub(start).min(versions[version].len() as u64) as usize;
            left.write(start.min(left.len()), &versions[version][..fits]);
        }
        if let Some(len) = self.interrupted_len
            && rng.bool()
        {
            left.set_len(len);
        }
        Inode { live: left.clone(), durable: left, ..Inode::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_cut_and_extend_with_zeros() {
        let mut image = Image::default();
        image.write(4000, &[1; 1000]);
        assert_eq!(image.len(), 5000);
        image.set_len(4100);
        image.set_len(6000);
        let mut out = [9; 2000];
        image.read(4000, &mut out);
        assert!(out[..100].iter().all(|&b| b == 1) && out[100..].iter().all(|&b| b == 0));
    }

    #[test]
    fn a_crash_leaves_old_new_or_between_but_never_foreign_bytes() {
        let mut inode = Inode::default();
        inode.write(0, &[1; 2048], 512);
        inode.sync(512);
        inode.write(0, &[2; 2048], 512);
        inode.write(0, &[3; 1024], 512);
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let left = inode.crashed(512, &mut fastrand::Rng::with_seed(seed));
            let mut out = [0; 2048];
            left.live.read(0, &mut out);
            for sector in out.chunks(512) {
                assert!(sector.iter().all(|b| *b == sector[0]), "an atom is never torn");
            }
            seen.insert([out[0], out[512], out[1024], out[1536]]);
        }
        assert!(
            seen.contains(&[1; 4]) && seen.contains(&[3, 3, 2, 2]),
            "all lost and all kept both happen"
        );
        assert!(seen.len() > 10, "mixtures happen: {seen:?}");
    }
}
