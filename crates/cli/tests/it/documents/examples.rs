//! The Rust of the documents, line for line between the marks, in functions that run in the
//! reader's folder.

use std::error::Error;

/// A program by its name.
type Program = (&'static str, fn() -> Result<(), Box<dyn Error>>);

pub const PROGRAMS: [Program; 3] =
    [("README.md", readme), ("docs/embedding.md", embedding), ("docs/embedding.md, bulk", bulk)];

/// The name of the program that has these lines.
pub fn name_of(lines: &str) -> Option<&'static str> {
    let wanted: Vec<&str> = lines.lines().map(str::trim_end).collect();
    let known = PROGRAMS.iter().map(|(name, _)| *name);
    known.into_iter().find(|name| lines_of(name) == wanted)
}

/// The lines of a program, without its indentation.
fn lines_of(name: &str) -> Vec<&'static str> {
    let (begin, end) = (format!("    // {name}:"), "    // The end.");
    let mut lines = include_str!("examples.rs").lines().skip_while(|line| *line != begin).skip(1);
    lines
        .by_ref()
        .take_while(|line| *line != end)
        .map(|line| line.get(4..).unwrap_or_default())
        .collect()
}

#[rustfmt::skip]
fn readme() -> Result<(), Box<dyn Error>> {
    // README.md:
    let db = ringwood::Database::open("./data")?;
    let mut session = db.session()?;
    session.execute("insert visit (place) values ('Burley'), ('Poulner')")?;
    // The end.
    drop(session);
    Ok(db.close()?)
}

#[rustfmt::skip]
fn embedding() -> Result<(), Box<dyn Error>> {
    // docs/embedding.md:
    let db = ringwood::Options::new("./data").memory(512 << 20).open()?;    // .read_only(): change nothing in the folder
    let mut session = db.session()?;
    session.execute("create table visit (id int identity primary key, place varchar(30) not null)")?;
    let outcome = session.execute("insert visit (place) values ('Burley'), ('Poulner')")?;
    assert_eq!(outcome.affected, [2]);
    let set = session.query("select id, place from visit order by id")?;
    println!("{} {}", set.columns[1].name, set.rows[0][1]);
    db.close()?;
    // The end.
    Ok(())
}

#[rustfmt::skip]
fn bulk() -> Result<(), Box<dyn Error>> {
    let db = ringwood::Database::open("./data")?;
    let mut session = db.session()?;
    // docs/embedding.md, bulk:
    let mut hour = 0;
    let loaded = session.bulk_insert("visit", &["place"], &ringwood::BulkOptions::default(), &mut |row: &mut [ringwood::Value]| {
        row[0] = ringwood::Value::str(format!("Stop {hour}"));
        hour += 1;
        Ok(hour <= 24)
    })?;
    assert_eq!(loaded, 24);
    // The end.
    Ok(())
}
