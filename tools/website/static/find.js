// The one search: in PyTorch's messages, plain questions, and the text of all lessons. It finds what
// autograd_surprises/messages/queries.py finds, with the data of tools/website/search_index.py.

/** A function that takes a text and returns {found, isGuess, unknown, terms, namesError}, as `find` does. */
function finder(data) {
  const {common, endings, negation, name: aName, parts: theParts, documents} = data;
  const boring = new Set(common);
  const shortened = endings.map(([ending, instead]) => [new RegExp(ending, 'g'), instead]);
  const expression = source => new RegExp(source, 'gmu');
  const oneLine = text => text.replace(/[ \t\n]+/g, ' ').trim();
  const before = (source, text) => text.split(expression(source), 1)[0];
  const namesIn = text =>
    text.replace(new RegExp(negation, 'gi'), ' not ').match(expression(aName)) ?? [];

  function stem(word) {
    if (!/^\p{L}+$/u.test(word)) return word;
    for (const [ending, instead] of shortened) {
      const shorter = word.replace(ending, instead);
      if (shorter.length > 2) word = shorter;
    }
    return word;
  }

  const terms = text => namesIn(text).flatMap(termsOf);

  function termsOf(name) {
    const isMember = name.startsWith('.');
    if (isMember) name = name.slice(1);
    const parts = (name.match(expression(theParts)) ?? []).filter(part => part.length > 1);
    const joined = name.includes('_') || parts.length < 2 ? [] : [parts.join('')];
    const words = new Set([name, ...joined, ...parts].map(word => word.toLowerCase()));
    const counts = word => word.length > 1 && !/^\d+$/.test(word)
      && (!boring.has(word) || isMember && word === name);
    return [...words].filter(counts).map(stem);
  }

  const having = new Map();
  const boosts = documents.map(({fields}) => {
    const counts = new Map();
    for (const [name, text] of Object.entries(fields)) {
      for (const term of new Set(terms(text))) {
        counts.set(term, (counts.get(term) ?? 0) + data.boosts[name]);
      }
    }
    for (const term of counts.keys()) having.set(term, (having.get(term) ?? 0) + 1);
    return counts;
  });

  function alike(one, other) {
    const [some, others] = [one, other].map(
      word => new Set([...word.slice(1)].map((_, k) => word.slice(k, k + 2))));
    return 2 * [...some].filter(pair => others.has(pair)).length / (some.size + others.size);
  }

  function corrected(word) {
    if (word.length < data.fewestLetters) return '';
    let [nearest, most] = ['', data.alike];
    for (const term of having.keys()) {
      const now = term[0] === word[0] ? alike(word, term) : 0;
      if (now > most || now === most && nearest && term > nearest) [nearest, most] = [term, now];
    }
    return nearest;
  }

  /** [The terms that are meant, a slip as the word that is like it; words that are unknown]. */
  function meant(asked) {
    const words = [], unknown = [];
    for (const name of namesIn(asked)) {
      const some = termsOf(name);
      if (some.length && !some.some(term => having.has(term))) unknown.push(name.replace(/^[.]/, ''));
      words.push(...some.map(term => having.has(term) ? term : corrected(term)));
    }
    return [[...new Set(words)].filter(word => word), unknown];
  }

  function rarity(term) {
    const count = having.get(term) ?? 0;
    return Math.log(1 + (documents.length - count + 0.5) / (count + 0.5));
  }

  /** Those first that have many of the words, rare ones above all, and in their headings. */
  function byWords(asked) {
    const [words, unknown] = meant(asked);
    const sum = some => some.reduce((one, other) => one + other, 0);
    const ranked = boosts.map((counts, id) => {
      const there = words.filter(term => counts.has(term)), {weight} = documents[id];
      const covered = sum(there.map(rarity));
      const score = sum(there.map(term => rarity(term) * counts.get(term)));
      return {id, covered, score: Math.round(1e6 * score * covered * weight) / 1e6};
    }).filter(({score}) => score).sort((one, other) => other.score - one.score || one.id - other.id);
    const total = sum(words.map(rarity)) + unknown.length * rarity('');
    const isSubject = words.some(term => having.get(term) > data.subject * documents.length);
    const enough = isSubject ? data.enough : data.enoughOfAnother;
    const isGuess = !ranked.length || ranked[0].covered < enough * total;
    return {
      found: ranked.slice(0, isGuess ? data.guesses : data.most).map(({id}) => documents[id]),
      isGuess,
      unknown,
      terms: words,
    };
  }

  const entries = documents.filter(({searched}) => searched);
  const knownMessage = (said, having = '') => data.messages.find(message => message.patterns.some(
    pattern => pattern.includes(having) && new RegExp(pattern, 'iu').test(said)));

  const wordsOf = text => new Set(namesIn(text).map(name => name.replace(/^[.]/, '').toLowerCase()));
  const wordings = data.messages.flatMap(
    ({place}) => documents[place].searched.split('\n').map(text => [documents[place], wordsOf(text)]));

  /** The message of whose wording a text has the most words, and the share that it has. */
  function nearestMessage(asked) {
    const said = wordsOf(asked);
    let most = [0, 0], nearest = [null, 0];
    for (const [message, words] of wordings) {
      const there = [...words].filter(word => said.has(word)).length;
      const more = 2 * there - words.size;
      if (more > most[0] || more === most[0] && there > most[1]) {
        [most, nearest] = [[more, there], [message, there / words.size]];
      }
    }
    return nearest;
  }

  return text => {
    for (const [around, instead] of data.around) text = text.replace(expression(around), instead);
    const errorNames = [...text.matchAll(expression(data.errorName))];
    const errors = errorNames.map((name, i) => {
      const message = text.slice(name.index + name[0].length, errorNames[i + 1]?.index);
      return oneLine(before(data.end, message.trimStart()));
    });
    const asked = errors.length ? errors.at(-1) : oneLine(before(data.traceback, text));
    const known = errors.length  // a single word may be in a text by chance
      ? errors.reverse().map(error => knownMessage(error)) : [knownMessage(asked, ' ')];
    const found = [...new Set(known.filter(message => message))].map(({place}) => documents[place]);
    const parts = entries.filter(({searched}) => asked && searched.includes(asked.toLowerCase()));
    const answer = found => ({found, isGuess: false, unknown: [], terms: []});
    if (found.length && (errors.length || parts.length < 2)) return answer(found);
    if (parts.length && (errors.length || asked.includes(' '))) return answer(parts);
    const guesses = byWords(asked);
    if (!errors.length) return guesses;
    const [nearest, share] = nearestMessage(asked);
    if (share >= data.enoughOfAMessage) return answer([nearest]);
    const all = new Set(nearest ? [nearest, ...guesses.found] : guesses.found);
    return {...guesses, found: [...all].slice(0, data.guesses), isGuess: true, namesError: true};
  };
}

