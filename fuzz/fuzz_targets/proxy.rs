//! Runs `avocet_net::fuzzing::proxy` on whatever the fuzzer finds.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_net::fuzzing::proxy(data));
