//! The texts that drivers send at login, between transactions and before bulk copies run as they
//! are: without separators between statements, with names and blanks as they write them.

use crate::support::tape::Bench;

fn bench() -> Bench {
    let mut b = Bench::new();
    b.setup(&["create table t (id int identity primary key, n int null, x nvarchar(20) null)"]);
    b
}

/// tedious, pymssql, jTDS, JDBC, ODBC, sqlcmd, go-mssqldb, Entity Framework: after login and around
/// transactions.
const LOGIN: [&str; 22] = [
    "set ansi_nulls on\nset ansi_null_dflt_on on\nset ansi_padding on\nset ansi_warnings on\nset arithabort on\nset \
     concat_null_yields_null on\nset datefirst 7\nset dateformat mdy\nset implicit_transactions off\nset language us_english\nset \
     numeric_roundabort off\nset quoted_identifier on\nset textsize 2147483647\nset transaction isolation level read committed\nset \
     xact_abort off",
    "SET ARITHABORT ON;SET CONCAT_NULL_YIELDS_NULL ON;SET ANSI_NULLS ON;SET ANSI_NULL_DFLT_ON ON;SET ANSI_PADDING ON;SET ANSI_WARNINGS \
     ON;SET CURSOR_CLOSE_ON_COMMIT ON;SET QUOTED_IDENTIFIER ON;SET TEXTSIZE 2147483647;",
    "use [master]",
    "BEGIN TRAN",
    "COMMIT TRAN",
    "BEGIN TRAN",
    "ROLLBACK TRAN",
    "SELECT @@MAX_PRECISION\nSET TRANSACTION ISOLATION LEVEL READ COMMITTED\nSET IMPLICIT_TRANSACTIONS OFF\nSET QUOTED_IDENTIFIER \
     ON\nSET TEXTSIZE 2147483647",
    "set textsize 4096 ",
    "SET QUOTED_IDENTIFIER OFF SET ARITHABORT OFF SET NUMERIC_ROUNDABORT OFF SET ANSI_WARNINGS ON SET ANSI_PADDING ON SET ANSI_NULLS ON \
     SET CONCAT_NULL_YIELDS_NULL ON SET CURSOR_CLOSE_ON_COMMIT OFF SET IMPLICIT_TRANSACTIONS OFF SET LANGUAGE us_english SET DATEFORMAT \
     mdy SET DATEFIRST 7 SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "select 1;",
    "set implicit_transactions on ",
    "IF @@TRANCOUNT > 0 COMMIT TRAN",
    "IF @@TRANCOUNT > 0 ROLLBACK TRAN",
    "set implicit_transactions off IF @@TRANCOUNT > 0 COMMIT TRAN ",
    "set transaction isolation level  serializable ",
    "set transaction isolation level read committed SELECT SCHEMA_NAME()",
    "SET ROWCOUNT 5",
    "SET ROWCOUNT 0",
    "SET IMPLICIT_TRANSACTIONS OFF; SET NOCOUNT ON; INSERT t (n) OUTPUT INSERTED.[id] VALUES (1); SET NOCOUNT OFF",
    "SELECT @@spid spid",
    "SELECT DB_NAME() AS \"db\", 1 'TABLE_SCHEM' SELECT 2 [x]",
];

#[test]
fn texts_at_login_and_around_transactions() {
    let mut b = bench();
    b.setup(&LOGIN);
}

#[test]
fn calls_as_odbc_writes_them() {
    let mut b = bench();
    b.setup(&[
        "create procedure p @a int = 1, @b int = 2 output as select @a, @b set @b = 9 return 7",
    ]);
    fn rows(b: &mut Bench, text: &str) -> Vec<String> {
        let told = |line: &String| line.starts_with("row") || line.starts_with("error");
        b.run(text).into_iter().filter(told).collect()
    }
    assert_eq!(rows(&mut b, "{call p}"), ["row 1|2"]);
    assert_eq!(rows(&mut b, "{ CALL dbo.p() } {call [p](5)}"), ["row 1|2", "row 5|2"]);
    assert_eq!(
        rows(&mut b, "declare @r int, @x int = 3; {@r = call p(-4, @x output)}; select @r, @x"),
        ["row -4|3", "row 7|9"]
    );
    assert_eq!(rows(&mut b, "if 1 = 1 {call p(@b = 6)} else select 0"), ["row 1|6"]);
    b.setup(&["create procedure q @x int as if @x = 1 return {call p}"]);
    assert_eq!(rows(&mut b, "{call q(2)}"), ["row 1|2"]);
    for text in ["{call}", "{call p", "{p}", "{call p(1, )}", "{? = call p}"] {
        assert_eq!(rows(&mut b, text), ["error 102 line 1"], "{text}");
    }
}

