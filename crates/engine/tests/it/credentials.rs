//! CREATE, ALTER and DROP CREDENTIAL, what shows them (never their secrets), and BACKUP and RESTORE
//! with URLs as far as they need no server: rules, options, which credential is taken, errors. The
//! devices behind the URLs are files here.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::support::text::{self, fails, run, say};
use engine::{Instance, InstanceOptions, UrlDevices};
use sim::{Fault, OpKind, SimDisk};
use txn::backup::{BackupDevice, BackupReader, BackupWriter, FileDevice, UrlRequest};

/// Files that behave as objects do, and what was asked for them.
#[derive(Debug)]
struct Objects {
    disk: SimDisk,
    asked: Mutex<Vec<String>>,
}

impl UrlDevices for Objects {
    fn device(&self, r: &UrlRequest<'_>) -> Result<Box<dyn BackupDevice>, disk::DiskError> {
        let asked = format!(
            "{}:{} {} {} {}/{}",
            r.key_id, r.secret, r.region, r.tls, r.transfer, r.devices
        );
        self.asked.lock().unwrap().push(asked);
        let path = PathBuf::from(r.url.replace("s3://", "/objects/"));
        let rule = Arc::new(disk::AnyFile(path.clone()));
        Ok(Box::new(Object(FileDevice::new(Arc::new(self.disk.clone()), path, r.url, rule))))
    }
}

#[derive(Debug)]
struct Object(FileDevice);

impl BackupDevice for Object {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn size(&self) -> Result<Option<u64>, disk::DiskError> {
        self.0.size()
    }
    fn reader(&self) -> Result<Box<dyn BackupReader>, disk::DiskError> {
        self.0.reader()
    }
    fn writer(&self, at: u64) -> Result<Box<dyn BackupWriter>, disk::DiskError> {
        assert_eq!(at, 0, "an object is written as a whole");
        self.0.writer(at)
    }
    fn appends(&self) -> bool {
        false
    }
}

fn open(disk: &SimDisk) -> (Arc<Instance>, Arc<Objects>) {
    let objects = Arc::new(Objects { disk: disk.clone(), asked: Mutex::default() });
    let options = InstanceOptions {
        memory_bytes: Some(32 << 20),
        disk: Arc::new(disk.clone()),
        url_devices: Some(objects.clone()),
        ..InstanceOptions::new("/data")
    };
    (Instance::open(options).expect("the instance opens"), objects)
}

const SALES: &str = "CREATE DATABASE Sales; ALTER DATABASE Sales SET RECOVERY FULL;";
const TABLE: &str = "USE Sales; CREATE TABLE t (a int); INSERT t VALUES (1), (2), (3);";
const BUCKET: &str =
    "CREATE CREDENTIAL [s3://h:9/b] WITH IDENTITY = 'S3 Access Key', SECRET = 'KEY:se:cret'";

#[test]
fn credentials_survive_restarts_and_show_no_secret() {
    let disk = SimDisk::new(3);
    let (instance, _) = open(&disk);
    run(&instance, BUCKET);
    run(&instance, "CREATE CREDENTIAL other WITH IDENTITY = 'Mary'");
    fails(&instance, "CREATE CREDENTIAL [S3://H:9/B] WITH IDENTITY = 'x'", &[15530]);
    fails(&instance, "BEGIN TRAN; CREATE CREDENTIAL c WITH IDENTITY = 'x'; COMMIT", &[226]);
    fails(&instance, "CREATE DATABASE SCOPED CREDENTIAL c WITH IDENTITY = 'x'", &[40510]);
    let long = "n".repeat(129);
    fails(&instance, &format!("CREATE CREDENTIAL [{long}] WITH IDENTITY = 'x'"), &[103]);
    drop(instance);
    let (instance, _) = open(&disk);
    let list = "SELECT credential_id, name, credential_identity, target_type, target_id FROM sys.credentials ORDER BY 1";
    let both = "65536|s3://h:9/b|S3 Access Key|NULL|0\n65537|other|Mary|NULL|0";
    assert_eq!(say(&instance, list), both);
    assert_eq!(
        say(&instance, "SELECT COUNT(*) FROM sys.credentials WHERE modify_date = create_date"),
        "2"
    );
    run(&instance, "ALTER CREDENTIAL OTHER WITH IDENTITY = 'Maria', SECRET = 'x'");
    fails(&instance, "ALTER CREDENTIAL nobody WITH IDENTITY = 'x'", &[15151]);
    run(&instance, "DROP CREDENTIAL [s3://h:9/b]");
    fails(&instance, "DROP CREDENTIAL [s3://h:9/b]", &[15151]);
    assert_eq!(say(&instance, list), "65537|other|Maria|NULL|0");
    // A change that the disk refuses has not happened.
    disk.fail_on(Path::new("/data/credentials.registry"), OpKind::Name, 1, Fault::NoSpace);
    fails(&instance, "DROP CREDENTIAL other", &[823]);
    assert_eq!(say(&instance, list), "65537|other|Maria|NULL|0");
}

