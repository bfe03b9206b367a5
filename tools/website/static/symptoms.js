// The field of notebook 00: type a question or some words, or paste a whole traceback.

/** Adds a field above an element's content. The answers replace the content while there is input. */
function showSymptoms(element, path) {
  const make = (tag, name, content = []) => {
    const made = document.createElement(tag);
    made.className = name;
    made.append(...[content].flat());
    return made;
  };
  /** A question is Markdown with `code` in it. */
  const inline = text => text.split('`').map((part, i) => i % 2 ? make('code', '', part) : part);
  const link = (name, href) => Object.assign(make('a', '', name), {href});
  const section = ({href, name, fields}, terms) => make('li', '', [
    make('div', 'symptoms-texts', link(name, href)),
    make('p', '', excerpt(fields.text, terms)),
  ]);
  const entry = (symptom, data) => {
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
  async function show() {
    const asked = field.value.trim() !== '';
    everything.hidden = asked;
    status.textContent = '';
    list.replaceChildren();
    if (!asked) return;
    const text = field.value, {find, data} = await loadSearch(path);
    if (text !== field.value) return;  // more was typed while the data were loaded
    const answer = find(text);
    list.replaceChildren(...answer.found.map(
      each => each.texts ? entry(each, data) : section(each, answer.terms)));
    status.textContent = verdict(answer, data);
  }
  field.addEventListener('input', () => show().catch(error => (status.textContent = error.message)));
  element.replaceChildren(label, status, list, everything);
}
