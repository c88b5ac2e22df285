//! The instance that makes or opens a database's files: where they lie, and which of them are its
//! own.
//!
//! Header pages record the place of a file below the instance's folder relative to it and all
//! others absolute, and name the instance. So a folder can be moved and copied; a file outside of
//! it belongs to one instance, whichever others know its place.
//!
//! Guarantee: a file outside the folder that names another instance is not opened, unless it is to
//! be taken over.

use crate::error::PageError;
use disk::Disk;
use std::path::{Path, PathBuf};

/// The id of an instance; zeros: none.
pub type InstanceId = [u8; 16];

/// What is known of the instance and of a database's places.
#[derive(Clone, Debug, Default)]
pub struct InstanceHome {
    /// Its id, which goes into the files. Zeros (tests, tools): files name no instance, and none is
    /// refused.
    pub instance: InstanceId,
    /// Its folder; empty: none.
    pub folder: PathBuf,
    /// Where the folder was when absolute paths were recorded for files in it, if it was somewhere
    /// else.
    pub folder_before: Option<PathBuf>,
    /// Where data files lie, by number; the others are where the primary file says.
    pub places: Vec<(u16, PathBuf)>,
    /// Files outside the folder that name no instance are somebody else's: the folder is a copy.
    pub only_named: bool,
    /// Files are taken over from whatever instance they name: they are attached.
    pub take: bool,
}

impl InstanceHome {
    /// The place of a file as it is recorded.
    pub fn recorded(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.folder) {
            Ok(rest) if !self.folder.as_os_str().is_empty() && !rest.as_os_str().is_empty() => {
                rest.into()
            }
            _ => path.into(),
        }
    }

    /// The place that was recorded.
    pub fn actual(&self, recorded: &Path) -> PathBuf {
        let before =
            self.folder_before.as_ref().and_then(|before| recorded.strip_prefix(before).ok());
        self.folder.join(before.unwrap_or(recorded))
    }

    /// Where a data file lies of which the list says `recorded`.
    pub(crate) fn place_of(&self, id: u16, recorded: &Path) -> PathBuf {
        let known = self.places.iter().find(|(known, _)| *known == id);
        known.map_or_else(|| self.actual(recorded), |(_, path)| path.clone())
    }

    /// Fails if a file belongs to another instance: the one that it names, if it lies outside the
    /// folder.
    ///
    /// # Errors
    /// [`PageError::Foreign`]; what the disk says of its place.
    pub fn check(&self, disk: &dyn Disk, path: &Path, owner: &InstanceId) -> Result<(), PageError> {
        let none = InstanceId::default();
        let own = self.take || self.instance == none || *owner == self.instance;
        if own || (*owner == none && !self.only_named) || disk.is_within(path, &self.folder)? {
            return Ok(());
        }
        Err(PageError::Foreign { path: path.display().to_string(), owner: hex(owner) })
    }
}

/// An id as people read it; nothing for none.
pub fn hex(id: &[u8; 16]) -> String {
    if *id == [0; 16] {
        String::new()
    } else {
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_below_the_folder_are_relative() {
        let home = InstanceHome {
            folder: "/data".into(),
            folder_before: Some("/old".into()),
            places: vec![(3, "/elsewhere/c.ndf".into())],
            ..InstanceHome::default()
        };
        for (path, recorded) in
            [("/data/E/x.mdf", "E/x.mdf"), ("/database/x.mdf", "/database/x.mdf")]
        {
            assert_eq!(home.recorded(Path::new(path)), Path::new(recorded));
            assert_eq!(home.actual(Path::new(recorded)), Path::new(path));
        }
        assert_eq!(home.actual(Path::new("/old/x.mdf")), Path::new("/data/x.mdf"));
        assert_eq!(home.place_of(3, Path::new("/old/c.ndf")), Path::new("/elsewhere/c.ndf"));
        assert_eq!(InstanceHome::default().recorded(Path::new("/x")), Path::new("/x"));
    }
}
