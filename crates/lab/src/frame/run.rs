//! A run of studies: what was asked for is checked against the machine, then every study runs on every target and device
//! on which its factor has a meaning. Results are written after each study, so that an interrupted run has a report too.

use super::assemble::{About, assemble};
use super::driver::Job;
use super::journal::{Journal, Request};
use super::progress::{Progress, duration};
use super::rounds::Rounds;
use super::study::{Arm, Scale, Step, Study};
use crate::device::{Device, REAL, going};
use crate::machine::{self, Machine};
use crate::results::{Origin, Results, Verdict};
use crate::target::{self, Place, Target};
use crate::work::{LogBlock, Work};
use crate::{LabError, customers, report, studies};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a run of studies is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names, or `all`.
    pub studies: Vec<String>,
    /// Size.
    pub scale: Scale,
    /// Rounds; each arm runs once a round.
    pub runs: usize,
    /// Go on after those rounds until every bound is decided, with at most so many rounds.
    pub until_decided: Option<usize>,
    /// Targets, names or the address of a server; empty = Ringwood.
    pub targets: Vec<String>,
    /// The command that ends and starts that server.
    pub restart_with: Option<String>,
    /// Devices; empty = the real disk and the models that a study names itself.
    pub devices: Vec<String>,
    /// Kinds of files that lie on mounts of their own.
    pub mounts: BTreeMap<String, PathBuf>,
    /// Folder for databases and results.
    pub out: PathBuf,
    /// Go on with an interrupted run.
    pub resume: bool,
    /// Seed of the order of runs.
    pub seed: u64,
    /// Show progress on standard error.
    pub progress: bool,
    /// The ringwood command, for the runs that kill a process.
    pub program: Option<PathBuf>,
    /// Percent by which each measured step is made slower: for tests of `lab compare`, else 0.
    pub slow_down: f64,
    /// Commit of the build; empty where it is not known.
    pub commit: String,
    /// The command line, for the report.
    pub command: String,
}

impl Options {
    /// How many rounds there are.
    pub fn rounds(&self) -> Result<Rounds, LabError> {
        match self.until_decided {
            None => Ok(Rounds::fixed(self.runs)),
            Some(most) => Rounds::until_decided(self.runs, most),
        }
    }
}

/// One study on one target and device, before it runs.
struct Planned {
    study: usize,
    target: Box<dyn Target>,
    device: Device,
    knob: Result<&'static str, &'static str>,
    arms: Vec<usize>,
    left_out: Vec<String>,
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
fn chosen(options: &Options) -> Result<Vec<Study>, LabError> {
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
        let built_on = |s: &Step| (s.measure.is_none() && of_it(&s.work)) || s.repeat.turns.iter().any(of_it);
        arm.steps.iter().any(built_on)
    };
    let speaks = target.speaks_tsql();
    let on_device = |arm: &Arm| study.runs_on(arm, &device.name());
    for arm in study.arms.iter().filter(|arm| !speaks && on_device(arm) && in_t_sql(arm)) {
        left_out.push(format!("{}: needs work that is written in T-SQL", arm.config.key));
    }
    let here = |arm: &Arm| on_device(arm) && (speaks || !in_t_sql(arm));
    let fits = |arm: &Arm| here(arm) && arm.config.data.arrays <= has && !too_small(arm);
    for arm in study.arms.iter().filter(|arm| here(arm) && too_small(arm)) {
        let sector = device.sector().unwrap_or_default();
        let text =
            format!("{} has no meaning on {}: its sector has {sector} bytes", arm.config.key, device.name());
        left_out.push(text);
    }
    if study.most_arrays() > has {
        let how = match (speaks, target.name() == target::NAMES[0]) {
            (true, false) => "data2=DIR in the server's address",
            _ => "--device with a model of two, or --device-path data2=DIR",
        };
        let most = study.most_arrays();
        left_out.push(format!("data on {most} devices: {} is one device (use {how})", device.name()));
    }
    let arms = (0..study.arms.len()).filter(|i| fits(&study.arms[*i])).collect();
    (arms, left_out)
}

