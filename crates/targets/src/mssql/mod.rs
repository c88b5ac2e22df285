//! Any server that speaks TDS as a target: Ringwood's own, or SQL Server 2008 and later. Its files,
//! memory and statistics are its own; what it cannot do is refused as unsupported, with the reason,
//! and so is what needs a process to be ended where nobody says how (`--restart-with`). Every
//! configuration is a database; those that are not kept for the next round are dropped.

mod address;
mod client;
mod facts;
mod hook;
mod recovery;

pub use address::Address;
pub(crate) use address::without_password;
pub use client::{failed, log_in};
pub use hook::{Hook, HookAction};
pub use recovery::START;

use crate::device::Device;
use crate::tsql::{self, Server};
use crate::work::{Config, Counters, Figure, Knob, LogBlock, TsqlWork, Work};
use crate::{LabError, Target, TargetPlace, kept};
use client::Wire;
use facts::ServerFacts;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A server of somebody's.
pub(crate) struct Mssql {
    address: Address,
    hook: Option<Hook>,
    server: Option<(Wire, ServerFacts)>,
    open: Option<Configured>,
    /// What was counted by processes of the server that this target has ended: each begins at zero.
    past: Counters,
}

/// The configuration that is there.
struct Configured {
    config: Config,
    /// The lab's own scratch folder, which says what is kept on the server.
    folder: PathBuf,
}

/// How long a database may be in use by connections that are just being closed.
const IN_USE: Duration = Duration::from_secs(20);

impl Mssql {
    /// The server at that address, which nobody has spoken to yet.
    pub fn new(address: &str, hook: Option<Hook>) -> Result<Mssql, LabError> {
        Ok(Mssql { hook, ..Mssql::at(Address::parse(address)?) })
    }

    /// The server at that address, of which nobody says how it is ended and started.
    pub fn at(address: Address) -> Mssql {
        Mssql { address, hook: None, server: None, open: None, past: Counters::default() }
    }

    /// The server; logs in the first time.
    fn server(&mut self) -> Result<&mut (Wire, ServerFacts), LabError> {
        if self.server.is_none() {
            let nowhere = tsql::EMBEDDED.clone();
            let mut facts = ServerFacts::ask(
                Wire::new(self.address.clone(), nowhere).connect(None)?.as_mut(),
                &self.address,
            )?;
            facts.said.push(match &self.hook {
                Some(_) => {
                    "recovery is from the start of the server's process to the first answer of the database"
                        .into()
                }
                None => "no --restart-with: what needs the server to be ended is left out".into(),
            });
            let site = facts.site("master".into());
            self.server = Some((Wire::new(self.address.clone(), site), facts));
        }
        self.server.as_mut().ok_or_else(|| LabError::Request("no server".into()))
    }

    fn wire(&mut self) -> Result<&mut Wire, LabError> {
        Ok(&mut self.server()?.0)
    }

