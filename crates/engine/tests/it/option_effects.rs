//! What SET options do to statements: LANGUAGE, DATEFORMAT, those about errors of computations,
//! QUERY_GOVERNOR_COST_LIMIT.

use crate::support::text::Bench;

#[test]
fn a_language_brings_its_names_order_and_first_day() {
    let b = &mut Bench::new();
    b.check("select @@language, @@langid, @@datefirst", "us_english|0|7");
    b.check("set language german", "Changed language setting to Deutsch.");
    b.check("select @@language, @@langid, @@datefirst", "Deutsch|1|1");
    b.check(
        "declare @d datetime = '05.03.2024 13:00'
         select @d, datename(month, @d), datename(weekday, @d), datepart(weekday, @d), convert(varchar(30), @d),
             convert(varchar(30), @d, 106), cast(@d as varchar(30))",
        "2024-03-05 13:00:00.000|März|Dienstag|2|Mär  5 2024  1:00PM|05 Mär 2024|Mär  5 2024  1:00PM",
    );
    b.check(
        "select format(1234.5, 'N2'), format(cast('20240305' as date), 'D')",
        "1.234,50|Dienstag, 5. März 2024",
    );
    b.check(
        "select parse('5,5' as decimal(5,2)), isdate('5. März 2024'), isdate('5 März 2024')",
        "5.50|0|1",
    );
    b.check("print cast('20240305' as datetime)", "Mär  5 2024 12:00AM");
    b.fails("select cast('13/25/2024' as datetime)", 242);
    b.fails("set language Elvish", 2740);
    b.check(
        "set language N'日本語' select @@langid, datename(month, '20240305'), datename(weekday, '20240305')",
        "Changed language setting to 日本語.\n3|03|火曜日",
    );
    b.fails("select format(1, 'N')", 9818);
    b.check("set language us_english", "Changed language setting to us_english.");
    b.check(
        "select name, alias, dateformat, datefirst, lcid, days from sys.syslanguages where langid in (0, 23)",
        "us_english|English|mdy|7|1033|Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday\n\
         British|British English|dmy|1|2057|Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
    );
    b.check("select count(*) from sys.syslanguages", "34");
    b.check("exec sp_helplanguage 'Danish'",
        "4|dmy|1|0|Dansk|Danish|januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december|\
         jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec|mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag|1030|1030");
    b.fails("exec sp_helplanguage 'Elvish'", 15033);
}

#[test]
fn every_way_to_a_date_goes_by_the_order() {
    let b = &mut Bench::new();
    b.check("create table t (id int primary key, d datetime, e date)", "");
    b.check("set dateformat dmy", "");
    // Constants, variables, parameters, columns, the whole of a statement again in another order.
    for (order, month) in [("dmy", 2), ("mdy", 1), ("dmy", 2)] {
        b.check(&format!("set dateformat {order}"), "");
        b.run("delete t");
        b.check("insert t values (1, '01/02/2024', '01/02/2024')", "(1)");
        b.check("select month(d), month(e) from t where id = 1", &format!("{month}|{month}"));
        b.check("update t set d = '01/02/2024' where id = 1", "(1)");
        b.check("select month(d) from t where d = '01/02/2024'", &month.to_string());
        b.check(
            "declare @s varchar(20) = '01/02/2024', @d smalldatetime set @d = @s
             select month(@d), month(@s), month(cast(@s as datetime2)), datepart(month, '01/02/2024'), day(dateadd(day, 1, @s))",
            &format!("{month}|{month}|{month}|{month}|{}", 4 - month),
        );
        b.check(
            "exec sp_executesql N'select month(@d)', N'@d datetime', @d = '01/02/2024'",
            &month.to_string(),
        );
        b.check(
            "select month(d) from (values (cast('01/02/2024' as datetime))) v (d)",
            &month.to_string(),
        );
        b.check("select count(*) from t where d in (select '01/02/2024')", "1");
        b.check(
            "select month(greatest(cast('20000101' as datetime), '01/02/2024'))",
            &month.to_string(),
        );
        b.check(
            "select month({d '2024-01-02'}), month(convert(datetime, '01/02/2024', 101))",
            "1|1",
        );
    }
    // A procedure's setting ends with it; a plan is not taken from a session of another order.
    b.check("create procedure p as begin set dateformat dmy select month('01/02/2024') end", "");
    b.check("set dateformat mdy exec p select month('01/02/2024')", "2\n1");
    b.fails("set dateformat xyz", 2741);
    b.check(
        "set dateformat ydm select convert(char(10), cast('2024/03/01' as datetime), 120)",
        "2024-01-03",
    );
}

#[test]
fn what_a_session_settles_is_not_deterministic() {
    let b = &mut Bench::new();
    b.fails("create table p (s varchar(20), d as cast(s as datetime) persisted)", 4936);
    b.fails("create table p (s varchar(20), d as dateadd(day, 1, '01/02/2024') persisted)", 4936);
    b.fails("create table p (d datetime, s as cast(d as varchar(30)) persisted)", 4936);
    b.check("create table p (s varchar(20), d as convert(datetime, s, 103) persisted, x datetime, y as convert(varchar(30), x, 120) persisted)", "");
    b.check("create table q (s varchar(20), d as cast(s as datetime))", "");
    b.check("set dateformat dmy insert q values ('01/02/2024') select month(d) from q set dateformat mdy select month(d) from q",
        "(1)\n2\n1");
}

