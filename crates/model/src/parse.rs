//! Device files: lines of `key = value`, `#` begins a comment. Units: us, ms, s; B, KB, MB, GB, TB
//! (powers of 1,024 for sizes); MB/s and GB/s (powers of 1,000 for rates). docs/devices.md
//! describes every key.

use std::time::Duration;

use crate::builtin::{builtin, hdd_7200};
use crate::error::ModelError;
use crate::params::{CacheKind, Device, Disks, Flash, Medium};

impl Device {
    /// Reads a device file's text. `base` (default `hdd-7200`) must be its first key: the device
    /// that the other keys change.
    ///
    /// # Errors
    /// [`ModelError::Line`] for a line that cannot be read, [`ModelError::Value`] for values out of
    /// range.
    pub fn parse(text: &str) -> Result<Device, ModelError> {
        let mut device = None;
        for (at, raw) in text.lines().enumerate() {
            let line = strip_comment(raw).trim();
            if line.is_empty() {
                continue;
            }
            let fail = |reason: String| ModelError::Line { line: at + 1, reason };
            let (key, value) =
                line.split_once('=').ok_or_else(|| fail("expected key = value".into()))?;
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().trim_matches('"'));
            if key == "base" {
                if device.is_some() {
                    return Err(fail("base must be the first key".into()));
                }
                let base = builtin(value)
                    .ok_or_else(|| fail(format!("there is no built-in device {value:?}")))?;
                device = Some(custom(base));
                continue;
            }
            let device = device.get_or_insert_with(default_base);
            set(device, &key, value).map_err(fail)?;
        }
        let device = device.unwrap_or_else(default_base);
        device.check()?;
        Ok(device)
    }
}

/// A comment begins at a `#` outside quotes.
fn strip_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

/// A device that is about to be changed must not keep its base's name.
fn custom(base: Device) -> Device {
    Device { about: format!("from a file, based on {}", base.name), name: "custom".into(), ..base }
}

fn default_base() -> Device {
    custom(hdd_7200())
}

fn set(device: &mut Device, key: &str, value: &str) -> Result<(), String> {
    match key {
        "name" => device.name = value.into(),
        "about" => device.about = value.into(),
        "logical" => device.logical = whole(value)?,
        "physical" => {
            device.physical = whole(value)?;
            device.reported = device.physical;
        }
        "reported" => device.reported = whole(value)?,
        "arrays" => device.arrays = whole(value)?,
        "time_scale" => device.time_scale = number(value)?,
        "link_rate" => device.link_rate = rate(value)?,
        "overhead" => device.overhead = duration(value)?,
        "cache" => {
            device.cache.kind = match value {
                "none" => CacheKind::None,
                "volatile" => CacheKind::Volatile,
                "battery" => CacheKind::Battery,
                _ => return Err(format!("cache is none, volatile or battery, not {value:?}")),
            };
            if device.cache.kind == CacheKind::None {
                device.cache.bytes = 0;
            }
        }
        "cache_size" => device.cache.bytes = size(value)?,
        _ => match &mut device.medium {
            Medium::Disks(disks) => set_disks(disks, key, value)?,
            Medium::Flash(flash) => set_flash(flash, key, value)?,
        },
    }
    Ok(())
}

fn set_disks(disks: &mut Disks, key: &str, value: &str) -> Result<(), String> {
    match key {
        "spindles" => disks.spindles = whole(value)?,
        "raid" => {
            disks.mirrored = match value {
                "10" => true,
                "0" => false,
                _ => return Err(format!("raid is 0 or 10, not {value:?}")),
            }
        }
        "rpm" => disks.rpm = whole(value)?,
        "track_seek" => disks.track_seek = duration(value)?,
        "average_seek" => disks.average_seek = duration(value)?,
        "outer_rate" => disks.outer_rate = rate(value)?,
        "inner_rate" => disks.inner_rate = rate(value)?,
        "capacity" => disks.capacity = size(value)?,
        "stripe" => disks.stripe = size(value)?,
        _ => return Err(format!("a device of disks has no key {key:?}")),
    }
    Ok(())
}

