import { readStored, store } from './stored.js'

/** The language of examples that the reader chose, on every page. */
const STORED_LANGUAGE = 'waxwing-reference-language'
const LANGUAGES = new Set(['curl', 'node', 'python'])

/** The language chosen on this page, for browsers that keep nothing. @type {string | null} */
let chosen = null

export function chosenLanguage() {
  const language = readStored('localStorage', STORED_LANGUAGE) ?? chosen ?? ''
  return LANGUAGES.has(language) ? language : 'curl'
}

/** @param {string} language */
export function chooseLanguage(language) {
  chosen = language
  store('localStorage', STORED_LANGUAGE, language)
}
