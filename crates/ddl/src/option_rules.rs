//! Which options each statement's WITH clause has, and what may stand after them. Guarantee: an
//! option that is not in T-SQL is error 155, a value that it does not take is 102, and a value that
//! would change what the statement does, without our doing it, is refused with 40510. Nothing is
//! passed over in silence.

use syntax::ast::{ExprKind, Literal, OptionItem, OptionValue};
use types::{SqlError, msg};

use catalog::errors;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionDomain {
    /// No value.
    Nothing,
    /// ON, OFF, or nothing for ON.
    Switch,
    /// As a switch; ON is refused.
    NeverOn,
    /// A number, a text or a variable.
    Value,
    /// One of these words; the others of T-SQL are refused where they are read.
    Word(&'static [&'static str]),
    /// One of the first words; the others are T-SQL's, too, and refused.
    WordBut(&'static [&'static str], &'static [&'static str]),
    /// Nothing, or a list in parentheses.
    List,
    /// Whatever it takes, it is refused.
    Refused,
    /// Its reader looks at it.
    Read,
}

/// The options of one statement.
pub type Rules = &'static [(&'static str, OptionDomain)];

/// Checks a statement's options; `statement` is its name in messages.
pub fn check(statement: &str, options: &[OptionItem], rules: Rules) -> Result<(), SqlError> {
    options.iter().try_for_each(|option| {
        let name = option.name.as_str();
        let Some((_, takes)) = rules.iter().find(|(known, _)| *known == name) else {
            return Err(SqlError::of(msg::UNKNOWN_OPTION, [&name, &statement]));
        };
        let refused = || Err(errors::not_supported(&format!("{statement} WITH {name}")));
        let bare = option.nested.is_empty();
        let fits = match (takes, &option.value) {
            (OptionDomain::Read, _) => true,
            (OptionDomain::Refused, _) => return refused(),
            (OptionDomain::NeverOn, OptionValue::None | OptionValue::On)
                if name == "RESUMABLE" && !online(options) =>
            {
                return Err(SqlError::of(msg::RESUMABLE_WITHOUT_ONLINE, []));
            }
            (OptionDomain::NeverOn, OptionValue::None | OptionValue::On) => return refused(),
            (OptionDomain::NeverOn, OptionValue::Off) => bare,
            (OptionDomain::Nothing, OptionValue::None) => bare,
            // ONLINE = ON (WAIT_AT_LOW_PRIORITY (...)) says how long to wait.
            (OptionDomain::Switch, OptionValue::None | OptionValue::On | OptionValue::Off) => {
                bare || name == "ONLINE"
            }
            (OptionDomain::Value, OptionValue::Expr(_)) => bare,
            (OptionDomain::Word(words), OptionValue::Word(word)) => words.contains(&word.as_str()),
            (OptionDomain::WordBut(words, _), OptionValue::Word(word))
                if words.contains(&word.as_str()) =>
            {
                bare
            }
            (OptionDomain::WordBut(_, other), OptionValue::Word(word))
                if other.contains(&word.as_str()) =>
            {
                return Err(errors::not_supported(&format!("{statement} WITH {name} = {word}")));
            }
            (OptionDomain::Word(words), OptionValue::On) => words.contains(&"ON"),
            (OptionDomain::Word(words), OptionValue::Off) => words.contains(&"OFF"),
            (OptionDomain::List, OptionValue::None) => true,
            _ => false,
        };
        if fits { Ok(()) } else { Err(errors::syntax_near(&shown_value(option))) }
    })
}

fn online(options: &[OptionItem]) -> bool {
    options.iter().any(|option| option.name == "ONLINE" && option.is_on())
}

/// 41337: no database has a filegroup for tables that are in memory.
pub fn refuse_in_memory(options: &[OptionItem]) -> Result<(), SqlError> {
    if !options.iter().any(|option| option.name == "MEMORY_OPTIMIZED" && option.is_on()) {
        return Ok(());
    }
    Err(SqlError::of(msg::MEMORY_OPTIMIZED, []))
}

/// What 102 quotes: the value, else the option's name.
fn shown_value(option: &OptionItem) -> String {
    match &option.value {
        OptionValue::Word(word) => word.to_string(),
        OptionValue::On => "ON".into(),
        OptionValue::Off => "OFF".into(),
        OptionValue::Expr(expr) => match &expr.kind {
            ExprKind::Literal(Literal::Integer(n)) => n.to_string(),
            ExprKind::Literal(Literal::String { value, .. }) => value.to_string(),
            _ => option.name.to_string(),
        },
        OptionValue::None => option.name.to_string(),
    }
}

