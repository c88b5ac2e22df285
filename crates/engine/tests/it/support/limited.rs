//! An instance that may hold little memory, on the simulated disk.

#![allow(dead_code)] // each test file uses its part

use engine::{Instance, InstanceOptions, Session};
use sim::SimDisk;
use std::sync::Arc;

pub const MB: usize = 1 << 20;

/// An instance that may hold so much.
pub fn open(megabytes: usize) -> Arc<Instance> {
    let options = InstanceOptions {
        process_bytes: Some((megabytes * MB) as u64),
        disk: Arc::new(SimDisk::new(1)),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).expect("the instance opens")
}

/// What a batch says in a session.
pub fn run(session: &mut Session, sql: &str) -> String {
    let mut out = super::text::Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// The same in a session of its own.
pub fn say(instance: &Arc<Instance>, sql: &str) -> String {
    run(&mut instance.session().expect("a session"), sql)
}
