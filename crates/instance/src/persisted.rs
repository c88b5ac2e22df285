//! Objects of the whole instance, one small file in its folder for each kind: credentials, backup
//! devices. Guarantees: a file has two copies ([`disk::mirrored`]) and is its owner's alone (0600);
//! a change is on disk when it is seen; a damaged copy is replaced from the other one. Where both
//! are damaged they are kept under another name, the list is empty, and the error log says so.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::mirrored::{self, Damaged, FoundCopies};
use disk::{Disk, DiskError};
use parking_lot::{Mutex, RwLock};
use types::{SqlError, msg};

use catalog::errorlog::ErrorLog;
use catalog::fold_name;
use catalog::registry::{checksum, escape, unescape};

/// What is kept of an object.
pub trait Persisted: Clone + Send + Sync + 'static {
    /// What the objects are together: names their file.
    const PLURAL: &'static str;
    /// What one is: the first word of its line.
    const ONE: &'static str;

    fn name(&self) -> &str;

    /// Its properties as texts, in an order of their own.
    fn fields(&self) -> Vec<String>;

    /// An object of such texts; nothing if there is none.
    fn of_fields(fields: &[String]) -> Option<Self>;
}

/// Why a list was not read or not changed.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("the format of '{0}' is not known")]
    Unknown(String),
    #[error("{0}")]
    Disk(#[from] DiskError),
}

impl From<KeptError> for SqlError {
    fn from(error: KeptError) -> SqlError {
        SqlError::of(msg::OBJECT_LIST_IO, [&error])
    }
}

/// The name of the file of a kind.
pub fn file_name<T: Persisted>() -> String {
    format!("{}.registry", T::PLURAL.replace(' ', "-"))
}

/// All objects of one kind.
pub struct PersistedObjects<T> {
    disk: Arc<dyn Disk>,
    errors: Arc<ErrorLog>,
    path: PathBuf,
    list: RwLock<Vec<T>>,
}

impl<T: Persisted> PersistedObjects<T> {
    /// Reads the file; where there is none yet there are no objects.
    pub(crate) fn open(lists: &PersistedLists) -> Result<PersistedObjects<T>, KeptError> {
        let path = lists.folder.join(file_name::<T>());
        let is_old = |bytes: &[u8]| std::str::from_utf8(bytes).ok().and_then(parse::<T>).is_some();
        let disk = &*lists.disk;
        let (bytes, stale) = match mirrored::read(disk, &path, &is_old)? {
            FoundCopies::Nothing => (None, Vec::new()),
            FoundCopies::Whole(content) => (Some(content.bytes), content.stale),
            FoundCopies::Damaged(damaged) => {
                lists.put_aside::<T>(&damaged);
                (None, Vec::new())
            }
        };
        let parsed = bytes.as_ref().map(|bytes| std::str::from_utf8(bytes).ok().and_then(parse));
        // What is whole and yet cannot be understood is of a later version: nothing of it may be
        // written over.
        let list = match parsed {
            Some(list) => list.ok_or_else(|| KeptError::Unknown(path.display().to_string()))?,
            None => Vec::new(),
        };
        if let Some(bytes) = bytes.filter(|_| lists.write && !stale.is_empty()) {
            lists.mend(&path, &bytes, &stale);
        }
        let (disk, errors) = (lists.disk.clone(), lists.errors.clone());
        Ok(PersistedObjects { disk, errors, path, list: RwLock::new(list) })
    }

    pub fn list(&self) -> Vec<T> {
        self.list.read().clone()
    }

    /// The one of a name.
    pub fn find(&self, name: &str) -> Option<T> {
        let list = self.list.read();
        position(&list, name).map(|at| list[at].clone())
    }

