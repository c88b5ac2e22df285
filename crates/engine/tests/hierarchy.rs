//! hierarchyid: methods, conversions, columns and keys, the catalog.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use text::Bench;

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
    b.check("select name from org where node.IsDescendantOf('/1/') = 1 order by node desc", "ab\naa\na");
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
