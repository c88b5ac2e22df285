//! Queries, changes, reading and writing.

use ringwood_xml::{Atom, Change, Document, NodeRef, Pace, Query, Source, Whitespace, read, watched};

/// Work that nobody stops.
fn free() -> Pace<'static> {
    Pace::new(&|| true)
}

fn doc(text: &str) -> Document {
    read(text, Source::Wide, Whitespace::Dropped, &free()).unwrap()
}

const BOOKS: &str = r#"<shop><!--stock--><book id="1" lang="en"><title>A&amp;B</title><price>12.50</price></book><book id="2"><title>C</title><price>7</price><note/></book><p:x xmlns:p="urn:p" p:a="9">y</p:x></shop>"#;

/// What a query gives, as query() shows it.
fn ask(text: &str) -> String {
    let document = doc(BOOKS);
    let query = Query::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let externals = vec![Some(Atom::Number(2.0)), None];
    let pace = free();
    let answer =
        query.run(&document, NodeRef::ROOT, &externals, &pace).unwrap_or_else(|e| panic!("{text}: {e:?}"));
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
    assert_eq!(ask("declare namespace q=\"urn:p\"; /shop/q:x"), "<p:x xmlns:p=\"urn:p\" p:a=\"9\">y</p:x>");
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
    assert_eq!(ask("(1 = 1.0, \"a\" < \"b\", \"10\" < \"9\", 10 < 9, 1 != 1)"), "true true true false false");
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
    assert_eq!(number("$x"), 2377);
    assert_eq!(number("declare namespace a=b; 1"), 2225);
    assert_eq!(number("concat(\"a\" \"b\")"), 2217);
    assert_eq!(number(&"(".repeat(100_000)), 40_517);
    assert_eq!(number(&"-".repeat(100_000)), 40_517);
    assert_eq!(number(&"1+".repeat(100_000)), 40_517);
    assert_eq!(number(&"<a>".repeat(100_000)), 40_517);
    assert!(Query::parse("/a/b").unwrap().is_many());
    assert!(Query::parse("/a[1]/@*").unwrap().is_many());
    for one in
        ["(/a/b)[1]", "/a[1]/b[1]", "/a[1]/@x", ".", "count(/a)", "(/a/b/@c)[1]", "string((/a)[1])", "@x"]
    {
        assert!(!Query::parse(one).unwrap().is_many(), "{one}");
    }
}

fn changed(document: &str, text: &str) -> String {
    let change = Change::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let externals = [Some(Atom::Text("<v>".into()))];
    change.apply(&doc(document), &externals, &free()).unwrap_or_else(|e| e.number.to_string())
}

