//! hierarchyid: methods, conversions, columns and keys, the catalog.

use crate::support::text::Bench;

#[test]
fn methods() {
    let b = &mut Bench::new();
    b.check(
        "declare @h hierarchyid = hierarchyid::Parse('/1/2/3/')
         select @h, @h.ToString(), @h.GetLevel(), @h.GetAncestor(1).ToString(), @h.GetAncestor(4), hierarchyid::GetRoot().ToString(),
             @h.IsDescendantOf('/1/'), @h.IsDescendantOf(@h), @h.IsDescendantOf('/2/'), @h.GetReparentedValue('/1/', '/7/').ToString()",
        "0x5B5E|/1/2/3/|3|/1/2/|NULL|/|1|1|0|/7/2/3/",
    );
    b.check(
        "declare @p hierarchyid = '/4/'
         select @p.GetDescendant(null, null).ToString(), @p.GetDescendant('/4/1/', null).ToString(),
             @p.GetDescendant(null, '/4/1/').ToString(), @p.GetDescendant('/4/1/', '/4/2/').ToString()",
        "/4/1/|/4/2/|/4/0/|/4/1.1/",
    );
    b.check(
        "declare @h hierarchyid select @h.GetLevel(), @h.ToString(), @h.GetDescendant(null, null)",
        "NULL|NULL|NULL",
    );
    for sql in [
        "select hierarchyid::Parse('1/2')",
        "select cast('/a/' as hierarchyid)",
        "select cast(0x01 as hierarchyid)",
        "declare @h hierarchyid = '/1/' select @h.GetAncestor(-1)",
        "declare @h hierarchyid = '/1/' select @h.GetDescendant('/2/1/', null)",
        "declare @h hierarchyid = '/1/' select @h.GetDescendant('/1/2/', '/1/1/')",
        "declare @h hierarchyid = '/1/' select @h.GetReparentedValue('/2/', '/3/')",
    ] {
        b.fails(sql, 6522);
    }
    b.fails("declare @h hierarchyid select @h.getlevel()", 6506);
    b.fails("select hierarchyid::Nothing()", 6506);
    b.fails("declare @h hierarchyid select @h.GetLevel(1)", 174);
    b.fails("declare @n int = 1 select @n.GetLevel()", 258);
}

#[test]
fn static_members() {
    let mut b = Bench::new();
    b.check(
        "select hierarchyid::GetRoot().ToString(), [hierarchyid]::GetRoot().ToString(), sys.hierarchyid::Parse('/1/').ToString(),
             [sys].[hierarchyid] :: Parse ( '/2/' ) . ToString(), HierarchyID::GetRoot().GetDescendant(null, null).ToString(),
             hierarchyid::[Null]",
        "/|/|/1/|/2/|/1/|NULL",
    );
    b.check(
        "create table h (id int, node hierarchyid default hierarchyid::GetRoot(), check (node.IsDescendantOf(hierarchyid::GetRoot()) = 1))",
        "",
    );
    b.check("insert h (id) values (1) insert h values (2, hierarchyid::Parse('/1/'))", "(1)\n(1)");
    b.check(
        "create view hv with schemabinding as select id from dbo.h where node = hierarchyid::GetRoot()",
        "",
    );
    b.check("select id from hv", "1");
    b.check(
        "select top (hierarchyid::GetRoot().GetLevel() + 2) case when node <> hierarchyid::GetRoot() then 'below' end from h
         order by iif(node = hierarchyid::GetRoot(), 1, 2)",
        "NULL\nbelow",
    );
    b.check(
        "declare @h hierarchyid = hierarchyid::GetRoot() set @h = @h.GetDescendant(hierarchyid::Parse('/4/'), null) select @h.ToString()",
        "/5/",
    );
    for (sql, said) in [
        ("select geometry::Point(1, 2, 0)", "Msg 243: Type geometry is not a defined system type."),
        ("select geography::[Null]", "Msg 243: Type geography is not a defined system type."),
        (
            "select dbo.hierarchyid::GetRoot()",
            "Msg 243: Type dbo.hierarchyid is not a defined system type.",
        ),
        ("select id::Parse('1') from h", "Msg 243: Type id is not a defined system type."),
        ("select int::Parse('1')", "Msg 258: Cannot call methods on int."),
        (
            "select hierarchyid::GetRoot",
            "Msg 6592: Could not find property or field 'GetRoot' for type 'Microsoft.SqlServer.Types.SqlHierarchyId' in assembly \
             'Microsoft.SqlServer.Types'.",
        ),
        (
            "select hierarchyid::getroot()",
            "Msg 6506: Could not find method 'getroot' for type 'Microsoft.SqlServer.Types.SqlHierarchyId' in assembly \
             'Microsoft.SqlServer.Types'",
        ),
    ] {
        b.check(sql, said);
    }
    b.fails("select hierarchyid::GetRoot(1)", 174);
    b.fails("select hierarchyid.GetRoot()", 4121);
}

