use super::*;

fn outline(path: &str, text: &str) -> Vec<String> {
    let entries = outline_entries(Path::new(path), text, &|| false).unwrap();
    let shown =
        |entry: &OutlineEntry| format!("{} {}{}", entry.line, "  ".repeat(entry.depth), entry.text);
    entries.iter().map(shown).collect()
}

/// Files, each with its path, its text and its outline.
const FILES: &[(&str, &str, &[&str])] = &[
    (
        "a.rs",
        "use std::{\n    fs,\n    io,\n};\n\n/// Doc.\npub struct A<T> {\n    a: T,\n}\n\nimpl<T> A<T>\nwhere\n    \
             T: B,\n{\n    pub async fn run(\n        &self,\n    ) -> u8 {\n        fn inner() {}\n        1\n    }\n}\n\nmod m {\n    \
             const X: u8 = 1;\n}\ntrait T { fn f(); }\n",
        &[
            "1 use std::{ fs, io, }",
            "7 pub struct A<T>",
            "11 impl<T> A<T> where T: B,",
            "15   pub async fn run( &self, ) -> u8",
            "23 mod m",
            "24   const X: u8 = 1",
            "26 trait T",
            "26   trait T { fn f()",
        ],
    ),
    (
        "a.py",
        "import os\nfrom a import (\n  b,\n)\n\n@decorated\nclass A(B):\n    def run(self, x: int) -> int:\n        \
             def inner(): pass\n        return 1\n\nasync def main():\n    pass\n",
        &[
            "1 import os",
            "2 from a import ( b, )",
            "7 class A(B)",
            "8   def run(self, x: int) -> int",
            "12 async def main()",
        ],
    ),
    (
        "a.ts",
        "import { a } from './a';\nexport default class A extends B {\n  private async run(x: number): Promise<void> {\n    \
             x();\n  }\n}\nexport interface I {\n  a: string;\n}\nexport const f = (x: number) => {\n  return x;\n};\n\
             namespace N {\n  export function g() {}\n}\n",
        &[
            "1 import { a } from './a'",
            "2 export default class A extends B",
            "3   private async run(x: number): Promise<void>",
            "7 export interface I",
            "10 export const f = (x: number)",
            "13 namespace N",
            "14   export function g()",
        ],
    ),
    (
        "generic.ts",
        "export const same = <T>(x: T): T => x;\nexport class A {\n  one<T>(x: T): T {\n    return same<T>(x);\n  }\n}\n",
        &["1 export const same = <T>(x: T): T => x", "2 export class A", "3   one<T>(x: T): T"],
    ),
    // The grammar has no assertions in the old form, so the file is read line by line.
    (
        "old.ts",
        "export const one = <number><unknown>read('1');\nexport class A {\n    two(): void {\n        run();\n    }\n}\n\
             export function three() {\n}\n",
        &[
            "1 export const one = <number><unknown>read('1');",
            "2 export class A",
            "3   two(): void",
            "7 export function three()",
        ],
    ),
    ("a.jsx", "function App() {\n  return <div>{'x'}</div>;\n}\n", &["1 function App()"]),
    (
        "a.go",
        "package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\ntype S struct {\n\ta int\n}\n\nfunc (s *S) Run(a int) error {\n\t\
             return nil\n}\n",
        &["4 \"fmt\"", "5 \"os\"", "8 type S struct", "12 func (s *S) Run(a int) error"],
    ),
    (
        "README.md",
        "# One\n\n```sh\n# no heading\n```\n## Two\n#tag\n####### seven\n",
        &["1 # One", "6   ## Two"],
    ),
    (
        "a.c",
        "#include <stdio.h>\nint main(void)\n{\n    if (x(1)) {\n    }\n    return f(1);\n}\n",
        &["1 #include <stdio.h>", "2 int main(void)"],
    ),
    (
        "A.java",
        "import a.B;\npublic class A {\n    public static void main(String[] a) {\n        run();\n    }\n}\n",
        &["1 import a.B;", "2 public class A", "3   public static void main(String[] a)"],
    ),
    ("a.toml", "[a]\nb = 1\n[[c]]\n", &["1 [a]", "3 [[c]]"]),
    ("a.txt", "fn run()\n", &[]),
];

#[test]
fn outline_lists_definitions_with_their_lines() {
    for (path, text, expected) in FILES {
        assert_eq!(outline(path, text), *expected, "{path}");
    }
}

#[test]
fn outline_skips_text_that_cannot_be_parsed() {
    assert_eq!(outline("a.rs", "fn whole() {}\n}}}\nfn other() {}").len(), 2);
    for path in ["a.rs", "a.py", "a.ts", "a.tsx", "a.go"] {
        for text in ["", "\u{feff}", "\0", "é{{{{", &"((".repeat(5000), &"mod a {".repeat(2000)] {
            outline(path, text);
        }
    }
    let stopped = outline_entries(Path::new("a.rs"), &"fn a() {}\n".repeat(10_000), &|| true);
    assert_eq!(stopped, None);
}

#[test]
fn outline_cuts_long_lines_and_long_lists() {
    let long = OutlineEntry { line: 7, depth: 1, text: "x".repeat(500) };
    let entries: Vec<OutlineEntry> =
        (0..1001).map(|_| OutlineEntry { text: long.text.clone(), ..long }).collect();
    let shown = format_entries(&entries, "a.rs", 9);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!((lines[0], lines[1]), ("a.rs, 9 lines", &*format!("     7\t  {}", "x".repeat(160))));
    assert_eq!(lines[1001], "[1 more are not shown]");
}

#[test]
fn outline_entries_of_one_huge_line_stay_short() {
    let entries =
        outline_entries(Path::new("a.js"), &"function a(){}".repeat(20_000), &|| false).unwrap();
    assert!(entries.iter().all(|entry| entry.text.len() < 1000));
}
