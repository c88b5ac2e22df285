//! Settings that no study turns: each of their values is tried in turns, and the best is kept.

use super::{OpenPostgres, run_all, value};
use crate::LabError;
use crate::work::{Durability, Work};
use std::time::{Duration, Instant};

/// A setting with its value.
pub(super) type Setting = (&'static str, String);

impl OpenPostgres {
    /// Sets a setting of the whole server and waits until this connection has it. Errors: this
    /// build does not have the value.
    pub(super) fn set(&mut self, name: &str, to: &str) -> Result<(), LabError> {
        let client = self.client()?;
        run_all(
            client,
            &[&format!("alter system set {name} = '{to}'"), "select pg_reload_conf()"],
        )?;
        let begin = Instant::now();
        while value(client, &format!("show {name}"))? != to {
            if begin.elapsed() > Duration::from_secs(10) {
                return Err(LabError::Request(format!("PostgreSQL does not take {name} = {to}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Takes the value of a setting with which `cost` is least: that value, and what was found in
    /// words.
    fn best(
        &mut self,
        name: &str,
        values: &[&'static str],
        cost: &mut dyn FnMut(&mut OpenPostgres) -> Result<f64, LabError>,
    ) -> Result<(&'static str, String), LabError> {
        let mut costs: Vec<(Vec<f64>, &'static str)> =
            values.iter().map(|v| (vec![], *v)).collect();
        // In turns: the machine's pace is not a value's merit.
        for _ in 0..3 {
            for (costs, value) in &mut costs {
                // What this build was made without, it refuses.
                if self.set(name, value).is_ok() {
                    costs.push(cost(self)?);
                }
            }
        }
        let median = |(costs, value): (Vec<f64>, _)| Some((stats::median(&costs)?, value));
        let mut tried: Vec<(f64, &'static str)> = costs.into_iter().filter_map(median).collect();
        tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = tried
            .first()
            .ok_or_else(|| LabError::Request(format!("PostgreSQL takes no {name}")))?
            .1;
        self.set(name, best)?;
        let all: Vec<String> =
            tried.iter().map(|(cost, value)| format!("{value} {cost:.4} s")).collect();
        Ok((best, format!("PostgreSQL, {name}: {best} is the best of {}", all.join(", "))))
    }

    /// The settings with their best values, and what was found in words.
    pub(super) fn tune(&mut self) -> Result<(Vec<Setting>, Vec<String>), LabError> {
        self.work(&Work::MakeOneRow)?;
        let methods = ["fdatasync", "open_datasync", "fsync", "open_sync"];
        let mut commits =
            |open: &mut OpenPostgres| Ok(open.commits(1_000, Durability::Full)?[0].value);
        let (method, said) = self.best("wal_sync_method", &methods, &mut commits)?;
        let method = ("wal_sync_method", method.to_owned());
        if self.config.customers == 0 {
            return Ok((vec![method], vec![said]));
        }
        let mut update = |open: &mut OpenPostgres| -> Result<f64, LabError> {
            open.make_customer()?;
            let figures = [open.customers(&Work::Update)?, open.timed("checkpoint")?].concat();
            Ok(figures.iter().map(|f| f.value).sum())
        };
        let methods = ["off", "pglz", "lz4", "zstd"];
        let (compression, more) = self.best("wal_compression", &methods, &mut update)?;
        Ok((vec![method, ("wal_compression", compression.to_owned())], vec![said, more]))
    }
}
