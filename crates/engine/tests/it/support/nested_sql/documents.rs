//! Documents and their languages.

use super::{Rule, around, list, rule};

/// The rules.
pub const RULES: &[Rule] = &[
    rule("JSON document", |n| format!("SELECT ISJSON('{}')", around(n, "[", "1", "]"))),
    rule("JSON objects", |n| {
        format!("SELECT JSON_VALUE('{}', '$.a.a')", around(n, "{\"a\":", "1", "}"))
    }),
    rule("JSON path", |n| format!("SELECT JSON_VALUE('{{}}', '${}')", ".a".repeat(n))),
    rule("JSON array path", |n| format!("SELECT JSON_QUERY('[]', '${}')", "[0]".repeat(n))),
    rule("JSON_OBJECT", |n| format!("SELECT {}", around(n, "JSON_OBJECT('a': ", "1", ")"))),
    rule("JSON_ARRAY", |n| format!("SELECT JSON_ARRAY({})", list(n, ",", |i| i.to_string()))),
    rule("JSON_MODIFY", |n| format!("SELECT {}", around(n, "JSON_MODIFY(", "'{}'", ", '$.a', 1)"))),
    rule("OPENJSON", |n| format!("SELECT COUNT(*) FROM OPENJSON('{}')", around(n, "[", "", "]"))),
    rule("OPENJSON WITH", |n| {
        format!(
            "SELECT 1 FROM OPENJSON('{{}}') WITH ({})",
            list(n, ",", |i| format!("a{i} int '$.a'"))
        )
    }),
    rule("XML document", |n| format!("DECLARE @x xml = '{}'", around(n, "<a>", "", "</a>"))),
    rule("XML children", |n| format!("DECLARE @x xml = '<r>{}</r>' SELECT @x", "<a/>".repeat(n))),
    rule("XML attributes", |n| {
        format!("DECLARE @x xml = '<r{}/>' SELECT @x", list(n, "", |i| format!(" a{i}=\"1\"")))
    }),
    rule("XML entities", |n| format!("DECLARE @x xml = '<r>{}</r>' SELECT @x", "&amp;".repeat(n))),
    rule("XPath steps", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('{}')", "/a".repeat(n))
    }),
    rule("XPath parents", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('/a{}')", "/..".repeat(n))
    }),
    rule("XPath descendants", |n| {
        format!("DECLARE @x xml = '<a><a/><a><a/></a></a>' SELECT @x.query('{}')", "//a".repeat(n))
    }),
    rule("XPath predicates", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('/a{}')", "[1]".repeat(n))
    }),
    rule("XPath predicates nested", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('/a{}')", around(n, "[a", "", "]"))
    }),
    rule("XQuery parentheses", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('{}')", around(n, "(", "1", ")"))
    }),
    rule("XQuery plus", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('1{}')", " + 1".repeat(n))
    }),
    rule("XQuery minus", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('{}1')", "-".repeat(n))
    }),
    rule("XQuery or", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('1=1{}')", " or 1=1".repeat(n))
    }),
    rule("XQuery sequence", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('({})')", list(n, ",", |i| i.to_string()))
    }),
    rule("XQuery functions", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('{}')", around(n, "string(", "1", ")"))
    }),
    rule("XQuery if", |n| {
        format!(
            "DECLARE @x xml = '<a/>' SELECT @x.query('{}')",
            around(n, "if (1=1) then (", "1", ") else 2")
        )
    }),
    rule("XQuery for", |n| {
        let opened: String = (0..n).map(|i| format!("for $v{i} in /a return (")).collect();
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('{opened}1{}')", ")".repeat(n))
    }),
    rule("XQuery for clauses", |n| {
        let clauses = list(n, ", ", |i| format!("$v{i} in /a"));
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('for {clauses} return 1')")
    }),
    rule("XQuery let", |n| {
        let clauses: String = (0..n).map(|i| format!("let $v{i} := 1 ")).collect();
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('for $v in /a {clauses}return 1')")
    }),
    rule("XQuery elements", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('{}')", around(n, "<a>{", "1", "}</a>"))
    }),
    rule("XQuery elements as they are", |n| {
        format!("DECLARE @x xml = '<a/>' SELECT @x.query('{}')", around(n, "<a>", "", "</a>"))
    }),
    rule("XML modified", |n| {
        format!(
            "DECLARE @x xml = '<a/>' SET @x.modify('insert {} into (/a)[1]')",
            around(n, "<a>", "", "</a>")
        )
    }),
    rule("XML nested by a loop", |n| {
        let n = n.min(2_000);
        format!(
            "DECLARE @x xml = '<a/>', @i int = 0 WHILE @i < {n} BEGIN SET @x = (SELECT @x FOR XML PATH('b'), TYPE) \
             SET @i += 1 END SELECT DATALENGTH(@x)"
        )
    }),
    rule("namespaces", |n| {
        let spaces = list(n, ", ", |i| format!("'u{i}' AS p{i}"));
        format!("WITH XMLNAMESPACES ({spaces}) SELECT 1 AS a FOR XML PATH")
    }),
    rule("STRING_SPLIT", |n| {
        format!("SELECT COUNT(*) FROM STRING_SPLIT('{}', ',')", "a,".repeat(n))
    }),
    rule("FORMATMESSAGE", |n| format!("SELECT FORMATMESSAGE('{}', 1)", "%d".repeat(n))),
    rule("TRANSLATE", |n| format!("SELECT TRANSLATE('a', '{0}', '{0}')", "a".repeat(n))),
];
