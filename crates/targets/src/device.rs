//! Where the files of a study lie: the real disk under the results' folder, real mounts that the
//! user names, or a model of a device. A result that was not measured on the real disk alone always
//! carries the device's name.

use crate::LabError;
use disk::{Disk, OsDisk};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the disk that is there.
pub const REAL: &str = "real";
/// Kinds of files that can be given a mount of their own.
const ROLES: [&str; 4] = ["data", "data2", "log", "backup"];

/// Devices of the lab's own: a name, what is under it for each part of a study, and what the log
/// lies on beside the data.
struct Rig {
    name: &'static str,
    /// Part (arms say which they run on; "" = all) and device file.
    parts: &'static [(&'static str, &'static str)],
    /// Device file of the log's; `None`: the log lies with the data.
    log: Option<&'static str>,
}

const RIGS: [Rig; 5] = [
    // The published test of data files: the same eight spindles and two links in both of its parts.
    Rig {
        name: "iscsi-8x15000",
        parts: &[
            ("one array", include_str!("devices/iscsi-raid10-8x15000.txt")),
            ("two arrays", include_str!("devices/2x-iscsi-raid10-4x15000.txt")),
        ],
        log: Some(include_str!("devices/iscsi-raid10-8x7200.txt")),
    },
    Rig {
        name: "2x-iscsi-raid10-4x15000",
        parts: &[("", include_str!("devices/2x-iscsi-raid10-4x15000.txt"))],
        log: Some(include_str!("devices/iscsi-raid10-8x7200.txt")),
    },
    Rig {
        name: "spindles-15000",
        parts: &[
            ("one spindle", include_str!("devices/spindle-15000.txt")),
            ("eight spindles", include_str!("devices/8-spindles-15000.txt")),
        ],
        log: Some(include_str!("devices/iscsi-raid10-8x7200.txt")),
    },
    Rig { name: "ssd-512n", parts: &[("", include_str!("devices/ssd-512n.txt"))], log: None },
    Rig {
        name: "hdd-7200-cache",
        parts: &[("", include_str!("devices/hdd-7200-cache.txt"))],
        log: None,
    },
];
/// What the log lies on beside a model of several arrays that is not the lab's own.
const LOG_ARRAY: &str = "hdd-raid10-8x7200";

/// Models under one name.
#[derive(Clone, Debug)]
struct Models {
    /// The part's name, and what is under it.
    parts: Vec<(&'static str, model::Device)>,
    log: Option<model::Device>,
}

impl Models {
    fn named(name: &str) -> Result<Models, LabError> {
        let read =
            |text: &str| model::Device::parse(text).map_err(|e| LabError::Request(e.to_string()));
        let Some(rig) = RIGS.iter().find(|r| r.name == name) else {
            let find =
                |name: &str| model::device(name).map_err(|e| LabError::Request(e.to_string()));
            let device = find(name)?;
            let log = if device.arrays > 1 { Some(find(LOG_ARRAY)?) } else { None };
            return Ok(Models { parts: vec![("", device)], log });
        };
        let parts: Result<Vec<_>, LabError> =
            rig.parts.iter().map(|(part, text)| Ok((*part, read(text)?))).collect();
        Ok(Models { parts: parts?, log: rig.log.map(read).transpose()? })
    }

