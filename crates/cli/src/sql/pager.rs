//! The pager at the prompt: what is longer than the screen goes through `$PAGER`, else `less` or
//! `more` if they are there. Shorter output goes straight to the terminal.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// Standard output of a terminal, page by page.
pub struct Pager {
    /// Commands to try, the first that starts is taken; none = no paging.
    commands: Vec<String>,
    /// What was written since the last [`Pager::finish`] and is not on the screen yet.
    held: Vec<u8>,
    /// Rows of the screen that it takes.
    rows: usize,
    child: Option<Child>,
    /// The reader has left the pager: the rest is dropped.
    left: bool,
}

/// What pagers are tried.
pub fn commands() -> Vec<String> {
    match std::env::var("PAGER") {
        Ok(pager) if matches!(pager.trim(), "" | "cat") => Vec::new(),
        Ok(pager) => vec![pager],
        Err(_) => vec!["less".into(), "more".into()],
    }
}

impl Pager {
    pub fn new(commands: Vec<String>) -> Pager {
        Pager { commands, held: Vec::new(), rows: 0, child: None, left: false }
    }

    /// A pager has the screen.
    pub fn is_open(&self) -> bool {
        self.child.is_some()
    }

    /// The end of a batch: shows what is held, or waits until the reader leaves the pager.
    pub fn finish(&mut self) -> io::Result<()> {
        let shown = match self.child.take() {
            Some(mut child) => {
                drop(child.stdin.take());
                child.wait().map(drop)
            }
            None => self.show(),
        };
        self.held.clear();
        self.rows = 0;
        self.left = false;
        shown
    }

    /// Puts what is held on the screen.
    fn show(&mut self) -> io::Result<()> {
        let mut out = io::stdout();
        out.write_all(&self.held)?;
        self.held.clear();
        out.flush()
    }

    fn start(&mut self) {
        for command in &self.commands {
            // A name alone needs no shell, whose error would be on the screen.
            let mut starts = if command.chars().all(|c| c.is_ascii_alphanumeric()) {
                Command::new(command)
            } else {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]);
                shell
            };
            if std::env::var_os("LESS").is_none() {
                starts.env("LESS", "FRSX");
            }
            if let Ok(child) = starts.stdin(Stdio::piped()).spawn() {
                self.child = Some(child);
                return;
            }
        }
        self.commands.clear();
    }

    /// Bytes for the pager; a reader who has left is no error.
    fn page(&mut self, buf: &[u8]) {
        let pipe = self.child.as_mut().and_then(|child| child.stdin.as_mut());
        if !self.left && pipe.is_some_and(|pipe| pipe.write_all(buf).is_err()) {
            self.left = true;
        }
    }
}

impl Write for Pager {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.child.is_some() {
            self.page(buf);
            return Ok(buf.len());
        }
        let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
        self.held.extend_from_slice(buf);
        // A long line takes several rows; its characters are about its bytes.
        self.rows += buf
            .split(|b| *b == b'\n')
            .map(|line| line.len() / usize::from(width.max(1)))
            .sum::<usize>();
        self.rows += buf.iter().filter(|b| **b == b'\n').count();
        if self.rows + 2 > usize::from(height) && !self.commands.is_empty() {
            self.start();
            if self.child.is_some() {
                let held = std::mem::take(&mut self.held);
                self.page(&held);
                return Ok(buf.len());
            }
        }
        if self.commands.is_empty() {
            self.show()?;
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(pipe) => {
                if pipe.flush().is_err() {
                    self.left = true;
                }
                Ok(())
            }
            None => self.show(),
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure.
        let _ = self.finish();
    }
}
