//! The settings with which a PostgreSQL is compared: as its friends set it for a comparison, as it
//! is shipped, and without the protection against torn pages.

use crate::TORN;
use crate::work::Config;

/// With which settings it runs. Each has the same buffers and its log written beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// As for a comparison: no checkpoint and no vacuum by itself while something is measured, the
    /// best of its log settings.
    #[default]
    Tuned,
    /// As it is shipped: checkpoints as its defaults make them, autovacuum on.
    Shipped,
    /// As tuned, with `full_page_writes` off: what the protection against torn pages costs. Not
    /// safe on a disk that tears them.
    Torn,
}

impl Variant {
    pub(super) fn title(self) -> &'static str {
        match self {
            Variant::Tuned => "PostgreSQL",
            Variant::Shipped => "PostgreSQL, as shipped",
            Variant::Torn => TORN,
        }
    }

    pub(super) fn settings(self, config: &Config) -> Vec<String> {
        let log_mb = (config.log.final_kb / 1024).max(1024);
        let quiet = || {
            vec![
                format!("max_wal_size={}MB", log_mb.max(16 << 10)),
                "checkpoint_timeout=1h".into(),
                "autovacuum=off".into(),
            ]
        };
        match self {
            Variant::Tuned => quiet(),
            Variant::Shipped => vec![],
            Variant::Torn => [quiet(), vec!["full_page_writes=off".into()]].concat(),
        }
    }
}
