// Package kiln compiles functions of arrays once, from Go: Compile1, Compile2 and Compile3 over libmlxc.so.
//
// There is no lock, no tracing flag and no list of intermediate arrays in it. The library traces a function once for all
// goroutines that call it, frees what a trace makes, and releases the function when the last closure goes.
package kiln

/*
#cgo LDFLAGS: -lmlxc -lkiln
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// Array is an array of float32. It is safe for use by many goroutines and freed by the garbage collector.
type Array struct{ handle C.mlx_array }

func wrap(handle C.mlx_array) *Array {
	array := &Array{handle}
	runtime.SetFinalizer(array, func(a *Array) { C.mlx_array_free(a.handle) })
	return array
}

// From makes an array of one dimension.
func From(values ...float32) *Array {
	shape := C.int(len(values))
	return wrap(C.mlx_array_new_data(unsafe.Pointer(unsafe.SliceData(values)), &shape, 1, C.MLX_FLOAT32))
}

// Floats computes the array and copies its elements.
func (a *Array) Floats() ([]float32, error) {
	if err := failure(C.bridge_evaluate(a.handle)); err != nil {
		return nil, err
	}
	values := unsafe.Slice((*float32)(C.mlx_array_data_float32(a.handle)), int(C.mlx_array_size(a.handle)))
	copied := append([]float32(nil), values...)
	runtime.KeepAlive(a)
	return copied, nil
}

func failure(text *C.char) error {
	if text == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(text))
	return errors.New(C.GoString(text))
}

// must turns the error of an operation into a panic, which a compiled function's caller gets as an error.
func must(result *Array, text *C.char) *Array {
	if err := failure(text); err != nil {
		panic(err)
	}
	return result
}

func unary(operation *[0]byte, x *Array) *Array {
	result := wrap(C.mlx_array{})
	text := C.bridge_unary(operation, &result.handle, x.handle)
	runtime.KeepAlive(x)
	return must(result, text)
}

func binary(operation *[0]byte, x, y *Array) *Array {
	result := wrap(C.mlx_array{})
	text := C.bridge_binary(operation, &result.handle, x.handle, y.handle)
	runtime.KeepAlive(x)
	runtime.KeepAlive(y)
	return must(result, text)
}

// Operations. They panic where their arguments do not fit.
func Add(x, y *Array) *Array      { return binary((*[0]byte)(C.mlx_add), x, y) }
func Multiply(x, y *Array) *Array { return binary((*[0]byte)(C.mlx_multiply), x, y) }
func Sigmoid(x *Array) *Array     { return unary((*[0]byte)(C.mlx_sigmoid), x) }
func Exp(x *Array) *Array         { return unary((*[0]byte)(C.mlx_exp), x) }

// Sum of all elements.
func Sum(x *Array) *Array {
	result := wrap(C.mlx_array{})
	text := C.bridge_sum(&result.handle, x.handle)
	runtime.KeepAlive(x)
	return must(result, text)
}

// Option changes how a function is compiled.
type Option func(*bool)

// Shapeless compiles a function once for all sizes of the same ranks and dtypes.
func Shapeless() Option { return func(shapeless *bool) { *shapeless = true } }

type compiled struct {
	name    string
	closure C.mlx_closure
}

func compile(name string, function func([]*Array) *Array, options []Option) (*compiled, error) {
	shapeless := false
	for _, option := range options {
		option(&shapeless)
	}
	made := &compiled{name: name}
	text := C.bridge_compile(&made.closure, C.uintptr_t(cgo.NewHandle(function)), C.bool(shapeless))
	if err := failure(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	runtime.SetFinalizer(made, func(c *compiled) { C.mlx_closure_free(c.closure) })
	return made, nil
}

func (c *compiled) call(inputs ...*Array) (*Array, error) {
	handles := make([]C.mlx_array, len(inputs))
	for i, input := range inputs {
		handles[i] = input.handle
	}
	result := wrap(C.mlx_array{})
	text := C.bridge_call(&result.handle, c.closure, unsafe.SliceData(handles), C.size_t(len(handles)))
	runtime.KeepAlive(inputs)
	runtime.KeepAlive(c)
	if err := failure(text); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return result, nil
}

// Compile1 compiles a function of one array. What it returns may be called by many goroutines at once.
func Compile1(name string, function func(x *Array) *Array, options ...Option) (func(x *Array) (*Array, error), error) {
	made, err := compile(name, func(in []*Array) *Array { return function(in[0]) }, options)
	return func(x *Array) (*Array, error) { return made.call(x) }, err
}

// Compile2 compiles a function of two arrays.
func Compile2(name string, function func(x, y *Array) *Array, options ...Option) (func(x, y *Array) (*Array, error), error) {
	made, err := compile(name, func(in []*Array) *Array { return function(in[0], in[1]) }, options)
	return func(x, y *Array) (*Array, error) { return made.call(x, y) }, err
}

// Compile3 compiles a function of three arrays.
func Compile3(name string, function func(x, y, z *Array) *Array, options ...Option) (func(x, y, z *Array) (*Array, error), error) {
	made, err := compile(name, func(in []*Array) *Array { return function(in[0], in[1], in[2]) }, options)
	return func(x, y, z *Array) (*Array, error) { return made.call(x, y, z) }, err
}

// Arrays that the function makes on the way are the garbage collector's, as everywhere: a trace keeps nothing alive.
//
//export goCall
func goCall(res *C.mlx_vector_array, inputs C.mlx_vector_array, function C.uintptr_t) (status C.int) {
	defer func() {
		if reason := recover(); reason != nil {
			text := C.CString(fmt.Sprint(reason))
			defer C.free(unsafe.Pointer(text))
			C.bridge_say(text)
			status = 1
		}
	}()
	arguments := make([]*Array, int(C.mlx_vector_array_size(inputs)))
	for i := range arguments {
		arguments[i] = wrap(C.mlx_array{})
		C.mlx_vector_array_get(&arguments[i].handle, inputs, C.size_t(i))
	}
	made := cgo.Handle(function).Value().(func([]*Array) *Array)(arguments)
	if made == nil {
		panic("the function returned no array")
	}
	defer runtime.KeepAlive(made)
	return C.mlx_vector_array_set_value(res, made.handle)
}

//export goRelease
func goRelease(function C.uintptr_t) {
	cgo.Handle(function).Delete()
}
