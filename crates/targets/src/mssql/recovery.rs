//! Work for which the server's process ends: recovery after a kill, and commits that a kill or a
//! stop loses.

use super::Mssql;
use super::hook::{Hook, HookAction};
use crate::tsql::{self, Server};
use crate::work::{Figure, ProcessEnd};
use crate::{LabError, Target};
use std::time::{Duration, Instant};

/// How long a server may take from its start to its first answer.
pub const START: Duration = Duration::from_secs(1800);
/// Log of an updated customer, bytes: 500 before and 500 after; the kill comes when half of it is
/// there.
const UPDATE_BYTES: u64 = 500;

impl Mssql {
    fn hook(&self) -> Result<Hook, LabError> {
        let missing = || {
            LabError::Unsupported(
                "no --restart-with says how the server is ended and started".into(),
            )
        };
        self.hook.clone().ok_or_else(missing)
    }

    /// Ends the server; what it has counted is kept.
    fn end(&mut self, hook: &Hook, action: HookAction) -> Result<(), LabError> {
        self.past = Target::counters(self)?;
        hook.run(action)?;
        self.wire()?.forget();
        Ok(())
    }

    /// Starts the server; seconds to the first answer of the study's database.
    fn start(&mut self, hook: &Hook) -> Result<f64, LabError> {
        let begin = Instant::now();
        hook.run(HookAction::Start)?;
        loop {
            let answered =
                self.wire()?.connect_in().and_then(|mut c| tsql::number(c.as_mut(), "select 1"));
            match answered {
                Ok(_) => return Ok(begin.elapsed().as_secs_f64()),
                Err(error) if begin.elapsed() > START => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Kills the server in the middle of the update of that many rows, then measures its start.
    pub(super) fn recovery(&mut self, rows: u64) -> Result<Vec<Figure>, LabError> {
        let hook = self.hook()?;
        let wire = self.wire()?;
        let mut watcher = wire.connect_in()?;
        // Both levels are to recover the same: not what an automatic checkpoint has left that ended
        // just before the kill, or not.
        watcher.run("dbcc traceon(3505, -1)")?;
        watcher.run("checkpoint")?;
        let start = tsql::used_kb(watcher.as_mut())?;
        let mut updater = wire.connect_in()?;
        // The transaction stays open, so that a short update too is never committed.
        let updating = std::thread::spawn(move || {
            let result = updater.run(&format!("begin tran; {}", tsql::UPDATE));
            (updater, result.is_ok())
        });
        while !updating.is_finished()
            && (tsql::used_kb(watcher.as_mut())? - start) * 1024 < rows * UPDATE_BYTES
        {
            std::thread::sleep(Duration::from_micros(200));
        }
        drop(watcher);
        self.end(&hook, HookAction::Kill)?;
        // The killed server's connection; an update that had ended by itself has left its
        // transaction open, or has failed.
        drop(updating.join());
        let seconds = self.start(&hook)?;
        let kept = "select count_big(*) from customer where c_data = lower(c_data) collate Latin1_General_BIN2";
        if tsql::number(self.wire()?.connect_in()?.as_mut(), kept)? != 0.0 {
            return Err(LabError::Request(
                "recovery kept rows of the update that never committed".into(),
            ));
        }
        Ok(Figure::seconds(seconds))
    }

    /// Commits rows with delayed durability, ends the server in that way, and counts what is
    /// missing.
    pub(super) fn loss(
        &mut self,
        rows: u64,
        window_kb: u32,
        end: ProcessEnd,
    ) -> Result<Vec<Figure>, LabError> {
        const COUNT: &str = "select count_big(*) from one_row";
        let hook = self.hook()?;
        let wire = self.wire()?;
        let work = tsql::delayed_commits(wire.site(), rows, window_kb)?;
        let mut client = wire.connect_in()?;
        let before = tsql::number(client.as_mut(), COUNT)?;
        // Read beforehand: whatever is asked after the commits gives them time to become durable.
        self.past = Target::counters(self)?;
        client.run(&work)?;
        if end == ProcessEnd::FlushThenKill {
            client.run("exec sys.sp_flush_log")?;
        }
        hook.run(if end == ProcessEnd::Stop { HookAction::Stop } else { HookAction::Kill })?;
        drop(client);
        self.wire()?.forget();
        self.start(&hook)?;
        let mut client = self.wire()?.connect_in()?;
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
