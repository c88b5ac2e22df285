//! Arithmetic of decimals against wider numbers, and the published rules of result types.

use proptest::prelude::*;

use super::*;

fn d(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn shown(value: Result<Decimal, SqlError>) -> String {
    value.unwrap().to_string()
}

#[test]
fn result_types_follow_the_rules() {
    assert_eq!(add_type((12, 2), (5, 4)), (15, 4));
    assert_eq!(add_type((38, 10), (38, 20)), (38, 10));
    assert_eq!(multiply_type((12, 2), (4, 4)), (17, 6));
    assert_eq!(multiply_type((38, 20), (38, 20)), (38, 6));
    assert_eq!(divide_type((2, 1), (1, 0)), (7, 6));
    assert_eq!(divide_type((12, 2), (10, 0)), (23, 13));
    assert_eq!(divide_type((38, 0), (38, 38)), (38, 6));
    assert_eq!(modulo_type((10, 2), (5, 3)), (5, 3));
}

#[test]
fn arithmetic() {
    assert_eq!(shown(d("2.0").checked_div(d("3"))), "0.666666");
    assert_eq!(shown(d("-2.0").checked_div(d("3"))), "-0.666666");
    assert_eq!(shown(d("1.5").checked_mul(d("-2.25"))), "-3.375");
    assert_eq!(shown(d("10.5").rem_as(d("3"), 3, 1)), "1.5");
    assert_eq!(shown(d("0.1").checked_add(d("0.25"))), "0.35");
    assert_eq!(shown(d("0.1").checked_sub(d("0.25"))), "-0.15");
    assert_eq!(d("1").checked_div(d("0.0")).unwrap_err().number, 8134);
    let big = d("99999999999999999999999999999999999999");
    assert_eq!(big.checked_add(big).unwrap_err().number, 8115);
    assert_eq!(big.checked_mul(big).unwrap_err().number, 8115);
    let tiny = Decimal::new(1, 38, 38).unwrap();
    assert_eq!(big.checked_div(tiny).unwrap_err().number, 8115);
}

#[test]
fn parsing() {
    assert_eq!(d(" -12.50 ").to_string(), "-12.50");
    assert_eq!(d(".5").to_string(), "0.5");
    assert_eq!(d("5.").to_string(), "5");
    assert_eq!(d("0.00").scale(), 2);
    for bad in ["", "-", ".", "1e5", "1.2.3", "abc", "1 2"] {
        assert_eq!(Decimal::parse(bad), Err(ParseDecimalError::Syntax), "{bad}");
    }
    assert_eq!(Decimal::parse(&"9".repeat(39)), Err(ParseDecimalError::Overflow));
    assert_eq!(d(&format!("0.{}", "6".repeat(50))).scale(), 38);
}

#[test]
fn rounding() {
    assert_eq!(d("2.345").rescale(10, 2).unwrap().to_string(), "2.35");
    assert_eq!(d("-2.345").rescale(10, 2).unwrap().to_string(), "-2.35");
    assert_eq!(d("2.344").rescale(10, 2).unwrap().to_string(), "2.34");
    assert!(d("99.99").rescale(2, 1).is_none());
    assert_eq!(d("748.58").rescale(9, 2).unwrap().round_to(-2).unwrap().to_string(), "700.00");
    assert_eq!(Decimal::from_f64(0.1, 10, 5).unwrap().to_string(), "0.10000");
}

/// Mantissas of every length, many of them at the edge of 64 bits.
fn any_decimal() -> impl Strategy<Value = Decimal> {
    let edge = i128::from(i64::MAX);
    let near =
        (edge - 2..edge + 3, any::<bool>()).prop_map(|(n, negative)| if negative { -n } else { n });
    let long = (1usize..38, 0i128..1000, any::<bool>()).prop_map(|(digits, n, negative)| {
        let n = POW10[digits] / (n + 1);
        if negative { -n } else { n }
    });
    (prop_oneof![near, long], 0u8..20).prop_map(|(n, scale)| Decimal::new(n, 38, scale).unwrap())
}

proptest! {
    #[test]
    fn short_ways_agree_with_the_wide_one(a in any_decimal(), b in any_decimal(), scale in 0u8..20) {
        let said = |value: Result<Decimal, SqlError>| value.map(|d| d.to_string()).map_err(|e| e.number);
        let common = a.scale.max(b.scale);
        let wide = narrow(a.wide(common) + b.wide(common), common, 38, scale);
        prop_assert_eq!(said(a.add_as(b, 38, scale)), said(wide));
        let from = a.scale + b.scale;
        let wide = narrow(I256::from(a.mantissa()) * I256::from(b.mantissa()), from, 38, scale.max(from.min(38)));
        prop_assert_eq!(said(a.mul_as(b, 38, scale.max(from.min(38)))), said(wide));
    }

    #[test]
    fn small_numbers_agree_with_integers(a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000,
                                         s1 in 0u8..5, s2 in 0u8..5) {
        let x = Decimal::new(i128::from(a), 10, s1).unwrap();
        let y = Decimal::new(i128::from(b), 10, s2).unwrap();
        let common = i128::from(a) * POW10[usize::from(4 - s1)] + i128::from(b) * POW10[usize::from(4 - s2)];
        prop_assert_eq!(x.checked_add(y).unwrap(), Decimal::new(common, 20, 4).unwrap());
        let product = Decimal::new(i128::from(a) * i128::from(b), 20, s1 + s2).unwrap();
        prop_assert_eq!(x.checked_mul(y).unwrap(), product);
        prop_assert_eq!(Decimal::parse(&x.to_string()).unwrap(), x);
        if b != 0 {
            // dividend = quotient * divisor + rest, with a rest below one unit of the quotient
            let quotient = x.checked_div(y).unwrap();
            let back = quotient.to_f64() * y.to_f64();
            prop_assert!((back - x.to_f64()).abs() <= y.to_f64().abs() * 1e-6 + 1e-9);
        }
    }

    #[test]
    fn order_is_numeric(a in any::<i64>(), b in any::<i64>(), s1 in 0u8..19, s2 in 0u8..19) {
        let x = Decimal::new(i128::from(a), 38, s1).unwrap();
        let y = Decimal::new(i128::from(b), 38, s2).unwrap();
        let expected = (i128::from(a) * POW10[usize::from(18 - s1)])
            .cmp(&(i128::from(b) * POW10[usize::from(18 - s2)]));
        prop_assert_eq!(x.cmp(&y), expected);
    }

    #[test]
    fn never_panics(a in any::<i128>(), b in any::<i128>(), p in 1u8..39, q in 1u8..39, s in 0u8..39, t in 0u8..39) {
        if let (Some(x), Some(y)) = (Decimal::new(a % POW10[usize::from(p)], p, s),
                                     Decimal::new(b % POW10[usize::from(q)], q, t)) {
            let (precision, scale) = modulo_type(x.parts(), y.parts());
            let remainder = x.rem_as(y, precision, scale);
            let whole = [x.checked_add(y), x.checked_sub(y), x.checked_mul(y)];
            let results = whole.into_iter().chain([x.checked_div(y), remainder]);
            for result in results.flatten() {
                prop_assert!(result.mantissa().unsigned_abs() < POW10[usize::from(result.precision())].unsigned_abs());
            }
        }
    }

    #[test]
    fn what_is_parsed_of_any_text_reads_back(text in "[-+0-9. ]{0,45}|.{0,60}") {
        if let Ok(value) = Decimal::parse(&text) {
            let again = Decimal::parse(&value.to_string());
            prop_assert_eq!(again, Ok(value));
            prop_assert_eq!(again.map(Decimal::scale), Ok(value.scale()));
        }
    }
}
