//! Views of SQL Server 2000's names that speak of users, sessions, files and settings: queries over
//! the views of today. Guarantee: names and types of the columns are SQL Server's; what its pages
//! call internal is 0 or NULL.

use types::{DataType, Len};

use super::{SYSNAME, SystemView, View, ViewColumn};

use DataType::{
    BigInt, Binary, Bit, Char, DateTime, Int, NChar, NVarChar, SmallInt, VarBinary, VarChar,
};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[
    &SYSUSERS,
    &SYSMEMBERS,
    &SYSLOGINS,
    &SYSPROCESSES,
    &SYSFILES,
    &SYSALTFILES,
    &SYSFILEGROUPS,
    &SYSPERFINFO,
    &SYSCONFIGURES,
    &SYSCURCONFIGS,
    &SYSDEVICES,
    &SYSSERVERS,
];

/// sys.sysusers: users and roles of a database.
static SYSUSERS: View = View::defined("sysusers", &[
    ("uid", SmallInt, true),
    ("status", SmallInt, true),
    ("name", SYSNAME, true),
    ("sid", VarBinary(Len::N(85)), true),
    ("roles", VarBinary(Len::N(2048)), true),
    ("createdate", DateTime, false),
    ("updatedate", DateTime, false),
    ("altuid", SmallInt, true),
    ("password", VarBinary(Len::N(256)), true),
    ("gid", SmallInt, true),
    ("environ", VarChar(Len::N(255)), true),
    ("hasdbaccess", Int, true),
    ("islogin", Int, true),
    ("isntname", Int, true),
    ("isntgroup", Int, true),
    ("isntuser", Int, true),
    ("issqluser", Int, true),
    ("isaliased", Int, true),
    ("issqlrole", Int, true),
    ("isapprole", Int, true),
], "\
     SELECT p.principal_id, 0, p.name, p.sid, NULL, p.create_date, p.modify_date, p.owning_principal_id, NULL,
       CASE p.type WHEN 'R' THEN p.principal_id ELSE 0 END, NULL,
       CASE WHEN p.type = 'S' AND (p.principal_id = 1 OR EXISTS (SELECT * FROM sys.database_permissions AS r
         WHERE r.grantee_principal_id = p.principal_id AND r.class = 0 AND r.type = 'CO' AND r.state IN ('G', 'W'))) THEN 1 ELSE 0 END,
       CASE p.type WHEN 'S' THEN 1 ELSE 0 END, 0, 0, 0, CASE p.type WHEN 'S' THEN 1 ELSE 0 END, 0, CASE p.type WHEN 'R' THEN 1 ELSE 0 END,
       CASE p.type WHEN 'A' THEN 1 ELSE 0 END
     FROM sys.database_principals AS p");

/// sys.sysmembers.
static SYSMEMBERS: View = View::defined(
    "sysmembers",
    &[("memberuid", SmallInt, true), ("groupuid", SmallInt, true)],
    "\
     SELECT member_principal_id, role_principal_id FROM sys.database_role_members",
);

/// sys.syslogins.
static SYSLOGINS: View = View::defined("syslogins", &[
    ("sid", VarBinary(Len::N(85)), true),
    ("status", SmallInt, true),
    ("createdate", DateTime, false),
    ("updatedate", DateTime, false),
    ("accdate", DateTime, false),
    ("totcpu", Int, false),
    ("totio", Int, false),
    ("spacelimit", Int, false),
    ("timelimit", Int, false),
    ("resultlimit", Int, false),
    ("name", SYSNAME, false),
    ("dbname", SYSNAME, true),
    ("password", NVarChar(Len::N(128)), true),
    ("language", SYSNAME, true),
    ("denylogin", Int, true),
    ("hasaccess", Int, true),
    ("isntname", Int, true),
    ("isntgroup", Int, true),
    ("isntuser", Int, true),
    ("sysadmin", Int, true),
    ("securityadmin", Int, true),
    ("serveradmin", Int, true),
    ("setupadmin", Int, true),
    ("processadmin", Int, true),
    ("diskadmin", Int, true),
    ("dbcreator", Int, true),
    ("bulkadmin", Int, true),
    ("loginname", NVarChar(Len::N(128)), true),
], "\
     WITH m AS (SELECT r.name AS role, k.member_principal_id AS member FROM sys.server_role_members AS k
       JOIN sys.server_principals AS r ON r.principal_id = k.role_principal_id)
     SELECT p.sid, 9, p.create_date, p.modify_date, p.create_date, 0, 0, 0, 0, 0, p.name, p.default_database_name, NULL,
       p.default_language_name, 0, CASE p.is_disabled WHEN 0 THEN 1 ELSE 0 END, 0, 0, 0,
       CASE WHEN p.principal_id IN (SELECT member FROM m WHERE role = 'sysadmin') THEN 1 ELSE 0 END,
       CASE WHEN p.principal_id IN (SELECT member FROM m WHERE role = 'securityadmin') THEN 1 ELSE 0 END,
       CASE WHEN p.principal_id IN (SELECT member FROM m WHERE role = 'serveradmin') THEN 1 ELSE 0 END,
       CASE WHEN p.principal_id IN (SELECT member FROM m WHERE role = 'setupadmin') THEN 1 ELSE 0 END,
       CASE WHEN p.principal_id IN (SELECT member FROM m WHERE role = 'processadmin') THEN 1 ELSE 0 END,
       CASE WHEN p.principal_id IN (SELECT member FROM m WHERE role = 'diskadmin') THEN 1 ELSE 0 END,
       CASE WHEN p.principal_id IN (SELECT member FROM m WHERE role = 'dbcreator') THEN 1 ELSE 0 END,
       CASE WHEN p.principal_id IN (SELECT member FROM m WHERE role = 'bulkadmin') THEN 1 ELSE 0 END,
       p.name
     FROM sys.server_principals AS p WHERE p.type <> 'R'");

/// sys.sysprocesses: sessions, with what they run.
static SYSPROCESSES: View = View::defined("sysprocesses", &[
    ("spid", SmallInt, false),
    ("kpid", SmallInt, false),
    ("blocked", SmallInt, false),
    ("waittype", Binary(2), false),
    ("waittime", BigInt, false),
    ("lastwaittype", NChar(32), false),
    ("waitresource", NChar(256), false),
    ("dbid", SmallInt, false),
    ("uid", SmallInt, true),
    ("cpu", Int, false),
    ("physical_io", BigInt, false),
    ("memusage", Int, false),
    ("login_time", DateTime, false),
    ("last_batch", DateTime, false),
    ("ecid", SmallInt, false),
    ("open_tran", SmallInt, false),
    ("status", NChar(30), false),
    ("sid", Binary(86), false),
    ("hostname", NChar(128), false),
    ("program_name", NChar(128), false),
    ("hostprocess", NChar(10), false),
    ("cmd", NChar(26), false),
    ("nt_domain", NChar(128), false),
    ("nt_username", NChar(128), false),
    ("net_address", NChar(12), false),
    ("net_library", NChar(12), false),
    ("loginame", NChar(128), false),
    ("context_info", Binary(128), false),
    ("sql_handle", Binary(20), false),
    ("stmt_start", Int, false),
    ("stmt_end", Int, false),
    ("request_id", Int, false),
], "\
     SELECT s.session_id, 0, COALESCE(r.blocking_session_id, 0), 0x0000, COALESCE(r.wait_time, 0),
       COALESCE(r.wait_type, r.last_wait_type, 'MISCELLANEOUS'), COALESCE(r.wait_resource, ''), s.database_id,
       CASE WHEN s.database_id = DB_ID() THEN
         (SELECT MAX(u.principal_id) FROM sys.database_principals AS u WHERE u.sid = s.security_id AND u.type <> 'R') END,
       COALESCE(s.cpu_time, 0), COALESCE(s.reads, 0) + COALESCE(s.writes, 0), COALESCE(s.memory_usage, 0), s.login_time,
       s.last_request_start_time, 0, s.open_transaction_count, COALESCE(r.status, s.status), CAST(s.security_id AS binary(86)),
       COALESCE(s.host_name, ''), COALESCE(s.program_name, ''), COALESCE(CAST(s.host_process_id AS nvarchar(10)), ''),
       COALESCE(r.command, 'AWAITING COMMAND'), COALESCE(s.nt_domain, ''), COALESCE(s.nt_user_name, ''), '',
       COALESCE(CASE c.net_transport WHEN 'TCP' THEN 'TCP/IP' WHEN 'Shared memory' THEN 'LPC' ELSE c.net_transport END, ''), s.login_name,
       COALESCE(s.context_info, 0x), COALESCE(CAST(r.sql_handle AS binary(20)), CAST(c.most_recent_sql_handle AS binary(20)), 0x),
       COALESCE(r.statement_start_offset, 0), COALESCE(r.statement_end_offset, 0), COALESCE(r.request_id, 0)
     FROM sys.dm_exec_sessions AS s LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
     LEFT JOIN sys.dm_exec_connections AS c ON c.session_id = s.session_id");

/// sys.sysfiles.
static SYSFILES: View = View::defined("sysfiles", &[
    ("fileid", SmallInt, true),
    ("groupid", SmallInt, true),
    ("size", Int, false),
    ("maxsize", Int, false),
    ("growth", Int, false),
    ("status", Int, true),
    ("perf", Int, false),
    ("name", SYSNAME, false),
    ("filename", NVarChar(Len::N(260)), true),
], "\
     SELECT file_id, data_space_id, size, max_size, growth,
       2 + CASE type WHEN 1 THEN 64 ELSE 0 END + CASE is_percent_growth WHEN 1 THEN 1048576 ELSE 0 END, 0, name, physical_name
     FROM sys.database_files");

/// sys.sysaltfiles.
static SYSALTFILES: View = View::defined("sysaltfiles", &[
    ("fileid", SmallInt, true),
    ("groupid", SmallInt, true),
    ("size", Int, false),
    ("maxsize", Int, false),
    ("growth", Int, false),
    ("status", Int, true),
    ("perf", Int, false),
    ("dbid", SmallInt, true),
    ("name", SYSNAME, false),
    ("filename", NVarChar(Len::N(260)), true),
], "\
     SELECT file_id, data_space_id, size, max_size, growth,
       2 + CASE type WHEN 1 THEN 64 ELSE 0 END + CASE is_percent_growth WHEN 1 THEN 1048576 ELSE 0 END, 0, database_id, name, physical_name
     FROM sys.master_files");

/// sys.sysfilegroups.
static SYSFILEGROUPS: View = View::defined("sysfilegroups", &[
    ("groupid", SmallInt, true),
    ("allocpolicy", SmallInt, true),
    ("status", Int, true),
    ("groupname", SYSNAME, false),
], "\
     SELECT data_space_id, 0, CASE is_read_only WHEN 1 THEN 8 ELSE 0 END + CASE is_default WHEN 1 THEN 16 ELSE 0 END, name
     FROM sys.filegroups");

/// sys.sysperfinfo.
static SYSPERFINFO: View = View::defined(
    "sysperfinfo",
    &[
        ("object_name", NChar(128), false),
        ("counter_name", NChar(128), false),
        ("instance_name", NChar(128), true),
        ("cntr_value", BigInt, false),
        ("cntr_type", Int, false),
    ],
    "\
     SELECT object_name, counter_name, instance_name, cntr_value, cntr_type FROM sys.dm_os_performance_counters",
);

const CONFIGURATION_COLUMNS: &[ViewColumn] = &[
    ("value", Int, true),
    ("config", SmallInt, true),
    ("comment", NVarChar(Len::N(255)), false),
    ("status", SmallInt, true),
];

/// sys.sysconfigures.
static SYSCONFIGURES: View = View::defined(
    "sysconfigures",
    CONFIGURATION_COLUMNS,
    "\
     SELECT CAST(value AS int), configuration_id, description,
       CASE is_dynamic WHEN 1 THEN 1 ELSE 0 END + CASE is_advanced WHEN 1 THEN 2 ELSE 0 END
     FROM sys.configurations",
);

/// sys.syscurconfigs.
static SYSCURCONFIGS: View = View::defined(
    "syscurconfigs",
    CONFIGURATION_COLUMNS,
    "\
     SELECT CAST(value_in_use AS int), configuration_id, description,
       CASE is_dynamic WHEN 1 THEN 1 ELSE 0 END + CASE is_advanced WHEN 1 THEN 2 ELSE 0 END
     FROM sys.configurations",
);

/// sys.sysdevices: backup devices.
static SYSDEVICES: View = View::defined(
    "sysdevices",
    &[
        ("name", SYSNAME, true),
        ("size", Int, true),
        ("low", Int, true),
        ("high", Int, true),
        ("status", SmallInt, true),
        ("cntrltype", SmallInt, true),
        ("phyname", NVarChar(Len::N(260)), true),
    ],
    "\
     SELECT name, 0, 0, 0, 0, type, physical_name FROM sys.backup_devices",
);

/// sys.sysservers: this server.
static SYSSERVERS: View = View::defined("sysservers", &[
    ("srvid", SmallInt, true),
    ("srvstatus", SmallInt, true),
    ("srvname", SYSNAME, false),
    ("srvproduct", SYSNAME, false),
    ("providername", SYSNAME, false),
    ("datasource", NVarChar(Len::N(4000)), true),
    ("location", NVarChar(Len::N(4000)), true),
    ("providerstring", NVarChar(Len::N(4000)), true),
    ("schemadate", DateTime, false),
    ("topologyx", Int, true),
    ("topologyy", Int, true),
    ("catalog", SYSNAME, true),
    ("srvcollation", SYSNAME, true),
    ("connecttimeout", Int, true),
    ("querytimeout", Int, true),
    ("srvnetname", Char(30), true),
    ("isremote", Bit, true),
    ("rpc", Bit, false),
    ("pub", Bit, false),
    ("sub", Bit, true),
    ("dist", Bit, true),
    ("dpub", Bit, true),
    ("rpcout", Bit, false),
    ("dataaccess", Bit, false),
    ("collationcompatible", Bit, false),
    ("system", Bit, false),
    ("useremotecollation", Bit, false),
    ("lazyschemavalidation", Bit, false),
    ("collation", SYSNAME, true),
    ("nonsqlsub", Bit, true),
], "\
     SELECT server_id, 0, name, product, provider, data_source, location, provider_string, modify_date, 0, 0, catalog,
       collation_name, connect_timeout, query_timeout, CASE is_linked WHEN 0 THEN CAST(data_source AS char(30)) END,
       CASE is_linked WHEN 0 THEN 1 ELSE 0 END, is_remote_login_enabled, is_publisher, is_subscriber, is_distributor, 0,
       is_rpc_out_enabled, is_data_access_enabled, is_collation_compatible, is_system, uses_remote_collation,
       lazy_schema_validation, collation_name, is_nonsql_subscriber
     FROM sys.servers");
