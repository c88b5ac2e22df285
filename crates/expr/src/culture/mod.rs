//! Cultures for FORMAT and PARSE: what .NET on Windows has of them, for the few that are known in
//! every detail. Names are compared without case; any other culture is error 9818.

mod date;
mod float_digits;
mod number;
mod parse;

pub use date::{format_moment, format_span};
pub use float_digits::{FLOAT_DIGITS, REAL_DIGITS};
pub use number::{DigitNumber, format_number};
pub use parse::{date_text, number_text};

use types::{Language, SqlError, msg};

/// One culture.
#[derive(Debug)]
pub struct Culture {
    /// As .NET writes it; empty for the invariant one.
    pub name: &'static str,
    pub decimal: char,
    pub group: char,
    pub currency: &'static str,
    /// The patterns of amounts above and below zero: `n` is the number, `$` the symbol.
    pub amount: (&'static str, &'static str),
    pub percent: (&'static str, &'static str),
    pub date_separator: char,
    pub short_date: &'static str,
    pub long_date: &'static str,
    pub short_time: &'static str,
    pub long_time: &'static str,
    pub month_day: &'static str,
    pub year_month: &'static str,
    pub am_pm: (&'static str, &'static str),
    pub months: [&'static str; 12],
    pub short_months: [&'static str; 12],
    pub days: [&'static str; 7],
    pub short_days: [&'static str; 7],
    pub era: &'static str,
    /// Days before months in dates of digits.
    pub day_first: bool,
}

const ENGLISH_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const ENGLISH_SHORT_MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Weeks begin on Sunday here, as in .NET.
const ENGLISH_DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const ENGLISH_SHORT_DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

const INVARIANT: Culture = Culture {
    name: "",
    decimal: '.',
    group: ',',
    currency: "\u{a4}",
    amount: ("$n", "($n)"),
    percent: ("n %", "-n %"),
    date_separator: '/',
    short_date: "MM/dd/yyyy",
    long_date: "dddd, dd MMMM yyyy",
    short_time: "HH:mm",
    long_time: "HH:mm:ss",
    month_day: "MMMM dd",
    year_month: "yyyy MMMM",
    am_pm: ("AM", "PM"),
    months: ENGLISH_MONTHS,
    short_months: ENGLISH_SHORT_MONTHS,
    days: ENGLISH_DAYS,
    short_days: ENGLISH_SHORT_DAYS,
    era: "A.D.",
    day_first: false,
};

static CULTURES: [Culture; 4] = [
    INVARIANT,
    Culture {
        name: "en-US",
        currency: "$",
        percent: ("n%", "-n%"),
        short_date: "M/d/yyyy",
        long_date: "dddd, MMMM d, yyyy",
        short_time: "h:mm tt",
        long_time: "h:mm:ss tt",
        month_day: "MMMM d",
        year_month: "MMMM yyyy",
        ..INVARIANT
    },
    Culture {
        name: "en-GB",
        currency: "\u{a3}",
        amount: ("$n", "-$n"),
        percent: ("n%", "-n%"),
        short_date: "dd/MM/yyyy",
        long_date: "dd MMMM yyyy",
        month_day: "d MMMM",
        year_month: "MMMM yyyy",
        day_first: true,
        ..INVARIANT
    },
    Culture {
        name: "de-DE",
        decimal: ',',
        group: '.',
        currency: "\u{20ac}",
        amount: ("n $", "-n $"),
        percent: ("n %", "-n %"),
        date_separator: '.',
        short_date: "dd.MM.yyyy",
        long_date: "dddd, d. MMMM yyyy",
        month_day: "d. MMMM",
        year_month: "MMMM yyyy",
        am_pm: ("", ""),
        months: [
            "Januar",
            "Februar",
            "M\u{e4}rz",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        short_months: [
            "Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
        ],
        days: ["Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"],
        short_days: ["So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"],
        era: "n. Chr.",
        day_first: true,
        ..INVARIANT
    },
];

/// The cultures of the languages, by Windows' number of them.
const LANGUAGES: [(u16, &str); 34] = [
    (1025, "ar-SA"),
    (1026, "bg-BG"),
    (1028, "zh-TW"),
    (1029, "cs-CZ"),
    (1030, "da-DK"),
    (1031, "de-DE"),
    (1032, "el-GR"),
    (1033, "en-US"),
    (1035, "fi-FI"),
    (1036, "fr-FR"),
    (1038, "hu-HU"),
    (1040, "it-IT"),
    (1041, "ja-JP"),
    (1042, "ko-KR"),
    (1043, "nl-NL"),
    (1044, "nb-NO"),
    (1045, "pl-PL"),
    (1046, "pt-BR"),
    (1048, "ro-RO"),
    (1049, "ru-RU"),
    (1050, "hr-HR"),
    (1051, "sk-SK"),
    (1053, "sv-SE"),
    (1054, "th-TH"),
    (1055, "tr-TR"),
    (1060, "sl-SI"),
    (1061, "et-EE"),
    (1062, "lv-LV"),
    (1063, "lt-LT"),
    (2052, "zh-CN"),
    (2057, "en-GB"),
    (2068, "nn-NO"),
    (2070, "pt-PT"),
    (3082, "es-ES"),
];

impl Culture {
    /// The culture of a session's language. Error: 9818 for one that is not here.
    pub(crate) fn of_language(language: &Language) -> Result<&'static Culture, SqlError> {
        let own = LANGUAGES.iter().find(|(lcid, _)| *lcid == language.lcid);
        Culture::find(own.map_or("", |(_, name)| name))
    }

    /// The culture of a name. Error: 9818.
    pub fn find(name: &str) -> Result<&'static Culture, SqlError> {
        let wanted = name.trim();
        let found = CULTURES.iter().find(|culture| culture.name.eq_ignore_ascii_case(wanted));
        found.ok_or_else(|| SqlError::of(msg::CULTURE_NOT_SUPPORTED, [&wanted]))
    }
}
