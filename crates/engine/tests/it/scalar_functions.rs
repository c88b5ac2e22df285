//! Functions about dates, time zones, cultures and the session; percentiles. Expected values follow
//! SQL Server's reference and .NET's.

use crate::support::text::Bench;

#[test]
fn dates_by_units() {
    let mut b = Bench::new();
    let d = "cast('2021-12-08 11:30:15.1234567' as datetime2)";
    for (part, want) in [
        ("year", "2021-01-01 00:00:00.0000000"),
        ("quarter", "2021-10-01 00:00:00.0000000"),
        ("month", "2021-12-01 00:00:00.0000000"),
        ("week", "2021-12-05 00:00:00.0000000"),
        ("iso_week", "2021-12-06 00:00:00.0000000"),
        ("dayofyear", "2021-12-08 00:00:00.0000000"),
        ("day", "2021-12-08 00:00:00.0000000"),
        ("hour", "2021-12-08 11:00:00.0000000"),
        ("minute", "2021-12-08 11:30:00.0000000"),
        ("second", "2021-12-08 11:30:15.0000000"),
        ("millisecond", "2021-12-08 11:30:15.1230000"),
        ("microsecond", "2021-12-08 11:30:15.1234560"),
    ] {
        b.check(&format!("select datetrunc({part}, {d})"), want);
    }
    b.check(
        &format!("set datefirst 6; select datetrunc(week, {d})"),
        "2021-12-04 00:00:00.0000000",
    );
    b.check("set datefirst 7; select datetrunc(month, cast('2024-02-29' as date)), datetrunc(hour, cast('10:59' as time(0)))",
        "2024-02-01|10:00:00",
    );
    b.check("select datetrunc(year, '1998-12-11 02:03:04.1234567')", "1998-01-01 00:00:00.0000000");
    b.fails("select datetrunc(hour, cast('2024-02-29' as date))", 9810);
    b.fails("select datetrunc(day, cast('10:59' as time))", 9810);
    b.fails("select datetrunc(weekday, getdate())", 9810);
    b.fails("select datetrunc(week, cast('0001-01-01' as date))", 517);

    for (sql, want) in [
        // The examples of the reference.
        (
            "date_bucket(week, 1, cast('2020-06-15 21:22:11' as datetime2))",
            "2020-06-15 00:00:00.0000000",
        ),
        (
            "date_bucket(week, 5, cast('2020-06-15' as date), cast('2020-01-01' as date))",
            "2020-05-20",
        ),
        ("date_bucket(day, 2, cast('2020-04-15 21:22:11' as datetime2(0)))", "2020-04-15 00:00:00"),
        (
            "date_bucket(month, 7, cast('2020-04-15 21:22:11' as datetime2(0)))",
            "2020-03-01 00:00:00",
        ),
        (
            "date_bucket(hour, 1, cast('2020-04-15 21:22:11' as datetime2(0)))",
            "2020-04-15 21:00:00",
        ),
        (
            "date_bucket(month, 1, cast('2020-03-14' as date), cast('2020-01-15' as date))",
            "2020-02-15",
        ),
        ("date_bucket(day, 7, cast('1899-12-31' as date))", "1899-12-25"),
        (
            "date_bucket(minute, 15, cast('2024-01-01 10:44:59' as smalldatetime))",
            "2024-01-01 10:45:00",
        ),
        (
            "todatetimeoffset(cast('2021-12-08 11:30' as datetime2(0)), '-05:00')",
            "2021-12-08 11:30:00 -05:00",
        ),
        (
            "todatetimeoffset(cast('2021-12-08 11:30' as datetime2(0)), 90)",
            "2021-12-08 11:30:00 +01:30",
        ),
        (
            "datetimeoffsetfromparts(2010, 12, 31, 14, 23, 23, 500, 12, 30, 3)",
            "2010-12-31 14:23:23.500 +12:30",
        ),
        (
            "datetimeoffsetfromparts(2010, 12, 31, 14, 23, 23, 0, -3, -30, 0)",
            "2010-12-31 14:23:23 -03:30",
        ),
    ] {
        b.check(&format!("select {sql}"), want);
    }
    b.check(
        "select date_bucket(month, 700000000000000000, cast('2020-01-01' as date))",
        "1900-01-01",
    );
    b.fails("select date_bucket(month, 9000000000000000000, cast('1800-01-01' as date))", 517);
    b.fails("select date_bucket(day, 0, getdate())", 9834);
    b.fails("select date_bucket(microsecond, 1, getdate())", 9810);
    b.fails("select todatetimeoffset(getdate(), '+15:00')", 9812);
    b.fails("select datetimeoffsetfromparts(2010, 12, 31, 14, 23, 23, 0, 3, -30, 0)", 289);
    b.fails("select datetrunc(x, getdate())", 155);
}

