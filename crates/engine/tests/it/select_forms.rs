//! Forms of SELECT that few write: GROUP BY ALL, IDENTITY() of SELECT INTO.

use crate::support::text::{self, Bench};

#[test]
fn group_by_all() {
    let b = &mut Bench::new();
    b.check("create table s (r varchar(9), n int null) insert s values ('a', 1), ('a', 2), ('b', 3), (null, 4), ('c', null)", "(5)");
    b.check(
        "select r, count(*), count(n), sum(n), min(n), string_agg(n, '-'), count(distinct n) from s where n < 3 group by all r order by r",
        "NULL|0|0|NULL|NULL|NULL|0\na|2|2|3|1|1-2|2\nb|0|0|NULL|NULL|NULL|0\nc|0|0|NULL|NULL|NULL|0",
    );
    // HAVING sees what the groups have become; without WHERE it is GROUP BY.
    b.check("select r from s where n > 2 group by all r having count(*) = 0 order by r", "a\nc");
    b.check("select r, count(*) from s group by all r order by r", "NULL|1\na|2\nb|1\nc|1");
    b.check(
        "select r, count(*) from s where 1 = 0 group by all r order by r",
        "NULL|0\na|0\nb|0\nc|0",
    );
    // The condition may ask for more than the row.
    b.check(
        "select r, sum(n) from s where exists (select 1 from s i where i.r = s.r and i.n > s.n) group by all r order by r",
        "NULL|NULL\na|1\nb|NULL\nc|NULL",
    );
    b.check("select r, avg(n * 1.0) from s join (values ('a', 5), ('b', 6)) v (k, w) on v.k = s.r where w > 5 group by all r order by 1",
        "a|NULL\nb|3.000000");
    b.check(
        "select r, count(*) from s where n = 1 group by all r with rollup",
        "Msg 1028: The CUBE and ROLLUP options are not allowed in a GROUP BY ALL clause.",
    );
    b.check("select count(*) from s where n = 1 group by all r, n % 2 order by 1", "0\n0\n0\n0\n1");
}

#[test]
fn identity_of_select_into() {
    let b = &mut Bench::new();
    b.check("create table s (v varchar(5)) insert s values ('c'), ('a'), ('b')", "(3)");
    b.check("select identity(int, 10, 5) as id, v into t from s order by v", "(3)");
    b.check("select * from t order by id", "10|a\n15|b\n20|c");
    b.check(
        "select @@identity, scope_identity(), ident_seed('t'), ident_incr('t'), ident_current('t')",
        "20|20|10|5|20",
    );
    b.check("insert t values ('d') select id from t where v = 'd'", "(1)\n25");
    b.check("select name, is_identity, is_nullable, type_name(system_type_id) from sys.columns where object_id = object_id('t')",
        "id|1|0|int\nv|0|1|varchar");
    b.check(
        "select v, identity(smallint) n into #u from s where v > 'a' order by v desc; select * from #u",
        "(2)\nc|1\nb|2",
    );
    b.check(
        "select n = identity(decimal(5, 0), -1, -1) into d from s; select n from d order by n",
        "(3)\n-3\n-2\n-1",
    );
    b.check("select identity(bigint, 1, 1) as n into e from s where 1 = 0; insert e default values; select n from e", "(0)\n(1)\n1");
    b.check(
        "select identity(tinyint, 254, 1) as n into o from s",
        "Msg 8115: Arithmetic overflow error converting IDENTITY to data type tinyint.",
    );
    b.check("select object_id('o')", "NULL");
    let outside = "Msg 177: The IDENTITY function can only be used when the SELECT statement has an INTO clause.";
    b.check("select identity(int, 1, 1) as n from s", outside);
    b.check("select 1 + identity(int, 1, 1) as n into o from s", outside);
    b.check("select n into o from (select identity(int, 1, 1) as n from s) d", outside);
    b.check(
        "select identity(int, 1, 1) as n, identity(int, 1, 1) as m into o from s",
        "Msg 8109: Attempting to add multiple identity columns to table 'o' using the SELECT INTO statement.",
    );
    b.check("select id, identity(int, 1, 1) as m into o from t",
        "Msg 8108: Cannot add identity column, using the SELECT INTO statement, to table 'o', which already has column 'id' \
         that inherits the identity property.");
    b.check("select identity(varchar(5), 1, 1) as m into o from t",
        "Msg 2749: Identity column 'm' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, \
         unencrypted, and constrained to be nonnullable.");
    b.check(
        "select identity(int, 1, 0) as m into o from t",
        "Msg 2753: Identity column 'm' contains invalid INCREMENT.",
    );
    b.check("select identity(int, 1) as m into o from t", "Msg 102: Incorrect syntax near ')'.");
}