/** How many documents are found, or that these are guesses, or what to do. */
function verdict({found, isGuess, unknown, namesError}, data) {
  if (!found.length) return data.nothingFound;
  if (!isGuess) return `found: ${found.length}`;
  if (namesError) return data.unknownError;
  return unknown.length ? data.unknownWords.replace('{words}', unknown.join(', ')) : data.noGoodMatch;
}

/** The part of a text around the longest of these terms, as strings and <mark>s of all of them. */
function excerpt(text, terms) {
  const before = 50, length = 170;  // characters
  const escaped = term => term.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const longest = [...terms].sort((one, other) => other.length - one.length).map(escaped);
  const begins = '(?<![A-Za-z0-9])';
  const places = longest.map(term => text.search(new RegExp(`${begins}${term}`, 'i')));
  const first = places.find(place => place >= 0) ?? 0;
  const start = text.lastIndexOf(' ', Math.max(0, first - before)) + 1;
  const stop = text.indexOf(' ', start + length);
  const part = text.slice(start, stop < 0 ? text.length : stop);
  const pieces = [start > 0 ? '… ' : ''];
  let end = 0;
  const hits = new RegExp(`${begins}(?:${longest.join('|')})[A-Za-z0-9]*`, 'gi');
  for (const match of terms.length ? part.matchAll(hits) : []) {
    pieces.push(part.slice(end, match.index));
    pieces.push(Object.assign(document.createElement('mark'), {textContent: match[0]}));
    end = match.index + match[0].length;
  }
  return [...pieces, part.slice(end), stop < 0 ? '' : ' …'];
}

/** Loads the script with the data, once: a promise of {find, data}. */
function loadSearch(path) {
  async function unpack() {
    const bytes = Uint8Array.from(atob(window.searchData), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    const data = await new Response(stream).json();
    return {find: finder(data), data};
  }
  loadSearch.loaded ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.onload = () => resolve(unpack());
    script.onerror = () => {
      script.remove();
      loadSearch.loaded = null;  // the next try may succeed
      reject(new Error(`The search needs the file ${path}, which is missing.`));
    };
    script.src = path;
    document.head.append(script);
  });
  return loadSearch.loaded;
}
