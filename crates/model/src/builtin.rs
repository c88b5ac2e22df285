//! The built-in devices. Their figures are those of data sheets of the devices' time;
//! docs/devices.md lists them beside what the model computes, and `tests/it/published.rs` checks
//! the model against them.

use std::time::Duration;

use crate::params::{Cache, CacheKind, Device, Disks, Flash, Medium};

const KB: u64 = 1 << 10;
const MB: u64 = 1_000_000;
const GB: u64 = 1_000_000_000;

/// Names of the built-in devices.
pub const NAMES: [&str; 11] = [
    "hdd-7200",
    "hdd-15000",
    "hdd-512e",
    "hdd-raid10-8x7200",
    "hdd-raid10-8x15000",
    "hdd-raid10-4x15000",
    "2x-hdd-raid10-4x15000",
    "ssd-512e",
    "ssd-4kn",
    "ssd-4k-hidden",
    "nvme",
];

/// The built-in device of that name.
pub fn builtin(name: &str) -> Option<Device> {
    let device = match name {
        "hdd-7200" => hdd_7200(),
        "hdd-15000" => {
            disk(name, "one 15,000 rpm disk of 300 GB, no write cache", Drive::Scsi15000)
        }
        "hdd-512e" => Device {
            physical: 4096,
            reported: 4096,
            ..disk(
                name,
                "one 7,200 rpm disk with 4 KB sectors behind 512-byte ones, no write cache",
                Drive::Sata7200,
            )
        },
        "hdd-raid10-8x7200" => raid10(
            name,
            "RAID10 of 8 disks of 1 TB, 7,200 rpm, 128 KB stripes, 512 MB battery cache",
            Drive::Sata7200,
            8,
            1,
        ),
        "hdd-raid10-8x15000" => raid10(
            name,
            "RAID10 of 8 disks of 300 GB, 15,000 rpm, 128 KB stripes, 512 MB battery cache",
            Drive::Scsi15000,
            8,
            1,
        ),
        "hdd-raid10-4x15000" => raid10(
            name,
            "RAID10 of 4 disks of 300 GB, 15,000 rpm, 128 KB stripes, 512 MB battery cache",
            Drive::Scsi15000,
            4,
            1,
        ),
        "2x-hdd-raid10-4x15000" => raid10(
            name,
            "two arrays, each RAID10 of 4 disks of 300 GB, 15,000 rpm, 128 KB stripes, 512 MB battery cache",
            Drive::Scsi15000,
            4,
            2,
        ),
        "ssd-512e" => {
            ssd(name, "SATA flash with capacitors, 4 KB sectors behind 512-byte ones", 512, 4096)
        }
        "ssd-4kn" => ssd(name, "SATA flash with capacitors, 4 KB sectors", 4096, 4096),
        "ssd-4k-hidden" => {
            ssd(name, "SATA flash with 4 KB sectors on a volume that reports 512", 512, 512)
        }
        "nvme" => nvme(name),
        _ => return None,
    };
    debug_assert!(device.check().is_ok());
    Some(device)
}

/// The device that a file without `base` starts from.
pub(crate) fn hdd_7200() -> Device {
    disk("hdd-7200", "one 7,200 rpm disk of 1 TB, no write cache", Drive::Sata7200)
}

#[derive(Clone, Copy)]
enum Drive {
    Sata7200,
    Scsi15000,
}

/// 1 TB SATA: 8.5 ms average seek, 110 to 60 MB/s. 300 GB SCSI/SAS 15k: 3.5 ms, 150 to 90 MB/s.
fn spindle(drive: Drive) -> Disks {
    let (rpm, track_us, seek_us, outer, inner, capacity) = match drive {
        Drive::Sata7200 => (7_200, 800, 8_500, 110 * MB, 60 * MB, 1_000 * GB),
        Drive::Scsi15000 => (15_000, 250, 3_500, 150 * MB, 90 * MB, 300 * GB),
    };
    Disks {
        spindles: 1,
        mirrored: false,
        rpm,
        track_seek: Duration::from_micros(track_us),
        average_seek: Duration::from_micros(seek_us),
        outer_rate: outer,
        inner_rate: inner,
        capacity,
        stripe: 128 * KB,
    }
}

fn disk(name: &str, about: &str, drive: Drive) -> Device {
    Device {
        name: name.into(),
        about: about.into(),
        logical: 512,
        physical: 512,
        reported: 512,
        arrays: 1,
        time_scale: 1.0,
        link_rate: 300 * MB,
        overhead: Duration::from_micros(50),
        cache: Cache { kind: CacheKind::None, bytes: 0 },
        medium: Medium::Disks(spindle(drive)),
    }
}

fn raid10(name: &str, about: &str, drive: Drive, spindles: u32, arrays: u32) -> Device {
    Device {
        arrays,
        link_rate: 1_200 * MB,
        overhead: Duration::from_micros(100),
        cache: Cache { kind: CacheKind::Battery, bytes: 512 << 20 },
        medium: Medium::Disks(Disks { spindles, mirrored: true, ..spindle(drive) }),
        ..disk(name, about, drive)
    }
}

/// An enterprise SATA drive: 90 us reads, 45 us writes into a buffer that capacitors protect, 550
/// MB/s.
fn ssd(name: &str, about: &str, logical: u32, reported: u32) -> Device {
    Device {
        name: name.into(),
        about: about.into(),
        logical,
        physical: 4096,
        reported,
        arrays: 1,
        time_scale: 1.0,
        link_rate: 550 * MB,
        overhead: Duration::from_micros(5),
        cache: Cache { kind: CacheKind::Battery, bytes: 0 },
        medium: Medium::Flash(Flash {
            channels: 8,
            queue_depth: 32,
            read_latency: Duration::from_micros(85),
            write_latency: Duration::from_micros(40),
            rmw_latency: Duration::from_micros(140),
            flush_latency: Duration::from_micros(1_000),
            read_rate: 530 * MB,
            write_rate: 460 * MB,
            read_iops: 75_000,
            write_iops: 36_000,
            capacity: 800 * GB,
        }),
    }
}

/// A data-centre NVMe drive: 80 us reads, 18 us writes, 3.0 and 2.0 GB/s, 600,000 and 180,000
/// requests a second.
fn nvme(name: &str) -> Device {
    Device {
        link_rate: 3_900 * MB,
        overhead: Duration::from_micros(2),
        medium: Medium::Flash(Flash {
            channels: 64,
            queue_depth: 1024,
            read_latency: Duration::from_micros(78),
            write_latency: Duration::from_micros(16),
            rmw_latency: Duration::from_micros(90),
            flush_latency: Duration::from_micros(1_000),
            read_rate: 3_000 * MB,
            write_rate: 2_000 * MB,
            read_iops: 600_000,
            write_iops: 180_000,
            capacity: 1_600 * GB,
        }),
        ..ssd(name, "NVMe flash with capacitors, 4 KB sectors behind 512-byte ones", 512, 4096)
    }
}
