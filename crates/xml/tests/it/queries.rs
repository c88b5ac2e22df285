//! Queries, changes, reading and writing.

use ringwood_xml::{
    Atom, Change, Document, Encoding, External, NodeRef, Pace, Query, TextSource, Whitespace, read,
    watched,
};

/// Work that nobody stops.
fn free() -> Pace<'static> {
    Pace::new(&|| true)
}

fn doc(text: &str) -> Document {
    read(text, TextSource::Wide, Whitespace::Dropped, &free()).unwrap()
}

const BOOKS: &str = r#"<shop><!--stock--><book id="1" lang="en"><title>A&amp;B</title><price>12.50</price></book><book id="2"><title>C</title><price>7</price><note/></book><p:x xmlns:p="urn:p" p:a="9">y</p:x></shop>"#;

/// What a query gives, as query() shows it.
fn ask(text: &str) -> String {
    let document = doc(BOOKS);
    let query = Query::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let externals = vec![Some(Atom::Number(2.0)), None];
    let pace = free();
    let answer = query
        .run(&document, NodeRef::ROOT, &externals, &pace)
        .unwrap_or_else(|e| panic!("{text}: {e:?}"));
    answer.text().unwrap_or_else(|e| format!("{}", e.number))
}

#[test]
fn paths() {
    assert_eq!(ask("/shop/book[2]/title"), "<title>C</title>");
    assert_eq!(ask("//title"), "<title>A&amp;B</title><title>C</title>");
    assert_eq!(ask("(//title)[1]/text()"), "A&amp;B");
    assert_eq!(ask("/shop/book[@id=\"2\"]/price/text()"), "7");
    assert_eq!(ask("/shop/book[price > 10]/@id"), "2396");
    assert_eq!(ask("data(/shop/book/@id)"), "1 2");
    assert_eq!(ask("string((/shop/book/@lang)[1])"), "en");
    assert_eq!(
        ask("/shop/book[last()]/title/.."),
        "<book id=\"2\"><title>C</title><price>7</price><note/></book>"
    );
    assert_eq!(ask("count(//*)"), "9");
    assert_eq!(ask("count(//@*)"), "4");
    assert_eq!(ask("count(/shop/node())"), "4");
    assert_eq!(ask("/shop/comment()"), "<!--stock-->");
    assert_eq!(ask("/shop/book[not(note)]/title/text()"), "A&amp;B");
    assert_eq!(ask("/shop/book[position()=2 and note]/title/text()"), "C");
    assert_eq!(ask("/shop/child::book[1]/descendant-or-self::price/text()"), "12.50");
    assert_eq!(ask("/shop/book[2]/preceding-sibling::book/title/text()"), "A&amp;B");
    assert_eq!(ask("(/shop/book[1]/price | /shop/book[1]/title)/local-name(.)"), "title price");
    assert_eq!(ask("declare namespace q=\"urn:p\"; /shop/q:x/@q:a/string(.)"), "9");
    assert_eq!(
        ask("declare namespace q=\"urn:p\"; /shop/q:x"),
        "<p:x xmlns:p=\"urn:p\" p:a=\"9\">y</p:x>"
    );
    assert_eq!(ask("/shop/*:x/text()"), "y");
    assert_eq!(ask("/shop/x"), "");
    assert_eq!(ask("declare default element namespace \"urn:p\"; //x/namespace-uri(.)"), "urn:p");
}

#[test]
fn values() {
    assert_eq!(ask("sum(/shop/book/price)"), "19.5");
    assert_eq!(ask("(avg((1, 2, 6)), min((3, 1)), max(/shop/book/price))"), "3 1 12.5");
    assert_eq!(ask("1 + 2 * 3 - 4 div 2 - 7 mod 4"), "2");
    assert_eq!(ask("-(2) * 3"), "-6");
    assert_eq!(
        ask("(1 = 1.0, \"a\" < \"b\", \"10\" < \"9\", 10 < 9, 1 != 1)"),
        "true true true false false"
    );
    assert_eq!(ask("concat(\"a\", \"b\", string(1 > 2))"), "abfalse");
    assert_eq!(
        ask(
            "(substring(\"hello\", 2, 3), string-length(\"abc\"), upper-case(\"x\"), contains(\"abc\", \"bc\"))"
        ),
        "ell 3 X true"
    );
    assert_eq!(ask("(floor(1.7), ceiling(1.2), round(2.5), number(\"x\"))"), "1 2 3 NaN");
    assert_eq!(ask("(empty(/none), empty(/shop), true(), not(false()))"), "true false true true");
    assert_eq!(ask("distinct-values((1, 2, 1))"), "1 2");
    assert_eq!(ask("if (/shop/book) then \"yes\" else \"no\""), "yes");
    assert_eq!(ask("some $b in /shop/book satisfies $b/price = 7"), "true");
    assert_eq!(ask("every $b in /shop/book satisfies $b/price = 7"), "false");
    assert_eq!(ask("(xs:int(\"5\") + 1, xs:string(3), xs:boolean(\"true\"))"), "6 3 true");
    assert_eq!(ask("/shop/book[@id = sql:variable(\"@n\")]/title/text()"), "C");
    assert_eq!(ask("(: a (: b :) :) \"it's\""), "it's");
}

