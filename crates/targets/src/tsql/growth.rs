//! The growth of the log, and the updates of one wide row that fill it.

use super::setup::log_kb;
use super::{Connection, Server, drop_tables, expect, timed};
use crate::LabError;
use crate::work::Figure;

/// The table of one 8,000-byte row; `key` is what its first column is besides.
pub(super) fn make_wide(key: &str) -> String {
    format!(
        "{}; create table vlf_test (a int identity(1,1) not null {key}, b char(8000) not null, c int not null); \
         insert vlf_test values (replicate('a', 8000), 0); checkpoint",
        drop_tables(&["vlf_test"])
    )
}

/// The author's loop: two updates of the same row in each turn.
pub(super) fn row_updates(
    client: &mut dyn Connection,
    updates: u64,
) -> Result<Vec<Figure>, LabError> {
    let turns = updates / 2;
    let seconds = timed(
        client,
        &format!(
            "set nocount on
             begin tran
             declare @x int, @a char(8000), @b char(8000)
             set @a = replicate('a', 8000)
             set @b = replicate('b', 8000)
             set @x = 0
             while @x <> {turns}
             begin
                 update vlf_test set b = @a, c = @x where a = 1
                 update vlf_test set b = @b where a = 1
                 set @x = @x + 1
             end
             commit tran"
        ),
    )?;
    expect(
        client,
        &format!(
            "select count(*) from vlf_test where c = {} and b = replicate('b', 8000)",
            turns - 1
        ),
        1.0,
    )?;
    Ok(Figure::seconds(seconds))
}

/// One statement a step, in a loop at the server: a thousand steps over the wire are otherwise a
/// thousand round trips, which are no part of what growing costs.
pub(super) fn grow_log(
    client: &mut dyn Connection,
    step_kb: u64,
    to_kb: u64,
) -> Result<Vec<Figure>, LabError> {
    let size = log_kb(client)?;
    let database = client.site().database.clone();
    let seconds = timed(
        client,
        &format!(
            "set nocount on
             declare @size bigint, @text nvarchar(1000)
             set @size = {size}
             while @size < {to_kb}
             begin
                 set @size = case when @size + {step_kb} < {to_kb} then @size + {step_kb} else {to_kb} end
                 set @text = N'alter database {database} modify file (name = {database}_log, size = '
                     + cast(@size as nvarchar(20)) + N'KB)'
                 exec (@text)
             end"
        ),
    )?;
    Ok(Figure::seconds(seconds))
}

/// The updates while a transaction of another session holds the log: in the SIMPLE recovery model a
/// checkpoint would release it.
pub(super) fn held_row_updates(
    server: &dyn Server,
    client: &mut dyn Connection,
    updates: u64,
) -> Result<Vec<Figure>, LabError> {
    let mut holder = server.connect(Some(&client.site().database))?;
    holder.run("create table holder (a int); begin tran; insert holder values (1)")?;
    let figures = row_updates(client, updates);
    holder.run("commit; drop table holder")?;
    figures
}
