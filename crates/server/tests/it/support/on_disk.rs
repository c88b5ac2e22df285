//! A server on a simulated disk, whose database is looked at as a power failure would leave it.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{DataType, Instance, InstanceOptions, Value};
use sim::SimDisk;
use tds::encode::type_of;
use tds::request::rpc::procedure_id;
use tds::request::{Procedure, RpcParam, RpcRequest};

use super::{Client, TestServer};

pub const WAITS: &str =
    "select waiting_tasks_count from sys.dm_os_wait_stats where wait_type = 'WRITELOG'";

/// A server on a simulated disk with a database d with a table t, and the path of its log.
pub fn on_disk(seed: u64) -> (SimDisk, TestServer, PathBuf) {
    let disk = SimDisk::new(seed);
    let files = Arc::new(disk.clone());
    let of = |options: &mut InstanceOptions| {
        options.memory_bytes = Some(64 << 20);
        options.disk = files;
    };
    let server = TestServer::open(of, |_| {});
    let mut client = server.client();
    client.run("create database d");
    client.run("create table d.dbo.t (n int not null primary key)");
    let log = server.folder.path().join("d_log.ldf");
    assert!(disk.file_len(&log).is_some());
    (disk, server, log)
}

pub fn client_in_d(server: &TestServer) -> Client {
    let mut client = server.client();
    client.run("use d");
    client
}

/// So many INSERTs into t as calls of sp_executesql, from a number on.
pub fn inserts(from: i32, count: i32) -> Vec<RpcRequest> {
    let text = |text: &str| {
        RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(text))
    };
    (from..from + count)
        .map(|n| {
            let value = RpcParam::new("@n", type_of(DataType::Int), Value::Int(n));
            let params = vec![text("insert t values (@n)"), text("@n int"), value];
            RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), params)
        })
        .collect()
}

/// Rows of t in what a power failure has left of the server's disk.
pub fn rows_left(server: &TestServer, left: SimDisk) -> i64 {
    struct Number(i64);
    impl engine::Sink for Number {
        fn rows(&mut self, rows: &engine::ResultRows<'_>) -> Result<(), engine::SqlError> {
            rows.each(|row| {
                self.0 = row[0].as_i64().unwrap();
                Ok(())
            })
        }
        fn error(&mut self, error: &engine::SqlError) -> Result<(), engine::SqlError> {
            panic!("{error:?}")
        }
    }
    let mut options = InstanceOptions::new(server.folder.path());
    options.memory_bytes = Some(16 << 20);
    options.disk = Arc::new(left);
    let instance = Instance::open(options).unwrap();
    let mut number = Number(-1);
    instance.session().unwrap().execute("select count(*) from d..t", &mut number);
    number.0
}
