//! Credentials of the instance (CREATE CREDENTIAL): a small file in its folder, replaced atomically.
//! Guarantees: the file is its owner's alone (0600); secrets leave this module only where they are used, and no view,
//! message or `Debug` shows one. They are not encrypted: a key that lies beside them would protect nothing.

use std::fmt::{self, Debug, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use compact_str::CompactString;
use disk::{Disk, DiskError};
use parking_lot::RwLock;

use super::InstanceError;
use catalog::fold_name;
use catalog::registry::{checksum, escape, unescape};

/// The file's name in the instance's folder.
const FILE_NAME: &str = "credentials.registry";
const MAGIC: &str = "ringwood credentials 1";
/// credential_id of the first one.
const FIRST_ID: i32 = 65_536;

/// One credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// credential_id.
    pub id: i32,
    pub name: CompactString,
    pub identity: CompactString,
    pub(crate) secret: Option<CompactString>,
    /// Since 1970.
    pub created: Duration,
    pub modified: Duration,
}

impl Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a change of the list can end in.
#[derive(Debug)]
pub enum ChangeError {
    /// The name is taken, or there is no such credential.
    Name,
    /// The disk refused; nothing has changed.
    Disk(DiskError),
}

/// All of them.
#[derive(Debug)]
pub struct Credentials {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    list: RwLock<Vec<Credential>>,
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Credentials {
    /// Reads the file; an instance that has none yet has no credentials.
    pub(super) fn open(disk: Arc<dyn Disk>, root: &Path) -> Result<Credentials, InstanceError> {
        let path = root.join(FILE_NAME);
        let list = match disk.read_small(&path) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes).ok();
                let list = text.as_deref().and_then(parse);
                list.ok_or_else(|| InstanceError::Credentials(path.display().to_string()))?
            }
            Err(DiskError::NotFound { .. }) => Vec::new(),
            Err(e) => return Err(e.into()),
        };
        Ok(Credentials { disk, path, list: RwLock::new(list) })
    }

    /// All of them, by id.
    pub fn list(&self) -> Vec<Credential> {
        self.list.read().clone()
    }

    /// The one of a name.
    pub fn find(&self, name: &str) -> Option<Credential> {
        let folded = fold_name(name);
        self.list.read().iter().find(|c| fold_name(&c.name) == folded).cloned()
    }

    /// The one for a URL: of the whole, else of the nearest folder above it, else of the host.
    pub fn for_url(&self, url: &str) -> Option<Credential> {
        let start = url.find("://").map_or(0, |at| at + 3);
        let mut name = url;
        loop {
            if let Some(found) = self.find(name) {
                return Some(found);
            }
            name = &name[..name.rfind('/').filter(|at| *at > start)?];
        }
    }

    /// Makes one.
    pub(crate) fn create(&self, name: &str, identity: &str, secret: Option<&str>) -> Result<(), ChangeError> {
        self.change(|list| {
            if list.iter().any(|c| fold_name(&c.name) == fold_name(name)) {
                return Err(ChangeError::Name);
            }
            let at = now();
            list.push(Credential {
                id: list.iter().map(|c| c.id).max().map_or(FIRST_ID, |id| id.saturating_add(1)),
                name: name.into(),
                identity: identity.into(),
                secret: secret.map(Into::into),
                created: at,
                modified: at,
            });
            Ok(())
        })
    }

    /// Replaces identity and secret; without a secret there is none any more.
    pub(crate) fn alter(&self, name: &str, identity: &str, secret: Option<&str>) -> Result<(), ChangeError> {
        self.change(|list| {
            let found = list.iter_mut().find(|c| fold_name(&c.name) == fold_name(name));
            let credential = found.ok_or(ChangeError::Name)?;
            credential.identity = identity.into();
            credential.secret = secret.map(Into::into);
            credential.modified = now();
            Ok(())
        })
    }

    /// Removes one.
    pub(crate) fn remove(&self, name: &str) -> Result<(), ChangeError> {
        self.change(|list| {
            let at = list.iter().position(|c| fold_name(&c.name) == fold_name(name));
            list.remove(at.ok_or(ChangeError::Name)?);
            Ok(())
        })
    }

    fn change(
        &self,
        what: impl FnOnce(&mut Vec<Credential>) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let mut list = self.list.write();
        let mut changed = list.clone();
        what(&mut changed)?;
        let text = format_list(&changed);
        self.disk.write_small_atomic(&self.path, text.as_bytes()).map_err(ChangeError::Disk)?;
        *list = changed;
        Ok(())
    }
}

fn format_list(list: &[Credential]) -> String {
    let mut body = String::new();
    for c in list {
        let (name, identity) = (escape(&c.name), escape(&c.identity));
        let (created, modified) = (c.created.as_micros(), c.modified.as_micros());
        let _ = write!(body, "credential\t{}\t{name}\t{identity}\t{created}\t{modified}", c.id);
        if let Some(secret) = &c.secret {
            let _ = write!(body, "\t{}", escape(secret));
        }
        body.push('\n');
    }
    format!("{MAGIC}\n{body}end\t{:08x}\n", checksum(&body))
}

fn parse(text: &str) -> Option<Vec<Credential>> {
    let (body, end) = text.strip_prefix(MAGIC)?.strip_prefix('\n')?.rsplit_once("end\t")?;
    if u32::from_str_radix(end.trim(), 16).ok()? != checksum(body) {
        return None;
    }
    let micros = |text: &str| text.parse().ok().map(Duration::from_micros);
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let (fields, secret) = match fields.as_slice() {
            [fields @ .., secret] if fields.len() == 6 => (fields, Some(unescape(secret))),
            fields => (fields, None),
        };
        let ["credential", id, name, identity, created, modified] = fields else { return None };
        Some(Credential {
            id: id.parse().ok()?,
            name: unescape(name),
            identity: unescape(identity),
            secret,
            created: micros(created)?,
            modified: micros(modified)?,
        })
    };
    body.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, secret: Option<&str>) -> Credential {
        Credential {
            id: FIRST_ID,
            name: name.into(),
            identity: "S3 Access Key".into(),
            secret: secret.map(Into::into),
            created: Duration::from_micros(1),
            modified: Duration::from_micros(2),
        }
    }

    #[test]
    fn the_list_survives_and_damage_is_found() {
        let list = vec![one("s3://h:1/b", Some("k:tab\there")), one("none", None), one("empty", Some(""))];
        let text = format_list(&list);
        assert_eq!(parse(&text), Some(list));
        assert_eq!(parse(&text.replace("s3://h", "s3://i")), None);
        assert_eq!(parse("ringwood credentials 1\n"), None);
    }
}
