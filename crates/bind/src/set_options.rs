//! The SET options of a session, with SQL Server's defaults for a new connection. Guarantee: an
//! option is honoured, or a value that would change what statements do is refused (40510);
//! docs/t-sql/set-options.md has the list.

use syntax::ParseSettings;
use types::{Dialect, Language, SqlError, msg};

use catalog::errors;
use expr::ErrorRules;
use logical::isolation::Isolation;

/// What a session shows of its statements' plans; unless OFF, nothing runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Showplan {
    #[default]
    Off,
    /// One column: the statement, its operators.
    Text,
    /// The operators with their properties in columns.
    All,
    /// A document of the showplan schema for each statement.
    Xml,
}

/// The options that change what a statement is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    pub isolation: Isolation,
    pub ansi_nulls: bool,
    pub concat_null_yields_null: bool,
    pub dialect: Dialect,
    pub manner: ErrorRules,
    /// QUERY_GOVERNOR_COST_LIMIT: 0 for none.
    pub cost_limit: u32,
    /// NO_BROWSETABLE: queries tell where their columns come from.
    pub browse: bool,
}

/// What SET has set.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// ANSI_NULL_DFLT_ON: new columns take NULL unless they say otherwise. Neither: they do not, as
    /// with _OFF.
    pub ansi_null_dflt_on: bool,
    pub ansi_null_dflt_off: bool,
    pub quoted_identifier: bool,
    pub concat_null_yields_null: bool,
    /// ARITHIGNORE: nothing is said of arithmetic errors that become NULL.
    pub arithignore: bool,
    /// NUMERIC_ROUNDABORT: digits that a decimal has no place for are an error.
    pub numeric_roundabort: bool,
    /// QUERY_GOVERNOR_COST_LIMIT: seconds that a query may be estimated to take; 0 any.
    pub cost_limit: u32,
    /// CURSOR_CLOSE_ON_COMMIT: COMMIT and ROLLBACK close cursors.
    pub cursor_close_on_commit: bool,
    /// PARSEONLY: batches are parsed.
    pub parse_only: bool,
    /// NOEXEC: statements are compiled.
    pub noexec: bool,
    /// NO_BROWSETABLE: queries give the columns of keys too, and tell where all come from.
    pub browse: bool,
    /// FMTONLY: queries give the columns of their results.
    pub fmtonly: bool,
    /// SHOWPLAN_TEXT, _ALL, _XML: statements give their plans.
    pub showplan: Showplan,
    /// Milliseconds a lock request waits; -1 for ever, 0 not at all.
    pub lock_timeout: i32,
    /// -10..=10; the lower dies first in a deadlock.
    pub deadlock_priority: i32,
    /// ROWCOUNT: statements stop after so many rows; 0 = all.
    pub rowcount: u64,
    /// TEXTSIZE: results have so many bytes of a (max) value; -1 all.
    pub textsize: i32,
    /// First day of the week, 1 (Monday) ..= 7 (Sunday).
    pub datefirst: u8,
    /// LANGUAGE and DATEFORMAT.
    pub dialect: Dialect,
    /// DATEFIRST and DATEFORMAT were set for themselves: SET LANGUAGE leaves them.
    pub own_datefirst: bool,
    pub own_dateformat: bool,
    pub isolation: Isolation,
    /// (database id, object id) of the table that takes explicit identity values.
    pub identity_insert: Option<(i32, i32)>,
    pub statistics_time: bool,
    /// STATISTICS IO: statements tell what they have read of their tables.
    pub statistics_io: bool,
    /// STATISTICS PROFILE and XML: statements run and give their plans with what the operators did.
    pub statistics_profile: bool,
    pub statistics_xml: bool,
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
            ansi_null_dflt_off: false,
            quoted_identifier: true,
            concat_null_yields_null: true,
            arithignore: false,
            numeric_roundabort: false,
            cost_limit: 0,
            cursor_close_on_commit: false,
            parse_only: false,
            noexec: false,
            browse: false,
            fmtonly: false,
            showplan: Showplan::Off,
            lock_timeout: -1,
            deadlock_priority: 0,
            rowcount: 0,
            textsize: i32::MAX,
            datefirst: 7,
            dialect: Dialect::DEFAULT,
            own_datefirst: false,
            own_dateformat: false,
            isolation: Isolation::ReadCommitted,
            identity_insert: None,
            statistics_time: false,
            statistics_io: false,
            statistics_profile: false,
            statistics_xml: false,
        }
    }
}

