package kiln

import (
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func check(t *testing.T, got *Array, err error, wanted ...float32) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	values, err := got.Floats()
	if err != nil {
		t.Fatal(err)
	}
	if len(values) != len(wanted) {
		t.Fatalf("%d elements, expected %d", len(values), len(wanted))
	}
	for i := range values {
		if math.Abs(float64(values[i]-wanted[i])) > 1e-5*math.Abs(float64(wanted[i])) {
			t.Fatalf("element %d is %g, expected %g", i, values[i], wanted[i])
		}
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func TestOneTwoThree(t *testing.T) {
	silu, err := Compile1("silu", func(x *Array) *Array { return Multiply(x, Sigmoid(x)) })
	if err != nil {
		t.Fatal(err)
	}
	norm, _ := Compile2("norm", func(x, y *Array) *Array { return Add(Multiply(x, x), Multiply(y, y)) })
	fused, _ := Compile3("fused", func(x, y, z *Array) *Array { return Add(Multiply(x, y), z) })
	got, err := silu(From(1, 2))
	check(t, got, err, float32(sigmoid(1)), float32(2*sigmoid(2)))
	got, err = norm(From(3, 5), From(4, 12))
	check(t, got, err, 25, 169)
	got, err = fused(From(2), From(3), From(4))
	check(t, got, err, 10)
}

// Many goroutines call, compile, nest and drop functions; each function is called by Go once for each signature.
func TestManyGoroutines(t *testing.T) {
	var traces atomic.Int32
	shared, err := Compile2("shared", func(x, y *Array) *Array {
		traces.Add(1)
		return Add(Multiply(x, y), y)
	})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for worker := 0; worker < 32; worker++ {
		wait.Add(1)
		go func(worker int) {
			defer wait.Done()
			for round := 0; round < 20; round++ {
				x, y := float32(worker), float32(round)
				got, err := shared(From(x, x), From(y, y))
				check(t, got, err, x*y+y, x*y+y)
				own, err := Compile1("own", func(a *Array) *Array {
					inner, err := shared(a, a)
					if err != nil {
						panic(err)
					}
					return Add(inner, From(x, x, x))
				})
				if err != nil {
					t.Error(err)
					return
				}
				got, err = own(From(y, y, y))
				check(t, got, err, y*y+y+x, y*y+y+x, y*y+y+x)
			}
			runtime.GC()
		}(worker)
	}
	wait.Wait()
	// Once for two elements, and inside of each trace of `own`.
	if calls := traces.Load(); calls != 1+32*20 {
		t.Fatalf("the function was called %d times, expected %d", calls, 1+32*20)
	}
}

func TestShapeless(t *testing.T) {
	calls := 0
	sum, err := Compile1("sum", func(x *Array) *Array { calls++; return Sum(Exp(x)) }, Shapeless())
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size < 50; size++ {
		got, err := sum(From(make([]float32, size)...))
		check(t, got, err, float32(size))
	}
	if calls != 1 {
		t.Fatalf("49 sizes called the function %d times", calls)
	}
}

func TestErrors(t *testing.T) {
	broken, err := Compile1("broken", func(x *Array) *Array { panic("no such thing") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err = broken(From(1)); err == nil || err.Error() != "broken: no such thing" {
		t.Fatalf("the error is %v", err)
	}
	add, _ := Compile2("add", Add)
	if _, err = add(From(1, 2), From(1, 2, 3)); err == nil || !strings.Contains(err.Error(), "(2) and (3)") {
		t.Fatalf("the error is %v", err)
	}
	got, err := add(From(1, 2), From(3, 4))
	check(t, got, err, 4, 6)
}

// The library releases a function once, when the last closure is gone, wherever that happens.
func TestRelease(t *testing.T) {
	var live atomic.Int32
	for i := 0; i < 100; i++ {
		live.Add(1)
		guard := new([64]byte)
		runtime.SetFinalizer(guard, func(*[64]byte) { live.Add(-1) })
		twice, err := Compile1("twice", func(x *Array) *Array { guard[0]++; return Add(x, x) })
		if err != nil {
			t.Fatal(err)
		}
		got, err := twice(From(21))
		check(t, got, err, 42)
	}
	for i := 0; i < 50 && live.Load() > 1; i++ {
		runtime.GC()
		runtime.Gosched()
	}
	if left := live.Load(); left > 1 {
		t.Fatalf("%d of 100 functions are still held", left)
	}
}