fn devices_of(study: &Study, options: &Options) -> Result<Vec<Device>, LabError> {
    let named = |name: &str| Ok::<_, LabError>(Device::named(name, &options.mounts)?.shrunk(study.share));
    if !options.devices.is_empty() {
        return options.devices.iter().map(|n| named(n)).collect();
    }
    let mut devices = vec![named(REAL)?];
    for model in &study.models {
        devices.push(named(model)?);
    }
    Ok(devices)
}

fn plan_all(chosen: &[Study], options: &Options) -> Result<Vec<Planned>, LabError> {
    let names: Vec<String> =
        if options.targets.is_empty() { vec![target::NAMES[0].into()] } else { options.targets.clone() };
    if names.iter().filter(|n| target::is_address(n)).count() > 1 {
        return Err(LabError::Request(
            "one server at a time: results are told apart by the target's name".into(),
        ));
    }
    let mut planned: Vec<Planned> = Vec::new();
    for (index, study) in chosen.iter().enumerate() {
        for name in &names {
            let of_it = planned.len();
            let mut models = Vec::new();
            for device in devices_of(study, options)? {
                let target = target::find(name, options.restart_with.as_deref())?;
                if target.name() != target::NAMES[0] && device.name() != REAL {
                    models.push(device.name());
                    continue;
                }
                let (arms, left_out) = choose_arms(study, target.as_ref(), &device);
                let knob = target.knob(study.knob);
                planned.push(Planned { study: index, target, device, knob, arms, left_out });
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
fn scratch_folder(out: &Path, study: &Study, planned: &Planned) -> PathBuf {
    let device: String =
        planned.device.name().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    out.join(format!("scratch-{}-{}-{device}", study.name, planned.target.name()))
}

/// Customer rows for a study that copies them.
fn customers(study: &Study, folder: &Path) -> Result<Option<PathBuf>, LabError> {
    let rows = study.arms.iter().map(|a| a.config.customers).max().unwrap_or(0);
    if rows == 0 {
        return Ok(None);
    }
    let path = folder.join("customer.txt");
    customers::write_customers(&path, rows, 1)?;
    Ok(Some(path))
}

fn job<'a>(
    study: &'a Study,
    planned: &'a mut Planned,
    folder: PathBuf,
    options: &Options,
    customers: Option<PathBuf>,
) -> Result<Job<'a>, LabError> {
    let rounds = options.rounds()?;
    let about = about(planned, options, &rounds);
    let decided = move |journal: &Journal| {
        let claims = assemble(study, &about, journal).claims;
        claims.iter().all(|c| c.verdict != Some(Verdict::Undecided))
    };
    Ok(Job {
        study,
        arms: planned.arms.iter().map(|i| &study.arms[*i]).collect(),
        device: planned.device.name(),
        place: Place { folder, device: planned.device.clone(), customers, program: options.program.clone() },
        target: planned.target.as_mut(),
        rounds,
        decided: Box::new(decided),
        seed: options.seed,
        slow_down: options.slow_down,
    })
}

fn about(planned: &Planned, options: &Options, rounds: &Rounds) -> About {
    About {
        scale: options.scale.name(),
        target: planned.target.name().into(),
        device: planned.device.name(),
        knob: planned.knob,
        disclosure: planned.device.disclosure(),
        left_out: planned.left_out.clone(),
        seed: options.seed,
        rounds: rounds.clone(),
        slow_down: options.slow_down,
    }
}

fn results(
    chosen: &[Study],
    planned: &[Planned],
    options: &Options,
    journal: &Journal,
) -> Result<Results, LabError> {
    let rounds = options.rounds()?;
    let studies =
        planned.iter().map(|p| assemble(&chosen[p.study], &about(p, options, &rounds), journal)).collect();
    Ok(Results {
        ringwood: env!("CARGO_PKG_VERSION").into(),
        origin: journal.origin.clone(),
        machine: journal.machine.clone(),
        studies,
    })
}

/// Runs the studies. Results and report are in `options.out`, up to date after each study.
pub fn run(options: &Options) -> Result<Results, LabError> {
    std::fs::create_dir_all(&options.out)?;
    let options = Options { out: options.out.canonicalize()?, ..options.clone() };
    options.rounds()?;
    let chosen = chosen(&options)?;
    let mut planned = plan_all(&chosen, &options)?;
    let request = Request {
        ringwood: env!("CARGO_PKG_VERSION").into(),
        studies: chosen.iter().map(|s| s.name.to_owned()).collect(),
        scale: options.scale.name().into(),
        runs: options.runs,
        until_decided: options.until_decided,
        targets: options.targets.iter().map(|t| target::shown(t)).collect(),
        devices: options.devices.clone(),
        seed: options.seed,
        slow_down: options.slow_down,
    };
    let mut journal = if options.resume {
        Journal::resume(&options.out, &request)?
    } else {
        let origin = Origin {
            begun: machine::utc_now(),
            commit: options.commit.clone(),
            command: options.command.clone(),
            ..Origin::default()
        };
        Journal::create(&options.out, &request, Machine::probe(&options.out), origin)?
    };
    let mut progress = Progress::new(options.progress);
    for line in plan(&options)? {
        progress.say(&line);
    }
    for p in &mut planned {
        let study = &chosen[p.study];
        let job = job(study, p, PathBuf::new(), &options, None)?;
        progress.plan(&job.kind(), job.left(&journal), study.seconds_per_arm());
    }
    for index in 0..planned.len() {
        let study = &chosen[planned[index].study];
        let folder = scratch_folder(&options.out, study, &planned[index]);
        run_one(study, &mut planned[index], folder, &options, &mut journal, &mut progress)?;
        report::write_all(&results(&chosen, &planned, &options, &journal)?, &options.out)?;
    }
    progress.end();
    results(&chosen, &planned, &options, &journal)
}

fn run_one(
    study: &Study,
    planned: &mut Planned,
    folder: PathBuf,
    options: &Options,
    journal: &mut Journal,
    progress: &mut Progress,
) -> Result<(), LabError> {
    let device = planned.device.clone();
    if job(study, planned, folder.clone(), options, None)?.left(journal) == 0 {
        return device.clear(&folder);
    }
    // Where there is nothing to go on with, only what was being removed may be left.
    if !options.resume || !folder.exists() {
        planned.target.clear(&folder)?;
        device.clear(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let rows = customers(study, &folder)?;
    job(study, planned, folder.clone(), options, rows)?.run(journal, progress)?;
    planned.target.clear(&folder)?;
    device.clear(&folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(out: &Path) -> Options {
        Options {
            studies: vec!["data-files".into()],
            scale: Scale::Paper,
            runs: 5,
            until_decided: None,
            targets: vec![],
            restart_with: None,
            devices: vec![],
            mounts: BTreeMap::new(),
            out: out.into(),
            resume: false,
            seed: 1,
            progress: false,
            program: None,
            slow_down: 0.0,
            commit: String::new(),
            command: String::new(),
        }
    }

    #[test]
    fn the_author_s_sizes_are_refused_on_a_small_machine() {
        let options = options(Path::new("/nowhere"));
        let study = chosen(&options).unwrap().remove(0);
        assert!(study.needs.disk >= 168 << 30, "160 GB of files and a log of 8 GB");
        let disk = fits(&study, &options, 100_000_000_000, None).unwrap_err().to_string();
        assert!(disk.contains("GB of disk; 100.0 GB are free") && disk.contains("--out"), "{disk}");
        let memory = fits(&study, &options, u64::MAX / 4, Some(1 << 30)).unwrap_err().to_string();
        assert!(memory.contains("GB of memory; 1.1 GB are free"), "{memory}");
        assert!(fits(&study, &options, u64::MAX / 4, Some(64 << 30)).is_ok());
    }

    #[test]
    fn what_an_interrupted_run_has_left_is_not_missing() {
        let out = tempfile::tempdir().unwrap();
        let options = options(out.path());
        let chosen = chosen(&options).unwrap();
        let planned = plan_all(&chosen, &options).unwrap();
        let left =
            || planned.iter().map(|p| left_in(&scratch_folder(out.path(), &chosen[0], p))).sum::<u64>();
        let write = |folder: &str| {
            let folder = out.path().join(folder).join("16-on-1/data");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("lab.mdf"), vec![1; 1 << 20]).unwrap();
        };
        // Of another target, device or study: this run leaves them alone.
        for other in ["data-files-postgres-real", "data-files-ringwood-ssd-512e", "vlf-count-ringwood-real"] {
            write(&format!("scratch-{other}"));
        }
        assert_eq!(left(), 0);
        write("scratch-data-files-ringwood-real");
        let kept = left();
        assert!(((1 << 20)..(2 << 20)).contains(&kept), "{kept}");
        write("scratch-data-files-ringwood-2x-iscsi-raid10-4x15000.going");
        assert_eq!(left(), 2 * kept);
    }

    #[test]
    fn what_was_being_removed_is_gone_before_a_resumed_run_begins() {
        let out = tempfile::tempdir().unwrap();
        let options = Options { resume: true, ..options(out.path()) };
        let mut study = chosen(&options).unwrap().remove(0);
        let mut planned = plan_all(std::slice::from_ref(&study), &options).unwrap().remove(0);
        let folder = scratch_folder(out.path(), &study, &planned);
        std::fs::create_dir_all(going(&folder)).unwrap();
        // No file can be called so: the first run fails, and nothing is removed at the end.
        study.arms.iter_mut().for_each(|a| a.config.key = "\0".into());
        let request = Request {
            ringwood: String::new(),
            studies: vec![],
            scale: String::new(),
            runs: 1,
            until_decided: None,
            targets: vec![],
            devices: vec![],
            seed: 1,
            slow_down: 0.0,
        };
        let mut journal =
            Journal::create(out.path(), &request, Machine::probe(out.path()), Origin::default()).unwrap();
        let mut progress = Progress::new(false);
        let ran = run_one(&study, &mut planned, folder.clone(), &options, &mut journal, &mut progress);
        assert!(ran.is_err() && folder.exists());
        assert!(!going(&folder).exists());
    }

    #[test]
    fn blocks_smaller_than_the_sector_have_no_meaning() {
        let options = Options { studies: vec!["log-block-size".into()], ..options(Path::new("/nowhere")) };
        let study = chosen(&options).unwrap().remove(0);
        let target = target::find("ringwood", None).unwrap();
        for (device, arms_there, out) in [("ssd-512e", 4, 0), ("ssd-4kn", 3, 1)] {
            let device = Device::named(device, &BTreeMap::new()).unwrap();
            let (arms, left_out) = choose_arms(&study, target.as_ref(), &device);
            assert_eq!((arms.len(), left_out.len()), (arms_there, out), "{left_out:?}");
        }
    }

    #[test]
    fn two_arrays_need_two_devices() {
        let options = options(Path::new("/nowhere"));
        let study = chosen(&options).unwrap().remove(0);
        let target = target::find("ringwood", None).unwrap();
        let real = Device::named(REAL, &BTreeMap::new()).unwrap();
        let (arms, left_out) = choose_arms(&study, target.as_ref(), &real);
        // Of those that run anywhere five have one array; thirteen are for the disk that is there alone.
        assert_eq!((arms.len(), left_out.len()), (5 + 13, 1));
        let two = Device::named("2x-hdd-raid10-4x15000", &BTreeMap::new()).unwrap();
        let (arms, left_out) = choose_arms(&study, target.as_ref(), &two);
        assert_eq!((arms.len(), left_out.len()), (10, 0));
        // A device that arms have to themselves runs no others.
        let published = Device::named("iscsi-8x15000", &BTreeMap::new()).unwrap();
        let (arms, left_out) = choose_arms(&study, target.as_ref(), &published);
        assert_eq!((arms.len(), left_out.len()), (10, 0));
        assert!(arms.iter().all(|i| study.arms[*i].factor.starts_with("Test ")));
        #[cfg(feature = "peers")]
        {
            let sqlite = target::find("sqlite", None).unwrap();
            assert!(choose_arms(&study, sqlite.as_ref(), &real).0.is_empty());
        }
    }
}
