//! Which options each statement's WITH clause has, and what may stand after them. Guarantee: an
//! option that is not in T-SQL is error 155, a value that it does not take is 102, and a value that
//! would change what the statement does, without our doing it, is refused with 40510. Nothing is
//! passed over in silence.

use syntax::ast::{ExprKind, Literal, OptionItem, OptionValue};
use types::{SqlError, msg};

use catalog::errors;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
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
pub type Rules = &'static [(&'static str, Takes)];

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
            (Takes::Read, _) => true,
            (Takes::Refused, _) => return refused(),
            (Takes::NeverOn, OptionValue::None | OptionValue::On)
                if name == "RESUMABLE" && !online(options) =>
            {
                return Err(SqlError::of(msg::RESUMABLE_WITHOUT_ONLINE, []));
            }
            (Takes::NeverOn, OptionValue::None | OptionValue::On) => return refused(),
            (Takes::NeverOn, OptionValue::Off) => bare,
            (Takes::Nothing, OptionValue::None) => bare,
            // ONLINE = ON (WAIT_AT_LOW_PRIORITY (...)) says how long to wait.
            (Takes::Switch, OptionValue::None | OptionValue::On | OptionValue::Off) => {
                bare || name == "ONLINE"
            }
            (Takes::Value, OptionValue::Expr(_)) => bare,
            (Takes::Word(words), OptionValue::Word(word)) => words.contains(&word.as_str()),
            (Takes::WordBut(words, _), OptionValue::Word(word))
                if words.contains(&word.as_str()) =>
            {
                bare
            }
            (Takes::WordBut(_, other), OptionValue::Word(word))
                if other.contains(&word.as_str()) =>
            {
                return Err(errors::not_supported(&format!("{statement} WITH {name} = {word}")));
            }
            (Takes::Word(words), OptionValue::On) => words.contains(&"ON"),
            (Takes::Word(words), OptionValue::Off) => words.contains(&"OFF"),
            (Takes::List, OptionValue::None) => true,
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
    ("PAD_INDEX", Takes::Switch),
    ("FILLFACTOR", Takes::Value),
    ("SORT_IN_TEMPDB", Takes::Switch),
    ("IGNORE_DUP_KEY", Takes::Switch),
    ("STATISTICS_NORECOMPUTE", Takes::Switch),
    ("STATISTICS_INCREMENTAL", Takes::NeverOn),
    ("DROP_EXISTING", Takes::Switch),
    ("ONLINE", Takes::Switch),
    // Nothing is ever paused.
    ("RESUMABLE", Takes::NeverOn),
    ("MAX_DURATION", Takes::Refused),
    ("ALLOW_ROW_LOCKS", Takes::Switch),
    ("ALLOW_PAGE_LOCKS", Takes::Switch),
    ("OPTIMIZE_FOR_SEQUENTIAL_KEY", Takes::Switch),
    ("MAXDOP", Takes::Value),
    ("DATA_COMPRESSION", Takes::Word(&["NONE", "ROW", "PAGE"])),
    ("XML_COMPRESSION", Takes::Switch),
    ("COMPRESSION_DELAY", Takes::Refused),
    ("BUCKET_COUNT", Takes::Value),
];

/// ALTER TABLE ... SET.
pub const SET_TABLE: Rules = &[
    ("LOCK_ESCALATION", Takes::Word(&["TABLE", "AUTO", "DISABLE"])),
    ("SYSTEM_VERSIONING", Takes::Read),
    ("FILESTREAM_ON", Takes::Refused),
    ("DATA_DELETION", Takes::Refused),
    ("REMOTE_DATA_ARCHIVE", Takes::Refused),
];

/// ALTER INDEX ... SET.
pub const SET_INDEX: Rules = &[
    ("ALLOW_ROW_LOCKS", Takes::Switch),
    ("ALLOW_PAGE_LOCKS", Takes::Switch),
    ("OPTIMIZE_FOR_SEQUENTIAL_KEY", Takes::Switch),
    ("IGNORE_DUP_KEY", Takes::Switch),
    ("STATISTICS_NORECOMPUTE", Takes::Switch),
    ("COMPRESSION_DELAY", Takes::Refused),
];

/// ALTER INDEX ... RESUME: nothing is ever paused.
pub const RESUME: Rules = &[
    ("MAXDOP", Takes::Value),
    ("MAX_DURATION", Takes::Read),
    ("WAIT_AT_LOW_PRIORITY", Takes::Read),
];

