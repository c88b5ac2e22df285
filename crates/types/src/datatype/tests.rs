//! Names there and back, wrong ones, types that meet, figures of the catalog.

use super::*;

#[test]
fn names_round_trip() {
    use TypeArg::{Max, Number};
    let cases: [(&str, &[TypeArg], &str); 12] = [
        ("INTEGER", &[], "int"),
        ("numeric", &[Number(12), Number(2)], "numeric(12,2)"),
        ("dec", &[], "decimal(18,0)"),
        ("double  precision", &[], "float"),
        ("float", &[Number(24)], "real"),
        ("character varying", &[Number(20)], "varchar(20)"),
        ("nvarchar", &[Max], "nvarchar(max)"),
        ("sysname", &[], "nvarchar(128)"),
        ("time", &[], "time(7)"),
        ("datetime2", &[Number(0)], "datetime2(0)"),
        ("char", &[], "char(1)"),
        ("image", &[], "image"),
    ];
    for (name, args, shown) in cases {
        assert_eq!(DataType::from_name(name, args).unwrap().to_string(), shown);
    }
    let in_cast = DataType::from_name_in("varchar", &[], NameContext::Cast).unwrap();
    assert_eq!(in_cast, DataType::VarChar(Len::N(30)));
}

#[test]
fn bad_names_and_arguments() {
    use TypeArg::{Max, Number};
    let number = |name: &str, args: &[TypeArg]| DataType::from_name(name, args).unwrap_err().number;
    assert_eq!(number("blob", &[]), 243);
    assert_eq!(number("int", &[Number(4)]), 2716);
    assert_eq!(number("varchar", &[Number(8001)]), 131);
    assert_eq!(number("nvarchar", &[Number(4001)]), 131);
    assert_eq!(number("char", &[Number(0)]), 1001);
    assert_eq!(number("char", &[Max]), 2716);
    assert_eq!(number("decimal", &[Number(39)]), 2750);
    assert_eq!(number("decimal", &[Number(5), Number(6)]), 2751);
    assert_eq!(number("time", &[Number(8)]), 1002);
}

#[test]
fn common_types() {
    let dec = DataType::decimal;
    let n = |n| DataType::NVarChar(Len::N(n));
    let v = |n| DataType::VarChar(Len::N(n));
    assert_eq!(common_type(DataType::Int, dec(5, 2)).unwrap(), dec(12, 2));
    assert_eq!(common_type(dec(38, 10), dec(38, 20)).unwrap(), dec(38, 10));
    assert_eq!(common_type(v(10), n(5)).unwrap(), n(10));
    assert_eq!(common_type(v(8000), n(5)).unwrap(), n(4000));
    assert_eq!(common_type(DataType::Char(3), v(2)).unwrap(), v(3));
    assert_eq!(
        common_type(DataType::VarChar(Len::Max), n(5)).unwrap(),
        DataType::NVarChar(Len::Max)
    );
    assert_eq!(common_type(v(10), DataType::Int).unwrap(), DataType::Int);
    assert_eq!(common_type(DataType::Date, DataType::Int).unwrap_err().number, 206);
    assert_eq!(common_type(DataType::Money, DataType::BigInt).unwrap(), DataType::Money);
}

#[test]
fn catalog_figures() {
    assert_eq!(DataType::DateTime2(7).precision(), 27);
    assert_eq!(DataType::Time(0).precision(), 8);
    assert_eq!(DataType::DateTimeOffset(7).max_length(), 10);
    assert_eq!(DataType::NChar(10).max_length(), 20);
    assert_eq!(DataType::VarChar(Len::Max).max_length(), -1);
    assert_eq!(DataType::decimal(12, 2).max_length(), 9);
}
