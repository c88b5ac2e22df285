//! Where the files of a study lie: the real disk under the results' folder, real mounts that the user names, or a model
//! of a device. A result that was not measured on the real disk alone always carries the device's name.

use crate::LabError;
use disk::{Disk, OsDisk};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the disk that is there.
pub const REAL: &str = "real";
/// Kinds of files that can be given a mount of their own.
pub const ROLES: [&str; 4] = ["data", "data2", "log", "backup"];

/// Device files of the lab's own.
const OWN: [(&str, &str); 1] =
    [("2x-iscsi-raid10-4x15000", include_str!("devices/2x-iscsi-raid10-4x15000.txt"))];
/// What the log lies on beside a model of several arrays, as in the published test of data files.
const LOG_ARRAY: &str = "hdd-raid10-8x7200";

/// A device, or several.
#[derive(Clone, Debug)]
pub struct Device {
    name: String,
    model: Option<model::Device>,
    mounts: BTreeMap<String, PathBuf>,
}

impl Device {
    /// The device of a name; `mounts` say where a kind of files really is.
    /// Errors: there is no such model, its file is wrong, or a model is to lie on named mounts.
    pub fn named(name: &str, mounts: &BTreeMap<String, PathBuf>) -> Result<Device, LabError> {
        if name == REAL {
            return Ok(Device { name: name.into(), model: None, mounts: mounts.clone() });
        }
        if !mounts.is_empty() {
            return Err(LabError::Request(format!(
                "--device-path names real mounts: not with the model {name}"
            )));
        }
        let own = OWN.iter().find(|d| d.0 == name).map(|d| model::Device::parse(d.1));
        let model =
            own.unwrap_or_else(|| model::device(name)).map_err(|e| LabError::Request(e.to_string()))?;
        Ok(Device { name: model.name.clone(), model: Some(model), mounts: BTreeMap::new() })
    }

    /// As results show it.
    pub fn name(&self) -> String {
        if self.mounts.is_empty() {
            return self.name.clone();
        }
        let mounts: Vec<String> = self.mounts.iter().map(|(r, p)| format!("{r}={}", p.display())).collect();
        format!("{} ({})", self.name, mounts.join(", "))
    }

    /// What a report must say about it; `None` for the real disk.
    pub fn disclosure(&self) -> Option<String> {
        let model = self.model.as_ref()?;
        let log = if model.arrays > 1 { format!("; the log lies on a {LOG_ARRAY}") } else { String::new() };
        Some(format!(
            "Measured on a model, not on such a device: {}{log}. The bytes are on the real disk, the times are the model's.",
            model.describe()
        ))
    }

    /// Over how many devices data files can be spread.
    pub fn arrays(&self) -> u32 {
        match &self.model {
            Some(model) => model.arrays,
            None => 1 + u32::from(self.mounts.contains_key("data2")),
        }
    }

    /// Fewest bytes that it writes at once, where that is known beforehand.
    pub fn sector(&self) -> Option<u32> {
        self.model.as_ref().map(|model| model.logical)
    }

    /// The folder of a role: the mount that was named for it, else one of that name in `folder`.
    pub fn folder_of(&self, role: &str, folder: &Path) -> PathBuf {
        // A model deals its files out to its arrays by itself.
        let role = if self.model.is_some() && role == "data2" { "data" } else { role };
        match self.mounts.get(role) {
            // A folder of its own, so that clearing it cannot remove what is not ours.
            Some(mount) => mount.join("ringwood-lab").join(folder.file_name().unwrap_or_default()),
            None => folder.join(role),
        }
    }

    /// The disk on which an instance in `folder` runs, its data on that many arrays. Only the studies' own files lie on a
    /// model: data, log and backups; beside a model of several arrays the log has one of its own.
    pub fn disk(&self, folder: &Path, arrays: u32) -> Result<Arc<dyn Disk>, LabError> {
        let Some(model) = &self.model else { return Ok(Arc::new(OsDisk::new(folder))) };
        let failed = |e: disk::DiskError| LabError::Request(format!("device {}: {e}", self.name));
        let of = |device: model::Device, below: PathBuf| -> Result<Arc<dyn Disk>, LabError> {
            Ok(Arc::new(model::ModelDisk::for_measuring(device, below).map_err(failed)?))
        };
        let mut routes = model::Routes::new(folder, Arc::new(OsDisk::new(folder)));
        let (data, log) = (self.folder_of("data", folder), self.folder_of("log", folder));
        let on_data = of(model::Device { arrays: arrays.min(model.arrays), ..model.clone() }, data.clone())?;
        let rest = match model.arrays {
            1 => on_data.clone(),
            _ => {
                let array = model::device(LOG_ARRAY).map_err(|e| LabError::Request(e.to_string()))?;
                of(array, log.clone())?
            }
        };
        routes.place_disk(&data, on_data);
        routes.place_disk(&log, rest.clone());
        routes.place_disk(&self.folder_of("backup", folder), rest);
        Ok(Arc::new(routes))
    }

    /// Removes what a study left in `folder` and on the mounts. The folder goes under its name first, at once: who is interrupted
    /// here leaves nothing that looks whole.
    pub fn clear(&self, folder: &Path) -> Result<(), LabError> {
        let there = |done: std::io::Result<()>| match done {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
        let going = going(folder);
        there(std::fs::remove_dir_all(&going))?;
        there(std::fs::rename(folder, &going))?;
        for path in ROLES.iter().map(|r| self.folder_of(r, folder)).chain([going]) {
            there(std::fs::remove_dir_all(&path))?;
        }
        Ok(())
    }
}

/// The name under which a folder goes while it is removed.
pub fn going(folder: &Path) -> PathBuf {
    folder.with_added_extension("going")
}

/// Parses `data=/mnt/a`.
pub fn parse_mount(text: &str) -> Result<(String, PathBuf), String> {
    let (role, path) = text.split_once('=').ok_or("expected ROLE=DIR")?;
    if !ROLES.contains(&role) {
        return Err(format!("{role:?} is none of {}", ROLES.join(", ")));
    }
    let path = PathBuf::from(path);
    if !path.is_dir() {
        return Err(format!("{} is not a folder", path.display()));
    }
    path.canonicalize().map(|p| (role.to_owned(), p)).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_s_own_devices_are_read() {
        for (name, _) in OWN {
            let device = Device::named(name, &BTreeMap::new()).unwrap();
            assert_eq!((device.name().as_str(), device.arrays()), (name, 2));
            assert!(device.disclosure().unwrap().contains("iSCSI"));
        }
        assert!(Device::named("ssd-512e", &BTreeMap::from([("log".into(), "/tmp".into())])).is_err());
    }

    #[test]
    fn roles_have_folders() {
        let device =
            Device::named(REAL, &BTreeMap::from([("data2".to_owned(), PathBuf::from("/mnt/b"))])).unwrap();
        let folder = Path::new("/out/scratch/8");
        assert_eq!(device.folder_of("data", folder), Path::new("/out/scratch/8/data"));
        assert_eq!(device.folder_of("data2", folder), Path::new("/mnt/b/ringwood-lab/8"));
        assert_eq!(device.arrays(), 2);
    }
}
