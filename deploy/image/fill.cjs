// A preload for Gemini CLI while the image is built: see fill, which says what for.
//
// It is the model, in the CLI's own process: it asks for a command, and then says that it is done. With COMPLETE set, it
// also completes the compile cache in that folder when the CLI ends.
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const v8 = require('node:v8');
const { pathToFileURL } = require('node:url');
const { crc32 } = require('node:zlib');

const call = { functionCall: { name: 'run_shell_command', args: { command: 'true', description: 'do nothing' } } };
const server = http.createServer(async (request, response) => {
  let asked = '';
  for await (const chunk of request) asked += chunk;
  const part = asked.includes('"functionResponse"') ? { text: 'Done.' } : call;
  const answer = JSON.stringify({
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  });
  const streamed = request.url.includes('alt=sse');
  response.writeHead(200, { 'Content-Type': streamed ? 'text/event-stream' : 'application/json' });
  response.end(streamed ? `data: ${answer}\n\n` : answer);
});
server.listen(Number(new URL(process.env.GOOGLE_GEMINI_BASE_URL).port), '127.0.0.1').unref();

if (process.env.COMPLETE) {
  v8.setFlagsFromString('--no-flush-bytecode'); // V8 forgets functions that are not called for a while
  process.on('exit', () => complete(process.env.COMPLETE, process.env.BUNDLE));
}

// complete replaces the cache of each module that the CLI has loaded. As in Node 22.23's src/compile_cache.cc, a cache
// file is named after a checksum of 1 (an ES module) and the module's URL. It begins with five numbers: magic, length of
// the source, length of the data, checksum of the source, checksum of the data.
function complete(cache, bundle) {
  const { compileSourceTextModule } = require('internal/modules/esm/utils');
  v8.setFlagsFromString('--flush-bytecode'); // the data notes the flags, and is accepted by a V8 with the same ones
  const esm = crc32(Buffer.of(1));
  let completed = 0;
  for (const name of fs.readdirSync(bundle).filter((n) => n.endsWith('.js'))) {
    const source = path.join(bundle, name);
    const url = pathToFileURL(source).href;
    const file = path.join(cache, crc32(url, esm).toString(16).padStart(8, '0'));
    if (!fs.existsSync(file)) continue; // a task does not load it
    const text = fs.readFileSync(source, 'utf8');
    const header = fs.readFileSync(file).subarray(0, 20);
    if (header.readUInt32LE(12) !== crc32(text)) throw new Error(`${file} is not the cache of ${name}`);
    // V8 returns the module that has run, because source and URL are the same.
    const data = compileSourceTextModule(url, text, {}).createCachedData();
    header.writeUInt32LE(data.length, 8);
    header.writeUInt32LE(crc32(data), 16);
    fs.writeFileSync(file, Buffer.concat([header, data]));
    completed++;
  }
  if (completed === 0) throw new Error(`${cache} has no file with the name of a module`);
}
