/** The language of examples that the reader chose, on every page. */
const STORED_LANGUAGE = 'waxwing-reference-language'
const LANGUAGES = new Set(['curl', 'node', 'python'])

export function chosenLanguage() {
  const stored = localStorage.getItem(STORED_LANGUAGE) ?? ''
  return LANGUAGES.has(stored) ? stored : 'curl'
}

/** @param {string} language */
export function chooseLanguage(language) {
  localStorage.setItem(STORED_LANGUAGE, language)
}
