//! Tables and procedures of the work on MariaDB. Every table has a primary key: InnoDB gives one
//! that has none a hidden key from a counter of the whole server, which all advice warns of. Where
//! the work has no key of its own it is an AUTO_INCREMENT.

use crate::work::LOAD_FILLER;

/// Columns of a customer. InnoDB has no char beyond 255: c_data is a varchar(500).
const CUSTOMER: &str = "(c_id int, c_d_id tinyint unsigned, c_w_id int, c_first char(16), c_middle char(2), c_last char(16), \
c_street_1 char(20), c_street_2 char(20), c_city char(20), c_state char(2), c_zip char(9), c_phone char(16), c_since datetime(3), \
c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), \
c_payment_cnt smallint, c_delivery_cnt smallint, c_data varchar(500), primary key (c_w_id, c_d_id, c_id))";

/// The work's loops. A value that is the same for every row is made once.
pub(super) const PROCEDURES: [&str; 5] = [
    "create procedure loop_inserts(n int) begin declare i int default 1; start transaction; while i <= n do insert into one_row (a, b) values (i, 'x'); set i = i + 1; end while; commit; end",
    "create procedure commits(s int, n int) begin declare i int default 1; while i <= n do insert into one_row (a, b) values (s, 'x'); commit; set i = i + 1; end while; end",
    "create procedure load_rows(s int, n int, batch int) begin declare i int default 1; declare j int; declare filler varchar(1000) default rpad('filler', 980); while i <= n do start transaction; set j = 0; while j < batch do insert into arrivals (a, b, c) values (s, i, filler); set j = j + 1; end while; commit; set i = i + 1; end while; end",
    "create procedure row_updates(n int) begin declare x int default 1; declare a varchar(8000) default repeat('a', 8000); declare b varchar(8000) default repeat('b', 8000); start transaction; while x <= n do update vlf_test v set v.b = a, v.c = x where v.a = 1; update vlf_test v set v.b = b where v.a = 1; set x = x + 1; end while; commit; end",
    "create procedure payload(quarter int, half int, us bigint) begin declare stop datetime(6) default timestampadd(microsecond, us, sysdate(6)); declare a longtext default repeat('A', quarter); declare x longtext default repeat('X', quarter); declare z longtext default repeat('Z', half); while sysdate(6) < stop do insert into tab1 (col1, col2, col3) values (a, x, z); commit; end while; end",
];
/// A row of one client.
pub(super) const INSERT: &str = "insert into one_row (a, b) values (?, 'x')";

/// How each table ends.
const INNODB: &str = "engine=InnoDB character set latin1";

/// A table of customers.
pub(super) fn customers(name: &str) -> String {
    format!("create table {name} {CUSTOMER} {INNODB}")
}

/// The table of one-row inserts.
pub(super) fn one_row() -> String {
    format!(
        "create table one_row (id bigint not null auto_increment primary key, a int not null, b char(100) not null) {INNODB}"
    )
}

/// The table of a load, over that many files. The key of a table in partitions must have what they
/// are made by.
pub(super) fn arrivals(files: u32) -> String {
    let partitions = if files > 1 {
        format!(" partition by hash (b) partitions {files}")
    } else {
        String::new()
    };
    format!(
        "create table arrivals (id bigint not null auto_increment, a int not null, b int not null, c varchar({LOAD_FILLER}) not null, \
         primary key (id, b)) {INNODB}{partitions}"
    )
}

/// The table of one wide row, `a` with that key or none.
pub(super) fn wide(key: &str) -> String {
    format!(
        "create table vlf_test (a int {key}, b varchar(8000) not null, c int not null) {INNODB}"
    )
}

/// The table of payloads.
pub(super) fn payloads() -> String {
    format!(
        "create table tab1 (id bigint not null auto_increment primary key, col1 longtext, col2 longtext, col3 longtext) {INNODB}"
    )
}
