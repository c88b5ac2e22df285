//! The texts of DEFAULT and CHECK constraints and of computed columns: their form, and that they
//! are read again as what they were.

use catalog::constraint::parse_condition;
use catalog::definition::{of_condition, of_value};
use catalog::load::parse_expression;
use syntax::ast::Expr;

/// A tree without the places of its nodes, and without the case and the quotes of names.
fn tree(expr: &Expr) -> String {
    let shown = format!("{expr:?}").to_lowercase();
    let mut out = String::new();
    let mut rest = shown.as_str();
    while let Some(at) = rest.find("span: span {") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[rest.find('}').unwrap() + 1..];
    }
    out.push_str(rest);
    out.replace("quoted: true", "quoted: false")
}

fn value(text: &str) -> String {
    let expr = parse_expression(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    of_value(&expr, text.len()).unwrap_or_else(|| panic!("{text} has no form"))
}

fn condition(text: &str) -> String {
    let expr = parse_condition(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    of_condition(&expr, text.len()).unwrap_or_else(|| panic!("{text} has no form"))
}

#[test]
fn values_have_the_form_that_tools_read() {
    for (written, kept) in [
        ("5", "((5))"),
        ("-1", "((-1))"),
        ("1.5", "((1.5))"),
        ("5+1", "((5)+(1))"),
        ("( ( 5 ) )", "((5))"),
        ("NULL", "(NULL)"),
        ("'it''s'", "('it''s')"),
        ("N'a'", "(N'a')"),
        ("0x0aB", "(0x00AB)"),
        ("GetDate()", "(getdate())"),
        ("CURRENT_TIMESTAMP", "(getdate())"),
        ("SYSTEM_USER", "(suser_sname())"),
        ("NEXT VALUE FOR s", "(NEXT VALUE FOR [s])"),
        ("next value for dbo.[my seq]", "(NEXT VALUE FOR [dbo].[my seq])"),
        ("dbo.f(1, DEFAULT)", "([dbo].[f]((1),default))"),
        ("n*2", "([n]*(2))"),
        ("(a+b)*c", "(([a]+[b])*[c])"),
        ("a+b-c*d", "([a]+[b]-[c]*[d])"),
        ("a-(b-c)", "([a]-([b]-[c]))"),
        ("-a*b", "(-[a]*[b])"),
        ("(-a)*b", "((-[a])*[b])"),
        ("a - -b", "([a]-(-[b]))"),
        ("~a&b", "(~[a]&[b])"),
        ("CAST(a AS VARCHAR(10))", "(CONVERT([varchar](10),[a]))"),
        ("convert(char(8), d, 112)", "(CONVERT([char](8),[d],(112)))"),
        ("TRY_CAST(a AS Decimal(9, 2))", "(TRY_CAST([a] AS [decimal](9,2)))"),
        ("cast(a as varchar(max))", "(CONVERT([varchar](max),[a]))"),
        ("DateAdd(dd, 1, GETDATE())", "(dateadd(day,(1),getdate()))"),
        ("datepart(yy, [d])", "(datepart(year,[d]))"),
        ("ISNULL(a, 0)", "(isnull([a],(0)))"),
        ("case when a>0 then 'p' else 'n' end", "(case when [a]>(0) then 'p' else 'n' end)"),
        ("case a when 1 then b end", "(case [a] when (1) then [b] end)"),
        ("IIF(a > 0 AND b > 0, 1, 2)", "(iif([a]>(0) AND [b]>(0),(1),(2)))"),
        ("a collate Latin1_General_BIN", "([a] collate Latin1_General_BIN)"),
        ("TRIM('x' FROM a)", "(trim('x' FROM [a]))"),
        ("@@SPID", "(@@spid)"),
        ("h.GetLevel()", "([h].[GetLevel]())"),
    ] {
        assert_eq!(value(written), kept, "{written}");
    }
}

#[test]
fn conditions_have_the_form_that_tools_read() {
    for (written, kept) in [
        ("a>0", "([a]>(0))"),
        ("a != 0", "([a]<>(0))"),
        ("a BETWEEN 1 AND 5", "([a]>=(1) AND [a]<=(5))"),
        ("a between 1 and 5 and b = 2", "([a]>=(1) AND [a]<=(5) AND [b]=(2))"),
        ("a not between 1 and 5", "(NOT ([a]>=(1) AND [a]<=(5)))"),
        ("s in ('a', 'b', 'c')", "([s]='c' OR [s]='b' OR [s]='a')"),
        ("s in ('a', 'b') and n > 0", "(([s]='b' OR [s]='a') AND [n]>(0))"),
        ("s not in ('a', 'b')", "(NOT ([s]='b' OR [s]='a'))"),
        ("s in ('a')", "([s]='a')"),
        ("s not in ('a')", "([s]<>'a')"),
        ("s not like '%x' escape '!'", "(NOT [s] like '%x' escape '!')"),
        (
            "(a is null or b is not null) and not c = 1",
            "(([a] IS NULL OR [b] IS NOT NULL) AND NOT [c]=(1))",
        ),
        ("(a = 1 and b = 2) or c = 3", "([a]=(1) AND [b]=(2) OR [c]=(3))"),
        ("a+1 > -b", "([a]+(1)>-[b])"),
        ("a is not distinct from b", "([a] IS NOT DISTINCT FROM [b])"),
    ] {
        assert_eq!(condition(written), kept, "{written}");
    }
}

#[test]
fn a_text_is_read_again_as_the_tree_that_was_written() {
    let scalars = [
        "5",
        "-1",
        "- -1",
        "+a",
        "-(-a)",
        "-a+b",
        "-(a+b)",
        "~-a",
        "-~a",
        "(~a)*b",
        "~(a*b)",
        "a*-b*c",
        "a*(-b)*c",
        "(a+b)*(c-d)/e%f",
        "a-b-(c-(d-e))",
        "a&b|c^d",
        "a||b||(c||d)",
        "$12.5*a",
        "-$1",
        "1e3",
        "123456789012345678901234567890",
        "'a'+N'b'",
        "'a' collate Latin1_General_BIN + b",
        "(a+b) collate Latin1_General_BIN",
        "~(a collate Latin1_General_BIN)",
        "d at time zone 'UTC' at time zone z",
        "convert(date, d, 101)",
        "try_convert(int, s)",
        "parse(s as date using 'en-US')",
        "try_parse(s as int)",
        "t.a + dbo.t.b",
        "f(a, (b), c+1)",
        "coalesce(a, b, left(c, 2), nullif(d, 0))",
        "iif(a = 1 or b = 2, c, d)",
        "case when a = 1 and (b = 2 or c = 3) then a+b when not a = 2 then -c else case a when 1 then 2 end end",
        "next value for dbo.s + 1",
        "hierarchyid::Parse('/1/')",
        "ltrim(a)",
        "a << 2",
        "[a]]b] + [select]",
        "$rowguid",
    ];
    for written in scalars {
        let before = parse_expression(written).unwrap_or_else(|e| panic!("{written}: {e:?}"));
        let text = value(written);
        assert_eq!(
            tree(&before),
            tree(&parse_expression(&text).unwrap()),
            "{written} became {text}"
        );
        assert_eq!(value(&text), text, "{written}");
    }
    let conditions = [
        "a = b",
        "not not a = b",
        "not (a = 1 and b = 2)",
        "a = 1 and (b = 2 or c = 3) and not (d = 4 or e = 5)",
        "a < b or c >= d or e <> f",
        "a is null and b is not null",
        "a is distinct from b + 1",
        "s like 'a%' escape '!' and t like u",
        "a + b * c > -d",
    ];
    for written in conditions {
        let before = parse_condition(written).unwrap_or_else(|e| panic!("{written}: {e:?}"));
        let text = condition(written);
        assert_eq!(
            tree(&before),
            tree(&parse_condition(&text).unwrap()),
            "{written} became {text}"
        );
        assert_eq!(condition(&text), text, "{written}");
    }
}

#[test]
fn what_has_no_form_and_what_would_grow_stays_as_it_was_written() {
    for written in ["{d '2020-01-01'}", "json_array(1, 2)", "count(*)", "sum(a) over ()"] {
        let expr = parse_expression(written).unwrap();
        assert_eq!(of_value(&expr, written.len()), None, "{written}");
    }
    // Each step would write the one before it twice.
    let mut nested = "a".to_string();
    for _ in 0..25 {
        nested = format!("case when {nested} between 1 and 2 then 1 else 2 end");
    }
    let expr = parse_expression(&nested).unwrap();
    assert_eq!(of_value(&expr, nested.len()), None);
    // As long as a chain may be.
    let chain = vec!["a"; 1000].join("+");
    assert_eq!(of_value(&parse_expression(&chain).unwrap(), chain.len()), None);
    assert_eq!(
        condition(&format!("{chain} > b")),
        format!("({}>[b])", vec!["[a]"; 1000].join("+"))
    );
}
