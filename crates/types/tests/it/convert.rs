//! Conversion rules: values, texts and error numbers as SQL Server gives them.

use crate::common;
use fastrand::Rng;
use ringwood_types::convert::{check_conversion, fitting_part};
use ringwood_types::{
    CodePage, ConvertOptions, DataType as T, Decimal, Len, Mode, SqlError, Value,
};
use ringwood_types::{convert, convert_by};

fn v(n: u16) -> T {
    T::VarChar(Len::N(n))
}

fn dec(precision: u8, scale: u8) -> T {
    T::decimal(precision, scale)
}

fn cast(value: &Value, from: T, to: T) -> Result<Value, SqlError> {
    convert(value, from, to, 0, Mode::Explicit)
}

/// The text of a value after CAST to a type.
fn text(value: Value, from: T, to: T, style: i32) -> String {
    match convert(&value, from, to, style, Mode::Explicit) {
        Ok(Value::Str(s)) => s.to_string(),
        other => panic!("{other:?}"),
    }
}

fn parse(s: &str, to: T) -> Result<Value, SqlError> {
    cast(&Value::str(s), v(60), to)
}

fn fails(s: &str, to: T) -> (i32, String) {
    let error = parse(s, to).unwrap_err();
    (error.number, error.into_message())
}

#[test]
fn text_to_numbers() {
    assert_eq!(parse(" -42 ", T::Int).unwrap(), Value::Int(-42));
    assert_eq!(parse("", T::Int).unwrap(), Value::Int(0));
    assert_eq!(parse("1.5e3", T::Float).unwrap(), Value::Float(1500.0));
    assert_eq!(parse("TRUE", T::Bit).unwrap(), Value::Bit(true));
    assert_eq!(parse("2", T::Bit).unwrap(), Value::Bit(true));
    assert_eq!(parse("$1,234.5", T::Money).unwrap(), Value::Money(12_345_000));
    let Value::Decimal(d) = parse("12.345", dec(9, 2)).unwrap() else { panic!() };
    assert_eq!(d.to_string(), "12.35");
    assert_eq!(
        fails("abc", T::Int),
        (245, "Conversion failed when converting the varchar value 'abc' to data type int.".into())
    );
    assert_eq!(fails("1.5", T::Int).0, 245);
    assert_eq!(
        fails("abc", T::BigInt),
        (8114, "Error converting data type varchar to bigint.".into())
    );
    assert_eq!(
        fails("abc", dec(5, 2)),
        (8114, "Error converting data type varchar to numeric.".into())
    );
    assert_eq!(fails("x", T::Float).0, 8114);
    assert_eq!(fails("x", T::Money).0, 235);
    assert_eq!(fails("x", T::UniqueIdentifier).0, 8169);
    assert_eq!(fails("99999999999", T::Int).0, 248);
    assert_eq!(
        fails("300", T::TinyInt),
        (
            244,
            "The conversion of the varchar value '300' overflowed an INT1 column. Use a larger integer column."
                .into()
        )
    );
    assert_eq!(fails("99999999999999999999", T::BigInt).0, 8115);
    assert_eq!(fails("1000", dec(5, 2)).0, 8115);
}

#[test]
fn numbers_to_numbers() {
    let float = |f| Value::Float(f);
    assert_eq!(cast(&float(-2.9), T::Float, T::Int).unwrap(), Value::Int(-2));
    assert_eq!(cast(&Value::Money(15_000), T::Money, T::Int).unwrap(), Value::Int(2));
    assert_eq!(cast(&Value::Money(-15_000), T::Money, T::Int).unwrap(), Value::Int(-2));
    let d = Decimal::new(-299, 5, 2).unwrap();
    assert_eq!(cast(&Value::Decimal(d), dec(5, 2), T::Int).unwrap(), Value::Int(-2));
    let number = |r: Result<Value, SqlError>| r.unwrap_err().number;
    assert_eq!(number(cast(&Value::Int(300), T::Int, T::TinyInt)), 220);
    assert_eq!(number(cast(&Value::BigInt(1 << 40), T::BigInt, T::Int)), 8115);
    assert_eq!(number(cast(&float(1e10), T::Float, T::Int)), 232);
    assert_eq!(number(cast(&float(1e300), T::Float, T::BigInt)), 8115);
    assert_eq!(number(cast(&float(1e300), T::Float, T::Real)), 232);
    assert_eq!(number(cast(&Value::Int(1000), T::Int, dec(3, 1))), 8115);
    assert_eq!(number(cast(&Value::Money(i64::MAX), T::Money, T::SmallMoney)), 8115);
    let message = cast(&Value::Decimal(d), dec(5, 2), dec(2, 2)).unwrap_err().into_message();
    assert_eq!(message, "Arithmetic overflow error converting numeric to data type numeric.");
}

