//! TPC-C on a server that speaks TDS, by the crate tiberius: a server of the lab's own (`ringwood serve`), or one that somebody gives.

use super::engine::Engine;
use super::inputs::{Input, Line, Who};
use super::plain::STATEMENTS;
use super::rows;
use super::rows::Cell;
use super::tables::{DATABASE, INDEXES, SEED, Sizes, schema};
use super::terminal::{Datum, Done, Failed, Param, Row, Statement, Terminal};
use crate::LabError;
use crate::target::Hook;
use crate::target::mssql::{Action, Address, Open, START, block_on, failed, log_in};
use crate::target::own_server::OwnServer;
use std::time::{Duration, Instant};
use tiberius::numeric::Numeric;
use tiberius::time::DateTime;
use tiberius::{ColumnData, Command, TokenRow};

const PROCEDURES: &str = include_str!("procedures-mssql.sql");

/// How the server is run.
enum Server {
    Own(Box<OwnServer>),
    Given { address: Box<Address>, hook: Option<Hook> },
}

/// The engine.
pub struct Mssql {
    server: Server,
    title: &'static str,
}

impl Mssql {
    /// A `ringwood serve` of our own.
    pub fn own(server: OwnServer) -> Mssql {
        Mssql { server: Server::Own(Box::new(server)), title: "Ringwood" }
    }

    /// The server at that address.
    pub fn given(address: &str, hook: Option<Hook>) -> Result<Mssql, LabError> {
        Ok(Mssql {
            server: Server::Given { address: Box::new(Address::parse(address)?), hook },
            title: "server",
        })
    }

    fn address(&self) -> Result<Address, LabError> {
        match &self.server {
            Server::Own(server) => server.address(),
            Server::Given { address, .. } => Ok((**address).clone()),
        }
    }

    /// A connection in the database, or in master.
    fn open(&self, database: &str) -> Result<Client, LabError> {
        let mut client = Client { open: log_in(&self.address()?)?, prepared: [None; STATEMENTS.len()] };
        client.batch(&format!("use {database}"))?;
        Ok(client)
    }
}

/// A connection.
struct Client {
    open: Open,
    /// The handles of statements that have been prepared.
    prepared: [Option<i32>; STATEMENTS.len()],
}

impl Client {
    fn batch(&mut self, text: &str) -> Result<Vec<Row>, LabError> {
        let answer = block_on(async { self.open.simple_query(text).await?.into_results().await });
        let sets = answer.map_err(|e| failed(&e, text))?;
        Ok(sets.into_iter().flatten().map(row_of).collect())
    }
}

/// The output parameter of sp_prepare.
const HANDLE: &str = "@handle";

impl Client {
    /// A handle for a statement with parameters of these types, as `sp_prepare` gives it.
    fn prepare(&mut self, text: &str, params: &[Param]) -> Result<i32, Failed> {
        let types = params.iter().enumerate().map(|(i, param)| match param {
            Param::Int(_) => format!("@P{} int", i + 1),
            Param::Text(_) => format!("@P{} nvarchar(4000)", i + 1),
        });
        let mut command = Command::new("sp_prepare");
        command.bind_out_param(HANDLE, None::<i32>);
        command.bind_param("", types.collect::<Vec<_>>().join(","));
        command.bind_param("", text);
        let result = block_on(async { command.exec(&mut self.open).await?.into_command_result().await })
            .map_err(|e| refused(&e, text))?;
        match result.try_return_value(HANDLE) {
            Ok(Some(handle)) => Ok(handle),
            other => Err(Failed::Other(LabError::Request(format!("sp_prepare gave {other:?} for {text}")))),
        }
    }
}

fn row_of(row: tiberius::Row) -> Row {
    row.cells().map(|(_, value)| datum(value)).collect()
}

fn datum(value: &ColumnData<'static>) -> Datum {
    match value {
        ColumnData::U8(Some(n)) => Datum::Int((*n).into()),
        ColumnData::I16(Some(n)) => Datum::Int((*n).into()),
        ColumnData::I32(Some(n)) => Datum::Int((*n).into()),
        ColumnData::I64(Some(n)) => Datum::Int(*n),
        ColumnData::String(Some(text)) => Datum::Text(text.to_string()),
        _ => Datum::Null,
    }
}

/// Deadlock; update conflict of snapshots; lock request time out.
const RETRIED: [u32; 3] = [1205, 3960, 1222];

fn refused(error: &tiberius::error::Error, statement: &str) -> Failed {
    match error.code() {
        Some(code) if RETRIED.contains(&code) => Failed::Retry,
        _ => Failed::Other(failed(error, statement)),
    }
}

impl Terminal for Client {
    fn begin(&mut self) -> Result<(), Failed> {
        block_on(self.open.begin_transaction()).map_err(|e| refused(&e, "begin"))
    }

    fn commit(&mut self) -> Result<(), Failed> {
        block_on(self.open.commit_transaction()).map_err(|e| refused(&e, "commit"))
    }

