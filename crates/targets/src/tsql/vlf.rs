//! Where the log's end is among its VLFs, and how many there are.

use super::backup::release_log;
use super::setup::log_kb;
use super::{Connection, Server, number};
use crate::LabError;
use crate::work::Figure;
use std::collections::BTreeMap;

/// Most that is logged between two looks at the log's end, KB, and least.
const CHUNK_KB: (u64, u64) = (1 << 10, 192 << 10);
/// Updates of the filler row in one transaction.
const BATCH: u64 = 250;
/// Log of one of them, at least, KB.
const UPDATE_KB: u64 = 8;
/// A log of fewer VLFs needs no remedy.
const FEW: f64 = 200.0;
/// How often the log is shrunk at most: a quarter of it is left each time.
const SHRINKS: u32 = 8;

/// A virtual log file.
struct Vlf {
    offset: u64,
    sequence: u64,
}

/// The VLFs as `DBCC LOGINFO` lists them. SQL Server 2012 has put RecoveryUnitId before its
/// columns.
fn listed(client: &mut dyn Connection) -> Result<Vec<Vlf>, LabError> {
    let text = format!("dbcc loginfo({})", client.site().database);
    let rows = client.run(&text)?.sets.into_iter().next().unwrap_or_default();
    let vlf = |row: &Vec<Option<String>>| -> Option<Vlf> {
        let first = row.len().checked_sub(7)?;
        let number = |at: usize| row.get(first + at)?.as_ref()?.parse().ok();
        Some(Vlf { offset: number(2)?, sequence: number(3)? })
    };
    let vlfs: Option<Vec<Vlf>> = rows.iter().map(vlf).collect();
    vlfs.ok_or_else(|| {
        LabError::Request("DBCC LOGINFO does not list VLFs as it is known to".into())
    })
}

/// Bytes before the VLF in use, and its sequence number.
fn current(client: &mut dyn Connection) -> Result<Vlf, LabError> {
    let none = || LabError::Request("the log has no VLF in use".into());
    if !client.site().product.has_log_info() {
        return listed(client)?.into_iter().max_by_key(|v| v.sequence).ok_or_else(none);
    }
    let query = format!(
        "select top (1) vlf_begin_offset, vlf_sequence_number from sys.dm_db_log_info(db_id('{}')) \
         order by vlf_sequence_number desc",
        client.site().database
    );
    let row = client.run(&query)?.sets.into_iter().flatten().next().unwrap_or_default();
    let number = |at: usize| row.get(at)?.as_ref()?.parse().ok();
    number(0).zip(number(1)).map(|(offset, sequence)| Vlf { offset, sequence }).ok_or_else(none)
}

fn head(client: &mut dyn Connection) -> Result<u64, LabError> {
    Ok(current(client)?.offset)
}

/// What of the log is in use, KB.
pub fn used_kb(client: &mut dyn Connection) -> Result<u64, LabError> {
    let site = client.site();
    if site.product.has_log_space_usage() {
        let query = format!(
            "select used_log_space_in_bytes from {}.sys.dm_db_log_space_usage",
            site.database
        );
        return Ok(number(client, &query)? as u64 / 1024);
    }
    // Name, size in MB and used percent of each database.
    let name = site.database.clone();
    let reply = client.run("dbcc sqlperf(logspace)")?;
    let used = reply.sets.into_iter().flatten().find_map(|row| {
        let number = |at: usize| -> Option<f64> { row.get(at)?.as_ref()?.parse().ok() };
        (row.first()?.as_deref()? == name)
            .then(|| Some(number(1)? * 1024.0 * number(2)? / 100.0))?
    });
    let missing = || LabError::Request(format!("DBCC SQLPERF(LOGSPACE) does not list {name}"));
    used.map(|kb| kb as u64).ok_or_else(missing)
}

/// Logs at least so many KB.
pub(super) fn fill_log(client: &mut dyn Connection, kb: u64) -> Result<(), LabError> {
    client.run(
        "if object_id('filler') is null begin create table filler (a int not null, b char(8000) not null); \
         insert filler values (1, 'x') end",
    )?;
    let batches = kb.div_ceil(UPDATE_KB * BATCH);
    // A row that its transaction changed before is logged once a change: what it becomes, 8,000
    // bytes.
    client
        .run(&format!(
            "set nocount on; declare @i int = 0, @j int; while @i < {batches} begin begin tran; set @j = 0; \
             while @j < {BATCH} begin update filler set b = replicate(char(65 + @j % 26), 8000) where a = 1; set @j += 1 end; \
             commit; set @i += 1 end"
        ))
        .map(drop)
}

