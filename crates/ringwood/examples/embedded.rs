//! Ringwood inside a program: a folder, some threads, T-SQL. Run with `cargo run --example
//! embedded`.

use ringwood::{Database, SqlError};

fn main() -> Result<(), SqlError> {
    let folder = std::env::temp_dir().join(format!("ringwood-example-{}", std::process::id()));
    let db = Database::open(&folder)?;
    db.session()?.execute(
        "create table visit (id int identity primary key, place varchar(30) not null, at datetime2)",
    )?;

    std::thread::scope(|scope| {
        let threads: Vec<_> = ["Ringwood", "Burley", "Poulner", "Sandford"]
            .into_iter()
            .map(|place| {
                let db = db.clone();
                scope.spawn(move || -> Result<(), SqlError> {
                    let mut session = db.session()?;
                    for _ in 0..100 {
                        session.execute(&format!(
                            "insert visit (place, at) values ('{place}', sysdatetime())"
                        ))?;
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|t| {
            t.join().unwrap_or_else(|_| Err(SqlError::new(0, 16, 1, "a thread panicked")))
        })
    })?;

    let mut session = db.session()?;
    session.stream(
        "select place, count(*) as visits from visit group by place order by place",
        |columns, row| {
            println!("{}: {}, {}: {}", columns[0].name, row[0], columns[1].name, row[1]);
            Ok(())
        },
    )?;

    session.execute("begin tran; delete visit; rollback")?;
    println!(
        "after the rollback: {} visits",
        session.query("select count(*) from visit")?.rows[0][0]
    );
    db.close()?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}