#[test]
fn what_runs_is_shown_without_its_secret() {
    let disk = SimDisk::new(4);
    let (instance, _) = open(&disk);
    let text = format!(
        "{BUCKET}; SELECT t.text FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t"
    );
    let said = say(&instance, &text);
    assert!(said.contains("SECRET = '***********'") && !said.contains("se:cret"), "{said}");
}

#[test]
fn the_nearest_credential_is_taken() {
    let disk = SimDisk::new(5);
    let (instance, objects) = open(&disk);
    run(&instance, SALES);
    run(&instance, TABLE);
    let said =
        fails(&instance, "BACKUP DATABASE Sales TO URL = 's3://h:9/b/d/x.bak'", &[3201, 3013]);
    let refused = "Cannot open backup device 's3://h:9/b/d/x.bak'. Operating system error 50(The request is not supported.).";
    assert!(said.contains(refused), "{said}");
    run(&instance, BUCKET);
    run(&instance, "BACKUP DATABASE Sales TO URL = 's3://h:9/b/d/x.bak'");
    run(
        &instance,
        "CREATE CREDENTIAL [s3://h:9/b/d] WITH IDENTITY = 's3 access key', SECRET = 'near:1'",
    );
    run(
        &instance,
        "BACKUP DATABASE Sales TO URL = 's3://h:9/b/d/y.bak', URL = 's3://h:9/b/d/z.bak' WITH COMPRESSION, \
         MAXTRANSFERSIZE = 5242880, BACKUP_OPTIONS = '{\"s3\": {\"region\": \"eu-west-1\", \"tls\": false}}'",
    );
    run(&instance, "CREATE CREDENTIAL named WITH IDENTITY = 'S3 Access Key', SECRET = 'named:2'");
    run(&instance, "RESTORE VERIFYONLY FROM URL = 's3://h:9/b/d/x.bak' WITH CREDENTIAL = 'named'");
    let asked = objects.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        [
            "KEY:se:cret us-east-1 true 10485760/1",
            "near:1 eu-west-1 false 5242880/2",
            "near:1 eu-west-1 false 5242880/2",
            "named:2 us-east-1 true 10485760/1",
        ]
    );
    assert_eq!(
        say(&instance, "SELECT DISTINCT device_type FROM msdb.dbo.backupmediafamily"),
        "9",
        "the history knows URLs"
    );
}

