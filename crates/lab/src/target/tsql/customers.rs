//! The author's customers: made, inserted, updated, deleted.

use super::{Connection, DELETE, INSERT, UPDATE, customer_named, expect, number, timed};
use crate::LabError;
use crate::work::{Figure, Work};

const EMPTY_COPY: &str =
    "drop table if exists customer_tmp; select * into customer_tmp from customer where 1 = 2";
/// Customers that the author's update would leave as they are.
const LOWER: &str =
    "select count_big(*) from customer where c_data = lower(c_data) collate Latin1_General_BIN2";

/// `customer` as "bulk copied, index rebuilt" left it, and an empty `customer_tmp`.
pub(super) fn make_customer(client: &mut dyn Connection) -> Result<(), LabError> {
    client.run("drop table if exists customer; drop table if exists customer_tmp")?;
    client.run(&customer_named("customer"))?;
    client.run("insert customer select * from source")?;
    client.run("create unique clustered index ci_customer on customer (c_w_id, c_d_id, c_id)")?;
    client.run(EMPTY_COPY)?;
    client.run("checkpoint").map(drop)
}

/// The same where they are not there yet, or not as they should be; they are in memory then.
pub(super) fn customers(client: &mut dyn Connection) -> Result<(), LabError> {
    let rows = number(client, "select count_big(*) from source")?;
    let there = number(client, "select count(*) from sys.tables where name = 'customer'")? == 1.0
        && number(client, "select count_big(*) from customer")? == rows
        && number(client, LOWER)? == 0.0;
    if !there {
        return make_customer(client);
    }
    client.run(EMPTY_COPY)?;
    client.run("checkpoint").map(drop)
}

/// Runs a statement over all customers and checks what it left.
pub(super) fn all_customers(client: &mut dyn Connection, work: &Work) -> Result<Vec<Figure>, LabError> {
    let before = number(client, "select count_big(*) from customer")?;
    let (statement, check, rows) = match work {
        // A repeated insert adds the rows once more.
        Work::InsertSelect => {
            let copied = "select count_big(*) from customer_tmp";
            (INSERT, copied, number(client, copied)? + before)
        }
        Work::Update => (UPDATE, "select count_big(*) from customer", before),
        _ => (DELETE, "select count_big(*) from customer", 0.0),
    };
    let seconds = timed(client, statement)?;
    expect(client, check, rows)?;
    Ok(Figure::seconds(seconds))
}

/// The counterpart of the author's update: as many rows and bytes, and the update has something to change again.
pub(super) fn update_back(client: &mut dyn Connection) -> Result<Vec<Figure>, LabError> {
    let seconds = timed(client, &UPDATE.replace("lower", "upper"))?;
    expect(client, LOWER, 0.0)?;
    Ok(Figure::seconds(seconds))
}

/// The author's delete, durable, and taken back.
pub(super) fn delete_rolled_back(client: &mut dyn Connection) -> Result<Vec<Figure>, LabError> {
    let before = number(client, "select count_big(*) from customer")?;
    // The flush is what the commit of the delete alone would wait for.
    let seconds = timed(client, &format!("begin tran; {DELETE}; exec sys.sp_flush_log"))?;
    let checked = expect(client, "select count_big(*) from customer", 0.0);
    client.run("rollback")?;
    checked?;
    expect(client, "select count_big(*) from customer", before)?;
    Ok(Figure::seconds(seconds))
}
