//! Statements of T-SQL that take a path and that this server does not have: each is refused before
//! anybody looks at the path, so each says the same of every place.

use super::statements::{Statement, plain};

pub static REFUSED: &[Statement] = &[
    plain("xp_cmdshell", "EXEC xp_cmdshell 'cat {}'"),
    plain("xp_fileexist", "EXEC xp_fileexist '{}'"),
    plain("xp_dirtree", "EXEC xp_dirtree '{}', 1, 1"),
    plain("xp_subdirs", "EXEC xp_subdirs '{}'"),
    plain("xp_create_subdir", "EXEC xp_create_subdir '{}'"),
    plain("xp_delete_file", "EXEC xp_delete_file 0, '{}'"),
    plain("xp_delete_files", "EXEC xp_delete_files '{}'"),
    plain("xp_copy_file", "EXEC xp_copy_file '{}', 'copy.x'"),
    plain("xp_get_tape_devices", "EXEC xp_get_tape_devices '{}'"),
    plain("xp_regread", "EXEC xp_regread 'HKEY_LOCAL_MACHINE', '{}', 'x'"),
    plain("xp_availablemedia", "EXEC xp_availablemedia '{}'"),
    plain("sp_OAMethod", "EXEC sp_OAMethod 1, 'OpenTextFile', NULL, '{}'"),
    plain("sp_addlinkedserver", "EXEC sp_addlinkedserver 's', 'x', 'x', '{}'"),
    plain("sp_addextendedproc", "EXEC sp_addextendedproc 'xp_mine', '{}'"),
    plain(
        "sp_create_removable",
        "EXEC sp_create_removable 'made', 'm', '{}', 4, 'l', 'made.ldf', 1",
    ),
    plain("sp_trace_create", "DECLARE @t int; EXEC sp_trace_create @t OUTPUT, 0, N'{}'"),
    plain("sp_execute_external_script", "EXEC sp_execute_external_script N'R', N'{}'"),
    plain("sys.dm_os_file_exists", "SELECT * FROM sys.dm_os_file_exists('{}')"),
    plain(
        "sys.dm_os_enumerate_filesystem",
        "SELECT * FROM sys.dm_os_enumerate_filesystem('{}', '*')",
    ),
    plain("sys.fn_trace_gettable", "SELECT * FROM sys.fn_trace_gettable('{}', DEFAULT)"),
    plain("sys.fn_get_audit_file", "SELECT * FROM sys.fn_get_audit_file('{}', DEFAULT, DEFAULT)"),
    plain(
        "sys.fn_xe_file_target_read_file",
        "SELECT * FROM sys.fn_xe_file_target_read_file('{}', NULL, NULL, NULL)",
    ),
    plain(
        "sys.fn_dump_dblog",
        "SELECT * FROM sys.fn_dump_dblog(NULL, NULL, 'DISK', 1, '{}', DEFAULT, DEFAULT)",
    ),
    plain("OPENROWSET of a provider", "SELECT * FROM OPENROWSET('x', '{}', 'SELECT 1') x"),
    plain("OPENDATASOURCE", "SELECT * FROM OPENDATASOURCE('x', 'Data Source={}').a.b.c"),
    plain("CREATE ASSEMBLY", "CREATE ASSEMBLY a FROM '{}'"),
    plain(
        "CREATE CERTIFICATE",
        "CREATE CERTIFICATE c FROM FILE = '{}' WITH PRIVATE KEY (FILE = '{}')",
    ),
    plain(
        "BACKUP CERTIFICATE",
        "BACKUP CERTIFICATE c TO FILE = '{}' WITH PRIVATE KEY (FILE = '{}')",
    ),
    plain("CREATE ASYMMETRIC KEY", "CREATE ASYMMETRIC KEY k FROM FILE = '{}'"),
    plain("CREATE CRYPTOGRAPHIC PROVIDER", "CREATE CRYPTOGRAPHIC PROVIDER p FROM FILE = '{}'"),
    plain("BACKUP MASTER KEY", "BACKUP MASTER KEY TO FILE = '{}' ENCRYPTION BY PASSWORD = 'x'"),
    plain("RESTORE MASTER KEY", "RESTORE MASTER KEY FROM FILE = '{}' DECRYPTION BY PASSWORD = 'x'"),
    plain("BACKUP SERVICE MASTER KEY", "BACKUP SERVICE MASTER KEY TO FILE = '{}'"),
    plain("RESTORE SERVICE MASTER KEY", "RESTORE SERVICE MASTER KEY FROM FILE = '{}'"),
    plain("BACKUP SYMMETRIC KEY", "BACKUP SYMMETRIC KEY k TO FILE = '{}'"),
    plain("CREATE SERVER AUDIT", "CREATE SERVER AUDIT a TO FILE (FILEPATH = '{}')"),
    plain(
        "CREATE EVENT SESSION",
        "CREATE EVENT SESSION s ON SERVER ADD TARGET package0.event_file (SET filename = '{}')",
    ),
    plain("CREATE EXTERNAL DATA SOURCE", "CREATE EXTERNAL DATA SOURCE s WITH (LOCATION = '{}')"),
    plain("CREATE FULLTEXT CATALOG", "CREATE FULLTEXT CATALOG c IN PATH '{}'"),
    plain(
        "ALTER SERVER CONFIGURATION",
        "ALTER SERVER CONFIGURATION SET DIAGNOSTICS LOG PATH = '{}'",
    ),
    plain("RESTORE REWINDONLY", "RESTORE REWINDONLY FROM TAPE = '{}'"),
    plain("RESTORE FROM DATABASE_SNAPSHOT", "RESTORE DATABASE app FROM DATABASE_SNAPSHOT = '{}'"),
];
