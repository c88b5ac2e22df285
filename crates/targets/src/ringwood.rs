//! Ringwood embedded: an instance per configuration, the work in T-SQL, its files watched.

use crate::embedded::{Embedded, OpenOptions, page_memory};
use crate::tsql::{self, DATABASE};
use crate::watch::Watch;
use crate::work::late::{LATE, LATE_US, MODELLED_US, REQUESTS};
use crate::work::{Config, Counters, Figure, Knob, LogBlock, ProcessEnd, TsqlWork, Work};
use crate::{LabError, Target, TargetPlace, kept, outage};
use engine::PageMemory;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// Roles and the drive letters by which statements name them.
const DRIVES: [(char, &str); 4] = [('E', "data"), ('G', "data2"), ('F', "log"), ('H', "backup")];

/// A Ringwood instance of our own.
#[derive(Default)]
pub struct Ringwood {
    open: Option<OpenRingwood>,
    past: PastCounters,
}

/// What was counted by the instances that were open one after the other: each begins at zero.
#[derive(Default)]
struct PastCounters {
    /// Files, by all instances.
    watch: Arc<Watch>,
    /// Waits and other counts, by those that were closed.
    closed: Counters,
}

/// The configuration that is up.
struct OpenRingwood {
    server: Option<Embedded>,
    /// The models that its files lie on.
    models: Vec<Arc<model::ModelDisk>>,
    folder: PathBuf,
    place: TargetPlace,
    config: Config,
}

impl OpenRingwood {
    fn volumes(&self) -> HashMap<char, PathBuf> {
        DRIVES
            .iter()
            .map(|(letter, role)| (*letter, self.place.device.folder_of(role, &self.folder)))
            .collect()
    }

    /// Memory for an instance.
    fn memory(&self) -> Result<PageMemory, LabError> {
        page_memory(self.config.memory, self.config.commit_memory)
    }

    fn start(&mut self, past: &PastCounters) -> Result<(), LabError> {
        let memory = self.memory()?;
        self.start_in(past, memory)
    }

    fn start_in(&mut self, past: &PastCounters, memory: PageMemory) -> Result<(), LabError> {
        let device = self.place.device.open(&self.folder, self.config.data.arrays)?;
        let options = OpenOptions {
            folder: self.folder.clone(),
            memory,
            volumes: self.volumes(),
            disk: Some(past.watch.over(device.disk, DATABASE)),
            flags: if self.config.block == LogBlock::Flag1800 { vec![TRACE_1800] } else { vec![] },
        };
        self.models = device.models;
        self.server = Some(Embedded::open(options)?);
        Ok(())
    }

    /// Waits and other counts of this instance. A database that is not there yet has none.
    fn counts(&self) -> Result<Counters, LabError> {
        let server = self.server()?;
        let mut client = tsql::Server::connect(server, None)?;
        let waits = tsql::waits(client.as_mut())?;
        let mut counts = tsql::log_counts(client.as_mut());
        for late in self.models.iter().map(|m| m.host_late()) {
            let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            for (name, n) in [
                (REQUESTS, late.requests),
                (LATE, late.late),
                (MODELLED_US, late.modelled_us),
                (LATE_US, late.late_us),
            ] {
                *counts.entry(name.to_owned()).or_default() += number(n);
            }
        }
        Ok(Counters { waits, io: vec![], counts })
    }

    fn server(&self) -> Result<&Embedded, LabError> {
        self.server.as_ref().ok_or_else(|| LabError::Request("Ringwood is not open".into()))
    }

    /// Closes the instance; its counts stay in `past`.
    fn stop(&mut self, past: &mut PastCounters) -> Result<(), LabError> {
        let Some(server) = self.server.take() else { return Ok(()) };
        self.server = Some(server.clone());
        let counts = self.counts();
        self.server = None;
        let closed = server.close();
        drop(server);
        past.watch.release();
        past.closed.add(&counts?);
        closed
    }
}

impl OpenRingwood {
    /// The program that can be killed while it works on these files.
    fn to_kill(&self) -> Result<PathBuf, LabError> {
        if self.place.device.disclosure().is_some() {
            return Err(LabError::Unsupported(
                "a killed process cannot hold a modelled device".into(),
            ));
        }
        let missing =
            || LabError::Unsupported("this needs the ringwood command, which is killed".into());
        self.place.program.clone().ok_or_else(missing)
    }
}