#[test]
fn savepoints_as_jdbc_sets_them() {
    let mut b = bench();
    let save =
        "IF @@TRANCOUNT = 0 BEGIN BEGIN TRAN IF @@TRANCOUNT = 2 COMMIT TRAN END SAVE TRAN [S10001]";
    b.setup(&[
        "set implicit_transactions on ",
        save,
        "insert t (n) values (1)",
        "ROLLBACK TRAN [S10001]",
    ]);
    b.setup(&["insert t (n) values (2)", "IF @@TRANCOUNT > 0 COMMIT TRAN"]);
    assert_eq!(b.run("select n from t")[2], "row 2");
}

#[test]
fn nothing_between_statements() {
    let mut b = bench();
    b.check(
        "insert t (n) values (1) select SCOPE_IDENTITY() AS GENERATED_KEYS",
        &[
            "done Insert 1",
            "columns [GENERATED_KEYS Decimal { precision: 38, scale: 0, name: Numeric } null]",
            "row 1",
            "done Select 1",
        ],
    );
    b.check(
        "SET NOCOUNT ON update t set n = 2 SET NOCOUNT OFF if 1 = 1 begin select 1 a end else select 2 a print 'x' select 3 b",
        &[
            "done SetOn",
            "done Update",
            "done SetOff",
            "columns [a Int]",
            "row 1",
            "done Select 1",
            "info 0 line 1: x",
            "done Print",
            "columns [b Int]",
            "row 3",
            "done Select 1",
        ],
    );
    b.setup(&[
        "declare @t table (n int not null primary key, s sysname null, x sysname default 'd') insert @t (n) values (1) select * from @t",
        "declare @a int declare @b int set @a = 1 set @b = @a exec sp_executesql N'select @p', N'@p int', @p = @b select @a",
        "begin exec('exec(''select 1'')') exec sp_executesql N'exec sp_executesql N''select 2''' end",
        "select count(*) from ..t",
        "insert into t (n, x) output inserted.id values (1, N'a''b')",
        "SELECT TOP 0 id, n FROM t",
        "if object_id('tempdb..#u') is not null drop table #u create table #u (i int) drop table #u",
        "declare @mssqljdbc_temp_sp_columns_result TABLE(TABLE_QUALIFIER SYSNAME, TABLE_OWNER SYSNAME,COLUMN_NAME SYSNAME, DATA_TYPE \
         SMALLINT,REMARKS VARCHAR(254)); INSERT INTO @mssqljdbc_temp_sp_columns_result EXEC('select N''q'', N''o'', N''c'', 4, null');SELECT \
         COLUMN_NAME FROM @mssqljdbc_temp_sp_columns_result",
    ]);
}

