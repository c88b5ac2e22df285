//! TPC-C on a server that speaks TDS, by crate `client`: a server of the lab's own (`ringwood
//! serve`), or one that somebody gives.

use super::engine::Engine;
use super::inputs::{CustomerKey, Input, OrderLine};
use super::plain::STATEMENTS;
use super::rows;
use super::rows::Cell;
use super::tables::{DATABASE, INDEXES, SEED, Sizes, schema};
use super::terminal::{Datum, Param, Row, Statement, Terminal, TxnEnd, TxnFailure};
use crate::LabError;
use client::{ClientError, Connection, PreparedStatement, Procedure, Reply, RpcParam, RpcRequest};
use std::time::{Duration, Instant};
use targets::Hook;
use targets::mssql::{Address, HookAction, START, failed, log_in};
use targets::own_server::OwnServer;
use types::{Decimal, Value};

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
        Ok(Client { open: log_in(&self.address()?, database)?, prepared: [None; STATEMENTS.len()] })
    }
}

/// A connection.
struct Client {
    open: Connection,
    prepared: [Option<PreparedStatement>; STATEMENTS.len()],
}

impl Client {
    fn batch(&mut self, text: &str) -> Result<Vec<Row>, LabError> {
        let reply = self.open.query(text).map_err(|e| failed(&e, text))?;
        Ok(reply.into_rows().map(row_of).collect())
    }

    /// A statement with parameters of these types, prepared.
    fn prepare(&mut self, text: &str, params: &[Param]) -> Result<PreparedStatement, ClientError> {
        let declared = params.iter().enumerate().map(|(i, param)| match param {
            Param::Int(_) => format!("@P{} int", i + 1),
            Param::Text(_) => format!("@P{} nvarchar(4000)", i + 1),
        });
        self.open.prepare(&declared.collect::<Vec<_>>().join(","), text)
    }
}

fn row_of(row: Vec<Value>) -> Row {
    row.into_iter().map(datum).collect()
}

fn datum(value: Value) -> Datum {
    match (value.as_i64(), value) {
        (Some(n), _) => Datum::Int(n),
        (None, Value::Str(text)) => Datum::Text(text.into()),
        _ => Datum::Null,
    }
}

/// Deadlock; update conflict of snapshots; lock request time out.
const RETRIED: [i32; 3] = [1205, 3960, 1222];

fn refused(error: &ClientError, statement: &str) -> TxnFailure {
    match error {
        ClientError::Server(error) if RETRIED.contains(&error.number) => TxnFailure::Retry,
        _ => TxnFailure::Other(failed(error, statement)),
    }
}

impl Terminal for Client {
    fn begin(&mut self) -> Result<(), TxnFailure> {
        self.open.begin().map_err(|e| refused(&e, "begin"))
    }

    fn commit(&mut self) -> Result<(), TxnFailure> {
        self.open.commit().map_err(|e| refused(&e, "commit"))
    }

    fn rollback(&mut self) -> Result<(), TxnFailure> {
        self.batch("if @@trancount > 0 rollback").map(drop).map_err(TxnFailure::Other)
    }

    fn query(
        &mut self,
        statement: &'static Statement,
        params: &[Param],
    ) -> Result<Vec<Row>, TxnFailure> {
        let text = &texts()[statement.id];
        let prepared = match self.prepared[statement.id] {
            Some(prepared) => prepared,
            None => self.prepare(text, params).map_err(|e| refused(&e, text))?,
        };
        self.prepared[statement.id] = Some(prepared);
        let params = params.iter().map(|param| match param {
            Param::Int(n) => client::int("", *n),
            Param::Text(text) => client::text("", text),
        });
        let reply = self.open.call(&prepared.with(params)).map_err(|e| refused(&e, text))?;
        let rows =
            reply.results.into_iter().map(|result| result.rows).find(|rows| !rows.is_empty());
        Ok(rows.unwrap_or_default().into_iter().map(row_of).collect())
    }