#[test]
fn time_zones() {
    let mut b = Bench::new();
    let at = |moment: &str, zone: &str| {
        format!("select cast('{moment}' as datetime2(0)) at time zone '{zone}'")
    };
    for (moment, zone, want) in [
        // The examples of the reference: before, within and after what the clocks skip, and what
        // they show twice.
        ("2022-03-27 01:01:00", "Central European Standard Time", "2022-03-27 01:01:00 +01:00"),
        ("2022-03-27 02:01:00", "Central European Standard Time", "2022-03-27 03:01:00 +02:00"),
        ("2022-03-27 03:01:00", "Central European Standard Time", "2022-03-27 03:01:00 +02:00"),
        ("2022-10-30 01:01:00", "Central European Standard Time", "2022-10-30 01:01:00 +02:00"),
        ("2022-10-30 02:00:00", "Central European Standard Time", "2022-10-30 02:00:00 +01:00"),
        ("2022-10-30 03:01:00", "Central European Standard Time", "2022-10-30 03:01:00 +01:00"),
        ("2024-07-01 12:00:00", "pacific standard time", "2024-07-01 12:00:00 -07:00"),
        ("2024-01-01 12:00:00", "India Standard Time", "2024-01-01 12:00:00 +05:30"),
        ("2024-01-01 12:00:00", "UTC", "2024-01-01 12:00:00 +00:00"),
    ] {
        b.check(&at(moment, zone), want);
    }
    b.check("select cast('2024-07-01 12:00:00' as datetime) at time zone 'UTC' at time zone 'Eastern Standard Time', \
         cast('2024-01-01 00:30:00.12 +05:30' as datetimeoffset(2)) at time zone 'Pacific Standard Time'",
        "2024-07-01 08:00:00.000 -04:00|2023-12-31 11:00:00.12 -08:00",
    );
    b.check("declare @z nvarchar(50) = N'Tokyo Standard Time'; select d at time zone @z from (values (cast('2020-01-01' as datetime2(0))), (null)) v (d)",
        "2020-01-01 00:00:00 +09:00\nNULL",
    );
    b.check("select count(*) from sys.time_zone_info where name like 'Central Euro%'", "2");
    b.check("select current_utc_offset, is_currently_dst from sys.time_zone_info where name = 'India Standard Time'",
        "+05:30|0",
    );
    b.fails(&at("2024-01-01", "Nowhere Standard Time"), 9820);
    b.fails("select '2024-01-01' at time zone 'UTC'", 8116);
    b.fails("select cast('2024-01-01' as date) at time zone 'UTC'", 8116);
}

