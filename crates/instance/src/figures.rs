//! What the instance has done since its start, for @@PACK_RECEIVED, similar functions and
//! sp_monitor. Guarantee: counts only grow while the instance runs; without a server there are no
//! packets.

use std::sync::Arc;

use super::InstanceCore;

/// What a server that clients connect to has counted.
pub trait Packets: Send + Sync {
    /// Packets from clients.
    fn received(&self) -> u64;
    /// Packets to clients.
    fn sent(&self) -> u64;
    /// Connections that have failed, or on which came what is no packet.
    fn errors(&self) -> u64;
}

/// Counts of one moment. Times are of all processors, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct InstanceFigures {
    /// Seconds since the start.
    pub seconds: u64,
    pub cpu_us: u64,
    pub io_us: u64,
    pub idle_us: u64,
    pub received: u64,
    pub sent: u64,
    pub packet_errors: u64,
    pub reads: u64,
    pub writes: u64,
    /// Writes that have failed.
    pub errors: u64,
    pub connections: u64,
}

impl InstanceCore {
    /// Tells of a server that clients connect to. Once only.
    pub fn set_packets(&self, packets: Arc<dyn Packets>) {
        // A second server of one instance counts for itself.
        let _ = self.packets.set(packets);
    }

    pub fn packets(&self) -> Option<&dyn Packets> {
        self.packets.get().map(|packets| &**packets)
    }

    /// What sp_monitor found when it ran last, and what it finds now in its place.
    pub fn monitor(&self, now: InstanceFigures) -> InstanceFigures {
        std::mem::replace(&mut self.monitored.lock(), now)
    }
}
