// node golden.mjs TINY, in a folder where @huggingface/transformers 4.2.0 is installed; TINY is
// ../shared/models/tiny-bert-48. Writes vectors.jsonl beside this file: what the library's
// feature-extraction pipeline makes of a text in each vector space of the plugin's catalogue.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(path.join(process.cwd(), 'package.json'));
const { pipeline, env } = await import(pathToFileURL(require.resolve('@huggingface/transformers')).href);
const tiny = path.resolve(process.argv[2]);
Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: path.dirname(tiny), useFSCache: false });
const embed = await pipeline('feature-extraction', path.basename(tiny), { dtype: 'fp32', device: 'cpu', local_files_only: true });

const search = 'Represent this sentence for searching relevant passages: ';
const spaces = [
  { space: '', pooling: 'mean' },
  { space: 'Snowflake/snowflake-arctic-embed-xs/retrieval-v1', pooling: 'cls', query: search },
  { space: 'Snowflake/snowflake-arctic-embed-s/e596f507467533e48a2e17c007f0e1dacc837b33/cls-normalized-query-instruction-v1', pooling: 'cls', query: search },
  { space: 'Xenova/multilingual-e5-small/retrieval-v1', pooling: 'mean', query: 'query: ', document: 'passage: ' },
  { space: 'onnx-community/granite-embedding-97m-multilingual-r2-ONNX/536a9f241cb3f02a9c5995a1e708c784bd274859/cls-normalized-v1', pooling: 'cls' },
  { space: 'onnx-community/DenseOn-ONNX/8606070c911ab26c582ce23db387abd3885541f2/cls-normalized-query-document-v1', pooling: 'cls', query: 'query: ', document: 'document: ' },
];
const texts = ['', 'roses', ' how do I prune roses? ', 'Garden > Roses:\n# Pruning\n\nCut back hard in *March*.', '[MASK] ÀB 中文 😀', 'words and more words, '.repeat(150), '中😀'.repeat(400)];

// The plugin's loop: until the tokens fit, nine tenths of the share that would, back to a space.
const count = text => embed.tokenizer(text).input_ids.dims[1];
function prepare(text, limit) {
  for (let n = count(text); n > limit && text.length > 0; n = count(text)) {
    text = text.slice(0, Math.floor(text.length * (limit / n) * 0.9));
    const space = text.lastIndexOf(' ');
    if (space > 0) text = text.slice(0, space);
  }
  return text;
}

const lines = [];
for (const { space, pooling, query = '', document = '' } of spaces)
  for (const [purpose, prefix] of [['query', query], ['document', document]])
    for (const text of texts) {
      const whole = prepare(prefix + text, 512);
      const vec = await embed([whole], { pooling, normalize: true });
      lines.push(JSON.stringify({
        space, purpose, text, ids: Array.from(embed.tokenizer(whole).input_ids.data, Number),
        vec: Buffer.from(vec.data.buffer, vec.data.byteOffset, vec.data.byteLength).toString('base64'),
      }));
    }
fs.writeFileSync(path.join(path.dirname(fileURLToPath(import.meta.url)), 'vectors.jsonl'), lines.join('\n') + '\n');
