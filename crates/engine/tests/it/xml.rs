//! The type xml: what becomes xml and what xml becomes, its methods, FOR XML TYPE, the catalog, and
//! what refuses it.

use std::sync::Arc;

use crate::support::text::{self, Bench, fails, power_loss, say, try_open};
use engine::Instance;
use sim::SimDisk;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE d (id int PRIMARY KEY, x xml NULL, t varchar(20) NULL)", "");
    b.check(
        "INSERT d VALUES (1, '<o n=\"7\"><i q=\"2\">pen</i><i q=\"5\">ink</i></o>', 'a'), (2, N'<o n=\"8\"/>', 'b'), (3, NULL, 'c')",
        "(3)",
    );
    b
}

#[test]
fn conversions() {
    let mut b = bench();
    b.check(
        "SELECT x FROM d",
        "<o n=\"7\"><i q=\"2\">pen</i><i q=\"5\">ink</i></o>\n<o n=\"8\"/>\nNULL",
    );
    b.check(
        "SELECT CAST('<a> <b></b> </a>' AS xml), CONVERT(xml, '<a> <b/> </a>', 1)",
        "<a><b/></a>|<a> <b/> </a>",
    );
    b.check(
        "SELECT CAST(x AS varchar(max)), LEN(CONVERT(nvarchar(100), x)) FROM d WHERE id = 2",
        "<o n=\"8\"/>|10",
    );
    b.check(
        "SELECT CAST(0x3C612F3E AS xml), CAST(CAST('<a/>' AS xml) AS varbinary(20))",
        "<a/>|0xFFFE3C0061002F003E00",
    );
    b.check(
        "SELECT CAST(0xFFFE3C0061002F003E00 AS xml), CAST('plain' AS xml), CAST('' AS xml)",
        "<a/>|plain|",
    );
    b.check("DECLARE @x xml = '<a>1</a>', @s nvarchar(20); SET @s = CAST(@x AS nvarchar(20)); SELECT @x, @s, DATALENGTH(@x)", "<a>1</a>|<a>1</a>|8");
    b.check("UPDATE d SET x = '<n/>' WHERE id = 3; SELECT x FROM d WHERE id = 3", "(1)\n<n/>");
    b.check("UPDATE d SET x = '<r>' + REPLICATE(CAST('<e>\u{e4}</e>' AS varchar(max)), 3000) + '</r>' WHERE id = 3;
             SELECT x.value('count(/r/e)', 'int'), DATALENGTH(x) FROM d WHERE id = 3", "(1)\n3000|27007");
    b.check("SELECT id, x INTO k FROM d; SELECT id FROM k WHERE x IS NOT NULL", "(3)\n1\n2\n3");
    b.check(
        "SELECT ISNULL(x, '<none/>'), CASE WHEN id = 2 THEN x END FROM d WHERE id = 2",
        "<o n=\"8\"/>|<o n=\"8\"/>",
    );
    b.check("SELECT TRY_CAST('<a>' AS xml)", "NULL");
    b.check(
        "SELECT CAST('<a><b></a>' AS xml)",
        "Msg 9436: XML parsing: line 1, character 10, end tag does not match start tag",
    );
    b.check(
        "SELECT CAST('<a>' AS xml)",
        "Msg 9400: XML parsing: line 1, character 4, unexpected end of input",
    );
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32| fails(&i, &format!("USE t; {sql}"), &[number]);
    refused("SELECT CAST(N'<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>' AS xml)", 9402);
    refused("INSERT d VALUES (9, '<a x=1/>', NULL)", 9413);
    refused("DECLARE @s varchar(9) = (SELECT x FROM d WHERE id = 2)", 257);
    refused("INSERT d (id, t) SELECT 9, x FROM d", 257);
    refused("SELECT CAST(x AS varchar(5)) FROM d WHERE id = 2", 6354);
    refused("SELECT CAST(x AS int) FROM d", 529);
    refused("INSERT d VALUES (9, 5, NULL)", 206);
    refused("SELECT CAST('<!DOCTYPE a><a/>' AS xml)", 6359);
}

#[test]
fn what_refuses_it() {
    let b = bench();
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32, part: &str| {
        let said = fails(&i, &format!("USE t; {sql}"), &[number]);
        assert!(said.contains(part), "{sql}\n{said}");
    };
    let cannot =
        "The XML data type cannot be compared or sorted, except when using the IS NULL operator.";
    refused("SELECT id FROM d ORDER BY x", 305, cannot);
    refused("SELECT COUNT(*) FROM d GROUP BY x", 305, cannot);
    refused("SELECT id FROM d WHERE x = x", 305, cannot);
    refused(
        "SELECT id FROM d WHERE x = '<a/>'",
        402,
        "The data types xml and varchar are incompatible in the equal to operator.",
    );
    refused(
        "SELECT DISTINCT x FROM d",
        421,
        "The xml data type cannot be selected as DISTINCT because it is not comparable.",
    );
    refused(
        "SELECT x FROM d UNION SELECT x FROM d",
        5335,
        "The data type xml cannot be used as an operand to the UNION",
    );
    refused("SELECT x + 'a' FROM d", 402, "xml and varchar are incompatible in the add operator");
    refused(
        "SELECT LEN(x) FROM d",
        8116,
        "Argument data type xml is invalid for argument 1 of len function.",
    );
    refused("SELECT id FROM d WHERE x LIKE '%a%'", 8116, "xml is invalid for argument 1 of like");
    refused("SELECT MAX(x) FROM d", 8117, "Operand data type xml is invalid for max operator.");
    fails(&i, "USE t; CREATE TABLE y (x xml PRIMARY KEY)", &[1919, 1750]);
    refused("CREATE INDEX y ON d (x)", 1919, "");
}

#[test]
fn value_query_exist() {
    let mut b = bench();
    b.check(
        "SELECT x.value('(/o/i)[1]', 'varchar(9)'), x.value('/o[1]/@n', 'int') FROM d WHERE id < 3",
        "pen|7\nNULL|8",
    );
    b.check(
        "SELECT d.x.value('sum(/o/i/@q)', 'decimal(9,1)') FROM d WHERE x.exist('/o/i[@q > 3]') = 1",
        "7.0",
    );
    b.check(
        "SELECT x.query('/o/i[@q=5]'), x.query('count(/o/i)') FROM d WHERE id = 1",
        "<i q=\"5\">ink</i>|2",
    );
    b.check("SELECT id, x.exist('/o/i') FROM d", "1|1\n2|0\n3|NULL");
    b.check("DECLARE @q int = 5, @x xml = '<o><i q=\"5\">ink</i></o>'; SELECT @x.value('(/o/i[@q = sql:variable(\"@q\")])[1]', 'nvarchar(9)')", "ink");
    b.check(
        "SELECT id, x.value('(/o/i[@q = sql:column(\"d.id\") + 1])[1]', 'varchar(9)') FROM d WHERE id = 1",
        "1|pen",
    );
    b.check(
        "SELECT CAST('<d>2024-02-29T12:34:56</d>' AS xml).value('(/d)[1]', 'datetime')",
        "2024-02-29 12:34:56.000",
    );
    b.check("SELECT CAST('<d>2024-02-29</d>' AS xml).value('(/d)[1]', 'date'), CAST('<b>true</b>' AS xml).value('(/b)[1]', 'bit')", "2024-02-29|1");
    b.check("DECLARE @x xml = '<p:a xmlns:p=\"urn:p\">5</p:a>'; SELECT @x.value('declare namespace q=\"urn:p\"; (/q:a)[1]', 'int')", "5");
    b.check(
        "SELECT x.query('for $i in /o/i order by $i return <w>{string($i/@q)}</w>') FROM d WHERE id = 1",
        "<w>5</w><w>2</w>",
    );
    let refused = |number: i32, rest: &str, table: &str, statement: &str| {
        format!(
            "Msg {number}: Xml data type methods are not supported in computed column definitions{rest} The error occurred at \
             column \"n\", table \"{table}\", in the {statement} statement."
        )
    };
    let wrap = ". Create a scalar user-defined function to wrap the method invocation.";
    b.check(
        "CREATE TABLE c (x xml, n AS x.value('(/a)[1]', 'int'))",
        &refused(435, wrap, "c", "CREATE TABLE"),
    );
    b.check(
        "DECLARE @c TABLE (x xml, n AS x.exist('/a'))",
        &refused(
            424,
            " of table variables and return tables of table-valued functions.",
            "@c",
            "CREATE TABLE",
        ),
    );
    b.check(
        "CREATE FUNCTION first_of (@x xml) RETURNS int AS BEGIN RETURN @x.value('(/a)[1]', 'int') END",
        "",
    );
    b.check(
        "CREATE TABLE c (x xml, n AS dbo.first_of(x)); INSERT c (x) VALUES ('<a>4</a>'); SELECT n FROM c",
        "(1)\n4",
    );
    b.check(
        "ALTER TABLE c DROP COLUMN n; ALTER TABLE c ADD n AS x.value('(/a)[1]', 'int')",
        &refused(435, wrap, "c", "ALTER TABLE"),
    );
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32, part: &str| {
        let said = fails(&i, &format!("USE t; {sql}"), &[number]);
        assert!(said.contains(part), "{sql}\n{said}");
    };
    refused(
        "SELECT x.value('/o/i', 'int') FROM d",
        2389,
        "XQuery [value()]: 'value()' requires a singleton (or empty sequence), found operand of type 'xdt:untypedAtomic *'",
    );
    refused(
        "SELECT x.value('(/o/i', 'int') FROM d",
        2209,
        "XQuery [value()]: Syntax error near '<eof>'",
    );
    refused("SELECT x.query('/p:o') FROM d", 2229, "The name \"p\" does not denote a namespace.");
    refused("SELECT x.value('(/o/i)[1]', 'int') FROM d WHERE id = 1", 245, "'pen'");
    refused(
        "DECLARE @p varchar(9) = '/o'; SELECT x.query(@p) FROM d",
        8172,
        "The argument 1 of the XML data type method \"query\" must be a string literal.",
    );
    refused("SELECT t.value('(/o)[1]', 'int') FROM d", 258, "Cannot call methods on varchar(20).");
    refused(
        "SELECT x.value('(/o)[1]', 'xml') FROM d",
        9500,
        "The data type 'xml' used in the VALUE method is invalid.",
    );
    refused("SELECT x.exist('sql:variable(\"@none\")') FROM d", 9501, "");
    refused(
        "DECLARE @x xml; SELECT @x.size()",
        227,
        "\"size\" is not a valid function, property, or field.",
    );
    refused("SELECT x.value('(/o)[1]') FROM d", 174, "The value function requires 2 argument(s).");
    refused(
        "SELECT x.query('/o/@n') FROM d WHERE id = 1",
        2396,
        "Attribute may not appear outside of an element",
    );
}

#[test]
fn nodes() {
    let mut b = bench();
    b.check("SELECT d.id, n.c.value('@q', 'int'), n.c.value('.', 'varchar(9)'), n.c.value('../@n', 'int') FROM d CROSS APPLY x.nodes('/o/i') AS n (c)", "1|2|pen|7\n1|5|ink|7");
    b.check(
        "SELECT id, c.value('text()[1]', 'varchar(9)') FROM d OUTER APPLY d.x.nodes('/o/i[1]') AS n (c)",
        "1|pen\n2|NULL\n3|NULL",
    );
    b.check("DECLARE @x xml = '<r><a id=\"1\"><b>x</b><b>y</b></a><a id=\"2\"><b>z</b></a></r>';
             SELECT a.c.value('@id', 'int'), b.c.value('.', 'char(1)') FROM @x.nodes('/r/a') a (c) CROSS APPLY a.c.nodes('b') b (c) ORDER BY 2 DESC", "2|z\n1|y\n1|x");
    b.check("DECLARE @x xml = '<r><a>1</a><a>2</a><a>3</a></r>'; SELECT SUM(t.c.value('.', 'int')), COUNT(*) FROM @x.nodes('/r/a') AS t(c) WHERE t.c.value('.', 'int') > 1", "5|2");
    b.check("DECLARE @x xml = '<r><a>1</a></r>'; SELECT t.c.query('.'), t.c.exist('self::a') FROM @x.nodes('/r/a') AS t(c) WHERE t.c IS NOT NULL", "<a>1</a>|1");
    b.check(
        "DECLARE @x xml = '<r><a k=\"4\"/></r>'; SELECT c.value('.', 'int') FROM @x.nodes('/r/a/@k') t(c)",
        "4",
    );
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32| fails(&i, &format!("USE t; {sql}"), &[number]);
    refused("SELECT n.c FROM d CROSS APPLY x.nodes('/o') AS n (c)", 493);
    refused("SELECT * FROM d CROSS APPLY x.nodes('/o') AS n (c)", 493);
    refused("SELECT CAST(c AS varchar(max)) FROM d CROSS APPLY x.nodes('/o') AS n (c)", 493);
    refused("SELECT c.query('../i') FROM d CROSS APPLY x.nodes('/o/i') AS n (c)", 40517);
}

#[test]
fn modify() {
    let mut b = bench();
    b.check("UPDATE d SET x.modify('insert <i q=\"9\">new</i> as first into (/o)[1]') WHERE id = 2; SELECT x FROM d WHERE id = 2", "(1)\n<o n=\"8\"><i q=\"9\">new</i></o>");
    b.check("UPDATE d SET t = 'z', x.modify('replace value of (/o/@n)[1] with sql:column(\"id\")') WHERE id = 2; SELECT x.value('(/o/@n)[1]', 'int'), t FROM d WHERE id = 2", "(1)\n2|z");
    b.check("DECLARE @x xml = '<a><b/><b k=\"1\"/></a>', @v int = 6; SET @x.modify('delete /a/b[not(@k)]'); SET @x.modify('replace value of (/a/b/@k)[1] with sql:variable(\"@v\")'); SELECT @x", "<a><b k=\"6\"/></a>");
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32| fails(&i, &format!("USE t; {sql}"), &[number]);
    refused("UPDATE d SET x.modify('delete /o') WHERE id = 3", 5302);
    refused("SELECT x.modify('delete /o') FROM d", 8137);
    refused("UPDATE d SET x.modify('insert <a/> into /o/i')", 2226);
    refused("UPDATE d SET x.modify('replace value of (/o)[1] with \"a\"') WHERE id = 1", 2356);
}

#[test]
fn modify_inserts_nodes_of_every_kind() {
    let mut b = bench();
    b.check(
        "DECLARE @x xml = '<r><l id=\"10\"><s/></l></r>', @h float = .2;
         SET @x.modify('insert attribute LaborHours {\".5\"} into (/r/l[@id=10])[1]');
         SET @x.modify('insert (attribute a {sql:variable(\"@h\")}, attribute b {1}) into (/r/l)[1]');
         SET @x.modify('insert <!-- c --> after (/r/l/s)[1]'); SET @x.modify('insert <?p \"i.exe\"?> before (/r)[1]');
         SET @x.modify('insert text {\"t\"} as first into (/r)[1]'); SET @x.modify('insert element e {\"new\"} as last into (/r)[1]');
         SELECT @x",
        "<?p \"i.exe\"?><r>t<l id=\"10\" a=\"0.2\" LaborHours=\".5\" b=\"1\"><s/><!-- c --></l><e>new</e></r>",
    );
    b.check(
        "DECLARE @x xml = '<a><b/></a>', @new xml = N'<c>1</c><d/>';
         SET @x.modify('insert sql:variable(\"@new\") as first into (/a)[1]'); SELECT @x",
        "<a><c>1</c><d/><b/></a>",
    );
    b.check(
        "UPDATE d SET x.modify('insert sql:column(\"i.y\") into (/o)[1]') FROM d JOIN (SELECT 2 AS id, CAST('<k/>' AS xml) AS y) i
           ON i.id = d.id; SELECT x FROM d WHERE id = 2",
        "(1)\n<o n=\"8\"><k/></o>",
    );
    let i = b.instance.clone();
    let refused = |sql: &str, number: i32, part: &str| {
        let said = fails(&i, &format!("USE t; {sql}"), &[number]);
        assert!(said.contains(part), "{sql}\n{said}");
    };
    let alone = "XQuery [modify()]: An XML instance is only supported as the direct source of an insert using";
    refused(
        "DECLARE @y xml = '<a/>'; UPDATE d SET x.modify('insert <b>{sql:variable(\"@y\")}</b> into (/o)[1]')",
        9342,
        alone,
    );
    refused(
        "DECLARE @y xml = '<a/>'; SELECT x.query('sql:variable(\"@y\")') FROM d",
        9342,
        "XQuery [query()]: ",
    );
    refused(
        "DECLARE @v sql_variant = 1; SELECT x.value('sql:variable(\"@v\")', 'int') FROM d",
        9344,
        "XQuery [value()]: The SQL type 'sql_variant' is not supported with sql:column() and sql:variable().",
    );
    refused(
        "UPDATE d SET x.modify('/o')",
        6305,
        "XQuery data manipulation expression required in XML data type method.",
    );
    refused(
        "SELECT x.query('  ') FROM d",
        6306,
        "Invalid XQuery expression passed to XML data type method.",
    );
    refused(
        "UPDATE d SET x.modify('insert attribute n {1} into (/o)[1]') WHERE id = 1",
        6308,
        "XML well-formedness check: Duplicate attribute 'n'. Rewrite your XQuery so it returns well-formed XML.",
    );
    refused(
        "SELECT x.query('()[1]') FROM d",
        2377,
        "XQuery [query()]: Result of '[]' expression is statically 'empty'",
    );
}

#[test]
fn bytes_are_base64_in_documents() {
    let mut b = bench();
    b.check(
        "DECLARE @source varbinary(max) = CAST('TestData' AS varbinary(max)), @encoded varchar(max), @decoded varbinary(max);
         SET @encoded = CAST(N'' AS xml).value('xs:base64Binary(sql:variable(\"@source\"))', 'varchar(max)');
         SET @decoded = CAST(N'' AS xml).value('xs:base64Binary(sql:variable(\"@encoded\"))', 'varbinary(max)');
         SELECT @encoded, CAST(@decoded AS varchar(20))",
        "VGVzdERhdGE=|TestData",
    );
    b.check(
        "SELECT CAST(N'' AS xml).value('xs:base64Binary(xs:hexBinary(sql:column(\"bin\")))', 'varchar(20)')
         FROM (SELECT CAST('TestData' AS varbinary(20)) AS bin) AS s",
        "VGVzdERhdGE=",
    );
    b.check(
        "SELECT CAST(CAST('c3RyaW5n' AS xml).value('.', 'varbinary(max)') AS varchar(20)), CAST('<a>Cg==</a>' AS xml).value('(/a)[1]', 'binary(3)'),
                CAST('<a>C</a>' AS xml).value('(/a)[1]', 'varbinary(9)'), CAST('<a x=\"Cv8=\"/>' AS xml).value('/a[1]/@x', 'varbinary(1)')",
        "string|0x0A0000|NULL|0x0A",
    );
    b.check(
        "DECLARE @x xml = (SELECT 0x0AFF AS b FOR XML PATH ('r'), BINARY BASE64, TYPE); SELECT @x, @x.value('(/r/b)[1]', 'varbinary(9)')",
        "<r><b>Cv8=</b></r>|0x0AFF",
    );
    b.check(
        "DECLARE @b varbinary(9) = 0x0AFF; SELECT CAST('' AS xml).query('<a b=\"{sql:variable(\"@b\")}\"/>')",
        "<a b=\"Cv8=\"/>",
    );
    b.check("SELECT CAST('' AS xml).value('xs:hexBinary(\"0aff\")', 'varbinary(9)'), CAST('' AS xml).value('xs:hexBinary(\"0aff\")', 'varchar(9)')", "0x0AFF|0AFF");
}

#[test]
fn texts_that_are_no_xml_end_the_transaction() {
    let b = bench();
    for (sql, number) in [
        ("SELECT CAST('<a>' AS xml)", 9400),
        ("INSERT d VALUES (9, '<a x=1/>', NULL)", 9413),
        (
            "DECLARE @x xml = '<a x=\"1\"/>'; SET @x.modify('insert attribute x {2} into (/a)[1]')",
            6308,
        ),
        (
            "DECLARE @x xml = '<a x=\"1\"/>'; SET @x.modify('replace value of (/a/@x)[1] with ()')",
            6320,
        ),
        (
            "DECLARE @x xml = '<a>t</a>'; SET @x.modify('replace value of (/a/text())[1] with (/b)[1]')",
            6325,
        ),
        ("DECLARE @x xml = '<a x=\"1\"/>'; SELECT @x.query('<e><f/>{/a/@x}</e>')", 6307),
        ("DECLARE @x xml; SET @x.modify('delete /a')", 5302),
    ] {
        let mut session = b.instance.session().unwrap();
        let mut said = |sql: &str| {
            let mut out = text::Text::default();
            session.execute(sql, &mut out);
            out.out
        };
        let first =
            said(&format!("USE t; BEGIN TRAN; UPDATE d SET t = 'lost'; {sql}; SELECT 'and on'"));
        assert!(
            first.contains(&format!("Msg {number}: ")) && !first.contains("and on"),
            "{sql}\n{first}"
        );
        assert_eq!(
            said("SELECT @@TRANCOUNT, COUNT(*) FROM d WHERE t = 'lost'").trim(),
            "0|0",
            "{sql}"
        );
        let caught = said(&format!(
            "BEGIN TRAN; BEGIN TRY {sql} END TRY BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE(); ROLLBACK END CATCH"
        ));
        assert!(caught.contains(&format!("{number}|-1")), "{sql}\n{caught}");
    }
    assert_eq!(say(&b.instance, "SELECT TRY_CAST('<a>' AS xml)"), "NULL");
}

#[test]
fn documents_of_queries() {
    let mut b = bench();
    b.check(
        "SELECT t AS [@t], x AS [*] FROM d WHERE id = 2 FOR XML PATH('r')",
        "<r t=\"b\"><o n=\"8\"/></r>",
    );
    b.check("SELECT (SELECT id AS [@id] FROM d FOR XML PATH('r'), ROOT('all'), TYPE).value('count(/all/r)', 'int')", "3");
    b.check("SELECT id, (SELECT t FROM d AS e WHERE e.id = d.id FOR XML PATH(''), TYPE) AS part FROM d WHERE id = 1 FOR XML RAW", "<row id=\"1\"><part><t>a</t></part></row>");
    b.check(
        "DECLARE @x xml = (SELECT id FROM d FOR XML RAW, TYPE); SELECT @x.value('(/row/@id)[3]', 'int')",
        "3",
    );
    b.check("SELECT STUFF((SELECT ',' + t FROM d ORDER BY id FOR XML PATH(''), TYPE).value('.', 'varchar(max)'), 1, 1, '')", "a,b,c");
}

#[test]
fn the_catalog_and_a_restart() {
    let mut b = bench();
    for _ in 0..2 {
        b.check("SELECT name, system_type_id, max_length, collation_name FROM sys.columns WHERE object_id = OBJECT_ID('d') AND name = 'x'", "x|241|-1|NULL");
        b.check("SELECT DATA_TYPE, CHARACTER_MAXIMUM_LENGTH FROM INFORMATION_SCHEMA.COLUMNS WHERE COLUMN_NAME = 'x'", "xml|-1");
        b.check(
            "SELECT name, TYPE_NAME(system_type_id) FROM sys.types WHERE system_type_id = 241",
            "xml|xml",
        );
        b.check("SELECT x FROM d WHERE id = 2", "<o n=\"8\"/>");
        b.check("DBCC CHECKDB WITH NO_INFOMSGS", "");
        b = b.restart();
    }
    b.check("CREATE PROCEDURE p @x xml, @o xml OUTPUT AS SET @o = @x.query('/a/b')", "");
    b.check("DECLARE @r xml; EXEC p '<a><b/></a>', @r OUTPUT; SELECT @r", "<b/>");
    b.check(
        "CREATE FUNCTION f (@x xml) RETURNS int AS BEGIN RETURN @x.value('count(//*)', 'int') END",
        "",
    );
    b.check("SELECT dbo.f('<a><b/></a>')", "2");
    fails(&b.instance.clone(), "USE t; CREATE TABLE y (x xml(CONTENT dbo.coll))", &[40510]);
}

#[test]
fn a_power_loss_leaves_whole_documents() {
    let open = |disk: &SimDisk| -> Arc<Instance> { try_open(disk, 8 << 20).expect("it opens") };
    let disk = SimDisk::new(41);
    let instance = open(&disk);
    text::run(&instance, "CREATE DATABASE d");
    text::run(
        &instance,
        "USE d; CREATE TABLE a (id int PRIMARY KEY, x xml); INSERT a VALUES (1, '<r/>'), (2, '<r>' + REPLICATE(CAST('<e/>' AS varchar(max)), 5000) + '</r>')",
    );
    instance.close().expect("it closes");
    drop(instance);
    let sql = "USE d; UPDATE a SET x.modify('insert <n/> as first into (/r)[1]'); UPDATE a SET x = '<s>' + REPLICATE(CAST('<f/>' AS varchar(max)), 9000) + '</s>'; DELETE a WHERE id = 1";
    power_loss(&disk, open, sql, 30, |instance, _, at| {
        let left = say(
            instance,
            "SELECT id, x.value('local-name(/*[1])', 'varchar(9)'), x.value('count(/*/*)', 'int') FROM d..a",
        );
        let states = ["1|r|0\n2|r|5000", "1|r|1\n2|r|5001", "1|s|9000\n2|s|9000", "2|s|9000"];
        assert!(states.contains(&left.as_str()), "at {at}: {left}");
        assert_eq!(say(instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "", "at {at}");
    });
}

#[test]
fn namespaces_of_a_statement() {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE d (x xml); INSERT d VALUES ('<p:a xmlns:p=\"urn:p\"><p:b>5</p:b></p:a>')",
        "(1)",
    );
    b.check("WITH XMLNAMESPACES ('urn:p' AS q) SELECT x.value('(/q:a/q:b)[1]', 'int'), (x.query('//q:b')).value('.', 'int') FROM d", "5|5");
    b.check("WITH XMLNAMESPACES (DEFAULT 'urn:p'), c AS (SELECT x FROM d) SELECT n.v.value('.', 'int') FROM c CROSS APPLY c.x.nodes('/a/b') AS n (v)", "5");
    b.check("WITH XMLNAMESPACES ('urn:p' AS q) UPDATE d SET x.modify('replace value of (/q:a/q:b/text())[1] with 6'); SELECT x FROM d", "(1)\n<p:a xmlns:p=\"urn:p\"><p:b>6</p:b></p:a>");
    b.check(
        "WITH XMLNAMESPACES ('urn:p' AS q) SELECT 1 AS a FOR XML RAW",
        "<row xmlns:q=\"urn:p\" a=\"1\"/>",
    );
    let i = b.instance.clone();
    fails(&i, "USE t; SELECT x.query('//q:b') FROM d", &[2229]);
}

#[test]
fn open_xml() {
    let mut b = Bench::new();
    b.check(
        "DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, N'<r><c id=\"1\" name=\"x\"><o d=\"2024-01-02\"><q>7</q></o></c><c id=\"2\"/></r>';
         SELECT * FROM OPENXML(@h, '/r/c', 1) WITH (id int, name varchar(9));
         SELECT t.q, t.own FROM OPENXML(@h, '/r/c/o', 2) WITH (q int, own int '../@id', d date '@d') AS t WHERE t.d = '2024-01-02';
         SELECT node FROM OPENXML(@h, '/r/c/o') WITH (node xml '.');
         EXEC sp_xml_removedocument @h; EXEC sp_xml_removedocument @h",
        "1|x\n2|NULL\n7|1\n<o d=\"2024-01-02\"><q>7</q></o>\nMsg 6607: sp_xml_removedocument: The value supplied for parameter number 1 is invalid.",
    );
    b.check(
        "SELECT id FROM OPENXML(77, '/r', 1) WITH (id int)",
        "Msg 8179: Could not find prepared statement with handle 77.",
    );
    // The columns of a table: each its attribute, or its element.
    b.check(
        "CREATE TABLE goods (id int, name varchar(10), price money);
         DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, N'<r><g id=\"1\" name=\"pen\"><price>2.5</price></g><g id=\"2\"/></r>';
         SELECT * FROM OPENXML(@h, '/r/g', 3) WITH (dbo.goods); SELECT name FROM OPENXML(@h, '/r/g') WITH (goods) AS g WHERE g.id = 1",
        "1|pen|2.5000\n2|NULL|NULL\npen",
    );
    let i = b.instance.clone();
    fails(&i, "USE t; DECLARE @h int; SELECT * FROM OPENXML(@h, '/r/g', 3) WITH (nowhere)", &[208]);
    fails(&i, "DECLARE @h int; EXEC sp_xml_preparedocument @h OUTPUT, '<a><b></a>'", &[6602]);
}

#[test]
fn documents_of_queries_are_in_normal_form() {
    let mut b = Bench::new();
    b.check("SELECT (SELECT '' AS a, ' ' AS b FOR XML PATH('r'), TYPE)", "<r><a/><b> </b></r>");
    b.check("SELECT 1 AS a FOR XML RAW, ELEMENTS, TYPE", "<row><a>1</a></row>");
    b.check("SELECT (SELECT NULL AS a WHERE 1 = 0 FOR XML PATH(''), TYPE)", "NULL");
    b.check(
        "SELECT (SELECT CHAR(31) AS a FOR XML PATH(''), TYPE)",
        "Msg 9420: XML parsing: line 1, character 10, illegal xml character",
    );
}
