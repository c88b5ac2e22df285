//! Types and values byte for byte, as real clients were seen to read them.

use std::sync::Arc;

use ringwood_tds as tds;
use ringwood_tds::decode::ValuePlace;
use ringwood_tds::{
    Column, ColumnFlags, FixedType, Reader, Size, TdsVersion, TokenWriter, TypeInfo, WireCollation,
};
use types::{Collation, DataType, Decimal, Len, Value};

const COLL: WireCollation = WireCollation([0x09, 0x04, 0xD0, 0x00, 0x34]);

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn shown(value: &Value) -> String {
    format!("{value:?}")
}

/// TYPE_INFO, a value and NULL, both ways.
fn check(ty: TypeInfo, info: &str, value: &Value, bytes: &str, null: Option<&str>) {
    let mut out = Vec::new();
    ty.write(&mut out);
    assert_eq!(out, hex(info), "TYPE_INFO of {ty:?}");
    let mut reader = Reader::new(&out, "type");
    assert_eq!(TypeInfo::read(&mut reader, TdsVersion::V7_4).unwrap(), ty);
    assert!(reader.is_empty());

    out.clear();
    tds::encode_value(value, &ty, &mut out).unwrap();
    assert_eq!(out, hex(bytes), "value of {ty:?}");
    let mut reader = Reader::new(&out, "value");
    assert_eq!(
        shown(&tds::decode_value(&mut reader, &ty, ValuePlace::Row).unwrap()),
        shown(value),
        "{ty:?}"
    );
    assert!(reader.is_empty());

    out.clear();
    match null {
        Some(null) => {
            tds::encode_value(&Value::Null, &ty, &mut out).unwrap();
            assert_eq!(out, hex(null), "NULL of {ty:?}");
            let mut reader = Reader::new(&out, "NULL");
            assert!(tds::decode_value(&mut reader, &ty, ValuePlace::Row).unwrap().is_null());
            assert!(reader.is_empty());
        }
        None => {
            tds::encode_value(&Value::Null, &ty, &mut out).unwrap_err();
            assert!(out.is_empty());
        }
    }
}

#[test]
fn numbers() {
    check(TypeInfo::Fixed(FixedType::Int), "38", &Value::Int(-7), "f9ffffff", None);
    check(TypeInfo::Int(1), "2601", &Value::TinyInt(200), "01 c8", Some("00"));
    check(TypeInfo::Int(2), "2602", &Value::SmallInt(-3), "02 fdff", Some("00"));
    check(TypeInfo::Int(4), "2604", &Value::Int(-3), "04 fdffffff", Some("00"));
    check(TypeInfo::Int(8), "2608", &Value::BigInt(-3), "08 fdffffffffffffff", Some("00"));
    check(TypeInfo::Bit, "6801", &Value::Bit(true), "0101", Some("00"));
    check(TypeInfo::Float(4), "6d04", &Value::Real(2.25), "04 00001040", Some("00"));
    check(TypeInfo::Float(8), "6d08", &Value::Float(2.25), "08 0000000000000240", Some("00"));
    check(TypeInfo::Money(8), "6e08", &Value::Money(-123_456), "08 ffffffff c01dfeff", Some("00"));
    check(TypeInfo::Money(4), "6e04", &Value::SmallMoney(-123_456), "04 c01dfeff", Some("00"));
    let number = Decimal::new(1_234_567, 18, 4).unwrap();
    check(
        TypeInfo::Decimal { precision: 18, scale: 4, numeric: false },
        "6a091204",
        &Value::Decimal(number),
        "09 01 87d6120000000000",
        Some("00"),
    );
    check(
        TypeInfo::Decimal { precision: 18, scale: 4, numeric: false },
        "6a091204",
        &Value::Decimal(number.negate()),
        "09 00 87d6120000000000",
        Some("00"),
    );
    check(
        TypeInfo::Decimal { precision: 38, scale: 10, numeric: true },
        "6c11260a",
        &Value::Decimal(Decimal::new(1, 38, 10).unwrap()),
        "11 01 01000000000000000000000000000000",
        Some("00"),
    );
}

