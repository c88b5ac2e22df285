//! The configuration options of the instance, as sp_configure and sys.configurations have them.
//!
//! Guarantees: what is set outlives a restart, and is in use once RECONFIGURE has run; an option
//! whose other values would change what statements do, without our doing it, keeps its usual one
//! (40510); what is given to the program when it starts is shown.

use std::sync::atomic::Ordering;

use types::{SqlError, msg};

use super::InstanceCore;
use super::persisted::Persisted;
use catalog::errors;

/// The option that decides which ones sp_configure knows.
pub const SHOW_ADVANCED: &str = "show advanced options";
/// Whether BACKUP compresses, and computes checksums, unless it says else.
pub const BACKUP_COMPRESSION: &str = "backup compression default";
pub const BACKUP_CHECKSUM: &str = "backup checksum default";

/// What a value means here.
#[derive(Clone, Copy)]
enum OptionEffect {
    /// What the option says.
    Effect,
    /// Nothing that a statement could notice: it is kept and shown.
    Nothing,
    /// The usual value is how it is here, another one is refused.
    Usual,
    /// As [`OptionEffect::Usual`], where the program has set it when it started.
    Start(fn(&InstanceCore) -> i32),
}

/// An option that there is.
struct KnownOption {
    id: i32,
    name: &'static str,
    range: (i32, i32),
    usual: i32,
    is_advanced: bool,
    means: OptionEffect,
}

const fn basic(
    id: i32,
    name: &'static str,
    range: (i32, i32),
    usual: i32,
    means: OptionEffect,
) -> KnownOption {
    KnownOption { id, name, range, usual, is_advanced: false, means }
}

const fn advanced(
    id: i32,
    name: &'static str,
    range: (i32, i32),
    usual: i32,
    means: OptionEffect,
) -> KnownOption {
    KnownOption { id, name, range, usual, is_advanced: true, means }
}

const SWITCH: (i32, i32) = (0, 1);
const MOST: i32 = i32::MAX;

fn memory(instance: &InstanceCore) -> i32 {
    i32::try_from(instance.memory().target() >> 20).unwrap_or(MOST)
}

fn remote_admin(instance: &InstanceCore) -> i32 {
    instance.remote_admin.load(Ordering::Relaxed).into()
}

