//! ALTER DATABASE ... SET QUERY_STORE: on, off, its options, CLEAR.
//! Guarantee: of a list with an option that is wrong none is set.

use std::sync::Arc;

use catalog::query_store::{CaptureMode, QueryStoreOptions, StoreState};
use catalog::{Db, FIRST_USER_DB, errors};
use syntax::ast::{OptionItem, OptionValue};
use types::{SqlError, msg};

use super::StmtCtx;
use instance::InstanceCore;
use instance::boot_text::save_settings;
use programs::usage::settle;

/// Minutes that an interval may have.
const INTERVALS: [i64; 7] = [1, 5, 10, 15, 30, 60, 1440];
/// The most megabytes.
const MOST_MB: i64 = 10_240;
/// Options of the list that are numbers: name, and the name in the catalog.
const NUMBERS: [(&str, &str); 6] = [
    ("DATA_FLUSH_INTERVAL_SECONDS", "flush_interval_seconds"),
    ("INTERVAL_LENGTH_MINUTES", "interval_length_minutes"),
    ("MAX_STORAGE_SIZE_MB", "max_storage_size_mb"),
    ("MAX_SIZE_MB", "max_storage_size_mb"),
    ("STALE_QUERY_THRESHOLD_DAYS", "stale_query_threshold_days"),
    ("MAX_PLANS_PER_QUERY", "max_plans_per_query"),
];

impl StmtCtx<'_> {
    /// One `QUERY_STORE ...` of the list.
    ///
    /// # Errors
    /// 12438 a system database; 153, 12401, 12445, 12452, 12453 a wrong value; 102 what is no
    /// option.
    pub(super) fn set_query_store(
        &self,
        instance: &Arc<InstanceCore>,
        db: &Arc<Db>,
        option: &OptionItem,
    ) -> Result<(), SqlError> {
        if db.id() < FIRST_USER_DB {
            return Err(SqlError::of(msg::QUERY_STORE_ON_SYSTEM_DATABASE, [&db.name()]));
        }
        let mut settings = db.settings();
        let options = &mut settings.query_store;
        match &option.value {
            OptionValue::Word(word) if word == "CLEAR" => {
                db.query_store().clear();
                return Ok(());
            }
            OptionValue::On => options.state = StoreState::ReadWrite,
            OptionValue::Off => options.state = StoreState::Off,
            OptionValue::None if !option.nested.is_empty() => {}
            _ => return Err(errors::syntax_near("QUERY_STORE")),
        }
        for (at, item) in option.nested.iter().enumerate() {
            if option.nested[..at].iter().any(|before| before.name == item.name) {
                return Err(SqlError::of(
                    msg::OPTION_TWICE,
                    [&"QUERY_STORE", &item.name.to_lowercase()],
                ));
            }
            self.set_store_option(options, item)?;
        }
        // What has run until now is not what is noted from now on, and what is noted is not lost.
        settle(instance.batches());
        db.query_store().set_state(settings.query_store.state);
        save_settings(db, &settings)?;
        Ok(())
    }

    fn set_store_option(
        &self,
        options: &mut QueryStoreOptions,
        item: &OptionItem,
    ) -> Result<(), SqlError> {
        let word = match &item.value {
            OptionValue::Word(word) => word.as_str(),
            OptionValue::On => "ON",
            OptionValue::Off => "OFF",
            _ => "",
        };
        let near = || errors::syntax_near(if word.is_empty() { item.name.as_str() } else { word });
        match item.name.as_str() {
            "OPERATION_MODE" => {
                let known = StoreState::ALL.iter().find(|(_, known)| *known == word);
                options.state =
                    known.filter(|(state, _)| *state != StoreState::Off).ok_or_else(near)?.0;
            }
            "QUERY_CAPTURE_MODE" => {
                options.capture =
                    CaptureMode::ALL.iter().find(|(_, known)| *known == word).ok_or_else(near)?.0;
            }
            "SIZE_BASED_CLEANUP_MODE" if matches!(word, "AUTO" | "OFF") => {
                options.cleanup = word == "AUTO"
            }
            "WAIT_STATS_CAPTURE_MODE" if matches!(word, "ON" | "OFF") => {
                options.waits = word == "ON"
            }
            "CLEANUP_POLICY" if !item.nested.is_empty() => {
                item.nested.iter().try_for_each(|item| self.set_store_option(options, item))?;
            }
            "QUERY_CAPTURE_POLICY" if !item.nested.is_empty() => {
                item.nested.iter().try_for_each(|item| self.set_policy(options, item))?;
            }
            name => {
                let Some((_, shown)) = NUMBERS.iter().find(|(known, _)| *known == name) else {
                    return Err(errors::syntax_near(name));
                };
                let n = self.number(item)?.ok_or_else(near)?;
                let wrong = || SqlError::of(msg::INVALID_OPTION_USAGE, [shown, &"ALTER DATABASE"]);
                match *shown {
                    "flush_interval_seconds" if n < 60 => return Err(wrong().state(5)),
                    "interval_length_minutes" if !INTERVALS.contains(&n) => {
                        return Err(wrong().state(6));
                    }
                    "max_storage_size_mb" if n > MOST_MB => {
                        return Err(SqlError::of(msg::QUERY_STORE_SIZE, [&n, &MOST_MB]));
                    }
                    "max_storage_size_mb" if n < 1 => return Err(wrong().state(6)),
                    _ if n < 0 => return Err(wrong().state(6)),
                    _ => {}
                }
                match *shown {
                    "flush_interval_seconds" => options.flush_seconds = n,
                    "interval_length_minutes" => options.interval_minutes = n,
                    "max_storage_size_mb" => options.max_megabytes = n,
                    "stale_query_threshold_days" => options.stale_days = n,
                    _ => options.max_plans = n,
                }
            }
        }
        Ok(())
    }

    fn set_policy(
        &self,
        options: &mut QueryStoreOptions,
        item: &OptionItem,
    ) -> Result<(), SqlError> {
        let n = self.number(item)?.ok_or_else(|| errors::syntax_near(&item.name))?;
        let (place, state) = match item.name.as_str() {
            "STALE_CAPTURE_POLICY_THRESHOLD" => {
                let hours = match item.unit.as_deref() {
                    Some("DAY" | "DAYS") => n.saturating_mul(24),
                    None | Some("HOUR" | "HOURS") => n,
                    Some(other) => return Err(errors::syntax_near(other)),
                };
                if !(1..=168).contains(&hours) {
                    return Err(SqlError::of(
                        msg::OPTION_VALUE_UNITS,
                        [
                            &"query_capture_policy",
                            &"stale_capture_policy_threshold",
                            &1,
                            &"hour",
                            &7,
                            &"days",
                        ],
                    ));
                }
                options.policy_hours = hours;
                return Ok(());
            }
            "EXECUTION_COUNT" => (&mut options.policy_executions, 1),
            "TOTAL_COMPILE_CPU_TIME_MS" => (&mut options.policy_compile_ms, 1),
            "TOTAL_EXECUTION_CPU_TIME_MS" => (&mut options.policy_execution_ms, 2),
            other => return Err(errors::syntax_near(other)),
        };
        if !(1..=i64::from(i32::MAX)).contains(&n) {
            let option = item.name.to_lowercase();
            return Err(SqlError::of(
                msg::OPTION_VALUE_RANGE,
                [&n, &"query_capture_policy", &option, &1, &i32::MAX],
            )
            .state(state));
        }
        *place = n;
        Ok(())
    }
}
