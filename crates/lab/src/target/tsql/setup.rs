//! The database of a configuration: its files, the log with its pieces, the rows that studies copy.

use super::{Connection, DATABASE, Server, backup, customer_named, number};
use crate::LabError;
use crate::work::Config;
use std::path::Path;

/// Drive of the n-th data file: E, and G for every other file when there are two arrays.
pub(super) fn drive(file: u32, arrays: u32) -> char {
    if arrays > 1 && file % 2 == 1 { 'G' } else { 'E' }
}

/// CREATE DATABASE with the files of a configuration: data on E: (and G:), log on F:.
pub fn create_database(config: &Config) -> String {
    let each_kb = (config.data.size_kb / u64::from(config.data.files.max(1))).max(4096) / 64 * 64;
    let files: Vec<String> = (0..config.data.files.max(1))
        .map(|i| {
            let (name, ending) = match i {
                0 => (DATABASE.to_owned(), "mdf"),
                _ => (format!("{DATABASE}_{}", i + 1), "ndf"),
            };
            let drive = drive(i, config.data.arrays);
            format!(
                "(name = {name}, filename = '{drive}:\\{name}.{ending}', size = {each_kb}KB, filegrowth = 65536KB)"
            )
        })
        .collect();
    format!(
        "create database {DATABASE} on primary {} log on (name = {DATABASE}_log, filename = 'F:\\{DATABASE}_log.ldf', \
         size = {}KB, filegrowth = {}KB)",
        files.join(", "),
        config.log.initial_kb,
        config.log.growth_kb
    )
}

/// Makes the database of a configuration; what was made, in words.
/// The compatibility level is 100: growths make virtual log files by the rule of the authors' SQL Server 2008.
pub fn set_up(
    server: &dyn Server,
    config: &Config,
    customers: Option<&Path>,
) -> Result<Vec<String>, LabError> {
    let mut client = server.connect(None)?;
    let client = client.as_mut();
    client.run(&create_database(config))?;
    client.run(&format!("alter database {DATABASE} set compatibility_level = 100"))?;
    client.run(&format!("alter database {DATABASE} set recovery simple"))?;
    client.run(&format!("use {DATABASE}"))?;
    if config.log.fill_to_kb > 0 {
        grow_by_steps(server, client, config.log.fill_to_kb)?;
    }
    if log_kb(client)? < config.log.final_kb {
        let size = config.log.final_kb;
        client.run(&format!(
            "alter database {DATABASE} modify file (name = {DATABASE}_log, size = {size}KB)"
        ))?;
    }
    if let Some(file) = customers.filter(|_| config.customers > 0) {
        client.run(&customer_named("source"))?;
        client.run(&format!(
            "bulk insert source from '{}' with (fieldterminator = '|', rowterminator = '0x0a', tablock)",
            file.display().to_string().replace('\'', "''")
        ))?;
    }
    let mut said = Vec::new();
    if config.full_recovery {
        client.run(&format!("alter database {DATABASE} set recovery full"))?;
        if let Err(LabError::Unsupported(why)) = start_log_chain(client) {
            client.run(&format!("alter database {DATABASE} set recovery simple"))?;
            said.push(format!("recovery model SIMPLE instead of FULL: {why}"));
        }
    }
    client.run("checkpoint")?;
    let vlfs = number(client, &format!("select count(*) from sys.dm_db_log_info(db_id('{DATABASE}'))"))?;
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

/// Grows the log by its own steps, as the author did: an open transaction holds truncation while another session fills
/// a dummy table of char(8000).
fn grow_by_steps(server: &dyn Server, client: &mut dyn Connection, to_kb: u64) -> Result<(), LabError> {
    client.run("create table dummy (a char(8000)); create table holder (a int)")?;
    let mut holder = server.connect(Some(DATABASE))?;
    holder.run("begin tran; insert holder values (1)")?;
    while log_kb(client)? < to_kb {
        client.run(
            "set nocount on; declare @i int = 0; begin tran; \
             while @i < 500 begin insert dummy values ('x'); set @i += 1 end; commit",
        )?;
    }
    holder.run("commit")?;
    client.run("truncate table dummy; checkpoint; drop table dummy; drop table holder; checkpoint")?;
    Ok(())
}

fn start_log_chain(client: &mut dyn Connection) -> Result<(), LabError> {
    client.run(&format!("backup database {DATABASE} to disk = 'H:\\{DATABASE}.bak' with init"))?;
    backup::log_backup(client).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_round_the_arrays() {
        let all: String = (0..4).map(|i| drive(i, 2)).collect();
        assert_eq!(all, "EGEG");
        assert_eq!(drive(3, 1), 'E');
    }
}
