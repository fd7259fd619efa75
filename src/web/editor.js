// Puts CodeMirror in place of the text area of an editor page. The text area keeps the text, so that the form works as it
// does without scripts. The server finds mistakes: the script sends the form with "Check", and takes from the answer what
// the page shows about the text.
"use strict";
{
  const { EditorView, keymap, tags } = codemirror;
  const area = document.querySelector("textarea[data-syntax]");
  const form = area.form;
  const base = form.elements.base;
  const discard = form.querySelector("#discard");
  const keptAt = `mcpkg ${form.getAttribute("action")}`;
  const away = "The console does not answer. Your text is kept in this tab.";
  const signedOut =
    "This browser is not signed in any more. Your text is kept in this tab: sign in, and open this page again.";
  // Marks that reorder, hide or join text are shown, in addition to the control characters that CodeMirror shows.
  const hidden = /[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u{1bca0}-\u{1bca3}\u{e0000}-\u{e0fff}]/u;
  // The number of the last check, the timer of the next one, and the hash of the text that the page was opened with.
  let [turn, timer, opened] = [0, 0, base.value];

  // The server counts lines and characters from 1.
  function offset(line, column) {
    const { doc } = view.state;
    if (line > doc.lines) return doc.length;
    const { from, text } = doc.line(line);
    return from + [...text].slice(0, column - 1).join("").length;
  }

  // `3:5-3:9` -> the offsets of both places.
  function span(text) {
    const [from, to] = text.split("-").map((place) => offset(...place.split(":").map(Number)));
    return [from, Math.max(from, to)];
  }

  function note(text) {
    const shown = form.querySelector("#note");
    if (shown.textContent !== text) shown.textContent = text;
    shown.hidden = text === "";
  }

  // What the page says when a newer form shows that another text was saved.
  function saved(fresh) {
    note(`${fresh.dataset.by} saved another text in the meantime. Yours is still here.`);
  }

  function isTyped() {
    return area.value !== area.defaultValue;
  }

  // Keeps the text until it is saved, because a session can end while you type. Only this tab can read it.
  function keep(isSent) {
    try {
      if (isTyped()) sessionStorage.setItem(keptAt, JSON.stringify({ text: area.value, base: base.value, isSent }));
      else sessionStorage.removeItem(keptAt);
    } catch {
      // The text is larger than what a tab may keep.
    }
  }

  function bringBack() {
    const kept = JSON.parse(sessionStorage.getItem(keptAt) ?? "null");
    // If the text was sent and another one is stored now, it was most likely saved.
    if (!kept || kept.text === area.value || (kept.isSent && kept.base !== base.value)) {
      return sessionStorage.removeItem(keptAt);
    }
    // The server refuses to save it over a text that was saved later than the one it began with.
    base.value = kept.base;
    replace(kept.text);
    note("This is the text that you typed before, which is not saved yet.");
    discard.hidden = false;
  }

  function replace(text) {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }

  function send(fields, done) {
    const request = new XMLHttpRequest();
    const body = new URLSearchParams(new FormData(form));
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    request.open("POST", form.getAttribute("action"));
    request.responseType = "document";
    request.onloadend = () => done(request.response, request.status);
    request.send(body);
  }

  function check() {
    clearTimeout(timer);
    const own = ++turn;
    send({ key: "check" }, (page, status) => {
      if (own !== turn) return;
      const fresh = page?.querySelector("form.editor");
      if (!fresh) return note(status === 401 || status === 403 ? signedOut : away);
      if (status === 409) saved(fresh);
      else if ([away, signedOut].includes(form.querySelector("#note").textContent)) note("");
      for (const id of ["#verdict", "#findings", "#changes"]) merge(form.querySelector(id), fresh.querySelector(id));
      mark();
    });
  }

  // Marks the findings of the page in the text.
  function mark() {
    view.checked = view.state.doc;
    const found = [...form.querySelectorAll("#findings li")].map((item) => {
      const [from, to] = span(item.dataset.at);
      const fix = item.querySelector("button");
      return {
        from,
        to,
        severity: item.dataset.severity,
        message: item.querySelector(".message").textContent,
        actions: fix ? [{ name: fix.textContent, apply: () => mend(fix) }] : [],
      };
    });
    found.sort((one, other) => one.from - other.from);
    view.dispatch(codemirror.setDiagnostics(view.state, found));
  }

  function mend(button) {
    // The place of a fix is only right for the text that was checked.
    if (!view.checked.eq(view.state.doc)) return check();
    const [from, to] = span(button.dataset.at);
    const changes = { from, to, insert: button.dataset.text };
    // With a name of its own, the change is undone alone.
    view.dispatch({ changes, selection: { anchor: from }, scrollIntoView: true, userEvent: "input.fix" });
    view.focus();
    check();
  }

  function suggested({ pos, explicit, state }) {
    const { number, from, text } = state.doc.lineAt(pos);
    const before = text.slice(0, pos - from);
    if (!explicit && !/[\w.:{]$/.test(before)) return null;
    return new Promise((resolve) => {
      send({ key: "suggest", line: number, column: [...before].length + 1 }, (page) => {
        const found = [...(page?.querySelectorAll("#suggestions li") ?? [])];
        if (!found.length || !state.doc.eq(view.state.doc)) return resolve(null);
        const options = found.map((item, at) => ({
          label: item.dataset.text,
          detail: item.textContent,
          boost: -at,
        }));
        const [start, end] = span(found[0].dataset.at);
        resolve({ from: start, to: Math.max(end, pos), options, filter: false });
      });
    });
  }

  function language() {
    const { yaml, yamlFrontmatter, json, LanguageSupport, Language, defineLanguageFacet, languageDataProp } = codemirror;
    const data = defineLanguageFacet({ commentTokens: { block: { open: "<!--", close: "-->" } } });
    const props = [languageDataProp.add({ Document: data })];
    const of = {
      yaml,
      json,
      markdown: () => {
        const parser = codemirror.markdown.configure([codemirror.GFM, { props }]);
        return yamlFrontmatter({ content: new LanguageSupport(new Language(data, parser, [], "markdown")) });
      },
    };
    return of[area.dataset.syntax]?.() ?? [];
  }

  const label = form.querySelector("label[for=text]");
  const look = codemirror.HighlightStyle.define([
    { tag: [tags.heading, tags.strong], fontWeight: "650" },
    { tag: tags.emphasis, fontStyle: "italic" },
    { tag: tags.strikethrough, textDecoration: "line-through" },
    { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.link, tags.url], color: "var(--link)" },
    { tag: [tags.string, tags.monospace, tags.quote], color: "var(--good)" },
    { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.labelName], color: "var(--warning)" },
    { tag: [tags.comment, tags.meta, tags.punctuation, tags.processingInstruction], color: "var(--dim)" },
  ]);
  const theme = EditorView.theme({
    "&": { border: "1px solid var(--field)", borderRadius: "6px", background: "var(--back)", color: "var(--text)", maxHeight: "75vh" },
    "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "2px" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
    ".cm-content, .cm-gutter": { minHeight: "20em" },
    ".cm-content": { caretColor: "var(--text)" },
    ".cm-cursor": { borderLeftColor: "var(--text)" },
    ".cm-gutters": { background: "var(--soft)", color: "var(--dim)", borderColor: "var(--edge)" },
    ".cm-activeLine": { background: "transparent" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--edge)" },
    ".cm-specialChar": { color: "var(--bad)", background: "var(--bad-back)" },
    ".cm-tooltip, .cm-panels": { background: "var(--soft)", color: "var(--text)", borderColor: "var(--field)" },
    ".cm-tooltip": { maxWidth: "min(40rem, 90vw)", overflowWrap: "anywhere" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
    ".cm-diagnosticAction": { background: "var(--accent)", color: "var(--on-accent)", minHeight: "0" },
    ".cm-searchMatch": { background: "var(--warning-back)", outline: "1px solid var(--warning)" },
    ".cm-textfield, .cm-button": { background: "var(--back)", backgroundImage: "none", color: "var(--text)", borderColor: "var(--field)" },
  });
  const save = () => {
    const button = form.querySelector("button[value=save]");
    if (button) form.requestSubmit(button);
    return true;
  };
  const view = new EditorView({
    doc: area.value,
    extensions: [
      EditorView.cspNonce.of(area.dataset.nonce),
      codemirror.EditorState.readOnly.of(area.readOnly),
      // Tab is not bound, so it leaves the editor.
      keymap.of([
        { key: "Mod-s", run: save },
        ...codemirror.completionKeymap,
        ...codemirror.lintKeymap,
        ...codemirror.searchKeymap,
        ...codemirror.historyKeymap,
        ...codemirror.defaultKeymap,
      ]),
      codemirror.lineNumbers(),
      codemirror.lintGutter(),
      codemirror.history(),
      codemirror.drawSelection(),
      codemirror.highlightActiveLine(),
      codemirror.highlightSpecialChars({ addSpecialChars: hidden }),
      codemirror.indentOnInput(),
      codemirror.bracketMatching(),
      codemirror.search({ top: true }),
      codemirror.autocompletion({ override: "suggests" in area.dataset ? [suggested] : [], activateOnTypingDelay: 300 }),
      codemirror.syntaxHighlighting(look),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-labelledby": "text-label", "aria-describedby": "text-keys", tabindex: "0" }),
      language(),
      theme,
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        area.value = update.state.doc.toString();
        keep(false);
        turn += 1;
        clearTimeout(timer);
        timer = setTimeout(check, 400);
      }),
    ],
  });
  area.hidden = true;
  area.after(view.dom);
  // live.js leaves this form alone.
  form.dataset.kept = "";
  form.querySelector("#text-keys").hidden = false;
  label.addEventListener("click", () => view.focus());
  form.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button || button.form !== form || button.closest(".cm-editor") || button.value === "save") return;
    event.preventDefault();
    if (button.name === "fix") return mend(button);
    if (discard.contains(button)) {
      discard.hidden = true;
      base.value = opened;
      replace(area.defaultValue);
      note("");
      view.focus();
    }
    check();
  });
  form.addEventListener("submit", () => keep(true));
  // The page was read again. Somebody else may have saved another text.
  form.addEventListener("fresh", ({ detail: fresh }) => {
    if (fresh.elements.base.value === base.value) return;
    if (isTyped()) {
      saved(fresh);
      // Compares with that text from now on.
      return check();
    }
    area.defaultValue = fresh.elements.text.value;
    opened = base.value = fresh.elements.base.value;
    replace(area.defaultValue);
  });
  mark();
  bringBack();
}
