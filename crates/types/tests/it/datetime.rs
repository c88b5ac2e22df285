//! Dates: literals, styles, arithmetic and their errors, as SQL Server gives them.

use crate::common;
use fastrand::Rng;
use ringwood_types::datetime::{
    DatePart, civil_from_days, date_from_parts, dateadd, datediff, datediff_big, datename,
    datepart, days_from_civil, eomonth, from_parts, switch_offset,
};
use ringwood_types::{
    DataType as T, DateOrder, Dialect, LANGUAGES, Language, Len, Mode, SqlError, Value,
};
use ringwood_types::{convert, convert_in, dateformat, format_value};

fn format(value: &Value, ty: T, style: i32) -> Result<String, SqlError> {
    dateformat::format(value, ty, style, Dialect::DEFAULT)
}

fn parse(s: &str, to: T) -> Result<Value, SqlError> {
    convert(&Value::str(s), T::VarChar(Len::N(60)), to, 0, Mode::Implicit)
}

fn dt(s: &str) -> Value {
    parse(s, T::DateTime).unwrap()
}

fn shown(s: &str, to: T) -> String {
    format_value(&parse(s, to).unwrap(), to)
}

#[test]
fn calendar_is_a_bijection() {
    let mut expected = (1, 1, 1);
    for days in 0..=3_652_058 {
        let (y, m, d) = civil_from_days(days);
        assert_eq!((y, m, d), expected, "{days}");
        assert_eq!(days_from_civil(y, m, d), Some(days));
        expected = match (d, days_from_civil(y, m, d + 1)) {
            (_, Some(_)) => (y, m, d + 1),
            _ if m < 12 => (y, m + 1, 1),
            _ => (y + 1, 1, 1),
        };
    }
    assert_eq!(expected, (10_000, 1, 1));
    assert_eq!(days_from_civil(2023, 2, 29), None);
    assert_eq!(days_from_civil(10_000, 1, 1), None);
}

#[test]
fn literals() {
    for s in [
        "2020-01-05 15:04:05.007",
        "20200105 15:04:05.007",
        "2020-01-05T15:04:05.007",
        "2020-01-05T15:04:05.007Z",
        "01/05/2020 15:04:05.007",
        "1/5/20 3:04:05.007 PM",
        "Jan 5 2020  3:04:05:007PM",
        "January 5, 2020 15:04:05.006",
        "5 jan 2020 15:04:05.008",
        "2020 Jan 5 15:04:05.007",
        "05-Jan-2020 15:04:05.007",
        "15:04:05.007 2020-01-05",
        "2020.01.05 15:04:05.007",
    ] {
        assert_eq!(shown(s, T::DateTime), "2020-01-05 15:04:05.007", "{s}");
    }
    assert_eq!(shown("", T::DateTime), "1900-01-01 00:00:00.000");
    assert_eq!(shown("2020", T::DateTime), "2020-01-01 00:00:00.000");
    assert_eq!(shown("491231", T::Date), "2049-12-31");
    assert_eq!(shown("500101", T::Date), "1950-01-01");
    assert_eq!(shown("3PM", T::Time(0)), "15:00:00");
    assert_eq!(shown("12:30 AM", T::Time(0)), "00:30:00");
    assert_eq!(shown("23:59:59.9999999", T::Time(7)), "23:59:59.9999999");
    assert_eq!(shown("2020-01-05 23:59:59.9999999", T::DateTime2(0)), "2020-01-06 00:00:00");
    assert_eq!(
        shown("2020-01-05T01:00:00.5-05:30", T::DateTimeOffset(3)),
        "2020-01-05 01:00:00.500 -05:30"
    );
    assert_eq!(shown("2020-01-05 12:00:30", T::SmallDateTime), "2020-01-05 12:01:00");
    assert_eq!(shown("2020-01-05 12:00:29.998", T::SmallDateTime), "2020-01-05 12:00:00");
    let dmy =
        convert(&Value::str("5/1/2020"), T::VarChar(Len::N(20)), T::Date, 103, Mode::Explicit)
            .unwrap();
    assert_eq!(format_value(&dmy, T::Date), "2020-01-05");
}