#[test]
fn select_into_inherits_identity_from_a_table_alone() {
    let b = &mut Bench::new();
    b.check("create table s (id int identity(5, 2), v int) insert s values (1), (2)", "(2)");
    for (from, is_identity) in [
        ("s", 1),
        ("s as t where exists (select 1 from s as u where u.id = t.id)", 1),
        ("s as t left join s on 0 = 1", 0),
        ("s as t inner join s as u on u.id = t.id", 0),
        ("s as t, s as u", 0),
        ("s as t cross apply (select 1 as one) as u", 0),
        ("s as t group by t.id", 0),
    ] {
        let id = if from == "s" { "id" } else { "t.id" };
        b.run(&format!("select top (0) {id} into n from {from}"));
        let found =
            "select is_identity, is_nullable from sys.columns where object_id = object_id('n')";
        b.check(found, &format!("{is_identity}|0"));
        b.check("drop table n", "");
    }
    // A table of what OUTPUT gives, as clients make it.
    b.check(
        "select top (0) t.id into #out from s as t left join s on 0 = 1
         insert s (v) output inserted.id into #out values (3); select id from #out",
        "(0)\n(1)\n9",
    );
    b.check(
        "select id, identity(int, 1, 1) as n into o from s",
        "Msg 8108: Cannot add identity column, using the SELECT INTO \
         statement, to table 'o', which already has column 'id' that inherits the identity property.",
    );
    b.check(
        "select t.id, identity(int, 1, 1) as n into o from s as t, s as u where u.id = 5
         select count(distinct id), max(n) from o",
        "(3)\n3|3",
    );
}

#[test]
fn namespaces_of_for_xml() {
    let b = &mut Bench::new();
    b.check(
        "create table s (id int, v varchar(5) null) insert s values (1, 'a'), (2, null)",
        "(2)",
    );
    b.check(
        "with xmlnamespaces ('uri1' as ns1, 'uri2' as ns2, default 'uri3') select id as [ns1:id], v from s for xml raw ('ns2:row'), elements",
        "<ns2:row xmlns=\"uri3\" xmlns:ns2=\"uri2\" xmlns:ns1=\"uri1\"><ns1:id>1</ns1:id><v>a</v></ns2:row>\
         <ns2:row xmlns=\"uri3\" xmlns:ns2=\"uri2\" xmlns:ns1=\"uri1\"><ns1:id>2</ns1:id></ns2:row>",
    );
    b.check(
        "with xmlnamespaces ('a&b' as x) select id as [@x:id], v as [x:v] from s for xml path ('x:r'), root ('x:all'), elements xsinil",
        "<x:all xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:x=\"a&amp;b\"><x:r x:id=\"1\"><x:v>a</x:v></x:r>\
         <x:r x:id=\"2\"><x:v xsi:nil=\"true\"/></x:r></x:all>",
    );
    b.check(
        "with xmlnamespaces ('u' as x), c as (select 5 as n) select n from c for xml auto",
        "<c xmlns:x=\"u\" n=\"5\"/>",
    );
    // Subqueries of the statement declare them again, methods know them.
    b.check(
        "with xmlnamespaces ('u' as x) select (select id as [x:id] from s where id = 1 for xml path ('x:i'), type) for xml path ('o')",
        "<o xmlns:x=\"u\"><x:i xmlns:x=\"u\"><x:id>1</x:id></x:i></o>",
    );
    b.check("with xmlnamespaces (default 'u') select cast('<a xmlns=\"u\">5</a>' as xml).value('(/a)[1]', 'int') as [n] for xml raw", "<row xmlns=\"u\" n=\"5\"/>");
    b.check(
        "with xmlnamespaces ('u' as x) select id as [y:id] from s for xml raw",
        "Msg 6846: XML name space prefix 'y' declaration is missing for FOR XML column name 'y:id'.",
    );
    b.check(
        "with xmlnamespaces ('u' as x) select id from s for xml path ('y:row')",
        "Msg 6846: XML name space prefix 'y' declaration is missing for FOR XML row name 'y:row'.",
    );
    b.check("select 1 as n for xml raw", "<row n=\"1\"/>");
}

