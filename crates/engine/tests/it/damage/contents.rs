//! An instance with something of everything that it keeps, and what is compared of it after damage.

use std::sync::Arc;

use engine::Instance;

use crate::support::text::say;

/// Bits of each file that are changed, one at a time: `RINGWOOD_FLIPS`, or `usually`.
pub fn flips(usually: usize) -> usize {
    std::env::var("RINGWOOD_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(usually)
}

pub const MAKE: &[&str] = &[
    "CREATE DATABASE Sales ON PRIMARY (NAME = s1, FILENAME = 'E:\\Sales one.mdf', SIZE = 4MB), FILEGROUP more \
     (NAME = s2, FILENAME = 'E:\\far\\s2.ndf', SIZE = 2MB) LOG ON (NAME = sl, FILENAME = 'F:\\the.log', SIZE = 2MB)",
    "CREATE DATABASE Rest; CREATE DATABASE Gone",
    "EXEC('USE Sales; CREATE TABLE t (id int PRIMARY KEY, v varchar(100)) ON [more]; \
     INSERT t SELECT value, REPLICATE(''x'', value % 90) FROM GENERATE_SERIES(1, 2000)')",
    "CREATE LOGIN ann WITH PASSWORD = 'Xy7#kkpq29'; CREATE LOGIN bob WITH PASSWORD = 'Zt4%mmwr83', DEFAULT_DATABASE = Sales",
    "ALTER SERVER ROLE sysadmin ADD MEMBER bob; GRANT VIEW SERVER STATE TO ann",
    "CREATE CREDENTIAL c WITH IDENTITY = 'me', SECRET = 'it'; EXEC sp_addumpdevice 'disk', 'dev', 'd.bak'",
    "EXEC('CREATE PROCEDURE p AS SELECT 1'); EXEC sp_detach_db 'Gone'",
    "ALTER DATABASE Rest SET OFFLINE",
];

/// What an instance has: databases and their files, a table, logins, permissions, credentials,
/// backup devices.
pub fn contents(instance: &Arc<Instance>) -> String {
    let all = [
        "SELECT name, database_id FROM sys.databases ORDER BY database_id",
        "SELECT database_id, file_id, name, physical_name FROM sys.master_files WHERE database_id <> 2 ORDER BY 1, 2",
        "SELECT COUNT(*), SUM(id), CHECKSUM_AGG(CHECKSUM(id, v)) FROM Sales.dbo.t",
        "SELECT name, type, sid, default_database_name FROM sys.server_principals ORDER BY principal_id",
        "SELECT name, password_hash FROM sys.sql_logins ORDER BY name",
        "SELECT role_principal_id, member_principal_id FROM sys.server_role_members ORDER BY 1, 2",
        "SELECT class, major_id, grantee_principal_id, permission_name, state FROM sys.server_permissions ORDER BY 1, 2, 3, 4",
        "SELECT name, credential_identity FROM sys.credentials",
        "SELECT name, physical_name FROM sys.backup_devices",
        "SELECT name FROM sys.procedures",
    ];
    all.iter().map(|sql| say(instance, sql) + "\n").collect()
}

/// Bits spread over a file.
pub fn spread(len: usize, count: usize) -> impl Iterator<Item = usize> {
    let mut rng = fastrand::Rng::with_seed(len as u64);
    (0..count).map(move |n| {
        (n * len * 8 / count + rng.usize(0..(len * 8 / count).max(1))).min(len * 8 - 1)
    })
}
