//! Values that people compare between systems: RAND, checksums, digests, order of NEWSEQUENTIALID,
//! compression, bits. Expected values are those of SQL Server's reference and of published test
//! vectors.

use crate::support::text::Bench;

#[test]
fn rand_goes_on_from_its_seed() {
    let mut b = Bench::new();
    let shown = |call: &str| format!("cast({call} as decimal(20, 15))");
    b.check(&format!("select {}", shown("rand(1)")), ".713591993212924");
    let three = format!("select {}, {}, {}", shown("rand(100)"), shown("rand()"), shown("rand()"));
    b.check(&three, ".715436657367485|.284633807679820|.013103908285036");
    // The session keeps it from statement to statement, and one call has one value for all rows.
    b.check(&format!(
            "declare @x float = rand(100); select {}; select count(distinct r) from (select rand() r from (values (1), (2), (3)) v (n)) t",
            shown("rand()")
        ),
        ".284633807679820\n1",
    );
    // A seed of each row gives the number of each row.
    b.check(
        &format!("select {} from (values (1), (2), (100)) v (n) order by n", shown("rand(n)")),
        ".713591993212924\n.713610626184182\n.715436657367485",
    );
    // Another session has its own numbers.
    b.check("select case when rand() between 0 and 1 then 'yes' end", "yes");
}

#[test]
fn checksums() {
    let mut b = Bench::new();
    for (sql, want) in [
        ("checksum(1)", "1"),
        ("checksum(-5)", "-5"),
        ("checksum(1, 2)", "18"),
        ("checksum(cast(null as int))", "2147483647"),
        ("binary_checksum(cast(2147483647 as bigint))", "2147483647"),
        ("checksum('a')", "142"),
        ("checksum('A')", "142"),
        ("checksum('Z')", "167"),
        ("checksum('0')", "132"),
        // 142 * 16 ^ 143
        ("checksum('ab')", "2159"),
        ("checksum('ab', 'ab')", "36511"),
        ("checksum('')", "0"),
        ("checksum('ab  ')", "2159"),
        ("binary_checksum('a')", "97"),
        ("binary_checksum('A')", "65"),
        ("binary_checksum('aa')", "1649"),
        ("binary_checksum('bQ')", "1649"),
        ("case when binary_checksum('ABA') = binary_checksum('ACQ') then 1 end", "1"),
        ("case when checksum('\u{e9}') = checksum('\u{c9}') then 1 end", "1"),
        ("case when checksum(N'stra\u{df}e') = checksum(N'STRA\u{df}E') then 1 end", "1"),
    ] {
        b.check(&format!("select {sql}"), want);
    }
    b.check("create table #t (a int, b varchar(10)); insert #t values (1, 'x'), (2, 'x'), (3, null); \
         select case when checksum(*) = checksum(a, b) and binary_checksum(*) = binary_checksum(a, b) then a end from #t; \
         select checksum_agg(a), checksum_agg(distinct a % 2) from #t",
        "(3)\n1\n2\n3\n0|1",
    );
    b.fails("select checksum(*)", 263);
}

#[test]
fn hashbytes() {
    let mut b = Bench::new();
    for (sql, want) in [
        ("hashbytes('MD5', 'abc')", "0x900150983CD24FB0D6963F7D28E17F72"),
        ("hashbytes('sha1', 'abc')", "0xA9993E364706816ABA3E25717850C26C9CD0D89D"),
        ("hashbytes('SHA', 'abc')", "0xA9993E364706816ABA3E25717850C26C9CD0D89D"),
        (
            "hashbytes('SHA2_256', 'abc')",
            "0xBA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
        ),
        (
            "hashbytes('SHA2_512', 'abc')",
            "0xDDAF35A193617ABACC417349AE20413112E6FA4E89A97EA20A9EEEE64B55D39A2192992A274FC1A836BA3C23A3FEEBBD454D4423643CE80E2A9AC94FA54CA49F",
        ),
        // UTF-16 bytes of nvarchar; bytes of binary.
        ("hashbytes('MD5', N'abc')", "0xCE1473CF80C6B3FDA8E3DFC006ADC315"),
        ("hashbytes('MD5', 0x616263)", "0x900150983CD24FB0D6963F7D28E17F72"),
        ("hashbytes('MD5', '')", "0xD41D8CD98F00B204E9800998ECF8427E"),
        ("hashbytes('CRC', 'abc')", "NULL"),
        ("hashbytes('MD5', cast(null as varchar(3)))", "NULL"),
        ("len(hashbytes('MD5', replicate(cast('x' as varchar(max)), 20000)))", "16"),
    ] {
        b.check(&format!("select {sql}"), want);
    }
    b.fails("select hashbytes('MD4', 'abc')", 40517);
    b.fails("select hashbytes('MD5', 1)", 8116);
}

