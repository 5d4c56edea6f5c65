#!/usr/bin/env python3
"""The sizes and shapes that keep the code readable. Prints each fault, a line each, and nothing else; status 1 when there is one.

Functions have at most 60 lines and 8 parameters, files 350 lines, lines of a README 160 characters (tables and code aside). Every header begins with a comment.
A file has one unnamed namespace at most. Nothing is returned through a comma. Private and protected members end in "_", and they alone do.
"""
import os
import re
import subprocess
import sys

MOST_LINES, MOST_PARAMETERS, LONGEST_FILE, WIDEST_README = 60, 8, 350, 160
WORD = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
CLASS = re.compile(r"\b(class|struct|union)\s+(?:alignas\([^)]*\)\s*)?((?:\w+::)*\w+)\s*(?:<[^{}]*>)?\s*(?:final\s*)?(?::[^{}]*)?$")
faults = []


def fault(path, line, text):
    faults.append(f"lint: {path}:{line}: {text}")


def code_of(text):
    """The text with blanks for comments, for what quotes hold, and for the preprocessor's lines; lines stay where they are."""
    def blank(match):
        word = match.group(0)
        return re.sub(r"[^\n]", " ", word) if word[0] == "/" else '""' + "\n" * word.count("\n")
    text = WORD.sub(blank, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M)


def closing(text, k):
    """The offset behind the bracket that closes the one at k."""
    depth = 0
    while k < len(text):
        depth += (text[k] in "({[") - (text[k] in ")}]")
        k += 1
        if depth == 0:
            break
    return k


def statement_end(text, k):
    """The offset of the semicolon that ends the statement at k."""
    while k < len(text) and text[k] != ";":
        k = closing(text, k) if text[k] in "({[" else k + 1
    return k


def outermost(text):
    """The text without what stands in brackets of any kind, template arguments too."""
    before = None
    while before != text:
        before = text
        text = re.sub(r"\([^(){}\[\]]*\)|\{[^(){}\[\]]*\}|\[[^(){}\[\]]*\]|<[^<>(){}\[\];|&]*>", "", text)
    return text


def parameters(head):
    """How many the function with this head has."""
    head = re.sub(r"TRIREME_KERNEL\(\([^()]*(?:\([^()]*\)[^()]*)*\),\s*(\w+),", r"void \1(", head)
    k = head.find("(", head.find("operator()") + 10 if "operator()" in head else 0)
    if k < 0:
        return 0
    inside = outermost(head[k + 1:closing(head, k) - 1].replace("->", ""))
    return inside.count(",") + 1 if inside.strip() else 0


def is_function(words):
    plain = outermost(re.sub(r"operator\s*[^\s\w(]+", "operator", words))
    return "(" in words and not re.search(r"(?<![=!<>])=(?!=)", plain) and not re.search(r"\benum\b", plain)


class Scan:
    """Walks the blocks of a file: namespaces, classes, functions."""

    def __init__(self, path, text):
        self.path, self.text, self.members = path, text, set()
        self.walk(0, len(text), None)

    def line(self, k):
        return self.text.count("\n", 0, k) + 1

    def walk(self, k, end, kind):
        text, head, access = self.text, k, "public" if kind != "class" else "private"
        while k < end:
            c = text[k]
            if c == ";":
                if kind:
                    self.member(text[head:k], head, access)
                head = k + 1
            elif c == ":" and kind and re.fullmatch(r"\s*(public|private|protected)\s*", text[head:k]):
                access, head = text[head:k].strip(), k + 1
            elif c == "(":
                k = closing(text, k)
                continue
            elif c == "{":
                past = closing(text, k)
                words, first = text[head:k].strip(), head + len(text[head:k]) - len(text[head:k].lstrip())
                found = CLASS.search(words)
                if re.match(r"(inline\s+)?namespace\b|extern\b", words):
                    self.walk(k + 1, past - 1, None)
                    head = past
                elif found and not re.search(r"\benum\b", words):
                    self.walk(k + 1, past - 1, found.group(1))
                    head = past  # behind it stands nothing, or the name of a member
                elif is_function(words) and not re.search(r"\)\s*(?:noexcept\s*)?:(?!:)[^{]*\w$", words):
                    self.function(words, first, past)
                    head = past
                k = past
                continue
            k += 1

    def function(self, words, first, past):
        lines = self.line(past - 1) - self.line(first) + 1
        if lines > MOST_LINES:
            fault(self.path, self.line(first), f"a function of {lines} lines; {MOST_LINES} at most")
        if parameters(words) > MOST_PARAMETERS:
            fault(self.path, self.line(first), f"a function of {parameters(words)} parameters; {MOST_PARAMETERS} at most")

    def member(self, statement, first, access):
        line = self.line(first + len(statement) - len(statement.lstrip()))
        words, plain = outermost(statement), statement
        while re.search(r"<[^<>;=]*>", plain):
            plain = re.sub(r"<[^<>;=]*>", "", plain)
        pointer = re.match(r"[^(]*\(\*(\w+)\)\s*\(", plain)
        if pointer:
            words = pointer.group(1)
        elif "(" in plain and not re.search(r"[={]", plain.split("(")[0]):
            count = parameters(statement)
            if count > MOST_PARAMETERS:
                fault(self.path, line, f"a function of {count} parameters; {MOST_PARAMETERS} at most")
            return
        if re.match(r"\s*(using|friend|typedef|static|enum|template|virtual|class|struct|constexpr|inline)\b", words):
            return
        for part in re.sub(r"=[^,]*", "", words).split(","):
            name = re.search(r"(\w+)\s*$", part)
            if not name or name[1] in ("default", "delete", "const", "override", "noexcept"):
                continue
            if name[1].endswith("_"):
                self.members.add(name[1])
            if access == "private" and not name[1].endswith("_"):
                fault(self.path, line, f"{name[1]}: a private member without a final _")
            if access == "public" and name[1].endswith("_"):
                fault(self.path, line, f"{name[1]}: a final _, which private members alone have")


def check_source(path, text):
    code = code_of(text)
    if text.count("\n") > LONGEST_FILE:
        fault(path, 1, f"{text.count(chr(10))} lines; {LONGEST_FILE} at most")
    if path.endswith((".h", ".cuh")) and not text.startswith("//"):
        fault(path, 1, "a header begins with a comment: what it is for")
    if len(re.findall(r"^namespace \{", code, re.M)) > 1:
        fault(path, 1, "more than one unnamed namespace")
    for found in re.finditer(r"\breturn\b", code):
        if "," in outermost(code[found.end():statement_end(code, found.end())]):
            fault(path, code.count("\n", 0, found.start()) + 1, "a return through a comma")
    return code, Scan(path, code).members


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
    paths = sorted(path for path in listed.stdout.split("\n") if os.path.isfile(path))
    members, codes = set(), {}
    for path in paths:
        if not path.endswith((".cpp", ".h", ".cu", ".cuh", "README.md")):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(".md"):
            for number, line in enumerate(text.split("\n"), 1):
                if len(line) > WIDEST_README and not line.startswith(("|", "    ")):
                    fault(path, number, f"{len(line)} characters; {WIDEST_README} at most")
            continue
        codes[path], found = check_source(path, text)
        members |= found
    for path, code in codes.items():
        for found in re.finditer(r"(?<![\w:])[a-z]\w*_\b(?!_)", code):
            if found.group(0) not in members:
                fault(path, code.count("\n", 0, found.start()) + 1, f"{found.group(0)}: a final _, which private members alone have")
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


sys.exit(main())
