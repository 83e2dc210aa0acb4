// Prepares Gemini CLI (0.61.0) for the image. Usage: node prepare.cjs FOLDER FILL
// FOLDER has the bundle's modules, and FILL is fill.cjs. Each change is made once, before the compile cache is filled,
// instead of at every start.
//
// It removes restrictions that the CLI puts on unattended agents. The container is the security boundary; inside it they
// only stop people from getting what they asked for. --approval-mode=yolo allows all tools but ask_user, and still refuses,
// whatever the settings and policies say:
//
//   - write_file, replace and similar tools on build files (go.mod, package.json, Makefile, Dockerfile, …): isBuildFile,
//     asked after all rules.
//   - Commands with $(…), `…`, <(…) or >(…): detectCommandSubstitution.
//   - Files in .git and node_modules, .env and gha-creds-*.json, for all tools that take a path: hasBlockedPathSegment.
//   - web_fetch of any host, because a container has no DNS to show that a host is public: isPrivateIp. The gateway
//     reaches public addresses only.
//
// These are functions that return a boolean; they get a first statement that returns false. What remains is what the agent
// can do without: ask_user, and files outside /workspace and web_fetch of localhost, for which it has a shell.
//
// readStdin gives up if nothing arrives within half a second. A parked run waits for its prompt for many minutes, so that
// time becomes the longest that setTimeout knows.
//
// It also makes the CLI start faster, with a tenth less memory:
//
//   - Node keeps a module with one character outside Latin-1 as two bytes per character, and the largest has 16 million.
//     Such characters become escapes.
//   - V8 puts only functions into the compile cache that it compiles at once: those in parentheses. The functions of
//     bundled CommonJS modules get them. (fill.cjs adds the functions that a start calls.)
//   - Each bundled CommonJS module is evaluated when the modules that import it are, telemetry, cloud logging and gRPC
//     included, which no task uses. It is evaluated when it is used for the first time instead. A class that extends one
//     of theirs needs it at once, so it extends a stand-in.
//   - The CLI compiles the layout engine of its interactive interface and asks git about worktrees, which matters to a person
//     at a terminal.
//   - Node reads, decodes and checks the text of each module at every start, whatever of it is used: 17 MB in one file. The
//     CommonJS modules that a small task does not use move to a file beside it, and are read from there when they are used.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { execFileSync } = require('node:child_process');

