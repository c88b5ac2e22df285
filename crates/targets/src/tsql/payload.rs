//! Rows of a given size, each a durable transaction, and the sizes of their log writes.

use super::{Connection, number};
use crate::LabError;
use crate::work::Figure;
use std::time::{Duration, Instant};

/// Bytes of the unit in which an LSN counts within a VLF.
const LSN_UNIT: f64 = 512.0;
/// Rows of which the sizes of writes are taken.
const SAMPLE: u32 = 24;
/// Bursts in which the sample is written: a write of the background (a checkpoint, statistics)
/// falls in one of them, and the middle one tells the size without it.
const BURSTS: u32 = 3;

/// The author's loop: rows of three columns (a quarter, a quarter, a half of the bytes), each a
/// transaction, `while` the condition holds.
fn inserts(bytes: u32, declare: &str, condition: &str, then: &str) -> String {
    let quarter = bytes / 4;
    format!(
        "set nocount on;
         declare @a varchar(max) = replicate(cast('A' as varchar(max)), {quarter});
         declare @x varchar(max) = replicate(cast('X' as varchar(max)), {quarter});
         declare @z varchar(max) = replicate(cast('Z' as varchar(max)), {half});
         {declare};
         while {condition} begin insert tab1 (col1, col2, col3) values (@a, @x, @z) {then} end",
        half = bytes - 2 * quarter
    )
}

/// For that many milliseconds: rows a second.
pub(super) fn payload(
    client: &mut dyn Connection,
    bytes: u32,
    ms: u64,
) -> Result<Vec<Figure>, LabError> {
    let declare = format!("declare @end datetime2 = dateadd(millisecond, {ms}, sysdatetime())");
    let begin = Instant::now();
    client.run(&inserts(bytes, &declare, "sysdatetime() < @end", ""))?;
    let seconds = begin.elapsed().max(Duration::from_millis(1)).as_secs_f64();
    let rows = number(client, "select count(*) from tab1")?;
    Ok(vec![Figure::new("rows/s", rows / seconds)])
}

/// The sizes of the log writes of such rows.
pub(super) fn write_sizes(
    client: &mut dyn Connection,
    bytes: u32,
) -> Result<Vec<Figure>, LabError> {
    let database = &client.site().database;
    let statistics = format!("from sys.dm_io_virtual_file_stats(db_id('{database}'), 2)");
    let writes = |client: &mut dyn Connection| -> Result<(f64, f64), LabError> {
        let count = number(client, &format!("select num_of_writes {statistics}"))?;
        Ok((count, number(client, &format!("select num_of_bytes_written {statistics}"))?))
    };
    // What is read of the log then is short.
    client.run("checkpoint")?;
    let condition = format!("@i < {}", SAMPLE / BURSTS);
    let burst = inserts(bytes, "declare @i int = 0", &condition, "set @i += 1");
    let mut means = Vec::new();
    for _ in 0..BURSTS {
        let before = writes(client)?;
        client.run(&burst)?;
        let after = writes(client)?;
        if after.0 > before.0 {
            means.push((after.1 - before.1) / (after.0 - before.0));
        }
    }
    let shown = client.run(&format!(
        "select top ({SAMPLE}) [Current LSN] from sys.fn_dblog(null, null) where Operation = 'LOP_COMMIT_XACT' \
         order by [Current LSN] desc"
    ))?;
    let mut lsns: Vec<(u64, u64)> =
        shown.sets.into_iter().flatten().filter_map(|row| place(row.first()?.as_ref()?)).collect();
    lsns.reverse();
    let mut figures = Vec::new();
    means.sort_by(f64::total_cmp);
    if let Some(mean) = means.get(means.len() / 2) {
        figures.push(Figure::named("by file statistics", "bytes", *mean));
    }
    // From one commit's block to the next one's, within a VLF; the middle one, as a page may have
    // been allocated between two.
    let mut sizes: Vec<u64> =
        (lsns.windows(2).filter(|w| w[0].0 == w[1].0)).map(|w| w[1].1 - w[0].1).collect();
    sizes.sort_unstable();
    if let Some(size) = sizes.get(sizes.len() / 2) {
        figures.push(Figure::named("by fn_dblog", "bytes", *size as f64 * LSN_UNIT));
    }
    Ok(figures)
}

/// VLF and block of an LSN as fn_dblog prints it: `00000022:00000f3a:0001`.
fn place(lsn: &str) -> Option<(u64, u64)> {
    let mut parts = lsn.split(':').map(|part| u64::from_str_radix(part, 16).ok());
    Some((parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lsn_is_read() {
        assert_eq!(place("00000022:00000f3a:0001"), Some((34, 3898)));
        assert_eq!(place("x"), None);
    }
}