#[test]
fn numbers_to_text() {
    assert_eq!(text(Value::Int(-5), T::Int, v(10), 0), "-5");
    assert_eq!(text(Value::Int(12345), T::Int, v(3), 0), "*");
    assert_eq!(text(Value::Float(1e10), T::Float, v(30), 0), "1e+010");
    assert_eq!(text(Value::Money(12_345_678), T::Money, v(30), 0), "1234.57");
    assert_eq!(text(Value::Money(12_345_678), T::Money, v(30), 1), "1,234.57");
    assert_eq!(text(Value::Int(5), T::Int, T::Char(4), 0), "5   ");
    assert_eq!(text(Value::bytes(vec![1, 0xAB]), T::VarBinary(Len::N(2)), v(10), 1), "0x01AB");
    let to_n = convert(&Value::Int(12345), T::Int, T::NVarChar(Len::N(3)), 0, Mode::Explicit);
    assert_eq!(to_n.unwrap_err().number, 8115);
    let d = Decimal::new(12345, 5, 2).unwrap();
    assert_eq!(cast(&Value::Decimal(d), dec(5, 2), v(3)).unwrap_err().number, 8115);
    assert_eq!(cast(&Value::Money(123_456_789), T::Money, v(3)).unwrap_err().number, 234);
    assert_eq!(cast(&Value::Guid([0; 16]), T::UniqueIdentifier, v(10)).unwrap_err().number, 8170);
}

#[test]
fn strings_and_binaries() {
    let s = Value::str("abcdef");
    assert_eq!(cast(&s, v(10), v(3)).unwrap(), Value::str("abc"));
    assert_eq!(convert(&s, v(10), v(3), 0, Mode::Implicit).unwrap(), Value::str("abc"));
    let error = convert(&s, v(10), v(3), 0, Mode::Assignment).unwrap_err();
    assert_eq!(error.number, 2628);
    assert_eq!(fitting_part(&s, v(3), CodePage::Latin), "abc");
    let blanks = Value::str("ab   ");
    assert_eq!(convert(&blanks, v(10), v(3), 0, Mode::Assignment).unwrap(), Value::str("ab "));
    // Characters that code page 1252 lacks become question marks; the euro sign is one byte.
    assert_eq!(cast(&Value::str("a漢€"), T::NVarChar(Len::N(9)), v(9)).unwrap(), Value::str("a?€"));
    assert_eq!(cast(&Value::str("€€€"), v(9), v(2)).unwrap(), Value::str("€€"));
    // Or what is most like them, where the page has that.
    assert_eq!(
        cast(&Value::str("Łódź 😀"), T::NVarChar(Len::N(9)), v(9)).unwrap(),
        Value::str("Lódz ??")
    );
    // Texts are cut between units, also between the two of a character.
    let n = |length| T::NVarChar(Len::N(length));
    let faces = Value::str("a😀😀");
    assert_eq!(cast(&faces, n(9), n(3)).unwrap(), Value::str("a😀"));
    assert_eq!(cast(&faces, n(9), n(4)).unwrap(), Value::str("a😀\u{10F83D}"));
    assert_eq!(cast(&faces, n(9), T::NChar(2)).unwrap(), Value::str("a\u{10F83D}"));
    assert_eq!(convert(&faces, n(9), n(4), 0, Mode::Assignment).unwrap_err().number, 2628);
    assert_eq!(fitting_part(&faces, n(4), CodePage::Latin), "a😀\u{10F83D}");
    let whole = ConvertOptions { whole_characters: true, ..ConvertOptions::new(0, Mode::Explicit) };
    assert_eq!(convert_by(&faces, n(9), T::NChar(4), &whole).unwrap(), Value::str("a😀 "));
    let half = Value::str("\u{10F83D}");
    assert_eq!(cast(&half, n(1), T::VarBinary(Len::N(9))).unwrap(), Value::bytes(vec![0x3D, 0xD8]));
    assert_eq!(cast(&Value::bytes(vec![0x3D, 0xD8]), T::Binary(2), n(4)).unwrap(), half);
    assert_eq!(cast(&half, n(1), v(4)).unwrap(), Value::str("?"));
    for text in ["\u{10F83D}", "<a>\n\u{10F83D}</a>", "<?a \u{10F83D}?><a/>"] {
        assert_eq!(cast(&Value::str(text), n(20), T::Xml).unwrap_err().number, 9420, "{text}");
    }
    let bytes = |b: &[u8]| Value::bytes(b.to_vec());
    assert_eq!(cast(&Value::Int(1), T::Int, T::Binary(6)).unwrap(), bytes(&[0, 0, 0, 0, 0, 1]));
    assert_eq!(cast(&Value::Int(258), T::Int, T::VarBinary(Len::N(1))).unwrap(), bytes(&[2]));
    assert_eq!(cast(&bytes(&[1, 2]), T::Binary(2), T::Int).unwrap(), Value::Int(258));
    assert_eq!(cast(&Value::str("ab"), v(2), T::Binary(3)).unwrap(), bytes(&[b'a', b'b', 0]));
    let hex =
        convert(&Value::str("0x0Aff"), v(9), T::VarBinary(Len::N(9)), 1, Mode::Explicit).unwrap();
    assert_eq!(hex, bytes(&[10, 255]));
    let odd = convert(&Value::str("0x0A0"), v(9), T::VarBinary(Len::N(9)), 1, Mode::Explicit);
    assert_eq!(odd.unwrap_err().number, 8114);
    let d = Value::Decimal(Decimal::new(15, 2, 1).unwrap());
    let stored = cast(&d, dec(2, 1), T::VarBinary(Len::N(30))).unwrap();
    assert_eq!(stored, bytes(&[2, 1, 0, 1, 15, 0, 0, 0]));
}

