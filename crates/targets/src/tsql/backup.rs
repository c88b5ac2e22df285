//! Backups, timed, and what they say.

use super::Connection;
use crate::LabError;
use crate::work::Figure;
use std::time::Instant;

/// BACKUP LOG: seconds, and the pages and seconds of its message.
pub(super) fn log_backup(client: &mut dyn Connection) -> Result<Vec<Figure>, LabError> {
    let site = client.site();
    let text = format!("backup log {} to disk = {} with init", site.database, site.backup(".trn"));
    let begin = Instant::now();
    let reply = client.run(&text)?;
    let mut figures = Figure::seconds(begin.elapsed().as_secs_f64());
    if let Some((pages, said)) = reply.messages.iter().find_map(|m| backup_message(m)) {
        figures.push(Figure::named("pages", "pages", pages));
        figures.push(Figure::named("by its message", "s", said));
    }
    Ok(figures)
}

/// Pages and seconds of `BACKUP LOG successfully processed 412 pages in 0.034 seconds (94.6
/// MB/sec).`
fn backup_message(text: &str) -> Option<(f64, f64)> {
    let mut words = text.split("successfully processed ").nth(1)?.split_whitespace();
    let pages = words.next()?.parse().ok()?;
    let seconds = words.nth(2)?.parse().ok()?;
    Some((pages, seconds))
}

/// BACKUP DATABASE with STATS = 1: seconds, pages, and how many lines of progress it printed.
pub(super) fn full_backup(client: &mut dyn Connection) -> Result<Vec<Figure>, LabError> {
    let site = client.site();
    let to = site.backup("_full.bak");
    let text = format!("backup database {} to disk = {to} with init, stats = 1", site.database);
    let begin = Instant::now();
    let reply = client.run(&text)?;
    let mut figures = Figure::seconds(begin.elapsed().as_secs_f64());
    if let Some((pages, _)) = reply.messages.iter().find_map(|m| backup_message(m)) {
        figures.push(Figure::named("pages", "pages", pages));
    }
    let lines = reply.messages.iter().filter(|m| m.ends_with("percent processed.")).count();
    figures.push(Figure::named("lines of STATS = 1", "lines", lines as f64));
    Ok(figures)
}

/// What can be released of the log is: a checkpoint, and where the log is kept until it is backed
/// up, a backup to nowhere.
pub(super) fn release_log(client: &mut dyn Connection) -> Result<(), LabError> {
    client.run("checkpoint")?;
    let text = format!("backup log {} to disk = 'NUL'", client.site().database);
    match client.run(&text) {
        Ok(_) | Err(LabError::Unsupported(_)) => Ok(()),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_s_message_is_read() {
        let text = "BACKUP LOG successfully processed 412 pages in 0.034 seconds (94.600 MB/sec).";
        assert_eq!(backup_message(text), Some((412.0, 0.034)));
        assert_eq!(
            backup_message("Processed 412 pages for database 'lab', file 'lab_log' on file 1."),
            None
        );
    }
}
