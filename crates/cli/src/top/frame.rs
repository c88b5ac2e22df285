//! One frame as lines of styled text: the same for the terminal and for `--once`.

use super::phases::phases;
use super::rates::{BetweenPictures, bytes, clock, count, counted, each};
use super::ring::{look, ring};
use engine::status::{DatabaseStatus, InstanceStatus, VlfState};

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Dim,
    Current,
    Active,
    Free,
    Bar,
    Warning,
}

/// A line of pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line(pub Vec<(Style, String)>);

impl Line {
    /// One piece.
    pub fn of(style: Style, text: impl Into<String>) -> Line {
        Line(vec![(style, text.into())])
    }

    /// Adds a piece.
    pub fn push(&mut self, style: Style, text: String) {
        match self.0.last_mut() {
            Some((last, so_far)) if *last == style => so_far.push_str(&text),
            _ => self.0.push((style, text)),
        }
    }

    /// Adds another line's pieces.
    pub fn append(&mut self, other: Line) {
        for (style, text) in other.0 {
            self.push(style, text);
        }
    }

    /// Cut or filled with blanks to a width.
    pub fn fit(self, width: usize) -> Line {
        let mut out = Line::default();
        let mut room = width;
        for (style, text) in self.0 {
            let piece: String = text.chars().take(room).collect();
            room -= piece.chars().count();
            out.push(style, piece);
        }
        out.push(Style::Plain, " ".repeat(room));
        out
    }

