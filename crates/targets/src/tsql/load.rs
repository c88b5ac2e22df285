//! Loads by many connections, files that come later, and scattered changes.

use super::{Connection, Server, drop_tables, sessions};
use crate::LabError;
use crate::work::{Figure, LOAD_BATCH, LoadRow};

pub(super) fn load(
    server: &dyn Server,
    connections: u32,
    rows: u64,
) -> Result<Vec<Figure>, LabError> {
    let batches = rows.div_ceil(LOAD_BATCH);
    let seconds = sessions(server, connections, &|session| {
        format!(
            "set nocount on; declare @i int = 0, @j int; while @i < {batches} begin begin tran; set @j = 0; \
             while @j < {LOAD_BATCH} begin insert arrivals values ({session}, @i, 'filler'); set @j += 1 end; commit; set @i += 1 end"
        )
    })?;
    Ok(Figure::seconds(seconds))
}

/// The table of another kind of row. The statement that inserts one is [`insert_row`].
pub(super) fn make_rows(row: LoadRow) -> String {
    match row {
        LoadRow::Page => format!(
            "{}; create table arrivals (a bigint identity(1,1) not null, b int not null, c char(8000) not null); \
             create unique clustered index ci_arrivals on arrivals (a); checkpoint",
            drop_tables(&["arrivals"])
        ),
    }
}

/// Connections that insert that many rows each, 64 in a transaction.
pub(super) fn insert_rows(
    server: &dyn Server,
    row: LoadRow,
    connections: u32,
    rows: u64,
) -> Result<Vec<Figure>, LabError> {
    let LoadRow::Page = row;
    let batches = rows.div_ceil(LOAD_BATCH);
    let seconds = sessions(server, connections, &|session| {
        format!(
            "set nocount on; declare @i int = 0, @j int; while @i < {batches} begin begin tran; set @j = 0; \
             while @j < {LOAD_BATCH} begin insert arrivals (b, c) values ({session}, 'filler'); set @j += 1 end; commit; set @i += 1 end"
        )
    })?;
    Ok(Figure::seconds(seconds))
}

/// Data files number `from` to `to` (counted from 0) beside those that are there.
pub(super) fn add_files(
    client: &mut dyn Connection,
    from: u32,
    to: u32,
    arrays: u32,
    each_kb: u64,
) -> Result<(), LabError> {
    for i in from..to {
        let site = client.site();
        let text = format!(
            "alter database {} add file (name = {}, filename = {}, size = {each_kb}KB, filegrowth = 65536KB)",
            site.database,
            site.file_name(i),
            site.data_file(i, arrays)
        );
        client.run(&text)?;
    }
    Ok(())
}

/// A table of one row a page, all of it written.
pub(super) fn make_scattered(client: &mut dyn Connection, pages: u64) -> Result<(), LabError> {
    client.run(&format!(
        "{}; create table scattered (a int not null, b int not null, c char(7900) not null); \
         create unique clustered index ci_scattered on scattered (a); insert scattered values (0, 0, 'filler')",
        drop_tables(&["scattered"])
    ))?;
    let mut there = 1;
    while there < pages {
        let more = there.min(pages - there);
        client.run(&format!(
            "insert scattered select a + {there}, 0, c from scattered where a < {more}"
        ))?;
        there += more;
    }
    client.run("checkpoint").map(drop)
}