#[test]
fn numbers_in_formats() {
    let mut b = Bench::new();
    for (value, format, culture, want) in [
        ("1234567.891", "N", "en-US", "1,234,567.89"),
        ("1234567.891", "N0", "en-US", "1,234,568"),
        ("-1234.5", "N2", "de-DE", "-1.234,50"),
        ("1234.5", "C", "en-US", "$1,234.50"),
        ("-1234.5", "C", "en-US", "($1,234.50)"),
        ("1234.5", "C", "en-GB", "\u{a3}1,234.50"),
        ("1234.5", "C", "de-DE", "1.234,50 \u{20ac}"),
        ("1234.5", "C3", "de-de", "1.234,500 \u{20ac}"),
        ("0.1256", "P", "en-US", "12.56%"),
        ("0.1256", "P1", "de-DE", "12,6 %"),
        ("255", "X", "en-US", "FF"),
        ("255", "x4", "en-US", "00ff"),
        ("-1", "X", "en-US", "FFFFFFFF"),
        ("42", "D5", "en-US", "00042"),
        ("-42", "D5", "en-US", "-00042"),
        ("42.5", "D5", "en-US", "NULL"),
        ("12345.678", "F1", "en-US", "12345.7"),
        ("12345.678", "E2", "en-US", "1.23E+004"),
        ("cast(9.999 as float)", "e1", "en-US", "1.0e+001"),
        ("cast(0.1 as float)", "G", "en-US", "0.1"),
        ("cast(1e20 as float)", "G", "en-US", "1E+20"),
        ("1.500", "G", "en-US", "1.500"),
        ("123456789", "###-##-####", "en-US", "123-45-6789"),
        ("1234.5", "#,##0.00", "en-US", "1,234.50"),
        ("0.5", "#,##0.00", "en-US", "0.50"),
        ("0.5", "#.##", "en-US", ".5"),
        ("1234567", "#,#", "de-DE", "1.234.567"),
        ("1234567", "0,,.0 M", "en-US", "1.2 M"),
        ("0.256", "0.0%", "en-US", "25.6%"),
        ("7", "000", "en-US", "007"),
        ("-7", "0;(0);zero", "en-US", "(7)"),
        ("0", "0;(0);zero", "en-US", "zero"),
        ("-7", "0.0", "en-US", "-7.0"),
        ("5", "\\#0 ''st''", "en-US", "#5 st"),
        ("12345", "0.00e+00", "en-US", "1.23e+04"),
        ("cast(12.5 as money)", "C", "en-US", "$12.50"),
        ("1", "Y", "en-US", "NULL"),
        ("cast(null as int)", "N", "en-US", "NULL"),
    ] {
        b.check(&format!("select format({value}, '{format}', '{culture}')"), want);
    }
    b.check("select format(1234.5, 'N2'), format(123, '')", "1,234.50|123");
    b.fails("select format(1, 'N', 'xx-YY')", 9818);
    b.fails("select format(null, 'N')", 8116);
    b.fails("select format('1', 'N')", 8116);
    b.fails("select format(cast(1 as bit), 'N')", 8116);
}

