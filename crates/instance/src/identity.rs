//! The identity of an instance: an id in a small file of its folder, with what tells the folder
//! from its copies. The file itself has two copies ([`disk::mirrored`]); where both are damaged the
//! id is the one that the databases' files name.
//!
//! A folder that was moved or renamed has the inode and the time of birth that the file says, and
//! stays what it was. A copy has others: it gets an id of its own. The number of the device does
//! not count, as it may be another one after each restart of the machine; a copy of a whole volume
//! is recognised while the original is at its place.
//!
//! Guarantee: what lies outside a copied folder and may belong to the original is not the copy's,
//! unless it is attached.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use disk::mirrored::{self, FoundCopies};
use disk::{Disk, DiskError, FileIdentity};
use pages::InstanceId;

use catalog::registry::{self, checksum, escape, unescape};

/// The file's name in the instance's folder.
pub const FILE_NAME: &str = "instance.id";
const MAGIC: &str = "ringwood instance 1";

/// The identity of the instance of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub id: InstanceId,
    /// The folder began as a copy of another one: files outside of it that name no instance are not
    /// its own.
    pub copy: bool,
    /// What to tell the error log.
    pub news: Vec<String>,
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NotedIdentity {
    id: InstanceId,
    copy: bool,
    inode: u64,
    born_ns: i64,
    /// Where the folder was when the file was written.
    folder: PathBuf,
}

/// Finds out the identity of the instance of a folder, and notes it there. `folder_before`: where a
/// registry without an id says that the folder was. `named`: the instance that the databases' files
/// name, asked for when the file is damaged. `write`: the file may be written; if not, a copy is
/// one for this time.
///
/// # Errors
/// The disk.
pub(crate) fn establish(
    disk: &dyn Disk,
    root: &Path,
    folder_before: Option<&Path>,
    named: &dyn Fn() -> Option<InstanceId>,
    write: bool,
) -> Result<Identity, DiskError> {
    let path = root.join(FILE_NAME);
    let now = disk.identity(root)?;
    let is_old = |bytes: &[u8]| std::str::from_utf8(bytes).ok().and_then(parse).is_some();
    let (mut stale, mut repair) = (Vec::new(), Vec::new());
    let found = match mirrored::read(disk, &path, &is_old)? {
        FoundCopies::Nothing => None,
        FoundCopies::Whole(content) => {
            stale = content.stale;
            std::str::from_utf8(&content.bytes).ok().and_then(parse)
        }
        FoundCopies::Damaged(damaged) => {
            let id = named();
            repair.push(lost(&damaged, id));
            id.map(|id| NotedIdentity {
                id,
                copy: false,
                inode: now.inode,
                born_ns: now.born_ns,
                folder: root.into(),
            })
        }
    };
    let (mut identity, noted) = decide(disk, root, now, found.as_ref(), folder_before)?;
    if write && (found.as_ref() != Some(&noted) || !stale.is_empty() || !repair.is_empty()) {
        mirrored::write(disk, &path, format(&noted).as_bytes())?;
    }
    for (path, reason) in stale.iter().filter(|(_, reason)| reason != mirrored::MISSING) {
        repair.push(format!(
            "A copy of a file is damaged, the other one is used: '{}': {reason}.",
            path.display()
        ));
    }
    repair.append(&mut identity.news);
    identity.news = repair;
    Ok(identity)
}

fn lost(damaged: &mirrored::Damaged, id: Option<InstanceId>) -> String {
    let now = match id {
        Some(id) => {
            format!("the identity is {}, which the databases' files name", pages::home::hex(&id))
        }
        None => "the folder gets a new one; databases outside of it must be attached again".into(),
    };
    format!("The file of the instance's identity is damaged in both copies ({damaged}): {now}.")
}

fn decide(
    disk: &dyn Disk,
    root: &Path,
    now: FileIdentity,
    found: Option<&NotedIdentity>,
    folder_before: Option<&Path>,
) -> Result<(Identity, NotedIdentity), DiskError> {
    let note = |id, copy| NotedIdentity {
        id,
        copy,
        inode: now.inode,
        born_ns: now.born_ns,
        folder: root.to_path_buf(),
    };
    let Some(found) = found else {
        // The first start, or the first of a version that gives folders an id.
        let before = folder_before.filter(|before| *before != root);
        let copy = before.is_some_and(|before| is_instance(disk, before));
        let news = before.filter(|_| copy).map(copied).into_iter().collect();
        let id = new_id();
        return Ok((Identity { id, copy, news }, note(id, copy)));
    };
    let same = found.inode == now.inode && found.born_ns == now.born_ns;
    let elsewhere = found.folder != root;
    if same && !(elsewhere && has_original(disk, found, now)) {
        let news = elsewhere
            .then(|| format!("The folder was moved here from '{}'.", found.folder.display()));
        let news = news.into_iter().collect();
        return Ok((Identity { id: found.id, copy: found.copy, news }, note(found.id, found.copy)));
    }
    let id = new_id();
    Ok((Identity { id, copy: true, news: vec![copied(&found.folder)] }, note(id, true)))
}

