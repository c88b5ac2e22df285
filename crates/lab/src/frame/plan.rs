//! What would run: each study on every target and device on which its factor has a meaning, and
//! whether the machine is large enough for it.

use super::options::Options;
use super::progress::duration;
use crate::study::{Arm, Study, StudyStep};
use crate::{LabError, machine, studies};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use targets::device::{Device, REAL, going};
use targets::work::{LogBlock, Work};
use targets::{Target, processors};

/// One study on one target and device, before it runs.
pub(super) struct PlannedStudy {
    pub study: usize,
    pub target: Box<dyn Target>,
    pub device: Device,
    pub knob: Result<&'static str, &'static str>,
    pub arms: Vec<usize>,
    pub left_out: Vec<String>,
}

/// What would run and what it needs, line by line.
/// Errors: the disk or the memory is too small for one of the studies.
pub fn plan(options: &Options) -> Result<Vec<String>, LabError> {
    let chosen = chosen(options)?;
    let planned = plan_all(&chosen, options)?;
    std::fs::create_dir_all(&options.out)?;
    let free = machine::free_space(&options.out)?;
    let memory = machine::available_memory();
    let rounds = options.rounds()?;
    let rounds = match rounds.looks() {
        [all] => format!("{all} rounds"),
        _ => format!("up to {} rounds", rounds.most()),
    };
    let mut lines = Vec::new();
    let mut left = 0;
    for (index, study) in chosen.iter().enumerate() {
        let of_it = || planned.iter().filter(|p| p.study == index);
        let runs = options.rounds()?.most() * of_it().map(|p| p.arms.len()).sum::<usize>();
        let seconds = study.seconds_per_arm() * runs as f64;
        lines.push(format!(
            "{} at {} scale: {:.1} GB of disk, {:.1} GB of memory, about {} for {rounds}",
            study.name,
            options.scale.name(),
            study.needs.disk as f64 / 1e9,
            study.needs.memory as f64 / 1e9,
            duration(seconds)
        ));
        // What an interrupted run has left is used again or deleted when its turn comes.
        for planned in of_it() {
            left += left_in(&scratch_folder(&options.out, study, planned));
            if planned.target.has_own_disk() {
                lines.push(format!(
                    "{}: that disk and memory are the server's; they are not looked at",
                    study.name
                ));
                continue;
            }
            fits(study, options, free + left, memory)?;
        }
    }
    Ok(lines)
}

/// Bytes on disk that are used again or deleted by the run that works in that folder.
fn left_in(folder: &Path) -> u64 {
    fn size(path: &Path) -> u64 {
        let Ok(about) = std::fs::symlink_metadata(path) else { return 0 };
        if about.is_file() {
            return about.blocks() * 512;
        }
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| size(&entry.path())).sum()
    }
    size(folder) + size(&going(folder))
}

/// Refuses a study for which the machine is too small.
fn fits(study: &Study, options: &Options, free: u64, memory: Option<u64>) -> Result<(), LabError> {
    let refuse = |what: &str, needed: u64, there: u64| {
        Err(LabError::Request(format!(
            "{} at {} scale needs {:.1} GB of {what}; {:.1} GB are free ({}). Choose a smaller scale or another machine{}",
            study.name,
            options.scale.name(),
            needed as f64 / 1e9,
            there as f64 / 1e9,
            options.out.display(),
            if what == "disk" { ", or a folder on a larger disk with --out" } else { "" }
        )))
    };
    // A little is left: a full disk would fail the study in its last minute.
    if study.needs.disk + study.needs.disk / 20 > free {
        return refuse("disk", study.needs.disk, free);
    }
    match memory {
        Some(memory) if study.needs.memory > memory => refuse("memory", study.needs.memory, memory),
        _ => Ok(()),
    }
}

/// The studies in the order in which they were named.
pub(super) fn chosen(options: &Options) -> Result<Vec<Study>, LabError> {
    let all = studies::all(options.scale);
    if options.studies.iter().any(|n| n == "all") {
        return Ok(all);
    }
    options
        .studies
        .iter()
        .map(|name| {
            all.iter().find(|s| s.name == name).cloned().ok_or_else(|| {
                LabError::Request(format!("there is no study {name:?}: see `ringwood lab list`"))
            })
        })
        .collect()
}

