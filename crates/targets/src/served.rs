//! Ringwood as its clients have it: a `ringwood serve` of the lab's own, spoken to over TDS on a
//! loopback socket. What is measured there has the round trip and the switches of processes that a
//! client of another server pays too. Each configuration has a server of its own, which runs while
//! the configuration is up.

use crate::kept::MADE_EARLIER;
use crate::mssql::Mssql;
use crate::own_server::OwnServer;
use crate::ringwood::Ringwood;
use crate::work::{Config, Counters, Figure, Knob, Work};
use crate::{LabError, Target, TargetPlace};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Its name in a table of engines.
pub const TITLE: &str = "Ringwood, served";

/// Servers of our own.
#[derive(Default)]
pub struct OwnServers {
    /// By their folders. Only the one that started a server knows its password.
    servers: HashMap<PathBuf, OwnServer>,
    open: Option<OpenServer>,
}

/// The configuration that is up.
struct OpenServer {
    folder: PathBuf,
    target: Mssql,
    keep: bool,
}

/// The folder of a configuration's server.
fn folder_of(place: &Path, config: &Config) -> PathBuf {
    place.join(&config.key).join("server")
}

impl OwnServers {
    fn target(&mut self) -> Result<&mut Mssql, LabError> {
        let missing = || LabError::Request("Ringwood is not served".into());
        self.open.as_mut().map(|open| &mut open.target).ok_or_else(missing)
    }

    /// Removes a server that is stopped, and all of its files.
    fn remove(&mut self, folder: &Path) -> Result<(), LabError> {
        self.servers.remove(folder);
        match std::fs::remove_dir_all(folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }
}

impl Target for OwnServers {
    fn name(&self) -> &'static str {
        "served"
    }

    fn title(&self) -> &'static str {
        TITLE
    }

    fn speaks_tsql(&self) -> bool {
        true
    }

    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str> {
        Ringwood::default().knob(knob)
    }

    fn set_up(&mut self, place: &TargetPlace, config: &Config) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        let missing =
            || LabError::Unsupported("this needs the ringwood command, which serves".into());
        let program = place.program.clone().ok_or_else(missing)?;
        let folder = folder_of(&place.folder, config);
        let fresh = place.fresh || !self.servers.contains_key(&folder);
        if fresh {
            self.remove(&folder)?;
            let server = OwnServer::new(program, folder.clone(), Some(config.memory));
            self.servers.insert(folder.clone(), server);
        }
        let Some(server) = self.servers.get_mut(&folder) else { return Err(missing()) };
        server.start()?;
        let (address, how) = (server.address()?, server.said());
        let mut target = Mssql::at(address);
        let said = target.set_up_database(&TargetPlace { fresh, ..place.clone() }, config)?;
        self.open = Some(OpenServer { folder, target, keep: config.keep });
        if said == [MADE_EARLIER] { Ok(said) } else { Ok([said, vec![how]].concat()) }
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        self.target()?.run(work)
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        self.target()?.counters()
    }

    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
        self.open.as_ref()?.target.log_folder()
    }

    fn tear_down(&mut self) -> Result<(), LabError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let torn_down = open.target.tear_down();
        drop(open.target);
        let stopped = self.servers.get_mut(&open.folder).map_or(Ok(()), OwnServer::stop);
        if !open.keep {
            self.remove(&open.folder)?;
        }
        torn_down.and(stopped)
    }

    fn clear(&mut self, _: &Path) -> Result<(), LabError> {
        self.tear_down()?;
        let all: Vec<PathBuf> = self.servers.keys().cloned().collect();
        all.iter().try_for_each(|folder| self.remove(folder))
    }
}
