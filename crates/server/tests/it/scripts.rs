//! Scripts say the same over the wire as in process: result sets, counts, messages and errors,
//! batch by batch. The experiments' own scripts always; those of a folder too where
//! `RINGWOOD_SCRIPTS` names one (all its `*.sql`, each in a new database).

use std::fmt::Write as _;
use std::path::Path;

use crate::support::{Client, TestServer};
use engine::{ColumnInfo, DataType, ResultRows, Sink, SqlError, StatementEnd, Value};
use tds::client::{ServerMessage, Token};
use tds::tokens::DoneStatus;
use types::display::format_value;

/// What a script has said, a line each.
#[derive(Default)]
struct ScriptLines {
    lines: Vec<String>,
    types: Vec<DataType>,
}

impl ScriptLines {
    fn sees_columns<'a>(&mut self, columns: impl Iterator<Item = (&'a str, DataType)>) {
        let mut line = String::from("columns");
        self.types.clear();
        for (name, ty) in columns {
            let _ = write!(line, " [{name}]");
            self.types.push(ty);
        }
        self.lines.push(line);
    }

    fn sees_row(&mut self, row: &[Value]) {
        assert_eq!(row.len(), self.types.len());
        let cells: Vec<String> =
            row.iter().zip(&self.types).map(|(v, ty)| format_value(v, *ty)).collect();
        self.lines.push(cells.join("|"));
    }

    fn sees_message(&mut self, number: i32, severity: u8, line: u32, text: &str) {
        // How much a backup has written and how long it took is another thing each time.
        let text = match text.contains("successfully processed") || text.starts_with("Processed ") {
            true => text.split(|c: char| c.is_ascii_digit()).next().unwrap_or(""),
            false => text,
        };
        // Severity 10 is class 0 on the wire.
        let severity = if severity == 10 { 0 } else { severity };
        self.lines.push(format!("{number}, {severity}, line {line}: {text}"));
    }
}

impl Sink for ScriptLines {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.sees_columns(columns.iter().map(|c| (c.name.as_str(), c.ty)));
        Ok(())
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.sees_row(row);
            Ok(())
        })
    }

    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        if let Some(rows) = end.rows {
            self.lines.push(format!("({rows})"));
        }
        Ok(())
    }

    // The wire tells of both alike.
    fn step(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        self.done(end)
    }

    fn message(&mut self, m: &SqlError) -> Result<(), SqlError> {
        self.sees_message(m.number, m.severity, m.line, &m.message);
        Ok(())
    }

    fn error(&mut self, e: &SqlError) -> Result<(), SqlError> {
        self.message(e)
    }
}

/// What an answer's tokens say.
fn answered(said: &mut ScriptLines, tokens: &[Token]) {
    let message = |said: &mut ScriptLines, m: &ServerMessage| {
        said.sees_message(m.number, m.severity, m.line, &m.message)
    };
    for token in tokens {
        match token {
            Token::Columns(columns) if !columns.is_empty() => {
                let ty = |column: &tds::Column| column.ty.data_type().expect("a type");
                said.sees_columns(columns.iter().map(|c| (c.name.as_str(), ty(c))));
            }
            Token::Row(row) => said.sees_row(row),
            Token::Done { status, rows, .. } if status.contains(DoneStatus::COUNT) => {
                said.lines.push(format!("({rows})"));
            }
            Token::Error(m) | Token::Info(m) => message(said, m),
            _ => {}
        }
    }
}

/// Runs a script on two new servers, in a session of the one and over the wire on the other.
fn both_ways(name: &str, scripts: &[String]) {
    let (here, there) = (TestServer::start(), TestServer::start());
    let mut session = here.instance.session().expect("a session");
    let mut client: Client = there.client();
    for batch in scripts.iter().flat_map(|script| syntax::split_batches(script)) {
        for _ in 0..batch.count {
            let (mut embedded, mut wired) = (ScriptLines::default(), ScriptLines::default());
            session.execute(batch.text, &mut embedded);
            answered(&mut wired, &client.batch(batch.text).tokens);
            assert_eq!(
                embedded.lines, wired.lines,
                "{name}, line {}: {}",
                batch.first_line, batch.text
            );
        }
    }
}