#[test]
fn nanoseconds() {
    for (given, to, kept) in [
        ("11:22:33.123456700", T::Time(7), "11:22:33.1234567"),
        ("11:22:33.12345674", T::Time(7), "11:22:33.1234567"),
        ("11:22:33.12345675", T::Time(7), "11:22:33.1234568"),
        ("11:22:33.123456749", T::Time(7), "11:22:33.1234567"),
        ("11:22:33.999999999", T::Time(7), "11:22:34.0000000"),
        ("11:22:33.999999949", T::Time(7), "11:22:33.9999999"),
        ("11:22:33.000000001", T::Time(3), "11:22:33.000"),
        // A time alone does not get to the next day.
        ("23:59:59.999999999", T::Time(0), "23:59:59"),
        ("23:59:59.999999999", T::Time(4), "23:59:59.9999"),
        ("23:59:59.999999999", T::Time(7), "23:59:59.9999999"),
        ("2020-02-28 23:59:59.5", T::Time(0), "23:59:59"),
        ("22:59:59.5", T::Time(0), "23:00:00"),
        ("1:59:59.999999999 PM", T::Time(7), "14:00:00.0000000"),
        ("2020-02-28 23:59:59.999999999", T::DateTime2(7), "2020-02-29 00:00:00.0000000"),
        ("2020-02-28T23:59:59.12345678", T::DateTime2(5), "2020-02-28 23:59:59.12346"),
        ("9999-12-31 23:59:59.999999999", T::DateTime2(7), "9999-12-31 23:59:59.9999999"),
        (
            "1970-01-01T11:22:33.123456700+12:34",
            T::DateTimeOffset(7),
            "1970-01-01 11:22:33.1234567 +12:34",
        ),
        (
            "1970-01-01T11:22:33.123456789Z",
            T::DateTimeOffset(7),
            "1970-01-01 11:22:33.1234568 +00:00",
        ),
        ("2020-02-28 23:59:59.999999999", T::Date, "2020-02-28"),
        // Ten digits are too many, and so are four for the old types.
        ("11:22:33.1234567890", T::Time(7), ""),
        ("2020-01-05 00:00:00.123456789", T::DateTime, ""),
        ("2020-01-05 00:00:00.12345678", T::SmallDateTime, ""),
    ] {
        match parse(given, to) {
            Ok(value) => assert_eq!(format_value(&value, to), kept, "{given}"),
            Err(error) => {
                assert!(kept.is_empty() && [241, 295].contains(&error.number), "{given}: {error:?}")
            }
        }
    }
}

#[test]
fn thirds_of_a_hundredth() {
    for (given, kept) in [
        ("000", "00.000"),
        ("001", "00.000"),
        ("002", "00.003"),
        ("004", "00.003"),
        ("005", "00.007"),
        ("008", "00.007"),
        ("009", "00.010"),
        ("998", "00.997"),
        ("999", "01.000"),
    ] {
        let text = shown(&format!("2020-01-05 00:00:00.{given}"), T::DateTime);
        assert_eq!(text, format!("2020-01-05 00:00:{kept}"));
    }
    assert_eq!(shown("1999-12-31 23:59:59.999", T::DateTime), "2000-01-01 00:00:00.000");
    let wide =
        convert(&dt("2020-01-05 00:00:00.003"), T::DateTime, T::DateTime2(7), 0, Mode::Implicit);
    assert_eq!(format_value(&wide.unwrap(), T::DateTime2(7)), "2020-01-05 00:00:00.0033333");
}

#[test]
fn bad_literals() {
    let number = |s: &str, to| parse(s, to).unwrap_err().number;
    for s in [
        "abc",
        "2020-13",
        "1/2",
        "2020-01-05 1",
        "12:30:15 2020-01-05 13:00",
        "1-2-3-4",
        "2020-01-05X",
    ] {
        assert_eq!(number(s, T::DateTime), 241, "{s}");
    }
    assert_eq!(number("2020-01-05 00:00:00.1234", T::DateTime), 241);
    assert_eq!(number("2020-13-05", T::DateTime), 242);
    assert_eq!(number("2020-02-30", T::DateTime), 242);
    assert_eq!(number("1752-12-31", T::DateTime), 242);
    assert_eq!(number("2020-01-05 25:00", T::DateTime), 242);
    assert_eq!(number("2020-13-05", T::Date), 241);
    assert_eq!(number("abc", T::SmallDateTime), 295);
    assert_eq!(number("2080-01-01", T::SmallDateTime), 242);
    let old = parse("0001-01-01", T::DateTime2(0)).unwrap();
    let error = convert(&old, T::DateTime2(0), T::DateTime, 0, Mode::Implicit).unwrap_err();
    assert_eq!(
        error.message,
        "The conversion of a datetime2 data type to a datetime data type resulted in an out-of-range value."
    );
    for seed in 0..100_000 {
        let mut rng = Rng::with_seed(seed);
        let alphabet =
            ["1", "20", "2020", ":", "-", "/", ".", " ", "Jan", "T", "Z", "PM", "+", ",", "é", "0"];
        let s: String =
            (0..rng.usize(0..12)).map(|_| alphabet[rng.usize(0..alphabet.len())]).collect();
        let to = [T::DateTime, T::Date, T::Time(3), T::DateTimeOffset(7), T::SmallDateTime]
            [rng.usize(0..5)];
        if let Ok(value) = parse(&s, to) {
            assert!(value.is_kind_of(to));
            assert!(!format_value(&value, to).is_empty());
        }
    }
}