#[test]
fn aggregates_inside_methods_and_time_zones() {
    let mut b = Bench::new();
    b.check(
        "create table h (id int, node hierarchyid) insert h values (1, '/'), (2, '/1/'), (3, '/1/2/')",
        "(3)",
    );
    b.check("select max(node).ToString(), min(node).GetLevel(), hierarchyid::Parse(max(node.ToString())).GetLevel() from h", "/1/2/|0|2");
    b.check(
        "select node.GetLevel(), max(node).ToString() from h group by node.GetLevel() order by 1",
        "0|/\n1|/1/\n2|/1/2/",
    );
    b.check(
        "create table m (d datetime2(0)) insert m values ('2024-01-01'), ('2024-07-01') select max(d) at time zone 'UTC' from m",
        "(2)\n2024-07-01 00:00:00 +00:00",
    );
    b.check("create function dbo.max (@n int) returns int as begin return @n + 1 end", "");
    b.check("select dbo.max(id) from h order by id", "2\n3\n4");
}

#[test]
fn conversions() {
    let b = &mut Bench::new();
    b.check(
        "select cast('/1/' as hierarchyid), cast(cast('/1/' as hierarchyid) as nvarchar(20)), cast(cast('/16/' as hierarchyid) as varbinary(10)),
             cast(0x58 as hierarchyid).ToString(), convert(varchar(10), hierarchyid::GetRoot())",
        "0x58|/1/|0xC110|/1/|/",
    );
    b.fails("select cast(1 as hierarchyid)", 529);
    b.fails("declare @h hierarchyid = '/1/' select 'x' + @h", 8117);
    b.fails("declare @h hierarchyid = '/1/', @s varchar(10) set @s = @h", 257);
    b.check("declare @h hierarchyid = '/1/' select case when @h = '/1/' then 'same' end, coalesce(@h, '/2/').ToString()", "same|/1/");
}

#[test]
fn columns_keys_and_order() {
    let mut b = Bench::new();
    b.check("create table org (node hierarchyid primary key clustered, lvl as node.GetLevel(), name varchar(20) not null)", "");
    b.check("insert org (node, name) values ('/', 'root'), ('/2/', 'b'), ('/1/', 'a'), ('/1/1/', 'aa'), ('/1/2/', 'ab'), ('/10/', 'c')", "(6)");
    b.fails("insert org (node, name) values ('/1/', 'again')", 2627);
    let walk = "select node.ToString(), lvl, name from org order by node";
    let expected = "/|0|root\n/1/|1|a\n/1/1/|2|aa\n/1/2/|2|ab\n/2/|1|b\n/10/|1|c";
    b.check(walk, expected);
    b.check("select name from org where node = '/1/2/'", "ab");
    b.check(
        "select name from org where node.IsDescendantOf('/1/') = 1 order by node desc",
        "ab\naa\na",
    );
    b.check("select o.name, count(*) from org o join org c on c.node.GetAncestor(1) = o.node group by o.name order by 1", "a|2\nroot|3");
    b.check("declare @last hierarchyid = (select max(node) from org where node.GetAncestor(1) = '/1/')
        insert org (node, name) select cast('/1/' as hierarchyid).GetDescendant(@last, null), 'ac' select name from org where node = '/1/3/'", "(1)\nac");
    b.check("update org set node = node.GetReparentedValue('/1/', '/2/') where node.IsDescendantOf('/1/') = 1 and node <> '/1/'", "(3)");
    b.check("create index by_level on org (lvl, node) select node.ToString() from org where lvl = 2 order by node", "/2/1/\n/2/2/\n/2/3/");
    let mut b = b.restart();
    b.check("select node.ToString() from org where lvl = 2 order by node", "/2/1/\n/2/2/\n/2/3/");
    b.check("select t.name, c.max_length, c.system_type_id, c.user_type_id, t.is_assembly_type from sys.columns c join sys.types t
        on t.user_type_id = c.user_type_id where c.object_id = object_id('org') and c.name = 'node'", "hierarchyid|892|240|128|1");
    b.check("select data_type, character_maximum_length from information_schema.columns where column_name = 'node'", "hierarchyid|892");
    b.check("select name from org where node in ('/', '/10/') order by node", "root\nc");
    b.check("delete org where node.GetLevel() > 0 select count(*) from org", "(6)\n1");
}
