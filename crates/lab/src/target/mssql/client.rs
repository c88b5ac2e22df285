//! Connections to a server that speaks TDS, through the crate tiberius, and those that wait to be used again. A connection is used by
//! one thread at a time and waits in system calls, so tiberius runs on a blocking socket and needs no runtime.

use super::address::Address;
use crate::LabError;
use crate::target::tsql::{Connection, Reply, Server, Site};
use futures_io::{AsyncRead, AsyncWrite};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tiberius::error::Error;
use tiberius::numeric::Numeric;
use tiberius::time::DateTime;
use tiberius::{Client, ColumnData, TokenRow};

/// A socket that is waited for where it is read.
pub struct Blocking(TcpStream);

fn again(mut call: impl FnMut() -> io::Result<usize>) -> Poll<io::Result<usize>> {
    loop {
        match call() {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            other => return Poll::Ready(other),
        }
    }
}

impl AsyncRead for Blocking {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        again(|| (&self.0).read(buf))
    }
}

impl AsyncWrite for Blocking {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        again(|| (&self.0).write(buf))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.shutdown(Shutdown::Both))
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread. On a blocking socket it is ready at once.
pub fn block_on<F: Future>(future: F) -> F::Output {
    thread_local! {
        static WAKER: Waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    }
    let mut future = pin!(future);
    WAKER.with(|waker| {
        let mut context = Context::from_waker(waker);
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(value) => return value,
                Poll::Pending => std::thread::park(),
            }
        }
    })
}

/// An open connection.
pub type Open = Client<Blocking>;

/// Error numbers of what cannot be done here, as opposed to what went wrong: not in this version of Ringwood; BACKUP LOG under the
/// SIMPLE recovery model.
const UNSUPPORTED: [u32; 2] = [40510, 4208];

/// A driver's error as the lab's.
pub fn failed(error: &Error, statement: &str) -> LabError {
    let message = match error {
        Error::Server(e) if UNSUPPORTED.contains(&e.code()) => {
            return LabError::Unsupported(e.message().to_owned());
        }
        Error::Server(e) => {
            format!(
                "Msg {}, Level {}, State {}, Line {}: {}",
                e.code(),
                e.class(),
                e.state(),
                e.line(),
                e.message()
            )
        }
        other => other.to_string(),
    };
    LabError::Target { target: "mssql".into(), message, statement: statement.chars().take(300).collect() }
}

/// Logs in.
pub fn log_in(address: &Address) -> Result<Open, LabError> {
    let (config, socket) = address.open()?;
    let login = format!("login of {}", address.shown());
    block_on(Client::connect(config, Blocking(socket))).map_err(|e| failed(&e, &login))
}

/// Runs a batch.
fn run(client: &mut Open, batch: &str) -> Result<Reply, LabError> {
    let answer = block_on(async { client.simple_query(batch).await?.into_results().await });
    let sets = answer.map_err(|e| failed(&e, batch))?;
    let row = |row: tiberius::Row| row.cells().map(|(_, value)| text_of(value)).collect();
    let sets = sets.into_iter().map(|set| set.into_iter().map(row).collect()).collect();
    // The driver keeps messages to itself.
    Ok(Reply { sets, messages: vec![] })
}

/// A value as text; of dates and binary values, which no study reads, what the driver shows.
fn text_of(value: &ColumnData<'static>) -> Option<String> {
    match value {
        ColumnData::U8(v) => v.map(|v| v.to_string()),
        ColumnData::I16(v) => v.map(|v| v.to_string()),
        ColumnData::I32(v) => v.map(|v| v.to_string()),
        ColumnData::I64(v) => v.map(|v| v.to_string()),
        ColumnData::F32(v) => v.map(|v| v.to_string()),
        ColumnData::F64(v) => v.map(|v| v.to_string()),
        ColumnData::Bit(v) => v.map(|v| u8::from(v).to_string()),
        ColumnData::String(v) => v.as_ref().map(|v| v.to_string()),
        ColumnData::Numeric(v) => v.map(decimal),
        other => Some(format!("{other:?}")),
    }
}

fn decimal(value: Numeric) -> String {
    let digits = value.value().unsigned_abs().to_string();
    let scale = usize::from(value.scale());
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let mut text = String::new();
    if value.value() < 0 {
        text.push('-');
    }
    text.push_str(whole);
    if scale > 0 {
        let _ = write!(text, ".{fraction}");
    }
    text
}

/// A server, and connections to it that nobody uses.
pub struct Wire {
    address: Address,
    site: Site,
    idle: Arc<Mutex<Vec<Open>>>,
}

