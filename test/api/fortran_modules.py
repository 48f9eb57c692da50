"""fortran_modules.py - compares the Fortran modules with the headers: constants, members of types, arguments.

    fortran_modules.py DECLARATIONS MODULE.f90 [MODULE.f90 ...]

DECLARATIONS are C headers behind the preprocessor (cc -E -P).  The modules are read as one, in their order.  Prints a
line per difference, and the number of constants, types and functions that were compared.  Compared are

- each enumerator, with its value; an `integer` without a kind counts the elements of an array from 1, so it is one more
  than the enumerator, except a number of elements (SAPPORO_PHASES);
- each struct: names, types, shapes and order of its members;
- each function: name, result, and names, types, shapes and intents of its arguments.

The text is compared, so no compiler of Fortran is needed.
"""

import re
import sys

# Arguments that have other names in Fortran, which has no overloading of names: C name -> Fortran names.
RENAMED = {"request": ("neighbours",), "result": ("results",)}

NUMBERS = {
    "int": "integer(c_int)",
    "unsigned": "integer(c_int)",
    "MPI_Fint": "integer(c_int)",
    "long long": "integer(c_long_long)",
    "size_t": "integer(c_size_t)",
    "ptrdiff_t": "integer(c_intptr_t)",
    "double": "real(c_double)",
    "char": "character(kind=c_char)",
}


# ---- C ------------------------------------------------------------------------------------------------------------


class Header:
    """Constants, structs and functions of preprocessed headers."""

    def __init__(self, text):
        text = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", text)
        text = re.sub(r'extern "C" \{', "", text)
        self.constants, self.structs, self.functions = {}, {}, {}
        self.enums = set(re.findall(r"\}\s*(sapporo_\w+);", "".join(re.findall(r"enum \w* ?\{[^}]*\}[^;]*;", text))))
        for body in re.findall(r"enum\s*\w*\s*\{([^}]*)\}", text):
            self.read_enum(body)
        for body, name in re.findall(r"typedef struct \w+\s*\{(.*?)\}\s*(sapporo_\w+);", text, re.S):
            self.structs[name] = [m for line in body.split(";") for m in self.members(line)]
        self.function_types = set(re.findall(r"typedef \w+ \(\*(\w+)\)", text))
        for result, name, arguments in re.findall(r"^\s*([\w ]+?[ *]+)(sapporo_\w+)\(([^;{]*)\);", text, re.M):
            listed = [] if arguments.strip() == "void" else split_list(arguments)
            self.functions[name] = (" ".join(result.split()), [declarator(a) for a in listed])

    def read_enum(self, body):
        for line in filter(None, (part.strip() for part in body.split(","))):
            name, value = (part.strip() for part in line.split("="))
            if name.startswith("SAPPORO_"):
                self.constants[name] = int(value)

    def members(self, line):
        """The members that one declaration of a struct makes."""
        parts = split_list(" ".join(line.split()))
        if parts == [""]:
            return []
        first = declarator(parts[0])
        return [first, *(declarator(first["base"] + " " + part) for part in parts[1:])]

    def number(self, kind):
        return NUMBERS["int"] if kind in self.enums else NUMBERS.get(kind)


