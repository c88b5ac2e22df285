//! System-versioned tables: a table with a period keeps the times from and to which each row holds;
//! one that is versioned besides gives what it deletes and changes to its history table. Guarantee:
//! a versioned table and its history name each other.

pub use syntax::ast::Generated;

/// Whether a table's rows have a history, or are one. The others are known by object_id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Temporal {
    #[default]
    None,
    /// SYSTEM_VERSIONING = ON.
    Current { history: i32, retention: Option<Retention> },
    /// The history of another table.
    History { of: i32 },
}

/// HISTORY_RETENTION_PERIOD, where it is not INFINITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub count: i32,
    pub unit: RetentionUnit,
}

/// The numbers are those of sys.tables.history_retention_period_unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionUnit {
    Day = 3,
    Week = 4,
    Month = 5,
    Year = 6,
}

impl RetentionUnit {
    const ALL: [RetentionUnit; 4] =
        [RetentionUnit::Day, RetentionUnit::Week, RetentionUnit::Month, RetentionUnit::Year];

    /// Its word, as DATEADD has it.
    pub fn word(self) -> &'static str {
        match self {
            RetentionUnit::Day => "DAY",
            RetentionUnit::Week => "WEEK",
            RetentionUnit::Month => "MONTH",
            RetentionUnit::Year => "YEAR",
        }
    }

    /// From its word, in the singular or plural.
    pub fn of(word: &str) -> Option<RetentionUnit> {
        let word = word.strip_suffix(['s', 'S']).unwrap_or(word);
        Self::ALL.into_iter().find(|unit| unit.word().eq_ignore_ascii_case(word))
    }
}

impl Temporal {
    /// sys.tables.temporal_type with its name.
    pub fn shown(self) -> (u8, &'static str) {
        match self {
            Temporal::None => (0, "NON_TEMPORAL_TABLE"),
            Temporal::History { .. } => (1, "HISTORY_TABLE"),
            Temporal::Current { .. } => (2, "SYSTEM_VERSIONED_TEMPORAL_TABLE"),
        }
    }

    /// The history table of a versioned one.
    pub fn history(self) -> Option<i32> {
        match self {
            Temporal::Current { history, .. } => Some(history),
            Temporal::None | Temporal::History { .. } => None,
        }
    }

    pub fn is_history(self) -> bool {
        matches!(self, Temporal::History { .. })
    }

    pub fn is_versioned(self) -> bool {
        matches!(self, Temporal::Current { .. })
    }

    /// As a word that the catalog keeps.
    pub(crate) fn word(self) -> Option<String> {
        match self {
            Temporal::None => None,
            Temporal::History { of } => Some(format!("HISTORY:{of}")),
            Temporal::Current { history, retention: None } => Some(format!("VERSIONED:{history}")),
            Temporal::Current { history, retention: Some(Retention { count, unit }) } => {
                Some(format!("VERSIONED:{history}:{count}:{}", unit.word()))
            }
        }
    }

    /// From that word.
    pub(crate) fn of(word: &str) -> Option<Temporal> {
        let mut parts = word.split(':');
        let kind = parts.next()?;
        let id = parts.next()?.parse().ok()?;
        let retention = match (parts.next(), parts.next()) {
            (Some(count), Some(unit)) => {
                Some(Retention { count: count.parse().ok()?, unit: RetentionUnit::of(unit)? })
            }
            _ => None,
        };
        match kind {
            "HISTORY" => Some(Temporal::History { of: id }),
            "VERSIONED" => Some(Temporal::Current { history: id, retention }),
            _ => None,
        }
    }
}

/// The words for the columns of a period; no computed column's text begins so.
const GENERATED: [(Generated, &str); 4] = [
    (Generated { end: false, hidden: false }, "ROW START"),
    (Generated { end: true, hidden: false }, "ROW END"),
    (Generated { end: false, hidden: true }, "ROW START HIDDEN"),
    (Generated { end: true, hidden: true }, "ROW END HIDDEN"),
];

/// What the catalog keeps of a column of a period.
pub(crate) fn generated_text(generated: Generated) -> &'static str {
    GENERATED.iter().find(|(known, _)| *known == generated).map_or("", |(_, word)| word)
}

/// From that.
pub(crate) fn generated(text: &str) -> Option<Generated> {
    GENERATED.iter().find(|(_, word)| *word == text).map(|(generated, _)| *generated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let retention = Some(Retention { count: 6, unit: RetentionUnit::Month });
        for temporal in [
            Temporal::None,
            Temporal::History { of: 5 },
            Temporal::Current { history: 7, retention: None },
            Temporal::Current { history: 7, retention },
        ] {
            assert_eq!(
                temporal.word().and_then(|word| Temporal::of(&word)).unwrap_or_default(),
                temporal
            );
        }
        for (column, word) in GENERATED {
            assert_eq!((generated(word), generated_text(column)), (Some(column), word));
        }
        assert_eq!(RetentionUnit::of("months"), Some(RetentionUnit::Month));
        assert_eq!(RetentionUnit::of("fortnight"), None);
    }
}
