//! A table several times the buffer pool is loaded, indexed, scanned, updated and deleted from, and
//! is right.

use ringwood::{Options, Value};

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

#[test]
fn four_times_the_buffer_pool() {
    let folder = tempfile::tempdir().unwrap();
    let db = Options::new(folder.path()).memory(8 << 20).open().unwrap();
    let mut session = db.session().unwrap();
    session
        .execute("create database big on (name = d, filename = 'big.mdf', size = 64MB) log on (name = l, filename = 'big.ldf', size = 64MB)")
        .unwrap();
    session.execute("alter database big set recovery simple").unwrap();
    session.execute("use big; set nocount on").unwrap();
    session
        .execute("create table t (id int not null, k int not null, pad char(400) not null)")
        .unwrap();
    // 80,000 rows of more than 400 bytes: 32 MB and more.
    let rows = 80_000_i64;
    session
        .execute(&format!(
            "declare @i int = 0; begin tran;
             while @i < {rows} begin insert t values (@i, @i * 7919 % {rows}, 'x'); set @i += 1 end; commit"
        ))
        .unwrap();
    let mut one = |sql: &str| number(&session.query(sql).unwrap().rows[0][0]);
    assert_eq!(one("select count(*) from t"), rows);
    assert_eq!(
        one(
            "create unique clustered index ci on t (id); create index ix on t (k); select count(*) from t"
        ),
        rows
    );
    assert_eq!(one("select sum(cast(k as bigint)) from t"), rows * (rows - 1) / 2);
    assert_eq!(
        one("update t set pad = 'y' where id % 2 = 0; select count(*) from t where pad = 'y'"),
        rows / 2
    );
    assert_eq!(one("select count(*) from t where k between 100 and 199"), 100);
    assert_eq!(one("delete t where k < 1000; select count(*) from t"), rows - 1000);
    assert_eq!(
        one("select count(*) from t where id between 0 and 79999 and pad in ('x', 'y')"),
        rows - 1000
    );
    assert!(db.check("big").unwrap().is_empty());
    drop(session);
    db.close().unwrap();

    let db = Options::new(folder.path()).memory(8 << 20).open().unwrap();
    let mut session = db.session().unwrap();
    session.execute("use big").unwrap();
    assert_eq!(
        number(&session.query("select count(*) from t where k >= 0").unwrap().rows[0][0]),
        rows - 1000
    );
    db.close().unwrap();
}