#[test]
fn flwor_and_constructors() {
    assert_eq!(
        ask(
            "for $b in /shop/book where $b/price < 20 order by $b/price descending return <b n=\"{$b/@id}\">{$b/title/text()}</b>"
        ),
        "<b n=\"2\">C</b><b n=\"1\">A&amp;B</b>"
    );
    assert_eq!(
        ask("for $b at $i in /shop/book let $t := $b/title return concat(string($i), string($t))"),
        "1A&amp;B 2C"
    );
    assert_eq!(
        ask("<a x=\"1{1+1}\" xmlns=\"urn:a\"> <b>{1, 2} and {{}}</b><c/>{/shop/book[2]/note}</a>"),
        "<a xmlns=\"urn:a\" x=\"12\"><b>1 2 and {}</b><c/></a>",
        "the default namespace is that of the path too"
    );
    assert_eq!(
        ask("<p:a xmlns:p=\"urn:a\">{/shop/book[2]/note}</p:a>"),
        "<p:a xmlns:p=\"urn:a\"><note/></p:a>"
    );
    assert_eq!(ask("<e>{/shop/book[1]/@lang}</e>"), "<e lang=\"en\"/>");
}

fn number(text: &str) -> i32 {
    Query::parse(text).unwrap_err().number
}

#[test]
fn queries_that_are_none() {
    assert_eq!(number("/shop["), 2209);
    assert_eq!(number("/shop)"), 2209);
    assert_eq!(number("q:a"), 2229);
    assert_eq!(number("starts-with(\"a\", \"b\")"), 2395);
    assert_eq!(number("id(\"a\")"), 40_517);
    assert_eq!(number("$x"), 2227);
    assert_eq!(number("some $a in $b, $b in 1 satisfies 1"), 2227);
    assert_eq!(number("contains(\"a\")"), 2236);
    assert_eq!(number("count(1, 2)"), 2238);
    assert_eq!(number("position()"), 2371);
    assert_eq!(number("for $b in /shop/book return last()"), 2371);
    assert_eq!(number(""), 6306);
    assert_eq!(number(" (: none :) "), 6306);
    assert_eq!(number("()[1]"), 2377);
    assert_eq!(number("(())[1]"), 2377);
    assert_eq!(number("()/a"), 2377);
    assert_eq!(number("if (1 = 1) then 1"), 2355);
    for other in [
        "1 to 3",
        "//a intersect //b",
        "//a except //b",
        "1 castable as xs:int",
        "1 treat as xs:int",
    ] {
        assert_eq!(number(other), 9335, "{other}");
    }
    assert_eq!(number("typeswitch (1) default return 1"), 9335);
    assert_eq!(number("\"a\u{1}\""), 2333);
    assert_eq!(number("\"&nope;\""), 2282);
    assert_eq!(number("\"a & b\""), 2282);
    assert_eq!(number("\"&lt \""), 2283);
    assert_eq!(number("\"&#1;\""), 2285);
    assert_eq!(number("xs:int(\"x\")"), 9319);
    assert_eq!(number("xs:byte(\"128\")"), 9319);
    assert_eq!(number("xs:base64Binary(\"A\")"), 9319);
    assert_eq!(number("xs:QName(\"a\")"), 2395);
    assert_eq!(number("declare namespace a=b; 1"), 2225);
    assert_eq!(number("concat(\"a\" \"b\")"), 2217);
    assert_eq!(number(&"(".repeat(100_000)), 40_517);
    assert_eq!(number(&"-".repeat(100_000)), 40_517);
    assert_eq!(number(&"1+".repeat(100_000)), 40_517);
    assert_eq!(number(&"<a>".repeat(100_000)), 40_517);
    assert!(Query::parse("/a/b").unwrap().is_many());
    assert!(Query::parse("/a[1]/@*").unwrap().is_many());
    for one in [
        "(/a/b)[1]",
        "/a[1]/b[1]",
        "/a[1]/@x",
        ".",
        "count(/a)",
        "(/a/b/@c)[1]",
        "string((/a)[1])",
        "@x",
    ] {
        assert!(!Query::parse(one).unwrap().is_many(), "{one}");
    }
}

