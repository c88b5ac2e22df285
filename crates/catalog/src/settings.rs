//! A database's options as ALTER DATABASE ... SET stores them, and their form on disk: lines
//! `key=value` in the boot page's free bytes. Unknown keys are kept out; missing keys take their
//! default, so versions can differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use compact_str::CompactString;

use super::registry::{DbEntry, escape, unescape};
use crate::growth::GrowthSetting;
use crate::query_store::QueryStoreOptions;

/// The boot page has room for so many bytes of names of filegroups; further ones get names from
/// their numbers where the database is attached.
const MAX_NAMES: usize = 4000;

/// A longer place of the log is not noted.
const MAX_LOG_FILE: usize = 400;

/// Before the name of a scoped configuration.
const SCOPED: &str = "scoped.";
/// Before an option of the Query Store.
const QUERY_STORE: &str = "query_store.";

/// Everything ALTER DATABASE ... SET can set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbSettings {
    pub read_committed_snapshot: bool,
    pub snapshot_isolation: bool,
    /// 100..=160.
    pub compatibility_level: u8,
    /// Seconds; 0 = automatic checkpoints.
    pub target_recovery_time: i32,
    /// 0 NONE, 1 TORN_PAGE_DETECTION, 2 CHECKSUM.
    pub page_verify: u8,
    pub read_only: bool,
    /// Taken offline by ALTER DATABASE.
    pub offline: bool,
    /// 0 MULTI_USER, 1 SINGLE_USER, 2 RESTRICTED_USER.
    pub user_access: u8,
    pub auto_close: bool,
    pub auto_shrink: bool,
    pub auto_create_stats: bool,
    pub auto_update_stats: bool,
    pub accelerated_recovery: bool,
    pub mixed_page_allocation: bool,
    /// CURSOR_DEFAULT LOCAL: cursors that say neither are the frame's.
    pub local_cursors: bool,
    /// RECURSIVE_TRIGGERS: a trigger fires itself.
    pub recursive_triggers: bool,
    /// PARAMETERIZATION FORCED, DATE_CORRELATION_OPTIMIZATION, AUTO_UPDATE_STATISTICS_ASYNC: kept
    /// and shown.
    pub forced_parameterization: bool,
    pub date_correlation: bool,
    pub async_stats: bool,
    /// SET options of sessions whose clients set none of their own.
    pub session_defaults: SessionDefaults,
    /// Filegroup of tables that name none.
    pub default_filegroup: u16,
    /// FILEGROWTH of the log.
    pub log_growth: GrowthSetting,
    /// MAXSIZE of the log in bytes.
    pub log_max_size: Option<u64>,
    /// Size that the log was created with, in bytes: what DBCC SHRINKFILE goes back to.
    pub log_min_size: u64,
    /// Days since 1900-01-01 and 1/300 s.
    pub create_date: (i32, u32),
    pub collation: String,
    /// Names of the filegroups by id, from 1, and the logical name of the log, as the registry has
    /// them: a session that attaches the database finds them here.
    pub filegroups: Vec<CompactString>,
    pub log_name: CompactString,
    /// Name and number of the database and where its log is, as the registry has them: from these a
    /// registry that is lost is made again.
    pub database_name: CompactString,
    pub database_id: i32,
    pub log_file: CompactString,
    /// ALTER DATABASE SCOPED CONFIGURATION: values that are not the usual ones, by name.
    pub scoped: BTreeMap<CompactString, CompactString>,
    /// SET QUERY_STORE.
    pub query_store: QueryStoreOptions,
}

impl DbSettings {
    /// What a new database gets of model's: the options, and nothing of its files and its state.
    #[must_use]
    pub fn for_new_database(self) -> DbSettings {
        let usual = DbSettings::default();
        DbSettings {
            read_only: usual.read_only,
            offline: usual.offline,
            user_access: usual.user_access,
            default_filegroup: usual.default_filegroup,
            log_growth: usual.log_growth,
            log_max_size: usual.log_max_size,
            log_min_size: usual.log_min_size,
            filegroups: usual.filegroups,
            log_name: usual.log_name,
            database_name: usual.database_name,
            database_id: usual.database_id,
            log_file: usual.log_file,
            ..self
        }
    }
}

/// SET options as a database has them for sessions whose clients set none: all off unless ALTER
/// DATABASE says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionDefaults {
    pub ansi_nulls: bool,
    pub ansi_padding: bool,
    pub ansi_warnings: bool,
    pub arithabort: bool,
    pub concat_null_yields_null: bool,
    pub quoted_identifier: bool,
    pub numeric_roundabort: bool,
    pub cursor_close_on_commit: bool,
}

