for (const s of [process.stdout, process.stderr]) s._handle?.setBlocking?.(true);
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (chunk, ...rest) => {
  const done = write(chunk, ...rest);
  if (typeof chunk === 'string' && /^\{"type":"result",[^\n]*"status":"success"/.test(chunk)) setImmediate(() => process.reallyExit(0));
  return done;
};
let held = false;
process.env.NODE_USE_ENV_PROXY = '1'; // for commands; this process has begun without it

const files = require('node:fs/promises');
const { access } = files;
// The CLI reads those that it may access.
const memories = /^\/root\/\.gemini\/(GEMINI\.md|tmp\/[^/]+\/memory\/[^/]+)$/;
files.access = (file, ...mode) => memories.test(file) ? Promise.reject(Object.assign(new Error('hidden'), { code: 'ENOENT' })) : access(file, ...mode);

const fs = require('node:fs');
const sessions = /\/chats\/session-[^/]*\.jsonl$/;
const kept = 20; // sessions, besides those that are needed
const most = 200; // that one start removes
const removeSessions = (needed) => {
  const root = '/root/.gemini/tmp';
  const all = [];
  for (const project of fs.readdirSync(root)) {
    const chats = `${root}/${project}/chats`;
    if (!fs.existsSync(chats)) continue;
    for (const name of fs.readdirSync(chats)) {
      const file = `${chats}/${name}`;
      if (sessions.test(file)) all.push({ file, chats, project: `${root}/${project}`, time: fs.lstatSync(file).mtimeMs });
    }
  }
  const old = all.sort((a, b) => b.time - a.time).slice(kept)
    .filter(({ file }) => !needed.some((id) => file.endsWith(`-${id.slice(0, 8)}.jsonl`)));
  for (const { file, chats, project } of old.slice(-most)) {
    const id = /"sessionId":"([0-9a-f-]{36})"/.exec(fs.readFileSync(file, 'utf8'))?.[1];
    const others = id ? [`${chats}/${id}`, `${project}/${id}`, `${project}/tool-outputs/session-${id}`, `${project}/logs/session-${id}.jsonl`] : [];
    for (const path of [...others, file]) fs.rmSync(path, { recursive: true, force: true });
  }
};
try {
  const needed = JSON.parse(fs.readFileSync('/root/.gemini/sessions.json', 'utf8'));
  if (needed) removeSessions(needed);
} catch {}
let unwritten = []; // until the first request to the model
for (const name of ['appendFileSync', 'writeFileSync']) {
  const put = fs[name];
  fs[name] = (file, ...rest) => unwritten && sessions.test(file) ? void unwritten.push(() => put(file, ...rest)) : put(file, ...rest);
}
const writeSession = () => {
  const all = unwritten ?? [];
  unwritten = null;
  for (const put of all) put();
};

const { createHash } = require('node:crypto');
// What the CLI says about memory, with two wordings for two families of models.
const remembering = /^- \*\*Instruction and Memory Files:\*\* [^]*? must stay lean\.$/m;
const { fetch } = globalThis;
// What the memory's server would answer before the first call.
const discovered = (init) => {
  if (init?.method === 'GET') return new Response(null, { status: 405 });
  const { id, method, params } = JSON.parse(init.body);
  if (method === 'notifications/initialized') return new Response(null, { status: 202 });
  const result = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'memory', version: '1' } },
    'tools/list': guard.tools,
  }[method];
  return result && new Response(JSON.stringify({ jsonrpc: '2.0', id, result }), { headers: { 'content-type': 'application/json' } });
};
globalThis.fetch = (input, init) => {
  if (typeof input === 'string' && input.startsWith(process.env.GOOGLE_GEMINI_BASE_URL)) {
    input = input.replace(/\/models\/[^/:?#]+:/, () => `/models/${guard.model}:`);
  }
  try {
    if (guard.tools && String(input) === guard.server) {
      const answer = discovered(init);
      if (answer) return Promise.resolve(answer);
    }
    if (String(input?.url ?? input).includes(':streamGenerateContent')) {
      writeSession();
      if (held) {
        const said = { candidates: [{ content: { role: 'model', parts: [{ text: guard.said }] }, finishReason: 'STOP' }] };
        return Promise.resolve(new Response(`data: ${JSON.stringify(said)}\n\n`, { headers: { 'content-type': 'text/event-stream' } }));
      }
      if (typeof init?.body === 'string') {
        const body = JSON.parse(init.body);
        const asked = JSON.stringify(body.contents);
        write(JSON.stringify({ type: 'model_request', asked: createHash('sha256').update(asked).digest('hex') }) + '\n');
        const told = body.systemInstruction?.parts?.find((p) => remembering.test(p.text));
        if (told) {
          told.text = told.text.replace(remembering, () => guard.memory);
          init = { ...init, body: JSON.stringify(body) };
        }
      }
    }
  } catch {}
  return fetch(input, init);
};

const processes = require('node:child_process');
const { spawn } = processes;
const patterns = guard.patterns.map((p) => new RegExp(p));
// What the shell tool puts around a command.
const wrapping = /^shopt [^;\n]*; _bgpids_file=[^\n]*\n\(\n  trap [^\n]*\n([^]*)\n\)\n__code=\$\?\nexit \$__code$/;
processes.spawn = (file, args, options) => {
  const at = Array.isArray(args) && /(^|\/)(ba|da)?sh$/.test(file) ? args.indexOf('-c') + 1 : 0;
  const text = at > 0 ? args[at] : undefined;
  let ran; // by the shell tool
  if (typeof text === 'string' && text.length < 131072) { // a longer argument cannot be given to it
    ran = wrapping.exec(text)?.[1];
    const command = ran ?? text;
    if (patterns.some((p) => p.test(command))) {
      held = true;
      write(JSON.stringify({ type: 'held', command, dir: String(options?.cwd ?? process.cwd()) }) + '\n');
      throw new Error(guard.text);
    }
  }
  if (/(^|\/)bash$/.test(file) && options?.env) {
    const ours = ([name]) => name.startsWith('GIT_CONFIG_');
    const others = Object.entries(options.env).filter((e) => !ours(e));
    options = { ...options, env: Object.fromEntries([...others, ...Object.entries(process.env).filter(ours)]) };
  }
  const child = spawn(file, args, options);
  if (ran) child.on('exit', (code, signal) => code === 0 || write(JSON.stringify({ type: 'exit', command: ran.slice(0, 1000), said: signal ?? `exit code ${code}` }) + '\n'));
  return child;
};
require('node:module').syncBuiltinESMExports(); // for those who import it
