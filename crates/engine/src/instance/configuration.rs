//! The configuration options that the instance shows, as sp_configure and sys.configurations have
//! them. What is configured here is given to the program when it starts: the options show it.

use std::sync::atomic::Ordering;

use super::Instance;

/// An option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationOption {
    pub id: i32,
    pub name: &'static str,
    pub minimum: i32,
    pub maximum: i32,
    pub value: i32,
    pub description: &'static str,
    pub is_advanced: bool,
}

impl Instance {
    /// The options in the order of their names.
    pub fn configuration(&self) -> Vec<ConfigurationOption> {
        vec![
            ConfigurationOption {
                id: 1544,
                name: "max server memory (MB)",
                minimum: 8,
                maximum: i32::MAX,
                value: i32::try_from(self.memory().target() >> 20).unwrap_or(i32::MAX),
                description: "Maximum size of server memory (MB)",
                is_advanced: true,
            },
            ConfigurationOption {
                id: 1576,
                name: "remote admin connections",
                minimum: 0,
                maximum: 1,
                value: self.remote_admin.load(Ordering::Relaxed).into(),
                description: "Dedicated Admin Connections are allowed from remote clients",
                is_advanced: false,
            },
        ]
    }

    /// Told by the server that clients connect to: whether its dedicated administrator connection
    /// can be reached from other machines.
    pub fn set_remote_admin(&self, allowed: bool) {
        self.remote_admin.store(allowed, Ordering::Relaxed);
    }
}