impl Ringwood {
    fn open(&mut self) -> Result<(&mut OpenRingwood, &mut PastCounters), LabError> {
        let open = self
            .open
            .as_mut()
            .ok_or_else(|| LabError::Request("Ringwood was not set up".into()))?;
        Ok((open, &mut self.past))
    }

    /// Kills a process in the middle of the update, then measures opening the database.
    fn recovery(&mut self, rows: u64) -> Result<Vec<Figure>, LabError> {
        let (open, past) = self.open()?;
        let program = open.to_kill()?;
        open.stop(past)?;
        // The update logs about 1,000 bytes a row (500 before, 500 after).
        crash(open, &program, &["--bytes".into(), (rows * 500).to_string()])?;
        let memory = open.memory()?;
        let begin = Instant::now();
        open.start_in(past, memory)?;
        let mut client = tsql::Server::connect(open.server()?, Some(DATABASE))?;
        let seconds = begin.elapsed().as_secs_f64();
        let kept = tsql::number(
            client.as_mut(),
            "select count_big(*) from customer where c_data = lower(c_data) collate Latin1_General_BIN2",
        )?;
        if kept != 0.0 {
            return Err(LabError::Request(
                "recovery kept rows of the update that never committed".into(),
            ));
        }
        Ok(Figure::seconds(seconds))
    }

    /// Commits rows with delayed durability, ends in that way, and counts what is missing.
    fn loss(
        &mut self,
        rows: u64,
        window_kb: u32,
        end: ProcessEnd,
    ) -> Result<Vec<Figure>, LabError> {
        const COUNT: &str = "select count_big(*) from one_row";
        let (open, past) = self.open()?;
        let before =
            tsql::number(tsql::Server::connect(open.server()?, Some(DATABASE))?.as_mut(), COUNT)?;
        if end == ProcessEnd::Stop {
            let mut client = tsql::Server::connect(open.server()?, Some(DATABASE))?;
            client.run(&tsql::delayed_commits(&tsql::EMBEDDED, rows, window_kb)?)?;
            drop(client);
            open.stop(past)?;
        } else {
            let program = open.to_kill()?;
            open.stop(past)?;
            let mut work = vec![
                "--commits".into(),
                rows.to_string(),
                "--window".into(),
                window_kb.to_string(),
            ];
            if end == ProcessEnd::FlushThenKill {
                work.push("--flush".into());
            }
            crash(open, &program, &work)?;
        }
        open.start(past)?;
        let mut client = tsql::Server::connect(open.server()?, Some(DATABASE))?;
        let there = tsql::number(client.as_mut(), COUNT)? - before;
        // What is there must be the beginning of what was committed: nothing may be missing in
        // between.
        let begun = tsql::number(client.as_mut(), "select isnull(max(a), -1) + 1 from one_row")?;
        if before == 0.0 && begun != there {
            return Err(LabError::Request(format!(
                "{there} of the first {begun} rows are there: delayed commits are missing in the middle"
            )));
        }
        Ok(vec![Figure::new("rows", rows as f64 - there)])
    }
}

/// Trace flag: log blocks of 4,096 bytes where the log follows the device.
const TRACE_1800: i32 = 1800;

/// Runs a child process that works on the database and kills itself with SIGKILL; `work` is what it
/// is told.
fn crash(open: &OpenRingwood, program: &std::path::Path, work: &[String]) -> Result<(), LabError> {
    let mut child = Command::new(program);
    child.args(["lab", "victim", "--database", DATABASE, "--data"]).arg(&open.folder);
    child.args(["--memory", &open.config.memory.to_string()]).args(work);
    child.args(["--parent", &std::process::id().to_string()]);
    for (letter, folder) in open.volumes() {
        child.arg("--volume").arg(format!("{letter}={}", folder.display()));
    }
    let mut child = child.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut last = String::new();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines() {
            last = line?;
        }
    }
    let status = child.wait()?;
    if last != "killing" {
        return Err(LabError::Request(format!(
            "the child that should die in the middle of its work ended: {status}, {last}"
        )));
    }
    Ok(())
}