#[test]
fn sequences_and_predicates_behind_anything() {
    assert_eq!(ask("()"), "");
    assert_eq!(ask("(1, 2, 3)[2]"), "2");
    assert_eq!(ask("(1, (), (2, 3))[. > 1]"), "2 3");
    assert_eq!(ask("(/shop/book, /shop/note)[@id = \"2\"]/title/text()"), "C");
    assert_eq!(ask("data(/shop/book/@id)[2]"), "2");
    assert_eq!(ask("(for $b in /shop/book return string($b/title[1]))[2]"), "C");
    assert_eq!(ask("(1, 2, 3)[position() = last()]"), "3");
    assert_eq!(ask("count(())"), "0");
    assert_eq!(
        ask("some $b in /shop/book, $t in $b/title satisfies $t = \"C\" and $b/@id = \"2\""),
        "true"
    );
    assert_eq!(ask("every $a in (1, 2), $b in (2, 3) satisfies $a < $b"), "false");
    assert_eq!(ask("every $a in (1, 2), $b in (3, 4) satisfies $a < $b"), "true");
    assert_eq!(ask("some $a in (), $b in (1, 2) satisfies 1 = 1"), "false");
    assert_eq!(ask("(/shop/book)[1] is (//book)[1]"), "true");
    assert_eq!(ask("(/shop/book)[1] << (/shop/book)[2]"), "true");
    assert_eq!(ask("(/shop/book)[1] >> (/shop/book)[2]"), "false");
    assert_eq!(
        ask("(1 eq 1, 1 ne 1, 1 lt 2, 2 le 1, 2 gt 1, 1 ge 2)"),
        "true false true false true false"
    );
    let document = doc("<a><?x one?><?y two?><b>t</b></a>");
    let instructions = |text: &str| {
        let (query, pace) = (Query::parse(text).unwrap(), free());
        query.run(&document, NodeRef::ROOT, &[], &pace).unwrap().text().unwrap()
    };
    assert_eq!(instructions("/a/processing-instruction()"), "<?x one?><?y two?>");
    assert_eq!(instructions("/a/processing-instruction(\"y\")"), "<?y two?>");
    assert_eq!(instructions("/a/processing-instruction(x)"), "<?x one?>");
}

#[test]
fn types_and_bytes() {
    assert_eq!(ask("xs:base64Binary(xs:hexBinary(\"5465737444617461\"))"), "VGVzdERhdGE=");
    assert_eq!(ask("xs:string(xs:hexBinary(xs:base64Binary(\"Cv8=\")))"), "0AFF");
    assert_eq!(ask("xs:hexBinary(\"0a\") = xs:base64Binary(\"Cg==\")"), "true");
    assert_eq!(ask("xs:hexBinary(string(/shop/book[1]/title[1]))"), "");
    assert_eq!(
        ask(
            "(xs:byte(127), xs:byte(128), xs:unsignedInt(-1), xs:positiveInteger(0), xs:integer(1.7))"
        ),
        "127 1"
    );
    assert_eq!(
        ask("(xs:dateTime(\"2000-01-01T00:00:00Z\"), xs:gYear(\"2000\"), xs:NCName(\"n\"))"),
        "2000-01-01T00:00:00Z 2000 n"
    );
    assert_eq!(ask("xdt:untypedAtomic(\"10\") > 9"), "true");
    let given = |text: &str, atom: Atom| {
        let (document, pace) = (doc("<a/>"), free());
        let query = Query::parse(text).unwrap();
        let given = [Some(atom)];
        query.run(&document, NodeRef::ROOT, &given, &pace).unwrap().value().unwrap()
    };
    let bytes = || Atom::Binary(vec![10, 255], Encoding::Base64);
    let variable = given("sql:variable(\"@b\")", bytes()).unwrap();
    assert_eq!((&*variable.text(), variable.clone().into_bytes()), ("Cv8=", Some(vec![10, 255])));
    assert_eq!(given("xs:hexBinary(sql:variable(\"@b\"))", bytes()).unwrap().text(), "0AFF");
    assert_eq!(
        given("xs:base64Binary(sql:variable(\"@b\"))", Atom::Text("Cv8=".into())),
        Some(bytes())
    );
    assert_eq!(given("xs:base64Binary(sql:variable(\"@b\"))", Atom::Text("Cv8".into())), None);
    assert_eq!(Atom::Untyped("Cv8=".into()).into_bytes(), Some(vec![10, 255]));
    assert_eq!(Atom::Text("what".into()).into_bytes(), Some(vec![0xC2, 0x16, 0xAD]));
    assert_eq!(Atom::Number(1.0).into_bytes(), None);
}