/// In the order of their names.
const KNOWN: &[KnownOption] = &[
    advanced(1582, "access check cache bucket count", (0, 65_536), 0, OptionEffect::Nothing),
    advanced(1583, "access check cache quota", (0, MOST), 0, OptionEffect::Nothing),
    advanced(16_391, "Ad Hoc Distributed Queries", SWITCH, 0, OptionEffect::Usual),
    advanced(1591, "ADR cleaner retry timeout (min)", (0, 32_767), 15, OptionEffect::Nothing),
    advanced(1592, "ADR Preallocation Factor", (0, 32_767), 4, OptionEffect::Nothing),
    advanced(1550, "affinity I/O mask", (i32::MIN, MOST), 0, OptionEffect::Usual),
    advanced(1535, "affinity mask", (i32::MIN, MOST), 0, OptionEffect::Usual),
    advanced(1551, "affinity64 I/O mask", (i32::MIN, MOST), 0, OptionEffect::Usual),
    advanced(1549, "affinity64 mask", (i32::MIN, MOST), 0, OptionEffect::Usual),
    advanced(16_384, "Agent XPs", SWITCH, 0, OptionEffect::Usual),
    basic(16_397, "allow polybase export", SWITCH, 0, OptionEffect::Usual),
    basic(102, "allow updates", SWITCH, 0, OptionEffect::Nothing),
    advanced(1585, "automatic soft-NUMA disabled", SWITCH, 0, OptionEffect::Nothing),
    basic(1584, BACKUP_CHECKSUM, SWITCH, 0, OptionEffect::Effect),
    basic(1579, BACKUP_COMPRESSION, SWITCH, 0, OptionEffect::Effect),
    advanced(1569, "blocked process threshold (s)", (0, 86_400), 0, OptionEffect::Usual),
    advanced(544, "c2 audit mode", SWITCH, 0, OptionEffect::Usual),
    basic(1562, "clr enabled", SWITCH, 0, OptionEffect::Usual),
    advanced(1587, "clr strict security", SWITCH, 1, OptionEffect::Usual),
    basic(1588, "column encryption enclave type", (0, 2), 0, OptionEffect::Usual),
    advanced(1577, "common criteria compliance enabled", SWITCH, 0, OptionEffect::Usual),
    basic(16_393, "contained database authentication", SWITCH, 0, OptionEffect::Usual),
    advanced(1538, "cost threshold for parallelism", (0, 32_767), 5, OptionEffect::Nothing),
    basic(400, "cross db ownership chaining", SWITCH, 0, OptionEffect::Usual),
    advanced(1531, "cursor threshold", (-1, MOST), -1, OptionEffect::Nothing),
    advanced(16_386, "Database Mail XPs", SWITCH, 0, OptionEffect::Usual),
    advanced(1126, "default full-text language", (0, MOST), 1033, OptionEffect::Nothing),
    basic(124, "default language", (0, 9999), 0, OptionEffect::Usual),
    advanced(1568, "default trace enabled", SWITCH, 0, OptionEffect::Usual),
    advanced(114, "disallow results from triggers", SWITCH, 0, OptionEffect::Usual),
    advanced(1578, "EKM provider enabled", SWITCH, 0, OptionEffect::Usual),
    basic(1586, "external scripts enabled", SWITCH, 0, OptionEffect::Usual),
    basic(1580, "filestream access level", (0, 2), 0, OptionEffect::Usual),
    advanced(109, "fill factor (%)", (0, 100), 0, OptionEffect::Usual),
    advanced(1567, "ft crawl bandwidth (max)", (0, 32_767), 100, OptionEffect::Nothing),
    advanced(1566, "ft crawl bandwidth (min)", (0, 32_767), 0, OptionEffect::Nothing),
    advanced(1565, "ft notify bandwidth (max)", (0, 32_767), 100, OptionEffect::Nothing),
    advanced(1564, "ft notify bandwidth (min)", (0, 32_767), 0, OptionEffect::Nothing),
    basic(16_394, "hadoop connectivity", (0, 8), 0, OptionEffect::Usual),
    advanced(1570, "in-doubt xact resolution", (0, 2), 0, OptionEffect::Usual),
    advanced(1505, "index create memory (KB)", (704, MOST), 0, OptionEffect::Nothing),
    advanced(1546, "lightweight pooling", SWITCH, 0, OptionEffect::Nothing),
    advanced(106, "locks", (5000, MOST), 0, OptionEffect::Usual),
    advanced(1539, "max degree of parallelism", (0, 32_767), 0, OptionEffect::Nothing),
    advanced(1563, "max full-text crawl range", (0, 256), 4, OptionEffect::Nothing),
    advanced(1544, "max server memory (MB)", (8, MOST), 0, OptionEffect::Start(memory)),
    basic(1536, "max text repl size (B)", (-1, MOST), 65_536, OptionEffect::Nothing),
    advanced(503, "max worker threads", (128, 65_535), 0, OptionEffect::Usual),
    advanced(1537, "media retention", (0, 365), 0, OptionEffect::Usual),
    advanced(1540, "min memory per query (KB)", (512, MOST), 1024, OptionEffect::Nothing),
    advanced(1543, "min server memory (MB)", (0, MOST), 0, OptionEffect::Nothing),
    basic(115, "nested triggers", SWITCH, 1, OptionEffect::Usual),
    advanced(505, "network packet size (B)", (512, 32_767), 4096, OptionEffect::Usual),
    advanced(16_388, "Ole Automation Procedures", SWITCH, 0, OptionEffect::Usual),
    advanced(107, "open objects", (0, MOST), 0, OptionEffect::Nothing),
    advanced(1581, "optimize for ad hoc workloads", SWITCH, 0, OptionEffect::Nothing),
    advanced(1557, "PH timeout (s)", (1, 3600), 60, OptionEffect::Nothing),
    basic(16_399, "polybase enabled", SWITCH, 0, OptionEffect::Usual),
    basic(16_395, "polybase network encryption", SWITCH, 1, OptionEffect::Nothing),
    advanced(1556, "precompute rank", SWITCH, 0, OptionEffect::Nothing),
    advanced(1517, "priority boost", SWITCH, 0, OptionEffect::Nothing),
    advanced(1545, "query governor cost limit", (0, MOST), 0, OptionEffect::Usual),
    advanced(1541, "query wait (s)", (-1, MOST), -1, OptionEffect::Nothing),
    advanced(101, "recovery interval (min)", (0, 32_767), 0, OptionEffect::Nothing),
    basic(117, "remote access", SWITCH, 1, OptionEffect::Nothing),
    basic(1576, "remote admin connections", SWITCH, 0, OptionEffect::Start(remote_admin)),
    basic(16_396, "remote data archive", SWITCH, 0, OptionEffect::Usual),
    basic(1519, "remote login timeout (s)", (0, MOST), 10, OptionEffect::Nothing),
    basic(542, "remote proc trans", SWITCH, 0, OptionEffect::Nothing),
    basic(1520, "remote query timeout (s)", (0, MOST), 600, OptionEffect::Nothing),
    advanced(16_392, "Replication XPs", SWITCH, 0, OptionEffect::Usual),
    advanced(1547, "scan for startup procs", SWITCH, 1, OptionEffect::Usual),
    basic(116, "server trigger recursion", SWITCH, 1, OptionEffect::Usual),
    advanced(1532, "set working set size", SWITCH, 0, OptionEffect::Nothing),
    basic(518, SHOW_ADVANCED, SWITCH, 0, OptionEffect::Effect),
    advanced(16_387, "SMO and DMO XPs", SWITCH, 1, OptionEffect::Nothing),
    basic(16_400, "suppress recovery model errors", SWITCH, 0, OptionEffect::Usual),
    advanced(1589, "tempdb metadata memory-optimized", SWITCH, 0, OptionEffect::Usual),
    advanced(1555, "transform noise words", SWITCH, 0, OptionEffect::Usual),
    advanced(1127, "two digit year cutoff", (1753, 9999), 2049, OptionEffect::Usual),
    advanced(103, "user connections", (0, 32_767), 0, OptionEffect::Usual),
    basic(1534, "user options", (0, 32_767), 0, OptionEffect::Usual),
    advanced(16_390, "xp_cmdshell", SWITCH, 0, OptionEffect::Usual),
];

