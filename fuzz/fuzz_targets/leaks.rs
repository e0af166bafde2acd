//! Runs `avocet_tools::fuzzing::leaks` on the inputs of the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_tools::fuzzing::leaks(data));