#[test]
fn constructors_by_words_and_other_nodes() {
    assert_eq!(
        ask("element r {attribute x {1, 2}, text {\"a\"}, text {\"b\"}, element s {}}"),
        "<r x=\"1 2\">ab<s/></r>"
    );
    assert_eq!(ask("<a>{attribute x {()}}</a>"), "<a x=\"\"/>");
    assert_eq!(
        ask("<a>{attribute x {}, attribute y {/shop/book/@id}}</a>"),
        "<a x=\"\" y=\"1 2\"/>"
    );
    assert_eq!(ask("<a>x{attribute b {2}}</a>"), "<a b=\"2\">x</a>");
    assert_eq!(
        ask("declare namespace q=\"urn:q\"; element q:e {attribute q:z {1}}"),
        "<q:e xmlns:q=\"urn:q\" q:z=\"1\"/>"
    );
    assert_eq!(ask("text {/shop/book/title}"), "A&amp;B C");
    assert_eq!(ask("(text {()}, <a>{text {\"\"}}</a>)"), "<a/>");
    assert_eq!(ask("<!-- {1} -->, <?go  to it ?>, <a/>"), "<!-- {1} --><?go to it ?><a/>");
    assert_eq!(ask("<a> <!--c--> {1} <?p?> </a>"), "<a><!--c-->1<?p?></a>");
    assert_eq!(ask("<a>x<![CDATA[<y>]]>z</a>"), "<a>x&lt;y&gt;z</a>");
    assert_eq!(ask("<a b=\"1\r\n2\n3\">\r\nx\r</a>"), "<a b=\"1 2 3\">\nx\n</a>");
    assert_eq!(ask("for $element in /shop/book return $element/title/text()"), "A&amp;BC");
    let runs = |text: &str| {
        let (document, pace) = (doc(BOOKS), free());
        let query = Query::parse(text).unwrap();
        query.run(&document, NodeRef::ROOT, &[], &pace).and_then(|a| a.text()).unwrap_err().number
    };
    assert_eq!(runs("attribute x {1}"), 2396);
    assert_eq!(runs("(/shop/book[1]/@id, <a/>)"), 6307);
    assert_eq!(runs("<e>{/shop/book[1]/title}{/shop/book[1]/@id}</e>"), 6307);
    assert_eq!(runs("<e><!--c-->{attribute z {1}}</e>"), 6307);
    assert_eq!(runs("<e id=\"9\">{/shop/book[1]/@id}</e>"), 6308);
    assert_eq!(runs("element e {attribute z {1}, attribute z {2}}"), 6308);
    assert_eq!(number("text {1, 2}"), 2205);
    assert_eq!(number("text {}"), 2209);
    assert_eq!(number("element {\"a\"} {1}"), 9315);
    assert_eq!(number("attribute xmlns {1}"), 9316);
    assert_eq!(number("attribute q:a {1}"), 2229);
    assert_eq!(number("comment {1}"), 9326);
    assert_eq!(number("processing-instruction a {1}"), 9325);
    assert_eq!(number("<!--a--->"), 9322);
    assert_eq!(number("<!--a"), 2340);
    assert_eq!(number("<?XML a?>"), 2294);
    assert_eq!(number("<? p?>"), 2278);
    assert_eq!(number("<?p "), 2272);
    assert_eq!(number("<![CDATA[x]]>"), 2209);
    assert_eq!(number("<a><![CDATA[x</a>"), 2273);
    assert_eq!(number("<a x=\"1\" x=\"2\"/>"), 2271);
    assert_eq!(number("<a xmlns:p=\"u\" p:x=\"1\" p:x=\"2\"/>"), 2270);
    assert_eq!(number(&"element a {".repeat(100_000)), 40_517);
}

fn changed(document: &str, text: &str) -> String {
    let change = Change::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let externals = [Some(Atom::Text("<v>".into()))];
    change.apply(&doc(document), &externals, &free()).unwrap_or_else(|e| e.number.to_string())
}

#[test]
fn changes() {
    assert_eq!(
        changed("<a><b/></a>", "insert <c x=\"1\"/> into (/a)[1]"),
        "<a><b/><c x=\"1\"/></a>"
    );
    assert_eq!(changed("<a><b/></a>", "insert <c/> as first into (/a)[1]"), "<a><c/><b/></a>");
    assert_eq!(
        changed("<a><b/></a>", "insert (<c/>, <d/>) before (/a/b)[1]"),
        "<a><c/><d/><b/></a>"
    );
    assert_eq!(changed("<a><b/></a>", "insert <c/> after (/a/b)[1]"), "<a><b/><c/></a>");
    assert_eq!(changed("<a/>", "insert sql:variable(\"@v\") into (/a)[1]"), "<a>&lt;v&gt;</a>");
    assert_eq!(changed("<a/>", "insert <c/> into (/none)[1]"), "<a/>");
    assert_eq!(changed("<a x=\"1\"><b/><c/><b/></a>", "delete //b"), "<a x=\"1\"><c/></a>");
    assert_eq!(changed("<a x=\"1\" y=\"2\" z=\"3\"/>", "delete (/a/@x, /a/@z)"), "<a y=\"2\"/>");
    assert_eq!(
        changed("<a x=\"1\"><b>old</b></a>", "replace value of (/a/b/text())[1] with \"new\""),
        "<a x=\"1\"><b>new</b></a>"
    );
    assert_eq!(
        changed("<a x=\"1\"/>", "replace value of (/a/@x)[1] with (/a/@x)[1] + 1"),
        "<a x=\"2\"/>"
    );
    assert_eq!(
        changed("<a><b>x</b></a>", "replace value of (/a/b/text())[1] with \"\""),
        "<a><b/></a>"
    );
    assert_eq!(changed("<a><b>x</b></a>", "replace value of (/a/b)[1] with \"y\""), "2356");
    assert_eq!(changed("<a/>", "insert <c/> into <d><e/><f/><g/></d>"), "<a/>");
    assert_eq!(changed("<a/>", "delete <d><e/><f/></d>/f"), "<a/>");
    assert_eq!(Change::parse("insert <c/> into /a/b").unwrap_err().number, 2226);
    assert_eq!(Change::parse("replace value of /a/b with 1").unwrap_err().number, 2337);
    assert_eq!(Change::parse("drop /a").unwrap_err().number, 6305);
    assert_eq!(Change::parse("drop the a").unwrap_err().number, 2209);
    assert_eq!(Change::parse(" ").unwrap_err().number, 6306);
    assert_eq!(Change::parse("insert <b/> at (/a)[1]").unwrap_err().number, 2248);
    assert_eq!(Change::parse("replace value of (/a)[1] by 1").unwrap_err().number, 2205);
    assert_eq!(Change::parse("replace value of (/a/@b)[1] with <b/>").unwrap_err().number, 9310);
}