#[test]
fn a_bulk_copy_asks_for_columns() {
    let mut b = bench();
    // As SqlClient and mssql-python ask; the procedure of collations is left out.
    let said = b.run(
        "SELECT @@TRANCOUNT;
         DECLARE @Column_Name_Query_Filter NVARCHAR(MAX);
         DECLARE @Column_Names NVARCHAR(MAX) = NULL;
         SET @Column_Name_Query_Filter = N'1 = 1';
         IF EXISTS (SELECT TOP 1 * FROM sys.all_columns WHERE [object_id] = OBJECT_ID('sys.all_columns') AND [name] = 'graph_type')
         BEGIN
             SET @Column_Name_Query_Filter = N'(graph_type IS NULL)';
         END
         DECLARE @sql NVARCHAR(MAX) = N'SELECT @n = COALESCE(@n + '', '', '''') + QUOTENAME([name]) FROM sys.all_columns WHERE [object_id] = \
     OBJECT_ID(N''master..[t]'') AND ' + @Column_Name_Query_Filter + N' ORDER BY [column_id]';
         EXEC sp_executesql @sql, N'@n NVARCHAR(MAX) OUTPUT', @n = @Column_Names OUTPUT;
         SELECT @Column_Names = COALESCE(@Column_Names, '*');
         SET FMTONLY ON;
         EXEC(N'SELECT ' + @Column_Names + N' FROM [t]');
         SET FMTONLY OFF;",
    );
    assert!(!said.iter().any(|line| line.starts_with("error")), "{said:?}");
    assert!(
        said.contains(
            &"columns [id Int base identity, n Int null base, x NVarChar(N(20)) null base]"
                .to_string()
        ),
        "{said:?}"
    );
}

#[test]
fn parts_of_unions_have_orders_of_their_own_in_subqueries() {
    let mut b = bench();
    b.setup(&["insert t (n) values (1), (2), (3)"]);
    // As SQLAlchemy writes it, and without the parentheses.
    let rows = |text: &str, b: &mut Bench| -> String {
        let lines = b.run(text);
        let kept = lines
            .iter()
            .filter_map(|l| l.strip_prefix("row ").or_else(|| l.strip_prefix("error ")));
        kept.collect::<Vec<_>>().join(" ")
    };
    let top = |order: &str| format!("select top 1 n from t order by n{order}");
    let (low, high) = (top(""), top(" desc"));
    assert_eq!(
        rows(&format!("select n from (({low}) union ({high})) as u order by n"), &mut b),
        "1 3"
    );
    assert_eq!(rows(&format!("select n from ({high} union all {low}) as u"), &mut b), "3 1");
    assert_eq!(
        rows(
            &format!("with c as ({low} union all {high} union all select 7) select n from c"),
            &mut b
        ),
        "1 3 7"
    );
    assert_eq!(rows(&format!("select 1 where 3 in (({low}) union ({high}))"), &mut b), "1");
    assert_eq!(rows(&format!("select n from (({high})) as u"), &mut b), "3");
    // At the top of a statement it is an error, and without TOP anywhere.
    assert_eq!(rows(&format!("({low}) union ({high})"), &mut b), "156 line 1");
    assert_eq!(
        rows("select n from ((select n from t order by n) union (select 1)) as u", &mut b),
        "1033 line 1"
    );
}

#[test]
fn shifts_have_operators() {
    let mut b = bench();
    let lines = b.run("select 1 << 4, 256 >> 2, 1 + 1 << 3, -1 >> 31, 6 & 1 << 2");
    assert_eq!(lines[1], "row 16|64|16|1|0");
}

#[test]
fn options_of_the_session_are_listed() {
    let mut b = bench();
    b.run(
        "set transaction isolation level serializable set nocount on set lock_timeout 5 set ansi_nulls off",
    );
    let lines = b.run("dbcc useroptions");
    let rows: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("row ")).collect();
    for row in [
        "textsize|2147483647",
        "language|us_english",
        "lock_timeout|5",
        "nocount|SET",
        "isolation level|serializable",
    ] {
        assert!(rows.contains(&row), "{row}: {rows:?}");
    }
    assert!(!rows.iter().any(|row| row.starts_with("ansi_nulls")), "{rows:?}");
    assert!(lines.iter().any(|line| line.starts_with("info 2528")), "{lines:?}");
}

#[test]
fn collations_are_listed() {
    let mut b = bench();
    let lines = b.run(
        "select count(*), count(distinct name) from fn_helpcollations()
         where name like 'Polish%' and collationproperty(name, 'codepage') in (1250, 65001)
         select description from sys.fn_helpcollations() where name = 'SQL_Latin1_General_CP1_CI_AS'",
    );
    let rows: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("row ")).collect();
    assert_eq!(rows[0], "69|69");
    assert!(rows[1].starts_with("Latin1-General, case-insensitive, accent-sensitive"), "{rows:?}");
}
