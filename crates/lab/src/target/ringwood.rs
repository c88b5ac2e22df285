//! Ringwood embedded: the same work as the peers, in T-SQL.

use super::{Target, Work};
use crate::LabError;
use crate::embedded::{self, Client};
use engine::Instance;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Buffer pool, the same as the peers'.
const MEMORY: u64 = 2 << 30;

/// A Ringwood instance of our own.
pub struct Ringwood {
    folder: PathBuf,
    open: Option<(Arc<Instance>, Client)>,
}

/// The customer table of the studies, as its author wrote it.
pub const CUSTOMER: &str = include_str!("customer.sql");

/// That table under another name, without its index.
pub fn customer_named(name: &str) -> String {
    CUSTOMER.replacen("customer", name, 1)
}

impl Ringwood {
    /// Will live in `folder`.
    pub fn new(folder: &Path) -> Ringwood {
        Ringwood { folder: folder.to_owned(), open: None }
    }

    fn client(&mut self) -> Result<&mut Client, LabError> {
        self.open
            .as_mut()
            .map(|(_, client)| client)
            .ok_or_else(|| LabError::Request("Ringwood was not prepared".into()))
    }
}

/// BULK INSERT of a customer file.
pub fn bulk_insert(table: &str, file: &Path) -> String {
    format!(
        "bulk insert {table} from '{}' with (fieldterminator = '|', rowterminator = '0x0a', tablock)",
        file.display().to_string().replace('\'', "''")
    )
}

impl Target for Ringwood {
    fn name(&self) -> &'static str {
        "Ringwood"
    }

    fn settings(&self) -> String {
        format!(
            "Ringwood {}: buffer pool 2 GB, log 4 GB in 16 VLFs, full durability, checkpoint before each measure",
            env!("CARGO_PKG_VERSION")
        )
    }

    fn prepare(&mut self, customers: &Path) -> Result<(), LabError> {
        std::fs::create_dir_all(&self.folder)?;
        let instance = embedded::open(&self.folder, MEMORY)?;
        let mut client = Client::new(&instance, None)?;
        client.run(
            "create database lab on (name = lab, filename = 'lab.mdf', size = 4 GB)
             log on (name = lab_log, filename = 'lab_log.ldf', size = 4 GB)",
        )?;
        client.run("alter database lab set recovery simple")?;
        client.run("use lab")?;
        client.run(&customer_named("source"))?;
        client.run(&bulk_insert("source", customers))?;
        client.run("create table one_row (a int not null, b char(100) not null)")?;
        self.open = Some((instance, client));
        Ok(())
    }

    fn reset(&mut self) -> Result<(), LabError> {
        let client = self.client()?;
        client.run(
            "drop table if exists customer; drop table if exists customer_tmp; truncate table one_row",
        )?;
        client.run(CUSTOMER)?;
        client.run("insert customer select * from source")?;
        client.run("create unique clustered index ci_customer on customer (c_w_id, c_d_id, c_id)")?;
        client.run("select * into customer_tmp from customer where 1 = 2")?;
        client.run("checkpoint")?;
        Ok(())
    }

    fn run(&mut self, work: Work) -> Result<f64, LabError> {
        let client = self.client()?;
        match work {
            Work::InsertSelect => client.timed("insert customer_tmp select * from customer"),
            Work::Update => client.timed("update customer set c_data = lower(c_data)"),
            Work::Delete => client.timed("delete from customer"),
            Work::LoopInserts(n) => client.timed(&format!(
                "set nocount on; declare @i int = 0; begin tran; while @i < {n} begin insert one_row values (@i, 'x'); set @i += 1 end; commit"
            )),
            Work::DurableCommits(n) => client.timed(&format!(
                "set nocount on; declare @i int = 0; while @i < {n} begin insert one_row values (@i, 'x'); set @i += 1 end"
            )),
        }
    }

    fn count(&mut self, table: &str) -> Result<u64, LabError> {
        Ok(self.client()?.number(&format!("select count_big(*) from {table}"))? as u64)
    }
}