#[test]
fn for_xml_explicit() {
    let b = &mut Bench::new();
    b.check(
        "create table o (id int, who varchar(9)) insert o values (1, 'Ann'), (2, 'Bob & Co')
         create table i (o int, what varchar(9), n int null) insert i values (1, 'pen', 2), (1, 'ink', null), (2, 'cap', 1)",
        "(2)\n(3)",
    );
    b.check(
        "select 1 as Tag, null as Parent, id as [Order!1!id], who as [Order!1!who!element], null as [Item!2!n], null as [Item!2!!element] from o
         union all select 2, 1, o.id, null, i.n, i.what from o join i on i.o = o.id
         order by [Order!1!id], Tag, [Item!2!!element] for xml explicit, root ('all')",
        "<all><Order id=\"1\"><who>Ann</who><Item>ink</Item><Item n=\"2\">pen</Item></Order>\
         <Order id=\"2\"><who>Bob &amp; Co</who><Item n=\"1\">cap</Item></Order></all>",
    );
    b.check(
        "select 1 as tag, 0 as parent, '<b/>' as [e!1!!xml], 'x]]>y' as [e!1!!cdata], 5 as [e!1!h!hide], null as [e!1!nil!elementxsinil], null as [e!1!a] for xml explicit",
        "<e xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><b/><![CDATA[x]]]]><![CDATA[>y]]><nil xsi:nil=\"true\"/></e>",
    );
    b.check(
        "select 1 as tag, null as parent, 'x y' as [my e!1!an a] for xml explicit, type",
        "<my_x0020_e an_x0020_a=\"x y\"/>",
    );
    // Elements go on within the one that is named, however deep the last one was.
    b.check(
        "select * from (values (1, null, 'a', null, null), (2, 1, null, 'b', null), (3, 2, null, null, 'c'), (2, 1, null, 'd', null), (1, null, 'e', null, null))
         v (tag, parent, [x!1!v], [y!2!v], [z!3!v]) for xml explicit",
        "<x v=\"a\"><y v=\"b\"><z v=\"c\"/></y><y v=\"d\"/></x><x v=\"e\"/>",
    );
    let refused = |columns: &str, number: i32| {
        let said =
            { text::fails(&b.instance, &format!("select {columns} for xml explicit"), &[number]) };
        assert!(said.contains("FOR XML EXPLICIT") || number != 6802, "{said}");
    };
    refused("1 as tag, null as parent", 6801);
    refused("1 as tag, null as parent, 1 as e", 6802);
    refused("1 as tag, null as parent, 1 as [e!0!a]", 6802);
    refused("1 as tag, null as parent, 1 as [e!1!a!what]", 6802);
    refused("'x' as tag, null as parent, 1 as [e!1!a]", 6803);
    refused("cast(null as int) as tag, null as parent, 1 as [e!1!a]", 6803);
    refused("1 as tag, -1 as parent, 1 as [e!1!a]", 6804);
    refused("1 as tag, 1 as parent, 1 as [e!1!a]", 6805);
    refused("2 as tag, null as parent, 1 as [e!1!a]", 6806);
    refused("1 as tag, 3 as parent, 1 as [e!1!a]", 6807);
    refused("1 as tag, null as parent, 1 as [e!1!a], 2 as [f!1!b]", 6812);
    refused("1 as tag, null as parent, 1 as [e!1!a!xml!cdata]", 6817);
    refused("1 as n, null as parent, 1 as [e!1!a]", 6820);
    refused("1 as tag, 2 as parent, 1 as [e!1!a], 1 as [f!2!a]", 6833);
    refused("1 as tag, null as parent, 1 as [e!1!a!cdata]", 6836);
    refused("1 as tag, null as parent, 1 as [e!1!a!xmltext]", 40517);
    b.check(
        "select 1 as tag, null as parent, 1 as [e!1!a] for xml explicit, elements",
        "Msg 6825: ELEMENTS option is only allowed in RAW, AUTO, and PATH modes of FOR XML.",
    );
    b.check("with xmlnamespaces ('u' as x) select 1 as tag, null as parent, 1 as [e!1!a] for xml explicit",
        "Msg 6868: The following FOR XML features are not supported with WITH XMLNAMESPACES list: EXPLICIT mode, XMLSCHEMA and XMLDATA directives.");
}