fn set_flash(flash: &mut Flash, key: &str, value: &str) -> Result<(), String> {
    match key {
        "channels" => flash.channels = whole(value)?,
        "queue_depth" => flash.queue_depth = whole(value)?,
        "read_latency" => flash.read_latency = duration(value)?,
        "write_latency" => flash.write_latency = duration(value)?,
        "rmw_latency" => flash.rmw_latency = duration(value)?,
        "flush_latency" => flash.flush_latency = duration(value)?,
        "read_rate" => flash.read_rate = rate(value)?,
        "write_rate" => flash.write_rate = rate(value)?,
        "read_iops" => flash.read_iops = u64::from(whole(value)?),
        "write_iops" => flash.write_iops = u64::from(whole(value)?),
        "capacity" => flash.capacity = size(value)?,
        _ => return Err(format!("a device of flash has no key {key:?}")),
    }
    Ok(())
}

fn whole(text: &str) -> Result<u32, String> {
    text.replace(['_', ','], "").parse().map_err(|_| format!("{text:?} is not a whole number"))
}

fn number(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|n| n.is_finite())
        .ok_or_else(|| format!("{text:?} is not a number"))
}

/// Number and unit of a value such as `8.5 ms`.
fn split_unit(text: &str) -> Result<(f64, String), String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    Ok((number(digits)?, unit.trim().to_ascii_lowercase()))
}

fn duration(text: &str) -> Result<Duration, String> {
    let (n, unit) = split_unit(text)?;
    let seconds = match unit.as_str() {
        "us" => n / 1e6,
        "ms" => n / 1e3,
        "s" => n,
        _ => return Err(format!("{text:?} is not a time: give us, ms or s")),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{text:?} is not a time"))
}

fn size(text: &str) -> Result<u64, String> {
    let (n, unit) = split_unit(text)?;
    let factor = match unit.as_str() {
        "" | "b" => 0,
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        "tb" => 40,
        _ => return Err(format!("{text:?} is not a size: give KB, MB, GB or TB")),
    };
    Ok((n * (1u64 << factor) as f64) as u64)
}

fn rate(text: &str) -> Result<u64, String> {
    let (n, unit) = split_unit(text)?;
    let factor = match unit.as_str() {
        "kb/s" => 1e3,
        "mb/s" => 1e6,
        "gb/s" => 1e9,
        "" if n == 0.0 => 0.0,
        _ => return Err(format!("{text:?} is not a rate: give MB/s or GB/s, or 0 for no limit")),
    };
    Ok((n * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changes_its_base() {
        let device = Device::parse(
            "# Twelve 10k disks\nbase = hdd-raid10-8x15000\nname = \"my array #1\"\nspindles = 12\nrpm = 10_000\n\
             average_seek = 4.2 ms # typical\nstripe = 64KB\nlink_rate = 118MB/s\ncache = none\ntime_scale = 10\n",
        )
        .expect("a device");
        let Medium::Disks(disks) = &device.medium else { panic!("disks") };
        assert_eq!((disks.spindles, disks.rpm, disks.stripe), (12, 10_000, 65_536));
        assert_eq!(disks.average_seek, Duration::from_micros(4_200));
        assert_eq!(
            (device.name.as_str(), device.link_rate, device.time_scale),
            ("my array #1", 118_000_000, 10.0)
        );
        assert_eq!((device.cache.kind, device.cache.bytes), (CacheKind::None, 0));
    }

    fn fails(text: &str, part: &str) {
        let error = Device::parse(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text:?}: {error}");
    }

    #[test]
    fn bad_files_say_what_is_wrong() {
        fails("spindles", "line 1: expected key = value");
        fails("\nspindles = many", "line 2: \"many\" is not a whole number");
        fails("channels = 8", "no key \"channels\"");
        fails("base = floppy", "no built-in device \"floppy\"");
        fails("rpm = 7200\nbase = nvme", "first key");
        fails("base = hdd-raid10-8x15000\nspindles = 7", "spindles must be 1 to 64, even");
        fails("physical = 1000", "physical must be a power of two");
        fails("base=nvme\ncapacity = 12 parsecs", "not a size");
        fails("overhead = 5", "give us, ms or s");
        fails("base = nvme\nreported = 8192", "reported must be");
        fails("average_seek = 1e400ms", "is not");
        fails("cache = battery", "cache_size must be");
        fails("raid = 5", "0 or 10");
    }

    #[test]
    fn every_built_in_device_is_in_its_ranges() {
        for name in crate::NAMES {
            let device = builtin(name).expect(name);
            assert_eq!(device.check(), Ok(()), "{name}");
            assert_eq!(device.name, name);
        }
    }
}
