// A search of all pages, in each element with data-search="path of its index". Works from disk.
// The pattern is a combobox with a listbox: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/

(() => {
  const MOST = 20, BEFORE = 50, LENGTH = 170;  // results, and characters of a snippet
  // Names are words with their underscores: round_ste. Their parts are words, too. Single letters
  // and digits are not.
  const words = text => text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
  const withParts = text => words(text).flatMap(word =>
    word.includes('_') ? [word, ...word.split('_').filter(part => part)] : [word]);
  const escaped = word => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

  /** The data in JSON, gzip and base64. */
  async function unpacked(packed) {
    const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).json();
  }

  /** A function that finds sections: {found, all}; `all` is false if no section has all the words. */
  async function searchIn({pages, sections}) {
    const index = new MiniSearch({
      fields: ['title', 'heading', 'text'],
      tokenize: withParts,
      searchOptions: {
        tokenize: words,
        boost: {title: 3, heading: 4},
        prefix: (term, i, terms) => i === terms.length - 1 || term.length > 2,
      },
    });
    const documents = sections.map(([page, heading, , text], id) =>
      ({id, title: heading ? '' : pages[page][1], heading, text}));
    await index.addAllAsync(documents, {chunkSize: 40});  // in chunks, so that typing is not delayed
    const shown = ({id, terms}) => {
      const [page, heading, anchor, text] = sections[id];
      const [url, title] = pages[page];
      return {href: anchor ? `${url}#${encodeURIComponent(anchor)}` : url, title, heading, text, terms};
    };
    return query => {
      const literal = query.trim().toLowerCase();
      const says = id => sections[id][3].toLowerCase().includes(literal);
      const options = {combineWith: 'AND', boostDocument: id => says(id) ? 2 : 1};
      const found = index.search(query, options);
      const some = found.length ? found : index.search(query, {...options, combineWith: 'OR', fuzzy: 0.2});
      return {found: some.slice(0, MOST).map(shown), all: found.length > 0};
    };
  }

  /** A part of a text around the first hit, with all hits marked. */
  function snippet(text, terms, query, from = -1) {
    const hit = new RegExp(`(?<![\\p{L}\\p{N}])(?:${terms.map(escaped).join('|')})`, 'giu');
    const literal = text.toLowerCase().indexOf(query.trim().toLowerCase());
    const first = literal < 0 ? text.search(hit) : literal;
    const start = from < 0 ? Math.max(0, text.lastIndexOf(' ', Math.max(0, first - BEFORE)) + 1) : from;
    const stop = text.indexOf(' ', start + LENGTH);
    const part = text.slice(start, stop < 0 ? text.length : stop);
    const pieces = [start > 0 ? '… ' : ''];
    let end = 0;
    for (const match of part.matchAll(hit)) {
      pieces.push(part.slice(end, match.index), make('mark', {}, match[0]));
      end = match.index + match[0].length;
    }
    pieces.push(part.slice(end), stop < 0 ? '' : ' …');
    return pieces;
  }

  function make(tag, attributes, ...content) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...content);
    return made;
  }

  function addSearch(element) {
    let search, active = -1, links = [];
    const field = make('input', {
      type: 'search', role: 'combobox', placeholder: 'Search ( / )', autocomplete: 'off',
      spellcheck: 'false', 'aria-label': 'Search all pages', 'aria-autocomplete': 'list',
      'aria-controls': 'search-list', 'aria-expanded': 'false', 'aria-keyshortcuts': '/',
    });
    const status = make('p', {role: 'status'});
    const list = make('div', {role: 'listbox', id: 'search-list', 'aria-label': 'Sections'});
    const panel = make('div', {class: 'search-panel', hidden: ''}, status, list);
    element.setAttribute('role', 'search');
    element.replaceChildren(field, panel);

    function load() {
      if (element.querySelector('script')) return;
      const script = make('script', {src: element.dataset.search});
      panel.setAttribute('aria-busy', 'true');
      script.onload = async () => {
        search = await searchIn(await unpacked(window.searchText));
        panel.removeAttribute('aria-busy');
        if (!panel.hidden) show();  // it may have been left meanwhile
      };
      script.onerror = () => {
        script.remove();
        status.textContent = `The search needs the file ${element.dataset.search}, which is missing.`;
      };
      element.append(script);
    }

    function show() {
      const query = field.value, asked = words(query).length > 0;
      const {found, all} = asked && search ? search(query) : {found: [], all: true};
      links = found.map(({href, title, heading, text, terms}, i) => make(
        'a', {href, role: 'option', id: `search-${i}`, tabindex: '-1', 'aria-selected': 'false'},
        make('span', {class: 'search-page'}, title),
        make('span', {class: 'search-heading'}, ...snippet(heading || title, terms, query, 0)),
        make('span', {class: 'search-text'}, ...snippet(text, terms, query)),
      ));
      list.replaceChildren(...links);
      activate(-1);
      panel.hidden = false;
      field.setAttribute('aria-expanded', String(links.length > 0));
      const count = links.length === 1 ? '1 section' : `${links.length} sections`;
      if (!asked) status.textContent = 'Type a word, a name or a part of a message.';
      else if (!search) status.textContent = 'Loading the text of all pages …';
      else if (!links.length) status.textContent = 'Nothing found. Try fewer words, or the beginning of one.';
      else if (!all) status.textContent = 'No section contains all the words. Close matches:';
      else status.textContent = links.length < MOST ? count : `The best ${count}`;
    }

    function activate(i) {
      links[active]?.setAttribute('aria-selected', 'false');
      active = i;
      links[active]?.setAttribute('aria-selected', 'true');
      links[active]?.scrollIntoView({block: 'nearest'});
      field.removeAttribute('aria-activedescendant');
      if (links[active]) field.setAttribute('aria-activedescendant', links[active].id);
    }

    function close() {
      panel.hidden = true;
      field.setAttribute('aria-expanded', 'false');
      activate(-1);
    }

    field.addEventListener('focus', () => {
      load();
      show();
    });
    field.addEventListener('input', show);
    field.addEventListener('blur', close);
    panel.addEventListener('mousedown', event => event.preventDefault());  // the field keeps the focus
    field.addEventListener('keydown', event => {
      const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
      if (step && links.length) {
        activate((Math.max(active, step < 0 ? 0 : -1) + step + links.length) % links.length);
      } else if (event.key === 'Enter') {
        links[Math.max(active, 0)]?.click();
      } else if (event.key === 'Escape') {
        if (!field.value) field.blur();
        field.value = '';
        if (!panel.hidden) show();
      } else return;
      event.preventDefault();
    });
    document.addEventListener('keydown', event => {
      const typing = 'textarea, select, [contenteditable], input:not([type=range], [type=radio], [type=checkbox])';
      if (event.key !== '/' || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.target.closest?.(typing)) return;
      event.preventDefault();
      field.focus();
    });
  }

  document.querySelectorAll('[data-search]').forEach(addSearch);
})();