impl Wire {
    /// The server at that address.
    pub fn new(address: Address, site: Site) -> Wire {
        Wire { address, site, idle: Arc::default() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Open>> {
        // A panic elsewhere leaves a list of connections, which is whole at any moment.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The study's database from now on; connections that wait are closed.
    pub fn set_database(&mut self, database: String) {
        self.site.database = database;
        self.forget();
    }

    /// Closes the connections that wait: they stand in the way of DROP DATABASE, or their server has ended.
    pub fn forget(&self) {
        self.idle().clear();
    }

    /// A connection that no study has used, in `database` or in `master`.
    fn fresh(&self, begin: &str) -> Result<Open, LabError> {
        let mut open = log_in(&self.address)?;
        run(&mut open, begin)?;
        Ok(open)
    }
}

impl Server for Wire {
    fn connect(&self, database: Option<&str>) -> Result<Box<dyn Connection>, LabError> {
        let begin = format!("if @@trancount > 0 rollback; use [{}]", database.unwrap_or("master"));
        let idle = self.idle().pop();
        let reused = idle.and_then(|mut open| run(&mut open, &begin).ok().map(|_| open));
        let open = match reused {
            Some(open) => open,
            None => self.fresh(&begin)?,
        };
        Ok(Box::new(Session {
            open: Some(open),
            whole: true,
            site: self.site.clone(),
            idle: self.idle.clone(),
        }))
    }

    fn site(&self) -> &Site {
        &self.site
    }

    fn load_customers(&self, table: &str, file: &Path) -> Result<(), LabError> {
        let mut open = self.fresh(&format!("use [{}]", self.site.database))?;
        let what = format!("bulk load of {table}");
        let failed = |e: Error| failed(&e, &what);
        block_on(async {
            let mut request = open.bulk_insert(table).await.map_err(failed)?;
            for line in BufReader::with_capacity(1 << 20, std::fs::File::open(file)?).lines() {
                let line = line?;
                let row = customer_row(&line).ok_or_else(|| {
                    LabError::Request(format!("{}: not a customer: {line}", file.display()))
                })?;
                request.send(row).await.map_err(failed)?;
            }
            request.finalize().await.map_err(failed)?;
            Ok::<(), LabError>(())
        })
    }
}

/// A session; its connection goes back when it ends, unless something went wrong.
struct Session {
    open: Option<Open>,
    whole: bool,
    site: Site,
    idle: Arc<Mutex<Vec<Open>>>,
}

impl Connection for Session {
    fn run(&mut self, batch: &str) -> Result<Reply, LabError> {
        let open = self.open.as_mut().ok_or_else(|| LabError::Request("the connection is closed".into()))?;
        let reply = run(open, batch);
        self.whole &= reply.is_ok();
        reply
    }

    fn site(&self) -> &Site {
        &self.site
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(open) = self.open.take().filter(|_| self.whole) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(open);
        }
    }
}

/// The types of the columns of the customer table, as `customer.sql` has them: int, tinyint, smallint, char, datetime, and the scale
/// of numeric ones.
const COLUMNS: &[u8; 21] = b"iticccccccccdc2422ssc";

/// A line of the file of customers as a row for a bulk load; `None` where it is not one.
fn customer_row(line: &str) -> Option<TokenRow<'static>> {
    let mut row = TokenRow::with_capacity(COLUMNS.len());
    let mut fields = line.split(crate::customers::FIELD);
    for kind in COLUMNS {
        let field = fields.next()?;
        row.push(match kind {
            b'i' => ColumnData::I32(Some(field.parse().ok()?)),
            b't' => ColumnData::U8(Some(field.parse().ok()?)),
            b's' => ColumnData::I16(Some(field.parse().ok()?)),
            b'd' => ColumnData::DateTime(Some(datetime(field)?)),
            b'c' => ColumnData::String(Some(field.to_owned().into())),
            scale => {
                let scale = scale - b'0';
                let digits = field.split_once('.').filter(|(_, f)| f.len() == usize::from(scale))?;
                let value = format!("{}{}", digits.0, digits.1).parse().ok()?;
                ColumnData::Numeric(Some(Numeric::new_with_scale(value, scale)))
            }
        });
    }
    fields.next().is_none().then_some(row)
}

/// `2010-01-01 00:00:00.000`: days since 1900 and three hundredths of a second.
fn datetime(text: &str) -> Option<DateTime> {
    let (date, time) = text.split_once(' ')?;
    let numbers =
        |text: &str, by: [char; 2]| -> Option<Vec<i32>> { text.split(by).map(|n| n.parse().ok()).collect() };
    let (date, time) = (numbers(date, ['-', '-'])?, numbers(time, [':', '.'])?);
    let ([year, month, day], [hour, minute, second, ms]) = (date.try_into().ok()?, time.try_into().ok()?);
    let years = year - 1;
    let leap = |year: i32| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let in_year =
        before.get(usize::try_from(month - 1).ok()?)? + day - 1 + i32::from(month > 2 && leap(year));
    // Days of all years before this one since the year 1, less those before 1900.
    let days = years * 365 + years / 4 - years / 100 + years / 400 + in_year - 693_595;
    let ms_of_day: i32 = ((hour * 60 + minute) * 60 + second) * 1000 + ms;
    Some(DateTime::new(days, u32::try_from(ms_of_day).ok()? * 3 / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customers_are_read_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("customer.txt");
        crate::customers::write_customers(&path, 40, 3).unwrap();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let row = customer_row(line).unwrap();
            assert_eq!(row.len(), COLUMNS.len());
        }
        assert!(customer_row("1|2|3").is_none());
    }

    #[test]
    fn dates_count_from_1900() {
        let of = |text: &str| datetime(text).map(|d| (d.days(), d.seconds_fragments()));
        assert_eq!(of("1900-01-01 00:00:00.000"), Some((0, 0)));
        assert_eq!(of("2010-01-01 00:00:00.000"), Some((40_177, 0)));
        assert_eq!(of("2000-03-01 12:00:00.010"), Some((36_584, 12_960_003)));
        assert_eq!(of("2010-13-01 00:00:00.000"), None);
    }

    #[test]
    fn decimals_have_their_point() {
        let of = |value, scale| decimal(Numeric::new_with_scale(value, scale));
        assert_eq!((of(-1000, 2), of(5, 4), of(7, 0)), ("-10.00".into(), "0.0005".into(), "7".into()));
    }
}