#[test]
fn files_as_one_value() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let wide = |text: &str| -> Vec<u8> {
        [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let (plain, latin, mark) =
        (file("a", "caf\u{e9}\n".as_bytes()), file("b", b"caf\xe9"), file("c", b"\xef\xbb\xbfx"));
    let (utf16, bytes) = (file("d", &wide("\u{416}uk")), file("e", &[0, 1, 255]));
    let b = &mut Bench::with(|options| options.allowed_folders = vec![folder.path().to_path_buf()]);
    b.check(
        &format!(
            "select BulkColumn, len(BulkColumn) from openrowset(bulk '{plain}', single_clob) as f"
        ),
        "caf\u{e9}\n|5",
    );
    b.check(
        &format!("select f.x from openrowset(bulk N'{latin}', single_clob) f (x)"),
        "caf\u{e9}",
    );
    b.check(&format!("select BulkColumn from openrowset(bulk '{mark}', single_clob) f"), "x");
    b.check(
        &format!("select BulkColumn from openrowset(bulk '{utf16}', single_nclob) f"),
        "\u{416}uk",
    );
    b.check(
        &format!("select BulkColumn, datalength(BulkColumn) from openrowset(bulk '{bytes}', single_blob) f"),
        "0x0001FF|3",
    );
    b.check(&format!("create table kept (id int identity, d varbinary(max), c varchar(9) null default 'none', constraint small check (id < 9 or id > 20))
        insert kept (d) select BulkColumn from openrowset(bulk '{bytes}', single_blob) f select id, d, c from kept"), "(1)\n1|0x0001FF|none");
    // Hints of the target are about files.
    let from = format!("from openrowset(bulk '{bytes}', single_blob) f");
    b.check(&format!("insert kept with (keepidentity, keepdefaults) (id, d, c) select 7, BulkColumn, null {from}; select id, c from kept where id = 7"), "(1)\n7|none");
    b.check(&format!("insert kept (id, d) select 8, BulkColumn {from}"), "Msg 544: Cannot insert explicit value for identity column in table 'kept' when IDENTITY_INSERT is set to OFF.");
    b.check("insert kept with (keepidentity) (id, d) select 8, 0x", "Msg 544: Cannot insert explicit value for identity column in table 'kept' when IDENTITY_INSERT is set to OFF.");
    b.check(&format!("insert kept with (keepidentity) (id, c) select 20, null {from}"),
        "Msg 547: The INSERT statement conflicted with the CHECK constraint \"small\". The conflict occurred in database \"t\", table \"dbo.kept\".");
    b.check(&format!("insert kept with (keepidentity, ignore_constraints) (id, c) select 20, null {from}; select id, c from kept where id = 20"), "(1)\n20|NULL");
    b.check("create table seen (n int)", "");
    b.check("create trigger tr on kept after insert as insert seen select id from inserted", "");
    b.check(&format!("insert kept with (ignore_triggers) (d) select BulkColumn {from}; insert kept (d) select BulkColumn {from}; select count(*) from seen"), "(1)\n(1)\n(1)\n1");
    let i = &b.instance.clone();
    text::fails(i, &format!("select * from openrowset(bulk '{plain}', single_nclob) f"), &[4809]);
    text::fails(i, &format!("select * from openrowset(bulk '{utf16}', single_clob) f"), &[4806]);
    text::fails(i, &format!("select * from openrowset(bulk '{plain}', single_clob)"), &[491]);
    text::fails(i, "select * from openrowset(bulk '/nowhere/x', single_clob) f", &[4860]);
    text::fails(
        i,
        &format!("select * from openrowset(bulk '{plain}', single_clob, codepage = 'raw') f"),
        &[102],
    );
    text::fails(
        i,
        &format!("select * from openrowset(bulk '{plain}', formatfile = 'x') f"),
        &[40517],
    );
    // ADMINISTER BULK OPERATIONS, of a login; a user without one has no rights of the server.
    b.check("create login l with password = 'Some-pass-1' create user u for login l", "");
    text::fails(
        i,
        &format!(
            "use t; execute as login = 'l'; select * from openrowset(bulk '{plain}', single_clob) f"
        ),
        &[4834],
    );
    text::run(i, "use master; grant administer bulk operations to l");
    text::run(
        i,
        &format!(
            "use t; execute as login = 'l'; select * from openrowset(bulk '{plain}', single_clob) f"
        ),
    );
}
