package onnx

import (
	"encoding/binary"
	"math"
)

// message writes protobuf, so that tests can make files that no exporter here
// would.
type message []byte

func (m message) varint(number int, v uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(number<<3|varint)), v)
}

func (m message) bytes(number int, b []byte) message {
	m = binary.AppendUvarint(m, uint64(number<<3|bytes))
	return append(binary.AppendUvarint(m, uint64(len(b))), b...)
}

func (m message) text(number int, s string) message { return m.bytes(number, []byte(s)) }

func (m message) float(number int, x float32) message {
	m = binary.AppendUvarint(m, uint64(number<<3|fixed32))
	return binary.LittleEndian.AppendUint32(m, math.Float32bits(x))
}

// storage is one of the ways to write a tensor's values.
type storage int

const (
	rawF32 storage = iota
	rawF16
	rawBF16
	packedFloats
	looseFloats // not packed
	halvesF16   // 16 bits as a number each
	kindLast    // raw_data before data_type
	storages
)

// writeTensor is a TensorProto; storage decides how its values are written.
func writeTensor(name string, dims []int, x []float32, how storage) message {
	var m message
	for _, d := range dims {
		m = m.varint(1, uint64(d))
	}
	var raw []byte
	kind := uint64(1)
	switch how {
	case rawF16, halvesF16:
		kind = 10
	case rawBF16:
		kind = 16
	}
	var halves message
	for _, v := range x {
		bits := math.Float32bits(v)
		switch kind {
		case 1:
			raw = binary.LittleEndian.AppendUint32(raw, bits)
		case 10:
			raw = binary.LittleEndian.AppendUint16(raw, half(v))
			halves = binary.AppendUvarint(halves, uint64(half(v)))
		case 16:
			raw = binary.LittleEndian.AppendUint16(raw, uint16(bits>>16))
		}
	}
	if how == kindLast {
		return m.bytes(9, raw).varint(2, kind).text(8, name)
	}
	m = m.varint(2, kind)
	switch how {
	case packedFloats:
		m = m.bytes(4, raw)
	case looseFloats:
		for _, v := range x {
			m = m.float(4, v)
		}
	case halvesF16:
		m = m.bytes(5, halves)
	default:
		return m.text(8, name).bytes(9, raw)
	}
	return m.text(8, name)
}

// half is a small whole or halved number as F16.
func half(v float32) uint16 {
	bits := math.Float32bits(v)
	if v == 0 {
		return 0
	}
	return uint16(bits>>16&0x8000 | (bits>>23&0xff-112)<<10 | bits>>13&0x3ff)
}

// unhalf is the value of an F16; NaN for those that are not finite.
func unhalf(h uint16) float32 {
	sign, exponent, fraction := 1.0, int(h>>10&0x1f), float64(h&0x3ff)
	if h>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 31:
		return float32(math.NaN()) // or an infinity
	case 0:
		return float32(sign * math.Ldexp(fraction, -24))
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}

// writeNode is a NodeProto.
func writeNode(op, name string, in []string, out string, attributes ...message) message {
	var m message
	for _, s := range in {
		m = m.text(1, s)
	}
	if out != "" {
		m = m.text(2, out)
	}
	m = m.text(3, name).text(4, op)
	for _, a := range attributes {
		m = m.bytes(5, a)
	}
	return m
}

func intAttribute(name string, v int) message {
	return message{}.text(1, name).varint(3, uint64(v)).varint(20, 2)
}

func floatAttribute(name string, v float32) message {
	return message{}.text(1, name).float(2, v).varint(20, 1)
}

func intsAttribute(name string, packed bool, v ...int) message {
	m := message{}.text(1, name)
	var all message
	for _, x := range v {
		if !packed {
			m = m.varint(8, uint64(x))
		}
		all = binary.AppendUvarint(all, uint64(x))
	}
	if packed {
		m = m.bytes(8, all)
	}
	return m.varint(20, 7)
}

func tensorAttribute(name string, t message) message {
	return message{}.text(1, name).bytes(5, t).varint(20, 4)
}

// file is a whole model of nodes and initialisers.
type file struct {
	nodes, tensors []message
	tensorsFirst   bool
}

func (f *file) node(m message)   { f.nodes = append(f.nodes, m) }
func (f *file) tensor(m message) { f.tensors = append(f.tensors, m) }

func (f *file) encode() []byte {
	var graph message
	write := func(number int, all []message) {
		for _, m := range all {
			graph = graph.bytes(number, m)
		}
	}
	if f.tensorsFirst {
		write(5, f.tensors)
	}
	write(1, f.nodes)
	graph = graph.text(2, "main_graph")
	if !f.tensorsFirst {
		write(5, f.tensors)
	}
	return message{}.varint(1, 7).text(2, "a test").bytes(7, graph).bytes(8, message{}.text(1, "").varint(2, 14))
}