#[test]
fn the_rules_of_urls_are_kept() {
    let disk = SimDisk::new(6);
    let (instance, _) = open(&disk);
    run(&instance, SALES);
    run(&instance, TABLE);
    run(&instance, BUCKET);
    let one = "URL = 's3://h:9/b/x.bak'";
    run(&instance, &format!("BACKUP DATABASE Sales TO {one} WITH NOFORMAT, NOINIT, NAME = 'n'"));
    let said = fails(&instance, &format!("BACKUP LOG Sales TO {one}"), &[3296, 3013]);
    assert!(said.contains(
        "s3://h:9/b/x.bak exists on the remote endpoint, and WITH FORMAT was not specified."
    ));
    run(&instance, &format!("BACKUP LOG Sales TO {one} WITH FORMAT"));
    for (with, number) in [
        ("INIT", 3291),
        ("FILE_SNAPSHOT", 3073),
        ("MAXTRANSFERSIZE = 5242879", 3250),
        ("MAXTRANSFERSIZE = 20971521", 3250),
        ("BACKUP_OPTIONS = '{\"s3\":'", 3217),
        ("BACKUP_OPTIONS = '{\"s3\": {\"http\": true}}'", 3217),
        ("CREDENTIAL = 'nobody'", 3288),
    ] {
        fails(
            &instance,
            &format!("BACKUP DATABASE Sales TO {one} WITH FORMAT, {with}"),
            &[number, 3013],
        );
    }
    fails(&instance, &format!("BACKUP DATABASE Sales TO {one}, DISK = 'x.bak'"), &[3011, 3013]);
    fails(&instance, &format!("RESTORE DATABASE Copy FROM {one} WITH FILE = 1"), &[3291, 3013]);
    run(&instance, &format!("BACKUP LOG Sales TO {one} WITH FORMAT, MAXTRANSFERSIZE = 20971520"));
    let long = |n: usize| format!("s3://h:9/b/{}", "x".repeat(n - "s3://h:9/b/".len()));
    run(&instance, &format!("BACKUP LOG Sales TO URL = '{}'", long(259)));
    fails(&instance, &format!("BACKUP LOG Sales TO URL = '{}'", long(260)), &[3057, 3013]);
    fails(&instance, "BACKUP DATABASE Sales TO URL = 's3://h:9'", &[3297, 3013]);
    fails(&instance, "BACKUP DATABASE Sales TO URL = 'https://x.blob/y'", &[40510]);
    run(
        &instance,
        "CREATE CREDENTIAL [s3://h:9/sas] WITH IDENTITY = 'SHARED ACCESS SIGNATURE', SECRET = 'a:b'",
    );
    fails(&instance, "BACKUP DATABASE Sales TO URL = 's3://h:9/sas/x'", &[3233, 3013]);
    run(&instance, "CREATE CREDENTIAL [s3://h:9/none] WITH IDENTITY = 'S3 Access Key'");
    fails(&instance, "BACKUP DATABASE Sales TO URL = 's3://h:9/none/x'", &[3201, 3013]);
    // Without devices for URLs there are none.
    let plain = text::try_open(&SimDisk::new(9), 32 << 20).expect("the instance opens");
    run(&plain, SALES);
    run(&plain, BUCKET);
    fails(&plain, &format!("BACKUP DATABASE Sales TO {one}"), &[40510]);
}

#[test]
fn a_chain_of_urls_is_restored() {
    let disk = SimDisk::new(7);
    let (instance, _) = open(&disk);
    run(&instance, SALES);
    run(&instance, TABLE);
    run(&instance, BUCKET);
    run(
        &instance,
        "BACKUP DATABASE Sales TO URL = 's3://h:9/b/1.bak', URL = 's3://h:9/b/2.bak', URL = 's3://h:9/b/3.bak'",
    );
    run(&instance, "INSERT Sales.dbo.t VALUES (4)");
    run(&instance, "BACKUP LOG Sales TO URL = 's3://h:9/b/1.trn'");
    run(
        &instance,
        "RESTORE DATABASE Copy FROM URL = 's3://h:9/b/3.bak', URL = 's3://h:9/b/1.bak', URL = 's3://h:9/b/2.bak' WITH \
         NORECOVERY, MOVE 'Sales' TO 'c.mdf', MOVE 'Sales_log' TO 'c.ldf'; RESTORE LOG Copy FROM URL = 's3://h:9/b/1.trn'",
    );
    assert_eq!(say(&instance, "SELECT SUM(a) FROM Copy.dbo.t"), "10");
}
