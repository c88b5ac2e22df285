//! The statements that take a path, and what each leaves.

use std::sync::Arc;

use engine::Instance;

use crate::run;

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

const fn plain(name: &'static str, text: &'static str) -> Statement {
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
    plain("RESTORE HEADERONLY", "RESTORE HEADERONLY FROM DISK = '{}'"),
    plain("RESTORE FILELISTONLY", "RESTORE FILELISTONLY FROM DISK = '{}'"),
    plain("RESTORE LABELONLY", "RESTORE LABELONLY FROM DISK = '{}'"),
    plain("RESTORE VERIFYONLY", "RESTORE VERIFYONLY FROM DISK = '{}'"),
    making(
        "RESTORE DATABASE FROM",
        "RESTORE DATABASE made FROM DISK = '{}' WITH MOVE 'other' TO 'made.mdf', MOVE 'other_log' TO 'made.ldf'",
    ),
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
    making(
        "CREATE DATABASE",
        "CREATE DATABASE made ON (NAME = m, FILENAME = '{}') LOG ON (NAME = l, FILENAME = 'made.ldf')",
    ),
    making(
        "CREATE DATABASE LOG ON",
        "CREATE DATABASE made ON (NAME = m, FILENAME = 'made.mdf') LOG ON (NAME = l, FILENAME = '{}')",
    ),
    making(
        "CREATE DATABASE FOR ATTACH of the log",
        "CREATE DATABASE made ON (FILENAME = 'base.bak') LOG ON (FILENAME = '{}') FOR ATTACH",
    ),
    plain("ALTER DATABASE ADD FILE", "ALTER DATABASE app ADD FILE (NAME = f, FILENAME = '{}')"),
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
        before: "EXEC sp_addumpdevice 'disk', 'dev', '{}'",
        after: "EXEC sp_dropdevice 'dev'",
    },
    Statement {
        name: "sp_dropdevice",
        text: "EXEC sp_dropdevice 'dev', 'delfile'",
        before: "EXEC sp_addumpdevice 'disk', 'dev', '{}'",
        after: "IF EXISTS (SELECT * FROM sys.backup_devices WHERE name = 'dev') EXEC sp_dropdevice 'dev'",
    },
    Statement {
        name: "CREATE DATABASE FOR ATTACH",
        text: "CREATE DATABASE made ON (FILENAME = '{}') FOR ATTACH",
        before: "",
        after: "IF DB_ID('made') IS NOT NULL EXEC sp_detach_db 'made'",
    },
    Statement {
        name: "sp_attach_db",
        text: "EXEC sp_attach_db 'made', '{}'",
        before: "",
        after: "IF DB_ID('made') IS NOT NULL EXEC sp_detach_db 'made'",
    },
    Statement {
        name: "sp_attach_single_file_db",
        text: "EXEC sp_attach_single_file_db 'made', '{}'",
        before: "",
        after: "IF DB_ID('made') IS NOT NULL EXEC sp_detach_db 'made'",
    },
];

impl Statement {
    /// The statement with a path.
    pub fn with(&self, path: &str) -> String {
        self.text.replace("{}", &path.replace('\'', "''"))
    }

    pub fn before(&self, instance: &Arc<Instance>, path: &str) {
        if !self.before.is_empty() {
            let path = if path.trim().is_empty() { "none" } else { path };
            run(instance, &self.before.replace("{}", path));
        }
    }

    pub fn after(&self, instance: &Arc<Instance>) {
        if !self.after.is_empty() {
            run(instance, self.after);
        }
        // A file that was added goes again.
        if self.name.contains("ADD FILE") {
            run(instance, "USE app; IF FILE_ID('f') IS NOT NULL ALTER DATABASE app REMOVE FILE f");
        }
    }
}
