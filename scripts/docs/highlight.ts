import { createRequire } from 'node:module'
import { escape } from './escape.ts'

/** What is used of highlight.js, whose own types bring those of a browser. */
interface Highlighter {
  registerLanguage(name: string, language: unknown): void
  getLanguage(name: string): object | undefined
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string }
}

const LANGUAGES = ['bash', 'http', 'ini', 'javascript', 'json', 'python', 'sql', 'typescript', 'xml', 'yaml']
const require = createRequire(import.meta.url)
const highlighter: Highlighter = require('highlight.js/lib/core')
for (const name of LANGUAGES)
  highlighter.registerLanguage(name, require(`highlight.js/lib/languages/${name}`))

const COMMAND =
  /^(?:\$ )?(?:curl|docker|export|git|kubectl|node|npm|npx|printf|psql|sudo|systemctl|[A-Z_]+=)\b/

/** Colours a block of code by elements with classes, since the policy of the pages allows no inline styles. */
export function highlight(code: string, named: string): string {
  const language = named === '' ? guessLanguage(code) : named
  if (language === null || !highlighter.getLanguage(language)) return escape(code)
  return highlighter.highlight(code, { language, ignoreIllegals: true }).value
}

/** The language of a block that names none; null for plain text. */
function guessLanguage(code: string): string | null {
  if (/^HTTP\/[12]/.test(code)) return 'http'
  if (/^[{[]/.test(code)) return 'json'
  return COMMAND.test(code) ? 'bash' : null
}
