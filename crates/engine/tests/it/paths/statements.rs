//! The statements that take a path and have an effect here, and what each leaves. Those of T-SQL
//! that this server refuses are in `refused`.

use crate::support::text;
use std::sync::Arc;

use engine::Instance;

use super::run;

/// A statement, in which `{}` is the path.
pub struct Statement {
    pub name: &'static str,
    text: &'static str,
    /// What the administrator does before it, with the path.
    before: &'static str,
    /// What the administrator does after it.
    after: &'static str,
}

const DROP: &str = "IF DB_ID('made') IS NOT NULL DROP DATABASE made";

const DETACH: &str = "IF DB_ID('made') IS NOT NULL EXEC sp_detach_db 'made'";
const DEVICE: &str = "EXEC sp_addumpdevice 'disk', 'dev', '{}'";
const DROP_DEVICE: &str =
    "IF EXISTS (SELECT * FROM sys.backup_devices WHERE name = 'dev') EXEC sp_dropdevice 'dev'";

pub const fn plain(name: &'static str, text: &'static str) -> Statement {
    Statement { name, text, before: "", after: "" }
}

const fn making(name: &'static str, text: &'static str) -> Statement {
    Statement { name, text, before: "", after: DROP }
}

pub static STATEMENTS: &[Statement] = &[
    plain("BACKUP DATABASE WITH FORMAT", "BACKUP DATABASE app TO DISK = '{}' WITH FORMAT"),
    plain("BACKUP DATABASE", "BACKUP DATABASE app TO DISK = '{}'"),
    plain("BACKUP DATABASE to two files", "BACKUP DATABASE app TO DISK = 'a.bak', DISK = '{}' WITH FORMAT"),
    plain("BACKUP LOG", "BACKUP LOG app TO DISK = '{}' WITH INIT"),
    plain("BACKUP WITH DIFFERENTIAL", "BACKUP DATABASE app TO DISK = '{}' WITH DIFFERENTIAL, INIT"),
    plain("BACKUP MIRROR TO", "BACKUP DATABASE app TO DISK = 'a.bak' MIRROR TO DISK = '{}' WITH FORMAT"),
    plain("BACKUP of a system database", "BACKUP DATABASE msdb TO DISK = '{}' WITH FORMAT"),
    plain(
        "BACKUP by a variable",
        "DECLARE @p nvarchar(max) = '{}'; BACKUP DATABASE app TO DISK = @p WITH FORMAT",
    ),
    plain("BACKUP in a text", "EXEC('BACKUP DATABASE app TO DISK = ''{}'' WITH FORMAT')"),
    plain("BACKUP TO URL", "BACKUP DATABASE app TO URL = '{}'"),
    plain("BACKUP TO TAPE", "BACKUP DATABASE app TO TAPE = '{}'"),
    plain("BACKUP LOG WITH STANDBY", "BACKUP LOG app TO DISK = 'a.bak' WITH STANDBY = '{}'"),
    plain("RESTORE HEADERONLY", "RESTORE HEADERONLY FROM DISK = '{}'"),
    plain("RESTORE FILELISTONLY", "RESTORE FILELISTONLY FROM DISK = '{}'"),
    plain("RESTORE LABELONLY", "RESTORE LABELONLY FROM DISK = '{}'"),
    plain("RESTORE VERIFYONLY", "RESTORE VERIFYONLY FROM DISK = '{}'"),
    making(
        "RESTORE DATABASE FROM",
        "RESTORE DATABASE made FROM DISK = '{}' WITH MOVE 'other' TO 'made.mdf', MOVE 'other_log' TO 'made.ldf'",
    ),
    // What is restored is what was in it.
    plain("RESTORE DATABASE of another one", "RESTORE DATABASE other FROM DISK = '{}' WITH REPLACE"),
    making("RESTORE LOG", "RESTORE LOG made FROM DISK = '{}'"),
    making("RESTORE DATABASE FROM URL", "RESTORE DATABASE made FROM URL = '{}'"),
    making("RESTORE WITH STANDBY", "RESTORE DATABASE made FROM DISK = 'good.bak' WITH STANDBY = '{}'"),
    making(
        "RESTORE DATABASE MOVE",
        "RESTORE DATABASE made FROM DISK = 'good.bak' WITH MOVE 'other' TO '{}', MOVE 'other_log' TO 'made.ldf'",
    ),
    making(
        "RESTORE DATABASE MOVE of the log, REPLACE",
        "RESTORE DATABASE made FROM DISK = 'good.bak'
         WITH MOVE 'other' TO 'made.mdf', MOVE 'other_log' TO '{}', REPLACE",
    ),
    plain("BULK INSERT", "BULK INSERT app.dbo.t FROM '{}'"),
    plain("OPENROWSET SINGLE_BLOB", "SELECT LEN(BulkColumn) FROM OPENROWSET(BULK '{}', SINGLE_BLOB) x"),
    plain("OPENROWSET SINGLE_CLOB", "SELECT LEN(BulkColumn) FROM OPENROWSET(BULK '{}', SINGLE_CLOB) x"),
    plain("OPENROWSET SINGLE_NCLOB", "SELECT LEN(BulkColumn) FROM OPENROWSET(BULK '{}', SINGLE_NCLOB) x"),
    plain(
        "INSERT from OPENROWSET",
        "INSERT app.dbo.t SELECT LEFT(BulkColumn, 9) FROM OPENROWSET(BULK '{}', SINGLE_CLOB) x",
    ),
    plain("BULK INSERT WITH FORMATFILE", "BULK INSERT app.dbo.t FROM 'a.txt' WITH (FORMATFILE = '{}')"),
    plain("BULK INSERT WITH ERRORFILE", "BULK INSERT app.dbo.t FROM 'a.txt' WITH (ERRORFILE = '{}')"),
    plain("BULK INSERT WITH DATA_SOURCE", "BULK INSERT app.dbo.t FROM '{}' WITH (DATA_SOURCE = 's')"),
    plain("OPENROWSET WITH FORMATFILE", "SELECT * FROM OPENROWSET(BULK 'a.txt', FORMATFILE = '{}') x"),
    plain(
        "OPENROWSET WITH ERRORFILE",
        "SELECT * FROM OPENROWSET(BULK 'a.txt', FORMATFILE = 'f', ERRORFILE = '{}') x",
    ),
    making(
        "CREATE DATABASE",
        "CREATE DATABASE made ON (NAME = m, FILENAME = '{}') LOG ON (NAME = l, FILENAME = 'made.ldf')",
    ),
    making(
        "CREATE DATABASE LOG ON",
        "CREATE DATABASE made ON (NAME = m, FILENAME = 'made.mdf') LOG ON (NAME = l, FILENAME = '{}')",
    ),
    making(
        "CREATE DATABASE, second file",
        "CREATE DATABASE made ON (NAME = m, FILENAME = 'made.mdf'), (NAME = n, FILENAME = '{}')
         LOG ON (NAME = l, FILENAME = 'made.ldf')",
    ),
    making(
        "CREATE DATABASE, FILEGROUP",
        "CREATE DATABASE made ON (NAME = m, FILENAME = 'made.mdf'), FILEGROUP g (NAME = n, FILENAME = '{}')
         LOG ON (NAME = l, FILENAME = 'made.ldf')",
    ),
    making(
        "CREATE DATABASE CONTAINS FILESTREAM",
        "CREATE DATABASE made ON (NAME = m, FILENAME = 'made.mdf'),
         FILEGROUP g CONTAINS FILESTREAM (NAME = n, FILENAME = '{}')",
    ),
    making(
        "CREATE DATABASE AS SNAPSHOT",
        "CREATE DATABASE made ON (NAME = app, FILENAME = '{}') AS SNAPSHOT OF app",
    ),
    Statement {
        name: "CREATE DATABASE FOR ATTACH of the log",
        text: "CREATE DATABASE made ON (FILENAME = 'gone.mdf') LOG ON (FILENAME = '{}') FOR ATTACH",
        before: "",
        after: DETACH,
    },
    plain("ALTER DATABASE ADD FILE", "ALTER DATABASE app ADD FILE (NAME = f, FILENAME = '{}')"),
    plain("ALTER DATABASE of tempdb ADD FILE", "ALTER DATABASE tempdb ADD FILE (NAME = f, FILENAME = '{}')"),
    Statement {
        name: "ALTER DATABASE of tempdb MODIFY FILE",
        text: "ALTER DATABASE tempdb MODIFY FILE (NAME = tempdb, FILENAME = '{}')",
        before: "",
        after: "ALTER DATABASE tempdb MODIFY FILE (NAME = tempdb, FILENAME = 'tempdb.mdf')",
    },
    plain(
        "ALTER DATABASE SET FILESTREAM",
        "ALTER DATABASE app SET FILESTREAM (NON_TRANSACTED_ACCESS = FULL, DIRECTORY_NAME = '{}')",
    ),
    plain("ALTER DATABASE ADD LOG FILE", "ALTER DATABASE app ADD LOG FILE (NAME = f, FILENAME = '{}')"),
    Statement {
        name: "ALTER DATABASE MODIFY FILE",
        text: "ALTER DATABASE app MODIFY FILE (NAME = app, FILENAME = '{}')",
        before: "",
        after: "ALTER DATABASE app MODIFY FILE (NAME = app, FILENAME = 'app.mdf')",
    },
    Statement {
        name: "BACKUP to a device",
        text: "BACKUP DATABASE app TO dev WITH FORMAT",
        before: DEVICE,
        after: DROP_DEVICE,
    },
    Statement {
        name: "sp_dropdevice",
        text: "EXEC sp_dropdevice 'dev', 'delfile'",
        before: DEVICE,
        after: DROP_DEVICE,
    },
    Statement {
        name: "sp_addumpdevice",
        text: "EXEC sp_addumpdevice 'disk', 'dev', '{}'",
        before: "",
        after: DROP_DEVICE,
    },
    Statement {
        name: "RESTORE HEADERONLY from a device",
        text: "RESTORE HEADERONLY FROM dev",
        before: DEVICE,
        after: DROP_DEVICE,
    },
    Statement {
        name: "CREATE DATABASE FOR ATTACH_REBUILD_LOG",
        text: "CREATE DATABASE made ON (FILENAME = '{}') FOR ATTACH_REBUILD_LOG",
        before: "",
        after: DETACH,
    },
    Statement {
        name: "sp_attach_db, second file",
        text: "EXEC sp_attach_db 'made', 'gone.mdf', '{}'",
        before: "",
        after: DETACH,
    },
    Statement {
        name: "CREATE DATABASE FOR ATTACH",
        text: "CREATE DATABASE made ON (FILENAME = '{}') FOR ATTACH",
        before: "",
        after: DETACH,
    },
    Statement { name: "sp_attach_db", text: "EXEC sp_attach_db 'made', '{}'", before: "", after: DETACH },
    Statement {
        name: "sp_attach_single_file_db",
        text: "EXEC sp_attach_single_file_db 'made', '{}'",
        before: "",
        after: DETACH,
    },
];

impl Statement {
    /// The statement with a path.
    pub fn with(&self, path: &str) -> String {
        self.text.replace("{}", &path.replace('\'', "''"))
    }

    pub fn before(&self, instance: &Arc<Instance>, path: &str) {
        if !self.before.is_empty() {
            // What is no path to a device makes none.
            text::say(instance, &self.before.replace("{}", &path.replace('\'', "''")));
        }
    }

    pub fn after(&self, instance: &Arc<Instance>) {
        if !self.after.is_empty() {
            run(instance, self.after);
        }
        // A file that was added goes again.
        if self.name.contains("ADD FILE") {
            let db = if self.name.contains("tempdb") { "tempdb" } else { "app" };
            let remove = format!("IF FILE_ID('f') IS NOT NULL ALTER DATABASE {db} REMOVE FILE f");
            run(instance, &format!("USE {db}; {remove}"));
        }
    }
}