#[test]
fn changes_insert_nodes_of_every_kind() {
    assert_eq!(changed("<a/>", "insert attribute x {\".5\"} into (/a)[1]"), "<a x=\".5\"/>");
    assert_eq!(changed("<a/>", "insert attribute x {1} as first into (/a)[1]"), "<a x=\"1\"/>");
    let two = "insert (attribute z {9}, attribute y {8}) into (/a)[1]";
    assert_eq!(changed("<a/>", two), "<a z=\"9\" y=\"8\"/>");
    assert_eq!(
        changed("<a m=\"1\" n=\"2\" o=\"3\"/>", two),
        "<a m=\"1\" z=\"9\" n=\"2\" y=\"8\" o=\"3\"/>"
    );
    assert_eq!(
        changed("<a xmlns:p=\"u\" m=\"1\" n=\"2\"/>", two),
        "<a xmlns:p=\"u\" z=\"9\" m=\"1\" y=\"8\" n=\"2\"/>"
    );
    assert_eq!(
        changed("<a><b/></a>", "insert <!-- c --> after (/a/b)[1]"),
        "<a><b/><!-- c --></a>"
    );
    assert_eq!(
        changed("<a/>", "insert <?Program = \"x.exe\" ?> before (/a)[1]"),
        "<?Program = \"x.exe\" ?><a/>"
    );
    assert_eq!(
        changed("<a/>", "insert <![CDATA[ <x> & y ]]> into (/a)[1]"),
        "<a> &lt;x&gt; &amp; y </a>"
    );
    assert_eq!(changed("<a><b/></a>", "insert text {\"t\"} as first into (/a)[1]"), "<a>t<b/></a>");
    assert_eq!(changed("<a/>", "insert text {\"\"} into (/a)[1]"), "<a/>");
    assert_eq!(changed("<a/>", "insert (1, \"two\") into (/a)[1]"), "<a>1 two</a>");
    assert_eq!(
        changed(
            "<a><b/></a>",
            "insert if (count(/a/b) <= 2) then element b {\"new\"} else () as last into (/a)[1]"
        ),
        "<a><b/><b>new</b></a>"
    );
    assert_eq!(
        changed("<a/>", "insert if (/a/b) then attribute x {1} else () into (/a)[1]"),
        "<a/>"
    );
    assert_eq!(
        changed("<r b=\"1\"><c/></r>", "insert /r/@b into (/r/c)[1]"),
        "<r b=\"1\"><c b=\"1\"/></r>"
    );
    assert_eq!(changed("<a x=\"1\"/>", "insert attribute x {2} into (/a)[1]"), "6308");
    assert_eq!(changed("<a/>", "insert (attribute x {1}, attribute x {2}) into (/a)[1]"), "6308");
    assert_eq!(changed("<a><b/></a>", "insert attribute x {1} before (/a/b)[1]"), "2258");
    assert_eq!(changed("<a/>", "insert attribute x {1} into /"), "6307");
    assert_eq!(changed("<a>t</a>", "insert <b/> into (/a/text())[1]"), "2240");
    assert_eq!(changed("<a x=\"1\"/>", "insert <b/> into (/a/@x)[1]"), "2240");
    assert_eq!(changed("<a x=\"1\"/>", "insert <b/> after (/a/@x)[1]"), "2249");
    assert_eq!(changed("<a/>", "insert <b/> before /"), "2249");
    assert_eq!(
        changed("<a>t<!--c--></a>", "insert <b/> before (/a/comment())[1]"),
        "<a>t<b/><!--c--></a>"
    );
}

