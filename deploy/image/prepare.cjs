// Prepares Gemini CLI (0.61.0) for the image. Usage: node prepare.cjs FOLDER
// FOLDER has the bundle's modules. Each change is made once, before the compile cache is filled, instead of at every start.
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
//     of theirs would need it at once, so it extends a stand-in; so does the terminal emulator of the shell tool.
//   - The CLI compiles the layout engine of its interactive interface, and asks git about worktrees. Both matter only to a
//     person at a terminal; without a terminal it does neither.
//
// After this, move.cjs makes the modules smaller.
const fs = require('node:fs');
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
const derived = /^var (\w+Exporter) = class extends (?:__standIn\(\(\) => )?(import_opentelemetry\w+\.\w+)\)? \{$/gm; // or ours
const terminal = /^var (?:\{ Terminal \} = |Terminal = __standIn\(\(\) => )(import_\w+\.default)(?:\.Terminal\))?;$/gm; // or ours
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
// A backslash before a character makes an escape something else, and String.raw sees escapes.
const unescapable = /\\[^\x00-\x7f]|String\.raw`[^`]*[^\x00-\x7f]/;
const escaped = (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0');

const folder = process.argv[2];
const found = new Set();
for (const name of fs.readdirSync(folder).filter((n) => n.endsWith('.js'))) {
  const file = path.join(folder, name);
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
  text = text.replace(terminal, (_, module) => (found.add('Terminal'), `var Terminal = __standIn(() => ${module}.Terminal);`));
  if (text.includes(' __standIn(') && !text.includes(standIn)) text += standIn;
  if (!unescapable.test(text)) text = text.replace(/[^\x00-\x7f]/g, escaped);
  if (text === source) continue;
  fs.writeFileSync(file, text);
  execFileSync(process.execPath, ['--check', file], { stdio: 'inherit' }); // it still is a program
}
const missing = [...lifted, 'readStdin', 'Yoga', 'resolveWorktreeSettings', 'import', 'extends', 'Terminal', '__commonJS'].filter((fn) => !found.has(fn));
if (missing.length > 0) throw new Error(`the CLI has no ${missing.join(', ')} in the known form`);
