"""The reader of PTX: its grammar, and that every text gives a module or an error, in linear time."""

import contextlib
import time

import numpy as np
import pytest

import mmacalc
import recorded
from mmacalc.ptx.module import Address, Number, Register, Symbol
from mmacalc.ptx.reader import read
from samples import sampled

HEAD = ".version 9.0\n.target sm_100a\n.address_size 64\n"
REGISTERS = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<5>;\n"


def body(text, before=""):
    """The statements of a kernel with that body."""
    return kernel(text, before).statements


def kernel(text, before=""):
    return read(f"{HEAD}{before}.visible .entry k(.param .u64 p)\n{{\n{REGISTERS}{text}\nret;\n}}\n").functions["k"]


@pytest.mark.parametrize(("text", "value"), [
    ("017", 15), ("0x7fU", 127), ("0b101U", 5), ("-5", -5), ("~3", -4), ("(1+2)*4", 12), ("1<<4|3", 19),
    ("WARP_SZ-1", 31), ("-(7/2)", -3), ("-7 % 3", -1), ("2*3+4<<1", 20), ("!0", 1), ("1+1==2&&3>2", 1),
    ("0xFFFFFFFFFFFFFFFF", (1 << 64) - 1),
])  # fmt: skip
def test_constant_expressions_have_their_value(text, value):
    assert body(f"mov.u64 %rd1, {text};")[0].operands[1] == Number(value)


@pytest.mark.parametrize(("text", "operand"), [
    ("1.5", Number(0x3FF8000000000000, "decimal")), (".5", Number(0x3FE0000000000000, "decimal")),
    ("-1e-3", Number(0xBF50624DD2F1A9FC, "decimal")), ("0f3F800000", Number(0x3F800000, "f32")),
    ("0d3FF0000000000000", Number(0x3FF0000000000000, "f64")),
])  # fmt: skip
def test_floats_are_read_by_their_bits(text, operand):
    assert body(f"mov.f32 %f1, {text};")[0].operands[1] == operand


def test_the_text_may_be_spaced_in_any_way():
    first, second, third, load = body(
        "@ %p1 mov.u32\n%r1\n,/* a */\n1\n;@!%p2 add.u32 %r1,%r1,-1;"
        "{add.u32 %r1 ,%r1,%r2;}ld.global.u32 %r1,[ %rd1 + 4 ];"
    )[:4]
    assert (first.line, first.guard.negated, second.guard.negated) == (7, False, True)
    assert third.operands[0] == Register("%r1")
    assert load.operands[1] == Address(Register("%rd1"), 4)


def test_labels_and_variables_of_inner_blocks_are_told_apart():
    function = kernel(
        "{\n.param .b32 x;\nL: st.param.b32 [x], %r1;\nbra L;\n}\n{\n.param .b64 x;\nL: bra L;\n}\nL: bra L;"
    )
    store, first, second, outer, _ = function.statements
    assert len({variable.name for variable in function.variables}) == 2
    assert store.operands[0].base.name == function.variables[0].name
    targets = [function.labels[statement.operands[0].name] for statement in (first, second, outer)]
    assert targets == [0, 2, 3]


def test_lists_of_targets_prototypes_and_source_lines_are_read():
    function = kernel('ts: .branchtargets A, B;\n.loc 1 6 2\n@%p1 brx.idx %r1, ts;\n'
                      ".loc 1 7 2, function_name $L__info0+12, inlined_at 1 20 5\n"
                      "A: mov.u32 %r1, 1;\nB: mov.u32 %r2, 2;",
                      '.file 1 "a.cu", 123, 456\n')  # fmt: skip
    assert function.tables == {"ts": ("A", "B")}
    assert [str(statement.location) for statement in function.statements[:2]] == ["a.cu:6", "a.cu:7, called at a.cu:20"]


def test_an_alias_is_the_function_that_it_names():
    module = read(HEAD + ".visible .func f() { trap; ret; }\n.visible .func g();\n.alias g, f;")
    assert module.functions["g"].statements == module.functions["f"].statements
    assert not module.functions["g"].external


