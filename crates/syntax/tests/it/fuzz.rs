//! A bounded run of the fuzzer: text of any kind gives statements or an error, never a panic.
//! `./fuzz parser` runs the same for as long as one likes.

use crate::fuzz_input;

#[test]
fn any_text_gives_statements_or_an_error() {
    let (mut good, total) = (0u32, 20_000u32);
    for seed in 0..u64::from(total) {
        let text = fuzz_input::text(seed);
        let outcome = std::panic::catch_unwind(|| fuzz_input::check(&text));
        match outcome {
            Ok(parsed) => good += u32::from(parsed),
            Err(_) => panic!("seed {seed}: {text:?}"),
        }
    }
    // The texts must be near enough to T-SQL that a good part of them parses, and not all of them.
    assert!(good > total / 20 && good < total * 3 / 4, "{good} of {total} texts parse");
}
