//! INFORMATION_SCHEMA: what users may do with tables and columns, and what constrains types.

use types::{DataType, Len};

use super::{SYSNAME, SystemView, View};

use DataType::VarChar;

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] =
    &[&DOMAIN_CONSTRAINTS, &TABLE_PRIVILEGES, &COLUMN_PRIVILEGES, &COLUMN_DOMAIN_USAGE];

/// INFORMATION_SCHEMA.DOMAIN_CONSTRAINTS: rules that are bound to types; there are no rules.
static DOMAIN_CONSTRAINTS: View = View::information_empty(
    "DOMAIN_CONSTRAINTS",
    &[
        ("CONSTRAINT_CATALOG", SYSNAME, true),
        ("CONSTRAINT_SCHEMA", SYSNAME, true),
        ("CONSTRAINT_NAME", SYSNAME, false),
        ("DOMAIN_CATALOG", SYSNAME, true),
        ("DOMAIN_SCHEMA", SYSNAME, true),
        ("DOMAIN_NAME", SYSNAME, false),
        ("IS_DEFERRABLE", VarChar(Len::N(2)), false),
        ("INITIALLY_DEFERRED", VarChar(Len::N(2)), false),
    ],
);

/// INFORMATION_SCHEMA.TABLE_PRIVILEGES: what users may do with tables and views.
static TABLE_PRIVILEGES: View = View::information_defined("TABLE_PRIVILEGES", &[
    ("GRANTOR", SYSNAME, true),
    ("GRANTEE", SYSNAME, true),
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("PRIVILEGE_TYPE", VarChar(Len::N(10)), true),
    ("IS_GRANTABLE", VarChar(Len::N(3)), true),
], "\
     SELECT g.name, u.name, DB_NAME(), s.name, o.name,  p.permission_name, CASE p.state WHEN 'W' THEN 'YES' ELSE 'NO' END
     FROM sys.database_permissions AS p JOIN sys.objects AS o ON o.object_id = p.major_id
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id
     JOIN sys.database_principals AS g ON g.principal_id = p.grantor_principal_id
     JOIN sys.database_principals AS u ON u.principal_id = p.grantee_principal_id
     
     WHERE p.class = 1 AND p.state IN ('G', 'W') AND o.type IN ('U', 'V') AND p.type IN ('DL', 'IN', 'RF', 'SL', 'UP') AND p.minor_id = 0");

/// INFORMATION_SCHEMA.COLUMN_PRIVILEGES: the same of columns.
static COLUMN_PRIVILEGES: View = View::information_defined("COLUMN_PRIVILEGES", &[
    ("GRANTOR", SYSNAME, true),
    ("GRANTEE", SYSNAME, true),
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("COLUMN_NAME", SYSNAME, true),
    ("PRIVILEGE_TYPE", VarChar(Len::N(10)), true),
    ("IS_GRANTABLE", VarChar(Len::N(3)), true),
], "\
     SELECT g.name, u.name, DB_NAME(), s.name, o.name, c.name, p.permission_name, CASE p.state WHEN 'W' THEN 'YES' ELSE 'NO' END
     FROM sys.database_permissions AS p JOIN sys.objects AS o ON o.object_id = p.major_id
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id
     JOIN sys.database_principals AS g ON g.principal_id = p.grantor_principal_id
     JOIN sys.database_principals AS u ON u.principal_id = p.grantee_principal_id
     JOIN sys.columns AS c ON c.object_id = o.object_id AND (p.minor_id = 0 OR p.minor_id = c.column_id)
     WHERE p.class = 1 AND p.state IN ('G', 'W') AND o.type IN ('U', 'V') AND p.type IN ('IN', 'RF', 'SL', 'UP')");

/// INFORMATION_SCHEMA.COLUMN_DOMAIN_USAGE: columns of alias types.
static COLUMN_DOMAIN_USAGE: View = View::information_defined(
    "COLUMN_DOMAIN_USAGE",
    &[
        ("DOMAIN_CATALOG", SYSNAME, true),
        ("DOMAIN_SCHEMA", SYSNAME, true),
        ("DOMAIN_NAME", SYSNAME, false),
        ("TABLE_CATALOG", SYSNAME, true),
        ("TABLE_SCHEMA", SYSNAME, true),
        ("TABLE_NAME", SYSNAME, false),
        ("COLUMN_NAME", SYSNAME, true),
    ],
    "\
     SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, c.name
     FROM sys.columns AS c JOIN sys.objects AS o ON o.object_id = c.object_id
     JOIN sys.types AS t ON t.user_type_id = c.user_type_id
     WHERE t.is_user_defined = 1 AND o.type IN ('U', 'V')",
);
