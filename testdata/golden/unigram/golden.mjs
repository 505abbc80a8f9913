// node golden.mjs, in a folder where @huggingface/transformers 4.2.0 is installed (it brings
// @huggingface/tokenizers 0.1.3): writes ids.jsonl and codepoints.tsv beside this file, from tokenizer.json.
import fs from 'node:fs';
import path from 'node:path';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(path.join(process.cwd(), 'package.json'));
const { Tokenizer } = require('@huggingface/tokenizers');
const here = path.dirname(fileURLToPath(import.meta.url));
const base = JSON.parse(fs.readFileSync(path.join(here, 'tokenizer.json'), 'utf8'));
const plain = new Tokenizer(base, {});
const ids = (t, text) => t.encode(text).ids;
const out = [];
const line = value => out.push(JSON.stringify(value));

// The texts of the other goldens, named by their id. Lone surrogates cannot come out of a file.
for (const l of fs.readFileSync(path.join(here, '../embedding/tiny-bert-48.jsonl'), 'utf8').trim().split('\n')) {
  const { id, text } = JSON.parse(l);
  line({ id, ids: ids(plain, text.toWellFormed()) });
}

const texts = [
  '', ' ', '   ', '\n', '\t \r\n', '\u00a0', '\u3000', '\u200b', '\ufeff', '\ufffd', '\u0000', '\u0000a\u0000', '\u0001', '\u007f\u0080\u0085\u008f\u009f',
  'a', ' a', 'a ', '  a  b  ', 'a\tb\nc\r\nd\u000be\u000cf\u001cg\u001dh\u001fi', 'a\u0085b', 'a\u00a0b\u1680c\u2000d\u200ae\u2028f\u2029g\u202fh\u205fi\u3000j',
  'zero\u200bwidth\u200cnon\u200djoiner\u200e\u200f\u2060word\ufeffbom\u00adsoft', 'bad\ufffdchar\ufffd',
  'roses \u2581 by', '\u2581', '\u2581\u2581a', '\u2581the roses', 'the\u2581roses', 'a_b_c __ ____ ________',
  '\uff5e', 'a\uff5eb', '\uff5e\u0301', 'e\uff5e\u0301', '\uff21\uff5e\uff22\uff5e\uff43', '\u301c ~ \uff5e \u223c',
  '\ufb01sh e\ufb03cient \ufb05', '\u2460\u2461 \u2122 \u00bd \u00b2 \u2103 \u212b \u33a5 \u3392', '\uff2c\uff45\uff41\uff46 \uff11\uff12\uff13 \uff01\uff1f', '\uff76\uff9e\uff77\uff9e \uff8a\uff9f', '\ufdfa \ufdfb',
  '\u00a8 \u00af \u00b4 \u00b8 \u2017 \u203e \u037a \u1fbd', 'e\u0301 \u00e9 E\u0301\u0327 E\u0327\u0301 \u1e1c', 'Cafe\u0301 Café', 'a\u0300\u0301\u0302\u0303\u0304', '\u0301a', ' \u0301',
  'q\u0323\u0307 q\u0307\u0323 \u1e69 s\u0323\u0307 s\u0307\u0323', '\u1100\u1161\u11a8 \uac01 \u1100\u1161 \u3131\u314f\u3131 \uffa1\uffc2', '\u0958 \u0915\u093c \u09dc', '\u2126 \u03a9 \u212a \u1f71 \u03ac',
  '\u0344 \u0f73 \u0f75 \u0f81', 'a\u0345\u0301 \u1fb4', 'A\u030a \u212b', '\u2adc \u2add\u0338', 'x\u034fy', '\u302a\u3099か\u3099 が', '\u09c7\u09be \u0b47\u0b56 \u1025\u102e',
  'a' + '\u0301'.repeat(30), 'a' + '\u0301'.repeat(31), 'a' + '\u0301'.repeat(40), 'a' + '\u0323\u0301'.repeat(40) + 'b', '\u0301'.repeat(70), 'e' + '\u0327'.repeat(33) + '\u0301',
  'q' + '\u0301'.repeat(29) + '\u0344\u0344', '\u0327'.repeat(31) + '\u1100' + '\u0301'.repeat(31), '\u1fb4' + '\u0301'.repeat(64), '\u00a8' + '\u0323'.repeat(40), '\u034f' + '\u0301'.repeat(35) + '\u034f',
  '😀', '😀😀 a😀b', '👨‍👩‍👧‍👦', '🏳️‍🌈 🇩🇪', '☃', '☃☃☃', '☃ ☃ ☃', 'a☃☃b☃', '☃the☃', '\u{20000}', 'a\u{20000}\u{2a6d6}b', '\u{1d400}\u{1d41b}\u{1d7d8}', '\u{2f800} 丽', '\ue000\uf8ff', '\u{10fffe}\uffff\ufdd0', '\u{e0001}\u{e0061}', '\u{1f1e6}', '\u{16fe4}\u{1bca0}',
  '<s>', '</s>', '<pad>', '<unk>', '<mask>', 'a<mask>b', 'a <mask> b', 'a \t\u00a0\n<mask> \u3000b', '   <mask>   ', '<mask><mask>', '<mask> <mask>', ' <mask>', '<s> a </s>', 'a <s>b', '<s>\u2581a', 'a <pad> <unk> b', '<<s>>', '<s', '< s>', '<S>', '<s/>', '</s', '<mas<mask>k>',
  '\uff1cs\uff1e', 'a \uff1cs\uff1e b', '\uff1c/s\uff1ea', '\uff1cpad\uff1e', '\uff1cunk\uff1e', '\uff1cunk\uff1e☃', '☃\uff1cunk\uff1e☃', '\uff1cmask\uff1e', 'x\uff1cmask\uff1ey', 'a\u200b<mask>', 'a\u0000<mask>', 'e<s>\u0301',
  'query: how do I prune roses?', 'passage: The roses by the wall were cut back hard in March.', 'query: ', 'query:', 'query: <mask>', 'passage: 墙边的玫瑰',
  'a'.repeat(16), 'a'.repeat(17), 'a'.repeat(100), 'a'.repeat(301), 'A'.repeat(47), 'é'.repeat(61), 'e\u0301'.repeat(31), '中'.repeat(64), '가'.repeat(33), 'ab'.repeat(64), '-'.repeat(70), '.'.repeat(33), '😀'.repeat(65), '☃'.repeat(50), 'ACGT'.repeat(20), 'nationalization'.repeat(3), '1234567890'.repeat(5),
  '中文,测试。「引用」', 'カタカナとひらがな、壁際のバラ', '담 옆의 장미', 'กุหลาบข้างกำแพง', 'الورود بجانب الجدار', 'דیוار הקיר', 'ＡＢＣ　ａｂｃ', 'İstanbul ıLIK', 'Straße STRASSE ẞ', 'ΑΣ ας Σ', "don't l'hôtel “quoted” — dash… ‥ ‼ ⁇", 'http://example.org/a?b=c&d#e', '# Heading\n\n- item\n- [ ] task\n\n> quote\n```\ncode\n```', '| a | b |\n|---|---|\n| 1 | 2 |', '[[wiki link|alias]] #tag/sub ^block', 'a\r\nb\rc', 'The  roses   by\n\n\nthe wall',
];
for (const text of texts) line({ text, ids: ids(plain, text) });

