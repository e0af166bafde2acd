//! Runs `avocet_sandbox::fuzzing::path` on whatever the fuzzer finds.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_sandbox::fuzzing::path(data));
