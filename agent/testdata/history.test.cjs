// Tests of history.cjs: node history.test.cjs HISTORY. It prints what is wrong, and nothing if all is well.
const { load, sound } = require(process.argv[2]);
const equal = (name, got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) console.log(`${name}:\n got ${JSON.stringify(got)}\nwant ${JSON.stringify(want)}`);
};

// A conversation in short: U text of a user, M text of the model, C calls, R results, E a result that is an error.
const short = (messages) => messages.map(({ type, content }) => content.map((p) => (
  p.functionCall ? 'C' + p.functionCall.id : p.functionResponse ? (p.functionResponse.response.error ? 'E' : 'R') + p.functionResponse.id
    : p.text ? (type === 'user' ? 'U' : 'M') : 'D')).join('')).join(' ');
let ids = 0;
const message = (type, content, more) => ({ id: `m${ids++}`, timestamp: 't', type, content, ...more });
const user = (text = 'go on') => message('user', [{ text }]);
const result = (id, more) => ({ functionResponse: { id, name: 'f', response: { output: 'done' }, ...more } });
const call = (id) => ({ functionCall: { id, name: 'f', args: {} } });
const recorded = (id, done = true) => ({ id, name: 'f', args: {}, result: done ? [result(id)] : null });
const asks = (...calls) => message('gemini', '', { toolCalls: calls, thoughts: [{ subject: 's', description: 'd' }] });
const results = (...ids) => message('user', ids.map((id) => result(id)));
const says = (text = 'well') => message('gemini', text, { thoughts: [], tokens: { total: 1 } });

const table = {
  'the CLI has recorded a call and its result': [[user(), asks(recorded(1)), results(1), says()], 'U C1 R1 M'],
  'parallel calls': [[user(), asks(recorded(1), recorded(2)), results(1, 2), says()], 'U C1C2 R1R2 M'],
  'a call, stopped': [[user(), asks(recorded(1, false))], 'U C1 E1 M'],
  'one of two calls, stopped': [[user(), asks(recorded(1), recorded(2, false)), user(), says()], 'U C1C2 R1E2 M U M'],
  'stopped before the result was sent': [[user(), asks(recorded(1)), user(), says()], 'U C1 R1 M U M'],
  'resumed three times, with each result in all calls': [[user(),
    message('gemini', [call(1), call(2)], { toolCalls: [{ ...recorded(1), result: [result(1), result(2)] }, { ...recorded(2), result: [result(1), result(2)] }] }),
    results(1, 2, 1, 2), results(1, 2), results(1, 2), says()], 'U C1C2 R1R2 M'],
  'results of two calls in two messages': [[user(), asks(recorded(1, false), recorded(2, false)), results(2), results(1), says()], 'U C1C2 R1R2 M'],
  'a result without its call': [[user(), results(1), says(), results(1), user(), says()], 'U M U M'],
  'the call was killed before it was recorded': [[user(), asks(), user(), says()], 'U U M'],
  'text and calls in two messages': [[user(), says(), asks(recorded(1)), results(1), says()], 'U MC1 R1 M'],
  'calls one after the other without results': [[user(), asks(recorded(1, false)), asks(recorded(2)), says()], 'U C1 E1 C2 R2 M'],
  'thoughts': [[user(), message('gemini', [{ text: 'I think', thought: true }, { text: 'well' }]), message('gemini', [{ text: 'I think', thought: true }])], 'U M'],
  'empty messages': [[user(''), user(), message('gemini', ''), message('gemini', [{ text: '' }]), message('gemini', []), says(), user(' ')], 'U M U'],
  'information': [[user(), message('info', 'x'), asks(recorded(1)), message('error', 'x'), results(1), message('warning', 'x'), says()], 'U C1 R1 M'],
  'context': [[user('<session_context> x'), message('user', [{ text: '<session_context> x' }, { text: 'go on' }]), says()], 'U M'],
  'a picture with a result': [[user(), asks(recorded(1)), message('user', [result(1), { inlineData: {} }]), message('user', [result(1), { inlineData: {} }]), says()], 'U C1 R1D M'],
  'a result as text': [[user(), asks({ ...recorded(1), result: 'done' }), says()], 'U C1 R1 M'],
  'results of calls without IDs': [[user(), message('gemini', [call(), call()]), message('user', [result(), result()]), says()], 'U CundefinedCundefined RundefinedRundefined M'],
  'results with other IDs': [[user(), message('gemini', [call('a')]), results(1), says()], 'U Ca Ra M'],
};
for (const [name, [messages, want]] of Object.entries(table)) equal(name, short(sound(messages)), want);

