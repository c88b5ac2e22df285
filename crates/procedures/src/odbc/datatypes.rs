//! sp_datatype_info, sp_datatype_info_100: the types of this server as ODBC describes them.

use ::types::{DataType, Len, SqlError, Value};

use super::super::Call;
use super::super::params::{NAME, Param};
use super::{Level, text};
use metadata::results::column;

use DataType::{Int, SmallInt, VarChar};

/// EXEC sp_datatype_info [type, ODBC's version].
pub fn info(call: &mut Call<'_>) -> Result<i32, SqlError> {
    list(call, "sp_datatype_info", Level::Old)
}

/// EXEC sp_datatype_info_100.
pub(crate) fn info_100(call: &mut Call<'_>) -> Result<i32, SqlError> {
    list(call, "sp_datatype_info_100", Level::Since2008)
}

/// How a type's constants are written.
#[derive(Clone, Copy)]
enum Literal {
    Plain,
    Quoted,
    /// N'...'
    National,
    /// 0x...
    Binary,
    Money,
}

/// A type. `searchable` as ODBC numbers it: 0 no, 1 only LIKE, 2 all but LIKE, 3 yes.
struct Row {
    name: &'static str,
    data_type: i16,
    precision: i32,
    literal: Literal,
    create: Option<&'static str>,
    case_sensitive: bool,
    searchable: i16,
    unsigned: Option<bool>,
    money: bool,
    /// None where the question makes no sense.
    identity: Option<bool>,
    scales: Option<(i16, i16)>,
    radix: Option<i32>,
    user_type: i16,
}

const BASE: Row = Row {
    name: "",
    data_type: 0,
    precision: 0,
    literal: Literal::Plain,
    create: None,
    case_sensitive: false,
    searchable: 2,
    unsigned: None,
    money: false,
    identity: None,
    scales: None,
    radix: None,
    user_type: 0,
};

const fn number(name: &'static str, data_type: i16, precision: i32, user_type: i16) -> Row {
    Row {
        name,
        data_type,
        precision,
        unsigned: Some(false),
        identity: Some(false),
        scales: Some((0, 0)),
        radix: Some(10),
        user_type,
        ..BASE
    }
}

const fn identity(row: Row) -> Row {
    Row { identity: Some(true), ..row }
}

const fn unsigned(row: Row) -> Row {
    Row { unsigned: Some(true), ..row }
}

const fn string(
    name: &'static str,
    data_type: i16,
    precision: i32,
    create: Option<&'static str>,
) -> Row {
    let literal = if data_type < -7 { Literal::National } else { Literal::Quoted };
    Row { name, data_type, precision, literal, create, case_sensitive: true, searchable: 3, ..BASE }
}

const fn binary(
    name: &'static str,
    data_type: i16,
    precision: i32,
    create: Option<&'static str>,
) -> Row {
    Row { name, data_type, precision, literal: Literal::Binary, create, ..BASE }
}

const fn date(
    name: &'static str,
    data_type: i16,
    precision: i32,
    scales: Option<(i16, i16)>,
) -> Row {
    Row { name, data_type, precision, literal: Literal::Quoted, searchable: 3, scales, ..BASE }
}

const LENGTH: Option<&str> = Some("length");
const MAX_LENGTH: Option<&str> = Some("max length");
const SCALE: Option<&str> = Some("scale");
const PRECISION: Option<&str> = Some("precision");
const PRECISION_SCALE: Option<&str> = Some("precision,scale");

/// In the order in which they are shown: by type, not identities first, not money first.
const ROWS: &[Row] = &[
    Row { create: SCALE, ..date("datetimeoffset", -155, 34, Some((0, 7))) },
    Row { create: SCALE, ..date("time", -154, 16, Some((0, 7))) },
    Row {
        name: "xml",
        data_type: -152,
        literal: Literal::National,
        case_sensitive: true,
        searchable: 0,
        ..BASE
    },
    Row {
        name: "sql_variant",
        data_type: -150,
        precision: 8000,
        scales: Some((0, 0)),
        radix: Some(10),
        ..BASE
    },
    Row {
        name: "uniqueidentifier",
        data_type: -11,
        precision: 36,
        literal: Literal::Quoted,
        user_type: 37,
        ..BASE
    },
    Row { searchable: 1, ..string("ntext", -10, 1_073_741_823, None) },
    string("nvarchar", -9, 4000, MAX_LENGTH),
    Row { user_type: 18, ..string("sysname", -9, 128, None) },
    string("nchar", -8, 4000, LENGTH),
    Row { name: "bit", data_type: -7, precision: 1, scales: Some((0, 0)), user_type: 16, ..BASE },
    unsigned(number("tinyint", -6, 3, 5)),
    identity(unsigned(number("tinyint identity", -6, 3, 5))),
    number("bigint", -5, 19, 0),
    identity(number("bigint identity", -5, 19, 0)),
    Row { searchable: 0, user_type: 20, ..binary("image", -4, i32::MAX, None) },
    Row { user_type: 4, ..binary("varbinary", -3, 8000, MAX_LENGTH) },
    Row { user_type: 3, ..binary("binary", -2, 8000, LENGTH) },
    Row { user_type: 80, ..binary("timestamp", -2, 8, None) },
    Row { searchable: 1, user_type: 19, ..string("text", -1, i32::MAX, None) },
    Row { user_type: 1, ..string("char", 1, 8000, LENGTH) },
    Row { create: PRECISION_SCALE, scales: Some((0, 38)), ..number("numeric", 2, 38, 10) },
    identity(Row { create: PRECISION, ..number("numeric() identity", 2, 38, 10) }),
    Row { create: PRECISION_SCALE, scales: Some((0, 38)), ..number("decimal", 3, 38, 24) },
    Row {
        literal: Literal::Money,
        money: true,
        scales: Some((4, 4)),
        ..number("money", 3, 19, 11)
    },
    Row {
        literal: Literal::Money,
        money: true,
        scales: Some((4, 4)),
        ..number("smallmoney", 3, 10, 21)
    },
    identity(Row { create: PRECISION, ..number("decimal() identity", 3, 38, 24) }),
    number("int", 4, 10, 7),
    identity(number("int identity", 4, 10, 7)),
    number("smallint", 5, 5, 6),
    identity(number("smallint identity", 5, 5, 6)),
    Row { scales: None, radix: Some(2), ..number("float", 6, 53, 8) },
    Row { scales: None, radix: Some(2), ..number("real", 7, 24, 23) },
    Row { user_type: 2, ..string("varchar", 12, 8000, MAX_LENGTH) },
    date("date", 91, 10, None),
    Row { create: SCALE, ..date("datetime2", 93, 27, Some((0, 7))) },
    Row { user_type: 12, ..date("datetime", 93, 23, Some((3, 3))) },
    Row { user_type: 22, ..date("smalldatetime", 93, 16, Some((0, 0))) },
];