/// ON or OFF of an option that must say which. Error: 102.
pub fn switch(option: &OptionItem) -> Result<bool, SqlError> {
    match option.value {
        OptionValue::On => Ok(true),
        OptionValue::Off => Ok(false),
        _ => Err(errors::syntax_near(&shown_value(option))),
    }
}

/// CREATE INDEX, key constraints, ALTER INDEX REBUILD and SET.
pub const INDEX: Rules = &[
    ("PAD_INDEX", OptionDomain::Switch),
    ("FILLFACTOR", OptionDomain::Value),
    ("SORT_IN_TEMPDB", OptionDomain::Switch),
    ("IGNORE_DUP_KEY", OptionDomain::Switch),
    ("STATISTICS_NORECOMPUTE", OptionDomain::Switch),
    ("STATISTICS_INCREMENTAL", OptionDomain::NeverOn),
    ("DROP_EXISTING", OptionDomain::Switch),
    ("ONLINE", OptionDomain::Switch),
    // Nothing is ever paused.
    ("RESUMABLE", OptionDomain::NeverOn),
    ("MAX_DURATION", OptionDomain::Refused),
    ("ALLOW_ROW_LOCKS", OptionDomain::Switch),
    ("ALLOW_PAGE_LOCKS", OptionDomain::Switch),
    ("OPTIMIZE_FOR_SEQUENTIAL_KEY", OptionDomain::Switch),
    ("MAXDOP", OptionDomain::Value),
    ("DATA_COMPRESSION", OptionDomain::Word(&["NONE", "ROW", "PAGE"])),
    ("XML_COMPRESSION", OptionDomain::Switch),
    ("COMPRESSION_DELAY", OptionDomain::Refused),
    ("BUCKET_COUNT", OptionDomain::Value),
];

/// ALTER TABLE ... SET.
pub const SET_TABLE: Rules = &[
    ("LOCK_ESCALATION", OptionDomain::Word(&["TABLE", "AUTO", "DISABLE"])),
    ("SYSTEM_VERSIONING", OptionDomain::Read),
    ("FILESTREAM_ON", OptionDomain::Refused),
    ("DATA_DELETION", OptionDomain::Refused),
    ("REMOTE_DATA_ARCHIVE", OptionDomain::Refused),
];

/// ALTER INDEX ... SET.
pub const SET_INDEX: Rules = &[
    ("ALLOW_ROW_LOCKS", OptionDomain::Switch),
    ("ALLOW_PAGE_LOCKS", OptionDomain::Switch),
    ("OPTIMIZE_FOR_SEQUENTIAL_KEY", OptionDomain::Switch),
    ("IGNORE_DUP_KEY", OptionDomain::Switch),
    ("STATISTICS_NORECOMPUTE", OptionDomain::Switch),
    ("COMPRESSION_DELAY", OptionDomain::Refused),
];

/// ALTER INDEX ... RESUME: nothing is ever paused.
pub const RESUME: Rules = &[
    ("MAXDOP", OptionDomain::Value),
    ("MAX_DURATION", OptionDomain::Read),
    ("WAIT_AT_LOW_PRIORITY", OptionDomain::Read),
];

/// ALTER INDEX REORGANIZE.
pub const REORGANIZE: Rules =
    &[("LOB_COMPACTION", OptionDomain::Switch), ("COMPRESS_ALL_ROW_GROUPS", OptionDomain::Switch)];

/// ALTER TABLE ALTER COLUMN.
pub const ALTER_COLUMN: Rules =
    &[("ONLINE", OptionDomain::Switch), ("WAIT_AT_LOW_PRIORITY", OptionDomain::Read)];

/// DROP INDEX and DROP CONSTRAINT.
pub const DROP_INDEX: Rules = &[
    ("ONLINE", OptionDomain::Switch),
    ("MAXDOP", OptionDomain::Value),
    ("MOVE TO", OptionDomain::Refused),
];

/// TRUNCATE TABLE: there are no partitions.
pub const TRUNCATE: Rules = &[("PARTITIONS", OptionDomain::Refused)];