/// A script of the experiments, with what makes it long replaced.
fn script(name: &str, replaced: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data").join(name);
    let text = std::fs::read_to_string(path).expect("a script");
    replaced.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{name} has no '{from}'");
        text.replace(from, to)
    })
}

#[test]
fn log_growth() {
    // 8 MB in place of 5 GB, 200 of the 40,000 rounds.
    let databases =
        script("log-growth-databases.sql", &[("5120000KB", "8192KB"), ("262144KB", "2048KB")]);
    let workload = script("log-growth-workload.sql", &[("40000", "200")]);
    let table = script("log-growth-table.sql", &[]);
    let used = |name: &str| format!("use {name}");
    let question =
        "select a, c, left(b, 3) as b from vlf_test; select count(*) from sys.dm_db_log_info(null)"
            .to_string();
    let mut all = vec![databases];
    for name in ["HighVLF", "LowVLF"] {
        all.extend([
            used(name),
            table.clone(),
            workload.clone(),
            "set nocount off".to_string(),
            question.clone(),
        ]);
    }
    all.push(script("log-growth-backups.sql", &[]));
    both_ways("log-growth", &all);
}

#[test]
fn vlf_count() {
    let fill = "insert customer (c_id, c_d_id, c_w_id, c_data, c_discount, c_since)
        select value / 10 + 1, value % 10 + 1, 1, replicate('ABC ', 100), 0.1234, '2008-02-29T12:34:56.789'
        from generate_series(0, 299)";
    let question = "select top 3 * from customer_tmp order by c_w_id, c_d_id, c_id; select count(*) from customer";
    let all = [
        script("vlf-count-schema.sql", &[]),
        fill.to_string(),
        script("vlf-count-workload.sql", &[]),
        question.to_string(),
    ];
    both_ways("vlf-count", &all);
}

#[test]
fn log_block_size() {
    let tables =
        "create database YourTestDB\ngo\nuse YourTestDB\ngo\ncreate table YourTestTable (a int)
        create table tab1 (col1 varchar(1000), col2 varchar(1000), col3 varchar(2000))";
    // One second instead of thirty.
    let all =
        [tables.to_string(), script("log-block-size-workload.sql", &[("SECOND,30", "SECOND,1")])];
    both_ways("log-block-size", &all);
}

/// The questions of a file of `engine/tests/data/metadata`.
fn questions(file: &str) -> impl Iterator<Item = String> {
    let mut all = vec![String::new()];
    for line in file.lines() {
        match line.strip_prefix("==== ") {
            Some(_) => all.push(String::new()),
            None => all.last_mut().expect("a question").push_str(&format!("{line}\n")),
        }
    }
    let question = |case: String| case.split("----\n").next().unwrap_or_default().to_owned();
    all.into_iter().skip(1).map(question)
}

#[test]
fn views_of_the_catalogue() {
    let mut all =
        vec!["create database t\ngo\nuse t".to_string(), script("metadata/schema.sql", &[])];
    all.extend(["old_views", "running_views"].iter().flat_map(|name| {
        let file = script(&format!("metadata/{name}.txt"), &[]);
        questions(&file).collect::<Vec<_>>()
    }));
    both_ways("views of the catalogue", &all);
}

