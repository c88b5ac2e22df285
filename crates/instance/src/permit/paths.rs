//! Where a path in a statement leads: a Windows path keeps its meaning (drive letter = volume,
//! backslashes = folders), a relative path is under the instance's folder. Whether a statement may
//! open it is decided in `permit`.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use types::{SqlError, msg};

/// The instance's folder and its volumes.
#[derive(Clone, Debug)]
pub struct Paths {
    root: PathBuf,
    volumes: HashMap<char, PathBuf>,
}

impl Paths {
    /// `volumes`: drive letter to folder; a letter that is not there is the folder of that name
    /// under `root`.
    pub fn new(root: PathBuf, volumes: HashMap<char, PathBuf>) -> Paths {
        let volumes =
            volumes.into_iter().map(|(letter, path)| (letter.to_ascii_uppercase(), path)).collect();
        Paths { root, volumes }
    }

    /// The instance's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Folders that drive letters stand for.
    pub fn volumes(&self) -> impl Iterator<Item = &Path> {
        self.volumes.values().map(PathBuf::as_path)
    }

    /// How a path is shown that no statement has written: below the folder relative to it.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// A path as a statement would write it that has drive letters, if it is on a volume.
    pub(crate) fn with_drive_letter(&self, path: &Path) -> Option<String> {
        let on = |letter: char, folder: &Path| {
            let rest = path.strip_prefix(folder).ok()?.to_str()?;
            Some(format!("{letter}:\\{}", rest.replace('/', "\\")))
        };
        let named = self.volumes.iter().find_map(|(letter, folder)| on(*letter, folder));
        named.or_else(|| ('A'..='Z').find_map(|letter| on(letter, &self.volume(letter))))
    }

    /// The place that a written path names. For paths of statements only what decides about them
    /// calls this; what the instance itself has kept needs no decision.
    ///
    /// Errors: 5105 for an empty path, a path that climbs with `..`, or one with a NUL.
    pub(crate) fn resolve(&self, written: &str) -> Result<PathBuf, SqlError> {
        let text = written.trim();
        if text.is_empty() || text.contains('\0') {
            return Err(bad_path(written));
        }
        let mut chars = text.chars();
        let (first, second) = (chars.next(), chars.next());
        let (base, rest) = match (first, second) {
            (Some(letter), Some(':')) if letter.is_ascii_alphabetic() => {
                (self.volume(letter), &text[2..])
            }
            (Some('/'), _) => (PathBuf::from("/"), &text[1..]),
            _ => (self.root.clone(), text),
        };
        let unified = rest.replace('\\', "/");
        let mut path = base;
        for part in Path::new(&unified).components() {
            match part {
                Component::Normal(name) => path.push(name),
                Component::CurDir | Component::RootDir => {}
                Component::ParentDir | Component::Prefix(_) => return Err(bad_path(written)),
            }
        }
        if path.file_name().is_none() || path == self.root {
            return Err(bad_path(written));
        }
        Ok(path)
    }

    fn volume(&self, letter: char) -> PathBuf {
        let letter = letter.to_ascii_uppercase();
        match self.volumes.get(&letter) {
            Some(path) => path.clone(),
            None => self.root.join(letter.to_string()),
        }
    }
}

fn bad_path(written: &str) -> SqlError {
    SqlError::of(msg::FILE_ACTIVATION, [&written])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: Option<&str>) {
        let paths = Paths::new("/data".into(), HashMap::from([('f', PathBuf::from("/mnt/log"))]));
        let got = paths.resolve(written).ok();
        assert_eq!(got.as_deref(), expected.map(Path::new), "{written}");
    }

    #[test]
    fn windows_and_relative_paths() {
        check(r"E:\Data\HighVLF.mdf", Some("/data/E/Data/HighVLF.mdf"));
        check(r"f:\Log\HighVLF_log.ldf", Some("/mnt/log/Log/HighVLF_log.ldf"));
        check("sub/x.mdf", Some("/data/sub/x.mdf"));
        check(r"sub\x.mdf", Some("/data/sub/x.mdf"));
        check("/abs/x.mdf", Some("/abs/x.mdf"));
        check("./x.mdf", Some("/data/x.mdf"));
    }

    #[test]
    fn refused_paths() {
        check("", None);
        check(r"..\x.mdf", None);
        check("C:\\..\\x", None);
        check(".", None);
    }
}