const signed = { ...call(1), thoughtSignature: 's' };
equal('no signature stays', sound([user(), message('gemini', [signed, { text: '', thoughtSignature: 's' }]), results(1)])[1].content, [call(1)]);
equal('calls without IDs in their order', sound([user(), message('gemini', [call(), call()]), message('user', [result(undefined, { response: 1 }), result(undefined, { response: 2 })])])[2]
  .content.map((p) => p.functionResponse.response), [1, 2]);
equal('the CLI need not make parts of it', sound([user(), asks(recorded(1)), results(1)]).map((m) => ['toolCalls' in m, 'thoughts' in m]).flat().includes(true), false);

// wrong returns why the API would refuse the messages, or nothing.
function wrong(messages) {
  let before = 'user', asked = [];
  for (const { type, content } of messages) {
    const calls = content.filter((p) => p.functionCall).map((p) => p.functionCall.id);
    const answers = content.filter((p) => p.functionResponse).map((p) => p.functionResponse.id);
    if (content.length === 0 || content.some((p) => p.text === '')) return 'empty';
    if (JSON.stringify(answers) !== JSON.stringify(asked)) return `calls ${asked}, results ${answers}`;
    if (type === 'gemini' && before === 'gemini') return 'two turns of the model';
    if (before === 'results' && type === 'user') return 'results and text in one turn';
    if (answers.length > 0 && type !== 'user' || calls.length > 0 && type !== 'gemini') return 'role';
    asked = calls;
    before = answers.length > 0 ? 'results' : type;
  }
  return asked.length > 0 ? 'no results at the end' : before === 'results' ? 'results at the end' : undefined;
}
let seed = 1; // of the same conversations every time
const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
const kinds = [
  () => user(['', 'x', '<session_context>'][random(3)]), says, () => asks(...Array.from({ length: random(4) }, () => recorded(random(5), random(3) > 0))),
  () => results(...Array.from({ length: 1 + random(3) }, () => random(5))), () => message('info', 'x'), () => message('gemini', [{ text: 'x' }, call(random(5))]),
  () => message('gemini', [call(random(5)), { text: 'x', thought: true }], { toolCalls: [recorded(random(5)), recorded(random(5), false)] }), () => message('user', [result(random(5)), { text: 'x' }]),
];
for (let i = 0; i < 20_000; i++) {
  ids = 0;
  const messages = Array.from({ length: random(12) }, () => kinds[random(kinds.length)]());
  const before = JSON.stringify(messages), once = sound(messages), why = wrong(once);
  if (why) { console.log(`${why}: ${before}\n became ${JSON.stringify(once)}`); break; }
  if (JSON.stringify(sound(once)) !== JSON.stringify(once)) { console.log(`not the same again: ${before}`); break; }
  if (JSON.stringify(messages) !== before) { console.log(`changed: ${before}`); break; }
}

const lines = (...records) => Buffer.from(records.map((r) => JSON.stringify(r)).join('\n'));
const texts = (data) => load(data).messages.map((m) => m.id).join('');
const m = (id) => ({ id, type: 'user', content: 'x' });
equal('messages', texts(lines({ sessionId: 's', projectHash: 'p', messages: [m('a')] }, m('b'), m('a'), m('c'))), 'abc');
equal('all messages anew', texts(lines({ sessionId: 's' }, m('a'), { $set: { messages: [m('b')] } }, m('c'))), 'bc');
equal('back to a message', texts(lines(m('a'), m('b'), m('c'), { $rewindTo: 'b' }, m('d'))), 'ad');
equal('back to one that is unknown', texts(lines(m('a'), { $rewindTo: 'x' }, m('d'))), 'd');
equal('a cut line', texts(Buffer.concat([lines(m('a'), m('b')), Buffer.from('\n{"id":"c","ty')])), 'ab');
equal('metadata', load(lines({ sessionId: 's' }, m('a'), { $set: { summary: 'x' } }, null, 1)).metadata, { sessionId: 's', summary: 'x' });