def split_list(text):
    """Splits at commas that no bracket encloses."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def declarator(text):
    """Parts of a declarator of C: base type, name, const, number of stars, dimensions, dimensions of what it points to."""
    text = " ".join(text.split())
    is_const = text.startswith("const ")
    text = text.removeprefix("const ")
    base = re.match(r"(long long|size_t|ptrdiff_t|\w+)", text).group()
    rest = text[len(base):].strip()
    pointed = re.fullmatch(r"\(\*(\w+)\)((?:\[\w+\])+)", rest)
    if pointed:
        return {"base": base, "name": pointed[1], "const": is_const, "stars": 1, "dims": [],
                "rows": re.findall(r"\[(\w+)\]", pointed[2])}
    plain = re.fullmatch(r"((?:\*|const |const\*| )*)(\w+)((?:\[\w+\])*)", rest)
    return {"base": base, "name": plain[2], "const": is_const, "stars": plain[1].count("*"),
            "dims": re.findall(r"\[(\w+)\]", plain[3]), "rows": []}


# ---- Fortran ------------------------------------------------------------------------------------------------------


def statements(text):
    """Statements of free form in small letters, without comments and continuations."""
    text = "\n".join(line.split("!")[0].rstrip() for line in text.split("\n"))
    text = re.sub(r"&\s*\n\s*&?", " ", text)
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def entities(text):
    """(name, dimensions, value or None) of each entity of a list."""
    found = []
    for entity in split_list(text):
        parts = re.fullmatch(r"(\w+)(?:\(([^)]*)\))?(?: ?= ?(.*))?", entity)
        found.append((parts[1], [d.strip() for d in parts[2].split(",")] if parts[2] else [], parts[3]))
    return found


class Modules:
    """Constants, types and interfaces of Fortran modules."""

    def __init__(self, texts):
        self.constants, self.indices, self.types, self.functions = {}, set(), {}, {}
        for text in texts:
            self.inside = None
            for line in statements(text):
                self.read(line)

    def read(self, line):
        line_type = re.fullmatch(r"type, bind\(c\) :: (\w+)", line)
        head = re.fullmatch(r"(?:(.*?) ?)?(function|subroutine) (\w+)\((.*?)\) bind\(c(?:, name='(\w+)')?\)"
                            r"(?: result\((\w+)\))?", line)
        if line_type:
            self.inside = ("type", line_type[1])
            self.types[line_type[1]] = []
        elif head:
            self.inside = ("function", head[3])
            self.functions[head[3]] = {
                "kind": head[2], "result": head[1] or head[6], "symbol": head[5] or head[3],
                "arguments": [a.strip() for a in head[4].split(",") if a.strip()], "declared": {}}
        elif line.startswith("end "):
            self.inside = None
        elif "::" in line and not line.startswith(("use", "import", "private")):
            self.declare(*(part.strip() for part in line.split("::", 1)))

    def declare(self, kind, names):
        base, *attributes = split_list(kind)
        for name, dims, value in entities(names):
            if "parameter" in attributes and self.inside is None:
                self.constants[name] = int(value)
                if base == "integer":
                    self.indices.add(name)
            elif self.inside and self.inside[0] == "type":
                self.types[self.inside[1]].append((name, base, dims, value))
            elif self.inside:
                self.functions[self.inside[1]]["declared"][name] = (base, attributes, dims)

    def extent(self, text):
        """The number of elements of a dimension; '*' stays."""
        if text == "*":
            return text
        bounds = [self.evaluate(part) for part in text.split(":")]
        return bounds[0] if len(bounds) == 1 else bounds[1] - bounds[0] + 1

    def evaluate(self, text):
        parts = re.fullmatch(r"(\w+)(?: - (\d+))?", text.strip())
        value = self.constants[parts[1]] if parts[1] in self.constants else int(parts[1])
        return value - int(parts[2] or 0)


# ---- comparison ---------------------------------------------------------------------------------------------------


class Comparison:
    def __init__(self, header, modules):
        self.header, self.modules, self.differences = header, modules, []

    def differ(self, text):
        self.differences.append(text)

    def names(self, what, c, fortran):
        for name in sorted(set(c) - set(fortran)):
            self.differ(f"{what} {name} is in no module")
        for name in sorted(set(fortran) - set(c)):
            self.differ(f"{what} {name} is in no header")
        return [name for name in c if name in fortran]

    def constants(self):
        for name in self.names("constant", self.header.constants, self.modules.constants):
            is_index = name in self.modules.indices and not name.endswith("PHASES")
            value = self.header.constants[name] + is_index
            if self.modules.constants[name] != value:
                self.differ(f"constant {name} is {self.modules.constants[name]}: the header says {value}")

    def c_extent(self, text):
        return self.header.constants[text] if text in self.header.constants else int(text)

    def member(self, c):
        """What a member of C is in Fortran: type and shape."""
        if c["stars"]:
            return "type(c_ptr)", []
        shape = [self.c_extent(d) for d in reversed(c["dims"])]
        return self.header.number(c["base"]) or f"type({c['base']})", shape

    def types(self):
        for name in self.names("type", self.header.structs, self.modules.types):
            c, fortran = self.header.structs[name], self.modules.types[name]
            if [m["name"].lower() for m in c] != [m[0].lower() for m in fortran]:
                self.differ(f"type {name} has {', '.join(m[0] for m in fortran)}: "
                            f"the header has {', '.join(m['name'] for m in c)}")
                continue
            for of_c, (member, base, dims, value) in zip(c, fortran):
                expected, found = self.member(of_c), (base, [self.modules.extent(d) for d in dims])
                if found != expected:
                    self.differ(f"{name}%{member} is {found[0]} {found[1]}: the header says {expected[0]} {expected[1]}")
                if value is None and not base.startswith("type(sapporo_"):
                    self.differ(f"{name}%{member} has no value: all members begin as 0 or absent")

    def expected(self, c):
        """The ways to declare an argument: (type, by value, dimensions)."""
        base, stars = c["base"], c["stars"]
        number = self.header.number(base)
        if base in self.header.function_types:
            return [("type(c_funptr)", True, [])]
        if stars == 0:
            return [(number or f"type({base})", True, [])]
        pointer = ("type(c_ptr)", True, [])
        if c["rows"]:
            return [pointer, (number, False, [*(str(self.c_extent(r)) for r in reversed(c["rows"])), "*"])]
        if stars == 2:
            return [("type(c_ptr)", False, [])]
        if base in self.header.structs or number:
            data = number or f"type({base})"
            return [pointer, (data, False, []), (data, False, ["*"])]
        return [pointer]

    def argument(self, function, c, name, declared):
        base, attributes, dims = declared
        if name.lower() != c["name"].lower() and name not in RENAMED.get(c["name"], ()):
            self.differ(f"{function}: argument {name} is {c['name']} in the header")
        found = (base, "value" in attributes, dims)
        if found not in self.expected(c):
            self.differ(f"{function}: argument {name} is {found}: the header says one of {self.expected(c)}")
        if not found[1]:
            intent = "intent(in)" in attributes
            if intent != c["const"] or not any(a.startswith("intent(") for a in attributes):
                self.differ(f"{function}: argument {name} has {', '.join(attributes)}: in the header it is "
                            f"{'const' if c['const'] else 'not const'}")

    def result(self, function, c, fortran):
        if c == "void":
            expected = "subroutine"
        elif "*" in c:
            expected = "type(c_ptr)"
        else:
            expected = self.header.number(c)
        declared = fortran["declared"].get(fortran["result"])
        found = "subroutine" if fortran["kind"] == "subroutine" else declared[0] if declared else fortran["result"]
        if found != expected:
            self.differ(f"{function}: the result is {found}: the header says {expected}")

    def functions(self):
        of_fortran = {n.removesuffix("_fortran"): f for n, f in self.header.functions.items() if n.endswith("_fortran")}
        of_c = {n: of_fortran.get(n, f) for n, f in self.header.functions.items() if not n.endswith("_fortran")}
        for name in self.names("function", of_c, self.modules.functions):
            result, arguments = of_c[name]
            fortran = self.modules.functions[name]
            symbol = name + "_fortran" if name in of_fortran else name
            if fortran["symbol"] != symbol:
                self.differ(f"{name} calls {fortran['symbol']}, not {symbol}")
            self.result(name, result, fortran)
            if len(arguments) != len(fortran["arguments"]):
                self.differ(f"{name} has {len(fortran['arguments'])} arguments: the header has {len(arguments)}")
                continue
            for c, argument in zip(arguments, fortran["arguments"]):
                if argument in fortran["declared"]:
                    self.argument(name, c, argument, fortran["declared"][argument])
                else:
                    self.differ(f"{name}: argument {argument} is not declared")

    def run(self):
        self.constants()
        self.types()
        self.functions()
        return self.differences


def main(declarations, *sources):
    def read(name):
        with open(name, encoding="utf-8") as file:
            return file.read()

    header, modules = Header(read(declarations)), Modules([read(source) for source in sources])
    for difference in Comparison(header, modules).run():
        print(difference)
    print(f"{len(header.constants)} constants, {len(header.structs)} types, {len(header.functions)} functions")


if __name__ == "__main__":
    main(*sys.argv[1:])
