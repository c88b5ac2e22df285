//! What an instance keeps for its logins: hashes at work, failures, which attempts the error log
//! tells of.

use std::sync::atomic::AtomicU8;

use super::passwords::Passwords;
use super::throttle::Throttle;

/// Which logins the error log tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginAudit {
    None = 0,
    Successful = 1,
    Failed = 2,
    Both = 3,
}

/// What an instance keeps for its logins.
pub struct Logins {
    pub passwords: Passwords,
    pub throttle: Throttle,
    pub(super) audit: AtomicU8,
}

impl Default for Logins {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Logins {
            passwords: Passwords::new(processors),
            throttle: Throttle::default(),
            audit: AtomicU8::new(LoginAudit::Failed as u8),
        }
    }
}
