//! Runs `avocet_tools::fuzzing::fuzz_patch` on the inputs of the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_tools::fuzzing::fuzz_patch(data));
