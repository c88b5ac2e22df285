//! Phases add up, in time and in processor's time, and cost no look at a clock while nobody asks.

use super::*;

fn of<'a>(times: &'a [PhaseTimes], name: &str) -> &'a PhaseTimes {
    times.iter().find(|times| times.name == name).unwrap()
}

#[test]
fn each_moment_is_of_one_phase_and_only_requests_count() {
    let phases = RequestPhases::default();
    drop(phases.begin(None));
    assert!(phases.times().iter().all(|times| times.count == 0));
    phases.switch(true);
    drop(phases.begin(None));
    assert!(phases.times().iter().all(|times| times.count == 0), "nothing came");
    let begun = Instant::now();
    {
        let _timing = phases.begin(Some(Duration::from_millis(3)));
        is_request();
        let _run = enter(Phase::Run);
        std::thread::sleep(Duration::from_millis(2));
        log_wait_begins();
        std::thread::sleep(Duration::from_millis(5));
        log_wait_ends();
        drop(enter(Phase::Encode));
    }
    let most = begun.elapsed().as_nanos() as u64 + 3_000_000;
    let times = phases.times();
    let elapsed = |name: &str| of(&times, name).elapsed.total_ns;
    let counts: Vec<u64> = times.iter().map(|times| times.count).collect();
    assert_eq!(counts, [1, 1, 1, 0, 1, 1, 1, 0, 1]);
    assert_eq!(elapsed("WAIT FOR WORKER"), 3_000_000);
    assert!(elapsed("RUN") >= 2_000_000 && elapsed("WAIT FOR LOG") >= 5_000_000);
    let sum: u64 = times[..PHASES].iter().map(|times| times.elapsed.total_ns).sum();
    assert!(sum == elapsed("TOTAL") && sum <= most);
    // What is not timed tells of no phase.
    drop(enter(Phase::Send));
    phases.switch(false);
    assert_eq!(phases.times(), times);
    phases.switch(true);
    assert!(phases.times().iter().all(|times| times.count == 0), "it begins from zero");
}

/// Works for so long as the thread's own clock tells.
fn work(time: Duration) {
    let processor = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
    };
    let end = processor() + time;
    while processor() < end {
        std::hint::spin_loop();
    }
}

#[test]
fn the_processors_time_is_without_the_waits() {
    let phases = RequestPhases::default();
    phases.switch(true);
    {
        let _timing = phases.begin(Some(Duration::from_millis(50)));
        is_request();
        let _run = enter(Phase::Run);
        work(Duration::from_millis(20));
        let _send = enter(Phase::Send);
        std::thread::sleep(Duration::from_millis(200));
    }
    let times = phases.times();
    let processor = |name: &str| of(&times, name).processor.total_ns;
    assert_eq!(processor("WAIT FOR WORKER"), 0);
    assert!(processor("RUN") >= 19_000_000, "{times:?}");
    // It sleeps for all of it, but for going to sleep and waking up.
    assert!(processor("SEND") < 100_000_000 && of(&times, "SEND").elapsed.total_ns >= 200_000_000);
    let sum: u64 = times[..PHASES].iter().map(|times| times.processor.total_ns).sum();
    assert_eq!(sum, processor("TOTAL"));
    for times in times {
        assert_eq!(times.processor.count(), times.count, "{}", times.name);
        assert!(times.processor.total_ns <= times.elapsed.total_ns, "{}", times.name);
    }
}

#[test]
fn no_clock_is_read_while_nobody_measures() {
    let request = |phases: &RequestPhases| {
        let _timing = phases.begin(None);
        is_request();
        let _run = enter(Phase::Run);
        log_wait_begins();
        log_wait_ends();
    };
    let phases = RequestPhases::default();
    let before = READ.get();
    request(&phases);
    assert_eq!(READ.get(), before);
    phases.switch(true);
    let before = READ.get();
    request(&phases);
    assert_eq!(READ.get(), before + 7, "once where a phase begins or ends");
    phases.switch(false);
    let before = READ.get();
    request(&phases);
    phases.times();
    assert_eq!(READ.get(), before);
}

#[test]
fn requests_that_follow_one_another_count_by_themselves() {
    let phases = RequestPhases::default();
    phases.next_request();
    phases.switch(true);
    {
        let _timing = phases.begin(Some(Duration::from_millis(3)));
        for n in 0..3 {
            if n > 0 {
                phases.next_request();
            }
            is_request();
            drop(enter(Phase::Run));
        }
        log_wait_begins();
        std::thread::sleep(Duration::from_millis(2));
        log_wait_ends();
        drop(enter(Phase::Send));
    }
    let times = phases.times();
    let counts: Vec<u64> = times.iter().map(|times| times.count).collect();
    assert_eq!(counts, [1, 3, 3, 0, 3, 1, 0, 1, 3]);
    assert!(of(&times, "WAIT FOR LOG").elapsed.total_ns >= 2_000_000);
    let sum: u64 = times[..PHASES].iter().map(|times| times.elapsed.total_ns).sum();
    assert_eq!(sum, of(&times, "TOTAL").elapsed.total_ns);
}