#[test]
fn dates() {
    let days = 0x0B_4680;
    let ticks = 0x6E_F4AA_C407;
    check(
        TypeInfo::DateTime(8),
        "6f08",
        &Value::DateTime { days: 0xB125, ticks: 0x00DA_25D9 },
        "08 25b10000 d925da00",
        Some("00"),
    );
    check(
        TypeInfo::DateTime(4),
        "6f04",
        &Value::SmallDateTime { days: 0xB125, minutes: 0x031A },
        "04 25b1 1a03",
        Some("00"),
    );
    check(TypeInfo::Date, "28", &Value::Date(days), "03 80460b", Some("00"));
    check(TypeInfo::Time(7), "2907", &Value::Time(ticks), "05 07c4aaf46e", Some("00"));
    check(
        TypeInfo::DateTime2(7),
        "2a07",
        &Value::DateTime2 { days, ticks },
        "08 07c4aaf46e 80460b",
        Some("00"),
    );
    check(
        TypeInfo::DateTime2(3),
        "2a03",
        &Value::DateTime2 { days, ticks: 0x02D7_28D3 * 10_000 },
        "07 d328d702 80460b",
        Some("00"),
    );
    check(
        TypeInfo::DateTimeOffset(7),
        "2b07",
        &Value::DateTimeOffset { days, ticks, offset: 120 },
        "0a 07c4aaf46e 80460b 7800",
        Some("00"),
    );
    let mut out = Vec::new();
    tds::encode_value(&Value::Time(ticks), &TypeInfo::Time(0), &mut out).unwrap();
    assert_eq!(out.len(), 4, "three bytes for scale 0");
}

#[test]
fn strings_and_bytes() {
    let text = Value::str("caf\u{e9}");
    let varchar = TypeInfo::VarChar(Size::Bytes(50), COLL);
    check(varchar, "a7 3200 0904d00034", &text, "0400 636166e9", Some("ffff"));
    check(
        TypeInfo::Char(5, COLL),
        "af 0500 0904d00034",
        &Value::str("ab   "),
        "0500 6162202020",
        Some("ffff"),
    );
    let nvarchar = TypeInfo::NVarChar(Size::Bytes(100), COLL);
    let mixed = Value::str("a\u{20ac}\u{4e2d}");
    check(nvarchar, "e7 6400 0904d00034", &Value::str("a\u{20ac}"), "0400 6100ac20", Some("ffff"));
    check(nvarchar, "e7 6400 0904d00034", &mixed, "0600 6100ac202d4e", Some("ffff"));
    check(
        TypeInfo::NChar(8, COLL),
        "ef 0800 0904d00034",
        &Value::str("ab"),
        "0400 61006200",
        Some("ffff"),
    );
    let bytes = Value::bytes([0xCA, 0xFE]);
    check(TypeInfo::VarBinary(Size::Bytes(20)), "a5 1400", &bytes, "0200 cafe", Some("ffff"));
    check(
        TypeInfo::Binary(4),
        "ad 0400",
        &Value::bytes([1, 2, 3, 4]),
        "0400 01020304",
        Some("ffff"),
    );
    let guid = hex("ff19966f868b11d0b42d00c04fc964ff");
    let guid = Value::Guid(guid.try_into().unwrap());
    check(TypeInfo::Guid, "2410", &guid, "10 ff19966f868b11d0b42d00c04fc964ff", Some("00"));
}

