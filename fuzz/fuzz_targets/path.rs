//! Runs `avocet_sandbox::fuzzing::path` on the inputs of the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_sandbox::fuzzing::path(data));
