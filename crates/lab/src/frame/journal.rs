//! The journal of a run of studies: `runs.jsonl` in the results' folder. Each finished run of an
//! arm is one line, on the disk before the next run begins, so that an interrupted run of studies
//! goes on where it stopped; so is what each run of the calibration round found. A last line that a
//! crash cut short is dropped.

use crate::LabError;
use crate::machine::Machine;
use crate::results::ResultsOrigin;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use targets::work::{Counters, Figure};

/// What was asked for; a resumed run must have been asked for the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Version of Ringwood.
    pub ringwood: String,
    /// Names of the studies.
    pub studies: Vec<String>,
    /// Scale.
    pub scale: String,
    /// Rounds; with `until_decided` those before the first look.
    pub runs: usize,
    /// The most rounds of a run that goes on until its bounds are decided.
    #[serde(default)]
    pub until_decided: Option<usize>,
    /// Targets.
    pub targets: Vec<String>,
    /// Devices; empty = each study's own.
    pub devices: Vec<String>,
    /// Seed of the order of runs.
    pub seed: u64,
    /// After how many rounds databases that are kept are made again; 0 in journals of before, which
    /// never did.
    #[serde(default)]
    pub fresh_every: usize,
    /// Percent by which a test made the measured steps slower.
    #[serde(default)]
    pub slow_down: f64,
}

/// A measured cell of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFigure {
    /// Level of the factor.
    pub level: String,
    /// The value.
    pub figure: Figure,
    /// Of a step that was repeated within the run the value of each repeat; the figure is their
    /// mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<f64>,
    /// The value of the first repeat where it only warms up: it is not in the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
}

/// What one repeat of a step took in the calibration round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SingleRepeat {
    /// Level of the factor.
    pub level: String,
    /// The step's measure.
    pub measure: String,
    /// Seconds.
    pub seconds: f64,
}

/// A run of an arm in the calibration round: it measures nothing, but how often short steps are
/// repeated follows from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Study.
    pub study: String,
    /// Target.
    pub target: String,
    /// Device.
    pub device: String,
    /// Key of the arm's configuration.
    pub arm: String,
    /// Factor of the arm.
    pub factor: String,
    /// Its steps that are repeated.
    pub steps: Vec<SingleRepeat>,
    /// Seconds with set-up and tear-down.
    pub seconds: f64,
}

/// A line of the journal that is no run.
#[derive(Serialize, Deserialize)]
struct CalibrationLine {
    calibration: Calibration,
}

/// How such a line begins.
const CALIBRATION: &str = "{\"calibration\":";

/// What was counted around one measured step of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Level of the factor.
    pub level: String,
    /// The step's measure.
    pub measure: String,
    /// Rows that it changed; null where that is not known.
    pub rows: Option<u64>,
    /// The counts.
    pub counters: Counters,
}

/// One finished run of an arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Study.
    pub study: String,
    /// Target.
    pub target: String,
    /// Device.
    pub device: String,
    /// Key of the arm's configuration.
    pub arm: String,
    /// Factor of the arm.
    pub factor: String,
    /// Level of the arm.
    pub level: String,
    /// Round, from 0.
    pub round: usize,
    /// Place in the order of all runs.
    pub order: usize,
    /// Values.
    pub measured: Vec<MeasuredFigure>,
    /// What could not be measured, and why.
    pub missing: Vec<(String, String)>,
    /// Waits, I/O and other counts of the measured steps together.
    pub counters: Counters,
    /// The same step by step.
    #[serde(default)]
    pub steps: Vec<StepRecord>,
    /// Share of the processors' time that a hypervisor gave to others meanwhile, 0 to 1.
    #[serde(default)]
    pub steal: Option<f64>,
    /// What the target said of its settings and of the database it made.
    pub settings: Vec<String>,
    /// Seconds with set-up and tear-down.
    pub seconds: f64,
}

#[derive(Serialize, Deserialize)]
struct Header {
    request: Request,
    machine: Machine,
    #[serde(default)]
    origin: ResultsOrigin,
}

/// The journal, open for appending.
pub struct Journal {
    file: File,
    /// Where it ran.
    pub machine: Machine,
    /// When and by what it was begun.
    pub origin: ResultsOrigin,
    /// Every finished run, in the order in which they ended.
    pub records: Vec<RunRecord>,
    /// What the calibration round found.
    pub calibrations: Vec<Calibration>,
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join("runs.jsonl")
}

impl Journal {
    /// A new journal; one that is there is replaced.
    pub fn create(
        folder: &Path,
        request: &Request,
        machine: Machine,
        origin: ResultsOrigin,
    ) -> Result<Journal, LabError> {
        let path = path_in(folder);
        let header =
            Header { request: request.clone(), machine: machine.clone(), origin: origin.clone() };
        let file = File::create(&path)?;
        let mut journal = Journal { file, machine, origin, records: vec![], calibrations: vec![] };
        journal.line(&serde_json::to_string(&header)?)?;
        Ok(journal)
    }

