//! Ringwood embedded: an instance per configuration, the work in T-SQL, its files watched.

use super::tsql::{self, DATABASE};
use super::{Place, Target, kept};
use crate::LabError;
use crate::embedded::{Embedded, OpenOptions, page_memory};
use crate::watch::Watch;
use crate::work::{Config, Counters, Figure, Knob, LogBlock, Work};
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
    open: Option<Open>,
    past: Past,
}

/// What was counted by the instances that were open one after the other: each begins at zero.
#[derive(Default)]
struct Past {
    /// Files, by all instances.
    watch: Arc<Watch>,
    /// Waits, by those that were closed.
    waits: Counters,
}

/// The configuration that is up.
struct Open {
    server: Option<Embedded>,
    folder: PathBuf,
    place: Place,
    config: Config,
}

impl Open {
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

    fn start(&mut self, past: &Past) -> Result<(), LabError> {
        let memory = self.memory()?;
        self.start_in(past, memory)
    }

    fn start_in(&mut self, past: &Past, memory: PageMemory) -> Result<(), LabError> {
        let disk = self.place.device.disk(&self.folder, self.config.data.arrays)?;
        let options = OpenOptions {
            folder: self.folder.clone(),
            memory,
            volumes: self.volumes(),
            disk: Some(past.watch.over(disk, DATABASE)),
        };
        self.server = Some(Embedded::open(options)?);
        Ok(())
    }

    fn server(&self) -> Result<&Embedded, LabError> {
        self.server.as_ref().ok_or_else(|| LabError::Request("Ringwood is not open".into()))
    }

    /// Closes the instance; its counts stay in `past`.
    fn stop(&mut self, past: &mut Past) -> Result<(), LabError> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let waits = tsql::waits(&server);
        let closed = server.close();
        drop(server);
        past.watch.release();
        past.waits.add(&Counters { waits: waits?, ..Counters::default() });
        closed
    }
}

impl Ringwood {
    fn open(&mut self) -> Result<(&mut Open, &mut Past), LabError> {
        let open = self.open.as_mut().ok_or_else(|| LabError::Request("Ringwood was not set up".into()))?;
        Ok((open, &mut self.past))
    }

    /// Kills a process in the middle of the update, then measures opening the database.
    fn recovery(&mut self, rows: u64) -> Result<Vec<Figure>, LabError> {
        let (open, past) = self.open()?;
        let Some(program) = open.place.program.clone() else {
            return Err(LabError::Unsupported("this needs the ringwood command, which is killed".into()));
        };
        if open.place.device.disclosure().is_some() {
            return Err(LabError::Unsupported("a killed process cannot hold a modelled device".into()));
        }
        open.stop(past)?;
        crash_in_update(open, &program, rows)?;
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
            return Err(LabError::Request("recovery kept rows of the update that never committed".into()));
        }
        Ok(Figure::seconds(seconds))
    }
}

/// Runs the update in a child process, which kills itself with SIGKILL once half of the update is in the log.
fn crash_in_update(open: &Open, program: &std::path::Path, rows: u64) -> Result<(), LabError> {
    // The update logs about 1,000 bytes a row (500 before, 500 after).
    let half = rows * 500;
    let mut child = Command::new(program);
    child.args(["lab", "victim", "--database", DATABASE, "--data"]).arg(&open.folder);
    child.args(["--bytes", &half.to_string(), "--memory", &open.config.memory.to_string()]);
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
            "the child that should die in the middle of the update ended: {status}, {last}"
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

    fn set_up(&mut self, place: &Place, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        let folder = place.folder.join(&config.key);
        let mut open = Open { server: None, folder, place: place.clone(), config: config.clone() };
        if kept::take(&open.folder, config)? {
            open.start(&self.past)?;
            self.open = Some(open);
            return Ok(vec![kept::SAID.into()]);
        }
        place.device.clear(&open.folder)?;
        for folder in open.volumes().values() {
            std::fs::create_dir_all(folder)?;
        }
        open.start(&self.past)?;
        let mut said = tsql::set_up(open.server()?, config, place.customers.as_deref())?;
        if let LogBlock::Forced(bytes) = config.block {
            let mut client = tsql::Server::connect(open.server()?, None)?;
            client.run(&format!("alter database {DATABASE} set log_alignment = {bytes}"))?;
            drop(client);
            // The alignment is taken when the log is opened.
            open.stop(&mut self.past)?;
            open.start(&self.past)?;
        }
        said.push(format!("Ringwood {}: buffer pool {} MB", env!("CARGO_PKG_VERSION"), config.memory >> 20));
        self.open = Some(open);
        Ok(said)
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match work {
            Work::Recovery(rows) => self.recovery(*rows),
            _ => tsql::run(self.open()?.0.server()?, work),
        }
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        let (open, past) = self.open()?;
        let mut counters =
            Counters { waits: tsql::waits(open.server()?)?, io: past.watch.counts(), ..Counters::default() };
        counters.add(&past.waits);
        Ok(counters)
    }

    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
        let open = self.open.as_ref()?;
        let folder = open.place.device.folder_of("log", &open.folder);
        Some((folder, open.place.device.disk(&open.folder, 1).ok()?))
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
    use crate::work::Durability;
    use std::collections::BTreeMap;

    #[test]
    fn counters_go_on_when_the_instance_is_opened_again() {
        let scratch = tempfile::tempdir().unwrap();
        let place = Place {
            folder: scratch.path().into(),
            device: Device::named(REAL, &BTreeMap::new()).unwrap(),
            customers: None,
            program: None,
        };
        let study = crate::studies::all(crate::frame::Scale::Tiny).remove(0);
        let config = Config { keep: false, customers: 0, ..study.arms[0].config.clone() };
        let mut target = Ringwood::default();
        target.set_up(&place, &config).unwrap();
        target.run(&Work::MakeOneRow).unwrap();
        let commits = Work::Commits(100, Durability::Full);
        target.run(&commits).unwrap();
        let before = target.counters().unwrap();
        let writes = |c: &Counters| c.waits.iter().find(|w| w.wait_type == "WRITELOG").map_or(0, |w| w.count);
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
