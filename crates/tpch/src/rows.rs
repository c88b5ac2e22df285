//! Generated rows of each table, in the order of its columns.

use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use types::{Decimal, Value};

type GeneratedRows = Box<dyn Iterator<Item = Vec<Value>>>;

/// A key: within int for every scale factor below 300.
fn key(n: i64) -> Value {
    i32::try_from(n).map_or(Value::BigInt(n), Value::Int)
}

fn text(value: impl std::fmt::Display) -> Value {
    Value::str(value.to_string())
}

fn amount(value: TPCHDecimal) -> Value {
    Decimal::new(value.into_inner().into(), 15, 2).map_or(Value::Null, Value::Decimal)
}

fn date(value: TPCHDate) -> Value {
    // The generator counts years from 1900.
    let (year, month, day) = value.to_ymd();
    types::datetime::date_from_parts(i64::from(year) + 1900, month.into(), day.into())
        .unwrap_or_default()
}

/// The rows of a table at a scale factor (1 is about 1 GB); none for a name that is no table of
/// TPC-H.
pub fn rows(table: &str, scale: f64) -> GeneratedRows {
    match table {
        "region" => Box::new(
            RegionGenerator::new(scale, 1, 1)
                .into_iter()
                .map(|r| vec![key(r.r_regionkey), text(r.r_name), text(r.r_comment)]),
        ),
        "nation" => Box::new(NationGenerator::new(scale, 1, 1).into_iter().map(|n| {
            vec![key(n.n_nationkey), text(n.n_name), key(n.n_regionkey), text(n.n_comment)]
        })),
        "supplier" => Box::new(SupplierGenerator::new(scale, 1, 1).into_iter().map(|s| {
            vec![
                key(s.s_suppkey),
                text(s.s_name),
                text(s.s_address),
                key(s.s_nationkey),
                text(s.s_phone),
                amount(s.s_acctbal),
                text(s.s_comment),
            ]
        })),
        "customer" => Box::new(CustomerGenerator::new(scale, 1, 1).into_iter().map(|c| {
            vec![
                key(c.c_custkey),
                text(c.c_name),
                text(c.c_address),
                key(c.c_nationkey),
                text(c.c_phone),
                amount(c.c_acctbal),
                text(c.c_mktsegment),
                text(c.c_comment),
            ]
        })),
        "part" => Box::new(PartGenerator::new(scale, 1, 1).into_iter().map(|p| {
            vec![
                key(p.p_partkey),
                text(p.p_name),
                text(p.p_mfgr),
                text(p.p_brand),
                text(p.p_type),
                Value::Int(p.p_size),
                text(p.p_container),
                amount(p.p_retailprice),
                text(p.p_comment),
            ]
        })),
        "partsupp" => Box::new(PartSuppGenerator::new(scale, 1, 1).into_iter().map(|p| {
            vec![
                key(p.ps_partkey),
                key(p.ps_suppkey),
                Value::Int(p.ps_availqty),
                amount(p.ps_supplycost),
                text(p.ps_comment),
            ]
        })),
        "orders" => orders(scale),
        "lineitem" => lines(scale),
        _ => Box::new(std::iter::empty()),
    }
}

fn orders(scale: f64) -> GeneratedRows {
    Box::new(OrderGenerator::new(scale, 1, 1).into_iter().map(|o| {
        vec![
            key(o.o_orderkey),
            key(o.o_custkey),
            text(o.o_orderstatus),
            amount(o.o_totalprice),
            date(o.o_orderdate),
            text(o.o_orderpriority),
            text(o.o_clerk),
            Value::Int(o.o_shippriority),
            text(o.o_comment),
        ]
    }))
}

fn lines(scale: f64) -> GeneratedRows {
    Box::new(LineItemGenerator::new(scale, 1, 1).into_iter().map(|l| {
        vec![
            key(l.l_orderkey),
            key(l.l_partkey),
            key(l.l_suppkey),
            Value::Int(l.l_linenumber),
            amount(TPCHDecimal(l.l_quantity * 100)),
            amount(l.l_extendedprice),
            amount(l.l_discount),
            amount(l.l_tax),
            text(l.l_returnflag),
            text(l.l_linestatus),
            date(l.l_shipdate),
            date(l.l_commitdate),
            date(l.l_receiptdate),
            text(l.l_shipinstruct),
            text(l.l_shipmode),
            text(l.l_comment),
        ]
    }))
}
