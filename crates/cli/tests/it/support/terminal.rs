//! A pseudo terminal with a process of `ringwood` in it, and its screen.
#![allow(dead_code)] // each test uses its part

use pty_process::Size;
use pty_process::blocking::{self, Pty};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const ROWS: u16 = 24;
pub const COLUMNS: u16 = 96;

/// How long a screen may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a process in it.
pub struct Terminal {
    pub pty: Option<Pty>,
    pub child: Child,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Runs `ringwood` with arguments in a folder.
    pub fn spawn(folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Terminal {
        let (pty, pts) = blocking::open().unwrap();
        pty.resize(Size::new(ROWS, COLUMNS)).unwrap();
        let child = blocking::Command::new(env!("CARGO_BIN_EXE_ringwood"))
            .args(args)
            .current_dir(folder)
            .env("RINGWOOD_HISTORY", folder.join("history"))
            .env("TERM", "xterm-256color")
            .env("PAGER", "cat")
            .env_remove("NO_COLOR")
            .envs(env.iter().copied())
            .spawn(pts)
            .unwrap();
        let size = |n| NonZero::new(n).unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(size(ROWS), size(COLUMNS), 0)));
        let shown = Arc::clone(&screen);
        let mut from = File::from(pty.as_fd().try_clone_to_owned().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The other end is gone when it fails.
            while let Ok(n @ 1..) = from.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..n]);
            }
        });
        Terminal { pty: Some(pty), child, screen }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.pty.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The screen without blanks at the ends of lines and empty lines at its end; times and version
    /// are made equal.
    pub fn text(&self) -> String {
        let contents = self.screen.lock().unwrap().screen().contents();
        let lines: Vec<String> = contents.lines().map(|line| plain(line.trim_end())).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Waits until the screen holds.
    pub fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if holds(&text) {
                return;
            }
            assert!(Instant::now() < end, "{what} is not on the screen:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn wait_for(&self, text: &str) {
        self.wait(text, |screen| screen.contains(text));
    }

    /// Waits until the prompt asks for a new batch.
    pub fn prompted(&self) {
        self.wait("an empty prompt", |text| text.lines().last().is_some_and(is_prompt));
    }

    /// Clears the screen at the prompt and types.
    pub fn fresh(&mut self, text: &str) {
        self.prompted();
        self.send(b"\x0c");
        self.wait("an empty screen", is_prompt);
        self.send(text.as_bytes());
    }

    pub fn exit_code(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.kill().unwrap();
        panic!("the process does not end:\n{}", self.text());
    }
}

/// `database 1>` alone.
pub fn is_prompt(text: &str) -> bool {
    text.strip_suffix(" 1>").is_some_and(|name| !name.contains([' ', '\n']))
}

/// A line with `(n ms)` for each time and `Ringwood x.y.z` for each version.
fn plain(line: &str) -> String {
    if let Some(inner) = line.strip_prefix('(').and_then(|rest| rest.strip_suffix(" ms)"))
        && inner.parse::<f64>().is_ok()
    {
        return "(n ms)".into();
    }
    match line.strip_prefix("Ringwood ") {
        Some(rest) => format!("Ringwood x.y.z{}", &rest[rest.find(". ").unwrap_or(0)..]),
        None => line.to_owned(),
    }
}