#[test]
fn changes() {
    assert_eq!(changed("<a><b/></a>", "insert <c x=\"1\"/> into (/a)[1]"), "<a><b/><c x=\"1\"/></a>");
    assert_eq!(changed("<a><b/></a>", "insert <c/> as first into (/a)[1]"), "<a><c/><b/></a>");
    assert_eq!(changed("<a><b/></a>", "insert (<c/>, <d/>) before (/a/b)[1]"), "<a><c/><d/><b/></a>");
    assert_eq!(changed("<a><b/></a>", "insert <c/> after (/a/b)[1]"), "<a><b/><c/></a>");
    assert_eq!(changed("<a/>", "insert sql:variable(\"@v\") into (/a)[1]"), "<a>&lt;v&gt;</a>");
    assert_eq!(changed("<a/>", "insert <c/> into (/none)[1]"), "<a/>");
    assert_eq!(changed("<a x=\"1\"><b/><c/><b/></a>", "delete //b"), "<a x=\"1\"><c/></a>");
    assert_eq!(changed("<a x=\"1\" y=\"2\" z=\"3\"/>", "delete (/a/@x, /a/@z)"), "<a y=\"2\"/>");
    assert_eq!(
        changed("<a x=\"1\"><b>old</b></a>", "replace value of (/a/b/text())[1] with \"new\""),
        "<a x=\"1\"><b>new</b></a>"
    );
    assert_eq!(changed("<a x=\"1\"/>", "replace value of (/a/@x)[1] with (/a/@x)[1] + 1"), "<a x=\"2\"/>");
    assert_eq!(changed("<a><b>x</b></a>", "replace value of (/a/b/text())[1] with \"\""), "<a><b/></a>");
    assert_eq!(changed("<a><b>x</b></a>", "replace value of (/a/b)[1] with \"y\""), "2356");
    assert_eq!(changed("<a/>", "insert <c/> into <d><e/><f/><g/></d>"), "<a/>");
    assert_eq!(changed("<a/>", "delete <d><e/><f/></d>/f"), "<a/>");
    assert_eq!(Change::parse("insert <c/> into /a/b").unwrap_err().number, 2226);
    assert_eq!(Change::parse("replace value of /a/b with 1").unwrap_err().number, 2337);
    assert_eq!(Change::parse("drop /a").unwrap_err().number, 2209);
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
        Query::parse("/a/b/@n").unwrap().run(&document, NodeRef::ROOT, &[], &pace).unwrap().nodes()[1];
    let (row, at) = Document::of_row(&document.row_text(attribute, &pace), &pace).unwrap();
    let value = Query::parse(".").unwrap().run(&row, at, &[], &pace).unwrap().value().unwrap();
    assert_eq!(value, Some(Atom::Untyped("3".into())));
    assert!(Document::of_row("<a/>", &pace).is_none());
}

/// The normal form of a text, or the number and place of its error.
fn form(text: &str) -> String {
    match read(text, Source::Wide, Whitespace::Dropped, &free()) {
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
    assert_eq!(form("<a xml:space=\"preserve\"> <b/> </a>"), "<a xml:space=\"preserve\"> <b/> </a>");
    assert_eq!(form("<a x=\"1&#10;2\n3\"/>"), "<a x=\"1&#x0A;2 3\"/>");
    assert_eq!(form("<?go now?><a><!-- c --></a>"), "<?go now?><a><!-- c --></a>");
    assert_eq!(form("<p:a xmlns:p=\"u\"><p:b xmlns:p=\"u\"/></p:a>"), "<p:a xmlns:p=\"u\"><p:b/></p:a>");
    assert_eq!(
        read("<a> <b/> </a>", Source::Wide, Whitespace::Kept, &free()).unwrap().text(&free()),
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
        read("<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>", Source::Narrow, Whitespace::Dropped, &free())
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
        "xmlns:",
        "if (",
        "|",
        "-",
    ];
    let (document, pace) = (doc(BOOKS), free());
    for _ in 0..60_000 {
        let text: String = (0..random(14)).map(|_| parts[random(parts.len())]).collect();
        if let Ok(read) = read(&text, Source::Wide, Whitespace::Kept, &pace) {
            let form = read.text(&pace);
            let again = ringwood_xml::read(&form, Source::Wide, Whitespace::Kept, &pace)
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
    let rows = "<row id=\"1234567\"><name>somebody or other</name><price>12.50</price></row>".repeat(50_000);
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
        (format!("<a {}/>", numbered(|n| format!("xmlns:x{n}=\"urn:some-thing-or-other:{n}\" "))), "."),
        (numbered(|n| format!("<x{n} xmlns=\"urn:some-thing-or-other:{n}\">{n}</x{n}>")), "sum(/*)"),
        (numbered(|n| format!("<x{n}><!-- {n} --><?go to the place of {n}?></x{n}>")), "distinct-values(/*)"),
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
        let stopped = watched(|| look(3), |pace| read(&text, Source::Wide, Whitespace::Kept, pace).is_ok());
        assert_eq!((stopped, looks.replace(0)), (Err("stop"), 3), "{query}");
        let document = doc(&text);
        let compiled = Query::parse(query).expect(query);
        let stopped = watched(
            || look(3),
            |pace| compiled.run(&document, NodeRef::ROOT, &[], pace).and_then(|answer| answer.text()).is_ok(),
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
