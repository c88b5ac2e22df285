//! Random conversations against a live server for as long as asked:
//! `./fuzz server -- SECONDS [FIRST_SEED]`. It ends at the first promise that is broken.

#[path = "../tests/alone/live/mod.rs"]
mod live;
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::time::Duration;

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let seconds = args.next().unwrap_or(60);
    let mut first = args.next().unwrap_or_else(|| fastrand::u64(..));
    let shown = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        shown(info);
        std::process::exit(1);
    }));
    let server = live::server();
    let mut left = seconds;
    while left > 0 {
        let part = left.min(60);
        let report = live::run(&server, Duration::from_secs(part), 8, first);
        println!(
            "{} conversations from seed {first}: slowest answer to others {:?}, memory grown by {} KB",
            report.conversations,
            report.slowest,
            report.grown >> 10
        );
        first = first.wrapping_add(report.conversations);
        left -= part;
    }
}