    /// Without styles.
    pub fn plain(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// The database to draw: the one that is named, else the one whose log wrote most between the
/// pictures, else the first user database, else the first.
pub fn choose(before: &InstanceStatus, now: &InstanceStatus, name: Option<&str>) -> usize {
    if let Some(name) = name
        && let Some(at) = now.databases.iter().position(|db| db.name.eq_ignore_ascii_case(name))
    {
        return at;
    }
    let between = BetweenPictures::new(before, now);
    let busiest = (0..now.databases.len()).max_by_key(|at| {
        let db = &now.databases[*at];
        // Among equals the first user database.
        (between.log_writes(db).bytes, db.id > 4, std::cmp::Reverse(*at))
    });
    busiest.unwrap_or(0)
}

/// Texts in columns of a width, flush right or not.
pub fn columns(cells: &[(&str, usize, bool)]) -> String {
    let mut line = String::new();
    for (i, (text, width, right)) in cells.iter().enumerate() {
        if i > 0 {
            line.push(' ');
        }
        let text: String = text.chars().take(*width).collect();
        let pad = " ".repeat(width - text.chars().count());
        if *right {
            line.push_str(&pad);
            line.push_str(&text);
        } else {
            line.push_str(&text);
            line.push_str(&pad);
        }
    }
    line
}

/// A frame of at most `height` lines; `chosen` is the database whose log is drawn.
pub fn frame(
    before: &InstanceStatus,
    now: &InstanceStatus,
    chosen: usize,
    width: usize,
    height: usize,
) -> Vec<Line> {
    let between = BetweenPictures::new(before, now);
    let mut lines = vec![head(&between)];
    if let Some(db) = now.databases.get(chosen) {
        lines.push(Line::default());
        lines.extend(log(&between, db, width));
        lines.extend(write_sizes(&between, db, width));
    }
    lines.extend(databases(&between, chosen));
    lines.extend(waits(&between));
    lines.extend(phases(&between));
    if let Some(db) = now.databases.get(chosen) {
        lines.extend(files(&between, db));
    }
    lines.extend(requests(now, width));
    lines.truncate(height);
    lines.into_iter().map(|line| line.fit(width)).collect()
}

fn head(b: &BetweenPictures<'_>) -> Line {
    let now = b.now;
    let blocked = now.requests.iter().filter(|r| r.blocked_by.is_some()).count();
    let pool = |name: &str| {
        let get =
            |s: &InstanceStatus| s.pool.iter().find(|(n, _)| n == name).map_or(0, |(_, v)| *v);
        (get(b.before), get(now))
    };
    let (lookups, hits) = (pool("Buffer cache hit ratio base"), pool("Buffer cache hit ratio"));
    let ratio =
        (hits.1.saturating_sub(hits.0) * 100).checked_div(lookups.1.saturating_sub(lookups.0));
    let mut line = Line::of(Style::Bold, format!("Ringwood {} ", now.version));
    line.push(
        Style::Plain,
        format!(
            "pid {}  up {}  {}, ",
            now.pid,
            clock(now.uptime_ms),
            counted(now.sessions, "session")
        ),
    );
    line.push(Style::Plain, format!("{} running", now.requests.len()));
    if blocked > 0 {
        line.push(Style::Warning, format!(", {blocked} blocked"));
    }
    line.push(
        Style::Plain,
        format!("  {} batches/s", count(b.rate(b.before.batches, now.batches))),
    );
    line.push(
        Style::Plain,
        ratio.map_or_else(String::new, |ratio| format!("  cache hits {ratio} %")),
    );
    line
}

/// The ring of the log with its facts in the middle.
fn log(b: &BetweenPictures<'_>, db: &DatabaseStatus, width: usize) -> Vec<Line> {
    let (log, writes) = (&db.log, b.log_writes(db));
    let percent = (log.used * 100).checked_div(log.size).unwrap_or(0);
    let mut name = Line::of(Style::Bold, db.name.clone());
    name.push(
        Style::Plain,
        format!("  {}  {}  log reuse wait {}", db.state, db.recovery_model, db.log_reuse_wait),
    );
    let each_write = writes.bytes as f64 / writes.writes.max(1) as f64;
    let mut legend = Line::default();
    let states = [
        (VlfState::Current, "current "),
        (VlfState::Active, "active "),
        (VlfState::Free, "free "),
        (VlfState::Unused, "never used"),
    ];
    for (state, word) in states {
        let (c, style) = look(state);
        legend.push(style, c.to_string());
        legend.push(Style::Plain, format!(" {word} "));
    }
    let text = [
        name,
        Line::of(
            Style::Plain,
            format!(
                "log {} in {}, {} active, {percent} % used, current VLF {}, aligned to {} bytes",
                bytes(log.size as f64),
                counted(u64::from(log.vlfs), "VLF"),
                count(log.active_vlfs.into()),
                log.current_vlf,
                log.alignment
            ),
        ),
        Line::of(
            Style::Plain,
            format!(
                "{} writes/s of {}, {}/s, {} each",
                count(b.rate(0, writes.writes)),
                bytes(each_write),
                bytes(b.rate(0, writes.bytes)),
                each(writes.us, writes.writes)
            ),
        ),
        Line::of(
            Style::Plain,
            format!(
                "{} commits/s, {} active, {}",
                count(b.rate(b.earlier(db).map_or(db.committed, |e| e.committed), db.committed)),
                counted(db.active, "transaction"),
                counted(log.growths, "growth")
            ),
        ),
        legend,
    ];
    ring(&log.runs, &text, width)
}

/// The log writes between the pictures by size.
fn write_sizes(b: &BetweenPictures<'_>, db: &DatabaseStatus, width: usize) -> Vec<Line> {
    let writes = b.log_writes(db);
    if writes.writes == 0 {
        return Vec::new();
    }
    let mut lines = vec![Line::default(), Line::of(Style::Dim, "log writes up to      per second")];
    let most = writes.sizes.iter().copied().max().unwrap_or(1).max(1);
    let room = width.saturating_sub(36).max(10);
    for (class, n) in writes.sizes.iter().copied().enumerate().filter(|(_, n)| *n > 0) {
        let bound = if class + 1 < writes.sizes.len() {
            bytes((512u64 << class) as f64)
        } else {
            "more".into()
        };
        let cells = [(bound.as_str(), 16, true), (&count(b.rate(0, n)), 16, true), ("", 1, false)];
        let mut line = Line::of(Style::Plain, columns(&cells));
        line.push(Style::Bar, "■".repeat(((n as usize * room) / most as usize).max(1)));
        lines.push(line);
    }
    lines
}

fn databases(b: &BetweenPictures<'_>, chosen: usize) -> Vec<Line> {
    let head = [
        ("database", 20, false),
        ("state", 10, false),
        ("commits/s", 10, true),
        ("log writes/s", 12, true),
        ("size", 8, true),
        ("log bytes/s", 11, true),
        ("log", 8, true),
        ("used %", 6, true),
    ];
    let mut lines = vec![Line::default(), Line::of(Style::Dim, columns(&head))];
    for (at, db) in b.now.databases.iter().enumerate() {
        let writes = b.log_writes(db);
        let commits = b.rate(b.earlier(db).map_or(db.committed, |e| e.committed), db.committed);
        let size = writes.bytes.checked_div(writes.writes).map_or("-".into(), |n| bytes(n as f64));
        let used =
            (db.log.used * 100).checked_div(db.log.size).map_or("-".into(), |n| n.to_string());
        let style = if at == chosen { Style::Bold } else { Style::Plain };
        let cells = [
            (db.name.as_str(), 20, false),
            (db.state.as_str(), 10, false),
            (&count(commits), 10, true),
            (&count(b.rate(0, writes.writes)), 12, true),
            (&size, 8, true),
            (&bytes(b.rate(0, writes.bytes)), 11, true),
            (&bytes(db.log.size as f64), 8, true),
            (&used, 6, true),
        ];
        lines.push(Line::of(style, columns(&cells)));
    }
    lines
}

/// Waits that ended between the pictures, those with most time first.
fn waits(b: &BetweenPictures<'_>) -> Vec<Line> {
    let mut list: Vec<(&str, u64, u64)> = Vec::new();
    for wait in &b.now.waits {
        let earlier = b.before.waits.iter().find(|w| w.wait_type == wait.wait_type);
        let (n, us) = earlier.map_or((0, 0), |w| (w.count, w.us));
        let since = (wait.count.saturating_sub(n), wait.us.saturating_sub(us));
        if since.0 > 0 {
            list.push((&wait.wait_type, since.0, since.1));
        }
    }
    if list.is_empty() {
        return Vec::new();
    }
    list.sort_by_key(|(_, _, us)| std::cmp::Reverse(*us));
    let head = [("wait", 32, false), ("waits/s", 12, true), ("ms/s", 10, true), ("each", 10, true)];
    let mut lines = vec![Line::default(), Line::of(Style::Dim, columns(&head))];
    for (name, n, us) in list {
        let cells = [
            (name, 32, false),
            (&*count(b.rate(0, n)), 12, true),
            (&*count(b.rate(0, us) / 1000.0), 10, true),
            (&*each(us, n), 10, true),
        ];
        lines.push(Line::of(Style::Plain, columns(&cells)));
    }
    lines
}

fn files(b: &BetweenPictures<'_>, db: &DatabaseStatus) -> Vec<Line> {
    let head = [
        ("file", 20, false),
        ("size", 8, true),
        ("reads/s", 9, true),
        ("read/s", 9, true),
        ("each", 8, true),
        ("writes/s", 9, true),
        ("written/s", 9, true),
        ("each", 8, true),
        ("sector", 6, true),
    ];
    let mut lines = vec![Line::default(), Line::of(Style::Dim, columns(&head))];
    for file in &db.files {
        let e = b.earlier_file(db, file);
        let since = |was: u64, now: u64| now.saturating_sub(was);
        let stall = since(e.write_us + e.sync_us, file.write_us + file.sync_us);
        let cells = [
            (file.name.as_str(), 20, false),
            (&*bytes(file.size as f64), 8, true),
            (&*count(b.rate(e.reads, file.reads)), 9, true),
            (&*bytes(b.rate(e.bytes_read, file.bytes_read)), 9, true),
            (&*each(since(e.read_us, file.read_us), since(e.reads, file.reads)), 8, true),
            (&*count(b.rate(e.writes, file.writes)), 9, true),
            (&*bytes(b.rate(e.bytes_written, file.bytes_written)), 9, true),
            (&*each(stall, since(e.writes, file.writes)), 8, true),
            (&*file.physical_sector.to_string(), 6, true),
        ];
        lines.push(Line::of(Style::Plain, columns(&cells)));
    }
    lines
}

fn requests(now: &InstanceStatus, width: usize) -> Vec<Line> {
    if now.requests.is_empty() {
        return Vec::new();
    }
    let head = [
        ("session", 7, true),
        ("database", 14, false),
        ("time", 8, true),
        ("wait", 14, false),
        ("by", 4, true),
        ("statement", 9, false),
    ];
    let mut lines = vec![Line::default(), Line::of(Style::Dim, columns(&head))];
    for r in &now.requests {
        let text: String = r.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let by = r.blocked_by.map_or_else(String::new, |s| s.to_string());
        let cells = [
            (&*r.session.to_string(), 7, true),
            (r.database.as_str(), 14, false),
            (&*clock(r.ms), 8, true),
            (r.wait_type.as_deref().unwrap_or(""), 14, false),
            (&*by, 4, true),
            (text.as_str(), width.saturating_sub(52).max(20), false),
        ];
        let style = if r.blocked_by.is_some() { Style::Warning } else { Style::Plain };
        lines.push(Line::of(style, columns(&cells)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::status::{FileStatus, LogStatus, RequestStatus, VlfRun, WaitTotal};

    /// An instance with one database; everything counted `n` times.
    fn picture(n: u64) -> InstanceStatus {
        let mut write_sizes = vec![0; 13];
        write_sizes[3] = 100 * n;
        let file = FileStatus {
            id: 2,
            name: "s_log".into(),
            is_log: true,
            writes: 100 * n,
            bytes_written: 409_600 * n,
            write_us: 5_000 * n,
            write_sizes,
            physical_sector: 4096,
            ..FileStatus::default()
        };
        let log = LogStatus {
            size: 8 << 20,
            used: 2 << 20,
            vlfs: 4,
            active_vlfs: 1,
            current_vlf: 24,
            alignment: 4096,
            runs: vec![
                VlfRun { state: VlfState::Current, count: 1, bytes: 2 << 20 },
                VlfRun { state: VlfState::Unused, count: 3, bytes: 6 << 20 },
            ],
            ..LogStatus::default()
        };
        let db = DatabaseStatus {
            id: 5,
            name: "s".into(),
            state: "ONLINE".into(),
            committed: 100 * n,
            log,
            files: vec![file],
            ..DatabaseStatus::default()
        };
        let request = RequestStatus {
            session: 52,
            database: "s".into(),
            wait_type: Some("LCK_M_X".into()),
            blocked_by: Some(51),
            text: "update  t\n set a = 1".into(),
            ..RequestStatus::default()
        };
        InstanceStatus {
            version: "0.1.0".into(),
            pid: 7,
            at_us: 1_000_000 * n,
            databases: vec![
                DatabaseStatus { id: 1, name: "master".into(), ..DatabaseStatus::default() },
                db,
            ],
            waits: vec![WaitTotal { wait_type: "WRITELOG".into(), count: 100 * n, us: 6_000 * n }],
            requests: vec![request],
            ..InstanceStatus::default()
        }
    }

    #[test]
    fn a_frame_says_what_happened_between_two_pictures() {
        let (before, now) = (picture(1), picture(3));
        let chosen = choose(&before, &now, None);
        assert_eq!(chosen, 1, "the database that writes");
        assert_eq!(choose(&before, &now, Some("MASTER")), 0);
        let lines: Vec<String> =
            frame(&before, &now, chosen, 100, usize::MAX).iter().map(Line::plain).collect();
        let text = lines.join("\n");
        assert!(lines.iter().all(|line| line.chars().count() == 100), "{text}");
        for wanted in [
            "log 8.0 MB in 4 VLFs, 1 active, 25 % used, current VLF 24, aligned to 4096 bytes",
            "100 writes/s of 4.0 KB, 400 KB/s, 50 us each",
            "100 commits/s",
            "WRITELOG                                  100          6      60 us",
            "1 blocked",
            "LCK_M_X          51 update t set a = 1",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
        assert!(lines[2].starts_with("◆◆◆") && lines[2].contains('·'), "{text}");
        assert_eq!(frame(&before, &now, chosen, 40, 5).len(), 5);
        // Nothing is divided by nothing.
        frame(&now, &now, 99, 10, 50);
        frame(&InstanceStatus::default(), &InstanceStatus::default(), 0, 80, 24);
    }
}
