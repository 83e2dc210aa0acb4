// Repairs the recording of a session before Gemini CLI (0.61.0) resumes it, so that the API accepts the history.
//
// The CLI records a tool's result twice: with the call, and as a message. When it resumes, it sends both, and records what
// it has sent as one more copy. A recording may also have a call without a result, because the run was killed, or a result
// without its call. The API refuses all of that, and so every later task of the room.
//
// sound returns a recording's messages as the API wants them: each message has the parts that are sent, and each call is
// followed by exactly one result. Because calls and results are parts then, the CLI sends them as they are. The repaired
// recording replaces the old one, so a recording is at most twice as long as its conversation, however often it is resumed.
//
// While it starts, the CLI empties the session or leaves another file for it, and writes all messages again if it finds a
// difference between them and what it will send. There always is one, because it adds the context of the session, and sound
// leaves that out.
//
// Signatures of the model's thoughts are left out. The API wants those of the current turn only, which begins with a prompt
// and so has no call of a recording; it may refuse those of another model.
const history = (() => {
  const fs = require('node:fs');
  const types = ['user', 'gemini', 'info', 'warning', 'error']; // the CLI sends those of the first two
  const interrupted = '[The previous response was interrupted before it completed.]'; // the CLI says this, too
  const unknown = { error: 'The call was interrupted. Its result is unknown.' };

  // load returns the metadata and the messages of a recording. A line that was cut off by a crash has none.
  const load = (data) => {
    const metadata = {};
    let messages = new Map();
    for (let at = 0, end; at < data.length; at = end + 1) {
      end = data.indexOf('\n', at);
      if (end < 0) end = data.length;
      let record;
      try { record = JSON.parse(data.toString('utf8', at, end)); } catch { continue; }
      if (typeof record?.$rewindTo === 'string') {
        const ids = [...messages.keys()];
        for (const id of ids.slice(Math.max(ids.indexOf(record.$rewindTo), 0))) messages.delete(id);
      } else if (typeof record?.id === 'string') {
        messages.set(record.id, record);
      } else {
        const { messages: all, ...others } = record?.$set ?? record ?? {};
        if (record?.$set && all) messages = new Map();
        for (const message of all ?? []) messages.set(message.id, message);
        Object.assign(metadata, others);
      }
    }
    return { metadata, messages: [...messages.values()] };
  };

  const isSaid = ({ thought, text, ...others }) => !thought && (text ? !text.startsWith('<session_context>') : Object.keys(others).length > 0);
  const partsOf = (content) => [content ?? []].flat().filter(Boolean).map((part) => {
    const { thoughtSignature, ...others } = typeof part === 'string' ? { text: part } : part;
    return others;
  }).filter(isSaid);
  const callOf = ({ id, name, args }) => ({ functionCall: { id, name, args: args ?? {} } });
  const resultOf = ({ id, name, result }) => (typeof result === 'string' ? { functionResponse: { id, name, response: { output: result } } } : result);

  // answer returns the message with the results of a message's calls, in their order, and with what belongs to them.
  const answer = ({ id, timestamp, content }, found) => {
    const calls = content.filter((part) => part.functionCall).map((part) => part.functionCall);
    const results = found.filter((part) => part.functionResponse).map((part) => part.functionResponse);
    const others = new Map(found.filter((part) => !part.functionResponse).map((part) => [JSON.stringify(part), part]));
    const known = new Set(calls.map((call) => call.id));
    const take = (is) => {
      const at = results.findIndex(is);
      return at < 0 ? undefined : results.splice(at, 1)[0];
    };
    const parts = calls.map((call) => {
      const result = take((r) => call.id && r.id === call.id && r.name === call.name) ?? take((r) => r.name === call.name && !(r.id && known.has(r.id)));
      return { functionResponse: { ...result, id: call.id, name: call.name, response: result?.response ?? unknown } };
    });
    return { id: `${id}_response`, timestamp, type: 'user', content: [...parts, ...others.values()] };
  };

  const sound = (messages) => {
    const all = [];
    let open; // the last message if it has calls: { message, toolCalls, found }, with what was found after it
    const close = () => {
      if (open) all.push(answer(open.message, [...open.found, ...partsOf(open.toolCalls?.map(resultOf).flat())]));
      open = undefined;
    };
    // What a user says is not a part of the results before it.
    const end = () => {
      const last = all.at(-1);
      if (last?.content.some((part) => part.functionResponse)) all.push({ id: `${last.id}_end`, timestamp: last.timestamp, type: 'gemini', content: [{ text: interrupted }] });
    };
    for (const { thoughts, toolCalls, ...message } of messages) {
      const content = partsOf(message.content);
      if (message.type === 'user' && content.some((part) => part.functionResponse)) {
        open?.found.push(...content); // otherwise it is a copy, or its call is lost
      } else if (message.type === 'user' && content.length > 0) {
        close();
        end();
        all.push({ ...message, content });
      } else if (message.type === 'gemini') {
        if (toolCalls && !content.some((part) => part.functionCall)) content.push(...toolCalls.map(callOf));
        if (content.length === 0) continue;
        close();
        const last = all.at(-1)?.type === 'gemini' ? all.pop() : { ...message, content: [] };
        all.push({ ...last, content: [...last.content, ...content] });
        if (content.some((part) => part.functionCall)) open = { message: all.at(-1), toolCalls, found: [] };
      }
    }
    close();
    end();
    return all;
  };

  // repair replaces a recording of the session by a sound one, or removes it if it has no messages. It leaves one alone that
  // has something unknown.
  const repair = (file, session) => {
    const data = fs.readFileSync(file);
    const { metadata, messages } = load(data);
    const { memoryScratchpad, ...first } = metadata;
    if (first.sessionId !== session || !first.projectHash || !messages.every((m) => types.includes(m?.type))) return;
    const said = sound(messages);
    if (said.length === 0) return fs.rmSync(file);
    const all = [first, ...said, ...(memoryScratchpad ? [{ $set: { memoryScratchpad } }] : [])];
    const text = Buffer.from(all.map((record) => JSON.stringify(record) + '\n').join(''));
    if (text.equals(data)) return;
    fs.writeFileSync(file + '.new', text);
    fs.renameSync(file + '.new', file);
  };

  // repairSession repairs the recording of a session.
  const repairSession = (root, session) => {
    for (const project of fs.readdirSync(root)) {
      const chats = `${root}/${project}/chats`;
      for (const name of fs.existsSync(chats) ? fs.readdirSync(chats) : []) {
        if (name.startsWith('session-') && name.endsWith(`-${session.slice(0, 8)}.jsonl`)) repair(`${chats}/${name}`, session);
      }
    }
  };
  const session = process.argv.find((arg) => arg.startsWith('--resume='))?.slice('--resume='.length);
  try {
    if (session) repairSession('/root/.gemini/tmp', session);
  } catch {} // the CLI says what is wrong with it
  return { load, sound, repair };
})();
module.exports = history;
