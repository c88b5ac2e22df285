//! The languages of sessions, and the orders of dates. Guarantee: a [`Dialect`] is a language of
//! [`LANGUAGES`] with one of the six orders.

mod names;

pub use names::LANGUAGES;

/// Order of day, month and year in dates of digits (SET DATEFORMAT).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateOrder {
    #[default]
    Mdy,
    Dmy,
    Ymd,
    Ydm,
    Myd,
    Dym,
}

/// All orders with their names.
const ORDERS: [(DateOrder, &str); 6] = [
    (DateOrder::Mdy, "mdy"),
    (DateOrder::Dmy, "dmy"),
    (DateOrder::Ymd, "ymd"),
    (DateOrder::Ydm, "ydm"),
    (DateOrder::Myd, "myd"),
    (DateOrder::Dym, "dym"),
];

impl DateOrder {
    /// `mdy` and the like.
    pub fn name(self) -> &'static str {
        ORDERS.iter().find(|(order, _)| *order == self).map_or("mdy", |(_, name)| name)
    }

    /// The order of a name such as `dmy`.
    pub fn from_name(name: &str) -> Option<DateOrder> {
        ORDERS.iter().find(|(_, own)| own.eq_ignore_ascii_case(name)).map(|(order, _)| *order)
    }

    /// Whether days stand before months.
    pub fn day_first(self) -> bool {
        matches!(self, DateOrder::Dmy | DateOrder::Ydm | DateOrder::Dym)
    }

    /// The order that a CONVERT style reads; `None` where the session's holds.
    pub(crate) fn of_style(style: i32) -> Option<DateOrder> {
        match style {
            1 | 10 | 22 | 101 | 110 => Some(DateOrder::Mdy),
            3..=6 | 13 | 103..=106 | 113 => Some(DateOrder::Dmy),
            2 | 11 | 12 | 20 | 21 | 23 | 25 | 102 | 111 | 112 | 120 | 121 | 126 | 127 => {
                Some(DateOrder::Ymd)
            }
            _ => None,
        }
    }
}

/// A language.
#[derive(Debug)]
pub struct Language {
    /// Its number (@@LANGID): its place in the list.
    pub id: u8,
    /// Its own name (@@LANGUAGE), and its English one.
    pub name: &'static str,
    pub alias: &'static str,
    pub order: DateOrder,
    /// First day of the week, 1 (Monday) to 7 (Sunday).
    pub first_day: u8,
    /// Windows' number of it, and that of its messages.
    pub lcid: u16,
    pub messages: u16,
    /// From January, with commas between them.
    pub months: &'static str,
    pub short_months: &'static str,
    /// From Monday.
    pub days: &'static str,
}

impl Language {
    /// The language of a name or an alias, compared without case.
    pub fn find(name: &str) -> Option<&'static Language> {
        let wanted = name.trim().to_lowercase();
        LANGUAGES
            .iter()
            .find(|l| l.name.to_lowercase() == wanted || l.alias.to_lowercase() == wanted)
    }

    /// The name of a month 1 to 12.
    pub fn month(&self, month: u32) -> &'static str {
        nth(self.months, month)
    }

    /// The short name of a month 1 to 12.
    pub(crate) fn short_month(&self, month: u32) -> &'static str {
        nth(self.short_months, month)
    }

    /// The name of a day of the week, 1 (Monday) to 7.
    pub fn day(&self, day: u32) -> &'static str {
        nth(self.days, day)
    }

    /// The month that a text begins with, as `(month, bytes of its name)`: the longest name that
    /// fits, whole or short, and followed by no letter.
    fn month_at(&self, text: &str) -> Option<(i64, usize)> {
        let own = self.months.split(',').zip(1..).chain(self.short_months.split(',').zip(1..));
        let fits = |name: &str| {
            let end = prefix_without_case(text, name)?;
            (!text[end..].starts_with(char::is_alphabetic)).then_some(end)
        };
        own.filter_map(|(name, month)| Some((month, fits(name)?))).max_by_key(|(_, end)| *end)
    }
}

/// A name of a list, counted from 1.
fn nth(list: &'static str, at: u32) -> &'static str {
    list.split(',').nth((at as usize).saturating_sub(1)).unwrap_or("")
}

/// The bytes of a text that are a name but for case.
fn prefix_without_case(text: &str, name: &str) -> Option<usize> {
    let mut end = 0;
    let mut chars = text.chars();
    for wanted in name.chars() {
        let found = chars.next()?;
        if found != wanted && !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
        end += found.len_utf8();
    }
    Some(end)
}

/// How a session reads and writes dates: its language, and the order of dates of digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    language: u8,
    pub order: DateOrder,
}

impl Dialect {
    /// us_english with its order.
    pub const DEFAULT: Dialect = Dialect { language: 0, order: DateOrder::Mdy };

    /// A language with its own order.
    pub fn of(language: &Language) -> Dialect {
        Dialect { language: language.id, order: language.order }
    }

    /// The same language with another order.
    pub fn with_order(self, order: DateOrder) -> Dialect {
        Dialect { order, ..self }
    }

    /// Its language.
    #[inline]
    pub fn language(self) -> &'static Language {
        LANGUAGES.get(usize::from(self.language)).unwrap_or(&LANGUAGES[0])
    }

    /// The month that a text begins with, and the bytes of its name.
    pub(crate) fn month_at(self, text: &str) -> Option<(i64, usize)> {
        self.language().month_at(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_and_names_are_found() {
        for (at, language) in LANGUAGES.iter().enumerate() {
            assert_eq!(usize::from(language.id), at);
            let by_name = Language::find(&language.name.to_uppercase()).map(|l| l.id);
            assert_eq!(by_name, Some(language.id), "{}", language.name);
            assert_eq!(
                Language::find(language.alias).map(|l| l.id),
                Some(language.id),
                "{}",
                language.alias
            );
            assert_eq!(language.months.split(',').count(), 12);
            assert_eq!(language.short_months.split(',').count(), 12);
            assert_eq!(language.days.split(',').count(), 7);
            for (month, name) in (1i64..).zip(language.months.split(',')) {
                let text = format!("{} 2020", name.to_lowercase());
                assert_eq!(language.month_at(&text).map(|(m, _)| m), Some(month), "{text}");
            }
        }
        assert!(Language::find("Elvish").is_none());
    }

    #[test]
    fn a_month_is_the_longest_name_that_ends() {
        let czech = &LANGUAGES[12];
        assert_eq!(czech.month_at("VIII 2020"), Some((8, 4)));
        assert_eq!(czech.month_at("XIV"), None);
        assert_eq!(LANGUAGES[0].month_at("Mayor"), None);
        assert_eq!(LANGUAGES[0].month_at("march5"), Some((3, 5)));
    }
}
