//! Runs `avocet_tools::fuzzing::leaks` on whatever the fuzzer finds.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_tools::fuzzing::leaks(data));
