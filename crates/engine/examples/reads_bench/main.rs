//! What reads of one table take by what their plans can do: entries of an index that hold nothing
//! twice, seeks past columns, conditions whose parts are computed once, and conditions that are
//! tested on the bytes of rows. Each beside a way to do the same without it, in turns; medians of
//! the rounds and of their ratios.
//! `./bench reads [--help]`

mod computed;
mod entries;
mod filters;
#[path = "../support/instance.rs"]
mod instance;
#[path = "../support/measure.rs"]
mod measure;
mod seeks_past;
mod skip_scan;
#[path = "../support/statements.rs"]
mod statements;

use self::instance::with_instance;
use self::statements::run;
use measure::{Arguments, Done};
use ringwood_engine::Session;

const HELP: &str = "reads_bench [--part PART] [--rows N] [--rounds N] [--json]

Parts, all unless one is named:
  entries   an index over three ints of a heap, 43 bytes an entry, beside one whose entries have 74
            (char(30) included): pages of a million rows, how full they are, INSERT by keys that
            ascend and by random ones, CREATE INDEX, a scan of the index alone
  past      a range of an index's first column and a value of its second one, by different values
            of the first: as it is planned, by the range alone (FORCESEEK), from end to end
            (FORCESCAN); under READ COMMITTED and SERIALIZABLE
  skip      a value of the second column of a clustered key and none of the first, by different
            values of the first: as it is planned and from end to end (FORCESCAN), for all rows and for
            MAX of the first column; under READ COMMITTED and SERIALIZABLE
  computed  scans whose condition computes something of a variable: with the constant in its place,
            computed once, and computed for each row (as the statement sets the variable)
  filters   scans whose condition compares columns with variables and rejects all rows: tested on the
            bytes of the rows, and on values (as the statement sets a variable)

  --rows    of the tables, 200000 unless said
  --rounds  of each comparison, 5 unless said
  --json    a line of JSON for each row of the tables";

const MADE: &str =
    "CREATE DATABASE bench ON (NAME = bench, SIZE = 256MB) LOG ON (NAME = bench_log, SIZE = 512MB)
    ALTER DATABASE bench SET RECOVERY SIMPLE
    ALTER DATABASE bench SET DELAYED_DURABILITY = FORCED";

/// What the command line says.
pub struct Wanted {
    pub rows: u32,
    pub rounds: usize,
    pub json: bool,
}

type Part = fn(&mut Session, &Wanted) -> Done<()>;

const PARTS: [(&str, Part); 5] = [
    ("entries", entries::measure),
    ("past", seeks_past::measure),
    ("skip", skip_scan::measure),
    ("computed", computed::measure),
    ("filters", filters::measure),
];

fn main() -> Done<()> {
    let arguments = Arguments::read(HELP, &["--part", "--rows", "--rounds"])?;
    let wanted = Wanted {
        rows: arguments.number("--rows", 200_000)?,
        rounds: arguments.number("--rounds", 5)?,
        json: arguments.json,
    };
    if wanted.rows < 1_000 || wanted.rounds < 1 {
        return Err("at least 1000 rows and one round".into());
    }
    let part = arguments.text("--part");
    let parts: Vec<Part> = PARTS
        .iter()
        .filter(|(name, _)| part.is_none_or(|part| part == *name))
        .map(|(_, run)| *run)
        .collect();
    if parts.is_empty() {
        return Err("no such part; --help tells of all".into());
    }
    with_instance("reads", 512 << 20, |instance| {
        let mut session = instance.session()?;
        run(&mut session, MADE)?;
        session.use_database("bench")?;
        run(&mut session, "SET NOCOUNT ON")?;
        parts.into_iter().try_for_each(|part| part(&mut session, &wanted))
    })
}