/// Which arms have a meaning on a device and a target, and why others have none.
fn choose_arms(study: &Study, target: &dyn Target, device: &Device) -> (Vec<usize>, Vec<String>) {
    let mut left_out = Vec::new();
    if let Err(why) = target.knob(study.knob) {
        return (vec![], vec![format!("no meaning on {}: {why}", target.title())]);
    }
    let has = target.arrays(device);
    let too_small = |arm: &Arm| match (arm.config.block, device.sector()) {
        (LogBlock::Forced(bytes), Some(sector)) => bytes < sector,
        _ => false,
    };
    // Work in T-SQL that a step builds on: without it the step would measure something else.
    let in_t_sql = |arm: &Arm| {
        let of_it = |work: &Work| matches!(work, Work::Tsql(_));
        let built_on = |s: &StudyStep| {
            (s.measure.is_none() && of_it(&s.work)) || s.repeat.turns.iter().any(of_it)
        };
        arm.steps.iter().any(built_on)
    };
    let speaks = target.speaks_tsql();
    let on_device = |arm: &Arm| study.runs_on(arm, &device.name());
    for arm in study.arms.iter().filter(|arm| !speaks && on_device(arm) && in_t_sql(arm)) {
        left_out.push(format!("{}: needs work that is written in T-SQL", arm.config.key));
    }
    let here = |arm: &Arm| on_device(arm) && (speaks || !in_t_sql(arm)) && !too_many(arm, target);
    for arm in study.arms.iter().filter(|arm| on_device(arm) && too_many(arm, target)) {
        left_out.push(match target.is_ours() {
            true => {
                format!("{}: this machine has {} processors", arm.level, processors::available())
            }
            false => {
                format!("{}: the processors of that server are not the lab's to choose", arm.level)
            }
        });
    }
    let fits = |arm: &Arm| here(arm) && arm.config.data.arrays <= has && !too_small(arm);
    for arm in study.arms.iter().filter(|arm| here(arm) && too_small(arm)) {
        let sector = device.sector().unwrap_or_default();
        let text = format!(
            "{} has no meaning on {}: its sector has {sector} bytes",
            arm.config.key,
            device.name()
        );
        left_out.push(text);
    }
    if study.most_arrays() > has {
        let how = match (speaks, target.name() == targets::NAMES[0]) {
            (true, false) => "data2=DIR in the server's address",
            _ => "--device with a model of two, or --device-path data2=DIR",
        };
        let most = study.most_arrays();
        left_out
            .push(format!("data on {most} devices: {} is one device (use {how})", device.name()));
    }
    let arms = (0..study.arms.len()).filter(|i| fits(&study.arms[*i])).collect();
    (arms, left_out)
}

/// Whether an arm needs processors that are not there, or that nobody can take from a server.
fn too_many(arm: &Arm, target: &dyn Target) -> bool {
    arm.config.processors.is_some_and(|count| count > processors::available() || !target.is_ours())
}

fn devices_of(study: &Study, options: &Options) -> Result<Vec<Device>, LabError> {
    let named =
        |name: &str| Ok::<_, LabError>(Device::named(name, &options.mounts)?.shrunk(study.share));
    if !options.devices.is_empty() {
        return options.devices.iter().map(|n| named(n)).collect();
    }
    let mut devices = vec![named(REAL)?];
    for model in &study.models {
        devices.push(named(model)?);
    }
    Ok(devices)
}

pub(super) fn plan_all(chosen: &[Study], options: &Options) -> Result<Vec<PlannedStudy>, LabError> {
    let names: Vec<String> = if options.targets.is_empty() {
        vec![targets::NAMES[0].into()]
    } else {
        options.targets.clone()
    };
    if names.iter().filter(|n| targets::is_address(n)).count() > 1 {
        return Err(LabError::Request(
            "one server at a time: results are told apart by the target's name".into(),
        ));
    }
    let mut planned: Vec<PlannedStudy> = Vec::new();
    for (index, study) in chosen.iter().enumerate() {
        for name in &names {
            let of_it = planned.len();
            let mut models = Vec::new();
            for device in devices_of(study, options)? {
                let target = targets::find(name, options.restart_with.as_deref())?;
                if target.name() != targets::NAMES[0] && device.name() != REAL {
                    models.push(device.name());
                    continue;
                }
                let (arms, left_out) = choose_arms(study, target.as_ref(), &device);
                let knob = target.knob(study.knob);
                planned.push(PlannedStudy { study: index, target, device, knob, arms, left_out });
            }
            for planned in planned.iter_mut().skip(of_it).filter(|_| !models.is_empty()) {
                planned.left_out.push(format!(
                    "on {}: such a device is a layer of the disk of an embedded Ringwood, where files of {} cannot lie",
                    models.join(", "),
                    planned.target.title()
                ));
            }
        }
    }
    if planned.is_empty() {
        return Err(LabError::Request(
            "nothing to run: all but an embedded Ringwood run on the real disk only".into(),
        ));
    }
    Ok(planned)
}

/// Scratch folder of a study on a target and device.
pub(super) fn scratch_folder(out: &Path, study: &Study, planned: &PlannedStudy) -> PathBuf {
    let device: String = planned
        .device
        .name()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    out.join(format!("scratch-{}-{}-{device}", study.name, planned.target.name()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