/// ODBC's number of the type for a client of a version.
fn shown_type(row: &Row, version: i64, level: Level) -> i16 {
    match row.data_type {
        -155 | -154 | 91 if level == Level::Old => -9,
        93 if level == Level::Old && row.name == "datetime2" => -9,
        91 if version < 3 => 9,
        93 if version < 3 => 11,
        other => other,
    }
}

fn list(call: &mut Call<'_>, procedure: &str, level: Level) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@data_type", Int), ("@ODBCVer", DataType::TinyInt)];
    let given = call.given(procedure, 0, PARAMS)?;
    let (wanted, version) = (given.number(0, 0), given.number(1, 2));
    let mut rows: Vec<(i16, Vec<Value>)> = Vec::new();
    for row in ROWS {
        let shown = shown_type(row, version, level);
        if wanted != 0 && i64::from(shown) != wanted {
            continue;
        }
        rows.push((shown, values(row, shown)));
    }
    rows.sort_by_key(|(shown, _)| *shown);
    let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
    let short = VarChar(Len::N(32));
    let columns = [
        column("TYPE_NAME", NAME, false),
        column("DATA_TYPE", SmallInt, false),
        column("PRECISION", Int, true),
        column("LITERAL_PREFIX", short, true),
        column("LITERAL_SUFFIX", short, true),
        column("CREATE_PARAMS", short, true),
        column("NULLABLE", SmallInt, false),
        column("CASE_SENSITIVE", SmallInt, false),
        column("SEARCHABLE", SmallInt, false),
        column("UNSIGNED_ATTRIBUTE", SmallInt, true),
        column("MONEY", SmallInt, false),
        column("AUTO_INCREMENT", SmallInt, true),
        column("LOCAL_TYPE_NAME", NAME, true),
        column("MINIMUM_SCALE", SmallInt, true),
        column("MAXIMUM_SCALE", SmallInt, true),
        column("SQL_DATA_TYPE", SmallInt, false),
        column("SQL_DATETIME_SUB", SmallInt, true),
        column("NUM_PREC_RADIX", Int, true),
        column("INTERVAL_PRECISION", SmallInt, true),
        column("USERTYPE", SmallInt, true),
    ];
    call.result(&columns, &rows)?;
    Ok(0)
}

fn values(row: &Row, shown: i16) -> Vec<Value> {
    let (prefix, suffix) = match row.literal {
        Literal::Plain => (None, None),
        Literal::Quoted => (Some("'"), Some("'")),
        Literal::National => (Some("N'"), Some("'")),
        Literal::Binary => (Some("0x"), None),
        Literal::Money => (Some("$"), None),
    };
    let word = |word: Option<&str>| word.map_or(Value::Null, text);
    let flag = |set: bool| Value::SmallInt(set.into());
    let maybe = |set: Option<bool>| set.map_or(Value::Null, flag);
    let is_date = row.data_type > 90;
    let new = matches!(row.data_type, -155 | -154);
    vec![
        text(row.name),
        Value::SmallInt(shown),
        Value::Int(row.precision),
        word(prefix),
        word(suffix),
        word(row.create),
        flag(row.identity != Some(true) && !matches!(row.name, "sysname" | "timestamp")),
        flag(row.case_sensitive),
        Value::SmallInt(row.searchable),
        maybe(row.unsigned),
        flag(row.money),
        maybe(row.identity),
        text(row.name),
        row.scales.map_or(Value::Null, |(least, _)| Value::SmallInt(least)),
        match row.scales {
            None if row.name == "date" => Value::SmallInt(0),
            scales => scales.map_or(Value::Null, |(_, most)| Value::SmallInt(most)),
        },
        Value::SmallInt(if is_date { 9 } else { row.data_type }),
        match row.data_type {
            91 => Value::SmallInt(1),
            93 => Value::SmallInt(3),
            _ if new => Value::SmallInt(0),
            _ => Value::Null,
        },
        row.radix.map_or(Value::Null, Value::Int),
        Value::Null,
        Value::SmallInt(row.user_type),
    ]
}