#[test]
fn values_are_replaced_by_nothing_only_where_that_is_said() {
    assert_eq!(
        changed("<a><b>x</b></a>", "replace value of (/a/b/text())[1] with ()"),
        "<a><b/></a>"
    );
    assert_eq!(
        changed("<a><b>x</b></a>", "replace value of (/a/b/text())[1] with (/a/c)[1]"),
        "6325"
    );
    assert_eq!(changed("<a x=\"1\"/>", "replace value of (/a/@x)[1] with ()"), "6320");
    assert_eq!(changed("<a x=\"1\"/>", "replace value of (/a/@x)[1] with (/a/@y)[1]"), "6320");
    assert_eq!(changed("<a x=\"1\"/>", "replace value of (/a/@y)[1] with ()"), "<a x=\"1\"/>");
}

#[test]
fn documents_are_inserted_by_themselves_only() {
    let insert = |text: &str, given: &[Option<Atom>]| {
        let change = Change::parse(text).unwrap();
        change.apply(&doc("<a><b/></a>"), given, &free()).unwrap_or_else(|e| e.number.to_string())
    };
    let document = Some(Atom::Document("<c x=\"1\"/>text<!--d--><p:e xmlns:p=\"u\"/>".into()));
    let text = "insert sql:variable(\"@v\") as first into (/a)[1]";
    assert_eq!(
        insert(text, std::slice::from_ref(&document)),
        "<a><c x=\"1\"/>text<!--d--><p:e xmlns:p=\"u\"/><b/></a>"
    );
    assert_eq!(insert(text, &[None]), "<a><b/></a>");
    assert_eq!(
        insert(
            "insert (sql:variable(\"@v\"), sql:column(\"c\")) after (/a/b)[1]",
            &[document, Some(Atom::Document("<f/>".into()))]
        ),
        "<a><b/><c x=\"1\"/>text<!--d--><p:e xmlns:p=\"u\"/><f/></a>"
    );
    let documents = |text: &str| Change::parse(text).unwrap().documents();
    assert_eq!(documents(text), 1);
    assert_eq!(documents("insert (sql:variable(\"@v\"), <a/>) into (/a)[1]"), 0);
    assert_eq!(documents("insert <a>{sql:variable(\"@v\")}</a> into (/a)[1]"), 0);
    assert_eq!(documents("replace value of (/a/@x)[1] with sql:variable(\"@v\")"), 0);
    // The same name elsewhere asks again.
    let again =
        Change::parse("insert sql:variable(\"@v\") into (/a[@n = sql:variable(\"@v\")])[1]")
            .unwrap();
    let asked = External::Variable("@v".into());
    assert_eq!((again.documents(), again.externals()), (1, &[asked.clone(), asked][..]));
}

#[test]
fn rows_of_nodes_know_their_ancestors_tags() {
    let document = doc("<a k=\"1\"><b n=\"2\"><c>x</c></b><b n=\"3\"/></a>");
    let query = Query::parse("/a/b/c").unwrap();
    let pace = free();
    let node = query.run(&document, NodeRef::ROOT, &[], &pace).unwrap().nodes()[0];
    let (row, at) = Document::of_row(&document.row_text(node, &pace), &pace).unwrap();
    let ask = |text: &str| {
        Query::parse(text)
            .unwrap()
            .run(&row, at, &[], &pace)
            .and_then(|a| a.text())
            .unwrap_or_else(|e| e.number.to_string())
    };
    assert_eq!(ask("."), "<c>x</c>");
    assert_eq!(ask("string(../@n)"), "2");
    assert_eq!(ask("string(../../@k)"), "1");
    assert_eq!(ask("local-name(..)"), "b");
    assert_eq!(ask("../c"), "40517");
    assert_eq!(ask("../../b"), "40517");
    assert_eq!(ask("/a"), "40517");
    let attribute =
        Query::parse("/a/b/@n").unwrap().run(&document, NodeRef::ROOT, &[], &pace).unwrap().nodes()
            [1];
    let (row, at) = Document::of_row(&document.row_text(attribute, &pace), &pace).unwrap();
    let value = Query::parse(".").unwrap().run(&row, at, &[], &pace).unwrap().value().unwrap();
    assert_eq!(value, Some(Atom::Untyped("3".into())));
    assert!(Document::of_row("<a/>", &pace).is_none());
}

/// The normal form of a text, or the number and place of its error.
fn form(text: &str) -> String {
    match read(text, TextSource::Wide, Whitespace::Dropped, &free()) {
        Ok(document) => document.text(&free()),
        Err(e) => format!("{}: {}", e.number, e.text),
    }
}

