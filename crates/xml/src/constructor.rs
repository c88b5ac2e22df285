//! Elements that a query writes out: `<a x="{...}">text {...}</a>`.

use compact_str::CompactString;

use crate::error::QueryError;
use crate::path::Expr;
use crate::query::Parser;
use crate::read::is_space;
use crate::tree::Name;

/// What stands in an element, or in the value of an attribute.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(String),
    Value(Expr),
    Element(Constructor),
}

#[derive(Clone, Debug)]
pub(crate) struct Constructor {
    pub name: Name,
    pub spaces: Vec<(CompactString, CompactString)>,
    pub attributes: Vec<(Name, Vec<Content>)>,
    pub content: Vec<Content>,
}

impl Parser<'_> {
    /// From `<` on.
    pub(crate) fn constructor(&mut self) -> Result<Expr, QueryError> {
        Ok(Expr::Element(Box::new(self.element()?)))
    }

    fn element(&mut self) -> Result<Constructor, QueryError> {
        self.scan.expect("<")?;
        let Some(name) = self.scan.name() else { return Err(self.scan.syntax()) };
        let known = self.spaces.len();
        let mut written = Vec::new();
        loop {
            self.scan.space();
            if self.scan.at("/") || self.scan.at(">") {
                break;
            }
            let Some((prefix, local)) = self.scan.name() else { return Err(self.scan.syntax()) };
            self.scan.expect("=")?;
            self.scan.space();
            let value = self.attribute_value()?;
            let space = match (prefix, local, &value[..]) {
                ("xmlns", prefix, [Content::Text(uri)]) => Some((prefix.into(), uri.as_str().into())),
                ("", "xmlns", [Content::Text(uri)]) => Some((CompactString::default(), uri.as_str().into())),
                ("", "xmlns", []) => Some((CompactString::default(), CompactString::default())),
                _ => None,
            };
            match space {
                Some(space) => self.spaces.push(space),
                None => written.push((prefix, local, value)),
            }
        }
        let mut attributes: Vec<(Name, Vec<Content>)> = Vec::with_capacity(written.len());
        for (prefix, local, value) in written {
            let uri = if prefix.is_empty() { CompactString::default() } else { self.space(prefix)? };
            let name = Name { prefix: prefix.into(), local: local.into(), uri };
            if attributes.iter().any(|(known, _)| known.is(&name)) {
                return Err(QueryError::new(
                    2382,
                    format!("The attribute '{local}' is specified more than once"),
                ));
            }
            attributes.push((name, value));
        }
        let own = Name { prefix: name.0.into(), local: name.1.into(), uri: self.space(name.0)? };
        let content = if self.scan.eat("/") {
            self.scan.expect(">")?;
            Vec::new()
        } else {
            self.scan.expect(">")?;
            let content = self.content()?;
            if self.scan.name() != Some(name) {
                return Err(self.scan.syntax());
            }
            self.scan.expect(">")?;
            content
        };
        let spaces = self.spaces.split_off(known);
        Ok(Constructor { name: own, spaces, attributes, content })
    }

    fn attribute_value(&mut self) -> Result<Vec<Content>, QueryError> {
        let Some(quote @ ('"' | '\'')) = self.scan.bump() else { return Err(self.scan.syntax()) };
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            match self.scan.bump() {
                None | Some('<') => return Err(self.scan.syntax()),
                Some(c) if c == quote => {
                    if self.scan.peek() != Some(quote) {
                        break;
                    }
                    self.scan.bump();
                    text.push(quote);
                }
                Some(c) => self.piece(c, &mut text, &mut parts)?,
            }
        }
        if !text.is_empty() {
            parts.push(Content::Text(text));
        }
        Ok(parts)
    }

    /// A character of text: a reference, a doubled brace, an expression in braces, or itself.
    fn piece(&mut self, c: char, text: &mut String, parts: &mut Vec<Content>) -> Result<(), QueryError> {
        match c {
            '&' => text.push(self.scan.reference()?),
            '{' | '}' if self.scan.peek() == Some(c) => {
                self.scan.bump();
                text.push(c);
            }
            '{' => {
                if !text.is_empty() {
                    parts.push(Content::Text(std::mem::take(text)));
                }
                parts.push(Content::Value(self.sequence()?));
                self.scan.expect("}")?;
            }
            '}' => return Err(QueryError::syntax("}")),
            c => text.push(c),
        }
        Ok(())
    }

    /// What stands in an element, up to behind the `</` of its end tag. Text of white space alone goes.
    fn content(&mut self) -> Result<Vec<Content>, QueryError> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            let rest = self.scan.rest();
            let tag = rest.starts_with('<');
            if tag {
                let text = std::mem::take(&mut text);
                if !text.chars().all(is_space) {
                    parts.push(Content::Text(text));
                }
            }
            if rest.starts_with("</") {
                self.scan.at += 2;
                return Ok(parts);
            } else if let Some(comment) = rest.strip_prefix("<!--") {
                let Some(end) = comment.find("-->") else { return Err(self.scan.syntax()) };
                self.scan.at += 4 + end + 3;
            } else if let Some(data) = rest.strip_prefix("<![CDATA[") {
                let Some(end) = data.find("]]>") else { return Err(self.scan.syntax()) };
                parts.push(Content::Text(data[..end].to_owned()));
                self.scan.at += 9 + end + 3;
            } else if tag {
                self.nested_element(&mut parts)?;
            } else {
                match self.scan.bump() {
                    None => return Err(self.scan.syntax()),
                    Some(c) => {
                        if c == '{' && text.chars().all(is_space) && self.scan.peek() != Some('{') {
                            text.clear();
                        }
                        self.piece(c, &mut text, &mut parts)?;
                    }
                }
            }
        }
    }

    fn nested_element(&mut self, parts: &mut Vec<Content>) -> Result<(), QueryError> {
        let element = self.nested(Self::element)?;
        parts.push(Content::Element(element));
        Ok(())
    }
}