#[test]
fn logins_have_languages() {
    let b = &mut Bench::new();
    b.check("create login anna with password = 'Sw0rdfish!x', default_language = [Français]", "");
    b.check(
        "select default_language_name from sys.server_principals where name = 'anna'",
        "Français",
    );
    b.check(
        "alter login anna with default_language = italian select loginproperty('anna', 'DefaultLanguage')",
        "Italiano",
    );
    b.fails("alter login anna with default_language = elvish", 15033);
    b.check("alter login anna with default_database = tempdb select default_language_name from sys.sql_logins where name = 'anna'", "Italiano");
}

#[test]
fn arithmetic_errors_become_null_when_both_options_are_off() {
    let b = &mut Bench::new();
    b.check("create table t (id int primary key, n tinyint, d decimal(5, 2))", "");
    b.check("set ansi_warnings off set arithabort off", "");
    b.check("select 1 / 0, 7", "NULL|7\nDivision by zero occurred.");
    b.check(
        "declare @z int = 0 select 5 % @z, 5.0 / @z, 1",
        "NULL|NULL|1\nDivision by zero occurred.",
    );
    b.check(
        "select 2147483647 + 1, cast(300 as tinyint)",
        "NULL|NULL\nArithmetic overflow occurred.",
    );
    b.check("select sqrt(-1), log(0)", "NULL|NULL\nA domain error occurred.");
    b.check("insert t values (1, 300, 99999.0), (2, 2, 2)", "Arithmetic overflow occurred.\n(2)");
    b.check("select * from t", "1|NULL|NULL\n2|2|2.00");
    b.check(
        "update t set n = n / (id - 2) where id = 2 select n from t where id = 2",
        "Division by zero occurred.\n(1)\nNULL",
    );
    b.check("select count(*) from t where 1 / (id - 1) = 1", "1\nDivision by zero occurred.");
    b.check("set arithignore on select 1 / 0", "NULL");
    b.fails("select cast('x' as int)", 245);
    b.check("set ansi_warnings on", "");
    b.fails("select 1 / 0", 8134);
    // The batch goes on under ANSI_WARNINGS, and ends without it.
    b.check("select 1 / 0 select 2", "Msg 8134: Divide by zero error encountered.\n2");
    b.check("set ansi_warnings off set arithabort on", "");
    b.check("begin tran select 1 / 0 select 2", "Msg 8134: Divide by zero error encountered.");
    b.check("select @@trancount", "0");
}

#[test]
fn without_warnings_what_is_too_long_is_cut() {
    let b = &mut Bench::new();
    b.check("create table t (id int primary key, s varchar(3), n nchar(2), y varbinary(2))", "");
    b.fails("insert t values (1, 'abcd', 'x', 0x01)", 2628);
    b.check("set ansi_warnings off", "");
    b.check("insert t values (1, 'abcd', N'xyz', 0x010203)", "(1)");
    b.check("update t set s = 'uvwxyz' where id = 1", "(1)");
    b.check(
        "declare @s varchar(9) = '123456' insert t (id, s) values (2, @s) insert t (id, s) select 3, @s",
        "(1)\n(1)",
    );
    b.check("select * from t", "1|uvw|xy|0x0102\n2|123|NULL|NULL\n3|123|NULL|NULL");
    b.check("set ansi_warnings on", "");
    b.fails("update t set s = 'uvwxyz' where id = 1", 2628);
}

#[test]
fn lost_digits_and_dear_queries() {
    let b = &mut Bench::new();
    let add = "declare @r decimal(5, 2), @a decimal(5, 4) = 1.1234 set @r = @a + @a select @r";
    b.check(add, "2.25");
    b.check(
        "set numeric_roundabort on select sessionproperty('numeric_roundabort'), @@options & 8192",
        "1|8192",
    );
    b.fails(add, 8115);
    b.check(
        "declare @r decimal(5, 2) = 1.1200 select @r, cast($1.5000 as decimal(9, 1))",
        "1.12|1.5",
    );
    b.check("set ansi_warnings off set arithabort off", "");
    b.check(add, "Arithmetic overflow occurred.\nNULL");
    b.check("create table f (a int primary key, b int, index i (b) where b > 1)", "");
    b.fails("insert f values (1, 2)", 1934);
    let b = &mut Bench::new();
    b.check("set query_governor_cost_limit 1 select 1", "1");
    b.check(
        "create table wide (a int) insert wide select value from generate_series(1, 5000)",
        "(5000)",
    );
    let dear =
        "select count(*) from wide a cross join wide b cross join wide c where a.a + b.a = c.a + 1";
    b.fails(dear, 8649);
    b.fails("set query_governor_cost_limit -1", 1080);
    b.check("set query_governor_cost_limit 0 select 2", "2");
}

#[test]
fn a_language_leaves_what_was_set_for_itself() {
    let mut b = Bench::new();
    const ASK: &str =
        "select @@datefirst, convert(varchar(10), convert(datetime, '02.03.2024'), 120)";
    b.run("set language german");
    b.check(ASK, "1|2024-03-02");
    b.run("set language us_english");
    b.check(ASK, "7|2024-02-03");
    b.run("set datefirst 3 set language german");
    b.check(ASK, "3|2024-03-02");
    b.run("set dateformat ymd set language us_english");
    b.check(
        "select @@datefirst, convert(varchar(10), convert(datetime, '24.02.03'), 120)",
        "3|2024-02-03",
    );
    // A scope's own settings end with it.
    let mut b = Bench::new();
    b.run("exec ('set datefirst 3 set dateformat dmy') set language us_english");
    b.check(ASK, "7|2024-02-03");
    b.run("exec ('set datefirst 3') set language german");
    b.check(ASK, "1|2024-03-02");
    // What is set again for itself is as it says.
    b.run("set datefirst 5 set dateformat mdy");
    b.check(ASK, "5|2024-02-03");
}
