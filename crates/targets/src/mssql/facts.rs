//! What a server is and has: version, edition, folders, memory, and what it counts of its files.

use super::address::Address;
use crate::LabError;
use crate::tsql::{self, Connection, Folders, Product, Site, number};
use crate::work::{Counters, IoCount};
use std::collections::BTreeMap;

/// A server as it describes itself.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    pub product: Product,
    pub folders: Folders,
    pub least_data_kb: u64,
    /// In words, for the report.
    pub said: Vec<String>,
}

/// The first row of a query, NULL as nothing.
fn row(client: &mut dyn Connection, query: &str) -> Result<Vec<Option<String>>, LabError> {
    Ok(client.run(query)?.sets.into_iter().flatten().next().unwrap_or_default())
}

/// A folder with its separator at the end; which one it is follows from the folder itself, as paths
/// have no other.
fn folder(path: &str) -> String {
    let separator = if path.contains('\\') { '\\' } else { '/' };
    format!("{}{separator}", path.trim_end_matches(['/', '\\']))
}

/// The folder of a file.
fn folder_of(path: &str) -> &str {
    path.rfind(['/', '\\']).map_or(path, |end| &path[..end])
}

impl ServerFacts {
    /// Asks the server.
    pub fn ask(client: &mut dyn Connection, address: &Address) -> Result<ServerFacts, LabError> {
        // The InstanceDefault properties came with SQL Server 2012, the one of backups with 2019:
        // NULL before.
        let property = |name: &str| format!("cast(serverproperty('{name}') as nvarchar(400))");
        let names = [
            "ProductVersion",
            "ProductLevel",
            "Edition",
            "InstanceDefaultDataPath",
            "InstanceDefaultLogPath",
            "InstanceDefaultBackupPath",
        ];
        let properties = names.map(property).join(", ");
        let said = row(client, &format!("select {properties}, cast(@@version as nvarchar(400))"))?;
        let text = |at: usize| said.get(at).cloned().flatten();
        let version = text(0).unwrap_or_default();
        let ringwood = text(6).is_some_and(|v| v.contains("Ringwood"));
        let product = Product::parse(&version, ringwood).ok_or_else(|| {
            LabError::Request(format!("{}: version {version:?}", address.shown()))
        })?;
        if product.version.0 < 10 {
            let what = format!("{}: version {version} is before SQL Server 2008", address.shown());
            return Err(LabError::Unsupported(what));
        }
        let master = row(
            client,
            "select physical_name from sys.master_files where database_id = 1 and file_id = 1",
        )?;
        let master = master.into_iter().next().flatten().unwrap_or_default();
        let given = |at: usize| address.folders[at].clone();
        let data = given(0).or(text(3)).unwrap_or_else(|| folder_of(&master).to_owned());
        let log = given(2).or(text(4)).unwrap_or_else(|| data.clone());
        let backup = given(3).or(text(5)).unwrap_or_else(|| data.clone());
        let folders = Folders {
            data2: folder(&given(1).unwrap_or_else(|| data.clone())),
            data: folder(&data),
            log: folder(&log),
            backup: folder(&backup),
        };
        let model = "select max(size) * 8 from sys.master_files where database_id = 3 and type = 0";
        let least_data_kb = (number(client, model).unwrap_or(0.0) as u64).max(4 << 10);
        let mut facts = ServerFacts { product, folders, least_data_kb, said: vec![] };
        facts.describe(client, address, &version, [text(1), text(2)])?;
        Ok(facts)
    }

    fn describe(
        &mut self,
        client: &mut dyn Connection,
        address: &Address,
        version: &str,
        [level, edition]: [Option<String>; 2],
    ) -> Result<(), LabError> {
        let name = match self.product.ringwood {
            true => "Ringwood as SQL Server",
            false => "Microsoft SQL Server",
        };
        let own =
            number(client, "select compatibility_level from sys.databases where name = 'master'")?;
        self.said.push(format!(
            "server at {}: {name} {} ({version} {}), {}; its own compatibility level {own:.0}, of the study's database 100",
            address.shown(),
            self.product.year(),
            level.unwrap_or_default(),
            edition.unwrap_or_default(),
        ));
        let memory = "select cast(value_in_use as bigint) from sys.configurations where name = 'max server memory (MB)'";
        let memory =
            number(client, memory).map_or_else(|_| "not known".into(), |mb| format!("{mb:.0} MB"));
        self.said.push(format!(
            "the server's memory is its own, whatever the study says: max server memory {memory}"
        ));
        let Folders { data, data2, log, backup } = &self.folders;
        let second = if data == data2 { String::new() } else { format!(" and {data2}") };
        self.said.push(format!("data in {data}{second}, log in {log}, backups in {backup}"));
        self.said.push(self.product.vlf_rule().text().into());
        Ok(())
    }

    /// The site of a database of that name.
    pub fn site(&self, database: String) -> Site {
        Site {
            product: self.product.clone(),
            database,
            folders: self.folders.clone(),
            least_data_kb: self.least_data_kb,
        }
    }
}