    /// The journal of an interrupted run. Errors: there is none, or it was asked for something
    /// else.
    pub fn resume(folder: &Path, request: &Request) -> Result<Journal, LabError> {
        let path = path_in(folder);
        let ReadJournal { header, records, calibrations, length } = read(folder)?;
        if header.request != *request {
            return Err(LabError::Request(format!(
                "{} was begun with other options: {}",
                path.display(),
                difference(&header.request, request)
            )));
        }
        let file = File::options().write(true).open(&path)?;
        file.set_len(length)?;
        drop(file);
        let file = File::options().append(true).open(&path)?;
        Ok(Journal { file, machine: header.machine, origin: header.origin, records, calibrations })
    }

    /// What the run whose journal is in that folder was asked for.
    pub fn request_of(folder: &Path) -> Result<Request, LabError> {
        Ok(read(folder)?.header.request)
    }

    /// Takes over what an earlier run's calibration round found.
    /// Errors: there is no such run, or it had another scale.
    pub fn calibrate_from(&mut self, folder: &Path, scale: &str) -> Result<(), LabError> {
        let ReadJournal { header, calibrations, .. } = read(folder)?;
        if header.request.scale != scale {
            return Err(LabError::Request(format!(
                "the run in {} had {} scale: its numbers of repeats are not those of {scale} scale",
                folder.display(),
                header.request.scale
            )));
        }
        let new = |c: &Calibration| !self.is_calibrated(&c.study, &c.target, &c.device, &c.arm);
        let new: Vec<Calibration> = calibrations.into_iter().filter(new).collect();
        new.into_iter().try_for_each(|calibration| self.push_calibration(calibration))
    }

    fn line(&mut self, text: &str) -> Result<(), LabError> {
        self.file.write_all(format!("{text}\n").as_bytes())?;
        self.file.sync_data()?;
        Ok(())
    }

    /// Adds a finished run; it is on the disk when this returns.
    pub fn push(&mut self, record: RunRecord) -> Result<(), LabError> {
        self.line(&serde_json::to_string(&record)?)?;
        self.records.push(record);
        Ok(())
    }

    /// Adds a finished run of the calibration round; it is on the disk when this returns.
    pub fn push_calibration(&mut self, calibration: Calibration) -> Result<(), LabError> {
        let line = CalibrationLine { calibration };
        self.line(&serde_json::to_string(&line)?)?;
        self.calibrations.push(line.calibration);
        Ok(())
    }

    /// Whether the calibration round has that arm.
    pub fn is_calibrated(&self, study: &str, target: &str, device: &str, arm: &str) -> bool {
        self.calibrations_of(study, target, device).any(|c| c.arm == arm)
    }

    /// What the calibration round found of one study on one target and device.
    pub fn calibrations_of<'a>(
        &'a self,
        study: &'a str,
        target: &'a str,
        device: &'a str,
    ) -> impl Iterator<Item = &'a Calibration> {
        self.calibrations
            .iter()
            .filter(move |c| c.study == study && c.target == target && c.device == device)
    }

    /// Whether a run is done.
    pub fn has(&self, study: &str, target: &str, device: &str, arm: &str, round: usize) -> bool {
        self.records.iter().any(|r| {
            r.round == round
                && r.arm == arm
                && r.study == study
                && r.target == target
                && r.device == device
        })
    }

    /// The runs of one study on one target and device.
    pub fn of<'a>(
        &'a self,
        study: &'a str,
        target: &'a str,
        device: &'a str,
    ) -> impl Iterator<Item = &'a RunRecord> {
        self.records
            .iter()
            .filter(move |r| r.study == study && r.target == target && r.device == device)
    }
}

/// What is in a journal, without a line that was cut short.
struct ReadJournal {
    header: Header,
    records: Vec<RunRecord>,
    calibrations: Vec<Calibration>,
    /// Bytes of whole lines.
    length: u64,
}

fn read(folder: &Path) -> Result<ReadJournal, LabError> {
    let path = path_in(folder);
    let text = std::fs::read_to_string(&path).map_err(|e| {
        LabError::Request(format!("there is nothing to resume in {}: {e}", folder.display()))
    })?;
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut lines = whole.lines();
    let first = lines.next().ok_or_else(|| {
        LabError::Request(format!(
            "there is nothing to resume in {}: no run had begun",
            folder.display()
        ))
    })?;
    let header: Header = serde_json::from_str(first)?;
    let (mut records, mut calibrations) = (vec![], vec![]);
    for line in lines {
        if line.starts_with(CALIBRATION) {
            calibrations.push(serde_json::from_str::<CalibrationLine>(line)?.calibration);
        } else {
            records.push(serde_json::from_str(line)?);
        }
    }
    Ok(ReadJournal { header, records, calibrations, length: whole.len() as u64 })
}

