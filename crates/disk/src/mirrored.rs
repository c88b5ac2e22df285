//! Small files that are kept in two copies, so that damage to one file, or its loss, loses nothing.
//!
//! A copy begins with a line that has its generation, its length and a CRC-32C of all that, and
//! then has the content unchanged, so that a text stays readable. Every change writes both copies,
//! first the one that is older or damaged: a power loss leaves at least one whole copy of the old
//! or the new content, even where the file system tears the write of a small file.
//!
//! # Guarantees
//! - [`read`] returns the newest content that a whole copy has; one damaged, lost or unreadable
//!   copy changes nothing.
//! - When [`write`] returns the new content is durable, in both copies unless it says otherwise.
//! - A file of the time before there were two copies is read, if its owner says that it is whole,
//!   and counts as generation 0.

use std::path::{Path, PathBuf};

use crate::{Disk, DiskError};

/// Begins every copy.
const MAGIC: &str = "ringwood copy 1";
/// Why a copy that is not there is stale.
pub const MISSING: &str = "it does not exist";
/// A first line is not longer than this.
const MAX_LINE: usize = 100;

/// The content of a file with two copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredContent {
    pub bytes: Vec<u8>,
    /// Grows by one with each change; 0: of the time before there were two copies.
    pub generation: u64,
    /// Copies that do not have this content, with what is wrong with each. They should be written
    /// again.
    pub stale: Vec<(PathBuf, String)>,
}

/// What reading found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundCopies {
    /// Neither copy is there.
    Nothing,
    Whole(MirroredContent),
    /// At least one copy is there and none is whole.
    Damaged(Damaged),
}

/// Copies of which none is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// What is wrong with each.
    pub reasons: Vec<(PathBuf, String)>,
    /// What could be read of them, for those who can use a part of it.
    pub remains: Vec<Vec<u8>>,
}

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (path, reason)) in self.reasons.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{}: {reason}", path.display())?;
        }
        Ok(())
    }
}

/// The second copy of a file.
#[must_use]
pub fn second_copy(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".copy");
    path.with_file_name(name)
}

/// One copy as it was found.
enum FoundCopy {
    Missing,
    /// Generation and content.
    Whole(u64, Vec<u8>),
    Bad(String, Vec<u8>),
}

impl FoundCopy {
    /// Copies with less are written first.
    fn generation(&self) -> Option<u64> {
        match self {
            FoundCopy::Whole(generation, _) => Some(*generation),
            FoundCopy::Missing | FoundCopy::Bad(..) => None,
        }
    }
}

/// Reads a file. `is_old`: whether bytes without a first line of this module are a whole file of
/// before.
///
/// # Errors
/// [`DiskError::Crashed`] only: a copy that cannot be read is one that is not there.
pub fn read(
    disk: &dyn Disk,
    path: &Path,
    is_old: &dyn Fn(&[u8]) -> bool,
) -> Result<FoundCopies, DiskError> {
    let paths = [path.to_path_buf(), second_copy(path)];
    let copies = [read_copy(disk, &paths[0], is_old)?, read_copy(disk, &paths[1], is_old)?];
    let newest = copies.iter().filter_map(FoundCopy::generation).max();
    let Some(newest) = newest else { return Ok(nothing_whole(paths, copies)) };
    let (mut bytes, mut stale) = (None, Vec::new());
    for (path, copy) in paths.into_iter().zip(copies) {
        match copy {
            FoundCopy::Whole(generation, content) if generation == newest && bytes.is_none() => {
                bytes = Some(content);
            }
            FoundCopy::Whole(generation, content) if generation == newest => {
                // Two contents of one generation cannot come from `write`; the first copy is as
                // good as the second.
                if bytes.as_ref() != Some(&content) {
                    stale.push((path, "it has another content of the same generation".into()));
                }
            }
            FoundCopy::Whole(..) => stale.push((path, "it is older than its other copy".into())),
            FoundCopy::Missing => stale.push((path, MISSING.into())),
            FoundCopy::Bad(reason, _) => stale.push((path, reason)),
        }
    }
    Ok(FoundCopies::Whole(MirroredContent {
        bytes: bytes.unwrap_or_default(),
        generation: newest,
        stale,
    }))
}

