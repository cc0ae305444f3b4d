"""kiln.llvm: LLVM text to machine code, called through a C signature."""

import numpy as np
import pytest

import kiln

ADD = """
define void @kernel(ptr %x, ptr %y, ptr %out, i64 %n) {
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %xp = getelementptr float, ptr %x, i64 %i
  %yp = getelementptr float, ptr %y, i64 %i
  %op = getelementptr float, ptr %out, i64 %i
  %a = load float, ptr %xp
  %b = load float, ptr %yp
  %c = fadd float %a, %b
  store float %c, ptr %op
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@pytest.mark.parametrize("signature", [None, "void(const float *x, const float *y, float *out, int64_t n)", "void kernel(const float*, const float*, float*, long)"])
def test_tensors_are_pointers(cache, signature):
    @kiln.jit(compiler=kiln.llvm, cache=cache, signature=signature)
    def add(x, y, out, n: kiln.Dynamic[int]):
        return ADD

    for size in (5, 8):
        x, y, out = np.arange(size, dtype="float32"), np.ones(size, "float32"), np.zeros(size, "float32")
        assert add(x, y, out, size) is None
        assert (out == x + 1).all()
    add(x, y, out, 3)
    assert add.cache_info()[:4] == (3, 1, 2, 1)


def test_tensors_of_the_wrong_type(cache):
    @kiln.jit(compiler=kiln.llvm, cache=cache, signature="void(const float *x, const float *y, float *out, int64_t n)")
    def add(x, y, out, n):
        return ADD

    x = np.zeros(4, "float32")
    for args, error, text in [((x.astype("float64"), x, x, 4), TypeError, "parameter 1 points to f32"), ((x, x, np.broadcast_to(x[:1], 4), 4), ValueError, "read-only"),
                              ((3, x, x, 4), TypeError, "int is no tensor"), ((x, x, x, "n"), TypeError, "parameter 4"), ((x, x, x, 1 << 70), OverflowError, "too big"),
                              ((x, x, x), TypeError, "add"), ((x, x, x, 4, 5), TypeError, "add")]:
        with pytest.raises(error, match=text):
            add(*args)


def test_another_number_of_parameters(cache):
    f = kiln.jit(compiler=kiln.llvm, cache=cache, signature="void(int)")(lambda *args: "define void @kernel() {\n ret void\n}")
    with pytest.raises(TypeError, match="has 1 parameters, and 2 were given"):
        f(1, 2)
    with pytest.raises(OverflowError, match="32 bits"):
        f(1 << 40)


@pytest.mark.parametrize("llvm_type, c_type, value, result", [
    ("i8", "int8_t", -5, -5), ("i8", "uint8_t", 200, 200), ("i16", "short", -300, -300), ("i32", "int", -7, -7), ("i32", "uint32_t", 1 << 31, 1 << 31),
    ("i64", "int64_t", -1 << 62, -1 << 62), ("i64", "uint64_t", (1 << 64) - 1, (1 << 64) - 1), ("float", "float", 1.5, 1.5), ("double", "double", -0.1, -0.1),
    ("i8", "bool", True, True),
])
def test_numbers_in_and_out(cache, llvm_type, c_type, value, result):
    @kiln.jit(compiler=kiln.llvm, cache=cache, signature=f"{c_type}({c_type} x)", ignore=("llvm_type",))
    def same(x):
        return f"define {llvm_type} @kernel({llvm_type} %x) {{\n ret {llvm_type} %x\n}}"

    assert same(value) == result and type(same(value)) is type(result)


def test_many_parameters_in_both_rows_and_on_the_stack(cache):
    kinds = ["i64", "double"] * 10

    @kiln.jit(compiler=kiln.llvm, cache=cache, signature=f"double({', '.join({'i64': 'int64_t', 'double': 'double'}[kind] for kind in kinds)})", ignore=("kinds",))
    def total(*args):
        lines = [f"define double @kernel({', '.join(f'{kind} %a{i}' for i, kind in enumerate(kinds))}) {{"]
        last = "0.0"
        for i, kind in enumerate(kinds):
            operand = f"%a{i}"
            if kind == "i64":
                lines.append(f"  %f{i} = sitofp i64 %a{i} to double")
                operand = f"%f{i}"
            lines += [f"  %m{i} = fmul double {operand}, {float(i + 1)}", f"  %s{i} = fadd double {last}, %m{i}"]
            last = f"%s{i}"
        return "\n".join([*lines, f"  ret double {last}", "}"])

    args = [i * 3 if kind == "i64" else i / 2 for i, kind in enumerate(kinds)]
    assert total(*args) == sum(float(arg) * (i + 1) for i, arg in enumerate(args))


def test_texts_that_do_not_compile(cache):
    f = kiln.jit(compiler=kiln.llvm, cache=cache)(lambda: "define void @kernel( {")
    for _ in range(2):
        with pytest.raises(kiln.CompileError, match="<lambda>"):
            f()


@pytest.mark.parametrize("signature", ["", "void", "void(float **x)", "float *(int)", "void(struct a b)", "void(int x", "quad(int)", f"void({', '.join(['int'] * 40)})"])
def test_bad_signatures(cache, signature):
    with pytest.raises(ValueError, match="signature"):
        f = kiln.jit(compiler=kiln.llvm, cache=cache, signature=signature)(lambda *args: "define void @kernel() {\n ret void\n}")
        f(*[1] * 40)


def test_a_second_process(run_program):
    program = '''
        import numpy as np, kiln
        @kiln.jit(compiler=kiln.llvm, signature="void(float *)")
        def f(x):
            return "define void @kernel(ptr %x) {\\n store float 7.0, ptr %x\\n ret void\\n}"
        x = np.zeros(1, "float32")
        f(x)
        print(x[0], f.cache_info().compiles, "libLLVM" in open("/proc/self/maps").read())
    '''
    assert run_program(program)[0].startswith("7.0 1")
    assert run_program(program) == ["7.0 0 False"]
