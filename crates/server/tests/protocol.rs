//! What clients see of types and options, by raw TDS.

mod support;

use engine::{DataType, Value};
use support::TestServer;
use tds::TypeInfo;
use tds::client::Token;
use tds::column::ColumnFlags;
use tds::encode::type_of;
use tds::request::rpc::procedure_id;
use tds::request::{Procedure, RpcParam, RpcRequest, RpcValue, TableColumn, TableValue};

/// The types of the columns of a query's result.
fn types(client: &mut support::Client, text: &str) -> Vec<TypeInfo> {
    let answer = client.batch(text);
    assert!(answer.errors().is_empty(), "{text}: {:?}", answer.errors());
    let columns = answer.tokens.iter().find_map(|t| if let Token::Columns(c) = t { Some(c) } else { None });
    columns.unwrap().iter().map(|c| c.ty).collect()
}

#[test]
fn numeric_and_decimal_have_a_type_byte_each() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("create table t (n numeric(9, 2), d decimal(9, 2))");
    let names: Vec<bool> =
        types(&mut client, "select n, d, 1.5, cast(1 as decimal(5)), cast(1 as numeric(5)) from t")
            .iter()
            .map(|ty| match ty {
                TypeInfo::Decimal { numeric, .. } => *numeric,
                other => panic!("{other:?}"),
            })
            .collect();
    assert_eq!(names, [true, false, true, false, true]);
}

fn text(value: &str) -> RpcParam {
    RpcParam::new("", type_of(DataType::NVarChar(types::Len::N(4000))), Value::str(value))
}

fn table(name: &str, type_name: &str, rows: &[(i32, &str)]) -> RpcParam {
    let column = |ty: DataType, default| TableColumn {
        user_type: 0,
        flags: ColumnFlags::NULLABLE,
        ty: type_of(ty),
        default,
    };
    let value = TableValue {
        schema: "dbo".into(),
        type_name: type_name.into(),
        columns: vec![
            column(DataType::Int, false),
            column(DataType::NVarChar(types::Len::Max), false),
            column(DataType::Int, true),
        ],
        column_order: Vec::new(),
        values: rows.iter().flat_map(|(id, word)| [Value::Int(*id), Value::str(word), Value::Null]).collect(),
    };
    RpcParam { name: name.into(), by_ref: false, default: false, value: RpcValue::Table(value) }
}

#[test]
fn table_valued_parameters() {
    let server = TestServer::start();
    let mut client = server.client();
    client
        .run("create type words as table (id int not null primary key, word nvarchar(max), n int identity)");
    client.run("create procedure p @w words readonly as select id, word, n from @w order by id");
    let mut call = |request: RpcRequest| {
        let bytes = client.codec.rpc(&[request]).unwrap();
        client.send(&bytes);
        client.read().unwrap()
    };
    let by_name = |param| RpcRequest::new(Procedure::Name("dbo.p".into()), vec![param]);
    let long = "wörd".repeat(5000);
    let answer = call(by_name(table("@w", "words", &[(2, &long), (1, "one")])));
    let expected = [
        [Value::Int(1), Value::str("one"), Value::Int(2)],
        [Value::Int(2), Value::str(&long), Value::Int(1)],
    ];
    assert_eq!(answer.rows(), expected);
    // NULL is an empty table.
    let null = TableValue { type_name: "words".into(), ..TableValue::default() };
    let null = RpcParam { value: RpcValue::Table(null), ..table("@w", "words", &[]) };
    let answer = call(by_name(null));
    assert!(answer.errors().is_empty() && answer.rows().is_empty(), "{answer:?}");
    // By sp_executesql.
    let statement = text("select count(*), max(id) from @x where id > @least");
    let least = RpcParam::new("@least", type_of(DataType::Int), Value::Int(1));
    let params = vec![
        statement,
        text("@x dbo.words readonly, @least int"),
        table("@x", "words", &[(1, "a"), (5, "b")]),
        least,
    ];
    let answer = call(RpcRequest::new(Procedure::Id(procedure_id::EXECUTE_SQL), params));
    assert_eq!(answer.rows(), [[Value::Int(1), Value::Int(5)]]);
    // A duplicate key is an error of the call; the next one is as good as ever.
    let answer = call(by_name(table("@w", "words", &[(1, "a"), (1, "b")])));
    assert!(answer.error_numbers().contains(&2627), "{answer:?}");
    assert_eq!(call(by_name(table("@w", "words", &[(1, "a")]))).rows().len(), 1);
}
