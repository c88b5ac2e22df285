//! Literals of money and texts that become money know the same currency signs, although the parser
//! and the types know nothing of each other.

use syntax::lexer::{Tok, tokenize};

#[test]
fn literals_and_texts_have_the_same_currency_signs() {
    let mut signs = 0;
    for sign in (0x20..=0xFFFF)
        .filter_map(char::from_u32)
        .filter(|c| !c.is_ascii_digit() && !c.is_whitespace())
    {
        let text = format!("{sign}1.5");
        let tokens = tokenize(&text).list;
        let literal = matches!(tokens.first(), Some(token) if token.kind == Tok::Money);
        // A sign, a point or a comma stands before digits that are no money of a currency.
        let converted = types::numtext::parse_money(&text).is_some() && !"+-.,".contains(sign);
        assert_eq!(literal, converted, "U+{:04X} {sign}", u32::from(sign));
        signs += usize::from(literal);
    }
    assert!(signs > 30, "{signs}");
}