#[test]
fn styles() {
    let value = dt("2020-01-05 15:04:05.007");
    for (style, text) in [
        (0, "Jan  5 2020  3:04PM"),
        (1, "01/05/20"),
        (2, "20.01.05"),
        (3, "05/01/20"),
        (4, "05.01.20"),
        (5, "05-01-20"),
        (6, "05 Jan 20"),
        (7, "Jan 05, 20"),
        (8, "15:04:05"),
        (9, "Jan  5 2020  3:04:05:007PM"),
        (10, "01-05-20"),
        (11, "20/01/05"),
        (12, "200105"),
        (13, "05 Jan 2020 15:04:05:007"),
        (14, "15:04:05:007"),
        (20, "2020-01-05 15:04:05"),
        (21, "2020-01-05 15:04:05.007"),
        (22, "01/05/20  3:04:05 PM"),
        (23, "2020-01-05"),
        (100, "Jan  5 2020  3:04PM"),
        (101, "01/05/2020"),
        (103, "05/01/2020"),
        (107, "Jan 05, 2020"),
        (108, "15:04:05"),
        (109, "Jan  5 2020  3:04:05:007PM"),
        (112, "20200105"),
        (114, "15:04:05:007"),
        (120, "2020-01-05 15:04:05"),
        (121, "2020-01-05 15:04:05.007"),
        (126, "2020-01-05T15:04:05.007"),
    ] {
        assert_eq!(format(&value, T::DateTime, style).unwrap(), text, "style {style}");
    }
    assert_eq!(format(&value, T::DateTime, 999).unwrap_err().number, 281);
    let offset = parse("2020-01-05 15:04:05.1234567 +02:00", T::DateTimeOffset(7)).unwrap();
    let style = |s| format(&offset, T::DateTimeOffset(7), s).unwrap();
    assert_eq!(style(121), "2020-01-05 15:04:05.1234567 +02:00");
    assert_eq!(style(126), "2020-01-05T15:04:05.1234567+02:00");
    assert_eq!(style(127), "2020-01-05T13:04:05.1234567Z");
    let date = parse("2020-01-05", T::Date).unwrap();
    assert_eq!(format(&date, T::Date, 0).unwrap(), "2020-01-05");
    assert_eq!(format(&date, T::Date, 101).unwrap(), "01/05/2020");
    assert_eq!(format(&date, T::Date, 108).unwrap_err().number, 281);
}

