//! Nodes that a query writes out: `<a x="{...}">text {...}</a>`, comments and instructions, and
//! those by words: `element a {...}`, `attribute x {...}`, `text {...}`.

use compact_str::CompactString;
use messages as msg;

use super::Parser;
use crate::error::{PLACE, QueryError};
use crate::item::Atom;
use crate::path::{Constructor, ContentPart, Expr, Leaf};
use crate::read::is_space;
use crate::tree::Name;

impl Parser<'_> {
    /// From `<` on.
    pub(crate) fn constructor(&mut self) -> Result<Expr, QueryError> {
        let rest = self.scan.rest();
        let leaf = if rest.starts_with("<!--") {
            Leaf::Comment(self.comment()?)
        } else if rest.starts_with("<?") {
            let (target, text) = self.instruction()?;
            Leaf::Instruction(target, text)
        } else if rest.starts_with("<![CDATA[") && self.cdata {
            Leaf::Text(Expr::Literal(Atom::Text(self.character_data()?)))
        } else if rest.starts_with("<!") {
            return Err(QueryError::syntax("<!"));
        } else {
            return Ok(Expr::Element(Box::new(self.element()?)));
        };
        Ok(Expr::Leaf(Box::new(leaf)))
    }

    /// `<!-- ... -->`: what stands between. Errors: 2340, 9322.
    fn comment(&mut self) -> Result<String, QueryError> {
        let inner = self.scan.rest().strip_prefix("<!--").unwrap_or_default();
        let Some(end) = inner.find("--") else {
            return Err(QueryError::of(msg::XQUERY_COMMENT_END, [&PLACE, &self.scan.line()]));
        };
        if !inner[end..].starts_with("-->") {
            return Err(QueryError::of(msg::XQUERY_COMMENT_HYPHENS, [&PLACE]));
        }
        self.scan.at += "<!--".len() + end + "-->".len();
        Ok(inner[..end].to_owned())
    }

    /// `<?target text?>`. Errors: 2272, 2278, 2294.
    fn instruction(&mut self) -> Result<(CompactString, String), QueryError> {
        self.scan.at += "<?".len();
        let Some(target) = self.scan.bare_name() else {
            return Err(match self.scan.peek() {
                Some(c) => QueryError::of(msg::XQUERY_TAG_NAME, [&PLACE, &c]),
                None => self.scan.syntax(),
            });
        };
        if target.eq_ignore_ascii_case("xml") {
            return Err(QueryError::of(msg::XQUERY_INSTRUCTION_XML, [&PLACE]));
        }
        let rest = self.scan.rest();
        let Some(end) = rest.find("?>") else {
            return Err(QueryError::of(msg::XQUERY_INSTRUCTION_END, [&PLACE]));
        };
        let text = rest[..end].trim_start_matches(is_space);
        if text.len() == end && end > 0 {
            return Err(self.scan.syntax());
        }
        self.scan.at += end + "?>".len();
        Ok((target.into(), text.to_owned()))
    }

    /// `<![CDATA[ ... ]]>`: what stands between. Error: 2273.
    fn character_data(&mut self) -> Result<String, QueryError> {
        let inner = self.scan.rest().strip_prefix("<![CDATA[").unwrap_or_default();
        let Some(end) = inner.find("]]>") else {
            return Err(QueryError::of(msg::XQUERY_CDATA_END, [&PLACE]));
        };
        self.scan.at += "<![CDATA[".len() + end + "]]>".len();
        Ok(inner[..end].to_owned())
    }

    /// Whether a constructor by words comes: a name or a brace stands behind its word.
    pub(crate) fn is_computed(&mut self) -> bool {
        let start = self.scan.at;
        let found = match self.scan.name() {
            Some(("", "element" | "attribute" | "processing-instruction")) => {
                self.scan.at("{") || (self.scan.name().is_some() && self.scan.at("{"))
            }
            Some(("", "text" | "comment")) => self.scan.at("{"),
            _ => false,
        };
        self.scan.at = start;
        found
    }

    /// A constructor by words.
    ///
    /// # Errors
    /// 2205, 9315 a computed name, 9316 `xmlns` as an attribute, 9325 and 9326 instructions and
    /// comments.
    pub(crate) fn computed(&mut self) -> Result<Expr, QueryError> {
        let word = self.scan.name().map_or("", |(_, word)| word);
        match word {
            "comment" => {
                return Err(QueryError::of(msg::XQUERY_COMPUTED_COMMENT, [&PLACE]));
            }
            "processing-instruction" => {
                return Err(QueryError::of(msg::XQUERY_COMPUTED_INSTRUCTION, [&PLACE]));
            }
            "text" => {
                self.scan.wanted("{")?;
                let value = self.nested(Self::single)?;
                self.scan.wanted("}")?;
                return Ok(Expr::Leaf(Box::new(Leaf::Text(value))));
            }
            _ => {}
        }
        let Some((prefix, local)) = self.scan.name() else {
            return Err(QueryError::of(msg::XQUERY_COMPUTED_NAME, [&PLACE]));
        };
        self.scan.wanted("{")?;
        let empty = self.scan.at("}");
        let value = if empty { Expr::Sequence(Vec::new()) } else { self.nested(Self::sequence)? };
        self.scan.wanted("}")?;
        if word == "element" {
            let name =
                Name { prefix: prefix.into(), local: local.into(), uri: self.space(prefix)? };
            let content = vec![ContentPart::Value(value)];
            let constructor =
                Constructor { name, spaces: Vec::new(), attributes: Vec::new(), content };
            return Ok(Expr::Element(Box::new(constructor)));
        }
        if matches!((prefix, local), ("", "xmlns") | ("xmlns", _)) {
            return Err(QueryError::of(msg::XQUERY_COMPUTED_XMLNS, [&PLACE]));
        }
        let uri = if prefix.is_empty() { CompactString::default() } else { self.space(prefix)? };
        let name = Name { prefix: prefix.into(), local: local.into(), uri };
        Ok(Expr::Leaf(Box::new(Leaf::Attribute(name, value))))
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
                ("xmlns", prefix, [ContentPart::Text(uri)]) => {
                    Some((prefix.into(), uri.as_str().into()))
                }
                ("", "xmlns", [ContentPart::Text(uri)]) => {
                    Some((CompactString::default(), uri.as_str().into()))
                }
                ("", "xmlns", []) => Some((CompactString::default(), CompactString::default())),
                _ => None,
            };
            match space {
                Some(space) => self.spaces.push(space),
                None => written.push((prefix, local, value)),
            }
        }
        let mut attributes: Vec<(Name, Vec<ContentPart>)> = Vec::with_capacity(written.len());
        for (prefix, local, value) in written {
            let uri =
                if prefix.is_empty() { CompactString::default() } else { self.space(prefix)? };
            let name = Name { prefix: prefix.into(), local: local.into(), uri };
            if attributes.iter().any(|(known, _)| known.is(&name)) {
                let message = match prefix.is_empty() {
                    true => msg::XQUERY_DUPLICATE_ATTRIBUTE,
                    false => msg::XQUERY_DUPLICATE_ATTRIBUTE_PREFIXED,
                };
                return Err(QueryError::of(message, [&PLACE, &name.written()]));
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

    fn attribute_value(&mut self) -> Result<Vec<ContentPart>, QueryError> {
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
                Some('\n') => text.push(' '),
                Some(c) => self.piece(c, &mut text, &mut parts)?,
            }
        }
        if !text.is_empty() {
            parts.push(ContentPart::Text(text));
        }
        Ok(parts)
    }

    /// A character of text: a reference, a doubled brace, an expression in braces, or itself.
    fn piece(
        &mut self,
        c: char,
        text: &mut String,
        parts: &mut Vec<ContentPart>,
    ) -> Result<(), QueryError> {
        match c {
            '&' => text.push(self.scan.reference()?),
            '{' | '}' if self.scan.peek() == Some(c) => {
                self.scan.bump();
                text.push(c);
            }
            '{' => {
                if !text.is_empty() {
                    parts.push(ContentPart::Text(std::mem::take(text)));
                }
                parts.push(ContentPart::Value(self.sequence()?));
                self.scan.expect("}")?;
            }
            '}' => return Err(QueryError::syntax("}")),
            c => text.push(c),
        }
        Ok(())
    }

    /// What stands in an element, up to behind the `</` of its end tag. Text of white space alone
    /// goes.
    fn content(&mut self) -> Result<Vec<ContentPart>, QueryError> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            let rest = self.scan.rest();
            let tag = rest.starts_with('<');
            if tag {
                let text = std::mem::take(&mut text);
                if !text.chars().all(is_space) {
                    parts.push(ContentPart::Text(text));
                }
            }
            if rest.starts_with("</") {
                self.scan.at += 2;
                return Ok(parts);
            } else if rest.starts_with("<!--") {
                parts.push(ContentPart::Comment(self.comment()?));
            } else if rest.starts_with("<?") {
                let (target, text) = self.instruction()?;
                parts.push(ContentPart::Instruction(target, text));
            } else if rest.starts_with("<![CDATA[") {
                parts.push(ContentPart::Text(self.character_data()?));
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

    fn nested_element(&mut self, parts: &mut Vec<ContentPart>) -> Result<(), QueryError> {
        let element = self.nested(Self::element)?;
        parts.push(ContentPart::Element(element));
        Ok(())
    }
}
