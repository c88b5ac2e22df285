//! Credentials of the instance (CREATE CREDENTIAL). Guarantees: secrets leave this module only
//! where they are used, and no view, message or `Debug` shows one. They are not encrypted: a key
//! that lies beside them would protect nothing.

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use compact_str::CompactString;

use super::persisted::{KeptError, Persisted, PersistedLists, PersistedObjects, position};

/// credential_id of the first one.
const FIRST_ID: i32 = 65_536;

/// One credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// credential_id.
    pub id: i32,
    pub name: CompactString,
    pub identity: CompactString,
    pub secret: Option<CompactString>,
    /// Since 1970.
    pub created: Duration,
    pub modified: Duration,
}

impl Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Persisted for Credential {
    const PLURAL: &'static str = "credentials";
    const ONE: &'static str = "credential";

    fn name(&self) -> &str {
        &self.name
    }

    fn fields(&self) -> Vec<String> {
        let times = [self.created, self.modified].map(|time| time.as_micros().to_string());
        let [created, modified] = times;
        let mut fields = vec![
            self.id.to_string(),
            self.name.to_string(),
            self.identity.to_string(),
            created,
            modified,
        ];
        fields.extend(self.secret.as_ref().map(CompactString::to_string));
        fields
    }

    fn of_fields(fields: &[String]) -> Option<Credential> {
        let (fields, secret) = match fields {
            [fields @ .., secret] if fields.len() == 5 => (fields, Some(secret.into())),
            fields => (fields, None),
        };
        let [id, name, identity, created, modified] = fields else { return None };
        let micros = |text: &String| text.parse().ok().map(Duration::from_micros);
        Some(Credential {
            id: id.parse().ok()?,
            name: name.into(),
            identity: identity.into(),
            secret,
            created: micros(created)?,
            modified: micros(modified)?,
        })
    }
}

/// What a change of the list can end in.
#[derive(Debug)]
pub enum ChangeError {
    /// The name is taken, or there is no such credential.
    Name,
    /// The list could not be saved; nothing has changed.
    Kept(KeptError),
}

impl From<KeptError> for ChangeError {
    fn from(error: KeptError) -> ChangeError {
        ChangeError::Kept(error)
    }
}

/// All of them.
pub struct Credentials(Arc<PersistedObjects<Credential>>);

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Credentials {
    /// Those of an instance.
    pub(super) fn of(lists: &PersistedLists) -> Result<Credentials, KeptError> {
        lists.of().map(Credentials)
    }

    /// All of them, by id.
    pub fn list(&self) -> Vec<Credential> {
        self.0.list()
    }

    /// The one of a name.
    pub fn find(&self, name: &str) -> Option<Credential> {
        self.0.find(name)
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
    pub fn create(
        &self,
        name: &str,
        identity: &str,
        secret: Option<&str>,
    ) -> Result<(), ChangeError> {
        self.0.change(|list| {
            if position(list, name).is_some() {
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
    pub fn alter(
        &self,
        name: &str,
        identity: &str,
        secret: Option<&str>,
    ) -> Result<(), ChangeError> {
        self.0.change(|list| {
            let at = position(list, name).ok_or(ChangeError::Name)?;
            let credential = &mut list[at];
            credential.identity = identity.into();
            credential.secret = secret.map(Into::into);
            credential.modified = now();
            Ok(())
        })
    }

    /// Removes one.
    pub fn remove(&self, name: &str) -> Result<(), ChangeError> {
        self.0.change(|list| {
            list.remove(position(list, name).ok_or(ChangeError::Name)?);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_what_its_fields_say() {
        for secret in [None, Some(""), Some("k:tab\there")] {
            let one = Credential {
                id: FIRST_ID,
                name: "s3://h:1/b".into(),
                identity: "S3 Access Key".into(),
                secret: secret.map(Into::into),
                created: Duration::from_micros(1),
                modified: Duration::from_micros(2),
            };
            assert_eq!(Credential::of_fields(&one.fields()), Some(one));
        }
        assert_eq!(Credential::of_fields(&["1".into()]), None);
    }
}