    fn rollback(&mut self) -> Result<(), Failed> {
        self.batch("if @@trancount > 0 rollback").map(drop).map_err(Failed::Other)
    }

    fn query(&mut self, statement: &'static Statement, params: &[Param]) -> Result<Vec<Row>, Failed> {
        let text = &texts()[statement.id];
        let handle = match self.prepared[statement.id] {
            Some(handle) => handle,
            None => self.prepare(text, params)?,
        };
        self.prepared[statement.id] = Some(handle);
        let mut command = Command::new("sp_execute");
        command.bind_param("", handle);
        for param in params {
            match param {
                Param::Int(n) => command.bind_param("", *n),
                Param::Text(text) => command.bind_param("", *text),
            }
        }
        let result = block_on(async { command.exec(&mut self.open).await?.into_command_result().await });
        let sets = result.map_err(|e| refused(&e, text))?;
        Ok(sets
            .into_iter()
            .find(|rows| !rows.is_empty())
            .unwrap_or_default()
            .into_iter()
            .map(row_of)
            .collect())
    }

    fn call(&mut self, input: &Input) -> Result<Done, Failed> {
        let name = match input {
            Input::NewOrder { .. } => "tpcc_new_order",
            Input::Payment { .. } => "tpcc_payment",
            Input::OrderStatus { .. } => "tpcc_order_status",
            Input::Delivery { .. } => "tpcc_delivery",
            Input::StockLevel { .. } => "tpcc_stock_level",
        };
        let mut command = Command::new(name);
        let mut bind = |params: &[(&'static str, i32)]| {
            params.iter().for_each(|(name, value)| command.bind_param(*name, *value));
        };
        match input {
            Input::NewOrder { w, d, c, lines } => {
                let all_local = i32::from(lines.iter().all(|l| l.supply == *w));
                bind(&[
                    ("@w", *w),
                    ("@d", *d),
                    ("@c", *c),
                    ("@count", lines.len() as i32),
                    ("@all_local", all_local),
                ]);
                command.bind_param("@lines", packed(lines));
            }
            Input::Payment { w, d, c_w, c_d, who, amount } => {
                let (id, customer) = named(who);
                bind(&[
                    ("@w", *w),
                    ("@d", *d),
                    ("@c_w", *c_w),
                    ("@c_d", *c_d),
                    ("@c", id),
                    ("@amount", *amount),
                ]);
                command.bind_param("@name", customer);
            }
            Input::OrderStatus { w, d, who } => {
                let (id, customer) = named(who);
                bind(&[("@w", *w), ("@d", *d), ("@c", id)]);
                command.bind_param("@name", customer);
            }
            Input::Delivery { w, carrier } => bind(&[("@w", *w), ("@carrier", *carrier)]),
            Input::StockLevel { w, d, threshold } => {
                bind(&[("@w", *w), ("@d", *d), ("@threshold", *threshold)])
            }
        }
        let result = block_on(async { command.exec(&mut self.open).await?.into_command_result().await });
        match result.map_err(|e| refused(&e, name))?.return_code() {
            0 => Ok(Done::Committed),
            _ => Ok(Done::RolledBack),
        }
    }

    fn number(&mut self, query: &str) -> Result<i64, LabError> {
        let row = self.batch(query)?.into_iter().next().unwrap_or_default();
        match row.first() {
            Some(Datum::Int(n)) => Ok(*n),
            other => Err(LabError::Request(format!("{query}: {other:?}"))),
        }
    }
}

/// The statements as this driver sends them.
fn texts() -> &'static [String] {
    static TEXTS: std::sync::LazyLock<Vec<String>> =
        std::sync::LazyLock::new(|| STATEMENTS.iter().map(Statement::t_sql).collect());
    &TEXTS
}

/// The lines of an order for the procedure: 6 digits of the item, 6 of the warehouse, 2 of the quantity.
fn packed(lines: &[Line]) -> String {
    lines.iter().map(|l| format!("{:06}{:06}{:02}", l.item, l.supply, l.quantity)).collect()
}

/// A customer's id, 0 where he is found by his name, and the name.
fn named(who: &Who) -> (i32, String) {
    match who {
        Who::Id(id) => (*id, String::new()),
        Who::Name(name) => (0, name.clone()),
    }
}

/// A row for a bulk load.
fn token_row(row: Vec<Cell>) -> TokenRow<'static> {
    /// 2026-01-01: days since 1900.
    const NOW: i32 = 46_021;
    let mut tokens = TokenRow::with_capacity(row.len());
    for cell in row {
        tokens.push(match cell {
            Cell::Int(n) => ColumnData::I32(Some(n)),
            Cell::Decimal(value, scale) => {
                ColumnData::Numeric(Some(Numeric::new_with_scale(value.into(), scale)))
            }
            Cell::Text(text) => ColumnData::String(Some(text.into())),
            Cell::Now => ColumnData::DateTime(Some(DateTime::new(NOW, 0))),
            // Of the columns that take NULL: o_carrier_id and ol_delivery_d.
            Cell::Null => ColumnData::I32(None),
        });
    }
    tokens
}

