//! Runs `avocet_tools::fuzzing::git_output` on whatever the fuzzer finds.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_tools::fuzzing::git_output(data));
