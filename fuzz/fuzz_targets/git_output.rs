//! Runs `avocet_tools::fuzzing::git_output` on the inputs of the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| avocet_tools::fuzzing::fuzz_git_output(data));