#[test]
fn compression() {
    let mut b = Bench::new();
    b.check("select cast(decompress(compress('Ringwood')) as varchar(20))", "Ringwood");
    b.check("select cast(decompress(compress(N'Burl\u{e9}y')) as nvarchar(20))", "Burl\u{e9}y");
    b.check("select datalength(decompress(compress(replicate(cast('abc' as varchar(max)), 100000)))), \
         case when datalength(compress(replicate(cast('abc' as varchar(max)), 100000))) < 2000 then 'small' end",
        "300000|small",
    );
    // A stream that is cut.
    b.check(
        "select cast(decompress(0x1F8B08000000000000034BCE48CDC9C90700B9E0F27907000000) as varchar(10))",
        "Msg 13636: Encountered an error while decompressing the input. The input is not in the GZIP format.",
    );
    b.check("select compress(null), decompress(null)", "NULL|NULL");
    b.fails("select decompress(0x00)", 13636);
}

#[test]
fn sequential_ids_grow() {
    let mut b = Bench::new();
    b.check(
        "create table #s (n int identity, id uniqueidentifier default newsequentialid()); \
         declare @i int = 0; while @i < 200 begin insert #s default values; set @i += 1 end; \
         select count(*) from #s a join #s b on b.n = a.n + 1 where b.id > a.id; \
         select count(distinct substring(cast(id as char(36)), 20, 17)) from #s",
        &format!("{}199\n1", "(1)\n".repeat(200)),
    );
}

#[test]
fn bits() {
    let mut b = Bench::new();
    for (sql, want) in [
        ("left_shift(12345, 5)", "395040"),
        ("right_shift(12345, 5)", "385"),
        ("left_shift(1, 31)", "-2147483648"),
        ("left_shift(1, 32)", "0"),
        ("right_shift(-1, 28)", "15"),
        ("left_shift(8, -2)", "2"),
        ("right_shift(cast(200 as tinyint), 3)", "25"),
        ("left_shift(0x00FF, 4)", "0x0FF0"),
        ("right_shift(0xFF00, 12)", "0x000F"),
        ("bit_count(0xABCDEF)", "17"),
        ("bit_count(17)", "2"),
        ("bit_count(cast(-1 as bigint))", "64"),
        ("get_bit(0xABCDEF, 2)", "1"),
        ("get_bit(0xABCDEF, 4)", "0"),
        ("set_bit(0x00, 2)", "0x04"),
        ("set_bit(0xABCDEF, 0, 0)", "0xABCDEE"),
        ("set_bit(0, 31)", "-2147483648"),
        ("bit_count(null)", "NULL"),
    ] {
        b.check(&format!("select {sql}"), want);
    }
    b.fails("select get_bit(1, 32)", 4199);
    b.fails("select set_bit(1, 1, 2)", 4199);
    b.fails("select left_shift(1.5, 1)", 8116);
}

/// The examples of SQL Server's reference, and what is no base64.
#[test]
fn base64_and_back() {
    let mut b = Bench::new();
    b.check("select base64_encode(0xA9), base64_encode(0xCAFECAFE), base64_encode(0xCAFECAFE, 1), base64_encode(0x)", "qQ==|yv7K/g==|yv7K_g|");
    b.check("select base64_decode('qQ=='), base64_decode('yv7K/g=='), base64_decode('yv7K_g'), base64_decode(N' q\tQ\r\n')", "0xA9|0xCAFECAFE|0xCAFECAFE|0xA9");
    b.check("select base64_encode(null), base64_decode(null)", "NULL|NULL");
    b.check(
        "declare @b varbinary(max) = cast(replicate(cast('xyz' as varchar(max)), 5000) as varbinary(max)); \
         select datalength(base64_encode(@b)), case when base64_decode(base64_encode(@b)) = @b then 'same' end",
        "20000|same",
    );
    for (text, state) in [("qQ!!", 20), ("A", 21), ("A===", 23), ("q=Q=", 23)] {
        b.check(
            &format!("begin try select base64_decode('{text}') end try begin catch select error_number(), error_state() end catch"),
            &format!("9803|{state}"),
        );
    }
    // More than varchar(8000) holds.
    b.check(
        "select datalength(base64_encode(cast(replicate('x', 8000) as varbinary(8000))))",
        "10668",
    );
    b.fails("select base64_encode('text')", 8116);
}