/// A row of a text and numbers.
type CountedRow = (String, Vec<Option<i64>>);

/// The rows of a query: a text that comes first, then numbers.
fn counted(client: &mut dyn Connection, query: &str) -> Result<Vec<CountedRow>, LabError> {
    let rows = client.run(query)?.sets.into_iter().flatten();
    let number = |field: Option<String>| field.and_then(|f| f.parse().ok());
    Ok(rows
        .filter_map(|row| {
            let mut fields = row.into_iter();
            Some((fields.next()??, fields.map(number).collect()))
        })
        .collect())
}

/// I/O of the study's database by kind of file. Of backups no server says it; sizes and durable
/// writes only Ringwood says.
pub fn io(client: &mut dyn Connection) -> Result<Vec<IoCount>, LabError> {
    let database = format!("db_id('{}')", client.site().database);
    // Each kind, and the rows of a query by the number of the kind.
    let mut kinds: BTreeMap<String, IoCount> = BTreeMap::new();
    let kind = "case type when 1 then 'log' else 'data' end";
    let query = format!(
        "select {kind}, num_of_writes, num_of_bytes_written, num_of_reads, num_of_bytes_read \
         from sys.dm_io_virtual_file_stats({database}, null) s \
         join sys.master_files f on f.database_id = s.database_id and f.file_id = s.file_id"
    );
    for (file, numbers) in counted(client, &query)? {
        let at = |at: usize| numbers.get(at).copied().flatten().unwrap_or(0);
        let sum =
            kinds.entry(file.clone()).or_insert_with(|| IoCount { file, ..IoCount::default() });
        sum.writes += at(0);
        sum.bytes_written += at(1);
        sum.reads += at(2);
        sum.bytes_read += at(3);
    }
    if client.site().product.ringwood {
        ringwood_io(client, &database, &mut kinds)?;
    }
    Ok(kinds.into_values().collect())
}

/// What Ringwood says besides: writes by size, writes that made the device read first, durable
/// writes by how long they took.
fn ringwood_io(
    client: &mut dyn Connection,
    database: &str,
    kinds: &mut BTreeMap<String, IoCount>,
) -> Result<(), LabError> {
    let kind = "case type_desc when 'LOG' then 'log' else 'data' end";
    let partial = format!(
        "select {kind}, num_of_read_modify_writes from sys.dm_ringwood_files where database_id = {database}"
    );
    for (file, numbers) in counted(client, &partial)? {
        if let (Some(sum), Some(Some(n))) = (kinds.get_mut(&file), numbers.first()) {
            sum.partial_writes += n;
        }
    }
    let sizes = format!(
        "select {kind}, up_to_bytes, num_of_writes from sys.dm_ringwood_write_sizes where database_id = {database}"
    );
    for (file, numbers) in counted(client, &sizes)? {
        let (Some(sum), [up_to, Some(n)]) = (kinds.get_mut(&file), numbers.as_slice()) else {
            continue;
        };
        let label = size_label(*up_to);
        match sum.write_sizes.iter_mut().find(|s| s.0 == label) {
            Some(size) => size.1 += n,
            None => sum.write_sizes.push((label, *n)),
        }
    }
    let durable = format!(
        "select {kind}, below_us, num_of_ios from sys.dm_ringwood_io_latencies \
         where database_id = {database} and operation = 'DURABLE WRITE'"
    );
    for (file, numbers) in counted(client, &durable)? {
        if let (Some(sum), [below, Some(n)]) = (kinds.get_mut(&file), numbers.as_slice()) {
            *sum.durable_us.entry(below.unwrap_or(i64::MAX)).or_default() += n;
        }
    }
    Ok(())
}

/// As the embedded target names classes of sizes.
fn size_label(up_to: Option<i64>) -> String {
    let class = (0..disk::SIZE_BUCKETS).find(|c| up_to == Some(512 << c));
    disk::size_bucket_label(class.unwrap_or(disk::SIZE_BUCKETS - 1)).to_owned()
}

/// Everything that the server has counted.
pub fn counters(client: &mut dyn Connection) -> Result<Counters, LabError> {
    Ok(Counters { waits: tsql::waits(client)?, io: io(client)?, counts: tsql::log_counts(client) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_keep_their_separator() {
        assert_eq!(folder(r"C:\Data"), r"C:\Data\");
        assert_eq!(folder(r"C:\"), r"C:\");
        assert_eq!(folder("/var/opt/mssql/data/"), "/var/opt/mssql/data/");
        assert_eq!(folder_of(r"C:\Data\master.mdf"), r"C:\Data");
        assert_eq!(folder_of("/data/master.mdf"), "/data");
    }

    #[test]
    fn classes_of_sizes_have_the_names_of_the_embedded_target() {
        assert_eq!(size_label(Some(512)), disk::size_bucket_label(0));
        assert_eq!(size_label(Some(4096)), disk::size_bucket_label(3));
        assert_eq!(size_label(None), disk::size_bucket_label(disk::SIZE_BUCKETS - 1));
    }
}
