//! What WITH says behind RESTORE. Guarantee: an option that would do something which Ringwood does
//! not do is refused.

use syntax::ast::{OptionItem, OptionValue, Restore};
use types::convert::{Mode, convert};
use types::{DataType, SqlError, Value, msg};

use super::StmtCtx;
use catalog::errors;

/// Days from 0001-01-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_162;

/// What WITH said.
#[derive(Default)]
pub(super) struct RestoreOptions {
    pub position: u16,
    pub replace: bool,
    pub no_recovery: bool,
    /// RESTRICTED_USER: who may use it once it is recovered.
    pub restricted: bool,
    pub stop_us: Option<u64>,
    pub stats: Option<u8>,
    /// Logical name and path.
    pub moves: Vec<(String, String)>,
}

/// Options that take no value.
const SWITCHES: [&str; 7] = [
    "REPLACE",
    "NORECOVERY",
    "RECOVERY",
    "CHECKSUM",
    "CONTINUE_AFTER_ERROR",
    "LOADHISTORY",
    "RESTRICTED_USER",
];

impl StmtCtx<'_> {
    pub(super) fn restore_options(&self, stmt: &Restore) -> Result<RestoreOptions, SqlError> {
        let mut options = RestoreOptions { position: 1, ..RestoreOptions::default() };
        for item in &stmt.moves {
            options.moves.push((self.path_text(&item.logical)?, self.path_text(&item.path)?));
        }
        for option in &stmt.options {
            if SWITCHES.contains(&option.name.as_str())
                && !matches!(option.value, OptionValue::None)
            {
                return Err(errors::syntax_near(&option.name));
            }
            match option.name.as_str() {
                "FILE" => {
                    let n = self.option_number(option)?.and_then(|n| u16::try_from(n).ok());
                    options.position =
                        n.filter(|n| *n > 0).ok_or_else(|| errors::syntax_near("FILE"))?;
                }
                "REPLACE" => options.replace = true,
                "NORECOVERY" => options.no_recovery = true,
                "RECOVERY" => options.no_recovery = false,
                "RESTRICTED_USER" => options.restricted = true,
                "STOPAT" => options.stop_us = Some(self.stop_time(option)?),
                // Checksums are always verified; the history of backups is not kept beside msdb's.
                "CHECKSUM" | "CONTINUE_AFTER_ERROR" | "LOADHISTORY" => {}
                "STOPATMARK"
                | "STOPBEFOREMARK"
                | "STANDBY"
                | "PARTIAL"
                | "MEDIANAME"
                | "KEEP_REPLICATION"
                | "KEEP_CDC"
                | "KEEP_TEMPORAL_RETENTION"
                | "ENABLE_BROKER"
                | "NEW_BROKER"
                | "ERROR_BROKER_CONVERSATIONS" => {
                    return Err(errors::not_supported(&format!("RESTORE WITH {}", option.name)));
                }
                _ => self.common_option("RESTORE", option, &mut options.stats)?,
            }
        }
        Ok(options)
    }

    /// STOPAT in microseconds since 1970. It names a whole tick of datetime2(7), UTC like all times
    /// here.
    fn stop_time(&self, option: &OptionItem) -> Result<u64, SqlError> {
        let value = match &option.value {
            OptionValue::Expr(expr) => self.value(expr)?,
            _ => Value::Null,
        };
        let bad = || SqlError::of(msg::STOPAT_NOT_A_DATE, []);
        let moment =
            convert(&value, value.natural_type(), DataType::DateTime2(7), 0, Mode::Implicit);
        match moment.map_err(|_| bad())? {
            Value::DateTime2 { days, ticks } => {
                let days = u64::try_from(i64::from(days) - EPOCH_DAYS).map_err(|_| bad())?;
                Ok(days * 86_400_000_000 + ticks / 10)
            }
            _ => Err(bad()),
        }
    }
}
