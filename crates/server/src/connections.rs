//! The connections of a lane by their numbers.
//! Guarantee: threads that look for different connections mostly meet at no common place; one whose
//! events may come is found.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::connection::Connection;

/// Parts of the list: more than there are cores for a lane.
const PARTS: usize = 16;

/// Some of the connections, on cache lines of their own.
#[repr(align(128))]
#[derive(Default)]
struct ConnectionPart(Mutex<HashMap<usize, Arc<Connection>>>);

/// Connections by their numbers.
#[derive(Default)]
pub struct Connections {
    parts: [ConnectionPart; PARTS],
}

/// The part of a number; neighbours are in different ones.
fn part_of(id: usize) -> usize {
    ((id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize % PARTS
}

impl Connections {
    fn part(&self, id: usize) -> &Mutex<HashMap<usize, Arc<Connection>>> {
        &self.parts[part_of(id)].0
    }

    /// A new one, which is watched from now on.
    ///
    /// # Errors
    /// It cannot be watched, and is not here.
    pub fn enter(
        &self,
        connection: Connection,
        watch: impl FnOnce(&Connection) -> io::Result<()>,
    ) -> io::Result<()> {
        // Its events may come at once: whoever looks for it waits until it is here.
        let mut part = self.part(connection.id).lock();
        watch(&connection)?;
        part.insert(connection.id, Arc::new(connection));
        Ok(())
    }

    /// That of a number.
    pub fn find(&self, id: usize) -> Option<Arc<Connection>> {
        self.part(id).lock().get(&id).cloned()
    }

    /// Takes that of a number out.
    pub fn remove(&self, id: usize) -> Option<Arc<Connection>> {
        self.part(id).lock().remove(&id)
    }

    /// All that there are.
    pub fn all(&self) -> Vec<Arc<Connection>> {
        let of = |part: &ConnectionPart| part.0.lock().values().cloned().collect::<Vec<_>>();
        self.parts.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_in_different_parts() {
        for lanes in [1, 2, 3, 8, 12] {
            // The numbers of a lane are as far apart as there are lanes.
            let mut counts = [0; PARTS];
            (0..1_600).for_each(|n| counts[part_of(5 + n * lanes)] += 1);
            assert!(
                counts.iter().all(|count| (60..=140).contains(count)),
                "{lanes} lanes: {counts:?}"
            );
        }
    }
}