/// ALTER INDEX REORGANIZE.
pub const REORGANIZE: Rules =
    &[("LOB_COMPACTION", Takes::Switch), ("COMPRESS_ALL_ROW_GROUPS", Takes::Switch)];

/// ALTER TABLE ALTER COLUMN.
pub const ALTER_COLUMN: Rules = &[("ONLINE", Takes::Switch), ("WAIT_AT_LOW_PRIORITY", Takes::Read)];

/// DROP INDEX and DROP CONSTRAINT.
pub const DROP_INDEX: Rules =
    &[("ONLINE", Takes::Switch), ("MAXDOP", Takes::Value), ("MOVE TO", Takes::Refused)];

/// TRUNCATE TABLE: there are no partitions.
pub const TRUNCATE: Rules = &[("PARTITIONS", Takes::Refused)];

/// EXEC: a plan that is made anew gives the same result.
pub const EXECUTE: Rules = &[("RECOMPILE", Takes::Nothing), ("RESULT", Takes::Refused)];

/// CREATE TABLE.
pub const TABLE: Rules = &[
    ("DATA_COMPRESSION", Takes::Word(&["NONE", "ROW", "PAGE"])),
    ("XML_COMPRESSION", Takes::Switch),
    ("MEMORY_OPTIMIZED", Takes::Switch),
    // A restart would leave no rows of the other.
    ("DURABILITY", Takes::WordBut(&["SCHEMA_AND_DATA"], &["SCHEMA_ONLY"])),
    ("SYSTEM_VERSIONING", Takes::Read),
    ("LEDGER", Takes::NeverOn),
    ("DATA_DELETION", Takes::NeverOn),
    ("REMOTE_DATA_ARCHIVE", Takes::NeverOn),
    ("FILETABLE_DIRECTORY", Takes::Refused),
    ("FILETABLE_COLLATE_FILENAME", Takes::Refused),
];

/// CREATE TYPE ... AS TABLE.
pub const TABLE_TYPE: Rules = &[("MEMORY_OPTIMIZED", Takes::Switch)];

/// CREATE DATABASE.
pub const DATABASE: Rules = &[
    ("DB_CHAINING", Takes::NeverOn),
    ("TRUSTWORTHY", Takes::NeverOn),
    // Of contained databases.
    ("DEFAULT_LANGUAGE", Takes::Refused),
    ("DEFAULT_FULLTEXT_LANGUAGE", Takes::Refused),
    ("TWO_DIGIT_YEAR_CUTOFF", Takes::Refused),
    ("NESTED_TRIGGERS", Takes::Refused),
    ("TRANSFORM_NOISE_WORDS", Takes::Refused),
    ("CATALOG_COLLATION", Takes::Word(&["DATABASE_DEFAULT", "SQL_LATIN1_GENERAL_CP1_CI_AS"])),
    ("FILESTREAM", Takes::Refused),
    ("PERSISTENT_LOG_BUFFER", Takes::Refused),
    ("LEDGER", Takes::NeverOn),
    ("ENABLE_BROKER", Takes::Refused),
    ("NEW_BROKER", Takes::Refused),
    ("ERROR_BROKER_CONVERSATIONS", Takes::Refused),
    ("RESTRICTED_USER", Takes::Refused),
];

/// CREATE and UPDATE STATISTICS.
pub const STATISTICS: Rules = &[
    ("FULLSCAN", Takes::Nothing),
    ("SAMPLE", Takes::Read),
    ("RESAMPLE", Takes::Read),
    ("STATS_STREAM", Takes::Refused),
    ("NORECOMPUTE", Takes::Nothing),
    ("INCREMENTAL", Takes::NeverOn),
    ("MAXDOP", Takes::Value),
    ("AUTO_DROP", Takes::NeverOn),
    ("PERSIST_SAMPLE_PERCENT", Takes::NeverOn),
    ("ROWCOUNT", Takes::Refused),
    ("PAGECOUNT", Takes::Refused),
    ("ALL", Takes::Nothing),
    ("COLUMNS", Takes::Nothing),
    ("INDEX", Takes::Nothing),
];