#[test]
fn rights_and_what_was_counted() {
    let security = "create database t
        go
        use t
        go
        create table dbo.orders (id int primary key, owner sysname, amount int)
        insert dbo.orders values (1, 'ann', 10), (2, 'ben', 20), (3, 'ann', 30)
        create user ann without login
        create user ben without login
        grant select, insert, update, delete on dbo.orders to ann, ben
        go
        create function dbo.own(@owner sysname) returns table with schemabinding as
            return select 1 as ok where @owner = user_name() or is_member('db_owner') = 1
        go
        create security policy dbo.rows add filter predicate dbo.own(owner) on dbo.orders,
            add block predicate dbo.own(owner) on dbo.orders after insert
        go
        declare @cookie varbinary(100)
        execute as user = 'ann' with cookie into @cookie
        select user_name(), id, amount from dbo.orders order by id
        insert dbo.orders values (4, 'ben', 40)
        update dbo.orders set amount += 1
        revert
        select user_name()
        revert with cookie = @cookie
        select user_name(), id, amount from dbo.orders order by id
        go
        execute as user = 'ben'
        go
        delete dbo.orders
        select count(*) from dbo.orders
        go
        revert
        select count(*) from dbo.orders
        go
        revert with cookie = 0x0102
        go
        create application role clerk with password = 'Some-l0ng-one'
        grant select on dbo.orders to clerk
        go
        exec sp_setapprole 'clerk', 'wrong'
        go
        select user_name()
        go
        declare @cookie varbinary(8000)
        exec sp_setapprole 'clerk', 'Some-l0ng-one', @fcreatecookie = true, @cookie = @cookie output
        select user_name(), count(*) from dbo.orders
        create table denied (id int)
        exec sp_unsetapprole @cookie
        select user_name()";
    let counted = "alter database t set query_store = on (operation_mode = read_write, query_capture_mode = all)
        go
        create table wide (id int primary key, a int, b int)
        insert wide select value, value % 10, value from generate_series(1, 500)
        go
        select id from wide where a = 3 and b > 490
        go
        select b from wide where id = 7
        go 3
        select actual_state_desc, query_capture_mode_desc from sys.database_query_store_options
        select t.query_sql_text, q.object_id, count(*) from sys.query_store_query_text t
        join sys.query_store_query q on q.query_text_id = t.query_text_id
        where t.query_sql_text like '%from wide%' and t.query_sql_text not like '%query_store%'
        group by t.query_sql_text, q.object_id order by 1
        select sum(r.count_executions) from sys.query_store_runtime_stats r
        join sys.query_store_plan p on p.plan_id = r.plan_id join sys.query_store_query q on q.query_id = p.query_id
        join sys.query_store_query_text t on t.query_text_id = q.query_text_id where t.query_sql_text like '%where id =%'
        select index_id, user_seeks, user_scans, user_lookups, user_updates from sys.dm_db_index_usage_stats
        where database_id = db_id() and object_id = object_id('wide')
        select equality_columns, inequality_columns, included_columns from sys.dm_db_missing_index_details
        where object_id = object_id('wide')";
    both_ways("rights and what was counted", &[security.to_string(), counted.to_string()]);
}

#[test]
fn scripts_of_a_folder() {
    let Some(folder) = std::env::var_os("RINGWOOD_SCRIPTS") else { return };
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    paths.sort();
    for path in paths {
        let bytes = std::fs::read(&path).expect("a script");
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|e| e.into_bytes().iter().map(|b| *b as char).collect());
        let database = "create database scripted\ngo\nuse scripted".to_string();
        both_ways(&path.display().to_string(), &[database, text]);
    }
}

/// The user type and the type on the wire of each column of a query.
fn on_the_wire(client: &mut Client, sql: &str) -> Vec<(u32, tds::TypeInfo)> {
    let answer = client.batch(sql);
    let columns = answer.tokens.iter().find_map(|token| match token {
        Token::Columns(columns) => Some(columns),
        _ => None,
    });
    columns.expect("columns").iter().map(|c| (c.user_type, c.ty)).collect()
}

