//! FOR JSON and FOR XML. Expected texts follow the rules and the examples of SQL Server's
//! reference.

use crate::support::text::{self, Bench};

/// Customers with orders: one without, one whose name needs escapes.
fn shop() -> Bench {
    let mut b = Bench::new();
    b.run(
        "create table Customer (Id int primary key, Name varchar(20), Born date null); \
         insert Customer values (1, 'Ann', '1990-05-01'), (2, 'B<&>\"''', null), (3, 'Cy', null); \
         create table Orders (No int primary key, Customer int, Total decimal(8, 2) null); \
         insert Orders values (10, 1, 5.50), (11, 1, null), (12, 3, 7)",
    );
    b
}

#[test]
fn json_path() {
    let mut b = shop();
    for (sql, want) in [
        ("select Id, Name from Customer where Id = 1 for json path", r#"[{"Id":1,"Name":"Ann"}]"#),
        (
            "select Id, Born from Customer order by Id for json path",
            r#"[{"Id":1,"Born":"1990-05-01"},{"Id":2},{"Id":3}]"#,
        ),
        (
            "select Id, Born from Customer where Id > 1 order by Id desc for json path, include_null_values",
            r#"[{"Id":3,"Born":null},{"Id":2,"Born":null}]"#,
        ),
        ("select Name from Customer where Id = 2 for json path", r#"[{"Name":"B<&>\"'"}]"#),
        (
            "select Id as 'c.id', Name as 'c.n.first', 1 as 'c.n.x', Born as 'd.b' from Customer where Id in (1, 3) for json path",
            r#"[{"c":{"id":1,"n":{"first":"Ann","x":1}},"d":{"b":"1990-05-01"}},{"c":{"id":3,"n":{"first":"Cy","x":1}}}]"#,
        ),
        ("select 1 as a for json path, root('r')", r#"{"r":[{"a":1}]}"#),
        ("select 1 as a for json path, root", r#"{"root":[{"a":1}]}"#),
        ("select 1 as a for json path, without_array_wrapper", r#"{"a":1}"#),
        ("select 1 as a from Customer where 1 = 0 for json path", ""),
        ("select (select 1 as a where 1 = 0 for json path)", "NULL"),
        (
            "select cast(1 as bit) b, cast(1.5 as float) f, cast(2 as money) m, cast('2020-01-02 03:04:05.678' as datetime2(3)) d, \
             cast('03:04:05' as time(0)) t, 0x01 x, cast(1 as sql_variant) v for json path",
            r#"[{"b":true,"f":1.500000000000000e+000,"m":2.0000,"d":"2020-01-02T03:04:05.678","t":"03:04:05","x":"AQ==","v":1}]"#,
        ),
        // Subqueries, JSON as it is, text quoted.
        (
            "select c.Id, (select o.No from Orders o where o.Customer = c.Id order by o.No for json path) as Orders from Customer c \
             order by c.Id for json path",
            r#"[{"Id":1,"Orders":[{"No":10},{"No":11}]},{"Id":2},{"Id":3,"Orders":[{"No":12}]}]"#,
        ),
        (
            "select json_query('[1]') a, '[1]' b, (select 1 as x for json path, without_array_wrapper) c for json path",
            r#"[{"a":[1],"b":"[1]","c":"{\"x\":1}"}]"#,
        ),
        ("select 1 as a union all select 2 order by a desc for json path", r#"[{"a":2},{"a":1}]"#),
        (
            "declare @j nvarchar(max) = (select Id from Customer order by Id for json path); select isjson(@j), @j",
            r#"1|[{"Id":1},{"Id":2},{"Id":3}]"#,
        ),
        (
            "with c as (select top 2 Id from Customer order by Id) select Id from c for json path",
            r#"[{"Id":1},{"Id":2}]"#,
        ),
        (
            "select t.j from (select Id from Customer where Id < 3 order by Id for json path) as t (j)",
            r#"[{"Id":1},{"Id":2}]"#,
        ),
        (
            "select count(*) as n, Customer from Orders group by Customer order by Customer for json path",
            r#"[{"n":2,"Customer":1},{"n":1,"Customer":3}]"#,
        ),
    ] {
        b.check(sql, want);
    }
    for (sql, number) in [
        ("select 1 for json path", 13605),
        ("select 1 as a, 2 as a for json path", 13601),
        ("select 1 as 'a.b', 2 as 'a' for json path", 13601),
        ("select 1 as 'a.b', 2 as c, 3 as 'a.d' for json path", 13601),
        ("select 1 as '.a' for json path", 13603),
        ("select 1 as 'a..b' for json path", 13603),
        ("select 1 as a for json path, root('r'), without_array_wrapper", 13620),
        ("select 1 as a for json auto", 13600),
        ("select 1 as a for json raw", 102),
        ("select 1 as a for json path, type", 102),
        ("create table #t (j nvarchar(max)); insert #t select 1 as a for json path", 13602),
        ("declare @x int; select @x = 1 for json path", 13602),
        ("declare c cursor for select 1 as a for json path", 16907),
    ] {
        b.fails(sql, number);
    }
}

#[test]
fn json_auto() {
    let mut b = shop();
    b.check(
        "select Id, Name from Customer where Id <> 2 order by Id for json auto",
        r#"[{"Id":1,"Name":"Ann"},{"Id":3,"Name":"Cy"}]"#,
    );
    b.check("select C.Id, o.No, o.Total, C.Name from Customer C join Orders o on o.Customer = C.Id order by C.Id, o.No for json auto",
        r#"[{"Id":1,"Name":"Ann","o":[{"No":10,"Total":5.50},{"No":11}]},{"Id":3,"Name":"Cy","o":[{"No":12,"Total":7.00}]}]"#,
    );
    b.check("select C.Id, Orders.No from Customer C left join Orders on Orders.Customer = C.Id order by C.Id, Orders.No for json auto, root('x')",
        r#"{"x":[{"Id":1,"Orders":[{"No":10},{"No":11}]},{"Id":2,"Orders":[{}]},{"Id":3,"Orders":[{"No":12}]}]}"#,
    );
}

#[test]
fn json_in_pieces() {
    let mut b = Bench::new();
    b.check("declare @t table (n int); insert @t select value from generate_series(1, 400); select n from @t order by n for json path",
        &{
            let all: Vec<String> = (1..=400).map(|n| format!("{{\"n\":{n}}}")).collect();
            let text = format!("[{}]", all.join(","));
            let pieces: Vec<&str> =
                text.as_bytes().chunks(2033).map(|p| std::str::from_utf8(p).unwrap()).collect();
            format!("(400)\n{}", pieces.join("\n"))
        },
    );
    // As a value it is one text.
    b.check("select len((select value from generate_series(1, 1000) for json path)), len((select value from generate_series(1, 1000) for xml raw))",
        "13894|17893",
    );
}

#[test]
fn xml_path() {
    let mut b = shop();
    for (sql, want) in [
        (
            "select Id, Name, Born from Customer where Id < 3 order by Id for xml path",
            "<row><Id>1</Id><Name>Ann</Name><Born>1990-05-01</Born></row><row><Id>2</Id><Name>B&lt;&amp;&gt;\"'</Name></row>",
        ),
        (
            "select Id as '@id', Name as '@n', Born as 'b/@x', Id as 'b/c', Id as 'b/d/e' from Customer where Id < 3 order by Id for xml path('c'), root('all')",
            "<all><c id=\"1\" n=\"Ann\"><b x=\"1990-05-01\"><c>1</c><d><e>1</e></d></b></c>\
             <c id=\"2\" n=\"B&lt;&amp;&gt;&quot;'\"><b><c>2</c><d><e>2</e></d></b></c></all>",
        ),
        (
            "select stuff((select ',' + cast(Id as varchar(5)) from Customer order by Id for xml path('')), 1, 1, '')",
            "1,2,3",
        ),
        (
            "select stuff((select ', ' + Name from Customer where Id = 2 for xml path('')), 1, 2, '')",
            "B&lt;&amp;&gt;\"'",
        ),
        (
            "select stuff((select ', ' + Name from Customer where Id < 3 order by Id for xml path(''), type).value('.', 'nvarchar(max)'), 1, 2, '')",
            "Ann, B<&>\"'",
        ),
        (
            "select (select 'x' as a, 'y' for xml path(''), type).value('(./text())[1]', 'varchar(1)'), (select 1 as a where 1 = 0 for xml path(''), type).value('.', 'int')",
            "y|NULL",
        ),
        ("select Id as [data()] from Customer order by Id for xml path('')", "1 2 3"),
        ("select Id as [text()] from Customer order by Id for xml path('')", "123"),
        ("select 1 as a, 2 as a for xml path", "<row><a>12</a></row>"),
        ("select 1 as td, '', 2 as td for xml path('tr')", "<tr><td>1</td><td>2</td></tr>"),
        ("select 1 as td, null, 2 as td for xml path('tr')", "<tr><td>1</td><td>2</td></tr>"),
        (
            "select 1 as 'a/b', 2 as 'a/c', 3 as d for xml path('')",
            "<a><b>1</b><c>2</c></a><d>3</d>",
        ),
        (
            "select 'x' as 'comment()', 'y' as 'processing-instruction(p)', 1 as '*' for xml path",
            "<row><!--x--><?p y?>1</row>",
        ),
        ("select Born as b from Customer where Id = 2 for xml path", "<row/>"),
        ("select '' as b for xml path", "<row><b></b></row>"),
        (
            "select Born as b from Customer where Id = 2 for xml path, elements xsinil",
            "<row xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><b xsi:nil=\"true\"/></row>",
        ),
        (
            "select Id as '@id', (select o.No as '@no' from Orders o where o.Customer = c.Id order by o.No for xml path('o'), type) \
             from Customer c order by Id for xml path('c')",
            "<c id=\"1\"><o no=\"10\"/><o no=\"11\"/></c><c id=\"2\"/><c id=\"3\"><o no=\"12\"/></c>",
        ),
        (
            "select (select 1 as a for xml path('b'), type) as x, (select 1 as a for xml path('b')) as y for xml path",
            "<row><x><b><a>1</a></b></x><y>&lt;b&gt;&lt;a&gt;1&lt;/a&gt;&lt;/b&gt;</y></row>",
        ),
        (
            "select cast(1 as bit) a, 0x0102 b, cast(1.5 as float) c, cast('2020-01-02 03:04' as datetime) d for xml path",
            "<row><a>1</a><b>AQI=</b><c>1.500000000000000e+000</c><d>2020-01-02T03:04:00</d></row>",
        ),
        ("select (select 1 as a where 1 = 0 for xml path)", "NULL"),
        ("select 1 as a where 1 = 0 for xml path", ""),
        (
            "declare @x nvarchar(max) = (select Id from Customer where Id = 1 for xml path('')); select @x",
            "<Id>1</Id>",
        ),
    ] {
        b.check(sql, want);
    }
    for (sql, number) in [
        ("select 1 as '@a' for xml path('')", 6864),
        ("select 1 as a, 2 as '@b' for xml path", 6852),
        ("select 1 as 'x/a', 2 as 'x/@b' for xml path", 6852),
        ("select 1 as 'a b' for xml path", 6850),
        ("select 1 as a for xml explicit", 6820),
        ("select 1 as a for xml", 102),
        ("select (select 1 as a for xml path(''), type).value('/a', 'int')", 2389),
        ("select (select 1 as a for xml path(''), type).value('.', 'nothing')", 243),
        ("create table #t (x nvarchar(max)); insert #t select 1 as a for xml path", 6819),
    ] {
        b.fails(sql, number);
    }
}

#[test]
fn xml_raw_and_auto() {
    let mut b = shop();
    for (sql, want) in [
        (
            "select Id, Name, Born from Customer where Id < 3 order by Id for xml raw",
            "<row Id=\"1\" Name=\"Ann\" Born=\"1990-05-01\"/><row Id=\"2\" Name=\"B&lt;&amp;&gt;&quot;'\"/>",
        ),
        (
            "select Id as [a b] from Customer where Id = 1 for xml raw('c d'), root('r')",
            "<r><c_x0020_d a_x0020_b=\"1\"/></r>",
        ),
        (
            "select Id, Born from Customer where Id = 2 for xml raw, elements",
            "<row><Id>2</Id></row>",
        ),
        (
            "select Id, Born from Customer where Id = 2 for xml raw, elements xsinil",
            "<row xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><Id>2</Id><Born xsi:nil=\"true\"/></row>",
        ),
        (
            "select Id, Name from Customer where Id = 1 for xml auto",
            "<Customer Id=\"1\" Name=\"Ann\"/>",
        ),
        (
            "select c.Id, o.No from Customer c join Orders o on o.Customer = c.Id order by c.Id, o.No for xml auto",
            "<c Id=\"1\"><o No=\"10\"/><o No=\"11\"/></c><c Id=\"3\"><o No=\"12\"/></c>",
        ),
        (
            "select c.Id, o.No from Customer c join Orders o on o.Customer = c.Id order by c.Id, o.No for xml auto, elements, root('all')",
            "<all><c><Id>1</Id><o><No>10</No></o><o><No>11</No></o></c><c><Id>3</Id><o><No>12</No></o></c></all>",
        ),
        ("select 0x01 as b for xml raw, binary base64", "<row b=\"AQ==\"/>"),
    ] {
        b.check(sql, want);
    }
    for (sql, number) in [
        ("select 1 for xml raw", 6809),
        ("select 0x01 as b for xml raw", 6829),
        ("select 1 as a for xml auto", 6810),
        ("select 1 as a for xml raw('')", 6864),
        ("select 1 as a for xml raw, root('')", 6861),
    ] {
        b.fails(sql, number);
    }
}

#[test]
fn names_of_results() {
    let mut b = Bench::new();
    let named = |b: &mut Bench, sql: &str| {
        let mut out = text::Text::default();
        out.names = true;
        b.session.execute(sql, &mut out);
        out.out.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        named(&mut b, "select 1 as a for json path"),
        "[JSON_F52E2B61-18A1-11d1-B105-00805F49916B]"
    );
    assert_eq!(
        named(&mut b, "select 1 as a for xml path"),
        "[XML_F52E2B61-18A1-11d1-B105-00805F49916B]"
    );
}