#[test]
fn dateadd_stays_in_range() {
    let add = |part: &str, n, s: &str| {
        let part = DatePart::from_name(part).unwrap();
        dateadd(part, n, &dt(s), T::DateTime).map(|v| format_value(&v, T::DateTime))
    };
    assert_eq!(add("month", 1, "2020-01-31").unwrap(), "2020-02-29 00:00:00.000");
    assert_eq!(add("yy", -1, "2020-02-29").unwrap(), "2019-02-28 00:00:00.000");
    assert_eq!(add("qq", 2, "2020-01-31").unwrap(), "2020-07-31 00:00:00.000");
    assert_eq!(add("wk", 1, "2020-01-31").unwrap(), "2020-02-07 00:00:00.000");
    assert_eq!(add("hh", -1, "2020-01-01").unwrap(), "2019-12-31 23:00:00.000");
    assert_eq!(add("ms", 1, "2020-01-01").unwrap(), "2020-01-01 00:00:00.000");
    assert_eq!(add("ms", 2, "2020-01-01").unwrap(), "2020-01-01 00:00:00.003");
    for (part, n) in
        [("yy", 9000), ("yy", i64::MAX), ("d", i64::MIN), ("ns", 1), ("mm", -9_999_999)]
    {
        let number = add(part, n, "2020-01-01").unwrap_err().number;
        assert_eq!(number, if part == "ns" { 9810 } else { 517 }, "{part} {n}");
    }
    let time = parse("23:30", T::Time(0)).unwrap();
    let wrapped = dateadd(DatePart::Hour, 1, &time, T::Time(0)).unwrap();
    assert_eq!(format_value(&wrapped, T::Time(0)), "00:30:00");
    assert_eq!(dateadd(DatePart::Day, 1, &time, T::Time(0)).unwrap_err().number, 9810);
    assert_eq!(eomonth(&dt("2020-01-31"), 1).unwrap(), parse("2020-02-29", T::Date).unwrap());
    assert_eq!(eomonth(&dt("9999-12-01"), 1).unwrap_err().number, 517);
    assert_eq!(date_from_parts(2020, 2, 29).unwrap(), parse("2020-02-29", T::Date).unwrap());
    assert_eq!(date_from_parts(2021, 2, 29).unwrap_err().number, 289);
    let built = from_parts([2020, 1, 5], [15, 4, 5, 70_000], 0, T::DateTime).unwrap();
    assert_eq!(built, dt("2020-01-05 15:04:05.007"));
    let zone = parse("2020-01-05 00:00 +00:00", T::DateTimeOffset(0)).unwrap();
    let moved = switch_offset(&zone, -60).unwrap();
    assert_eq!(format_value(&moved, T::DateTimeOffset(0)), "2020-01-04 23:00:00 -01:00");
}

#[test]
fn datediff_counts_boundaries() {
    let diff = |part: &str, a: &str, b: &str| {
        datediff(DatePart::from_name(part).unwrap(), &dt(a), &dt(b)).map(Option::unwrap)
    };
    assert_eq!(diff("year", "2019-12-31 23:59:59.997", "2020-01-01").unwrap(), 1);
    assert_eq!(diff("month", "2020-01-31", "2020-02-01").unwrap(), 1);
    assert_eq!(diff("quarter", "2020-03-31", "2020-04-01").unwrap(), 1);
    assert_eq!(diff("hour", "2020-01-01 00:59", "2020-01-01 01:00").unwrap(), 1);
    assert_eq!(diff("day", "2020-01-02", "2020-01-01 23:00").unwrap(), -1);
    // Saturday to Sunday begins a week, Sunday to Monday does not.
    assert_eq!(diff("week", "2020-01-04", "2020-01-05").unwrap(), 1);
    assert_eq!(diff("week", "2020-01-05", "2020-01-06").unwrap(), 0);
    assert_eq!(diff("second", "1900-01-01", "2020-01-01").unwrap_err().number, 535);
    let big = datediff_big(DatePart::Second, &dt("1900-01-01"), &dt("2020-01-01")).unwrap();
    assert_eq!(big, Some(43_829 * 86_400));
    let ns = datediff_big(DatePart::Nanosecond, &dt("1753-01-01"), &dt("9999-01-01"));
    assert_eq!(ns.unwrap_err().number, 535);
    assert_eq!(datediff(DatePart::Day, &Value::Null, &dt("2020-01-01")).unwrap(), None);
}

#[test]
fn parts_and_names() {
    let value = dt("2021-01-03 15:04:05.007");
    let part = |p: &str| {
        datepart(DatePart::from_name(p).unwrap(), &value, T::DateTime, 7).unwrap().unwrap()
    };
    // 2021-01-03 is a Sunday in the last ISO week of 2020.
    for (name, expected) in [
        ("yy", 2021),
        ("q", 1),
        ("m", 1),
        ("dy", 3),
        ("d", 3),
        ("wk", 2),
        ("dw", 1),
        ("hh", 15),
        ("mi", 4),
        ("ss", 5),
        ("ms", 7),
        ("mcs", 7000),
        ("isowk", 53),
    ] {
        assert_eq!(part(name), expected, "{name}");
    }
    assert_eq!(datepart(DatePart::Weekday, &value, T::DateTime, 1).unwrap(), Some(7));
    let name = |p| datename(p, &value, T::DateTime, 7, &LANGUAGES[0]).unwrap().unwrap();
    assert_eq!(
        (name(DatePart::Month), name(DatePart::Weekday)),
        ("January".into(), "Sunday".into())
    );
    let date = parse("2020-01-05", T::Date).unwrap();
    assert_eq!(datepart(DatePart::Hour, &date, T::Date, 7).unwrap_err().number, 9810);
}