#[test]
fn dates_in_formats() {
    let mut b = Bench::new();
    let d = "cast('2011-08-01 15:04:05.1230000' as datetime2)";
    for (format, culture, want) in [
        ("d", "en-US", "8/1/2011"),
        ("d", "en-GB", "01/08/2011"),
        ("d", "de-DE", "01.08.2011"),
        ("D", "en-US", "Monday, August 1, 2011"),
        ("D", "de-DE", "Montag, 1. August 2011"),
        ("D", "en-GB", "01 August 2011"),
        ("t", "en-US", "3:04 PM"),
        ("T", "de-DE", "15:04:05"),
        ("g", "en-US", "8/1/2011 3:04 PM"),
        ("G", "en-GB", "01/08/2011 15:04:05"),
        ("f", "en-US", "Monday, August 1, 2011 3:04 PM"),
        ("M", "en-US", "August 1"),
        ("Y", "de-DE", "August 2011"),
        ("s", "en-US", "2011-08-01T15:04:05"),
        ("o", "de-DE", "2011-08-01T15:04:05.1230000"),
        ("r", "de-DE", "Mon, 01 Aug 2011 15:04:05 GMT"),
        ("yyyy-MM-dd HH:mm:ss.fff", "en-US", "2011-08-01 15:04:05.123"),
        ("dd/MM/yyyy", "en-US", "01/08/2011"),
        ("dd/MM/yyyy", "de-DE", "01.08.2011"),
        ("ddd d MMM yy", "en-US", "Mon 1 Aug 11"),
        ("dddd d. MMMM", "de-DE", "Montag 1. August"),
        ("hh:mm tt", "en-US", "03:04 PM"),
        ("%h", "en-US", "3"),
        ("yyyyMMdd", "en-US", "20110801"),
        ("''Q''q yyyy", "en-US", "Qq 2011"),
        ("HH\\hmm", "en-US", "15h04"),
        ("ss.FFFF", "en-US", "05.123"),
        ("z", "en-US", "NULL"),
    ] {
        b.check(&format!("select format({d}, '{format}', '{culture}')"), want);
    }
    b.check("select format(cast('2011-08-01' as date), 'd'), format(cast('2011-08-01 01:02:03 +02:00' as datetimeoffset), 'yyyy zzz')",
        "8/1/2011|2011 +02:00",
    );
    // A time is a span: separators must be escaped.
    b.check("select format(cast('07:35' as time), N'hh\\.mm'), format(cast('07:35' as time), N'hh:mm'), format(cast('17:35' as time(0)), 'c')",
        "07.35|NULL|17:35:00",
    );
}

#[test]
fn parse() {
    let mut b = Bench::new();
    for (sql, want) in [
        ("parse('Monday, 13 December 2010' as datetime2(0) using 'en-US')", "2010-12-13 00:00:00"),
        ("parse('\u{20ac}345,98' as money using 'de-DE')", "345.9800"),
        ("parse('1.234,5' as decimal(10, 2) using 'de-DE')", "1234.50"),
        ("parse('1,234.5' as decimal(10, 2) using 'en-US')", "1234.50"),
        ("parse('($12.50)' as money using 'en-US')", "-12.5000"),
        ("parse(' -7 ' as int)", "-7"),
        ("parse('12/16/2010' as date using 'en-US')", "2010-12-16"),
        ("parse('16/12/2010' as date using 'en-GB')", "2010-12-16"),
        ("parse('16.12.2010 10:11' as datetime using 'de-DE')", "2010-12-16 10:11:00.000"),
        ("parse('13. Dezember 2010' as date using 'de-DE')", "2010-12-13"),
        ("try_parse('Aragorn' as datetime2 using 'en-US')", "NULL"),
        ("try_parse('1.5' as int using 'en-US')", "NULL"),
        ("parse(null as int)", "NULL"),
        ("case when try_parse('x' as decimal using 'de-DE') is null then 'no' end", "no"),
    ] {
        b.check(&format!("select {sql}"), want);
    }
    b.fails("select parse('x' as int using 'en-US')", 9819);
    b.fails("select parse('1' as int using 'xx-YY')", 9818);
    b.fails("select try_parse('1' as int using 'xx-YY')", 9818);
    b.fails("select parse('1' as varchar(10))", 10761);
}

#[test]
fn session_context() {
    let mut b = Bench::new();
    b.check("exec sp_set_session_context N'user', N'ann'; exec sp_set_session_context @key = N'n', @value = 7, @read_only = 1; \
         select cast(session_context(N'user') as nvarchar(10)), cast(session_context(N'USER') as nvarchar(10)), cast(session_context(N'n') as int) + 1, session_context(N'other')",
        "ann|ann|8|NULL",
    );
    b.check("exec sp_set_session_context N'user', null; select session_context(N'user')", "NULL");
    b.fails("exec sp_set_session_context N'n', 8", 15664);
    b.fails("select session_context('n')", 8116);
}