    fn first(&self) -> &model::Device {
        &self.parts[0].1
    }
}

/// A device, or several.
#[derive(Clone, Debug)]
pub struct Device {
    name: String,
    models: Option<Models>,
    /// Capacity and write caches of models are multiplied by this.
    share: f64,
    mounts: BTreeMap<String, PathBuf>,
}

/// The disk of an instance, and the models in it.
pub(crate) struct OpenedDisk {
    /// Where its files are.
    pub disk: Arc<dyn Disk>,
    /// What says how late the machine was.
    pub models: Vec<Arc<model::ModelDisk>>,
}

impl Device {
    /// The device of a name; `mounts` say where a kind of files really is.
    /// Errors: there is no such model, its file is wrong, or a model is to lie on named mounts.
    pub fn named(name: &str, mounts: &BTreeMap<String, PathBuf>) -> Result<Device, LabError> {
        if name == REAL {
            return Ok(Device {
                name: name.into(),
                models: None,
                share: 1.0,
                mounts: mounts.clone(),
            });
        }
        if !mounts.is_empty() {
            return Err(LabError::Request(format!(
                "--device-path names real mounts: not with the model {name}"
            )));
        }
        let models = Models::named(name)?;
        let own = RIGS.iter().any(|r| r.name == name);
        let name = if own { name.to_owned() } else { models.first().name.clone() };
        Ok(Device { name, models: Some(models), share: 1.0, mounts: BTreeMap::new() })
    }

    /// The same with capacity and write caches of its models multiplied by `share`, for a study
    /// whose data are that part of the published ones: seeks cross the same part of a disk, and a
    /// cache holds the same part of the data.
    pub fn shrunk(mut self, share: f64) -> Device {
        self.share = share;
        self
    }

    /// Only the part of that name, where the device has parts.
    pub fn part(&self, part: &str) -> Device {
        let mut device = self.clone();
        if let Some(models) = &mut device.models
            && models.parts.iter().any(|p| p.0 == part)
        {
            models.parts.retain(|p| p.0 == part);
        }
        device
    }

    /// As results show it.
    pub fn name(&self) -> String {
        if self.mounts.is_empty() {
            return self.name.clone();
        }
        let mounts: Vec<String> =
            self.mounts.iter().map(|(r, p)| format!("{r}={}", p.display())).collect();
        format!("{} ({})", self.name, mounts.join(", "))
    }

    /// What a report must say about it; `None` for the real disk.
    pub fn disclosure(&self) -> Option<String> {
        let models = self.models.as_ref()?;
        let parts: Vec<String> = (models.parts.iter())
            .map(|(part, model)| match *part {
                "" => model.describe(),
                part => format!("{part}: {}", model.describe()),
            })
            .collect();
        let log = models
            .log
            .as_ref()
            .map_or_else(String::new, |l| format!("; the log lies on a {}", l.name));
        let share = match self.share {
            1.0 => String::new(),
            share => format!(
                " Capacity and write caches are {share:.4} of theirs, as the data are of the published ones."
            ),
        };
        Some(format!(
            "Measured on a model, not on such a device: {}{log}.{share} The bytes are on the real disk, which is never asked to \
             sync them; the times are the model's.",
            parts.join("; ")
        ))
    }

    /// Over how many devices data files can be spread.
    pub fn arrays(&self) -> u32 {
        match &self.models {
            Some(models) => models.parts.iter().map(|p| p.1.arrays).max().unwrap_or(1),
            None => 1 + u32::from(self.mounts.contains_key("data2")),
        }
    }

    /// Fewest bytes that it writes at once, where that is known beforehand.
    pub fn sector(&self) -> Option<u32> {
        self.models.as_ref().map(|models| models.first().logical)
    }

    /// The folder of a role: the mount that was named for it, else one of that name in `folder`.
    pub(crate) fn folder_of(&self, role: &str, folder: &Path) -> PathBuf {
        // A model deals its files out to its arrays by itself.
        let role = if self.models.is_some() && role == "data2" { "data" } else { role };
        match self.mounts.get(role) {
            // A folder of its own, so that clearing it cannot remove what is not ours.
            Some(mount) => mount.join("ringwood-lab").join(folder.file_name().unwrap_or_default()),
            None => folder.join(role),
        }
    }

