//! DATABASEPROPERTYEX.

use types::Value;

use super::Db;

impl Db {
    /// DATABASEPROPERTYEX; `property` in lower case, NULL for an unknown one.
    pub fn property(&self, property: &str) -> Value {
        let settings = self.settings();
        let flag = |on: bool| Value::Int(i32::from(on));
        match property {
            "status" => Value::str(self.status().name()),
            "recovery" => Value::str(self.recovery_model().name()),
            "collation" => Value::str(&settings.collation),
            "updateability" => {
                Value::str(if settings.read_only { "READ_ONLY" } else { "READ_WRITE" })
            }
            "useraccess" => Value::str(USER_ACCESS[usize::from(settings.user_access.min(2))]),
            "isautoclose" => flag(settings.auto_close),
            "isautoshrink" => flag(settings.auto_shrink),
            "islocalcursorsdefault" => flag(settings.local_cursors),
            "isrecursivetriggersenabled" => flag(settings.recursive_triggers),
            "isautocreatestatistics" => flag(settings.auto_create_stats),
            "isautoupdatestatistics" => flag(settings.auto_update_stats),
            "isansinullsenabled" => flag(settings.session_defaults.ansi_nulls),
            "isansipaddingenabled" => flag(settings.session_defaults.ansi_padding),
            "isansiwarningsenabled" => flag(settings.session_defaults.ansi_warnings),
            "isarithmeticabortenabled" => flag(settings.session_defaults.arithabort),
            "isnullconcat" => flag(settings.session_defaults.concat_null_yields_null),
            "isquotedidentifiersenabled" => flag(settings.session_defaults.quoted_identifier),
            "isnumericroundabortenabled" => flag(settings.session_defaults.numeric_roundabort),
            "isclosecursorsoncommitenabled" => {
                flag(settings.session_defaults.cursor_close_on_commit)
            }
            "isparameterizationforced" => flag(settings.forced_parameterization),
            "istornpagedetectionenabled" => flag(settings.page_verify == 1),
            "isansinulldefault"
            | "isautocreatestatisticsincremental"
            | "isclone"
            | "isdatabasesuspendedforsnapshotbackup"
            | "isfulltextenabled"
            | "isinstandby"
            | "ismemoryoptimizedelevatetosnapshotenabled"
            | "ismergepublished"
            | "ispublished"
            | "issubscribed"
            | "issyncwithbackup"
            | "isverifiedclone"
            | "isxtpsupported" => flag(false),
            "lcid" => Value::Int(1033),
            "version" => Value::Int(957),
            "sqlsortorder" => Value::Int(52),
            "comparisonstyle" => Value::Int(196_609),
            _ => Value::Null,
        }
    }
}

/// user_access_desc by number.
pub const USER_ACCESS: [&str; 3] = ["MULTI_USER", "SINGLE_USER", "RESTRICTED_USER"];
