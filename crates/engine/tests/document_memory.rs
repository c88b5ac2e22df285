//! What a process takes at most while it works on documents with very many parts.
//!
//! One test, in a process of its own: the most that a process has had cannot be set back.
#![cfg(target_os = "linux")]

extern crate ringwood_engine as engine;

#[path = "it/support/text.rs"]
mod text;

use text::Bench;

/// The most memory that the process has had, in megabytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes >> 10
}

#[test]
fn documents_with_millions_of_parts_take_a_small_multiple_of_their_text() {
    let mut b = Bench::new();
    let before = peak();
    // 8 MB of text each. Without packed trees and rows made one by one the first two take over half
    // a gigabyte each.
    b.check(
        "declare @x xml = replicate(cast('<a/>' as varchar(max)), 2000000)
         select count(*), sum(c.value('count(.)', 'int')) from @x.nodes('/a') t(c)",
        "2000000|2000000",
    );
    b.check(
        "select count(*), max(cast([key] as int)) from openjson('[' + replicate(cast('1,' as varchar(max)), 4000000) + '1]')",
        "4000001|4000000",
    );
    b.check(
        "select count(*) from openjson('[' + replicate(cast('{\"a\":1},' as varchar(max)), 1000000) + '{\"a\":2}]')
         with (a int) where a = 2",
        "1",
    );
    let taken = peak() - before;
    assert!(taken < 300, "{taken} MB");
}
