//! JSON: functions, paths and their errors, OPENJSON. Expected values follow SQL Server's reference
//! and its examples.

use crate::support::text::Bench;

const INFO: &str = r#"declare @j nvarchar(max) = N'{"info":{"type":1,"address":{"town":"Bristol","county":"Avon","country":"England"},"tags":["Sport","Water polo"]},"type":"Basic","n":null,"b":true,"x y":1.50}'; "#;

#[test]
fn is_json() {
    let mut b = Bench::new();
    for (sql, want) in [
        (r#"isjson('{"a":1}')"#, "1"),
        ("isjson('[1, 2]')", "1"),
        ("isjson('1')", "0"),
        ("isjson('\"x\"')", "0"),
        ("isjson('{a:1}')", "0"),
        (r#"isjson('{"a":1')"#, "0"),
        ("isjson('')", "0"),
        ("isjson(cast(null as varchar(10)))", "NULL"),
        ("isjson('true', value)", "1"),
        ("isjson('test string', value)", "0"),
        ("isjson('\"test string\"', scalar)", "1"),
        ("isjson('[]', array)", "1"),
        ("isjson('{}', array)", "0"),
        ("isjson('{}', object)", "1"),
        ("isjson('[01]')", "0"),
        ("isjson('[1.]')", "0"),
        ("isjson('[-0.5e+3]')", "1"),
        (r#"isjson('["\u12"]')"#, "0"),
    ] {
        b.check(&format!("select {sql}"), want);
    }
    b.fails("select isjson(1)", 8116);
}

#[test]
fn values_and_fragments() {
    let mut b = Bench::new();
    for (sql, want) in [
        ("json_value(@j, '$.type')", "Basic"),
        ("json_value(@j, '$.info.type')", "1"),
        ("json_value(@j, '$.info.address.town')", "Bristol"),
        ("json_value(@j, '$.info.tags[1]')", "Water polo"),
        ("json_value(@j, 'lax $.info.tags[2]')", "NULL"),
        ("json_value(@j, '$.info.\"address\"')", "NULL"),
        ("json_value(@j, '$.Type')", "NULL"),
        ("json_value(@j, '$.n')", "NULL"),
        ("json_value(@j, '$.b')", "true"),
        ("json_value(@j, '$.\"x y\"')", "1.50"),
        ("json_value(null, '$.a')", "NULL"),
        ("json_query(@j, '$.info.tags')", r#"["Sport","Water polo"]"#),
        ("json_query(@j, '$.type')", "NULL"),
        ("json_query('[1, 2]')", "[1, 2]"),
        ("json_path_exists(@j, '$.info.address')", "1"),
        ("json_path_exists(@j, '$.info.addresses')", "0"),
        ("json_path_exists('no json', '$.a')", "0"),
        // The first of two members of one name; escapes.
        (r#"json_value('{"a":"1","a":"2"}', '$.a')"#, "1"),
        (r#"json_value('{"a":"x\ty\u00e9\"\/"}', '$.a')"#, "x\ty\u{e9}\"/"),
        (r#"json_value('{"$a_1":7}', '$.$a_1')"#, "7"),
    ] {
        b.check(&format!("{INFO} select {sql}"), want);
    }
    for (sql, number) in [
        ("json_value(@j, 'strict $.nothing')", 13608),
        ("json_value(@j, 'strict $.info')", 13623),
        ("json_query(@j, 'strict $.type')", 13624),
        ("json_query(@j, 'strict $.nothing')", 13608),
        ("json_value(@j, '$.')", 13607),
        ("json_value(@j, 'info')", 13607),
        ("json_value(@j, '$.info.tags[x]')", 13607),
        ("json_value('{\"a\":}', '$.a')", 13609),
        ("json_value('1', '$')", 13609),
        (
            "json_value('{\"a\":\"' + replicate(cast('x' as varchar(max)), 4001) + '\"}', 'strict $.a')",
            13625,
        ),
        ("json_value(1, '$')", 8116),
    ] {
        b.fails(&format!("{INFO} select {sql}"), number);
    }
    b.check(
        "select json_value('{\"a\" 1}', '$.a')",
        "Msg 13609: JSON text is not properly formatted. Unexpected character '1' is found at position 5.",
    );
    b.check(
        "select json_value('{\"a\":\"' + replicate(cast('x' as varchar(max)), 4001) + '\"}', '$.a')",
        "NULL",
    );
    // In conditions and over rows.
    b.check(r#"create table #d (id int, doc nvarchar(max)); insert #d values (1, N'{"n":5}'), (2, N'{"n":7}'), (3, null);
           select id from #d where cast(json_value(doc, '$.n') as int) > 5"#,
        "(3)\n2",
    );
    // Deep nesting is an error and nothing worse.
    b.fails("select json_value(replicate(cast('[' as varchar(max)), 100000), '$')", 13609);
}

#[test]
fn modify() {
    let mut b = Bench::new();
    for (sql, want) in [
        (
            r#"json_modify('{"name":"John","skills":["C#","SQL"]}', '$.name', 'Mike')"#,
            r#"{"name":"Mike","skills":["C#","SQL"]}"#,
        ),
        (
            r#"json_modify('{"name":"John"}', '$.surname', 'Smith')"#,
            r#"{"name":"John","surname":"Smith"}"#,
        ),
        (r#"json_modify('{"name":"John", "a":1}', '$.name', null)"#, r#"{"a":1}"#),
        (r#"json_modify('{"a":1, "name":"John"}', '$.name', null)"#, r#"{"a":1}"#),
        (r#"json_modify('{"name":"John"}', 'strict $.name', null)"#, r#"{"name":null}"#),
        (
            r#"json_modify('{"skills":["C#","SQL"]}', 'append $.skills', 'Azure')"#,
            r#"{"skills":["C#","SQL","Azure"]}"#,
        ),
        (r#"json_modify('{"skills":[]}', 'append $.skills', 1)"#, r#"{"skills":[1]}"#),
        (r#"json_modify('{}', 'append lax $.skills', 'x')"#, r#"{"skills":["x"]}"#),
        (r#"json_modify('{"p":4}', '$.p', 5 + 1)"#, r#"{"p":6}"#),
        (r#"json_modify('{"p":[1, 2, 3]}', '$.p[1]', null)"#, r#"{"p":[1, null, 3]}"#),
        (r#"json_modify('{"p":[1, 2, 3]}', '$.p[9]', 1)"#, r#"{"p":[1, 2, 3]}"#),
        (r#"json_modify('{"a":1}', '$.b.c', 1)"#, r#"{"a":1}"#),
        (r#"json_modify('{"a":1}', '$.a', '["x"]')"#, r#"{"a":"[\"x\"]"}"#),
        (r#"json_modify('{"a":1}', '$.a', json_query('["x"]'))"#, r#"{"a":["x"]}"#),
        (
            r#"json_modify(json_modify('{"a":1}', '$.b', cast(1 as bit)), '$.c', N'é/')"#,
            r#"{"a":1,"b":true,"c":"é\/"}"#,
        ),
        ("json_modify(null, '$.a', 1)", "NULL"),
    ] {
        b.check(&format!("select {sql}"), want);
    }
    b.fails(r#"select json_modify('{"a":1}', 'strict $.b', 1)"#, 13608);
    b.fails(r#"select json_modify('{"a":1}', 'append strict $.a', 1)"#, 13621);
    b.fails(r#"select json_modify('{"a":1}', '$', 1)"#, 13619);
    b.fails(r#"select json_modify('{"a":1}', '$.a')"#, 174);
}

#[test]
fn constructors() {
    let mut b = Bench::new();
    for (sql, want) in [
        ("json_object()", "{}"),
        ("json_object('name':'value', 'type':1)", r#"{"name":"value","type":1}"#),
        ("json_object('name':'value', 'type':null absent on null)", r#"{"name":"value"}"#),
        ("json_object('name':'value', 'type':null)", r#"{"name":"value","type":null}"#),
        (
            "json_object('name':'value', 'type':json_array(1, 2))",
            r#"{"name":"value","type":[1,2]}"#,
        ),
        ("json_object('a':json_object('b':'c'))", r#"{"a":{"b":"c"}}"#),
        ("json_array()", "[]"),
        ("json_array('a', 1, 'b', null)", r#"["a",1,"b"]"#),
        ("json_array('a', 1, 'b', null null on null)", r#"["a",1,"b",null]"#),
        (
            "json_array(cast(1.5 as float), 1.50, cast('2024-02-29' as date), 0x0102, cast(0 as bit))",
            r#"[1.500000000000000e+000,1.50,"2024-02-29","AQI=",false]"#,
        ),
        (
            "json_array(cast('2024-02-29 10:11:12.123' as datetime), cast(3 as money))",
            r#"["2024-02-29T10:11:12.123",3.0000]"#,
        ),
    ] {
        b.check(&format!("select {sql}"), want);
    }
    b.check(
        "declare @id int = 7; select json_object('user':@id, 'n':t.n) from (values (1), (2)) t (n)",
        "{\"user\":7,\"n\":1}\n{\"user\":7,\"n\":2}",
    );
    b.fails("select json_object('a', 1)", 102);
}

#[test]
fn open_json() {
    let mut b = Bench::new();
    b.check(
        r#"select * from openjson('{"s":"John","i":45,"t":true,"a":["a", 1],"o":{"x":1},"z":null}')"#,
        "s|John|1\ni|45|2\nt|true|3\na|[\"a\", 1]|4\no|{\"x\":1}|5\nz|NULL|0",
    );
    b.check(r#"select count(*) from openjson('{"a":1,"A":2}') where [key] = 'a'"#, "1");
    b.check(r#"select [key], value from openjson('["en","it"]')"#, "0|en\n1|it");
    b.check(
        &format!("{INFO} select value from openjson(@j, '$.info.tags') as t"),
        "Sport\nWater polo",
    );
    b.check(&format!("{INFO} select value from openjson(@j, '$.info.none')"), "");
    b.check("select value from openjson(null)", "");
    b.fails(&format!("{INFO} select value from openjson(@j, 'strict $.info.none')"), 13608);
    b.fails(&format!("{INFO} select value from openjson(@j, 'strict $.type')"), 13611);
    b.fails("select value from openjson('x')", 13609);
    b.fails("select value from openjson('[]', '$', 'rows', 1)", 8144);
    b.fails("select value from openjson(1)", 8116);
}

#[test]
fn open_json_with_columns() {
    let mut b = Bench::new();
    let orders = r#"declare @j nvarchar(max) = N'[{"Order":{"Number":"SO1","Date":"2011-05-31T00:00:00"},"AccountNumber":"AW29825","Item":{"Price":2024.9940,"Quantity":1}},
        {"Order":{"Number":"SO2","Date":"2011-06-01T00:00:00"},"AccountNumber":"AW73565","Item":{"Price":2024.9940,"Quantity":3}}]'; "#;
    b.check(&format!(
            "{orders} select * from openjson(@j) with (Number varchar(200) '$.Order.Number', Date datetime '$.Order.Date', \
             Customer varchar(200) '$.AccountNumber', Quantity int '$.Item.Quantity', Item nvarchar(max) '$.Item' as json, AccountNumber nvarchar(10))"
        ),
        "SO1|2011-05-31 00:00:00.000|AW29825|1|{\"Price\":2024.9940,\"Quantity\":1}|AW29825\n\
         SO2|2011-06-01 00:00:00.000|AW73565|3|{\"Price\":2024.9940,\"Quantity\":3}|AW73565",
    );
    b.check(&format!(
            "{orders} select o.q * o.p from openjson(@j) with (q int '$.Item.Quantity', p decimal(10, 2) '$.Item.Price') o where o.q > 1"
        ),
        "6074.97",
    );
    // An object is one row; members that are not there are NULL, strict 13608.
    b.check(r#"select * from openjson('{"a":1,"b":{"c":true}}') with (a int, c bit '$.b.c', d int, b nvarchar(max))"#,
        "1|1|NULL|NULL",
    );
    b.fails("select * from openjson('{}') with (a int 'strict $.a')", 13608);
    b.fails("select * from openjson('{\"a\":\"x\"}') with (a int)", 245);
    b.fails("select * from openjson('{}') with (a varchar(10) as json)", 13618);
    b.check("select * from openjson('{\"x\":\"AQID\"}') with (x varbinary(10))", "0x010203");
    // Scalars in an array, nested arrays by APPLY, a table's documents.
    b.check("select v from openjson('[3,1,2]') with (v int '$') order by v", "1\n2\n3");
    b.check(r#"create table #d (id int, doc nvarchar(max));
           insert #d values (1, N'{"tags":["a","b"]}'), (2, N'{"tags":[]}'), (3, N'{}');
           select d.id, t.[key], t.value from #d d cross apply openjson(d.doc, '$.tags') t order by d.id, t.[key];
           select d.id, t.v from #d d outer apply openjson(d.doc, '$.tags') with (v varchar(5) '$') t order by d.id, t.v;
           select p.name, c.v from openjson('[{"name":"x","kids":[{"v":1},{"v":2}]},{"name":"y","kids":[]}]')
             with (name varchar(9), kids nvarchar(max) as json) p cross apply openjson(p.kids) with (v int) c"#,
        "(3)\n1|0|a\n1|1|b\n1|a\n1|b\n2|NULL\n3|NULL\nx|1\nx|2",
    );
    b.check("declare @ids nvarchar(max) = N'[2,3]'; select n from (values (1), (2), (3)) t (n) where n in (select value from openjson(@ids))",
        "2\n3",
    );
}
