//! An AFTER trigger that reads the rows of an update before and after it. On servers up to SQL
//! Server 2000 these rows came out of the log, so that a log of many pieces was felt there.

use super::{Connection, number, timed};
use crate::LabError;
use crate::work::Figure;

/// Warehouses whose customers are updated: 30,000 each, [`SOME`](crate::work::SOME) together.
const WAREHOUSES: u32 = 3;
/// What is there of a trigger and its table goes. Not by `IF EXISTS`, which came with SQL Server
/// 2016.
const DROP: &str = "if object_id('customer_changed') is not null drop trigger customer_changed; \
                    if object_id('changed') is not null drop table changed";
/// A batch of its own, as the statement must be.
const CREATE: &str = "create trigger customer_changed on customer after update as \
                      insert changed (seen, differ) \
                      select count_big(*), sum(case when i.c_data = d.c_data collate Latin1_General_BIN2 then 0 else 1 end) \
                      from inserted i join deleted d \
                      on i.c_w_id = d.c_w_id and i.c_d_id = d.c_d_id and i.c_id = d.c_id";

pub(super) fn make(client: &mut dyn Connection) -> Result<(), LabError> {
    client.run(DROP)?;
    client.run(
        "create table changed (id int identity(1,1) not null primary key, seen bigint not null, differ bigint not null)",
    )?;
    client.run(CREATE).map(drop)
}

/// One update; how many there were is what [`drop_checked`] looks at.
pub(super) fn update_some(
    client: &mut dyn Connection,
    back: bool,
) -> Result<Vec<Figure>, LabError> {
    let function = if back { "upper" } else { "lower" };
    let before = number(client, "select count(*) from changed")?;
    let text =
        format!("update customer set c_data = {function}(c_data) where c_w_id <= {WAREHOUSES}");
    let seconds = timed(client, &text)?;
    match number(client, "select count(*) from changed")? - before {
        1.0 => Ok(Figure::seconds(seconds)),
        fired => Err(LabError::Request(format!("an update has fired its trigger {fired} times"))),
    }
}

/// Every update must have shown the trigger each of its rows, before and after, and all of them
/// differ.
pub(super) fn drop_checked(client: &mut dyn Connection) -> Result<(), LabError> {
    let rows =
        number(client, &format!("select count_big(*) from customer where c_w_id <= {WAREHOUSES}"))?;
    let wrong =
        format!("select count(*) from changed where seen <> {rows:.0} or differ <> {rows:.0}");
    let wrong = number(client, &wrong)?;
    if wrong != 0.0 {
        return Err(LabError::Request(format!(
            "{wrong} updates did not show their trigger all of {rows} rows"
        )));
    }
    client.run(DROP).map(drop)
}
