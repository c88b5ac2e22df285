//! Read-ahead for work that has no list of the pages to come, such as the undo of a log: it notices
//! that pages are visited one beside the other, in either direction, and then reads the neighbours
//! to come in one transfer. Guarantee: without such neighbours nothing is read.

use crate::id::PageId;
use crate::pool::PREFETCH_PAGES;
use crate::store::Store;

/// Trails that are followed at the same time: a table and its indexes.
const TRAILS: usize = 4;
/// Pages that are this close belong to one trail.
const NEAR: u32 = 8;
/// Steps in one direction before anything is read ahead.
const STEPS: u32 = 3;

/// Pages visited one near the other.
#[derive(Clone, Copy, Debug)]
struct Trail {
    last: PageId,
    /// Page numbers fall.
    down: bool,
    steps: u32,
    /// Pages up to here in this direction have been read.
    edge: Option<u32>,
}

/// Follows visits to pages.
#[derive(Debug, Default)]
pub struct ReadAround {
    /// The one visited last is first.
    trails: Vec<Trail>,
}

impl ReadAround {
    /// The page is about to be visited: reads it with its neighbours if a trail leads to it. Failed
    /// reads are found by the visit.
    pub fn visit(&mut self, store: &Store, page: PageId) {
        if let Some((first, last)) = self.step(page) {
            let pages: Vec<PageId> = (first..=last).map(|p| PageId::new(page.file, p)).collect();
            drop(store.prefetch(&pages));
        }
    }

    /// The first and the last page to read before this one is visited.
    fn step(&mut self, page: PageId) -> Option<(u32, u32)> {
        let near = |t: &Trail| t.last.file == page.file && t.last.page.abs_diff(page.page) <= NEAR;
        let Some(at) = self.trails.iter().position(near) else {
            self.trails.truncate(TRAILS - 1);
            self.trails.insert(0, Trail { last: page, down: false, steps: 0, edge: None });
            return None;
        };
        self.trails[..=at].rotate_right(1);
        let trail = &mut self.trails[0];
        if trail.last == page {
            return None;
        }
        let down = page.page < trail.last.page;
        if down != trail.down {
            *trail = Trail { last: page, down, steps: 1, edge: None };
            return None;
        }
        trail.last = page;
        trail.steps = trail.steps.saturating_add(1);
        let read =
            trail.edge.is_some_and(|edge| if down { page.page >= edge } else { page.page <= edge });
        if trail.steps < STEPS || read {
            return None;
        }
        let more = PREFETCH_PAGES as u32 - 1;
        let edge =
            if down { page.page.saturating_sub(more) } else { page.page.saturating_add(more) };
        trail.edge = Some(edge);
        Some((page.page.min(edge), page.page.max(edge)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORE: u32 = PREFETCH_PAGES as u32 - 1;

    /// The windows read on a way through pages of file 1.
    fn windows(way: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
        let mut around = ReadAround::default();
        way.into_iter().filter_map(|page| around.step(PageId::new(1, page))).collect()
    }

    #[test]
    fn neighbours_are_read_together_in_both_directions() {
        let down = windows((500..=1000).rev());
        assert_eq!(down[0], (997 - MORE, 997));
        assert_eq!(
            down[1],
            (997 - 2 * MORE - 1, 997 - MORE - 1),
            "the next one begins where the first ends"
        );
        let up = windows(500..=1000);
        assert_eq!(up[0].1 - up[0].0, MORE);
        assert_eq!(up[1].0, up[0].1 + 1);
        assert!(down.len() <= 500usize.div_ceil(PREFETCH_PAGES), "{down:?}");
        assert_eq!(windows([5, 4, 3, 2, 1, 0]), [(0, 2)]);
    }

    #[test]
    fn scattered_and_repeated_visits_read_nothing() {
        assert_eq!(windows((0..300).map(|i| i * 7919 % 100_003)), []);
        assert_eq!(windows([7; 100]), []);
        assert_eq!(windows((0..100).map(|i| 50 + i % 2)), [], "to and fro");
    }

    #[test]
    fn a_table_and_its_indexes_are_followed_at_once() {
        let way = (0..200).flat_map(|i| [1000 - i, 5000 - i, 9000 - i]);
        let windows = windows(way);
        assert!(
            windows.len() >= 3 * 2 && windows.iter().all(|(first, last)| last - first == MORE),
            "{windows:?}"
        );
    }
}