#[test]
fn collations() {
    let table = "create table c (id int primary key, p varchar(20) collate Polish_CI_AS, u varchar(20) collate Latin1_General_100_CI_AS_SC_UTF8,
        j char(6) collate Japanese_BIN2, g varchar(max) collate Greek_CI_AS, t text collate Cyrillic_General_CI_AS, n nvarchar(9) collate French_CI_AI)";
    let rows = "insert c values (1, N'żółw', N'żółw😀', N'日本', N'αβγ', N'Жук', N'é'), (2, N'Ż', N'я', N'a', N'ł', N'ł', N'e')
        select * from c order by p
        select p + 'a', u collate Latin1_General_BIN2, upper(p) from c
        select count(*) from c where n = N'E' and p <> 'x'
        select ci = p, datalength(p), datalength(u), datalength(j) from (select p, p as ci, u, j from c) d
        declare @p varchar(20) = (select top 1 p from c order by id) select @p";
    let fails = "select p from c union select u from c
        go
        select p + u from c
        go
        select 'a' collate No_CI_AS
        go
        declare @v varchar(9) select @v = p + u from c";
    let lists = "select count(*) from sys.fn_helpcollations() where name like 'Polish%'
        select name, description from fn_helpcollations() where name in ('Polish_100_CS_AI_KS_WS_SC_UTF8', 'Polish_BIN', 'SQL_Latin1_General_CP1250_CI_AS')
        select collationproperty('Polish_100_CI_AS', 'version'), collationproperty('Greek_CS_AI', 'comparisonstyle'), serverproperty('collation')
        select column_name, character_set_name, collation_name from information_schema.columns where table_name = 'c'";
    both_ways("collations", &[table, rows, fails, lists].map(str::to_string));
    let server = TestServer::start();
    let mut client = server.client();
    client.batch(table);
    let types = on_the_wire(&mut client, "select p, u, j, g, n from c");
    let wires: Vec<_> =
        types.iter().map(|(_, ty)| ty.collation().expect("a collation").0).collect();
    let expected = [
        [0x15, 0x04, 0xD0, 0x00, 0],
        [0x09, 0x04, 0xD0, 0x24, 0],
        [0x11, 0x04, 0x00, 0x02, 0],
        [0x08, 0x04, 0xD0, 0x00, 0],
        [0x0C, 0x04, 0xF0, 0x00, 0],
    ];
    assert_eq!(wires, expected);
}

#[test]
fn masks() {
    let table = "create database m\ngo\nuse m\ngo\ncreate table people (id int primary key, mail varchar(40) masked with (function = 'email()'),
        card char(8) masked with (function = 'partial(0, \"XXXX\", 4)'), pay money masked with (function = 'default()'))
        insert people values (1, 'ann@x.com', '12345678', 12.5), (2, null, null, null)
        create user u without login
        grant select on people to u";
    let seen = "execute as user = 'u'
        select * from people
        select pay * 2 as twice, max(mail) as mail from people group by pay
        select id, mail from people for json auto
        select cast(mail as int) from people
        revert
        select * from people";
    both_ways("masks", &[table, seen].map(str::to_string));
    // One plan, two logins: who may see it and who may not.
    let server = TestServer::start();
    let mut sa = server.client();
    sa.run("create database m");
    sa.run("use m");
    sa.run(&table[table.find("create table").expect("a table")..]);
    sa.run("create login ann with password = 'An-0ther-one'; create user ann; grant select on people to ann");
    let question = "select mail from people where id = 1";
    assert_eq!(sa.value(question), Value::str("ann@x.com"));
    let mut ann = Client::connect(
        server.address,
        tds::prelogin::Encryption::NotSupported,
        "ann",
        "An-0ther-one",
        "m",
    )
    .expect("a login");
    assert_eq!(ann.value(question), Value::str("aXXX@XXXX.com"));
    let asked = "exec sp_executesql N'select mail from people where id = @id', N'@id int', 1";
    assert_eq!(sa.value(asked), Value::str("ann@x.com"));
    assert_eq!(ann.value(asked), Value::str("aXXX@XXXX.com"));
    sa.run("grant unmask on people (mail) to ann");
    assert_eq!(ann.value(question), Value::str("ann@x.com"));
    sa.run("revoke unmask on people (mail) from ann");
    assert_eq!(ann.value(asked), Value::str("aXXX@XXXX.com"));
    assert_eq!(ann.batch("update people set pay = 1").error_numbers(), [229]);
}

