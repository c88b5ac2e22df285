//! Views of SQL Server 2000's names that speak of the objects of a database: queries over the views
//! of today. Guarantee: names and types of the columns are SQL Server's; what its pages call
//! internal is 0 or NULL.

use types::{DataType, Len};

use super::{NVARCHAR60, SYSNAME, SystemView, View, old_parts};

use DataType::{Bit, Int, NVarChar, SmallInt, TinyInt, VarBinary, VarChar};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[
    &SYSCOLUMNS,
    &SYSTYPES,
    &SYSINDEXES,
    &SYSINDEXKEYS,
    &SYSCOMMENTS,
    &SYSREFERENCES,
    &SYSFOREIGNKEYS,
    &SYSCONSTRAINTS,
    &PARAMETER_TYPE_USAGES,
    &COLUMN_TYPE_USAGES,
    &EVENTS,
];

/// sys.syscolumns: columns, and parameters of procedures and functions.
static SYSCOLUMNS: View = View::defined("syscolumns", old_parts::SYSCOLUMN_COLUMNS, "\
     SELECT * FROM sys.[syscolumns of tables()]
     UNION ALL
     SELECT p.name, p.object_id, p.system_type_id, 0, p.user_type_id, p.max_length, p.precision, p.scale, p.parameter_id, 0, 0, 0, 0, 0, 0,
       CASE WHEN o.type = 'P' THEN 1 ELSE 0 END, p.parameter_id, NULL, 0, NULL, 8 + CASE p.is_output WHEN 1 THEN 64 ELSE 0 END,
       COALESCE(CASE WHEN k.variable <> 0 THEN k.variable ELSE k.type END, p.system_type_id),
       COALESCE(k.usertype, CASE WHEN p.user_type_id > 255 THEN p.user_type_id ELSE 0 END), NULL,
       CASE WHEN p.max_length = -1 THEN -1 WHEN p.system_type_id IN (231, 239) THEN p.max_length / 2
         WHEN p.system_type_id IN (165, 167, 173, 175, 189) THEN p.max_length WHEN p.precision > 0 THEN p.precision END,
       CASE WHEN p.precision > 0 AND p.system_type_id NOT IN (59, 62) THEN p.scale END, 0, p.is_output, 1, NULL
     FROM sys.parameters AS p JOIN sys.objects AS o ON o.object_id = p.object_id
     LEFT JOIN (VALUES (34, 34, 0, 20), (35, 35, 0, 19), (36, 37, 0, 0),
       (48, 48, 38, 5), (52, 52, 38, 6), (56, 56, 38, 7), (58, 58, 111, 22),
       (59, 59, 109, 23), (60, 60, 110, 11), (61, 61, 111, 12), (62, 62, 109, 8), (98, 39, 0, 0), (99, 35, 0, 0), (104, 50, 0, 16),
       (106, 55, 106, 24), (108, 63, 108, 10), (122, 122, 110, 21), (127, 63, 108, 0), (165, 37, 0, 4), (167, 39, 0, 2), (173, 45, 0, 3),
       (175, 47, 0, 1), (189, 45, 0, 80), (231, 39, 0, 0), (239, 47, 0, 0)) AS k (xtype, type, variable, usertype) ON k.xtype = p.system_type_id");

/// sys.systypes.
static SYSTYPES: View = View::defined("systypes", &[
    ("name", SYSNAME, false),
    ("xtype", TinyInt, false),
    ("status", TinyInt, true),
    ("xusertype", SmallInt, true),
    ("length", SmallInt, false),
    ("xprec", TinyInt, false),
    ("xscale", TinyInt, false),
    ("tdefault", Int, false),
    ("domain", Int, false),
    ("uid", SmallInt, true),
    ("reserved", SmallInt, true),
    ("collationid", Int, true),
    ("usertype", SmallInt, true),
    ("variable", Bit, true),
    ("allownulls", Bit, true),
    ("type", TinyInt, false),
    ("printfmt", VarChar(Len::N(255)), true),
    ("prec", SmallInt, true),
    ("scale", TinyInt, true),
    ("collation", SYSNAME, true),
], "\
     SELECT t.name, t.system_type_id, CASE t.is_nullable WHEN 1 THEN 0 ELSE 1 END, t.user_type_id, t.max_length, t.precision, t.scale,
       t.default_object_id, t.rule_object_id, t.schema_id, 0, COLLATIONPROPERTY(t.collation_name, 'CollationID'),
       CASE WHEN t.user_type_id = 256 THEN 18 WHEN t.is_user_defined = 1 THEN t.user_type_id ELSE COALESCE(k.usertype, 0) END,
       CASE WHEN t.system_type_id IN (165, 167, 231) THEN 1 ELSE 0 END, t.is_nullable, COALESCE(k.type, t.system_type_id), NULL,
       CASE WHEN t.max_length = -1 THEN -1 WHEN t.system_type_id IN (231, 239) THEN t.max_length / 2
         WHEN t.system_type_id IN (165, 167, 173, 175, 189) THEN t.max_length WHEN t.precision > 0 THEN t.precision END,
       CASE WHEN t.precision > 0 AND t.system_type_id NOT IN (59, 62) THEN t.scale END, t.collation_name
     FROM sys.types AS t
     LEFT JOIN (VALUES (34, 34, 0, 20), (35, 35, 0, 19), (36, 37, 0, 0),
       (48, 48, 38, 5), (52, 52, 38, 6), (56, 56, 38, 7), (58, 58, 111, 22),
       (59, 59, 109, 23), (60, 60, 110, 11), (61, 61, 111, 12), (62, 62, 109, 8), (98, 39, 0, 0), (99, 35, 0, 0), (104, 50, 0, 16),
       (106, 55, 106, 24), (108, 63, 108, 10), (122, 122, 110, 21), (127, 63, 108, 0), (165, 37, 0, 4), (167, 39, 0, 2), (173, 45, 0, 3),
       (175, 47, 0, 1), (189, 45, 0, 80), (231, 39, 0, 0), (239, 47, 0, 0)) AS k (xtype, type, variable, usertype) ON k.xtype = t.system_type_id
     WHERE t.is_table_type = 0");

/// sys.sysindexes: indexes, heaps and statistics of columns.
static SYSINDEXES: View = View::defined("sysindexes", old_parts::SYSINDEX_COLUMNS, "\
     SELECT * FROM sys.[sysindexes of tables()]
     UNION ALL
     SELECT x.object_id, 64 + CASE x.auto_created WHEN 1 THEN 8388608 ELSE 0 END, CAST(NULL AS binary(6)), x.stats_id, CAST(NULL AS binary(6)),
       NULL, (SELECT COUNT(*) FROM sys.stats_columns AS k WHERE k.object_id = x.object_id AND k.stats_id = x.stats_id), NULL, 0, 0, 0, 0,
       COALESCE((SELECT m.modification_counter FROM sys.dm_db_stats_properties(x.object_id, x.stats_id) AS m), 0), 0, 0, NULL, NULL, 0, 0, 0, CAST(NULL AS binary(6)), 0, 0, 0, CAST(NULL AS varbinary(816)),
       x.name, CAST(NULL AS image), NULL, 0
     FROM sys.stats AS x
     WHERE NOT EXISTS (SELECT * FROM sys.indexes AS i WHERE i.object_id = x.object_id AND i.index_id = x.stats_id)");

/// sys.sysindexkeys.
static SYSINDEXKEYS: View = View::defined(
    "sysindexkeys",
    &[
        ("id", Int, false),
        ("indid", SmallInt, true),
        ("colid", SmallInt, true),
        ("keyno", SmallInt, true),
    ],
    "\
     SELECT object_id, index_id, column_id, key_ordinal FROM sys.index_columns WHERE key_ordinal > 0",
);

/// sys.syscomments: texts of modules, constraints and computed columns in pieces of 4,000
/// characters.
static SYSCOMMENTS: View = View::defined("syscomments", &[
    ("id", Int, false),
    ("number", SmallInt, true),
    ("colid", SmallInt, false),
    ("status", SmallInt, false),
    ("ctext", VarBinary(Len::N(8000)), true),
    ("texttype", SmallInt, true),
    ("language", SmallInt, true),
    ("encrypted", Bit, false),
    ("compressed", Bit, false),
    ("text", NVarChar(Len::N(4000)), true),
], "\
     SELECT d.id, d.number, n.value, 0, CONVERT(varbinary(8000), CAST(SUBSTRING(d.definition, (n.value - 1) * 4000 + 1, 4000) AS nvarchar(4000))),
       2, 0, 0, 0, SUBSTRING(d.definition, (n.value - 1) * 4000 + 1, 4000)
     FROM (SELECT m.object_id, CASE WHEN o.type = 'P' THEN 1 ELSE 0 END, m.definition
         FROM sys.sql_modules AS m LEFT JOIN sys.objects AS o ON o.object_id = m.object_id
         UNION ALL SELECT object_id, 0, definition FROM sys.check_constraints
         UNION ALL SELECT object_id, 0, definition FROM sys.default_constraints
         UNION ALL SELECT object_id, column_id, definition FROM sys.computed_columns) AS d (id, number, definition)
     CROSS APPLY GENERATE_SERIES(1, CAST((DATALENGTH(d.definition) / 2 + 3999) / 4000 AS int)) AS n");

/// sys.sysreferences.
static SYSREFERENCES: View = View::defined("sysreferences", &[
    ("constid", Int, false),
    ("fkeyid", Int, false),
    ("rkeyid", Int, false),
    ("rkeyindid", SmallInt, true),
    ("keycnt", SmallInt, true),
    ("forkeys", VarBinary(Len::N(32)), true),
    ("refkeys", VarBinary(Len::N(32)), true),
    ("fkeydbid", SmallInt, true),
    ("rkeydbid", SmallInt, true),
    ("fkey1", SmallInt, true),
    ("fkey2", SmallInt, true),
    ("fkey3", SmallInt, true),
    ("fkey4", SmallInt, true),
    ("fkey5", SmallInt, true),
    ("fkey6", SmallInt, true),
    ("fkey7", SmallInt, true),
    ("fkey8", SmallInt, true),
    ("fkey9", SmallInt, true),
    ("fkey10", SmallInt, true),
    ("fkey11", SmallInt, true),
    ("fkey12", SmallInt, true),
    ("fkey13", SmallInt, true),
    ("fkey14", SmallInt, true),
    ("fkey15", SmallInt, true),
    ("fkey16", SmallInt, true),
    ("rkey1", SmallInt, true),
    ("rkey2", SmallInt, true),
    ("rkey3", SmallInt, true),
    ("rkey4", SmallInt, true),
    ("rkey5", SmallInt, true),
    ("rkey6", SmallInt, true),
    ("rkey7", SmallInt, true),
    ("rkey8", SmallInt, true),
    ("rkey9", SmallInt, true),
    ("rkey10", SmallInt, true),
    ("rkey11", SmallInt, true),
    ("rkey12", SmallInt, true),
    ("rkey13", SmallInt, true),
    ("rkey14", SmallInt, true),
    ("rkey15", SmallInt, true),
    ("rkey16", SmallInt, true),
], "\
     SELECT f.object_id, f.parent_object_id, f.referenced_object_id, f.key_index_id, c.keycnt, CAST(NULL AS varbinary(32)),
       CAST(NULL AS varbinary(32)), 0, 0,
       c.fkey1, c.fkey2, c.fkey3, c.fkey4, c.fkey5, c.fkey6, c.fkey7, c.fkey8, c.fkey9, c.fkey10, c.fkey11, c.fkey12, c.fkey13,
       c.fkey14, c.fkey15, c.fkey16, c.rkey1, c.rkey2, c.rkey3, c.rkey4, c.rkey5, c.rkey6, c.rkey7, c.rkey8, c.rkey9, c.rkey10,
       c.rkey11, c.rkey12, c.rkey13, c.rkey14, c.rkey15, c.rkey16
     FROM sys.foreign_keys AS f JOIN (SELECT constraint_object_id, COUNT(*) AS keycnt,
         MAX(CASE constraint_column_id WHEN 1 THEN parent_column_id END) AS fkey1, MAX(CASE constraint_column_id WHEN 2 THEN
         parent_column_id END) AS fkey2, MAX(CASE constraint_column_id WHEN 3 THEN parent_column_id END) AS fkey3, MAX(CASE
         constraint_column_id WHEN 4 THEN parent_column_id END) AS fkey4, MAX(CASE constraint_column_id WHEN 5 THEN
         parent_column_id END) AS fkey5, MAX(CASE constraint_column_id WHEN 6 THEN parent_column_id END) AS fkey6, MAX(CASE
         constraint_column_id WHEN 7 THEN parent_column_id END) AS fkey7, MAX(CASE constraint_column_id WHEN 8 THEN
         parent_column_id END) AS fkey8, MAX(CASE constraint_column_id WHEN 9 THEN parent_column_id END) AS fkey9, MAX(CASE
         constraint_column_id WHEN 10 THEN parent_column_id END) AS fkey10, MAX(CASE constraint_column_id WHEN 11 THEN
         parent_column_id END) AS fkey11, MAX(CASE constraint_column_id WHEN 12 THEN parent_column_id END) AS fkey12, MAX(CASE
         constraint_column_id WHEN 13 THEN parent_column_id END) AS fkey13, MAX(CASE constraint_column_id WHEN 14 THEN
         parent_column_id END) AS fkey14, MAX(CASE constraint_column_id WHEN 15 THEN parent_column_id END) AS fkey15, MAX(CASE
         constraint_column_id WHEN 16 THEN parent_column_id END) AS fkey16, MAX(CASE constraint_column_id WHEN 1 THEN
         referenced_column_id END) AS rkey1, MAX(CASE constraint_column_id WHEN 2 THEN referenced_column_id END) AS rkey2,
         MAX(CASE constraint_column_id WHEN 3 THEN referenced_column_id END) AS rkey3, MAX(CASE constraint_column_id WHEN 4 THEN
         referenced_column_id END) AS rkey4, MAX(CASE constraint_column_id WHEN 5 THEN referenced_column_id END) AS rkey5,
         MAX(CASE constraint_column_id WHEN 6 THEN referenced_column_id END) AS rkey6, MAX(CASE constraint_column_id WHEN 7 THEN
         referenced_column_id END) AS rkey7, MAX(CASE constraint_column_id WHEN 8 THEN referenced_column_id END) AS rkey8,
         MAX(CASE constraint_column_id WHEN 9 THEN referenced_column_id END) AS rkey9, MAX(CASE constraint_column_id WHEN 10 THEN
         referenced_column_id END) AS rkey10, MAX(CASE constraint_column_id WHEN 11 THEN referenced_column_id END) AS rkey11,
         MAX(CASE constraint_column_id WHEN 12 THEN referenced_column_id END) AS rkey12, MAX(CASE constraint_column_id WHEN 13
         THEN referenced_column_id END) AS rkey13, MAX(CASE constraint_column_id WHEN 14 THEN referenced_column_id END) AS
         rkey14, MAX(CASE constraint_column_id WHEN 15 THEN referenced_column_id END) AS rkey15, MAX(CASE constraint_column_id
         WHEN 16 THEN referenced_column_id END) AS rkey16
         FROM sys.foreign_key_columns GROUP BY constraint_object_id) AS c ON c.constraint_object_id = f.object_id");

/// sys.sysforeignkeys.
static SYSFOREIGNKEYS: View = View::defined("sysforeignkeys", &[
    ("constid", Int, false),
    ("fkeyid", Int, false),
    ("rkeyid", Int, false),
    ("fkey", SmallInt, true),
    ("rkey", SmallInt, true),
    ("keyno", SmallInt, true),
], "\
     SELECT constraint_object_id, parent_object_id, referenced_object_id, parent_column_id, referenced_column_id, constraint_column_id
     FROM sys.foreign_key_columns");

/// sys.sysconstraints.
static SYSCONSTRAINTS: View = View::defined("sysconstraints", &[
    ("constid", Int, false),
    ("id", Int, false),
    ("colid", SmallInt, true),
    ("spare1", TinyInt, false),
    ("status", Int, true),
    ("actions", Int, false),
    ("error", Int, false),
], "\
     SELECT object_id, parent_object_id, 0, 0, CASE type WHEN 'PK' THEN 1 ELSE 2 END + 32, 4096, 0 FROM sys.key_constraints
     UNION ALL SELECT object_id, parent_object_id, 0, 0, 3 + 32, 4096, 0 FROM sys.foreign_keys
     UNION ALL SELECT object_id, parent_object_id, parent_column_id, 0, 4 + CASE parent_column_id WHEN 0 THEN 32 ELSE 16 END, 4096, 0
     FROM sys.check_constraints
     UNION ALL SELECT object_id, parent_object_id, parent_column_id, 0, 5 + 16, 4096, 0 FROM sys.default_constraints");

/// sys.parameter_type_usages: parameters of types that users have made.
static PARAMETER_TYPE_USAGES: View = View::defined(
    "parameter_type_usages",
    &[("object_id", Int, false), ("parameter_id", Int, false), ("user_type_id", Int, false)],
    "\
     SELECT p.object_id, p.parameter_id, p.user_type_id
     FROM sys.parameters AS p JOIN sys.types AS t ON t.user_type_id = p.user_type_id
     WHERE t.is_user_defined = 1",
);

/// sys.column_type_usages: columns of types that users have made.
static COLUMN_TYPE_USAGES: View = View::defined(
    "column_type_usages",
    &[("object_id", Int, false), ("column_id", Int, false), ("user_type_id", Int, false)],
    "\
     SELECT c.object_id, c.column_id, c.user_type_id
     FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id
     WHERE t.is_user_defined = 1",
);

/// sys.events: what triggers wait for.
static EVENTS: View = View::defined(
    "events",
    &[
        ("object_id", Int, false),
        ("type", Int, false),
        ("type_desc", NVARCHAR60, true),
        ("is_trigger_event", Bit, true),
        ("event_group_type", Int, true),
        ("event_group_type_desc", NVARCHAR60, true),
    ],
    "\
     SELECT object_id, type, type_desc, is_trigger_event, event_group_type, event_group_type_desc FROM sys.trigger_events",
);