/// DATEADD and DATEDIFF agree: what is added in days, hours or months is what lies between.
#[test]
fn what_is_added_lies_between() {
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let start = common::value_of(&mut rng, T::DateTime2(7));
        let part = [
            DatePart::Day,
            DatePart::Hour,
            DatePart::Month,
            DatePart::Year,
            DatePart::Minute,
            DatePart::Week,
        ][rng.usize(0..6)];
        let n = rng.i64(-5000..5000);
        if let Ok(end) = dateadd(part, n, &start, T::DateTime2(7)) {
            assert_eq!(datediff_big(part, &start, &end).unwrap(), Some(n), "seed {seed} {part:?}");
        }
    }
}

#[test]
fn orders_and_languages_of_texts() {
    let read = |text: &str, to: T, dialect: Dialect, style: i32| {
        let value = convert_in(
            &Value::str(text),
            T::VarChar(Len::N(60)),
            to,
            style,
            Mode::Explicit,
            dialect,
        );
        value.map(|value| format_value(&value, to)[..10].to_owned()).map_err(|e| e.number)
    };
    use DateOrder::{Dmy, Dym, Mdy, Myd, Ydm, Ymd};
    for (order, text, expected) in [
        (Mdy, "01/02/2003", "2003-01-02"),
        (Dmy, "01/02/2003", "2003-02-01"),
        (Ymd, "01/02/03", "2001-02-03"),
        (Ydm, "01/02/03", "2001-03-02"),
        (Myd, "01/02/03", "2002-01-03"),
        (Dym, "01/02/03", "2002-03-01"),
        // Four digits are the year wherever they stand.
        (Mdy, "2003/01/02", "2003-01-02"),
        (Dmy, "2003/01/02", "2003-02-01"),
        (Mdy, "01-2003-02", "2003-01-02"),
        (Dmy, "01.2003.02", "2003-02-01"),
        (Ymd, "01/02/2003", "2003-01-02"),
        // What no order changes.
        (Dmy, "20030102", "2003-01-02"),
        (Dmy, "030102", "2003-01-02"),
        (Dmy, "2003-01-02T00:00:00", "2003-01-02"),
        (Dmy, "Jan 2 2003", "2003-01-02"),
    ] {
        let dialect = Dialect::DEFAULT.with_order(order);
        assert_eq!(read(text, T::DateTime, dialect, 0), Ok(expected.into()), "{order:?} {text}");
    }
    let dmy = Dialect::DEFAULT.with_order(Dmy);
    // With hyphens the newer types read ISO 8601, the older ones do not.
    assert_eq!(read("2003-01-02", T::DateTime, dmy, 0), Ok("2003-02-01".into()));
    assert_eq!(read("2003-01-02", T::Date, dmy, 0), Ok("2003-01-02".into()));
    assert_eq!(read("2003-01-22", T::DateTime, dmy, 0), Err(242));
    assert_eq!(read("2003-01-22", T::DateTime, dmy, 120), Ok("2003-01-22".into()));
    assert_eq!(read("22/01/2003", T::DateTime, Dialect::DEFAULT, 103), Ok("2003-01-22".into()));
    assert_eq!(read("01/02/03", T::Date, Dialect::DEFAULT.with_order(Ydm), 0), Err(241));
    let named = |name: &str| Dialect::of(Language::find(name).unwrap());
    for (language, text, expected) in [
        ("German", "5. März 2003", Err(241)),
        ("German", "5 März 2003", Ok("2003-03-05")),
        ("Deutsch", "5-dez-2003", Ok("2003-12-05")),
        ("French", "1 août 2003", Ok("2003-08-01")),
        ("Russian", "1 ЯНВАРЬ 2003", Ok("2003-01-01")),
        ("Thai", "1 ม.ค. 2003", Ok("2003-01-01")),
        ("Polish", "4 IX 2003", Ok("2003-09-04")),
        ("German", "5 March 2003", Err(241)),
        ("English", "5 März 2003", Err(241)),
    ] {
        let expected = expected.map(str::to_owned);
        assert_eq!(read(text, T::DateTime, named(language), 0), expected, "{language} {text}");
    }
    let shown = |language: &str, style| {
        dateformat::format(&dt("2003-05-05 13:00"), T::DateTime, style, named(language))
    };
    assert_eq!(shown("Deutsch", 0).unwrap(), "Mai  5 2003  1:00PM");
    assert_eq!(shown("Greek", 106).unwrap(), "05 Μαϊ 2003");
    assert_eq!(shown("Japanese", 107).unwrap(), "05 05, 2003");
}