const lifted = ['detectCommandSubstitution', 'hasBlockedPathSegment', 'isBuildFile', 'isPrivateIp'];
const heading = new RegExp(`\\bfunction (${lifted.join('|')})\\([\\w$, ]*\\) \\{`, 'g');
const waiting = /\bconst pipedInputShouldBeAvailableInMs = (500|2 \*\* 31 - 1);/g; // the latter is ours
const wrapped = /(__commonJS\w*\(\{\n {2}"[^"\n]+")\(([\w$, ]*)\) \{\n([^]*?)\n {2}\}\n\}\);/g;
const parenthesized = /__commonJS\w*\(\{\n {2}"[^"\n]+": \(function\(/; // ours
const layout = /^var Yoga = (?:process\.stdout\.isTTY && )?wrapAssembly\(await (\w+)\(\)\);$/m;
const worktrees = /^async function resolveWorktreeSettings\(cwd\) \{(?: if \(!process\.stdout\.isTTY\) return;)?$/m;
const imported = /^var (import_\w+) = (?:__lazily\(\(\) => )?__toESM\((require_\w+\(\)), 1\)\)?;$/gm; // theirs, or ours
// What an import was, except that its first use loads it. Modules only read it, or list what it has.
const lazily = `
function __lazily(load) {
  let loaded;
  const module = () => (loaded ??= load());
  return new Proxy({}, {
    get: (_, name) => module()[name],
    has: (_, name) => name in module(),
    ownKeys: () => Reflect.ownKeys(module()),
    getOwnPropertyDescriptor: (_, name) => {
      const property = Reflect.getOwnPropertyDescriptor(module(), name);
      return property && { ...property, configurable: true };
    },
  });
}
`;
// What a class of such a module is for a class that extends it, or for whoever creates objects of it. It has nothing of the
// class before there is an object, so it is for these only.
const derived = /^var (\w+Exporter) = class extends (import_opentelemetry\w+\.\w+) \{$/gm;
const destructured = /^var \{ (Terminal) \} = (import_\w+\.default);$/gm;
const standIn = `
function __standIn(load) {
  const base = function(...args) {
    const real = load();
    Object.setPrototypeOf(base, real);
    Object.setPrototypeOf(base.prototype, real.prototype);
    return Reflect.construct(real, args, new.target);
  };
  return base;
}
`;
// What reads a module that has moved.
const movable = /(__commonJS\w*\(\{\n {2}"[^"\n]+"): \((function\(([\w$, ]*)\) \{\n[^]*?\n {2}\})\)\n\}\);/g;
const readMoved = `
function __moved(from, length) {
  const fs = process.getBuiltinModule("node:fs");
  const fd = fs.openSync(new URL(import.meta.url + ".moved"));
  try {
    const text = Buffer.alloc(length);
    fs.readSync(fd, text, 0, length, from);
    return text.toString();
  } finally {
    fs.closeSync(fd);
  }
}
`;
// A backslash before a character makes an escape something else, and String.raw sees escapes.
const unescapable = /\\[^\x00-\x7f]|String\.raw`[^`]*[^\x00-\x7f]/;
const escaped = (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0');

const [folder, fill] = process.argv.slice(2);
const modules = fs.readdirSync(folder).filter((n) => n.endsWith('.js')).map((n) => path.join(folder, n));
const found = new Set();
for (const file of modules) {
  const source = fs.readFileSync(file, 'utf8');
  let text = source.replace(heading, (head, fn) => (found.add(fn), `${head} return false;`));
  text = text.replace(waiting, () => (found.add('readStdin'), 'const pipedInputShouldBeAvailableInMs = 2 ** 31 - 1;'));
  text = text.replace(layout, (_, load) => (found.add('Yoga'), `var Yoga = process.stdout.isTTY && wrapAssembly(await ${load}());`));
  text = text.replace(worktrees, () => (found.add('resolveWorktreeSettings'), 'async function resolveWorktreeSettings(cwd) { if (!process.stdout.isTTY) return;'));
  text = text.replace(wrapped, '$1: (function($2) {\n$3\n  })\n});');
  if (parenthesized.test(text)) found.add('__commonJS');
  text = text.replace(imported, (_, module, load) => (found.add('import'), `var ${module} = __lazily(() => __toESM(${load}, 1));`));
  if (text.includes(' = __lazily(') && !text.includes(lazily)) text += lazily;
  text = text.replace(derived, (_, name, base) => (found.add('extends'), `var ${name} = class extends __standIn(() => ${base}) {`));
  text = text.replace(destructured, (_, name, module) => (found.add('Terminal'), `var ${name} = __standIn(() => ${module}.${name});`));
  if (text.includes(' __standIn(') && !text.includes(standIn)) text += standIn;
  if (!unescapable.test(text)) text = text.replace(/[^\x00-\x7f]/g, escaped);
  if (text !== source) write(file, text);
}
const missing = [...lifted, 'readStdin', 'Yoga', 'resolveWorktreeSettings', 'import', 'extends', 'Terminal', '__commonJS'].filter((fn) => !found.has(fn));
if (missing.length > 0) throw new Error(`the CLI has no ${missing.join(', ')} in the known form`);

const used = called();
for (const file of modules) {
  const starts = used.get(file);
  const source = fs.readFileSync(file, 'utf8');
  if (!starts || source.includes('__moved(')) continue;
  const texts = [];
  let from = 0;
  let text = source.replace(movable, (all, head, fn, parameters, at) => {
    if (starts.has(at + head.length + ': ('.length)) return all;
    const moved = Buffer.from(`(${fn})`);
    texts.push(moved);
    from += moved.length;
    return `${head}(${parameters}) {\n    return eval(__moved(${from - moved.length}, ${moved.length}))(${parameters});\n  }\n});`;
  });
  if (from < 100_000) continue;
  fs.writeFileSync(file + '.moved', Buffer.concat(texts));
  write(file, text + readMoved);
  console.log(`${path.basename(file)}: ${texts.length} modules with ${from} bytes have moved, ${text.length} remain`);
  found.add('moved');
}
if (!found.has('moved')) throw new Error('the CLI uses all of its modules, or V8 does not tell which');

// write changes a module, which still has to be one.
function write(file, text) {
  fs.writeFileSync(file, text);
  execFileSync(process.execPath, ['--check', file], { stdio: 'inherit' });
}

// called returns, by module, where the functions begin that a small task calls.
function called() {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'prepare-'));
  const coverage = path.join(home, 'coverage');
  fs.mkdirSync(path.join(home, '.gemini'));
  fs.writeFileSync(path.join(home, '.gemini/settings.json'), JSON.stringify({
    security: { auth: { selectedType: 'gemini-api-key' } }, general: { maxAttempts: 1 },
    privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
  }));
  const printed = execFileSync(process.execPath, [`--require=${fill}`, path.join(folder, 'gemini.js'), '--skip-trust', '--approval-mode=yolo',
    '--model=gemini-2.5-flash', '--output-format=stream-json'], {
    cwd: home, input: 'begin', encoding: 'utf8', timeout: 120_000, stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, HOME: home, GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:8301', SANDBOX: '1',
      GEMINI_CLI_NO_RELAUNCH: 'true', NODE_DISABLE_COMPILE_CACHE: '1', NODE_V8_COVERAGE: coverage },
  });
  if (!/^\{"type":"result".*"status":"success"/m.test(printed)) throw new Error(`the task has no result:\n${printed}`);
  const starts = new Map();
  for (const name of fs.readdirSync(coverage)) {
    for (const { url, functions } of JSON.parse(fs.readFileSync(path.join(coverage, name), 'utf8')).result) {
      if (!url.startsWith('file:')) continue;
      const ranges = functions.map((f) => f.ranges[0]).filter((range) => range.count > 0);
      starts.set(url.slice('file://'.length), new Set(ranges.map((range) => range.startOffset)));
    }
  }
  fs.rmSync(home, { recursive: true, force: true });
  return starts;
}
