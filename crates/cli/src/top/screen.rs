//! The terminal: draws a frame per picture, reads keys, leaves the terminal as it was.

use super::frame::{Line, Style, choose, frame};
use super::{PictureSource, TopArgs};
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use crossterm::style::{Attribute, Color, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{cursor, queue};
use engine::status::InstanceStatus;
use std::io::{self, Write};
use std::time::Instant;

/// The terminal in raw mode; dropping it puts everything back, after an error or a panic too.
struct Terminal(io::Stdout);

impl Terminal {
    fn open() -> io::Result<Terminal> {
        enable_raw_mode()?;
        let mut terminal = Terminal(io::stdout());
        queue!(terminal.0, EnterAlternateScreen, cursor::Hide)?;
        terminal.0.flush()?;
        Ok(terminal)
    }

    fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
        let out = &mut self.0;
        for (row, line) in lines.iter().enumerate() {
            queue!(out, cursor::MoveTo(0, u16::try_from(row).unwrap_or(u16::MAX)))?;
            for (style, text) in &line.0 {
                set(out, *style)?;
                queue!(out, Print(text), ResetColor, SetAttribute(Attribute::Reset))?;
            }
        }
        queue!(out, Clear(ClearType::FromCursorDown))?;
        out.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure.
        let _ = queue!(self.0, cursor::Show, LeaveAlternateScreen);
        let _ = self.0.flush();
        let _ = disable_raw_mode();
    }
}

fn set(out: &mut io::Stdout, style: Style) -> io::Result<()> {
    match style {
        Style::Plain => Ok(()),
        Style::Bold => queue!(out, SetAttribute(Attribute::Bold)),
        Style::Dim => queue!(out, SetForegroundColor(Color::DarkGrey)),
        Style::Current => {
            queue!(out, SetForegroundColor(Color::Yellow), SetAttribute(Attribute::Bold))
        }
        Style::Active => queue!(out, SetForegroundColor(Color::Red)),
        Style::Free => queue!(out, SetForegroundColor(Color::Green)),
        Style::Bar => queue!(out, SetForegroundColor(Color::Cyan)),
        Style::Warning => {
            queue!(out, SetForegroundColor(Color::Red), SetAttribute(Attribute::Bold))
        }
    }
}

/// What the keys have chosen.
struct View {
    /// The database by name; the busiest one unless chosen.
    database: Option<String>,
    held: bool,
}

impl View {
    /// Acts on a key; false when the view is to end.
    fn key(&mut self, code: KeyCode, control: bool, now: &InstanceStatus, shown: usize) -> bool {
        let count = now.databases.len().max(1);
        let mut go =
            |to: usize| self.database = now.databases.get(to % count).map(|db| db.name.clone());
        match code {
            KeyCode::Char('c') if control => return false,
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Tab | KeyCode::Down | KeyCode::Right => go(shown + 1),
            KeyCode::BackTab | KeyCode::Up | KeyCode::Left => go(shown + count - 1),
            KeyCode::Char(' ') => self.held = !self.held,
            _ => {}
        }
        true
    }
}

/// Shows the instance until a key ends it or the instance is gone.
pub fn watch(args: &TopArgs, source: &PictureSource<'_>) -> Result<(), String> {
    let first = source.look()?;
    args.check_name(&first)?;
    let screen = |e: io::Error| format!("terminal: {e}");
    let mut terminal = Terminal::open().map_err(screen)?;
    let mut view = View { database: args.database.clone(), held: false };
    let (mut before, mut now) = (first.clone(), first);
    loop {
        let shown = choose(&before, &now, view.database.as_deref());
        let (width, height) = size().map_err(screen)?;
        let lines = frame(&before, &now, shown, width.into(), height.into());
        terminal.draw(&lines).map_err(screen)?;
        let next = Instant::now() + args.interval;
        let redraw = loop {
            let rest = next.saturating_duration_since(Instant::now());
            if !poll(rest).map_err(screen)? {
                break false;
            }
            match read().map_err(screen)? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    let control = key.modifiers.contains(KeyModifiers::CONTROL);
                    if !view.key(key.code, control, &now, shown) {
                        return Ok(());
                    }
                    break true;
                }
                Event::Resize(..) => break true,
                _ => {}
            }
        };
        if !redraw && !view.held {
            before = std::mem::replace(&mut now, source.look()?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::status::DatabaseStatus;

    #[test]
    fn keys_go_round_the_databases_and_end_the_view() {
        let db = |name: &str| DatabaseStatus { name: name.into(), ..DatabaseStatus::default() };
        let now = InstanceStatus {
            databases: vec![db("a"), db("b"), db("c")],
            ..InstanceStatus::default()
        };
        let mut view = View { database: None, held: false };
        assert!(view.key(KeyCode::Tab, false, &now, 2));
        assert_eq!(view.database.as_deref(), Some("a"));
        assert!(view.key(KeyCode::Up, false, &now, 0));
        assert_eq!(view.database.as_deref(), Some("c"));
        assert!(view.key(KeyCode::Char(' '), false, &now, 0) && view.held);
        assert!(view.key(KeyCode::Char('c'), false, &now, 0));
        assert!(
            !view.key(KeyCode::Char('c'), true, &now, 0) && !view.key(KeyCode::Esc, false, &now, 0)
        );
        assert!(view.key(KeyCode::Tab, false, &InstanceStatus::default(), 0));
    }
}
