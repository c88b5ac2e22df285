//! What SET options do to statements: LANGUAGE and DATEFORMAT.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use text::Bench;

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
    b.check("select parse('5,5' as decimal(5,2)), isdate('5. März 2024'), isdate('5 März 2024')", "5.50|0|1");
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
        b.check("select month(d) from (values (cast('01/02/2024' as datetime))) v (d)", &month.to_string());
        b.check("select count(*) from t where d in (select '01/02/2024')", "1");
        b.check("select month(greatest(cast('20000101' as datetime), '01/02/2024'))", &month.to_string());
        b.check("select month({d '2024-01-02'}), month(convert(datetime, '01/02/2024', 101))", "1|1");
    }
    // A procedure's setting ends with it; a plan is not taken from a session of another order.
    b.check("create procedure p as begin set dateformat dmy select month('01/02/2024') end", "");
    b.check("set dateformat mdy exec p select month('01/02/2024')", "2\n1");
    b.fails("set dateformat xyz", 2741);
    b.check("set dateformat ydm select convert(char(10), cast('2024/03/01' as datetime), 120)", "2024-01-03");
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
    b.check("select default_language_name from sys.server_principals where name = 'anna'", "Français");
    b.check(
        "alter login anna with default_language = italian select loginproperty('anna', 'DefaultLanguage')",
        "Italiano",
    );
    b.fails("alter login anna with default_language = elvish", 15033);
    b.check("alter login anna with default_database = tempdb select default_language_name from sys.sql_logins where name = 'anna'", "Italiano");
}