// Text that was cut inside a surrogate pair: JavaScript keeps the half.
for (const text of ['', 'a', 'the ', '中文', '☃', 'e\u0301', 'a\uff5e', '<s>', 'a'.repeat(16)]) line({ text, half: true, ids: ids(plain, text + '\ud83d') });

// What the plugin's loop makes of texts too long, where a cut may leave half a pair: until the tokens fit, nine
// tenths of the share that would, back to a space.
const prepare = (text, limit) => {
  for (let n = ids(plain, text).length; n > limit && text.length > 0; n = ids(plain, text).length) {
    text = text.slice(0, Math.floor(text.length * (limit / n) * 0.9));
    const space = text.lastIndexOf(' ');
    if (space > 0) text = text.slice(0, space);
  }
  return text;
};
for (const [limit, text] of [
  [64, 'query: ' + 'x😀'.repeat(200)], [63, 'x😀'.repeat(200)], [61, '😀☃'.repeat(99)], [60, 'x😀'.repeat(200)], [59, '中😀'.repeat(90)], [58, '中😀'.repeat(91)], [57, '中文😀'.repeat(92)], [56, '中😀😀'.repeat(93)],
  [16, 'passage: The roses by the wall were cut back hard in March; new shoots, about ten, came within a week.'], [8, '墙边的玫瑰在三月被重剪😀一周之内长出了十来根新枝'], [3, '😀😀😀😀😀😀😀😀'], [2, '😀 😀'],
]) {
  const cut = prepare(text, limit);
  line({ limit, text, cut: cut.toWellFormed() === cut ? cut : cut.slice(0, -1), half: cut.toWellFormed() !== cut, ids: ids(plain, cut) });
}