/// EXEC: a plan that is made again gives the same result.
pub const EXECUTE: Rules =
    &[("RECOMPILE", OptionDomain::Nothing), ("RESULT", OptionDomain::Refused)];

/// CREATE TABLE.
pub const TABLE: Rules = &[
    ("DATA_COMPRESSION", OptionDomain::Word(&["NONE", "ROW", "PAGE"])),
    ("XML_COMPRESSION", OptionDomain::Switch),
    ("MEMORY_OPTIMIZED", OptionDomain::Switch),
    // A restart would leave no rows of the other.
    ("DURABILITY", OptionDomain::WordBut(&["SCHEMA_AND_DATA"], &["SCHEMA_ONLY"])),
    ("SYSTEM_VERSIONING", OptionDomain::Read),
    ("LEDGER", OptionDomain::NeverOn),
    ("DATA_DELETION", OptionDomain::NeverOn),
    ("REMOTE_DATA_ARCHIVE", OptionDomain::NeverOn),
    ("FILETABLE_DIRECTORY", OptionDomain::Refused),
    ("FILETABLE_COLLATE_FILENAME", OptionDomain::Refused),
];

/// CREATE TYPE ... AS TABLE.
pub const TABLE_TYPE: Rules = &[("MEMORY_OPTIMIZED", OptionDomain::Switch)];

/// CREATE DATABASE.
pub const DATABASE: Rules = &[
    ("DB_CHAINING", OptionDomain::NeverOn),
    ("TRUSTWORTHY", OptionDomain::NeverOn),
    // Of contained databases.
    ("DEFAULT_LANGUAGE", OptionDomain::Refused),
    ("DEFAULT_FULLTEXT_LANGUAGE", OptionDomain::Refused),
    ("TWO_DIGIT_YEAR_CUTOFF", OptionDomain::Refused),
    ("NESTED_TRIGGERS", OptionDomain::Refused),
    ("TRANSFORM_NOISE_WORDS", OptionDomain::Refused),
    (
        "CATALOG_COLLATION",
        OptionDomain::Word(&["DATABASE_DEFAULT", "SQL_LATIN1_GENERAL_CP1_CI_AS"]),
    ),
    ("FILESTREAM", OptionDomain::Refused),
    ("PERSISTENT_LOG_BUFFER", OptionDomain::Refused),
    ("LEDGER", OptionDomain::NeverOn),
    ("ENABLE_BROKER", OptionDomain::Refused),
    ("NEW_BROKER", OptionDomain::Refused),
    ("ERROR_BROKER_CONVERSATIONS", OptionDomain::Refused),
    ("RESTRICTED_USER", OptionDomain::Refused),
];

/// CREATE and UPDATE STATISTICS.
pub const STATISTICS: Rules = &[
    ("FULLSCAN", OptionDomain::Nothing),
    ("SAMPLE", OptionDomain::Read),
    ("RESAMPLE", OptionDomain::Read),
    ("STATS_STREAM", OptionDomain::Refused),
    ("NORECOMPUTE", OptionDomain::Nothing),
    ("INCREMENTAL", OptionDomain::NeverOn),
    ("MAXDOP", OptionDomain::Value),
    ("AUTO_DROP", OptionDomain::NeverOn),
    ("PERSIST_SAMPLE_PERCENT", OptionDomain::NeverOn),
    ("ROWCOUNT", OptionDomain::Refused),
    ("PAGECOUNT", OptionDomain::Refused),
    ("ALL", OptionDomain::Nothing),
    ("COLUMNS", OptionDomain::Nothing),
    ("INDEX", OptionDomain::Nothing),
];

/// DBCC: TABLERESULTS and ESTIMATEONLY would give another result, which there is not.
pub const DBCC: Rules = &[
    ("NO_INFOMSGS", OptionDomain::Nothing),
    ("ALL_ERRORMSGS", OptionDomain::Nothing),
    ("ALL_CONSTRAINTS", OptionDomain::Nothing),
    ("EXTENDED_LOGICAL_CHECKS", OptionDomain::Nothing),
    ("PHYSICAL_ONLY", OptionDomain::Nothing),
    ("DATA_PURITY", OptionDomain::Nothing),
    ("TABLOCK", OptionDomain::Nothing),
    ("MAXDOP", OptionDomain::Value),
    ("COUNT_ROWS", OptionDomain::Nothing),
    ("STAT_HEADER", OptionDomain::Nothing),
    ("DENSITY_VECTOR", OptionDomain::Nothing),
    ("HISTOGRAM", OptionDomain::Nothing),
    ("STATS_STREAM", OptionDomain::Refused),
    ("MARK_IN_USE_FOR_REMOVAL", OptionDomain::Nothing),
    ("WAIT_AT_LOW_PRIORITY", OptionDomain::List),
    ("ESTIMATEONLY", OptionDomain::Refused),
    ("TABLERESULTS", OptionDomain::Refused),
];