    /// Changes the list; an error leaves it as it was.
    pub fn change<E: From<KeptError>>(
        &self,
        what: impl FnOnce(&mut Vec<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut list = self.list.write();
        let mut changed = list.clone();
        what(&mut changed)?;
        let saved = mirrored::write(&*self.disk, &self.path, format(&changed).as_bytes());
        if let Some(e) = saved.map_err(KeptError::Disk)? {
            let text =
                format!("The second copy of '{}' could not be written: {e}.", self.path.display());
            self.errors.write("Server", &text);
        }
        *list = changed;
        Ok(())
    }
}

/// The place of a name in a list.
pub fn position<T: Persisted>(list: &[T], name: &str) -> Option<usize> {
    let folded = fold_name(name);
    list.iter().position(|one| fold_name(one.name()) == folded)
}

fn format<T: Persisted>(list: &[T]) -> String {
    let mut body = String::new();
    for one in list {
        body.push_str(T::ONE);
        for field in one.fields() {
            body.push('\t');
            body.push_str(&escape(&field));
        }
        body.push('\n');
    }
    format!("ringwood {} 1\n{body}end\t{:08x}\n", T::PLURAL, checksum(&body))
}

fn parse<T: Persisted>(text: &str) -> Option<Vec<T>> {
    let magic = format!("ringwood {} 1\n", T::PLURAL);
    let (body, end) = text.strip_prefix(magic.as_str())?.rsplit_once("end\t")?;
    if u32::from_str_radix(end.trim(), 16).ok()? != checksum(body) {
        return None;
    }
    let line = |line: &str| {
        let fields = line.strip_prefix(T::ONE)?.strip_prefix('\t')?;
        let fields: Vec<String> =
            fields.split('\t').map(|field| unescape(field).to_string()).collect();
        T::of_fields(&fields)
    };
    body.lines().map(line).collect()
}

/// The lists of an instance, each read when it is asked for first.
pub(crate) struct PersistedLists {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    errors: Arc<ErrorLog>,
    /// The folder may be changed.
    write: bool,
    open: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl PersistedLists {
    /// The objects of an instance in a folder.
    pub fn new(
        disk: Arc<dyn Disk>,
        folder: &Path,
        errors: Arc<ErrorLog>,
        write: bool,
    ) -> PersistedLists {
        PersistedLists { disk, folder: folder.to_owned(), errors, write, open: Mutex::default() }
    }

    /// Writes both copies of a file again.
    fn mend(&self, path: &Path, bytes: &[u8], stale: &[(PathBuf, String)]) {
        let written = mirrored::write(&*self.disk, path, bytes);
        report_stale(&self.errors, stale, &written);
    }

    /// Keeps what is left of a list under another name, so that the next change does not write over
    /// it.
    fn put_aside<T: Persisted>(&self, damaged: &Damaged) {
        let text = format!(
            "All {} are lost, both copies of their file are damaged ({damaged}).",
            T::PLURAL
        );
        self.errors.write("Server", &text);
        for (path, _) in damaged.reasons.iter().filter(|_| self.write) {
            let mut name = path.file_name().unwrap_or_default().to_os_string();
            name.push(".damaged");
            let aside = path.with_file_name(name);
            let text = match self.disk.rename(path, &aside) {
                Ok(()) => format!("'{}' is '{}' now.", path.display(), aside.display()),
                Err(e) => format!("The damaged file stays: {e}."),
            };
            self.errors.write("Server", &text);
        }
    }

    /// The list of one kind.
    pub fn of<T: Persisted>(&self) -> Result<Arc<PersistedObjects<T>>, KeptError> {
        let mut open = self.open.lock();
        if let Some(Ok(known)) = open.get(&TypeId::of::<T>()).map(|list| list.clone().downcast()) {
            return Ok(known);
        }
        let list = Arc::new(PersistedObjects::<T>::open(self)?);
        open.insert(TypeId::of::<T>(), list.clone());
        Ok(list)
    }
}

/// Says in the error log which copies of a file were not as they should be, and whether they are
/// now. A file of the time before there were two copies is nothing to talk about.
pub(super) fn report_stale(
    errors: &ErrorLog,
    stale: &[(PathBuf, String)],
    written: &Result<Option<DiskError>, DiskError>,
) {
    for (path, reason) in stale.iter().filter(|(_, reason)| reason != mirrored::MISSING) {
        let text = format!(
            "A copy of a file is damaged, the other one is used: '{}': {reason}.",
            path.display()
        );
        errors.write("Server", &text);
    }
    if let Ok(Some(e)) | Err(e) = written {
        errors.write("Server", &format!("A copy of a file could not be rewritten: {e}."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct TwoNames(String, String);

    impl Persisted for TwoNames {
        const PLURAL: &'static str = "pairs of things";
        const ONE: &'static str = "pair";

        fn name(&self) -> &str {
            &self.0
        }

        fn fields(&self) -> Vec<String> {
            vec![self.0.clone(), self.1.clone()]
        }

        fn of_fields(fields: &[String]) -> Option<TwoNames> {
            let [name, other] = fields else { return None };
            Some(TwoNames(name.clone(), other.clone()))
        }
    }

    #[test]
    fn the_list_survives_and_damage_is_found() {
        let list = vec![
            TwoNames("a\tb".into(), "line\nend".into()),
            TwoNames("empty".into(), String::new()),
        ];
        let text = format(&list);
        assert_eq!(parse(&text), Some(list.clone()));
        assert_eq!(parse::<TwoNames>(&text.replace("empty", "full")), None);
        assert_eq!(parse::<TwoNames>("ringwood pairs of things 1\n"), None);
        assert_eq!((position(&list, "EMPTY"), position(&list, "a")), (Some(1), None));
    }
}
