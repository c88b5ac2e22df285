//! The file system that holds a file: where it is mounted, what it is, how large and how full.

use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Path of the file: absolute, links followed as far as the path exists.
    pub path: PathBuf,
    /// Where the file system is mounted.
    pub mount_point: PathBuf,
    /// Its kind (`ext4`); empty when the system does not report it.
    pub file_system: String,
    /// What is mounted (`/dev/sda1`); empty likewise.
    pub source: String,
    /// Bytes in all, and those that users may still take.
    pub total: u64,
    pub available: u64,
    pub read_only: bool,
}

/// The volume of a file; `None` when the system does not report it.
pub(crate) fn volume_of(path: &Path) -> Option<Volume> {
    let path = absolute(path)?;
    let stat = rustix::fs::statvfs(existing(&path)).ok()?;
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mount = mount_of(&String::from_utf8_lossy(&mounts), &path);
    let (mount_point, file_system, source) =
        mount.unwrap_or_else(|| ("/".into(), String::new(), String::new()));
    Some(Volume {
        path,
        mount_point,
        file_system,
        source,
        total: stat.f_blocks.saturating_mul(stat.f_frsize),
        available: stat.f_bavail.saturating_mul(stat.f_frsize),
        read_only: stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
    })
}

/// The nearest folder or file above that exists.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|p| p.exists()).unwrap_or(Path::new("/"))
}

fn absolute(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let there = existing(&path);
    let rest = path.strip_prefix(there).ok()?;
    let real = there.canonicalize().ok()?;
    Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}

/// Mount point, kind and source of the innermost mount above the path. Among several of the longest
/// ones the last counts, because it hides the others.
fn mount_of(mounts: &str, path: &Path) -> Option<(PathBuf, String, String)> {
    let mut best: Option<(PathBuf, String, String)> = None;
    for line in mounts.lines() {
        let Some((head, tail)) = line.split_once(" - ") else { continue };
        let Some(point) = head.split(' ').nth(4).map(|p| PathBuf::from(unescape(p))) else {
            continue;
        };
        let mut tail = tail.split(' ');
        let (kind, source) = (tail.next().unwrap_or_default(), tail.next().unwrap_or_default());
        let longer = |(other, _, _): &(PathBuf, String, String)| {
            point.components().count() >= other.components().count()
        };
        if path.starts_with(&point) && best.as_ref().is_none_or(longer) {
            best = Some((point, kind.into(), unescape(source)));
        }
    }
    best
}

/// Spaces and similar characters are written as `\040`.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let code = behind.first_chunk::<3>().and_then(|d| std::str::from_utf8(d).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| byte == b'\\') {
            Some(code) => {
                out.push(code);
                rest = &behind[3..];
            }
            None => {
                out.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      30 22 8:2 / /data rw shared:1 - xfs /dev/sdb rw\n\
                      31 22 8:3 / /data/my\\040disk rw - btrfs /dev/sdc rw\n\
                      broken line\n";
        let at = |path: &str| mount_of(mounts, Path::new(path)).map(|m| (m.0, m.1));
        assert_eq!(at("/etc/x"), Some(("/".into(), "ext4".into())));
        assert_eq!(at("/data/E/x.mdf"), Some(("/data".into(), "xfs".into())));
        assert_eq!(at("/database/x.mdf"), Some(("/".into(), "ext4".into())));
        assert_eq!(at("/data/my disk/x.mdf"), Some(("/data/my disk".into(), "btrfs".into())));
        assert_eq!(mount_of("", Path::new("/x")), None);
    }

    #[test]
    fn a_real_folder_has_a_volume() {
        let volume = volume_of(&std::env::temp_dir().join("not/there/yet.mdf")).expect("a volume");
        assert!(volume.path.ends_with("not/there/yet.mdf") && volume.path.is_absolute());
        assert!(volume.path.starts_with(&volume.mount_point) && volume.total >= volume.available);
    }
}
