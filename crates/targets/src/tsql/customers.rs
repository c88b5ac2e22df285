//! The author's customers: made, inserted, updated, deleted.

use super::{
    Connection, DELETE, INSERT, Server, UPDATE, customer_named, drop_tables, expect, number, timed,
};
use crate::LabError;
use crate::work::{Figure, Work};

/// An empty `customer_tmp`.
fn empty_copy(client: &mut dyn Connection) -> Result<(), LabError> {
    client.run(&drop_tables(&["customer_tmp"]))?;
    client.run("select * into customer_tmp from customer where 1 = 2")?;
    client.run("checkpoint").map(drop)
}

/// Customers that the author's update would leave as they are.
const LOWER: &str =
    "select count_big(*) from customer where c_data = lower(c_data) collate Latin1_General_BIN2";

/// `customer` as "bulk copied, index rebuilt" left it, and an empty `customer_tmp`.
pub(super) fn make_customer(client: &mut dyn Connection) -> Result<(), LabError> {
    client.run(&drop_tables(&["customer", "customer_tmp"]))?;
    client.run(&customer_named("customer"))?;
    client.run("insert customer select * from source")?;
    client.run("create unique clustered index ci_customer on customer (c_w_id, c_d_id, c_id)")?;
    empty_copy(client)
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
    empty_copy(client)
}

/// Runs a statement over all customers and checks what it left.
pub(super) fn all_customers(
    client: &mut dyn Connection,
    work: &Work,
) -> Result<Vec<Figure>, LabError> {
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

/// The counterpart of the author's update: as many rows and bytes, and the update has something to
/// change again.
pub(super) fn update_back(client: &mut dyn Connection) -> Result<Vec<Figure>, LabError> {
    let seconds = timed(client, &UPDATE.replace("lower", "upper"))?;
    expect(client, LOWER, 0.0)?;
    Ok(Figure::seconds(seconds))
}

/// The author's delete, durable, and taken back.
pub(super) fn delete_rolled_back(
    server: &dyn Server,
    client: &mut dyn Connection,
) -> Result<Vec<Figure>, LabError> {
    let before = number(client, "select count_big(*) from customer")?;
    // The flush is what the commit of the delete alone would wait for.
    let seconds = if client.site().product.has_delayed_durability() {
        timed(client, &format!("begin tran; {DELETE}; exec sys.sp_flush_log"))?
    } else {
        // A durable commit of another session takes everything with it that was logged before.
        let mut other = server.connect(Some(&client.site().database))?;
        other.run(&format!("{}; create table flushed (a int)", drop_tables(&["flushed"])))?;
        timed(client, &format!("begin tran; {DELETE}"))?
            + timed(other.as_mut(), "insert flushed values (1)")?
    };
    let checked = expect(client, "select count_big(*) from customer", 0.0);
    client.run("rollback")?;
    checked?;
    expect(client, "select count_big(*) from customer", before)?;
    Ok(Figure::seconds(seconds))
}