#[test]
fn styles_that_are_no_constants() {
    let mut b = Bench::new();
    b.check("declare @s int = 103; select convert(varchar(10), cast('2024-02-29' as date), @s), convert(varchar(10), cast('2024-02-29' as date), s) \
         from (values (112), (101)) v (s) order by s",
        "29/02/2024|02/29/2024\n29/02/2024|20240229",
    );
    b.check("declare @s int; select convert(varchar(10), getdate(), @s), try_convert(date, '31/12/2024', 103), convert(varbinary(2), '0x0102', 1)",
        "NULL|2024-12-31|0x0102",
    );
    b.fails("declare @s int = 99; select convert(varchar(10), getdate(), @s)", 281);
    b.check("declare @s int = 101; select try_convert(date, '31/12/2024', @s)", "NULL");
}

#[test]
fn percentiles() {
    let mut b = Bench::new();
    b.run("create table P (g int, v int null); insert P values (1, 1), (1, 2), (1, 4), (1, null), (2, 10), (2, 20), (3, null)");
    b.check(
        "select distinct g, percentile_cont(0.5) within group (order by v) over (partition by g), \
         percentile_disc(0.5) within group (order by v) over (partition by g), \
         percentile_cont(0.25) within group (order by v desc) over (partition by g), \
         percentile_disc(0.25) within group (order by v desc) over (partition by g) from P order by g",
        "1|2.0|2|3.0|4\n2|15.0|10|17.5|20\n3|NULL|NULL|NULL|NULL",
    );
    b.check("select g, approx_percentile_cont(0.5) within group (order by v), approx_percentile_disc(1.0) within group (order by v) from P group by g order by g",
        "1|2.0|4\n2|15.0|20\n3|NULL|NULL",
    );
    b.check("select g, percentile_cont(0.5) within group (order by sum(v)) over () from P where g < 3 group by g order by g",
        "1|18.5\n2|18.5",
    );
    b.fails("select percentile_cont(0.5) within group (order by v) from P", 10753);
    b.fails("select percentile_cont(0.5) over () from P", 10754);
    b.fails("select percentile_cont(1.5) within group (order by v) over () from P", 8727);
    b.fails(
        "select percentile_cont(0.5) within group (order by cast(v as varchar(3))) over () from P",
        8117,
    );
    b.fails("select percentile_cont(0.5) within group (order by v, g) over () from P", 10751);
}

#[test]
fn around_the_statement() {
    let mut b = Bench::new();
    b.check(
        "select current_timezone_id(), trigger_nestlevel(), datalength(crypt_gen_random(20)), \
         case when crypt_gen_random(16) <> crypt_gen_random(16) then 1 end",
        "UTC|0|20|1",
    );
    b.run(
        "create table A (i int); create table B (i int, n int, own int); \
         create table L (n int)",
    );
    b.run("create trigger ta on A after insert as insert B values (1, trigger_nestlevel(), trigger_nestlevel(object_id('ta')))");
    b.run("create trigger tb on B after insert as insert L values (trigger_nestlevel())");
    b.check("set nocount on; insert A values (1); select n, own from B; select n from L", "1|1\n2");
    b.check("select sql_variant_property(cast(1.50 as decimal(9, 2)), 'BaseType'), sql_variant_property(cast(1.50 as decimal(9, 2)), 'Scale'), \
         sql_variant_property('abc', 'MaxLength'), sql_variant_property(cast(7 as sql_variant), 'BaseType'), \
         sql_variant_property('abc', 'Collation'), sql_variant_property(1, 'Nothing')",
        "decimal|2|3|int|SQL_Latin1_General_CP1_CI_AS|NULL",
    );
    b.check(
        "select switchoffset(cast('2020-01-01 12:00:00.5 +00:00' as datetimeoffset(1)), '-03:00')",
        "2020-01-01 09:00:00.5 -03:00",
    );
}