#[test]
fn reading_and_writing() {
    assert_eq!(
        form("<a><b></b> <c x='1' y = \"a&quot;b\"/>\n</a>"),
        "<a><b/><c x=\"1\" y=\"a&quot;b\"/></a>"
    );
    assert_eq!(form("one <b/> two"), "one <b/> two");
    assert_eq!(form(""), "");
    assert_eq!(form("<a>&#65;&lt;&gt;<![CDATA[<x>]]></a>"), "<a>A&lt;&gt;&lt;x&gt;</a>");
    assert_eq!(form("<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>"), "<a/>");
    assert_eq!(
        form("<a xml:space=\"preserve\"> <b/> </a>"),
        "<a xml:space=\"preserve\"> <b/> </a>"
    );
    assert_eq!(form("<a x=\"1&#10;2\n3\"/>"), "<a x=\"1&#x0A;2 3\"/>");
    assert_eq!(form("<?go now?><a><!-- c --></a>"), "<?go now?><a><!-- c --></a>");
    assert_eq!(
        form("<p:a xmlns:p=\"u\"><p:b xmlns:p=\"u\"/></p:a>"),
        "<p:a xmlns:p=\"u\"><p:b/></p:a>"
    );
    assert_eq!(
        read("<a> <b/> </a>", TextSource::Wide, Whitespace::Kept, &free()).unwrap().text(&free()),
        "<a> <b/> </a>"
    );
}

#[test]
fn texts_that_are_none() {
    let is = |text: &str, number: i32| {
        let said = form(text);
        assert!(said.starts_with(&format!("{number}: ")), "{text}: {said}");
    };
    assert_eq!(
        form("<a><b></a>"),
        "9436: XML parsing: line 1, character 10, end tag does not match start tag"
    );
    assert_eq!(form("<a>\n<b>"), "9400: XML parsing: line 2, character 4, unexpected end of input");
    is("<a", 9400);
    is("</a>", 9436);
    is("<row>\n<\\row>", 9455);
    is("<1a/>", 9455);
    is("<a x=1/>", 9413);
    is("<a x/>", 9414);
    is("<a x=\"1\" x=\"2\"/>", 9437);
    is("<a x=\"<\"/>", 9415);
    is("<p:a/>", 9459);
    is("<a p:x=\"1\"/>", 9459);
    is("<a>&nope;</a>", 9448);
    is("<a>&lt</a>", 9411);
    is("<a>\u{1}</a>", 9420);
    is("<a>&#1;</a>", 9420);
    is("<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>", 9402);
    is(" <?xml version=\"1.0\"?><a/>", 9438);
    is("<!DOCTYPE a><a/>", 6359);
    is(&"<a>".repeat(200), 6335);
    assert_eq!(
        read(
            "<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>",
            TextSource::Narrow,
            Whitespace::Dropped,
            &free()
        )
        .unwrap_err()
        .number,
        9402
    );
}

/// Whatever the text, there is an answer or an error.
#[test]
fn no_text_is_too_odd() {
    let mut seed = 0x2545_F491_4F6C_DD1Du64;
    let mut random = |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % n as u64) as usize
    };
    let parts = [
        "<",
        ">",
        "/",
        "a",
        "b:",
        "=",
        "\"",
        "'",
        "&",
        ";",
        "[",
        "]",
        "(",
        ")",
        "@",
        "*",
        "::",
        "$x",
        " ",
        "for $x in ",
        "return ",
        "text()",
        "1",
        ".",
        "..",
        "{",
        "}",
        "<!--",
        "-->",
        "<![CDATA[",
        "<?",
        "?>",
        "insert ",
        "into ",
        "delete ",
        "é",
        "element a {",
        "attribute b {",
        "text {",
        "with ",
        "replace value of ",
        "xs:hexBinary(",
        "sql:variable(",
        "xmlns:",
        "if (",
        "|",
        "-",
    ];
    let (document, pace) = (doc(BOOKS), free());
    for _ in 0..60_000 {
        let text: String = (0..random(14)).map(|_| parts[random(parts.len())]).collect();
        if let Ok(read) = read(&text, TextSource::Wide, Whitespace::Kept, &pace) {
            let form = read.text(&pace);
            let again = ringwood_xml::read(&form, TextSource::Wide, Whitespace::Kept, &pace)
                .unwrap_or_else(|e| panic!("{text} {form} {e:?}"));
            assert_eq!(again.text(&pace), form, "{text}");
        }
        if let Ok(query) = Query::parse(&text) {
            let externals = vec![None; query.externals().len()];
            let _ = query.run(&document, NodeRef::ROOT, &externals, &pace).map(|a| a.text());
        }
        if let Ok(change) = Change::parse(&text) {
            let _ = change.apply(&document, &[], &pace);
        }
    }
}

/// Bytes of memory for each byte of a text.
fn bytes_per_byte(text: &str) -> f64 {
    doc(text).heap_bytes() as f64 / text.len() as f64
}