/// The options of a session with a number that is another one whenever they may have changed: what
/// was found out about them is known to hold without comparing them one by one.
#[derive(Debug, Default)]
pub struct CurrentOptions {
    now: SessionOptions,
    changes: u64,
}

impl CurrentOptions {
    /// How often they may have changed.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

impl std::ops::Deref for CurrentOptions {
    type Target = SessionOptions;

    #[inline]
    fn deref(&self) -> &SessionOptions {
        &self.now
    }
}

impl std::ops::DerefMut for CurrentOptions {
    #[inline]
    fn deref_mut(&mut self) -> &mut SessionOptions {
        self.changes += 1;
        &mut self.now
    }
}

impl SessionOptions {
    /// The bits that @@OPTIONS shows.
    pub fn bits(&self) -> i32 {
        let pairs = [
            (self.implicit_transactions, 2),
            (self.cursor_close_on_commit, 4),
            (self.ansi_warnings, 8),
            (self.ansi_padding, 16),
            (self.ansi_nulls, 32),
            (self.arithabort, 64),
            (self.arithignore, 128),
            (self.quoted_identifier, 256),
            (self.nocount, 512),
            (self.ansi_null_dflt_on, 1024),
            (self.ansi_null_dflt_off, 2048),
            (self.concat_null_yields_null, 4096),
            (self.numeric_roundabort, 8192),
            (self.xact_abort, 16384),
        ];
        pairs.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
    }

    /// What a statement may be run under that makes or changes an index with a filter.
    ///
    /// # Errors
    /// 1934.
    pub fn check_for_filters(&self, statement: &str) -> Result<(), SqlError> {
        let wanted = [
            (self.ansi_nulls, "ANSI_NULLS"),
            (self.quoted_identifier, "QUOTED_IDENTIFIER"),
            (self.concat_null_yields_null, "CONCAT_NULL_YIELDS_NULL"),
            (self.ansi_warnings, "ANSI_WARNINGS"),
            (self.ansi_padding, "ANSI_PADDING"),
        ];
        let mut wrong: Vec<&str> =
            wanted.iter().filter(|(on, _)| !on).map(|(_, name)| *name).collect();
        wrong.extend(self.numeric_roundabort.then_some("NUMERIC_ROUNDABORT"));
        if wrong.is_empty() {
            return Ok(());
        }
        Err(SqlError::of(msg::WRONG_SET_OPTIONS, [&statement, &wrong.join(", ")]))
    }

    /// How errors of computations are taken.
    #[inline]
    pub fn manner(&self) -> ErrorRules {
        ErrorRules {
            lenient: !self.ansi_warnings && !self.arithabort,
            cuts: !self.ansi_warnings,
            exact: self.numeric_roundabort,
        }
    }

    /// SET LANGUAGE: the order of dates and the first day of the week come with it, unless they
    /// were set for themselves.
    pub fn set_language(&mut self, language: &Language) {
        let order = self.dialect.order;
        self.dialect = Dialect::of(language);
        if self.own_dateformat {
            self.dialect.order = order;
        }
        if !self.own_datefirst {
            self.datefirst = language.first_day;
        }
    }

    /// Whether statements run: not under NOEXEC, FMTONLY and SHOWPLAN.
    #[inline]
    pub fn runs(&self) -> bool {
        !self.noexec && !self.fmtonly && self.showplan == Showplan::Off
    }

    /// Whether statements tell what they took.
    #[inline]
    pub fn measures(&self) -> bool {
        self.statistics_time | self.statistics_io
    }

    /// Whether statements are profiled.
    #[inline]
    pub fn profiles(&self) -> bool {
        self.statistics_profile || self.statistics_xml
    }

    /// What a batch is parsed with.
    #[inline]
    pub fn parse_settings(&self) -> ParseSettings {
        ParseSettings { quoted_identifier: self.quoted_identifier, parse_only: self.parse_only }
    }

