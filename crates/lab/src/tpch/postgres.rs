//! PostgreSQL on a scratch folder that is kept, one process for each query (no parallel workers),
//! statistics made after the load.

use std::time::{Duration, Instant};

use super::{Engine, QueryRun, TpchOptions};
use crate::LabError;
use targets::device::{Device, REAL};
use targets::work::{Config, DataLayout, LogBlock, LogLayout};
use targets::{Postgres, Target, TargetPlace};

pub(super) struct Server(Postgres);

/// Starts the server, and loads the tables where they are not there yet.
pub(super) fn open(options: &TpchOptions, say: &mut dyn FnMut(&str)) -> Result<Server, LabError> {
    let folder = options.folder.join(format!("postgres-{}", options.scale));
    std::fs::create_dir_all(&folder)?;
    let device = Device::named(REAL, &std::collections::BTreeMap::new())?;
    let place = TargetPlace { folder, device, customers: None, program: None, fresh: false };
    let log_kb = 1 << 20;
    let config = Config {
        key: "tpch".into(),
        memory: options.memory,
        data: DataLayout { files: 1, arrays: 1, size_kb: 0 },
        log: LogLayout { initial_kb: log_kb, growth_kb: 64 << 10, fill_to_kb: 0, final_kb: log_kb },
        block: LogBlock::Default,
        full_recovery: false,
        customers: 0,
        keep: true,
        commit_memory: false,
        limit_s: options.limit,
        processors: None,
    };
    let mut server = Postgres::default();
    server.set_up(&place, &config)?;
    let mut server = Server(server);
    for table in tpch::TABLES {
        let known = format!("select relname from pg_class where relname = '{}'", table.name);
        if server.0.query_rows(&known)?.is_empty() {
            load(&mut server, &table, options.scale, say)?;
        }
    }
    // One thread each; memory for hashes and sorts as Ringwood has it.
    server.0.execute("set max_parallel_workers_per_gather = 0; set work_mem = '1GB'")?;
    Ok(server)
}

fn load(
    server: &mut Server,
    table: &tpch::Table,
    scale: f64,
    say: &mut dyn FnMut(&str),
) -> Result<(), LabError> {
    let begin = Instant::now();
    server.0.execute("begin")?;
    server.0.execute(table.create)?;
    let mut count = 0u64;
    server.0.copy_in(table.name, &mut |out| {
        let mut line = String::new();
        for row in tpch::rows(table.name, scale) {
            line.clear();
            for (i, value) in row.iter().enumerate() {
                if i > 0 {
                    line.push('|');
                }
                line += &types::display::format_value(value, value.natural_type());
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
            count += 1;
        }
        Ok(())
    })?;
    server.0.execute("commit")?;
    server.0.execute(&format!("vacuum (analyze, freeze) {}", table.name))?;
    let seconds = begin.elapsed().as_secs_f64();
    say(&format!("PostgreSQL: {count} rows of {} in {seconds:.1} s", table.name));
    Ok(())
}

impl Engine for Server {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn run(&mut self, query: &str, limit: Duration) -> Result<QueryRun, LabError> {
        self.0.execute(&format!("set statement_timeout = '{}s'", limit.as_secs()))?;
        let text = tpch::for_postgres(query);
        let begin = Instant::now();
        let result = self.0.query_rows(&text);
        let seconds = begin.elapsed().as_secs_f64();
        match result {
            Ok(rows) => Ok(QueryRun { seconds, rows: Some(rows) }),
            Err(LabError::TimeLimit(_)) => Ok(QueryRun { seconds, rows: None }),
            Err(e) => Err(e),
        }
    }
}