fn difference(old: &Request, new: &Request) -> String {
    let mut parts = Vec::new();
    let mut part = |name: &str, a: String, b: String| {
        if a != b {
            parts.push(format!("{name} {a}, now {b}"));
        }
    };
    part("version", old.ringwood.clone(), new.ringwood.clone());
    part("studies", old.studies.join(" "), new.studies.join(" "));
    part("scale", old.scale.clone(), new.scale.clone());
    part("runs", old.runs.to_string(), new.runs.to_string());
    let until = |r: &Request| r.until_decided.map_or_else(|| "not given".into(), |n| n.to_string());
    part("until-decided", until(old), until(new));
    part("targets", old.targets.join(" "), new.targets.join(" "));
    part("devices", old.devices.join(" "), new.devices.join(" "));
    part("seed", old.seed.to_string(), new.seed.to_string());
    part("fresh-every", old.fresh_every.to_string(), new.fresh_every.to_string());
    part("slow-down", old.slow_down.to_string(), new.slow_down.to_string());
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            ringwood: "0".into(),
            studies: vec!["vlf-count".into()],
            scale: "tiny".into(),
            runs: 2,
            until_decided: None,
            targets: vec!["ringwood".into()],
            devices: vec![],
            seed: 1,
            fresh_every: 1,
            slow_down: 0.0,
        }
    }

    fn record(round: usize) -> RunRecord {
        RunRecord {
            study: "vlf-count".into(),
            target: "ringwood".into(),
            device: "real".into(),
            arm: "16".into(),
            factor: "VLFs".into(),
            level: "16".into(),
            round,
            order: 0,
            measured: vec![],
            missing: vec![],
            counters: Counters::default(),
            steps: vec![],
            steal: None,
            settings: vec![],
            seconds: 1.0,
        }
    }

    #[test]
    fn a_cut_line_is_dropped_and_the_rest_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(
            folder.path(),
            &request(),
            Machine::default(),
            ResultsOrigin::default(),
        )
        .unwrap();
        journal.push(record(0)).unwrap();
        let mut file = File::options().append(true).open(path_in(folder.path())).unwrap();
        file.write_all(b"{\"study\":\"vlf-c").unwrap();
        let mut again = Journal::resume(folder.path(), &request()).unwrap();
        assert!(again.has("vlf-count", "ringwood", "real", "16", 0));
        assert!(!again.has("vlf-count", "ringwood", "real", "16", 1));
        again.push(record(1)).unwrap();
        assert_eq!(Journal::resume(folder.path(), &request()).unwrap().records.len(), 2);
    }

    #[test]
    fn what_the_calibration_round_found_is_kept_and_can_be_taken_over() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let create = |folder: &Path| {
            Journal::create(folder, &request(), Machine::default(), ResultsOrigin::default())
        };
        let found = |arm: &str| Calibration {
            study: "vlf-count".into(),
            target: "ringwood".into(),
            device: "real".into(),
            arm: arm.into(),
            steps: vec![SingleRepeat {
                level: arm.into(),
                measure: "insert".into(),
                seconds: 0.04,
            }],
            ..Calibration::default()
        };
        let mut journal = create(folders[0].path()).unwrap();
        journal.push_calibration(found("16")).unwrap();
        journal.push(record(0)).unwrap();
        journal.push_calibration(found("20000")).unwrap();
        let again = Journal::resume(folders[0].path(), &request()).unwrap();
        assert_eq!(
            (&again.records, &again.calibrations),
            (&journal.records, &journal.calibrations)
        );
        assert!(again.is_calibrated("vlf-count", "ringwood", "real", "20000"));
        assert!(!again.is_calibrated("vlf-count", "ringwood", "real", "8"));
        assert_eq!(Journal::request_of(folders[0].path()).unwrap(), request());
        let mut other = create(folders[1].path()).unwrap();
        let own = Calibration { seconds: 9.0, ..found("16") };
        other.push_calibration(own.clone()).unwrap();
        other.calibrate_from(folders[0].path(), "tiny").unwrap();
        assert_eq!(other.calibrations, [own, found("20000")], "what it has itself stays");
        assert_eq!(
            Journal::resume(folders[1].path(), &request()).unwrap().calibrations,
            other.calibrations
        );
        let error = other.calibrate_from(folders[0].path(), "paper").unwrap_err().to_string();
        assert!(error.contains("had tiny scale"), "{error}");
        assert!(other.calibrate_from(Path::new("/nowhere"), "tiny").is_err());
    }

    #[test]
    fn other_options_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Journal::resume(folder.path(), &request()).is_err());
        std::fs::write(path_in(folder.path()), "{\"request\":").unwrap();
        let error = Journal::resume(folder.path(), &request()).map(drop).unwrap_err().to_string();
        assert!(
            error.contains("nothing to resume") && error.contains("no run had begun"),
            "{error}"
        );
        drop(
            Journal::create(
                folder.path(),
                &request(),
                Machine::default(),
                ResultsOrigin::default(),
            )
            .unwrap(),
        );
        let other = Request { runs: 3, ..request() };
        let error = Journal::resume(folder.path(), &other).map(drop).unwrap_err().to_string();
        assert!(error.contains("runs 2, now 3"), "{error}");
    }
}
