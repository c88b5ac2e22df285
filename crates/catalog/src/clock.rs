//! The time of day in the forms that the engine stores and shows. Times are UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use types::Value;

/// Days from 1900-01-01 to 1970-01-01.
const EPOCH_1900: i64 = 25_567;
const DAY: u64 = 86_400;

pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Now as days since 1900-01-01 and 1/300 s since midnight.
pub fn now_parts() -> (i32, u32) {
    parts(since_epoch())
}

/// A time since 1970 as days since 1900-01-01 and 1/300 s since midnight.
pub fn parts(since: Duration) -> (i32, u32) {
    let days = (since.as_secs() / DAY) as i64 + EPOCH_1900;
    let nanos = u64::from(since.subsec_nanos()) + (since.as_secs() % DAY) * 1_000_000_000;
    (i32::try_from(days).unwrap_or(0), (nanos * 3 / 10_000_000) as u32)
}

/// Now as datetime.
pub fn now() -> Value {
    let (days, ticks) = now_parts();
    Value::DateTime { days, ticks }
}

/// A time since 1970 as `2026-01-05 03:04:05.00`.
pub fn text(since: Duration) -> String {
    let (y, m, d) = civil((since.as_secs() / DAY) as i64);
    let s = since.as_secs() % DAY;
    let hundredths = since.subsec_millis() / 10;
    format!("{y:04}-{m:02}-{d:02} {:02}:{:02}:{:02}.{hundredths:02}", s / 3600, s / 60 % 60, s % 60)
}

/// Microseconds since 1970 as `2026/01/05 03:04:05:678`, the form of sys.fn_dblog.
pub fn log_text(micros: u64) -> String {
    let s = micros / 1_000_000;
    let (y, m, d) = civil((s / DAY) as i64);
    let (s, ms) = (s % DAY, micros / 1000 % 1000);
    format!("{y:04}/{m:02}/{d:02} {:02}:{:02}:{:02}:{ms:03}", s / 3600, s / 60 % 60, s % 60)
}

/// A time since 1970 as `2026-01-05T03:04:05.123`.
pub fn iso(since: Duration) -> String {
    let (y, m, d) = civil((since.as_secs() / DAY) as i64);
    let s = since.as_secs() % DAY;
    let (hour, minute, second, milli) = (s / 3600, s / 60 % 60, s % 60, since.subsec_millis());
    format!("{y:04}-{m:02}-{d:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}")
}

/// Year, month, day of a day counted from 1970-01-01 (proleptic Gregorian, eras of 400 years that
/// begin in March).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_454), (2026, 1, 1));
        assert_eq!(parts(Duration::from_millis(1_500)), (25_567, 450));
        assert_eq!(log_text(951_786_061_023_456), "2000/02/29 01:01:01:023");
    }
}