/// DBCC: TABLERESULTS and ESTIMATEONLY would give another result, which there is not.
pub const DBCC: Rules = &[
    ("NO_INFOMSGS", Takes::Nothing),
    ("ALL_ERRORMSGS", Takes::Nothing),
    ("ALL_CONSTRAINTS", Takes::Nothing),
    ("EXTENDED_LOGICAL_CHECKS", Takes::Nothing),
    ("PHYSICAL_ONLY", Takes::Nothing),
    ("DATA_PURITY", Takes::Nothing),
    ("TABLOCK", Takes::Nothing),
    ("MAXDOP", Takes::Value),
    ("COUNT_ROWS", Takes::Nothing),
    ("STAT_HEADER", Takes::Nothing),
    ("DENSITY_VECTOR", Takes::Nothing),
    ("HISTOGRAM", Takes::Nothing),
    ("STATS_STREAM", Takes::Refused),
    ("MARK_IN_USE_FOR_REMOVAL", Takes::Nothing),
    ("WAIT_AT_LOW_PRIORITY", Takes::List),
    ("ESTIMATEONLY", Takes::Refused),
    ("TABLERESULTS", Takes::Refused),
];

/// BULK INSERT. Sizes of batches in kilobytes and expected rows are hints; there are no triggers,
/// CHECK or FOREIGN KEY constraints.
pub const INSERT_BULK: Rules = &[
    ("CHECK_CONSTRAINTS", Takes::Switch),
    ("FIRE_TRIGGERS", Takes::Switch),
    ("KEEP_NULLS", Takes::Switch),
    ("KILOBYTES_PER_BATCH", Takes::Value),
    ("ORDER", Takes::List),
    ("ROWS_PER_BATCH", Takes::Value),
    ("TABLOCK", Takes::Switch),
];

pub const BULK_INSERT: Rules = &[
    ("BATCHSIZE", Takes::Value),
    ("CHECK_CONSTRAINTS", Takes::Switch),
    ("CODEPAGE", Takes::Value),
    ("DATAFILETYPE", Takes::Value),
    ("DATA_SOURCE", Takes::Refused),
    ("ERRORFILE", Takes::Refused),
    ("ERRORFILE_DATA_SOURCE", Takes::Refused),
    ("FIRSTROW", Takes::Value),
    ("FIRE_TRIGGERS", Takes::Switch),
    ("FORMATFILE", Takes::Refused),
    ("FORMATFILE_DATA_SOURCE", Takes::Refused),
    ("FORMAT", Takes::Value),
    ("FIELDQUOTE", Takes::Value),
    ("FIELDTERMINATOR", Takes::Value),
    ("ROWTERMINATOR", Takes::Value),
    ("KEEPIDENTITY", Takes::Switch),
    ("KEEPNULLS", Takes::Switch),
    ("KILOBYTES_PER_BATCH", Takes::Value),
    ("LASTROW", Takes::Value),
    ("MAXERRORS", Takes::Value),
    ("ORDER", Takes::List),
    ("ROWS_PER_BATCH", Takes::Value),
    ("TABLOCK", Takes::Switch),
    ("ESCAPECHAR", Takes::Refused),
];

/// What BACKUP and RESTORE share and what changes nothing here: sizes of buffers, tapes.
pub const BACKUP_COMMON: Rules = &[
    ("SKIP", Takes::Nothing),
    ("NOSKIP", Takes::Nothing),
    ("NOFORMAT", Takes::Nothing),
    ("NO_COMPRESSION", Takes::Nothing),
    ("NO_CHECKSUM", Takes::Nothing),
    ("STOP_ON_ERROR", Takes::Nothing),
    ("BLOCKSIZE", Takes::Value),
    ("BUFFERCOUNT", Takes::Value),
    ("MAXTRANSFERSIZE", Takes::Value),
    ("REWIND", Takes::Nothing),
    ("NOREWIND", Takes::Nothing),
    ("UNLOAD", Takes::Nothing),
    ("NOUNLOAD", Takes::Nothing),
    ("RESTART", Takes::Nothing),
    // They would keep a backup from being overwritten or read.
    ("EXPIREDATE", Takes::Refused),
    ("RETAINDAYS", Takes::Refused),
    ("MEDIAPASSWORD", Takes::Refused),
    ("PASSWORD", Takes::Refused),
    // Of URLs, for which they were read before.
    ("CREDENTIAL", Takes::Read),
    ("BACKUP_OPTIONS", Takes::Read),
    ("RESTORE_OPTIONS", Takes::Read),
];
