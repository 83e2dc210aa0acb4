// The self-test of every patch of Gemini CLI, while the image is built. Usage: node selftest.cjs PRELOAD HISTORY
//
// prepare.cjs has changed the CLI's files. PRELOAD, which is agent/preload.cjs, changes what it does when it runs, and
// HISTORY, which is agent/history.cjs, repairs sessions. The CLI waits for its prompt here, as a parked one does, and then
// does a task for which it needs all of that. Then it resumes the session twice. If a new version has something in another
// form, the self-test fails with a sentence that says what.
//
// This file is the model. It is also loaded into the CLI, before PRELOAD, and reports there what reaches Node.
const fs = require('node:fs');
const http = require('node:http');
const { spawn } = require('node:child_process');

const dir = '/root/.gemini'; // PRELOAD knows it
const secret = 'a-word-in-a-hidden-file';
const session = '00000000-0000-4000-8000-000000000000';
const guard = {
  patterns: ['^git push$'], text: 'This needs an approval.', said: 'I wait for an approval.',
  model: 'the-model', memory: 'What the bot says about memory.',
  tools: { tools: [{ name: 'recollect', description: 'remembers', inputSchema: { type: 'object', properties: {} } }] },
};
const settings = {
  general: { maxAttempts: 1, enableAutoUpdate: false, enableAutoUpdateNotification: false }, security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
  tools: { shell: { enableInteractiveShell: false } },
};
const calls = [
  ['write_file', { file_path: '/workspace/Makefile', content: 'all:\n' }],
  ['read_file', { file_path: '/workspace/node_modules/dep/index.js' }],
  ['run_shell_command', { command: 'git var GIT_AUTHOR_IDENT; echo "$(echo sub)stituted"' }],
  ['web_fetch', { prompt: 'sum up https://192.168.1.1/' }],
];

// below reports, a line each on descriptor 3, what reaches Node.
function below() {
  const report = (what) => fs.writeSync(3, what + '\n');
  for (const name of ['appendFileSync', 'writeFileSync']) {
    const put = fs[name];
    fs[name] = (file, ...rest) => (/\/chats\/session-/.test(String(file)) && report('session'), put(file, ...rest));
  }
  const { setTimeout } = globalThis;
  globalThis.setTimeout = Object.assign((f, time, ...rest) => (time === 2 ** 31 - 1 && report('waits'), setTimeout(f, time, ...rest)), setTimeout);
  const handle = process.stdout._handle;
  const block = handle.setBlocking;
  handle.setBlocking = (on) => (on && report('blocking'), block.call(handle, on));
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = (chunk, ...rest) => {
    if (typeof chunk === 'string' && chunk.startsWith('{"type":"result",')) report('result');
    return write(chunk, ...rest);
  };
}

// model answers requests. It returns its address, and the list of those that it has answered.
function model() {
  const asked = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const streamed = request.url.includes(':streamGenerateContent');
    asked.push({ url: request.url, body, streamed });
    const part = ([name, args]) => ({ functionCall: { name, args } });
    const parts = !streamed ? [{ text: 'what the page says' }]
      : body.includes('"resumed"') ? [{ text: 'I know.' }]
      : body.includes('"functionResponse"') ? [part(['run_shell_command', { command: 'git push' }])] : calls.map(part);
    const answer = JSON.stringify({
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    });
    response.writeHead(200, { 'Content-Type': streamed ? 'text/event-stream' : 'application/json' });
    response.end(streamed ? `data: ${answer}\n\n` : answer);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve([`http://127.0.0.1:${server.address().port}`, asked])).unref());
}

// run runs the CLI, gives it the prompt when it waits for one, and returns what it prints and what is reported of it.
function run(base, option, prompt) {
  const cli = spawn('node', ['--require=' + __filename, `--require=${dir}/preload.cjs`, '/opt/gemini/bin/gemini', '--skip-trust',
    '--approval-mode=yolo', '--model=gemini-3.7-flash', '--output-format=stream-json', `--${option}=${session}`], {
    cwd: '/workspace', stdio: ['pipe', 'pipe', 'inherit', 'pipe'], timeout: 120_000, killSignal: 'SIGKILL',
    env: {
      ...process.env, HOME: '/root', TERM: 'dumb', NO_COLOR: '1', NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1', SANDBOX: '1',
      GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: base + '/model', GEMINI_CLI_NO_RELAUNCH: 'true', NODE_DISABLE_COMPILE_CACHE: '1',
      GEMINI_CLI_SYSTEM_SETTINGS_PATH: dir + '/settings.json',
    },
  });
  let printed = '', reported = '', before = '';
  cli.stdout.setEncoding('utf8').on('data', (text) => (printed += text));
  cli.stdin.on('error', () => {}); // it has ended
  cli.stdio[3].setEncoding('utf8').on('data', (text) => {
    reported += text;
    if (before || !reported.includes('waits\n')) return;
    before = reported;
    cli.stdin.end(prompt);
  });
  return new Promise((resolve) => cli.on('close', () => resolve({ printed, reported, before })));
}

// terminal runs a program at a terminal of 100 columns until it has written the first argument. Then it ends the program.
const terminal = `
import fcntl, os, pty, signal, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
signal.alarm(60)
drawn = b''
try:
    while sys.argv[1].encode() not in drawn:
        drawn += os.read(fd, 65536)
except OSError: # the program has ended
    sys.exit(1)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
`;