impl SessionDefaults {
    /// One bit for each, in the order of the fields.
    fn bits(&mut self) -> [&mut bool; 8] {
        let SessionDefaults {
            ansi_nulls,
            ansi_padding,
            ansi_warnings,
            arithabort,
            concat_null_yields_null,
            quoted_identifier,
            numeric_roundabort,
            cursor_close_on_commit,
        } = self;
        [
            ansi_nulls,
            ansi_padding,
            ansi_warnings,
            arithabort,
            concat_null_yields_null,
            quoted_identifier,
            numeric_roundabort,
            cursor_close_on_commit,
        ]
    }

    fn number(mut self) -> i64 {
        self.bits().iter().enumerate().map(|(at, bit)| i64::from(**bit) << at).sum()
    }

    fn of_number(number: i64) -> SessionDefaults {
        let mut defaults = SessionDefaults::default();
        for (at, bit) in defaults.bits().into_iter().enumerate() {
            *bit = (number >> at) & 1 == 1;
        }
        defaults
    }
}

impl Default for DbSettings {
    fn default() -> Self {
        DbSettings {
            read_committed_snapshot: true,
            snapshot_isolation: false,
            compatibility_level: 160,
            target_recovery_time: 60,
            page_verify: 2,
            read_only: false,
            offline: false,
            user_access: 0,
            auto_close: false,
            auto_shrink: false,
            auto_create_stats: true,
            auto_update_stats: true,
            accelerated_recovery: false,
            mixed_page_allocation: false,
            local_cursors: false,
            recursive_triggers: false,
            forced_parameterization: false,
            date_correlation: false,
            async_stats: false,
            session_defaults: SessionDefaults::default(),
            default_filegroup: 1,
            log_growth: GrowthSetting::Bytes(64 << 20),
            log_max_size: None,
            log_min_size: 0,
            create_date: (0, 0),
            collation: types::Collation::default().name().to_string(),
            filegroups: Vec::new(),
            log_name: CompactString::default(),
            database_name: CompactString::default(),
            database_id: 0,
            log_file: CompactString::default(),
            scoped: BTreeMap::new(),
            query_store: QueryStoreOptions::default(),
        }
    }
}

impl DbSettings {
    /// Takes over the names that the registry has.
    pub fn note_names(&mut self, entry: &DbEntry) {
        self.filegroups.clone_from(&entry.filegroups);
        let log = entry.files.iter().find(|f| f.log);
        self.log_name = log.map(|f| f.name.clone()).unwrap_or_default();
        let place = log.map(|f| f.shown.clone()).filter(|place| place.len() <= MAX_LOG_FILE);
        self.log_file = place.unwrap_or_default();
        (self.database_name, self.database_id) = (entry.name.clone(), entry.id);
    }

    /// The rule for the number of VLFs that the compatibility level stands for.
    pub fn vlf_rule(&self) -> wal::VlfRule {
        match self.compatibility_level {
            0..=119 => wal::VlfRule::R100,
            120..=159 => wal::VlfRule::R120,
            _ => wal::VlfRule::R160,
        }
    }

    /// The lines for the boot page.
    pub fn write(&self, out: &mut String) {
        let numbers: [(&str, i64); 25] = [
            ("rcsi", self.read_committed_snapshot.into()),
            ("snapshot", self.snapshot_isolation.into()),
            ("compat", self.compatibility_level.into()),
            ("target_recovery_time", self.target_recovery_time.into()),
            ("page_verify", self.page_verify.into()),
            ("read_only", self.read_only.into()),
            ("offline", self.offline.into()),
            ("user_access", self.user_access.into()),
            ("auto_close", self.auto_close.into()),
            ("auto_shrink", self.auto_shrink.into()),
            ("auto_create_stats", self.auto_create_stats.into()),
            ("auto_update_stats", self.auto_update_stats.into()),
            ("adr", self.accelerated_recovery.into()),
            ("mixed_pages", self.mixed_page_allocation.into()),
            ("local_cursors", self.local_cursors.into()),
            ("recursive_triggers", self.recursive_triggers.into()),
            ("forced_parameterization", self.forced_parameterization.into()),
            ("date_correlation", self.date_correlation.into()),
            ("async_stats", self.async_stats.into()),
            ("session_defaults", self.session_defaults.number()),
            ("default_filegroup", self.default_filegroup.into()),
            ("log_growth", self.log_growth.number()),
            ("log_max", self.log_max_size.map_or(0, |n| i64::try_from(n).unwrap_or(i64::MAX))),
            ("log_min", i64::try_from(self.log_min_size).unwrap_or(i64::MAX)),
            ("created", (i64::from(self.create_date.0) << 32) | i64::from(self.create_date.1)),
        ];
        for (key, value) in numbers {
            let _ = writeln!(out, "{key}={value}");
        }
        let _ = writeln!(out, "collation={}", self.collation);
        let _ = writeln!(out, "log_name={}", escape(&self.log_name));
        let _ = writeln!(out, "database_id={}", self.database_id);
        let _ = writeln!(out, "database_name={}", escape(&self.database_name));
        let _ = writeln!(out, "log_file={}", escape(&self.log_file));
        for (name, value) in &self.scoped {
            let _ = writeln!(out, "{SCOPED}{name}={value}");
        }
        let usual = QueryStoreOptions::default().numbers();
        for (name, number) in self.query_store.numbers().iter().filter(|one| !usual.contains(one)) {
            let _ = writeln!(out, "{QUERY_STORE}{name}={number}");
        }
        let names = self.filegroups.iter().map(|name| escape(name));
        let names = names.scan(0, |bytes, name| {
            *bytes += name.len();
            (*bytes <= MAX_NAMES).then_some(name)
        });
        names.for_each(|name| _ = writeln!(out, "filegroup={name}"));
    }

