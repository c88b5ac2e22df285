//! Names of objects in texts: what stands between the dots.

/// The parts of `[a].b.c`, the last first. `None` when it is no name.
pub fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut chars = text.trim().chars().peekable();
    loop {
        let mut part = String::new();
        match chars.peek() {
            Some('[') | Some('"') => {
                let close = if chars.next() == Some('[') { ']' } else { '"' };
                loop {
                    match chars.next()? {
                        c if c == close && chars.peek() == Some(&close) => {
                            chars.next();
                            part.push(c);
                        }
                        c if c == close => break,
                        c => part.push(c),
                    }
                }
            }
            _ => {
                while let Some(c) = chars.next_if(|c| *c != '.') {
                    part.push(c);
                }
            }
        }
        parts.push(part);
        match chars.next() {
            None => break,
            Some('.') => {}
            Some(_) => return None,
        }
    }
    parts.reverse();
    (parts.len() <= 4).then_some(parts)
}