fn nothing_whole(paths: [PathBuf; 2], copies: [FoundCopy; 2]) -> FoundCopies {
    let mut damaged = Damaged { reasons: Vec::new(), remains: Vec::new() };
    for (path, copy) in paths.into_iter().zip(copies) {
        if let FoundCopy::Bad(reason, remains) = copy {
            damaged.reasons.push((path, reason));
            damaged.remains.push(remains);
        }
    }
    if damaged.reasons.is_empty() { FoundCopies::Nothing } else { FoundCopies::Damaged(damaged) }
}

fn read_copy(
    disk: &dyn Disk,
    path: &Path,
    is_old: &dyn Fn(&[u8]) -> bool,
) -> Result<FoundCopy, DiskError> {
    let bytes = match disk.read_small(path) {
        Ok(bytes) => bytes,
        Err(DiskError::NotFound { .. }) => return Ok(FoundCopy::Missing),
        Err(DiskError::Crashed) => return Err(DiskError::Crashed),
        Err(e) => return Ok(FoundCopy::Bad(e.to_string(), Vec::new())),
    };
    Ok(match unframed(&bytes) {
        Ok((generation, content)) => FoundCopy::Whole(generation, content.to_vec()),
        Err(_) if is_old(&bytes) => FoundCopy::Whole(0, bytes),
        Err(reason) => FoundCopy::Bad(reason.into(), bytes),
    })
}

/// Replaces both copies of a file.
///
/// Returns the error of the second write where only the first one has succeeded: the content is
/// durable then, without a spare.
///
/// # Errors
/// Nothing has changed.
pub fn write(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<Option<DiskError>, DiskError> {
    let paths = [path.to_path_buf(), second_copy(path)];
    // What is old or damaged has no generation that counts.
    let mut generations = [None, None];
    for (generation, path) in generations.iter_mut().zip(&paths) {
        *generation = read_copy(disk, path, &|_| true)?.generation();
    }
    let next = generations.iter().flatten().max().map_or(1, |newest| newest.saturating_add(1));
    let framed = framed(next, content);
    let order = if generations[1] < generations[0] { [1, 0] } else { [0, 1] };
    disk.write_small_atomic(&paths[order[0]], &framed)?;
    Ok(disk.write_small_atomic(&paths[order[1]], &framed).err())
}

fn checksum(generation: u64, content: &[u8]) -> u32 {
    let head = crc32c::crc32c(&generation.to_le_bytes());
    let head = crc32c::crc32c_append(head, &(content.len() as u64).to_le_bytes());
    crc32c::crc32c_append(head, content)
}

fn framed(generation: u64, content: &[u8]) -> Vec<u8> {
    let sum = checksum(generation, content);
    let mut bytes = format!("{MAGIC}\t{generation}\t{}\t{sum:08x}\n", content.len()).into_bytes();
    bytes.extend_from_slice(content);
    bytes
}

/// Generation and content of a copy, or what is wrong with it.
fn unframed(bytes: &[u8]) -> Result<(u64, &[u8]), &'static str> {
    let end = bytes.iter().take(MAX_LINE).position(|byte| *byte == b'\n');
    let line = end.and_then(|end| std::str::from_utf8(&bytes[..end]).ok());
    let (Some(end), Some(line)) = (end, line) else { return Err("its first line is damaged") };
    let rest = line.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix('\t'));
    let mut fields = rest.ok_or("its first line is damaged")?.split('\t');
    let generation = fields.next().and_then(|field| field.parse::<u64>().ok());
    let len = fields.next().and_then(|field| field.parse::<usize>().ok());
    let sum = fields.next().and_then(|field| u32::from_str_radix(field, 16).ok());
    let (Some(generation), Some(len), Some(sum), None) = (generation, len, sum, fields.next())
    else {
        return Err("its first line is damaged");
    };
    let content = &bytes[end + 1..];
    if content.len() != len {
        return Err("its length is wrong");
    }
    if checksum(generation, content) != sum {
        return Err("its checksum is wrong");
    }
    Ok((generation, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_cut_of_a_copy_is_noticed() {
        let whole = framed(41, b"some\ncontent");
        assert_eq!(unframed(&whole), Ok((41, &b"some\ncontent"[..])));
        for at in 0..whole.len() {
            assert!(unframed(&whole[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut bad = whole.clone();
                bad[at] ^= 1 << bit;
                // Another writing of the same number says the same: a letter of the checksum in the
                // other case.
                let same = unframed(&bad).is_ok_and(|found| found == (41, &b"some\ncontent"[..]));
                assert!(unframed(&bad).is_err() || same, "bit {bit} of byte {at}");
            }
        }
    }
}
