//! Where the log's end is among its VLFs, and how many there are.

use super::backup::release_log;
use super::setup::log_kb;
use super::{Connection, DATABASE, Server, number};
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

/// Bytes before the VLF in use.
fn head(client: &mut dyn Connection) -> Result<u64, LabError> {
    let query = format!(
        "select top (1) vlf_begin_offset from sys.dm_db_log_info(db_id('{DATABASE}')) order by vlf_sequence_number desc"
    );
    Ok(number(client, &query)? as u64)
}

/// What of the log is in use, KB.
fn used_kb(client: &mut dyn Connection) -> Result<u64, LabError> {
    let query = format!("select used_log_space_in_bytes from {DATABASE}.sys.dm_db_log_space_usage");
    Ok(number(client, &query)? as u64 / 1024)
}

/// Logs at least so many KB.
pub(super) fn fill_log(client: &mut dyn Connection, kb: u64) -> Result<(), LabError> {
    client.run(
        "if object_id('filler') is null begin create table filler (a int not null, b char(8000) not null); \
         insert filler values (1, 'x') end",
    )?;
    let batches = kb.div_ceil(UPDATE_KB * BATCH);
    // A row that its transaction changed before is logged once a change: what it becomes, 8,000 bytes.
    client
        .run(&format!(
            "set nocount on; declare @i int = 0, @j int; while @i < {batches} begin begin tran; set @j = 0; \
             while @j < {BATCH} begin update filler set b = replicate(char(65 + @j % 26), 8000) where a = 1; set @j += 1 end; \
             commit; set @i += 1 end"
        ))
        .map(drop)
}

/// As [`place_head`] where a step does not have that space without it: to release the log before each repeat of a short step takes
/// longer than the step.
pub(super) fn keep_head(client: &mut dyn Connection, below_kb: u64, room_kb: u64) -> Result<(), LabError> {
    let size_kb = log_kb(client)?;
    if head(client)? / 1024 + room_kb <= below_kb && used_kb(client)? + 2 * room_kb <= size_kb {
        return Ok(());
    }
    place_head(client, below_kb, room_kb)
}

/// Moves the log's end on until it is in the first `below_kb` KB of the file with `room_kb` of them before it. What the log
/// held is released; then all VLFs but the one in use are free.
pub(super) fn place_head(client: &mut dyn Connection, below_kb: u64, room_kb: u64) -> Result<(), LabError> {
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
        let chunk =
            (size_kb.saturating_sub(at_kb)).min(size_kb / 8).clamp(CHUNK_KB.0.min(size_kb / 8), CHUNK_KB.1);
        fill_log(client, chunk)?;
        way_kb = way_kb.checked_sub(chunk).ok_or_else(|| {
            LabError::Request(format!(
                "the end of the log does not come to the first {below_kb} KB of its file"
            ))
        })?;
    }
}

fn count(client: &mut dyn Connection) -> Result<f64, LabError> {
    let reply = client.run(&format!("dbcc loginfo({DATABASE})"))?;
    Ok(reply.sets.first().map_or(0, Vec::len) as f64)
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
    // A file is cut after the VLF in use, so the end of the log is moved to the file's first quarter each time.
    for _ in 0..SHRINKS {
        if count(client)? <= FEW {
            break;
        }
        let size_kb = log_kb(client)?;
        place_head(client, size_kb / 4, 0)?;
        client.run(&format!("dbcc shrinkfile ({DATABASE}_log, 1)"))?;
    }
    client
        .run(&format!("alter database {DATABASE} modify file (name = {DATABASE}_log, size = {to_kb}KB)"))?;
    let left = count(client)?;
    if left > FEW {
        return Err(LabError::Request(format!("the log still has {left} VLFs after it was shrunk")));
    }
    Ok(())
}

/// Goes on into the next VLF: a change of the log's alignment takes effect there.
pub fn next_vlf(server: &dyn Server) -> Result<(), LabError> {
    let mut client = server.connect(Some(DATABASE))?;
    let changes = |client: &mut dyn Connection| log_counts(client).get("vlf_changes").copied().unwrap_or(1);
    while changes(client.as_mut()) < 1 {
        fill_log(client.as_mut(), CHUNK_KB.0)?;
    }
    release_log(client.as_mut())
}

/// What the log has counted, by the names of results; empty where the server does not say.
pub fn log_counts(client: &mut dyn Connection) -> BTreeMap<String, i64> {
    let query = format!("select vlf_changes, log_growths from sys.dm_db_log_stats(db_id('{DATABASE}'))");
    let Ok(reply) = client.run(&query) else { return BTreeMap::new() };
    let row = reply.sets.into_iter().flatten().next().unwrap_or_default();
    let names = ["vlf_changes", "log_growths"];
    let value = |text: Option<String>| text.and_then(|t| t.parse().ok());
    names.into_iter().zip(row).filter_map(|(name, v)| Some((name.to_owned(), value(v)?))).collect()
}
