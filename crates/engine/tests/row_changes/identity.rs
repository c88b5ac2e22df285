//! ALTER TABLE ADD of an identity column.

use super::text::Bench;

#[test]
fn rows_get_numbers() {
    let mut b = Bench::new();
    b.check("CREATE TABLE t (k varchar(5) PRIMARY KEY); INSERT t VALUES ('c'), ('a'), ('b')", "(3)");
    b.check("ALTER TABLE t ADD id int IDENTITY (10, 5) CONSTRAINT uid UNIQUE", "");
    b.check("SELECT k, id FROM t ORDER BY k", "a|10\nb|15\nc|20");
    b.check("INSERT t (k) VALUES ('d'); INSERT t VALUES ('e'); SELECT id FROM t WHERE k >= 'd'; SELECT SCOPE_IDENTITY(), IDENT_CURRENT('t')", "(1)\n(1)\n25\n30\n30|30");
    b.check("ALTER TABLE t ADD other int IDENTITY", "Msg 2744: Multiple identity columns specified for table 't'. Only one identity column per table is allowed.");
    b.check("CREATE TABLE e (a int); ALTER TABLE e ADD id bigint IDENTITY (-5, -1) PRIMARY KEY; INSERT e VALUES (1), (2); SELECT id FROM e ORDER BY a", "(2)\n-5\n-6");
    b.check("CREATE TABLE h (a int); INSERT h SELECT value FROM GENERATE_SERIES(1, 2000); ALTER TABLE h ADD id smallint IDENTITY; SELECT MIN(id), MAX(id), COUNT(DISTINCT id) FROM h", "(2000)\n1|2000|2000");
    b.check("CREATE TABLE s (a int); INSERT s SELECT value FROM GENERATE_SERIES(1, 300)", "(300)");
    let said = b.run("ALTER TABLE s ADD id tinyint IDENTITY");
    assert!(said.starts_with("Msg 8115") || said.starts_with("Msg 220"), "{said}");
    b.check("SELECT COUNT(*) FROM s; SELECT COL_LENGTH('s', 'id')", "300\nNULL");
    // What is taken back is taken back.
    b.check("BEGIN TRAN; ALTER TABLE s ADD id int IDENTITY; ROLLBACK; ALTER TABLE s ADD id int IDENTITY (7, 1); INSERT s VALUES (0); SELECT id FROM s WHERE a = 0", "(1)\n307");
    let mut b = b.restart();
    b.check("INSERT s VALUES (-1); SELECT id FROM s WHERE a = -1; INSERT t VALUES ('f'); SELECT id FROM t WHERE k = 'f'", "(1)\n308\n(1)\n35");
}