#[test]
fn large_values() {
    let null = Some("ffffffffffffffff");
    let nvarchar = TypeInfo::NVarChar(Size::Max, COLL);
    check(
        nvarchar,
        "e7 ffff 0904d00034",
        &Value::str("ab"),
        "0400000000000000 04000000 61006200 00000000",
        null,
    );
    check(nvarchar, "e7 ffff 0904d00034", &Value::str(""), "0000000000000000 00000000", null);
    let varchar = TypeInfo::VarChar(Size::Max, COLL);
    let bytes = "0100000000000000 01000000 e9 00000000";
    check(varchar, "a7 ffff 0904d00034", &Value::str("\u{e9}"), bytes, null);
    let binary = TypeInfo::VarBinary(Size::Max);
    check(binary, "a5 ffff", &Value::bytes([7]), "0100000000000000 01000000 07 00000000", null);
    let names = "06 6d0061007300740065007200 03 730079007300 0b 680069006500720061007200630068007900690064 00";
    let class = "Microsoft.SqlServer.Types.SqlHierarchyId, Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, \
                 PublicKeyToken=89845dcd8080cc91";
    let class: String = class.bytes().map(|b| format!("{b:02x}00")).collect();
    let info = format!("f0 7c03 {names} 8700 {class}");
    let null = Some("ffffffffffffffff");
    check(
        TypeInfo::Hierarchy,
        &info,
        &Value::bytes(vec![0x5B]),
        "0100000000000000 01000000 5b 00000000",
        null,
    );
    let mut out = Vec::new();
    TypeInfo::Hierarchy.write_parameter(&mut out);
    assert_eq!(out, hex(&format!("f0 {names}")));
    let read = TypeInfo::read_parameter(&mut Reader::new(&out, "type"), TdsVersion::V7_4);
    assert_eq!(read.unwrap(), TypeInfo::Hierarchy);
    check(
        TypeInfo::Xml,
        "f1 00",
        &Value::str("<"),
        "0200000000000000 02000000 3c00 00000000",
        null,
    );

    // A total that is unknown, and data in several chunks.
    let chunks = hex("feffffffffffffff 02000000 6100 04000000 62006300 00000000");
    let mut reader = Reader::new(&chunks, "value");
    let value = tds::decode_value(&mut reader, &nvarchar, ValuePlace::Parameter).unwrap();
    assert_eq!(value.as_str(), Some("abc"));
    let wrong = hex("0500000000000000 02000000 6100 04000000 62006300 00000000");
    let error =
        tds::decode_value(&mut Reader::new(&wrong, "value"), &nvarchar, ValuePlace::Parameter);
    assert_eq!(error.unwrap_err(), tds::TdsError::Chunks(0xE7));
}

#[test]
fn old_large_objects() {
    let pointer = "10 64756d6d79207465787470747200 0000 64756d6d79545300";
    let text = Value::str("ab");
    check(
        TypeInfo::Text(COLL),
        "23 ffffff7f 0904d00034",
        &text,
        &format!("{pointer} 02000000 6162"),
        Some("00"),
    );
    let bytes = format!("{pointer} 04000000 61006200");
    check(TypeInfo::NText(COLL), "63 feffff7f 0904d00034", &text, &bytes, Some("00"));
    let image = Value::bytes([1]);
    check(TypeInfo::Image, "22 ffffff7f", &image, &format!("{pointer} 01000000 01"), Some("00"));
    // As a parameter there is no pointer, and NULL is a length of -1.
    let mut reader = Reader::new(&[2, 0, 0, 0, b'x', b'y'], "value");
    let ty = TypeInfo::Text(COLL);
    assert_eq!(
        tds::decode_value(&mut reader, &ty, ValuePlace::Parameter).unwrap().as_str(),
        Some("xy")
    );
    let mut reader = Reader::new(&[0xFF; 4], "value");
    assert!(tds::decode_value(&mut reader, &ty, ValuePlace::Parameter).unwrap().is_null());
}

#[test]
fn variants() {
    let variant = TypeInfo::Variant;
    let of = |value: Value| types::variant::of(value, DataType::SqlVariant, Collation::DEFAULT);
    let info = "62 491f0000";
    let null = Some("00000000");
    check(variant, info, &of(Value::Int(42)), "06000000 38 00 2a000000", null);
    check(variant, info, &of(Value::Bit(true)), "03000000 32 00 01", null);
    let text = "0d000000 e7 07 0904d00034 0400 61006200";
    check(variant, info, &of(Value::str("ab")), text, null);
    let number = Value::Decimal(Decimal::new(-15, 3, 1).unwrap());
    check(variant, info, &of(number), "09000000 6a 02 03 01 00 0f000000", null);
    let time = Value::DateTime2 { days: 1, ticks: 2 };
    check(variant, info, &of(time), "0b000000 2a 01 07 0200000000 010000", null);
    check(variant, info, &of(Value::bytes([1, 2])), "06000000 a5 02 0200 0102", null);
    // What a value is declared as goes both ways.
    let bytes = hex("0b000000 a7 07 0904d00034 0300 e92f");
    let value =
        tds::decode_value(&mut Reader::new(&bytes, "value"), &variant, ValuePlace::Row).unwrap();
    let (inner, ty, collation) = types::variant::parts(&value);
    assert_eq!((inner.as_str(), ty), (Some("\u{e9}/"), DataType::VarChar(types::Len::N(3))));
    assert_eq!(collation, Collation::DEFAULT);
    let polish = Collation::from_name("Polish_CI_AS").unwrap();
    let value =
        types::variant::of(Value::str("\u{142}"), DataType::VarChar(types::Len::N(9)), polish);
    check(variant, info, &value, "0a000000 a7 07 1504d00000 0900 b3", null);
    let value = types::variant::of(Value::Time(20_000_000), DataType::Time(0), Collation::DEFAULT);
    check(variant, info, &value, "06000000 29 01 00 020000", null);
    // A bare one is of its natural type.
    let mut out = Vec::new();
    tds::encode_value(&Value::Int(42), &variant, &mut out).unwrap();
    assert_eq!(out, hex("06000000 38 00 2a000000"));
}