// Other settings of the same file, and other models: a patch replaces members of tokenizer.json.
const metaspace = more => ({ type: 'Metaspace', replacement: '▁', ...more });
const split = more => ({ type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, metaspace(more)] });
const sequence = (...more) => ({ type: 'Sequence', normalizers: [{ type: 'Precompiled', precompiled_charsmap: '' }, ...more] });
const spaces = content => ({ type: 'Replace', pattern: { Regex: ' {2,}' }, content });
const variant = (name, patch, list = texts) => {
  const t = new Tokenizer({ ...base, ...patch }, {});
  line({ variant: name, patch, texts: list, ids: list.map(text => ids(t, text)) });
};
const some = texts.filter((text, i) => text.length < 80 && (/[\s\u2581\u00a8<]/.test(text) || i % 4 === 0));
variant('Metaspace alone', { pre_tokenizer: metaspace({ prepend_scheme: 'always', split: true }) }, some);
variant('first', { pre_tokenizer: split({ prepend_scheme: 'first' }) }, some);
variant('Metaspace alone, first, not split', { pre_tokenizer: metaspace({ prepend_scheme: 'first', split: false }) }, some);
variant('never', { pre_tokenizer: split({ prepend_scheme: 'never', add_prefix_space: true }) }, some);
variant('Metaspace alone, never', { pre_tokenizer: metaspace({ prepend_scheme: 'never' }) }, some);
variant('no prefix space, as it was once written', { pre_tokenizer: split({ add_prefix_space: false }) }, some);
variant('runs of spaces', { normalizer: sequence(spaces(' ')), pre_tokenizer: metaspace() }, some);
variant('runs of spaces, stripped', { normalizer: sequence({ type: 'Strip', strip_left: false, strip_right: true }, spaces('▁')), pre_tokenizer: metaspace({ prepend_scheme: 'always' }) }, some);
variant('runs of spaces, joined', { normalizer: sequence(spaces('▁')) }, some);
variant('stripped on the left', { normalizer: sequence({ type: 'Strip', strip_left: true, strip_right: false }), pre_tokenizer: metaspace({ prepend_scheme: 'first' }) }, some);
variant('stripped on both sides', { normalizer: sequence({ type: 'Strip', strip_left: true, strip_right: true }), pre_tokenizer: metaspace({ prepend_scheme: 'never' }) }, some);

const n = base.model.vocab.length;
const token = (id, content, more) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });
const literals = {
  added_tokens: [...base.added_tokens.filter(t => t.content !== '<mask>'), token(n - 1, '<mask>', { lstrip: true, rstrip: true }),
    token(n, '[X]', { rstrip: true, special: false }), token(n + 1, '[XX]', { single_word: true }), token(n + 2, '☃☃☃', { lstrip: true }), token(n + 3, '<s', {})],
};
const beside = ['a [X] b', '[X]  b', '  [X]\n', 'a [XX] b', 'a[XX]b', '[[X]]', 'a <mask>  b', '<mask> ', ' <mask> [X] <mask> ', '☃☃☃☃', '☃ ☃☃☃', '<s>', '<s ', '<mask> [X]', 'a \u00a0[X]\u3000 ☃☃☃ b', '［X］'];
variant('more literal tokens', literals, beside);
variant('more literal tokens, Metaspace alone', { ...literals, pre_tokenizer: metaspace({ prepend_scheme: 'never' }) }, beside);

const small = (pieces, more) => ({
  added_tokens: ['<s>', '<pad>', '</s>', '<unk>'].map((t, i) => token(i, t)),
  model: { type: 'Unigram', unk_id: 3, vocab: [['<s>', 0], ['<pad>', 0], ['</s>', 0], ['<unk>', 0], ...pieces], ...more },
});
variant('byte pieces are never used', small([['▁', -1], ['a', -2], ['<0xE2>', -3], ['<0x98>', -3], ['<0x83>', -3]], { byte_fallback: true, fuse_unk: false }), ['a☃', '☃', 'a a☃☃a', '<0xE2>']);
variant('type not named', small([['▁', -1], ['a', -2]], { type: undefined }), ['a a', 'b']);
variant('unknown across words', small([['a', -2], ['▁a', -2.5]]), ['b b', 'a b b a', 'ab ba', 'b<s>b', 'a a', '☃ ☃☃', '']);
variant('the unknown token spelt out', small([...'▁<unk>'].map(c => [c, -1]).concat([['z', -20]])), ['＜unk＞z', 'z＜unk＞', '＜unk＞＜unk＞', '<unk>z']);
const spelt = small([['▁', -1], ['a', -2]]);
spelt.added_tokens.push(token(6, '<xy>'), token(7, 'ax'), token(8, '<unk>b'), token(9, 'q'));
variant('unknown characters that spell a literal token', spelt, ['＜xy＞', 'a＜xy＞', '＜xy＞＜xy＞', '＜xy＞b', '<xy>', 'ａx', '＜unk＞', '＜unk＞b', 'b＜unk＞', '＜ xy＞', 'ｑ', 'bｑb', 'b ｑ', '＜unk＞b＜xy＞', 'a＜unk＞b', 'b＜unk＞b']);

