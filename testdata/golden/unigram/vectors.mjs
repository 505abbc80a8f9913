// node vectors.mjs TINY, in a copy of ../shared/bench after npm ci: writes vectors.jsonl beside this file. The model
// is TINY, ../shared/models/tiny-bert-48, with tokenizer.json of this folder and its word embeddings repeated up to
// 3037 rows; queries and documents as multilingual-e5-small has them, by the library's feature-extraction pipeline.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const lib = name => import(pathToFileURL(path.resolve(name)).href);
const { bertOnnx } = await lib('lib/bert_onnx.mjs');
const { load } = await lib('lib/safetensors.mjs');
const require = createRequire(path.join(process.cwd(), 'package.json'));
const { pipeline, env } = await lib(require.resolve('@huggingface/transformers'));

const here = path.dirname(fileURLToPath(import.meta.url));
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'unigram-'));
const to = path.join(dir, 'model');
fs.mkdirSync(path.join(to, 'onnx'), { recursive: true });
const rows = 3037;
const config = { ...JSON.parse(fs.readFileSync(path.join(process.argv[2], 'config.json'))), vocab_size: rows };
const tensors = load(path.join(process.argv[2], 'model.safetensors'));
const words = tensors.get('embeddings.word_embeddings.weight');
const repeated = Float32Array.from({ length: rows * config.hidden_size }, (_, i) => words.data[i % words.data.length]);
tensors.set('embeddings.word_embeddings.weight', { ...words, dims: [rows, config.hidden_size], data: repeated });
fs.writeFileSync(path.join(to, 'config.json'), JSON.stringify(config));
fs.writeFileSync(path.join(to, 'tokenizer_config.json'), JSON.stringify({
  tokenizer_class: 'XLMRobertaTokenizer', model_max_length: 512, bos_token: '<s>', eos_token: '</s>', sep_token: '</s>',
  cls_token: '<s>', unk_token: '<unk>', pad_token: '<pad>', mask_token: '<mask>',
}));
fs.copyFileSync(path.join(here, 'tokenizer.json'), path.join(to, 'tokenizer.json'));
fs.writeFileSync(path.join(to, 'onnx', 'model.onnx'), bertOnnx(config, tensors));

Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: dir, useFSCache: false });
const embed = await pipeline('feature-extraction', 'model', { dtype: 'fp32', device: 'cpu', local_files_only: true });
const count = text => embed.tokenizer(text).input_ids.dims[1];
function prepare(text, limit) { // the plugin's loop, as in ../profiles/golden.mjs
  for (let n = count(text); n > limit && text.length > 0; n = count(text)) {
    text = text.slice(0, Math.floor(text.length * (limit / n) * 0.9));
    const space = text.lastIndexOf(' ');
    if (space > 0) text = text.slice(0, space);
  }
  return text;
}
const texts = [
  '', 'how do I prune roses?', '  墙边的玫瑰 ＡＢＣ <mask> ☃☃', 'Garden > Rosen:\n# Schnitt\n\nIm *März* kräftig zurückgeschnitten.', 'the roses by the wall, '.repeat(150), '中😀'.repeat(600),
];
const lines = [];
for (const [purpose, prefix] of [['query', 'query: '], ['document', 'passage: '], ['plain', '']])
  for (const text of texts) {
    const whole = prepare(prefix + text, 512);
    const vec = await embed([whole], { pooling: 'mean', normalize: true });
    lines.push(JSON.stringify({ purpose, text, n: count(whole), half: !whole.isWellFormed(), vec: Buffer.from(vec.data.buffer, vec.data.byteOffset, vec.data.byteLength).toString('base64') }));
  }
fs.writeFileSync(path.join(here, 'vectors.jsonl'), lines.join('\n') + '\n');
fs.rmSync(dir, { recursive: true });
