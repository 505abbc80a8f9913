package note

import "strconv"

// Hash returns the plugin's hash of a text: MurmurHash3 (x86, 32 bits, seed 0)
// printed in base 36 without padding. Its input is the low byte of each UTF-16
// unit, not UTF-8, so characters 256 apart collide: it tells whether a text is
// unchanged, never which text it is. Hash("") is "0" (format section 5.1).
func Hash(s string) string {
	var m murmur
	for _, r := range s {
		if r > 0xFFFF {
			high, low := surrogates(r)
			m.write(byte(high))
			r = low
		}
		m.write(byte(r))
	}
	return strconv.FormatUint(uint64(m.sum()), 36)
}

// murmur is the running state of MurmurHash3 with seed 0. The zero value is
// ready to use.
type murmur struct {
	hash   uint32
	word   uint32 // bytes of the current block of four, little-endian
	length uint32
}

const (
	murmurC1 = 0xcc9e2d51
	murmurC2 = 0x1b873593
)

func (m *murmur) write(b byte) {
	m.word |= uint32(b) << (8 * (m.length % 4))
	m.length++
	if m.length%4 != 0 {
		return
	}
	m.mix()
	m.hash = (m.hash<<13|m.hash>>19)*5 + 0xe6546b64
}

// mix folds the current block into the hash and starts a new one.
func (m *murmur) mix() {
	k := m.word * murmurC1
	m.hash ^= (k<<15 | k>>17) * murmurC2
	m.word = 0
}

func (m *murmur) sum() uint32 {
	m.mix() // an empty tail is zero and changes nothing
	h := m.hash ^ m.length
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