/// An option with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationOption {
    pub id: i32,
    pub name: &'static str,
    pub minimum: i32,
    pub maximum: i32,
    /// As it is set.
    pub value: i32,
    /// As it was when RECONFIGURE ran last.
    pub in_use: i32,
    pub is_advanced: bool,
}

/// What was set of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Configured {
    name: String,
    value: i32,
    in_use: i32,
}

impl Persisted for Configured {
    const PLURAL: &'static str = "configuration options";
    const ONE: &'static str = "option";

    fn name(&self) -> &str {
        &self.name
    }

    fn fields(&self) -> Vec<String> {
        vec![self.name.clone(), self.value.to_string(), self.in_use.to_string()]
    }

    fn of_fields(fields: &[String]) -> Option<Configured> {
        let [name, value, in_use] = fields else { return None };
        Some(Configured {
            name: name.clone(),
            value: value.parse().ok()?,
            in_use: in_use.parse().ok()?,
        })
    }
}

impl KnownOption {
    /// Its value unless it is set.
    fn unset(&self, instance: &InstanceCore) -> i32 {
        match self.means {
            OptionEffect::Start(of) => of(instance),
            OptionEffect::Effect | OptionEffect::Nothing | OptionEffect::Usual => self.usual,
        }
    }

    /// Whether a value may be set.
    ///
    /// # Errors
    /// 15129 it is out of range; 40510 it would change what statements do.
    fn check(&self, instance: &InstanceCore, value: i32) -> Result<(), SqlError> {
        let usual = value == self.unset(instance);
        if !usual && !(self.range.0..=self.range.1).contains(&value) {
            return Err(SqlError::of(msg::OPTION_VALUE_INVALID, [&value, &self.name]));
        }
        match self.means {
            OptionEffect::Effect | OptionEffect::Nothing => Ok(()),
            OptionEffect::Usual | OptionEffect::Start(_) if usual => Ok(()),
            OptionEffect::Usual | OptionEffect::Start(_) => {
                Err(errors::not_supported(&format!("sp_configure '{}', {value}", self.name)))
            }
        }
    }
}