impl Target for Ringwood {
    fn name(&self) -> &'static str {
        "ringwood"
    }

    fn title(&self) -> &'static str {
        "Ringwood"
    }

    fn speaks_tsql(&self) -> bool {
        true
    }

    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str> {
        Ok(match knob {
            Knob::LogPieces => "virtual log files, made by the growth steps of the log",
            Knob::DataFiles => "files of the primary filegroup",
            Knob::Durability => "ALTER DATABASE ... SET DELAYED_DURABILITY",
            Knob::LogGrowth => "FILEGROWTH of the log",
            Knob::LogBlock => {
                "ALTER DATABASE ... SET LOG_ALIGNMENT (-T1800 forces 4096 for a whole instance)"
            }
        })
    }

    fn set_up(&mut self, place: &TargetPlace, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        let folder = place.folder.join(&config.key);
        let mut open = OpenRingwood {
            server: None,
            models: vec![],
            folder,
            place: place.clone(),
            config: config.clone(),
        };
        if kept::take(&open.folder, config)? && !place.fresh {
            open.start(&self.past)?;
            self.open = Some(open);
            return Ok(vec![kept::MADE_EARLIER.into()]);
        }
        place.device.clear(&open.folder)?;
        for folder in open.volumes().values() {
            std::fs::create_dir_all(folder)?;
        }
        open.start(&self.past)?;
        let mut said = tsql::set_up(open.server()?, config, place.customers.as_deref())?;
        let alignment = match config.block {
            LogBlock::Default => None,
            LogBlock::Device | LogBlock::Flag1800 => Some("device".to_owned()),
            LogBlock::Forced(bytes) => Some(bytes.to_string()),
        };
        if let Some(alignment) = alignment {
            let mut client = tsql::Server::connect(open.server()?, None)?;
            client.run(&format!("alter database {DATABASE} set log_alignment = {alignment}"))?;
            drop(client);
            // The alignment is taken when the log is opened, and then with its next VLF.
            open.stop(&mut self.past)?;
            open.start(&self.past)?;
            tsql::next_vlf(open.server()?)?;
        }
        said.push(format!(
            "Ringwood {}: buffer pool {} MB",
            env!("CARGO_PKG_VERSION"),
            config.memory >> 20
        ));
        self.open = Some(open);
        Ok(said)
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match work {
            Work::Recovery(rows) => self.recovery(*rows),
            Work::Tsql(TsqlWork::Loss { rows, window_kb, end }) => {
                self.loss(*rows, *window_kb, *end)
            }
            Work::Tsql(TsqlWork::Outage { sessions, moments, window_kb, outage }) => {
                outage::outage(*sessions, *moments, *window_kb, *outage)
            }
            _ => tsql::run(self.open()?.0.server()?, work),
        }
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        let (open, past) = self.open()?;
        let mut counters = Counters { io: past.watch.counts(), ..open.counts()? };
        counters.add(&past.closed);
        Ok(counters)
    }

    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
        let open = self.open.as_ref()?;
        let folder = open.place.device.folder_of("log", &open.folder);
        Some((folder, open.place.device.open(&open.folder, 1).ok()?.disk))
    }

    fn tear_down(&mut self) -> Result<(), LabError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.stop(&mut self.past)?;
        if open.config.keep {
            return kept::leave(&open.folder, &open.config);
        }
        open.place.device.clear(&open.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, REAL};
    use crate::work::{Durability, for_tests};
    use std::collections::BTreeMap;

    #[test]
    fn counters_go_on_when_the_instance_is_opened_again() {
        let scratch = tempfile::tempdir().unwrap();
        let place = TargetPlace {
            folder: scratch.path().into(),
            device: Device::named(REAL, &BTreeMap::new()).unwrap(),
            customers: None,
            program: None,
            fresh: false,
        };
        let mut target = Ringwood::default();
        target.set_up(&place, &for_tests()).unwrap();
        target.run(&Work::MakeOneRow).unwrap();
        let commits = Work::Commits(100, Durability::Full);
        target.run(&commits).unwrap();
        let before = target.counters().unwrap();
        let writes = |c: &Counters| {
            c.waits.iter().find(|w| w.wait_type == "WRITELOG").map_or(0, |w| w.count)
        };
        assert!(writes(&before) >= 100, "{before:?}");
        let (open, past) = target.open().unwrap();
        open.stop(past).unwrap();
        open.start(past).unwrap();
        target.run(&commits).unwrap();
        let after = target.counters().unwrap();
        let since = after.since(&before);
        assert!((100..2 * writes(&before)).contains(&writes(&since)), "{since:?}");
        for wait in &before.waits {
            let now = after.waits.iter().find(|w| w.wait_type == wait.wait_type).unwrap();
            assert!(now.count >= wait.count && now.us >= wait.us, "{now:?} after {wait:?}");
        }
        assert!(since.file("log").unwrap().writes >= 100);
        target.tear_down().unwrap();
    }
}