#[test]
fn a_tree_is_not_much_more_than_its_text() {
    let rows = "<row id=\"1234567\"><name>somebody or other</name><price>12.50</price></row>"
        .repeat(50_000);
    assert!(bytes_per_byte(&rows) < 6.0, "{}", bytes_per_byte(&rows));
    // The shortest elements there are.
    let tiny = "<a/>".repeat(200_000);
    assert!(bytes_per_byte(&tiny) < 12.0, "{}", bytes_per_byte(&tiny));
    let words = format!("<a>{}</a>", "word ".repeat(200_000));
    assert!(bytes_per_byte(&words) < 3.0, "{}", bytes_per_byte(&words));
}

/// Texts of about two megabytes whose parts are costly in different ways, with queries over them.
fn costly() -> Vec<(String, &'static str)> {
    let numbered = |text: fn(usize) -> String| (0..40_000).map(text).collect::<String>();
    vec![
        ("<a/>".repeat(500_000), "/a[2]"),
        ("<a/>".repeat(500_000), "count(//a[. = \"x\"])"),
        ("<a/>".repeat(500_000), "for $x in /a order by string($x) descending return <b>{$x}</b>"),
        (format!("<a>{}</a>", "word ".repeat(400_000)), "string(/a[1])"),
        (format!("<a>{}</a>", "&lt;&#13;".repeat(200_000)), "upper-case(string(/a[1]))"),
        (
            format!("<a {}/>", numbered(|n| format!("x{n}=\"some value or other of this one\" "))),
            "count(//@*)",
        ),
        (
            format!(
                "<a {}/>",
                numbered(|n| format!("xmlns:x{n}=\"urn:some-thing-or-other:{n}\" "))
            ),
            ".",
        ),
        (
            numbered(|n| format!("<x{n} xmlns=\"urn:some-thing-or-other:{n}\">{n}</x{n}>")),
            "sum(/*)",
        ),
        (
            numbered(|n| format!("<x{n}><!-- {n} --><?go to the place of {n}?></x{n}>")),
            "distinct-values(/*)",
        ),
        ("<a>1</a>".repeat(20_000), "/a[. = (/a)[last()]]"),
    ]
}

#[test]
fn long_work_asks_whether_to_go_on() {
    for (text, query) in costly() {
        // Reading, then the query, then a change: each ends at the third question.
        let looks = std::cell::Cell::new(0);
        let look = |most: u32| {
            looks.set(looks.get() + 1);
            if looks.get() < most { Ok(()) } else { Err("stop") }
        };
        let stopped = watched(
            || look(3),
            |pace| read(&text, TextSource::Wide, Whitespace::Kept, pace).is_ok(),
        );
        assert_eq!((stopped, looks.replace(0)), (Err("stop"), 3), "{query}");
        let document = doc(&text);
        let compiled = Query::parse(query).expect(query);
        let stopped = watched(
            || look(3),
            |pace| {
                compiled
                    .run(&document, NodeRef::ROOT, &[], pace)
                    .and_then(|answer| answer.text())
                    .is_ok()
            },
        );
        assert_eq!((stopped, looks.replace(0)), (Err("stop"), 3), "{query}");
        let change = Change::parse("insert <b/> as last into (/*)[1]").expect("a change");
        let stopped = watched(|| look(3), |pace| change.apply(&document, &[], pace).is_ok());
        assert_eq!((stopped, looks.replace(0)), (Err("stop"), 3), "{query}");
    }
}

#[test]
fn ends_of_lines_and_blanks_are_those_of_xml_wherever_they_stand() {
    // Around the places where a long text is looked at in pieces.
    for before in 4090..4100 {
        let (plain, returns) = ("x".repeat(before), "\r\n\r\ry\r\n");
        let text = format!("<a b=\"{plain}{returns}\">{plain}{returns}</a>");
        assert_eq!(form(&text), format!("<a b=\"{plain}   y \">{plain}\n\n\ny\n</a>"), "{before}");
    }
}

#[test]
fn prefixes_mean_what_the_nearest_tag_says() {
    assert_eq!(
        form("<p:a xmlns:p=\"u\"><p:b xmlns:p=\"v\"><p:c/></p:b><p:d/></p:a>"),
        "<p:a xmlns:p=\"u\"><p:b xmlns:p=\"v\"><p:c/></p:b><p:d/></p:a>"
    );
    assert!(form("<p:a xmlns:p=\"u\"/><p:b/>").starts_with("9459: "));
    assert!(form("<a xmlns:p=\"u\" xmlns:q=\"u\" p:x=\"1\" q:x=\"2\"/>").starts_with("9437: "));
    let twenty: String = (0..20).map(|n| format!(" a{n}=\"\"")).collect();
    assert!(form(&format!("<a{twenty} a3=\"\"/>")).starts_with("9437: "));
    assert_eq!(form("<a xmlns=\"u\"><b xmlns=\"\"/></a>"), "<a xmlns=\"u\"><b xmlns=\"\"/></a>");
}