impl InstanceCore {
    /// The options in the order of their names.
    ///
    /// # Errors
    /// What is set cannot be read.
    pub fn configuration(&self) -> Result<Vec<ConfigurationOption>, SqlError> {
        let set = self.kept::<Configured>()?.list();
        let option = |known: &KnownOption| {
            let unset = known.unset(self);
            let set = set.iter().find(|set| {
                set.name == known.name && !matches!(known.means, OptionEffect::Start(_))
            });
            ConfigurationOption {
                id: known.id,
                name: known.name,
                minimum: known.range.0,
                maximum: known.range.1,
                value: set.map_or(unset, |set| set.value),
                in_use: set.map_or(unset, |set| set.in_use),
                is_advanced: known.is_advanced,
            }
        };
        Ok(KNOWN.iter().map(option).collect())
    }

    /// The value of an option that is in use.
    ///
    /// # Errors
    /// As for [`InstanceCore::configuration`].
    pub fn configured(&self, name: &str) -> Result<i32, SqlError> {
        debug_assert!(KNOWN.iter().any(|known| known.name == name));
        let usual =
            KNOWN.iter().find(|known| known.name == name).map_or(0, |known| known.unset(self));
        Ok(self.kept::<Configured>()?.find(name).map_or(usual, |set| set.in_use))
    }

    /// Sets an option: it is in use after RECONFIGURE.
    ///
    /// # Errors
    /// 15129, 40510; it cannot be kept.
    pub fn configure(&self, option: &ConfigurationOption, value: i32) -> Result<(), SqlError> {
        self.check_writable()?;
        let known = KNOWN.iter().find(|known| known.id == option.id);
        let known = known.ok_or_else(|| SqlError::internal("an option that is not known"))?;
        known.check(self, value)?;
        self.kept::<Configured>()?.change(|list| {
            match list.iter_mut().find(|set| set.name == option.name) {
                Some(set) => set.value = value,
                None => {
                    list.push(Configured { name: option.name.into(), value, in_use: option.in_use })
                }
            }
            Ok::<_, SqlError>(())
        })
    }

    /// RECONFIGURE: what is set is in use from now on.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn reconfigure(&self) -> Result<(), SqlError> {
        let kept = self.kept::<Configured>()?;
        if kept.list().iter().all(|set| set.value == set.in_use) {
            return Ok(());
        }
        self.check_writable()?;
        kept.change(|list| {
            list.iter_mut().for_each(|set| set.in_use = set.value);
            Ok::<_, SqlError>(())
        })
    }

    /// Told by the server that clients connect to: whether its dedicated administrator connection
    /// can be reached from other machines.
    pub fn set_remote_admin(&self, allowed: bool) {
        self.remote_admin.store(allowed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_its_values_are_in_range() {
        let folded = |known: &KnownOption| known.name.to_ascii_lowercase();
        assert!(KNOWN.windows(2).all(|two| folded(&two[0]) < folded(&two[1])));
        for known in KNOWN {
            let others =
                KNOWN.iter().filter(|other| other.id == known.id || other.name == known.name);
            assert_eq!(others.count(), 1, "{}", known.name);
            assert!(known.name.len() <= 35 && known.range.0 <= known.range.1);
        }
    }

    #[test]
    fn what_is_set_survives_its_file() {
        let set = Configured { name: "nested triggers".into(), value: 1, in_use: -1 };
        assert_eq!(Configured::of_fields(&set.fields()), Some(set));
        assert_eq!(Configured::of_fields(&["a".into(), "x".into(), "1".into()]), None);
    }
}
