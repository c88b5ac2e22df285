//! The instance of a session, for what statements do beyond its
//! [`Host`](session::state::host::Host): files, other sessions, backup.

use std::sync::Arc;

use super::InstanceCore;
use session::state::SessionCore;

/// What has an instance.
pub trait OfInstance {
    /// It.
    fn instance(&self) -> &Arc<InstanceCore>;
}

impl OfInstance for SessionCore {
    #[inline]
    fn instance(&self) -> &Arc<InstanceCore> {
        match self.instance_of() {
            Some(instance) => instance,
            // `Session::of` is the only place that makes sessions.
            None => unreachable!("a session that no instance has made"),
        }
    }
}
