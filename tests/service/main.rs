//! The program as a service: started, watched, stopped, crashed, idle, loaded.

fn main() {}