    /// What a batch's text has set while it was parsed.
    pub fn set_parse_settings(&mut self, settings: ParseSettings) {
        self.quoted_identifier = settings.quoted_identifier;
        self.parse_only = settings.parse_only;
    }

    /// What a statement is compiled with.
    #[inline]
    pub fn compile_options(&self) -> CompileOptions {
        CompileOptions {
            isolation: self.isolation,
            ansi_nulls: self.ansi_nulls,
            concat_null_yields_null: self.concat_null_yields_null,
            dialect: self.dialect,
            manner: self.manner(),
            cost_limit: self.cost_limit,
            browse: self.browse,
        }
    }

    /// These options, with those under which something was compiled before.
    pub fn compiled_with(&self, options: CompileOptions) -> SessionOptions {
        let CompileOptions {
            isolation,
            ansi_nulls,
            concat_null_yields_null,
            dialect,
            manner,
            cost_limit,
            browse,
        } = options;
        SessionOptions {
            isolation,
            ansi_nulls,
            concat_null_yields_null,
            dialect,
            ansi_warnings: !manner.cuts,
            arithabort: !manner.lenient,
            numeric_roundabort: manner.exact,
            cost_limit,
            browse,
            ..self.clone()
        }
    }

    /// Sets a switch by its upper-case name. QUOTED_IDENTIFIER and PARSEONLY took effect when the
    /// batch was parsed.
    ///
    /// Errors: 195 no such switch, 40510 a value that is not supported.
    pub fn set_switch(&mut self, name: &str, on: bool) -> Result<(), SqlError> {
        let refuse = |wrong: bool| {
            let value = if on { "ON" } else { "OFF" };
            if wrong { Err(errors::not_supported(&format!("SET {name} {value}"))) } else { Ok(()) }
        };
        match name {
            "NOCOUNT" => self.nocount = on,
            "XACT_ABORT" => self.xact_abort = on,
            "IMPLICIT_TRANSACTIONS" => self.implicit_transactions = on,
            "ARITHABORT" => self.arithabort = on,
            "ARITHIGNORE" => self.arithignore = on,
            "ANSI_WARNINGS" => self.ansi_warnings = on,
            "ANSI_PADDING" => refuse(!on)?,
            "ANSI_NULLS" => self.ansi_nulls = on,
            // Turning one on turns the other off.
            "ANSI_NULL_DFLT_ON" => {
                self.ansi_null_dflt_on = on;
                self.ansi_null_dflt_off &= !on;
            }
            "ANSI_NULL_DFLT_OFF" => {
                self.ansi_null_dflt_off = on;
                self.ansi_null_dflt_on &= !on;
            }
            "CONCAT_NULL_YIELDS_NULL" => self.concat_null_yields_null = on,
            "CURSOR_CLOSE_ON_COMMIT" => self.cursor_close_on_commit = on,
            "NUMERIC_ROUNDABORT" => self.numeric_roundabort = on,
            // Its tokens are none of TDS 7.2 and later.
            "OFFSETS" => {}
            "QUOTED_IDENTIFIER" | "PARSEONLY" => {}
            "NOEXEC" => self.noexec = on,
            "NO_BROWSETABLE" => self.browse = on,
            "FMTONLY" => self.fmtonly = on,
            "SHOWPLAN_TEXT" => self.showplan = if on { Showplan::Text } else { Showplan::Off },
            "SHOWPLAN_ALL" => self.showplan = if on { Showplan::All } else { Showplan::Off },
            "SHOWPLAN_XML" => self.showplan = if on { Showplan::Xml } else { Showplan::Off },
            "ANSI_DEFAULTS" => {
                refuse(!on)?;
                self.ansi_nulls = true;
                self.ansi_warnings = true;
                (self.ansi_null_dflt_on, self.ansi_null_dflt_off) = (true, false);
                self.cursor_close_on_commit = true;
                self.implicit_transactions = true;
            }
            // Order of joins, and calls to other servers, which there are none of.
            "FORCEPLAN" | "REMOTE_PROC_TRANSACTIONS" => {}
            _ => {
                return Err(SqlError::of(msg::NOT_RECOGNIZED, [&name, &"SET option"]).state(5));
            }
        }
        Ok(())
    }
}