impl Engine for Mssql {
    fn title(&self) -> &'static str {
        self.title
    }

    fn start(&mut self) -> Result<(), LabError> {
        match &mut self.server {
            Server::Own(server) => server.start(),
            Server::Given { .. } => Ok(()),
        }
    }

    fn stop(&mut self) -> Result<(), LabError> {
        match &mut self.server {
            Server::Own(server) => server.stop(),
            Server::Given { .. } => Ok(()),
        }
    }

    fn kill(&mut self) -> Result<(), LabError> {
        match &mut self.server {
            Server::Own(server) => server.kill(),
            Server::Given { hook: Some(hook), .. } => hook.run(Action::Kill),
            Server::Given { hook: None, .. } => Err(LabError::Unsupported(
                "no --restart-with says how the server is ended and started".into(),
            )),
        }
    }

    fn restart(&mut self) -> Result<(), LabError> {
        if let Server::Given { hook: Some(hook), .. } = &self.server {
            hook.run(Action::Start)?;
        }
        self.start()?;
        let begin = Instant::now();
        loop {
            match self.open(DATABASE) {
                Ok(_) => return Ok(()),
                Err(error) if begin.elapsed() > START => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn load(&mut self, warehouses: i32, sizes: Sizes, say: &mut dyn FnMut(&str)) -> Result<(), LabError> {
        let mut client = self.open("master")?;
        if client.number(&format!("select count(*) from sys.databases where name = '{DATABASE}'"))? > 0 {
            client.batch(&format!("alter database {DATABASE} set single_user with rollback immediate"))?;
            client.batch(&format!("drop database {DATABASE}"))?;
        }
        client.batch(&format!("create database {DATABASE}"))?;
        client.batch(&format!("alter database {DATABASE} set recovery simple"))?;
        client.batch(&format!("use {DATABASE}"))?;
        let server = client.number("select cast(charindex('Ringwood', @@version) as int)")?;
        if server > 0 {
            self.title = "Ringwood";
        }
        client.batch(&schema("datetime"))?;
        for table in rows::TABLES {
            say(&format!("{}: loading {table}", self.title));
            let error = |e: tiberius::error::Error| failed(&e, table);
            let mut request = block_on(client.open.bulk_insert(table)).map_err(error)?;
            for warehouse in 1..=warehouses {
                rows::rows(table, warehouse, sizes, SEED, &mut |row| {
                    let null = row.iter().position(|c| *c == Cell::Null);
                    let mut tokens = token_row(row);
                    // The delivery date of an order's line is the one NULL that is no number.
                    if null.is_some() && table == "order_line" {
                        tokens = with_null_date(tokens, null.unwrap_or_default());
                    }
                    block_on(request.send(tokens)).map_err(error)
                })?;
            }
            block_on(request.finalize()).map_err(error)?;
        }
        client.batch(INDEXES)?;
        // Plans are then made for the rows that are there, as PostgreSQL's are after its analyze.
        for table in rows::TABLES {
            client.batch(&format!("update statistics {table}"))?;
        }
        for procedure in PROCEDURES.split("GO\n") {
            client.batch(procedure)?;
        }
        client.batch("checkpoint").map(drop)
    }

    fn connect(&self) -> Result<Box<dyn Terminal>, LabError> {
        Ok(Box::new(self.open(DATABASE)?))
    }

    fn checkpoint(&mut self) -> Result<(), LabError> {
        self.open(DATABASE)?.batch("checkpoint").map(drop)
    }

    fn said(&self) -> Result<Vec<String>, LabError> {
        let version = self.open("master")?.batch("select cast(@@version as nvarchar(200))")?;
        let version = match version.first().and_then(|row| row.first()) {
            Some(Datum::Text(text)) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            _ => String::new(),
        };
        let how = match &self.server {
            Server::Own(server) => server.said(),
            Server::Given { address, .. } => format!("at {}, its own settings", address.shown()),
        };
        Ok(vec![format!("{}: {version}; {how}", self.title)])
    }
}

fn with_null_date(tokens: TokenRow<'static>, at: usize) -> TokenRow<'static> {
    let mut changed = TokenRow::with_capacity(tokens.len());
    for (i, value) in tokens.into_iter().enumerate() {
        changed.push(if i == at { ColumnData::DateTime(None) } else { value });
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_packed_as_the_procedure_reads_them() {
        let lines =
            [Line { item: 7, supply: 2, quantity: 10 }, Line { item: 100_000, supply: 12, quantity: 3 }];
        assert_eq!(packed(&lines), "0000070000021010000000001203");
        assert_eq!(PROCEDURES.split("GO\n").count(), 6);
    }
}
