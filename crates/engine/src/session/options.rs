//! The SET options of a session, with SQL Server's defaults for a new connection.

use compact_str::CompactString;

/// How readers see others' changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Reads what is there, committed or not.
    ReadUncommitted,
    /// Each statement sees what was committed when it began.
    #[default]
    ReadCommitted,
    /// Rows read stay as they were until the transaction ends.
    RepeatableRead,
    /// The whole transaction sees what was committed when it began to read.
    Snapshot,
    /// As if transactions ran one after another.
    Serializable,
}

impl Isolation {
    /// The number that sys.dm_exec_sessions.transaction_isolation_level shows (1..=5).
    pub fn number(self) -> i16 {
        match self {
            Isolation::ReadUncommitted => 1,
            Isolation::ReadCommitted => 2,
            Isolation::RepeatableRead => 3,
            Isolation::Serializable => 4,
            Isolation::Snapshot => 5,
        }
    }
}

/// Order of day, month and year in ambiguous date strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateFormat {
    #[default]
    Mdy,
    Dmy,
    Ymd,
    Ydm,
    Myd,
    Dym,
}

impl DateFormat {
    /// `mdy` and the like.
    pub fn name(self) -> &'static str {
        match self {
            DateFormat::Mdy => "mdy",
            DateFormat::Dmy => "dmy",
            DateFormat::Ymd => "ymd",
            DateFormat::Ydm => "ydm",
            DateFormat::Myd => "myd",
            DateFormat::Dym => "dym",
        }
    }

    /// The format of a name such as `dmy`.
    pub fn from_name(name: &str) -> Option<DateFormat> {
        Some(match name.to_ascii_lowercase().as_str() {
            "mdy" => DateFormat::Mdy,
            "dmy" => DateFormat::Dmy,
            "ymd" => DateFormat::Ymd,
            "ydm" => DateFormat::Ydm,
            "myd" => DateFormat::Myd,
            "dym" => DateFormat::Dym,
            _ => return None,
        })
    }
}

/// What SET has set.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// NOCOUNT: no row counts to the client.
    pub nocount: bool,
    /// XACT_ABORT: any error rolls the transaction back and ends the batch.
    pub xact_abort: bool,
    /// IMPLICIT_TRANSACTIONS: a statement that touches a table begins a transaction.
    pub implicit_transactions: bool,
    /// ARITHABORT, ANSI_WARNINGS: overflow and division by zero are errors.
    pub arithabort: bool,
    pub ansi_warnings: bool,
    pub ansi_nulls: bool,
    pub ansi_padding: bool,
    pub ansi_null_dflt_on: bool,
    pub quoted_identifier: bool,
    pub concat_null_yields_null: bool,
    pub numeric_roundabort: bool,
    /// NOEXEC, PARSEONLY: nothing runs.
    pub noexec: bool,
    /// Milliseconds a lock request waits; -1 for ever, 0 not at all.
    pub lock_timeout: i32,
    /// -10..=10; the lower dies first in a deadlock.
    pub deadlock_priority: i32,
    /// ROWCOUNT: statements stop after so many rows; 0 = all.
    pub rowcount: u64,
    /// TEXTSIZE as set; informational.
    pub textsize: i32,
    /// First day of the week, 1 (Monday) ..= 7 (Sunday).
    pub datefirst: u8,
    pub dateformat: DateFormat,
    pub language: CompactString,
    pub isolation: Isolation,
    /// (database id, object id) of the table that takes explicit identity values.
    pub identity_insert: Option<(i32, i32)>,
    pub statistics_io: bool,
    pub statistics_time: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions {
            nocount: false,
            xact_abort: false,
            implicit_transactions: false,
            arithabort: true,
            ansi_warnings: true,
            ansi_nulls: true,
            ansi_padding: true,
            ansi_null_dflt_on: true,
            quoted_identifier: true,
            concat_null_yields_null: true,
            numeric_roundabort: false,
            noexec: false,
            lock_timeout: -1,
            deadlock_priority: 0,
            rowcount: 0,
            textsize: i32::MAX,
            datefirst: 7,
            dateformat: DateFormat::Mdy,
            language: CompactString::const_new("us_english"),
            isolation: Isolation::ReadCommitted,
            identity_insert: None,
            statistics_io: false,
            statistics_time: false,
        }
    }
}

impl SessionOptions {
    /// The bits that @@OPTIONS shows.
    pub fn bits(&self) -> i32 {
        let pairs = [
            (self.implicit_transactions, 2),
            (self.ansi_warnings, 8),
            (self.ansi_padding, 16),
            (self.ansi_nulls, 32),
            (self.arithabort, 64),
            (self.quoted_identifier, 256),
            (self.nocount, 512),
            (self.ansi_null_dflt_on, 1024),
            (self.concat_null_yields_null, 4096),
            (self.numeric_roundabort, 8192),
            (self.xact_abort, 16384),
        ];
        pairs.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
    }

    /// Sets a switch by its upper-case name; false when there is no such switch.
    pub fn set_switch(&mut self, name: &str, on: bool) -> bool {
        match name {
            "NOCOUNT" => self.nocount = on,
            "XACT_ABORT" => self.xact_abort = on,
            "IMPLICIT_TRANSACTIONS" => self.implicit_transactions = on,
            "ARITHABORT" => self.arithabort = on,
            "ANSI_WARNINGS" => self.ansi_warnings = on,
            "ANSI_NULLS" => self.ansi_nulls = on,
            "ANSI_PADDING" => self.ansi_padding = on,
            "ANSI_NULL_DFLT_ON" => self.ansi_null_dflt_on = on,
            "ANSI_NULL_DFLT_OFF" => self.ansi_null_dflt_on = !on,
            "QUOTED_IDENTIFIER" => self.quoted_identifier = on,
            "CONCAT_NULL_YIELDS_NULL" => self.concat_null_yields_null = on,
            "NUMERIC_ROUNDABORT" => self.numeric_roundabort = on,
            "NOEXEC" | "PARSEONLY" => self.noexec = on,
            "ANSI_DEFAULTS" => {
                self.ansi_warnings = on;
                self.ansi_nulls = on;
                self.ansi_padding = on;
                self.ansi_null_dflt_on = on;
                self.quoted_identifier = on;
            }
            "ARITHIGNORE"
            | "CURSOR_CLOSE_ON_COMMIT"
            | "FMTONLY"
            | "FORCEPLAN"
            | "SHOWPLAN_ALL"
            | "SHOWPLAN_TEXT"
            | "SHOWPLAN_XML"
            | "REMOTE_PROC_TRANSACTIONS" => {}
            _ => return false,
        }
        true
    }
}
