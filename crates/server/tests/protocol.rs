//! What clients see of types and options, by raw TDS.

mod support;

use support::TestServer;
use tds::TypeInfo;
use tds::client::Token;

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
