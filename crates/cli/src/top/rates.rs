//! What happened between two pictures, per second, and numbers as people read them.

use engine::status::{DatabaseStatus, FileStatus, InstanceStatus};

/// Two pictures of one instance.
pub struct BetweenPictures<'a> {
    pub before: &'a InstanceStatus,
    pub now: &'a InstanceStatus,
    pub seconds: f64,
}

impl<'a> BetweenPictures<'a> {
    /// Another process's picture is no earlier one of this.
    pub fn new(before: &'a InstanceStatus, now: &'a InstanceStatus) -> BetweenPictures<'a> {
        let before = if before.pid == now.pid && before.at_us < now.at_us { before } else { now };
        let seconds = (now.at_us - before.at_us) as f64 / 1e6;
        BetweenPictures { before, now, seconds }
    }

    /// A counter's rate; 0 when it went back or no time has passed.
    pub fn rate(&self, before: u64, now: u64) -> f64 {
        if self.seconds > 0.0 { now.saturating_sub(before) as f64 / self.seconds } else { 0.0 }
    }

    /// A database as it was.
    pub fn earlier(&self, db: &DatabaseStatus) -> Option<&'a DatabaseStatus> {
        self.before.databases.iter().find(|b| b.id == db.id && b.name == db.name)
    }

    /// A file as it was; as it is now when it was not there.
    pub fn earlier_file(&self, db: &DatabaseStatus, file: &FileStatus) -> FileStatus {
        let found = self.earlier(db).and_then(|b| b.files.iter().find(|f| f.id == file.id));
        found.unwrap_or(file).clone()
    }

    /// The log's writes between the pictures: number, bytes, per class of size.
    pub fn log_writes(&self, db: &DatabaseStatus) -> LogWrites {
        let mut sum = LogWrites::default();
        for file in db.files.iter().filter(|f| f.is_log) {
            let earlier = self.earlier_file(db, file);
            sum.writes += file.writes.saturating_sub(earlier.writes);
            sum.bytes += file.bytes_written.saturating_sub(earlier.bytes_written);
            sum.us +=
                (file.write_us + file.sync_us).saturating_sub(earlier.write_us + earlier.sync_us);
            sum.sizes.resize(sum.sizes.len().max(file.write_sizes.len()), 0);
            for ((sum, now), was) in
                sum.sizes.iter_mut().zip(&file.write_sizes).zip(&earlier.write_sizes)
            {
                *sum += now.saturating_sub(*was);
            }
        }
        sum
    }
}

/// Writes of a log.
#[derive(Debug, Default, PartialEq)]
pub struct LogWrites {
    pub writes: u64,
    pub bytes: u64,
    /// Time in them, microseconds.
    pub us: u64,
    pub sizes: Vec<u64>,
}

/// How many of something: `1 session`, `2,000 sessions`.
pub fn counted(n: u64, one: &str) -> String {
    format!("{} {one}{}", count(n as f64), if n == 1 { "" } else { "s" })
}

/// 1,234,567.
pub fn count(n: f64) -> String {
    let whole = n.round().max(0.0) as u64;
    if n > 0.0 && n < 9.95 && (n - n.round()).abs() > 0.05 {
        return format!("{n:.1}");
    }
    let digits = whole.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// 4.0 KB, 64 MB; powers of 1,024.
pub fn bytes(n: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let (mut n, mut unit) = (n.max(0.0), 0);
    while n >= 1023.5 && unit + 1 < UNITS.len() {
        n /= 1024.0;
        unit += 1;
    }
    if unit == 0 || n >= 9.95 {
        format!("{n:.0} {}", UNITS[unit])
    } else {
        format!("{n:.1} {}", UNITS[unit])
    }
}

/// Time per event: 44 us, 1.2 ms, 3.0 s.
pub fn each(us: u64, events: u64) -> String {
    if events == 0 {
        return "-".into();
    }
    let us = us as f64 / events as f64;
    match us {
        _ if us < 999.5 => format!("{us:.0} us"),
        _ if us < 999_500.0 => format!("{:.1} ms", us / 1e3),
        _ => format!("{:.1} s", us / 1e6),
    }
}

/// 1:02:03.
pub fn clock(ms: u64) -> String {
    let s = ms / 1000;
    format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(
            ["0", "2.5", "12", "1,234,567"],
            [0.0, 2.5, 12.4, 1_234_567.0].map(count).each_ref().map(String::as_str)
        );
        let shown = [0.0, 512.0, 4096.0, 61_440.0, 67_108_864.0, 1023.9 * 1024.0].map(bytes);
        assert_eq!(
            shown.each_ref().map(String::as_str),
            ["0 B", "512 B", "4.0 KB", "60 KB", "64 MB", "1.0 MB"]
        );
        assert_eq!(
            (each(440, 10), each(0, 0), each(3_000_000, 2)),
            ("44 us".into(), "-".into(), "1.5 s".into())
        );
        assert_eq!(clock(3_723_999), "1:02:03");
    }

    #[test]
    fn a_restarted_instance_has_no_earlier_picture() {
        let before =
            InstanceStatus { pid: 1, at_us: 5_000_000, batches: 100, ..InstanceStatus::default() };
        let now =
            InstanceStatus { pid: 2, at_us: 6_000_000, batches: 3, ..InstanceStatus::default() };
        let between = BetweenPictures::new(&before, &now);
        assert_eq!(between.rate(between.before.batches, now.batches), 0.0);
        let later = InstanceStatus { at_us: 8_000_000, batches: 9, ..now.clone() };
        let between = BetweenPictures::new(&now, &later);
        assert_eq!(between.rate(between.before.batches, later.batches), 3.0);
    }
}