#[test]
fn rowversion() {
    let table = "create table v (id int primary key, n int, v rowversion, index i (v));";
    let changes = "insert v (id, n) output inserted.v values (1, 2), (2, 3); update v set n = 5 where id = 1; select * from v
        select id from v where v > 0x07d2; select @@dbts, min_active_rowversion(); insert v values (1, 1, 0x01); update v set v = 1
        declare @v timestamp = 7; select @v, cast(@v as int), convert(varchar(20), @v, 1)";
    both_ways("rowversion", &[table.to_string(), changes.to_string()]);
    let server = TestServer::start();
    let mut client = server.client();
    client.batch("create table #v (n int, v rowversion, index i (v)); insert #v (n) values (1)");
    let sent = on_the_wire(&mut client, "select v, cast(v as binary(8)) from #v");
    assert_eq!(sent, [(80, tds::TypeInfo::Binary(8)), (0, tds::TypeInfo::Binary(8))]);
}

#[test]
fn text_ntext_and_image() {
    let table = "create table old (id int primary key, t text, n ntext, i image)";
    let changes = "insert old values (1, 'caf\u{e9}', N'\u{416}', 0x0102), (2, null, null, null), (3, '', N'', 0x); select * from old
        select cast('x' as text), t from old where id = 1; select id from old where t = 'x'; declare @t text
        select substring(t, 1, 2), datalength(n) from old where t like '%f%'";
    both_ways("text", &[table.to_string(), changes.to_string()]);
    let server = TestServer::start();
    let mut client = server.client();
    client.batch("create table #old (t text, n ntext, i image)");
    let types: Vec<_> =
        on_the_wire(&mut client, "select * from #old").into_iter().map(|(_, ty)| ty).collect();
    assert!(
        matches!(
            types[..],
            [tds::TypeInfo::Text(_), tds::TypeInfo::NText(_), tds::TypeInfo::Image]
        ),
        "{types:?}"
    );
    client.batch("create table tempdb.dbo.kept (t text)");
    let answer = client.batch("select t, cast('x' as text) as x from tempdb.dbo.kept");
    let tables = answer.tokens.iter().find_map(|token| match token {
        Token::Columns(columns) => {
            Some(columns.iter().map(|c| c.table.join(".")).collect::<Vec<_>>())
        }
        _ => None,
    });
    assert_eq!(tables.as_deref(), Some(&["dbo.kept".to_string(), String::new()][..]));
}

#[test]
fn xml() {
    let table = "create table x (id int primary key, d xml)";
    let changes = "insert x values (1, '<a n=\"1\"><b>caf\u{e9}</b></a>'), (2, null); select * from x; select d.value('(/a/@n)[1]', 'int') from x
        update x set d.modify('insert <c/> into (/a)[1]') where id = 1; select d.query('/a/*') from x where id = 1
        select n.c.value('.', 'nvarchar(9)') from x cross apply d.nodes('/a/b') n (c); select cast('<a>' as xml)
        select id from x for xml raw, type; select d.value('/a/b', 'int') from x";
    both_ways("xml", &[table.to_string(), changes.to_string()]);
    let server = TestServer::start();
    let mut client = server.client();
    let sent = on_the_wire(&mut client, "select cast('<a/>' as xml)");
    assert_eq!(sent, [(0, tds::TypeInfo::Xml)]);
}

/// The system's procedures: the questions of the engine's tests, but for those whose answers have
/// times in them.
#[test]
fn procedures_of_the_system_say_the_same() {
    let schema = script("metadata/schema.sql", &[]);
    for name in ["procedures_in_sql", "definitions"] {
        let file = script(&format!("metadata/{name}.txt"), &[]);
        let mut scripts =
            vec![String::from("CREATE DATABASE t"), String::from("USE t"), schema.clone()];
        for case in file.split("==== ").skip(1) {
            let (about, rest) = case.split_once('\n').expect("a question");
            if !about.ends_with("(times)") {
                scripts.push(rest.split("\n----\n").next().expect("a question").to_owned());
            }
        }
        both_ways(name, &scripts);
    }
}