#[test]
fn a_decimal_may_be_shorter_than_declared() {
    let ty = TypeInfo::Decimal { precision: 38, scale: 2, numeric: false };
    let value = tds::decode_value(
        &mut Reader::new(&[3, 1, 0x39, 0x30], "value"),
        &ty,
        ValuePlace::Parameter,
    )
    .unwrap();
    assert_eq!(shown(&value), shown(&Value::Decimal(Decimal::new(12_345, 38, 2).unwrap())));
}

#[test]
fn an_untyped_null() {
    let mut out = Vec::new();
    TypeInfo::Null.write(&mut out);
    assert_eq!(out, [0x1F]);
    let value =
        tds::decode_value(&mut Reader::new(&[], "value"), &TypeInfo::Null, ValuePlace::Parameter)
            .unwrap();
    assert!(value.is_null());
}

#[test]
fn code_pages_follow_the_collation() {
    let cyrillic =
        TypeInfo::VarChar(Size::Bytes(10), WireCollation([0x19, 0x04, 0xD0, 0x00, 0x00]));
    let mut out = Vec::new();
    tds::encode_value(&Value::str("\u{434}\u{430}\u{4e2d}"), &cyrillic, &mut out).unwrap();
    assert_eq!(out, [3, 0, 0xE4, 0xE0, b'?']);
    let value =
        tds::decode_value(&mut Reader::new(&out, "value"), &cyrillic, ValuePlace::Row).unwrap();
    assert_eq!(value.as_str(), Some("\u{434}\u{430}?"));
    let utf8 = TypeInfo::VarChar(Size::Bytes(10), WireCollation([0x09, 0x04, 0xD0, 0x04, 0x00]));
    out.clear();
    tds::encode_value(&Value::str("\u{4e2d}"), &utf8, &mut out).unwrap();
    assert_eq!(out, [3, 0, 0xE4, 0xB8, 0xAD]);
    // All zeros: the database's own.
    let raw = TypeInfo::VarChar(Size::Bytes(10), WireCollation::DATABASE);
    let value =
        tds::decode_value(&mut Reader::new(&[1, 0, 0x80], "value"), &raw, ValuePlace::Row).unwrap();
    assert_eq!(value.as_str(), Some("\u{20ac}"));
}

#[test]
fn rows_choose_the_shorter_form() {
    let max = TypeInfo::NVarChar(Size::Max, COLL);
    let types = [TypeInfo::Fixed(FixedType::Int), max, max];
    let values = [Value::Int(1), Value::Null, Value::Null];
    let mut out = Vec::new();
    TokenWriter::new(&mut out, TdsVersion::V7_4).row(&types, &values).unwrap();
    assert_eq!(out, hex("d2 06 01000000"));
    out.clear();
    TokenWriter::new(&mut out, TdsVersion::V7_3A).row(&types, &values).unwrap();
    assert_eq!(out, hex("d1 01000000 ffffffffffffffff ffffffffffffffff"));
    out.clear();
    TokenWriter::new(&mut out, TdsVersion::V7_4).row(&types[..1], &values[..1]).unwrap();
    assert_eq!(out, hex("d1 01000000"));
    out.clear();
    let text = [Value::Int(1), Value::Int(2)];
    TokenWriter::new(&mut out, TdsVersion::V7_4).row(&types[..2], &text).unwrap_err();
    assert!(out.is_empty(), "a row that fails leaves nothing");
}

