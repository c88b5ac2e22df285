//! Commits of one row each: of one session and of many, durable and delayed, so many or for so
//! long.

use super::{Connection, Server, Site, expect, number, sessions, timed};
use crate::LabError;
use crate::work::{Durability, Figure};
use std::time::Instant;

/// Sets the durability of commits for the database.
fn set_durability(client: &mut dyn Connection, durability: Durability) -> Result<(), LabError> {
    let site = client.site();
    let delayed = durability == Durability::Delayed;
    if !site.product.has_delayed_durability() {
        let why = "delayed durability came with SQL Server 2014";
        return if delayed { Err(LabError::Unsupported(why.into())) } else { Ok(()) };
    }
    let setting = if delayed { "forced" } else { "disabled" };
    let text = format!("alter database {} set delayed_durability = {setting}", site.database);
    client.run(&text).map(drop)
}

pub(super) fn commits(
    client: &mut dyn Connection,
    count: u64,
    durability: Durability,
) -> Result<Vec<Figure>, LabError> {
    set_durability(client, durability)?;
    let before = number(client, "select count_big(*) from one_row")?;
    let seconds = timed(
        client,
        &format!(
            "set nocount on; declare @i int = 0; while @i < {count} begin insert one_row values (@i, 'x'); set @i += 1 end"
        ),
    )?;
    set_durability(client, Durability::Full)?;
    expect(client, "select count_big(*) from one_row", before + count as f64)?;
    Ok(Figure::seconds(seconds))
}

pub(super) fn session_commits(
    server: &dyn Server,
    count: u32,
    each: u64,
) -> Result<Vec<Figure>, LabError> {
    let seconds = sessions(server, count, &|session| {
        format!(
            "set nocount on; declare @i int = 0; while @i < {each} begin insert one_row values ({session}, 'x'); set @i += 1 end"
        )
    })?;
    Ok(vec![Figure::new("commits/s", (u64::from(count) * each) as f64 / seconds)])
}

/// The same with that durability.
pub(super) fn durable_sessions(
    server: &dyn Server,
    client: &mut dyn Connection,
    (count, each): (u32, u64),
    durability: Durability,
) -> Result<Vec<Figure>, LabError> {
    set_durability(client, durability)?;
    let figures = session_commits(server, count, each);
    set_durability(client, Durability::Full)?;
    figures
}

/// Window of delayed durability of SQL Server, KB: a log block. It has no setting.
const SQL_SERVER_WINDOW_KB: u32 = 60;

/// A batch of delayed commits of one row each, with a window of so many KB; time does not close it.
/// Errors: a server that has no such window.
pub fn delayed_commits(site: &Site, rows: u64, window_kb: u32) -> Result<String, LabError> {
    let window = match site.product.ringwood {
        true => format!("(window_ms = 1000, window_kb = {window_kb})"),
        false if !site.product.has_delayed_durability() => {
            return Err(LabError::Unsupported(
                "delayed durability came with SQL Server 2014".into(),
            ));
        }
        false if window_kb != SQL_SERVER_WINDOW_KB => {
            return Err(LabError::Unsupported(format!(
                "SQL Server's window is a log block of {SQL_SERVER_WINDOW_KB} KB and cannot be set"
            )));
        }
        false => String::new(),
    };
    Ok(format!(
        "alter database {} set delayed_durability = forced {window}; \
         set nocount on; declare @i int = 0; while @i < {rows} begin insert one_row values (@i, 'x'); set @i += 1 end",
        site.database
    ))
}

/// One-row inserts for that many milliseconds: rows a second. Each is a transaction, or `together`
/// they are one.
pub(super) fn inserts_for(
    client: &mut dyn Connection,
    ms: u64,
    durability: Durability,
    together: bool,
) -> Result<Vec<Figure>, LabError> {
    set_durability(client, durability)?;
    let before = number(client, "select count_big(*) from one_row")?;
    let (begin_tran, commit) = if together { ("begin tran;", "commit") } else { ("", "") };
    let begin = Instant::now();
    client.run(&format!(
        "set nocount on; declare @i int = 0, @end datetime2 = dateadd(millisecond, {ms}, sysdatetime()); {begin_tran} \
         while sysdatetime() < @end begin insert one_row values (@i, 'x'); set @i += 1 end; {commit}"
    ))?;
    let seconds = begin.elapsed().as_secs_f64();
    set_durability(client, Durability::Full)?;
    let rows = number(client, "select count_big(*) from one_row")? - before;
    Ok(vec![Figure::new("rows/s", rows / seconds)])
}
