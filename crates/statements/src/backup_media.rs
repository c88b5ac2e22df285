//! What BACKUP and RESTORE share: devices, options, progress, and the messages about pages and
//! time. Guarantees: the messages have SQL Server's form, which tools read figures from.

use std::time::Duration;

use syntax::ast::{Device, Expr, NameOrVariable, OptionItem, OptionValue};
use txn::backup::{BackupDevice, NullDevice};
use types::{SqlError, Value, msg};

use super::StmtCtx;
use super::backup_errors::{Place, reason, terminated};
use catalog::errors;
use ddl::option_rules;
use instance::OfInstance;
use instance::file_errors::cannot_open_device;
use instance::permit::{FileUse, Reach};
use metadata::views::kept_objects::backup_device;

/// Most devices of a statement.
const MOST_DEVICES: usize = 64;

/// Names of the device that keeps nothing.
const NUL: [&str; 3] = ["NUL", "NUL:", "/dev/null"];

impl StmtCtx<'_> {
    /// The text of a name or variable.
    pub(super) fn name_of_database(&self, name: &NameOrVariable) -> Result<String, SqlError> {
        match name {
            NameOrVariable::Name(name) => Ok(name.value.to_string()),
            NameOrVariable::Variable(variable) => {
                let (slot, _) = self.variables.scope.find(variable)?;
                let value = self.variables.values.get(slot);
                Ok(value.and_then(|v| v.as_str()).unwrap_or_default().to_string())
            }
        }
    }

    pub(super) fn path_text(&self, expr: &Expr) -> Result<String, SqlError> {
        match self.value(expr)? {
            Value::Str(text) => Ok(text.to_string()),
            _ => Err(errors::syntax_near("=")),
        }
    }

    /// The devices of a statement with its options. Errors: 3205 too many, 3011 of several classes.
    pub(super) fn devices(
        &mut self,
        list: &[Device],
        options: &[OptionItem],
    ) -> Result<Vec<Box<dyn BackupDevice>>, SqlError> {
        if list.len() > MOST_DEVICES {
            return Err(SqlError::of(msg::TOO_MANY_BACKUP_DEVICES, [&MOST_DEVICES]));
        }
        let mut devices: Vec<Box<dyn BackupDevice>> = Vec::new();
        let urls = list.iter().filter(|device| matches!(device, Device::Url(_))).count();
        if urls != 0 && urls != list.len() {
            return Err(SqlError::of(msg::BACKUP_DEVICES_MIXED, []));
        }
        let (url_options, certificates) = match urls {
            0 => Default::default(),
            _ => (self.url_options(options)?, self.certificates()),
        };
        for device in list {
            devices.push(match device {
                Device::Disk(path) => self.file_device(self.path_text(path)?)?,
                Device::Url(url) => {
                    self.url_device(&self.path_text(url)?, &url_options, &certificates, urls)?
                }
                Device::Tape(_) => {
                    return Err(errors::not_supported("BACKUP and RESTORE with TAPE"));
                }
                Device::Logical(name) => {
                    let device = backup_device::find(self.core, &self.name_of_database(name)?)?;
                    self.file_device(device.physical_name)?
                }
            });
        }
        Ok(devices)
    }

    /// The device that is a file, or none.
    fn file_device(&mut self, shown: String) -> Result<Box<dyn BackupDevice>, SqlError> {
        if NUL.iter().any(|nul| nul.eq_ignore_ascii_case(shown.trim())) {
            return Ok(Box::new(NullDevice));
        }
        let reach = Reach::of(self.core);
        let permitted = self.core.instance().permit(reach, &shown, FileUse::Backup);
        let permitted = permitted.map_err(|e| e.or(|cause| cannot_open_device(&shown, cause)))?;
        Ok(Box::new(permitted.device(shown)))
    }

    /// A text option.
    pub(super) fn option_text(&self, option: &OptionItem) -> Result<String, SqlError> {
        match &option.value {
            OptionValue::Expr(expr) => self.path_text(expr),
            OptionValue::Word(word) => Ok(word.to_string()),
            _ => Err(errors::syntax_near(&option.name)),
        }
    }

    /// A whole number option.
    pub(super) fn option_number(&self, option: &OptionItem) -> Result<Option<i64>, SqlError> {
        match &option.value {
            OptionValue::Expr(expr) => Ok(self.value(expr)?.as_i64()),
            _ => Ok(None),
        }
    }

    /// STATS, with its default of 10; an error for what is not an option of the statement.
    pub(super) fn common_option(
        &self,
        statement: &str,
        option: &OptionItem,
        stats: &mut Option<u8>,
    ) -> Result<(), SqlError> {
        match option.name.as_str() {
            "STATS" => {
                let n = self.option_number(option)?.unwrap_or(10);
                *stats = Some(n.clamp(1, 100) as u8);
                Ok(())
            }
            _ => option_rules::check(
                statement,
                std::slice::from_ref(option),
                option_rules::BACKUP_COMMON,
            ),
        }
    }

    /// Sends the reason; the statement's own error is 3013.
    pub(super) fn terminate(
        &mut self,
        place: &Place<'_>,
        e: &txn::backup::BackupError,
    ) -> SqlError {
        let reason = reason(place, e);
        self.terminate_with(place.command, reason)
    }

    pub(super) fn terminate_with(&mut self, command: &str, reason: SqlError) -> SqlError {
        self.first_error(reason);
        terminated(command)
    }

    /// Runs `work`, which reports percent, and passes on every `stats` percent. Cancelling the
    /// session gives it up.
    pub(super) fn with_progress<T>(
        &mut self,
        stats: Option<u8>,
        work: impl FnOnce(&mut dyn FnMut(u8) -> bool) -> T,
    ) -> T {
        let (core, sink) = (&*self.core, &mut *self.sink);
        let mut next = stats.unwrap_or(u8::MAX);
        work(&mut |percent| {
            while stats.is_some_and(|step| step > 0) && next <= percent && next <= 100 {
                // A client that cannot be told cannot be told the end either.
                let _ = sink.message(&SqlError::of(msg::PERCENT_PROCESSED, [&next]));
                next = next.saturating_add(stats.unwrap_or(100));
            }
            !core.cancelled()
        })
    }

    /// 4035 for each file and 3014 for the statement.
    pub(super) fn processed(
        &mut self,
        command: &str,
        database: &str,
        files: &[(String, u64)],
        position: u16,
        took: Duration,
    ) -> Result<(), SqlError> {
        for (name, pages) in files {
            self.inform(msg::PAGES_PROCESSED, [pages, &database, name, &position])?;
        }
        self.sink.message(&success(command, files.iter().map(|f| f.1).sum(), took))
    }
}

/// Message 3014.
pub(super) fn success(command: &str, pages: u64, took: Duration) -> SqlError {
    // A clock of milliseconds shows at least one.
    let millis = took.as_millis().max(1);
    let rate = pages as f64 * 8192.0 / f64::from(1 << 20) / (millis as f64 / 1000.0);
    let seconds = format!("{}.{:03}", millis / 1000, millis % 1000);
    SqlError::of(msg::BACKUP_SUCCESS, [&command, &pages, &seconds, &format_args!("{rate:.3}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_message_has_its_form() {
        assert_eq!(
            success("BACKUP LOG", 84_579, Duration::from_millis(17_250)).message,
            "BACKUP LOG successfully processed 84579 pages in 17.250 seconds (38.306 MB/sec)."
        );
        assert_eq!(
            success("RESTORE DATABASE", 0, Duration::ZERO).message,
            "RESTORE DATABASE successfully processed 0 pages in 0.001 seconds (0.000 MB/sec)."
        );
    }
}