#[test]
fn which_conversions_exist() {
    let number = |from, to, mode| check_conversion(from, to, mode).unwrap_err().number;
    assert_eq!(number(T::Int, T::Date, Mode::Explicit), 529);
    assert_eq!(number(T::Int, T::Date, Mode::Implicit), 206);
    assert_eq!(number(T::DateTime, T::Int, Mode::Implicit), 257);
    assert_eq!(number(v(5), T::VarBinary(Len::Max), Mode::Assignment), 257);
    assert_eq!(number(T::UniqueIdentifier, T::Int, Mode::Explicit), 529);
    assert!(check_conversion(T::DateTime, T::Int, Mode::Explicit).is_ok());
    assert!(check_conversion(T::Int, T::DateTime, Mode::Implicit).is_ok());
    let error = check_conversion(T::Money, v(5), Mode::Implicit).unwrap_err();
    assert_eq!(
        error.message,
        "Implicit conversion from data type money to varchar is not allowed. Use the CONVERT function to run \
         this query."
    );
}

/// Every conversion that exists gives a value of its type or an error, and keeps NULL.
#[test]
fn conversions_give_their_type() {
    for seed in 0..60_000 {
        let mut rng = Rng::with_seed(seed);
        let (from, to) = (common::any_type(&mut rng), common::any_type(&mut rng));
        let value = common::value_of(&mut rng, from);
        let style = [0, 0, 0, 1, 2, 101, 121, 126][rng.usize(0..8)];
        assert_eq!(convert(&Value::Null, from, to, style, Mode::Explicit).unwrap(), Value::Null);
        if let Ok(converted) = convert(&value, from, to, style, Mode::Explicit) {
            assert!(converted.is_kind_of(to), "seed {seed}: {value:?} {from} {to} {converted:?}");
            let again = converted.clone().check_and_pad(to, CodePage::Latin).unwrap();
            assert_eq!(again, converted, "seed {seed}: {from} {to} fits already");
        }
    }
}

/// Exact values survive the way to text and back.
#[test]
fn text_round_trip() {
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let ty = common::any_type(&mut rng);
        let style = match ty {
            T::Float | T::Real => 3,
            T::Money | T::SmallMoney => 2,
            _ if ty.is_binary() => 1,
            _ if ty.is_temporal() => 121,
            _ if ty.is_string() => continue,
            _ => 0,
        };
        let value = common::value_of(&mut rng, ty);
        let text = convert(&value, ty, v(8000), style, Mode::Explicit).unwrap();
        let back = convert(&text, v(8000), ty, style, Mode::Explicit).unwrap();
        assert_eq!(back, value, "seed {seed}: {ty} through {text:?}");
    }
}

proptest::proptest! {
    /// Any text, in any style, to any type: a value of the type or an error.
    #[test]
    fn any_text_converts_or_fails(text in ".{0,45}", seed in 0u64..1_000_000, style in 0i32..132) {
        let mut rng = Rng::with_seed(seed);
        let to = common::any_type(&mut rng);
        for from in [v(8000), T::NVarChar(Len::Max)] {
            for mode in [Mode::Implicit, Mode::Explicit, Mode::Assignment] {
                if let Ok(value) = convert(&Value::str(&text), from, to, style, mode) {
                    proptest::prop_assert!(value.is_kind_of(to));
                }
            }
        }
        let pattern = ringwood_types::LikePattern::new(&text, None).unwrap();
        let _ = pattern.matches(&text, ringwood_types::Collation::DEFAULT, rng.bool());
        let _ = fitting_part(&Value::str(&text), v(rng.u16(1..50)), CodePage::Latin);
    }
}

#[test]
fn variants_carry_their_own_type() {
    let variant = cast(&Value::Int(5), T::Int, T::SqlVariant).unwrap();
    assert_eq!(cast(&variant, T::SqlVariant, v(10)).unwrap(), Value::str("5"));
    assert_eq!(cast(&variant, T::SqlVariant, T::BigInt).unwrap(), Value::BigInt(5));
    let text = cast(&Value::str("16.0"), v(10), T::SqlVariant).unwrap();
    assert_eq!(cast(&text, T::SqlVariant, v(10)).unwrap(), Value::str("16.0"));
}