/// Every function of SQL Server 2022's reference that is there, and those that are not, with error
/// 195.
#[test]
fn functions_of_the_reference() {
    let mut b = Bench::new();
    let there = "approx_count_distinct avg checksum_agg count count_big grouping grouping_id max min stdev stdevp string_agg sum var varp \
        approx_percentile_cont approx_percentile_disc cume_dist first_value lag last_value lead percentile_cont percentile_disc \
        percent_rank dense_rank ntile rank row_number left_shift right_shift bit_count get_bit set_bit collationproperty \
        crypt_gen_random hashbytes cursor_status datalength ident_current ident_incr ident_seed sql_variant_property current_timezone \
        current_timezone_id date_bucket dateadd datediff datediff_big datefromparts datename datepart datetime2fromparts \
        datetimefromparts datetimeoffsetfromparts datetrunc day eomonth getdate getutcdate isdate month smalldatetimefromparts \
        switchoffset sysdatetime sysdatetimeoffset sysutcdatetime timefromparts todatetimeoffset year isjson json_array json_modify \
        json_object json_path_exists json_query json_value choose greatest least abs acos asin atan atn2 ceiling cos cot degrees \
        exp floor log log10 pi power radians rand round sign sin sqrt square tan app_name col_length col_name columnproperty \
        databasepropertyex db_id db_name file_id file_idex file_name filegroup_id filegroup_name filegroupproperty fileproperty \
        fulltextserviceproperty index_col indexkey_property indexproperty object_definition object_id object_name \
        object_schema_name objectproperty objectpropertyex original_db_name parsename schema_id schema_name scope_identity \
        serverproperty stats_date type_id type_name typeproperty database_principal_id has_dbaccess has_perms_by_name is_member \
        is_rolemember is_srvrolemember loginproperty original_login suser_id suser_name suser_sid suser_sname user_id user_name \
        ascii char charindex concat concat_ws difference format left len lower ltrim nchar patindex quotename replace replicate \
        reverse right rtrim soundex space str string_escape stuff substring translate trim unicode upper binary_checksum checksum \
        compress connectionproperty context_info current_request_id current_transaction_id decompress error_line error_message \
        error_number error_procedure error_severity error_state formatmessage getansinull host_name isnull isnumeric newid \
        newsequentialid rowcount_big session_context xact_state trigger_nestlevel sessionproperty coalesce nullif \
        encryptbypassphrase decryptbypassphrase pwdencrypt pwdcompare base64_encode base64_decode tertiary_weights applock_mode applock_test filepropertyex host_id unistr";
    for name in there.split_whitespace() {
        let said = b.run(&format!("select {name}()"));
        assert!(!said.contains("Msg 195:"), "{name}: {said}");
    }
    let absent = "asymkey_id asymkeyproperty certproperty cert_id decryptbyasymkey decryptbycert decryptbykey \
        decryptbykeyautoasymkey decryptbykeyautocert encryptbyasymkey encryptbycert encryptbykey \
        is_objectsigned key_guid key_id key_name signbyasymkey signbycert symkeyproperty verifysignedbycert \
        verifysignedbyasymkey edge_id_from_parts graph_id_from_edge_id graph_id_from_node_id node_id_from_parts \
        object_id_from_edge_id object_id_from_node_id assemblyproperty \
        fulltextcatalogproperty publishingservername certencoded certprivatekey permissions \
        get_filestream_transaction_context textptr textvalid";
    for name in absent.split_whitespace() {
        let said = b.run(&format!("select {name}()"));
        assert!(said.contains("Msg 195:"), "{name}: {said}");
    }
}

