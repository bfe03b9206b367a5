// The index of error messages: type some words, or paste a whole traceback.
// It finds what autograd_surprises/messages/pasted.py finds, with the expressions from there.

/** The messages that a text contains, the last one first; if there are none, those with its words. */
function findMessages(text, data) {
  const expression = source => new RegExp(source, 'gmu');
  const before = (source, text) => text.split(expression(source), 1)[0];
  const oneLine = text => text.replace(/[ \t\n]+/g, ' ').trim();
  const knownMessage = (said, having = '') => data.messages.find(message => message.patterns.some(
    pattern => pattern.includes(having) && new RegExp(pattern, 'iu').test(said)));
  const inOrder = messages => messages.sort((one, other) => one.place - other.place);
  const those = fits => inOrder(data.messages.filter(fits));

  for (const [around, instead] of data.around) text = text.replace(expression(around), instead);
  const names = [...text.matchAll(expression(data.name))];
  const errors = names.map((name, i) => {
    const message = text.slice(name.index + name[0].length, names[i + 1]?.index);
    return oneLine(before(data.end, message.trimStart()));
  });
  const found = errors.reverse().map(error => knownMessage(error)).filter(message => message);
  const said = (errors.length ? errors[0] : oneLine(before(data.traceback, text))).toLowerCase();
  if (found.length || !said) return [...new Set(found)];
  const partOf = those(message => message.inTexts.includes(said));
  if (errors.length) return partOf;  // it is being typed
  const whole = knownMessage(said, ' ');  // a single word may be there by chance
  if (whole && partOf.length < 2) return [whole];  // and the text is not a part of several
  const words = said.split(' ');
  const byTexts = those(message => words.every(word => message.inTexts.includes(word)));
  return byTexts.length ? byTexts : those(({inWords}) => words.every(word => inWords.includes(word)));
}

/** Adds a field above an element's content. The answers replace the content while there is input. */
function showSymptoms(element, data) {
  const make = (tag, name, content = []) => {
    const made = document.createElement(tag);
    made.className = name;
    made.append(...[content].flat());
    return made;
  };
  const answer = message => {
    const link = make('a', '', message.section);
    link.href = message.href;
    const [meaning, fix, section] = data.labels;
    const said = [[meaning, message.meaning], [fix, message.fix]];
    if (message.section) said.push([section, link]);
    const texts = message.texts.map(text => make('code', '', text));
    const lines = said.map(([label, words]) => make('div', '', [make('dt', '', label), make('dd', '', words)]));
    return make('li', '', [make('div', 'symptoms-texts', texts), make('dl', '', lines)]);
  };
  const everything = make('div', 'symptoms-all', [...element.childNodes]);
  const field = make('textarea', 'symptoms-field');
  const label = make('label', 'symptoms-label', ['Your message', field]);
  const status = make('p', 'symptoms-status');
  const list = make('ul', 'symptoms-list');
  Object.assign(field, {
    rows: 3,
    spellcheck: false,
    placeholder: 'Type some words of it, or paste a whole traceback',
  });
  status.setAttribute('role', 'status');
  field.addEventListener('input', () => {
    const asked = field.value.trim() !== '';
    const found = asked ? findMessages(field.value, data) : [];
    everything.hidden = asked;
    list.replaceChildren(...found.map(answer));
    const count = found.length === 1 ? '1 message found' : `${found.length} messages found`;
    status.textContent = found.length ? count : asked ? data.nothingFound : '';
  });
  element.replaceChildren(label, status, list, everything);
}