    /// Drops a database that is there.
    fn drop_database(&mut self, name: &str) -> Result<(), LabError> {
        self.wire()?.set_database("master".into());
        let begin = Instant::now();
        loop {
            let mut client = self.wire()?.connect(None)?;
            let there = tsql::number(
                client.as_mut(),
                &format!("select count(*) from sys.databases where name = '{name}'"),
            )?;
            if there == 0.0 {
                return Ok(());
            }
            let dropped = client
                .run(&format!("alter database {name} set single_user with rollback immediate"))
                .and_then(|_| client.run(&format!("drop database {name}")));
            match dropped {
                Ok(_) => return Ok(()),
                Err(error) if begin.elapsed() > IN_USE => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Databases of the studies whose scratch folder that is.
    fn ours(&mut self, folder: &Path) -> Result<Vec<String>, LabError> {
        let beginning = database_name(folder, "").replace('_', "\\_");
        let query =
            format!("select name from sys.databases where name like '{beginning}%' escape '\\'");
        let reply = self.wire()?.connect(None)?.run(&query)?;
        Ok(reply
            .sets
            .into_iter()
            .flatten()
            .filter_map(|row| row.into_iter().next().flatten())
            .collect())
    }

    /// Sets the unit of log writes, which takes effect when the log is opened, and then with its
    /// next VLF.
    fn set_block(&mut self, block: LogBlock) -> Result<(), LabError> {
        let alignment = match block {
            LogBlock::Default => return Ok(()),
            LogBlock::Flag1800 => {
                let why = "trace flag 1800 is for a whole server and set at its start: start it with -T1800 and take the level `default`";
                return Err(LabError::Unsupported(why.into()));
            }
            _ if !self.server()?.1.product.ringwood => {
                let why = "SQL Server takes the unit of its log writes from the sector that the device reports";
                return Err(LabError::Unsupported(why.into()));
            }
            LogBlock::Device => "device".to_owned(),
            LogBlock::Forced(bytes) => bytes.to_string(),
        };
        let wire = self.wire()?;
        let database = wire.site().database.clone();
        wire.forget();
        let mut client = wire.connect(None)?;
        for what in
            [&*format!("log_alignment = {alignment}"), "offline with rollback immediate", "online"]
        {
            client.run(&format!("alter database {database} set {what}"))?;
        }
        tsql::next_vlf(wire)
    }

    /// Makes the database of a configuration, or takes a kept one; in words, without those of the
    /// server.
    pub(super) fn set_up_database(
        &mut self,
        place: &TargetPlace,
        config: &Config,
    ) -> Result<Vec<String>, LabError> {
        self.tear_down()?;
        let name = database_name(&place.folder, &config.key);
        let folder = place.folder.join(&config.key);
        let kept = kept::take(&folder, config)?
            && !place.fresh
            && self.ours(&place.folder)?.contains(&name);
        if !kept {
            self.drop_database(&name)?;
            std::fs::create_dir_all(&folder)?;
        }
        self.wire()?.set_database(name);
        self.open = Some(Configured { config: config.clone(), folder });
        if kept {
            return Ok(vec![kept::MADE_EARLIER.into()]);
        }
        let said = tsql::set_up(self.wire()?, config, place.customers.as_deref())?;
        self.set_block(config.block)?;
        Ok(said)
    }
}

/// The name of a configuration's database, from the lab's scratch folder of its study.
fn database_name(folder: &Path, key: &str) -> String {
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = format!("lab_{}_{key}", folder.trim_start_matches("scratch-"));
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

impl Target for Mssql {
    fn name(&self) -> &'static str {
        "mssql"
    }

    fn title(&self) -> &'static str {
        "the server"
    }

    fn speaks_tsql(&self) -> bool {
        true
    }

    fn has_own_disk(&self) -> bool {
        !self.address.is_local()
    }

    fn is_ours(&self) -> bool {
        false
    }

    fn arrays(&self, _: &Device) -> u32 {
        1 + u32::from(self.address.folders[1].is_some())
    }

    fn knob(&self, knob: Knob) -> Result<&'static str, &'static str> {
        Ok(match knob {
            Knob::LogPieces => "virtual log files, made by the growth steps of the log",
            Knob::DataFiles => "files of the primary filegroup",
            Knob::Durability => "ALTER DATABASE ... SET DELAYED_DURABILITY",
            Knob::LogGrowth => "FILEGROWTH of the log",
            Knob::LogBlock => {
                "ALTER DATABASE ... SET LOG_ALIGNMENT of Ringwood; of SQL Server the sector of the log's device, or -T1800"
            }
        })
    }

    fn set_up(&mut self, place: &TargetPlace, config: &Config) -> Result<Vec<String>, LabError> {
        let said = self.set_up_database(place, config)?;
        match said == [kept::MADE_EARLIER] {
            true => Ok(said),
            false => Ok([said, self.server()?.1.said.clone()].concat()),
        }
    }

    fn run(&mut self, work: &Work) -> Result<Vec<Figure>, LabError> {
        match work {
            Work::Recovery(rows) => self.recovery(*rows),
            Work::Tsql(TsqlWork::Loss { rows, window_kb, end }) => {
                self.loss(*rows, *window_kb, *end)
            }
            _ => tsql::run(self.wire()?, work),
        }
    }

    fn counters(&mut self) -> Result<Counters, LabError> {
        let mut counters = facts::counters(self.wire()?.connect(None)?.as_mut())?;
        counters.add(&self.past);
        Ok(counters)
    }

    fn log_folder(&self) -> Option<(PathBuf, Arc<dyn disk::Disk>)> {
        let site = self.server.as_ref()?.0.site();
        let folder = PathBuf::from(&site.folders.log);
        // A server in a container may have a folder of the same name: the log itself must be there.
        let log = folder.join(format!("{}_log.ldf", site.database));
        if !self.address.is_local() || !log.exists() {
            return None;
        }
        Some((folder.clone(), Arc::new(disk::OsDisk::new(&folder))))
    }

    fn tear_down(&mut self) -> Result<(), LabError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if open.config.keep {
            return kept::leave(&open.folder, &open.config);
        }
        let name = self.wire()?.site().database.clone();
        self.drop_database(&name)
    }

    fn clear(&mut self, folder: &Path) -> Result<(), LabError> {
        self.open = None;
        for name in self.ours(folder)? {
            self.drop_database(&name)?;
            let backups = self.server()?.1.folders.backup.clone();
            if self.address.is_local() {
                for ending in [".bak", ".trn", "_full.bak"] {
                    // Where the server's files are not this machine's there is nothing.
                    let _ = std::fs::remove_file(format!("{backups}{name}{ending}"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_called_after_study_and_configuration() {
        let folder = Path::new("/out/scratch-vlf-count-mssql-real");
        assert_eq!(
            database_name(folder, "20000,-remedied"),
            "lab_vlf_count_mssql_real_20000__remedied"
        );
        assert!(database_name(folder, "16").starts_with(&database_name(folder, "")));
    }
}