    /// The disk on which an instance in `folder` runs, its data on that many arrays. Only the
    /// studies' own files lie on a model: data, log and backups; beside a model of several arrays
    /// the log has one of its own.
    pub(crate) fn open(&self, folder: &Path, arrays: u32) -> Result<OpenedDisk, LabError> {
        let real = || Arc::new(OsDisk::new(folder));
        let Some(models) = &self.models else {
            return Ok(OpenedDisk { disk: real(), models: vec![] });
        };
        let failed = |e: disk::DiskError| LabError::Request(format!("device {}: {e}", self.name));
        let of = |device: &model::Device,
                  arrays: u32,
                  below: &Path|
         -> Result<Arc<model::ModelDisk>, LabError> {
            let device = model::Device { arrays: arrays.min(device.arrays), ..device.clone() };
            let device = if self.share == 1.0 { device } else { device.shrunk(self.share) };
            Ok(Arc::new(model::ModelDisk::for_measuring(device, below).map_err(failed)?))
        };
        let mut routes = model::Routes::new(folder, real());
        let (data, log) = (self.folder_of("data", folder), self.folder_of("log", folder));
        let on_data = of(models.first(), arrays, &data)?;
        let mut opened = vec![on_data.clone()];
        let rest = match &models.log {
            None => on_data.clone(),
            Some(array) => {
                opened.push(of(array, 1, &log)?);
                opened[1].clone()
            }
        };
        routes.place_disk(&data, on_data);
        routes.place_disk(&log, rest.clone());
        routes.place_disk(&self.folder_of("backup", folder), rest);
        Ok(OpenedDisk { disk: Arc::new(routes), models: opened })
    }

    /// Removes what a study left in `folder` and on the mounts. The folder goes under its name
    /// first, at once: a run that is interrupted here leaves nothing that looks whole.
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
        for rig in &RIGS {
            let device = Device::named(rig.name, &BTreeMap::new()).unwrap();
            assert_eq!(device.name(), rig.name);
            assert!(device.disclosure().unwrap().contains("never asked to sync"));
        }
        assert!(
            Device::named("ssd-512e", &BTreeMap::from([("log".into(), "/tmp".into())])).is_err()
        );
    }

    /// The published test: both of its parts have eight spindles and two links of a gigabit.
    #[test]
    fn the_two_set_ups_of_data_files_have_the_same_hardware() {
        let device = Device::named("iscsi-8x15000", &BTreeMap::new()).unwrap();
        let hardware = |part: &str| {
            let device = device.part(part);
            let models = device.models.as_ref().unwrap();
            let model::Medium::Disks(disks) = &models.first().medium else { panic!("disks") };
            let model = models.first();
            (
                models.parts.len(),
                model.arrays * disks.spindles,
                u64::from(model.arrays) * model.link_rate,
            )
        };
        assert_eq!(hardware("one array"), hardware("two arrays"));
        assert_eq!(hardware("one array"), (1, 8, 236_000_000));
        let log = device.models.as_ref().unwrap().log.as_ref().unwrap();
        assert_eq!(log.link_rate, 118_000_000, "the log's array has one link");
        assert_eq!((device.arrays(), device.part("one array").arrays()), (2, 1));
    }

    #[test]
    fn a_smaller_study_has_a_smaller_cache() {
        let folder = tempfile::tempdir().unwrap();
        let device =
            Device::named("2x-iscsi-raid10-4x15000", &BTreeMap::new()).unwrap().shrunk(0.025);
        let opened = device.open(folder.path(), 2).unwrap();
        assert_eq!(opened.models[0].device().cache.bytes, (512 << 20) / 40);
        assert_eq!((opened.models.len(), opened.models[0].device().arrays), (2, 2));
        assert!(device.disclosure().unwrap().contains("0.0250 of theirs"));
    }

    #[test]
    fn roles_have_folders() {
        let device =
            Device::named(REAL, &BTreeMap::from([("data2".to_owned(), PathBuf::from("/mnt/b"))]))
                .unwrap();
        let folder = Path::new("/out/scratch/8");
        assert_eq!(device.folder_of("data", folder), Path::new("/out/scratch/8/data"));
        assert_eq!(device.folder_of("data2", folder), Path::new("/mnt/b/ringwood-lab/8"));
        assert_eq!(device.arrays(), 2);
    }
}
