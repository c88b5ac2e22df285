//! The simulated disk: seeded faults, crash semantics, in memory