/// What SQL Server has made is read, and what is made here has its form.
#[test]
fn passphrases_and_passwords() {
    let b = &mut Bench::new();
    let sealed = "0x0200000031D747C49DA6063CF28DF7EEC10A61517300AC7687E9E8DF65BD7E3E46565D974EF23614B935B31200B9FE0D2BF8A65F";
    b.check(
        &format!("select cast(decryptbypassphrase('passphrase', {sealed}) as varchar(30))"),
        "Hello World!",
    );
    b.check(
        &format!("select cast(decryptbypassphrase(N'passphrase', {sealed}) as varchar(30))"),
        "Hello World!",
    );
    b.check(
        &format!(
            "select decryptbypassphrase('other', {sealed}), decryptbypassphrase('passphrase', 0x02000000), \
        decryptbypassphrase(null, {sealed}), decryptbypassphrase('a', null), encryptbypassphrase('a', null)"
        ),
        "NULL|NULL|NULL|NULL|NULL",
    );
    b.check(
        "declare @c varbinary(200) = encryptbypassphrase('key', N'caf\u{e9}') \
        select cast(decryptbypassphrase('key', @c) as nvarchar(20)), substring(@c, 1, 4), datalength(@c), \
        case when @c = encryptbypassphrase('key', N'caf\u{e9}') then 1 else 0 end",
        "caf\u{e9}|0x02000000|52|0",
    );
    b.check("declare @c varbinary(200) = encryptbypassphrase('key', 'x', 1, 'row 7') \
        select cast(decryptbypassphrase('key', @c, 1, 'row 7') as varchar(20)), decryptbypassphrase('key', @c, 1, 'row 8'), \
        decryptbypassphrase('key', @c)", "x|NULL|NULL");
    b.fails("select encryptbypassphrase('key', replicate('x', 7990))", 8152);
    // Triple DES, as SQL Server 2016 wrote it.
    b.check(
        "select decryptbypassphrase('key', 0x0100000000112233445566770011223344556677)",
        "NULL",
    );
    b.check("select pwdcompare('Secret', pwdencrypt('Secret')), pwdcompare('secret', pwdencrypt('Secret')), \
        datalength(pwdencrypt('x')), substring(pwdencrypt('x'), 1, 2), pwdcompare('x', 0x), pwdcompare(null, 0x01)", "1|0|70|0x0200|0|NULL");
    b.check("select pwdcompare('letmein', 0x0100E3127129949737C63C686B241149E5E2A10C83BBE4D5945618643791F5B07856B50339C99DEB1AB6A3ED0FEB)", "1");
}

/// The examples of the reference, and what is between them.
#[test]
fn characters_by_their_numbers() {
    let b = &mut Bench::new();
    b.check(
        r"select unistr(N'Hello! \D83D\DE00'), unistr(N'Hello! \+01F603'), unistr(N'ABC#00C0#0181#0187', '#')",
        "Hello! \u{1F600}|Hello! \u{1F603}|ABC\u{C0}\u{181}\u{187}",
    );
    b.check(
        r"select unistr(N'a\\b'), unistr(N'##x', N'#'), unistr(N'\0041\00e9', null), unistr(null)",
        r"a\b|#x|NULL|NULL",
    );
    b.check(r"select unistr('caf\00E9' collate Latin1_General_100_CI_AS_SC_UTF8)", "caf\u{e9}");
    // Half of a character stays one until the other half comes.
    b.check(r"select unicode(unistr(N'\D83D')), len(unistr(N'\D83D') + unistr(N'\DE00')), len(unistr(N'\+01F600'))", "55357|2|2");
    b.check(
        r"select unicode(unistr(N'\+00D83D')), datalength(unistr(N'\0041')), unistr(N'')",
        "55357|2|",
    );
    b.check(r"select sql_variant_property(unistr(N'\0041bc'), 'BaseType')", "nvarchar");
    for wrong in [
        r"N'\'",
        r"N'\12'",
        r"N'\00g1'",
        r"N'\+0001'",
        r"N'\+110000'",
        r"N'\-041'",
        "'a'",
        "N'a', 'xy'",
        "N'a', ''",
    ] {
        b.fails(&format!("select unistr({wrong})"), 40517);
    }
}