#[test]
fn older_clients_get_types_that_they_know() {
    let of = |ty, version| TypeInfo::of(ty, true, Collation::DEFAULT, version);
    assert_eq!(of(DataType::NVarChar(Len::Max), TdsVersion::V7_1), TypeInfo::NText(COLL));
    assert_eq!(
        of(DataType::NVarChar(Len::Max), TdsVersion::V7_2),
        TypeInfo::NVarChar(Size::Max, COLL)
    );
    let date = of(DataType::DateTime2(3), TdsVersion::V7_2);
    let mut out = Vec::new();
    date.write(&mut out);
    assert_eq!(out, hex("e7 2e00 0904d00034"), "23 characters");
    out.clear();
    let moment = Value::DateTime2 { days: 693_595, ticks: 10_000 };
    tds::encode_value(&moment, &date, &mut out).unwrap();
    assert_eq!(tds::text::from_utf16(&out[2..]), "1900-01-01 00:00:00.001");
}

#[test]
fn columns() {
    let flags = ColumnFlags::NULLABLE.with(ColumnFlags::UPDATABLE_UNKNOWN);
    let mut text = Column::new("t", TypeInfo::Text(COLL), flags);
    text.table = vec!["dbo".into(), "x".into()];
    let columns = [Column::new("id", TypeInfo::Fixed(FixedType::Int), ColumnFlags::IDENTITY), text];
    let mut out = Vec::new();
    TokenWriter::new(&mut out, TdsVersion::V7_4).columns(&columns);
    let id = "00000000 1000 38 02 69006400";
    let text = "00000000 0900 23 ffffff7f 0904d00034 02 0300 640062006f00 0100 7800 01 7400";
    assert_eq!(out, hex(&format!("81 0200 {id} {text}")));
    // The same of columns that borrow their names.
    let borrowed = columns.iter().map(|c| Column {
        name: c.name.as_str(),
        user_type: c.user_type,
        flags: c.flags,
        ty: c.ty,
        table: c.table.iter().map(String::as_str).collect(),
    });
    let mut again = Vec::new();
    TokenWriter::new(&mut again, TdsVersion::V7_4).columns_of(columns.len(), borrowed);
    assert_eq!(again, out);
    out.clear();
    TokenWriter::new(&mut out, TdsVersion::V7_1).columns(&columns[..1]);
    assert_eq!(out, hex("81 0100 0000 1000 38 02 69006400"));
}

#[test]
fn values_of_another_kind_are_refused() {
    let mut out = vec![9];
    let cases = [
        (Value::str("x"), TypeInfo::Int(4)),
        (Value::BigInt(1 << 40), TypeInfo::Int(4)),
        (Value::Int(1), TypeInfo::NVarChar(Size::Bytes(10), COLL)),
        (Value::str("too long"), TypeInfo::NVarChar(Size::Bytes(4), COLL)),
        (Value::Bytes(Arc::from([1, 2, 3])), TypeInfo::Binary(2)),
        (Value::Float(1.0), TypeInfo::Float(4)),
    ];
    for (value, ty) in cases {
        tds::encode_value(&value, &ty, &mut out).unwrap_err();
        assert_eq!(out, [9], "{value:?} as {ty:?}");
    }
}

#[test]
fn bytes_that_are_no_value_are_refused() {
    let cases: [(TypeInfo, &str, i32); 10] = [
        (TypeInfo::Int(4), "02 0000", 8016),
        (TypeInfo::Float(8), "08 000000000000f07f", 8023),
        (TypeInfo::Date, "03 ffffff", 8023),
        (TypeInfo::Time(7), "05 ffffffffff", 8023),
        (TypeInfo::DateTime(8), "08 00000000 ffffffff", 8023),
        (TypeInfo::Decimal { precision: 2, scale: 0, numeric: true }, "05 01 64000000", 8023),
        (TypeInfo::NVarChar(Size::Bytes(10), COLL), "0300 616263", 8028),
        (TypeInfo::NVarChar(Size::Bytes(2), COLL), "0400 61006200", 8016),
        (TypeInfo::VarChar(Size::Bytes(10), COLL), "0500 61", 4002),
        (TypeInfo::Variant, "03000000 99 00 00", 8001),
    ];
    for (ty, bytes, number) in cases {
        let bytes = hex(bytes);
        let error =
            tds::decode_value(&mut Reader::new(&bytes, "value"), &ty, ValuePlace::Row).unwrap_err();
        assert_eq!(error.to_sql_error().number, number, "{ty:?}: {error}");
    }
}