// Pieces with few scores tie often; with crooked ones, a sum's rounding decides.
let seed = 42;
const random = k => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return Math.floor(seed / 4294967296 * k); };
const words = (letters, most) => { let all = [''], level = ['']; for (let i = 0; i < most; i++) all.push(...(level = level.flatMap(w => [...letters].map(l => w + l)))); return all.slice(1); };
const jumble = (letters, count, most) => Array.from({ length: count }, () => Array.from({ length: 1 + random(most) }, () => letters[random(letters.length)]).join(''));
variant('ties', small(words('ab▁', 4).map(w => [w, -[...w].length])), jumble('aab ', 60, 20));
variant('ties of unequal pieces', small(words('abc', 4).filter(() => random(3) > 0).map(w => [w, -1 - random(4)])), jumble('abc ', 60, 24));
variant('ties by rounding', small(words('ab', 6).map(w => [w, -[...w].length * 1.1])), jumble('aabb', 60, 60));
variant('ties by rounding, of tenths', small(words('ab', 5).map(w => [w, -0.1 * (1 + random(5)) * [...w].length])), jumble('aabb', 60, 60));
// Literal tokens of BERT's own tokenizer, in the same way.
const tiny = JSON.parse(fs.readFileSync(path.join(here, '../../models/tiny-bert-48/tokenizer.json'), 'utf8'));
const patch = { added_tokens: [...tiny.added_tokens.filter(t => t.content !== '[MASK]'), token(4, '[MASK]', { lstrip: true }), token(1000, '<x>', { rstrip: true }), token(1001, 'qq', { lstrip: true, rstrip: true })] };
const bert = new Tokenizer({ ...tiny, ...patch }, {});
const marked = ['a [MASK] b', ' [MASK]', '<x>', '<X>', 'a <x>  b', '<x> ', 'a <X> b', '<\u200bx>', ' <\u200bX> ', 'Q\u00adQ', 'q\u00adq[MASK]', 'a\u3000qq\u00a0b', ' qq  [MASK] <x> a', 'QQ', '[mask]'];
line({ variant: 'tiny-bert-48', patch, texts: marked, ids: marked.map(text => ids(bert, text)) });
fs.writeFileSync(path.join(here, 'ids.jsonl'), out.join('\n') + '\n');

// What the normalizer makes of "a?b" for every code point; "same" is not listed.
const rows = [];
const hash = createHash('sha256');
let run = null;
const hex = s => [...s].map(c => c.codePointAt(0).toString(16)).join(' ');
for (let cp = 0; cp <= 0x10ffff; cp++) {
  if (cp >= 0xd800 && cp <= 0xdfff) continue;
  const text = 'a' + String.fromCodePoint(cp) + 'b';
  const to = plain.normalizer(text);
  hash.update(to + '\n');
  const kind = to === text ? null : to === 'ab' ? 'drop' : to === 'a b' ? 'space' : to.startsWith('a') && to.endsWith('b') && to.length > 2 ? 'map\t' + hex(to.slice(1, -1)) : 'whole\t' + hex(to);
  if (run && run.kind === kind && run.hi === cp - 1 && !kind.includes('\t')) { run.hi = cp; continue; }
  run = kind && { lo: cp, hi: cp, kind };
  if (run) rows.push(run);
}
const h = x => x.toString(16);
fs.writeFileSync(path.join(here, 'codepoints.tsv'),
  `# node ${process.version} unicode ${process.versions.unicode}; @huggingface/tokenizers ${JSON.parse(fs.readFileSync('node_modules/@huggingface/tokenizers/package.json')).version}; sha256 of full listing ${hash.digest('hex')}\n` +
  rows.map(r => (r.lo === r.hi ? h(r.lo) : `${h(r.lo)}-${h(r.hi)}`) + '\t' + r.kind + '\n').join(''));
