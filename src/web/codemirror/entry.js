// What the console's editor uses of CodeMirror. `build.sh` makes codemirror.js of it.
export { EditorState } from "@codemirror/state";
export {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export {
  HighlightStyle,
  Language,
  LanguageSupport,
  bracketMatching,
  defineLanguageFacet,
  indentOnInput,
  languageDataProp,
  syntaxHighlighting,
} from "@codemirror/language";
export { search, searchKeymap } from "@codemirror/search";
export { autocompletion, completionKeymap } from "@codemirror/autocomplete";
export { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { yaml, yamlFrontmatter } from "@codemirror/lang-yaml";
export { json } from "@codemirror/lang-json";
export { GFM, parser as markdown } from "@lezer/markdown";
export { tags } from "@lezer/highlight";