    /// Reads what [`DbSettings::write`] wrote.
    pub fn read(text: &str) -> DbSettings {
        let mut settings = DbSettings::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            if key == "collation" {
                settings.collation = value.to_string();
            } else if key == "filegroup" {
                settings.filegroups.push(unescape(value));
            } else if let Some(name) = key.strip_prefix(SCOPED) {
                settings.scoped.insert(name.into(), value.into());
            } else if key == "log_name" {
                settings.log_name = unescape(value);
            } else if key == "database_name" {
                settings.database_name = unescape(value);
            } else if key == "log_file" {
                settings.log_file = unescape(value);
            } else if let Ok(number) = value.parse::<i64>() {
                match key.strip_prefix(QUERY_STORE) {
                    Some(name) => settings.query_store.set(name, number),
                    None => settings.read_number(key, number),
                }
            }
        }
        settings
    }

    fn read_number(&mut self, key: &str, n: i64) {
        let on = n != 0;
        match key {
            "database_id" => self.database_id = i32::try_from(n).unwrap_or(0),
            "default_filegroup" => self.default_filegroup = n.clamp(1, 32767) as u16,
            "log_growth" => self.log_growth = GrowthSetting::from_number(n),
            "log_max" => self.log_max_size = u64::try_from(n).ok().filter(|n| *n > 0),
            "log_min" => self.log_min_size = u64::try_from(n).unwrap_or(0),
            "rcsi" => self.read_committed_snapshot = on,
            "snapshot" => self.snapshot_isolation = on,
            "compat" => self.compatibility_level = n.clamp(90, 160) as u8,
            "target_recovery_time" => {
                self.target_recovery_time = n.clamp(0, i64::from(i32::MAX)) as i32
            }
            "page_verify" => self.page_verify = n.clamp(0, 2) as u8,
            "read_only" => self.read_only = on,
            "offline" => self.offline = on,
            "user_access" => self.user_access = n.clamp(0, 2) as u8,
            "auto_close" => self.auto_close = on,
            "auto_shrink" => self.auto_shrink = on,
            "auto_create_stats" => self.auto_create_stats = on,
            "auto_update_stats" => self.auto_update_stats = on,
            "adr" => self.accelerated_recovery = on,
            "mixed_pages" => self.mixed_page_allocation = on,
            "local_cursors" => self.local_cursors = on,
            "recursive_triggers" => self.recursive_triggers = on,
            "forced_parameterization" => self.forced_parameterization = on,
            "date_correlation" => self.date_correlation = on,
            "async_stats" => self.async_stats = on,
            "session_defaults" => self.session_defaults = SessionDefaults::of_number(n),
            "created" => self.create_date = ((n >> 32) as i32, (n & 0xffff_ffff) as u32),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_the_disk() {
        let settings = DbSettings {
            log_growth: GrowthSetting::Percent(10),
            log_max_size: Some(2 << 40),
            compatibility_level: 100,
            local_cursors: true,
            recursive_triggers: true,
            forced_parameterization: true,
            async_stats: true,
            session_defaults: SessionDefaults {
                arithabort: true,
                cursor_close_on_commit: true,
                ..SessionDefaults::default()
            },
            create_date: (46000, 25_000_000),
            filegroups: vec!["PRIMARY".into(), "odd\n=name".into()],
            log_name: "l".into(),
            database_name: "odd=\tname".into(),
            database_id: 7,
            log_file: r"E:\l.ldf".into(),
            scoped: [("MAXDOP".into(), "4".into())].into(),
            query_store: QueryStoreOptions {
                interval_minutes: 5,
                cleanup: false,
                ..QueryStoreOptions::default()
            },
            ..DbSettings::default()
        };
        let mut text = String::new();
        settings.write(&mut text);
        assert_eq!(DbSettings::read(&text), settings);
        assert_eq!(settings.vlf_rule(), wal::VlfRule::R100);
    }

    #[test]
    fn missing_and_foreign_lines_take_defaults() {
        assert_eq!(DbSettings::read("x=1\nnonsense\nrcsi=y\n"), DbSettings::default());
    }
}
