"""What a function can read is found, in code, closures, defaults, modules and classes; and a change of it is seen, once, and back."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import logging
import pathlib
import random
import re
import types

import pytest

import kiln

INT, LIST, DICT, TEXT = 3, [1, 2], {"a": 1}, "t"


@pytest.fixture(autouse=True)
def restore():
    yield
    globals().update(INT=3, LIST=[1, 2], TEXT="t")


def check(f, change, restore, *args):
    """The text follows, and going back costs nothing: two lowerings, two compiles."""
    before = f(*args)
    f(*args)
    assert f.cache_info()[2:4] == (1, 1)
    change()
    after = f(*args)
    assert after != before and f.cache_info()[2:4] == (2, 2)
    restore()
    assert f(*args) == before and f.cache_info()[2:4] == (2, 2)
    known = f.cache_info().discoveries
    for _ in range(1000):
        f(*args)
    assert f.cache_info().discoveries == known and f.cache_info().lowers == 2


def set_global(name, value):
    return lambda: globals().__setitem__(name, value)


def test_a_global(jit):
    @jit
    def f():
        return f"{INT}"

    check(f, set_global("INT", 5), set_global("INT", 3))


def test_a_list_that_changes_in_place(jit):
    @jit
    def f():
        return f"{LIST}"

    check(f, lambda: LIST.append(3), LIST.pop)


def test_a_dict_deep_inside(jit):
    global DICT
    DICT = {"a": [{"b": 1}]}

    @jit
    def f():
        return f"{DICT}"

    check(f, lambda: DICT["a"][0].update(b=2), lambda: DICT["a"][0].update(b=1))


def test_a_global_that_is_deleted(jit):
    globals()["GONE"] = 1

    @jit
    def f():
        try:
            return f"{GONE}"  # noqa: F821
        except NameError:
            return "no such name"

    check(f, lambda: globals().pop("GONE"), set_global("GONE", 1))


def test_a_global_that_hides_a_builtin(jit):
    @jit
    def f():
        return f"{len('abc')}"

    check(f, set_global("len", lambda _: 7), lambda: globals().pop("len"))


def test_a_nonlocal(jit):
    n = 1

    def set_n(value):
        nonlocal n
        n = value

    @jit
    def f():
        return f"{n}"

    check(f, lambda: set_n(2), lambda: set_n(1))


def test_a_cell_that_is_empty(jit):
    def make():
        @jit
        def f():
            try:
                return f"{later}"
            except NameError:
                return "none yet"
        before = f()
        later = 5
        return f, before
    f, before = make()
    assert (before, f()) == ("none yet", "5")


def helper():
    return inner_helper()


def inner_helper():
    return INT * 2


def test_a_global_behind_helpers(jit):
    @jit
    def f():
        return f"{helper()}"

    check(f, set_global("INT", 5), set_global("INT", 3))


def test_a_helper_that_is_replaced(jit):
    @jit
    def f():
        return f"{helper()}"

    original = inner_helper
    f()
    globals()["inner_helper"] = lambda: LIST[0] + 100
    try:
        assert f() == "101"
        LIST[0] = 7
        assert f() == "107"
    finally:
        LIST[0] = 1
        globals()["inner_helper"] = original
    assert f() == "6" and f.cache_info().lowers == 3


def test_code_that_is_replaced_in_place(jit):
    def g():
        return 1

    def other():
        return 2

    @jit
    def f():
        return f"{g()}"

    code = g.__code__
    check(f, lambda: setattr(g, "__code__", other.__code__), lambda: setattr(g, "__code__", code))


def test_defaults_of_the_function_and_of_helpers(jit):
    def g(n=1, *, m=2):
        return n + m

    @jit
    def f(k=10):
        return f"{k + g()}"

    check(f, lambda: setattr(g, "__defaults__", (5,)), lambda: setattr(g, "__defaults__", (1,)))
    g.__kwdefaults__["m"] = 3
    assert f() == "14"
    f.__wrapped__.__defaults__ = (20,)
    assert f() == "24"


def test_a_default_that_changes_in_place(jit):
    @jit
    def f(sizes=[4]):
        return f"{sizes}"

    f()
    f.__wrapped__.__defaults__[0].append(8)
    assert f() == "[4, 8]"


def test_functions_inside_of_functions(jit):
    @jit
    def f():
        def g():
            return [INT for _ in range(2)]
        return f"{(lambda: g())()}"

    check(f, set_global("INT", 5), set_global("INT", 3))


def test_attributes_of_modules(jit, module):
    a = module("a_module", "SCALE = 2\nclass Config:\n    width = 1\ndef helper():\n    return SCALE")

    @jit
    def f():
        return f"{a.helper()} {a.SCALE} {a.Config.width}"

    check(f, lambda: setattr(a, "SCALE", 3), lambda: setattr(a, "SCALE", 2))
    a.Config.width = 9
    assert f() == "2 2 9"


@pytest.mark.parametrize("expression", ["globals()['TEXT']", "sys.modules['g_module'].SCALE", "importlib.import_module('g_module').SCALE", "vars(settings)['SCALE']"])
def test_names_that_stand_in_the_code_as_text(jit, module, expression):
    other = module("g_module", "SCALE = 2")
    space = module("h_module", "import sys, importlib\nimport g_module as settings\nTEXT = 't'\ndef f():\n    return str(" + expression + ")")

    def change(value):
        other.SCALE = space.TEXT = value

    check(jit(space.f), lambda: change(3), lambda: (setattr(other, "SCALE", 2), setattr(space, "TEXT", "t")))


def test_settings_of_a_library(jit):
    import json.decoder
    json.decoder.KILN_TEST = 1

    @jit
    def f():
        module = json.decoder
        return f"{module.KILN_TEST}"

    try:
        check(f, lambda: setattr(json.decoder, "KILN_TEST", 2), lambda: setattr(json.decoder, "KILN_TEST", 1))
    finally:
        del json.decoder.KILN_TEST


def test_modules_of_a_package(jit, module, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    inner = module("pack.inner", "VALUE = 1")
    import pack

    @jit
    def f():
        return f"{pack.inner.VALUE}"

    check(f, lambda: setattr(inner, "VALUE", 2), lambda: setattr(inner, "VALUE", 1))


def test_a_module_under_another_name(jit, module):
    a = module("b_module", "SCALE = 2")

    @jit
    def f():
        m = a
        return f"{m.SCALE} {getattr(m, 'SCALE')}"

    check(f, lambda: setattr(a, "SCALE", 3), lambda: setattr(a, "SCALE", 2))


def test_a_module_that_is_rebound(jit, module):
    one, two = module("one_module", "X = 1"), module("two_module", "X = 2")
    globals()["switch"] = one

    @jit
    def f():
        return f"{switch.X}"  # noqa: F821

    check(f, set_global("switch", two), set_global("switch", one))


def test_imports_inside_of_the_function(jit, module):
    a = module("c_module", "SCALE = 2\nOTHER = 5")

    @jit
    def f():
        import c_module
        from c_module import OTHER as other
        return f"{c_module.SCALE} {other}"

    check(f, lambda: setattr(a, "SCALE", 3), lambda: setattr(a, "SCALE", 2))
    a.OTHER = 6
    assert f() == "2 6"


def test_a_module_that_is_first_imported_by_the_function(jit, module, tmp_path):
    (tmp_path / "d_module.py").write_text("SCALE = 2")
    module("unrelated", "")

    @jit
    def f():
        import d_module
        return f"{d_module.SCALE}"

    import sys
    try:
        assert f() == "2"
        sys.modules["d_module"].SCALE = 3
        assert f() == "3"
    finally:
        sys.modules.pop("d_module", None)


def test_equal_names_in_two_modules(jit, module):
    one, two = module("e_module", "N = 1\ndef get(): return N"), module("f_module", "N = 10\ndef get(): return N")

    @jit
    def f():
        return f"{one.get() + two.get()}"

    check(f, lambda: setattr(two, "N", 20), lambda: setattr(two, "N", 10))
    one.N, two.N = 10, 1
    assert f() == "11"
    assert f.cache_info().lowers == 3, "N = 10 here and 1 there is another key than 1 here and 10 there"


class Config:
    width = 4
    derived = property(lambda self: self.scale * Config.width)

    def __init__(self):
        self.scale = 2

    def method(self):
        return self.scale + INT

    @staticmethod
    def static():
        return LIST[0]

    @classmethod
    def of_class(cls):
        return cls.width


CONFIG = Config()


@pytest.mark.parametrize("expression", ["CONFIG.scale", "CONFIG.method()", "CONFIG.derived", "vars(CONFIG)"])
def test_an_object_that_changes_in_place(jit, expression):
    f = jit(eval(f"lambda: str({expression})", globals()))
    check(f, lambda: setattr(CONFIG, "scale", 3), lambda: setattr(CONFIG, "scale", 2))


@pytest.mark.parametrize("expression", ["CONFIG.width", "Config.width", "CONFIG.of_class()", "Config().width", "CONFIG.derived", "Config.of_class()"])
def test_attributes_of_classes(jit, expression):
    f = jit(eval(f"lambda: str({expression})", globals()))
    check(f, lambda: setattr(Config, "width", 5), lambda: setattr(Config, "width", 4))


def test_what_methods_read(jit):
    @jit
    def f():
        return f"{CONFIG.method()}"

    check(f, set_global("INT", 5), set_global("INT", 3))


def test_what_static_methods_read(jit):
    f = jit(lambda: f"{Config.static()}")
    check(f, lambda: LIST.__setitem__(0, 9), lambda: LIST.__setitem__(0, 1))


class Operand:
    def __add__(self, other):
        return INT

    def __call__(self):
        return TEXT


OPERAND = Operand()


class Meta(type):
    @property
    def of_meta(cls):
        return INT


class WithMeta(metaclass=Meta):
    pass


class Described:
    class Descriptor:
        def __get__(self, instance, owner):
            return INT

    value = Descriptor()

    def __getattr__(self, name):
        return INT


DESCRIBED = Described()


@dataclasses.dataclass
class Made:
    n: int = dataclasses.field(default_factory=lambda: INT)


class Started:
    def __init__(self):
        self.n = INT


@functools.singledispatch
def dispatched(value):
    return None


@dispatched.register
def _(value: int):
    return INT


def carrier():
    return carrier.n


carrier.n = 1


@pytest.mark.parametrize("expression", ["WithMeta.of_meta", "DESCRIBED.value", "DESCRIBED.computed", "Made().n", "Started().n", "dispatched(1)"])
def test_ways_to_a_global(jit, expression):
    f = jit(eval(f"lambda: str({expression})", globals()))
    check(f, set_global("INT", 5), set_global("INT", 3))


def test_attributes_of_functions(jit):
    f = jit(lambda: f"{carrier()}")
    check(f, lambda: setattr(carrier, "n", 2), lambda: setattr(carrier, "n", 1))


def test_modules_that_compute_attributes(jit, module):
    other = module("lazy_module", "N = 1\ndef __getattr__(name): return N")
    f = jit(lambda: f"{other.computed}")
    check(f, lambda: setattr(other, "N", 2), lambda: setattr(other, "N", 1))


def test_operators(jit):
    f = jit(lambda: f"{OPERAND + 1} {OPERAND()}")
    check(f, set_global("INT", 5), set_global("INT", 3))
    globals()["TEXT"] = "u"
    assert f() == "3 u"
    globals()["TEXT"] = "t"


def test_functions_in_containers_and_partials(jit):
    def a():
        return INT

    table = {"a": [a], "b": functools.partial(max, INT)}

    @jit
    def f():
        return f"{table['a'][0]()}"

    check(f, set_global("INT", 5), set_global("INT", 3))


def test_decorated_helpers(jit):
    def twice(g):
        @functools.wraps(g)
        def call(*args):
            return 2 * g(*args)
        return call

    @twice
    def helper():
        return INT

    f = jit(lambda: f"{helper()}")
    check(f, set_global("INT", 5), set_global("INT", 3))


def test_decorators_of_libraries(jit):
    import contextlib

    @contextlib.contextmanager
    def entered():
        yield INT

    @functools.lru_cache(None)
    def remembered(n):
        return n * len(LIST)

    def f():
        with entered() as n:
            return f"{n}"

    check(jit(f), set_global("INT", 5), set_global("INT", 3))
    g = jit(lambda: f"{remembered(2)}")
    g()
    LIST.append(5)
    remembered.cache_clear()
    assert g() == "6", "what a cached helper reads is found; its own results are its own affair"
    LIST.pop()


def test_other_functions_of_kiln(jit):
    @jit
    def g():
        return f"{INT}"

    @jit
    def f():
        return f"f {g()}"

    assert f() == "f 3"
    globals()["INT"] = 5
    try:
        assert f() == "f 5"
    finally:
        globals()["INT"] = 3


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Sizes:
    block: int = 4
    names: tuple = ("a",)


Point = collections.namedtuple("Point", "x y")


class Slots:
    __slots__ = ("a", "b")


SLOTS = Slots()
SLOTS.a = 1


@pytest.mark.parametrize("one, two", [
    (1, 1.0), (1, True), (0.0, -0.0), (1, 2), ("a", b"a"), ((1,), [1]), ({1}, frozenset({1})), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (None, 0),
    (Color.RED, Color.BLUE), (Color.RED, 1), (Sizes(4), Sizes(5)), (Point(1, 2), Point(2, 1)), (Point(1, 2), (1, 2)), (1 << 70, (1 << 70) + 1), (1j, 1 + 0j),
    (range(3), range(4)), (b"ab", bytearray(b"ab")), (slice(1), slice(2)), (([1], [2]), ([1, 2], [])), ("", None),
])
def test_values_that_differ_in_type_or_value(jit, one, two):
    ns = {"V": one, "__name__": "some_module"}
    exec("def f(): return f'{type(V)} {V!r}'", ns)
    f = jit(ns["f"])
    check(f, lambda: ns.__setitem__("V", two), lambda: ns.__setitem__("V", one))


@pytest.mark.parametrize("make", [
    lambda n: re.compile("a" * n), lambda n: pathlib.Path("a" * n), lambda n: decimal.Decimal(n), lambda n: fractions.Fraction(1, n), lambda n: collections.deque([n]),
    lambda n: collections.defaultdict(list, {n: n}), lambda n: collections.Counter("a" * n), lambda n: datetime.timedelta(n), lambda n: types.MappingProxyType({n: n}),
    lambda n: types.SimpleNamespace(a=n), lambda n: logging.getLogger("a" * n), lambda n: functools.partial(max, n), lambda n: random.Random(n),
])
def test_objects_of_libraries(jit, make):
    ns = {"V": make(1), "__name__": "some_module"}
    exec("def f(n): return 't'\ndef g(n): return f'{type(V)} {V!r}' + str(getattr(V, 'getstate', int)())", ns)
    g = jit(ns["g"])
    g(1), g(1)
    ns["V"] = make(1)
    g(1)
    assert g.cache_info().lowers == 1, "an equal object is the same value"
    ns["V"] = make(2)
    g(1)
    assert g.cache_info().lowers == 2


def test_nan_equals_itself(jit):
    ns = {"V": float("nan"), "__name__": "some_module"}
    exec("def f(): return f'{V}'", ns)
    f = jit(ns["f"])
    f()
    ns["V"] = float("nan")
    f()
    assert f.cache_info().lowers == 1


def test_objects_with_slots(jit):
    f = jit(lambda: f"{SLOTS.a} {getattr(SLOTS, 'b', None)}")
    check(f, lambda: setattr(SLOTS, "b", 5), lambda: delattr(SLOTS, "b"))


def test_values_that_hold_themselves(jit):
    ring = [1]
    ring.append(ring)
    f = jit(lambda: f"{ring}")
    check(f, lambda: ring.insert(0, 0), lambda: ring.pop(0))


def test_a_list_that_is_only_written_is_not_read(jit):
    log = []

    @jit
    def f():
        log.append("lowered")
        return "t"

    f(), f()
    assert log == ["lowered"] and f.cache_info().lowers == 1


def test_a_function_that_changes_what_it_reads_is_refused(jit):
    count = {"n": 0}

    @jit
    def f():
        count["n"] += 1
        return "t"

    with pytest.raises(kiln.DriftError, match="must not change what it reads"):
        f()


def test_a_value_that_changes_while_it_is_lowered(jit, compiler):
    state = {"n": 0}
    changes = [1]

    @jit(ignore=("changes",))
    def f():
        text = f"{state['n']}"
        if changes:
            state.update(n=changes.pop())
        return text

    assert f() == "1", "not the text of a value that is not there any more"
    assert f.cache_info().lowers == 2 and compiler.texts == [b"1"]


def test_unsigned_globals_are_named(jit):
    import threading
    lock = threading.Lock()

    def helper():
        return lock

    @jit
    def f():
        return f"{helper()}"

    with pytest.raises(kiln.UnsignedError, match=r"reads lock \(closure of .*helper.*__cache_signature__.*ignore"):
        f()
    jit(f.__wrapped__, ignore=("lock",))()


def test_ignored_names(jit):
    f = jit(lambda: f"{INT}", ignore=("INT",))
    f()
    globals()["INT"] = 5
    assert f() == "3"
    globals()["INT"] = 3


def test_arrays_that_are_read_are_in_the_key_by_content(jit):
    np = pytest.importorskip("numpy")
    table = np.arange(4)
    f = jit(lambda: f"{table.tolist()}")
    check(f, lambda: table.__setitem__(0, 9), lambda: table.__setitem__(0, 0))


def test_values_with_a_signature_of_their_own(jit):
    class Opaque:
        def __init__(self):
            self.width, self.junk = 1, object()

        def __cache_signature__(self):
            return ("width", self.width)

    value = Opaque()
    f = jit(lambda: f"{value.width}")
    check(f, lambda: setattr(value, "width", 2), lambda: setattr(value, "width", 1))


def test_closures_of_one_code_object_are_apart(jit):
    def make(n):
        return jit(lambda: f"{n}")

    assert [make(n)() for n in (1, 2, 3)] == ["1", "2", "3"]


def test_library_functions_are_not_looked_through(jit):
    import json
    f = jit(lambda: json.dumps([INT]))
    check(f, set_global("INT", 5), set_global("INT", 3))
    assert "JSONEncoder" not in f.key()
