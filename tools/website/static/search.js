// The search on each page, in each element with data-search="path of its data". Works from disk.
// The pattern is a combobox with a listbox: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/

(() => {
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

    async function load() {
      panel.setAttribute('aria-busy', 'true');
      try {
        search = await loadSearch(element.dataset.search);
        if (!panel.hidden) show();  // it may have been left meanwhile
      } catch (error) {
        status.textContent = error.message;
      }
      panel.removeAttribute('aria-busy');
    }

    /** [address, kind or page, name, text] of an entry or a section. */
    function row({ofTorch, texts, said, href, title, heading, fields}) {
      if (!texts) return [href, heading ? title : 'Lesson', heading || title, fields.text];
      const name = texts[0].replaceAll('`', '');
      return [href, ofTorch ? 'Message' : 'Question', name, said[0][1].replaceAll('`', '')];
    }

    function show() {
      const asked = field.value.trim() !== '';
      const answer = asked && search ? search.find(field.value) : {found: [], terms: []};
      links = answer.found.map(row).map(([href, kind, name, text], i) => make(
        'a', {href, role: 'option', id: `search-${i}`, tabindex: '-1', 'aria-selected': 'false'},
        make('span', {class: 'search-page'}, kind),
        make('span', {class: 'search-heading'}, name),
        make('span', {class: 'search-text'}, ...excerpt(text, answer.terms)),
      ));
      list.replaceChildren(...links);
      activate(-1);
      panel.hidden = false;
      field.setAttribute('aria-expanded', String(links.length > 0));
      if (!asked) status.textContent = 'Type a question, a name or a part of a message.';
      else if (!search) status.textContent = 'Loading the text of all pages …';
      else status.textContent = verdict(answer, search.data);
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
