//! Runs `avocet_sandbox::fuzzing::fuzz_path` on the inputs of the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_sandbox::fuzzing::fuzz_path(data));
