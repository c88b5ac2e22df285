//! The database of a configuration: its files, the log with its pieces, the rows that studies copy.

use super::{Connection, Server, Site, backup, customer_named, number, vlf};
use crate::LabError;
use crate::work::Config;
use std::path::Path;

/// CREATE DATABASE with the files of a configuration.
fn create_database(site: &Site, config: &Config) -> String {
    let each_kb = (config.data.size_kb / u64::from(config.data.files.max(1)))
        .max(site.least_data_kb)
        .next_multiple_of(64);
    let files: Vec<String> = (0..config.data.files.max(1))
        .map(|i| {
            let (name, path) = (site.file_name(i), site.data_file(i, config.data.arrays));
            format!("(name = {name}, filename = {path}, size = {each_kb}KB, filegrowth = 65536KB)")
        })
        .collect();
    format!(
        "create database {0} on primary {1} log on (name = {0}_log, filename = {2}, size = {3}KB, filegrowth = {4}KB)",
        site.database,
        files.join(", "),
        site.log_file(),
        config.log.initial_kb,
        config.log.growth_kb
    )
}

/// Makes the database of a configuration; what was made, in words. The compatibility level is 100:
/// in Ringwood growths make virtual log files by the rule of the authors' SQL Server 2008 then.
pub fn set_up(
    server: &dyn Server,
    config: &Config,
    customers: Option<&Path>,
) -> Result<Vec<String>, LabError> {
    let mut client = server.connect(None)?;
    let client = client.as_mut();
    let site = server.site();
    let database = &site.database;
    client.run(&create_database(site, config))?;
    client.run(&format!("alter database {database} set compatibility_level = 100"))?;
    client.run(&format!("alter database {database} set recovery simple"))?;
    client.run(&format!("use {database}"))?;
    if config.log.fill_to_kb > 0 {
        grow_by_steps(server, client, config.log.fill_to_kb)?;
    }
    if log_kb(client)? < config.log.final_kb {
        let size = config.log.final_kb;
        client.run(&format!(
            "alter database {database} modify file (name = {database}_log, size = {size}KB)"
        ))?;
    }
    if let Some(file) = customers.filter(|_| config.customers > 0) {
        client.run(&customer_named("source"))?;
        server.load_customers("source", file)?;
    }
    let mut said = Vec::new();
    if config.full_recovery {
        client.run(&format!("alter database {database} set recovery full"))?;
        if let Err(LabError::Unsupported(why)) = start_log_chain(client) {
            client.run(&format!("alter database {database} set recovery simple"))?;
            said.push(format!("recovery model SIMPLE instead of FULL: {why}"));
        }
    }
    client.run("checkpoint")?;
    let vlfs = vlf::count(client)?;
    said.insert(
        0,
        format!(
            "{}: {} data file(s) of {} MB together, log {} MB in {vlfs:.0} VLFs",
            config.key,
            config.data.files,
            config.data.size_kb / 1024,
            log_kb(client)? / 1024
        ),
    );
    Ok(said)
}

pub(super) fn log_kb(client: &mut dyn Connection) -> Result<u64, LabError> {
    Ok(number(client, "select size from sys.database_files where type = 1")? as u64 * 8)
}

/// Grows the log by its own steps, as the author did: an open transaction holds truncation while
/// another session fills a dummy table of char(8000).
fn grow_by_steps(
    server: &dyn Server,
    client: &mut dyn Connection,
    to_kb: u64,
) -> Result<(), LabError> {
    client.run("create table dummy (a char(8000)); create table holder (a int)")?;
    let mut holder = server.connect_in()?;
    holder.run("begin tran; insert holder values (1)")?;
    while log_kb(client)? < to_kb {
        client.run(
            "set nocount on; declare @i int = 0; begin tran; \
             while @i < 500 begin insert dummy values ('x'); set @i += 1 end; commit",
        )?;
    }
    holder.run("commit")?;
    client
        .run("truncate table dummy; checkpoint; drop table dummy; drop table holder; checkpoint")?;
    Ok(())
}

fn start_log_chain(client: &mut dyn Connection) -> Result<(), LabError> {
    let site = client.site();
    let text =
        format!("backup database {} to disk = {} with init", site.database, site.backup(".bak"));
    client.run(&text)?;
    backup::log_backup(client).map(drop)
}