    fn call(&mut self, input: &Input) -> Result<TxnEnd, TxnFailure> {
        let name = match input {
            Input::NewOrder { .. } => "tpcc_new_order",
            Input::Payment { .. } => "tpcc_payment",
            Input::OrderStatus { .. } => "tpcc_order_status",
            Input::Delivery { .. } => "tpcc_delivery",
            Input::StockLevel { .. } => "tpcc_stock_level",
        };
        let call = RpcRequest::new(Procedure::Name(name.into()), params_of(input));
        match self.open.call(&call).map_err(|e| refused(&e, name))? {
            Reply { status: Some(0), .. } => Ok(TxnEnd::Committed),
            _ => Ok(TxnEnd::RolledBack),
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

/// The parameters of a transaction's procedure.
fn params_of(input: &Input) -> Vec<RpcParam> {
    let ints = |params: &[(&str, i32)]| -> Vec<RpcParam> {
        params.iter().map(|(name, value)| client::int(name, *value)).collect()
    };
    match input {
        Input::NewOrder { w, d, c, lines } => {
            let all_local = i32::from(lines.iter().all(|l| l.supply == *w));
            let count = lines.len() as i32;
            let mut params = ints(&[
                ("@w", *w),
                ("@d", *d),
                ("@c", *c),
                ("@count", count),
                ("@all_local", all_local),
            ]);
            params.push(client::text("@lines", &packed(lines)));
            params
        }
        Input::Payment { w, d, c_w, c_d, who, amount } => {
            let (id, customer) = named(who);
            let amount = ("@amount", *amount);
            let mut params =
                ints(&[("@w", *w), ("@d", *d), ("@c_w", *c_w), ("@c_d", *c_d), ("@c", id), amount]);
            params.push(client::text("@name", customer));
            params
        }
        Input::OrderStatus { w, d, who } => {
            let (id, customer) = named(who);
            let mut params = ints(&[("@w", *w), ("@d", *d), ("@c", id)]);
            params.push(client::text("@name", customer));
            params
        }
        Input::Delivery { w, carrier } => ints(&[("@w", *w), ("@carrier", *carrier)]),
        Input::StockLevel { w, d, threshold } => {
            ints(&[("@w", *w), ("@d", *d), ("@threshold", *threshold)])
        }
    }
}

/// The statements as this driver sends them.
fn texts() -> &'static [String] {
    static TEXTS: std::sync::LazyLock<Vec<String>> =
        std::sync::LazyLock::new(|| STATEMENTS.iter().map(Statement::t_sql).collect());
    &TEXTS
}

/// The lines of an order for the procedure: 6 digits of the item, 6 of the warehouse, 2 of the
/// quantity.
fn packed(lines: &[OrderLine]) -> String {
    lines.iter().map(|l| format!("{:06}{:06}{:02}", l.item, l.supply, l.quantity)).collect()
}

/// A customer's id, 0 where he is found by his name, and the name.
fn named(who: &CustomerKey) -> (i32, &str) {
    match who {
        CustomerKey::Id(id) => (*id, ""),
        CustomerKey::Name(name) => (0, name),
    }
}

/// A field for a bulk load; its column's type takes numbers of any kind that it has room for.
fn value(cell: Cell) -> Result<Value, LabError> {
    /// 2026-01-01: days since 1900.
    const NOW: i32 = 46_021;
    Ok(match cell {
        Cell::Int(n) => Value::Int(n),
        Cell::Decimal(n, scale) => {
            Decimal::new(n.into(), 38, scale).map(Value::Decimal).ok_or_else(|| {
                LabError::Request(format!("{n} with {scale} digits behind the point"))
            })?
        }
        Cell::Text(text) => Value::Str(text.into()),
        Cell::Now => Value::DateTime { days: NOW, ticks: 0 },
        Cell::Null => Value::Null,
    })
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
            Server::Given { hook: Some(hook), .. } => hook.run(HookAction::Kill),
            Server::Given { hook: None, .. } => Err(LabError::Unsupported(
                "no --restart-with says how the server is ended and started".into(),
            )),
        }
    }

    fn restart(&mut self) -> Result<(), LabError> {
        if let Server::Given { hook: Some(hook), .. } = &self.server {
            hook.run(HookAction::Start)?;
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

    fn load(
        &mut self,
        warehouses: i32,
        sizes: Sizes,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let mut client = self.open("master")?;
        if client
            .number(&format!("select count(*) from sys.databases where name = '{DATABASE}'"))?
            > 0
        {
            client.batch(&format!(
                "alter database {DATABASE} set single_user with rollback immediate"
            ))?;
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
            let error = |e: ClientError| failed(&e, table);
            let mut load = client.open.bulk_load(table).map_err(error)?;
            for warehouse in 1..=warehouses {
                rows::rows(table, warehouse, sizes, SEED, &mut |row| {
                    let row = row.into_iter().map(value).collect::<Result<Vec<_>, _>>()?;
                    load.row(&row).map_err(error)
                })?;
            }
            load.finish().map_err(error)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_packed_as_the_procedure_reads_them() {
        let lines = [
            OrderLine { item: 7, supply: 2, quantity: 10 },
            OrderLine { item: 100_000, supply: 12, quantity: 3 },
        ];
        assert_eq!(packed(&lines), "0000070000021010000000001203");
        assert_eq!(PROCEDURES.split("GO\n").count(), 6);
    }
}
