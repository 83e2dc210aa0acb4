{
  const processes = require('node:child_process');
  const { mkdirSync, readdirSync, rmSync, statSync } = require('node:fs');
  const { spawn } = processes;
  const quiet = 500, most = 2000; // ms after the end of the shell, for what its background processes say first
  const beat = 10_000; // ms
  const folder = '/root/.gemini/tmp/background-processes'; // the CLI's own
  const limit = 2048; // of a log, in units of 512 bytes
  const kept = 50; // logs
  const open = new Set(); // commands whose output has not ended
  const logOf = (child) => `${folder}/background-${child.pid}.log`;
  const prune = () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const all = readdirSync(folder).map((name) => ({ file: `${folder}/${name}`, time: statSync(`${folder}/${name}`).mtimeMs }));
    for (const { file } of all.sort((a, b) => b.time - a.time).slice(kept)) rmSync(file, { force: true });
  };
  const handOver = (child) => {
    open.delete(child);
    const log = logOf(child);
    const streams = [child.stdout, child.stderr].filter((s) => !s.destroyed && !s.readableEnded);
    if (!streams.length) return;
    try {
      prune();
    } catch {}
    streams[0].emit('data', Buffer.from(`\n[A process of this command is still running. What it prints from now on is in ${log}]\n`));
    for (const stream of streams) {
      // If the log is full or cannot be written, tee reads on.
      spawn('sh', ['-c', `trap '' XFSZ; ulimit -f ${limit}; exec tee -a "$0"`, log], {
        detached: true, stdio: [stream, 'ignore', 'ignore'], env: { ...process.env, MATRIX_TUI_READER: '1' },
      }).on('error', () => {}).unref();
      stream.destroy();
    }
  };
  processes.spawn = (file, args, options) => {
    const child = spawn(file, args, options);
    if (!options?.detached || !child.pid || !child.stdout || !child.stderr) return child; // not the shell tool
    open.add(child);
    try {
      rmSync(logOf(child), { force: true }); // of an earlier process with this number
    } catch {}
    let last = Date.now(), told = last;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', () => {
        last = Date.now();
        if (last - told < beat) return;
        told = last;
        process.stdout.write('{"type":"tool_output"}\n');
      });
    }
    child.on('close', () => open.delete(child));
    child.on('exit', () => {
      const end = Date.now() + most;
      const look = () => {
        if (!open.has(child)) return;
        const left = Math.min(last + quiet, end) - Date.now();
        if (left > 0) setTimeout(() => setImmediate(look), left); // after everything that is there has been read
        else handOver(child);
      };
      last = Date.now();
      look();
    });
    return child;
  };
  const exit = process.reallyExit;
  process.reallyExit = (code) => {
    for (const child of open) handOver(child);
    exit.call(process, code);
  };
}