/// Whether the folder that the file names is still there, and another one: a copy of the whole
/// volume has the inodes of the original.
fn has_original(disk: &dyn Disk, found: &NotedIdentity, now: FileIdentity) -> bool {
    let there = disk.identity(&found.folder).ok();
    there.is_some_and(|there| there.device != now.device && is_instance(disk, &found.folder))
}

/// Whether an instance has ever had a folder.
fn is_instance(disk: &dyn Disk, folder: &Path) -> bool {
    registry::exists(disk, folder).unwrap_or(false)
}

fn copied(from: &Path) -> String {
    format!(
        "The folder is a copy of '{}': it has an identity of its own from now on. Files outside of it stay the original's.",
        from.display()
    )
}

fn new_id() -> InstanceId {
    let mut id = InstanceId::default();
    while id == InstanceId::default() {
        fastrand::fill(&mut id);
    }
    id
}

fn format(noted: &NotedIdentity) -> String {
    let mut body = String::new();
    let folder = noted.folder.to_string_lossy();
    let _ = writeln!(body, "id\t{}\t{}", pages::home::hex(&noted.id), u8::from(noted.copy));
    let _ = writeln!(body, "folder\t{}\t{}\t{}", noted.inode, noted.born_ns, escape(&folder));
    format!("{MAGIC}\n{body}end\t{:08x}\n", checksum(&body))
}

fn parse(text: &str) -> Option<NotedIdentity> {
    let (body, end) = text.strip_prefix(MAGIC)?.strip_prefix('\n')?.rsplit_once("end\t")?;
    if u32::from_str_radix(end.trim(), 16).ok() != Some(checksum(body)) {
        return None;
    }
    let mut lines = body.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let (first, second) = (lines.next()?, lines.next()?);
    let (["id", id, copy], ["folder", inode, born, folder]) = (first.as_slice(), second.as_slice())
    else {
        return None;
    };
    let id = u128::from_str_radix(id, 16).ok().filter(|_| id.len() == 32)?.to_be_bytes();
    Some(NotedIdentity {
        id,
        copy: *copy == "1",
        inode: inode.parse().ok()?,
        born_ns: born.parse().ok()?,
        folder: PathBuf::from(unescape(folder).as_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::SimDisk;

    fn identity(disk: &SimDisk, root: &str) -> Identity {
        establish(disk, Path::new(root), None, &|| None, true).unwrap()
    }

    #[test]
    fn a_moved_folder_stays_and_a_copy_is_another() {
        let disk = SimDisk::new(1);
        disk.create_dir_all(Path::new("/a")).unwrap();
        let first = identity(&disk, "/a");
        assert!(!first.copy && first.news.is_empty());
        assert_eq!(identity(&disk, "/a"), first);
        disk.rename_dir(Path::new("/a"), Path::new("/b"));
        let moved = identity(&disk, "/b");
        assert_eq!((moved.id, moved.copy), (first.id, false));
        disk.copy_dir(Path::new("/b"), Path::new("/c"));
        let copy = identity(&disk, "/c");
        assert!(copy.id != first.id && copy.copy && !copy.news.is_empty());
        // It stays a copy, and copies of it are others again.
        assert_eq!(identity(&disk, "/c"), Identity { news: Vec::new(), ..copy.clone() });
        disk.copy_dir(Path::new("/c"), Path::new("/d"));
        assert!(![first.id, copy.id].contains(&identity(&disk, "/d").id));
        assert_eq!(identity(&disk, "/b").id, first.id);
    }

    #[test]
    fn a_folder_without_an_id_is_a_copy_while_its_original_is_there() {
        let disk = SimDisk::new(1);
        for folder in ["/a", "/b"] {
            disk.create_dir_all(Path::new(folder)).unwrap();
        }
        disk.write_small_atomic(&Path::new("/a").join(registry::FILE_NAME), b"x").unwrap();
        let old = Some(Path::new("/a"));
        assert!(establish(&disk, Path::new("/b"), old, &|| None, true).unwrap().copy);
        assert!(!establish(&disk, Path::new("/a"), old, &|| None, true).unwrap().copy);
        disk.create_dir_all(Path::new("/c")).unwrap();
        assert!(
            !establish(&disk, Path::new("/c"), Some(Path::new("/gone")), &|| None, true)
                .unwrap()
                .copy,
            "it was moved"
        );
    }

    #[test]
    fn the_file_survives_and_damage_is_noticed() {
        let noted = NotedIdentity {
            id: [0xa7; 16],
            copy: true,
            inode: 7,
            born_ns: -3,
            folder: "/odd\tname".into(),
        };
        let text = format(&noted);
        assert_eq!(parse(&text), Some(noted));
        assert_eq!(parse(&text.replace("a7a7", "a7a8")), None);
        assert_eq!(parse(&text[..text.len() / 2]), None);
        assert_eq!(parse(""), None);
    }
}