#[test]
fn calls_with_declared_results() {
    let setup = "create table t (id int primary key, v varchar(10) null) insert t values (1, '1'), (2, 'x')
        create user u without login\ngo\ncreate procedure two as select id, v from t select 'z' a, 2 b";
    let calls = "exec two with result sets ((n bigint not null, w nvarchar(1)), (a char(3), b money))
        go\nexec two with result sets none\ngo\nexec two with result sets ((n bigint, w int), (a int, b int))
        go\nexec two with result sets (as object t, as object t)\ngo\nexec two with result sets ((n int, w xml)) print 'no'
        go\nexec ('select user_name() u') as user = 'u' with result sets ((who varchar(9)))
        go\nset fmtonly on exec two with result sets ((n bigint, w int)) set fmtonly off
        go\nselect v, identity(smallint, 5, 5) n into #n from t select * from #n order by n
        select v, count(*) from t where id > 1 group by all v order by v";
    both_ways("calls", &[setup.to_string(), calls.to_string()]);
}

#[test]
fn forms_of_changes_queries_and_messages() {
    let setup = "create table s (id int primary key, v varchar(9) null) insert s values (1, 'a'), (2, 'b')
        create table log (no int identity, id int, v varchar(9) null)\ngo\ncreate view small as select id, v from s where id < 9";
    let forms = "insert log (id, v) select id, v from (update s set v = 'x' output deleted.id, deleted.v) d where id > 1 select id, v from log
        go\ninsert log (id) select id from (delete s) d\ngo\nmerge small t using (values (2, 'c'), (3, 'd')) x (id, v) on x.id = t.id
        when matched then update set v = x.v when not matched then insert values (x.id, x.v) output $action, inserted.*;
        go\nwith xmlnamespaces ('u' as n) select id as [n:id] from s for xml path ('n:r')
        go\nselect 1 as tag, null as parent, id as [s!1!id], v as [s!1!v!element] from s for xml explicit
        go\nexec sp_addmessage 50001, 14, N'%d is %s' raiserror (50001, -1, 2, 5, 'five') select formatmessage(50001, 6, 'six')
        select message_id, severity, text from sys.messages where message_id > 50000 exec sp_dropmessage 50001 raiserror (50001, 16, 1)
        go\ndeclare @r cursor, @v cursor set @v = cursor static for select 1 exec sp_describe_cursor @r output, N'variable', N'@v' fetch next from @r
        go\nselect id from s option (table hint (s, forcescan)) select id from s option (table hint (x, forcescan))
        go\nselect * from openrowset(bulk '/nowhere/at/all', single_blob) f";
    both_ways("forms", &[setup.to_string(), forms.to_string()]);
}

#[test]
fn hierarchies() {
    let table = "create table tree (node hierarchyid primary key, name varchar(9))";
    let changes = "insert tree values ('/', 'root'), ('/1/', 'a'), ('/1/2.1/', 'b'); select node, node.ToString(), node.GetLevel(), name from tree order by node
        update tree set node = node.GetReparentedValue('/1/', '/3/') output inserted.node where node.IsDescendantOf('/1/') = 1 select cast('/x/' as hierarchyid)";
    both_ways("hierarchyid", &[table.to_string(), changes.to_string()]);
    let server = TestServer::start();
    let mut client = server.client();
    client.batch("create table #t (node hierarchyid)");
    let sent = on_the_wire(&mut client, "select node, node.GetLevel() from #t");
    assert_eq!(sent, [(0, tds::TypeInfo::Hierarchy), (0, tds::TypeInfo::Int(2))]);
}

#[test]
fn statistics_io() {
    let tables = "create table parent (id int primary key, v varchar(max)); create table child (id int primary key, parent int references parent)";
    let reads = "set statistics io on; insert parent values (1, replicate(cast('x' as varchar(max)), 50000)), (2, null); insert child values (1, 2)
        select len(v) from parent; select c.id from child c join parent p on p.id = c.parent; if exists (select * from child) print 'yes'
        select count(*) from parent where id = 1; set statistics io, time off; select count(*) from child";
    both_ways("statistics io", &[tables.to_string(), reads.to_string()]);
}
