// The box 'Paste your message': the messages that autograd_surprises/messages/queries.py finds, or
// else the entries that have most of the words. window.entries has its constants, and the entries.

/** find(text) returns [ids of the best entries, are they only guesses?]; told(id, text) its causes. */
function finder(data) {
  const expression = (source) => new RegExp(source, "gmu");
  const before = (source, text) => text.split(expression(source), 1)[0];
  const oneLine = (text) => text.replace(/[ \t\n]+/g, " ").trim();
  const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);
  const namesIn = (text) => text.replace(new RegExp(data.NEGATION, "gi"), " not ").match(expression(data.WORD)) ?? [];
  const common = new Set(data.COMMON);
  const wordsIn = (text) => [...new Set(namesIn(text.toLowerCase()).flatMap((name) => name.match(/[a-z]{2,}/g) ?? []))].filter((word) => !common.has(word));

  const ids = Object.keys(data.entries), having = new Map();
  const boosts = ids.map((id) => {
    const counts = new Map();
    for (const [name, text] of Object.entries(data.entries[id].fields)) {
      for (const term of wordsIn(text)) counts.set(term, (counts.get(term) ?? 0) + data.BOOSTS[name]);
    }
    for (const term of counts.keys()) having.set(term, (having.get(term) ?? 0) + 1);
    return counts;
  });
  const rarity = (term) => Math.log(1 + (ids.length - (having.get(term) ?? 0) + 0.5) / ((having.get(term) ?? 0) + 0.5));

  /** Its causes that something in the text points to. */
  const told = (id, text) => data.entries[id].causes.filter(([token]) => new RegExp(token, "imu").test(text.replace(expression(data.LIBRARY), "")));

  /** Those first that have many of the words, rare ones above all. */
  function byWords(asked) {
    const words = wordsIn(asked);
    const ranked = ids.map((id, k) => {
      const there = words.filter((term) => boosts[k].has(term)), covered = sum(there.map(rarity));
      return { id, covered, score: sum(there.map((term) => rarity(term) * boosts[k].get(term))) * covered * data.entries[id].weight * (told(id, asked).length ? data.TOLD : 1) };
    }).filter(({ score }) => score).sort((one, other) => other.score - one.score);
    const isSubject = words.some((term) => having.get(term) > data.SUBJECT * ids.length);
    const enough = (isSubject ? data.ENOUGH : data.ENOUGH_OF_ANOTHER) * sum(words.map(rarity));
    const isGuess = !ranked.length || ranked[0].covered < enough;
    return [ranked.map(({ id }) => id), isGuess];
  }

  const pattern = (wording) => wording.split("…").map((part) => part.trim().replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join(".*");
  const patterns = data.messages.map((id) => [id, data.entries[id].wordings.map((wording) => [wording, new RegExp(pattern(wording), "iu")])]);
  const known = (said, having = "") => patterns.find(([, all]) => all.some(([wording, one]) => wording.includes(having) && one.test(said)))?.[0];

  const wordsOf = (text) => new Set(namesIn(text).map((name) => name.replace(/^[.]/, "").toLowerCase()));
  /** The message of whose wording a text has the most words, and the share that it has. */
  function nearest(asked) {
    const said = wordsOf(asked);
    let most = [0, 0], best = [[], 0];
    for (const id of data.messages) {
      for (const words of data.entries[id].wordings.map(wordsOf)) {
        const there = [...words].filter((word) => said.has(word)).length, more = 2 * there - words.size;
        if (more > most[0] || (more === most[0] && there > most[1])) [most, best] = [[more, there], [[id], there / words.size]];
      }
    }
    return best;
  }

  const find = (text) => {
    const raised = (text.match(expression(data.RAISED)) ?? []).join("\n");
    for (const [around, instead] of data.AROUND) text = text.replace(expression(around), instead);
    const names = [...text.matchAll(expression(data.NAME))];
    const errors = names.map((name, k) => {
      const message = text.slice(name.index + name[0].length, names[k + 1]?.index);
      return oneLine(before(data.END, message.trimStart()));
    });
    const asked = errors.at(-1) ?? oneLine(before(data.TRACEBACK, text));
    // A single word may be in a text by chance.
    const found = errors.length ? errors.reverse().map((error) => known(error)) : [asked, raised].map((said) => known(said, " "));
    const messages = [...new Set(found)].filter((id) => id);
    const parts = ids.filter((id) => asked && data.entries[id].wordings.join("\n").toLowerCase().includes(asked.toLowerCase()));
    if (messages.length && (errors.length || parts.length < 2)) return [messages, false];
    if (parts.length && (errors.length || asked.includes(" "))) return [parts, false];
    if (!errors.length) return byWords(asked);
    const [message, share] = nearest(asked);
    return share >= data.ENOUGH_OF_A_MESSAGE ? [message, false] : [[...new Set([...message, ...byWords(asked)[0]])], true];
  };
  return { find, told };
}

const { find: findEntries, told } = finder(window.entries), box = document.querySelector(".paste");
box.querySelector("textarea").addEventListener("input", ({ target }) => {
  const asked = target.value.trim(), [ids, isGuess] = findEntries(target.value);
  const lines = (asked ? ids : []).slice(0, 3).map((id) => {
    const { said, wordings } = window.entries.entries[id];
    const link = Object.assign(document.createElement("a"), { textContent: wordings[0].replaceAll("`", ""), href: `${box.dataset.root}m/${id}.html` });
    const line = document.createElement("li");
    const [[, what, helps] = []] = told(id, asked);
    line.append(link, `: ${(what ? `${what}. What helps: ${helps}` : said).replaceAll("`", "")}`);
    return line;
  });
  box.querySelector("ol").replaceChildren(...lines);
  const guess = lines.length ? "No entry has enough of these words. The nearest, as a guess:" : "Nothing found.";
  box.querySelector("[role=status]").textContent = !asked ? "" : isGuess ? guess : "";
});