// draws reports whether the interactive CLI asks for a prompt at a terminal, where no patch may be in its way.
function draws(base) {
  const cli = spawn('python3', ['-c', terminal, 'Type your message', '/opt/gemini/bin/gemini', '--skip-trust'], {
    cwd: '/workspace', stdio: 'inherit',
    env: {
      ...process.env, HOME: '/root', TERM: 'xterm-256color', SANDBOX: '1', GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: base + '/model',
      GEMINI_CLI_NO_RELAUNCH: 'true', NODE_DISABLE_COMPILE_CACHE: '1',
    },
  });
  return new Promise((resolve) => cli.on('close', (code) => resolve(code === 0)));
}

// failures are sentences about what does not match.
function failures(asked, { printed, reported, before }) {
  const streamed = asked.filter((a) => a.streamed);
  const [first, second] = streamed.map((a) => JSON.parse(a.body));
  const answers = Object.fromEntries((second?.contents ?? []).flatMap((c) => c.parts).filter((p) => p.functionResponse)
    .map(({ functionResponse: r }) => [r.name, JSON.stringify(r.response)]));
  const told = JSON.stringify(first?.systemInstruction ?? '');
  const lines = printed.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l));
  const has = (type, member, value) => lines.some((l) => l.type === type && l[member] === value);
  return Object.entries({
    'prepare.cjs: it does not wait for a prompt on stdin': before,
    'it does not ask the model, and again with what the tools have returned': streamed.length === 2,
    'prepare.cjs (isBuildFile): it does not write a Makefile': !/"error"/.test(answers.write_file ?? '"error"') && fs.existsSync('/workspace/Makefile'),
    'prepare.cjs (hasBlockedPathSegment): it does not read a file in node_modules': /the dependency/.test(answers.read_file),
    'prepare.cjs (detectCommandSubstitution): it does not run a command with $(…)': /substituted/.test(answers.run_shell_command),
    'prepare.cjs (isPrivateIp): it does not fetch a page whose address it cannot judge': /what the page says/.test(answers.web_fetch),
    'preload.cjs: git in its shell does not know the author': /agent <agent@localhost>/.test(answers.run_shell_command),
    'preload.cjs: it does not write to a pipe with setBlocking': /^blocking$/m.test(reported),
    'preload.cjs: it does not write the result with process.stdout.write, as one line': /^result$/m.test(reported),
    'preload.cjs: it reads the hidden files with its memory': !asked.some((a) => a.body.includes(secret)),
    'preload.cjs: it writes a session before it asks the model': !/^session$/m.test(before),
    'preload.cjs: it does not write a session with appendFileSync or writeFileSync': /^session$/m.test(reported),
    'preload.cjs: it asks for a model that is not the configured one': asked.every((a) => a.url.includes(`/models/${guard.model}:`)),
    'preload.cjs: it does not know the tools of the memory server from what is given to it, or asks the server': /recollect/.test(JSON.stringify(first?.tools ?? '')) && !asked.some((a) => a.url.startsWith('/memory')),
    'preload.cjs: what it says about memory has another form': told.includes(guard.memory) && !told.includes('Instruction and Memory Files'),
    'preload.cjs: it does not use fetch to ask the model': lines.filter((l) => l.type === 'model_request').length === 2,
    'preload.cjs: it does not start its shell with spawn, or puts something else around a command': has('held', 'command', 'git push'),
    'preload.cjs: a command that needs an approval does not end the run': printed.includes(guard.said) && has('result', 'status', 'success'),
  }).filter(([, ok]) => !ok).map(([sentence]) => sentence);
}

// answered reports whether a request has the results of all calls, each once and right after its call.
function answered({ contents }) {
  const ids = (content, kind) => (content?.parts ?? []).filter((p) => p[kind]).map((p) => p[kind].id).join();
  const names = contents.flatMap((c) => c.parts).filter((p) => p.functionResponse).map((p) => p.functionResponse.name);
  return names.join() === [...calls.map(([name]) => name), 'run_shell_command'].join() &&
    contents.every((c, i) => ids(c, 'functionResponse') === ids(contents[i - 1], 'functionCall'));
}

async function test() {
  fs.mkdirSync(dir, { recursive: true });
  fs.mkdirSync('/workspace/node_modules/dep', { recursive: true });
  fs.writeFileSync('/workspace/node_modules/dep/index.js', 'the dependency\n');
  fs.writeFileSync(dir + '/GEMINI.md', secret + '\n');
  const [base, asked] = await model();
  const server = base + '/memory';
  fs.writeFileSync(dir + '/settings.json', JSON.stringify({ ...settings, mcpServers: { memory: { httpUrl: server } } }));
  fs.writeFileSync(dir + '/preload.cjs', `const guard = ${JSON.stringify({ ...guard, server })};\n` + process.argv.slice(2).map((file) => fs.readFileSync(file, 'utf8')).join(''));
  const seen = await run(base, 'session-id', 'begin');
  const failed = failures(asked, seen);
  for (const time of ['once', 'twice']) {
    const before = asked.length;
    await run(base, 'resume', 'resumed');
    if (!asked.slice(before).some((a) => a.streamed && answered(JSON.parse(a.body)))) {
      failed.push(`history.cjs: a session that is resumed ${time} does not send the result of each call once`);
    }
  }
  if (!await draws(base)) failed.push('prepare.cjs: the interactive CLI does not ask for a prompt at a terminal');
  for (const path of [dir, '/workspace/.gemini', '/workspace/node_modules', '/workspace/Makefile']) fs.rmSync(path, { recursive: true, force: true });
  if (failed.length === 0) return;
  console.error(`Gemini CLI printed: ${seen.printed.slice(-2000)}\nIt was reported: ${seen.reported.trim().replaceAll('\n', ', ')}`);
  for (const sentence of failed) console.error(`selftest: a patch does not match this version of Gemini CLI: ${sentence}`);
  process.exitCode = 1;
}

if (require.main === module) test();
else below();