def test_initialisers_have_their_bytes_and_pointers():
    module = read(HEAD + ".const .align 4 .f32 c[2][3] = {{1.0, -2.0, 0f3F800000}, {1e3}};\n"
                  ".global .u8 d[] = {1, 2};\n.global .u64 g[3] = {generic(d)+1, c, 7};\n"
                  ".global .u8 low[2] = {0xFF(generic(d)), 0xFF00(generic(d))};")  # fmt: skip
    variables = module.variables
    assert np.frombuffer(variables["c"].content, np.float32).tolist() == [1, -2, 1, 1000]
    assert (variables["c"].size, variables["d"].size) == (24, 2)
    assert variables["g"].pointers == ((0, 8, Symbol("d", 1), 0), (8, 8, Symbol("c"), 0))
    assert variables["low"].pointers == ((0, 1, Symbol("d"), 0), (1, 1, Symbol("d"), 8))


@pytest.mark.parametrize(("text", "message"), [
    ("mov.u32 %r1, 1/0;", r"line 7: cannot compute 1 / 0"), ("mov.u32 %r1 2;", r"line 7: expected ',' or ';', got '2'"),
    (".reg .v2 .f32 %v;", r"line 7: vector registers \(.v2\) are not covered"),
    ("§", r"line 7: cannot read '§' as PTX"),
    ("@%q mov.u32 %r1, 1;", r"line 7: the predicate %q is not declared"),
    (".local .foo x;", r"line 7: unknown PTX type"),
])  # fmt: skip
def test_what_is_no_ptx_is_refused_with_its_line(text, message):
    with pytest.raises(mmacalc.Error, match=message):
        kernel(text)


def test_a_register_that_is_declared_behind_its_use_is_refused_as_ptxas_does():
    text = ".version 8.0\n.target sm_80\n.entry k(.param .u64 p) {{\n{}\n ret;\n}}"
    use, declared = " ld.param.u64 %rd1, [p];", " .reg .b64 %rd<2>;"
    assert mmacalc.load(text.format(f"{declared}\n{use}"))["k"].uncovered() == ()
    with pytest.raises(mmacalc.Error, match="line 4: %rd1 is used before it is declared"):
        mmacalc.load(text.format(f"{use}\n{declared}"))


def test_a_call_with_a_parameter_that_is_not_declared_is_refused_with_its_name():
    text = """.version 8.0
.target sm_80
.func f(.param .b32 a) { ret; }
.entry k() {
 call.uni f, (x);
 ret;
}"""
    [(line, _, why)] = mmacalc.load(text)["k"].uncovered()
    assert (line, why) == (5, "k declares no parameter x")


@sampled("count", [150, 400], 1)
def test_changed_texts_give_a_module_or_an_error(count):
    text = recorded.text("ptx/groups_sm_80.ptx.gz")
    start = text.index(".visible .entry calls")
    text = text[: text.index(".visible .entry")] + text[start : text.index(".visible", start + 9)]
    random = np.random.default_rng(11)
    marks = [
        "{",
        "}",
        "(",
        ")",
        ";",
        ",",
        "[",
        "]",
        "@",
        "!",
        "-",
        "+",
        ".",
        "%",
        "0x",
        "1e",
        '"',
        "/*",
        "\n",
        ".reg",
        "<",
        "|",
        ":",
        "=",
    ]
    for _ in range(count):
        at, more = int(random.integers(len(text))), int(random.integers(1, 40))
        changed = (
            text[:at]
            + str(random.choice(marks)) * int(random.integers(0, 3))
            + text[at + more * int(random.integers(2)) :]
        )
        if random.random() < 0.1:
            changed = changed[: int(random.integers(len(changed)))]
        try:
            assert read(changed).target
        except mmacalc.Error:
            continue


@pytest.mark.parametrize("text", [
    "{" * 50000, "mov.u32 %r1, " + "(" * 50000, "mov.u32 %r1, " + "-" * 50000 + "1;", "[" * 50000, "a:" * 20000,
    ".loc 1 2 3\n" * 20000, "add.u32 %r1, %r1, " + "9" * 50000 + ";", "/*" * 50000, "x" * 200000,
    ".param .b8 p[" + "9" * 50 + "];",
])  # fmt: skip
def test_long_texts_take_linear_time(text):
    started = time.process_time()
    with contextlib.suppress(mmacalc.Error):
        kernel(text)
    assert time.process_time() - started < 5