/// BULK INSERT. Sizes of batches in kilobytes and expected rows are hints; there are no triggers,
/// CHECK or FOREIGN KEY constraints.
pub const INSERT_BULK: Rules = &[
    ("CHECK_CONSTRAINTS", OptionDomain::Switch),
    ("FIRE_TRIGGERS", OptionDomain::Switch),
    ("KEEP_NULLS", OptionDomain::Switch),
    ("KILOBYTES_PER_BATCH", OptionDomain::Value),
    ("ORDER", OptionDomain::List),
    ("ROWS_PER_BATCH", OptionDomain::Value),
    ("TABLOCK", OptionDomain::Switch),
];

pub const BULK_INSERT: Rules = &[
    ("BATCHSIZE", OptionDomain::Value),
    ("CHECK_CONSTRAINTS", OptionDomain::Switch),
    ("CODEPAGE", OptionDomain::Value),
    ("DATAFILETYPE", OptionDomain::Value),
    ("DATA_SOURCE", OptionDomain::Refused),
    ("ERRORFILE", OptionDomain::Refused),
    ("ERRORFILE_DATA_SOURCE", OptionDomain::Refused),
    ("FIRSTROW", OptionDomain::Value),
    ("FIRE_TRIGGERS", OptionDomain::Switch),
    ("FORMATFILE", OptionDomain::Refused),
    ("FORMATFILE_DATA_SOURCE", OptionDomain::Refused),
    ("FORMAT", OptionDomain::Value),
    ("FIELDQUOTE", OptionDomain::Value),
    ("FIELDTERMINATOR", OptionDomain::Value),
    ("ROWTERMINATOR", OptionDomain::Value),
    ("KEEPIDENTITY", OptionDomain::Switch),
    ("KEEPNULLS", OptionDomain::Switch),
    ("KILOBYTES_PER_BATCH", OptionDomain::Value),
    ("LASTROW", OptionDomain::Value),
    ("MAXERRORS", OptionDomain::Value),
    ("ORDER", OptionDomain::List),
    ("ROWS_PER_BATCH", OptionDomain::Value),
    ("TABLOCK", OptionDomain::Switch),
    ("ESCAPECHAR", OptionDomain::Refused),
];

/// What BACKUP and RESTORE share and what changes nothing here: sizes of buffers, tapes.
pub const BACKUP_COMMON: Rules = &[
    ("SKIP", OptionDomain::Nothing),
    ("NOSKIP", OptionDomain::Nothing),
    ("NOFORMAT", OptionDomain::Nothing),
    ("NO_COMPRESSION", OptionDomain::Nothing),
    ("NO_CHECKSUM", OptionDomain::Nothing),
    ("STOP_ON_ERROR", OptionDomain::Nothing),
    ("BLOCKSIZE", OptionDomain::Value),
    ("BUFFERCOUNT", OptionDomain::Value),
    ("MAXTRANSFERSIZE", OptionDomain::Value),
    ("REWIND", OptionDomain::Nothing),
    ("NOREWIND", OptionDomain::Nothing),
    ("UNLOAD", OptionDomain::Nothing),
    ("NOUNLOAD", OptionDomain::Nothing),
    ("RESTART", OptionDomain::Nothing),
    // They would keep a backup from being overwritten or read.
    ("EXPIREDATE", OptionDomain::Refused),
    ("RETAINDAYS", OptionDomain::Refused),
    ("MEDIAPASSWORD", OptionDomain::Refused),
    ("PASSWORD", OptionDomain::Refused),
    // Of URLs, for which they were read before.
    ("CREDENTIAL", OptionDomain::Read),
    ("BACKUP_OPTIONS", OptionDomain::Read),
    ("RESTORE_OPTIONS", OptionDomain::Read),
];