/// As [`place_head`] where a step does not have that space without it: to release the log before
/// each repeat of a short step takes longer than the step.
pub(super) fn keep_head(
    client: &mut dyn Connection,
    below_kb: u64,
    room_kb: u64,
) -> Result<(), LabError> {
    let size_kb = log_kb(client)?;
    if head(client)? / 1024 + room_kb <= below_kb && used_kb(client)? + 2 * room_kb <= size_kb {
        return Ok(());
    }
    place_head(client, below_kb, room_kb)
}

/// Moves the log's end on until it is in the first `below_kb` KB of the file with `room_kb` of them
/// before it. What the log held is released; then all VLFs but the one in use are free.
pub(super) fn place_head(
    client: &mut dyn Connection,
    below_kb: u64,
    room_kb: u64,
) -> Result<(), LabError> {
    let size_kb = log_kb(client)?;
    if room_kb * 10 > below_kb.min(size_kb) * 9 {
        return Err(LabError::Request(format!(
            "{room_kb} KB of log do not fit into the first {below_kb} KB of a log of {size_kb} KB"
        )));
    }
    // Once round the file and a little more is the farthest way.
    let mut way_kb = 2 * size_kb;
    loop {
        release_log(client)?;
        let at_kb = head(client)? / 1024;
        if at_kb + room_kb <= below_kb {
            return Ok(());
        }
        let chunk = (size_kb.saturating_sub(at_kb))
            .min(size_kb / 8)
            .clamp(CHUNK_KB.0.min(size_kb / 8), CHUNK_KB.1);
        fill_log(client, chunk)?;
        way_kb = way_kb.checked_sub(chunk).ok_or_else(|| {
            LabError::Request(format!(
                "the end of the log does not come to the first {below_kb} KB of its file"
            ))
        })?;
    }
}

/// How many there are.
pub(super) fn count(client: &mut dyn Connection) -> Result<f64, LabError> {
    Ok(listed(client)?.len() as f64)
}

/// The VLFs that DBCC LOGINFO lists.
pub(super) fn count_vlfs(client: &mut dyn Connection) -> Result<Vec<Figure>, LabError> {
    Ok(vec![Figure::new("VLFs", count(client)?)])
}

/// Shrinks a log of many pieces as far as it goes and grows it to its size in one step.
pub(super) fn remedy(client: &mut dyn Connection, to_kb: u64) -> Result<(), LabError> {
    if count(client)? <= FEW {
        return Ok(());
    }
    let database = client.site().database.clone();
    // A file is cut after the VLF in use, so the end of the log is moved to the file's first
    // quarter each time.
    for _ in 0..SHRINKS {
        if count(client)? <= FEW {
            break;
        }
        let size_kb = log_kb(client)?;
        place_head(client, size_kb / 4, 0)?;
        client.run(&format!("dbcc shrinkfile ({database}_log, 1)"))?;
    }
    client.run(&format!(
        "alter database {database} modify file (name = {database}_log, size = {to_kb}KB)"
    ))?;
    let left = count(client)?;
    if left > FEW {
        return Err(LabError::Request(format!(
            "the log still has {left} VLFs after it was shrunk"
        )));
    }
    Ok(())
}

/// Goes on into the next VLF: a change of the log's alignment takes effect there.
pub fn next_vlf(server: &dyn Server) -> Result<(), LabError> {
    let mut client = server.connect_in()?;
    let before = current(client.as_mut())?.sequence;
    while current(client.as_mut())?.sequence == before {
        fill_log(client.as_mut(), CHUNK_KB.0)?;
    }
    release_log(client.as_mut())
}

/// What the log has counted, by the names of results; empty where there is no such database.
pub fn log_counts(client: &mut dyn Connection) -> BTreeMap<String, i64> {
    let names = ["vlf_changes", "log_growths"].map(str::to_owned);
    let site = client.site();
    if site.product.ringwood {
        let query = format!(
            "select vlf_changes, log_growths from sys.dm_db_log_stats(db_id('{}'))",
            site.database
        );
        let Ok(reply) = client.run(&query) else { return BTreeMap::new() };
        let row = reply.sets.into_iter().flatten().next().unwrap_or_default();
        let value = |text: Option<String>| text.and_then(|t| t.parse().ok());
        return names
            .into_iter()
            .zip(row)
            .filter_map(|(name, v)| Some((name, value(v)?)))
            .collect();
    }
    let query = format!(
        "select cntr_value from sys.dm_os_performance_counters where counter_name = 'Log Growths' and instance_name = '{}'",
        site.database
    );
    let Ok(growths) = number(client, &query) else { return BTreeMap::new() };
    // A VLF that comes into use gets the next sequence number.
    let Ok(current) = current(client) else { return BTreeMap::new() };
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    names.into_iter().zip([number(current.sequence), growths as i64]).collect()
}
