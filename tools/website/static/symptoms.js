// The index of symptoms: type a question or some words, or paste a whole traceback.
// It finds what autograd_surprises/messages/index.py finds, with the data of
// tools/website/symptom_index.py.

/** The symptoms that a text is about, the best first. */
function findSymptoms(text, data) {
  const expression = source => new RegExp(source, 'gmu');
  const before = (source, text) => text.split(expression(source), 1)[0];
  const oneLine = text => text.replace(/[ \t\n]+/g, ' ').trim();
  const knownMessage = (said, having = '') => data.messages.find(message => message.patterns.some(
    pattern => pattern.includes(having) && new RegExp(pattern, 'iu').test(said)));

  for (const [around, instead] of data.around) text = text.replace(expression(around), instead);
  const names = [...text.matchAll(expression(data.name))];
  const errors = names.map((name, i) => {
    const message = text.slice(name.index + name[0].length, names[i + 1]?.index);
    return oneLine(before(data.end, message.trimStart()));
  });
  const said = errors.length ? errors.at(-1) : oneLine(before(data.traceback, text));
  const known = errors.length  // a single word may be in a text by chance
    ? errors.reverse().map(error => knownMessage(error)) : [knownMessage(said, ' ')];
  const found = [...new Set(known.filter(message => message))].map(({place}) => data.symptoms[place]);
  const parts = data.symptoms.filter(({searched}) => said && searched.includes(said.toLowerCase()));
  if (found.length && (errors.length || parts.length < 2)) return found;
  if (errors.length || parts.length && said.includes(' ')) return parts;  // one is being typed
  return byWords(wordsIn(said, data), data);
}

/** The words of a text that may say something about a gradient. */
function wordsIn(text, data) {
  const names = text.toLowerCase().match(/[a-z0-9_]+/g) ?? [];
  const words = new Set(names.flatMap(name => [name, ...name.split('_')]));
  return [...words].filter(word => word.length > 1 && !data.common.includes(word));
}

/**
 * Those with half of the words, or with two rare ones, the best first. The fewer symptoms have a
 * word, the more it counts; in the texts that are shown, twice.
 */
function byWords(asked, data) {
  const [fewest, more] = data.letters;
  const continues = (one, other) =>
    Math.min(one.length, other.length) >= fewest && Math.abs(one.length - other.length) <= more
    && (one.startsWith(other) || other.startsWith(one));
  const has = (words, word) => words.includes(word) || words.some(other => continues(word, other));
  const scores = new Map(data.symptoms.map(symptom => [symptom, {points: 0, shared: 0}]));
  for (const word of asked) {
    const having = data.symptoms.filter(({words}) => has(words, word));
    for (const symptom of having) {
      const twice = has(symptom.shownWords, word) ? 2 : 1;
      scores.get(symptom).points += twice * Math.floor(data.points / having.length);
      scores.get(symptom).shared += 1;
    }
  }
  const points = symptom => scores.get(symptom).points;
  const found = data.symptoms.filter(symptom => {
    const {shared} = scores.get(symptom);
    return asked.length && 2 * shared >= asked.length || shared > 1 && points(symptom) > data.enough;
  }).sort((one, other) => points(other) - points(one));
  return found.slice(0, data.most).filter(symptom => 2 * points(symptom) >= points(found[0]));
}

/** Adds a field above an element's content. The answers replace the content while there is input. */
function showSymptoms(element, data) {
  const make = (tag, name, content = []) => {
    const made = document.createElement(tag);
    made.className = name;
    made.append(...[content].flat());
    return made;
  };
  /** A question is Markdown with `code` in it. */
  const inline = text => text.split('`').map((part, i) => i % 2 ? make('code', '', part) : part);
  const link = (name, href) => Object.assign(make('a', '', name), {href});
  const answer = symptom => {
    const texts = symptom.texts.map(text =>
      symptom.ofTorch ? make('code', '', text) : make('strong', '', inline(text)));
    const causes = symptom.causes.map(([what, name, href]) => [what, link(name, href)]);
    const main = causes.filter(([what]) => !what).map(([, words]) => [data.section, words]);
    const listed = (name, pairs) => make('dl', name, pairs.map(
      ([label, words]) => make('div', '', [make('dt', '', label), make('dd', '', words)])));
    const others = causes.filter(([what]) => what);
    return make('li', '', [
      make('div', 'symptoms-texts', texts),
      listed('', [...symptom.said, ...main]),
      ...(others.length ? [listed('symptoms-causes', others)] : []),
    ]);
  };
  const everything = make('div', 'symptoms-all', [...element.childNodes]);
  const field = make('textarea', 'symptoms-field');
  const label = make('label', 'symptoms-label', ['Your question or message', field]);
  const status = make('p', 'symptoms-status');
  const list = make('ul', 'symptoms-list');
  Object.assign(field, {
    rows: 3,
    spellcheck: false,
    placeholder: 'Type a question or some words, or paste a whole traceback',
  });
  status.setAttribute('role', 'status');
  field.addEventListener('input', () => {
    const asked = field.value.trim() !== '';
    const found = asked ? findSymptoms(field.value, data) : [];
    everything.hidden = asked;
    list.replaceChildren(...found.map(answer));
    const count = found.length === 1 ? '1 entry found' : `${found.length} entries found`;
    status.textContent = found.length ? count : asked ? data.nothingFound : '';
  });
  element.replaceChildren(label, status, list, everything);
}
